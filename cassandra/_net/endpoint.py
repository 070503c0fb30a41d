"""Endpoints of nodes, their factories, and resolution to socket addresses (L3; ``cassandra.connection``)."""

from __future__ import annotations

import errno
import itertools
import re
from collections.abc import Mapping
from functools import total_ordering
from typing import Any

from cassandra._base.errors import UnresolvableContactPoints
from cassandra._base.objects import public
from cassandra._base.real import socket

DEFAULT_PORT = 9042
SocketAddress = tuple[int, Any]  # family, and (host, port) or a path


@public("cassandra.connection")
class EndPoint:
    """Address of one node. Endpoints are values: they compare, sort and hash by their address.

    Subclasses implement ``address``, ``port`` and ``resolve``.
    """

    @property
    def address(self) -> str:
        """The node's IP address, host name or socket path."""
        raise NotImplementedError

    @property
    def port(self) -> int | None:
        """TCP port; None if there is none."""
        raise NotImplementedError

    @property
    def ssl_options(self) -> dict[str, Any] | None:
        """TLS options of this endpoint, which override those of the cluster: ``server_hostname`` and all options of
        ``Cluster(ssl_options=)``. None to use the cluster's."""
        return None

    @property
    def server_name(self) -> str:
        """Name or IP address that TLS verifies the certificate against, unless ``ssl_options`` has a
        ``server_hostname``."""
        return self.address

    @property
    def socket_family(self) -> int:
        """Address family of the name look-up."""
        return socket.AF_UNSPEC

    @property
    def tls_session_cache_key(self) -> tuple[Any, ...]:
        """Part of the key of resumable TLS sessions; the rest is the endpoint, its server name and the SSLContext."""
        return (self.address, self.port)

    @property
    def _target(self) -> str:
        """Name or address to connect to."""
        return self.address

    def resolve(self) -> tuple[str, int | None]:
        """Return the (address, port) to connect to. Called before each connection, never on the I/O thread if it may
        block."""
        raise NotImplementedError


class _Ordered(EndPoint):
    """Comparison by key within one class."""

    def _key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __lt__(self, other: Any) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return bool(self._key() < other._key())

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


@public("cassandra.connection")
@total_ordering
class DefaultEndPoint(_Ordered):
    """An IP address or host name, and a port."""

    _name: str | None = None

    def __init__(self, address: str, port: int = DEFAULT_PORT) -> None:
        self._address = address
        self._port: int = _number(port)

    @classmethod
    def named(cls, address: str, port: int, name: str) -> DefaultEndPoint:
        """Return the endpoint that the contact point *name* was resolved to. It equals any other with that address and
        port, but TLS verifies the certificate against *name*."""
        endpoint = cls(address, port)
        endpoint._name = name
        return endpoint

    @property
    def server_name(self) -> str:
        return self._address if self._name is None else self._name

    @property
    def tls_session_cache_key(self) -> tuple[Any, ...]:
        key = (self._address, self._port)
        return key if self._name is None else (*key, self._name)

    @property
    def address(self) -> str:
        return self._address

    @property
    def port(self) -> int:
        """TCP port."""
        return self._port

    def resolve(self) -> tuple[str, int]:
        return self._address, self._port

    def _key(self) -> tuple[Any, ...]:
        return (self._address, self._port)

    def __str__(self) -> str:
        return f"[{self._address}]:{self._port}" if ":" in self._address else f"{self._address}:{self._port}"


@public("cassandra.connection")
@total_ordering
class SniEndPoint(_Ordered):
    """A node behind a TLS proxy that routes by server name (SNI). Connections use the proxy's addresses in rotation."""

    def __init__(self, proxy_address: str, server_name: str, port: int = DEFAULT_PORT) -> None:
        self._proxy_address = proxy_address
        self._server_name = server_name
        self._proxy_port: int = _number(port)
        self._turn = itertools.count()

    @property
    def address(self) -> str:
        return self._proxy_address

    @property
    def port(self) -> int:
        """TCP port of the proxy."""
        return self._proxy_port

    @property
    def ssl_options(self) -> dict[str, Any]:
        return {"server_hostname": self._server_name}

    @property
    def tls_session_cache_key(self) -> tuple[Any, ...]:
        return (self._proxy_address, self._proxy_port, self._server_name)

    def resolve(self) -> tuple[str, int]:
        found = {sockaddr[0] for _, sockaddr in _look_up(self._proxy_address, self._proxy_port, socket.AF_UNSPEC)}
        addresses = sorted(found)
        return addresses[next(self._turn) % len(addresses)], self._proxy_port

    def _key(self) -> tuple[Any, ...]:
        return (self._proxy_address, self._proxy_port, self._server_name)

    def __str__(self) -> str:
        return f"{self._proxy_address}:{self._proxy_port}:{self._server_name}"


@public("cassandra.connection")
@total_ordering
class UnixSocketEndPoint(_Ordered):
    """A node on this machine behind a unix domain socket, such as ScyllaDB's maintenance socket."""

    def __init__(self, unix_socket_path: str) -> None:
        self._unix_socket_path = unix_socket_path

    @property
    def address(self) -> str:
        return self._unix_socket_path

    @property
    def port(self) -> None:
        """None."""
        return None

    @property
    def socket_family(self) -> int:
        return socket.AF_UNIX

    def resolve(self) -> tuple[str, None]:
        return self._unix_socket_path, None

    def _key(self) -> tuple[Any, ...]:
        return (self._unix_socket_path,)

    def __str__(self) -> str:
        return self._unix_socket_path


@public("cassandra.connection")
class EndPointFactory:
    """Makes endpoints from rows of ``system.local`` and ``system.peers``."""

    cluster: Any = None  #: The cluster, after ``configure``.

    @property
    def makes_local(self) -> bool:
        """True if the connected node also gets its endpoint from here. Otherwise it keeps the one that worked."""
        return True

    def configure(self, cluster: Any) -> EndPointFactory:
        """Called once, before the first ``create``."""
        self.cluster = cluster
        return self

    def create(self, row: Mapping[str, Any]) -> EndPoint:
        """Return the endpoint of the node that *row* describes."""
        raise NotImplementedError


@public("cassandra.connection")
class DefaultEndPointFactory(EndPointFactory):
    """Makes a DefaultEndPoint from the node's address for clients, through the cluster's address translator. *port*, or
    else the default port, is used for rows without a port."""

    port: int | None = None  #: Port of nodes that announce none.

    def __init__(self, port: int | None = None) -> None:
        self.port = port

    @property
    def makes_local(self) -> bool:
        """True with a subclass's ``create`` or a program's translator; else the result equals the one that worked."""
        if type(self).create is not DefaultEndPointFactory.create:
            return True
        translator = getattr(self.cluster, "address_translator", None)
        return translator is not None and not getattr(translator, "_is_identity", False)

    def create(self, row: Mapping[str, Any]) -> DefaultEndPoint:
        address = rpc_address(row)
        if address is None:
            raise ValueError("the row has no address for clients")
        port = row.get("native_port") or row.get("rpc_port") or self.port or DEFAULT_PORT
        translator = getattr(self.cluster, "address_translator", None)
        if translator is not None:
            address = translator.translate(address)
        return DefaultEndPoint(address, port)


@public("cassandra.connection")
class SniEndPointFactory(EndPointFactory):
    """Makes a SniEndPoint for each node: all are behind one proxy, and the server name is derived from the host id."""

    def __init__(self, proxy_address: str, port: int, node_domain: str | None = None) -> None:
        self._proxy_address = proxy_address
        self._port = port
        self._node_domain = node_domain

    @property
    def makes_local(self) -> bool:
        """True with a subclass's ``create``: otherwise the result equals the endpoint that worked."""
        return type(self).create is not SniEndPointFactory.create

    def create(self, row: Mapping[str, Any]) -> SniEndPoint:
        host_id = row.get("host_id")
        if host_id is None:
            raise ValueError("the row has no host_id for the server name")
        domain = f".{self._node_domain}" if self._node_domain else ""
        return self.create_from_sni(f"{host_id}{domain}")

    def create_from_sni(self, sni: str) -> SniEndPoint:
        """Return the endpoint of the node that the proxy knows by the name *sni*."""
        return SniEndPoint(self._proxy_address, sni, self._port)


_ADDRESS = "[0-9A-Za-z_.:%-]{1,255}"  # a numeric address, with or without a zone, or a name
_MAPPED = bytes(10) + b"\xff\xff"  # prefix of an IPv4-mapped IPv6 address
_LOOPBACK_6 = bytes(15) + b"\1"
UNSPECIFIED = ("0.0.0.0", "::")  # in a row: the node is bound to all its addresses


def rpc_address(row: Mapping[str, Any]) -> str | None:
    """Return the node's address for clients; a node bound to all addresses is reached at the one its peers use."""
    address = row.get("native_address") or row.get("rpc_address")
    if address is not None and str(address) not in UNSPECIFIED:
        return str(address)
    other = row.get("peer") or row.get("broadcast_address") or row.get("listen_address")
    return str(other) if other is not None else None


def is_address(address: object) -> bool:
    """True if *address*, from a server's table, is a possible address or host name."""
    return isinstance(address, str) and re.fullmatch(_ADDRESS, address) is not None


def is_numeric(address: str) -> bool:
    """True if *address* needs no name look-up."""
    return _address_bytes(address) is not None


def is_local(endpoint: EndPoint) -> bool:
    """True if traffic to *endpoint* stays on this machine: a unix domain socket or a loopback address."""
    if endpoint.socket_family == getattr(socket, "AF_UNIX", None):
        return True
    packed = _address_bytes(endpoint._target)
    if packed is None:
        return endpoint._target.lower().removesuffix(".") == "localhost"
    return packed == _LOOPBACK_6 or packed.startswith(b"\x7f" if len(packed) == 4 else _MAPPED + b"\x7f")


def _address_bytes(address: str) -> bytes | None:
    """Return the bytes of a numeric address; None for a name."""
    try:
        if ":" in address:
            return socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
        return socket.inet_pton(socket.AF_INET, address)
    except (OSError, ValueError):  # ValueError: embedded null character
        return None


def needs_look_up(endpoint: EndPoint) -> bool:
    """True if ``socket_addresses`` may block for this endpoint. User classes may run any code in ``resolve``."""
    kind = type(endpoint)
    return not (kind is UnixSocketEndPoint or (kind is DefaultEndPoint and is_numeric(endpoint.address)))


def socket_addresses(endpoint: EndPoint) -> list[SocketAddress]:
    """Return the addresses to try, in order. May block. Raises UnresolvableContactPoints."""
    address, port = endpoint.resolve()
    if endpoint.socket_family == getattr(socket, "AF_UNIX", None):
        return [(socket.AF_UNIX, address)]
    return _look_up(address, port if port is not None else DEFAULT_PORT, endpoint.socket_family)


def unresolvable(name: str, error: BaseException) -> UnresolvableContactPoints:
    """Return the exception for a failed look-up of *name*, with the cause *error*. If the process is out of file
    descriptors, that is the cause instead: resolvers then send no query and report an unknown name."""
    cause = _no_descriptor() or error
    host, colon, port = name.rpartition(":")
    is_port = colon and host and port.isascii() and port.isdecimal()
    hint = f". A port is given as ({host.strip('[]')!r}, {port}) or Cluster(port={port})" if is_port else ""
    made = UnresolvableContactPoints(f"{name!r} could not be resolved: {cause}{hint}")
    made.__cause__ = cause
    return made


def _no_descriptor() -> OSError | None:
    try:
        socket.socket().close()
    except OSError as error:
        return error if error.errno in (errno.EMFILE, errno.ENFILE) else None
    return None


def _number(port: Any) -> Any:
    """Return *port*; a string of digits, such as from an environment variable, is converted to int."""
    return int(port) if isinstance(port, str) and port.isascii() and port.isdecimal() else port


def _look_up(address: str, port: int, family: int) -> list[SocketAddress]:
    packed = _address_bytes(address)
    if packed is not None:
        return [(socket.AF_INET6 if len(packed) == 16 else socket.AF_INET, (address, port))]
    try:
        found = socket.getaddrinfo(address, port, family, socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise unresolvable(address, error) from error
    addresses = dict.fromkeys((entry[0], (entry[4][0], entry[4][1])) for entry in found)
    if not addresses:
        raise UnresolvableContactPoints(f"{address!r} has no addresses")
    return list(addresses)
