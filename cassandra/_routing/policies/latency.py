"""Latency awareness: of replicas that are equally near, the one that is likely to answer first (L4)."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.public import public
from cassandra._core.routing import Meter

from .router import builtin, fallback_of
from .wrappers import WrapperPolicy

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .base import LoadBalancingPolicy, Wanted


@builtin
@public("cassandra.policies")
class LatencyAwarePolicy(WrapperPolicy):
    """Avoids hosts that answer slowly: paused, overloaded, compacting.

    Where *child_policy* would choose by chance among the nearest live replicas, or by turns among the nearest hosts,
    another one of them is looked at beside, and taken if the first is clearly slower: if its recent latency, times the
    requests in flight to it, is half as much again. Hosts that are about equally quick share the requests, and clients
    do not all run to the quickest one at once. Distances count more than latency, and conditional statements keep the
    order of their replicas.

    Not part of scylla-driver. It is asked for by wrapping, and costs nothing where it is not used; where it is,
    a microsecond or two per request, and requests of ``execute_concurrent`` take a little longer::

        LatencyAwarePolicy(TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")))

    It works in chains of the driver's own policies; in a subclass, or around a policy of the user, it only hands on.
    One object is for one cluster. Any thread.

    :param half_life: seconds in which the latency of a host that is not asked any more counts only half as much, so
        that it is tried again in the end. ValueError if it is not above 0.
    """

    def __init__(self, child_policy: LoadBalancingPolicy, half_life: float = 1.0) -> None:
        super().__init__(child_policy)
        Meter(half_life)  # complains
        self.half_life = half_life
        self._meters: dict[Host, Meter] = {}

    def latency(self, host: Host) -> float | None:
        """The recent latency of *host* in seconds, as it counts now; None if none was measured."""
        meter = self._meters.get(host)
        return None if meter is None else meter.read(monotonic()) or None

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """The child's."""
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
        """A request to *host* ended after *seconds*. One that was not *answered* as it should counts only if that was
        slow: a host that refuses everything is quick."""
        meter, now = self._meters.get(host), monotonic()
        if meter is None:
            if host.is_up is False:  # it may have left
                return
            meter = self._meter_of(host)
        if answered or seconds > meter.read(now):
            meter.add(seconds, now)
