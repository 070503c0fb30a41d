"""Round-robin by data centre and by rack: near hosts first (L4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from cassandra._base.locks import caller_lock
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._core.routing import Count, TierPlan

from .base import HostDistance, LoadBalancingPolicy, with_host, without_host
from .router import builtin

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .base import Wanted

log = get_logger("cassandra.policies")


_DC, _RACK_AND_DC = (0,), (0, 1)  # keys of the near tiers
NOWHERE: Mapping[str, tuple[Host, ...]] = {}


class _View:
    """The live hosts by distance, immutable. ``tiers``: hosts of the local data centre by number, near to far, then the
    used hosts of each other data centre by its name; ``far``: these names; ``remote``: their hosts as a set."""

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
    """Return the first *used* hosts of every other data centre, by its name and as a set."""
    if not used:
        return {}, frozenset()
    by_dc: dict[str, list[Host]] = {}
    for host in hosts:
        by_dc.setdefault(host.datacenter or "", []).append(host)
    far = {dc: tuple(found[:used]) for dc, found in by_dc.items() if dc and dc != local_dc}
    return far, frozenset(chain.from_iterable(far.values()))


@builtin
@public("cassandra.policies")
class DCAwareRoundRobinPolicy(LoadBalancingPolicy):
    """Round-robin over the hosts of the local data centre; then optionally some hosts of every other data centre.

    :param local_dc: name of the local data centre. Default: the data centre of the first contact point that is a node,
        else of the first node; then all contact points should be in one data centre.
    :param used_hosts_per_remote_dc: number of hosts of each other data centre that may be used if the local ones fail.
    """

    #: Number of hosts of each other data centre that get connections and are used as a last resort.
    used_hosts_per_remote_dc = 0

    def __init__(self, local_dc: str = "", used_hosts_per_remote_dc: int = 0) -> None:
        self._local_dc = local_dc
        self._given = bool(local_dc)
        self.used_hosts_per_remote_dc = used_hosts_per_remote_dc
        self._contact_points: tuple[Any, ...] = ()  # in the order given
        self._view = _View()
        self._turn = Count()
        self._changes = Count()
        self._lock = caller_lock("of a policy")

    @property
    def local_dc(self) -> str:
        """Name of the local data centre; empty until it is known."""
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
        """Return LOCAL in the local or an unknown data centre, REMOTE for the used hosts of other data centres, else
        IGNORED."""
        dc = host.datacenter
        if not dc or dc == self._local_dc:
            return HostDistance.LOCAL
        return HostDistance.REMOTE if host in self._view.remote else HostDistance.IGNORED

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the local hosts, starting at the next one of the round-robin, then the used remote ones."""
        return TierPlan(_DC, self._far_dcs, self._tier, self._turn.advance())

    def on_up(self, host: Host) -> None:
        self._include(host)

    def on_down(self, host: Host) -> None:
        self._exclude(host)

    def on_add(self, host: Host) -> None:
        self._include(host)

    def on_remove(self, host: Host) -> None:
        self._exclude(host)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        return TierPlan(_DC, self._far_dcs, self._tier, self._turn.advance())

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
        if not self._local_dc:
            self._infer_local_dc(hosts)
        local_dc = self._local_dc
        local = tuple(host for host in hosts if not host.datacenter or host.datacenter == local_dc)
        self._view = _View(hosts, (local,), *_far(hosts, local_dc, self.used_hosts_per_remote_dc))
        self._changes.advance()  # last, because makers of plans read it first

    def _infer_local_dc(self, hosts: tuple[Host, ...]) -> None:
        """Set it from the first contact point that is a node, else from the first node, with a known data centre."""
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
    while policy is not None and not isinstance(policy, DCAwareRoundRobinPolicy):
        policy = getattr(policy, "_child_policy", None)
    return None if policy is None or policy._given else policy.local_dc


@builtin
@public("cassandra.policies")
class RackAwareRoundRobinPolicy(LoadBalancingPolicy):
    """Round-robin over the hosts of the local rack, then of the rest of the local data centre, then some remote ones.

    :param local_dc: name of the local data centre.
    :param local_rack: name of the local rack. Raises ValueError if it or *local_dc* is empty.
    :param used_hosts_per_remote_dc: number of hosts of each other data centre that may be used if the local ones fail.
    """

    #: Name of the local data centre.
    local_dc: str = None  # type: ignore[assignment]
    #: Name of the local rack.
    local_rack: str = None  # type: ignore[assignment]
    #: Number of hosts of each other data centre that get connections and are used as a last resort.
    used_hosts_per_remote_dc = 0

    def __init__(self, local_dc: str, local_rack: str, used_hosts_per_remote_dc: int = 0) -> None:
        if not local_dc or not local_rack:
            raise ValueError("both local_dc and local_rack must be specified")
        self.local_dc = local_dc
        self.local_rack = local_rack
        self.used_hosts_per_remote_dc = used_hosts_per_remote_dc
        self._view = _View()
        self._turn = Count()
        self._changes = Count()
        self._lock = caller_lock("of a policy")

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        with self._lock:
            self._replace(tuple(hosts))

    def distance(self, host: Host) -> int:
        """Return LOCAL_RACK, LOCAL, REMOTE for used hosts of other data centres, or IGNORED. An unknown location counts
        as local."""
        if not self._in_local_dc(host):
            return HostDistance.REMOTE if host in self._view.remote else HostDistance.IGNORED
        return HostDistance.LOCAL_RACK if self._in_local_rack(host) else HostDistance.LOCAL

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return hosts of the local rack, of the local data centre, then the used remote ones; each group rotated."""
        return TierPlan(_RACK_AND_DC, self._far_dcs, self._tier, self._turn.advance())

    def on_up(self, host: Host) -> None:
        self._include(host)

    def on_down(self, host: Host) -> None:
        self._exclude(host)

    def on_add(self, host: Host) -> None:
        self._include(host)

    def on_remove(self, host: Host) -> None:
        self._exclude(host)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        return TierPlan(_RACK_AND_DC, self._far_dcs, self._tier, self._turn.advance())

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
        local = [host for host in hosts if self._in_local_dc(host)]
        rack = tuple(host for host in local if self._in_local_rack(host))
        rest = tuple(host for host in local if not self._in_local_rack(host))
        self._view = _View(hosts, (rack, rest), *_far(hosts, self.local_dc, self.used_hosts_per_remote_dc))
        self._changes.advance()  # last, because makers of plans read it first

    def _in_local_dc(self, host: Host) -> bool:
        return not host.datacenter or host.datacenter == self.local_dc

    def _in_local_rack(self, host: Host) -> bool:
        return not host.rack or host.rack == self.local_rack
