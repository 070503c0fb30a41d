"""ResultSet: the rows of a request, page after page, as rows or as columns (cassandra.cluster).

L5. Several threads or tasks may iterate over a result: each row goes to at least one of them. Pages are turned in one
native section, and only by a thread that has come to the end of the current one; all others go on with the page that
they find then. Other methods that turn pages (``all``, ``==``, columns) are for one thread at a time. Not slotted:
applications subclass it. Columns are made by ``columns.py``, which is imported on first use.

A result with a next page is *idle*, or it has *requested* that page (``_fetching`` is its number), ahead (``_ahead`` is
the time of the request) or on demand. Only iteration requests it ahead, once it has begun with the page before. The
result becomes idle again when it turns to the page, or when the page has failed and a caller has got the error. So
there is at most one page ahead. Until then the page is an outcome of the future: bytes. Dropping a result cancels
nothing: the requested page arrives, and is freed with the future.

``Outcome`` and ``PageInfo`` are the types that native and Python code exchange for a page and the retained parts of its
response.

Classes that have rows take the type of a row as a parameter, for type checkers: ``ResultSet[Product]``. The parameter
has a default, so that ``ResultSet`` alone means any rows, as in programs that do not use the parameter.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from time import monotonic
from types import GenericAlias, MethodType
from typing import TYPE_CHECKING, Any, Generic, Literal

from cassandra._base.display import rich_display
from cassandra._base.errors import DriverException, OperationTimedOut, UnsupportedOperation
from cassandra._base.logs import get_logger
from cassandra._base.objects import not_copied, public
from cassandra._base.server_errors import ErrorMessage
from cassandra._core.codec import LazyRows, ResultPlan
from cassandra._core.transport import Answer, RowsOfPages
from cassandra._session.display import table_of, text_of
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.statement import SimpleStatement
from cassandra._wire.messages.responses import ResultMessage
from cassandra._wire.rows import column_types, dict_factory, named_tuple_factory, tuple_factory

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow
    from typing_extensions import TypeVar

    from cassandra._core.transport import InFlightRequest

    from .columns import ArrowStream
    from .future import ResponseFuture
    from .trace import QueryTrace
else:
    from typing import TypeVar

log = get_logger("cassandra.cluster")

if TYPE_CHECKING:
    Row = TypeVar("Row", default=Any)

    class OfRows(Generic[Row]):
        """Base of classes that have rows."""

else:
    Row = TypeVar("Row")

    class OfRows:
        """Base of classes that have rows. ``Generic`` would be visible among the bases of public classes."""

        __slots__ = ()

        def __class_getitem__(cls, row: Any) -> Any:
            return cls if row is Row else GenericAlias(cls, row)


#: ``factory(column_names, rows)``, or None for tuples.
RowFactory = Callable[[list[str], list[Any]], Sequence[Row]] | None


# ---- outcome of a page


class Extras:
    """The parts of a response that plain rows do not have."""

    __slots__ = ("column_names", "column_types", "custom_payload", "warnings")

    def __init__(
        self,
        warnings: list[str] | None,
        custom_payload: Mapping[str, bytes | None] | None,
        column_names: list[str] | None = None,
        column_types: list[Any] | None = None,
    ) -> None:
        self.warnings = warnings
        self.custom_payload = custom_payload
        self.column_names = column_names  # of rows that a custom protocol handler decoded
        self.column_types = column_types


#: The retained parts of a response: the plan that decoded its rows, the paging state of the next page, the rest, and
#: the page itself for ``retained_page``, as it may be read as columns. Not the message.
PageInfo = tuple[ResultPlan | None, bytes | None, Extras | None, Any]
#: Outcome of a page: its rows (or LazyRows, None, or a PREPARED message), the exception, the retained parts of the
#: response, the number of the page.
Outcome = tuple[Any, BaseException | None, PageInfo, int]

NOTHING: PageInfo = (None, None, None, None)


def has_extras(answer: Any) -> bool:
    """True if *answer* has warnings, a custom payload or a trace id."""
    return answer.warnings is not None or answer.custom_payload is not None or answer.trace_id is not None


def extras_of(answer: Any) -> PageInfo:
    """Return the retained parts of a response without rows; ``NOTHING`` for an error that is not a response."""
    if not isinstance(answer, (ResultMessage, ErrorMessage)):
        return NOTHING
    warnings, payload = answer.warnings, answer.custom_payload
    return NOTHING if warnings is None and payload is None else (None, None, Extras(warnings, payload), None)


# ---- the result


@public("cassandra.cluster")
@rich_display(table_of, text_of)
class ResultSet(Answer, OfRows[Row]):
    """Rows of the current page, and methods that fetch the next ones.

    Iterating yields the rows of all pages; ``async for`` does the same without blocking the loop. The next page is
    requested while the current one is consumed, unless ``prefetch`` is 0: then on demand. Empty pages in the middle are
    skipped. A loop begins with the current page; once ``next(result)`` was called it continues with the following row.
    Indexing and ``==`` read every page into memory first. If a page cannot be fetched, the error is raised, and the
    next call that needs the page requests it again: iteration never ends before all rows were returned.

    Example::

        for row in session.execute("SELECT * FROM users"):
            print(row.name)
    """

    response_future: ResponseFuture[Row]
    _plan: ResultPlan | None
    _extras: Extras | None

    #: Matches the text of a batch of CQL.
    batch_regex = re.compile(r"^\s*BEGIN\s+[a-zA-Z]*\s*BATCH", re.IGNORECASE | re.ASCII)

    _list_mode: bool = False
    _stepped: bool = False  # next() took rows: loops continue after them
    _given_names: list[str] | None = None  # column names set by the program

    def __init__(self, response_future: ResponseFuture[Row], initial_response: Any) -> None:
        self.response_future = response_future
        self._set_current_rows(initial_response)

    def _future_of(self, request: InFlightRequest) -> ResponseFuture[Row]:
        """Return a future for a result that was made without one."""
        from .concurrent import future_of  # which makes results, and imports this module

        cache = request.plan.cache
        future = future_of(request) if cache is None else cache.future_of(request)
        future._outcome = (self._undecoded_rows, None, (self._plan, self._paging_state, self._extras, self._kept), 0)
        future._finish()
        return future

    def _set_page_info(self, page_info: PageInfo) -> None:
        """Keep the data of the current page here: the future may be at a later page."""
        self._plan, self._paging_state, self._extras, self._kept = page_info

    def _set_current_rows(self, result: Any) -> None:
        """Turn to the page that the future has now: for subclasses with their own paging."""
        outcome = self.response_future._outcome
        self._set_page_info(NOTHING if outcome is None else outcome[2])
        self._turn_to_rows(result)

    def _turn_to_rows(self, result: Any) -> None:
        self._current_rows = _as_rows(result)

    __reduce__ = not_copied("it fetches later pages by its session; list(result) can be")

    # ---- names and types of columns

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns; None for a result without rows."""
        if self._given_names is not None:
            return self._given_names
        extras, plan = self._extras, self._plan  # read once: another thread may turn the page
        if extras is not None and extras.column_names is not None:
            return extras.column_names
        return None if plan is None else list(plan.names)

    @column_names.setter
    def column_names(self, names: list[str] | None) -> None:
        self._given_names = names

    @property
    def column_types(self) -> list[Any] | None:
        """Types (classes of ``cassandra.cqltypes``) of the columns; None for a result without rows."""
        extras, plan = self._extras, self._plan
        if extras is not None and extras.column_types is not None:
            return extras.column_types
        return None if plan is None else column_types(plan)

    # ---- pages

    @property
    def has_more_pages(self) -> bool:
        """True if there are rows after the current page."""
        return self._paging_state is not None

    @property
    def paging_state(self) -> bytes | None:
        """Opaque position after the current page; pass it to ``execute(paging_state=…)`` to continue from there, also
        when fetching the next page failed."""
        return self._paging_state

    @property
    def current_rows(self) -> Any:
        """The rows of the current page only, or the object that a user's row factory made of them."""
        rows = self._current_rows
        if rows is None or (isinstance(rows, (list, tuple)) and not rows):
            return []
        return rows  # whose truth may be ambiguous, as that of a data frame

    def fetch_next_page(self) -> None:
        """Replace the current page by the next one, waiting for it; after the last one the page is empty.

        If it cannot be fetched, the current page stays, and the next call requests the page again.
        """
        self._fetch_next(None)

    def _fetch_next(self, page: Any) -> None:
        """Turn to the page after that of the iterator *page*, or, if that is None, after the current one. Another
        thread may do so meanwhile."""
        if self._paging_state is None:
            if page is None:
                self._no_page()
            return
        again, number = self._ran_out(), None
        try:
            number = self._ask_ahead()
            if number is None:
                return
            outcome = self.response_future._wait_for_page(number)
        except BaseException as error:
            if self._is_turned(number, error):
                return
            self._on_fetch_failed(number)
            if not again or not isinstance(error, OperationTimedOut):
                raise
            return self._fetch_next(page)
        self._set_page(outcome, number, page)

    async def fetch_next_page_async(self) -> None:
        """As :meth:`fetch_next_page`, without blocking the running loop.

        .. versionadded:: 4.0
        """
        await self._fetch_next_async(None)

    async def _fetch_next_async(self, page: Any) -> None:
        if self._paging_state is None:
            if page is None:
                self._no_page()
            return
        again, number = self._ran_out(), None
        try:
            number = self._ask_ahead()
            if number is None:
                return
            outcome = await self.response_future._wait_for_page_async(number)
        except BaseException as error:
            if self._is_turned(number, error):
                return
            self._on_fetch_failed(number)
            if not again or not isinstance(error, OperationTimedOut):
                raise
            return await self._fetch_next_async(page)
        self._set_page(outcome, number, page)

    def _no_page(self) -> None:
        """Turn to the empty page after the last one."""
        self._current_rows = []
        if self._page_iter is not None:
            self._page_iter = iter(())

    def _ask_ahead(self) -> int | None:
        """Request the next page, unless that was done already, and return its number; None if another thread has turned
        to it meanwhile. The request has this result's own paging state: other results may have the same future."""
        number = self._fetching
        if number is None and (paging_state := self._paging_state) is not None:
            number = self.response_future._ask_for(paging_state, self)
            if not self.response_future._asks_itself:
                self._fetching = number
        return number

    def _go_ahead(self) -> None:
        """Request the next page while the current one is consumed, if the future prefetches. An error is not raised
        here: the page is requested again when it is needed."""
        if self._fetching is not None or self._paging_state is None:
            return
        future = self.response_future
        if not future._prefetch or future._outcome is None or not future._asks_itself:
            return
        self._ahead = monotonic()
        try:
            self._ask_ahead()
        except DriverException:  # another consumer has begun a page
            self._ahead = None

    def _ran_out(self) -> bool:
        """True if the timeout of a page that was requested ahead had elapsed before a caller waited for it. If the page
        has timed out then, it is requested once more: the caller gets the whole timeout of a request."""
        ahead = self._ahead
        if self._fetching is None or ahead is None:
            return False
        timeout = self.response_future.timeout
        return timeout is not None and monotonic() - ahead >= timeout

    def _is_turned(self, number: int | None, error: BaseException) -> bool:
        """True if *error* means that another thread took page *number*, turned to it and requested the next one."""
        if number is None or not isinstance(error, DriverException):
            return False
        return self._fetching is not number and self.response_future._page != number

    def _on_fetch_failed(self, number: int | None) -> None:
        """Process an exception of a wait for page *number*: the next call requests a page that failed again, and
        resumes an interrupted wait."""
        if number is not None and self.response_future._is_over(number):
            self._not_requested(number)

    def _set_page(self, outcome: Outcome, number: int, page: Any) -> None:
        """Turn to the page of *outcome* in one step: an interruption comes before it, and the page can be taken again,
        or after it."""
        rows, page_iter = _as_rows(outcome[0]), self._page_iter
        if page_iter is not None:
            if isinstance(rows, LazyRows):
                rows = rows.rows()
            page_iter = iter(rows or ())
        self._turn(number, page, rows, outcome[2], page_iter)

    def _pass_over_empty_pages(self) -> None:
        while self._paging_state is not None and not self._current_rows:
            self.fetch_next_page()

    def all(self) -> list[Row]:
        """Return all rows of all remaining pages as one list. If a page cannot be fetched, the rows before it are kept:
        the next call continues from there."""
        if self._page_iter is not None or self._list_mode or self._iterates_its_own_way():
            return list(self)
        rows = self._gather()
        self._current_rows = []
        self._page_iter = iter(())
        return rows

    def _gather(self) -> list[Any]:
        """Join the current page with all that follow, as the current page; return its rows."""
        pages = [self._current_rows or ()]
        try:
            while self._paging_state is not None:
                self.fetch_next_page()
                self._go_ahead()
                pages.append(self._current_rows or ())
        finally:
            rows = self._join_pages(pages)
        return rows

    def _join_pages(self, pages: list[Any]) -> list[Any]:
        """Join the pages read so far, as the current page: *pages*, and the one that an interruption left out."""
        current = self._current_rows or ()
        if current is not pages[-1]:
            pages.append(current)
        rows = list(chain.from_iterable(pages))
        self._current_rows = rows
        return rows

    async def all_async(self) -> list[Row]:
        """As :meth:`all`, without blocking the running loop.

        .. versionadded:: 4.0
        """
        if self._page_iter is not None or self._list_mode:
            return [row async for row in self]
        pages = [self._current_rows or ()]
        try:
            while self._paging_state is not None:
                await self.fetch_next_page_async()
                self._go_ahead()
                pages.append(self._current_rows or ())
        finally:
            rows = self._join_pages(pages)
        self._current_rows = []
        self._page_iter = iter(())
        return rows

    def one(self) -> Row | Any:  # not ``Row | None``, which every program would have to check
        """Return the first row of the current page, or None. Use it for queries that return at most one row.

        Empty pages with more pages after them (sent by a server that filters) are skipped.
        """
        rows = self._current_rows
        if not rows:
            self._pass_over_empty_pages()
            rows = self._current_rows
            if not rows:
                return None
        try:
            return rows[0]
        except (TypeError, KeyError):  # not a sequence: a user's row factory decides
            return next(iter(rows), None)

    # ---- iteration

    def __iter__(self) -> Iterator[Row]:
        if not self._stepped:
            if self._list_mode:
                return iter(self._current_rows)
            self._begin_page()
        if self._iterates_its_own_way():
            return self
        return RowsOfPages(self)

    def _iterates_its_own_way(self) -> bool:
        cls = type(self)
        return cls.__next__ is not _NEXT or cls.next is not ResultSet.next

    def next(self) -> Row:
        """Return the next row; raise StopIteration after the last row of the last page."""
        if not self._stepped:
            self._step()
        while True:
            page = self._page_iter
            for row in page or ():
                if self._fetching is None and self._paging_state is not None:
                    self._go_ahead()
                return row  # type: ignore[no-any-return]
            if not self._turn_page(page):
                raise StopIteration

    __next__ = next

    def _step(self) -> None:
        """Process the first call of next(). If ``iter()`` returns the result itself, a loop may have made the call:
        only a call without a loop before it counts."""
        if self._page_iter is None:
            self._begin_page()
            self._stepped = True
        elif not self._iterates_its_own_way():
            self._stepped = True

    def _end(self, page: Any) -> None:
        """Process the end of the rows, of the iterator *page*. In list mode they can be iterated again."""
        if self._list_mode:
            self._stepped = False
        else:
            self._end_page(page)

    def _turn_page(self, page: Any) -> bool:
        """Turn to the page after that of the iterator *page*, unless another thread has done so. Return False after the
        last one."""
        if self._paging_state is None:
            if self._page_iter is not page:
                return True
            self._end(page)
            return False
        if _is_method(self.fetch_next_page, _FETCH_NEXT):
            self._fetch_next(page)
        else:
            self.fetch_next_page()
        return True

    def __aiter__(self) -> ResultSet[Row]:
        if not self._stepped:
            self._begin_page()
        return self

    async def __anext__(self) -> Row:
        if self._page_iter is None:  # no loop's call
            self._step()
        while True:
            if self._fetching is None and self._paging_state is not None:
                self._go_ahead()
            page = self._page_iter
            for row in page or ():
                return row  # type: ignore[no-any-return]
            if self._paging_state is None:
                if self._page_iter is page:
                    self._end(page)
                    raise StopAsyncIteration
            elif _is_method(self.fetch_next_page_async, _FETCH_NEXT_ASYNC):
                await self._fetch_next_async(page)
            else:
                await self.fetch_next_page_async()

    # ---- as a list

    def _enter_list_mode(self, operator: str) -> None:
        if self._list_mode:
            return
        if self._page_iter is not None:
            raise RuntimeError(f"Cannot use {operator} when results have been iterated.")
        if self.has_more_pages:
            log.warning("Using %s on paged results causes entire result set to be materialized.", operator)
        if self._iterates_its_own_way():
            self._current_rows = list(self)
            self._page_iter = None
        elif self._paging_state is not None or not isinstance(self._current_rows, list):
            self._gather()
        self._list_mode = True

    def __getitem__(self, index: Any) -> Any:
        self._enter_list_mode("index operator")
        rows = self._current_rows
        if isinstance(index, str) and isinstance(rows, list):
            raise TypeError(
                f"a result has rows, not columns, so its index is a number, not {index!r}: result[0] is the first row, "
                f"result.to_pandas()[{index!r}] a column"
            )
        return rows[index]

    def __eq__(self, other: object) -> bool:
        self._enter_list_mode("equality operator")
        return bool(self._current_rows == other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        """True if there are rows; empty pages with more pages after them are skipped, as in :meth:`one`.

        Also true for a conditional write that was not applied, which returns a row: see :attr:`was_applied`. The first
        such test is warned of."""
        self._pass_over_empty_pages()
        rows = self._current_rows
        plan = self._plan
        if plan is not None and plan.names[:1] == ("[applied]",):
            _warn_of_condition(rows)
        return bool(rows)

    __nonzero__ = __bool__

    # ---- as columns

    def arrow(
        self,
        target_rows: int = 65536,
        *,
        strings: Literal["utf8", "view", "dictionary"] = "utf8",
        decimals: Literal["utf8"] | tuple[int, int] = "utf8",
        varints: Literal["utf8", "int64"] | int = "utf8",
        uuids: Literal["arrow.uuid", "binary"] = "arrow.uuid",
        on_schema_change: Literal["raise", "cast"] = "raise",
    ) -> ArrowStream:
        """Return the result as Arrow record batches of *target_rows* rows, or more if pages are larger. The other
        options select the Arrow types of text, decimal, varint and uuid; a number out of range is an error.

        A result is read either as rows or as columns. Its first page can be read as both, until the result turns to
        another page. Raises RuntimeError after that, TypeError for a result without rows.

        .. versionadded:: 4.0
        """
        from .columns import stream_of

        return stream_of(self, (strings, decimals, varints, uuids), target_rows, on_schema_change)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        return self.arrow().__arrow_c_schema__()

    def to_arrow(self, **options: Any) -> pyarrow.Table:
        """Return a ``pyarrow.Table``; *options*, here and in the following methods, are those of :meth:`arrow`. A page
        that fails raises the same error as for rows."""
        from .columns import to_arrow

        return to_arrow(self.arrow(**options))

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Return a ``pandas.DataFrame``. Without an option, decimals are ``Decimal`` objects, varints int64 or, if one
        is out of range, ``int`` objects; :doc:`/columns` has all types."""
        from .columns import to_pandas

        return to_pandas(self.arrow(**options), _text_numbers(options))

    def to_polars(self, **options: Any) -> polars.DataFrame:
        """Return a ``polars.DataFrame``. Without an option, decimals are ``Decimal(38, scale)`` and varints ``Int64``;
        a column with a number out of range has Python objects."""
        from .columns import to_polars

        return to_polars(self.arrow(**options), _text_numbers(options))  # type: ignore[no-any-return]

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None, **options: Any) -> duckdb.DuckDBPyRelation:
        """Return a DuckDB relation over all rows, which it keeps in memory as an Arrow table; of *connection*, or of
        DuckDB's default one. Without an option, decimals are ``DECIMAL(38, scale)``, varints ``BIGINT`` or
        ``DECIMAL(38, 0)``; a column with a number out of range is text. Example::

            products = session.execute("SELECT * FROM products").to_duckdb()
            print(duckdb.sql("SELECT avg(price) FROM products"))

        .. versionadded:: 4.0
        """
        from .columns import to_duckdb

        return to_duckdb(self.arrow(**options), connection, _text_numbers(options))  # type: ignore[no-any-return]

    def to_numpy(self) -> dict[str, Any]:
        """Return arrays by column name, as :class:`~cassandra.protocol.NumpyProtocolHandler` does, of all pages."""
        from .columns import to_numpy

        return to_numpy(self)

    async def to_arrow_async(self, **options: Any) -> pyarrow.Table:
        """As :meth:`to_arrow`, without blocking the running loop; likewise the following methods."""
        from .columns import to_arrow

        return to_arrow(await self.arrow(**options).read_all_async())

    async def to_pandas_async(self, **options: Any) -> pandas.DataFrame:
        """Do as :meth:`to_pandas`, without blocking the running loop."""
        from .columns import to_pandas

        return to_pandas(await self.arrow(**options).read_all_async(), _text_numbers(options))

    async def to_polars_async(self, **options: Any) -> polars.DataFrame:
        """Do as :meth:`to_polars`, without blocking the running loop."""
        from .columns import to_polars

        read = await self.arrow(**options).read_all_async()
        return to_polars(read, _text_numbers(options))  # type: ignore[no-any-return]

    async def to_duckdb_async(
        self, connection: duckdb.DuckDBPyConnection | None = None, **options: Any
    ) -> duckdb.DuckDBPyRelation:
        """Do as :meth:`to_duckdb`, without blocking the running loop.

        .. versionadded:: 4.0
        """
        from .columns import to_duckdb

        read = await self.arrow(**options).read_all_async()
        return to_duckdb(read, connection, _text_numbers(options))  # type: ignore[no-any-return]

    async def to_numpy_async(self) -> dict[str, Any]:
        """Do as :meth:`to_numpy`, without blocking the running loop."""
        from .columns import to_numpy_async

        return await to_numpy_async(self)

    # ---- lightweight transactions, traces

    @property
    def was_applied(self) -> bool:
        """True if a lightweight transaction was applied.

        Raises RuntimeError if that cannot be determined: with a row factory other than the driver's, for a batch
        without conditions, and for a result without exactly one row.
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
        """Raise UnsupportedOperation: continuous paging is a feature of DSE servers only."""
        raise UnsupportedOperation("Continuous paging needs a DSE server, which this driver does not support.")


def _warn_of_condition(rows: Any) -> None:
    """Warn, once, of a test of a conditional write that was not applied: its result is true all the same."""
    global _warned
    if _warned or not rows or not isinstance(rows, Sequence):
        return
    row = rows[0]
    applied = row.get("[applied]", True) if isinstance(row, dict) else row[0] if isinstance(row, tuple) else True
    if applied is False:
        _warned = True
        warnings.warn(
            "The result of a conditional write that was not applied is true, as it has a row: use result.was_applied",
            UserWarning,
            stacklevel=3,
        )


_warned = False
_NEXT: Any = ResultSet.__dict__["__next__"]
_FETCH_NEXT: Any = ResultSet.__dict__["fetch_next_page"]
_FETCH_NEXT_ASYNC: Any = ResultSet.__dict__["fetch_next_page_async"]


def _is_method(bound: Any, function: Any) -> bool:
    """True if *bound* is *function* of an object, and nothing that replaces it."""
    return type(bound) is MethodType and bound.__func__ is function


def _as_rows(result: Any) -> Any:
    """Return ``current_rows`` for the raw result of a request."""
    if isinstance(result, (list, LazyRows)):
        return result
    if not isinstance(result, Mapping):
        try:
            iter(result)
        except TypeError:
            pass
        else:
            return result  # made by a user's row factory
    return [result] if result else []


def _text_numbers(options: dict[str, Any]) -> list[str]:
    """Return the options that select numbers as text."""
    return [name for name in ("decimals", "varints") if options.get(name) == "utf8"]
