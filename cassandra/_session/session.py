"""Session: executes statements of applications (cassandra.cluster).

L5. Shared by all threads and loops of an application. Resolves profile and statement into one message, and passes it to
a ResponseFuture; pools are managed by :class:`~cassandra._session.pools.PoolSet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from cassandra._base.errors import NoHostAvailable, UnsupportedOperation
from cassandra._base.names import protect_name
from cassandra._base.objects import not_copied, public
from cassandra._base.real import Future
from cassandra._core.routing import SessionFields
from cassandra._routing.policies.router import Router, router_for
from cassandra._wire.handlers import ProtocolHandler

from .background import commands
from .bulk import Bulk
from .cluster.profiles import EXEC_PROFILE_DEFAULT, ResolvedProfile
from .control import prefetch
from .control.agreement import SchemaAgreementScope
from .ending import Ending
from .own_options import OF_PROFILE, of_call, of_caller, profile_option
from .pools import PoolSet, tell_pools
from .request.future import ResponseFuture
from .request.measured import measured
from .request.preparing import Preparer
from .request.repreparing import Repreparing
from .request.requests import RequestBuilder
from .request.result import ResultSet
from .request.row_types import Row, RowFactory
from .request.sending import closed_text
from .statements.prepared import PreparedStatement
from .statements.sentinels import NOT_SET, Sentinel
from .statements.statements import Statement, new_encoder
from .statements.usertypes import register_encoder

if TYPE_CHECKING:
    from cassandra._core.transport import Lane
    from cassandra._net.endpoint import EndPoint
    from cassandra._net.pool import HostPool
    from cassandra._routing.host import Host
    from cassandra._routing.policies import LoadBalancingPolicy
    from cassandra._wire.encoder import Encoder

    from .cluster.cluster import Cluster
    from .cluster.encryption import ColumnEncryption
    from .request.tracking import Tracking

_Session = TypeVar("_Session", bound="Session")
Parameters = Sequence[Any] | Mapping[str, Any] | None


#: Settings that do not invalidate compiled requests of prepared statements, see compiled.py. Setting any other
#: attribute of a session begins a new settings epoch, so a new setting needs no entry here.
NOT_COMPILED_IN = frozenset(("_overridden", "_scope", "max_trace_wait"))


#: Limit of policies of a session with a cached router.
ROUTERS_KEPT = 64


def _tracking_of(cluster: Cluster) -> Tracking | None:
    if cluster.request_tracker is None and cluster.slow_request_threshold is None:
        return None
    from .request.tracking import Tracking  # most programs do not need it

    return Tracking(cluster.request_tracker, cluster.slow_request_threshold)


@public("cassandra.cluster")
class Session(Bulk, SessionFields):
    """Executes statements; made by :meth:`Cluster.connect`. One per application and keyspace is enough.

    All methods may be called from any thread. Example::

        session = Cluster(["127.0.0.1"]).connect("app")
        row = session.execute("SELECT name FROM users WHERE id = %s", (1,)).one()
    """

    hosts: Iterable[Host]
    keyspace: str | None = None
    is_shutdown: bool = False
    max_trace_wait: float = 2.0
    default_fetch_size: int | None = 5000
    use_client_timestamp: bool = True
    client_protocol_handler: Any = ProtocolHandler

    _default_protocol_handler: Any = ProtocolHandler
    _pool_set: PoolSet
    _by_connect = False  # made by Cluster.connect, which opens its pools
    _draining = False  # new requests are rejected
    _encryption: ColumnEncryption | None = None  # of the cluster
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
        if name not in NOT_COMPILED_IN:
            super().__setattr__("_scope", object())

    def _forget_compiled(self) -> None:
        """Compile requests of prepared statements anew."""
        super().__setattr__("_scope", object())

    def __init__(self, cluster: Cluster, hosts: Iterable[Host], keyspace: str | None = None) -> None:
        self.cluster = cluster
        self.hosts = hosts
        self.keyspace = keyspace
        self._encryption = getattr(cluster, "encryption", None)  # mocks of clusters have none
        self._version_blocks = cluster.version_blocks
        self._metadata_ids = cluster.metadata_ids
        self._protocol_version = cluster.protocol_version
        self.session_id = uuid4()
        self.timestamp_generator: Callable[[], int] | None = cluster.timestamp_generator
        self._reactor = cluster.reactor
        self._on_io_thread: Callable[[], bool] = cluster.reactor.in_reactor
        self._ending = Ending(self)
        self._overrides: dict[str, Any] = {}
        #: The default profile, its overrides, and the resulting profile.
        self._overridden: tuple[ResolvedProfile, dict[str, Any], ResolvedProfile] | None = None
        self._routers: dict[int, Router] = {}
        self._tracking = _tracking_of(cluster)
        self._listeners: tuple[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]], ...] = ()
        self._pool_set = PoolSet(self)
        self._builder = RequestBuilder(self)
        self._preparer = Preparer(self)
        self._repreparing = Repreparing()
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
        if type(query) is PreparedStatement:
            lane: Lane | None = query._compiled.lane
            if lane is not None:
                request: ResponseFuture[Row] | None = lane.send(
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
        for name in own or ():
            setattr(future, name, own[name])  # type: ignore[index]
        for listener, args, kwargs in self._listeners:
            listener(future, *args, **kwargs)
        if self._tracking is not None:
            self._tracking.begin(future)
        if self._draining:
            future._fail(0, NoHostAvailable(closed_text(self), {}))
        elif (compiled := future._compiled) is None or not compiled.launch(self, future):
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
        return prefetch.tablets_of(self.cluster, keyspace, table)

    async def prefetch_tablets_async(self, keyspace: str, table: str) -> int:
        """Do as :meth:`prefetch_tablets`, without blocking the running loop."""
        self._check_open()
        return await prefetch.tablets_of_async(self.cluster, keyspace, table)

    # ---- profiles

    def _resolve_profile(self, key: Any) -> ResolvedProfile:
        if key is EXEC_PROFILE_DEFAULT and not self._overrides:  # nearly always, and twice as fast
            default = self.cluster.profile_manager.profiles[key]
            known = default._resolved
            if known is not None and known[0] == default._version:
                return known[1]
        profile = self.cluster.profile_manager.resolved(key)
        if not self._overrides or key is not EXEC_PROFILE_DEFAULT:
            return profile
        overrides, cached = self._overrides, self._overridden
        if cached is None or cached[0] is not profile or cached[1] is not overrides:
            cached = self._overridden = (profile, overrides, profile.replace(**overrides))
        return cached[2]

    def _router_of(self, policy: LoadBalancingPolicy) -> Router:
        """Return the router of *policy*, created once per policy. The router keeps the policy alive, so its id stays
        unique. At most ROUTERS_KEPT routers are cached, for programs that make one policy per request."""
        router = self._routers.get(id(policy))
        if router is None:
            router = measured(router_for(policy), self)
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
        self._listeners = (*self._listeners, (fn, args, kwargs))

    def remove_request_init_listener(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Undo :meth:`add_request_init_listener` with the same arguments."""
        entry = (fn, args, kwargs)
        if entry not in self._listeners:
            raise ValueError(f"{fn!r} is not registered with these arguments")
        remaining = list(self._listeners)
        remaining.remove(entry)
        self._listeners = tuple(remaining)

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
            commands.submit(pools.close)


#: The original function: tracers replace it in the class or in an object, programs override or wrap it.
EXECUTE_ASYNC: Any = Session.execute_async
