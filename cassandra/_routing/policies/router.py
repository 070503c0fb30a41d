"""Routers: the use of load balancing policies by requests. :func:`router_for` makes one per policy (L4).

``make_query_plan`` is not used for every policy: a plan costs a generator, and with token awareness a shuffled list and
a set, for every request, although only the first host is used unless it fails. The classes decide: for a chain of
unmodified built-in policies a native plan is made (``route.pxi``); a subclass may have overridden any method, so its
own plan is used.

Silent hosts (``Host.is_suspect``) come last in any policy's plan: native plans select them only if there are no others,
and all other plans go through ``SuspectsLast``. A far host that responds is better than a near one that does not.

A router returns targets (``Target``): a host, and its shard that holds the request's tablet.

A policy that was populated with metadata that are not this driver's, a mock of a test or a substitute written by a
program, uses the public methods of these metadata, as scylla-driver's policies do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from cassandra._base.randomness import getrandbits
from cassandra._core.routing import RouteHosts, RoutePlan, RouteRing, SuspectsLast, TabletMap, Target
from cassandra._routing.metadata import ClusterState, Topology

from .base import BuiltIn, Leaf, LoadBalancingPolicy, Wanted, chain_of, keeps_order

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.tokens import ReplicaMap

    from .load_balancing import LatencyAwarePolicy


T = TypeVar("T")

_BUILTIN: set[type] = set()
_METHODS = frozenset(("distance", "make_query_plan"))
_KEPT = 1024  # maximum number of cached plans: statements may name any number of tables


# ---- policies of the driver


def builtin(cls: type[T]) -> type[T]:
    """Register a policy class that has ``fallback`` and supports native plans."""
    _BUILTIN.add(cls)
    return cls


def is_unmodified(policy: Any) -> TypeGuard[BuiltIn]:
    """True if the class of *policy* is built in (not a subclass) and the instance overrides no method."""
    return type(policy) in _BUILTIN and not _METHODS & vars(policy).keys()


def is_builtin(policy: Any) -> TypeGuard[BuiltIn]:
    """True if *policy* and all its children are unmodified built-in policies."""
    if not is_unmodified(policy):
        return False
    child = getattr(policy, "_child_policy", None)
    return child is None or is_builtin(child)


def leaf_of(policy: Any) -> Any:
    """Return the innermost policy of the chain of *policy*."""
    *_, leaf = chain_of(policy)
    return leaf


def stays_local(leaf: Any, statement: Any, level: int | None) -> bool:
    """True if the policy *leaf* may use other datacenters, but not for requests of *statement* at *level*."""
    found = getattr(type(leaf), "_stays_local", None)  # not of the instance: a mock has it
    return found is not None and bool(found(leaf, statement, level))


def distance_for(policy: Any, wanted: Wanted) -> Callable[[Host], int]:
    """Return the distance of hosts for one request: as ``policy.distance``, except that a request that may not leave
    the local datacenter ignores hosts elsewhere."""
    leaf = leaf_of(policy)
    if stays_local(leaf, wanted.statement, getattr(wanted, "level", None)):
        local: Callable[[Host], int] = leaf._local_distance
        return local
    distance: Callable[[Host], int] = policy.distance
    return distance


def fallback_of(policy: Any, wanted: Wanted) -> Iterator[Host]:
    """Return the plan of any policy: a built-in one's for this snapshot and token, or that of a user's policy."""
    if is_unmodified(policy):
        return policy.fallback(wanted)
    return iter(policy.make_query_plan(wanted.keyspace, wanted.statement))


# ---- targets of requests


class Router:
    """Selects targets of requests by one policy. Any thread.

    Use the target of :meth:`start`; if its host fails, continue with the rest of the plan or, if that is None, with
    :meth:`fallback`. In all methods *keyspace* is the statement's, or else the session's; *token* is the Murmur3 token
    of the request's partition, or None; *level* is the request's consistency level, None for the statement's own.
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
    ) -> tuple[Target | None, Iterator[Target] | None]:
        """Return the first target (None if there is none) and, if the plan was made already, the rest of it."""
        plan = self._plan_of(Wanted.of(state, keyspace, token, statement, level))
        return next(plan, None), plan

    def fallback(
        self,
        state: ClusterState,
        keyspace: str | None,
        token: int | None,
        statement: Any,
        picked: Target | None,
        level: int | None = None,
    ) -> Iterator[Target]:
        """Return the targets on other hosts, after :meth:`start` returned no rest and its host failed."""
        plan = self._plan_of(Wanted.of(state, keyspace, token, statement, level))
        return (target for target in plan if picked is None or target.host is not picked.host)

    def at(self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any, host: Host) -> Target:
        """Return the target on *host*, without the policy."""
        return Wanted.of(state, keyspace, token, statement).target(host)

    def refusal(self, statement: Any, level: int | None) -> str | None:
        """Return why the policy refuses the hosts that respond to requests of *statement*; None if it does not."""
        return None

    def _plan_of(self, wanted: Wanted) -> Iterator[Target]:
        return map(wanted.target, SuspectsLast(fallback_of(self.policy, wanted)))


class PickingRouter(Router):
    """Router for a chain of built-in policies: caches native plans of the latest snapshot, by keyspace, table and
    ``ordered`` (True if the order of replicas matters)."""

    __slots__ = ("_chain", "_hosts", "_plans", "_rings")

    def __init__(self, policy: BuiltIn) -> None:
        super().__init__(policy)
        self._chain = Chain(policy)
        self._plans: tuple[ClusterState | None, dict[Any, RoutePlan]] = (None, {})
        # by ``stays_local``
        self._hosts: dict[bool, tuple[Topology | None, TabletMap | None, RouteHosts | None]] = {}
        self._rings: dict[tuple[ReplicaMap | None, bool], RouteRing] = {}

    @property
    def latency_aware(self) -> LatencyAwarePolicy | None:
        """The latency-aware policy of the chain, which records latencies; None if there is none."""
        found: LatencyAwarePolicy | None = self._chain.latency_aware
        return found

    def measure(self, in_flight: Callable[[Host], int]) -> None:
        """Use *in_flight*, the number of requests in flight to a host, for the latency-aware policy."""
        self._chain.in_flight = in_flight

    def start(
        self,
        state: ClusterState,
        keyspace: str | None,
        token: int | None,
        statement: Any,
        level: int | None = None,
    ) -> tuple[Target | None, Iterator[Target] | None]:
        ring = state.topology.ring
        if (ring is not None and not ring.murmur3) or self._chain.is_targeted(statement):
            return super().start(state, keyspace, token, statement, level)
        if token is None:
            token = state.routing_token(None, statement)
        plan = self.plan(
            state,
            keyspace,
            getattr(statement, "table", None),
            keeps_order(statement, level),
            self._chain.stays_local(statement, level),
        )
        return plan.pick(token), None

    def route(
        self,
        state: ClusterState,
        keyspace: str | None,
        table: str | None,
        statement: Any,
        level: int | None = None,
    ) -> Callable[[int | None], Target | None]:
        """Return a function from token to first target for requests of *statement*, valid while *state* is current."""
        stays_local = self._chain.stays_local(statement, level)
        return self.plan(state, keyspace, table, keeps_order(statement, level), stays_local)

    def plan(
        self, state: ClusterState, keyspace: str | None, table: str | None, ordered: bool, stays_local: bool = False
    ) -> RoutePlan:
        """Return the plan for requests to this table; replicas are used in their order if *ordered*, and only hosts of
        the local datacenter if *stays_local*. The plan itself detects changes of hosts within the snapshot."""
        of, plans = self._plans
        if of is not state or len(plans) > _KEPT:
            plans = {}
            self._plans = (state, plans)
        ordered = ordered or not self._chain.shuffles
        key = (keyspace, table, ordered, stays_local)
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = self._make(state, keyspace, table, ordered, stays_local)
        return plan

    def refusal(self, statement: Any, level: int | None) -> str | None:
        return self._chain.refusal(statement, level)

    def _make(
        self, state: ClusterState, keyspace: str | None, table: str | None, ordered: bool, stays_local: bool
    ) -> RoutePlan:
        aware, ring, tablets = self._chain.token_aware, state.topology.ring, state.tablets
        if aware is None or keyspace is None or ring is None or not ring.murmur3:
            return RoutePlan(lambda: self._ring(state, None, stays_local))
        held = tablets.table(keyspace, table) if tablets is not None and table is not None else None
        leader_first = aware._prefer_tablet_leader and state.has_leaders(keyspace)
        return RoutePlan(
            lambda: self._ring(state, state.replica_map(keyspace), stays_local), held, ordered, leader_first
        )

    def _ring(self, state: ClusterState, replicas: ReplicaMap | None, stays_local: bool) -> RouteRing:
        topology, tablets, hosts = self._hosts.get(stays_local, (None, None, None))
        if topology is not state.topology or tablets is not state.tablets or hosts is None or not hosts.is_current:
            hosts = self._chain.hosts(state, stays_local)
            self._hosts = {**self._hosts, stays_local: (state.topology, state.tablets, hosts)}
            self._rings = {key: ring for key, ring in self._rings.copy().items() if key[1] is not stays_local}
        rings = self._rings
        found = rings.get((replicas, stays_local))
        if found is None or found.hosts is not hosts:
            native = None if replicas is None else replicas.ring.tokens_native
            found = RouteRing(hosts, native, replicas if native is not None else None)
            rings[replicas, stays_local] = found
        return found


class Chain:
    """The parts of a chain of built-in policies that determine the first host."""

    __slots__ = ("_leaf", "_predicates", "_targets", "in_flight", "latency_aware", "token_aware")

    def __init__(self, policy: Any) -> None:
        self.token_aware: Any = None
        self.latency_aware: Any = None
        self.in_flight: Callable[[Host], int] | None = None
        self._predicates: list[Callable[[Host], bool]] = []
        self._targets = False
        *outer, leaf = chain_of(policy)
        for policy in outer:
            if self.token_aware is None and hasattr(policy, "shuffle_replicas"):
                self.token_aware = policy
            if hasattr(policy, "predicate"):
                self._predicates.append(policy.predicate)
            if self.latency_aware is None and hasattr(policy, "_average_of"):
                self.latency_aware = policy
            self._targets |= hasattr(policy, "_targets_hosts")
        self._leaf = cast("Leaf", leaf)

    @property
    def by_load(self) -> bool:
        """True to use the less loaded one of two replicas."""
        return self.token_aware is not None and bool(self.token_aware.slow_replica_avoidance)

    @property
    def shuffles(self) -> bool:
        return self.token_aware is not None and bool(self.token_aware.shuffle_replicas)

    def is_targeted(self, statement: Any) -> bool:
        return self._targets and getattr(statement, "target_host", None) is not None

    def stays_local(self, statement: Any, level: int | None) -> bool:
        """True if requests may not leave the local datacenter while others may."""
        return stays_local(self._leaf, statement, level)

    def refusal(self, statement: Any, level: int | None) -> str | None:
        if not self.stays_local(statement, level):
            return None
        found: str | None = cast("Any", self._leaf)._refusal(level)
        return found

    def hosts(self, state: ClusterState, stays_local: bool) -> RouteHosts:
        """Return the current hosts; only those of the local datacenter if *stays_local*."""
        leaf: Any = self._leaf
        made_in = leaf._changes.value  # read before the hosts
        by_id, tiers = state.topology.by_id, (leaf._local_tier(),) if stays_local else leaf._near_to_far()
        return RouteHosts(
            leaf._changes,
            made_in,
            leaf._turn,
            leaf._local_distance if stays_local else leaf.distance,
            by_id,
            tiers,
            self._predicates,
            state.tablets,
            getrandbits(64),
            None if self.latency_aware is None else self.latency_aware._average_of,
            self.in_flight,
            self.by_load,
        )


def router_for(policy: LoadBalancingPolicy) -> Router:
    """Return a router for *policy*; the caller caches it."""
    return PickingRouter(policy) if is_builtin(policy) else Router(policy)


# ---- metadata of tests and programs


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
