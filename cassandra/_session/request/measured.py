"""How long attempts take, for latency aware policies.

L5. Requests of such a policy have its meter: it is told how long each attempt took, from when it was sent to when its
answer came, whoever looks at it when. No other request pays for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._routing.policies.router import PickingRouter

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.policies import Router

    from ..session import Session

#: ``meter(host, seconds, answered)``; not *answered*: an error, or no answer in time.
Meter = Callable[[Any, float, bool], None]


def measured(router: Router, session: Session) -> Router:
    """*router*, new; if its policy wants to know how long requests take it will."""
    if isinstance(router, PickingRouter) and router.latency_aware is not None:

        def in_flight(host: Host) -> int:
            pool = session._pool_set.pools.get(host)  # of this process: a forked child has one of its own
            return 0 if pool is None else pool.in_flight

        router.measure(in_flight)
    return router


def meter_of(router: Router) -> Meter | None:
    """Who is to be told how long the attempts of requests by *router* take."""
    if isinstance(router, PickingRouter) and router.latency_aware is not None:
        meter: Meter = router.latency_aware._measured
        return meter
    return None
