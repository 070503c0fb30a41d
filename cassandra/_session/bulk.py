"""Bulk: how a session writes and reads many rows at once, which Session has.

L5. All of it is in ``ingest`` and ``scan``, which are imported when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cassandra._base.constants import ConsistencyLevel

from .statements.sentinels import NOT_SET, Sentinel

if TYPE_CHECKING:
    from cassandra._routing.ring.ranges import TokenRange

    from .ingest.options import Options
    from .ingest.report import IngestReport
    from .ingest.task import IngestTask
    from .scan.order import Key, OrderedScan
    from .scan.scan import Scan
    from .scan.workers import Importable
    from .statements.prepared import PreparedStatement

BATCH_ROWS = 32


class ArrowStreamable(Protocol):
    """Gives its rows as a C stream of Arrow's."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowArrayable(Protocol):
    """Is a record batch of Arrow's."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...


Piece = ArrowStreamable | ArrowArrayable | Mapping[str, Any]


class Bulk:
    """What a session is asked for rows by the million."""

    def ingest(
        self,
        table: str,
        data: Piece | Iterable[Piece],
        *,
        columns: Iterable[str] | None = None,
        ttl: int | None = None,
        timestamp: int | None = None,
        nulls: Literal["unset", "null"] = "unset",
        consistency_level: int | None = None,
        concurrency: int | Literal["auto"] = "auto",
        batch_rows: int = BATCH_ROWS,
        on_error: Literal["raise", "collect"] = "raise",
        progress: Callable[[IngestReport], object] | bool | None = None,
        already_encrypted: Iterable[str] = (),
    ) -> IngestReport:
        """Write the rows of *data* to *table*, ``"table"`` or ``"keyspace.table"``, straight from Arrow's buffers.

        :param data: a table, record batch or data frame (whatever has ``__arrow_c_stream__`` or ``__arrow_c_array__``),
            a mapping of column names and NumPy arrays, or an iterable of these, which may be endless. It is read no
            faster than its rows are written.
        :param columns: write these columns of the data; else all, and one that the table has not is an error.
        :param ttl: seconds that the rows live.
        :param timestamp: write time of the first row, in microseconds since 1970; each that follows is one later. Else
            the session's clock gives them, ascending too: of rows with the same primary key the last one stays.
        :param nulls: "unset" leaves a column as it is where the data has null, "null" deletes what is there.
        :param concurrency: requests in flight; "auto" finds out how many each node takes.
        :param batch_rows: rows that follow each other in one partition go as one unlogged batch of at most so many; 1
            writes each alone.
        :param on_error: "raise" stops reading at the first row that fails; "collect" goes on, and the report has them.
        :param progress: called with the report so far, now and then; True shows a bar.
        :param already_encrypted: names of columns that the cluster's column encryption policy encrypts, whose values in
            *data* are the bytes to be stored. All others are encrypted, whatever the metadata of *data* say.

        Rows are written again, as they were, when a node had no time, did not answer or was lost, for up to a minute.
        Raises ValueError, with all that does not fit, before anything is written, and :exc:`IngestError` when rows have
        failed; what the source raises comes out of here. ``cassandra.ingest.report_of`` tells of any exception, Ctrl-C
        too, which rows were written. Example::

            report = session.ingest("shop.orders", pyarrow.parquet.read_table("orders.parquet"))

        .. versionadded:: 4.0
        """
        from .ingest.blocking import ingest

        return ingest(
            self._ingest_options(
                table,
                columns,
                ttl,
                timestamp,
                nulls,
                consistency_level,
                concurrency,
                batch_rows,
                on_error,
                progress,
                already_encrypted,
            ),
            data,
        )

    async def ingest_async(
        self,
        table: str,
        data: Piece | Iterable[Piece] | AsyncIterable[Piece],
        *,
        columns: Iterable[str] | None = None,
        ttl: int | None = None,
        timestamp: int | None = None,
        nulls: Literal["unset", "null"] = "unset",
        consistency_level: int | None = None,
        concurrency: int | Literal["auto"] = "auto",
        batch_rows: int = BATCH_ROWS,
        on_error: Literal["raise", "collect"] = "raise",
        progress: Callable[[IngestReport], object] | bool | None = None,
        already_encrypted: Iterable[str] = (),
    ) -> IngestReport:
        """As :meth:`ingest`, without blocking the running loop. *data* may be an asynchronous iterable, too; other
        iterables are iterated on the loop's thread. A cancelled task sends no more rows, and waits for those in flight,
        but not long.

        .. versionadded:: 4.0
        """
        from .ingest.awaiting import ingest_async

        return await ingest_async(
            self._ingest_options(
                table,
                columns,
                ttl,
                timestamp,
                nulls,
                consistency_level,
                concurrency,
                batch_rows,
                on_error,
                progress,
                already_encrypted,
            ),
            data,
        )

    def ingest_task(
        self,
        table: str,
        *,
        columns: Iterable[str] | None = None,
        ttl: int | None = None,
        timestamp: int | None = None,
        nulls: Literal["unset", "null"] = "unset",
        consistency_level: int | None = None,
        concurrency: int | Literal["auto"] = "auto",
        batch_rows: int = BATCH_ROWS,
        on_error: Literal["raise", "collect"] = "raise",
        connect: Importable | None = None,
        credentials: Importable | None = None,
        already_encrypted: Iterable[str] = (),
    ) -> IngestTask:
        """What :meth:`ingest` is called with, but for the rows, as something that other processes can call with those
        that they have: the workers of Dask and Ray, or those of a pool.

        :param connect: a function that the others can import, or its name, ``"module:function"``, which makes a
            session. Without it each process makes one, which it keeps, by the addresses that this session has.
        :param credentials: such a function, which returns an auth provider, or user and password. These are never
            pickled.

        The other arguments are those of :meth:`ingest`. Example::

            reports = session.ingest_task("shop.orders", on_error="collect").over(frame)  # a dask.dataframe
            print(sum(report.rows for report in reports))

        .. versionadded:: 4.0
        """
        from .ingest.task import task_for

        asked = {
            "columns": columns,
            "ttl": ttl,
            "timestamp": timestamp,
            "nulls": nulls,
            "consistency_level": consistency_level,
            "concurrency": concurrency,
            "batch_rows": batch_rows,
            "on_error": on_error,
            "already_encrypted": already_encrypted,
        }
        return task_for(self, table, connect, credentials, asked)  # type: ignore[arg-type]

    def _ingest_options(self, *given: Any) -> Options:
        from .ingest.options import Options

        return Options(self, *given)  # type: ignore[arg-type]

    def scan(
        self,
        table: str | PreparedStatement,
        *,
        columns: Iterable[str] | None = None,
        where: str | tuple[str, Sequence[Any]] | None = None,
        token_range: TokenRange | Iterable[TokenRange] | None = None,
        splits: int | Literal["auto"] = "auto",
        parallelism: int | Literal["auto"] = "auto",
        target_rows: int = 65536,
        consistency_level: int = ConsistencyLevel.LOCAL_ONE,
        on_error: Literal["retry", "skip"] = "retry",
        bypass_cache: bool = False,
        page_size: int | None = None,
        timeout: float | Sentinel | None = NOT_SET,
        filter: Any = None,
        pushdown: Literal["auto", "always", "never"] = "auto",
        progress: Callable[[Any], object] | bool | None = None,
        resume: Any = None,
        strings: Literal["utf8", "view", "dictionary"] = "utf8",
        decimals: Literal["utf8"] | tuple[int, int] = "utf8",
        varints: Literal["utf8", "int64"] | int = "utf8",
        uuids: Literal["arrow.uuid", "binary"] = "arrow.uuid",
    ) -> Scan:
        """A :class:`~cassandra.scan.Scan` of *table*: its rows in parallel from all shards, as columns.

        :param table: ``"table"`` or ``"keyspace.table"``, a view too; or a prepared SELECT, without markers or with
            those of ``token(key) > ? AND token(key) <= ?``.
        :param columns: names of columns, or calls like ``"writetime(v) AS at"``; else all columns.
        :param where: what rows have to fulfil, as CQL, or ``(cql, values)`` for one with ``?``. It may end with
            ``PER PARTITION LIMIT n`` and with ``ALLOW FILTERING``, which is never added.
        :param token_range: read this part of the ring, or these, only.
        :param splits: into how many ranges the table is cut; "auto" takes tablets and parts of the ring as they are, or
            cuts them, so that there are 24 for each shard, 48 for a node without shards.
        :param parallelism: ranges that are read at a time; "auto" is 3 for each shard.
        :param target_rows: of a batch; pages of a range are put together to that.
        :param on_error: "retry" ends with :exc:`~cassandra.scan.ScanError` when a range cannot be read within a minute;
            "skip" goes on without it, and ``failed_ranges`` has it.
        :param bypass_cache: do not let the rows take the place of others in the caches of the servers (ScyllaDB).
        :param page_size: rows of a page; else the session's ``default_fetch_size``, and where rows are narrow up to
            four times as many, as long as a page is not over 1 MiB.
        :param timeout: seconds that a page may take; else the profile's.
        :param filter: what rows have to fulfil, found out here: an expression of ``cassandra.scan``, or a callable
            that gives the mask of a batch.
        :param pushdown: whether the servers fold what they can, see :meth:`~cassandra.scan.Scan.fold`: "always" is an
            error where they cannot.
        :param progress: called now and then with how far it has come; True shows a bar.
        :param resume: a checkpoint: what that has is not read again.

        The other options say what text, decimals, varints and uuids become, as of
        :meth:`~cassandra.cluster.ResultSet.arrow`.

        Nothing is sent before the rows are asked for. Raises ValueError, with the reason, for what cannot be scanned
        (LIMIT, ORDER BY, GROUP BY, IN, aggregates, JSON, unknown tables and columns), and
        :exc:`~cassandra.UnsupportedOperation` for another partitioner than Murmur3. Ranges are read one by one: there
        is no snapshot of the table as a whole. Example::

            table = session.scan("shop.orders", columns=["id", "total"]).to_arrow()

        .. versionadded:: 4.0
        """
        from cassandra._wire.arrow import ColumnTypes

        from .scan.plan import Options
        from .scan.scan import Scan

        return Scan(
            Options(
                self,  # type: ignore[arg-type]
                table,
                columns,
                where,
                token_range,
                splits,
                parallelism,
                target_rows,
                consistency_level,
                on_error,
                bypass_cache,
                page_size,
                timeout,
                filter,
                pushdown,
                progress,
                resume,
                ColumnTypes(strings, decimals, varints, uuids),
            )
        )

    def scan_order(
        self,
        prepared: PreparedStatement,
        keys: Iterable[Key],
        order_by: str | Iterable[str] | None = None,
        descending: bool | Sequence[bool] = False,
        limit: int | None = None,
        *,
        consistency_level: int | None = None,
        page_size: int | None = None,
        parallelism: int | Literal["auto"] = "auto",
        max_open: int = 128,
        target_rows: int = 65536,
        slice_rows: int = 64,
        timeout: float | Sentinel | None = NOT_SET,
        strings: Literal["utf8", "view", "dictionary"] = "utf8",
        decimals: Literal["utf8"] | tuple[int, int] = "utf8",
        varints: Literal["utf8", "int64"] | int = "utf8",
        uuids: Literal["arrow.uuid", "binary"] = "arrow.uuid",
    ) -> OrderedScan:
        """The rows of many partitions in one order, as columns: an :class:`~cassandra.scan.OrderedScan`.

        *prepared*, a SELECT of one partition, is executed for each of *keys*, and the rows are merged as they come.
        Rows that are equal come in the order of the keys. In memory are at most two pages of each partition.

        :param keys: the values of the statement's markers, a sequence or a mapping each.
        :param order_by: a clustering column, or several, as they follow each other in the key; columns that ``=`` makes
            the same in all rows of a partition may be left out, or stand anywhere. All of them, if it is not given.
        :param descending: the direction of *order_by*, one for all or one for each. It has to be that of the statement:
            that of the table, or the other one where the statement says ORDER BY.
        :param limit: so many rows in all; nothing is asked for beyond them.
        :param consistency_level: else that of the statement, or of the default profile.
        :param page_size: rows of a page; else the ``fetch_size`` of the statement, or fewer for many partitions.
        :param parallelism: pages in flight at a time; "auto" is 3 for each shard.
        :param max_open: partitions that are merged at once; more of them are merged in levels.
        :param target_rows: of a batch, at most.
        :param slice_rows: so many rows of a partition that follow each other are a batch of their own, without a copy.
        :param timeout: seconds that a page may take; else the profile's.

        The other options are those of :meth:`~cassandra.cluster.ResultSet.arrow`. Nothing is sent before rows are asked
        for. Raises ValueError, with the reason, where the rows of a partition are in another order than is wanted, and
        TypeError for keys that do not fit. Example::

            select = session.prepare("SELECT at, sensor, value FROM lab.readings WHERE sensor = ? ORDER BY at DESC")
            newest = session.scan_order(select, [(1,), (2,), (3,)], "at", descending=True, limit=100).to_arrow()

        .. versionadded:: 4.0
        """
        from cassandra._wire.arrow import ColumnTypes

        from .scan.order import OrderedScan, plan_of

        return OrderedScan(
            self,  # type: ignore[arg-type]
            plan_of(
                self,  # type: ignore[arg-type]
                prepared,
                keys,
                order_by,
                descending,
                limit,
                consistency_level,
                page_size,
                parallelism,
                max_open,
                target_rows,
                slice_rows,
                timeout,
                ColumnTypes(strings, decimals, varints, uuids),
            ),
        )
