"""The report of a cluster's configuration that STARTUP carries."""

# mypy: ignore-errors
# ruff: noqa
import datetime
import json
import logging
import math
import socket
import warnings

warnings.simplefilter("ignore")
from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.connection import DriverConfigReporter
from cassandra.policies import *
from cassandra.query import SimpleStatement

logging.disable(logging.CRITICAL)


def flat(document, prefix=""):
    if not isinstance(document, dict):
        return {prefix: document}
    found = {}
    for name, value in document.items():
        found.update(flat(value, f"{prefix}.{name}" if prefix else name))
    return found or {prefix: {}}


def report_of(cluster, is_scylla=False):
    options = {}
    DriverConfigReporter(cluster).add_startup_options(options, is_scylla)
    text = options.get("DRIVER_CONFIG")
    return None if text is None else flat(json.loads(text))


SLOW = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)  # which drivers differ in
BASE = report_of(Cluster(reconnection_policy=ExponentialReconnectionPolicy(1.0, 600.0), sockopts=[SLOW]))
for limit in ("in-flight", "orphaned"):  # which drivers differ in
    del BASE[f"connection.requests.{limit}.max"]


def show(name, document):
    if document is None:
        print(name, "nothing")
        return
    changed = {key: value for key, value in document.items() if BASE.get(key, "-") != value and ".requests." not in key}
    missing = [key.split(".")[-1] for key in BASE if key not in document]
    print(name, json.dumps(changed, sort_keys=True), *(("without", *sorted(missing)) if missing else ()))


def case(name, is_scylla=False, change=None, **arguments):
    arguments.setdefault("reconnection_policy", ExponentialReconnectionPolicy(1.0, 600.0))
    arguments.setdefault("sockopts", [SLOW])
    try:
        cluster = Cluster(**arguments)
        if change is not None:
            change(cluster)
        document = report_of(cluster, is_scylla)
    except Exception as error:
        print(name, type(error).__name__)
        return
    show(name, document)


def lbp(name, policy):
    case(f"lbp {name}", load_balancing_policy=policy)
    case(
        f"lbp {name} in a profile",
        execution_profiles={"other": ExecutionProfile(), **default(load_balancing_policy=policy)},
    )


def default(**arguments):
    from cassandra.cluster import EXEC_PROFILE_DEFAULT

    return {EXEC_PROFILE_DEFAULT: ExecutionProfile(**arguments)}


class MyRetry(RetryPolicy):
    pass


class MyRoundRobin(RoundRobinPolicy):
    pass


class MyDC(DCAwareRoundRobinPolicy):
    pass


class MyToken(TokenAwarePolicy):
    pass


class MyReconnection(ReconnectionPolicy):
    pass


class MySpeculative(SpeculativeExecutionPolicy):
    pass


class Forever(LoadBalancingPolicy):
    def __init__(self):
        super().__init__()
        self._child_policy = self


class MyExponential(ExponentialReconnectionPolicy):
    pass


class Long(RetryPolicy):
    pass


Long.__name__ = "L" * 300
Long.__qualname__ = "L" * 300

print(json.dumps(BASE, indent=1, sort_keys=True))
print(*BASE)

for is_scylla in (False, True):
    case(f"default {is_scylla}", is_scylla)
    for timeout in (
        None,
        0,
        1,
        2.5,
        datetime.timedelta(seconds=3),
        datetime.timedelta(milliseconds=1, microseconds=900),
        1e-5,
    ):
        case(f"metadata_request_timeout {timeout!r} {is_scylla}", is_scylla, metadata_request_timeout=timeout)
    for timeout in (None, 0.0004, 0.1, 3, 2.9999, 1e9, math.inf):
        case(f"control_connection_timeout {timeout!r} {is_scylla}", is_scylla, control_connection_timeout=timeout)
    for timeout in (None, 0.0004, 0.0009, 1, 5.5, 1e10, math.inf):
        case(f"connect_timeout {timeout!r}", is_scylla, connect_timeout=timeout)
for wait in (0, 1, -1, 0.5, 1000, math.inf):
    case(f"max_schema_agreement_wait {wait}", max_schema_agreement_wait=wait)
for interval in (0, None, 1, 0.5, 30, 29, 0.0001, math.inf):
    case(f"idle_heartbeat_interval {interval}", idle_heartbeat_interval=interval)
for interval in (1, 0.5, 29):
    case(f"idle_heartbeat_timeout {interval}", idle_heartbeat_timeout=interval)
case("heartbeat both", idle_heartbeat_interval=3, idle_heartbeat_timeout=4)
case("schema_metadata_enabled", schema_metadata_enabled=False)
case("token_metadata_enabled", token_metadata_enabled=False)
case("compression off", compression=False)
case("compression", compression="lz4")
case("windows", schema_event_refresh_window=-1, topology_event_refresh_window=5, status_event_refresh_window=5)
case("prepare", prepare_on_all_hosts=False, reprepare_on_up=False)
case("page size", schema_metadata_page_size=10)
case("executor", executor_threads=4)
case("metrics", metrics_enabled=False)
case("beta", allow_beta_protocol_version=True)
case("no compact", no_compact=True)
case("cql version", cql_version="3.4.5")
for version in (3, 4, 5):
    case(f"protocol {version}", protocol_version=version)
import ssl

case("ssl context", ssl_context=ssl.create_default_context())
case("ssl options", ssl_options={"check_hostname": False})
case("shard aware off", shard_aware_options={"disable": True})
case("shard aware on", shard_aware_options={"disable": False})
case("shard aware port off", shard_aware_options={"disable_shardaware_port": True})
case("timestamps", timestamp_generator=lambda: 1)
case("reporting off", driver_config_reporting_enabled=False)
for name, value in (
    ("nodelay", [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]),
    ("nodelay 0", [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)]),
    ("nodelay twice", [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)]),
    ("nodelay bytes", [(socket.IPPROTO_TCP, socket.TCP_NODELAY, b"\1\0\0\0")]),
    ("nodelay bytes 1", [(socket.IPPROTO_TCP, socket.TCP_NODELAY, b"\1")]),
    ("nodelay empty bytes", [(socket.IPPROTO_TCP, socket.TCP_NODELAY, b"")]),
    ("keepalive", [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]),
    ("keepalive 2", [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 2)]),
    ("reuse", [(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)]),
    ("rcvbuf", [(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)]),
    ("rcvbuf 0", [(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)]),
    ("rcvbuf -1", [(socket.SOL_SOCKET, socket.SO_RCVBUF, -1)]),
    ("sndbuf", [(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)]),
    ("linger", [(socket.SOL_SOCKET, socket.SO_LINGER, (1).to_bytes(4, "little") + (5).to_bytes(4, "little"))]),
    ("linger off", [(socket.SOL_SOCKET, socket.SO_LINGER, bytes(8))]),
    ("linger off 5", [(socket.SOL_SOCKET, socket.SO_LINGER, bytes(4) + (5).to_bytes(4, "little"))]),
    ("linger int", [(socket.SOL_SOCKET, socket.SO_LINGER, 1)]),
    ("linger short", [(socket.SOL_SOCKET, socket.SO_LINGER, b"abc")]),
    (
        "linger negative",
        [(socket.SOL_SOCKET, socket.SO_LINGER, (1).to_bytes(4, "little") + (-5).to_bytes(4, "little", signed=True))],
    ),
    ("keepidle", [(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)]),
    ("keepintvl", [(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 60)]),
    ("keepcnt", [(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 60)]),
    ("user timeout", [(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60)]),
    ("list", [[socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1]]),
    ("bool", [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, True)]),
):
    case(f"sockopts {name}", sockopts=[SLOW, *value])

for name, policy in (
    ("constant", lambda: ConstantReconnectionPolicy(1.0)),
    ("constant 5", lambda: ConstantReconnectionPolicy(2.5, max_attempts=5)),
    ("constant 0", lambda: ConstantReconnectionPolicy(2.5, max_attempts=0)),
    ("constant None", lambda: ConstantReconnectionPolicy(2.5, max_attempts=None)),
    ("constant 0 s", lambda: ConstantReconnectionPolicy(0)),
    ("constant inf", lambda: ConstantReconnectionPolicy(math.inf)),
    ("constant 1e-5", lambda: ConstantReconnectionPolicy(1e-5)),
    ("exponential", lambda: ExponentialReconnectionPolicy(2, 20)),
    ("exponential 5", lambda: ExponentialReconnectionPolicy(2, 20, max_attempts=5)),
    ("exponential 0", lambda: ExponentialReconnectionPolicy(2, 20, max_attempts=0)),
    ("exponential None", lambda: ExponentialReconnectionPolicy(2, 20, max_attempts=None)),
    ("exponential floats", lambda: ExponentialReconnectionPolicy(0.0015, 0.0029)),
    ("exponential inf", lambda: ExponentialReconnectionPolicy(1, math.inf)),
    ("mine", MyReconnection),
    ("my exponential", lambda: MyExponential(1, 2)),
):
    try:
        made = policy()
    except Exception as error:
        print("reconnection", name, type(error).__name__, error)
    else:
        case(f"reconnection {name}", reconnection_policy=made)

for name, policy in (
    ("round robin", RoundRobinPolicy),
    ("dc", DCAwareRoundRobinPolicy),
    ("dc given", lambda: DCAwareRoundRobinPolicy("dc1")),
    ("dc remote", lambda: DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=2)),
    ("dc remote unnamed", lambda: DCAwareRoundRobinPolicy(used_hosts_per_remote_dc=2)),
    ("rack", lambda: RackAwareRoundRobinPolicy("dc1", "r1")),
    ("rack remote", lambda: RackAwareRoundRobinPolicy("dc1", "r1", used_hosts_per_remote_dc=1)),
    ("token", lambda: TokenAwarePolicy(RoundRobinPolicy())),
    ("token dc", lambda: TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"))),
    ("token dc remote", lambda: TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1", 3))),
    ("token rack", lambda: TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "r1"))),
    ("token in order", lambda: TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False)),
    ("token token", lambda: TokenAwarePolicy(TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False))),
    ("default", lambda: DefaultLoadBalancingPolicy(TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1")))),
    ("default round robin", lambda: DefaultLoadBalancingPolicy(RoundRobinPolicy())),
    ("dse", lambda: DSELoadBalancingPolicy(RoundRobinPolicy())),
    ("white", lambda: WhiteListRoundRobinPolicy(["127.0.0.1"])),
    ("token white", lambda: TokenAwarePolicy(WhiteListRoundRobinPolicy(["127.0.0.1"]))),
    ("filter", lambda: HostFilterPolicy(RoundRobinPolicy(), lambda host: True)),
    ("filter token dc", lambda: HostFilterPolicy(TokenAwarePolicy(DCAwareRoundRobinPolicy("dc2")), lambda host: True)),
    ("token filter dc", lambda: TokenAwarePolicy(HostFilterPolicy(DCAwareRoundRobinPolicy("dc2"), lambda host: True))),
    ("mine", MyRoundRobin),
    ("my dc", lambda: MyDC("dc1")),
    ("token my dc", lambda: TokenAwarePolicy(MyDC("dc1"))),
    ("my token", lambda: MyToken(DCAwareRoundRobinPolicy("dc1"))),
    ("forever", Forever),
    ("token forever", lambda: TokenAwarePolicy(Forever())),
    ("default default", lambda: DefaultLoadBalancingPolicy(DefaultLoadBalancingPolicy(RoundRobinPolicy()))),
):
    lbp(name, policy())

for name, policy in (
    ("default", RetryPolicy()),
    ("downgrading", DowngradingConsistencyRetryPolicy()),
    ("fallthrough", FallthroughRetryPolicy()),
    ("never", NeverRetryPolicy),
    ("never made", NeverRetryPolicy()),
    ("backoff", ExponentialBackoffRetryPolicy(max_num_retries=3)),
    ("backoff all", ExponentialBackoffRetryPolicy(max_num_retries=3, min_interval=0.2, max_interval=4.0)),
    ("backoff 0", ExponentialBackoffRetryPolicy(max_num_retries=0)),
    ("mine", MyRetry()),
    ("long", Long()),
):
    case(f"retry {name}", default_retry_policy=policy)
    case(f"retry {name} in a profile", execution_profiles=default(retry_policy=policy))
for name, policy in (
    ("none", NoSpeculativeExecutionPolicy()),
    ("constant", ConstantSpeculativeExecutionPolicy(0.1, 3)),
    ("constant 0", ConstantSpeculativeExecutionPolicy(0.1, 0)),
    ("constant -1", ConstantSpeculativeExecutionPolicy(0.1, -1)),
    ("constant 0 s", ConstantSpeculativeExecutionPolicy(0, 2)),
    ("constant -1 s", ConstantSpeculativeExecutionPolicy(-1, 2)),
    ("constant inf", ConstantSpeculativeExecutionPolicy(math.inf, 2)),
    ("constant 0.0001", ConstantSpeculativeExecutionPolicy(0.0001, 2)),
    ("mine", MySpeculative()),
):
    case(f"speculative {name}", execution_profiles=default(speculative_execution_policy=policy))
for level in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, None, 77):
    case(f"consistency {level}", execution_profiles=default(consistency_level=level))
for level in (8, 9, None, 1):
    if level != 1:
        case(f"serial {level}", execution_profiles=default(serial_consistency_level=level))
for timeout in (None, 0, 1, 0.5, 1e9, math.inf, -1, 0.0001):
    case(f"request {timeout}", execution_profiles=default(request_timeout=timeout))
case("row factory", execution_profiles=default(row_factory=tuple))
case("continuous", execution_profiles=default(continuous_paging_options=None))
case("no default profile", execution_profiles={"a": ExecutionProfile(request_timeout=1)})
case("legacy", load_balancing_policy=RoundRobinPolicy(), default_retry_policy=FallthroughRetryPolicy())


def set_legacy(cluster):
    cluster.load_balancing_policy = RoundRobinPolicy()
    cluster.default_retry_policy = FallthroughRetryPolicy()


case("legacy set", change=set_legacy)
for name, value in (
    ("connect_timeout", 1),
    ("control_connection_timeout", 1),
    ("idle_heartbeat_interval", 0),
    ("idle_heartbeat_timeout", 3),
    ("reconnection_policy", ConstantReconnectionPolicy(3)),
    ("sockopts", [SLOW, (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]),
    ("max_schema_agreement_wait", 3),
    ("timestamp_generator", None),
    ("timestamp_generator", int),
):
    case(f"set {name}", change=lambda cluster: setattr(cluster, name, value))
case("application", change=lambda cluster: setattr(cluster, "x", 1))
