"""Pages of a reading: their size, their requests and responses, and the page fetcher (L6).

A :class:`PageTemplate` is the page template of a prepared statement, an :class:`PageRequest` a page request, a
:class:`PageResponse` a page response, a :class:`Range` the state of a range that is read.

The page fetcher (:class:`PageFetcher`) chooses targets of page requests, limits those in flight to a host, and reads
their outcomes. It is one native operation for all pages of a reading; the number of an attempt is that of a *slot*,
which is used once. It belongs to the reader: one thread, or the thread of a task's loop. Outcomes stay in the operation
until that thread takes them; no other thread processes them (:class:`ManyRequests`).

A host has a *window*, as for writes: a limit of pages in flight. It grows with responses, and is halved when the host
reports overload, or does not respond in time.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ResultKind
from cassandra._base.errors import (
    ConnectionException,
    DriverException,
    InvalidRequest,
    OperationTimedOut,
    ReadTimeout,
    ResponseTooLarge,
    repeated_paging_state,
)
from cassandra._base.server_errors import PreparedQueryNotFound, ProtocolException
from cassandra._core.codec import retained_page
from cassandra._core.routing import Target
from cassandra._core.transport import NO_ATTEMPT, Failure, Frame, InFlightRequest
from cassandra._session import aio
from cassandra._session.request.admission import within_limits
from cassandra._session.request.future import ResponseFuture
from cassandra._session.request.many import ManyRequests, continue_from, failure_error
from cassandra._session.request.notes import version_block_of
from cassandra._session.request.observers import BulkRequest
from cassandra._session.request.retry import (
    NOT_SENT,
    RepeatDecision,
    decide_repeatable,
    is_repeated_few_times,
)
from cassandra._session.statements.prepared import BoundStatement
from cassandra._session.statements.statement import Statement
from cassandra._wire.messages.requests import ExecuteMessage
from cassandra._wire.messages.responses import ResultMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cassandra._core.codec import Bound, ResultPlan, RowsPage
    from cassandra._core.columns import ColumnBuilder, ColumnPlan
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._routing.tokens import TokenRange
    from cassandra._session.profiles import ResolvedProfile
    from cassandra._session.session import Session
    from cassandra._session.statements.prepared import PreparedStatement

PAGE_BYTES = 1 << 20  # larger ones strain Cassandra, whose heap contains the rows of all pages in flight
GROWTH = 4  # maximum ratio to the first number of rows
MORE = 1.05  # allowance for ranges with more rows than another range of the same size

TOO_LARGE = (OperationTimedOut, ReadTimeout, ResponseTooLarge)  # a smaller range or page may succeed
REFUSED = (InvalidRequest, ProtocolException)  # the server may not accept the paging state or the page size

DRAWS = 3  # targets drawn for a page, of which the least busy one gets it


# ---- sizes of pages and batches


class PageSize:
    """``rows`` of the next page of a reading; None leaves it to the servers, and pages are not cut.

    A page has a fixed cost for client and server. So pages have *first* rows until the width of the rows is known, and
    then so many that they have ``PAGE_BYTES``, up to *most*. The widest page decides: rows may be wider elsewhere in
    the table. Belongs to the thread that reads.
    """

    __slots__ = ("_first", "_most", "_width", "rows")

    def __init__(self, first: int | None, most: int | None = None) -> None:
        self.rows = self._first = first
        self._most = most or first
        self._width = 0.0  # bytes per row

    def record(self, page: RowsPage) -> None:
        """Record the size of a received page."""
        if self._first != self._most and len(page):
            self._width = max(self._width, page.nbytes / len(page))
            self._fit()

    def has_grown(self, rows: int | None) -> bool:
        """True if a page of so many rows was requested because pages have grown."""
        return rows is not None and self._first is not None and rows > self._first

    def shrink(self) -> None:
        """Return to the first size: a server timed out on a page, refused it, or warned of it."""
        self._most = self.rows = self._first

    def _fit(self) -> None:
        assert self._first is not None and self._most is not None
        self.rows = max(self._first, min(self._most, int(PAGE_BYTES / self._width)))


class BatchSize:
    """Estimated rows of a batch: as many as the largest one so far, up to *most*, and at most *share* bytes, as all
    open ranges have a batch under construction. Belongs to the thread that reads."""

    __slots__ = ("_most", "_rows", "_share")

    def __init__(self, most: int, share: int) -> None:
        self._most = most
        self._share = share
        self._rows = 0

    def record(self, rows: int) -> None:
        """Record the number of rows of a batch."""
        self._rows = max(self._rows, int(rows * MORE))

    def estimate(self, page: RowsPage) -> int:
        """Return the estimate for a batch that begins with *page*; 0 while it is unknown."""
        return min(self._most, self._rows, self._share * len(page) // max(1, page.nbytes))


# ---- requests and responses


class PageTemplate:
    """Page template: the parts that all pages of one prepared statement in a reading share."""

    def __init__(
        self, session: Session, prepared: PreparedStatement, profile: ResolvedProfile, page_size: PageSize
    ) -> None:
        self.prepared = prepared
        self.profile = profile
        self.page_size = page_size
        self.keyspace, self.table, *_ = prepared._bind_plan.specs[0]
        self._block = version_block_of(session.cluster.metadata._tablets, self.keyspace, self.table)

    def message(self, bound: Bound, paging_state: bytes | None) -> tuple[ExecuteMessage, ResultPlan | None]:
        """Return the request of a page, and the plan that decodes a response without metadata."""
        plan, metadata_id = self.prepared._snapshot
        profile = self.profile
        self.prepared._last_use.note(monotonic())
        message = ExecuteMessage(
            self.prepared.query_id,
            bound,
            profile.consistency_level,
            None,
            self.page_size.rows,
            paging_state,
            None,
            skip_meta=plan is not None and metadata_id is not None,
            result_metadata_id=metadata_id,
        )
        return message, plan

    def frame(
        self, connection: Connection, bound: Bound, paging_state: bytes | None, token: int | None
    ) -> tuple[bytes, ResultPlan | None]:
        """As :meth:`message`, with the request as bytes for *connection*."""
        message, plan = self.message(bound, paging_state)
        version, features = connection.protocol_version, connection.features
        if version < 5 and not features.use_metadata_id:
            message.skip_meta = False  # without ids the server cannot signal that the columns have changed
        if features.tablets_routing_v2:
            message.tablet_version_block = self._block(token)
        return message.encode(version, features=features), plan


class PageRequest(InFlightRequest):
    """Page request and its attempts. *bound*: the values of its range; *token*: routing token."""

    __slots__ = (
        "attempts",
        "bound",
        "failed_since",
        "failures",
        "few_times",
        "observed",
        "owner",
        "page_size",
        "paging_state",
        "result_plan",
        "sent",
        "shard",
        "template",
        "token",
        "tried_hosts",
    )

    def __init__(
        self, owner: Any, template: PageTemplate, bound: Bound, token: int | None, paging_state: bytes | None
    ) -> None:
        self.owner = owner
        self.template = template
        self.bound = bound
        self.token = token
        self.paging_state = paging_state
        self.page_size: int | None = None  # of the last attempt
        self.attempts = 0
        self.failures = 0
        self.few_times = 0  # those of them by errors that are repeated few times only
        self.failed_since: float | None = None
        self.tried_hosts: set[Host] = set()  # hosts that have failed for it
        self.shard: int | None = None
        self.sent = 0.0
        self.observed: BulkRequest | None = None  # of the attempt in flight; None if a tracker does not get it
        self.result_plan: ResultPlan | None = None

    def failed(self, outcome: Any) -> RepeatDecision:
        """Count a failure by *outcome*, and return the decision about it."""
        self.failures += 1
        self.few_times += is_repeated_few_times(outcome)
        return decide_repeatable(outcome, self.few_times)


class PageResponse:
    """Page response: its rows, and the paging state of the next page (None: it is the last page)."""

    __slots__ = ("page", "paging_state")

    def __init__(self, page: RowsPage, paging_state: bytes | None) -> None:
        self.page = page
        self.paging_state = paging_state


class Range:
    """A range of a plan, while it is read."""

    __slots__ = (
        "builder",
        "has_emitted",
        "home",
        "number",
        "page",
        "request",
        "response",
        "restarts",
        "result_plan",
        "schema",
        "token_range",
    )

    def __init__(self, number: int, token_range: TokenRange) -> None:
        self.number = number
        self.token_range = token_range
        self.home: object = None  # the shard whose turn it was when the range was opened
        self.restarts = 0
        self.begin()

    def begin(self) -> None:
        """Reset to the beginning of the range."""
        self.request: PageRequest | None = None
        self.response: PageResponse | None = None
        self.builder: ColumnBuilder | None = None
        self.result_plan: ResultPlan | None = None
        self.schema: ColumnPlan | None = None
        self.page = 0  # number of the requested or current page
        self.has_emitted = False


def statement_of(template: PageTemplate, token: int | None) -> Statement:
    """Return a statement for users' policies, and for ``learn_tablet``."""
    statement = Statement(keyspace=template.keyspace, table=template.table, is_idempotent=True)
    statement.routing_token = token
    return statement


def bound_statement(template: PageTemplate, bound: Bound) -> Any:
    made = BoundStatement(template.prepared)
    made._bound = bound
    made.is_idempotent = True
    return made


# ---- the page fetcher


class PageFetcher(ManyRequests[PageRequest]):
    """Sends the page requests of one reading and takes their outcomes. *most*: limit of pages in flight to one
    host."""

    def __init__(self, session: Session, most: int, timeout: float | None) -> None:
        super().__init__(session)
        most = within_limits(session.cluster, most)
        self._limit_hosts(most, most)
        self._timeout = timeout
        self.busy: dict[tuple[Host, int | None], int] = {}  # pages in flight by host and shard
        self._slot = 0
        self._alone: set[PageRequest] = set()
        self._state: Any = None
        self._routes: dict[int, Callable[[int | None], Target | None]] = {}

    @property
    def in_flight(self) -> int:
        """Number of pages whose outcome was not taken yet."""
        return super().in_flight + len(self.ended) + len(self._alone)

    # ---- sending

    def target_of(self, template: PageTemplate, token: int | None) -> Target | None:
        """Return the target of a first attempt; None if there is no host. Each call may return another replica, if the
        policy distributes requests over them."""
        state = self.session.cluster.metadata.state
        if state is not self._state:
            self._state, self._routes = state, {}
        route = self._routes.get(id(template))
        if route is None:
            route = self._routes[id(template)] = self._route_of(template)
        return route(token)

    def _least_busy(self, request: PageRequest) -> Target | None:
        """Return the least busy of several targets for *request*, by pages in flight."""
        best, least = None, 1 << 30
        for _ in range(DRAWS):
            target = self.target_of(request.template, request.token)
            if target is None:
                break
            busy = self.busy.get((target.host, target.shard), 0)
            if busy < least:
                best, least = target, busy
            if busy == 0:
                break
        return best

    def _route_of(self, template: PageTemplate) -> Callable[[int | None], Target | None]:
        state, keyspace, table = self._state, template.keyspace, template.table
        router, level = self._router(template), template.profile.consistency_level
        native = getattr(router, "route", None)  # of the driver's policies
        if native is not None:
            found: Callable[[int | None], Target | None] = native(state, keyspace, table, None, level)
            return found
        return lambda token: router.start(state, keyspace, token, statement_of(template, token), level)[0]

    def _router(self, template: PageTemplate) -> Any:
        session = self.session
        return session._router_of(template.profile.load_balancing_policy or session.cluster.load_balancing_policy)

    def send(self, request: PageRequest) -> bool | Exception:
        """Send *request*. Return False, with nothing done, if there is no room now; return the error if no host takes
        it."""
        if not request.tried_hosts:
            target = self._least_busy(request)
            if target is not None:
                outcome = self._send_to(request, target)
                if not isinstance(outcome, Exception):
                    return outcome
        return self._send_along(request)

    def _send_along(self, request: PageRequest) -> bool | Exception:
        """Send to the first host of the whole plan that takes *request*; hosts that have failed for this page come
        last."""
        template, state = request.template, self.session.cluster.metadata.state
        where = (state, template.keyspace, request.token, statement_of(template, request.token))
        level = template.profile.consistency_level
        send = partial(self._send_to, request)
        return self.send_along(self._router(template), where, level, send, request.tried_hosts)

    def _send_to(self, request: PageRequest, target: Target) -> bool | Exception:
        host, template = target.host, request.template
        window = self.window(host)
        if not window.has_room:
            return False
        found = self.connection_at(target, request.token)
        if isinstance(found, Exception):
            return found
        pool, connection = found
        request.index = self._slot = (self._slot + 1) % NO_ATTEMPT
        try:
            frame, request.result_plan = template.frame(connection, request.bound, request.paging_state, request.token)
            request.sent, request.page_size = monotonic(), template.page_size.rows
            if self._tracking is not None:
                level, size = template.profile.consistency_level, template.page_size.rows
                observed = BulkRequest(self.session, template.prepared, request.sent, level, size)
                request.observed = self._tracking.begin_bulk(observed, host, target.shard)
            self._submit(request, host, pool, connection, frame, self._timeout, aio.may_wait(connection))
        except BaseException as error:
            self._give_up(request, error)
            if isinstance(error, NOT_SENT):
                return error
            raise
        request.shard = target.shard
        request.attempts += 1
        window.sent()
        at = (host, target.shard)
        self.busy[at] = self.busy.get(at, 0) + 1
        return True

    # ---- outcomes

    def outcomes(self) -> Iterator[tuple[PageRequest, Any]]:
        """Yield the pages that have ended since the last call, each with a :class:`PageResponse`, or its error."""
        self.take_outcomes()
        while self.ended:
            request, outcome, arrived = self.ended.popleft()
            found = self._response(request, outcome)
            if found is not None:
                self._observe_end(request, found, arrived)
            self._on_completed(request, isinstance(found, PageResponse))
            if found is not None:
                yield request, found
        while self.silent:
            request = self._request(self.silent.popleft())
            if request is not None and self._orphan(request):
                self._on_completed(request, False)
                error = ConnectionException(f"{request.host} does not respond", request.connection.endpoint)
                self._observe_end(request, error)
                yield request, error
        while self.continued:
            future, failure, request = self.continued.popleft()
            if request in self._alone:
                self._alone.remove(request)
                found = failure
                if found is None:
                    plan, paging_state, _, kept = future._outcome[2]
                    found = _response_of(request, retained_page(plan, kept), paging_state)
                self._observe_end(request, found)
                yield request, found

    def _on_completed(self, request: PageRequest, with_page: bool) -> None:
        window = self.window(request.host)
        if with_page:
            window.answered()
        else:
            window.gone()
        at = (request.host, request.shard)
        left = self.busy[at] - 1
        if left:
            self.busy[at] = left
        else:
            del self.busy[at]

    def _observe_end(self, request: PageRequest, found: Any, arrived: float = 0.0) -> None:
        """Report the end of an attempt of *request*, with a page or an error, to tracker and slow log."""
        if self._tracking is None:
            return
        elapsed = (arrived or monotonic()) - request.sent
        error = found if isinstance(found, BaseException) else None
        observed, request.observed = request.observed, None
        if observed is not None:
            self._tracking.end_bulk(observed, request.host, 0 if error is not None else len(found.page), error, elapsed)
        if elapsed >= self._tracking.threshold:
            text = request.template.prepared.query_string
            self._tracking.log_slow(text, request.attempts, request.host, error, elapsed)

    def _response(self, request: PageRequest, outcome: Frame | Failure) -> Any:
        """Return the outcome as :meth:`outcomes` yields it; None if *request* continues as a request of its own."""
        if isinstance(outcome, Failure):
            return failure_error(outcome, request.host, request.connection, self._timeout, "a page of a scan")
        try:
            message = self.read(request.connection, outcome, request.result_plan, request.template)
        except Exception as broken:
            return broken
        if message.warnings:
            request.template.page_size.shrink()  # a large page may be the reason
        if isinstance(message, PreparedQueryNotFound):
            self._go_on_alone(request, outcome)
            return None
        if not isinstance(message, ResultMessage):
            return message
        if message.kind != ResultKind.ROWS or message.page is None:
            return ConnectionException(
                f"Got no rows in response to a page of a scan: {message!r}", request.host.endpoint
            )
        self._adopt_metadata(request, message)
        return _response_of(request, message.page, message.paging_state)

    def _adopt_metadata(self, request: PageRequest, message: Any) -> None:
        """Adopt the metadata in the response for later requests."""
        prepared = request.template.prepared
        if message.metadata_changed:
            prepared.update_result_metadata(message.plan, message.result_metadata_id)
        elif message.plan is not request.result_plan and prepared.result_metadata_id is None:
            prepared.update_result_metadata(message.plan, None)

    # ---- pages that continue as requests of their own

    def _go_on_alone(self, request: PageRequest, outcome: Frame) -> None:
        """Continue from *outcome*, UNPREPARED, as a request, which prepares the statement again."""
        template, session = request.template, self.session
        message, plan = template.message(request.bound, request.paging_state)
        future: Any = ResponseFuture(
            session,
            message,
            bound_statement(template, request.bound),
            self._timeout,
            None,
            template.prepared,
            template.profile.retry_policy,
            template.profile.row_factory,
            template.profile.load_balancing_policy,
            bound_result_metadata=plan,
            routing_token=request.token,
        )
        self._alone.add(request)
        self.watch(future, request)
        continue_from(future, request.host, request.pool, request.connection, request.result_plan, outcome)

    def _on_forked(self) -> None:
        return

    # ---- the end

    def forget(self, request: PageRequest) -> None:
        """Give *request* up, in any state."""
        self._alone.discard(request)
        self._give_up(request, CancelledError())
        if self._request(request.index) is request:
            self._forget(request.index)
            self._on_completed(request, False)
            request.connection.orphan(request.stream, self, request.index)

    def _give_up(self, request: PageRequest, error: BaseException) -> None:
        """Report to the tracker that *request* has ended without a response that is taken."""
        if request.observed is not None:
            self._observe_end(request, error)

    def close(self) -> None:
        """Give up all pages in flight."""
        self._finish()
        left = self._requests()
        self._forget()
        for request in left:
            request.connection.orphan(request.stream, self, request.index)
        for request in (*left, *(ended[0] for ended in self.ended), *self._alone):
            self._give_up(request, CancelledError())
        for some in (self._alone, self.ended, self.continued, self.delayed):
            some.clear()


def _response_of(request: PageRequest, page: RowsPage, paging_state: bytes | None) -> PageResponse | DriverException:
    if paging_state is not None and paging_state == request.paging_state:
        return repeated_paging_state(request.host)
    return PageResponse(page, paging_state)
