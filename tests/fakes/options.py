"""Options of clusters in tests: nothing waits for its time."""

from __future__ import annotations

from typing import Any

from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy

#: Events are acted on at once, lost connections are opened again at once, all nodes are used.
AT_ONCE: dict[str, Any] = {
    "reconnection_policy": ConstantReconnectionPolicy(0.05),
    "load_balancing_policy": RoundRobinPolicy(),
    "status_event_refresh_window": 0,
    "topology_event_refresh_window": 0,
    "schema_event_refresh_window": 0,
}
