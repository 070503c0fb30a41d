"""Routing with metadata that are not this driver's: a mock of a test, a substitute written by a program (L4).

A policy that was populated with such a cluster uses the public methods of its metadata, as scylla-driver's policies do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from cassandra._routing.snapshot import ClusterState

from .base import Wanted, keeps_order

if TYPE_CHECKING:
    from cassandra._routing.host import Host


def wanted_of(metadata: Any, keyspace: str | None, statement: Any, policy: Any) -> Wanted:
    """Return the routing parameters of a request in the cluster of *metadata*. *policy*: the wrapped policy."""
    state = state_of(metadata)
    if type(state) is ClusterState:
        return Wanted.of(state, keyspace, None, statement)
    return cast("Wanted", ForeignWanted(metadata, state, keyspace, statement, policy))


def state_of(metadata: Any) -> Any:
    """Return the snapshot of *metadata*, or a substitute for it."""
    state = getattr(metadata, "state", None)
    return state if type(state) is ClusterState else ForeignState(metadata)  # not isinstance(), which mocks pass


class ForeignState:
    """The methods of a snapshot that policies use, over *metadata*."""

    def __init__(self, metadata: Any) -> None:
        self._metadata = metadata

    def host_at(self, address: str) -> Host | None:
        found: Host | None = self._metadata.get_host(address)
        return found

    def has_leaders(self, keyspace: str | None) -> bool:
        return False


class ForeignWanted:
    """:class:`Wanted` over *metadata*."""

    tablet: Any = None

    def __init__(self, metadata: Any, state: Any, keyspace: str | None, statement: Any, policy: Any) -> None:
        self._metadata = metadata
        self._policy = policy
        self.state = state
        self.keyspace = keyspace
        self.statement = statement

    @property
    def ordered(self) -> bool:
        return keeps_order(self.statement)

    def replicas(self) -> Sequence[Host]:
        """Return the replicas of the tablet if the metadata have one, else the replicas by the ring."""
        key = getattr(self.statement, "routing_key", None)
        if key is None or self.keyspace is None:
            return ()
        metadata, table = self._metadata, getattr(self.statement, "table", None)
        tablets, ring = getattr(metadata, "_tablets", None), getattr(metadata, "token_map", None)
        if tablets is not None and ring is not None:
            tablet = tablets.get_tablet_for_key(self.keyspace, table, ring.token_class.from_key(key))
            if tablet is not None:
                return self._hosts_of(tablet)
        return list(metadata.get_replicas(self.keyspace, key))

    def _hosts_of(self, tablet: Any) -> Sequence[Host]:
        holders = {host_id for host_id, _ in tablet.replicas}
        plan: Iterable[Host] = self._policy.make_query_plan(self.keyspace, self.statement)
        return [host for host in plan if host.host_id in holders]
