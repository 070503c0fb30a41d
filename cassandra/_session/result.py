"""ResultSet: the rows of a request, page after page (cassandra.cluster).

L5. A ResultSet belongs to the thread or task that iterates it. Not slotted: applications subclass it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import UnsupportedOperation
from cassandra._base.public import public
from cassandra._wire.rows import dict_factory, named_tuple_factory, tuple_factory

from .batch import BatchStatement
from .statements import SimpleStatement

if TYPE_CHECKING:
    from .future import ResponseFuture
    from .trace import QueryTrace

log = logging.getLogger("cassandra.cluster")


@public("cassandra.cluster")
class ResultSet:
    """Rows of the current page, and the way to the next ones.

    Iterating yields the rows of all pages, fetching the next page when it is needed; ``async for`` does the same
    without blocking the loop, one page ahead. Empty pages in the middle are passed over. Indexing and ``==`` read every
    page into memory first.

    Example::

        for row in session.execute("SELECT * FROM users"):
            print(row.name)
    """

    batch_regex = re.compile(r"^\s*BEGIN\s+[a-zA-Z]*\s*BATCH", re.IGNORECASE)

    response_future: ResponseFuture

    _page_iter: Iterator[Any] | None = None
    _list_mode: bool = False
    _prefetching: bool = False

    def __init__(self, response_future: ResponseFuture, initial_response: Any) -> None:
        self.response_future = response_future
        self._set_current_rows(initial_response)

    def _set_current_rows(self, result: Any) -> None:
        self._paging_state = self.response_future._paging_state
        if isinstance(result, list):
            self._current_rows: Any = result
        elif isinstance(result, Mapping):
            self._current_rows = [result] if result else []
        else:
            try:
                iter(result)
            except TypeError:
                self._current_rows = [result] if result else []
            else:
                self._current_rows = result  # what a user's row factory made

    # ---- columns

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns; None for a result without rows."""
        return self.response_future._col_names

    @property
    def column_types(self) -> list[Any] | None:
        """Types (classes of ``cassandra.cqltypes``) of the columns; None for a result without rows."""
        return self.response_future._col_types

    # ---- pages

    @property
    def has_more_pages(self) -> bool:
        """Whether there are rows after the current page."""
        return self._paging_state is not None

    @property
    def paging_state(self) -> bytes | None:
        """Opaque position after the current page; give it to ``execute(paging_state=…)`` to go on from there."""
        return self._paging_state

    @property
    def current_rows(self) -> Any:
        """The rows of the current page only."""
        return self._current_rows or []

    def fetch_next_page(self) -> None:
        """Replace the current page by the next one, waiting for it; after the last one the page is empty."""
        future = self.response_future
        if self._paging_state is None:
            self._current_rows = []
            return
        if not self._prefetching:
            future.start_fetching_next_page()
        self._prefetching = False
        self._set_current_rows(future._wait_for_result())

    def all(self) -> list[Any]:
        """All rows of all remaining pages as one list."""
        return list(self)

    def one(self) -> Any:
        """The first row of the current page, or None. Use it for queries that give one row at most."""
        rows = self._current_rows
        if not rows:
            return None
        try:
            return rows[0]
        except (TypeError, KeyError):  # not a sequence: a user's row factory decides
            return next(iter(rows), None)

    # ---- iteration

    def __iter__(self) -> Iterator[Any]:
        if self._list_mode:
            return iter(self._current_rows)
        self._page_iter = iter(self._current_rows or ())
        return self

    def next(self) -> Any:
        """The next row; StopIteration after the last row of the last page."""
        if self._page_iter is None:
            self._page_iter = iter(self._current_rows or ())
        while True:
            for row in self._page_iter:
                return row
            if self._paging_state is None:
                if not self._list_mode:
                    self._current_rows = []
                raise StopIteration
            self.fetch_next_page()
            self._page_iter = iter(self._current_rows or ())

    __next__ = next

    def __aiter__(self) -> ResultSet:
        self._page_iter = iter(self._current_rows or ())
        return self

    async def __anext__(self) -> Any:
        if self._page_iter is None:
            self.__aiter__()
        while True:
            if self._paging_state is not None and not self._prefetching:
                self._prefetching = True  # the next page travels while this one is consumed
                self.response_future.start_fetching_next_page()
            for row in self._page_iter or ():
                return row
            if not self._prefetching:
                self._current_rows = []
                raise StopAsyncIteration
            result = await self.response_future._wait_async()
            self._prefetching = False
            self._set_current_rows(result)
            self._page_iter = iter(self._current_rows or ())

    # ---- as a list

    def _enter_list_mode(self, operator: str) -> None:
        if self._list_mode:
            return
        if self._page_iter is not None:
            raise RuntimeError(f"Cannot use {operator} when results have been iterated.")
        if self._paging_state is not None:
            log.warning("Using %s on paged results causes entire result set to be materialized.", operator)
        self._current_rows = list(self)
        self._page_iter = None
        self._list_mode = True

    def __getitem__(self, index: Any) -> Any:
        if index == 0 and not self._list_mode and self._page_iter is None and self._paging_state is None:
            return self._current_rows[0]
        self._enter_list_mode("index operator")
        return self._current_rows[index]

    def __eq__(self, other: object) -> bool:
        self._enter_list_mode("equality operator")
        return bool(self._current_rows == other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._current_rows)

    __nonzero__ = __bool__

    # ---- lightweight transactions, traces

    @property
    def was_applied(self) -> bool:
        """Whether a lightweight transaction was applied.

        RuntimeError when that cannot be told: another row factory than the driver's, a batch without conditions, or a
        result that is not of one row.
        """
        future = self.response_future
        if future.row_factory not in (named_tuple_factory, dict_factory, tuple_factory):
            raise RuntimeError(f"Cannot determine LWT result with row factory {future.row_factory}")
        query = future.query
        is_batch = isinstance(query, BatchStatement) or (
            isinstance(query, SimpleStatement) and self.batch_regex.match(query.query_string) is not None
        )
        if is_batch and (not self.column_names or self.column_names[0] != "[applied]"):
            raise RuntimeError("No LWT were present in the BatchStatement")
        if not is_batch and len(self.current_rows) != 1:
            raise RuntimeError(f"LWT result should have exactly one row. This has {len(self.current_rows)}.")
        row = self.current_rows[0]
        return bool(row["[applied]"] if isinstance(row, dict) else row[0])

    def get_query_trace(self, max_wait_sec: float | None = None) -> QueryTrace | None:
        """See :meth:`ResponseFuture.get_query_trace`."""
        return self.response_future.get_query_trace(max_wait_sec)

    def get_all_query_traces(self, max_wait_sec_per: float | None = None) -> list[QueryTrace]:
        """See :meth:`ResponseFuture.get_all_query_traces`."""
        return self.response_future.get_all_query_traces(max_wait_sec_per)

    def cancel_continuous_paging(self) -> None:
        """Continuous paging is a feature of DSE servers only: UnsupportedOperation."""
        raise UnsupportedOperation("Continuous paging needs a DSE server, which this driver does not support.")
