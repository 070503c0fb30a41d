"""Fail-over between datacenters (L4): a load balancing policy, and the rule that it follows.

The rule (:class:`ActiveDatacenter`) counts the hosts of each datacenter that respond: up, and not silent. It has no
clock and no hosts of its own, so that hours of a partition can be tested in no time. The policy asks it after each
change of a host, when a host becomes silent, and, while another datacenter than the local one is active, once a second.

Threads: events come from driver threads, checks run on workers; both replace the view under the lock of the policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel, consistency_value_to_name
from cassandra._base.locks import caller_lock
from cassandra._base.logs import get_logger
from cassandra._base.objects import public, state_of
from cassandra._core.routing import Count, Rotation, TierPlan

from .base import HostDistance, LoadBalancingPolicy, Wanted, with_host, without_host
from .router import builtin

if TYPE_CHECKING:
    from cassandra._routing.host import Host

log = get_logger("cassandra.policies")

CHECK_INTERVAL = 1.0  # seconds between two checks while another datacenter than the local one is active
LOCAL_LEVELS = frozenset((ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.LOCAL_QUORUM, ConsistencyLevel.LOCAL_SERIAL))


class ActiveDatacenter:
    """The datacenter to use, of *datacenters* in the order of preference.

    It is left at once when none of its hosts responds and another datacenter has one that does. A preferred datacenter
    is active again when *recovery_hosts* of its hosts (None: a majority) have responded for *recovery_time* seconds
    without interruption."""

    def __init__(self, datacenters: Sequence[str], recovery_hosts: int | None, recovery_time: float) -> None:
        self.datacenters = tuple(datacenters)
        self.name = self.datacenters[0]
        self._recovery_hosts = recovery_hosts
        self._recovery_time = recovery_time
        self._recovered_at: dict[str, float] = {}  # when a preferred datacenter had enough hosts again

    def update(self, hosts: Mapping[str, tuple[int, int]], now: float) -> bool:
        """Decide by *hosts*: numbers of responding and of known hosts of each datacenter. *now* is the present time of
        any clock. Return True if another datacenter is active from now on."""
        before = self.name
        for name in self.datacenters[: self.datacenters.index(before)]:
            responding, known = hosts.get(name, (0, 0))
            needed = known // 2 + 1 if self._recovery_hosts is None else min(self._recovery_hosts, max(known, 1))
            if responding < needed:
                self._recovered_at.pop(name, None)
            elif now - self._recovered_at.setdefault(name, now) >= self._recovery_time:
                self._activate(name)
                return True
        if hosts.get(before, (0, 0))[0] == 0:
            other = next((name for name in self.datacenters if hosts.get(name, (0, 0))[0] > 0), None)
            if other is not None:
                self._activate(other)
        return self.name != before

    def _activate(self, name: str) -> None:
        self.name = name
        self._recovered_at.clear()


class _View:
    """The hosts of each datacenter in use, immutable. ``tiers``: by their places in the order of use."""

    __slots__ = ("active", "hosts", "local", "tiers", "used")

    def __init__(
        self,
        hosts: tuple[Host, ...] = (),
        active: str = "",
        tiers: Mapping[int, tuple[Host, ...]] | None = None,
        local: tuple[Host, ...] = (),
    ) -> None:
        self.hosts = hosts
        self.active = active
        self.tiers = {} if tiers is None else tiers
        self.local = local  # the hosts for requests that stay in the local datacenter
        self.used = frozenset(host for tier in self.tiers.values() for host in tier)


@builtin
@public("cassandra.policies")
class DCFailoverRoundRobinPolicy(LoadBalancingPolicy):
    """Round-robin over the hosts of the active datacenter: the local one, or the next one while no host of that
    responds.

    A request may leave the local datacenter if its consistency level is not LOCAL_ONE, LOCAL_QUORUM or LOCAL_SERIAL, or
    with *allow_remote_dcs_for_local_consistency_level*. The others fail with
    :exc:`~cassandra.cluster.NoHostAvailable` while no host of the local datacenter responds. A datacenter that is cut
    off is detected within about a second, if there are requests. It is used again when *recovery_hosts* of its hosts
    have responded for *recovery_time* seconds without interruption: a network that fails again and again does not move
    the requests each time. Use it in place of :class:`DCAwareRoundRobinPolicy`, also in a :class:`TokenAwarePolicy`,
    for which the replicas in the active datacenter are the near ones. Not part of scylla-driver::

        TokenAwarePolicy(DCFailoverRoundRobinPolicy("dc1", ["dc2", "dc3"]))

    In a chain with a policy of the program only statements with a consistency level of their own leave the datacenter.
    One object is for one cluster. Any thread.

    :param local_dc: name of the local datacenter.
    :param remote_dcs: names of the others, in the order of preference. Hosts elsewhere are ignored.
    :param used_hosts_per_remote_dc: number of hosts of each remote datacenter that get connections; None: all of them.
    :param allow_remote_dcs_for_local_consistency_level: True if requests at a LOCAL level may leave the local
        datacenter. There the level means the remote datacenter: reads may not see what was written at a LOCAL level.
    :param recovery_hosts: number of responding hosts, at least 1; None: a majority of the known ones.
    :param recovery_time: seconds, not negative.

    Raises ValueError for an empty or repeated name, or a number out of range.
    """

    _schedule: Callable[..., Any] | None = None  # of the cluster
    _has_timer = False

    def __init__(
        self,
        local_dc: str,
        remote_dcs: Iterable[str],
        used_hosts_per_remote_dc: int | None = None,
        *,
        allow_remote_dcs_for_local_consistency_level: bool = False,
        recovery_hosts: int | None = None,
        recovery_time: float = 30.0,
    ) -> None:
        datacenters = (local_dc, *remote_dcs)
        if not all(datacenters) or len(set(datacenters)) < len(datacenters):
            raise ValueError(f"datacenters must have different names that are not empty, got {datacenters}")
        if used_hosts_per_remote_dc is not None and used_hosts_per_remote_dc < 1:
            raise ValueError(f"used_hosts_per_remote_dc must be at least 1, got {used_hosts_per_remote_dc}")
        if recovery_hosts is not None and recovery_hosts < 1:
            raise ValueError(f"recovery_hosts must be at least 1, got {recovery_hosts}")
        if not recovery_time >= 0:
            raise ValueError(f"recovery_time must not be negative, got {recovery_time}")
        self.local_dc = local_dc  #: Name of the local datacenter.
        self.remote_dcs = datacenters[1:]  #: Names of the other datacenters, in the order of preference.
        #: Number of hosts of each remote datacenter that get connections; None: all of them.
        self.used_hosts_per_remote_dc = used_hosts_per_remote_dc
        #: True if requests at a LOCAL level may leave the local datacenter.
        self.allow_remote_dcs_for_local_consistency_level = allow_remote_dcs_for_local_consistency_level
        self._rule = ActiveDatacenter(datacenters, recovery_hosts, recovery_time)
        self._view = _View(active=local_dc)
        self._members: set[Host] = set()  # also those that are down
        self._turn = Count()
        self._changes = Count()
        self._lock = caller_lock("of a policy")

    @property
    def active_dc(self) -> str:
        """Name of the datacenter that requests go to."""
        return self._view.active

    # ---- LoadBalancingPolicy

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._schedule = getattr(getattr(cluster, "scheduler", None), "schedule", None)
        with self._lock:
            self._replace(tuple(hosts))

    def distance(self, host: Host) -> int:
        """Return LOCAL in the active or an unknown datacenter, REMOTE for used hosts of the others, else IGNORED."""
        view = self._view
        if not host.datacenter:
            return HostDistance.LOCAL
        if host not in view.used:
            return self._distance_of_unknown(host)
        return HostDistance.LOCAL if host.datacenter == view.active else HostDistance.REMOTE

    def _distance_of_unknown(self, host: Host) -> int:
        """Return the distance of a host that is down, or not yet known. All hosts of a datacenter that is used without
        a limit get connections when they come up."""
        if host.datacenter != self.local_dc and self.used_hosts_per_remote_dc is not None:
            return HostDistance.IGNORED
        if host.datacenter not in self._rule.datacenters:
            return HostDistance.IGNORED
        return HostDistance.LOCAL if host.datacenter == self._view.active else HostDistance.REMOTE

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the hosts of the active datacenter, starting at the next one of the round-robin, then those of the
        others; only local ones if *query* has to stay in the local datacenter."""
        return self._plan(query is not None and self._stays_local(query, None))

    def on_up(self, host: Host) -> None:
        with self._lock:
            self._replace(with_host(self._view.hosts, host))

    def on_down(self, host: Host) -> None:
        with self._lock:
            self._replace(without_host(self._view.hosts, host))

    def on_add(self, host: Host) -> None:
        self.on_up(host)

    def on_remove(self, host: Host) -> None:
        with self._lock:
            self._members.discard(host)
            self._replace(without_host(self._view.hosts, host))

    # ---- for routers and other built-in policies

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """Return the whole query plan, evaluated lazily."""
        return self._plan(self._stays_local(wanted.statement, wanted.level))

    def _near_to_far(self) -> Iterable[tuple[Host, ...]]:
        return self._view.tiers.values()

    def _local_tier(self) -> tuple[Host, ...]:
        """Return the hosts for requests that stay in the local datacenter."""
        return self._view.local

    def _local_distance(self, host: Host) -> int:
        """Return the distance of *host* for requests that stay in the local datacenter."""
        return HostDistance.LOCAL if host in self._view.local else HostDistance.IGNORED

    def _stays_local(self, statement: Any, level: int | None) -> bool:
        """True if requests for *statement* may not leave the local datacenter. *level* is the consistency level of the
        request; None if only the statement's own is known."""
        if self.allow_remote_dcs_for_local_consistency_level or statement is None:
            return False
        if level is None:
            level = getattr(statement, "consistency_level", None)
        if level is None or level in LOCAL_LEVELS:  # a profile's level may be a LOCAL one
            return True
        serial = getattr(statement, "serial_consistency_level", None)
        return serial == ConsistencyLevel.LOCAL_SERIAL and bool(statement.is_lwt())

    def _refusal(self, level: int | None) -> str | None:
        """Return why a request at *level* that stays local finds no host; None if fail-over is not the reason."""
        view = self._view
        if view.local or not view.hosts:
            return None
        name = "its consistency level" if level is None else f"consistency level {consistency_value_to_name(level)}"
        return (
            f"no host of the local datacenter {self.local_dc!r} responds, and {name} does not allow another datacenter "
            f"(active: {view.active!r}); see allow_remote_dcs_for_local_consistency_level of {type(self).__name__}"
        )

    def _on_suspect(self) -> None:
        """A host has become silent. Does not block."""
        if self._schedule is not None:
            self._schedule(0.0, self._check)

    def __getstate__(self) -> dict[str, Any]:
        """Return the current state. A copy checks nothing until it is passed to a cluster."""
        return state_of(self, ("_schedule", "_has_timer"))

    # ---- the active datacenter

    def _plan(self, stays_local: bool) -> Iterator[Host]:
        turn = self._turn.advance()
        if stays_local:
            return Rotation(self._view.local, turn)
        return TierPlan(tuple(self._view.tiers), None, self._tier, turn)

    def _tier(self, key: int) -> tuple[Host, ...]:
        return self._view.tiers.get(key, ())

    def _check(self) -> None:
        with self._lock:
            self._replace(self._view.hosts)

    def _on_timer(self) -> None:
        with self._lock:
            self._has_timer = False
            self._replace(self._view.hosts)

    def _replace(self, hosts: tuple[Host, ...]) -> None:
        """Set the hosts that are up, and decide again. The lock is held."""
        by_dc: dict[str, list[Host]] = {name: [] for name in self._rule.datacenters}
        for host in hosts:
            by_dc.get(host.datacenter or self.local_dc, []).append(host)
        self._members.update(hosts)
        known = Counter(host.datacenter or self.local_dc for host in self._members)
        counts = {name: (sum(not one.is_suspect for one in found), known[name]) for name, found in by_dc.items()}
        before = self._rule.name
        if self._members and self._rule.update(counts, self._now()):
            self._log(before, counts)
        active = self._rule.name
        order = (active, *(name for name in self._rule.datacenters if name != active))
        tiers = {place: self._used(name, by_dc[name]) for place, name in enumerate(order)}
        local = tuple(by_dc[self.local_dc]) if active == self.local_dc or counts[self.local_dc][0] else ()
        view = self._view
        if (view.hosts, view.active, view.tiers, view.local) != (hosts, active, tiers, local):
            self._view = _View(hosts, active, tiers, local)
            self._changes.advance()  # last, because makers of plans read it first
        if active != self.local_dc and not self._has_timer and self._schedule is not None:
            self._has_timer = True
            self._schedule(CHECK_INTERVAL, self._on_timer)

    def _used(self, name: str, hosts: list[Host]) -> tuple[Host, ...]:
        limit = None if name == self.local_dc else self.used_hosts_per_remote_dc
        return tuple(hosts[:limit])

    def _now(self) -> float:
        return monotonic()

    def _log(self, before: str, counts: Mapping[str, tuple[int, int]]) -> None:
        if self._rule.name == self.local_dc:
            log.info("Datacenter '%s' is used again: %d of its hosts respond", self.local_dc, counts[self.local_dc][0])
        else:
            log.warning(
                "No host of datacenter '%s' responds: requests that may leave it go to datacenter '%s'",
                before,
                self._rule.name,
            )
