"""Session: executes statements of applications (cassandra.cluster).

L5. Shared by all threads and loops of an application. A session resolves profile and statement into one message, and
passes it to a ResponseFuture; its pools are managed by :class:`~cassandra._session.hosts.pools.PoolSet`. Bulk writes
and reads are implemented in ``_ingest`` and ``_scan``, which are imported on first use.

States: *open*, then *draining* if requested (``_draining``: new requests are rejected, work in progress continues, see
``scheduler.py``), then *shut down* (``is_shutdown``), once, by a command. :class:`Ending` has no lock, although any
thread delays steps of requests: a thread adds a request to the delayed ones before it checks for a shutdown, and the
shutdown reads the delayed ones after it has set its flag: each request is rejected or among those that fail.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import uuid4

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.display import rich_display
from cassandra._base.errors import DriverException, NoHostAvailable, UnsupportedOperation
from cassandra._base.logs import WarningLog
from cassandra._base.names import protect_name
from cassandra._base.objects import not_copied, public
from cassandra._base.process import catch_up
from cassandra._base.real import Future
from cassandra._base.versions import seconds
from cassandra._core.routing import SessionFields
from cassandra._routing.policies.router import Router, router_for
from cassandra._session.control import refresh
from cassandra._session.control.schema_changes import SchemaAgreementScope
from cassandra._session.hosts.pools import PoolSet, tell_pools
from cassandra._session.request.builder import RequestBuilder
from cassandra._session.request.future import ResponseFuture
from cassandra._session.request.hints import refused
from cassandra._session.request.observers import Tracking, with_load
from cassandra._session.request.preparing import Preparer, Repreparing
from cassandra._session.request.result import ResultSet, Row, RowFactory
from cassandra._session.request.retry import closed_text
from cassandra._session.statements.prepared import PreparedStatement
from cassandra._session.statements.statement import NOT_SET, Sentinel, Statement, new_encoder
from cassandra._session.statements.user_types import register_encoder
from cassandra._wire.handlers import ProtocolHandler

from . import scheduler
from .caching import DEFAULT_BYTES, CachedStatement, Caching, cached
from .display import session_table, session_text
from .profiles import EXEC_PROFILE_DEFAULT, OF_PROFILE, ResolvedProfile, of_call, of_caller, profile_option
from .shared import Shared, with_item, without_item

if TYPE_CHECKING:
    from cassandra._ingest.report import IngestReport, IngestTask
    from cassandra._ingest.sources import Options
    from cassandra._net.endpoint import EndPoint
    from cassandra._net.pool import HostPool
    from cassandra._routing.host import Host
    from cassandra._routing.policies import LoadBalancingPolicy
    from cassandra._routing.tokens import TokenRange
    from cassandra._scan.ordered import Key, OrderedScan
    from cassandra._scan.scan import Scan
    from cassandra._scan.tasks import Importable
    from cassandra._session.ingest_types import IngestRow, IngestSource
    from cassandra._session.request.plans import ExecutePlan
    from cassandra._wire.encoder import Encoder

    from .cluster import Cluster
    from .encryption import ColumnEncryption

_Session = TypeVar("_Session", bound="Session")
Parameters = Sequence[Any] | Mapping[str, Any] | None

#: Default limit of rows of a batch in :meth:`Session.ingest`.
BATCH_ROWS = 32
#: Settings that do not invalidate compiled requests of prepared statements, see ``request/plans.py``. Setting any other
#: attribute of a session begins a new settings epoch, so a new setting needs no entry here.
NOT_PLANNED_WITH = frozenset(("_overridden", "_settings_epoch", "max_trace_wait"))
#: Limit of policies of a session with a cached router.
ROUTERS_KEPT = 64


def _tracking_of(cluster: Cluster) -> Tracking | None:
    if cluster.request_tracker is None and cluster.slow_request_threshold is None:
        return None
    return Tracking(cluster.request_tracker, cluster.slow_request_threshold)


@public("cassandra.cluster")
@rich_display(session_table, session_text)
class Session(SessionFields):
    """Executes statements; made by :meth:`Cluster.connect`. One per application and keyspace is enough.

    All methods may be called from any thread. Example::

        session = Cluster(["127.0.0.1"]).connect("app")
        row = session.execute("SELECT name FROM users WHERE id = %s", (1,)).one()
    """

    hosts: Iterable[Host]  #: Hosts of the cluster when the session was made.
    keyspace: str | None = None  #: The keyspace in use; set it by :meth:`set_keyspace` or ``USE``.
    is_shutdown: bool = False  #: True after :meth:`shutdown`.
    max_trace_wait: float = 2.0  #: Seconds to wait for the trace of a request.
    #: Rows of a page, for statements without ``fetch_size``; None turns paging off.
    default_fetch_size: int | None = 5000
    use_client_timestamp: bool = True  #: False leaves write times to the coordinators.
    #: Decodes responses: a :class:`~cassandra.protocol.ProtocolHandler`.
    client_protocol_handler: Any = ProtocolHandler

    _default_protocol_handler: Any = ProtocolHandler
    _pool_set: PoolSet
    _by_connect = False  # made by Cluster.connect, which opens its pools
    _draining = False  # new requests are rejected
    _encryption: ColumnEncryption | None = None  # of the cluster
    _caching: Caching | None = None  # from the first cached statement on
    _version_blocks: bool  # compiled requests are for connections with version blocks

    default_timeout = profile_option(
        "default_timeout",
        "request_timeout",
        "Default timeout of requests in seconds; None waits without limit.",
    )
    default_consistency_level = profile_option(
        "default_consistency_level", "consistency_level", "Default consistency level of statements."
    )
    default_serial_consistency_level = profile_option(
        "default_serial_consistency_level",
        "serial_consistency_level",
        "Default serial consistency level of statements.",
    )
    row_factory = profile_option(
        "row_factory", "row_factory", "``factory(column_names, rows)`` that makes the rows of results."
    )

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name not in NOT_PLANNED_WITH:
            super().__setattr__("_settings_epoch", object())

    def _forget_plans(self) -> None:
        """Invalidate the plans of prepared statements."""
        super().__setattr__("_settings_epoch", object())

    def __init__(self, cluster: Cluster, hosts: Iterable[Host], keyspace: str | None = None) -> None:
        self.cluster = cluster  #: The cluster that has made the session.
        self.hosts = hosts
        self.keyspace = keyspace
        self._encryption = getattr(cluster, "encryption", None)  # mocks of clusters have none
        self._version_blocks = cluster._version_blocks
        self._metadata_ids = cluster._metadata_ids
        self._protocol_version = cluster.protocol_version
        self.session_id = uuid4()  #: Random id of this session.
        #: Called for each statement; returns its write time in microseconds since 1970.
        self.timestamp_generator: Callable[[], int] | None = cluster.timestamp_generator
        self._reactor = cluster.reactor
        self._on_io_thread: Callable[[], bool] = cluster.reactor.in_reactor
        self._ending = Ending(self)
        self._overrides: Shared[dict[str, Any]] = Shared({})
        #: The default profile, its overrides, and the resulting profile.
        self._overridden: tuple[ResolvedProfile, dict[str, Any], ResolvedProfile] | None = None
        self._routers: dict[int, Router] = {}
        self._tracking = _tracking_of(cluster)
        self._listeners: Shared[tuple[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]], ...]] = Shared(())
        self._pool_set = PoolSet(self)
        self._builder = RequestBuilder(self)
        self._preparer = Preparer(self)
        self._repreparing = Repreparing()
        self._warning_log = WarningLog()
        for registered in cluster.user_types:
            self.user_type_registered(*registered)

    @property
    def encoder(self) -> Encoder:
        """Encodes parameters of simple statements as CQL literals; its ``mapping``, by type, may be changed."""
        made: Encoder = self.__dict__.get("encoder") or self.__dict__.setdefault("encoder", new_encoder())
        return made

    @encoder.setter
    def encoder(self, encoder: Encoder) -> None:
        self.__dict__["encoder"] = encoder

    # ---- executing

    def execute(
        self,
        query: str | Statement | PreparedStatement,
        parameters: Parameters = None,
        timeout: float | Sentinel | None = NOT_SET,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        execution_profile: Any = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | EndPoint | str | None = None,
        execute_as: str | None = None,
        row_factory: RowFactory[Row] = OF_PROFILE,
        prefetch: int | None = None,
    ) -> ResultSet[Row]:
        """Execute *query* and wait for its :class:`ResultSet`.

        :param query: CQL text, or any statement. Text and SimpleStatement take *parameters* as ``%s`` or ``%(name)s``
            literals, prepared statements as bound values.
        :param timeout: seconds, None for no limit, else the profile's.
        :param trace: ask the server for a trace (:meth:`ResultSet.get_query_trace`).
        :param paging_state: start after this position of an earlier result.
        :param host: send to this host only: a Host, its endpoint, or its address. NoHostAvailable for an unknown host.
        :param row_factory: makes the rows of all pages of this result; default: the profile's.
        :param prefetch: 1 or 0; default: the profile's.

        Raises the error of the server, :exc:`NoHostAvailable`, :exc:`OperationTimedOut` or a connection error.
        Ctrl-C interrupts the wait.
        """
        if self._tracking is not None:
            self._tracking.will_wait()
        if row_factory is OF_PROFILE and prefetch is None:  # an overridden execute_async may not have these parameters
            return self.execute_async(
                query, parameters, trace, custom_payload, timeout, execution_profile, paging_state, host, execute_as
            ).result()
        own = of_caller(row_factory, prefetch)
        return self.execute_async(
            query, parameters, trace, custom_payload, timeout, execution_profile, paging_state, host, execute_as, **own
        ).result()

    def execute_async(
        self,
        query: str | Statement | PreparedStatement,
        parameters: Parameters = None,
        trace: bool = False,
        custom_payload: Mapping[str, bytes | None] | None = None,
        timeout: float | Sentinel | None = NOT_SET,
        execution_profile: Any = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Host | EndPoint | str | None = None,
        execute_as: str | None = None,
        row_factory: RowFactory[Row] = OF_PROFILE,
        prefetch: int | None = None,
    ) -> ResponseFuture[Row]:
        """Send *query* and return its :class:`ResponseFuture` at once; ``await`` it, add callbacks, or call its
        ``result()``.

        Parameters as for :meth:`execute`. Errors of the arguments are raised here, all others by the future.
        """
        try:
            if type(query) is PreparedStatement:
                plan: ExecutePlan | None = query._plans.last
                if plan is not None:
                    request: ResponseFuture[Row] | None = plan.send(
                        self, query, parameters, trace, custom_payload, timeout, execution_profile, paging_state, host,
                        execute_as, row_factory, prefetch,
                    )  # fmt: skip
                    if request is not None:
                        return request
            own = of_call(row_factory, prefetch)
            if execute_as:
                custom_payload = {**(custom_payload or {}), "ProxyExecute": execute_as.encode()}
            future = self._builder.build(
                query, parameters, trace, custom_payload, timeout, execution_profile, paging_state, host
            )
        except Exception as error:
            refused(error, query)
            raise
        for name in own or ():
            setattr(future, name, own[name])  # type: ignore[index]
        for listener, args, kwargs in self._listeners.value:
            listener(future, *args, **kwargs)
        if self._tracking is not None:
            self._tracking.observe(future)
        if self._draining:
            future._fail(0, NoHostAvailable(closed_text(self), {}))
        elif (plan := future._execute_plan) is None or not plan.launch(self, future):
            future._execution.sending.send(future, 0)
        return future

    def _execute_with(
        self, statement: Statement, parameters: Parameters, timeout: float | None, row_factory: Callable[..., Any]
    ) -> ResultSet[Any]:
        """Execute one of the driver's own queries, with this row factory instead of the profile's."""
        future = self._builder.build(statement, parameters, False, None, timeout, EXEC_PROFILE_DEFAULT, None, None)
        future.row_factory = row_factory
        future.send_request()
        return future.result()

    def execute_graph(
        self,
        query: Any,
        parameters: Any = None,
        trace: bool = False,
        execution_profile: Any = None,
        execute_as: str | None = None,
    ) -> ResultSet[Any]:
        """Raise UnsupportedOperation: graph queries need DSE Graph, which this driver does not include."""
        raise UnsupportedOperation("Graph queries need a DSE server, which this driver does not support.")

    def execute_graph_async(
        self,
        query: Any,
        parameters: Any = None,
        trace: bool = False,
        execution_profile: Any = None,
        execute_as: str | None = None,
    ) -> ResponseFuture:
        """See :meth:`execute_graph`."""
        raise UnsupportedOperation("Graph queries need a DSE server, which this driver does not support.")

    # ---- preparing

    def prepare(
        self, query: str, custom_payload: Mapping[str, bytes | None] | None = None, keyspace: str | None = None
    ) -> PreparedStatement:
        """Prepare *query* (with ``?`` or ``:name`` markers) on the server and return the statement, ready to bind and
        execute. Prepare once, execute often. *keyspace* (protocol 5) overrides the session's for this statement."""
        return self._preparer.prepare(query, custom_payload, keyspace)

    async def prepare_async(
        self, query: str, custom_payload: Mapping[str, bytes | None] | None = None, keyspace: str | None = None
    ) -> PreparedStatement:
        """Do as :meth:`prepare`, without blocking the running loop."""
        return await self._preparer.prepare_async(query, custom_payload, keyspace)

    def prepare_on_all_hosts(self, query: str, excluded_host: Host | None, keyspace: str | None = None) -> None:
        """Prepare *query* on every other host with a pool; failures are logged, and the statement is prepared there
        when needed."""
        self._preparer.prepare_on_all_hosts(query, excluded_host, keyspace)

    def cached(
        self,
        prepared: PreparedStatement,
        *,
        ttl: float,
        max_bytes: int = DEFAULT_BYTES,
        single_flight: bool = True,
    ) -> CachedStatement:
        """Return a statement that executes *prepared*, a SELECT, and keeps its results in memory.

        :param ttl: seconds for which a result may be used, counted from before its request was sent.
        :param max_bytes: limit of the memory of results and their keys, at least 65536.
        :param single_flight: executions that are equal to one in flight share its response.

        No result hides a write of this session that has ended before; other clients' writes are seen after *ttl*
        seconds at the latest. Results of one page are kept, without warnings. Raises UnsupportedOperation for other
        statements than SELECT, for serial consistency levels, and with column encryption; TypeError and ValueError for
        other arguments. See :doc:`/caching`. Example::

            select = session.prepare("SELECT name FROM users WHERE id = ?")
            name = session.cached(select, ttl=1.0)
            row = name.execute((1,)).one()

        .. versionadded:: 4.0
        """
        return cached(self, prepared, ttl, max_bytes, single_flight)

    # ---- bulk writes and reads

    def ingest(
        self,
        table: str,
        data: IngestSource | Iterable[IngestSource | IngestRow],
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
        round: Literal["error", "floor", "nearest"] = "error",
    ) -> IngestReport:
        """Write the rows of *data* to *table*, ``"table"`` or ``"keyspace.table"``. Conversions are exact; a value that
        its column cannot hold as it is fails its row.

        :param data: a table, record batch or data frame (any object with ``__arrow_c_stream__`` or
            ``__arrow_c_array__``, a DataFrame of pandas, a lazy frame of Polars, a dataset of PyArrow), a mapping of
            column names and arrays or lists, the path of a Parquet, Arrow or CSV file, or a pattern of paths; or an
            iterable of these, and of rows: mappings, named tuples, data classes, and with *columns* tuples. It may be
            endless, and is read no faster than its rows are written.
        :param columns: write these columns of the data; default: all, and one that the table does not have is an error.
            Also the names of the values of rows that are tuples or lists.
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
        :param round: points in time with fractions of a millisecond, for columns of ``timestamp``: "error" refuses
            them, "floor" takes the millisecond before, "nearest" the nearest one, and of two the even one.

        Rows are written again, unchanged, when a node timed out, did not respond or was lost, for up to a minute.
        Raises ValueError, with all mismatches, before the first write, and :exc:`IngestError` when rows have failed;
        exceptions of the source are raised here. ``cassandra.ingest.report_of`` returns, for any exception, Ctrl-C
        too, the rows that were written. Example::

            table = pyarrow.parquet.read_table("orders.parquet")
            report = session.ingest("shop.orders", table)

        .. versionadded:: 4.0
        """
        from cassandra._ingest.run import ingest

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
                round,
            ),
            data,
        )

    async def ingest_async(
        self,
        table: str,
        data: IngestSource | Iterable[IngestSource | IngestRow] | AsyncIterable[IngestSource | IngestRow],
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
        round: Literal["error", "floor", "nearest"] = "error",
    ) -> IngestReport:
        """Do as :meth:`ingest`, without blocking the running loop. *data* may be an asynchronous iterable, too; other
        iterables are iterated on the loop's thread. A cancelled task sends no more rows, and waits briefly for those
        in flight.

        .. versionadded:: 4.0
        """
        from cassandra._ingest.run import ingest_async

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
                round,
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
        round: Literal["error", "floor", "nearest"] = "error",
    ) -> IngestTask:
        """Return an :meth:`ingest` call without its rows, as an object that other processes can call with rows of
        their own: the workers of Dask and Ray, or those of a pool.

        :param connect: a function that the workers can import, or its name, ``"module:function"``, which makes a
            session. Without it each process makes and keeps one, with the addresses of this session.
        :param credentials: such a function, which returns an auth provider, or user and password. These are never
            pickled.

        The other arguments are those of :meth:`ingest`. Example::

            task = session.ingest_task("shop.orders", on_error="collect")
            reports = task.over(frame)  # a dask.dataframe
            print(sum(report.rows for report in reports))

        .. versionadded:: 4.0
        """
        from cassandra._ingest.report import task_for

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
            "round": round,
        }
        return task_for(self, table, connect, credentials, asked)

    def _ingest_options(self, *given: Any) -> Options:
        from cassandra._ingest.sources import Options

        return Options(self, *given)

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
        from cassandra._scan.plan import Options
        from cassandra._scan.scan import Scan
        from cassandra._wire.arrow import ColumnTypes

        return Scan(
            Options(
                self,
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

            select = session.prepare(
                "SELECT at, sensor, value FROM lab.readings "
                "WHERE sensor = ? ORDER BY at DESC"
            )
            newest = session.scan_order(
                select, [(1,), (2,), (3,)], "at", descending=True, limit=100
            ).to_arrow()

        .. versionadded:: 4.0
        """
        from cassandra._scan.ordered import OrderedScan, plan_of
        from cassandra._wire.arrow import ColumnTypes

        return OrderedScan(
            self,
            plan_of(
                self,
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

    # ---- tablets

    def prefetch_tablets(self, keyspace: str, table: str) -> int:
        """Read the replicas of all tablets of *table* (or of a view), so that even the first request for each goes to
        the right node and shard; return the number of tablets.

        Replaces the known tablets of the table, at once. 0 where there are none: the keyspace has no tablets, or the
        server is not ScyllaDB. Later changes are learned from responses as usual. Names are spelled as in
        ``cluster.metadata``, without quotes. Blocks; each page of a few thousand tablets may take
        ``control_connection_timeout`` seconds. Raises DriverException if there is no such table, NoHostAvailable while
        there is no control connection, or the error of the server (``Unauthorized``)::

            for table in ("orders", "customers"):
                session.prefetch_tablets("shop", table)
        """
        self._check_open()
        return refresh.tablets_of(self.cluster, keyspace, table)

    async def prefetch_tablets_async(self, keyspace: str, table: str) -> int:
        """Do as :meth:`prefetch_tablets`, without blocking the running loop."""
        self._check_open()
        return await refresh.tablets_of_async(self.cluster, keyspace, table)

    # ---- profiles

    def _resolve_profile(self, key: Any) -> ResolvedProfile:
        overrides = self._overrides.value
        if key is EXEC_PROFILE_DEFAULT and not overrides:  # nearly always, and twice as fast
            default = self.cluster.profile_manager.profiles[key]
            known = default._resolved
            if known is not None and known[0] == default._version:
                return known[1]
        profile = self.cluster.profile_manager.resolved(key)
        if not overrides or key is not EXEC_PROFILE_DEFAULT:
            return profile
        cached = self._overridden
        if cached is None or cached[0] is not profile or cached[1] is not overrides:
            cached = self._overridden = (profile, overrides, profile.replace(**overrides))
        return cached[2]

    def _router_of(self, policy: LoadBalancingPolicy) -> Router:
        """Return the router of *policy*, created once per policy. The router keeps the policy alive, so its id stays
        unique. At most ROUTERS_KEPT routers are cached, for programs that make one policy per request."""
        router = self._routers.get(id(policy))
        if router is None:
            router = with_load(router_for(policy), self)
            router = self._routers.setdefault(id(policy), router)
            if len(self._routers) > ROUTERS_KEPT:
                self._routers.pop(next(iter(list(self._routers))), None)
        return router

    def get_execution_profile(self, name: Any) -> Any:
        """Return the :class:`ExecutionProfile` added under *name*; raise ValueError if there is none."""
        profiles = self.cluster.profile_manager.profiles
        try:
            return profiles[name]
        except KeyError:
            raise ValueError(f"Invalid execution_profile: {name!r}; valid profiles are {list(profiles)}") from None

    def execution_profile_clone_update(self, ep: Any, **kwargs: Any) -> Any:
        """Return a shallow copy of profile *ep* (or of the one of that name) with attributes replaced."""
        clone = copy(ep if hasattr(ep, "load_balancing_policy") else self.get_execution_profile(ep))
        for name, value in kwargs.items():
            setattr(clone, name, value)
        return clone

    # ---- listeners, user types, keyspace

    def add_request_init_listener(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call ``fn(future, *args, **kwargs)`` for each request before it is sent, on the caller's thread."""
        self._listeners.change(with_item((fn, args, kwargs)))
        self._forget_plans()

    def remove_request_init_listener(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Undo :meth:`add_request_init_listener` with the same arguments."""
        try:
            self._listeners.change(without_item((fn, args, kwargs)))
        except ValueError:
            raise ValueError(f"{fn!r} is not registered with these arguments") from None
        self._forget_plans()

    def user_type_registered(self, keyspace: str, user_type: str, klass: type) -> None:
        """Let the encoder of simple statements write *klass* as a literal of *user_type*."""
        register_encoder(self.encoder, self.cluster.metadata, keyspace, user_type, klass)

    def set_keyspace(self, keyspace: str) -> None:
        """Execute ``USE keyspace`` for this session, on all its connections."""
        self.execute(f"USE {protect_name(keyspace)}")

    def _set_keyspace_for_all_pools(
        self, keyspace: str, on_done: Callable[[Mapping[Host, Any]], None], waiting: set[Host] | None = None
    ) -> None:
        """Set the keyspace on every connection of every pool after a USE; *on_done* gets the errors by host, of all
        hosts. *waiting* holds the hosts that are not updated yet."""
        tell_pools(self._pool_set.use(keyspace), keyspace, on_done, set() if waiting is None else waiting)

    def wait_for_schema_agreement(
        self, wait_time: float | None = None, scope: SchemaAgreementScope = SchemaAgreementScope.CLUSTER
    ) -> bool:
        """Wait until the nodes in *scope* report one schema version; return False when *wait_time* seconds passed
        before. Raise ValueError for an unknown scope and for a wait time that is not positive."""
        return self.cluster.wait_for_schema_agreement(self, wait_time, scope)

    # ---- pools

    @property
    def _pools(self) -> Mapping[Host, HostPool]:
        return self._pool_set.pools

    def add_or_renew_pool(self, host: Host, is_host_addition: bool) -> Future[bool] | None:
        """Open a pool to *host*; for the cluster."""
        return self._pool_set.add_or_renew(host, is_host_addition)

    def remove_pool(self, host: Host) -> bool:
        """Close the pool of *host*; for the cluster."""
        return self._pool_set.remove(host)

    def update_created_pools(self) -> set[Future[bool]]:
        """Open and close pools by host states and distances; for the cluster."""
        return self._pool_set.update()

    def on_down(self, host: Host) -> None:
        """Handle a host that went down: no pool until it is back."""
        self._pool_set.remove(host)
        self.update_created_pools()

    def on_remove(self, host: Host) -> None:
        """Handle a host that left."""
        self._pool_set.forget(host)

    def get_pools(self) -> list[HostPool]:
        """Return the pools of this session."""
        return list(self._pools.values())

    def get_pool_state(self) -> dict[Host, dict[str, Any]]:
        """Return connections, requests in flight, and so on, by host."""
        return {host: pool.state() for host, pool in self._pools.items()}

    # ---- life

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run *fn* on a background thread of the cluster; return a concurrent future."""
        return self.cluster.submit(fn, *args, **kwargs)

    def _check_open(self) -> None:
        if self.is_shutdown or self._draining:
            raise NoHostAvailable(closed_text(self), {})

    def _call_later(self, delay: float, future: ResponseFuture, step: Callable[[], None]) -> Any:
        """Schedule a delayed step of a request; a shutdown fails the requests that wait for one."""
        return self._ending.call_later(delay, future, step)

    def shutdown(self, drain: float | None = None) -> None:
        """Close all connections. Idempotent, callable from any thread.

        With *drain* new requests are rejected from now on, and requests in flight may finish within so many seconds;
        the remaining ones, and without *drain* all, fail. In a callback, on the I/O thread, it does not wait.
        """
        self._ending.end(drain)

    async def shutdown_async(self, drain: float | None = None) -> None:
        """Do as :meth:`shutdown`, without blocking the running loop."""
        await self._ending.end_async(drain)

    __reduce__ = not_copied("it has connections and requests of this process; create one in each process, or share it")

    def __enter__(self: _Session) -> _Session:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()

    async def __aenter__(self: _Session) -> _Session:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.shutdown_async()

    def __del__(self) -> None:
        pools = getattr(self, "_pool_set", None)
        if pools is not None and not self.is_shutdown:
            scheduler.submit(pools.close)


#: The original function: tracers replace it in the class or in an object, programs override or wrap it.
EXECUTE_ASYNC: Any = Session.execute_async


# ---- shutdown, and delayed steps of requests


def _nowhere() -> bool:
    return False


class Ending:
    """Shuts down *session*, and fails the requests that wait for a later step."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open = deque([True])
        self._is_waiting_over = False
        self._delayed: dict[int, weakref.ref[ResponseFuture]] = {}  # by id()

    def call_later(self, delay: float, future: ResponseFuture, step: Callable[[], None]) -> Any:
        """Schedule a delayed step of a request; a shutdown of the session fails the requests that wait for one."""
        session = self._session
        key = id(future)

        def forget(gone: weakref.ref[ResponseFuture]) -> None:
            if self._delayed.get(key) is gone:  # another object may have this address by now
                self._delayed.pop(key, None)

        self._delayed[key] = weakref.ref(future, forget)
        if session.is_shutdown:  # checked last: the shutdown reads the delayed requests after it is set
            raise DriverException(closed_text(session))
        return session.cluster.reactor.call_later(delay, step)

    def delayed(self) -> list[ResponseFuture]:
        """Return the requests that wait for a step, or did."""
        return [future for one in list(self._delayed.values()) if (future := one()) is not None]

    def leave_to_parent(self) -> None:
        """Drop delayed requests in a forked child: they are the parent's."""
        self._delayed.clear()
        self._session._on_io_thread = _nowhere

    # ---- shutdown

    def end(self, limit: float | None) -> None:
        """Implement :meth:`Session.shutdown`."""
        catch_up()
        session = self._session
        if session.is_shutdown:
            return
        if not seconds("drain", limit):
            scheduler.run(self._close)
            return
        session._draining = True
        if session._on_io_thread():
            scheduler.submit(self._drain, limit)
            return
        try:
            scheduler.run(self._drain, limit)
        except BaseException:  # Ctrl-C ends the wait, not the shutdown
            self._is_waiting_over = True
            raise

    async def end_async(self, limit: float | None) -> None:
        """Implement :meth:`Session.shutdown_async`."""
        catch_up()
        session = self._session
        if session.is_shutdown:
            return
        if not seconds("drain", limit):
            await scheduler.run_async(self._close)
            return
        session._draining = True
        await scheduler.run_async(self._drain, limit)

    def _drain(self, limit: float | None) -> None:
        try:
            scheduler.drain(limit or 0.0, lambda: scheduler.busy([self._session]), lambda: self._is_waiting_over)
        finally:
            self._close()

    def _close(self) -> None:
        session = self._session
        if session.is_shutdown:
            return
        try:
            self._open.pop()
        except IndexError:  # another thread shuts it down
            return
        session.is_shutdown = True
        delayed = self.delayed()
        self._is_waiting_over = True
        session._pool_set.close()
        session._on_io_thread = _nowhere  # a reference to the session must not keep a reactor alive
        for future in delayed:
            if future._wait(0.0):
                continue  # its response has arrived
            error = DriverException(closed_text(session))
            future._fail(future._page, error)
        session.cluster.session_closed(session)
