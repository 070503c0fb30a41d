"""Commands that move tablets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra.testing._database import Database
from cassandra.testing._topology import TabletInfo, TabletMap, pick_replicas

if TYPE_CHECKING:
    from cassandra.testing._node import SimulatedNode

T = TypeVar("T")


class TabletCommands:
    """Tablet commands of a simulated cluster. Tables are named ``keyspace.table``."""

    @property
    def database(self) -> Database:
        raise NotImplementedError

    def _call(self, action: Callable[[], T]) -> T:
        raise NotImplementedError

    def members(self) -> Any:
        raise NotImplementedError

    @property
    def nodes(self) -> list[SimulatedNode]:
        raise NotImplementedError

    def tablets(self, table: str) -> list[TabletInfo]:
        """Return the tablets of a table, in token order."""
        return self._call(lambda: list(self._map(table).tablets))

    def _map(self, table: str) -> TabletMap:
        return self.database.tablets_of(table)[1]

    def migrate_tablet(self, table: str, token: int, source: int, target: int, shard: int = 0) -> TabletInfo:
        """Move the replica of the tablet of *token* from node *source* to *shard* of node *target* (indexes; the same
        node twice moves it between shards). Return the changed tablet."""

        def move() -> TabletInfo:
            found, tablets = self._map(table), self.nodes
            at = found.index(token)
            tablet = found.tablets[at]
            gone, new = tablets[source].host_id, tablets[target].host_id
            hosts = [host for host, _ in tablet.replicas]
            if gone not in hosts or (new in hosts and new != gone):
                raise ValueError(f"the tablet has replicas at {hosts}")
            if not 0 <= shard < tablets[target].shards:
                raise ValueError(f"node {target} has {tablets[target].shards} shards")
            replicas = tuple((new, shard) if host == gone else (host, old) for host, old in tablet.replicas)
            moved = replace(tablet, replicas=replicas)
            found.replace(at, 1, moved)
            return moved

        return self._call(move)

    def split_tablets(self, table: str) -> int:
        """Split every tablet in two halves, with the same replicas. Return the new number of tablets."""

        def split() -> int:
            found = self._map(table)
            halves = []
            for tablet in found.tablets:
                middle = (tablet.first_token + tablet.last_token) // 2
                halves += [replace(tablet, last_token=middle), replace(tablet, first_token=middle)]
            found.tablets = halves
            return len(halves)

        return self._call(split)

    def merge_tablets(self, table: str) -> int:
        """Merge each two neighbours, with the replicas of the first. Return the new number of tablets."""

        def merge() -> int:
            found = self._map(table)
            old = found.tablets
            if len(old) < 2:
                raise ValueError(f"{table} has only one tablet")
            found.tablets = [replace(old[n], last_token=old[n + 1].last_token) for n in range(0, len(old), 2)]
            return len(found.tablets)

        return self._call(merge)

    def rebalance(self) -> None:
        """Distribute all tablets over the current nodes, as for new tables."""

        def spread() -> None:
            for keyspace in self.database.schema.keyspaces.values():
                self.database.place_again(keyspace)

        self._call(spread)

    def shards_changed(self, node: SimulatedNode) -> None:
        """Move tablets off shards that no longer exist. For nodes."""
        self._each_replica(lambda host, shard: (host, shard % node.shards if host == node.host_id else shard))

    def _each_replica(self, change: Callable[[Any, int], tuple[Any, int]]) -> None:
        for table in self.database.schema.tables():
            if table.tablets is not None:
                table.tablets.tablets = [
                    replace(tablet, replicas=tuple(change(*replica) for replica in tablet.replicas))
                    for tablet in table.tablets.tablets
                ]

    def _leave(self, node: SimulatedNode) -> None:
        """Give the tablets of *node*, which left the cluster, to others."""
        for table in self.database.schema.tables():
            if table.tablets is None:
                continue
            factors = self.database.schema.keyspaces[table.keyspace].factors
            assert isinstance(factors, dict)
            for at, tablet in enumerate(table.tablets.tablets):
                if node.host_id in dict(tablet.replicas):
                    table.tablets.tablets[at] = self._without(tablet, node, factors, at)

    def _without(self, tablet: TabletInfo, node: SimulatedNode, factors: dict[str, int], turn: int) -> TabletInfo:
        held = dict(tablet.replicas)
        candidates = [other for other in self.members() if other.datacenter == node.datacenter]
        free = [other for other in candidates if other.host_id not in held]
        if not free:
            return replace(tablet, replicas=pick_replicas(factors, self.members(), turn))
        new = free[turn % len(free)]
        replicas = tuple(
            (new.host_id, turn % new.shards) if host == node.host_id else (host, shard)
            for host, shard in tablet.replicas
        )
        return replace(tablet, replicas=replicas)
