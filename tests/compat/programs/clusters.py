"""Clusters, sessions and profiles that are made and not connected: arguments, attributes, errors, warnings."""

# mypy: ignore-errors
# ruff: noqa
import logging
import socket
import ssl
import uuid
import warnings
from unittest.mock import Mock

logging.disable(logging.CRITICAL)

from cassandra import ConsistencyLevel as CL
from cassandra import ProtocolVersion, cluster, connection, policies, query
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import *
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    ProfileManager,
    Session,
    ShardAwareOptions,
)
from cassandra.connection import DefaultEndPoint, DefaultEndPointFactory, UnixSocketEndPoint
from cassandra.policies import *
from cassandra.query import dict_factory, named_tuple_factory, tuple_factory
from cassandra.application_info import ApplicationInfo


def shown(value):
    if value is getattr(cluster, "_NOT_SET", 0):
        return "NOT_SET"
    if isinstance(value, type):
        return value.__name__
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = repr(value)
    return type(value).__name__ if " at 0x" in text or "<" in text else text


def told(found):
    return [(one.category.__name__) for one in found]


def case(name, function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result = shown(function())
        except Exception as error:
            result = f"raises {type(error).__name__}"
    print(name, result, *sorted(told(found)))


PLAIN = (
    "contact_points",
    "port",
    "compression",
    "auth_provider",
    "load_balancing_policy",
    "default_retry_policy",
    "conviction_policy_factory",
    "metrics_enabled",
    "ssl_options",
    "ssl_context",
    "sockopts",
    "cql_version",
    "max_schema_agreement_wait",
    "control_connection_timeout",
    "idle_heartbeat_interval",
    "idle_heartbeat_timeout",
    "schema_event_refresh_window",
    "topology_event_refresh_window",
    "status_event_refresh_window",
    "connect_timeout",
    "schema_metadata_enabled",
    "token_metadata_enabled",
    "schema_metadata_page_size",
    "address_translator",
    "prepare_on_all_hosts",
    "reprepare_on_up",
    "allow_beta_protocol_version",
    "timestamp_generator",
    "no_compact",
    "endpoint_factory",
    "cloud",
    "metadata_request_timeout",
    "column_encryption_policy",
    "application_info",
    "is_shutdown",
    "endpoints_resolved",
    "allow_control_connection_query_fallback",
    "driver_config_reporting_enabled",
    "metrics",
)
# properties of scylla-driver, and what is known by objects only
NO_CLASS_DEFAULTS = (
    "application_info",
    "auth_provider",
    "endpoints_resolved",
    "schema_metadata_enabled",
    "schema_metadata_page_size",
    "token_metadata_enabled",
)
for name in PLAIN:
    case(
        f"default {name}",
        lambda: (
            getattr(Cluster(), name) if name != "endpoints_resolved" else list(map(str, Cluster().endpoints_resolved))
        ),
    )
    if name not in NO_CLASS_DEFAULTS:
        case(
            f"class {name}",
            lambda: getattr(Cluster, name) if not isinstance(getattr(Cluster, name), property) else "property",
        )

for name, values in {
    "contact_points": (
        ["127.0.0.1"],
        [],
        "127.0.0.1",
        None,
        [None],
        ["localhost"],
        [("127.0.0.1", 9043)],
        [DefaultEndPoint("127.0.0.1")],
        [UnixSocketEndPoint("/tmp/x")],
        5,
        ["::1"],
        ["a", None],
    ),
    "port": (9042, "9042", "x", 0, -1, 65535, 65536, None),
    "compression": (True, False, None, "lz4", "gzip", 5),
    "auth_provider": (
        PlainTextAuthProvider("u", "p"),
        None,
        PlainTextAuthProvider,
        lambda host: {},
        5,
        "x",
        {"username": "a"},
    ),
    "load_balancing_policy": (RoundRobinPolicy(), None, RoundRobinPolicy, 5, Mock(), "x"),
    "reconnection_policy": (ConstantReconnectionPolicy(1), None, ConstantReconnectionPolicy, 5, Mock()),
    "default_retry_policy": (RetryPolicy(), None, RetryPolicy, 5, Mock()),
    "conviction_policy_factory": (SimpleConvictionPolicy, None, 5, lambda host: None, "x"),
    "metrics_enabled": (False,),
    "ssl_options": (None, {"ca_certs": "x"}),
    "ssl_context": (None, ssl.create_default_context()),
    "sockopts": (None, [], [(1, 2, 3)], ()),
    "cql_version": (None, "3.4.5", 5),
    "protocol_version": (1, 2, 3, 4, 5, 6, -1, 7, 65, 66, 67),
    "max_schema_agreement_wait": (0, 1, 10.5, -1),
    "control_connection_timeout": (None, 1, 0.5),
    "idle_heartbeat_interval": (0, None, 10, 0.5),
    "idle_heartbeat_timeout": (1, 0.5),
    "schema_event_refresh_window": (0, -1, 5),
    "connect_timeout": (None, 1, 0.1),
    "schema_metadata_page_size": (1, 5000),
    "address_translator": (None, IdentityTranslator(), IdentityTranslator, 5, Mock()),
    "execution_profiles": (None, {}, {"a": ExecutionProfile()}, {EXEC_PROFILE_DEFAULT: ExecutionProfile()}, 5, []),
    "timestamp_generator": (None, lambda: 1, 5, int),
    "endpoint_factory": (None, DefaultEndPointFactory(), DefaultEndPointFactory(port=5)),
    "shard_aware_options": (
        None,
        {},
        {"disable": True},
        {"disable_shardaware_port": True},
        ShardAwareOptions(),
        ShardAwareOptions(disable=True),
    ),
    "metadata_request_timeout": (None, 2.5),
    "column_encryption_policy": (None,),
    "application_info": (None, ApplicationInfo("a", "1", "c"), ApplicationInfo, 5, {}),
    "allow_control_connection_query_fallback": (
        ControlConnectionQueryFallback.Disabled,
        ControlConnectionQueryFallback.Fallback,
        ControlConnectionQueryFallback.SkipPoolCreation,
    ),
    "driver_config_reporting_enabled": (True, False),
    "nothing": (5,),
}.items():
    for value in values:
        case(
            f"Cluster {name}={shown(value) if not isinstance(value, (list, tuple, set)) else [shown(one) for one in value]}",
            lambda: (
                getattr(Cluster(**{name: value}), name)
                if name != "execution_profiles"
                else sorted(map(str, Cluster(**{name: value}).profile_manager.profiles))
            ),
        )

for name, arguments in (
    (
        "lbp and profiles",
        lambda: dict(load_balancing_policy=RoundRobinPolicy(), execution_profiles={"a": ExecutionProfile()}),
    ),
    (
        "retry and profiles",
        lambda: dict(default_retry_policy=RetryPolicy(), execution_profiles={"a": ExecutionProfile()}),
    ),
    ("lbp and empty profiles", lambda: dict(load_balancing_policy=RoundRobinPolicy(), execution_profiles={})),
    ("ssl both", lambda: dict(ssl_context=ssl.create_default_context(), ssl_options={"server_hostname": "x"})),
    ("beta 6", lambda: dict(allow_beta_protocol_version=True, protocol_version=6)),
    ("beta", lambda: dict(allow_beta_protocol_version=True)),
    ("beta 5", lambda: dict(allow_beta_protocol_version=True, protocol_version=5)),
    ("heartbeat longer", lambda: dict(idle_heartbeat_interval=1, idle_heartbeat_timeout=5)),
    ("no token metadata", lambda: dict(token_metadata_enabled=False)),
    ("points without policy", lambda: dict(contact_points=["127.0.0.1"])),
    ("points with policy", lambda: dict(contact_points=["127.0.0.1"], load_balancing_policy=RoundRobinPolicy())),
    ("points with profiles", lambda: dict(contact_points=["127.0.0.1"], execution_profiles={"a": ExecutionProfile()})),
    (
        "points with profile and policy",
        lambda: dict(
            contact_points=["127.0.0.1"],
            execution_profiles={"a": ExecutionProfile(load_balancing_policy=RoundRobinPolicy())},
        ),
    ),
    (
        "points with default profile",
        lambda: dict(contact_points=["127.0.0.1"], execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile()}),
    ),
    (
        "points with dc",
        lambda: dict(contact_points=["127.0.0.1"], load_balancing_policy=DCAwareRoundRobinPolicy("dc1")),
    ),
    ("points with no dc", lambda: dict(contact_points=["127.0.0.1"], load_balancing_policy=DCAwareRoundRobinPolicy())),
    ("downgrading", lambda: dict(default_retry_policy=DowngradingConsistencyRetryPolicy())),
    ("positional", lambda: dict(zip(("contact_points", "port"), (["127.0.0.1"], 9043)))),
):
    case(f"Cluster of {name}", lambda: Cluster(**arguments()))
    case(
        f"mode of {name}",
        lambda: (
            Cluster(**arguments())._config_mode.value
            if hasattr(Cluster(**arguments())._config_mode, "value")
            else Cluster(**arguments())._config_mode
        ),
    )

# ---- setting later

for name, values in {
    "load_balancing_policy": (RoundRobinPolicy(), None, 5),
    "default_retry_policy": (RetryPolicy(), None, 5),
    "auth_provider": (PlainTextAuthProvider("u", "p"), None, 5, lambda host: {}),
    "schema_metadata_enabled": (False, True, 0),
    "token_metadata_enabled": (False, True),
    "connect_to_remote_hosts": (False, True),
    "timestamp_generator": (lambda: 1, None),
    "protocol_version": (3, 4, 5),
    "connect_timeout": (1, None),
    "metrics_enabled": (True,),
    "reconnection_policy": (ConstantReconnectionPolicy(1),),
    "endpoints_resolved": ([],),
    "contact_points": (["a"],),
    "port": (1,),
    "anything": (1,),
}.items():
    for value in values:

        def change():
            made = Cluster()
            setattr(made, name, value)
            return getattr(made, name)

        case(f"set {name} {shown(value)}", change)


def legacy_then_profiles():
    made = Cluster(load_balancing_policy=RoundRobinPolicy())
    made.add_execution_profile("a", ExecutionProfile())


def profiles_then_legacy():
    made = Cluster(execution_profiles={"a": ExecutionProfile()})
    made.load_balancing_policy = RoundRobinPolicy()


def profiles_then_retry():
    made = Cluster(execution_profiles={"a": ExecutionProfile()})
    made.default_retry_policy = RetryPolicy()


def set_then_profiles():
    made = Cluster()
    made.default_retry_policy = RetryPolicy()
    made.add_execution_profile("a", ExecutionProfile())


def twice():
    made = Cluster(execution_profiles={"a": ExecutionProfile()})
    made.add_execution_profile("a", ExecutionProfile())


def added():
    made = Cluster()
    made.add_execution_profile("a", ExecutionProfile())
    return sorted(map(str, made.profile_manager.profiles))


def default_added():
    made = Cluster()
    made.add_execution_profile(EXEC_PROFILE_DEFAULT, ExecutionProfile())


def no_profile():
    Cluster().add_execution_profile("a", 5)


for function in (
    legacy_then_profiles,
    profiles_then_legacy,
    profiles_then_retry,
    set_then_profiles,
    twice,
    added,
    default_added,
    no_profile,
):
    case(function.__name__, function)

for name, call in (
    ("set_meta_refresh_enabled", lambda c: c.set_meta_refresh_enabled(False)),
    ("shutdown", lambda c: c.shutdown()),
    ("shutdown twice", lambda c: (c.shutdown(), c.shutdown())),
    ("connect after shutdown", lambda c: (c.shutdown(), c.connect())),
    ("get_core_connections_per_host", lambda c: c.get_core_connections_per_host(HostDistance.LOCAL)),
    ("set_core_connections_per_host", lambda c: c.set_core_connections_per_host(HostDistance.LOCAL, 3)),
    ("get_max_requests", lambda c: c.get_max_requests_per_connection(HostDistance.LOCAL)),
    ("register_listener", lambda c: c.register_listener(Mock())),
    ("unregister_listener", lambda c: c.unregister_listener(Mock())),
    ("register_user_type", lambda c: c.register_user_type("ks", "t", dict)),
    ("get_connection_holders", lambda c: c.get_connection_holders()),
    ("metadata hosts", lambda c: c.metadata.all_hosts()),
    ("metadata keyspaces", lambda c: dict(c.metadata.keyspaces)),
    ("metadata token_map", lambda c: c.metadata.token_map),
    ("metadata partitioner", lambda c: c.metadata.partitioner),
    ("metadata cluster_name", lambda c: c.metadata.cluster_name),
    ("metadata export", lambda c: c.metadata.export_schema_as_string()),
    ("metadata replicas", lambda c: c.metadata.get_replicas("ks", b"k")),
    ("with", lambda c: c.__enter__() is c),
    ("refresh_schema_metadata", lambda c: c.refresh_schema_metadata()),
    ("refresh_nodes", lambda c: c.refresh_nodes()),
    ("get_control_connection_host", lambda c: c.get_control_connection_host()),
    ("control_connection", lambda c: type(c.control_connection).__name__),
    ("profile_manager", lambda c: type(c.profile_manager).__name__),
    ("default profile", lambda c: type(c.profile_manager.default).__name__),
    ("session id", lambda c: type(c.session_id).__name__),
    ("encoder", lambda c: type(c.encoder).__name__),
    ("protocol_downgrade", lambda c: c.protocol_downgrade(DefaultEndPoint("127.0.0.1"), 4)),
    (
        "protocol_downgrade given",
        lambda c: Cluster(protocol_version=4).protocol_downgrade(DefaultEndPoint("127.0.0.1"), 4),
    ),
    ("is_shard_aware", lambda c: c.is_shard_aware()),
    ("shard_aware_stats", lambda c: c.shard_aware_stats()),
    ("add_host", lambda c: c.add_host(DefaultEndPoint("127.0.0.1"), "dc", "r", False, False, uuid.uuid4())[1]),
):
    case(f"method {name}", lambda: call(Cluster()))

# ---- execution profiles

PROFILE = (
    "load_balancing_policy",
    "retry_policy",
    "consistency_level",
    "serial_consistency_level",
    "request_timeout",
    "row_factory",
    "speculative_execution_policy",
    "continuous_paging_options",
)
for name in PROFILE:
    case(f"profile {name}", lambda: getattr(ExecutionProfile(), name))
    case(
        f"profile class {name}",
        lambda: (
            getattr(ExecutionProfile, name) if not isinstance(getattr(ExecutionProfile, name), property) else "property"
        ),
    )
for name, values in {
    "load_balancing_policy": (RoundRobinPolicy(), RoundRobinPolicy, 5),
    "retry_policy": (RetryPolicy(), None, RetryPolicy, 5),
    "consistency_level": (CL.ONE, None, 77),
    "serial_consistency_level": (CL.SERIAL, CL.LOCAL_SERIAL, None, CL.ONE, 77, 0),
    "request_timeout": (1, None, 0, 0.5, -1),
    "row_factory": (dict_factory, tuple_factory, None),
    "speculative_execution_policy": (None, NoSpeculativeExecutionPolicy(), ConstantSpeculativeExecutionPolicy(1, 2)),
    "continuous_paging_options": (None,),
    "nothing": (1,),
}.items():
    for value in values:
        case(f"profile of {name} {shown(value)}", lambda: getattr(ExecutionProfile(**{name: value}), name))

        def change():
            made = ExecutionProfile()
            setattr(made, name, value)
            return getattr(made, name)

        case(f"profile set {name} {shown(value)}", change)
case(
    "profile positional",
    lambda: [
        shown(getattr(ExecutionProfile(RoundRobinPolicy(), RetryPolicy(), CL.ONE, CL.SERIAL, 3, dict_factory), name))
        for name in PROFILE
    ],
)

# ---- sessions by class

for name in (
    "default_timeout",
    "default_consistency_level",
    "default_serial_consistency_level",
    "max_trace_wait",
    "default_fetch_size",
    "use_client_timestamp",
    "row_factory",
    "timestamp_generator",
    "keyspace",
    "is_shutdown",
    "cluster",
    "hosts",
    "session_id",
):
    case(
        f"session class {name}",
        lambda: getattr(Session, name) if not isinstance(getattr(Session, name), property) else "property",
    )

# ---- options of shards

for arguments in (
    {},
    {"disable": True},
    {"disable_shardaware_port": True},
    {"opts": {"disable": True}},
    {"opts": ShardAwareOptions(disable=True)},
    {"x": 1},
):
    case(
        f"shards {sorted(arguments)}",
        lambda: [ShardAwareOptions(**arguments).disable, bool(ShardAwareOptions(**arguments).disable_shardaware_port)],
    )

print(
    sorted(ProtocolVersion.SUPPORTED_VERSIONS),
    sorted(ProtocolVersion.BETA_VERSIONS),
    ProtocolVersion.MIN_SUPPORTED,
    ProtocolVersion.MAX_SUPPORTED,
)
for version in range(0, 8):
    case(f"lower than {version}", lambda: ProtocolVersion.get_lower_supported(version))
