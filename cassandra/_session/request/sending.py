"""Sending: the attempts of one request, in the order of its query plan.

L5. A :class:`Sending` belongs to an :class:`~cassandra._session.request.execution.Execution` and keeps the errors of
earlier attempts. The request is a parameter of each step: it owns the attempts in flight, page and outcome, see
``transport_parts/request.pxi``. An attempt is *registered* with the request before it is submitted, as its response may
arrive before submitting returns; it is removed when its outcome is processed, when it is given up, or when sending it
fails.

Steps run on the thread that makes the request, on the one that processes an outcome, and, for speculation and delayed
retries, on the I/O thread. They share the query plan (see ``plan.py`` on concurrent use) and the attempts, which belong
to the request.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import ConnectionException, NoHostAvailable, OperationTimedOut, annotate
from cassandra._core.transport import Attempt, replaced

from ..background import aio
from .admission import wait_for_connection, wait_for_room
from .attempts import encoding_error
from .fallback import sent_elsewhere
from .retry import NOT_SENT, public_error
from .using import hand_over

if TYPE_CHECKING:
    from cassandra._core.routing import Place
    from cassandra._routing.host import Host
    from cassandra._routing.policies import SpeculativeExecutionPlan

    from ..session import Session
    from .content import Content
    from .future import ResponseFuture
    from .plan import QueryPlan
    from .tracking import TrackedAttempt

NO_POOL = "Host has been marked down or removed"


def closed_text(session: Session) -> str:
    """Return the reason why *session* rejects requests, and the remedy."""
    if session.cluster.is_shutdown:
        return "The cluster is shut down, and so are its sessions; make a new Cluster."
    return "The session is shut down; open a new one with Cluster.connect()."


class Sending:
    """Sends *content* to the hosts of *plan*, and to further ones by *speculation* while an attempt takes long."""

    __slots__ = ("_numbers", "content", "errors", "plan", "speculation", "tracked", "unsure")

    def __init__(self, content: Content, plan: QueryPlan, speculation: SpeculativeExecutionPlan | None = None) -> None:
        self.content = content
        self.plan = plan
        self.speculation = speculation
        self.errors: dict[Any, Any] = {}  # the last error of each host
        self.unsure = False  # an attempt failed in a way that leaves open whether the server executed it
        self.tracked: dict[int, TrackedAttempt] = {}  # attempts reported to a tracker that have not ended
        self._numbers: Iterator[int] | None = None

    # ---- along the plan

    def next_place(self, request: ResponseFuture) -> Place | None:
        """Return the next target, or None at the end of the plan."""
        session, content = request.session, self.content
        state, keyspace = session.cluster.metadata.state, self._keyspace(request)
        return self.plan.next(state, keyspace, content.token, content.planned_by, content.consistency)

    def _keyspace(self, request: ResponseFuture) -> str | None:
        """Return the keyspace that unqualified names are routed by."""
        statement = self.content.statement
        keyspace: str | None = None if statement is None else statement.keyspace
        return keyspace or request.session.keyspace

    def send(self, request: ResponseFuture, page: int, alone: bool = True) -> bool:
        """Send to the next host of the plan that takes the request. Return False if none does; then, unless other
        attempts are in flight or *alone* is False, *page* has failed with :exc:`NoHostAvailable`."""
        session = request.session
        if self.content.is_use and hand_over(request, page):
            return True
        closed = session.is_shutdown
        while not closed and (place := self.next_place(request)) is not None:
            if request._is_over(page) or self.send_to(request, place, page):
                return True
        if alone and not request._attempts:
            if not closed and any(way(request, page) for way in (wait_for_room, sent_elsewhere, wait_for_connection)):
                return True
            errors = self.errors or ({} if closed else session._pool_set.reasons())
            error = NoHostAvailable(
                closed_text(session) if closed else "Unable to complete the operation against any hosts", errors
            )
            self.annotate(request, error)
            request._fail(page, error)
        return False

    def send_to(self, request: ResponseFuture, place: Place, page: int) -> bool:
        """Make an attempt at *place*. Return False if nothing was sent."""
        host = place.host
        pool = request.session._pools.get(host)
        if pool is None:
            self.errors[host] = ConnectionException(NO_POOL, host.endpoint)
            return False
        try:
            connection = pool.pick(self.content.token, place.shard)
        except NOT_SENT as error:
            self.errors[host] = error
            return False
        return self.submit(request, Attempt(host, pool, connection, page))

    def submit(self, request: ResponseFuture, attempt: Attempt) -> bool:
        """Send *attempt*. Return False if nothing was sent and the next host is to be tried."""
        remaining = request._remaining()
        if remaining is not None and remaining <= 0:
            self.time_out(request, attempt)
            return True
        number = attempt.number = self.next_number(request)
        if not request._register(number, attempt):
            return True
        request.attempted_hosts.append(attempt.host)
        tracking = request._tracking
        try:
            frame = self.content.frame_for(request.session, attempt)
            if tracking is not None:
                tracking.sending(request, attempt)
            later = aio.may_wait(attempt.connection)
            attempt.started = monotonic()
            attempt.stream = attempt.connection.submit(frame, request, number, remaining, later)
        except NOT_SENT as error:
            request._attempts.pop(number, None)
            self.errors[attempt.host] = error
            if tracking is not None:
                tracking.ended(request, attempt, error)
            return False
        except Exception as error:  # encoding failed, as it would for every host
            request._attempts.pop(number, None)
            request._fail(attempt.page, encoding_error(self.content.message, error))
            return True
        if request._is_over(attempt.page):  # another attempt ended the page while this one was being sent
            request._give_up(attempt)
        elif self.speculation is not None:
            self._schedule_speculation(request, attempt)
        return True

    def next_number(self, request: ResponseFuture) -> int:
        """Return the number of a new attempt. Speculation may call this from two threads at a time."""
        if self._numbers is None:
            replaced(self, "_numbers", None, itertools.count(len(request.attempted_hosts)))
        assert self._numbers is not None
        return next(self._numbers)

    def without_pool(self) -> list[Host]:
        """Return the hosts that had no pool when they were tried."""
        return [host for host, error in self.errors.items() if error.args[:1] == (NO_POOL,)]

    def restart(self, request: ResponseFuture) -> None:
        """Forget all attempts, and restart clock and plan."""
        self.errors = {}
        request._start_time = monotonic()
        self.plan.restart()

    # ---- speculation, and delayed steps

    def _schedule_speculation(self, request: ResponseFuture, attempt: Attempt) -> None:
        if self.speculation is None or not self.content.is_idempotent:
            return
        delay = self.speculation.next_execution(attempt.host)
        if delay >= 0:
            self.later(request, delay, attempt.page, self._speculate)

    def _speculate(self, request: ResponseFuture, page: int) -> None:
        if request._answered:  # a response has arrived and was not taken yet
            return
        if request._metrics is not None:
            request._metrics.on_speculative_execution()
        self.send(request, page, alone=False)

    def look(self, request: ResponseFuture) -> None:
        """Send the request to another host too, which is safe, if the peers of all its attempts are silent (see
        ``silence.py``). Called by the thread that processes its outcomes."""
        attempts = list(request._attempts.values())
        if attempts and all(attempt.connection.is_silent for attempt in attempts):
            self._speculate(request, attempts[0].page)

    def later(
        self, request: ResponseFuture, delay: float, page: int, step: Callable[[ResponseFuture, int], object]
    ) -> None:
        """Run ``step(request, page)`` on the I/O thread after *delay* seconds, unless the page is over by then."""

        def run() -> None:
            if not request._is_over(page):
                try:
                    step(request, page)
                except Exception as error:  # of a user's policy: no caller would get it
                    request._fail(page, error)

        request._add_timer(page, request.session._call_later(delay, request, run))

    # ---- the end of an attempt

    def gave_up(self, request: ResponseFuture, attempt: Attempt) -> None:
        """Close the connection of *attempt*, which was given up, if it is a USE without a processed response.

        Such a USE may be executed, now or later, or not at all. Nothing more may be sent on that connection, as it
        could be executed in another keyspace. The channel closes the connection of a USE that it recognises and that
        has no response. Two cases are recognised only here: a prepared USE, and a response that was not processed."""
        if not attempt.answered and attempt.reprepares is None and attempt.number >= 0 and self.content.is_use:
            attempt.connection.defunct(
                ConnectionException(
                    "A USE was given up before its response; the keyspace of the connection is unknown",
                    attempt.host.endpoint,
                )
            )

    def may_be_executed(self, request: ResponseFuture) -> bool:
        """True if a server may have executed the request, or may still do so."""
        return self.unsure or any(attempt.reprepares is None for attempt in list(request._attempts.values()))

    def time_out(self, request: ResponseFuture, attempt: Attempt) -> None:
        """Fail the request, whose time is up while *attempt* is in flight."""
        error = OperationTimedOut(
            {str(attempt.host.endpoint): "Client request timeout. See Session.execute[_async](timeout)"},
            attempt.host,
            request.timeout,
            attempt.connection.in_flight,
        )
        self.unsure |= any(other.reprepares is None for other in request._attempts.values())
        if request._metrics is not None:
            request._metrics.on_client_timeout()
        request._fail(attempt.page, self.error_of(request, attempt, error))
        self.gave_up(request, attempt)

    def error_of(self, request: ResponseFuture, attempt: Attempt, error: Any) -> BaseException:
        """Return the exception that the application gets for *error* of *attempt*."""
        exception = public_error(error)
        annotate(exception, host=attempt.host, shard=attempt.connection.shard)
        self.annotate(request, exception)
        return exception

    def annotate(self, request: ResponseFuture, error: BaseException) -> None:
        """Add the state of the request to *error*."""
        annotate(
            error,
            attempts=len(request.attempted_hosts),
            elapsed=monotonic() - request._start_time,
            maybe_executed=self.may_be_executed(request),
        )


def hosts_of(request: ResponseFuture) -> Iterator[Host]:
    """Yield the hosts that will be tried next, best first; consuming them removes them from the plan."""
    sending = request._execution.sending
    while (place := sending.next_place(request)) is not None:
        yield place.host
