"""Operations of many requests: what batches, ingests and scans have in common (L5).

Such an operation numbers its requests, sends them without a ``ResponseFuture`` each, and processes the outcomes that
are plain. Everything else takes the path of single requests: a request *continues* as a ResponseFuture of its own, from
the outcome that it has (UNPREPARED, for example), and the operation gets the outcome of that future.

Threads: one thread at a time sends and takes outcomes. Others append to a deque of the operation, and then end its
wait: driver threads, when a request that continues has ended (:meth:`ManyRequests._continued`), and the I/O thread,
when the peer of a request is silent (``_silent``).
"""

from __future__ import annotations

import heapq
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cassandra._base.errors import OperationTimedOut
from cassandra._core.routing import Target
from cassandra._core.transport import Attempt

from .retry import backoff, connection_error, is_timeout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cassandra._core.codec import ResultPlan
    from cassandra._core.transport import Failure, Frame
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._session.session import Session

    from .future import ResponseFuture

PATIENCE = 60.0  # seconds after which a request that is sent again has failed

Item = TypeVar("Item")


class ManyRequests:
    """Mixin of operations of many requests, which derive from ``Operation`` as well."""

    session: Session
    _silent: deque[int]  # numbers of requests whose peers are silent

    if TYPE_CHECKING:

        def _wake_up(self) -> None:
            """End a wait; of ``Operation``."""

    # ---- requests that continue as a ResponseFuture

    def watch(self, future: ResponseFuture[Any], *key: Any) -> None:
        """Call :meth:`_continued` with *key* when *future* has ended."""
        future.add_callbacks(self._succeeded, self._failed, (future, *key), None, key)

    def _succeeded(self, rows: Any, future: ResponseFuture[Any], *key: Any) -> None:
        future.clear_callbacks()
        self._continued(future, rows, None, *key)
        self._wake_up()

    def _failed(self, error: BaseException, *key: Any) -> None:
        self._continued(None, None, error, *key)
        self._wake_up()

    def _continued(self, future: Any, rows: Any, error: BaseException | None, *key: Any) -> None:
        """Override. Append the outcome of a request that has continued as *future*, which is None after an *error*. On
        a driver thread."""
        raise NotImplementedError

    # ---- silent peers

    def has_responsive_host(self) -> bool:
        """True if another host than a silent one could take a request."""
        return any(host.is_up and not host.is_suspect for host in self.session._pool_set.pools)

    def _on_silent(self, number: int) -> None:
        """Schedule a request whose peer is silent for another host, if there is one. On the I/O thread."""
        if self.has_responsive_host():
            self._silent.append(number)
            self._wake_up()


def note_attempt(future: ResponseFuture[Any], host: Host) -> None:
    """Record the attempt at *host* that was made before *future*."""
    future.attempted_hosts.append(host)
    future._picked = Target(host)
    future.coordinator_host = host


def continue_from(
    future: ResponseFuture[Any], host: Host, pool: Any, connection: Any, result_plan: ResultPlan | None, outcome: Frame
) -> None:
    """Let *future* process *outcome*, of an attempt that was made before it."""
    note_attempt(future, host)
    future._hand_over(Attempt(host, pool, connection, 0, None, 0, result_plan), outcome)


def failure_error(failure: Failure, host: Host, connection: Connection, timeout: float | None, what: str) -> Exception:
    """Return the error of a request (*what*) without a response."""
    if not is_timeout(failure):
        return connection_error(failure, host)
    told = {str(host.endpoint): f"No response to {what} within {timeout} s"}
    return OperationTimedOut(told, host, timeout, connection.in_flight)


class Schedule(Generic[Item]):
    """Requests that are sent again at set times. Belongs to the thread that sends."""

    def __init__(self) -> None:
        self._items: list[tuple[float, int, Item]] = []
        self._count = 0  # orders items of equal times

    def add(self, item: Item, failures: int) -> float:
        """Add *item* after so many failures; return the delay in seconds."""
        delay = backoff(failures)
        self._count += 1
        heapq.heappush(self._items, (monotonic() + delay, self._count, item))
        return delay

    def take_due(self) -> Iterator[Item]:
        """Remove and yield the items that are due."""
        now = monotonic() if self._items else 0.0
        while self._items and self._items[0][0] <= now:
            yield heapq.heappop(self._items)[2]

    def wait_time(self) -> float | None:
        """Return the seconds until an item is due; None if there is none."""
        return max(0.0, self._items[0][0] - monotonic()) if self._items else None

    def clear(self) -> list[Item]:
        """Remove all items, and return them."""
        items, self._items = self._items, []
        return [item for _, _, item in items]
