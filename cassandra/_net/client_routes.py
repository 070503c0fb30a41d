"""Client routes: nodes that are reached at other addresses than their own, such as through private links (L3).

ScyllaDB's table ``system.client_routes`` has the address and port of each node per connection id (one private link or
proxy). The table may change at any time while a host keeps its identity: its endpoint is keyed by host id, and the
address is looked up for each connection that is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import total_ordering
from typing import Any
from uuid import UUID

from cassandra._base.objects import public

from .endpoint import DEFAULT_PORT, EndPointFactory, _Ordered, is_address, rpc_address

Address = tuple[str, int]


@public("cassandra.client_routes")
class ClientRoutesChangeType(Enum):
    """Change types of ``CLIENT_ROUTES_CHANGE`` events."""

    UPDATE_NODES = "UPDATE_NODES"  #: Routes of nodes have changed.


@public("cassandra.client_routes")
class ClientRouteProxy:
    """One set of routes: those of *connection_id*. With *connection_addr_override* all nodes are reached at that
    address, each at the port of its route."""

    def __init__(self, connection_id: str, connection_addr_override: str | None = None) -> None:
        if not isinstance(connection_id, str) or not connection_id:
            raise ValueError(f"connection_id must be a non-empty string, got {connection_id!r}")
        self.connection_id = connection_id  #: Id of the private link, as in the server's table of routes.
        #: Address to connect to instead of the one in that table.
        self.connection_addr_override = connection_addr_override

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientRouteProxy) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.connection_id, self.connection_addr_override))

    def __repr__(self) -> str:
        return f"ClientRouteProxy({self.connection_id!r}, {self.connection_addr_override!r})"


@public("cassandra.client_routes")
class ClientRoutesConfig:
    """Configuration of client routes: for each node, the first of *proxies* with a route to it is used. Immutable.

    Example::

        proxy = ClientRouteProxy("my-private-link", "10.1.2.3")
        config = ClientRoutesConfig([proxy])
        Cluster(["10.1.2.3"], client_routes_config=config)

    :param advanced_shard_awareness: use the shard-aware ports of nodes. This needs a network path that preserves both
        these ports and the client's port. Otherwise connections are opened until every shard has one.
    """

    def __init__(self, proxies: Sequence[ClientRouteProxy], advanced_shard_awareness: bool = False) -> None:
        self.proxies = tuple(proxies)  #: The :class:`ClientRouteProxy` objects.
        self.advanced_shard_awareness = bool(advanced_shard_awareness)  #: False does not use the shard-aware port.
        if not self.proxies or not all(isinstance(proxy, ClientRouteProxy) for proxy in self.proxies):
            raise ValueError("proxies must be a non-empty sequence of ClientRouteProxy objects")

    def __repr__(self) -> str:
        return f"ClientRoutesConfig({list(self.proxies)!r}, advanced_shard_awareness={self.advanced_shard_awareness})"


class ClientRoutes:
    """Addresses of nodes as last read from the table. One thread calls ``take``; any thread may read."""

    def __init__(self, config: ClientRoutesConfig, tls: bool = False) -> None:
        self.config = config
        self._port = "tls_port" if tls else "port"
        self._routes: dict[UUID, Address] = {}

    @property
    def connection_ids(self) -> list[str]:
        """Connection ids whose routes are read, in order of preference."""
        return list(dict.fromkeys(proxy.connection_id for proxy in self.config.proxies))

    def concerns(self, connection_ids: Iterable[str]) -> bool:
        """True if any of *connection_ids* is configured."""
        return not set(self.connection_ids).isdisjoint(connection_ids)

    def take(self, rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> set[UUID]:
        """Apply *rows* of ``system.client_routes``, by connection id; return the ids of hosts whose address changed."""
        routes: dict[UUID, Address] = {}
        for proxy in self.config.proxies:
            for row in rows.get(proxy.connection_id, ()):
                address, port = proxy.connection_addr_override or row.get("address"), row.get(self._port)
                host_id = row.get("host_id")
                if isinstance(host_id, UUID) and isinstance(port, int) and 0 < port < 65536 and is_address(address):
                    routes.setdefault(host_id, (str(address), port))
        before, self._routes = self._routes, routes
        return {host_id for host_id in before.keys() | routes.keys() if before.get(host_id) != routes.get(host_id)}

    def of(self, host_id: UUID) -> Address | None:
        """Return the address and port of the host; None if there is no route to it."""
        return self._routes.get(host_id)


@public("cassandra.connection")
@total_ordering
class ClientRoutesEndPoint(_Ordered):
    """A node by its host id, reached at its current route; without a route, at its own address and port."""

    def __init__(
        self, host_id: UUID, handler: ClientRoutes, original_address: str, original_port: int | None = None
    ) -> None:
        self._host_id = host_id
        self._handler = handler
        self._address = original_address
        self._port = DEFAULT_PORT if original_port is None else original_port

    @property
    def host_id(self) -> UUID:
        """Id of the node."""
        return self._host_id

    @property
    def address(self) -> str:
        """The node's own address."""
        return self._address

    @property
    def port(self) -> int:
        """TCP port."""
        return self._port

    @property
    def _target(self) -> str:
        return self.resolve()[0]

    def resolve(self) -> Address:
        return self._handler.of(self._host_id) or (self._address, self._port)

    def _key(self) -> tuple[Any, ...]:
        return (self._host_id,)

    def __str__(self) -> str:
        return f"{self._address}:{self._port}({self._host_id})"


@public("cassandra.connection")
class ClientRoutesEndPointFactory(EndPointFactory):
    """Makes a ClientRoutesEndPoint for every node, also the connected one: a proxy may lead to any of them."""

    makes_local = True  #: True: it also makes the endpoint of the node that is asked.

    def __init__(self, client_routes_handler: ClientRoutes, default_port: int | None = None) -> None:
        self.client_routes_handler = client_routes_handler  #: The routes.
        self.default_port = default_port  #: Port of routes without one.

    def create(self, row: Mapping[str, Any]) -> ClientRoutesEndPoint:
        host_id, address = row.get("host_id"), rpc_address(row)
        if host_id is None or address is None:
            raise ValueError("the row lacks a host_id or an address")
        port = row.get("native_port") or row.get("rpc_port") or self.default_port
        return ClientRoutesEndPoint(host_id, self.client_routes_handler, address, port)
