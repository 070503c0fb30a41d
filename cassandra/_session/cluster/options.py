"""The options of a cluster: the constructor's 46 parameters, checked and kept as attributes group by group.

L5. Base of :class:`Cluster`. Attributes are read when they are used, so that setting one later
(``cluster.connect_timeout = 3``) acts on what happens from then on. Request options exist twice in the public API: as
*legacy* attributes of cluster and session, and in execution profiles (``_mode``): profiles given to the constructor
exclude legacy attributes, and a legacy attribute that was set excludes adding profiles.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from cassandra._base.constants import ProtocolVersion
from cassandra._core.memory import MemoryPool
from cassandra._net.client_routes import ClientRoutes, ClientRoutesConfig, ClientRoutesEndPointFactory
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPointFactory, EndPointFactory
from cassandra._net.handshake.application import ApplicationInfoBase
from cassandra._net.handshake.auth import AuthProvider
from cassandra._net.handshake.options import MAX_REQUESTS, ConnectionOptions
from cassandra._net.tls.sessions import SSLSessionCache
from cassandra._routing.policies import (
    AddressTranslator,
    ConvictionPolicy,
    ExponentialReconnectionPolicy,
    IdentityTranslator,
    LoadBalancingPolicy,
    ReconnectionPolicy,
    RetryPolicy,
    SimpleConvictionPolicy,
)

from ..statements.sentinels import NOT_SET, Sentinel
from ..statements.timestamps import MonotonicTimestampGenerator
from . import config
from .config import ConfigMode, ControlConnectionQueryFallback, ShardAwareOptions
from .profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile, ProfileManager, default_lbp_factory

if TYPE_CHECKING:
    import ssl

    from ..request.tracking import RequestTracker


def made() -> Any:
    """Class attribute of what the constructor makes: None, so that the class shows the name."""
    return None


class ClusterOptions:
    """Attributes of :class:`Cluster` that the constructor sets; see there for what they mean."""

    contact_points: list[Any] = ["127.0.0.1"]
    port: int = 9042
    compression: bool | str = True
    reconnection_policy: ReconnectionPolicy = ExponentialReconnectionPolicy(1.0, 60.0)
    conviction_policy_factory: Callable[..., ConvictionPolicy] = SimpleConvictionPolicy
    address_translator: AddressTranslator = IdentityTranslator()
    metrics_enabled: bool = False
    connection_class: Any = Connection
    ssl_options: Mapping[str, Any] | None = None
    ssl_context: ssl.SSLContext | None = None
    sockopts: Sequence[tuple[int, int, int | bytes]] | None = None
    cql_version: str | None = None
    allow_beta_protocol_version: bool = False
    no_compact: bool = False
    executor_threads: int = 2
    max_schema_agreement_wait: float = 10
    control_connection_timeout: float | None = 2.0
    metadata_request_timeout: float | None = None
    idle_heartbeat_interval: float | None = 30
    idle_heartbeat_timeout: float = 30
    schema_event_refresh_window: float = 2
    topology_event_refresh_window: float = 10
    status_event_refresh_window: float = 2
    connect_timeout: float | None = 5
    prepare_on_all_hosts: bool = True
    reprepare_on_up: bool = True
    timestamp_generator: Callable[[], int] = made()
    shard_aware_options: ShardAwareOptions = made()
    endpoint_factory: EndPointFactory = made()
    client_routes: ClientRoutes | None = None
    client_routes_config: ClientRoutesConfig | None = None
    profile_manager: ProfileManager = made()
    cloud: None = None
    column_encryption_policy: Any = None
    allow_control_connection_query_fallback: ControlConnectionQueryFallback = ControlConnectionQueryFallback.Disabled
    driver_config_reporting_enabled: bool = True
    max_requests_per_connection: int | None = None
    max_requests_per_host: int | None = None
    max_requests_per_session: int | None = None
    max_request_wait: float | None = None
    max_waiting_requests: int = 32768
    request_tracker: RequestTracker | None = None
    slow_request_threshold: float | None = None

    _mode = ConfigMode.UNCOMMITTED
    _protocol_version: int | None = None  # given or negotiated
    _protocol_version_explicit = False

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
        column_encryption_policy: Any = None,
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
    ) -> None:
        config.refuse("cloud", cloud, "it configures DataStax Astra; give contact points and an ssl_context")
        config.refuse("scylla_cloud", scylla_cloud, "it is gone from ScyllaDB Cloud; give contact points")
        config.refuse("column_encryption_policy", column_encryption_policy, "columns are sent as they are")
        self._session_id = uuid4()
        self._set_contact(contact_points, port, endpoint_factory, address_translator)
        self._set_protocol(protocol_version, allow_beta_protocol_version, cql_version, compression, no_compact)
        self._set_tls(ssl_options, ssl_context, ssl_session_cache)
        self._set_client_routes(client_routes_config, endpoint_factory)
        self.auth_provider = auth_provider
        self.sockopts = config.sockopts(sockopts)
        self.connect_timeout = config.seconds("connect_timeout", connect_timeout, zero=False)
        if connection_class is not None:
            self.connection_class = connection_class
        self._set_application(application_info, driver_config_reporting_enabled)
        if allow_control_connection_query_fallback is not None:
            self.allow_control_connection_query_fallback = ControlConnectionQueryFallback(
                allow_control_connection_query_fallback
            )
        self._set_profiles(execution_profiles, load_balancing_policy, default_retry_policy)
        self._set_hosts(reconnection_policy, conviction_policy_factory, shard_aware_options)
        self.idle_heartbeat_interval = config.seconds("idle_heartbeat_interval", idle_heartbeat_interval)
        self.idle_heartbeat_timeout = config.seconds(
            "idle_heartbeat_timeout", idle_heartbeat_timeout, optional=False, zero=False
        )
        self._set_limits(max_requests_per_connection, max_requests_per_host, max_requests_per_session)
        self.max_request_wait = config.seconds("max_request_wait", max_request_wait)
        self.max_waiting_requests = config.positive_int("max_waiting_requests", max_waiting_requests)
        self.request_tracker = request_tracker
        self.slow_request_threshold = config.seconds("slow_request_threshold", slow_request_threshold)
        self._set_control(control_connection_timeout, max_schema_agreement_wait, metadata_request_timeout)
        self._set_windows(schema_event_refresh_window, topology_event_refresh_window, status_event_refresh_window)
        self._schema_metadata_enabled = bool(schema_metadata_enabled)
        self._token_metadata_enabled = bool(token_metadata_enabled)
        self.schema_metadata_page_size = schema_metadata_page_size
        self.executor_threads = config.positive_int("executor_threads", executor_threads)
        self.metrics_enabled = bool(metrics_enabled)
        self.prepare_on_all_hosts = bool(prepare_on_all_hosts)
        self.reprepare_on_up = bool(reprepare_on_up)
        self._set_memory(memory_pool)
        self.timestamp_generator = (
            MonotonicTimestampGenerator()
            if timestamp_generator is None
            else config.function("timestamp_generator", timestamp_generator)
        )
        self._build()

    def _build(self) -> None:
        """Called at the end of the constructor, for the parts that need the options."""

    # ---- groups of options

    def _set_contact(
        self, contact_points: Any, port: int, factory: EndPointFactory | None, translator: AddressTranslator | None
    ) -> None:
        self.port = config.port(port)
        self._contact_points_explicit = contact_points is not None and contact_points is not NOT_SET
        self.contact_points = (
            config.contact_points(contact_points) if self._contact_points_explicit else list(type(self).contact_points)
        )
        if translator is not None:
            self.address_translator = config.instance("address_translator", translator)
        if factory is not None:
            config.instance("endpoint_factory", factory, EndPointFactory)
        self.endpoint_factory = factory or DefaultEndPointFactory(port=self.port)
        self.endpoint_factory.configure(self)

    def _set_protocol(
        self, version: int | Sentinel, allow_beta: bool, cql_version: str | None, compression: Any, no_compact: bool
    ) -> None:
        self.allow_beta_protocol_version = bool(allow_beta)
        if not isinstance(version, Sentinel):
            self.protocol_version = version
        self.cql_version = cql_version
        self.compression = config.compression(compression)
        self.no_compact = bool(no_compact)

    def _set_tls(self, options: Mapping[str, Any] | None, context: ssl.SSLContext | None, cache: Any) -> None:
        if context is not None:
            import ssl  # whoever made a context has it; others do without

            if not isinstance(context, ssl.SSLContext):
                raise TypeError(f"ssl_context should be an ssl.SSLContext, not {context!r}")
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"ssl_options should be a dict, not {options!r}")
        if options is not None and context is None:
            warnings.warn(
                "Using ssl_options without ssl_context is deprecated: make an ssl.SSLContext",
                DeprecationWarning,
                stacklevel=3,
            )
        self.ssl_options = options
        self.ssl_context = context
        if cache is NOT_SET:
            cache = None if options is None and context is None else SSLSessionCache()
        self.ssl_session_cache = cache

    def _set_client_routes(self, routes: ClientRoutesConfig | None, factory: EndPointFactory | None) -> None:
        if routes is None:
            return
        config.instance("client_routes_config", routes, ClientRoutesConfig)
        if factory is not None:
            raise ValueError("client_routes_config makes the end points: an endpoint_factory cannot be given, too")
        self.client_routes_config = routes
        self.client_routes = ClientRoutes(routes, self.ssl_context is not None or self.ssl_options is not None)
        self.endpoint_factory = ClientRoutesEndPointFactory(self.client_routes, self.port).configure(self)
        proxies = [proxy.connection_addr_override for proxy in routes.proxies]
        if not self._contact_points_explicit and any(proxies):
            self.contact_points = [proxy for proxy in dict.fromkeys(proxies) if proxy]

    def _set_memory(self, pool: MemoryPool | None) -> None:
        if pool is not None and not isinstance(pool, MemoryPool):
            raise TypeError(f"memory_pool should be a cassandra.memory.MemoryPool, not {pool!r}")
        self._memory_pool = pool

    def _set_application(self, info: ApplicationInfoBase | None, reporting: bool) -> None:
        if info is not None:
            config.instance("application_info", info, ApplicationInfoBase)
        self._application_info = info
        self.driver_config_reporting_enabled = bool(reporting)

    def _set_profiles(
        self,
        profiles: Mapping[Any, ExecutionProfile] | None,
        load_balancing_policy: LoadBalancingPolicy | None,
        retry_policy: RetryPolicy | None,
    ) -> None:
        legacy = load_balancing_policy is not None or retry_policy is not None
        if profiles and legacy:
            raise ValueError(
                "Clusters constructed with execution_profiles should not specify legacy parameters "
                "(load_balancing_policy, default_retry_policy). Configure this in a profile instead."
            )
        if load_balancing_policy is not None:
            config.instance("load_balancing_policy", load_balancing_policy)
        if retry_policy is not None:
            config.instance("default_retry_policy", retry_policy)
        self.profile_manager = ProfileManager(
            self.allow_control_connection_query_fallback is not ControlConnectionQueryFallback.SkipPoolCreation
        )
        for name, profile in (profiles or {}).items():
            self.profile_manager.profiles[name] = check_profile(name, profile)
        if EXEC_PROFILE_DEFAULT not in self.profile_manager.profiles:
            self.profile_manager.profiles[EXEC_PROFILE_DEFAULT] = ExecutionProfile(
                load_balancing_policy or default_lbp_factory(), retry_policy
            )
        if profiles:
            self._mode = ConfigMode.PROFILES
        elif legacy:
            self._mode = ConfigMode.LEGACY

    def _set_hosts(
        self,
        reconnection_policy: ReconnectionPolicy | None,
        conviction_policy_factory: Callable[..., ConvictionPolicy] | None,
        shard_aware_options: ShardAwareOptions | Mapping[str, Any] | None,
    ) -> None:
        if reconnection_policy is not None:
            self.reconnection_policy = config.instance("reconnection_policy", reconnection_policy)
        if conviction_policy_factory is not None:
            self.conviction_policy_factory = config.function("conviction_policy_factory", conviction_policy_factory)
        self.shard_aware_options = ShardAwareOptions(shard_aware_options)
        if self.client_routes_config is not None and not self.client_routes_config.advanced_shard_awareness:
            self.shard_aware_options = ShardAwareOptions(self.shard_aware_options, disable_shardaware_port=True)

    def _set_limits(self, connection: int | None, host: int | None, session: int | None) -> None:
        self.max_requests_per_connection = config.limit("max_requests_per_connection", connection, MAX_REQUESTS)
        self.max_requests_per_host = config.limit("max_requests_per_host", host)
        self.max_requests_per_session = config.limit("max_requests_per_session", session)

    def _set_control(self, timeout: float | None, agreement_wait: float, request_timeout: float | None) -> None:
        self.control_connection_timeout = config.seconds("control_connection_timeout", timeout, zero=False)
        self.max_schema_agreement_wait = config.seconds(
            "max_schema_agreement_wait", agreement_wait, optional=False, negative=True
        )
        self.metadata_request_timeout = config.seconds("metadata_request_timeout", request_timeout)

    def _set_windows(self, schema: float, topology: float, status: float) -> None:
        def window(name: str, value: float) -> float:
            checked: float = config.seconds(name, value, optional=False, negative=True)
            return checked

        self.schema_event_refresh_window = window("schema_event_refresh_window", schema)
        self.topology_event_refresh_window = window("topology_event_refresh_window", topology)
        self.status_event_refresh_window = window("status_event_refresh_window", status)

    # ---- options that are more than an attribute

    @property
    def protocol_version(self) -> int:
        """The version spoken: the highest this driver knows until one was given or negotiated by the first
        connection."""
        return self._protocol_version or ProtocolVersion.MAX_SUPPORTED

    @protocol_version.setter
    def protocol_version(self, version: int) -> None:
        self._protocol_version = config.protocol_version(version, self.allow_beta_protocol_version)
        self._protocol_version_explicit = True

    def negotiated(self, version: int) -> None:
        """The first connection found out which version the servers speak."""
        if self._protocol_version is None:
            self._protocol_version = version

    @property
    def auth_provider(self) -> AuthProvider | None:
        """Answers the server's challenges: an :class:`cassandra.auth.AuthProvider` (or what has its method)."""
        return self._auth_provider

    @auth_provider.setter
    def auth_provider(self, provider: AuthProvider | None) -> None:
        if provider is not None and not callable(getattr(provider, "new_authenticator", None)):
            raise TypeError("auth_provider must implement the cassandra.auth.AuthProvider interface")
        self._auth_provider = provider

    @property
    def memory_pool(self) -> MemoryPool:
        """What answers are received into; several clusters may share one. By default a pool of the cluster's own, of
        256 MiB, beyond which frames take plain memory."""
        if self._memory_pool is None:
            from cassandra._core.transport import default_pool

            self._memory_pool = default_pool("cluster")
        return self._memory_pool

    @property
    def ssl_session_cache(self) -> Any:
        """Keeps TLS sessions so that reconnecting is cheap; None when they are not kept."""
        return self._ssl_session_cache

    @ssl_session_cache.setter
    def ssl_session_cache(self, cache: Any) -> None:
        self._ssl_session_cache = cache

    @property
    def application_info(self) -> ApplicationInfoBase | None:
        """What the application says of itself when it connects."""
        return self._application_info

    @property
    def session_id(self) -> UUID:
        """Id of this cluster object, the same on all its connections."""
        return self._session_id

    @property
    def connect_to_remote_hosts(self) -> bool:
        """Whether hosts that the policies call REMOTE get connections; set it before connecting."""
        return self.profile_manager.remote_allowed

    @connect_to_remote_hosts.setter
    def connect_to_remote_hosts(self, allowed: bool) -> None:
        self.profile_manager.remote_allowed = bool(allowed)

    @property
    def load_balancing_policy(self) -> LoadBalancingPolicy:
        """The policy of the default profile; setting it is the legacy way (ValueError when profiles are in use)."""
        return self.profile_manager.default.load_balancing_policy

    @load_balancing_policy.setter
    def load_balancing_policy(self, policy: LoadBalancingPolicy) -> None:
        self.commit_legacy("Cluster.load_balancing_policy")
        self.profile_manager.default.load_balancing_policy = config.instance("load_balancing_policy", policy)

    @property
    def default_retry_policy(self) -> RetryPolicy:
        """The retry policy of the default profile; setting it is the legacy way (ValueError when profiles are in
        use)."""
        return self.profile_manager.default.retry_policy

    @default_retry_policy.setter
    def default_retry_policy(self, policy: RetryPolicy) -> None:
        self.commit_legacy("Cluster.default_retry_policy")
        self.profile_manager.default.retry_policy = config.instance("default_retry_policy", policy)

    @property
    def is_legacy(self) -> bool:
        """Whether request options are given the legacy way."""
        return self._mode is ConfigMode.LEGACY

    def commit_legacy(self, what: str) -> None:
        """A legacy option is about to be set; ValueError when profiles are in use."""
        if self._mode is ConfigMode.PROFILES:
            raise ValueError(f"Cannot set {what} while using Configuration Profiles. Set this in a profile instead.")
        self._mode = ConfigMode.LEGACY

    def check_profiles_allowed(self) -> None:
        """A profile is about to be added; ValueError when legacy options are in use."""
        if self._mode is ConfigMode.LEGACY:
            raise ValueError("Cannot add execution profiles when legacy parameters are set explicitly.")

    def _connection_opened(self, connection: Connection) -> None:
        """A connection of this cluster was opened. On the I/O thread."""

    def connection_options(self, keyspace: str | None = None) -> ConnectionOptions:
        """How to open a connection now; negotiating the protocol version as long as none is known."""
        return ConnectionOptions(
            protocol_version=self._protocol_version,
            may_lower=not self._protocol_version_explicit,
            on_open=self._connection_opened,
            allow_beta=self.allow_beta_protocol_version,
            compression=self.compression,
            cql_version=self.cql_version,
            auth_provider=self.auth_provider,
            ssl_context=self.ssl_context,
            ssl_options=self.ssl_options,
            ssl_session_cache=self.ssl_session_cache,
            sockopts=tuple(self.sockopts or ()),
            connect_timeout=self.connect_timeout,
            keyspace=keyspace,
            application_info=self.application_info,
            no_compact=self.no_compact,
            max_requests=self.max_requests_per_connection or MAX_REQUESTS,
        )


def check_profile(name: Any, profile: ExecutionProfile) -> ExecutionProfile:
    """*profile*, or TypeError when it is none."""
    if not isinstance(profile, ExecutionProfile):
        raise TypeError(f"Execution profile {name!r} should be an ExecutionProfile, not {profile!r}")
    return profile
