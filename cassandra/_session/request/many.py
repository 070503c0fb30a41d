"""Operations of many requests: what batches, ingests and scans have in common (L5).

Such an operation numbers its requests, sends them without a ``ResponseFuture`` each, and processes the outcomes that
are plain. Everything else takes the path of single requests: a request *continues* as a ResponseFuture of its own, from
the outcome that it has (UNPREPARED, for example), and the operation gets the outcome of that future.

The three differ in the source of requests and in what a plain outcome is. A batch draws statements, and makes results
of rows (``transport_parts/batch.pxi``). An ingest encodes rows, keeps them to send them again, and counts void results
(``transport_parts/writes.pxi``). A scan requests pages, and processes every outcome in Python.

Threads: one thread at a time, the owner, sends and takes outcomes (``transport_parts/many.pxi``). Others append to a
deque of the operation, and then end its wait: driver threads, when a request that continues has ended
(:meth:`ManyRequests._continued`), and the I/O thread, when the peer of a request is silent (``silent``). The owner is a
thread, or, after :meth:`ManyRequests.use_loop`, that of an asyncio loop; there outcomes are also taken by calls of the
loop, while no task of the operation runs.
"""

from __future__ import annotations

import heapq
from collections import deque
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cassandra._base import process
from cassandra._base.errors import ConnectionException, NoHostAvailable, OperationTimedOut
from cassandra._base.randomness import backoff
from cassandra._core.routing import Target
from cassandra._core.transport import Attempt, ManyRequestsBase
from cassandra._session import aio
from cassandra._wire.messages.responses import ResultMessage

from .execution import NO_POOL
from .notes import learn_tablet
from .retry import FIRST_DELAY, LONGEST_DELAY, NOT_SENT, closed_text, connection_error, is_timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cassandra._core.codec import ResultPlan
    from cassandra._core.transport import Failure, Frame
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._session.session import Session

    from .future import ResponseFuture
    from .retry import RepeatDecision

PATIENCE = 60.0  # seconds after which a request that is sent again has failed

Item = TypeVar("Item")


class Schedule(Generic[Item]):
    """Requests that are sent again at set times. Belongs to the thread that sends."""

    def __init__(self) -> None:
        self._items: list[tuple[float, int, Item]] = []
        self._count = 0  # orders items of equal times

    def add(self, item: Item, failures: int) -> float:
        """Add *item* after so many failures; return the delay in seconds."""
        delay = backoff(failures, FIRST_DELAY, LONGEST_DELAY)
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


class ManyRequests(ManyRequestsBase, Generic[Item]):
    """Base of operations of many requests. *Item*: a request that is sent again."""

    def __init__(self, session: Session) -> None:
        self._begin_in(session, session._pool_set)
        self._process = process.here()
        self._tracking = session._tracking
        self.delayed: Schedule[Item] = Schedule()
        #: Requests that have continued as a ResponseFuture: the future, the error or None, and the key of watch().
        self.continued: deque[tuple[Any, BaseException | None, Any]] = deque()
        self._loop: Any = None
        self._waiters: list[Any] = []  # of tasks

    @property
    def began_in(self) -> object:
        """The process, for ``process.check_process``."""
        return self._process

    @property
    def is_closed(self) -> bool:
        """True if the session takes no more requests."""
        return bool(self.session.is_shutdown or self.session._draining)

    def check(self) -> None:
        """Raise ConnectionShutdown in a forked child, NoHostAvailable if the session has ended."""
        process.check_process(self._process)
        if self.is_closed:
            raise NoHostAvailable(closed_text(self.session), {})

    # ---- targets

    def send_along(
        self,
        router: Any,
        where: tuple[Any, ...],
        level: int | None,
        send: Callable[[Target], bool | Exception],
        last: Iterable[Host] = (),
    ) -> bool | Exception:
        """Call *send* with the targets of a whole query plan until it returns True; hosts of *last* come last. Else
        return False, if one returned that, as it had no room, or the error with those that were returned."""
        errors: dict[Host, Exception] = {}
        full = False
        first, rest = router.start(*where, level)
        if rest is None:
            rest = router.fallback(*where, first, level)
        targets = [target for target in (first, *rest) if target is not None]
        if last:
            targets.sort(key=lambda target: target.host in last)  # stable: keeps the order of the plan otherwise
        for target in targets:
            outcome = send(target)
            if outcome is True:
                return True
            if outcome is False:
                full = True
            else:
                errors[target.host] = outcome
        if full:
            return False
        return NoHostAvailable("Unable to complete the operation against any hosts", errors)

    def connection_at(self, target: Target, token: int | None) -> tuple[Any, Connection] | Exception:
        """Return pool and connection for a request to *target*; the error if there is none."""
        pool = self.session._pools.get(target.host)
        if pool is None:
            return ConnectionException(NO_POOL, target.host.endpoint)
        try:
            connection = pool.pick(token, target.shard)
        except NOT_SENT as error:
            return error
        return pool, connection

    # ---- outcomes

    def read(self, connection: Connection, outcome: Frame, plan: ResultPlan | None, query: Any) -> Any:
        """Return the message of a response to *query*, with its warnings logged, and its tablet learned. Raises what
        decoding raises."""
        message: Any = connection.decode(outcome, plan)
        if message.warnings:
            self.session._warning_log.log(message.warnings)
        if isinstance(message, ResultMessage) and message.custom_payload is not None:
            learn_tablet(self.session, connection.features, query, message.custom_payload)
        return message

    def send_later(self, item: Item, decision: RepeatDecision, failures: int, age: float) -> float | None:
        """Schedule *item*, which has failed so often, to be sent again, and return the delay. None if *decision* does
        not permit it, or *item* has failed for ``PATIENCE`` seconds."""
        return self.delayed.add(item, failures) if decision.again and age < PATIENCE else None

    # ---- requests that continue as a ResponseFuture

    def watch(self, future: ResponseFuture[Any], key: Any) -> None:
        """Call :meth:`_continued` with *key* when *future* has ended."""
        future.add_callbacks(
            callback=self._succeeded, errback=self._failed, callback_args=(future, key), errback_args=(key,)
        )

    def _succeeded(self, rows: Any, future: ResponseFuture[Any], key: Any) -> None:
        future.clear_callbacks()
        self._continued(future, rows, None, key)
        self._wake_up()

    def _failed(self, error: BaseException, key: Any) -> None:
        self._continued(None, None, error, key)
        self._wake_up()

    def _continued(self, future: Any, rows: Any, error: BaseException | None, key: Any) -> None:
        """Append the outcome of a request that has continued as *future*, which is None after an *error*. On a driver
        thread."""
        self.continued.append((future, error, key))

    # ---- silent peers

    def has_responsive_host(self) -> bool:
        """True if another host than a silent one could take a request."""
        return any(host.is_up and not host.is_suspect for host in self.session._pool_set.pools)

    def _on_silent(self, number: int) -> None:
        """Schedule a request whose peer is silent for another host, if there is one. On the I/O thread."""
        if self.has_responsive_host():
            self.silent.append(number)
            self._wake_up()

    # ---- waiting

    @property
    def has_news(self) -> bool:
        """True if there are outcomes to process."""
        return bool(self.answered or self.continued)

    def wait_time(self) -> float | None:
        """Return the seconds until a step is due even without further outcomes; None if none is due then."""
        return self.delayed.wait_time()

    def pause(self) -> float:
        """Return the seconds to sleep before the next wait, so that several outcomes are processed together."""
        return 0.0

    def _limited(self, limit: float) -> float:
        due = self.wait_time()
        return limit if due is None else min(limit, due)

    def wait(self, limit: float) -> None:
        """Wait until a request has ended or is due, at most *limit* seconds."""
        if not self.has_news:
            if pause := self.pause():
                sleep(pause)
            self._wait(self._limited(limit))

    def use_loop(self) -> None:
        """Deliver outcomes to the running loop from now on."""
        loop = aio.running_loop()
        if self._loop is not loop:
            self._loop = loop
            aio.deliver_to(loop, self)

    async def wait_async(self, limit: float) -> None:
        """As :meth:`wait`, without blocking the running loop."""
        if not self.has_news and (pause := self.pause()):
            import asyncio

            await asyncio.sleep(pause)
        if not self.has_news:
            await self._wait_for(self._limited(limit))

    def add_waiter(self, waiter: Any) -> None:
        """Notify *waiter* of the next change, once."""
        self._waiters.append(waiter)

    async def _wait_for(self, seconds: float) -> None:
        waiter = aio.new_awaiting(self._loop)
        self.add_waiter(waiter)
        # not wake(): a signal handler cannot raise within a native function, and no other call may end this wait
        timer = self._loop.call_later(seconds, aio.resolve, waiter, None)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiters.clear()

    def wake(self, *_: Any) -> None:
        """End the waits of tasks."""
        if self._waiters:
            for waiter in self._waiters:
                aio.resolve(waiter, None)
            self._waiters.clear()

    def _on_outcome(self) -> None:
        """Take outcomes on the thread of the loop; a thread takes them itself."""
        if self._loop is None:
            return
        if aio.loop_or_none() is not self._loop:  # the loop watches no descriptors: this is the I/O thread
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self.wake)
        elif self._finished:  # abandoned: drop the outcomes queued for the loop by then
            self._take_all()
        else:
            self.wake()  # first: if a signal handler raises in it, the outcomes remain, and it is called again
            self.take_outcomes()


def note_attempt(future: ResponseFuture[Any], host: Host) -> None:
    """Record the attempt at *host* that was made before *future*."""
    future.attempted_hosts.append(host)
    future._picked = Target(host)
    future.coordinator_host = host
    if future._metrics is not None:
        future._metrics.attempt_sent(host)


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
