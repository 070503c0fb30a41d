"""ResponseFuture: public object of a request (cassandra.cluster): waiting, callbacks, ``await``, pages, traces.

L5. It has no state of its own: see ``transport_parts/request.pxi`` for the ownership.

Methods run on callers' threads, in which the handler of a signal may raise between any two bytecodes. So they read,
wait, or make one native call that makes related changes together (``_fetch``, ``cancel``, ``_add``); none takes a lock.
A wait that is interrupted leaves the request to other waiters, and can be repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from time import monotonic
from types import CodeType, MethodType, coroutine
from typing import TYPE_CHECKING, Any

from cassandra._base.aliases import ObservedAliases
from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import (
    DriverException,
    NoHostAvailable,
    QueryExhausted,
    TraceUnavailable,
    as_before,
    copy_to_raise,
    repeated_paging_state,
)
from cassandra._base.objects import not_copied, public
from cassandra._core.codec import LazyRows
from cassandra._core.transport import Request, RequestRecorder, set_result_type
from cassandra._session.display import size_text
from cassandra._session.statements.statement import SimpleStatement, shortened

from ..statements.prepared import BoundStatement
from .execution import Content, Execution, QueryPlan, Sending, hosts_of, track_latency
from .hints import OfResult, note_failure
from .observers import recorder_of
from .result import Extras, OfRows, Outcome, PageInfo, ResultSet, Row
from .retry import closed_text
from .trace import QueryTrace

if TYPE_CHECKING:
    from cassandra._core.codec import ResultPlan
    from cassandra._routing.host import Host
    from cassandra._routing.policies import LoadBalancingPolicy, RetryPolicy, SpeculativeExecutionPlan

    from ..session import Session
    from ..statements.prepared import PreparedStatement
    from .plans import ExecutePlan


@public("cassandra.cluster")
class ResponseFuture(Request, OfRows[Row], metaclass=ObservedAliases):
    """The pending response of :meth:`Session.execute_async`: wait with :meth:`result`, add callbacks, or ``await`` it.

    Callbacks run on the driver's I/O thread, for every kind of outcome, and must not block; :meth:`result` does not
    wait for them, and their exceptions are logged. ``await future`` returns the :class:`ResultSet`; cancelling the
    awaiting task gives the request up, unless another task, a thread or a callback waits for it.

    Example::

        future = session.execute_async(select, (1,))
        future.add_callbacks(lambda rows: print(rows), lambda error: print(error))
        rows = future.result()
    """

    session: Session  #: The session that has made the request.
    default_timeout: float | None = None  #: Seconds of a call of :meth:`result`, if there is no timeout of its own.
    _execute_plan: ExecutePlan | None
    _execution: Execution
    is_schema_agreed: bool = True  #: False if the nodes did not agree on the schema in time, after a schema change.
    _coming: PageInfo | None = None  # data of a page that is being ended, while the ending hook is called

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
        if metrics is not None and not isinstance(metrics, RequestRecorder):  # those of the cluster, from a program
            metrics = metrics.of_message(message, None)
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
        latency_recorder = recorder_of(router)
        if latency_recorder is not None:
            self._set_latency_recorder(latency_recorder)
        self._execution = Execution(Sending(content, QueryPlan(router, host), speculative_execution_plan), retry_policy)
        track_latency(self, speculative_execution_plan)

    # ---- waiting

    def _wait_for_result(self) -> Any:
        """Return the raw final result (rows of the current page, None, or a message), or raise the final exception."""
        return _rows_of(_result_of(self._wait_for_outcome())[0])

    def result(self) -> ResultSet[Row]:
        """Wait and return a :class:`ResultSet`, or raise the error of the request, which is
        ``concurrent.futures.CancelledError`` if it was cancelled. Ctrl-C interrupts the wait."""
        return self._result()  # type: ignore[no-any-return]

    def _has_come(self) -> bool:
        """True if the request is over. Does not wait."""
        self._on_outcome()  # process an outcome that has arrived and was not taken yet
        return self._outcome is not None

    if TYPE_CHECKING:

        def __await__(self) -> Generator[Any, None, ResultSet[Row]]: ...

    def cancel(self) -> bool:
        """Give the request up; a late response is dropped. Return False if the request was over already.

        A thread in ``result()`` and errbacks get :exc:`concurrent.futures.CancelledError`, tasks that await it
        ``asyncio.CancelledError``."""
        return super().cancel()

    # ---- sending

    def send_request(self, error_no_hosts: bool = True) -> bool:
        """Send to the next host of the plan that takes the request. Return False if none does (then, with
        *error_no_hosts* and unless another attempt is in flight, the future has failed with :exc:`NoHostAvailable`)."""
        plan = self._execute_plan
        if plan is not None and not self.attempted_hosts and plan.launch(self.session, self):
            return True
        return self._execution.sending.send(self, self._page, error_no_hosts)

    @property
    def query_plan(self) -> Iterator[Host]:
        """The hosts that will be tried next, best first; consuming them removes them from the plan."""
        return hosts_of(self)

    @query_plan.setter
    def query_plan(self, hosts: Iterable[Host]) -> None:
        self._execution.sending.plan.give(hosts)

    # ---- callbacks

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture[Row]:
        """Call ``fn(rows, *args, **kwargs)`` with the rows of each page (None if there are none).

        The call is made at once, on this thread, if the request has ended (as after :meth:`result`), else on the I/O
        thread, even if the response has arrived. Exceptions of *fn* are logged."""
        self._add((fn, args, kwargs), None)
        return self

    def add_errback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture[Row]:
        """As :meth:`add_callback`, with the exception, if the request fails."""
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
        """Add *callback* and *errback*; exactly one of them is called per page."""
        self._add(
            (callback, tuple(callback_args), dict(callback_kwargs or {})),
            (errback, tuple(errback_args), dict(errback_kwargs or {})),
        )

    # ---- paging

    @property
    def has_more_pages(self) -> bool:
        """True if the server has rows after the current page. True also after a page that failed: it can be requested
        again."""
        return self._paging_state is not None

    def start_fetching_next_page(self) -> None:
        """Request the next page; :meth:`result`, ``await`` and the callbacks deliver it like the first one. After a
        page that failed, the same page is requested again.

        Raises :exc:`QueryExhausted` if there is none, DriverException while a page is pending.
        """
        paging_state = self._paging_state
        if paging_state is None:
            raise QueryExhausted("There are no more pages")
        self._fetch(paging_state)

    @property
    def _asks_itself(self) -> bool:
        """True if ``start_fetching_next_page`` was not replaced, in a subclass or in this object."""
        asked: Any = self.start_fetching_next_page
        return type(asked) is MethodType and asked.__func__ is _START_FETCHING

    def _ask_for(self, paging_state: bytes | None, asker: ResultSet[Row] | None = None) -> int | None:
        """Request the page at *paging_state*, and return its number; None if *asker* has turned to another page since.
        A replaced ``start_fetching_next_page``, of a subclass or of this object, is called for it."""
        if self._asks_itself:
            return self._fetch(paging_state, asker)
        asked: Any = self.start_fetching_next_page
        before = self._page
        asked()
        if self._page == before:
            raise DriverException(f"{asked!r}, which replaces start_fetching_next_page(), has not asked for a page")
        return self._page

    def _wait_for_page(self, page: int) -> Outcome:
        """Return the outcome of *page*, or raise its exception."""
        return _result_of(_check_page(page, self._wait_for_outcome()))

    @coroutine
    def _wait_for_page_async(self, page: int) -> Generator[Any, None, Outcome]:
        return _copy_for_task(_check_page(page, (yield from self._await_outcome())))

    def _send_page(self, page: int, paging_state: bytes | None, before: Outcome) -> None:
        """Send the request for *page*, at *paging_state*; an exception raised here fails the page. The page fails as
        well if the response *before* has returned the paging state that it was requested with."""
        page_info = None if before[1] is not None else before[2][1]
        is_repeated = page_info is not None and paging_state == page_info == self.message.paging_state
        self._execution.begin_page(self, paging_state)
        if is_repeated:
            self._fail(page, repeated_paging_state(self.coordinator_host or "The server"))
            return
        if self._tracking is not None:
            self._tracking.observe(self)
        if self.session._draining:
            self._fail(page, NoHostAvailable(closed_text(self.session), {}))
            return
        self._execution.sending.send(self, page)

    @property
    def _paging_state(self) -> bytes | None:
        """The beginning of the next page: from the last response, or, if there is none (yet), the paging state that the
        page was requested with, so that a page that failed can be requested again."""
        outcome = self._outcome
        if outcome is None and self._coming is not None:
            return self._coming[1]
        if outcome is None or outcome[1] is not None:
            asked: bytes | None = self.message.paging_state if self._page else None
            return asked
        position: bytes | None = outcome[2][1]
        return position

    # ---- message and statement

    @property
    def message(self) -> Any:
        """The message that is sent. A request init listener may change it before that."""
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
        """Errors by host."""
        return self._execution.sending.errors

    @property
    def request_encoded_size(self) -> int | None:
        """Bytes of the request as sent; None before."""
        if self._is_on_fast_path or self._execution.content.size is None:
            return len(self._frame) if self._frame is not None and self.attempted_hosts else None
        return self._execution.content.size

    # ---- parts of the response

    @property
    def _final_result(self) -> Any:
        outcome = self._outcome
        return None if outcome is None else _rows_of(outcome[0])

    @property
    def _final_exception(self) -> BaseException | None:
        outcome = self._outcome
        self._mark_retrieved()
        return None if outcome is None else outcome[1]

    @property
    def _extras(self) -> Extras | None:
        outcome = self._outcome  # read once: another thread may request the next page
        return None if outcome is None else outcome[2][2]

    @property
    def _traces(self) -> tuple[QueryTrace, ...]:
        return () if self._is_on_fast_path else self._execution.traces

    @property
    def warnings(self) -> list[str] | None:
        """Warnings that the server sent with the response; waits for it."""
        self._wait_for_outcome()
        return self._warnings

    @property
    def _warnings(self) -> list[str] | None:
        extras = self._extras
        return None if extras is None else extras.warnings

    @property
    def custom_payload(self) -> Mapping[str, bytes | None] | None:
        """The custom payload that the server sent with the response; waits for it."""
        self._wait_for_outcome()
        return self._custom_payload

    @property
    def _custom_payload(self) -> Mapping[str, bytes | None] | None:
        extras = self._extras
        return None if extras is None else extras.custom_payload

    def get_query_trace_ids(self) -> list[Any]:
        """Return the ids of the traces of all attempts and pages; wait for the response."""
        self._wait_for_outcome()
        return [trace.trace_id for trace in self._traces]

    def get_query_trace(
        self, max_wait: float | None = None, query_cl: int = ConsistencyLevel.LOCAL_ONE
    ) -> QueryTrace | None:
        """Return the trace of the last attempt, or None without tracing. Wait up to *max_wait* seconds until the server
        has written it, then raise :exc:`TraceUnavailable`; raise it at once if the request is not over."""
        if not self._has_come():
            raise TraceUnavailable("Trace information was not available. The ResponseFuture is not done.")
        return None if not self._traces else self._populated_trace(self._traces[-1], max_wait, query_cl)

    def get_all_query_traces(
        self, max_wait_per: float | None = None, query_cl: int = ConsistencyLevel.LOCAL_ONE
    ) -> list[QueryTrace]:
        """Return the traces of all pages and attempts; wait for the response."""
        self._wait_for_outcome()
        return [self._populated_trace(trace, max_wait_per, query_cl) for trace in self._traces]

    def _populated_trace(self, trace: QueryTrace, max_wait: float | None, query_cl: int) -> QueryTrace:
        if trace.events is None:
            trace.populate(self.session.max_trace_wait if max_wait is None else max_wait, query_cl=query_cl)
        return trace

    if not TYPE_CHECKING:
        one, all, current_rows, was_applied = map(OfResult, ("one", "all", "current_rows", "was_applied"))

    __reduce__ = not_copied("it belongs to its session; its result() can be asked for")

    def __repr__(self) -> str:
        """Show only the number of rows and values: they may be large or confidential."""
        outcome = self._outcome
        result, error, _, _ = outcome or (None, None, None, None)
        if outcome is None:
            page_info = "(no result yet)"
        else:
            page_info = repr(error) if error is not None else size_text(result)
        return (
            f"<ResponseFuture: query={self._query_text()} request_id={self._last_stream} "
            f"result={page_info} exception={error!r} coordinator_host={self.coordinator_host}>"
        )

    __str__ = __repr__

    def _query_text(self) -> str:
        query: Any = None
        prepared: PreparedStatement | None
        if self._is_on_fast_path and self._execute_plan is not None:
            prepared = self._execute_plan.prepared
        else:
            query, prepared = self._execution.content.shown, self.prepared_statement
        if prepared is not None and (query is None or isinstance(query, BoundStatement)):
            count = len(prepared._bind_plan)
            return f"{shortened(prepared.query_string)!r} with {count} parameter{'' if count == 1 else 's'}"
        text = query.query_string if isinstance(query, SimpleStatement) else str(query or self.message)
        return repr(shortened(text))

    @property
    def _last_stream(self) -> int | None:
        return next((attempt.stream for attempt in self._attempts), None)


_START_FETCHING: Any = ResponseFuture.start_fetching_next_page


def _rows_of(rows: Any) -> Any:
    return rows.rows() if isinstance(rows, LazyRows) else rows


def _result_of(outcome: Outcome) -> Outcome:
    """Return *outcome*, or raise its exception."""
    error = outcome[1]
    if error is not None:
        raise _to_thread(error, _result_of.__code__)
    return outcome


def _copy_to_thread(error: BaseException, raiser: CodeType) -> BaseException:
    """Return the exception for one of several threads that may raise it at the same time: without the GIL, CPython 3.13
    would free the traceback of an exception that they share twice."""
    if type(error) is not CancelledError:
        return copy_to_raise(error, raiser)
    copy = CancelledError(*error.args)
    copy.__dict__.update(error.__dict__)
    return copy


_to_thread = _copy_to_thread if "t" in sys.abiflags else as_before


def _copy_for_task(outcome: Outcome) -> Outcome:
    """As :func:`_result_of`, for one of several tasks that may wait at the same time."""
    if outcome[1] is not None:
        _raise_to_task(outcome[1])
    return outcome


def _raise_to_task(error: BaseException) -> None:
    if type(error) is CancelledError:
        import asyncio

        raise asyncio.CancelledError(*error.args)
    raise copy_to_raise(error, _raise_to_task.__code__)


set_result_type(ResultSet, _result_of, _raise_to_task, note_failure)


def _check_page(page: int, outcome: Outcome) -> Outcome:
    if outcome[3] != page:
        raise DriverException(
            "A page of this request is missing here: it was fetched by another consumer (another ResultSet, a "
            "callback). Fetch the pages of a request by one consumer only, or use one request each"
        )
    return outcome
