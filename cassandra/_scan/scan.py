"""Scan: a table to read, and the methods that return, fold and export its rows (cassandra.scan).

L6. A scan belongs to its creator. Nothing is sent before rows are requested; each iteration or conversion uses the ring
and the tablets of that time. An iteration is a :class:`Delivery`, for ``for`` or ``async for``; those of ordered scans
(``ordered.py``) have the same base classes. Folds are implemented in ``fold.py``, tasks for other processes in
``tasks.py``.
"""

from __future__ import annotations

import contextlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol

from cassandra._base.display import rich_display
from cassandra._base.errors import DriverException
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._core.columns import ColumnPlan, RecordBatch, stream
from cassandra._routing.tokens import MIN_LONG, covers, tablet_ranges
from cassandra._session.request.columns import (
    ArrowBatches,
    SchemaChanged,
    load_library,
    to_arrow,
    to_duckdb,
    to_pandas,
    to_polars,
)
from cassandra._wire.arrow import column_plan

from .checkpoint import Checkpoint, CheckpointError, ProgressRecorder, description
from .expressions import predicate_of
from .fold import FoldOptions, explain, fold, fold_async, remaining_parts
from .pages import PageSize, PageTemplate
from .plan import scan_table, scan_text
from .reading import BATCH, DONE, RESTARTED, Reading, ScanError, ScanEvent
from .reducers import Folded, FunctionReducer, MapReducer
from .tasks import Importable, ScanTask, TaskOptions, fold_by, tasks_of, to_dask, to_ray

if TYPE_CHECKING:
    from types import TracebackType

    import duckdb
    import pandas
    import polars
    import pyarrow
    from typing_extensions import Self

    from cassandra._routing.tokens import TokenRange
    from cassandra._session.statements.prepared import PreparedStatement

    from .plan import Explanation, Options, ScanPlan


log = get_logger("cassandra.cluster")

Order = Literal["token"] | None

TO_ITERATE = (
    "a Scan cannot be iterated itself: use scan.rows() for rows, or scan.batches() for Arrow record batches, with for "
    "or async for; to_pandas(), to_polars(), to_duckdb() and to_arrow() return all rows"
)


class Resumable(Protocol):
    """An object with checkpoints."""

    def checkpoint(self) -> Checkpoint: ...


@public("cassandra.scan")
@rich_display(scan_table, scan_text)
class Scan:
    """A table, or a part of it, to be read over all shards concurrently; made by :meth:`Session.scan`.

    Each iteration or conversion reads it from the beginning, for one thread or task at a time; several scans may run
    concurrently. Example::

        for batch in session.scan("shop.orders", columns=["id", "total"]).batches():
            consume(pyarrow.record_batch(batch))

    .. versionadded:: 4.0
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._session = options.session
        self._statements: dict[str, PreparedStatement] = {}
        self._failed: list[tuple[TokenRange, Exception]] = []
        self._last: Resumable | None = None  # the last reading or fold

    @property
    def failed_ranges(self) -> list[tuple[TokenRange, Exception]]:
        """The abandoned parts of the last read (``on_error="skip"``), and their errors."""
        return list(self._failed)

    # ---- rows, and conversions of all of them

    def batches(self, order: Order = None) -> Batches:
        """Return the record batches, of *target_rows* rows, or fewer at the end of a range: for ``for`` and ``async
        for``.

        *order*: "token" returns them in the order of tokens; otherwise in order of arrival, those of one range in
        order. Close it, or use it as a context manager, to end it early. Raises :exc:`ScanError`; and
        :exc:`~cassandra.columns.SchemaChanged` if the columns change during the read.
        """
        if order not in (None, "token"):
            raise ValueError(f'order must be "token" or None, got {order!r}')
        return Batches(self, order == "token")

    def rows(self, order: Order = None) -> Rows:
        """Return the rows, one by one, made by the session's row factory: for ``for`` and ``async for``. Each is a
        Python object: for millions of rows, :meth:`batches` takes a tenth of the time."""
        if order not in (None, "token"):
            raise ValueError(f'order must be "token" or None, got {order!r}')
        return Rows(self, order == "token")

    def __iter__(self) -> NoReturn:
        """Raise TypeError: rows or batches have to be chosen."""
        raise TypeError(TO_ITERATE)

    __aiter__ = __iter__

    def __arrow_c_schema__(self) -> Any:
        return self._schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export all batches. Pages are fetched by the thread that reads them."""
        reading = self._reading()
        batches = Batches(self, False, reading)
        return stream(_require_schema(reading.plan.schema), lambda: next(batches, None))

    def _schema(self) -> ColumnPlan:
        return _require_schema(self._plan()[0].schema)

    def to_arrow(self) -> pyarrow.Table:
        """Return a ``pyarrow.Table`` of all rows, in the order of tokens."""
        return to_arrow(self._read_all())

    def to_polars(self) -> polars.DataFrame:
        """Return a ``polars.DataFrame`` of all rows, in the order of tokens."""
        return to_polars(self._read_all())  # type: ignore[no-any-return]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a ``pandas.DataFrame`` of all rows, in the order of tokens.

        This and the other conversions but :meth:`to_parquet` hold all rows in memory, as Arrow columns, and the copies
        that the library makes of columns: of numbers and times none or one, of text in pandas a Python object per
        value. Read larger tables by :meth:`batches`.
        """
        return to_pandas(self._read_all())

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return a DuckDB relation over all rows, in the order of tokens: of *connection*, or of DuckDB's default one.
        Types as in :meth:`ResultSet.to_duckdb <cassandra.cluster.ResultSet.to_duckdb>`. The relation holds all rows in
        memory as an Arrow table; it can be used any number of times, and needs no session. Example::

            orders = session.scan("shop.orders").to_duckdb()
            print(duckdb.sql("SELECT country, sum(total) FROM orders GROUP BY country"))

        ``duckdb.sql("CREATE TABLE t AS SELECT * FROM scan")`` with the scan itself copies tables larger than memory
        into a database file, batch by batch.
        """
        return to_duckdb(self._read_all(), connection)  # type: ignore[no-any-return]

    def to_parquet(self, path: str | os.PathLike[str], **options: Any) -> list[Path]:
        """Write a file for each range with rows into the folder *path*, which is created if missing; return the paths,
        in the order of tokens. *options* are those of ``pyarrow.parquet.ParquetWriter``; without ``use_dictionary``,
        columns whose first values repeat are written with a dictionary. Existing files of these names are replaced; if
        the scan fails, the files of completed ranges remain."""
        with self._reading() as reading:
            return self._into(ParquetFiles(path, len(reading.plan.ranges), options), reading)

    async def to_arrow_async(self) -> pyarrow.Table:
        """As :meth:`to_arrow`, without blocking the running loop; the same holds for the next methods."""
        return to_arrow(await self._read_all_async())

    async def to_polars_async(self) -> polars.DataFrame:
        """Do as :meth:`to_polars`, without blocking the running loop."""
        return to_polars(await self._read_all_async())  # type: ignore[no-any-return]

    async def to_pandas_async(self) -> pandas.DataFrame:
        """Do as :meth:`to_pandas`, without blocking the running loop."""
        return to_pandas(await self._read_all_async())

    async def to_duckdb_async(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Do as :meth:`to_duckdb`, without blocking the running loop."""
        return to_duckdb(await self._read_all_async(), connection)  # type: ignore[no-any-return]

    async def to_parquet_async(self, path: str | os.PathLike[str], **options: Any) -> list[Path]:
        """Do as :meth:`to_parquet`, without blocking the running loop."""
        with await self._reading_async() as reading:
            files = ParquetFiles(path, len(reading.plan.ranges), options)
            try:
                async for event in reading.aiter():
                    files.add(event)
            finally:
                files.close()
            return files.paths()

    @staticmethod
    def _into(files: ParquetFiles, reading: Reading) -> list[Path]:
        try:
            for event in reading:
                files.add(event)
        finally:
            files.close()
        return files.paths()

    def _read_all(self) -> ArrowBatches:
        with self._reading() as reading:
            gathered = _Results(reading.plan)
            for event in reading:
                gathered.add(event)
        return gathered.batches()

    async def _read_all_async(self) -> ArrowBatches:
        with await self._reading_async() as reading:
            gathered = _Results(reading.plan)
            async for event in reading.aiter():
                gathered.add(event)
        return gathered.batches()

    # ---- folds and tasks

    def fold(
        self,
        reducer: MapReducer[Folded],
        *,
        filter: Any = None,
        deterministic: bool = False,
        workers: int | None = None,
        resume: Checkpoint | None = None,
        executor: Any = None,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> Folded:
        """Return the result of *reducer* over all rows. Each row counts once, also if ranges have to be read again.

        Every range has its own accumulator, from ``reducer.open(schema, token_range)``; the batches of the range are
        passed to ``stream`` in the order of tokens and clustering keys. When the range is complete, its accumulator is
        combined with others; if the range restarts, its accumulator is dropped.

        :param reducer: one of ``cassandra.scan`` (``Count()``, ``Sum("v")``, ...), or an object with these methods.
        :param filter: condition on rows, as in :meth:`Session.scan`.
        :param deterministic: combine in the order of tokens, always the same neighbours, so that the result does not
            depend on which range was read first: for sums of floating-point numbers, lists of rows. Otherwise ranges
            are combined as they complete.
        :param workers: number of threads that run ``stream``; None for the calling thread. Calls for one range never
            run concurrently. ``combine`` and ``finish`` always run on a thread of the fold.
        :param resume: a checkpoint of such a fold: the completed parts are not read again.
        :param executor: runs the fold, as :meth:`tasks`: an executor of ``concurrent.futures``, or an object with such
            a ``submit``; or a function that makes one. Tasks of a lost worker run again, by a new executor if there is
            such a function, otherwise by other workers or in this process. The other arguments are those of
            :meth:`tasks`.

        ``raise StopScan(acc)`` in ``stream`` ends it early. Other exceptions of a reducer are raised here, as is
        :exc:`ScanError`; ``cassandra.scan.checkpoint_of`` returns the checkpoint of any exception, including Ctrl-C.
        With ``on_error="skip"`` the result has no rows of :attr:`failed_ranges`. Example::

            total = session.scan("shop.orders", columns=["total"]).fold(Sum("total"))

        .. versionadded:: 4.0
        """
        fold_options = FoldOptions(
            self, reducer, filter=filter, deterministic=deterministic, workers=workers, resume=resume
        )
        if executor is None:
            return fold(self, fold_options)  # type: ignore[no-any-return]
        by_tasks = TaskOptions(connect, credentials, tasks)
        return fold_by(self, fold_options, executor, by_tasks)  # type: ignore[no-any-return]

    async def fold_async(
        self,
        reducer: MapReducer[Folded],
        *,
        filter: Any = None,
        deterministic: bool = False,
        workers: int | None = None,
        resume: Checkpoint | None = None,
    ) -> Folded:
        """As :meth:`fold`, without blocking the running loop. Without *workers* ``stream`` is called on the loop's
        thread, between other callbacks; a slow reducer should use workers.

        .. versionadded:: 4.0
        """
        fold_options = FoldOptions(
            self, reducer, filter=filter, deterministic=deterministic, workers=workers, resume=resume
        )
        return await fold_async(self, fold_options)  # type: ignore[no-any-return]

    def open_map_reducer(
        self,
        *,
        map: Callable[[RecordBatch], Any],
        reduce: Callable[[Any, Any], Any],
        init: Callable[[], Any],
        combine: Callable[[Any, Any], Any] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> FunctionReducer:
        """Return a reducer for :meth:`fold`, made of functions.

        :param map: returns the value of a batch.
        :param reduce: returns an accumulator combined with a result of *map*.
        :param init: returns a new accumulator.
        :param combine: returns the combination of two accumulators; by default *reduce*.
        :param finish: returns the result of the last accumulator; by default the accumulator itself.

        Example::

            longest = scan.open_map_reducer(map=longest_name, reduce=max, init=int)
            print(scan.fold(longest))

        .. versionadded:: 4.0
        """
        return FunctionReducer(map, reduce, init, combine, finish)

    def tasks(
        self,
        reducer: MapReducer | None = None,
        *,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> list[ScanTask]:
        """Return the scan in parts, for other processes or machines: each can be pickled, and has ``run()``, which
        returns the accumulator of its rows (``reducer.combine`` and ``finish`` are left to the caller), or, without
        *reducer*, a ``pyarrow.Table``.

        A process gets one session for all tasks of a cluster. It connects to the contact points of this session;
        objects that cannot be pickled come from functions that it imports itself (or from their names,
        ``"module:function"``):

        :param connect: returns a session. Required with TLS.
        :param credentials: returns an auth provider, or a user and a password. Required with authentication.
        :param tasks: approximate number of parts; 64 by default.

        Example::

            spawn = multiprocessing.get_context("spawn")
            tasks = scan.tasks(Sum("total"), credentials=my.credentials)
            with concurrent.futures.ProcessPoolExecutor(mp_context=spawn) as pool:
                parts = pool.map(ScanTask.run, tasks)

        .. versionadded:: 4.0
        """
        return tasks_of(self, reducer, TaskOptions(connect, credentials, tasks))

    def to_dask(
        self,
        *,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> Any:
        """Return a ``dask.dataframe`` with a partition for each of :meth:`tasks`, whose arguments it takes; its columns
        have Arrow's types. Workers read the rows each time it is computed.

        .. versionadded:: 4.0
        """
        return to_dask(self.tasks(connect=connect, credentials=credentials, tasks=tasks), self._schema())

    def to_ray(
        self,
        *,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> Any:
        """Return a ``ray.data.Dataset`` with a block for each of :meth:`tasks`, whose arguments it takes. Workers read
        the rows each time it is used.

        .. versionadded:: 4.0
        """
        return to_ray(self.tasks(connect=connect, credentials=credentials, tasks=tasks))

    def checkpoint(self) -> Checkpoint:
        """Return the progress of the last read, for ``resume=``, also in another process. May be called by any thread
        at any time, by signal handlers, and after a failure.

        For a fold it has the completed ranges and their accumulators. For :meth:`batches` and :meth:`rows` it has the
        ranges whose rows were all returned, and followed by another request; the others will be returned again.

        Raises :exc:`CheckpointError` if nothing was read, or if the fold cannot be resumed (``StopScan``).

        .. versionadded:: 4.0
        """
        last = self._last
        if last is None:
            raise CheckpointError("the scan has not been read yet")
        return last.checkpoint()

    def explain(self, reducer: MapReducer | None = None, *, filter: Any = None) -> Explanation:
        """Return a description of reading the scan, or of folding it by *reducer*: statement, ranges, replicas, the
        push-down and its reason. The statement is prepared; nothing is read. Example::

            print(session.scan("shop.orders").explain(Count()))

        .. versionadded:: 4.0
        """
        return explain(self, reducer, filter)

    # ---- preparing

    def _plan(self, ranges: Iterable[TokenRange] | None = None) -> tuple[ScanPlan, tuple[PageTemplate, PageTemplate]]:
        """Return the plan, from the current topology, and its prepared statements. *ranges* replaces the scan's
        ranges."""
        session = self._session
        if session._on_io_thread():
            raise DriverException("a table cannot be scanned on the driver's I/O thread (in a callback)")
        session._check_open()
        if self._wants_tablets():
            try:
                session.prefetch_tablets(self._options.name.keyspace, self._options.name.table)
            except DriverException as error:
                self._without_tablets(error)
        plan = self._options.plan(ranges)
        for text in self._texts(plan):
            if text not in self._statements:
                self._statements[text] = session.prepare(text)
        return self._planned(plan)

    async def _plan_async(
        self, ranges: Iterable[TokenRange] | None = None
    ) -> tuple[ScanPlan, tuple[PageTemplate, PageTemplate]]:
        """As :meth:`_plan`, without blocking the running loop."""
        session = self._session
        session._check_open()
        if self._wants_tablets():
            try:
                await session.prefetch_tablets_async(self._options.name.keyspace, self._options.name.table)
            except DriverException as error:
                self._without_tablets(error)
        plan = self._options.plan(ranges)
        for text in self._texts(plan):
            if text not in self._statements:
                self._statements[text] = await session.prepare_async(text)
        return self._planned(plan)

    def _wants_tablets(self) -> bool:
        """True if there may be tablets, and not all of them are in the cache."""
        name, state = self._options.name, self._session.cluster.metadata.state
        if all(host.sharding_info is None for host in state.hosts) or state.tablets is None:
            return False
        known = state.tablets._tablets.get((name.keyspace, name.table), ())
        return not covers(tablet_ranges(state, known))

    def _without_tablets(self, error: DriverException) -> None:
        log.warning("Cannot read the tablets of %s, its scan uses the token ring: %s", self._options.name, error)

    def _texts(self, plan: ScanPlan) -> list[str]:
        if self._options.prepared is not None:
            self._statements[plan.cql] = self._options.prepared
            return []
        first = any(one.start == MIN_LONG for one in plan.ranges)
        return [plan.cql, plan.first_cql] if first else [plan.cql]

    def _planned(self, plan: ScanPlan) -> tuple[ScanPlan, tuple[PageTemplate, PageTemplate]]:
        options, session = self._options, self._session
        prepared = self._statements[plan.cql]
        first = self._statements.get(plan.first_cql, prepared)
        prepared._bind_plan.bind((*plan.values, 0, 0), prepared.protocol_version)  # raise errors of values early
        described = prepared._snapshot[0]
        if described is not None:
            names = tuple(described.names)
            schema = column_plan(described, session.cluster.memory_pool, options.types)
            plan = plan.replace(schema=schema, columns=names)
            if options.filter is not None:
                predicate_of(options.filter, schema)  # raise errors of the filter early
        size = PageSize(plan.page_size, plan.largest_page)
        general = PageTemplate(session, prepared, options.profile, size)
        return plan, (general, general if first is prepared else PageTemplate(session, first, options.profile, size))

    # ---- reading

    def _reading(
        self,
        *,
        ordered: bool = False,
        ranges: Iterable[TokenRange] | None = None,
        rows: Callable[..., Any] | None = None,
    ) -> Reading:
        """Return the scan events of all ranges, or of *ranges*. Prepares the statements if needed, and blocks for that.
        *rows*: lists of rows made by this factory, instead of batches."""
        plan, templates = self._plan(ranges)
        return self._start(plan, templates, ordered, rows)

    async def _reading_async(
        self,
        *,
        ordered: bool = False,
        ranges: Iterable[TokenRange] | None = None,
        rows: Callable[..., Any] | None = None,
    ) -> Reading:
        """As :meth:`_reading`, without blocking the running loop."""
        plan, templates = await self._plan_async(ranges)
        return self._start(plan, templates, ordered, rows)

    def _start(
        self,
        plan: ScanPlan,
        templates: tuple[PageTemplate, PageTemplate],
        ordered: bool,
        rows: Callable[..., Any] | None,
    ) -> Reading:
        resume, what = self._options.resume, description(plan, self._options.filter)
        if resume is not None:
            resume.check(what)
            plan = plan.replace(ranges=tuple(remaining_parts(plan.ranges, resume)))
        reading = Reading(self._session, plan, templates, ordered=ordered, rows=rows, filter=self._options.filter)
        self._failed = reading.failed
        reading.recorder = self._last = ProgressRecorder(what, plan.ranges, self._options.progress, resume)
        return reading


def _require_schema(schema: ColumnPlan | None) -> ColumnPlan:
    if schema is None:
        raise DriverException("the server has not described the columns of the statement before its execution")
    return schema


class _Results:
    """The batches of all ranges, each range once."""

    def __init__(self, plan: ScanPlan) -> None:
        self._schema = plan.schema
        self._batches: dict[int, list[RecordBatch]] = {}

    def add(self, event: ScanEvent) -> None:
        if event.kind == BATCH:
            assert event.batch is not None
            self._schema = self._schema or event.batch.plan
            if event.batch.plan != self._schema:
                raise SchemaChanged(f"the columns have changed from {self._schema!r} to {event.batch.plan!r}", None)
            self._batches.setdefault(event.number, []).append(event.batch)
        elif event.kind != DONE:
            self._batches.pop(event.number, None)

    def batches(self) -> ArrowBatches:
        found = [batch for number in sorted(self._batches) for batch in self._batches[number]]
        return ArrowBatches(_require_schema(self._schema), found)


# ---- delivery to for and async for


class Delivery(ABC):
    """One iteration over the results, started by the first request. Belongs to one thread or task."""

    _reader: Any = None  # a PageReader, once it has started
    _closed = False

    @abstractmethod
    def _next(self) -> Any:
        """Return the next item; None at the end."""

    @abstractmethod
    async def _next_async(self) -> Any:
        """As :meth:`_next`, without blocking the running loop."""

    def close(self) -> None:
        """End it and abandon in-flight requests. May be called again."""
        self._closed = True
        if self._reader is not None:
            self._reader.close()

    async def aclose(self) -> None:
        """As :meth:`close`, for ``contextlib.aclosing``."""
        self.close()

    def __enter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self


class BatchDelivery(Delivery):
    """Delivery of record batches."""

    def __next__(self) -> RecordBatch:
        batch: RecordBatch | None = self._next()
        if batch is None:
            raise StopIteration
        return batch

    async def __anext__(self) -> RecordBatch:
        batch: RecordBatch | None = await self._next_async()
        if batch is None:
            raise StopAsyncIteration
        return batch


class RowDelivery(Delivery):
    """Delivery of rows, which are read as lists."""

    _list: Iterator[Any] = iter(())

    def __next__(self) -> Any:
        while True:
            for row in self._list:
                return row
            rows = self._next()
            if rows is None:
                raise StopIteration
            self._list = iter(rows)

    async def __anext__(self) -> Any:
        while True:
            for row in self._list:
                return row
            rows = await self._next_async()
            if rows is None:
                raise StopAsyncIteration
            self._list = iter(rows)


class _Read(Delivery):
    """Delivery of the results of a reading, which starts with the first request."""

    def __init__(self, scan: Scan, ordered: bool, reading: Reading | None = None) -> None:
        self._scan = scan
        self._ordered = ordered
        self._reader = reading
        self._delivered: set[int] = set()  # ranges with delivered batches

    def _factory(self) -> Callable[..., Any] | None:
        return None

    def _next(self) -> Any:
        if self._closed:
            return None
        if self._reader is None:
            self._reader = self._scan._reading(ordered=self._ordered, rows=self._factory())
        for event in self._reader:
            if self._is_given(event):
                return event.batch
        self.close()
        return None

    async def _next_async(self) -> Any:
        if self._closed:
            return None
        if self._reader is None:
            self._reader = await self._scan._reading_async(ordered=self._ordered, rows=self._factory())
        async for event in self._reader.aiter():
            if self._is_given(event):
                return event.batch
        self.close()
        return None

    def _is_given(self, event: ScanEvent) -> bool:
        """True if *event* is a batch to deliver. ScanError if a range restarts after batches were delivered."""
        if event.kind == BATCH:
            self._delivered.add(event.number)
            return True
        if event.kind == RESTARTED and event.number in self._delivered:
            self.close()
            raise ScanError(
                f"The scan of {self._scan._options.name} cannot continue: {event.token_range} must be read again, but "
                f"some of its rows were already delivered: {event.error}",
                event.token_range,
            ) from event.error
        if event.kind != RESTARTED:
            self._delivered.discard(event.number)
        return False


@public("cassandra.scan")
class Batches(_Read, BatchDelivery):
    """The record batches of a scan; made by :meth:`Scan.batches`."""


@public("cassandra.scan")
class Rows(_Read, RowDelivery):
    """The rows of a scan; made by :meth:`Scan.rows`."""

    def _factory(self) -> Callable[..., Any] | None:
        factory: Callable[..., Any] = self._scan._options.profile.row_factory
        return factory


# ---- A scan into Parquet files, one for each range, by PyArrow
#
# A file gets its name when its range is complete; until then the name ends in ``.part``, and the file is removed if the
# scan ends early.


UNFINISHED = ".part"
SAMPLE = 1024  # rows
DATA_PAGE = 1 << 20  # bytes, of Parquet


def load_parquet() -> tuple[Any, Any]:
    """Import ``pyarrow`` and ``pyarrow.parquet``."""
    return load_library("pyarrow", "arrow"), load_library("pyarrow.parquet", "arrow")


class Dictionaries:
    """Choice of the columns with a dictionary in a Parquet file: those whose values repeat. For other columns a
    dictionary makes the file larger, and takes more time than the rest of the encoding."""

    def __init__(self) -> None:
        self._arrow, self._parquet = load_parquet()
        self._compute = import_module("pyarrow.compute")
        self._schema: Any = None
        self._paths: list[str] = []  # of the columns of _schema, and of the parts of nested ones
        self._columns: list[str] | None = None

    def of(self, batch: Any) -> list[str]:
        """Return the paths for rows like those of *batch*, a PyArrow record batch. Parts of nested columns are always
        included, and all columns until a batch is large enough to decide."""
        if self._schema is None or not self._schema.equals(batch.schema):
            self._schema, self._paths, self._columns = batch.schema, self._paths_of(batch.schema), None
        if self._columns is None and len(batch) < SAMPLE:
            return self._paths
        if self._columns is None:
            columns = zip(batch.schema.names, batch.slice(0, SAMPLE).columns, strict=True)
            different = {name for name, column in columns if self._is_different(column)}
            self._columns = [path for path in self._paths if path not in different]
        return self._columns

    def _paths_of(self, schema: Any) -> list[str]:
        """Return the paths of the columns in Parquet."""
        empty = io.BytesIO()
        self._parquet.write_table(self._arrow.Table.from_batches([], schema), empty)
        columns = self._parquet.ParquetFile(empty).schema
        return [columns.column(number).path for number in range(len(columns))]

    def _is_different(self, column: Any) -> bool:
        """True if the values hardly repeat."""
        types = self._arrow.types
        values = column.storage if isinstance(column, self._arrow.ExtensionArray) else column
        if types.is_nested(values.type) or types.is_dictionary(values.type):
            return False
        try:
            return bool(2 * self._compute.count_distinct(values).as_py() > len(values))
        except self._arrow.ArrowNotImplementedError:  # values of this type cannot be counted
            return False


class ParquetFiles:
    """Writes the scan events of a reading to files. *options*: of ``pyarrow.parquet.ParquetWriter``; without
    ``use_dictionary``, columns whose values repeat have a dictionary."""

    def __init__(self, folder: str | os.PathLike[str], count: int, options: dict[str, Any]) -> None:
        self._arrow, self._parquet = load_parquet()
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._digits = len(str(max(0, count - 1)))
        self._options = options
        self._dictionaries = None if "use_dictionary" in options else Dictionaries()
        self._open: dict[int, _File] = {}
        self._written: dict[int, Path] = {}

    def add(self, event: ScanEvent) -> None:
        if event.kind == BATCH:
            batch = self._arrow.record_batch(event.batch)
            if event.number not in self._open:
                self._open[event.number] = self._open_file(event.number, batch)
            self._open[event.number].writer.write_batch(batch)
        elif event.number in self._open:
            one = self._open[event.number]
            if event.kind == DONE:
                one.close()
                self._written[event.number] = one.path.replace(one.path.with_suffix(""))
            else:
                one.discard()
            del self._open[event.number]

    def _open_file(self, number: int, batch: Any) -> _File:
        options = {"write_batch_size": _at_a_time(batch)} | self._options
        if self._dictionaries is not None:
            options = options | {"use_dictionary": self._dictionaries.of(batch)}
        path = self._folder / f"part-{number:0{self._digits}}.parquet{UNFINISHED}"
        sink = self._arrow.OSFile(str(path), "wb")  # PyArrow would look up a path among its file systems
        try:
            return _File(path, sink, self._parquet.ParquetWriter(sink, batch.schema, **options))
        except BaseException:
            sink.close()
            path.unlink()
            raise

    def paths(self) -> list[Path]:
        """Return the files of completed ranges that have rows, in the order of tokens."""
        return [self._written[number] for number in sorted(self._written)]

    def close(self) -> None:
        """Remove incomplete files."""
        for one in self._open.values():
            one.discard()
        self._open.clear()


def _at_a_time(batch: Any) -> int:
    """Return the number of values of a column to encode at a time: the rows of one data page. PyArrow's default of 1024
    is too small for numbers, as each call passes through all of its layers."""
    return max(1024, DATA_PAGE * len(batch) // max(1, int(batch.nbytes)))


class _File(NamedTuple):
    path: Path
    sink: Any
    writer: Any

    def close(self) -> None:
        """Close it; OSError if not all of it is on the disk, or passed to the operating system."""
        with self.sink:
            self.writer.close()

    def discard(self) -> None:
        """Remove it, even if closing fails."""
        with contextlib.suppress(OSError, ValueError):
            self.close()
        self.path.unlink(missing_ok=True)
