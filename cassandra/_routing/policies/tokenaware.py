"""Token awareness: the replicas of a partition first, near ones before far ones (L4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import random, shuffle
from typing import TYPE_CHECKING, Any

from cassandra._base.public import public

from .base import HostDistance, LoadBalancingPolicy, is_lwt, routing_keyspace
from .router import builtin, fallback_of, is_builtin

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.ring import ReplicaMap
    from cassandra._routing.snapshot import ClusterState
    from cassandra._routing.topology import Topology

Tiers = tuple[tuple["Host", ...], ...]
#: From the token of a request, or None, to the host it goes to.
Route = Callable[["int | None"], "Host | None"]

_NEAR_TO_FAR = (HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE)


def _any_of(hosts: Sequence[Host]) -> Host:
    return hosts[int(random() * len(hosts))]  # a tenth of what choice() takes, which is more even for 2**50 hosts


class _Routes:
    """Replicas of every token range by distance, worked out on first use; valid for one topology and one epoch
    of the child."""

    __slots__ = ("_tables", "epoch", "topology")

    def __init__(self, topology: Topology | None, epoch: object) -> None:
        self.topology = topology
        self.epoch = epoch
        self._tables: dict[ReplicaMap, list[Tiers | None]] = {}

    def table(self, replicas: ReplicaMap) -> list[Tiers | None]:
        table = self._tables.get(replicas)
        if table is None:
            table = self._tables.setdefault(replicas, [None] * len(replicas))
        return table


@builtin
@public("cassandra.policies")
class TokenAwarePolicy(LoadBalancingPolicy):
    """Sends a request to a replica of its partition when that is known; any other goes where *child_policy* says.

    Needs the statement's routing key (bound statements have it) and keyspace. Live replicas come first, ordered by the
    distance the child gives them; then the rest of the child's plan.

    :param shuffle_replicas: spread requests over replicas of equal distance. Conditional (LWT) statements always keep
        the order of the ring, so that all clients contend at the same replica.
    """

    #: Whether replicas of equal distance are tried in random order.
    shuffle_replicas = True

    def __init__(
        self,
        child_policy: LoadBalancingPolicy,
        shuffle_replicas: bool = True,
        _prefer_tablet_leader: bool = True,
    ) -> None:
        self._child_policy: Any = child_policy
        self.shuffle_replicas = shuffle_replicas
        self._cluster_metadata: Any = None
        self._routes = _Routes(None, None)
        self._may_remember = is_builtin(child_policy)  # a user's distances may change at any time

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._cluster_metadata = cluster.metadata
        self._child_policy.populate(cluster, hosts)

    def check_supported(self) -> None:
        self._child_policy.check_supported()

    def distance(self, *args: Any, **kwargs: Any) -> int:
        """The child's distance."""
        distance: int = self._child_policy.distance(*args, **kwargs)
        return distance

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Live replicas of the statement's partition, nearest first; then the other hosts of the child's plan."""
        keyspace = routing_keyspace(working_keyspace, query)
        if self._cluster_metadata is None:
            return iter(self._child_policy.make_query_plan(keyspace, query))
        return self.fallback(self._cluster_metadata.state, keyspace, None, query)

    def on_up(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_up(*args, **kwargs)

    def on_down(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_down(*args, **kwargs)

    def on_add(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_add(*args, **kwargs)

    def on_remove(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_remove(*args, **kwargs)

    @property
    def epoch(self) -> object:
        return self._child_policy.epoch

    def pick(self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any) -> Host | None:
        if keyspace is not None:
            for tier in self._tiers(state, keyspace, token, statement):
                host = tier[0] if len(tier) == 1 else self._choose(tier, statement)
                if host is not None and host.is_up:
                    return host
        picked: Host | None = self._child_policy.pick(state, keyspace, token, statement)
        return picked

    def route(self, state: ClusterState, keyspace: str | None, statement: Any) -> Route:
        """``pick`` for many tokens: what is the same for all of them is looked up once."""
        replicas = None if keyspace is None else state.replica_map(keyspace)
        policy = self._child_policy
        epoch = policy.epoch if self._may_remember else None

        def pick(token: int | None) -> Host | None:
            return self.pick(state, keyspace, token, statement)

        if replicas is None or epoch is None or not replicas.ring.murmur3:
            return pick
        table, index = self._table(state, epoch, replicas), replicas.index

        def pick_first(token: int | None) -> Host | None:
            tiers = None if token is None else table[index(token)]
            if tiers and policy.epoch is epoch:
                nearest = tiers[0]
                if len(nearest) == 1 and nearest[0].is_up:
                    return nearest[0]
            return pick(token)

        return pick_first

    def fallback(self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any) -> Iterator[Host]:
        tried: set[Host] = set()
        if keyspace is not None:
            for tier in self._tiers(state, keyspace, token, statement):
                for host in self._ordered(tier, statement):
                    if host.is_up:
                        tried.add(host)
                        yield host
        for host in fallback_of(self._child_policy, state, keyspace, token, statement):
            if host not in tried:
                yield host

    def _tiers(self, state: ClusterState, keyspace: str, token: int | None, statement: Any) -> Tiers:
        """The replicas of the request's partition by distance; empty when it cannot be known."""
        value = state.routing_token(token, statement)
        if value is None:
            return ()
        replicas = state.replica_map(keyspace)
        if replicas is None:
            return ()
        index = replicas.index(value)
        epoch = self._child_policy.epoch if self._may_remember else None
        if epoch is None:
            return self._by_distance(replicas[index])
        table = self._table(state, epoch, replicas)
        tiers = table[index]
        if tiers is None:
            tiers = table[index] = self._by_distance(replicas[index])
        return tiers

    def _table(self, state: ClusterState, epoch: object, replicas: ReplicaMap) -> list[Tiers | None]:
        routes = self._routes
        if routes.topology is not state.topology or routes.epoch is not epoch:
            routes = self._routes = _Routes(state.topology, epoch)
        return routes.table(replicas)

    def _by_distance(self, replicas: tuple[Host, ...]) -> Tiers:
        distances = [self._child_policy.distance(host) for host in replicas]
        tiers = (
            tuple(host for host, far in zip(replicas, distances, strict=True) if far == distance)
            for distance in _NEAR_TO_FAR
        )
        return tuple(tier for tier in tiers if tier)

    def _choose(self, tier: tuple[Host, ...], statement: Any) -> Host | None:
        """One live host of *tier*."""
        if self.shuffle_replicas and not is_lwt(statement):
            host = _any_of(tier)
            if host.is_up:
                return host
            live = [other for other in tier if other.is_up]
            return _any_of(live) if live else None
        return next((host for host in tier if host.is_up), None)

    def _ordered(self, tier: tuple[Host, ...], statement: Any) -> Iterable[Host]:
        if len(tier) == 1 or not self.shuffle_replicas or is_lwt(statement):
            return tier
        hosts = list(tier)
        shuffle(hosts)
        return hosts
