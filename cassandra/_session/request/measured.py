"""Latencies of attempts, for latency aware policies.

L5. Requests of such a policy have its latency recorder (``meter``), which is called with the duration of each attempt,
from sending to the arrival of the response, independently of the time at which the response is processed. Other
requests have no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._routing.policies.router import PickingRouter

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.policies import Router

    from ..session import Session

#: ``meter(host, seconds, answered)``; *answered* is False for an error, and for no response in time.
Meter = Callable[[Any, float, bool], None]


def measured(router: Router, session: Session) -> Router:
    """Return *router*, which is new, with the numbers of requests in flight if its policy is latency aware."""
    if isinstance(router, PickingRouter) and router.latency_aware is not None:

        def in_flight(host: Host) -> int:
            pool = session._pool_set.pools.get(host)  # the pool of this process: a forked child has its own
            return 0 if pool is None else pool.in_flight

        router.measure(in_flight)
    return router


def meter_of(router: Router) -> Meter | None:
    """Return the latency recorder for requests by *router*, or None."""
    if isinstance(router, PickingRouter) and router.latency_aware is not None:
        meter: Meter = router.latency_aware._measured
        return meter
    return None
