"""Pages of a reading: their size, their requests and responses, and the page fetcher (L6).

A :class:`PageTemplate` is the page template of a prepared statement, an :class:`PageRequest` a page request, a
:class:`PageResponse` a page response, a :class:`Range` the state of a range that is read.

The page fetcher (:class:`PageFetcher`) chooses targets of page requests, limits those in flight to a host, and reads
their outcomes. It is one native operation for all pages of a reading; the number of an attempt is that of a *slot*,
which is used once. It belongs to the reader: one thread, or the thread of a task's loop. Outcomes stay in the operation
until that thread takes them; no other thread processes them. Other threads access ``_outcomes``, ``_silent`` and
``_finished_requests`` only: they append to them, and then end the wait.

A host has a *window*, as for writes: a limit of pages in flight. It grows with responses, and is halved when the host
reports overload, or does not respond in time.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base import process
from cassandra._base.constants import ResultKind
from cassandra._base.errors import (
    ConnectionException,
    DriverException,
    InvalidRequest,
    NoHostAvailable,
    OperationTimedOut,
    ReadTimeout,
    ResponseTooLarge,
    repeated_paging_state,
)
from cassandra._base.server_errors import PreparedQueryNotFound, ProtocolException
from cassandra._core.codec import retained_page
from cassandra._core.routing import Target
from cassandra._core.transport import NO_ATTEMPT, Failure, Frame, HostWindow, Operation
from cassandra._session import aio
from cassandra._session.request.admission import within_limits
from cassandra._session.request.execution import NO_POOL
from cassandra._session.request.future import ResponseFuture
from cassandra._session.request.many import ManyRequests, continue_from, failure_error
from cassandra._session.request.notes import learn_tablet, version_block_of
from cassandra._session.request.retry import (
    NOT_SENT,
    RepeatDecision,
    closed_text,
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
    from cassandra._routing.token_ranges import TokenRange
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


class PageRequest:
    """Page request and its attempts. *bound*: the values of its range; *token*: routing token."""

    __slots__ = (
        "attempts",
        "bound",
        "connection",
        "failed_since",
        "failures",
        "few_times",
        "host",
        "owner",
        "page_size",
        "paging_state",
        "plan",
        "pool",
        "sent",
        "shard",
        "slot",
        "stream",
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
        self.host: Host | None = None
        self.pool: Any = None
        self.connection: Any = None
        self.shard: int | None = None
        self.stream = -1
        self.slot = -1
        self.sent = 0.0
        self.plan: ResultPlan | None = None

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


class PageFetcher(ManyRequests, Operation):
    """Sends the page requests of one reading and takes their outcomes. *most*: limit of pages in flight to one
    host."""

    def __init__(self, session: Session, most: int, timeout: float | None) -> None:
        super().__init__()
        self.session = session
        self._process = process.here()
        self._most = within_limits(session.cluster, most)
        self._timeout = timeout
        self.windows: dict[Host, HostWindow] = {}
        self.busy: dict[tuple[Host, int | None], int] = {}  # pages in flight by host and shard
        self._in_flight: dict[int, PageRequest] = {}
        self._slot = 0
        self._outcomes: deque[tuple[int, Frame | Failure]] = deque()
        self._silent: deque[int] = deque()
        self._finished_requests: deque[tuple[PageRequest, Any]] = deque()
        self._alone: set[PageRequest] = set()
        self._state: Any = None
        self._routes: dict[int, Callable[[int | None], Target | None]] = {}
        self._loop: Any = None
        self._waiter: Any = None

    @property
    def in_flight(self) -> int:
        """Number of pages whose outcome was not taken yet."""
        return len(self._in_flight) + len(self._alone)

    def check(self) -> None:
        """Raise ConnectionShutdown in a forked child, NoHostAvailable if the session has ended."""
        process.check_process(self._process)
        if self.session.is_shutdown or self.session._draining:
            raise NoHostAvailable(closed_text(self.session), {})

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
        template, full = request.template, False
        errors: dict[Host, Exception] = {}
        router, state = self._router(template), self.session.cluster.metadata.state
        statement = statement_of(template, request.token)
        where = (state, template.keyspace, request.token, statement)
        first, rest = router.start(*where, template.profile.consistency_level)
        if rest is None:
            rest = router.fallback(*where, first, template.profile.consistency_level)
        targets = [target for target in (first, *rest) if target is not None]
        targets.sort(
            key=lambda target: target.host in request.tried_hosts
        )  # stable: keeps the order of the plan otherwise
        for target in targets:
            outcome = self._send_to(request, target)
            if outcome is True:
                return True
            if outcome is False:
                full = True
            else:
                errors[target.host] = outcome
        if full:
            return False
        return NoHostAvailable("Unable to complete the operation against any hosts", errors)

    def _send_to(self, request: PageRequest, target: Target) -> bool | Exception:
        host = target.host
        window = self.windows.get(host)
        if window is None:
            window = self.windows[host] = HostWindow(self._most, self._most)
        if not window.has_room:
            return False
        pool = self.session._pools.get(host)
        if pool is None:
            return ConnectionException(NO_POOL, host.endpoint)
        slot = self._slot = (self._slot + 1) % NO_ATTEMPT
        try:
            connection = pool.pick(request.token, target.shard)
            frame, request.plan = request.template.frame(connection, request.bound, request.paging_state, request.token)
            request.slot, request.sent, request.page_size = slot, monotonic(), request.template.page_size.rows
            self._in_flight[slot] = request
            request.stream = connection.submit(frame, self, slot, self._timeout, aio.may_wait(connection))
        except NOT_SENT as error:
            self._in_flight.pop(slot, None)
            return error
        except BaseException:
            self._in_flight.pop(slot, None)
            raise
        request.host, request.pool, request.connection, request.shard = host, pool, connection, target.shard
        request.attempts += 1
        window.sent()
        at = (host, target.shard)
        self.busy[at] = self.busy.get(at, 0) + 1
        return True

    # ---- outcomes

    def outcomes(self) -> Iterator[tuple[PageRequest, Any]]:
        """Yield the pages that have ended since the last call, each with a :class:`PageResponse`, or its error."""
        self._take_into(self._outcomes)
        while self._outcomes:
            slot, outcome = self._outcomes.popleft()
            request = self._in_flight.pop(slot, None)
            if request is not None:
                found = self._read(request, outcome)
                self._on_completed(request, isinstance(found, PageResponse))
                if found is not None:
                    yield request, found
        while self._silent:
            request = self._in_flight.get(self._silent.popleft())
            if request is not None and request.connection.orphan(request.stream, self, request.slot):
                del self._in_flight[request.slot]
                self._on_completed(request, False)
                yield request, ConnectionException(f"{request.host} does not respond", request.connection.endpoint)
        while self._finished_requests:
            request, found = self._finished_requests.popleft()
            if request in self._alone:
                self._alone.remove(request)
                yield request, found

    def _on_completed(self, request: PageRequest, with_page: bool) -> None:
        assert request.host is not None
        window = self.windows[request.host]
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

    def _read(self, request: PageRequest, outcome: Frame | Failure) -> Any:
        """Return the outcome as :meth:`outcomes` yields it; None if *request* continues as a request of its own."""
        assert request.host is not None
        if isinstance(outcome, Failure):
            return failure_error(outcome, request.host, request.connection, self._timeout, "a page of a scan")
        try:
            message = request.connection.decode(outcome, request.plan)
        except Exception as broken:
            return broken
        if message.warnings:
            self.session._warning_log.log(message.warnings)
            request.template.page_size.shrink()  # a large page may be the reason
        if isinstance(message, PreparedQueryNotFound):
            self._go_on_alone(request, outcome)
            return None
        if not isinstance(message, ResultMessage):
            return message
        if message.custom_payload is not None:
            where = statement_of(request.template, request.token)
            learn_tablet(self.session, request.connection.features, where, message.custom_payload)
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
        elif message.plan is not request.plan and prepared.result_metadata_id is None:
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
        assert request.host is not None
        continue_from(future, request.host, request.pool, request.connection, request.plan, outcome)

    def _continued(self, future: Any, rows: Any, error: BaseException | None, request: PageRequest) -> None:
        if error is not None:
            self._finished_requests.append((request, error))
            return
        plan, paging_state, _, kept = future._outcome[2]
        self._finished_requests.append((request, _response_of(request, retained_page(plan, kept), paging_state)))

    # ---- other threads

    def _on_outcome(self) -> None:
        """Take outcomes that arrived while no thread waited, on the I/O thread; for a task, all outcomes."""
        if self._loop is not None and aio.loop_or_none() is not self._loop:  # the loop watches no descriptors
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._wake)
            return
        news = self._take_into(self._outcomes)
        if self._loop is not None:
            self._wake()
        elif news:
            self._wake_up()  # a thread may have begun to wait meanwhile

    def _on_forked(self) -> None:
        return

    # ---- waiting

    @property
    def has_news(self) -> bool:
        return bool(self._outcomes or self._answered or self._silent or self._finished_requests)

    def wait(self, seconds: float) -> None:
        """Wait until a page has ended, or *seconds* are over."""
        if not self.has_news:
            self._wait(seconds)

    def use_loop(self) -> None:
        """Deliver outcomes to the running loop from now on."""
        loop = aio.running_loop()
        if self._loop is not loop:
            self._loop = loop
            aio.deliver_to(loop, self)

    async def wait_async(self, seconds: float) -> None:
        """As :meth:`wait`, without blocking the running loop."""
        if self.has_news:
            return
        waiter = self._waiter = aio.new_awaiting(self._loop)
        timer = self._loop.call_later(seconds, self._wake)
        try:
            await waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None:
            aio.resolve(self._waiter, None)

    # ---- the end

    def forget(self, request: PageRequest) -> None:
        """Give *request* up, in any state."""
        self._alone.discard(request)
        if self._in_flight.pop(request.slot, None) is not None:
            self._on_completed(request, False)
            request.connection.orphan(request.stream, self, request.slot)

    def close(self) -> None:
        """Give up all pages in flight."""
        self._finish()
        left, self._in_flight = self._in_flight, {}
        for request in left.values():
            request.connection.orphan(request.stream, self, request.slot)
        self._alone.clear()
        self._outcomes.clear()
        self._finished_requests.clear()


def _response_of(request: PageRequest, page: RowsPage, paging_state: bytes | None) -> PageResponse | DriverException:
    if paging_state is not None and paging_state == request.paging_state:
        return repeated_paging_state(request.host)
    return PageResponse(page, paging_state)
