"""The configuration of a cluster as a document in the STARTUP message of control connections (L5).

ScyllaDB shows it in its table of clients, so that the settings of each client can be inspected during an incident. The
keys are those of ScyllaDB's drivers; settings that the keys cannot describe are omitted. A report is made when a
control connection is opened, from the current options; it has policies, timeouts and defaults, and nothing secret. A
report that cannot be made, or is too long, is logged and omitted: no connection fails because of it.
"""

from __future__ import annotations

import socket
from math import ceil, isfinite
from sys import byteorder
from typing import Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._net.exchange import orphaned_limit
from cassandra._net.options import MAX_REQUESTS
from cassandra._routing import policies
from cassandra._routing.policies.base import chain_of
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator

from .session import Session

log = get_logger("cassandra.driver_config")

DRIVER_CONFIG_OPTION = "DRIVER_CONFIG"  #: Name of the option with the configuration.
SESSION_ID_OPTION = "SESSION_ID"  #: Name of the option with the id of the cluster object.
DRIVER_CONFIG_SCHEMA_VERSION = 1  #: Version of the format of the configuration.
MAX_DRIVER_CONFIG_LENGTH = 32768  #: Most bytes of the configuration.

_FLAGS = {
    "tcp-no-delay": (socket.IPPROTO_TCP, socket.TCP_NODELAY),
    "keep-alive": (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
    "reuse-address": (socket.SOL_SOCKET, socket.SO_REUSEADDR),
}
_BUFFERS = {
    "receive-buffer": (socket.SOL_SOCKET, socket.SO_RCVBUF),
    "send-buffer": (socket.SOL_SOCKET, socket.SO_SNDBUF),
}
_CONSTANTS = {None: "null", False: "false", True: "true"}  # of JSON
_LINGER = (socket.SOL_SOCKET, socket.SO_LINGER)
_RETRY = {
    policies.RetryPolicy: "standard-error-aware",
    policies.DowngradingConsistencyRetryPolicy: "downgrading-consistency",
    policies.FallthroughRetryPolicy: "fallthrough",
    policies.NeverRetryPolicy: "never",
    policies.ExponentialBackoffRetryPolicy: "standard-error-aware",
}
_DESCRIBABLE = {
    policies.DefaultLoadBalancingPolicy,
    policies.TokenAwarePolicy,
    policies.RoundRobinPolicy,
    policies.DCAwareRoundRobinPolicy,
    policies.RackAwareRoundRobinPolicy,
}


@public("cassandra.driver_config")
class DriverConfigReporter:
    """Reports the configuration of *cluster*."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def add_startup_options(self, options: dict[str, str], is_scylla: bool) -> None:
        """Add the report to the options of a STARTUP request. *is_scylla*: the node runs ScyllaDB."""
        try:
            report = _as_json(self._build_report(self._cluster, is_scylla))
        except Exception:
            log.warning("The driver configuration could not be reported", exc_info=True)
            return
        if len(report) > MAX_DRIVER_CONFIG_LENGTH:
            log.warning("The report of the driver configuration is too long (%d bytes) and was not sent", len(report))
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
        in_flight = cluster.max_requests_per_connection or MAX_REQUESTS
        shards = cluster.shard_aware_options
        report: dict[str, Any] = {
            "connect": _only("timeout-ms", _duration(cluster.connect_timeout)),
            "requests": {"in-flight": {"max": in_flight}, "orphaned": {"max": orphaned_limit(in_flight)}},
            "pool": {"shard-aware": {"enabled": not (shards.disable or shards.disable_shardaware_port)}},
            "socket": _socket(cluster.sockopts or ()),
            "reconnection": {"policy": _reconnection(cluster.reconnection_policy)},
        }
        if cluster.ssl_context is not None:
            report["tls"] = {"hostname-verification": bool(cluster.ssl_context.check_hostname)}
        elif cluster.ssl_options is not None:
            from cassandra._net.tls import checks_names

            report["tls"] = {"hostname-verification": checks_names(cluster.ssl_options)}
        return report

    def _control_plane_report(self, cluster: Any, is_scylla: bool) -> dict[str, Any]:
        client_side = cluster.control_connection_timeout
        timeout = _only("client-side-ms", _duration(client_side))
        server_side = cluster.metadata_request_timeout
        if server_side is None:
            server_side = client_side
        if is_scylla and server_side is not None and isfinite(server_side) and int(server_side * 1000) > 0:
            timeout["server-side-ms"] = int(server_side * 1000)
        return {
            "queries": {"system": {"timeout": timeout}},
            "schema": {"agreement": {"timeout-ms": max(0, ceil(cluster.max_schema_agreement_wait * 1000))}},
        }

    def _query_report(self, cluster: Any) -> dict[str, Any]:
        profile = cluster.profile_manager.default
        report = {
            "defaults": self._query_defaults_report(cluster, profile),
            "retry": _retry(profile.retry_policy),
            "load-balancing": _load_balancing(profile.load_balancing_policy),
        }
        speculative = _speculative(profile.speculative_execution_policy)
        if speculative is not None:
            report["speculative-execution"] = {"policy": speculative}
        return report

    def _query_defaults_report(self, cluster: Any, profile: Any, legacy: bool = False) -> dict[str, Any]:
        report: dict[str, Any] = {
            "consistency": ConsistencyLevel.value_to_name[profile.consistency_level],
            "idempotence": False,
        }
        if profile.serial_consistency_level is not None:
            report["serial-consistency"] = ConsistencyLevel.value_to_name[profile.serial_consistency_level]
        timeout = _duration(profile.request_timeout)
        if timeout:
            report["request"] = {"timeout-ms": timeout}
        report["page"] = {"size": Session.default_fetch_size}
        if type(cluster.timestamp_generator) is MonotonicTimestampGenerator:
            report["client-timestamps"] = True
        return report


def _as_json(value: Any) -> str:
    """Return *value* as JSON in ASCII. The module of the library would take a third of the first connect of a process,
    and driver threads import nothing."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{_as_json(name)}:{_as_json(one)}' for name, one in value.items())}}}"
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, (int, float)) and isfinite(value):
        return repr(value + 0)  # as a plain number, even if a subclass has another repr
    if not isinstance(value, str):
        raise TypeError(f"{value!r} cannot be reported")
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    units = value.encode("utf-16-be", "surrogatepass").hex()
    return '"' + "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)) + '"'


def _only(name: str, value: int | None) -> dict[str, int]:
    return {} if value is None else {name: value}


def _duration(seconds: float | None) -> int | None:
    """Return whole milliseconds, rounded up; None for no duration."""
    return None if seconds is None or not isfinite(seconds) or seconds < 0 else ceil(seconds * 1000)


def _integer(value: Any) -> int | None:
    """Return the value of a numeric socket option, also if it is given as the bytes of a C int."""
    if isinstance(value, int):
        return value
    is_int = isinstance(value, (bytes, bytearray)) and len(value) == 4
    return int.from_bytes(value, byteorder, signed=True) if is_int else None


def _socket(options: Any) -> dict[str, Any]:
    last = {(level, name): value for level, name, value in options}
    report: dict[str, Any] = {name: bool(_integer(last.get(option))) for name, option in _FLAGS.items()}
    if _FLAGS["tcp-no-delay"] not in last:
        report["tcp-no-delay"] = True  # the default of the transport
    for name, option in _BUFFERS.items():
        size = _integer(last.get(option))
        if size is not None and size > 0:
            report[name] = {"size-bytes": size}
    linger = last.get(_LINGER)
    if isinstance(linger, (bytes, bytearray)) and len(linger) == 8:
        is_on, interval = _integer(linger[:4]), _integer(linger[4:])
        if is_on and interval is not None and interval >= 0:
            report["linger"] = {"interval-s": interval}
    return report


def _reconnection(policy: Any) -> dict[str, Any] | None:
    if type(policy) is policies.ConstantReconnectionPolicy:
        report = {"type": "constant", "delay-ms": _duration(policy.delay)}
    elif type(policy) is policies.ExponentialReconnectionPolicy:
        report = {
            "type": "exponential",
            "base-ms": _duration(policy.base_delay),
            "max-ms": _duration(policy.max_delay),
        }
        if policy.max_attempts == 0:
            return None
    else:
        return {"type": "custom", "name": type(policy).__name__}
    if None in report.values():
        return None
    return {**report, "max-attempts": policy.max_attempts} if policy.max_attempts else report


def _retry(policy: Any) -> dict[str, Any]:
    kind = _RETRY.get(type(policy))
    if kind is None:
        return {"policy": {"type": "custom", "name": type(policy).__name__}}
    report: dict[str, Any] = {"policy": {"type": kind}}
    if type(policy) is policies.ExponentialBackoffRetryPolicy:
        report["policy"]["max-retries"] = int(policy.max_num_retries)
        base, most = _duration(policy.min_interval), _duration(policy.max_interval)
        report["backoff"] = {"type": "exponential", "base-ms": base, "max-ms": most}
    return report


def _load_balancing(policy: Any) -> dict[str, Any]:
    chain = list(chain_of(policy))
    token_aware = next((one for one in chain if type(one) is policies.TokenAwarePolicy), None)
    report: dict[str, Any] = {"policy": {"type": "custom", "name": type(policy).__name__}}
    if token_aware is not None and all(type(one) in _DESCRIBABLE for one in chain):
        last = chain[-1]
        report["policy"] = {
            "type": "token-aware",
            "load-distribution": "shuffle" if token_aware.shuffle_replicas else "replica-set",
            "fallback-to-non-preferred-nodes": type(last) is policies.RackAwareRoundRobinPolicy
            or bool(getattr(last, "used_hosts_per_remote_dc", 0)),
        }
    for one in chain:
        if type(one) is policies.DCAwareRoundRobinPolicy:
            local = {"type": "dc", "local-dc": one.local_dc} if one.local_dc else {"type": "dc-auto"}
            report["node-preference"] = local
        elif type(one) is policies.RackAwareRoundRobinPolicy:
            place = {"type": "rack", "local-dc": one.local_dc, "local-rack": one.local_rack}
            report["node-preference"] = place
    return report


def _speculative(policy: Any) -> dict[str, Any] | None:
    if type(policy) is policies.NoSpeculativeExecutionPolicy:
        return None
    if type(policy) is not policies.ConstantSpeculativeExecutionPolicy:
        return {"type": "custom", "name": type(policy).__name__}
    delay = _duration(policy.delay)
    if delay is None or policy.max_attempts <= 0:
        return None
    return {"type": "constant", "max-executions": policy.max_attempts, "delay-ms": delay}
