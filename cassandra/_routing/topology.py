"""The hosts of the cluster and their ring, at one moment (L4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from .ring.replication import _ReplicationStrategy, finder_for
from .ring.ring import ReplicaMap, Ring

if TYPE_CHECKING:
    from .host import Host


class Topology:
    """Hosts and ring; immutable. Replica maps are made on first use of a strategy and live as long as the topology: a
    schema change does not discard them."""

    __slots__ = ("_replica_maps", "by_endpoint", "by_id", "hosts", "partitioner", "ring")

    def __init__(self, hosts: Iterable[Host] = (), ring: Ring | None = None, partitioner: str | None = None) -> None:
        self.hosts = tuple(hosts)
        self.by_endpoint: dict[Any, Host] = {host.endpoint: host for host in self.hosts}
        self.by_id: dict[UUID, Host] = {host.host_id: host for host in self.hosts if host.host_id is not None}
        self.ring = ring
        self.partitioner = partitioner
        self._replica_maps: dict[tuple[type, _ReplicationStrategy], ReplicaMap | None] = {}

    def replica_map(self, strategy: _ReplicationStrategy | None) -> ReplicaMap | None:
        """Return the replicas under *strategy*; None if it cannot be used for routing."""
        if strategy is None or not self.ring:
            return None
        key = (type(strategy), strategy)  # a subclass may be equal to its base but place replicas differently
        try:
            return self._replica_maps[key]
        except KeyError:
            find = finder_for(strategy, self.ring)
            made = ReplicaMap(self.ring, find) if find is not None else None
            return self._replica_maps.setdefault(key, made)

    def with_hosts(self, hosts: Iterable[Host]) -> Topology:
        """Return a topology with the same ring and other hosts; the ring is rebuilt separately, from new tokens."""
        return Topology(hosts, self.ring, self.partitioner)
