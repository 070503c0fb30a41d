"""How a request asks a load balancing policy: :func:`router_for`, once per policy, then the router per request (L4).

Why not always ``make_query_plan``: a plan costs a generator, and with token awareness a shuffled list and a
set, for every request, though all but the first host is thrown away unless a host fails. Identity decides: from an
unmodified built-in class, with such children all the way down, a native plan is made (``route.pxi``); a subclass may
have overridden anything, so its own plan is followed.

Hosts that are silent just now (``Host.is_suspect``) go last, whatever the policy says: they are picked only for want of
others, and every plan that is followed is followed by way of ``SuspectsLast``. Where the policy's order says which host
is near, a far one that answers is better than a near one that does not.

What a router gives are places: a host, and the shard of it that holds the request's tablet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import getrandbits
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from cassandra._core.routing import Place, RouteHosts, RoutePlan, RouteRing, SuspectsLast

from .base import Wanted, keeps_order

if TYPE_CHECKING:
    from cassandra._core.routing import TabletMap
    from cassandra._routing.host import Host
    from cassandra._routing.ring.ring import ReplicaMap
    from cassandra._routing.snapshot import ClusterState
    from cassandra._routing.topology import Topology

    from .base import BuiltIn, Leaf, LoadBalancingPolicy
    from .latency import LatencyAwarePolicy

T = TypeVar("T")

_BUILTIN: set[type] = set()
_METHODS = frozenset(("distance", "make_query_plan"))
_KEPT = 1024  # plans: statements may name any number of tables


def builtin(cls: type[T]) -> type[T]:
    """Register a policy class that has ``fallback``, and from which native plans are made."""
    _BUILTIN.add(cls)
    return cls


def is_unmodified(policy: Any) -> TypeGuard[BuiltIn]:
    """Whether *policy* is of a built-in class itself, with no method put on the instance."""
    return type(policy) in _BUILTIN and not _METHODS & vars(policy).keys()


def is_builtin(policy: Any) -> TypeGuard[BuiltIn]:
    """Whether *policy* and all its children are unmodified built-in ones."""
    if not is_unmodified(policy):
        return False
    child = getattr(policy, "_child_policy", None)
    return child is None or is_builtin(child)


def fallback_of(policy: Any, wanted: Wanted) -> Iterator[Host]:
    """The plan of any policy: a built-in one's for this snapshot and token, or the one a user's policy makes."""
    if is_unmodified(policy):
        return policy.fallback(wanted)
    return iter(policy.make_query_plan(wanted.keyspace, wanted.statement))


class Router:
    """Asks one policy for the places of requests. Any thread.

    Take the place of :meth:`start`; when its host fails go on with the rest of the plan, or, if there is none yet, with
    :meth:`fallback`. In all methods *keyspace* is the statement's, or else the session's; *token* the Murmur3 token of
    the request's partition if it is known; *level* the request's consistency level, None for the statement's own.
    """

    __slots__ = ("policy",)

    def __init__(self, policy: LoadBalancingPolicy | BuiltIn) -> None:
        self.policy: Any = policy

    def start(
        self,
        state: ClusterState,
        keyspace: str | None,
        token: int | None,
        statement: Any,
        level: int | None = None,
    ) -> tuple[Place | None, Iterator[Place] | None]:
        """The first place (None: there is none) and, if it was made already, the rest of the plan."""
        plan = self._plan_of(Wanted.of(state, keyspace, token, statement, level))
        return next(plan, None), plan

    def fallback(
        self,
        state: ClusterState,
        keyspace: str | None,
        token: int | None,
        statement: Any,
        picked: Place | None,
        level: int | None = None,
    ) -> Iterator[Place]:
        """The places at other hosts, when :meth:`start` gave no rest and its host failed."""
        plan = self._plan_of(Wanted.of(state, keyspace, token, statement, level))
        return (place for place in plan if picked is None or place.host is not picked.host)

    def at(self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any, host: Host) -> Place:
        """The place at *host*, whatever the policy says."""
        return Wanted.of(state, keyspace, token, statement).place(host)

    def _plan_of(self, wanted: Wanted) -> Iterator[Place]:
        return map(wanted.place, SuspectsLast(fallback_of(self.policy, wanted)))


class PickingRouter(Router):
    """For a chain of built-in policies: has native plans, by keyspace, table and whether the order of replicas counts,
    for the latest snapshot."""

    __slots__ = ("_chain", "_hosts", "_plans", "_rings")

    def __init__(self, policy: BuiltIn) -> None:
        super().__init__(policy)
        self._chain = Chain(policy)
        self._plans: tuple[ClusterState | None, dict[Any, RoutePlan]] = (None, {})
        self._hosts: tuple[Topology | None, TabletMap | None, RouteHosts | None] = (None, None, None)
        self._rings: dict[ReplicaMap | None, RouteRing] = {}

    @property
    def latency_aware(self) -> LatencyAwarePolicy | None:
        """Wants to hear how long requests take, if there is one."""
        found: LatencyAwarePolicy | None = self._chain.latency_aware
        return found

    def measure(self, in_flight: Callable[[Host], int]) -> None:
        """The policy is told how long requests take; *in_flight* tells how many there are."""
        self._chain.in_flight = in_flight

    def start(
        self,
        state: ClusterState,
        keyspace: str | None,
        token: int | None,
        statement: Any,
        level: int | None = None,
    ) -> tuple[Place | None, Iterator[Place] | None]:
        ring = state.topology.ring
        if (ring is not None and not ring.murmur3) or self._chain.is_targeted(statement):
            return super().start(state, keyspace, token, statement, level)
        if token is None:
            token = state.routing_token(None, statement)
        plan = self.plan(state, keyspace, getattr(statement, "table", None), keeps_order(statement, level))
        return plan.pick(token), None

    def route(
        self,
        state: ClusterState,
        keyspace: str | None,
        table: str | None,
        statement: Any,
        level: int | None = None,
    ) -> Callable[[int | None], Place | None]:
        """The first places of many requests of one *statement* by their tokens, as long as *state* is the snapshot."""
        return self.plan(state, keyspace, table, keeps_order(statement, level))

    def plan(self, state: ClusterState, keyspace: str | None, table: str | None, ordered: bool) -> RoutePlan:
        """The plan for requests to this table; replicas are asked in their order if *ordered*. What else changes than
        the snapshot the plan notices itself."""
        of, plans = self._plans
        if of is not state or len(plans) > _KEPT:
            plans = {}
            self._plans = (state, plans)
        ordered = ordered or not self._chain.shuffles
        key = (keyspace, table, ordered)
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = self._make(state, keyspace, table, ordered)
        return plan

    def _make(self, state: ClusterState, keyspace: str | None, table: str | None, ordered: bool) -> RoutePlan:
        aware, ring, tablets = self._chain.token_aware, state.topology.ring, state.tablets
        if aware is None or keyspace is None or ring is None or not ring.murmur3:
            return RoutePlan(lambda: self._ring(state, None))
        held = tablets.table(keyspace, table) if tablets is not None and table is not None else None
        leader_first = aware._prefer_tablet_leader and state.has_leaders(keyspace)
        return RoutePlan(lambda: self._ring(state, state.replica_map(keyspace)), held, ordered, leader_first)

    def _ring(self, state: ClusterState, replicas: ReplicaMap | None) -> RouteRing:
        topology, tablets, hosts = self._hosts
        if topology is not state.topology or tablets is not state.tablets or hosts is None or not hosts.is_current:
            hosts = self._chain.hosts(state)
            self._hosts, self._rings = (state.topology, state.tablets, hosts), {}
        rings = self._rings
        found = rings.get(replicas)
        if found is None or found.hosts is not hosts:
            native = None if replicas is None else replicas.ring.tokens_native
            found = rings[replicas] = RouteRing(hosts, native, replicas if native is not None else None)
        return found


class Chain:
    """What of a chain of built-in policies decides on the first host."""

    __slots__ = ("_leaf", "_predicates", "_targets", "in_flight", "latency_aware", "token_aware")

    def __init__(self, policy: Any) -> None:
        self.token_aware: Any = None
        self.latency_aware: Any = None
        self.in_flight: Callable[[Host], int] | None = None
        self._predicates: list[Callable[[Host], bool]] = []
        self._targets = False
        while (child := getattr(policy, "_child_policy", None)) is not None:
            if self.token_aware is None and hasattr(policy, "shuffle_replicas"):
                self.token_aware = policy
            if hasattr(policy, "predicate"):
                self._predicates.append(policy.predicate)
            if self.latency_aware is None and hasattr(policy, "_meter_of"):
                self.latency_aware = policy
            self._targets |= hasattr(policy, "_targets_hosts")
            policy = child
        self._leaf = cast("Leaf", policy)

    @property
    def shuffles(self) -> bool:
        return self.token_aware is not None and bool(self.token_aware.shuffle_replicas)

    def is_targeted(self, statement: Any) -> bool:
        return self._targets and getattr(statement, "target_host", None) is not None

    def hosts(self, state: ClusterState) -> RouteHosts:
        """The hosts as they are now."""
        leaf = self._leaf
        made_in = leaf._changes.value  # before anything is looked at
        by_id, tiers = state.topology.by_id, leaf._near_to_far()
        return RouteHosts(
            leaf._changes,
            made_in,
            leaf._turn,
            leaf.distance,
            by_id,
            tiers,
            self._predicates,
            state.tablets,
            getrandbits(64),
            None if self.latency_aware is None else self.latency_aware._meter_of,
            self.in_flight,
        )


def router_for(policy: LoadBalancingPolicy) -> Router:
    """The way to ask *policy*; for the caller to keep."""
    return PickingRouter(policy) if is_builtin(policy) else Router(policy)
