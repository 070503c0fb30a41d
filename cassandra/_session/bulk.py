"""Bulk methods of a session: writing and reading many rows at once.

L5. They are implemented in ``ingest`` and ``scan``, which are imported on first use.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cassandra._base.constants import ConsistencyLevel

from .statements.sentinels import NOT_SET, Sentinel

if TYPE_CHECKING:
    from cassandra._routing.token_ranges import TokenRange

    from .ingest.options import Options
    from .ingest.report import IngestReport
    from .ingest.task import IngestTask
    from .scan.order import Key, OrderedScan
    from .scan.scan import Scan
    from .scan.workers import Importable
    from .statements.prepared import PreparedStatement

BATCH_ROWS = 32


class ArrowStreamable(Protocol):
    """An object that exports its rows as an Arrow C stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class ArrowArrayable(Protocol):
    """An Arrow record batch."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...


Piece = ArrowStreamable | ArrowArrayable | Mapping[str, Any]


class Bulk:
    """Methods of a session for millions of rows."""

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

        :param data: a table, record batch or data frame (any object with ``__arrow_c_stream__`` or
            ``__arrow_c_array__``), a mapping of column names and NumPy arrays, or an iterable of these, which may be
            endless. It is read no faster than its rows are written.
        :param columns: write these columns of the data; default: all, and one that the table does not have is an error.
        :param ttl: time to live of the rows, in seconds.
        :param timestamp: write time of the first row, in microseconds since 1970; it rises by one with each row.
            Default: the session's timestamp generator, ascending too: of rows with the same primary key the last one
            wins.
        :param nulls: "unset" leaves a column unchanged where the data has null, "null" deletes its value.
        :param concurrency: requests in flight; "auto" adapts to the capacity of each node.
        :param batch_rows: consecutive rows of one partition are sent as one unlogged batch of at most this many; 1
            writes each alone.
        :param on_error: "raise" stops reading at the first row that fails; "collect" continues, and the report has
            the errors.
        :param progress: called with the current report from time to time; True shows a bar.
        :param already_encrypted: names of columns that the cluster's column encryption policy encrypts, whose values in
            *data* are the bytes to be stored. All others are encrypted, regardless of the metadata of *data*.

        Rows are written again, unchanged, when a node timed out, did not respond or was lost, for up to a minute.
        Raises ValueError, with all mismatches, before the first write, and :exc:`IngestError` when rows have failed;
        exceptions of the source are raised here. ``cassandra.ingest.report_of`` returns, for any exception, Ctrl-C
        too, the rows that were written. Example::

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
        """Do as :meth:`ingest`, without blocking the running loop. *data* may be an asynchronous iterable, too; other
        iterables are iterated on the loop's thread. A cancelled task sends no more rows, and waits briefly for those
        in flight.

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
        """Return an :meth:`ingest` call without its rows, as an object that other processes can call with rows of
        their own: the workers of Dask and Ray, or those of a pool.

        :param connect: a function that the workers can import, or its name, ``"module:function"``, which makes a
            session. Without it each process makes and keeps one, with the addresses of this session.
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
        """Return a :class:`~cassandra.scan.Scan` of *table*: its rows in parallel from all shards, as columns.

        :param table: ``"table"`` or ``"keyspace.table"``, a view too; or a prepared SELECT, without markers or with
            those of ``token(key) > ? AND token(key) <= ?``.
        :param columns: names of columns, or calls like ``"writetime(v) AS at"``; default: all columns.
        :param where: a condition on rows, as CQL, or ``(cql, values)`` for one with ``?``. It may end with
            ``PER PARTITION LIMIT n`` and with ``ALLOW FILTERING``, which is never added.
        :param token_range: read only this part of the ring, or these.
        :param splits: number of ranges into which the table is split; "auto" takes tablets and parts of the ring as
            they are, or splits them, so that there are 24 for each shard, 48 for a node without shards.
        :param parallelism: ranges that are read at a time; "auto" is 3 for each shard.
        :param target_rows: rows of a batch; pages of a range are combined up to that size.
        :param on_error: "retry" ends with :exc:`~cassandra.scan.ScanError` when a range cannot be read within a minute;
            "skip" continues without it, and ``failed_ranges`` has it.
        :param bypass_cache: do not let the rows evict others from the caches of the servers (ScyllaDB).
        :param page_size: rows of a page; default: the session's ``default_fetch_size``, and for narrow rows up to
            four times as many, as long as a page is not over 1 MiB.
        :param timeout: seconds that a page may take; default: the profile's.
        :param filter: a condition on rows that the client evaluates: an expression of ``cassandra.scan``, or a callable
            that returns the mask of a batch.
        :param pushdown: let the servers fold supported functions, see :meth:`~cassandra.scan.Scan.fold`: "always" is
            an error where they cannot.
        :param progress: called from time to time with the progress; True shows a bar.
        :param resume: a checkpoint: ranges in it are not read again.

        The other options set the types of text, decimals, varints and uuids, as for
        :meth:`~cassandra.cluster.ResultSet.arrow`.

        Nothing is sent before rows are read. Raises ValueError, with the reason, for tables and statements that cannot
        be scanned (LIMIT, ORDER BY, GROUP BY, IN, aggregates, JSON, unknown tables and columns), and
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
        """Return the rows of many partitions in one order, as columns: an :class:`~cassandra.scan.OrderedScan`.

        *prepared*, a SELECT of one partition, is executed for each of *keys*, and the rows are merged as they arrive.
        Equal rows are in the order of the keys. At most two pages of each partition are in memory.

        :param keys: the values of the statement's markers, a sequence or a mapping each.
        :param order_by: a clustering column, or several, in key order; columns that ``=`` makes equal in all rows of
            a partition may be omitted, or be anywhere. Default: all clustering columns.
        :param descending: the direction of *order_by*, one for all or one for each. It must be that of the statement:
            that of the table, or the reverse if the statement has ORDER BY.
        :param limit: total number of rows; no rows beyond it are requested.
        :param consistency_level: default: that of the statement, or of the default profile.
        :param page_size: rows of a page; default: the ``fetch_size`` of the statement, or fewer for many partitions.
        :param parallelism: pages in flight at a time; "auto" is 3 for each shard.
        :param max_open: partitions that are merged at once; more of them are merged in levels.
        :param target_rows: maximum number of rows of a batch.
        :param slice_rows: this many consecutive rows of a partition are a batch of their own, without a copy.
        :param timeout: seconds that a page may take; default: the profile's.

        The other options are those of :meth:`~cassandra.cluster.ResultSet.arrow`. Nothing is sent before rows are
        read. Raises ValueError, with the reason, where the rows of a partition are not in the requested order, and
        TypeError for keys of other types. Example::

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
