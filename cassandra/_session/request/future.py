"""ResponseFuture: what callers see of a request (cassandra.cluster): waiting, callbacks, ``await``, pages, traces.

L5. The public face of a request. It has no state of its own: see ``transport_parts/request.pxi`` for who owns what.

Methods run on callers' threads, in which the handler of a signal may raise between any two bytecodes. So they read,
wait, or make one native call that changes all that belongs together (``_fetch``, ``cancel``, ``_add``); none takes a
lock. A wait that is interrupted leaves the request to others, and can be taken up again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from time import monotonic
from types import MethodType, coroutine
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.copies import not_copied
from cassandra._base.errors import (
    DriverException,
    NoHostAvailable,
    QueryExhausted,
    TraceUnavailable,
    as_before,
    copy_to_raise,
    repeated_paging_state,
)
from cassandra._base.lending import Borrower
from cassandra._base.public import public
from cassandra._core.codec import UnmadeRows
from cassandra._core.transport import Request, set_result_type

from ..statements.prepared import BoundStatement
from ..statements.statements import SimpleStatement, shortened
from .content import Content
from .execution import Execution
from .measured import meter_of
from .outcome import Beside, Came, Outcome
from .plan import QueryPlan
from .result import ResultSet, described
from .row_types import OfRows, Row
from .sending import Sending, closed_text, hosts_of
from .trace import QueryTrace

if TYPE_CHECKING:
    from cassandra._core.codec import ResultPlan
    from cassandra._routing.host import Host
    from cassandra._routing.policies import LoadBalancingPolicy, RetryPolicy, SpeculativeExecutionPlan

    from ..session import Session
    from ..statements.prepared import PreparedStatement
    from .compiled import CompiledExecute


@public("cassandra.cluster")
class ResponseFuture(Request, OfRows[Row], metaclass=Borrower):
    """The answer to come of :meth:`Session.execute_async`: wait with :meth:`result`, add callbacks, or ``await`` it.

    Callbacks run on the driver's I/O thread, by whatever the request ends, and must not block; :meth:`result` does not
    wait for them, and what one raises is logged. ``await future`` gives the :class:`ResultSet`;
    cancelling the awaiting task gives the request up, unless another task, a thread or a callback waits for it.

    Example::

        future = session.execute_async(select, (1,))
        future.add_callbacks(lambda rows: print(rows), lambda error: print(error))
        rows = future.result()
    """

    session: Session
    default_timeout: float | None = None
    _compiled: CompiledExecute | None
    _execution: Execution
    is_schema_agreed: bool = True
    _coming: Came | None = None  # what came with a page that is being ended, while somebody else is told of it

    def __init__(
        self,
        session: Session,
        message: Any,
        query: Any,
        timeout: float | None,
        metrics: Any = None,
        prepared_statement: PreparedStatement | None = None,
        retry_policy: RetryPolicy | None = None,
        row_factory: Callable[..., Any] | None = None,
        load_balancer: LoadBalancingPolicy | None = None,
        start_time: float | None = None,
        speculative_execution_plan: SpeculativeExecutionPlan | None = None,
        continuous_paging_state: Any = None,
        host: Host | None = None,
        bound_result_metadata: ResultPlan | None = None,
        routing_token: int | None = None,
    ) -> None:
        started = monotonic() if start_time is None else start_time
        self._begin(session, metrics, timeout, started, row_factory, bound_result_metadata, routing_token)
        handler = session.client_protocol_handler
        content = Content(
            message,
            query,
            prepared_statement,
            bound_result_metadata,
            routing_token,
            None if handler is session._default_protocol_handler else handler,
        )
        router = session._router_of(load_balancer or session.cluster.load_balancing_policy)
        meter = meter_of(router)
        if meter is not None:
            self._measured_by(meter)
        self._execution = Execution(Sending(content, QueryPlan(router, host), speculative_execution_plan), retry_policy)

    # ---- waiting

    def _wait_for_result(self) -> Any:
        """The raw final result (rows of the current page, None, or a message), or the final exception raised."""
        return _opened(_result_of(self._settle())[0])

    def result(self) -> ResultSet[Row]:
        """Wait and return a :class:`ResultSet`, or raise what the request failed with:
        ``concurrent.futures.CancelledError`` if it was cancelled. Ctrl-C interrupts the wait."""
        return self._result()  # type: ignore[no-any-return]

    def _has_come(self) -> bool:
        """Without waiting."""
        self._on_outcome()  # which may be here, and nobody has taken it
        return self._outcome is not None

    @coroutine
    def _wait_async(self) -> Generator[Any, None, Any]:
        """As :meth:`_wait_for_result`, without blocking the running loop."""
        return _opened(_awaited((yield from self._settle_async()))[0])

    if TYPE_CHECKING:

        def __await__(self) -> Generator[Any, None, ResultSet[Row]]: ...

    def cancel(self) -> bool:
        """Give the request up; a late answer is dropped. False if it was over.

        A thread in ``result()`` and errbacks get :exc:`concurrent.futures.CancelledError`, tasks that await it
        ``asyncio.CancelledError``."""
        return super().cancel()

    # ---- sending

    def send_request(self, error_no_hosts: bool = True) -> bool:
        """Send to the next host of the plan that takes it. False when none does (then, with *error_no_hosts* and
        unless another attempt is still under way, the future has failed with :exc:`NoHostAvailable`)."""
        compiled = self._compiled
        if compiled is not None and not self.attempted_hosts and compiled.launch(self.session, self):
            return True
        return self._execution.sending.send(self, self._page, error_no_hosts)

    @property
    def query_plan(self) -> Iterator[Host]:
        """The hosts that will be tried next, best first; consuming it takes them out of the plan."""
        return hosts_of(self)

    @query_plan.setter
    def query_plan(self, hosts: Iterable[Host]) -> None:
        self._execution.sending.plan.give(hosts)

    # ---- callbacks

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture[Row]:
        """Call ``fn(rows, *args, **kwargs)`` with the rows of each page (None when there are none); at once, on this
        thread, if the request has ended, as one whose result was asked for has, else on the I/O thread, even if the
        answer is here. Exceptions of *fn* are logged."""
        self._add((fn, args, kwargs), None)
        return self

    def add_errback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture[Row]:
        """As :meth:`add_callback`, with the exception when the request fails."""
        self._add(None, (fn, args, kwargs))
        return self

    def add_callbacks(
        self,
        callback: Callable[..., Any],
        errback: Callable[..., Any],
        callback_args: Sequence[Any] = (),
        callback_kwargs: Mapping[str, Any] | None = None,
        errback_args: Sequence[Any] = (),
        errback_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """Both at once; exactly one of them is called per page."""
        self._add(
            (callback, tuple(callback_args), dict(callback_kwargs or {})),
            (errback, tuple(errback_args), dict(errback_kwargs or {})),
        )

    # ---- paging

    @property
    def has_more_pages(self) -> bool:
        """Whether the server has rows after the current page. True also after a page that failed: it can be asked for
        again."""
        return self._paging_state is not None

    def start_fetching_next_page(self) -> None:
        """Request the next page; it arrives at :meth:`result`, ``await`` and the callbacks as the first did. After a
        page that failed this asks for the same page again.

        Raises :exc:`QueryExhausted` when there is none, DriverException while a page is on its way.
        """
        paging_state = self._paging_state
        if paging_state is None:
            raise QueryExhausted("There are no more pages")
        self._fetch(paging_state)

    @property
    def _asks_itself(self) -> bool:
        """Whether nobody has put another ``start_fetching_next_page`` in the place of ours."""
        asked: Any = self.start_fetching_next_page
        return type(asked) is MethodType and asked.__func__ is _START_FETCHING

    def _ask_for(self, paging_state: bytes | None, asker: ResultSet[Row] | None = None) -> int:
        """The number of the page at *paging_state*, which is on its way. Whoever has put another
        ``start_fetching_next_page`` in the place of ours, in the class or in this object, is asked for it."""
        if self._asks_itself:
            return self._fetch(paging_state, asker)
        asked: Any = self.start_fetching_next_page
        before = self._page
        asked()
        if self._page == before:
            raise DriverException(f"{asked!r}, in the place of start_fetching_next_page(), has not asked for a page")
        return self._page

    def _wait_for_page(self, page: int) -> Outcome:
        """The outcome of *page*, or its exception raised."""
        return _result_of(_must_be(page, self._settle()))

    @coroutine
    def _wait_for_page_async(self, page: int) -> Generator[Any, None, Outcome]:
        return _awaited(_must_be(page, (yield from self._settle_async())))

    def _send_page(self, page: int, paging_state: bytes | None, before: Outcome) -> None:
        """Send for *page*, at *paging_state*, which fails by what this raises. An error of the page, too, is that the
        answer *before* did not get beyond the position it was asked for."""
        came = None if before[1] is not None else before[2][1]
        is_repeated = came is not None and paging_state == came == self.message.paging_state
        self._execution.begin_page(self, paging_state)
        if is_repeated:
            self._fail(page, repeated_paging_state(self.coordinator_host or "The server"))
            return
        if self._tracking is not None:
            self._tracking.begin(self)
        if self.session._draining:
            self._fail(page, NoHostAvailable(closed_text(self.session), {}))
            return
        self._execution.sending.send(self, page)

    @property
    def _paging_state(self) -> bytes | None:
        """Where the next page begins: as the last answer says, or, when there is none (yet), where it was asked for,
        so that a page that failed can be asked for again."""
        outcome = self._outcome
        if outcome is None and self._coming is not None:
            return self._coming[1]
        if outcome is None or outcome[1] is not None:
            asked: bytes | None = self.message.paging_state if self._page else None
            return asked
        position: bytes | None = outcome[2][1]
        return position

    # ---- what is asked

    @property
    def message(self) -> Any:
        """What is sent. It may be changed before that, by a request init listener."""
        return self._execution.content.message

    @message.setter
    def message(self, message: Any) -> None:
        self._execution.content.message = message

    @property
    def query(self) -> Any:
        """The statement that is executed."""
        return self._execution.content.statement

    @query.setter
    def query(self, statement: Any) -> None:
        self._execution.content.statement = statement

    @property
    def prepared_statement(self) -> PreparedStatement | None:
        """The prepared statement that is executed, if it is one."""
        return self._execution.content.prepared

    @prepared_statement.setter
    def prepared_statement(self, prepared: PreparedStatement | None) -> None:
        self._execution.content.prepared = prepared

    @property
    def _retry_policy(self) -> RetryPolicy | None:
        return self._execution.retry_policy

    @_retry_policy.setter
    def _retry_policy(self, policy: RetryPolicy | None) -> None:
        self._execution.retry_policy = policy

    @property
    def _errors(self) -> dict[Any, Any]:
        """What hosts failed with."""
        return self._execution.sending.errors

    @property
    def request_encoded_size(self) -> int | None:
        """Bytes of the request as it was sent; None before."""
        if self._is_ordinary or self._execution.content.size is None:
            return len(self._frame) if self._frame is not None and self.attempted_hosts else None
        return self._execution.content.size

    # ---- what came with the answer

    @property
    def _final_result(self) -> Any:
        return None if self._outcome is None else _opened(self._outcome[0])

    @property
    def _final_exception(self) -> BaseException | None:
        return None if self._outcome is None else self._outcome[1]

    @property
    def _beside(self) -> Beside | None:
        return None if self._outcome is None else self._outcome[2][2]

    @property
    def _traces(self) -> tuple[QueryTrace, ...]:
        return () if self._is_ordinary else self._execution.traces

    @property
    def warnings(self) -> list[str] | None:
        """Warnings the server sent with the answer; waits for it."""
        self._settle()
        return self._warnings

    @property
    def _warnings(self) -> list[str] | None:
        return None if self._beside is None else self._beside.warnings

    @property
    def custom_payload(self) -> Mapping[str, bytes | None] | None:
        """The custom payload the server sent with the answer; waits for it."""
        self._settle()
        return self._custom_payload

    @property
    def _custom_payload(self) -> Mapping[str, bytes | None] | None:
        return None if self._beside is None else self._beside.custom_payload

    def get_query_trace_ids(self) -> list[Any]:
        """Ids of the traces of all attempts and pages; waits for the answer."""
        self._settle()
        return [trace.trace_id for trace in self._traces]

    def get_query_trace(
        self, max_wait: float | None = None, query_cl: int = ConsistencyLevel.LOCAL_ONE
    ) -> QueryTrace | None:
        """The trace of the last attempt, or None without tracing; waits up to *max_wait* seconds for it to be written,
        then raises :exc:`TraceUnavailable`; so it does at once if the request is not over."""
        if not self._has_come():
            raise TraceUnavailable("Trace information was not available. The ResponseFuture is not done.")
        return None if not self._traces else self._populated(self._traces[-1], max_wait, query_cl)

    def get_all_query_traces(
        self, max_wait_per: float | None = None, query_cl: int = ConsistencyLevel.LOCAL_ONE
    ) -> list[QueryTrace]:
        """The traces of all pages and attempts."""
        self._settle()
        return [self._populated(trace, max_wait_per, query_cl) for trace in self._traces]

    def _populated(self, trace: QueryTrace, max_wait: float | None, query_cl: int) -> QueryTrace:
        if trace.events is None:
            trace.populate(self.session.max_trace_wait if max_wait is None else max_wait, query_cl=query_cl)
        return trace

    __reduce__ = not_copied("it belongs to its session; its result() can be asked for")

    def __repr__(self) -> str:
        """Of rows and values only how many there are: they may be large, and nobody else's business."""
        result, error, _, _ = self._outcome or (None, None, None, None)
        if self._outcome is None:
            came = "(no result yet)"
        else:
            came = repr(error) if error is not None else described(result)
        return (
            f"<ResponseFuture: query={self._asked()} request_id={self._last_stream} "
            f"result={came} exception={error!r} coordinator_host={self.coordinator_host}>"
        )

    __str__ = __repr__

    def _asked(self) -> str:
        query: Any = None
        prepared: PreparedStatement | None
        if self._is_ordinary and self._compiled is not None:
            prepared = self._compiled.prepared
        else:
            query, prepared = self._execution.content.shown, self.prepared_statement
        if prepared is not None and (query is None or isinstance(query, BoundStatement)):
            count = len(prepared._bind_plan)
            return f"{shortened(prepared.query_string)!r} with {count} parameter{'' if count == 1 else 's'}"
        text = query.query_string if isinstance(query, SimpleStatement) else str(query or self.message)
        return repr(shortened(text))

    @property
    def _last_stream(self) -> int | None:
        return next((attempt.stream for attempt in self._attempts.values()), None)


_START_FETCHING: Any = ResponseFuture.start_fetching_next_page


def _opened(rows: Any) -> Any:
    return rows.rows() if isinstance(rows, UnmadeRows) else rows


def _result_of(outcome: Outcome) -> Outcome:
    """*outcome*, or its exception raised."""
    error = outcome[1]
    if error is not None:
        raise as_before(error, _result_of.__code__)
    return outcome


def _awaited(outcome: Outcome) -> Outcome:
    """As :func:`_result_of`, for one of several tasks that may wait for it at a time."""
    if outcome[1] is not None:
        _raise_to_task(outcome[1])
    return outcome


def _raise_to_task(error: BaseException) -> None:
    if type(error) is CancelledError:
        import asyncio

        raise asyncio.CancelledError(*error.args)
    raise copy_to_raise(error, _raise_to_task.__code__)


set_result_type(ResultSet, _result_of, _raise_to_task)


def _must_be(page: int, outcome: Outcome) -> Outcome:
    if outcome[3] != page:
        raise DriverException(
            "The pages of this request were fetched by somebody else too (another ResultSet, a callback), so that one "
            "of them is missing here; use one way to fetch them, or one request each"
        )
    return outcome
