"""ArrowStream: a result as columns, page after page (cassandra.columns).

L5. Imported when a result is first read as columns. A stream belongs to the thread or task that reads it, as its result
does; batches may be used by any thread. The stream turns the pages of its result: while one page is decoded, the next
one is in flight.

States: *reading* (there is a current page, or the next one is to be fetched), *over* (no page is left), *broken* (a
page could not be decoded, or had other columns): the error is raised again for each further batch. A page that could
not be fetched is requested again, as by the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.errors import DriverException
from cassandra._base.objects import public
from cassandra._core.codec import RowsPage, retained_page
from cassandra._core.columns import ColumnBuilder, RecordBatch, decode, stream
from cassandra._wire.arrow import ColumnTypes, column_plan, concatenated, decrypt_page, reorder_columns
from cassandra._wire.frames import Frames
from cassandra._wire.page_handlers import load_numpy, numpy_columns

if TYPE_CHECKING:
    from cassandra._core.codec import ResultPlan
    from cassandra._core.columns import ColumnPlan
    from cassandra._core.memory import MemoryPool

    from .result import ResultSet

TARGET_ROWS = 65536
MOST_BYTES = 256 << 20  # of a batch; several pages make no larger one


@public("cassandra.columns")
class SchemaChanged(DriverException):
    """A page has other columns than the pages before it, whose rows were all returned. ``paging_state`` is the
    beginning of that page: execute the statement with it to continue, with the current columns."""

    def __init__(self, message: str, paging_state: bytes | None) -> None:
        super().__init__(message)
        self.paging_state = paging_state  #: Beginning of the page with other columns.


@public("cassandra.columns")
class ArrowBatches:
    """Record batches of one schema, for consumers of ``__arrow_c_stream__``, any number of times."""

    def __init__(self, schema: ColumnPlan, batches: list[RecordBatch]) -> None:
        self.schema = schema  #: The columns; has ``__arrow_c_schema__``.
        self.batches = batches  #: The batches, a list of :class:`RecordBatch`.

    @property
    def num_rows(self) -> int:
        """Number of rows of all batches."""
        return sum(map(len, self.batches))

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[RecordBatch]:
        return iter(self.batches)

    def __repr__(self) -> str:
        return f"<ArrowBatches: {self.num_rows} rows in {len(self.batches)} batches>"

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        # No Python code that the handler of a signal could interrupt: consumers turn any exception into an OSError.
        return stream(self.schema, partial(next, iter(self.batches), None))


@public("cassandra.columns")
class ArrowStream:
    """The record batches of a result; made by :meth:`ResultSet.arrow`. Iterate it (``async for`` does not block the
    loop), or pass it to a consumer of ``__arrow_c_stream__``; it can be read once.

    Raises DriverException for a value that is invalid for its type: the error names the column and the row, no batch
    has rows of that page, and the stream ends there. Raises :exc:`SchemaChanged` if a page has other columns.

    A consumer of the C stream raises an exception of its own, with the text of the driver's; ``error`` is the driver's
    exception, or None: ``raise stream.error`` if its class matters.

    Example::

        for batch in session.execute("SELECT * FROM readings").arrow():
            consume(pyarrow.record_batch(batch))
    """

    def __init__(
        self,
        result: ResultSet,
        types: ColumnTypes,
        target_rows: int = TARGET_ROWS,
        on_schema_change: Literal["raise", "cast"] = "raise",
    ) -> None:
        if target_rows <= 0:
            raise ValueError(f"target_rows must be positive, got {target_rows}")
        if on_schema_change not in ("raise", "cast"):
            raise ValueError(f'on_schema_change must be "raise" or "cast", got {on_schema_change!r}')
        self._result = result
        self._types = types
        self._target = target_rows
        self._casts = on_schema_change == "cast"
        self._pool = _pool_of(result)
        self._page: RowsPage | None = first_page(result)
        self._result_plan: ResultPlan = self._page.plan  # the plan that the schema was made from
        self.schema = column_plan(self._result_plan, self._pool, types)  #: The columns; has ``__arrow_c_schema__``.
        self._builder: ColumnBuilder | None = None
        self._begins: bytes | None = None  # paging state of the current page
        self._broken: DriverException | None = None
        self.error: BaseException | None = None  #: The exception that a consumer of the C stream has met; else None.

    # ---- pages to batches

    def _step(self) -> RecordBatch | None:
        """Return the next batch if the current page completes one; else None, and the page is consumed."""
        if self._broken is not None:
            raise self._broken
        page, result = self._page, self._result
        if page is None:
            return None
        if result.has_more_pages:
            result._go_ahead()  # the next page is in flight while this one is decoded
        try:
            return self._take(page)
        except DriverException as error:
            self._broken = error
            before = self._finished_batch()  # rows of the pages before it
            if before is None:
                raise
            return before

    def _take(self, page: RowsPage) -> RecordBatch | None:
        page, plan = self._with_fitting_size(page)
        page = decrypt_page(page)
        last = not self._result.has_more_pages
        if not self._builder and (last or len(page) >= self._target):
            self._page = None
            return decode(plan, page)
        if self._builder is None:
            self._builder = ColumnBuilder(plan, self._target)
        if not self._builder.append(page):
            return self._finished_batch()  # the page stays the current one, for the next batch
        self._page = None
        if last or len(self._builder) >= self._target or self._builder.nbytes >= MOST_BYTES:
            return self._finished_batch()
        return None

    def _finished_batch(self) -> RecordBatch | None:
        return self._builder.finish() if self._builder else None

    def _with_fitting_size(self, page: RowsPage) -> tuple[RowsPage, ColumnPlan]:
        """Return *page* with the columns of the schema, and the plan that decodes it. Raise SchemaChanged if it has
        other columns."""
        if page.plan is self._result_plan:
            return page, self.schema
        plan = column_plan(page.plan, self._pool, self._types)
        if plan == self.schema:
            return page, plan
        why = f"they were {self._result_plan!r} and are {page.plan!r}"
        if self._casts:
            try:
                return reorder_columns(page, self._result_plan), self.schema
            except (TypeError, ValueError, OverflowError) as error:
                why = f"{error}; {why}"
        raise SchemaChanged(f"The columns of the result changed between two pages: {why}", self._begins)

    def _next_page(self) -> None:
        self._page = page_of(self._result)

    # ---- reading

    def __iter__(self) -> ArrowStream:
        return self

    def __next__(self) -> RecordBatch:
        while True:
            batch = self._step()
            if batch is not None:
                return batch
            if self._page is None:
                if not self._result.has_more_pages:
                    raise StopIteration
                self._begins = self._result.paging_state
                self._result.fetch_next_page()
                self._next_page()

    def __aiter__(self) -> ArrowStream:
        return self

    async def __anext__(self) -> RecordBatch:
        while True:
            batch = self._step()
            if batch is not None:
                return batch
            if self._page is None:
                if not self._result.has_more_pages:
                    raise StopAsyncIteration
                self._begins = self._result.paging_state
                await self._result.fetch_next_page_async()
                self._next_page()

    def read_all(self) -> ArrowBatches:
        """Return all remaining batches."""
        return ArrowBatches(self.schema, list(self))

    async def read_all_async(self) -> ArrowBatches:
        """As :meth:`read_all`, without blocking the running loop."""
        return ArrowBatches(self.schema, [batch async for batch in self])

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a C stream of the remaining batches. The thread that reads it fetches the pages."""
        return stream(self.schema, self._next_or_none)

    def _next_or_none(self) -> RecordBatch | None:
        try:
            return next(self, None)
        except BaseException as error:
            self.error = error
            raise

    def __repr__(self) -> str:
        return f"<ArrowStream of {self._result_plan!r}>"


def stream_of(result: Any, types: tuple[Any, ...], target_rows: int, on_schema_change: Any) -> ArrowStream:
    chosen = ColumnTypes._make(tuple(choice) if isinstance(choice, list) else choice for choice in types)
    return ArrowStream(result, chosen, target_rows, on_schema_change)


# ---- pages of a result


def page_of(result: ResultSet) -> RowsPage:
    """Return the current page of *result*. Raise TypeError if there is none."""
    if result._plan is None or result._kept is None:
        given = "a protocol handler has made its rows" if result.column_names else "it has no rows"
        raise TypeError(f"the result cannot be read as columns: {given}")
    return retained_page(result._plan, result._kept)


def first_page(result: ResultSet) -> RowsPage:
    """Return the first page of *result*. Raise RuntimeError if the result has turned to a later one."""
    if result._turned:
        raise RuntimeError(
            "the result cannot be read as columns any more: its first page is gone, as rows or columns of later pages "
            "were read; execute the statement again"
        )
    return page_of(result)


def _pool_of(result: ResultSet) -> MemoryPool:
    pool: MemoryPool = result.response_future.session.cluster.memory_pool
    return pool


# ---- conversion by libraries


def to_arrow(batches: ArrowStream | ArrowBatches) -> Any:
    return load_library("pyarrow", "arrow").table(_read(batches))


def _read(batches: ArrowStream | ArrowBatches) -> ArrowBatches:
    """Return all batches, read here: so errors of pages are raised unchanged; a library that read the stream would
    raise its own."""
    return batches.read_all() if isinstance(batches, ArrowStream) else batches


def to_pandas(batches: ArrowStream | ArrowBatches, as_text: Collection[str] = ()) -> Any:
    """Return a ``pandas.DataFrame``; *as_text*: see ``Frames``, here and for Polars."""
    load_library("pandas", "pandas")
    return Frames(as_text).to_pandas(to_arrow(batches))


def to_polars(batches: ArrowStream | ArrowBatches, as_text: Collection[str] = ()) -> Any:
    polars = load_library("polars", "polars")
    table = load_library("pyarrow", "polars").table(_read(batches))
    frames = Frames(as_text)
    if not frames.needs_conversion(table.schema):
        return polars.DataFrame(table)
    table, objects = frames.for_polars(table)
    frame = polars.DataFrame(table)
    return frame.with_columns(polars.Series(name, values, dtype=polars.Object) for name, values in objects.items())


def to_duckdb(batches: ArrowStream | ArrowBatches, connection: Any = None, as_text: Collection[str] = ()) -> Any:
    """Return a ``duckdb.DuckDBPyRelation`` over the Arrow table of all rows; *connection*: None for the default one."""
    duckdb = load_library("duckdb", "duckdb")
    table = load_library("pyarrow", "duckdb").table(_read(batches))
    return (duckdb if connection is None else connection).from_arrow(Frames(as_text).for_duckdb(table))


def load_library(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install fastcql[{extra}]") from error


def to_numpy(result: Any) -> dict[str, Any]:
    numpy = load_numpy()
    pages = [numpy_columns(first_page(result))]
    while result.has_more_pages:
        result.fetch_next_page()
        pages.append(numpy_columns(page_of(result)))
    return concatenated(numpy, pages)


async def to_numpy_async(result: Any) -> dict[str, Any]:
    numpy = load_numpy()
    pages = [numpy_columns(first_page(result))]
    while result.has_more_pages:
        await result.fetch_next_page_async()
        pages.append(numpy_columns(page_of(result)))
    return concatenated(numpy, pages)
