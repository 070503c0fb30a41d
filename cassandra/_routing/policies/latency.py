"""Latency awareness: of equally near replicas, prefer the one that is likely to respond first (L4)."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._core.routing import Meter

from .router import builtin, fallback_of
from .wrappers import WrapperPolicy

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .base import LoadBalancingPolicy, Wanted


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
        Meter(half_life)  # validates it
        self.half_life = half_life
        self._meters: dict[Host, Meter] = {}

    def latency(self, host: Host) -> float | None:
        """Return the recent latency of *host* in seconds, after decay; None if none was recorded."""
        meter = self._meters.get(host)
        return None if meter is None else meter.read(monotonic()) or None

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the child's plan."""
        plan: Iterator[Host] = iter(self._child_policy.make_query_plan(working_keyspace, query))
        return plan

    def on_remove(self, *args: Any, **kwargs: Any) -> None:
        super().on_remove(*args, **kwargs)
        if args:
            self._meters.pop(args[0], None)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        return fallback_of(self._child_policy, wanted)

    def _meter_of(self, host: Host) -> Meter:
        return self._meters.get(host) or self._meters.setdefault(host, Meter(self.half_life))

    def _measured(self, host: Host, seconds: float, answered: bool) -> None:
        """Record that a request to *host* ended after *seconds*. A failed one (not *answered*) counts only if it was
        slow: a host that rejects everything is fast."""
        meter, now = self._meters.get(host), monotonic()
        if meter is None:
            if host.is_up is False:  # it may have left
                return
            meter = self._meter_of(host)
        if answered or seconds > meter.read(now):
            meter.add(seconds, now)
