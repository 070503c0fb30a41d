"""Options for opening connections: one immutable object per cluster (L3; made by the cluster, read in this layer)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .auth import LoginPolicy

if TYPE_CHECKING:
    import ssl

    from cassandra._net.connection import Connection
    from cassandra._net.endpoint import EndPoint

    from .auth import AllowedAddresses, AuthProvider
    from .features import ShardTarget
    from .handshake import ApplicationInfoBase
    from .tls_sessions import SSLSessionCache

DEFAULT_CQL_VERSION = "3.0.0"  #: Version of CQL, if a node names none.
DEFAULT_CONNECT_TIMEOUT = 5.0
UNBOUNDED_CONNECT_TIMEOUT = 60.0  # for connect_timeout=None: every wait is finite
MAX_REQUESTS = 32768
MAX_FRAME = 0x7FFFFFFF  # bytes of a body: its length is a signed number of 32 bits


class ConnectionOptions:
    """All settings of a connection except its endpoint. Immutable; ``replace`` returns a changed copy."""

    protocol_version: int | None = None  # None: negotiate down from the highest supported
    may_lower: bool = False  # try lower versions if the server rejects protocol_version
    begin_high: bool = False  # try the highest supported version first; protocol_version is known to work
    on_open: Callable[[Connection], None] | None = None  # called before other callbacks, on the I/O thread
    allow_beta: bool = False
    compression: bool | str = True  # True: the best that both sides support; a name: only that one
    cql_version: str | None = None
    auth_provider: AuthProvider | None = None
    login: LoginPolicy = LoginPolicy()  # shared by the connections of a cluster
    allowed_addresses: AllowedAddresses | None = None  # None: no restriction
    ssl_context: ssl.SSLContext | None = None
    ssl_options: Mapping[str, Any] | None = None  # {} is TLS with defaults, None is plaintext
    ssl_session_cache: SSLSessionCache | None = None
    sockopts: Sequence[tuple[int, int, int | bytes]] = ()
    heartbeat_interval: float | None = None  # seconds without input after which OPTIONS is sent; None or 0: never
    heartbeat_timeout: float = 30.0  # seconds without input after that, until the connection is closed
    connect_timeout: float | None = DEFAULT_CONNECT_TIMEOUT  # whole opening, from name look-up to end of handshake
    keyspace: str | None = None  # USE it as the last step
    register_events: Sequence[str] = ()  # REGISTER for these: "TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"
    application_info: ApplicationInfoBase | None = None
    startup_options: Mapping[str, str] = MappingProxyType({})
    report: Callable[[dict[str, str], bool], None] | None = None  # adds options; called with (options, is ScyllaDB)
    no_compact: bool = False
    connection_class: type[Connection] | None = None  # a program's subclass, used for all connections
    max_frame: int = MAX_FRAME
    max_requests: int = MAX_REQUESTS
    follows_overload: bool = False  # send fewer requests to an overloaded server
    local_address: tuple[str, int] | None = None
    shard_target: ShardTarget | None = None  # target shard, reached through the shard-aware port
    verify_host_id: bool = True  # reject a node with another host id than expected, if both are known

    def __init__(self, **given: Any) -> None:
        for name, value in given.items():
            if name not in ConnectionOptions.__annotations__:
                raise TypeError(f"unknown connection option: {name!r}")
            self.__dict__[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot set {name}: connection options are immutable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConnectionOptions) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def replace(self, **changes: Any) -> ConnectionOptions:
        """Return a copy with *changes*."""
        return ConnectionOptions(**{**self.__dict__, **changes})

    @property
    def uses_tls(self) -> bool:
        return self.ssl_context is not None or self.ssl_options is not None

    def uses_tls_to(self, endpoint: EndPoint) -> bool:
        """True if the connection to *endpoint* is encrypted, by the options of the cluster or of the endpoint."""
        return self.uses_tls or endpoint.ssl_options is not None

    def tls_context_for(self, endpoint: EndPoint) -> ssl.SSLContext | None:
        """Return the context for TLS with *endpoint*, None for plaintext. A context made from the options is cached per
        dict. Raises ValueError for options that contradict each other."""
        if not self.uses_tls_to(endpoint):
            return None
        from .tls import context_for  # imports ssl

        return context_for(self.ssl_context, self.ssl_options, endpoint.ssl_options)

    @property
    def open_timeout(self) -> float:
        """Time limit of an opening in seconds, always finite."""
        return UNBOUNDED_CONNECT_TIMEOUT if self.connect_timeout is None else self.connect_timeout
