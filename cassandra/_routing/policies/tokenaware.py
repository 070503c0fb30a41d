"""Token awareness: the replicas of a partition first, near ones before far ones (L4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import shuffle
from typing import TYPE_CHECKING, Any

from cassandra._base.public import public

from .base import HostDistance, LoadBalancingPolicy, routing_keyspace
from .foreign import wanted_of
from .router import builtin, fallback_of

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .base import Wanted

_NEAR_TO_FAR = (HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE)


@builtin
@public("cassandra.policies")
class TokenAwarePolicy(LoadBalancingPolicy):
    """Sends a request to a replica of its partition when that is known; any other goes where *child_policy* says.

    Needs the statement's routing key (bound statements have it) and keyspace. Live replicas come first, ordered by the
    distance the child gives them; then the rest of the child's plan.

    :param shuffle_replicas: spread requests over replicas of equal distance. Conditional (LWT) statements and
        requests at SERIAL or LOCAL_SERIAL always keep the order of the ring, so that all clients contend at the same
        replica.
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
        self._prefer_tablet_leader = _prefer_tablet_leader

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._cluster_metadata = cluster.metadata
        self._child_policy.populate(cluster, hosts)

    def check_supported(self) -> None:
        """RuntimeError if the metadata say that they cannot tell tokens, which this driver's always can; then whatever
        the child says."""
        asked = getattr(self._cluster_metadata, "can_support_partitioner", None)
        if asked is not None and not asked():
            partitioner = self._cluster_metadata.partitioner
            raise RuntimeError(f"TokenAwarePolicy needs tokens, which cannot be told for the partitioner {partitioner}")
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
        return self.fallback(wanted_of(self._cluster_metadata, keyspace, query, self._child_policy))

    def on_up(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_up(*args, **kwargs)

    def on_down(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_down(*args, **kwargs)

    def on_add(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_add(*args, **kwargs)

    def on_remove(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_remove(*args, **kwargs)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        tried: set[Host] = set()
        for host in self._replicas(wanted):
            if host.is_up and host not in tried:
                tried.add(host)
                yield host
        for host in fallback_of(self._child_policy, wanted):
            if host not in tried:
                yield host

    def _replicas(self, wanted: Wanted) -> Iterator[Host]:
        """Those that may be used, near ones first, except that a leader comes before all."""
        replicas = wanted.replicas()
        distances = [self._child_policy.distance(host) for host in replicas]
        if replicas and distances[0] in _NEAR_TO_FAR and self._leader_first(wanted):
            yield replicas[0]
        for distance in _NEAR_TO_FAR:
            tier = [host for host, far in zip(replicas, distances, strict=True) if far == distance]
            yield from self._ordered(tier, wanted)

    def _leader_first(self, wanted: Wanted) -> bool:
        """Whether the first replica is the leader of a strongly consistent tablet, where every request ends up."""
        if wanted.tablet is None or not self._prefer_tablet_leader:
            return False
        return wanted.state.has_leaders(wanted.keyspace) and wanted.replicas()[0].host_id == wanted.tablet.leader

    def _ordered(self, tier: Sequence[Host], wanted: Wanted) -> Iterable[Host]:
        if len(tier) == 1 or not self.shuffle_replicas or wanted.ordered:
            return tier
        hosts = list(tier)
        shuffle(hosts)
        return hosts
