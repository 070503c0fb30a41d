"""ResponseFuture: what callers see of a request (cassandra.cluster): waiting, callbacks, ``await``, pages, traces.

L5. The engine below it, and who owns which state, is described in execution.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from time import monotonic
from typing import Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import DriverException, QueryExhausted
from cassandra._base.public import public
from cassandra._wire.types.registry import type_class

from . import aio
from .execution import Execution
from .result import ResultSet
from .sending import Call
from .trace import QueryTrace


@public("cassandra.cluster")
class ResponseFuture(Execution):
    """The answer to come of :meth:`Session.execute_async`: wait with :meth:`result`, add callbacks, or ``await`` it.

    Callbacks run on the driver's I/O thread and must not block. ``await future`` gives the :class:`ResultSet`;
    cancelling the awaiting task gives the request up.

    Example::

        future = session.execute_async(select, (1,))
        future.add_callbacks(lambda rows: print(rows), lambda error: print(error))
        rows = future.result()
    """

    # ---- waiting

    def _wait_for_result(self) -> Any:
        """The raw final result (rows of the current page, None, or a message), or the final exception raised."""
        self._settle()
        if self._final_exception is not None:
            raise self._final_exception
        return self._final_result

    def _settle(self) -> None:
        if not self._concluded and self.session._on_io_thread():
            raise DriverException(
                "a request cannot be waited for on the driver's I/O thread (in a callback): its answer would never "
                "be read; add a callback to it, or hand the work to another thread"
            )
        while not self._concluded:
            self._wait(None)
            self._on_outcome()

    def result(self) -> ResultSet:
        """Wait and return a :class:`ResultSet`, or raise what the request failed with. Ctrl-C interrupts the wait."""
        return ResultSet(self, self._wait_for_result())

    def __await__(self) -> Generator[Any, None, ResultSet]:
        result = yield from self._wait_async().__await__()
        return ResultSet(self, result)

    async def _wait_async(self) -> Any:
        """As :meth:`_wait_for_result`, without blocking the running loop."""
        if not self._concluded:
            await self._conclusion()
        if self._final_exception is not None:
            raise self._final_exception
        return self._final_result

    async def _conclusion(self) -> None:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self._concluded:
                return
            self._waiters = [waiter] if self._waiters is None else [*self._waiters, waiter]
        self._attach(aio.queue_of(loop))
        try:
            await waiter
        except asyncio.CancelledError:
            self.cancel()
            raise

    # ---- callbacks

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture:
        """Call ``fn(rows, *args, **kwargs)`` with the rows of each page (None when there are none); at once, on this
        thread, if the answer is here already, else on the I/O thread. Exceptions of *fn* are logged."""
        return self._add((fn, args, kwargs), None)

    def add_errback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> ResponseFuture:
        """As :meth:`add_callback`, with the exception when the request fails."""
        return self._add(None, (fn, args, kwargs))

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

    def _add(self, callback: Call | None, errback: Call | None) -> ResponseFuture:
        with self._lock:
            if callback is not None:
                self._callbacks = [*(self._callbacks or ()), callback]
            if errback is not None:
                self._errbacks = [*(self._errbacks or ()), errback]
            concluded = self._concluded
        self._set_eager()  # also when this page is here already: the next one must find the callbacks too
        if concluded and self._final_exception is None and callback is not None:
            self._call(callback, self._final_result)
        elif concluded and self._final_exception is not None and errback is not None:
            self._call(errback, self._final_exception)
        return self

    def clear_callbacks(self) -> None:
        """Forget all callbacks and errbacks."""
        with self._lock:
            self._callbacks = self._errbacks = None

    # ---- paging

    @property
    def has_more_pages(self) -> bool:
        """Whether the server has rows after the current page."""
        return self._paging_state is not None

    def start_fetching_next_page(self) -> None:
        """Request the next page; it arrives at :meth:`result`, ``await`` and the callbacks as the first did.

        Raises :exc:`QueryExhausted` when there is none.
        """
        if self._paging_state is None:
            raise QueryExhausted()
        self.message.paging_state = self._paging_state
        self._frame = self._final_result = self._final_exception = None
        self._paging_state = self._warnings = self._custom_payload = None
        self._retries = 0
        self._unsure = False
        self._errors = {}
        self._start_time = monotonic()
        self._picked = self._rest = None
        self._concluded = False
        self._rearm()
        try:
            self.send_request()
        except Exception as error:  # whoever waits for the page must hear of it too
            self._fail(error)

    # ---- what came with the answer

    @property
    def _col_names(self) -> list[str] | None:
        return self._columns[0] if self._plan is None else list(self._plan.names)

    @property
    def _col_types(self) -> list[Any] | None:
        return self._columns[1] if self._plan is None else [type_class(codec) for codec in self._plan.codecs]

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
        return [trace.trace_id for trace in self._traces or ()]

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
        return [self._populated(trace, max_wait_per, query_cl) for trace in self._traces or ()]

    def _populated(self, trace: QueryTrace, max_wait: float | None, query_cl: int) -> QueryTrace:
        if trace.events is None:
            trace.populate(self.session.max_trace_wait if max_wait is None else max_wait, query_cl=query_cl)
        return trace

    def __repr__(self) -> str:
        outcome = "(no result yet)" if not self._concluded else (self._final_exception or self._final_result)
        return (
            f"<ResponseFuture: query='{self.query or self.message}' request_id={self._last_stream} "
            f"result={outcome!r} exception={self._final_exception!r} coordinator_host={self.coordinator_host}>"
        )

    __str__ = __repr__

    @property
    def _last_stream(self) -> int | None:
        return next((attempt.stream for attempt in self._attempts.values()), None)
