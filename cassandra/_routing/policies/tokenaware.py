"""Token awareness: the replicas of a partition first, near ones before far ones (L4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import shuffle
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._core.routing import ReplicasFirst
from cassandra._routing.snapshot import ClusterState

from .base import HostDistance, LoadBalancingPolicy, Wanted, routing_keyspace
from .foreign import wanted_of
from .router import builtin, fallback_of

if TYPE_CHECKING:
    from cassandra._routing.host import Host

_NEAR_TO_FAR = (HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE)


@builtin
@public("cassandra.policies")
class TokenAwarePolicy(LoadBalancingPolicy):
    """Sends a request to a replica of its partition if that is known; other requests use the plan of *child_policy*.

    Needs the statement's routing key (bound statements have it) and keyspace. Live replicas come first, ordered by the
    distance that the child returns; then the rest of the child's plan.

    :param shuffle_replicas: spread requests over replicas of equal distance. Conditional (LWT) statements and
        requests at SERIAL or LOCAL_SERIAL always keep the order of the ring, so that all clients contend at the same
        replica.
    """

    #: True to try replicas of equal distance in random order.
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
        """Raise RuntimeError if the metadata do not support tokens, which this driver's always do; then check the
        child."""
        asked = getattr(self._cluster_metadata, "can_support_partitioner", None)
        if asked is not None and not asked():
            partitioner = self._cluster_metadata.partitioner
            raise RuntimeError(f"TokenAwarePolicy needs tokens, which do not exist for the partitioner {partitioner}")
        self._child_policy.check_supported()

    def distance(self, *args: Any, **kwargs: Any) -> int:
        """Return the child's distance."""
        distance: int = self._child_policy.distance(*args, **kwargs)
        return distance

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return live replicas of the statement's partition, nearest first, then the rest of the child's plan."""
        keyspace = routing_keyspace(working_keyspace, query)
        metadata = self._cluster_metadata
        if metadata is None or query is None or keyspace is None:
            return iter(self._child_policy.make_query_plan(keyspace, query))
        state = getattr(metadata, "state", None)
        if type(state) is not ClusterState:  # not isinstance(), which mocks pass
            return self.fallback(wanted_of(metadata, keyspace, query, self._child_policy))
        token = state.routing_token(None, query)
        if token is None:
            return iter(self._child_policy.make_query_plan(keyspace, query))
        return self.fallback(Wanted.of(state, keyspace, token, query))

    def on_up(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_up(*args, **kwargs)

    def on_down(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_down(*args, **kwargs)

    def on_add(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_add(*args, **kwargs)

    def on_remove(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_remove(*args, **kwargs)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        replicas = wanted.replicas()
        if not replicas:
            return fallback_of(self._child_policy, wanted)
        return ReplicasFirst(self._near_first(replicas, wanted), fallback_of, self._child_policy, wanted)

    def _near_first(self, replicas: Sequence[Host], wanted: Wanted) -> list[Host]:
        """Return the usable replicas, near ones first, except that a leader comes before all."""
        distance_of = self._child_policy.distance
        by_distance: dict[int, list[Host]] = {}
        for host in replicas:
            by_distance.setdefault(distance_of(host), []).append(host)
        ordered = not self.shuffle_replicas or wanted.ordered
        found: list[Host] = []
        for distance in _NEAR_TO_FAR:
            tier = by_distance.get(distance)
            if tier is not None:
                if not ordered and len(tier) > 1:
                    shuffle(tier)
                found += tier
        if wanted.tablet is not None and replicas[0] in found and self._leader_first(replicas[0], wanted):
            found.insert(0, replicas[0])
        return found

    def _leader_first(self, first: Host, wanted: Wanted) -> bool:
        """True if *first* leads a strongly consistent tablet, which executes every request anyway."""
        if wanted.tablet is None or not self._prefer_tablet_leader:
            return False
        return wanted.state.has_leaders(wanted.keyspace) and first.host_id == wanted.tablet.leader
