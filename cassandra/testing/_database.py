"""The data of a simulated cluster and its location: the engine, and replicas and tablets of every table."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cassandra.testing._ddl import Definitions
from cassandra.testing._engine import Engine
from cassandra.testing._plan import Plan, Route
from cassandra.testing._schema import Keyspace, Schema, Table
from cassandra.testing._system import ClusterFacts, SystemContent, create_system_tables
from cassandra.testing._topology import (
    Place,
    Replica,
    TabletInfo,
    TabletMap,
    new_tablets,
    pick_replicas,
    ring_replicas,
    shard_of,
)
from cassandra.testing._write import WritePlan
from cassandra.testing.errors import InvalidRequest, Unavailable

TABLETS_PER_SHARD = 1  # when CREATE KEYSPACE has no number


class Member(Place, Protocol):
    """A node, for replica counts."""

    @property
    def alive(self) -> bool: ...


@dataclass(frozen=True)
class Owner:
    """The replicas that own a partition."""

    replicas: tuple[Replica, ...]
    tablet: TabletInfo | None


class Database:
    """The database of a cluster, used on its thread only."""

    def __init__(
        self, cluster: ClusterFacts, members: Callable[[], Sequence[Member]], tablets: bool, rng: random.Random
    ) -> None:
        self.schema = Schema()
        self._members = members
        self._turn = itertools.count()
        create_system_tables(self.schema)
        self.definitions = Definitions(
            self.schema, tablets, self._new_table, self.place_again, lambda: sorted({n.datacenter for n in members()})
        )
        self.engine = Engine(self.schema, self.definitions, SystemContent(self.schema, cluster), rng)

    # -- tablets

    def _new_table(self, table: Table) -> None:
        keyspace = self.schema.keyspaces[table.keyspace]
        table.tablets = self._make_tablets(keyspace, table)

    def _make_tablets(self, keyspace: Keyspace, table: Table) -> TabletMap | None:
        if keyspace.initial_tablets is None:
            return None
        factors = keyspace.factors
        assert isinstance(factors, dict)
        members = self._members()
        option = table.options.get("tablets", {})
        wanted = int(option.get("min_tablet_count", 0) if isinstance(option, dict) else 0) or keyspace.initial_tablets
        wanted = wanted or max(1, sum(node.shards for node in members) * TABLETS_PER_SHARD)
        count = 1 << (wanted - 1).bit_length()
        return new_tablets(count, factors, members, next(self._turn))

    def place_again(self, keyspace: Keyspace) -> None:
        """Assign new replicas to every tablet of *keyspace* (its replication or the cluster changed)."""
        if keyspace.initial_tablets is None:
            return
        factors = keyspace.factors
        assert isinstance(factors, dict)
        for table in keyspace.tables.values():
            assert table.tablets is not None
            start = next(self._turn)
            table.tablets.tablets = [
                TabletInfo(tablet.first_token, tablet.last_token, pick_replicas(factors, self._members(), start + n))
                for n, tablet in enumerate(table.tablets.tablets)
            ]

    def tablets_of(self, name: str) -> tuple[Table, TabletMap]:
        """Return the table ``keyspace.table`` and its tablets; raise InvalidRequest."""
        keyspace, _, rest = name.partition(".")
        table = self.schema.keyspace(keyspace).tables.get(rest)
        if table is None:
            raise InvalidRequest(f"unconfigured table {name}")
        if table.tablets is None:
            raise InvalidRequest(f"{name} has no tablets")
        return table, table.tablets

    # -- replicas

    def owner(self, route: Route) -> Owner:
        """Return the replicas of a partition."""
        tablets = route.table.tablets
        if tablets is not None:
            tablet = tablets.find(route.token)
            return Owner(tablet.replicas, tablet)
        factors = self.schema.keyspaces[route.table.keyspace].factors
        nodes = ring_replicas(route.token, factors, self._members())
        return Owner(tuple((node.host_id, shard_of(route.token, node.shards)) for node in nodes), None)

    def check_alive(self, plan: Plan, route: Route | None, consistency: str, datacenter: str) -> None:
        """Raise Unavailable when too few replicas are alive for *consistency*."""
        table = plan.table
        members = {node.host_id: node for node in self._members()}
        if table is None or table.virtual or all(node.alive for node in members.values()):
            return
        write = isinstance(plan, WritePlan)
        routes = [route] if route else self._everywhere(table)
        for place in routes:
            nodes = [members[host] for host, _ in self.owner(place).replicas if host in members]
            for wanted, group in _groups(consistency, nodes, datacenter):
                alive = sum(node.alive for node in group)
                if alive < wanted and not (consistency == "ANY" and write):
                    raise Unavailable(
                        f"Cannot achieve consistency level for cl {consistency}. Requires {wanted}, alive {alive}",
                        consistency=consistency, required=wanted, alive=alive,
                    )  # fmt: skip

    def _everywhere(self, table: Table) -> list[Route]:
        if table.tablets is not None:
            return [Route(table, tablet.last_token) for tablet in table.tablets.tablets]
        return [Route(table, token) for node in self._members() for token in node.tokens]


def _groups(consistency: str, nodes: Sequence[Any], datacenter: str) -> list[tuple[int, Sequence[Any]]]:
    """Return groups of replicas, and how many of each must be alive."""
    local = [node for node in nodes if node.datacenter == datacenter]
    if consistency in ("LOCAL_QUORUM", "LOCAL_SERIAL"):
        return [(len(local) // 2 + 1, local)]
    if consistency == "LOCAL_ONE":
        return [(1, local)]
    if consistency == "EACH_QUORUM":
        by_datacenter: dict[str, list[Any]] = {}
        for node in nodes:
            by_datacenter.setdefault(node.datacenter, []).append(node)
        return [(len(group) // 2 + 1, group) for group in by_datacenter.values()]
    if consistency in ("QUORUM", "SERIAL"):
        return [(len(nodes) // 2 + 1, nodes)]
    return [({"TWO": 2, "THREE": 3, "ALL": len(nodes)}.get(consistency, 1), nodes)]
