"""ResponseFuture: what callers see of a request (cassandra.cluster): waiting, callbacks, ``await``, pages, traces.

L5. The engine below it, and who owns which state, is described in execution.py.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import CancelledError
from types import coroutine
from typing import Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import DriverException, QueryExhausted, as_before, copy_to_raise
from cassandra._base.public import public

from ..statements.prepared import BoundStatement
from ..statements.statements import SimpleStatement, shortened
from .conclusion import Outcome
from .execution import Execution
from .result import ResultSet, described
from .trace import QueryTrace


@public("cassandra.cluster")
class ResponseFuture(Execution):
    """The answer to come of :meth:`Session.execute_async`: wait with :meth:`result`, add callbacks, or ``await`` it.

    Callbacks run on the driver's I/O thread and must not block. ``await future`` gives the :class:`ResultSet`;
    cancelling the awaiting task gives the request up, unless another task, a thread or a callback waits for it.

    Example::

        future = session.execute_async(select, (1,))
        future.add_callbacks(lambda rows: print(rows), lambda error: print(error))
        rows = future.result()
    """

    # ---- waiting

    def _wait_for_result(self) -> Any:
        """The raw final result (rows of the current page, None, or a message), or the final exception raised."""
        return _result_of(self._settle())[0]

    def result(self) -> ResultSet:
        """Wait and return a :class:`ResultSet`, or raise what the request failed with:
        ``concurrent.futures.CancelledError`` if it was cancelled. Ctrl-C interrupts the wait."""
        outcome = self._settle()
        return ResultSet._of(self, outcome if outcome[1] is None else _result_of(outcome))

    def __await__(self) -> Generator[Any, None, ResultSet]:
        outcome = self._outcome
        if outcome is None:
            outcome = yield from self._settle_async()
        return ResultSet._of(self, outcome if outcome[1] is None else _awaited(outcome))

    @coroutine
    def _wait_async(self) -> Generator[Any, None, Any]:
        """As :meth:`_wait_for_result`, without blocking the running loop."""
        return _awaited((yield from self._settle_async()))[0]

    # ---- callbacks

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture:
        """Call ``fn(rows, *args, **kwargs)`` with the rows of each page (None when there are none); at once, on this
        thread, if the answer is here already, else on the I/O thread. Exceptions of *fn* are logged."""
        self._add((fn, args, kwargs), None)
        return self

    def add_errback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture:
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

    def _wait_for_page(self, page: int) -> Outcome:
        """The outcome of *page*, or its exception raised."""
        return _result_of(_must_be(page, self._settle()))

    @coroutine
    def _wait_for_page_async(self, page: int) -> Generator[Any, None, Outcome]:
        return _awaited(_must_be(page, (yield from self._settle_async())))

    # ---- what came with the answer

    @property
    def warnings(self) -> list[str] | None:
        """Warnings the server sent with the answer; waits for it."""
        self._settle()
        return self._warnings

    @property
    def custom_payload(self) -> Mapping[str, bytes | None] | None:
        """The custom payload the server sent with the answer; waits for it."""
        self._settle()
        return self._custom_payload

    def get_query_trace_ids(self) -> list[Any]:
        """Ids of the traces of all attempts and pages; waits for the answer."""
        self._settle()
        return [trace.trace_id for trace in self._traces]

    def get_query_trace(
        self, max_wait: float | None = None, query_cl: int = ConsistencyLevel.LOCAL_ONE
    ) -> QueryTrace | None:
        """The trace of the last attempt, or None without tracing; waits up to *max_wait* seconds for it to be written,
        then raises :exc:`TraceUnavailable`."""
        self._settle()
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
        query = self.__dict__.get("query")
        prepared = self.prepared_statement if query is None or isinstance(query, BoundStatement) else None
        if prepared is not None:
            count = len(prepared._bind_plan)
            return f"{shortened(prepared.query_string)!r} with {count} parameter{'' if count == 1 else 's'}"
        text = query.query_string if isinstance(query, SimpleStatement) else str(query or self.message)
        return repr(shortened(text))

    @property
    def _last_stream(self) -> int | None:
        return next((attempt.stream for attempt in self._attempts.values()), None)


def _result_of(outcome: Outcome) -> Outcome:
    """*outcome*, or its exception raised."""
    error = outcome[1]
    if error is not None:
        raise as_before(error, _result_of.__code__)
    return outcome


def _awaited(outcome: Outcome) -> Outcome:
    """As :func:`_result_of`, for one of several tasks that may wait for it at a time."""
    error = outcome[1]
    if type(error) is CancelledError:
        import asyncio

        raise asyncio.CancelledError(*error.args)
    if error is not None:
        raise copy_to_raise(error, _awaited.__code__)
    return outcome


def _must_be(page: int, outcome: Outcome) -> Outcome:
    if outcome[3] != page:
        raise DriverException(
            "The pages of this request were fetched by somebody else too (another ResultSet, a callback), so that one "
            "of them is missing here; use one way to fetch them, or one request each"
        )
    return outcome
