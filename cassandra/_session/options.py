"""The options of a cluster: one table of names, types, defaults and checks.

L5. :class:`ClusterOptions` is the table, and the base of :class:`Cluster`, whose constructor and docstring name the
same options. Checks run in the constructor and at each assignment. Options are read when they are used, so that one
set later (``cluster.connect_timeout = 3``) takes effect from then on. Any thread reads and sets; each option is one
reference, so there is no lock. The protocol version is in ``hosts/versions.py``, request options are in
``profiles.py``.

To add an option: a line of the table, a parameter of ``Cluster``, and its name in the docstring of ``Cluster``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload
from uuid import UUID, uuid4

from cassandra._base.delegation import Attribute
from cassandra._base.versions import seconds
from cassandra._core.memory import MemoryPool
from cassandra._core.transport import default_pool
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

    from cassandra._session.request.observers import RequestTracker

    from .session import Session

T = TypeVar("T")


def made() -> Any:
    """Return None: the class attribute for a value that the constructor creates, so that the class has the name."""
    return None


class Option(Generic[T]):
    """An option of a cluster; read from the class, it is the default."""

    name: str

    def __init__(
        self,
        default: Any,
        check: Callable[[str, Any], Any],
        *,
        is_required: bool = False,
        make: Callable[[], T] | None = None,
        changed: Callable[[Any, Any], None] | None = None,
    ) -> None:
        """Create an option.

        *check* is called with the name and a value, and returns the value to keep. None as an argument of the
        constructor means the *default* of the class if the option *is_required*, and what *make* returns if that is
        given. *changed* is called with the cluster and the value before.
        """
        self.default = default
        self.is_required = is_required
        self.make = make
        self._check = check
        self._changed = changed

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, options: None, owner: type) -> T: ...

    @overload
    def __get__(self, options: ClusterOptions, owner: type | None = None) -> T: ...

    def __get__(self, options: ClusterOptions | None, owner: type | None = None) -> Any:
        return self.default if options is None else options.__dict__.get(self.name, self.default)

    def __set__(self, options: ClusterOptions, value: T) -> None:
        before = options.__dict__.get(self.name)
        options.__dict__[self.name] = self._check(self.name, value)
        if self._changed is not None:
            self._changed(options, before)

    def with_default(self, default: Any) -> Option[T]:
        """Return the same option for a subclass of the owner, whose instances start with *default*."""
        other = copy(self)
        other.default = default
        return other


# ---- checks


def any_value(name: str, value: Any) -> Any:
    return value


def flag(name: str, value: Any) -> bool:
    return bool(value)


def duration(*, optional: bool = True, negative: bool = False, zero: bool = True) -> Callable[[str, Any], Any]:
    return partial(seconds, optional=optional, negative=negative, zero=zero)


def limit(most: int = 2**31 - 1) -> Callable[[str, Any], int | None]:
    return partial(config.limit, most=most)


def instance_or_none(kind: type) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None else config.instance(name, value, kind)


# ---- observers of changes


def _generator_changed(options: ClusterOptions, before: Any) -> None:
    """Change it also in the sessions that have no generator of their own."""
    for session in options.sessions:
        if session.timestamp_generator is before:
            session.timestamp_generator = options.timestamp_generator


def _binding_changed(options: ClusterOptions, before: Any) -> None:
    """Discard the compiled requests of all sessions."""
    for session in options.sessions:
        session._forget_plans()


class ClusterOptions:
    """The options of :class:`Cluster`, which documents them."""

    # contact
    contact_points: Option[list[Any]] = Option(["127.0.0.1"], config.contact_points, is_required=True)
    port: Option[int] = Option(9042, config.port)
    endpoint_factory: Option[Any] = Option(None, instance_or_none(EndPointFactory))
    address_translator: Option[AddressTranslator] = Option(IdentityTranslator(), config.instance, is_required=True)
    client_routes_config: Option[ClientRoutesConfig | None] = Option(None, instance_or_none(ClientRoutesConfig))
    cloud: Option[Any] = Option(None, any_value)

    # connections
    allow_beta_protocol_version: Option[bool] = Option(False, flag)
    compression: Option[bool | str] = Option(True, config.compression)
    auth_provider: Option[AuthProvider | None] = Option(None, config.auth_provider)
    ssl_context: Option[ssl.SSLContext | None] = Option(None, config.ssl_context)
    ssl_options: Option[Mapping[str, Any] | None] = Option(None, config.ssl_options)
    ssl_session_cache: Option[Any] = Option(None, any_value)
    sockopts: Option[Sequence[tuple[int, int, int | bytes]] | None] = Option(None, config.sockopts)
    connect_timeout: Option[float | None] = Option(5, duration(zero=False))
    cql_version: Option[str | None] = Option(None, any_value)
    no_compact: Option[bool] = Option(False, flag)
    idle_heartbeat_interval: Option[float | None] = Option(30, duration())
    idle_heartbeat_timeout: Option[float] = Option(30, duration(optional=False, zero=False))
    application_info: Option[ApplicationInfoBase | None] = Option(None, instance_or_none(ApplicationInfoBase))
    driver_config_reporting_enabled: Option[bool] = Option(True, flag)
    shard_aware_options: Option[ShardAwareOptions] = Option(None, config.shard_aware_options)
    connection_class: Option[Any] = Option(Connection, any_value, is_required=True)

    # trust
    allowed_addresses: Option[Any] = Option(None, config.allowed_addresses, is_required=True)
    allowed_authenticators: Attribute[Any] = Attribute("login", LoginPolicy, "allowed", default=None)
    security_warnings: Attribute[bool] = Attribute("login", LoginPolicy, "warns", default=True)

    # requests
    allow_control_connection_query_fallback: Option[ControlConnectionQueryFallback] = Option(
        ControlConnectionQueryFallback.Disabled, config.query_fallback, is_required=True
    )
    timestamp_generator: Option[Callable[[], int] | None] = Option(
        None, config.timestamp_generator, make=MonotonicTimestampGenerator, changed=_generator_changed
    )
    prepare_on_all_hosts: Option[bool] = Option(True, flag)
    reprepare_on_up: Option[bool] = Option(True, flag)
    request_tracker: Option[RequestTracker | None] = Option(None, any_value)
    slow_request_threshold: Option[float | None] = Option(None, duration())
    metrics_enabled: Option[bool] = Option(False, flag)
    strict_binding: Option[bool] = Option(False, flag, changed=_binding_changed)

    # limits
    max_requests_per_connection: Option[int | None] = Option(None, limit(MAX_REQUESTS))
    max_requests_per_host: Option[int | None] = Option(None, limit())
    max_requests_per_session: Option[int | None] = Option(None, limit())
    max_request_wait: Option[float | None] = Option(None, duration())
    max_waiting_requests: Option[int] = Option(32768, config.positive_int)
    max_response_bytes: Option[int | None] = Option(None, config.response_bytes)

    # hosts
    reconnection_policy: Option[ReconnectionPolicy] = Option(
        ExponentialReconnectionPolicy(1.0, 60.0), config.instance, is_required=True
    )
    conviction_policy_factory: Option[Callable[..., ConvictionPolicy]] = Option(
        SimpleConvictionPolicy, config.function, is_required=True
    )

    # metadata
    control_connection_timeout: Option[float | None] = Option(2.0, duration(zero=False))
    metadata_request_timeout: Option[float | None] = Option(None, duration())
    max_schema_agreement_wait: Option[float] = Option(10, duration(optional=False, negative=True))
    schema_metadata_enabled: Option[bool] = Option(True, flag)
    token_metadata_enabled: Option[bool] = Option(True, flag)
    schema_metadata_page_size: Option[int] = Option(1000, config.positive_int)
    schema_event_refresh_window: Option[float] = Option(2, duration(optional=False, negative=True))
    topology_event_refresh_window: Option[float] = Option(10, duration(optional=False, negative=True))
    status_event_refresh_window: Option[float] = Option(2, duration(optional=False, negative=True))

    # threads and memory
    executor_threads: Option[int] = Option(2, config.positive_int)
    memory_pool: Option[MemoryPool] = Option(None, config.memory_pool, make=partial(default_pool, "cluster"))

    # derived from options
    session_id: UUID = made()  # of this object, the same on all its connections
    are_contact_points_given = False
    client_routes: ClientRoutes | None = None
    login: LoginPolicy = made()
    sessions: Iterable[Session] = ()

    def set_options(self, given: Mapping[str, Any]) -> None:
        """Set each option to its argument of the constructor, or to the default of the class."""
        self.session_id = uuid4()
        self.login = LoginPolicy()
        for name, option in OPTIONS.items():
            value = given[name]
            if value is NOT_SET or (value is None and option.is_required):
                value = getattr(type(self), name)
            if value is None and option.make is not None:
                value = option.make()
            setattr(self, name, value)
        allowed = given["allowed_authenticators"]
        self.allowed_authenticators = type(self).allowed_authenticators if allowed is None else allowed
        self.security_warnings = bool(given["security_warnings"])
        self.are_contact_points_given = given["contact_points"] not in (None, NOT_SET)
        if self.metadata_request_timeout is None:
            self.metadata_request_timeout = self.control_connection_timeout
        self._check_tls()
        config.warn_of_unused_methods(self.connection_class)
        if self.endpoint_factory is None:
            self.endpoint_factory = DefaultEndPointFactory(port=self.port)
        if self.client_routes_config is not None:
            self._use_client_routes(self.client_routes_config, given["endpoint_factory"])

    def _check_tls(self) -> None:
        if self.ssl_options is not None:
            from cassandra._net.tls import check_options

            check_options(self.ssl_options, self.ssl_context)
            if self.ssl_context is None:
                warnings.warn(
                    "Using ssl_options without ssl_context is deprecated: pass an ssl.SSLContext",
                    DeprecationWarning,
                    stacklevel=4,
                )

    def _use_client_routes(self, routes: ClientRoutesConfig, factory: EndPointFactory | None) -> None:
        """Use proxies for nodes behind private links; *factory*: the one that the program gave."""
        if factory is not None:
            raise ValueError("client_routes_config creates the end points: it cannot be combined with endpoint_factory")
        self.client_routes = ClientRoutes(routes, self.uses_tls)
        self.endpoint_factory = ClientRoutesEndPointFactory(self.client_routes, self.port)
        proxies = [proxy.connection_addr_override for proxy in routes.proxies]
        if not self.are_contact_points_given and any(proxies):
            self.contact_points = [proxy for proxy in dict.fromkeys(proxies) if proxy]
        if not routes.advanced_shard_awareness:
            self.shard_aware_options = ShardAwareOptions(self.shard_aware_options, disable_shardaware_port=True)

    def use_cloud(self, given: Mapping[str, Any]) -> None:
        """Use the secure connect bundle, if there is one. Queries its metadata service: must be called when all other
        options are known to be valid, and blocks."""
        if self.cloud is not None:
            own = (given["endpoint_factory"], self.ssl_context, self.ssl_options, self.client_routes_config)
            if self.are_contact_points_given or any(value is not None for value in own):
                raise ValueError(
                    "contact_points, endpoint_factory, ssl_context, and ssl_options cannot be specified with a cloud "
                    "configuration, nor client_routes_config: the bundle contains these settings"
                )
            from cassandra._net.cloud import get_cloud_config  # imports modules for HTTP and zip archives

            found = get_cloud_config(self.cloud)
            proxy = SniEndPointFactory(found.sni_host or "", found.sni_port or DEFAULT_PORT)
            self.endpoint_factory = proxy
            self.contact_points = [proxy.create_from_sni(host_id) for host_id in found.host_ids or ()]
            self.are_contact_points_given = True
            self.ssl_context = found.ssl_context
            if self.auth_provider is None and found.username and found.password:
                self.auth_provider = PlainTextAuthProvider(found.username, found.password)
        if given["ssl_session_cache"] is NOT_SET and self.uses_tls:
            self.ssl_session_cache = SSLSessionCache()

    @property
    def uses_tls(self) -> bool:
        """True if connections use TLS."""
        return self.ssl_context is not None or self.ssl_options is not None

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
            stacklevel=2,
        )
        self.schema_metadata_enabled = enabled
        self.token_metadata_enabled = enabled


OPTIONS: dict[str, Option[Any]] = {
    name: value for name, value in vars(ClusterOptions).items() if isinstance(value, Option)
}
