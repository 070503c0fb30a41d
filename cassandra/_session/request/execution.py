"""Execution: the slow path of one request: errors, retries, non-row results, re-preparing.

L5. For nearly all requests of prepared statements, native code alone sends the request and processes the response
(``transport_parts/request.pxi``). The rest is in an :class:`Execution`, made on demand, which interprets the outcomes
of attempts. Its :class:`Content` has the message, and the result plan that decodes the response; its :class:`Sending`
makes the attempts in the order of a :class:`QueryPlan`, and keeps the errors of earlier ones. None of these refers to
the request, which is a parameter of each step, and which alone owns attempts in flight, page, outcome and deadline.

Callers wait, the I/O thread decides: :meth:`Execution.process` and its consequences run on the I/O thread, one outcome
of a request after the other, where no handler of a signal can interrupt them between two changes. They never block.
Speculation and delayed retries run there, too. Callers run :meth:`Execution.read_plain`, which decodes a result and
changes nothing, so that it may be interrupted anywhere and repeated. Callers also run the steps that make a request and
begin a page, before anything is in flight: until then no other thread has the attempts, and an exception ends the page.

Content: a compiled request (``plans.py``) has a frame that every attempt sends; message and statement are made on
demand. As a reader of the message may change it, the request is sent from the message instead of the frame once the
message was made. Message and result plan belong together and are replaced as one, by the I/O thread; attempts that are
being encoded keep the pair that they began with. Two threads may make an object on demand at the same time: the first
one is kept, by one native step (``replaced``).

Query plan: the policy's first choice comes first; the rest of the plan is made only when that one fails. The caller
that sends the first attempt consumes the plan until one is sent; from then on the plan belongs to the I/O thread, which
speculates, retries and serves the admission queue. There is no lock, as the I/O thread would wait for a caller that the
handler of a signal may have interrupted. If a program consumes ``future.query_plan`` at the same time, each host is
still returned once: a call of :meth:`QueryPlan.next` during another one returns None.

Attempts: an attempt is *registered* with the request before it is submitted, as its response may arrive before
submitting returns; it is removed when its outcome is processed, when it is given up, or when sending it fails.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from copy import copy
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel, ResultKind, consistency_value_to_name
from cassandra._base.errors import ConnectionException, DriverException, NoHostAvailable, OperationTimedOut, annotate
from cassandra._base.logs import get_logger
from cassandra._base.server_errors import ErrorMessage, PreparedQueryNotFound
from cassandra._core.codec import is_plain_rows
from cassandra._core.routing import Target
from cassandra._core.transport import Attempt, Failure, Frame, RequestHooks, replaced
from cassandra._routing.policies.retry import PercentilePlan
from cassandra._session import aio
from cassandra._session.statements.prepared import BoundStatement
from cassandra._wire.messages.requests import ExecuteMessage, PrepareMessage
from cassandra._wire.messages.responses import ResultMessage
from cassandra._wire.rows import apply_factory, rows_and_page

from .admission import wait_for_connection, wait_for_room
from .completion import agree, follow, hand_over, send_elsewhere
from .notes import learn_tablet, with_version_block
from .result import NOTHING, Extras, PageInfo, extras_of, has_extras
from .retry import (
    IGNORE,
    NOT_SENT,
    RETRY,
    RETRY_NEXT_HOST,
    Decision,
    closed_text,
    connection_error,
    decide,
    encoding_error,
    is_timeout,
    may_be_executed,
    meaning_of,
    public_error,
)
from .trace import QueryTrace

if TYPE_CHECKING:
    from cassandra._core.codec import ResultPlan
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._routing.metadata import ClusterState
    from cassandra._routing.policies import RetryPolicy, SpeculativeExecutionPlan
    from cassandra._routing.policies.router import Router
    from cassandra._session.session import Session
    from cassandra._session.statements.prepared import PreparedStatement

    from .future import ResponseFuture
    from .plans import ExecutePlan

log = get_logger("cassandra.cluster")

METADATA_IDS = 5  # first protocol version with result metadata ids
ITS_OWN_TIME = 0.01  # seconds: with no more time left than this, the request itself has timed out
REPREPARE_LIMIT = 5  # per statement and host: a request that needs more re-preparations fails
NO_POOL = "Host has been marked down or removed"

#: CQL that changes the keyspace of the connection it is sent on, behind white space and comments.
#: Each comment has only one possible end, or the number of combinations of many comments would explode.
USE = re.compile(r"(?:\s|--[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*USE\b", re.IGNORECASE)
#: First characters of such texts.
BEFORE_USE = frozenset("uU-/ \t\n\r\f\v")


# ---- message and result plan


class Content:
    """Made from a *message* that was built for *statement*, or, by :meth:`compiled`, from a frame."""

    __slots__ = ("_frame", "_made", "_sent", "_statement", "_values", "handler", "prepared", "size", "token")

    def __init__(
        self,
        message: Any,
        statement: Any,
        prepared: PreparedStatement | None,
        plan: ResultPlan | None,
        token: int | None,
        handler: Any = None,
    ) -> None:
        self._sent: tuple[Any, ResultPlan | None] = (message, plan)
        self._statement = statement
        self.prepared = prepared
        self.token = token  # routing token
        self.handler = handler  # a user's protocol handler
        self.size: int | None = None  # bytes of the frame encoded last
        self._made: ExecutePlan | None = None
        self._frame: bytes | None = None
        self._values: Any = None

    @classmethod
    def compiled(cls, made: ExecutePlan, frame: bytes, token: int | None, values: Any) -> Content:
        """Return the content of *frame*, which *made* encoded. *values*: the application's values, or the bound
        statement that has them."""
        content = cls(
            None, values if isinstance(values, BoundStatement) else None, made.prepared, made.result_plan, token
        )
        content._made = made
        content._frame = frame
        content._values = values
        return content

    # ---- message and statement

    @property
    def message(self) -> Any:
        """The message that is sent from now on."""
        sent = self._sent
        while sent[0] is None and self._made is not None and self._frame is not None:
            replaced(self, "_sent", sent, (self._made.message(self._frame, self.token), sent[1]))
            sent = self._sent
        return sent[0]

    @message.setter
    def message(self, message: Any) -> None:
        self._sent = (message, self._sent[1])

    @property
    def is_changed(self) -> bool:
        """True if a compiled request is not sent from its frame any more."""
        return self._sent[0] is not None

    @property
    def result_plan(self) -> ResultPlan | None:
        """The plan that decodes responses without metadata."""
        return self._sent[1]

    @property
    def statement(self) -> Any:
        """The statement of the application."""
        if self._statement is None and self._made is not None and self._frame is not None:
            bound = BoundStatement(self._made.prepared)
            bound._bound = self._made.template.bound(self._frame, self.token)
            bound.raw_values = self._values
            replaced(self, "_statement", None, bound)
        return self._statement

    @statement.setter
    def statement(self, statement: Any) -> None:
        self._statement = statement

    @property
    def routed_statement(self) -> Any:
        """The statement passed to load balancing policies for a plan; None for PREPARE."""
        return None if type(self._sent[0]) is PrepareMessage else self.statement

    @property
    def shown(self) -> Any:
        """The statement if it was made already, else None; for ``repr``."""
        return self._statement

    @property
    def is_idempotent(self) -> bool:
        """True if executing it twice is safe."""
        if self._statement is None and self._made is not None:
            return bool(self._made.prepared.is_idempotent)
        return bool(getattr(self._statement, "is_idempotent", False))

    @property
    def is_use(self) -> bool:
        """True if it changes the keyspace of the connection that it is sent on."""
        if self._made is not None and not self.is_changed:
            return False  # such statements are not compiled
        text = getattr(self._sent[0], "query", None)
        if text is None and self.prepared is not None:
            text = self.prepared.query_string
        return isinstance(text, str) and text[:1] in BEFORE_USE and USE.match(text) is not None

    @property
    def consistency(self) -> int | None:
        """Its consistency level; PREPARE has none."""
        if self._made is not None and not self.is_changed:
            return self._made.levels[0]
        return getattr(self.message, "consistency_level", None)

    def change(self, plan: ResultPlan | None, **changes: Any) -> None:
        """Replace fields of the message that is sent from now on, and the plan that decodes its responses."""
        message = copy(self.message)
        for name, value in changes.items():
            setattr(message, name, value)
        self._sent = (message, plan)

    def use_snapshot(self, prepared: PreparedStatement) -> None:
        """Use the statement's current result metadata from now on, for the next pages too."""
        plan, metadata_id = prepared._snapshot
        self.change(plan, result_metadata_id=metadata_id, skip_meta=plan is not None and metadata_id is not None)

    # ---- as bytes

    def frame_for(self, session: Session, attempt: Attempt) -> bytes:
        """Return the envelope that *attempt* sends; set ``attempt.plan``, which decodes its response."""
        connection: Connection = attempt.connection
        message, attempt.plan = self._sent
        if message is None:
            assert self._made is not None and self._frame is not None
            if connection.dialect is self._made.dialect:
                return self._frame
            message = self.message
        version = connection.protocol_version
        if attempt.plan is not None and version < METADATA_IDS and message.skip_meta:
            message = _with_metadata_of(message, connection)
        if connection.features.tablets_routing_v2 and isinstance(message, ExecuteMessage):
            message = with_version_block(session, message, self.statement, self.token)
        frame: bytes
        if self.handler is None:
            frame = message.encode(version, features=connection.features)
        else:
            frame = self.handler.encode_message(message, 0, version, None, False, connection.features)
        self.size = len(frame)
        return frame


def _with_metadata_of(message: Any, connection: Connection) -> Any:
    """Return *message* for *connection*. Over a connection without metadata ids the server cannot signal that the
    columns have changed, even if the statement was prepared over a connection with ids; there the response has
    metadata."""
    if not connection.features.use_metadata_id:
        message = copy(message)
        message.skip_meta = False
    return message


# ---- order of the hosts


class QueryPlan:
    """Targets by *router*. *only*: the only host allowed; *picked*: the target that the request was sent to already."""

    __slots__ = ("_failed", "_given", "_picked", "_rest", "_taken", "only", "router")

    def __init__(self, router: Router, only: Host | None = None, picked: Target | None = None) -> None:
        self.router = router
        self.only = only
        self._picked = picked
        self._rest: Iterator[Target] | None = None
        self._given: Iterator[Host] | None = None
        self._taken: list[Host] = []  # of those given
        self._failed: Container[Host] = ()  # hosts that are passed over

    def next(
        self, state: ClusterState, keyspace: str | None, token: int | None, query: Any, level: int | None = None
    ) -> Target | None:
        """Return the next target; None at the end. Keyspace, token, statement and consistency level are those that the
        request is routed by."""
        while (target := self._next(state, keyspace, token, query, level)) is not None and target.host in self._failed:
            pass
        return target

    def _next(
        self, state: ClusterState, keyspace: str | None, token: int | None, query: Any, level: int | None
    ) -> Target | None:
        if self._given is not None:
            for host in self._given:
                self._taken.append(host)
                target = self.router.at(state, keyspace, token, query, host)
                if target is not None:
                    return target
            return None
        if self._rest is not None:
            return _next_of(self._rest)
        if self.only is not None:
            self._rest = iter(())
            return self.router.at(state, keyspace, token, query, self.only)
        if self._picked is None:
            self._picked, self._rest = self.router.start(state, keyspace, token, query, level)
            return self._picked
        self._rest = self.router.fallback(state, keyspace, token, query, self._picked, level)
        return _next_of(self._rest)

    @property
    def has_begun(self) -> bool:
        """True if hosts were taken from the plan, or were given for it."""
        return self._rest is not None or self._given is not None

    def give(self, hosts: Iterable[Host]) -> None:
        """Use these hosts only, in this order; later pages use the router again."""
        self._given, self._taken = iter(hosts), []

    def restart(self) -> None:
        """Begin at the first target of the router again."""
        self._picked = self._rest = self._given = None
        self._taken, self._failed = [], ()

    def repeat(self, failed: Container[Host]) -> None:
        """Begin at the first target again, for the same page; pass over the hosts that have *failed*."""
        if self._given is None:
            self._picked = self._rest = None
        else:
            self.give(itertools.chain(self._taken, self._given))
        self._failed = failed


def _next_of(targets: Iterator[Target]) -> Target | None:
    try:
        return next(targets, None)
    except ValueError as error:
        if str(error) == "generator already executing":  # by another thread
            return None
        raise


def _remove_last(hosts: list[Host], host: Host) -> None:
    """Remove the last occurrence of *host*; speculation may have added another host since."""
    for at in range(len(hosts) - 1, -1, -1):
        if hosts[at] is host:
            del hosts[at]
            return


# ---- attempts along the plan


class Sending:
    """Sends *content* to the hosts of *plan*, and to further ones by *speculation* while an attempt takes long."""

    __slots__ = ("_numbers", "content", "errors", "is_speculating", "new_speculation", "plan", "speculation", "unsure")

    def __init__(self, content: Content, plan: QueryPlan, speculation: SpeculativeExecutionPlan | None = None) -> None:
        self.content = content
        self.plan = plan
        self.speculation = speculation  # of the current page
        self.new_speculation: Callable[[], SpeculativeExecutionPlan] | None = None  # makes that of each further page
        self.errors: dict[Any, Any] = {}  # the last error of each host
        self.unsure = False  # an attempt failed in a way that leaves open whether the server executed it
        self.is_speculating = False  # on the I/O thread
        self._numbers: Iterator[int] | None = None

    # ---- along the plan

    def next_place(self, request: ResponseFuture) -> Target | None:
        """Return the next target, or None at the end of the plan."""
        session, content = request.session, self.content
        state, keyspace = session.cluster.metadata.state, self._keyspace(request)
        return self.plan.next(state, keyspace, content.token, content.routed_statement, content.consistency)

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
        while not closed and (target := self.next_place(request)) is not None:
            if request._is_over(page) or self.send_to(request, target, page):
                return True
        if alone and not request._attempts:
            if not closed and any(way(request, page) for way in (wait_for_room, send_elsewhere, wait_for_connection)):
                return True
            errors = self.errors or ({} if closed else session._pool_set.reasons())
            error = NoHostAvailable(closed_text(session) if closed else self._no_host_text(), errors)
            self.annotate(request, error)
            request._fail(page, error)
        return False

    def _no_host_text(self) -> str:
        text = "Unable to complete the operation against any hosts"
        refusal = self.plan.router.refusal(self.content.routed_statement, self.content.consistency)
        return text if refusal is None else f"{text}: {refusal}"

    def send_to(self, request: ResponseFuture, target: Target, page: int) -> bool:
        """Make an attempt at *target*. Return False if nothing was sent."""
        host = target.host
        pool = request.session._pools.get(host)
        if pool is None:
            self.errors[host] = ConnectionException(NO_POOL, host.endpoint)
            return False
        try:
            connection = pool.pick(self.content.token, target.shard)
        except NOT_SENT as error:
            self.errors[host] = error
            return False
        return self.submit(request, Attempt(host, pool, connection, page))

    def submit(self, request: ResponseFuture, attempt: Attempt) -> bool:
        """Send *attempt*. Return False if nothing was sent, so that the next host is tried."""
        remaining = request._remaining()
        if remaining is not None and remaining <= 0:
            self.time_out(request, attempt)
            return True
        number = attempt.number = self.next_number(request)
        if not request._register(attempt):
            return True
        request.attempted_hosts.append(attempt.host)
        try:
            frame = self.content.frame_for(request.session, attempt)
            if request._tracked is not None:
                request._tracking.sending(request, attempt, number > 0 and self.is_speculating)
            later = aio.may_wait(attempt.connection)
            attempt.started = monotonic()
            attempt.stream = attempt.connection.submit(frame, request, number, remaining, later)
            if request._metrics is not None:
                request._metrics.attempt_sent(attempt.host)
        except NOT_SENT as error:
            request._drop_attempt(number)
            _remove_last(request.attempted_hosts, attempt.host)
            self.errors[attempt.host] = error
            if request._tracked is not None:
                request._tracking.ended(request, attempt, error)
            return False
        except Exception as error:  # encoding failed, as it would for every host
            request._drop_attempt(number)
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
        """Forget all attempts, and restart clock and plans."""
        self.errors = {}
        request._start_time = monotonic()
        self.plan.restart()
        if self.new_speculation is not None:
            self.speculation = self.new_speculation()
            track_latency(request, self.speculation)

    # ---- speculation, and delayed steps

    def _schedule_speculation(self, request: ResponseFuture, attempt: Attempt) -> None:
        if self.speculation is None or not self.content.is_idempotent:
            return
        delay = self.speculation.next_execution(attempt.host)
        if delay >= 0:
            self.later(request, delay, attempt.page, self.speculate)

    def speculate(self, request: ResponseFuture, page: int) -> None:
        """Send the request to another host too, as long as it has no response, if its plan permits it."""
        if request._answered:  # a response has arrived and was not taken yet
            return
        if isinstance(self.speculation, PercentilePlan) and not self.speculation.take():
            return
        self._execute_elsewhere(request, page)

    def _execute_elsewhere(self, request: ResponseFuture, page: int) -> None:
        if request._metrics is not None:
            request._metrics.speculative_attempt(request.attempted_hosts[-1] if request.attempted_hosts else None)
        self.is_speculating = True
        try:
            self.send(request, page, alone=False)
        finally:
            self.is_speculating = False

    def look(self, request: ResponseFuture) -> None:
        """Send the request to another host too, which is safe, if the peers of all its attempts are silent (see
        ``_net/health.py``). Called by the thread that processes its outcomes."""
        attempts = request._attempts
        if attempts and all(attempt.connection.is_silent for attempt in attempts):
            self._execute_elsewhere(request, attempts[0].page)

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
        return self.unsure or any(attempt.reprepares is None for attempt in request._attempts)

    def time_out(self, request: ResponseFuture, attempt: Attempt) -> None:
        """Fail the request, whose time is up while *attempt* is in flight."""
        error = OperationTimedOut(
            {str(attempt.host.endpoint): "Client request timeout. See Session.execute[_async](timeout)"},
            attempt.host,
            request.timeout,
            attempt.connection.in_flight,
        )
        self.unsure |= any(other.reprepares is None for other in request._attempts)
        if request._metrics is not None:
            request._metrics.timed_out(attempt.host)
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


def track_latency(request: ResponseFuture, speculation: SpeculativeExecutionPlan | None) -> None:
    """Have the latency of the current page recorded, if *speculation* depends on it."""
    if isinstance(speculation, PercentilePlan):
        request._track_latency(speculation.tracker)


def hosts_of(request: ResponseFuture) -> Iterator[Host]:
    """Yield the hosts that will be tried next, best first; consuming them removes them from the plan."""
    sending = request._execution.sending
    while (target := sending.next_place(request)) is not None:
        yield target.host


# ---- outcomes of attempts


class Execution(RequestHooks):
    """Processes the outcomes of attempts: results, errors, retries, statements that a host has forgotten."""

    __slots__ = ("_level", "_reprepares", "_retries", "content", "retry_policy", "sending", "traces")

    def __init__(self, sending: Sending, retry_policy: RetryPolicy | None) -> None:
        self.sending = sending
        self.content = sending.content
        self.retry_policy = retry_policy
        self.traces: tuple[QueryTrace, ...] = ()
        self._retries = 0
        self._reprepares: Counter[tuple[Host, bytes]] | None = None
        self._level: int | None = None  # that of the statement, after a retry of the page at another one

    def begin_page(self, request: ResponseFuture, paging_state: bytes | None) -> None:
        """Reset for the page at *paging_state*; called by the thread that requested the page."""
        sending = self.sending
        message = self.content.message
        message.paging_state = paging_state
        if self._level is not None:
            message.consistency_level, self._level = self._level, None
        sending.unsure = False
        self._retries = 0
        self._reprepares = None
        sending.restart(request)

    # ---- called by native code

    def send(self, request: ResponseFuture, page: int) -> None:
        self.sending.send(request, page)

    def send_to(self, request: ResponseFuture, target: Target, page: int) -> bool:
        return self.sending.send_to(request, target, page)

    def look(self, request: ResponseFuture) -> None:
        self.sending.look(request)

    def speculate(self, request: ResponseFuture, page: int) -> None:
        self.sending.speculate(request, page)

    def is_repeatable(self) -> bool:
        return bool(self.content.is_idempotent)

    def gave_up(self, request: ResponseFuture, attempt: Attempt) -> None:
        self.sending.gave_up(request, attempt)

    def may_be_executed(self, request: ResponseFuture) -> bool:
        return self.sending.may_be_executed(request)

    def is_as_compiled(self) -> bool:
        return not (self.content.is_changed or self.sending.plan.has_begun)

    # ---- outcomes

    def read_plain(self, request: ResponseFuture, attempt: Attempt, frame: Frame) -> tuple[Any, PageInfo] | None:
        """Return the rows of a result and its ``PageInfo`` if it needs no further step; else None.

        Changes nothing: it runs on callers' threads, which the handler of a signal may interrupt anywhere."""
        if attempt.reprepares is not None:
            return None
        message = self._message(request, attempt, frame)
        if is_plain_rows(message):  # nearly all
            plan = message.plan
            if attempt.plan is not None and attempt.plan is not plan:
                return None
            rows, kept = rows_and_page(message.page, request.row_factory, False)
            return rows, (plan, message.paging_state, None, kept)
        if not isinstance(message, ResultMessage) or has_extras(message):
            return None
        if message.kind == ResultKind.VOID:
            return None, NOTHING
        if message.kind != ResultKind.ROWS or message.metadata_changed:
            return None
        if attempt.plan is not None and attempt.plan is not message.plan:
            return None
        return self._rows(request, message)

    def _message(self, request: ResponseFuture, attempt: Attempt, frame: Frame) -> Any:
        if self.content.handler is not None:
            return attempt.connection.decode_with(self.content.handler, frame, attempt.plan)
        message = attempt.connection.decode(frame, attempt.plan)
        encryption = getattr(request.session, "_encryption", None)
        if encryption is not None and encryption.is_on:
            encryption.describe(message, self.content)
        return message

    def process(self, request: ResponseFuture, attempt: Attempt, answer: Frame | Failure) -> None:
        if isinstance(answer, Failure):
            if request._tracked is not None:
                request._tracking.ended(request, attempt, connection_error(answer, attempt.host))
            self._on_no_response(request, attempt, answer)
            return
        try:
            message = self._message(request, attempt, answer)
        except Exception as error:
            if request._tracked is not None:
                request._tracking.ended(request, attempt, error)
            self._not_understood(request, attempt, error)
            return
        if request._tracked is not None:
            request._tracking.ended(
                request, attempt, message.to_exception() if isinstance(message, ErrorMessage) else None
            )
        if attempt.reprepares is None:
            self.set_result(request, attempt, message)
        else:
            self._reprepared(request, attempt, attempt.reprepares, message)

    def _not_understood(self, request: ResponseFuture, attempt: Attempt, error: Exception) -> None:
        """Fail the request, whose response cannot be decoded: the server may have executed it. After a USE the keyspace
        of the connection is unknown."""
        attempt.answered = False
        self.sending.unsure |= attempt.reprepares is None
        self.sending.gave_up(request, attempt)
        request._fail(attempt.page, self.sending.error_of(request, attempt, error))

    def _on_no_response(self, request: ResponseFuture, attempt: Attempt, failure: Failure) -> None:
        self.sending.unsure |= failure.sent and attempt.reprepares is None
        if is_timeout(failure):
            remaining = request._remaining()
            if attempt.reprepares is None or (remaining is not None and remaining <= ITS_OWN_TIME):
                self.sending.time_out(request, attempt)
            else:  # the request still has time: only the re-preparation was too slow
                self.not_reprepared(request, attempt, _slow(attempt.host), True)
        else:
            self._connection_lost(request, attempt, failure)

    # ---- results

    def set_result(self, request: ResponseFuture, attempt: Attempt, message: Any) -> None:
        if is_plain_rows(message):  # nearly all
            plan, sent_with = message.plan, attempt.plan
            if sent_with is not None and sent_with is not plan:
                self._with_metadata_of(message)
            rows, kept = rows_and_page(message.page, request.row_factory, bool(request._callbacks))
            request._conclude(attempt.page, rows, None, (plan, message.paging_state, None, kept))
        elif isinstance(message, ResultMessage):
            self._set_other_result(request, attempt, message, message.kind)
        else:
            self._take_note(request, attempt, message)
            self._on_error(request, attempt, message)

    def _set_other_result(
        self, request: ResponseFuture, attempt: Attempt, message: ResultMessage, kind: int | None
    ) -> None:
        """Process results other than plain rows, the frequent kinds first."""
        self._take_note(request, attempt, message)
        if message.custom_payload is not None:
            learn_tablet(request.session, attempt.connection.features, self.content.statement, message.custom_payload)
        if kind == ResultKind.ROWS:
            self._set_rows(request, attempt, message)
        elif kind == ResultKind.VOID or kind == ResultKind.PREPARED:
            request._conclude(attempt.page, None if kind == ResultKind.VOID else message, None, extras_of(message))
        elif kind == ResultKind.SET_KEYSPACE:
            follow(request, attempt, message.new_keyspace or "", extras_of(message))
        elif kind == ResultKind.SCHEMA_CHANGE:
            agree(request, attempt, message.schema_change_event, extras_of(message))
        else:
            self._not_understood(request, attempt, DriverException(f"unknown kind of RESULT: {kind!r}"))

    def _take_note(self, request: ResponseFuture, attempt: Attempt, message: Any) -> None:
        """Process the parts that any response may have, an ERROR too."""
        attempt.answered = True
        if message.warnings is not None:
            request.session._warning_log.log(message.warnings)
        if message.trace_id is not None:
            self.traces = (*self.traces, QueryTrace(message.trace_id, request.session))

    def _set_rows(self, request: ResponseFuture, attempt: Attempt, message: ResultMessage) -> None:
        if message.metadata_changed:
            if self.content.prepared is not None:
                self.content.prepared.update_result_metadata(message.plan, message.result_metadata_id)
                self.content.use_snapshot(self.content.prepared)
        elif attempt.plan is not None and attempt.plan is not message.plan:
            self._with_metadata_of(message)
        rows, page_info = self._rows(request, message)
        request._conclude(attempt.page, rows, None, page_info)

    def _rows(self, request: ResponseFuture, message: ResultMessage) -> tuple[Any, PageInfo]:
        names = types = kept = None
        if message.page is not None:
            rows, kept = rows_and_page(message.page, request.row_factory, bool(request._callbacks))
        else:  # a custom protocol handler decoded the rows itself
            names, types = message.column_names, message.column_types
            rows = apply_factory(request.row_factory, names, message.parsed_rows)
        extras = None
        if names is not None or has_extras(message):
            extras = Extras(message.warnings, message.custom_payload, names, types)
        return rows, (message.plan, message.paging_state, extras, kept)

    def _with_metadata_of(self, message: ResultMessage) -> None:
        """Adopt the metadata in *message*, rows of a prepared statement, for later requests, if the statement has no
        metadata id. Without ids this is the only way to learn that a table was altered."""
        prepared = self.content.prepared
        if prepared is not None and prepared.result_metadata_id is None and message.plan is not None:
            prepared.update_result_metadata(message.plan, None)

    # ---- errors

    def _on_error(self, request: ResponseFuture, attempt: Attempt, message: Any) -> None:
        if not isinstance(message, ErrorMessage):
            self._not_understood(
                request, attempt, ConnectionException(f"Got unexpected response: {message!r}", attempt.host.endpoint)
            )
        elif isinstance(message, PreparedQueryNotFound):
            self._reprepare(request, attempt, message)
        else:
            self._consider_retry(request, attempt, message)

    def _connection_lost(self, request: ResponseFuture, attempt: Attempt, failure: Failure) -> None:
        error = connection_error(failure, attempt.host)
        if failure.sent and attempt.reprepares is None:
            self._consider_retry(request, attempt, error)
        else:  # provably not executed: the next host may execute it
            self.sending.errors[attempt.host] = error
            self.sending.send(request, attempt.page)

    def _consider_retry(self, request: ResponseFuture, attempt: Attempt, error: Any) -> None:
        self.sending.unsure |= attempt.reprepares is None and may_be_executed(error)
        content, decision, hint = self.content, None, None
        if self.retry_policy is not None:
            decision = decide(self.retry_policy, content.statement, content.consistency, error, self._retries)
            if decision is not None and _exceeds_timeout(request, decision):
                decision = None
            if decision is not None and _exceeds_budget(attempt, error, decision):
                decision, hint = None, OVER_BUDGET
        if request._metrics is not None:
            request._metrics.attempt_failed(attempt.host, error, decision)
        if decision is None or decision.action not in (RETRY, RETRY_NEXT_HOST, IGNORE):
            exception = self.sending.error_of(request, attempt, error)
            if hint is not None:
                annotate(exception, hint=hint)
            request._conclude(attempt.page, None, exception, extras_of(error))
        elif decision.action == IGNORE:
            request._conclude(attempt.page, None, None, extras_of(error))
        else:
            self.sending.errors[attempt.host] = self.sending.error_of(request, attempt, error)
            self._retry(request, attempt, decision)

    def _retry(self, request: ResponseFuture, attempt: Attempt, decision: Decision) -> None:
        self._retries += 1
        content = self.content
        consistency = content.consistency
        if consistency is not None and decision.consistency not in (None, consistency):
            if ConsistencyLevel.is_serial(consistency):
                _warn_of_serial(self.retry_policy, consistency, decision.consistency)
            else:
                self._level = consistency if self._level is None else self._level
                content.change(content.result_plan, consistency_level=decision.consistency)
        same_host = decision.action == RETRY

        def send(request: ResponseFuture, page: int) -> None:
            target = Target(attempt.host, attempt.connection.shard)
            if not (same_host and self.sending.send_to(request, target, page)):
                self.sending.send(request, page)

        if decision.delay > 0:
            self.sending.later(request, decision.delay, attempt.page, send)
        else:
            send(request, attempt.page)

    # ---- UNPREPARED

    def _reprepare(self, request: ResponseFuture, attempt: Attempt, message: PreparedQueryNotFound) -> None:
        """Prepare a statement on the host that does not have it (any more), then send the request again. The server
        responded without executing it, so this is safe for any statement."""
        query_id = message.info
        prepared = self._prepared_of(request, query_id)
        if prepared is not None and prepared._outdated is not None:
            request._fail(attempt.page, self.sending.error_of(request, attempt, prepared._make_outdated_error()))
        elif prepared is None:
            request._fail(
                attempt.page,
                DriverException(
                    f"neither {attempt.host} nor the driver has the prepared statement {query_id.hex()}; "
                    "prepare it again"
                ),
            )
        elif self._is_other_keyspace(attempt, prepared):
            request._fail(
                attempt.page,
                ValueError(
                    f"The Session's current keyspace ({attempt.connection.keyspace}) does not match the keyspace "
                    f"the statement was prepared with ({prepared._home})"
                ),
            )
        elif self._counts_reprepare(attempt.host, query_id) > REPREPARE_LIMIT:
            request._fail(
                attempt.page,
                DriverException(
                    f"{attempt.host} evicted the prepared statement {query_id.hex()} {REPREPARE_LIMIT} times during "
                    f"one request; its cache of prepared statements may be too small. Query: {prepared.query_string}"
                ),
            )
        else:
            if request._metrics is not None:
                request._metrics.unprepared(attempt.host)
            again = Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page, prepared)
            request.session._repreparing.join(request, again)

    def not_reprepared(self, request: ResponseFuture, attempt: Attempt, error: Exception, may_go_on: bool) -> None:
        """Process a PREPARE that could not be sent, or had no response. If *may_go_on*, try the next host, which may
        have the statement; else fail with *error*."""
        if may_go_on:
            self.sending.errors[attempt.host] = error
            self.sending.send(request, attempt.page)
        else:
            request._fail(attempt.page, error)

    def _counts_reprepare(self, host: Host, query_id: bytes) -> int:
        if self._reprepares is None:
            self._reprepares = Counter()
        self._reprepares[host, query_id] += 1
        return self._reprepares[host, query_id]

    @staticmethod
    def _is_other_keyspace(attempt: Attempt, prepared: PreparedStatement) -> bool:
        connection = attempt.connection
        return bool(connection.protocol_version < 5 and prepared._home) and (
            connection.keyspace is not None and connection.keyspace != prepared._home
        )

    def _prepared_of(self, request: ResponseFuture, query_id: bytes) -> PreparedStatement | None:
        if self.content.prepared is not None and self.content.prepared.query_id == query_id:
            return self.content.prepared
        of_batch = getattr(self.content.statement, "_prepared", None)
        if of_batch and query_id in of_batch:
            return of_batch[query_id]  # type: ignore[no-any-return]
        return request.session.cluster.get_prepared(query_id)

    def _reprepared(self, request: ResponseFuture, attempt: Attempt, prepared: PreparedStatement, message: Any) -> None:
        if isinstance(message, ErrorMessage):
            self._consider_retry(request, attempt, message)
        elif not isinstance(message, ResultMessage) or message.kind != ResultKind.PREPARED:
            error = ConnectionException(f"Got unexpected response to PREPARE: {message!r}", attempt.host.endpoint)
            request._fail(attempt.page, error)
        elif message.query_id != prepared.query_id:
            request._fail(
                attempt.page,
                DriverException(
                    f"{attempt.host} prepared the statement under the id {(message.query_id or b'').hex()} instead of "
                    f"{prepared.query_id.hex()}; the current keyspace may be different from that of the first "
                    f"preparation. Query: {prepared.query_string}"
                ),
            )
        else:
            try:
                prepared._compare(message.bind_plan)
            except DriverException as error:
                request._fail(attempt.page, self.sending.error_of(request, attempt, error))
                return
            prepared.update_result_metadata(message.plan, message.result_metadata_id)
            if prepared is self.content.prepared:
                self.content.use_snapshot(prepared)
            if not self.sending.submit(request, Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page)):
                self.sending.send(request, attempt.page)


def _exceeds_timeout(request: ResponseFuture, decision: Decision) -> bool:
    """Return True if the timeout elapses before the delay of a retry."""
    if decision.action not in (RETRY, RETRY_NEXT_HOST) or decision.delay <= 0:
        return False
    remaining = request._remaining()
    return remaining is not None and decision.delay >= remaining


#: Hint of an error after which a request was not retried.
OVER_BUDGET = "Not retried: the host is overloaded, and its retry budget is used up, see Cluster(retry_budget)"


def _exceeds_budget(attempt: Attempt, error: BaseException, decision: Decision) -> bool:
    """Return True if an overloaded host has had too many requests retried."""
    return (
        decision.action in (RETRY, RETRY_NEXT_HOST)
        and meaning_of(error).is_congestion
        and attempt.pool is not None
        and not attempt.pool.grants_retry()
    )


_warned: set[tuple[type, int]] = set()  # (class of policy, serial level) pairs that were logged


def _warn_of_serial(policy: RetryPolicy | None, level: int, wanted: int | None) -> None:
    """Log, once for each class of policies and level, that a retry keeps the serial *level*. At another level a read
    would not see the decisions of Paxos."""
    key = (type(policy), level)
    if key not in _warned:
        _warned.add(key)
        log.warning(
            "%s decided to retry a request of consistency level %s at %s. It is retried at %s, as another level would "
            "not be linearizable",
            type(policy).__name__,
            consistency_value_to_name(level),
            consistency_value_to_name(wanted),
            consistency_value_to_name(level),
        )


def _slow(host: Host) -> OperationTimedOut:
    return OperationTimedOut({str(host.endpoint): "The statement was not prepared again in time"}, host)
