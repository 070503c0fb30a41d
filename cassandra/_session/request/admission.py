"""Admission queue: requests whose hosts are all at their in-flight limit wait until there is room or their time is up.
Requests that found no connection wait as well, while a pool opens one.

L5. A connection, a host and a session each have a limit of requests in flight (``max_requests_per_connection``,
``max_requests_per_host``, ``max_requests_per_session``), and a connection to an overloaded server has a window
(``adaptive_concurrency``, ``transport/window.h``). A request that no host takes, and that at least one host refuses
only because it is full, gets a *waiter* in the admission queue of its session (``Admission``). The waiter blocks no
thread: the caller may wait for the future in a thread, with ``await``, or not at all.

Pools, and the session's own limit, report that there may be room (``look``). Then the oldest request that waits for
that host is sent along a fresh plan (the newest one, while the host is overloaded). If a host takes it, the next one
follows; if not, it keeps its position, and the pool reports again. While the queue is not empty, native code refuses
new requests, and they join it at its end: only requests that join at the very moment in which the queue becomes empty
overtake another one. No wake-up is lost between the refusal and the subscription: a waiter is queued before the pool is
asked to report room. A pool that is not full any more says so in response, which counts as a report; the room that it
has by then is for the queue, too.

A waiter ends when its request is sent or fails, when its time is up, when the request is over for another reason (the
waiter is one of the request's timers and is cancelled like one), or when the session is shut down. The queue is
bounded: beyond ``max_waiting_requests`` an ordinary thread is *held up* until there is a position, for at most the time
that the request may wait. The I/O thread and threads of event loops must not be held up; there the request fails.

Threads: the I/O thread owns the queue (``_groups``, ``_held_up``, ``_looking``, and all of a waiter except its state):
it orders, serves, expires and fails waiters. In other threads a waiter enters or leaves in one native section each
(``AdmissionQueue``), which also schedules the processing of the change on the I/O thread. There is no lock. So the
handler of a signal may run, raise, fork or make requests at any moment of a caller: before the native section there is
no waiter; after it the waiter is served independently of the caller. A caller that is held up waits for an event that
the I/O thread sets; the I/O thread never waits for a caller. If a caller is interrupted, the I/O thread fails its
request, which ends the waiter.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import (
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    DriverException,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    annotate,
)
from cassandra._base.process import AutoResetEvent
from cassandra._core.transport import (
    FIRST,
    HELD_UP,
    LEFT,
    NORMAL,
    QUEUED,
    AdmissionEntry,
    AdmissionQueue,
    Limit,
)
from cassandra._net.exchange import RoomSignal, orphaned_limit
from cassandra._session import aio

from .retry import closed_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cassandra._net.pool import HostPool
    from cassandra._routing.host import Host

    from ..session import Session
    from .future import ResponseFuture

NO_LIMIT = float("inf")
LOOK = 1.0  # seconds between two checks of a thread that is held up; the event ends its wait
REFUSED = (ConnectionBusy, NoConnectionsAvailable)
STOPPED = (RuntimeError, ConnectionShutdown, DriverException)  # the I/O thread has ended, or is the parent process's


def within_limits(cluster: Any, wanted: int) -> int:
    """Return the number of requests that a client may have in flight to a host: *wanted*, or the lowest limit of
    *cluster*."""
    limits = cluster.max_requests_per_connection, cluster.max_requests_per_host, cluster.max_requests_per_session
    found: int = min([wanted, *(limit for limit in limits if limit is not None)])
    return found


def wait_for_room(request: ResponseFuture, page: int) -> bool:
    """Queue *page* of *request*, which no host of the plan took, until one has room. Return False if no host refused it
    for being full, or the session is shut down."""
    hosts = [host for host, error in request._errors.items() if isinstance(error, ConnectionBusy)]
    if hosts:
        return request.session._pool_set.admission.join(request, page, frozenset(hosts))
    for error in request._errors.values():
        if isinstance(error, REFUSED):
            annotate(error, attempts=len(request.attempted_hosts), elapsed=monotonic() - request._start_time)
    return False


def wait_for_connection(request: ResponseFuture, page: int) -> bool:
    """Queue *page* of *request*, for which no host of the plan has a connection, until a pool that has just lost its
    connections has opened another one, or has done so by now. If the pool fails to open one, the request fails. Return
    False if there is no such pool, or the session is shut down."""
    pools = request.session._pools
    hosts = frozenset(
        host
        for host, error in request._errors.items()
        if _was_not_sent(error) and (pool := pools.get(host)) is not None and pool.may_take
    )
    return bool(hosts) and request.session._pool_set.admission.join(request, page, hosts)


def _number_of(waiter: Waiter) -> int:
    return waiter.number


def _was_not_sent(error: Any) -> bool:
    """True if *error*, of one host, shows that nothing of the request was sent there, for lack of a connection or of
    room."""
    return isinstance(error, (ConnectionException, *REFUSED)) and error.maybe_executed is not True


class Waiter(AdmissionEntry):
    """Position of one request in the admission queue."""

    __slots__ = ("admission", "event", "group", "hosts", "page", "patience", "request", "since", "timer", "waits")

    def __init__(
        self, admission: Admission, request: ResponseFuture, page: int, hosts: frozenset[Host], patience: float
    ) -> None:
        self.admission = admission
        self.request = request
        self.page = page
        self.hosts = hosts  # hosts that may have room later
        self.patience = patience  # longest wait in seconds
        self.since = monotonic()
        self.event: AutoResetEvent | None = None  # event of the thread that is held up
        # owned by the I/O thread
        self.group: frozenset[Host] | None = None  # its key in ``_groups``
        self.timer: Any = None
        self.waits = False  # True while it is queued and not being sent

    def cancel(self) -> None:
        """Leave the queue: the request is over. Any thread."""
        self.admission.queue.leave(self)


class Admission:
    """Admission queue: the requests of *session* that wait for room."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cluster = session.cluster
        self.queue = AdmissionQueue(self._process_changes)
        self._groups: dict[frozenset[Host], dict[int, Waiter]] = {}
        self._held_up: deque[Waiter] = deque()
        self._looking: set[Host | None] = set()
        self._closed = False
        self._room_signal = RoomSignal(self.look)
        maximum = self._cluster.max_requests_per_session
        self.limit = None if maximum is None else Limit(maximum, self._room_signal)

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def held_up(self) -> int:
        """Number of threads that wait for a position in the queue."""
        return self.queue.held_up

    # ---- joining

    def join(self, request: ResponseFuture, page: int, hosts: frozenset[Host]) -> bool:
        """Queue *request* until one of *hosts* has room. Return False if the session is shut down. Any thread."""
        waiter = next((timer for timer in request._timers or () if isinstance(timer, Waiter)), None)
        if waiter is not None and waiter.page == page:  # it was first in the queue, and is refused again
            waiter.waits = True
            self._move(waiter, hosts)
            self._replace_most_orphaned()
            self._request_room_signal(hosts)
            return True
        try:
            patience = _max_wait_of(request, self._cluster.max_request_wait, 0.0)[0]
        except TypeError as error:  # its timeout is not a number
            request._fail(page, error)
            return True
        waiter = Waiter(self, request, page, hosts, patience)
        try:
            return self._enter(waiter)
        except BaseException as error:  # no other component refers to the request: without this it would never end
            self._on_io_thread(partial(request._fail, page, error))
            raise

    def _enter(self, waiter: Waiter) -> bool:
        timers = waiter.request._set_timer(waiter.page, waiter)
        if timers is None:
            return not self._closed
        for timer in timers:
            timer.cancel()
        if waiter.patience > 0:
            for pool in self._pools_of(waiter.hosts):  # from here on it refuses new requests, which have to join
                pool.wait_for_room()
        may_be_held_up = self._may_block() and waiter.patience > 0
        most = self._cluster.max_waiting_requests if waiter.patience > 0 else 0
        if self._closed or not self.queue.enter(waiter, most, may_be_held_up, self._cluster.reactor):
            return False
        if waiter.state == HELD_UP:
            waiter.event = AutoResetEvent()
            self._cluster.reactor.flush()  # frames that this thread has queued must not wait with it
            while waiter.state == HELD_UP:
                waiter.event.wait(LOOK)
        return True

    def _may_block(self) -> bool:
        return not self._session._on_io_thread() and ("asyncio" not in sys.modules or aio.loop_or_none() is None)

    def _pools_of(self, hosts: Iterable[Host]) -> list[HostPool]:
        pools = self._session._pools
        return [pool for host in hosts for pool in (pools.get(host),) if pool is not None]

    # ---- changes; from here on all methods run on the I/O thread, unless their docstring says otherwise

    def _on_io_thread(self, action: Callable[[], object]) -> None:
        """Run *action* on the I/O thread; on this thread if the I/O thread has ended or is the parent process's. Any
        thread."""
        if not self._session._on_io_thread():
            with suppress(*STOPPED):
                self._cluster.reactor.call_soon(action)
                return
        action()

    def _process_changes(self) -> None:
        """Process the waiters that have entered or left."""
        joined: set[Host] = set()
        waiter: Any
        for waiter in self.queue.take_changes():
            if waiter.state == LEFT or waiter.request._is_over(waiter.page):
                self._forget(waiter)
            elif self._closed:
                self._fail(waiter)
            elif waiter.state == QUEUED:
                joined |= self._insert(waiter)
            elif waiter.state == HELD_UP:
                self._held_up.append(waiter)
                self._limit_wait(waiter)
            else:
                self._refuse_at_once(waiter)
        while self._held_up and self._admit(self._held_up[0]):
            waiter = self._held_up.popleft()
            if waiter.state == QUEUED:
                joined |= self._insert(waiter)
            if waiter.event is not None:
                waiter.event.set()
        if joined:
            for pool in self._pools_of(joined):
                pool.report_overload()
            self._replace_most_orphaned()
            self._request_room_signal(joined)

    def _insert(self, waiter: Waiter) -> frozenset[Host]:
        """Queue *waiter* at its position; return its hosts."""
        waiter.waits = True
        if waiter.timer is None:
            self._limit_wait(waiter)
        self._move(waiter, waiter.hosts)
        return waiter.hosts

    def _limit_wait(self, waiter: Waiter) -> None:
        patience = waiter.patience - (monotonic() - waiter.since)
        if patience < NO_LIMIT:
            with suppress(*STOPPED):  # the reactor stops after the session, which fails the waiter
                waiter.timer = self._cluster.reactor.call_later(max(patience, 0.0), partial(self._expire, waiter))

    def _admit(self, waiter: Waiter) -> bool:
        """True if *waiter* is not held up any more."""
        return waiter.state != HELD_UP or self.queue.admit(waiter, self._cluster.max_waiting_requests)

    def _move(self, waiter: Waiter, hosts: frozenset[Host]) -> None:
        """Set the hosts that *waiter* waits for to *hosts*."""
        if waiter.group == hosts or waiter.state != QUEUED:
            return
        self._remove(waiter)
        waiter.hosts = waiter.group = hosts
        group = self._groups.setdefault(hosts, {})
        is_last = not group or next(reversed(group)) < waiter.number
        group[waiter.number] = waiter
        if not is_last:
            self._groups[hosts] = dict(sorted(group.items()))

    def _remove(self, waiter: Waiter) -> None:
        group = self._groups.get(waiter.group) if waiter.group is not None else None
        if group is not None:
            group.pop(waiter.number, None)
            if not group:
                del self._groups[waiter.group]  # type: ignore[arg-type]
        waiter.group = None

    def _forget(self, waiter: Waiter) -> None:
        """Remove *waiter*, and wake its thread. Idempotent."""
        self.queue.leave(waiter)
        self._remove(waiter)
        if waiter.timer is not None:
            waiter.timer.cancel()
        if waiter.event is not None:
            waiter.event.set()

    def _request_room_signal(self, hosts: Iterable[Host]) -> None:
        """Ask the pools of *hosts* to report room."""
        pools = self._session._pools
        for host in hosts:
            pool = pools.get(host)
            if pool is None or not pool.wait_for_room():
                self.look(host)

    def _replace_most_orphaned(self) -> None:
        """Replace connections of the pool with the most orphaned requests if the session has too many of them: spread
        over many connections they may use up the session's limit, though no single connection has many."""
        if self.limit is None:
            return
        pools = self._session._pools.values()
        if sum(pool.orphaned for pool in pools) >= orphaned_limit(self.limit.maximum):
            max(pools, key=lambda pool: pool.orphaned).replace_most_orphaned()

    # ---- ends

    def _expire(self, waiter: Waiter) -> None:
        """Fail the request of *waiter*, whose timer has fired."""
        held_up = waiter.state == HELD_UP
        if not self.queue.leave(waiter):
            return
        self._forget(waiter)
        why = self._full() if held_up else "max_request_wait has elapsed"
        self._refuse(waiter, monotonic() - waiter.since, self._remaining_time_of(waiter), why)

    def _refuse_at_once(self, waiter: Waiter) -> None:
        if waiter.patience > 0:
            self._refuse(waiter, 0.0, False, self._full())
        else:
            self._refuse(waiter, 0.0, self._remaining_time_of(waiter), "max_request_wait is 0")

    def _full(self) -> str:
        return f"{len(self)} requests are waiting, which is the limit (max_waiting_requests)"

    def _remaining_time_of(self, waiter: Waiter) -> bool:
        """True if the request's own timeout has elapsed."""
        return _max_wait_of(waiter.request, self._cluster.max_request_wait, monotonic() - waiter.since)[1]

    def close(self) -> None:
        """Fail all waiting requests: the session is shut down. Any thread."""
        self._closed = True
        self._on_io_thread(self._close_queues)

    def _close_queues(self) -> None:
        self._process_changes()
        for group in list(self._groups.values()):
            for waiter in list(group.values()):
                self._fail(waiter)
        while self._held_up:
            self._fail(self._held_up.popleft())
        self.queue.close()

    def _fail(self, waiter: Waiter) -> None:
        """Fail the request of *waiter*: the session is shut down."""
        self._forget(waiter)
        error = NoHostAvailable(closed_text(waiter.request.session), {})
        self._annotate(error, waiter)
        waiter.request._fail(waiter.page, error)

    # ---- serving

    def look(self, host: Host | None = None) -> None:
        """Serve the queue of *host* (None: of all hosts): there may be room, or nothing to wait for any more. Any
        thread."""
        if not self._session._on_io_thread():
            self._on_io_thread(partial(self._serve_queues, host))
        else:
            self._serve_queues(host)

    def _serve_queues(self, host: Host | None) -> None:
        if not self._groups and not len(self.queue):
            self._close_queue(host)
            return
        if host in self._looking:
            return
        self._looking.add(host)
        try:
            self._cluster.reactor.call_soon(partial(self._serve, host))
        except STOPPED:  # the reactor was stopped: there will be no room any more
            self.close()

    def _serve(self, host: Host | None) -> None:
        self._looking.discard(host)
        self._process_changes()  # queues the waiters that have just joined
        while (waiter := self._first(host)) is not None:
            if self._send(waiter) and (host is None or host in waiter.hosts):
                return  # full again: the pool will report
        self._close_queue(host)

    def _close_queue(self, host: Host | None) -> None:
        """Close the empty queue of *host* (None: of all hosts): the hosts take new requests directly again."""
        pools = self._session._pools
        for pool in pools.values() if host is None else self._pools_of([host]):
            pool.end_queue()
        if self.limit is not None and None not in self._looking:
            self.limit.end_queue()

    def _first(self, host: Host | None) -> Waiter | None:
        """Return the waiter to be sent next to *host*: the oldest one, unless the host is overloaded and that has
        waited for half of its time. Then the newest: some requests are answered at once, instead of all too late."""
        groups = [slots for hosts, slots in self._groups.items() if host is None or host in hosts]
        if not groups:
            return None
        oldest = min((next(iter(slots.values())) for slots in groups), key=_number_of)
        if host is not None and monotonic() - oldest.since > oldest.patience / 2:
            pool = self._session._pools.get(host)
            if pool is not None and pool.is_limited:
                return max((slots[next(reversed(slots))] for slots in groups), key=_number_of)
        return oldest

    def _send(self, waiter: Waiter) -> bool:
        """Send its request. Return True if it waits again."""
        request = waiter.request
        if waiter.state != QUEUED or request._is_over(waiter.page):
            self._forget(waiter)
            return False
        waiter.waits = False
        sending = request._execution.sending
        sending.errors = {host: error for host, error in sending.errors.items() if not _was_not_sent(error)}
        sending.plan.repeat(frozenset(sending.errors))
        request._priority = FIRST
        try:
            sending.send(request, waiter.page)
        except Exception as error:  # of a user's policy
            request._fail(waiter.page, error)
        finally:
            request._priority = NORMAL
        if waiter.waits:
            return True
        self._forget(waiter)
        request._remove_timer(waiter.page, waiter)
        return False

    # ---- errors

    def _refuse(self, waiter: Waiter, waited: float, timed_out: bool, why: str) -> None:
        """Fail the request of *waiter*, *waited* seconds after it was queued, or before that (0). *timed_out*: its own
        timeout has elapsed."""
        request = waiter.request
        errors = {host: self._error_text_of(waiter, host, error, waited) for host, error in request._errors.items()}
        error: Any
        if timed_out:
            host = next((host for host, one in request._errors.items() if isinstance(one, ConnectionBusy)), None)
            in_flight = None if host is None else errors[host].in_flight
            texts = {str(host.endpoint): _text(error) for host, error in errors.items()}
            error = OperationTimedOut(texts, host, request.timeout, in_flight)
            if request._metrics is not None:
                request._metrics.timed_out(host)
        else:
            error = NoHostAvailable(f"No host had room for the request within {waited:.3f} s; {why}", errors)
        self._annotate(error, waiter)
        request._fail(waiter.page, error)

    def _error_text_of(self, waiter: Waiter, host: Host, error: Any, waited: float) -> Any:
        """Return *error* of *host*; if it is a refusal for being full, an error that reports its load."""
        if not isinstance(error, ConnectionBusy):
            return error
        pool = self._session._pools.get(host)
        load = "its connection pool is closed" if pool is None else pool.load()
        if self.limit is not None:
            load += f", {self.limit.in_flight} of {self.limit.maximum} of the session"
        kind = NoConnectionsAvailable if waited else ConnectionBusy
        text = f"{host} has no room for another request: {load}, {len(self)} waiting"
        explained = kind(f"{text}. Send fewer at a time, or raise the limit that is reached")
        explained.__cause__ = error
        if pool is not None:
            annotate(explained, in_flight=pool.in_flight, shard=pool.shard)
        annotate(explained, host=host)
        self._annotate(explained, waiter)
        return explained

    def _annotate(self, error: BaseException, waiter: Waiter) -> None:
        request = waiter.request
        annotate(
            error,
            attempts=len(request.attempted_hosts),
            elapsed=monotonic() - request._start_time,
            maybe_executed=request._execution.sending.may_be_executed(request),
        )


def _text(error: BaseException) -> str:
    """Return the text of *error*, without the attributes that the enclosing error reports itself."""
    return str(error.args[0]) if isinstance(error, REFUSED) else str(error)


def _max_wait_of(request: ResponseFuture, limit: float | None, waited: float) -> tuple[float, bool]:
    """Return the seconds that *request* may still wait, and True if its own timeout ends that wait."""
    remaining = request._remaining()
    own = NO_LIMIT if remaining is None else remaining
    wait = NO_LIMIT if limit is None else limit - waited
    return min(own, wait), own <= wait
