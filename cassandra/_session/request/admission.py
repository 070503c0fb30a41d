"""Admission queue: requests whose hosts are all at their in-flight limit wait until there is room or their time is up.
Requests that found no connection wait as well, while a pool opens one.

L5. A connection, a host and a session each have a limit of requests in flight (``max_requests_per_connection``,
``max_requests_per_host``, ``max_requests_per_session``). A request that no host takes, and that at least one host
refuses only because it is full, gets a *ticket* in the admission queue of its session (``Line``). The ticket blocks no
thread: the caller may wait for the future in a thread, with ``await``, or not at all.

Pools, and the session's own limit, report that there may be room (``look``). Then the oldest request that waits for
that host is sent along a fresh plan. If a host takes it, the next one follows; if not, it keeps its position, and the
pool reports again. While the queue is not empty, native code refuses new requests, and they join it at its end: only
requests that join at the very moment in which the queue becomes empty overtake another one. No wake-up is lost between
the refusal and the subscription: a ticket is queued before the pool is asked to report room. A pool that is not full
any more says so in response, which counts as a report; the room that it has by then is for the queue, too.

A ticket ends when its request is sent or fails, when its time is up, when the request is over for another reason (the
ticket is one of the request's timers and is cancelled like one), or when the session is shut down. The queue is
bounded: beyond ``max_waiting_requests`` an ordinary thread is *held up* until there is a position, for at most the time
that the request may wait. The I/O thread and threads of event loops must not be held up; there the request fails.

Threads: the I/O thread owns the queue (``_groups``, ``_held_up``, ``_looking``, and all of a ticket except its state):
it orders, serves, expires and fails tickets. In other threads a ticket enters or leaves in one native section each
(``AdmissionQueue``), which also schedules the processing of the change on the I/O thread. There is no lock. So the
handler of a signal may run, raise, fork or make requests at any moment of a caller: before the native section there is
no ticket; after it the ticket is served independently of the caller. A caller that is held up waits for an event that
the I/O thread sets; the I/O thread never waits for a caller. If a caller is interrupted, the I/O thread fails its
request, which ends the ticket.
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
from cassandra._base.process import Bell
from cassandra._core.transport import (
    HELD_UP,
    IN_LINE,
    LEFT,
    ORDINARY,
    QUEUED,
    AdmissionEntry,
    AdmissionQueue,
    Limit,
)
from cassandra._net.exchange import RoomSignal, worn_at
from cassandra._session import aio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cassandra._net.pool import HostPool
    from cassandra._routing.host import Host

    from ..session import Session
    from .future import ResponseFuture

FOR_EVER = float("inf")
LOOK = 1.0  # seconds between two checks of a thread that is held up; the event ends its wait
SHUT_DOWN = "The session was shut down while the request waited for room"
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
        return request.session._pool_set.line.join(request, page, frozenset(hosts))
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
    return bool(hosts) and request.session._pool_set.line.join(request, page, hosts)


def _was_not_sent(error: Any) -> bool:
    """True if *error*, of one host, shows that nothing of the request was sent there, for lack of a connection or of
    room."""
    return isinstance(error, (ConnectionException, *REFUSED)) and error.maybe_executed is not True


class Ticket(AdmissionEntry):
    """Position of one request in the admission queue."""

    __slots__ = ("bell", "group", "hosts", "line", "page", "patience", "request", "since", "timer", "waits")

    def __init__(self, line: Line, request: ResponseFuture, page: int, hosts: frozenset[Host], patience: float) -> None:
        self.line = line
        self.request = request
        self.page = page
        self.hosts = hosts  # hosts that may have room later
        self.patience = patience  # longest wait in seconds
        self.since = monotonic()
        self.bell: Bell | None = None  # event of the thread that is held up
        # owned by the I/O thread
        self.group: frozenset[Host] | None = None  # its key in ``_groups``
        self.timer: Any = None
        self.waits = False  # True while it is queued and not being sent

    def cancel(self) -> None:
        """Leave the queue: the request is over. Any thread."""
        self.line.queue.leave(self)


class Line:
    """Admission queue: the requests of *session* that wait for room."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cluster = session.cluster
        self.queue = AdmissionQueue(self._changed)
        self._groups: dict[frozenset[Host], dict[int, Ticket]] = {}
        self._held_up: deque[Ticket] = deque()
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
        ticket = next((timer for timer in request._timers or () if isinstance(timer, Ticket)), None)
        if ticket is not None and ticket.page == page:  # it was first in the queue, and is refused again
            ticket.waits = True
            self._move(ticket, hosts)
            self._replace_worn()
            self._ask(hosts)
            return True
        try:
            patience = _patience(request, self._cluster.max_request_wait, 0.0)[0]
        except TypeError as error:  # its timeout is not a number
            request._fail(page, error)
            return True
        ticket = Ticket(self, request, page, hosts, patience)
        try:
            return self._enter(ticket)
        except BaseException as error:  # no other component refers to the request: without this it would never end
            self._on_io_thread(partial(request._fail, page, error))
            raise

    def _enter(self, ticket: Ticket) -> bool:
        timers = ticket.request._set_timer(ticket.page, ticket)
        if timers is None:
            return not self._closed
        for timer in timers:
            timer.cancel()
        if ticket.patience > 0:
            for pool in self._pools_of(ticket.hosts):  # from here on it refuses new requests, which have to join
                pool.wait_for_room()
        may_be_held_up = self._may_block() and ticket.patience > 0
        most = self._cluster.max_waiting_requests if ticket.patience > 0 else 0
        if self._closed or not self.queue.enter(ticket, most, may_be_held_up, self._cluster.reactor):
            return False
        if ticket.state == HELD_UP:
            ticket.bell = Bell()
            self._cluster.reactor.send_unsent()  # frames that this thread has queued must not wait with it
            while ticket.state == HELD_UP:
                ticket.bell.wait(LOOK)
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

    def _changed(self) -> None:
        """Process the tickets that have entered or left."""
        joined: set[Host] = set()
        ticket: Any
        for ticket in self.queue.take_changes():
            if ticket.state == LEFT or ticket.request._is_over(ticket.page):
                self._forget(ticket)
            elif self._closed:
                self._fail(ticket)
            elif ticket.state == QUEUED:
                joined |= self._insert(ticket)
            elif ticket.state == HELD_UP:
                self._held_up.append(ticket)
                self._limit_wait(ticket)
            else:
                self._refuse_at_once(ticket)
        while self._held_up and self._admit(self._held_up[0]):
            ticket = self._held_up.popleft()
            if ticket.state == QUEUED:
                joined |= self._insert(ticket)
            if ticket.bell is not None:
                ticket.bell.ring()
        if joined:
            self._replace_worn()
            self._ask(joined)

    def _insert(self, ticket: Ticket) -> frozenset[Host]:
        """Queue *ticket* at its position; return its hosts."""
        ticket.waits = True
        if ticket.timer is None:
            self._limit_wait(ticket)
        self._move(ticket, ticket.hosts)
        return ticket.hosts

    def _limit_wait(self, ticket: Ticket) -> None:
        patience = ticket.patience - (monotonic() - ticket.since)
        if patience < FOR_EVER:
            with suppress(*STOPPED):  # the reactor stops after the session, which fails the ticket
                ticket.timer = self._cluster.reactor.call_later(max(patience, 0.0), partial(self._expire, ticket))

    def _admit(self, ticket: Ticket) -> bool:
        """True if *ticket* is not held up any more."""
        return ticket.state != HELD_UP or self.queue.admit(ticket, self._cluster.max_waiting_requests)

    def _move(self, ticket: Ticket, hosts: frozenset[Host]) -> None:
        """Set the hosts that *ticket* waits for to *hosts*."""
        if ticket.group == hosts or ticket.state != QUEUED:
            return
        self._remove(ticket)
        ticket.hosts = ticket.group = hosts
        group = self._groups.setdefault(hosts, {})
        is_last = not group or next(reversed(group)) < ticket.number
        group[ticket.number] = ticket
        if not is_last:
            self._groups[hosts] = dict(sorted(group.items()))

    def _remove(self, ticket: Ticket) -> None:
        group = self._groups.get(ticket.group) if ticket.group is not None else None
        if group is not None:
            group.pop(ticket.number, None)
            if not group:
                del self._groups[ticket.group]  # type: ignore[arg-type]
        ticket.group = None

    def _forget(self, ticket: Ticket) -> None:
        """Remove *ticket*, and wake its thread. Idempotent."""
        self.queue.leave(ticket)
        self._remove(ticket)
        if ticket.timer is not None:
            ticket.timer.cancel()
        if ticket.bell is not None:
            ticket.bell.ring()

    def _ask(self, hosts: Iterable[Host]) -> None:
        """Ask the pools of *hosts* to report room."""
        pools = self._session._pools
        for host in hosts:
            pool = pools.get(host)
            if pool is None or not pool.wait_for_room():
                self.look(host)

    def _replace_worn(self) -> None:
        """Replace connections of the pool with the most orphaned requests if the session has too many of them: spread
        over many connections they may use up the session's limit, though no single connection has many."""
        if self.limit is None:
            return
        pools = self._session._pools.values()
        if sum(pool.orphaned for pool in pools) >= worn_at(self.limit.maximum):
            max(pools, key=lambda pool: pool.orphaned).replace_worn()

    # ---- ends

    def _expire(self, ticket: Ticket) -> None:
        """Fail the request of *ticket*, whose timer has fired."""
        held_up = ticket.state == HELD_UP
        if not self.queue.leave(ticket):
            return
        self._forget(ticket)
        why = self._full() if held_up else "max_request_wait has elapsed"
        self._refuse(ticket, monotonic() - ticket.since, self._own_time(ticket), why)

    def _refuse_at_once(self, ticket: Ticket) -> None:
        if ticket.patience > 0:
            self._refuse(ticket, 0.0, False, self._full())
        else:
            self._refuse(ticket, 0.0, self._own_time(ticket), "max_request_wait is 0")

    def _full(self) -> str:
        return f"{len(self)} requests are waiting, which is the limit (max_waiting_requests)"

    def _own_time(self, ticket: Ticket) -> bool:
        """True if the request's own timeout has elapsed."""
        return _patience(ticket.request, self._cluster.max_request_wait, monotonic() - ticket.since)[1]

    def close(self) -> None:
        """Fail all waiting requests: the session is shut down. Any thread."""
        self._closed = True
        self._on_io_thread(self._end_all)

    def _end_all(self) -> None:
        self._changed()
        for group in list(self._groups.values()):
            for ticket in list(group.values()):
                self._fail(ticket)
        while self._held_up:
            self._fail(self._held_up.popleft())
        self.queue.close()

    def _fail(self, ticket: Ticket) -> None:
        """Fail the request of *ticket*: the session is shut down."""
        self._forget(ticket)
        error = NoHostAvailable(SHUT_DOWN, {})
        self._annotate(error, ticket)
        ticket.request._fail(ticket.page, error)

    # ---- serving

    def look(self, host: Host | None = None) -> None:
        """Serve the queue of *host* (None: of all hosts): there may be room, or nothing to wait for any more. Any
        thread."""
        if not self._session._on_io_thread():
            self._on_io_thread(partial(self._look, host))
        else:
            self._look(host)

    def _look(self, host: Host | None) -> None:
        if not self._groups and not len(self.queue):
            self._end(host)
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
        self._changed()  # queues the tickets that have just joined
        while (ticket := self._first(host)) is not None:
            if self._send(ticket) and (host is None or host in ticket.hosts):
                return  # full again: the pool will report
        self._end(host)

    def _end(self, host: Host | None) -> None:
        """Close the empty queue of *host* (None: of all hosts): the hosts take new requests directly again."""
        pools = self._session._pools
        for pool in pools.values() if host is None else self._pools_of([host]):
            pool.end_line()
        if self.limit is not None and None not in self._looking:
            self.limit.end_line()

    def _first(self, host: Host | None) -> Ticket | None:
        """Return the oldest ticket that waits for *host*."""
        groups = [places for hosts, places in self._groups.items() if host is None or host in hosts]
        if not groups:
            return None
        return min((next(iter(places.values())) for places in groups), key=lambda ticket: ticket.number)

    def _send(self, ticket: Ticket) -> bool:
        """Send its request. Return True if it waits again."""
        request = ticket.request
        if ticket.state != QUEUED or request._is_over(ticket.page):
            self._forget(ticket)
            return False
        ticket.waits = False
        sending = request._execution.sending
        sending.plan.restart()
        sending.errors = {host: error for host, error in sending.errors.items() if not _was_not_sent(error)}
        tried = len(request.attempted_hosts)
        request._right = IN_LINE
        try:
            sending.send(request, ticket.page)
        except Exception as error:  # of a user's policy
            request._fail(ticket.page, error)
        finally:
            request._right = ORDINARY
        if ticket.waits:
            del request.attempted_hosts[tried:]  # refused again: these were not attempts
            return True
        self._forget(ticket)
        request._remove_timer(ticket.page, ticket)
        return False

    # ---- errors

    def _refuse(self, ticket: Ticket, waited: float, timed_out: bool, why: str) -> None:
        """Fail the request of *ticket*, *waited* seconds after it was queued, or before that (0). *timed_out*: its own
        timeout has elapsed."""
        request = ticket.request
        errors = {host: self._explained(ticket, host, error, waited) for host, error in request._errors.items()}
        error: Any
        if timed_out:
            host = next((host for host, one in request._errors.items() if isinstance(one, ConnectionBusy)), None)
            in_flight = None if host is None else errors[host].in_flight
            texts = {str(host.endpoint): _text(error) for host, error in errors.items()}
            error = OperationTimedOut(texts, host, request.timeout, in_flight)
            if request._metrics is not None:
                request._metrics.on_client_timeout()
        else:
            error = NoHostAvailable(f"No host had room for the request within {waited:.3f} s; {why}", errors)
        self._annotate(error, ticket)
        request._fail(ticket.page, error)

    def _explained(self, ticket: Ticket, host: Host, error: Any, waited: float) -> Any:
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
        self._annotate(explained, ticket)
        return explained

    def _annotate(self, error: BaseException, ticket: Ticket) -> None:
        request = ticket.request
        refused = sum(isinstance(one, ConnectionBusy) for one in request._errors.values())
        annotate(
            error,
            attempts=max(0, len(request.attempted_hosts) - refused),
            elapsed=monotonic() - request._start_time,
            maybe_executed=request._execution.sending.may_be_executed(request),
        )


def _text(error: BaseException) -> str:
    """Return the text of *error*, without the attributes that the enclosing error reports itself."""
    return str(error.args[0]) if isinstance(error, REFUSED) else str(error)


def _patience(request: ResponseFuture, limit: float | None, waited: float) -> tuple[float, bool]:
    """Return the seconds that *request* may still wait, and True if its own timeout ends that wait."""
    remaining = request._remaining()
    own = FOR_EVER if remaining is None else remaining
    wait = FOR_EVER if limit is None else limit - waited
    return min(own, wait), own <= wait
