"""How a driver is configured, as a document for the server's table of clients (L6)."""

from __future__ import annotations

import json
import logging
from typing import Any

from cassandra._base.constants import consistency_value_to_name
from cassandra._base.public import public
from cassandra._routing import policies

log = logging.getLogger("cassandra.driver_config")

DRIVER_CONFIG_OPTION = "DRIVER_CONFIG"
SESSION_ID_OPTION = "SESSION_ID"
DRIVER_CONFIG_SCHEMA_VERSION = 1
MAX_DRIVER_CONFIG_LENGTH = 32768

_RETRY = {
    policies.RetryPolicy: "standard-error-aware",
    policies.DowngradingConsistencyRetryPolicy: "downgrading-consistency",
    policies.FallthroughRetryPolicy: "fallthrough",
    policies.NeverRetryPolicy: "fallthrough",
    policies.ExponentialBackoffRetryPolicy: "exponential-backoff",
}


@public("cassandra.driver_config")
class DriverConfigReporter:
    """Reports the configuration of *cluster*: policies, timeouts and defaults, nothing secret."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def add_startup_options(self, options: dict[str, str], is_scylla: bool) -> None:
        """Put the report into the options of a STARTUP request; a report that is too long is left out."""
        report = json.dumps(self._build_report(self._cluster, is_scylla), separators=(",", ":"))
        if len(report) > MAX_DRIVER_CONFIG_LENGTH:
            log.warning("The report of the configuration has %d bytes and is not sent", len(report))
            return
        options[DRIVER_CONFIG_OPTION] = report

    def _build_report(self, cluster: Any, is_scylla: bool) -> dict[str, Any]:
        return {
            "version": DRIVER_CONFIG_SCHEMA_VERSION,
            "connection": self._connection_report(cluster),
            "control-plane": self._control_plane_report(cluster, is_scylla),
            "query": self._query_report(cluster),
        }

    def _connection_report(self, cluster: Any) -> dict[str, Any]:
        report: dict[str, Any] = {
            "connect": {"timeout-ms": _milliseconds(cluster.connect_timeout)},
            "pool": {"shard-aware": {"enabled": not cluster.shard_aware_options.disable}},
            "reconnection": {"policy": _reconnection(cluster.reconnection_policy)},
        }
        if cluster.idle_heartbeat_interval:
            report["heartbeat"] = {"interval-ms": _milliseconds(cluster.idle_heartbeat_interval)}
        return report

    def _control_plane_report(self, cluster: Any, is_scylla: bool) -> dict[str, Any]:
        timeout = {"client-side-ms": _milliseconds(cluster.control_connection_timeout)}
        if is_scylla and cluster.metadata_request_timeout is not None:
            server_side = cluster.metadata_request_timeout
            timeout["server-side-ms"] = _milliseconds(getattr(server_side, "total_seconds", lambda: server_side)())
        return {
            "queries": {"system": {"timeout": timeout}},
            "schema": {"agreement": {"timeout-ms": _milliseconds(cluster.max_schema_agreement_wait)}},
        }

    def _query_report(self, cluster: Any) -> dict[str, Any]:
        profile = cluster.profile_manager.default
        report = {
            "defaults": self._query_defaults_report(cluster, profile),
            "retry": {"policy": {"type": _RETRY.get(type(profile.retry_policy), "custom")}},
            "load-balancing": _load_balancing(profile.load_balancing_policy),
        }
        speculative = profile.speculative_execution_policy
        if type(speculative) is policies.ConstantSpeculativeExecutionPolicy:
            delay, most = _milliseconds(speculative.delay), speculative.max_attempts
            policy = {"type": "constant", "max-executions": most, "delay-ms": delay}
            report["speculative-execution"] = {"policy": policy}
        return report

    def _query_defaults_report(self, cluster: Any, profile: Any, legacy: bool = False) -> dict[str, Any]:
        return {
            "consistency": consistency_value_to_name(profile.consistency_level),
            "idempotence": False,
            "request": {"timeout-ms": _milliseconds(profile.request_timeout)},
            "page": {"size": 5000},
            "client-timestamps": True,
        }


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1000)


def _reconnection(policy: Any) -> dict[str, Any]:
    if type(policy) is policies.ConstantReconnectionPolicy:
        return {"type": "constant", "delay-ms": _milliseconds(policy.delay), "max-attempts": policy.max_attempts}
    if type(policy) is policies.ExponentialReconnectionPolicy:
        base, most = _milliseconds(policy.base_delay), _milliseconds(policy.max_delay)
        return {"type": "exponential", "base-ms": base, "max-ms": most}
    return {"type": "custom", "name": type(policy).__name__}


def _load_balancing(policy: Any) -> dict[str, Any]:
    while type(policy) is policies.DefaultLoadBalancingPolicy:
        policy = policy._child_policy
    kind: dict[str, Any] = {"type": "custom", "name": type(policy).__name__}
    if type(policy) is policies.TokenAwarePolicy:
        kind = {"type": "token-aware", "load-distribution": "shuffle" if policy.shuffle_replicas else "in-order"}
        policy = policy._child_policy
    report: dict[str, Any] = {"policy": kind}
    if type(policy) is policies.DCAwareRoundRobinPolicy:
        local = policy.local_dc
        report["node-preference"] = {"type": "dc", "local-dc": local} if local else {"type": "dc-auto"}
    return report
