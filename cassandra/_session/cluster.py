"""Cluster: the entry point of applications (cassandra.cluster), and the composition root of the session layer.

L5. :class:`Cluster` has the public names, and components that implement them. A component has one task and its own
owner rules, stated at the head of its file; it refers to the cluster, and through it to the other components::

    ClusterOptions      its base: the table of options      options.py, config.py
    profile_manager     request options, policies           profiles.py
    contacts            resolution of contact points        hosts/contact.py
    _versions           the protocol version in use         hosts/versions.py
    connections         opening connections                 hosts/connections.py
    scheduler           worker threads                      scheduler.py
    reactor             the I/O thread, in ``life``         _core/transport
    metadata            hosts, ring, schema                 _routing/metadata.py
    control_connection  keeps the metadata fresh            control/control.py
    refreshing          refreshes metadata on request       this file
    schema_changes      DDL of the cluster's own sessions   control/schema_changes.py
    topology            the set of hosts                    hosts/topology.py
    membership          host states                         hosts/membership.py, hosts/reconnection.py
    host_commands       host commands of the application    hosts/membership.py
    host_listeners      HostStateListeners                  hosts/membership.py
    prepared            prepared statements by id           prepared.py
    user_types          classes for user types              statements/user_types.py
    encryption          columns that the client encrypts    encryption.py
    sessions            open sessions                       this file
    life                start and shutdown                  life.py

Two strands order the work: the control connection's (reading metadata) and the membership's (acting on it). The first
waits for the second, never the other way round. Locks are held only briefly, and never during a call of another
component.

:class:`SessionSet` is weak and may be read by any thread while others add and drop: each changes the dict by one atomic
operation, because a session may be garbage-collected anywhere. :class:`MetadataRefresh` has no state; its methods are
commands: they block the caller, and raise when the metadata could not be refreshed.

Connecting is one command: the cluster is started (``life.py``), a session is made, its pools are opened, and the
command waits for one of them. If the wait of the caller is interrupted, the command continues, and its session is shut
down.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaTargetType
from cassandra._base.delegation import Attribute, HasDefault, attributes_of, method, take_defaults
from cassandra._base.display import rich_display
from cassandra._base.encryption import ColumnEncryptionPolicy
from cassandra._base.errors import DriverException, NoHostAvailable, OperationTimedOut
from cassandra._base.objects import not_copied, public
from cassandra._base.process import AutoResetEvent
from cassandra._base.real import Future
from cassandra._base.versions import seconds
from cassandra._core.memory import MemoryPool
from cassandra._core.transport import CacheTotals, Reactor
from cassandra._routing.host import Host
from cassandra._routing.metadata import Metadata
from cassandra._session.control.control import ControlConnection
from cassandra._session.control.queries import UNBOUNDED
from cassandra._session.control.schema_changes import SchemaAgreementScope, SchemaChanges, wait_in_session
from cassandra._session.hosts.connections import ConnectionFactory
from cassandra._session.hosts.contact import ContactPoints
from cassandra._session.hosts.membership import HostCommands, Listeners, Membership
from cassandra._session.hosts.topology import TopologyUpdater
from cassandra._session.hosts.versions import VersionInUse, Versions
from cassandra._session.request.completion import falls_back
from cassandra._session.statements.statement import NOT_SET, Sentinel
from cassandra._session.statements.user_types import RegisteredTypes

from . import config, forks, scheduler
from .config import ControlConnectionQueryFallback, ShardAwareOptions
from .display import cluster_tables, cluster_text
from .encryption import ColumnEncryption
from .life import Life
from .options import OPTIONS, ClusterOptions, set_by_constructor
from .prepared import PreparedRegistry
from .profiles import ProfileManager
from .scheduler import Scheduler, command
from .session import Session

if TYPE_CHECKING:
    import ssl

    from cassandra._base.names import UserAggregateDescriptor, UserFunctionDescriptor
    from cassandra._net.auth import AuthProvider
    from cassandra._net.client_routes import ClientRoutesConfig
    from cassandra._net.endpoint import EndPoint, EndPointFactory
    from cassandra._net.handshake import ApplicationInfoBase
    from cassandra._net.pool import HostPool
    from cassandra._routing.policies import (
        AddressTranslator,
        ConvictionPolicy,
        LoadBalancingPolicy,
        ReconnectionPolicy,
        RetryPolicy,
    )
    from cassandra._session.request.observers import RequestTracker

    from .metrics import Metrics
    from .profiles import ExecutionProfile

# ---- sessions of a cluster


class SessionSet:
    """A set of weakly held sessions."""

    def __init__(self) -> None:
        self._sessions: dict[int, weakref.ref[Session]] = {}  # by id()

    def add(self, session: Session) -> None:
        """Keep *session* while it is referenced elsewhere."""
        key = id(session)

        def forget(gone: weakref.ref[Session]) -> None:
            if self._sessions.get(key) is gone:  # another object may have this address by now
                self._sessions.pop(key, None)

        self._sessions[key] = weakref.ref(session, forget)

    def discard(self, session: Session) -> None:
        """Remove *session*, if it is in the set."""
        known = self._sessions.get(id(session))
        if known is not None and known() is session:
            self._sessions.pop(id(session), None)

    def pools(self) -> list[HostPool]:
        """Return the pools of all sessions."""
        return [pool for session in self for pool in session.get_pools()]

    def __iter__(self) -> Iterator[Session]:
        return iter([session for one in list(self._sessions.values()) if (session := one()) is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, session: object) -> bool:
        return any(one is session for one in self)


def shard_stats(pools: Iterable[HostPool]) -> dict[str, dict[str, int]]:
    """Return shards and open connections by host."""
    stats: dict[str, dict[str, int]] = {}
    for pool in pools:
        sharding = pool.host.sharding_info
        known = stats.setdefault(str(pool.host.endpoint), {"shards_count": 0, "connected": 0})
        known["shards_count"] = sharding.shards_count if sharding is not None else 1
        known["connected"] += pool.open_count
    return stats


# ---- refresh of metadata on request


class MetadataRefresh:
    """Refreshes metadata through the control connection of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @command
    def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        """Read the node list and the tokens now; *force_token_rebuild* rebuilds the ring even if no token changed."""
        self.check_connected()
        try:
            self._cluster.control_connection.refresh_node_list_and_token_map(force_token_rebuild)
        except Exception as error:
            raise DriverException(f"Node list was not refreshed: {error}") from error

    def refresh_schema_metadata(self, max_schema_agreement_wait: float | None = None) -> None:
        """Read the whole schema now, once the nodes agree on it.

        *max_schema_agreement_wait* overrides the cluster's; 0 does not wait for agreement.
        """
        self._refresh("Schema", max_schema_agreement_wait)

    def refresh_keyspace_metadata(self, keyspace: str, max_schema_agreement_wait: float | None = None) -> None:
        """Read the settings of *keyspace* (not its tables and types)."""
        self._refresh("Keyspace", max_schema_agreement_wait, SchemaTargetType.KEYSPACE, keyspace)

    def refresh_table_metadata(self, keyspace: str, table: str, max_schema_agreement_wait: float | None = None) -> None:
        """Read *table* with its columns, indexes and triggers."""
        self._refresh("Table", max_schema_agreement_wait, SchemaTargetType.TABLE, keyspace, table)

    def refresh_materialized_view_metadata(
        self, keyspace: str, view: str, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the materialized view *view*."""
        self._refresh("View", max_schema_agreement_wait, SchemaTargetType.TABLE, keyspace, view)

    def refresh_user_type_metadata(
        self, keyspace: str, user_type: str, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the user type *user_type*."""
        self._refresh("User Type", max_schema_agreement_wait, SchemaTargetType.TYPE, keyspace, user_type)

    def refresh_user_function_metadata(
        self, keyspace: str, function: UserFunctionDescriptor, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the function of this name and argument types (a :class:`cassandra.UserFunctionDescriptor`)."""
        self._refresh("User Function", max_schema_agreement_wait, SchemaTargetType.FUNCTION, keyspace, function)

    def refresh_user_aggregate_metadata(
        self, keyspace: str, aggregate: UserAggregateDescriptor, max_schema_agreement_wait: float | None = None
    ) -> None:
        """Read the aggregate of this name and argument types (a :class:`cassandra.UserAggregateDescriptor`)."""
        self._refresh("User Aggregate", max_schema_agreement_wait, SchemaTargetType.AGGREGATE, keyspace, aggregate)

    @command
    def _refresh(
        self, what: str, wait: float | None, kind: str | None = None, keyspace: str | None = None, subject: Any = None
    ) -> None:
        self.check_connected()
        seconds("max_schema_agreement_wait", wait, negative=True)
        target: dict[str, Any] = {}
        if kind is not None:
            target = {"target_type": kind, "keyspace": keyspace, kind.lower(): subject or keyspace}
        try:
            agreed = self._cluster.control_connection.refresh_schema(force=True, schema_agreement_wait=wait, **target)
        except Exception as error:
            raise DriverException(f"{what} metadata was not refreshed: {error}") from error
        if not agreed:
            raise DriverException(f"{what} metadata was read from one node, but the nodes do not agree on the schema")

    def check_connected(self) -> None:
        """Raise DriverException where metadata cannot be read: not connected, or the caller may not block."""
        if self._cluster.is_shutdown:
            raise DriverException("Cluster is already shut down")
        if not self._cluster.control_connection.has_connected:
            raise DriverException("Cluster is not connected yet: call connect() first")
        self._cluster.life.refuse_to_block()


# ---- the cluster


@public("cassandra.cluster")
@rich_display(cluster_tables, cluster_text)
class Cluster(ClusterOptions):
    """A cluster of nodes; makes :class:`Session` objects by :meth:`connect`.

    Use one object per application and cluster of servers: all its sessions share the metadata and the threads.
    Example::

        with Cluster(["10.0.0.1", "10.0.0.2"]) as cluster:
            session = cluster.connect("app")

    and in asyncio ``async with Cluster([...]) as cluster: session = await cluster.connect_async("app")``.

    All parameters are optional. Their names, by subject:

    * contact and discovery: *contact_points*, *port*, *endpoint_factory*, *address_translator*,
      *client_routes_config*, *cloud*
    * protocol and connections: *protocol_version*, *allow_beta_protocol_version*, *compression*, *cql_version*,
      *no_compact*, *sockopts*, *shard_aware_options*, *connection_class*, *application_info*,
      *driver_config_reporting_enabled*
    * security: *auth_provider*, *ssl_context*, *ssl_options*, *ssl_session_cache*, *allowed_addresses*,
      *verify_host_ids*, *allowed_authenticators*, *security_warnings*, *column_encryption_policy*
    * timeouts and heartbeats, in seconds: *connect_timeout*, *control_connection_timeout*,
      *metadata_request_timeout*, *idle_heartbeat_interval*, *idle_heartbeat_timeout*
    * requests: *execution_profiles*, *timestamp_generator*, *prepare_on_all_hosts*, *reprepare_on_up*,
      *reprepare_rate*, *reprepare_window*, *allow_control_connection_query_fallback*; legacy:
      *load_balancing_policy*, *default_retry_policy*
    * binding: *strict_binding*
    * monitoring: *request_tracker*, *slow_request_threshold*, *metrics_enabled*
    * limits: *max_requests_per_connection*, *max_requests_per_host*, *max_requests_per_session*,
      *adaptive_concurrency*, *retry_budget*, *max_request_wait*, *max_waiting_requests*, *max_response_bytes*
    * hosts: *reconnection_policy*, *conviction_policy_factory*, *connection_rate*
    * metadata: *max_schema_agreement_wait*, *schema_metadata_enabled*, *token_metadata_enabled*,
      *schema_metadata_page_size*, *schema_event_refresh_window*, *topology_event_refresh_window*,
      *status_event_refresh_window*
    * threads and memory: *executor_threads*, *memory_pool*

    :ref:`cluster-options` has type, default and meaning of each. Invalid values raise TypeError or ValueError, and
    *scylla_cloud* NotImplementedError.
    """

    # ---- protocol and connections

    protocol_version: Attribute[int] = VersionInUse("_versions", Versions, "in_use")
    """Version of the native protocol to begin with, or the one in use. Default: the highest that all nodes support."""

    # ---- security

    column_encryption_policy: Attribute[ColumnEncryptionPolicy | None] = Attribute(
        "encryption", ColumnEncryption, "policy", default=None
    )
    """The columns that the client encrypts: a :class:`~cassandra.policies.ColumnEncryptionPolicy`. See
    :doc:`/encryption`."""

    # ---- requests

    @property
    def execution_profiles(self) -> Mapping[Any, ExecutionProfile]:
        """Options of requests: an :class:`ExecutionProfile` for each name. Requests without a name use that of
        :data:`EXEC_PROFILE_DEFAULT`. As an attribute, all profiles; :meth:`add_execution_profile` adds one."""
        return self.profile_manager.profiles

    load_balancing_policy: Attribute[LoadBalancingPolicy] = Attribute("profile_manager", ProfileManager)
    """Legacy: the load balancing policy of the default profile. ValueError together with *execution_profiles*."""
    default_retry_policy: Attribute[RetryPolicy] = Attribute("profile_manager", ProfileManager)
    """Legacy: the retry policy of the default profile. ValueError together with *execution_profiles*."""

    # ---- state

    connect_to_remote_hosts: Attribute[bool] = Attribute("profile_manager", ProfileManager)
    """False opens no connections to hosts that the policies call REMOTE. Set it before connecting; True by default."""
    is_shutdown: bool = False
    """True after :meth:`shutdown`."""
    profile_manager: ProfileManager = set_by_constructor()
    """The execution profiles."""
    metadata: Metadata = set_by_constructor()
    """Hosts, token ring and schema; empty before :meth:`connect`, which reads them. See :doc:`/api/metadata`."""
    control_connection: ControlConnection = set_by_constructor()
    """The connection that keeps the metadata up to date."""
    sessions: SessionSet
    """The open sessions; iterable."""
    scheduler: Scheduler = set_by_constructor()
    """Worker threads; the same object as :attr:`executor`."""
    executor: Scheduler = set_by_constructor()
    """Worker threads, with the ``submit`` of an executor."""
    metrics: Metrics | None = None
    """Counts of requests, errors and connections, a :class:`~cassandra.metrics.Metrics`, if *metrics_enabled*."""
    _version_blocks: bool = False  # supported by the control connection's node, and most probably by all
    _metadata_ids: bool = False  # True if that node has metadata ids of ScyllaDB

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Use plain attributes of a subclass as defaults of the options."""
        super().__init_subclass__(**kwargs)
        take_defaults(cls, Cluster, DEFAULTS)

    def __init__(
        self,
        contact_points: Any = NOT_SET,
        port: int = 9042,
        compression: bool | str | None = True,
        auth_provider: AuthProvider | None = None,
        load_balancing_policy: LoadBalancingPolicy | None = None,
        reconnection_policy: ReconnectionPolicy | None = None,
        default_retry_policy: RetryPolicy | None = None,
        conviction_policy_factory: Callable[..., ConvictionPolicy] | None = None,
        metrics_enabled: bool = False,
        connection_class: Any = None,
        ssl_options: Mapping[str, Any] | None = None,
        sockopts: Sequence[tuple[int, int, int | bytes]] | None = None,
        cql_version: str | None = None,
        protocol_version: int | Sentinel = NOT_SET,
        executor_threads: int = 2,
        max_schema_agreement_wait: float = 10,
        control_connection_timeout: float | None = 2.0,
        idle_heartbeat_interval: float | None = 30,
        schema_event_refresh_window: float = 2,
        topology_event_refresh_window: float = 10,
        connect_timeout: float | None = 5,
        schema_metadata_enabled: bool = True,
        token_metadata_enabled: bool = True,
        schema_metadata_page_size: int = 1000,
        address_translator: AddressTranslator | None = None,
        status_event_refresh_window: float = 2,
        prepare_on_all_hosts: bool = True,
        reprepare_on_up: bool = True,
        execution_profiles: Mapping[Any, ExecutionProfile] | None = None,
        allow_beta_protocol_version: bool = False,
        timestamp_generator: Callable[[], int] | None = None,
        idle_heartbeat_timeout: float = 30,
        no_compact: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        endpoint_factory: EndPointFactory | None = None,
        cloud: Any = None,
        scylla_cloud: Any = None,
        shard_aware_options: ShardAwareOptions | Mapping[str, Any] | None = None,
        metadata_request_timeout: float | None = None,
        column_encryption_policy: ColumnEncryptionPolicy | None = None,
        application_info: ApplicationInfoBase | None = None,
        client_routes_config: ClientRoutesConfig | None = None,
        allow_control_connection_query_fallback: ControlConnectionQueryFallback | None = (
            ControlConnectionQueryFallback.Disabled
        ),
        driver_config_reporting_enabled: bool = True,
        ssl_session_cache: Any = NOT_SET,
        memory_pool: MemoryPool | None = None,
        max_requests_per_connection: int | None = None,
        max_requests_per_host: int | None = None,
        max_requests_per_session: int | None = None,
        max_request_wait: float | None = None,
        max_waiting_requests: int = 32768,
        request_tracker: RequestTracker | None = None,
        slow_request_threshold: float | None = None,
        allowed_addresses: Iterable[Any] | None = None,
        allowed_authenticators: Iterable[str] | None = None,
        security_warnings: bool = True,
        max_response_bytes: int | None = None,
        strict_binding: bool = False,
        verify_host_ids: bool = True,
        reprepare_rate: float | None = 10,
        reprepare_window: float | None = 300,
        connection_rate: float | None = 25,
        adaptive_concurrency: bool = False,
        retry_budget: float | None = None,
    ) -> None:
        given = locals()
        take_defaults(type(self), Cluster, DEFAULTS)
        config.refuse("scylla_cloud", scylla_cloud, "ScyllaDB Cloud no longer offers it; use contact_points")
        self._set_options(given)
        self.profile_manager = ProfileManager.from_options(
            self, execution_profiles, load_balancing_policy, default_retry_policy
        )
        self._versions = Versions(self)
        self._versions.begin(protocol_version, type(self).protocol_version)
        self._use_cloud(given)
        self.endpoint_factory.configure(self)
        self._build()
        self.encryption.begin(column_encryption_policy, type(self).column_encryption_policy)

    def _build(self) -> None:
        self.contacts = ContactPoints(self)
        self.connections = ConnectionFactory(self)
        self.metadata = Metadata()
        self.sessions = SessionSet()
        self.user_types = RegisteredTypes(self)
        self.type_context = self.user_types.context
        self.prepared = PreparedRegistry()
        self.encryption = ColumnEncryption(self)
        self.scheduler = self.executor = Scheduler(self.executor_threads)
        self.host_listeners = Listeners(self.scheduler)
        self.membership = Membership(self)
        self.topology = TopologyUpdater(self)
        self.host_commands = HostCommands(self)
        self.schema_changes = SchemaChanges(self)
        self.refreshing = MetadataRefresh(self)
        self.control_connection = ControlConnection(
            self,
            self.control_connection_timeout,
            self.schema_event_refresh_window,
            self.topology_event_refresh_window,
            self.status_event_refresh_window,
        )
        self.life = Life(self)
        self._cache_totals = CacheTotals()
        forks.watch(self)
        if self.metrics_enabled:
            from .metrics import Metrics

            self.metrics = Metrics(weakref.proxy(self))

    # ---- connecting

    endpoints_resolved: Attribute[list[EndPoint]] = Attribute("contacts", ContactPoints)
    """Endpoints of the contact points, with names resolved."""
    connection_factory = method("connections", ConnectionFactory.open_blocking)
    protocol_downgrade = method("_versions", Versions.lower)

    def connect(self, keyspace: str | None = None, wait_for_all_pools: bool = False) -> Session:
        """Connect, and return a session that uses *keyspace*.

        Returns when the session is connected to a host, or with *wait_for_all_pools* when it tried all. Raises
        :exc:`NoHostAvailable` with an error per host, :exc:`UnresolvableContactPoints`, :exc:`DriverException` after a
        shutdown. If the first connect reaches no node, the cluster is shut down.
        """
        return connect(self, keyspace, wait_for_all_pools)

    async def connect_async(self, keyspace: str | None = None, wait_for_all_pools: bool = False) -> Session:
        """Do as :meth:`connect`, without blocking the running loop.

        .. versionadded:: 4.0
        """
        return await connect_async(self, keyspace, wait_for_all_pools)

    @property
    def reactor(self) -> Reactor:
        """The I/O thread; made by the first connect."""
        return self.life.running()

    # ---- metadata

    refresh_nodes = method("refreshing", MetadataRefresh.refresh_nodes)
    refresh_schema_metadata = method("refreshing", MetadataRefresh.refresh_schema_metadata)
    refresh_keyspace_metadata = method("refreshing", MetadataRefresh.refresh_keyspace_metadata)
    refresh_table_metadata = method("refreshing", MetadataRefresh.refresh_table_metadata)
    refresh_materialized_view_metadata = method("refreshing", MetadataRefresh.refresh_materialized_view_metadata)
    refresh_user_type_metadata = method("refreshing", MetadataRefresh.refresh_user_type_metadata)
    refresh_user_function_metadata = method("refreshing", MetadataRefresh.refresh_user_function_metadata)
    refresh_user_aggregate_metadata = method("refreshing", MetadataRefresh.refresh_user_aggregate_metadata)

    # ---- hosts

    listeners: Attribute[set[Any]] = Attribute("host_listeners", Listeners)
    """The registered :class:`~cassandra.policies.HostStateListener` objects; a copy."""
    register_listener = method("host_listeners", Listeners.add)
    unregister_listener = method("host_listeners", Listeners.remove)
    on_up = method("host_commands", HostCommands.on_up)
    on_down = method("host_commands", HostCommands.on_down)
    on_add = method("host_commands", HostCommands.on_add)
    on_remove = method("host_commands", HostCommands.on_remove)
    on_down_potentially_blocking = method("host_commands", HostCommands.on_down_potentially_blocking)
    add_host = method("host_commands", HostCommands.add_host)
    remove_host = method("host_commands", HostCommands.remove_host)
    get_control_connection_host = method("control_connection", ControlConnection.host)
    is_shard_aware = method("control_connection", ControlConnection.is_shard_aware)
    get_all_pools = method("sessions", SessionSet.pools)

    def signal_connection_failure(
        self,
        host: Host,
        connection_exc: BaseException,
        is_host_addition: bool = False,
        expect_host_to_be_down: bool = False,
    ) -> bool:
        """Handle a lost connection to *host*, or one that could not be opened; return True if the conviction policy
        considers the host down. Never blocks."""
        if self.metrics is not None:
            self.metrics.connection_failed(host)
        return self.membership.failed(host, connection_exc, expect_host_to_be_down)

    def get_connection_holders(self) -> list[HostPool | ControlConnection]:
        """Return all objects that hold connections: the pools and the control connection."""
        return [*self.get_all_pools(), self.control_connection]

    def shard_aware_stats(self) -> dict[str, dict[str, int]] | None:
        """Return shards and open connections by host; None for servers without shards."""
        return shard_stats(self.get_all_pools()) if self.is_shard_aware() else None

    # ---- prepared statements, user types, profiles

    add_prepared = method("prepared", PreparedRegistry.add)
    get_prepared = method("prepared", PreparedRegistry.get)
    register_user_type = method("user_types", RegisteredTypes.register)

    def add_execution_profile(self, name: Any, profile: ExecutionProfile, pool_wait_timeout: float | None = 5) -> None:
        """Add a profile to a running cluster, and open the pools it needs.

        Waits at most *pool_wait_timeout* seconds for them, then raises :exc:`OperationTimedOut`; the profile stays.
        None does not wait. ValueError for a name in use, or when legacy parameters were set.
        """
        seconds("pool_wait_timeout", pool_wait_timeout, negative=True)
        scheduler.run(self._add_execution_profile, name, profile, pool_wait_timeout)

    def _add_execution_profile(self, name: Any, profile: ExecutionProfile, pool_wait_timeout: float | None) -> None:
        self.profile_manager.check_new(name, profile)
        opened = AutoResetEvent()
        self.membership.strand.call(self._add_profile, name, profile)
        opening = {future for session in self.sessions for future in session.update_created_pools()}
        if pool_wait_timeout is not None and not wait_until_open(opening, opened, pool_wait_timeout):
            hosts = f"Failed to create all new connection pools in the {pool_wait_timeout}s timeout."
            raise OperationTimedOut({str(name): hosts})

    def _add_profile(self, name: Any, profile: ExecutionProfile) -> None:
        """Run on the membership's strand, so that no host state change is missed."""
        self.profile_manager.add(name, profile, self, self.metadata.all_hosts())
        self.membership.retry_ignored_hosts()

    # ---- for sessions

    submit = method("scheduler", Scheduler.submit)
    session_closed = method("sessions", SessionSet.discard)
    handle_schema_change = method("schema_changes", SchemaChanges.handle)

    def wait_for_schema_agreement(self, session: Session, wait_time: float | None, scope: SchemaAgreementScope) -> bool:
        """Body of :meth:`Session.wait_for_schema_agreement`."""
        seconds("wait_time", wait_time, negative=True)
        self.life.refuse_to_block()
        return scheduler.run(wait_in_session, session, wait_time, scope, self.max_schema_agreement_wait)

    # ---- the end

    def shutdown(self, drain: float | None = None) -> None:
        """Close all sessions and connections. Idempotent, bounded, from any thread, callbacks included.

        With *drain* new requests are rejected from now on, and requests in flight (retries and agreement on schema
        changes included) may finish within so many seconds; the remaining ones, and without *drain* all, fail. In a
        callback, on the I/O thread, it does not wait.

        A connected cluster lives until this is called or the process exits: its threads refer to it, so that it keeps
        its connections even when the program has no reference to it.
        """
        self.life.stop(drain=seconds("drain", drain) or 0.0)

    async def shutdown_async(self, drain: float | None = None) -> None:
        """Do as :meth:`shutdown`, without blocking the running loop.

        .. versionadded:: 4.0
        """
        await self.life.stop_async(seconds("drain", drain) or 0.0)

    __reduce__ = not_copied("it has threads and connections of this process; create one in each process, or share it")

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.shutdown_async()


DEFAULTS: dict[str, HasDefault] = {**OPTIONS, **attributes_of(ClusterOptions), **attributes_of(Cluster)}


# ---- connecting a session


def connect(cluster: Cluster, keyspace: str | None, wait_for_all_pools: bool) -> Session:
    """Implement :meth:`Cluster.connect`."""
    cluster.life.refuse_to_block()
    _load(cluster)
    return scheduler.run(_connect, cluster, keyspace, wait_for_all_pools, undo=_undo)


async def connect_async(cluster: Cluster, keyspace: str | None, wait_for_all_pools: bool) -> Session:
    """Implement :meth:`Cluster.connect_async`."""
    _load(cluster)
    return await scheduler.run_async(_connect, cluster, keyspace, wait_for_all_pools, undo=_undo)


def _load(cluster: Cluster) -> None:
    """Load modules. Runs on the caller's thread, because it imports."""
    if not cluster.life.is_started:
        cluster.connections.load()


def _undo(session: Session) -> None:
    session.shutdown()


def _connect(cluster: Cluster, keyspace: str | None, wait_for_all_pools: bool) -> Session:
    """Start the cluster and make a session. On a driver thread."""
    started, opened = AutoResetEvent(), AutoResetEvent()
    try:
        started.result(cluster.life.start())
    except CancelledError:
        raise DriverException("The cluster was shut down") from None
    session = new_session(cluster, keyspace)
    try:
        await_pools(session, session.update_created_pools(), wait_for_all_pools, opened)
    except BaseException:
        session.shutdown()
        raise
    return session


def new_session(cluster: Cluster, keyspace: str | None) -> Session:
    """Return a session of a started cluster; it has no pools yet."""
    session: Any = Session.__new__(Session)
    session._by_connect = True
    session.__init__(cluster, cluster.metadata.all_hosts(), keyspace or None)  # tracers wrap the attribute
    cluster.sessions.add(session)
    if cluster.is_shutdown or cluster.life.is_draining:
        session.shutdown()
        raise DriverException("Cluster is already shut down")
    set_by_constructor: Session = session
    return set_by_constructor


def await_pools(session: Session, opening: Collection[Future[bool]], wait_for_all: bool, event: AutoResetEvent) -> None:
    timeout = session.cluster.connect_timeout
    # Pools have time limits of their own; this is a second safeguard.
    limit = 2 * (UNBOUNDED if timeout is None else timeout) + 5.0
    wait_until_open(opening, event, limit, lambda: not wait_for_all and bool(session._pools))
    check_pools(session)


def wait_until_open(
    opening: Collection[Future[bool]], event: AutoResetEvent, limit: float, enough: Callable[[], bool] = lambda: False
) -> bool:
    """Wait until all pools are open or have failed, or *enough* returns True; return False if that takes longer than
    *limit*."""
    deadline = monotonic() + limit
    for future in opening:
        future.add_done_callback(event.set)
    while not (enough() or all(future.done() for future in opening)):
        if not event.wait(deadline - monotonic()):
            return False
    return True


def check_pools(session: Session) -> None:
    """Raise NoHostAvailable if no pool of *session* could be opened, and requests cannot use the control connection."""
    if session._pools or falls_back(session.cluster):
        return
    if session.cluster.is_shutdown:
        raise DriverException("The cluster was shut down while it was connecting")
    using = f" using keyspace '{session.keyspace}'" if session.keyspace else ""
    raise NoHostAvailable(f"Unable to connect to any servers{using}", session._pool_set.reasons())
