"""The options of a cluster: arguments of its constructor, checked group by group, and stored.

L5. A part of :class:`Cluster`, which shows most attributes as its own (:func:`option`). Options are read when they are
used, so that setting one later (``cluster.connect_timeout = 3``) takes effect from then on. Any thread reads and sets;
each attribute is one reference, so there is no lock. The protocol version is not here but in ``versions.py``, request
options are in ``profiles.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from cassandra._base.delegation import Attribute
from cassandra._base.versions import seconds
from cassandra._core.memory import MemoryPool
from cassandra._net.auth import AuthProvider, PlainTextAuthProvider
from cassandra._net.client_routes import ClientRoutes, ClientRoutesConfig, ClientRoutesEndPointFactory
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DEFAULT_PORT, DefaultEndPointFactory, EndPointFactory, SniEndPointFactory
from cassandra._net.handshake import ApplicationInfoBase
from cassandra._net.options import MAX_REQUESTS
from cassandra._net.tls_sessions import SSLSessionCache
from cassandra._net.trust import LoginPolicy
from cassandra._routing.policies import (
    AddressTranslator,
    ConvictionPolicy,
    ExponentialReconnectionPolicy,
    IdentityTranslator,
    ReconnectionPolicy,
    SimpleConvictionPolicy,
)
from cassandra._session.control.queries import UNBOUNDED
from cassandra._session.statements.statement import NOT_SET
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator

from . import config
from .config import ControlConnectionQueryFallback, ShardAwareOptions

if TYPE_CHECKING:
    import ssl

    from cassandra._net.trust import AllowedAddresses
    from cassandra._session.request.observers import RequestTracker

    from .cluster import Cluster
    from .session import Session


def made() -> Any:
    """Return None: the class attribute for a value that the constructor creates, so that the class has the name."""
    return None


class _Seconds:
    """An option in seconds, checked when it is set: see ``seconds`` for *rule*."""

    def __init__(self, default: float | None, rule: dict[str, bool]) -> None:
        self._default = default
        self._rule = rule

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, options: Options | None, owner: type | None = None) -> Any:
        return self._default if options is None else options.__dict__.get(self._name, self._default)

    def __set__(self, options: Options, value: Any) -> None:
        options.__dict__[self._name] = seconds(self._name, value, **self._rule)


def duration(default: float | None, **rule: bool) -> Any:
    return _Seconds(default, rule)


class Options:
    """The options; :class:`Cluster` documents them."""

    contact_points: list[Any] = ["127.0.0.1"]
    port: int = 9042
    compression: bool | str = True
    reconnection_policy: ReconnectionPolicy = ExponentialReconnectionPolicy(1.0, 60.0)
    conviction_policy_factory: Callable[..., ConvictionPolicy] = SimpleConvictionPolicy
    address_translator: AddressTranslator = IdentityTranslator()
    metrics_enabled: bool = False
    connection_class: Any = Connection
    cloud: Any = None
    ssl_options: Mapping[str, Any] | None = None
    ssl_context: ssl.SSLContext | None = None
    ssl_session_cache: Any = None
    sockopts: Sequence[tuple[int, int, int | bytes]] | None = None
    cql_version: str | None = None
    allow_beta_protocol_version: bool = False
    no_compact: bool = False
    executor_threads: int = 2
    max_schema_agreement_wait: float = duration(10, optional=False, negative=True)
    control_connection_timeout: float | None = duration(2.0, zero=False)
    metadata_request_timeout: float | None = duration(None)
    idle_heartbeat_interval: float | None = duration(30)
    idle_heartbeat_timeout: float = duration(30, optional=False, zero=False)
    schema_event_refresh_window: float = duration(2, optional=False, negative=True)
    topology_event_refresh_window: float = duration(10, optional=False, negative=True)
    status_event_refresh_window: float = duration(2, optional=False, negative=True)
    connect_timeout: float | None = duration(5, zero=False)
    prepare_on_all_hosts: bool = True
    reprepare_on_up: bool = True
    sessions: Iterable[Session] = ()  # updated when the timestamp generator changes
    shard_aware_options: ShardAwareOptions = made()
    endpoint_factory: EndPointFactory = made()
    client_routes: ClientRoutes | None = None
    client_routes_config: ClientRoutesConfig | None = None
    allow_control_connection_query_fallback: ControlConnectionQueryFallback = ControlConnectionQueryFallback.Disabled
    driver_config_reporting_enabled: bool = True
    max_requests_per_connection: int | None = None
    max_requests_per_host: int | None = None
    max_requests_per_session: int | None = None
    max_request_wait: float | None = duration(None)
    max_waiting_requests: int = 32768
    max_response_bytes: int | None = None
    request_tracker: RequestTracker | None = None
    slow_request_threshold: float | None = duration(None)

    login: LoginPolicy = made()
    addresses: AllowedAddresses | None = None  # parsed allowed_addresses

    def __init__(self, defaults: type[Cluster]) -> None:
        """*defaults*: the class of the cluster; a subclass may have other defaults."""
        self._session_id = uuid4()
        self.contact_points = list(defaults.contact_points)
        self.are_contact_points_given = False
        self.address_translator = defaults.address_translator
        self.connection_class = defaults.connection_class
        self.allow_control_connection_query_fallback = defaults.allow_control_connection_query_fallback
        self.reconnection_policy = defaults.reconnection_policy
        self.conviction_policy_factory = defaults.conviction_policy_factory
        self._application_info: ApplicationInfoBase | None = None
        self._auth_provider: AuthProvider | None = None
        self.login = LoginPolicy()
        self.allowed_addresses = _default(defaults.allowed_addresses)
        self.allowed_authenticators = _default(defaults.allowed_authenticators)
        self._memory_pool: MemoryPool | None = None
        self._timestamp_generator: Callable[[], int] = made()
        self._schema_metadata_enabled = self._token_metadata_enabled = True
        self._schema_metadata_page_size = 1000

    # ---- groups

    def set_contact(
        self, contact_points: Any, port: int, factory: EndPointFactory | None, translator: AddressTranslator | None
    ) -> None:
        """Set the addresses of nodes."""
        self.port = config.port(port)
        if contact_points is not None and contact_points is not NOT_SET:
            self.contact_points = config.contact_points(contact_points)
            self.are_contact_points_given = True
        if translator is not None:
            self.address_translator = config.instance("address_translator", translator)
        if factory is not None:
            config.instance("endpoint_factory", factory, EndPointFactory)
        self.endpoint_factory = factory or DefaultEndPointFactory(port=self.port)

    def set_protocol(self, allow_beta: bool, cql_version: str | None, compression: Any, no_compact: bool) -> None:
        """Set protocol options other than the version."""
        self.allow_beta_protocol_version = bool(allow_beta)
        self.cql_version = cql_version
        self.compression = config.compression(compression)
        self.no_compact = bool(no_compact)

    def set_tls(self, options: Mapping[str, Any] | None, context: ssl.SSLContext | None, cache: Any) -> None:
        """Set TLS for connections."""
        if context is not None:
            import ssl  # imported only if a context was given

            if not isinstance(context, ssl.SSLContext):
                raise TypeError(f"ssl_context should be an ssl.SSLContext, not {context!r}")
        if options is not None and not isinstance(options, Mapping):
            raise TypeError(f"ssl_options should be a dict, not {options!r}")
        if options is not None:
            from cassandra._net.tls import check_options

            check_options(options, context)
        if options is not None and context is None:
            warnings.warn(
                "Using ssl_options without ssl_context is deprecated: pass an ssl.SSLContext",
                DeprecationWarning,
                stacklevel=3,
            )
        self.ssl_options = options
        self.ssl_context = context
        self._is_session_cache_given = cache is not NOT_SET
        if cache is NOT_SET:
            cache = None if options is None and context is None else SSLSessionCache()
        self.ssl_session_cache = cache

    def set_cloud(self, cloud: Any, contact_points: Any, factory: EndPointFactory | None) -> None:
        """Use a secure connect bundle, if given. Queries its metadata service: must be called last, and blocks."""
        if cloud is None:
            return
        own = (None if contact_points is NOT_SET else contact_points, factory, self.ssl_context, self.ssl_options)
        if any(value is not None for value in (*own, self.client_routes_config)):
            raise ValueError(
                "contact_points, endpoint_factory, ssl_context, and ssl_options cannot be specified with a cloud "
                "configuration, nor client_routes_config: the bundle contains these settings"
            )
        from cassandra._net.cloud import get_cloud_config  # imports modules for HTTP and zip archives

        found = get_cloud_config(cloud)
        proxy = SniEndPointFactory(found.sni_host or "", found.sni_port or DEFAULT_PORT)
        self.cloud = cloud
        self.endpoint_factory = proxy
        self.contact_points = [proxy.create_from_sni(host_id) for host_id in found.host_ids or ()]
        self.are_contact_points_given = True
        self.ssl_context = found.ssl_context
        if not self._is_session_cache_given:
            self.ssl_session_cache = SSLSessionCache()
        if self._auth_provider is None and found.username and found.password:
            self.auth_provider = PlainTextAuthProvider(found.username, found.password)

    def set_client_routes(self, routes: ClientRoutesConfig | None, factory: EndPointFactory | None) -> None:
        """Set proxies for nodes behind private links; *factory*: the one that the user gave."""
        if routes is None:
            return
        config.instance("client_routes_config", routes, ClientRoutesConfig)
        if factory is not None:
            raise ValueError("client_routes_config creates the end points: it cannot be combined with endpoint_factory")
        self.client_routes_config = routes
        self.client_routes = ClientRoutes(routes, self.ssl_context is not None or self.ssl_options is not None)
        self.endpoint_factory = ClientRoutesEndPointFactory(self.client_routes, self.port)
        proxies = [proxy.connection_addr_override for proxy in routes.proxies]
        if not self.are_contact_points_given and any(proxies):
            self.contact_points = [proxy for proxy in dict.fromkeys(proxies) if proxy]

    def set_connections(
        self,
        auth_provider: AuthProvider | None,
        sockopts: Any,
        connect_timeout: float | None,
        connection_class: Any,
        interval: float | None,
        timeout: float,
    ) -> None:
        """Set how connections are opened, and kept alive by heartbeats each *interval*."""
        self.auth_provider = auth_provider
        self.sockopts = config.sockopts(sockopts)
        self.connect_timeout = connect_timeout
        if connection_class is not None:
            self.connection_class = config.connection_class(connection_class)
        self.idle_heartbeat_interval = interval
        self.idle_heartbeat_timeout = timeout

    def set_trust(self, addresses: Iterable[Any] | None, authenticators: Iterable[str] | None, warns: bool) -> None:
        """Set where credentials may be sent, and warnings about it."""
        if addresses is not None:
            self.allowed_addresses = addresses
        if authenticators is not None:
            self.allowed_authenticators = authenticators
        self.security_warnings = warns

    def set_application(self, info: ApplicationInfoBase | None, reporting: bool) -> None:
        """Set the description of the application for servers."""
        if info is not None:
            config.instance("application_info", info, ApplicationInfoBase)
        self._application_info = info
        self.driver_config_reporting_enabled = bool(reporting)

    def set_hosts(
        self,
        reconnection_policy: ReconnectionPolicy | None,
        conviction_policy_factory: Callable[..., ConvictionPolicy] | None,
        shard_aware_options: ShardAwareOptions | Mapping[str, Any] | None,
    ) -> None:
        """Set reconnection to hosts and to their shards."""
        if reconnection_policy is not None:
            self.reconnection_policy = config.instance("reconnection_policy", reconnection_policy)
        if conviction_policy_factory is not None:
            self.conviction_policy_factory = config.function("conviction_policy_factory", conviction_policy_factory)
        self.shard_aware_options = ShardAwareOptions(shard_aware_options)
        if self.client_routes_config is not None and not self.client_routes_config.advanced_shard_awareness:
            self.shard_aware_options = ShardAwareOptions(self.shard_aware_options, disable_shardaware_port=True)

    def set_limits(self, connection: int | None, host: int | None, session: int | None) -> None:
        """Set the limits of requests in flight."""
        self.max_requests_per_connection = config.limit("max_requests_per_connection", connection, MAX_REQUESTS)
        self.max_requests_per_host = config.limit("max_requests_per_host", host)
        self.max_requests_per_session = config.limit("max_requests_per_session", session)

    def set_waiting(self, seconds: float | None, requests: int) -> None:
        """Set the limits of the admission queue: waiting time and number of requests."""
        self.max_request_wait = seconds
        self.max_waiting_requests = config.positive_int("max_waiting_requests", requests)

    def set_tracking(self, tracker: RequestTracker | None, slow_threshold: float | None) -> None:
        """Set the observers of requests."""
        self.request_tracker = tracker
        self.slow_request_threshold = slow_threshold

    def set_requests(
        self, fallback: ControlConnectionQueryFallback | None, timestamp_generator: Callable[[], int] | None
    ) -> None:
        """Set request options that are not in profiles."""
        if fallback is not None:
            self.allow_control_connection_query_fallback = ControlConnectionQueryFallback(fallback)
        if timestamp_generator is None:
            self.timestamp_generator = MonotonicTimestampGenerator()
        else:
            self.timestamp_generator = config.function("timestamp_generator", timestamp_generator)

    @property
    def timestamp_generator(self) -> Callable[[], int]:
        """Generator of request timestamps; setting it also updates sessions that have no generator of their own."""
        return self._timestamp_generator

    @timestamp_generator.setter
    def timestamp_generator(self, generator: Callable[[], int]) -> None:
        before, self._timestamp_generator = self._timestamp_generator, generator
        for session in self.sessions:
            if session.timestamp_generator is before:
                session.timestamp_generator = generator

    def set_preparing(self, on_all_hosts: bool, on_up: bool) -> None:
        """Set on which hosts statements are prepared in advance."""
        self.prepare_on_all_hosts = bool(on_all_hosts)
        self.reprepare_on_up = bool(on_up)

    def set_control(self, timeout: float | None, agreement: float, request_timeout: float | None) -> None:
        """Set the time limits of the driver's own queries."""
        self.control_connection_timeout = timeout
        self.max_schema_agreement_wait = agreement
        self.metadata_request_timeout = timeout if request_timeout is None else request_timeout

    def set_metadata(self, schema: bool, tokens: bool, page_size: int) -> None:
        """Set the metadata to read."""
        self.schema_metadata_enabled = schema
        self.token_metadata_enabled = tokens
        self.schema_metadata_page_size = page_size

    def set_windows(self, schema: float, topology: float, status: float) -> None:
        """Set the longest delays of events, which are batched."""
        self.schema_event_refresh_window = schema
        self.topology_event_refresh_window = topology
        self.status_event_refresh_window = status

    def set_resources(self, executor_threads: int, pool: MemoryPool | None, metrics: bool) -> None:
        """Set threads and memory."""
        self.executor_threads = config.positive_int("executor_threads", executor_threads)
        if pool is not None and not isinstance(pool, MemoryPool):
            raise TypeError(f"memory_pool should be a cassandra.memory.MemoryPool, not {pool!r}")
        self._memory_pool = pool
        self.metrics_enabled = bool(metrics)

    # ---- properties

    @property
    def auth_provider(self) -> AuthProvider | None:
        """Authentication with servers: a :class:`cassandra.auth.AuthProvider` (or an object with its method)."""
        return self._auth_provider

    @auth_provider.setter
    def auth_provider(self, provider: AuthProvider | None) -> None:
        if provider is not None and not callable(getattr(provider, "new_authenticator", None)):
            raise TypeError("auth_provider must implement the cassandra.auth.AuthProvider interface")
        self._auth_provider = provider

    @property
    def allowed_addresses(self) -> tuple[str, ...] | None:
        """Networks and names to which connections are allowed. None: all addresses that nodes announce."""
        return None if self.addresses is None else self.addresses.entries

    @allowed_addresses.setter
    def allowed_addresses(self, entries: Iterable[Any] | None) -> None:
        if entries is not None:
            from cassandra._net.trust import AllowedAddresses  # few programs need it

            self.addresses = AllowedAddresses(entries)
        else:
            self.addresses = None

    @property
    def allowed_authenticators(self) -> tuple[str, ...] | None:
        """Allowed classes of authenticators. None: passwords are sent to those of known servers."""
        return self.login.allowed

    @allowed_authenticators.setter
    def allowed_authenticators(self, names: Iterable[str] | None) -> None:
        self.login.allowed = names

    @property
    def security_warnings(self) -> bool:
        """True if warnings are logged for a password sent without TLS, and for a server that requires none."""
        return self.login.warns

    @security_warnings.setter
    def security_warnings(self, warns: bool) -> None:
        self.login.warns = bool(warns)

    @property
    def memory_pool(self) -> MemoryPool:
        """Memory pool for received frames; several clusters may share one. By default a pool of the cluster's own, of
        256 MiB, beyond which frames take plain memory."""
        if self._memory_pool is None:
            from cassandra._core.transport import default_pool

            self._memory_pool = default_pool("cluster")
        return self._memory_pool

    @property
    def application_info(self) -> ApplicationInfoBase | None:
        """Description that the application sends when it connects."""
        return self._application_info

    @property
    def session_id(self) -> UUID:
        """Id of this cluster object, the same on all its connections."""
        return self._session_id

    @property
    def schema_metadata_enabled(self) -> bool:
        """True if ``metadata.keyspaces`` follows schema changes. ``refresh_*`` methods work in any case."""
        return self._schema_metadata_enabled

    @schema_metadata_enabled.setter
    def schema_metadata_enabled(self, enabled: bool) -> None:
        self._schema_metadata_enabled = bool(enabled)

    @property
    def token_metadata_enabled(self) -> bool:
        """True if the token ring is read; without it requests are not routed to replicas."""
        return self._token_metadata_enabled

    @token_metadata_enabled.setter
    def token_metadata_enabled(self, enabled: bool) -> None:
        self._token_metadata_enabled = bool(enabled)

    @property
    def schema_metadata_page_size(self) -> int:
        """Rows per page when the schema is read."""
        return self._schema_metadata_page_size

    @schema_metadata_page_size.setter
    def schema_metadata_page_size(self, size: int) -> None:
        self._schema_metadata_page_size = config.positive_int("schema_metadata_page_size", size)

    @property
    def control_timeout(self) -> float:
        """``control_connection_timeout``, or the finite limit that None stands for."""
        timeout = self.control_connection_timeout
        return UNBOUNDED if timeout is None else timeout

    def set_meta_refresh_enabled(self, enabled: bool) -> None:
        """Deprecated: set ``schema_metadata_enabled`` and ``token_metadata_enabled``."""
        warnings.warn(
            "Cluster.set_meta_refresh_enabled is deprecated and will be removed in 4.0. Set "
            "Cluster.schema_metadata_enabled and Cluster.token_metadata_enabled instead.",
            DeprecationWarning,
            stacklevel=3,
        )
        self.schema_metadata_enabled = enabled
        self.token_metadata_enabled = enabled


def _default(value: Any) -> Any:
    """Return the default of a subclass of :class:`Cluster`; None if it has none."""
    return None if isinstance(value, property) else value


def option() -> Attribute[Any]:
    """Return an attribute of :class:`Cluster` that shows one of its options."""
    return Attribute("options", Options)
