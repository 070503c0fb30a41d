"""The options of a cluster: one table of names, types, defaults and checks.

L5. :class:`ClusterOptions` is the table, and the base of :class:`Cluster`, whose constructor and docstring name the
same options. Checks run in the constructor and at each assignment. Options are read when they are used, so that one
set later (``cluster.connect_timeout = 3``) takes effect from then on. Any thread reads and sets; each option is one
reference, so there is no lock. The protocol version is in ``hosts/versions.py``, request options are in
``profiles.py``.

The text below each line and the comments between them are the section "Options of Cluster" of the API reference.
To add an option: a line of the table with its text, a parameter of ``Cluster``, and its name in the docstring.
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
from cassandra._net.auth import AuthProvider, LoginPolicy, PlainTextAuthProvider
from cassandra._net.client_routes import ClientRoutes, ClientRoutesConfig, ClientRoutesEndPointFactory
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DEFAULT_PORT, DefaultEndPointFactory, EndPointFactory, SniEndPointFactory
from cassandra._net.handshake import ApplicationInfoBase
from cassandra._net.options import MAX_REQUESTS
from cassandra._net.tls_sessions import SSLSessionCache
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


def set_by_constructor() -> Any:
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


def _on_generator_change(options: ClusterOptions, before: Any) -> None:
    """Change it also in the sessions that have no generator of their own."""
    for session in options.sessions:
        if session.timestamp_generator is before:
            session.timestamp_generator = options.timestamp_generator


def _on_binding_change(options: ClusterOptions, before: Any) -> None:
    """Discard the compiled requests of all sessions."""
    for session in options.sessions:
        session._forget_plans()


class ClusterOptions:
    """The options of :class:`Cluster` by subject."""

    # ---- contact and discovery

    contact_points: Option[list[Any]] = Option(["127.0.0.1"], config.contact_points, is_required=True)
    """Addresses, host names, ``(address, port)`` pairs, or endpoints (:class:`~cassandra.connection.EndPoint`), as a
    sequence. The first node that can be reached tells the driver all others. A name is resolved to all of its
    addresses. None stands for the default."""
    port: Option[int] = Option(9042, config.port)
    """TCP port of all nodes, unless a contact point or the server tables name another one: 1 to 65535, or a string of
    digits."""
    endpoint_factory: Option[Any] = Option(None, instance_or_none(EndPointFactory))
    """Makes the endpoints of nodes from rows of the server tables: an :class:`~cassandra.connection.EndPointFactory`.
    None: addresses and ports as the nodes announce them."""
    address_translator: Option[AddressTranslator] = Option(IdentityTranslator(), config.instance, is_required=True)
    """An :class:`~cassandra.policies.AddressTranslator`, called with each address that a node announces; returns the
    one to connect to."""
    client_routes_config: Option[ClientRoutesConfig | None] = Option(None, instance_or_none(ClientRoutesConfig))
    """Connect to nodes of ScyllaDB behind private links: a :class:`~cassandra.client_routes.ClientRoutesConfig`. It
    excludes *endpoint_factory* and *cloud*."""
    cloud: Option[Any] = Option(None, any_value)
    """Connect by a secure connect bundle: a mapping with the key ``secure_connect_bundle``, a path. The constructor
    then queries the metadata service of the bundle, and blocks. ValueError together with *contact_points*,
    *endpoint_factory*, *ssl_context*, *ssl_options* or *client_routes_config*. See :doc:`/cloud`."""

    # ---- protocol and connections

    allow_beta_protocol_version: Option[bool] = Option(False, flag)
    """True accepts protocol versions that the server calls beta."""
    compression: Option[bool | str] = Option(True, config.compression)
    """True negotiates the best algorithm that both sides support; False compresses nothing; ``"lz4"`` or ``"snappy"``
    demands one."""
    cql_version: Option[str | None] = Option(None, any_value)
    """Version of CQL to ask for; an error if a node does not support it. None: the first that the node lists."""
    no_compact: Option[bool] = Option(False, flag)
    """True shows compact tables of Cassandra 3 as the CQL tables that they are made of (``NO_COMPACT``; protocol
    versions below 5)."""
    sockopts: Option[Sequence[tuple[int, int, int | bytes]] | None] = Option(None, config.sockopts)
    """Socket options of all connections: ``(level, option, value)`` tuples, as arguments of
    :meth:`socket.socket.setsockopt`."""
    shard_aware_options: Option[ShardAwareOptions] = Option(None, config.shard_aware_options)
    """Connections to the shards of ScyllaDB: :class:`ShardAwareOptions`, or a mapping with its parameters. None stands
    for the default."""
    connection_class: Option[Any] = Option(Connection, any_value, is_required=True)
    """A subclass of :class:`~cassandra.connection.Connection` to instantiate. A warning names overridden methods that
    the native transport does not call."""
    application_info: Option[ApplicationInfoBase | None] = Option(None, instance_or_none(ApplicationInfoBase))
    """Name, version and client id that servers show in their client tables: an
    :class:`~cassandra.application_info.ApplicationInfo`."""
    driver_config_reporting_enabled: Option[bool] = Option(True, flag)
    """True tells servers the configuration of the driver when the control connection is opened, without secrets."""

    # ---- security

    auth_provider: Option[AuthProvider | None] = Option(None, config.auth_provider)
    """Credentials: an :class:`~cassandra.auth.AuthProvider`, such as :class:`~cassandra.auth.PlainTextAuthProvider`."""
    ssl_context: Option[ssl.SSLContext | None] = Option(None, config.ssl_context)
    """Use TLS with this :class:`ssl.SSLContext`. None: no TLS, unless *ssl_options* is given."""
    ssl_options: Option[Mapping[str, Any] | None] = Option(None, config.ssl_options)
    """Arguments of :meth:`ssl.SSLContext.wrap_socket` for all connections, such as ``server_hostname``; ``{}`` turns
    TLS on. Without *ssl_context* deprecated."""
    ssl_session_cache: Option[Any] = Option(None, any_value)
    """Keeps TLS sessions for faster reconnects: an :class:`~cassandra.ssl_session_cache.SSLSessionCache`, or an object
    with its methods. None turns it off. Default: a cache of the cluster's own, if TLS is used."""
    allowed_addresses: Option[Any] = Option(None, config.allowed_addresses, is_required=True)
    """Networks, addresses and host names, as strings: a node that announces another address is ignored, with one
    warning, and gets no connection. None: all."""
    verify_host_ids: Option[bool] = Option(True, flag)
    """True rejects a connection to a node with another host id than the one that its address is known to belong to.
    False is for a single address in front of all nodes, whose own addresses cannot be reached."""
    allowed_authenticators: Attribute[Any] = Attribute("_login", LoginPolicy, "allowed", default=None)
    """Names of the authenticator classes of servers that may get credentials; ``"*"`` stands for any. None: those of
    known servers."""
    security_warnings: Attribute[bool] = Attribute("_login", LoginPolicy, "warns", default=True)
    """True logs a warning, once each, when a password is sent without TLS to another machine, and when a server
    requires no authentication although there is an *auth_provider*."""

    # ---- timeouts and heartbeats

    connect_timeout: Option[float | None] = Option(5, duration(zero=False))
    """Seconds that opening a connection may take, with TLS, authentication and negotiation. None: no limit."""
    control_connection_timeout: Option[float | None] = Option(2.0, duration(zero=False))
    """Seconds that a query of the driver for metadata may take. None: no limit of the program's own; a finite one of
    the driver applies."""
    metadata_request_timeout: Option[float | None] = Option(None, duration())
    """Seconds that ScyllaDB itself gives a metadata query (``USING TIMEOUT``); 0 sends none. None:
    *control_connection_timeout*."""
    idle_heartbeat_interval: Option[float | None] = Option(30, duration())
    """Seconds after which a connection without traffic is checked by an OPTIONS request; 0 or None turns heartbeats
    off."""
    idle_heartbeat_timeout: Option[float] = Option(30, duration(optional=False, zero=False))
    """Seconds that the response to a heartbeat may take, before the connection is closed."""

    # ---- requests

    timestamp_generator: Option[Callable[[], int] | None] = Option(
        None, config.timestamp_generator, make=MonotonicTimestampGenerator, changed=_on_generator_change
    )
    """Called without arguments for each statement; returns its write time in microseconds since 1970. None: a
    :class:`~cassandra.timestamps.MonotonicTimestampGenerator` of the cluster's own."""
    prepare_on_all_hosts: Option[bool] = Option(True, flag)
    """True prepares each statement on all other hosts, too, in the background."""
    reprepare_on_up: Option[bool] = Option(True, flag)
    """True prepares statements that were used recently on a host that has come up, slowly, while it gets requests."""
    reprepare_rate: Option[float | None] = Option(10, config.rate)
    """Most of these statements in a second, for each host; the distances are random. None: one after the other. A
    request for a statement that the host lacks does not wait for them. See :doc:`/scale`."""
    reprepare_window: Option[float | None] = Option(300, duration())
    """Seconds: statements that were not executed within them are not prepared ahead. None: all are."""
    allow_control_connection_query_fallback: Option[ControlConnectionQueryFallback] = Option(
        ControlConnectionQueryFallback.Disabled, config.query_fallback, is_required=True
    )
    """Requests while no pool has a connection: a :class:`ControlConnectionQueryFallback`, or its value."""

    # ---- monitoring

    request_tracker: Option[RequestTracker | None] = Option(None, any_value)
    """Called for each request and each of its attempts: a :class:`~cassandra.metrics.RequestTracker`, as
    :class:`~cassandra.telemetry.OpenTelemetry`."""
    slow_request_threshold: Option[float | None] = Option(None, duration())
    """Seconds: requests that take longer are logged by ``cassandra.slow``, with host, attempts and statement, without
    values. None: none are."""
    metrics_enabled: Option[bool] = Option(False, flag)
    """True counts requests, errors and connections in :attr:`Cluster.metrics`."""

    # ---- binding

    strict_binding: Option[bool] = Option(False, flag, changed=_on_binding_change)
    """True: values of prepared statements must be complete, and names of a dict must be those of parameters, else
    ValueError or KeyError. False: missing values are left unset, and unknown names are ignored, with one warning per
    statement."""

    # ---- limits

    max_requests_per_connection: Option[int | None] = Option(None, limit(MAX_REQUESTS))
    """Most requests in flight on a connection, 32,768 at most. None: as many as the protocol allows. Requests above a
    limit wait."""
    max_requests_per_host: Option[int | None] = Option(None, limit())
    """Most requests in flight on the connections of a session to one host. None: no limit."""
    max_requests_per_session: Option[int | None] = Option(None, limit())
    """Most requests in flight of a session. None: no limit."""
    adaptive_concurrency: Option[bool] = Option(False, flag)
    """True sends fewer requests at a time to servers that are overloaded, see :doc:`/limits`."""
    retry_budget: Option[float | None] = Option(None, config.share)
    """Retries after errors of overloaded servers for each request, above 0, at most 1: 0.1 allows 10 % more requests,
    see :doc:`/limits`. None: as the retry policy decides."""
    max_request_wait: Option[float | None] = Option(None, duration())
    """Seconds that a request may wait because of a limit. None: until its own timeout."""
    max_waiting_requests: Option[int] = Option(32768, config.positive_int)
    """Most requests of a session that wait because of a limit; further ones fail at once."""
    max_response_bytes: Option[int | None] = Option(None, config.response_bytes)
    """Bytes of the largest response that is accepted, 65,536 at least: a larger one is skipped, and its request fails
    with :exc:`~cassandra.connection.ResponseTooLarge`. None: 2 GiB, the limit of the protocol."""

    # ---- hosts

    reconnection_policy: Option[ReconnectionPolicy] = Option(
        ExponentialReconnectionPolicy(1.0, 60.0), config.instance, is_required=True
    )
    """Delays between attempts to reconnect to a host that is down: a :class:`~cassandra.policies.ReconnectionPolicy`.
    None stands for the default, one second up to one minute. Of the delays of an exponential policy random parts are
    waited for."""
    conviction_policy_factory: Option[Callable[..., ConvictionPolicy]] = Option(
        SimpleConvictionPolicy, config.function, is_required=True
    )
    """Called with each host; returns the :class:`~cassandra.policies.ConvictionPolicy` that decides whether a failed
    connection means that the host is down."""

    connection_rate: Option[float | None] = Option(25, config.rate)
    """Most connections to a host that are opened in a second, by all sessions together; the distances are random. The
    first one of a session is opened at once. None: as many as the host accepts. See :doc:`/scale`."""

    # ---- metadata

    max_schema_agreement_wait: Option[float] = Option(10, duration(optional=False, negative=True))
    """Seconds to wait, after a schema change, until all nodes have it; 0 does not wait."""
    schema_metadata_enabled: Option[bool] = Option(True, flag)
    """False reads no schema: :attr:`Metadata.keyspaces <cassandra.metadata.Metadata.keyspaces>` stays empty, and
    requests are routed by prepared statements only."""
    token_metadata_enabled: Option[bool] = Option(True, flag)
    """False reads no tokens: replicas of partitions are not known."""
    schema_metadata_page_size: Option[int] = Option(1000, config.positive_int)
    """Rows of a page when the driver reads schema tables. The driver keeps pages undecoded."""
    schema_event_refresh_window: Option[float] = Option(2, duration(optional=False, negative=True))
    """Seconds within which schema changes that servers report are read together, after a random delay; 0 reads at once,
    a negative value ignores these events."""
    topology_event_refresh_window: Option[float] = Option(10, duration(optional=False, negative=True))
    """Seconds, as above, of events about nodes that join, leave or move."""
    status_event_refresh_window: Option[float] = Option(2, duration(optional=False, negative=True))
    """Seconds, as above, of events about nodes that go up or down; a known node that is up is tried within a quarter of
    them."""

    # ---- threads and memory

    executor_threads: Option[int] = Option(2, config.positive_int)
    """Number of worker threads for background work."""
    memory_pool: Option[MemoryPool] = Option(None, config.memory_pool, make=partial(default_pool, "cluster"))
    """The :class:`~cassandra.memory.MemoryPool` for received frames. None: one of the process, shared by all clusters.
    See :doc:`/memory`."""

    # ---- derived from options

    session_id: UUID = set_by_constructor()
    """Random id of this object, the same on all its connections."""
    _contact_points_given = False
    client_routes: ClientRoutes | None = None
    """The routes behind private links, if there is a *client_routes_config*."""
    _login: LoginPolicy = set_by_constructor()
    sessions: Iterable[Session] = ()

    def _set_options(self, given: Mapping[str, Any]) -> None:
        """Set each option to its argument of the constructor, or to the default of the class."""
        self.session_id = uuid4()
        self._login = LoginPolicy()
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
        self._contact_points_given = given["contact_points"] not in (None, NOT_SET)
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
            raise ValueError("client_routes_config creates the endpoints: it cannot be combined with endpoint_factory")
        self.client_routes = ClientRoutes(routes, self.uses_tls)
        self.endpoint_factory = ClientRoutesEndPointFactory(self.client_routes, self.port)
        proxies = [proxy.connection_addr_override for proxy in routes.proxies]
        if not self._contact_points_given and any(proxies):
            self.contact_points = [proxy for proxy in dict.fromkeys(proxies) if proxy]
        if not routes.advanced_shard_awareness:
            self.shard_aware_options = ShardAwareOptions(self.shard_aware_options, disable_shardaware_port=True)

    def _use_cloud(self, given: Mapping[str, Any]) -> None:
        """Use the secure connect bundle, if there is one. Queries its metadata service: must be called when all other
        options are known to be valid, and blocks."""
        if self.cloud is not None:
            own = (given["endpoint_factory"], self.ssl_context, self.ssl_options, self.client_routes_config)
            if self._contact_points_given or any(value is not None for value in own):
                raise ValueError(
                    "contact_points, endpoint_factory, ssl_context, and ssl_options cannot be specified with a cloud "
                    "configuration, nor client_routes_config: the bundle contains these settings"
                )
            from cassandra._net.cloud import get_cloud_config  # imports modules for HTTP and zip archives

            found = get_cloud_config(self.cloud)
            proxy = SniEndPointFactory(found.sni_host or "", found.sni_port or DEFAULT_PORT)
            self.endpoint_factory = proxy
            self.contact_points = [proxy.create_from_sni(host_id) for host_id in found.host_ids or ()]
            self._contact_points_given = True
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
            "Cluster.set_meta_refresh_enabled is deprecated and will be removed in a future release. Set "
            "Cluster.schema_metadata_enabled and Cluster.token_metadata_enabled instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        self.schema_metadata_enabled = enabled
        self.token_metadata_enabled = enabled


OPTIONS: dict[str, Option[Any]] = {
    name: value for name, value in vars(ClusterOptions).items() if isinstance(value, Option)
}
