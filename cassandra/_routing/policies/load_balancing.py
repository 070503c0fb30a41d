"""Load balancing policies: the order in which a request tries hosts (L4).

* Round-robin by datacenter and by rack, near hosts first; or over all hosts, or over an allow-list of them.
* Token awareness: the replicas of a partition first, near ones before far ones.
* Policies around another policy: host filters, targeted hosts, and latency awareness, which of equally near replicas
  prefers the one that is likely to respond first.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from random import shuffle
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.locks import caller_lock
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._core.routing import Count, LatencyAverage, ReplicasFirst, Rotation, TierPlan, least_loaded_first
from cassandra._net.endpoint import EndPoint
from cassandra._routing.metadata import ClusterState

from .base import HostDistance, LoadBalancingPolicy, Wanted, chain_of, routing_keyspace, with_host, without_host
from .router import builtin, distance_for, fallback_of, state_of, wanted_of

if TYPE_CHECKING:
    from cassandra._routing.host import Host


log = get_logger("cassandra.policies")


# ---- round-robin by datacenter and by rack

NOWHERE: Mapping[str, tuple[Host, ...]] = {}


class _View:
    """The live hosts by distance, immutable. ``tiers``: hosts of the local datacenter by number, near to far, then the
    used hosts of each other datacenter by its name; ``far``: these names; ``remote``: their hosts as a set."""

    __slots__ = ("far", "hosts", "remote", "tiers")

    def __init__(
        self,
        hosts: tuple[Host, ...] = (),
        near: tuple[tuple[Host, ...], ...] = (),
        far: Mapping[str, tuple[Host, ...]] = NOWHERE,
        remote: frozenset[Host] = frozenset(),
    ) -> None:
        self.hosts = hosts
        self.remote = remote
        self.tiers: dict[int | str, tuple[Host, ...]] = dict(enumerate(near))
        self.tiers.update(far)
        self.far = tuple(far)


def _far(
    hosts: Iterable[Host], local_dc: str | None, used: int
) -> tuple[Mapping[str, tuple[Host, ...]], frozenset[Host]]:
    """Return the first *used* hosts of every other datacenter, by its name and as a set."""
    if not used:
        return {}, frozenset()
    by_dc: dict[str, list[Host]] = {}
    for host in hosts:
        by_dc.setdefault(host.datacenter or "", []).append(host)
    far = {dc: tuple(found[:used]) for dc, found in by_dc.items() if dc and dc != local_dc}
    return far, frozenset(chain.from_iterable(far.values()))


class _TieredPolicy(LoadBalancingPolicy):
    """Round-robin in the tiers of the local datacenter, near to far, then over the used hosts of the others."""

    _NEAR: tuple[int, ...]  # keys of the near tiers

    def _begin(self) -> None:
        self._view = _View()
        self._turn = Count()
        self._changes = Count()
        self._lock = caller_lock("of a policy")

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the hosts of each tier, starting at the next one of the round-robin: nearest first, remote ones
        last."""
        return TierPlan(self._NEAR, self._far_dcs, self._tier, self._turn.advance())

    def on_up(self, host: Host) -> None:
        self._include(host)

    def on_down(self, host: Host) -> None:
        self._exclude(host)

    def on_add(self, host: Host) -> None:
        self._include(host)

    def on_remove(self, host: Host) -> None:
        self._exclude(host)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """Return the whole query plan, evaluated lazily."""
        return TierPlan(self._NEAR, self._far_dcs, self._tier, self._turn.advance())

    def _near_to_far(self) -> Iterable[tuple[Host, ...]]:
        return self._view.tiers.values()

    def _tier(self, key: int | str) -> tuple[Host, ...]:
        """Return the current hosts of a tier: a plan in use sees later changes."""
        return self._view.tiers.get(key, ())

    def _far_dcs(self) -> tuple[str, ...]:
        return self._view.far

    def _include(self, host: Host) -> None:
        with self._lock:
            self._replace(with_host(self._view.hosts, host))

    def _exclude(self, host: Host) -> None:
        with self._lock:
            self._replace(without_host(self._view.hosts, host))

    def _replace(self, hosts: tuple[Host, ...]) -> None:
        """Override. Set the hosts, with the lock held."""
        raise NotImplementedError


@builtin
@public("cassandra.policies")
class DCAwareRoundRobinPolicy(_TieredPolicy):
    """Round-robin over the hosts of the local datacenter; then optionally some hosts of every other datacenter.

    :param local_dc: name of the local datacenter. Default: the datacenter of the first contact point that is a node,
        else of the first node; then all contact points should be in one datacenter.
    :param used_hosts_per_remote_dc: number of hosts of each other datacenter that may be used if the local ones fail.
    """

    #: Number of hosts of each other datacenter that get connections and are used as a last resort.
    used_hosts_per_remote_dc = 0

    _NEAR = (0,)

    def __init__(self, local_dc: str = "", used_hosts_per_remote_dc: int = 0) -> None:
        self._local_dc = local_dc
        self._given = bool(local_dc)
        self.used_hosts_per_remote_dc = used_hosts_per_remote_dc
        self._contact_points: tuple[Any, ...] = ()  # in the order given
        self._begin()

    @property
    def local_dc(self) -> str:
        """Name of the local datacenter; empty until it is known."""
        return self._local_dc

    @local_dc.setter
    def local_dc(self, name: str) -> None:
        with self._lock:
            self._local_dc = name
            self._given = bool(name)
            self._replace(self._view.hosts)

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        with self._lock:
            if not self._local_dc:
                given = getattr(cluster, "endpoints_resolved", None)
                self._contact_points = tuple(given) if isinstance(given, (list, tuple)) else ()
            self._replace(tuple(hosts))

    def distance(self, host: Host) -> int:
        """Return LOCAL in the local or an unknown datacenter, REMOTE for the used hosts of other datacenters, else
        IGNORED."""
        dc = host.datacenter
        if not dc or dc == self._local_dc:
            return HostDistance.LOCAL
        return HostDistance.REMOTE if host in self._view.remote else HostDistance.IGNORED

    def _replace(self, hosts: tuple[Host, ...]) -> None:
        if not self._local_dc:
            self._infer_local_dc(hosts)
        local_dc = self._local_dc
        local = tuple(host for host in hosts if not host.datacenter or host.datacenter == local_dc)
        self._view = _View(hosts, (local,), *_far(hosts, local_dc, self.used_hosts_per_remote_dc))
        self._changes.advance()  # last, because makers of plans read it first

    def _infer_local_dc(self, hosts: tuple[Host, ...]) -> None:
        """Set it from the first contact point that is a node, else from the first node, with a known datacenter."""
        by_endpoint = {host.endpoint: host for host in hosts}
        contacts = [by_endpoint[endpoint] for endpoint in self._contact_points if endpoint in by_endpoint]
        host = next((host for host in (*contacts, *hosts) if host.datacenter), None)
        if host is not None and host.datacenter:
            self._local_dc = host.datacenter
            log.info(
                "Using datacenter '%s' for DCAwareRoundRobinPolicy (via host '%s'); if that is not the local one, "
                "pass local_dc to the constructor or contact points of the local datacenter only",
                host.datacenter,
                host.endpoint,
            )


def guessed_datacenter(policy: Any) -> str | None:
    """Return the local datacenter that *policy*, or a policy wrapped by it, has inferred; None if it was configured or
    there is none."""
    for one in chain_of(policy):
        if isinstance(one, DCAwareRoundRobinPolicy):
            return None if one._given else one.local_dc
    return None


@builtin
@public("cassandra.policies")
class RackAwareRoundRobinPolicy(_TieredPolicy):
    """Round-robin over the hosts of the local rack, then of the rest of the local datacenter, then some remote ones.

    :param local_dc: name of the local datacenter.
    :param local_rack: name of the local rack. Raises ValueError if it or *local_dc* is empty.
    :param used_hosts_per_remote_dc: number of hosts of each other datacenter that may be used if the local ones fail.
    """

    #: Name of the local datacenter.
    local_dc: str = None  # type: ignore[assignment]
    #: Name of the local rack.
    local_rack: str = None  # type: ignore[assignment]
    #: Number of hosts of each other datacenter that get connections and are used as a last resort.
    used_hosts_per_remote_dc = 0

    _NEAR = (0, 1)  # the rack, and the rest of the datacenter

    def __init__(self, local_dc: str, local_rack: str, used_hosts_per_remote_dc: int = 0) -> None:
        if not local_dc or not local_rack:
            raise ValueError("both local_dc and local_rack must be specified")
        self.local_dc = local_dc
        self.local_rack = local_rack
        self.used_hosts_per_remote_dc = used_hosts_per_remote_dc
        self._begin()

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        with self._lock:
            self._replace(tuple(hosts))

    def distance(self, host: Host) -> int:
        """Return LOCAL_RACK, LOCAL, REMOTE for used hosts of other datacenters, or IGNORED. An unknown location counts
        as local."""
        if not self._in_local_dc(host):
            return HostDistance.REMOTE if host in self._view.remote else HostDistance.IGNORED
        return HostDistance.LOCAL_RACK if self._in_local_rack(host) else HostDistance.LOCAL

    def _replace(self, hosts: tuple[Host, ...]) -> None:
        local = [host for host in hosts if self._in_local_dc(host)]
        rack = tuple(host for host in local if self._in_local_rack(host))
        rest = tuple(host for host in local if not self._in_local_rack(host))
        self._view = _View(hosts, (rack, rest), *_far(hosts, self.local_dc, self.used_hosts_per_remote_dc))
        self._changes.advance()  # last, because makers of plans read it first

    def _in_local_dc(self, host: Host) -> bool:
        return not host.datacenter or host.datacenter == self.local_dc

    def _in_local_rack(self, host: Host) -> bool:
        return not host.rack or host.rack == self.local_rack


# ---- round-robin over all or listed hosts


@builtin
@public("cassandra.policies")
class RoundRobinPolicy(LoadBalancingPolicy):
    """Round-robin over all live hosts of all datacenters. For clusters with one datacenter."""

    def __init__(self) -> None:
        self._hosts: tuple[Host, ...] = ()
        self._turn = Count()
        self._changes = Count()
        self._lock = caller_lock("of a policy")

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._replace(tuple(hosts))

    def distance(self, host: Host) -> int:
        """Return LOCAL for every host."""
        return HostDistance.LOCAL

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return every live host once, starting at the next one of the round-robin."""
        return Rotation(self._hosts, self._turn.advance())

    def on_up(self, host: Host) -> None:
        with self._lock:
            self._replace(with_host(self._hosts, host))

    def on_down(self, host: Host) -> None:
        with self._lock:
            self._replace(without_host(self._hosts, host))

    def on_add(self, host: Host) -> None:
        with self._lock:
            self._replace(with_host(self._hosts, host))

    def on_remove(self, host: Host) -> None:
        with self._lock:
            self._replace(without_host(self._hosts, host))

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """Return the whole query plan, evaluated lazily."""
        return Rotation(self._hosts, self._turn.advance())

    def _near_to_far(self) -> Iterable[tuple[Host, ...]]:
        return (self._hosts,)

    def _replace(self, hosts: tuple[Host, ...]) -> None:
        self._hosts = hosts
        self._changes.advance()  # last, because makers of plans read it first


@builtin
@public("cassandra.policies")
class WhiteListRoundRobinPolicy(RoundRobinPolicy):
    """Round-robin over the given hosts only; every other host is ignored, even if it is up.

    For clients that must use certain nodes. *hosts* are addresses or names (resolved once, by the constructor), paths
    of Unix sockets, or endpoints, which are compared including the port.
    """

    def __init__(self, hosts: Iterable[str | EndPoint]) -> None:
        self._allowed_hosts = tuple(hosts)
        self._allowed_endpoints = frozenset(host for host in self._allowed_hosts if isinstance(host, EndPoint))
        names = (host for host in self._allowed_hosts if not isinstance(host, EndPoint))
        self._allowed_addresses = frozenset(address for name in names for address in _resolve(name))
        super().__init__()

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._replace(tuple(host for host in hosts if self._allows(host)))

    def distance(self, host: Host) -> int:
        """Return LOCAL for the hosts of the list, IGNORED for every other."""
        return HostDistance.LOCAL if self._allows(host) else HostDistance.IGNORED

    def on_up(self, host: Host) -> None:
        if self._allows(host):
            super().on_up(host)

    def on_add(self, host: Host) -> None:
        if self._allows(host):
            super().on_add(host)

    def _allows(self, host: Host) -> bool:
        return host.endpoint.address in self._allowed_addresses or host.endpoint in self._allowed_endpoints


def _resolve(name: Any) -> list[str]:
    if not isinstance(name, str):
        raise TypeError(f"a host must be an address, a name or an endpoint, got {name!r}")
    if name.startswith("/"):
        return [name]
    found = socket.getaddrinfo(name, None, socket.AF_UNSPEC, socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


# ---- token awareness

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
    :param slow_replica_avoidance: of two replicas of equal distance, drawn at random, use the less loaded one: the one
        with fewer requests in flight from this cluster object to the shard of the partition (to the host, if it has no
        shards). If one of the two has been more than twice as slow recently, and slower than a millisecond, its
        requests in flight count accordingly more. False, or ``shuffle_replicas=False``: loads are ignored. Not part of
        scylla-driver.
    """

    #: True to try replicas of equal distance in random order.
    shuffle_replicas = True
    #: True to prefer the less loaded of two random replicas.
    slow_replica_avoidance = True

    def __init__(
        self,
        child_policy: LoadBalancingPolicy,
        shuffle_replicas: bool = True,
        _prefer_tablet_leader: bool = True,
        *,
        slow_replica_avoidance: bool = True,
    ) -> None:
        self._child_policy: Any = child_policy
        self.shuffle_replicas = shuffle_replicas
        self.slow_replica_avoidance = slow_replica_avoidance
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
        """Return the whole query plan, evaluated lazily."""
        replicas = wanted.replicas()
        if not replicas:
            return fallback_of(self._child_policy, wanted)
        return ReplicasFirst(self._near_first(replicas, wanted), fallback_of, self._child_policy, wanted)

    def _near_first(self, replicas: Sequence[Host], wanted: Wanted) -> list[Host]:
        """Return the usable replicas, near ones first, except that a leader comes before all."""
        distance_of = distance_for(self._child_policy, wanted)
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
                    if self.slow_replica_avoidance:
                        _least_loaded_first(tier, wanted)
                found += tier
        if wanted.tablet is not None and replicas[0] in found and self._leader_first(replicas[0], wanted):
            found.insert(0, replicas[0])
        return found

    def _leader_first(self, first: Host, wanted: Wanted) -> bool:
        """True if *first* leads a strongly consistent tablet, which executes every request anyway."""
        if wanted.tablet is None or not self._prefer_tablet_leader:
            return False
        return wanted.state.has_leaders(wanted.keyspace) and first.host_id == wanted.tablet.leader


def _least_loaded_first(hosts: list[Host], wanted: Wanted) -> None:
    """Order *hosts* by load, those of equal load as they are."""
    if wanted.tablet is not None:
        shard_of = wanted.tablet.get_replica_shard_id
        least_loaded_first(hosts, [None if host.host_id is None else shard_of(host.host_id) for host in hosts], None)
    else:
        least_loaded_first(hosts, None, wanted.token if isinstance(wanted.token, int) else None)


# ---- policies around another policy


@public("cassandra.policies")
class WrapperPolicy(LoadBalancingPolicy):
    """Delegates all methods to a child; a base class for policies that override some of them."""

    def __init__(self, child_policy: LoadBalancingPolicy) -> None:
        self._child_policy: Any = child_policy

    def distance(self, *args: Any, **kwargs: Any) -> int:
        distance: int = self._child_policy.distance(*args, **kwargs)
        return distance

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._child_policy.populate(cluster, hosts)

    def check_supported(self) -> None:
        self._child_policy.check_supported()

    def on_up(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_up(*args, **kwargs)

    def on_down(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_down(*args, **kwargs)

    def on_add(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_add(*args, **kwargs)

    def on_remove(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_remove(*args, **kwargs)


@builtin
@public("cassandra.policies")
class DefaultLoadBalancingPolicy(WrapperPolicy):
    """Uses a child's plan, with the target host of the statement (its ``target_host``, an address) first."""

    _cluster_metadata: Any = None
    _targets_hosts = True

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._cluster_metadata = cluster.metadata
        super().populate(cluster, hosts)

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the target host if there is one and it is up, then the child's plan."""
        keyspace = (getattr(query, "keyspace", None) or working_keyspace) if query is not None else working_keyspace
        address = getattr(query, "target_host", None)
        if address is not None and self._cluster_metadata is not None:
            target = state_of(self._cluster_metadata).host_at(address)
            if target is not None and target.is_up:
                return ReplicasFirst([target], _plan_of, self._child_policy, (keyspace, query))
        return iter(self._child_policy.make_query_plan(keyspace, query))

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """Return the whole query plan, evaluated lazily."""
        target = _target(wanted.state, wanted.statement)
        if target is None:
            return fallback_of(self._child_policy, wanted)
        return ReplicasFirst([target], fallback_of, self._child_policy, wanted)


def _plan_of(policy: LoadBalancingPolicy, asked: tuple[str | None, Any]) -> Iterator[Host]:
    return policy.make_query_plan(*asked)


def _target(state: ClusterState, statement: Any) -> Host | None:
    address = getattr(statement, "target_host", None)
    if address is None:
        return None
    host = state.host_at(address)
    return host if host is not None and host.is_up else None


@builtin
@public("cassandra.policies")
class HostFilterPolicy(LoadBalancingPolicy):
    """Uses the hosts of a child's plan for which *predicate* is true; every other host is ignored.

    The predicate is called for every host of every plan and may change its result; it must be fast. Filtering happens
    after the child has ordered the hosts, so in a round-robin the hosts after a filtered one get its share::

        HostFilterPolicy(
            RoundRobinPolicy(), lambda host: host.address != "10.0.0.7"
        )
    """

    def __init__(self, child_policy: LoadBalancingPolicy, predicate: Callable[[Host], bool]) -> None:
        self._child_policy: Any = child_policy
        self._predicate = predicate

    @property
    def predicate(self) -> Callable[[Host], bool]:
        """Function of a host, true if the host may be used. Set by the constructor, read-only."""
        return self._predicate

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._child_policy.populate(cluster, hosts)

    def check_supported(self) -> None:
        self._child_policy.check_supported()

    def distance(self, host: Host) -> int:
        """Return IGNORED for filtered hosts, for the others the child's distance."""
        if not self._predicate(host):
            return HostDistance.IGNORED
        distance: int = self._child_policy.distance(host)
        return distance

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the child's plan without the filtered hosts."""
        return filter(self._predicate, self._child_policy.make_query_plan(working_keyspace, query))

    def on_up(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_up(host, *args, **kwargs)

    def on_down(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_down(host, *args, **kwargs)

    def on_add(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_add(host, *args, **kwargs)

    def on_remove(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_remove(host, *args, **kwargs)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """Return the whole query plan, evaluated lazily."""
        return filter(self._predicate, fallback_of(self._child_policy, wanted))


# ---- latency awareness


@builtin
@public("cassandra.policies")
class LatencyAwarePolicy(WrapperPolicy):
    """Avoids slow hosts, such as paused, overloaded or compacting ones.

    Where *child_policy* would choose at random among the nearest live replicas, or in rotation among the nearest hosts,
    a second candidate is compared with the first, and selected if the first is clearly slower: if its recent latency,
    times the requests in flight to it, is 1.5 times that of the second. Hosts that are about equally fast
    share the requests, and clients do not all switch to the fastest one at once. Distances have priority over latency,
    and conditional statements keep the order of their replicas.

    Not part of scylla-driver. It is enabled by wrapping, and costs nothing if it is not used; otherwise one or two
    microseconds per request, and requests of ``execute_concurrent`` take a little longer::

        LatencyAwarePolicy(TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")))

    It works in chains of the driver's own policies; a subclass, or one around a user's policy, only delegates. One
    object is for one cluster. Any thread.

    :param half_life: half-life, in seconds, of the recorded latency of a host that receives no requests any more, so
        that it is eventually tried again. Raises ValueError unless it is above 0.
    """

    def __init__(self, child_policy: LoadBalancingPolicy, half_life: float = 1.0) -> None:
        super().__init__(child_policy)
        LatencyAverage(half_life)  # validates it
        self.half_life = half_life  #: Seconds after which a measurement counts half.
        self._averages: dict[Host, LatencyAverage] = {}

    def latency(self, host: Host) -> float | None:
        """Return the recent latency of *host* in seconds, after decay; None if none was recorded."""
        average = self._averages.get(host)
        return None if average is None else average.read(monotonic()) or None

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the child's plan."""
        plan: Iterator[Host] = iter(self._child_policy.make_query_plan(working_keyspace, query))
        return plan

    def on_remove(self, *args: Any, **kwargs: Any) -> None:
        super().on_remove(*args, **kwargs)
        if args:
            self._averages.pop(args[0], None)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """Return the whole query plan, evaluated lazily."""
        return fallback_of(self._child_policy, wanted)

    def _average_of(self, host: Host) -> LatencyAverage:
        return self._averages.get(host) or self._averages.setdefault(host, LatencyAverage(self.half_life))

    def _measured(self, host: Host, seconds: float, answered: bool) -> None:
        """Record that a request to *host* ended after *seconds*. A failed one (not *answered*) counts only if it was
        slow: a host that rejects everything is fast."""
        average, now = self._averages.get(host), monotonic()
        if average is None:
            if host.is_up is False:  # it may have left
                return
            average = self._average_of(host)
        if answered or seconds > average.read(now):
            average.add(seconds, now)
