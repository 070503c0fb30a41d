"""Admission: requests that found every host full wait in line, until there is room or their time is up. So do those
that found no connection, while a pool opens one.

L5. A connection, a host and a session each take so many requests at a time (``max_requests_per_connection``,
``max_requests_per_host``, ``max_requests_per_session``). A request none of whose hosts takes it, though at least one is
only full, gets a *ticket* for a place in its session's line. No thread waits with it: whoever made it may wait for the
future, in a thread, with ``await`` or not at all.

Pools, and the session's own limit, tell when there may be room (``look``). Then the oldest request that waits for that
host is sent along a fresh plan, on the I/O thread; if it is taken the next one follows, if not it keeps its place and
the pool tells again. As long as there is a line, newcomers are refused natively and join it at its end: nobody is
overtaken, but for who joins in the very moment in which the line ends. Nothing is lost between "full" and "tell me": a
ticket is in line before the pool is asked to tell, and a pool that is full no more says so, which counts as being told;
what room it has by then is for the line, too.

A ticket ends when its request is sent or fails, when its time is up, when the request is over for another reason (it is
one of the request's timers and is cancelled like one), or when the session is shut down. The line is bounded: beyond
``max_waiting_requests`` an ordinary thread is held up until there is a place in it, no longer than the request may
wait; on the I/O thread and where an event loop runs, which must not be held up, the request fails at once.

``_groups``, ``_size`` and places are guarded by ``_lock``, the session's; nothing else is called with it held. Only the
I/O thread serves.
"""

from __future__ import annotations

import itertools
import sys
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import (
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    annotate,
)
from cassandra._base.real import threading
from cassandra._core.transport import IN_LINE, ORDINARY, Limit
from cassandra._net.limits import RoomSignal, worn_at

from ..background import aio

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from ..session import Session
    from .future import ResponseFuture

FOR_EVER = float("inf")
SHUT_DOWN = "The session was shut down while the request waited for room"
REFUSED = (ConnectionBusy, NoConnectionsAvailable)


def wait_for_room(request: ResponseFuture, page: int) -> bool:
    """No host of the plan took *page* of *request*: see that it is sent when one can, if all that is wrong is that they
    are full. False if that is not so."""
    hosts = [host for host, error in request._errors.items() if isinstance(error, ConnectionBusy)]
    if hosts:
        return request.session._pool_set.line.join(request, page, frozenset(hosts))
    for error in request._errors.values():
        if isinstance(error, REFUSED):
            annotate(error, attempts=len(request.attempted_hosts), elapsed=monotonic() - request._start_time)
    return False


def wait_for_connection(request: ResponseFuture, page: int) -> bool:
    """No host of the plan has a connection: see that *page* of *request* is sent when a pool that has just lost its own
    has opened another one, or has done so just now. If the attempt fails, the request does. False if there is no such
    pool."""
    pools = request.session._pools
    hosts = frozenset(
        host
        for host, error in request._errors.items()
        if _was_not_sent(error) and (pool := pools.get(host)) is not None and pool.may_take
    )
    return bool(hosts) and request.session._pool_set.line.join(request, page, hosts)


def _was_not_sent(error: Any) -> bool:
    """Of an error of one host: nothing of the request is there, for want of a connection or of room."""
    return isinstance(error, (ConnectionException, *REFUSED)) and error.maybe_executed is not True


class Ticket:
    """One request's place in the line."""

    __slots__ = ("hosts", "line", "number", "page", "request", "since", "timer", "waits")

    def __init__(self, line: Line, request: ResponseFuture, page: int, hosts: frozenset[Host], number: int) -> None:
        self.line = line
        self.request = request
        self.page = page
        self.hosts = hosts  # where there may be room some time
        self.number = number  # the lower the older
        self.since = monotonic()
        self.timer: Any = None
        self.waits = False  # is in line, and not just being sent

    def cancel(self) -> None:
        """The request is over, or sent."""
        self.line.leave(self)


class Line:
    """The requests of *session* that wait for room. Methods may be called from any thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cluster = session.cluster
        self._lock = session._request_lock
        self._freed = threading.Condition(self._lock)
        self._groups: dict[frozenset[Host], dict[int, Ticket]] = {}
        self._size = 0
        self._numbers = itertools.count()
        self._looking: set[Host | None] = set()
        self.held_up = 0  # threads that wait for a place in the line
        self._closed = False
        self._room_signal = RoomSignal(self.look)
        maximum = self._cluster.max_requests_per_session
        self.limit = None if maximum is None else Limit(maximum, self._room_signal)

    def __len__(self) -> int:
        return self._size

    # ---- joining

    def join(self, request: ResponseFuture, page: int, hosts: frozenset[Host]) -> bool:
        """Have *request* wait until one of *hosts* has room. False when the session is shut down."""
        ticket = next((timer for timer in request._timers or () if isinstance(timer, Ticket)), None)
        if ticket is not None and ticket.page == page:
            if not self._rejoin(ticket, hosts):
                return True
        else:
            ticket = Ticket(self, request, page, hosts, -1)
            try:
                if not self._enter(ticket):
                    return not self._closed
            except BaseException as error:  # nobody else knows the request: it must not stay behind unanswered
                self.leave(ticket)
                request._fail(page, error)
                if not isinstance(error, Exception):
                    raise
                return True
        self._replace_worn()
        pools = self._session._pools
        for host in hosts:
            pool = pools.get(host)
            if pool is None or not pool.wait_for_room():
                self.look(host)
        return True

    def _enter(self, ticket: Ticket) -> bool:
        """False if the request does not wait: it has failed, is over, or the session is."""
        request = ticket.request
        patience, own = self._patience(ticket)
        if patience <= 0:
            self._refuse(ticket, own, "it may not wait")
            return False
        timers = request._set_timer(ticket.page, ticket)
        if timers is None:
            return False
        for timer in timers:
            timer.cancel()
        if not self._take_place(ticket, patience):
            return False
        patience, _ = self._patience(ticket)
        if patience < FOR_EVER:
            ticket.timer = self._session._call_later(max(patience, 0.0), request, partial(self._expire, ticket))
        if request._is_over(ticket.page) or not self._holds(ticket):  # it has left before it had its timer
            self.leave(ticket)
            return False
        return True

    def _take_place(self, ticket: Ticket, patience: float) -> bool:
        """At the end of the line, waiting for the line to get shorter if need and right be."""
        most = self._cluster.max_waiting_requests
        may_block = self._may_block()
        if may_block and self._size >= most:  # what this thread has queued must not wait with it
            self._cluster.reactor.send_unsent()
        with self._lock:
            if self._size >= most and may_block:
                self.held_up += 1
                self._freed.wait_for(partial(self._has_place_for, ticket), min(patience, threading.TIMEOUT_MAX))
                self.held_up -= 1
            if self._closed:
                return False
            full = self._size >= most
            if not full:
                ticket.number = next(self._numbers)
                ticket.waits = True
                self._groups.setdefault(ticket.hosts, {})[ticket.number] = ticket
                self._size += 1
        if full:
            _, own = self._patience(ticket)
            why = f"{self._size} requests wait already and no more may (max_waiting_requests)"
            self._refuse(ticket, own and may_block, why)
        return not full

    def _rejoin(self, ticket: Ticket, hosts: frozenset[Host]) -> bool:
        """It was first in line, and refused again. False if it has left the line meanwhile."""
        with self._lock:
            if not self._holds(ticket):
                return False
            ticket.waits = True
            if hosts != ticket.hosts:
                self._remove(ticket)
                ticket.hosts = hosts
                self._groups[hosts] = dict(sorted([*self._groups.get(hosts, {}).items(), (ticket.number, ticket)]))
                self._size += 1
            return True

    def _holds(self, ticket: Ticket) -> bool:
        with self._lock:
            return ticket.number in self._groups.get(ticket.hosts, ())

    def _has_place_for(self, ticket: Ticket) -> bool:
        """Locked."""
        free = self._size < self._cluster.max_waiting_requests
        return free or self._closed or ticket.request._is_over(ticket.page)

    def _patience(self, ticket: Ticket) -> tuple[float, bool]:
        """How many seconds *ticket* may still wait, and whether then the request's own time is up."""
        remaining = ticket.request._remaining()
        own = FOR_EVER if remaining is None else remaining
        limit = self._cluster.max_request_wait
        wait = FOR_EVER if limit is None else limit - (monotonic() - ticket.since)
        return min(own, wait), own <= wait

    def _may_block(self) -> bool:
        return not self._session._on_io_thread() and ("asyncio" not in sys.modules or aio.loop_or_none() is None)

    def _replace_worn(self) -> None:
        """Requests given up on many connections may fill the session's limit, though no connection has many."""
        if self.limit is None:
            return
        pools = self._session._pools.values()
        if sum(pool.orphaned for pool in pools) >= worn_at(self.limit.maximum):
            max(pools, key=lambda pool: pool.orphaned).replace_worn()

    # ---- leaving

    def leave(self, ticket: Ticket) -> None:
        """*ticket* is not needed any more. Idempotent."""
        with self._lock:
            ticket.waits = False
            if not self._remove(ticket):
                self._freed.notify_all()  # it may be waiting for a place
        if ticket.timer is not None:
            ticket.timer.cancel()

    def _remove(self, ticket: Ticket) -> bool:
        """Locked."""
        group = self._groups.get(ticket.hosts)
        if group is None or group.pop(ticket.number, None) is None:
            return False
        if not group:
            del self._groups[ticket.hosts]
        self._size -= 1
        self._freed.notify()
        return True

    def _expire(self, ticket: Ticket) -> None:
        """By its timer."""
        with self._lock:
            if not self._remove(ticket):
                return
            ticket.waits = False
        _, own = self._patience(ticket)
        self._refuse(ticket, own, "its time is up (max_request_wait)")

    def close(self) -> None:
        """The session is shut down: nobody waits any more."""
        with self._lock:
            self._closed = True
            places = [ticket for group in self._groups.values() for ticket in group.values()]
            self._groups.clear()
            self._size = 0
            self._freed.notify_all()
        for ticket in places:
            error = NoHostAvailable(SHUT_DOWN, {})
            self._annotate(error, ticket)
            ticket.request._fail(ticket.page, error)

    # ---- serving

    def look(self, host: Host | None = None) -> None:
        """There may be room at *host* (None: anywhere), or nothing to wait for any more."""
        if not self._groups:
            self._end(host)
            return
        if host in self._looking:
            return
        self._looking.add(host)
        try:
            self._cluster.reactor.call_soon(partial(self._serve, host))
        except (RuntimeError, ConnectionShutdown):  # it was stopped: there will be no room any more
            self.close()

    def _serve(self, host: Host | None) -> None:
        self._looking.discard(host)
        while (ticket := self._first(host)) is not None:
            if self._send(ticket) and (host is None or host in ticket.hosts):
                return  # full again: we will be told
        self._end(host)

    def _end(self, host: Host | None) -> None:
        """Nobody waits for *host*: newcomers may have what there is."""
        pools = self._session._pools
        for pool in pools.values() if host is None else [pools.get(host)]:
            if pool is not None:
                pool.end_line()
        if self.limit is not None and None not in self._looking:
            self.limit.end_line()

    def _first(self, host: Host | None) -> Ticket | None:
        """The oldest of those who wait for *host*."""
        with self._lock:
            groups = [places for hosts, places in self._groups.items() if host is None or host in hosts]
            if not groups:
                return None
            return min((next(iter(places.values())) for places in groups), key=lambda ticket: ticket.number)

    def _send(self, ticket: Ticket) -> bool:
        """Send its request. True if it waits again."""
        request = ticket.request
        ticket.waits = False
        sending = request._execution.sending
        sending.plan.restart()
        sending.errors = {host: error for host, error in sending.errors.items() if not _was_not_sent(error)}
        tried = len(request.attempted_hosts)
        request._right = IN_LINE
        try:
            sending.send(request, ticket.page)
        except Exception as error:  # a policy of the user
            request._fail(ticket.page, error)
        finally:
            request._right = ORDINARY
        if ticket.waits:
            del request.attempted_hosts[tried:]  # refused once more: no attempts
            return True
        self.leave(ticket)
        request._remove_timer(ticket.page, ticket)
        return False

    # ---- errors

    def _refuse(self, ticket: Ticket, timed_out: bool, why: str) -> None:
        """Fail the request that could not wait (any longer); *timed_out*: by its own timeout."""
        request = ticket.request
        waited = monotonic() - ticket.since
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
        """*error* of *host*; one that says how full it is, if that was it."""
        if not isinstance(error, ConnectionBusy):
            return error
        pool = self._session._pools.get(host)
        load = "it has no pool any more" if pool is None else pool.load()
        if self.limit is not None:
            load += f", {self.limit.in_flight} of {self.limit.maximum} of the session"
        kind = NoConnectionsAvailable if waited >= 0.001 else ConnectionBusy
        text = f"{host} has no room for another request: {load}, {self._size} waiting"
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
            maybe_executed=request._execution.sending.unsure,
        )


def _text(error: BaseException) -> str:
    """Without what the error that it goes into says itself."""
    return str(error.args[0]) if isinstance(error, REFUSED) else str(error)
