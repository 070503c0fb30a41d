"""ClusterState: the state of the cluster as one immutable value (L4).

Writers (the control connection, through :class:`~cassandra._routing.metadata.Metadata`) make a new state and
publish it by one assignment. Readers read the state once and see hosts, ring and replicas of the same moment, without a
lock. Keyspaces may be newer: they and their dict are objects that programs hold, and follow changes
(``schema/live.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .topology import Topology

if TYPE_CHECKING:
    from .host import Host
    from .ring.ring import ReplicaMap
    from .schema.keyspace import KeyspaceMetadata
    from .tablets.tablets import Tablet, Tablets

UNSPECIFIED = frozenset(("0.0.0.0", "::"))


class ClusterState:
    """A snapshot. After construction only lazily filled caches and *tablets* change: responses of servers contain
    tablets, and each table has its own snapshot of them."""

    __slots__ = ("_found", "_replica_maps", "keyspaces", "tablets", "topology")

    def __init__(
        self, topology: Topology, keyspaces: Mapping[str, KeyspaceMetadata], tablets: Tablets | None = None
    ) -> None:
        self.topology = topology
        self.keyspaces = keyspaces
        self.tablets = tablets
        self._replica_maps: dict[str, ReplicaMap | None] = {}
        self._found: dict[str, Host] = {}  # cache of look-ups by announced address

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self.topology.hosts

    def replica_map(self, keyspace: str) -> ReplicaMap | None:
        """Return the replicas of the ranges of *keyspace*; None if it or its replication strategy is unknown."""
        try:
            return self._replica_maps[keyspace]
        except KeyError:
            pass
        known = self.keyspaces.get(keyspace)
        if known is None:  # not cached: there is no limit to unknown names
            return None
        made = self.topology.replica_map(known.replication_strategy)
        return self._replica_maps.setdefault(keyspace, made)

    def replicas(self, keyspace: str, token: Any) -> tuple[Host, ...]:
        """Return the replicas of the partition with *token* (a value of this cluster's partitioner), in ring order."""
        found = self.replica_map(keyspace)
        return found.replicas(token) if found is not None else ()

    def tablet(self, keyspace: str | None, table: str | None, token: Any) -> Tablet | None:
        """Return the tablet of *table* that covers *token* (Murmur3); None if it is not known."""
        if token is None or self.tablets is None or self.topology.ring is None or not self.topology.ring.murmur3:
            return None
        return self.tablets.get_tablet_for_key(keyspace, table, token)

    def has_leaders(self, keyspace: str | None) -> bool:
        """True if *keyspace* is strongly consistent: its tablets have leaders."""
        known = None if keyspace is None else self.keyspaces.get(keyspace)
        return known is not None and known._has_leaders

    def token_of(self, key: bytes) -> Any:
        """Return the token value of a serialised partition key; None while there is no ring."""
        ring = self.topology.ring
        return ring.token_of(key) if ring is not None else None

    def routing_token(self, token: int | None, statement: Any) -> Any:
        """Return the token value for routing a request: *token* (Murmur3) if the cluster uses that partitioner, else
        from the statement's routing key; None if there is neither, or no ring."""
        ring = self.topology.ring
        if ring is None:
            return None
        if ring.murmur3:
            if token is None:
                token = getattr(statement, "routing_token", None)
            if token is not None:
                return token
        key = getattr(statement, "routing_key", None)
        if isinstance(key, str):
            key = key.encode()
        return ring.token_of(key) if key is not None else None

    def host_at(self, address: Any, port: int | None = None) -> Host | None:
        """Return the host with this endpoint, or with this address (and port) for clients; None if there is none."""
        if not isinstance(address, str):
            return self.topology.by_endpoint.get(address)
        known = self._found.get(address) if port is None else None
        if known is not None and _told_address(known) == address:
            return known
        for host in self.topology.hosts:
            if port is not None and port != (host.broadcast_rpc_port or port):
                continue
            if address == _told_address(host):
                if port is None:
                    self._found[address] = host
                return host
        for host in self.topology.hosts:
            if address == host.address and (port is None or port == host.endpoint.port):
                return host
        return None


def _told_address(host: Host) -> str | None:
    """Return the address by which servers announce *host*: the one for clients or, if it is bound to all its addresses,
    the one for other nodes."""
    address = host.broadcast_rpc_address
    return host.broadcast_address if address in UNSPECIFIED else address


EMPTY = ClusterState(Topology(), {})
