"""Cluster's constructor: defaults, checks, and the two ways to give request options."""

from __future__ import annotations

import inspect
import ssl
import uuid
from typing import Any
from unittest import mock

import pytest

from cassandra import ConsistencyLevel, DriverException
from cassandra._base.errors import NoHostAvailable
from cassandra._session.cluster import Cluster
from cassandra._session.config import ConfigMode, ControlConnectionQueryFallback, ShardAwareOptions
from cassandra._session.options import OPTIONS
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra._session.statements.statement import NOT_SET
from cassandra.auth import PlainTextAuthProvider, TransitionalModePlainTextAuthProvider
from cassandra.client_routes import ClientRouteProxy, ClientRoutesConfig
from cassandra.connection import (
    Connection,
    DefaultEndPoint,
    DefaultEndPointFactory,
    SniEndPointFactory,
    UnixSocketEndPoint,
)
from cassandra.memory import MemoryPool
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
)
from cassandra.ssl_session_cache import SSLSessionCache
from cassandra.timestamps import MonotonicTimestampGenerator

ROUTES = ClientRoutesConfig([ClientRouteProxy("link")])

DEFAULTS = {
    "contact_points": ["127.0.0.1"],
    "port": 9042,
    "compression": True,
    "auth_provider": None,
    "metrics_enabled": False,
    "strict_binding": False,
    "verify_host_ids": True,
    "metrics": None,
    "connection_class": Connection,
    "ssl_options": None,
    "ssl_context": None,
    "sockopts": None,
    "cql_version": None,
    "protocol_version": 5,
    "executor_threads": 2,
    "max_schema_agreement_wait": 10,
    "control_connection_timeout": 2.0,
    "idle_heartbeat_interval": 30,
    "idle_heartbeat_timeout": 30,
    "schema_event_refresh_window": 2,
    "topology_event_refresh_window": 10,
    "status_event_refresh_window": 2,
    "connect_timeout": 5,
    "schema_metadata_enabled": True,
    "token_metadata_enabled": True,
    "schema_metadata_page_size": 1000,
    "prepare_on_all_hosts": True,
    "reprepare_on_up": True,
    "reprepare_rate": 10,
    "reprepare_window": 300,
    "connection_rate": 25,
    "adaptive_concurrency": False,
    "retry_budget": None,
    "allow_beta_protocol_version": False,
    "no_compact": False,
    "cloud": None,
    "metadata_request_timeout": 2.0,
    "column_encryption_policy": None,
    "application_info": None,
    "driver_config_reporting_enabled": True,
    "allow_control_connection_query_fallback": ControlConnectionQueryFallback.Disabled,
    "connect_to_remote_hosts": True,
    "is_shutdown": False,
}


def test_defaults() -> None:
    cluster = Cluster()
    assert {name: getattr(cluster, name) for name in DEFAULTS} == DEFAULTS
    assert isinstance(cluster.reconnection_policy, ExponentialReconnectionPolicy)
    assert cluster.conviction_policy_factory is SimpleConvictionPolicy
    assert isinstance(cluster.timestamp_generator, MonotonicTimestampGenerator)
    assert isinstance(cluster.session_id, uuid.UUID)
    assert cluster.session_id != Cluster().session_id
    assert cluster.shard_aware_options.disable is None
    assert len(cluster.sessions) == 0
    assert cluster.metadata.all_hosts() == []


def test_every_parameter_becomes_an_attribute() -> None:
    parameters = inspect.signature(Cluster).parameters
    cluster = Cluster()
    skipped = {"execution_profiles", "scylla_cloud"}  # profile_manager; refused
    assert [name for name in parameters if name not in skipped and not hasattr(cluster, name)] == []


def test_the_constructor_has_all_options_with_their_defaults() -> None:
    parameters = inspect.signature(Cluster).parameters
    assert set(OPTIONS) <= set(parameters)
    assert [name for name in OPTIONS if f"*{name}*" not in (Cluster.__doc__ or "") and name != "cloud"] == []
    given = {name: parameters[name].default for name in OPTIONS}
    unsaid = [name for name, default in given.items() if default is None or default is NOT_SET]
    assert {name: given[name] for name in OPTIONS if name not in unsaid} == {
        name: getattr(Cluster, name) for name in OPTIONS if name not in unsaid
    }


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("port", "nine", ValueError),
        ("contact_points", "127.0.0.1", TypeError),
        ("max_waiting_requests", 0, ValueError),
        ("reconnection_policy", ConstantReconnectionPolicy, TypeError),
        ("connect_timeout", 0, ValueError),
        ("connection_rate", 0, ValueError),
        ("connection_rate", float("nan"), ValueError),
        ("reprepare_rate", -1, ValueError),
        ("reprepare_rate", "3", TypeError),
        ("reprepare_rate", True, TypeError),
        ("reprepare_window", -1, ValueError),
        ("auth_provider", object(), TypeError),
        ("allowed_addresses", [], ValueError),
        ("allowed_authenticators", [5], TypeError),
        ("memory_pool", None, TypeError),
    ],
)
def test_options_are_checked_when_they_are_set(name: str, value: Any, error: type[Exception]) -> None:
    cluster = Cluster()
    before = getattr(cluster, name)
    with pytest.raises(error, match=name):
        setattr(cluster, name, value)
    assert getattr(cluster, name) is before


def test_a_memory_pool_is_given_or_made() -> None:
    pool = MemoryPool(1 << 20, name="shared")
    assert Cluster(memory_pool=pool).memory_pool is pool
    cluster = Cluster()
    assert cluster.memory_pool is cluster.memory_pool
    assert cluster.memory_pool.max_bytes == 256 << 20
    assert not cluster.memory_pool.strict
    assert cluster.memory_pool is not Cluster().memory_pool


def test_an_unconnected_cluster_has_no_threads_and_shuts_down(no_leaks: None) -> None:
    cluster = Cluster()
    cluster.shutdown()
    cluster.shutdown()
    assert cluster.is_shutdown


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"contact_points": "127.0.0.1"}, TypeError, "sequence"),
        ({"contact_points": 5}, TypeError, "sequence"),
        ({"contact_points": [None]}, ValueError, "None"),
        ({"contact_points": [""]}, ValueError, "empty"),
        ({"contact_points": [7]}, TypeError, "string"),
        ({"contact_points": [("127.0.0.1", 70000)]}, ValueError, "70000"),
        ({"contact_points": [("127.0.0.1",)]}, TypeError, "pair"),
        ({"port": 0}, ValueError, "Invalid port number"),
        ({"port": 65536}, ValueError, "Invalid port number"),
        ({"port": -1}, ValueError, "Invalid port number"),
        ({"port": "nine"}, ValueError, "Only numeric values"),
        ({"port": 90.42}, TypeError, "port"),
        ({"compression": "zip"}, ValueError, "lz4"),
        ({"compression": 5}, TypeError, "lz4"),
        ({"auth_provider": {"username": "u"}}, TypeError, "AuthProvider"),
        ({"auth_provider": object()}, TypeError, "AuthProvider"),
        ({"load_balancing_policy": RoundRobinPolicy}, TypeError, "instance of that class"),
        ({"reconnection_policy": ConstantReconnectionPolicy}, TypeError, "instance of that class"),
        ({"default_retry_policy": RetryPolicy}, TypeError, "instance of that class"),
        ({"conviction_policy_factory": 3}, ValueError, "callable"),
        ({"timestamp_generator": 3}, ValueError, "callable"),
        ({"protocol_version": "4"}, TypeError, "should be an int"),
        ({"execution_profiles": [ExecutionProfile()]}, TypeError, "execution_profiles should be a dict"),
        ({"executor_threads": 0}, ValueError, "executor_threads"),
        ({"connect_timeout": 0}, ValueError, "connect_timeout"),
        ({"connect_timeout": "5"}, TypeError, "connect_timeout"),
        ({"control_connection_timeout": -1}, ValueError, "control_connection_timeout"),
        ({"idle_heartbeat_timeout": None}, TypeError, "idle_heartbeat_timeout"),
        ({"idle_heartbeat_interval": -1}, ValueError, "idle_heartbeat_interval"),
        ({"schema_event_refresh_window": None}, TypeError, "schema_event_refresh_window"),
        ({"schema_metadata_page_size": 0}, ValueError, "schema_metadata_page_size"),
        ({"ssl_context": {"ca": 1}}, TypeError, "SSLContext"),
        ({"ssl_options": 5}, TypeError, "dict"),
        ({"memory_pool": 1 << 20}, TypeError, "MemoryPool"),
        ({"sockopts": [(1, 2)]}, ValueError, "triples"),
        ({"application_info": "me"}, TypeError, "ApplicationInfoBase"),
        ({"endpoint_factory": SniEndPointFactory}, TypeError, "endpoint_factory"),
        ({"execution_profiles": {"a": RoundRobinPolicy()}}, TypeError, "ExecutionProfile"),
        ({"shard_aware_options": {"what": 1}}, TypeError, "shard_aware_options"),
        ({"cloud": {"secure_connect_bundle": "no-such-bundle"}}, FileNotFoundError, "no-such-bundle"),
        ({"scylla_cloud": "x"}, NotImplementedError, "scylla_cloud"),
        ({"column_encryption_policy": object()}, TypeError, "column_encryption_policy"),
        ({"client_routes_config": object()}, TypeError, "ClientRoutesConfig"),
        ({"client_routes_config": ROUTES, "endpoint_factory": DefaultEndPointFactory()}, ValueError, "endpoints"),
        ({"no_such_option": 1}, TypeError, "no_such_option"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Cluster(**options)


@pytest.mark.parametrize(
    "options", [{"load_balancing_policy": RoundRobinPolicy()}, {"default_retry_policy": RetryPolicy()}]
)
def test_legacy_parameters_are_deprecated(options: dict[str, Any]) -> None:
    with pytest.warns(DeprecationWarning, match="Consider using execution profiles") as caught:
        Cluster(**options)
    assert caught[0].filename == __file__


GUESSED = "please specify a load-balancing policy with local_dc. (contact_points = ['10.0.0.1'])"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ["Cluster() without a policy:"]),
        ({"execution_profiles": {"a": ExecutionProfile()}}, ["Cluster() without a policy in the profiles a:"]),
        ({"execution_profiles": {"a": ExecutionProfile(RoundRobinPolicy())}}, []),
        ({"load_balancing_policy": RoundRobinPolicy()}, []),
    ],
    ids=["nothing", "a profile without", "a profile with", "legacy"],
)
def test_a_datacenter_that_has_to_be_guessed_is_logged(
    caplog: pytest.LogCaptureFixture, options: dict[str, Any], told: list[str]
) -> None:
    Cluster(["10.0.0.1"], **options)
    assert len(caplog.messages) == len(told)
    assert all(text in message for text, message in zip(told, caplog.messages, strict=True))
    assert all(GUESSED in message for message in caplog.messages)


@pytest.mark.parametrize(("points", "told"), [(["10.0.0.1"], 1), (None, 0)])
def test_an_added_profile_without_a_policy_is_logged(
    caplog: pytest.LogCaptureFixture, points: list[str] | None, told: int
) -> None:
    arguments = {} if points is None else {"contact_points": points}
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(RoundRobinPolicy())}
    with Cluster(execution_profiles=profiles, **arguments) as cluster:
        cluster.add_execution_profile("with", ExecutionProfile(RoundRobinPolicy()))
        assert not caplog.messages
        cluster.add_execution_profile("without", ExecutionProfile())
    assert [message for message in caplog.messages if GUESSED in message] == caplog.messages
    assert len(caplog.messages) == told and all(
        "trying to add" in text and "'without'" in text for text in caplog.messages
    )


def test_without_contact_points_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    Cluster()
    assert not caplog.messages


def test_end_points_are_there_before_the_cluster_connects() -> None:
    cluster = Cluster(["10.0.0.1", ("localhost", 9043), "no.such.name.invalid"])
    first, *others = cluster.endpoints_resolved
    assert first == DefaultEndPoint("10.0.0.1") and {endpoint.port for endpoint in others} == {9043}
    assert Cluster().endpoints_resolved == [DefaultEndPoint("127.0.0.1")]
    cluster.endpoints_resolved = []
    assert cluster.endpoints_resolved == []


def test_contact_points_of_all_kinds() -> None:
    points = ["10.0.0.1", ("10.0.0.2", 9043), UnixSocketEndPoint("/tmp/x"), DefaultEndPoint("10.0.0.3", 9044), "::1"]
    cluster = Cluster(points, port=9050)
    assert cluster.contact_points == points
    assert cluster.contacts.resolve() == [
        DefaultEndPoint("10.0.0.1", 9050),
        DefaultEndPoint("10.0.0.2", 9043),
        UnixSocketEndPoint("/tmp/x"),
        DefaultEndPoint("10.0.0.3", 9044),
        DefaultEndPoint("::1", 9050),
    ]
    assert cluster.endpoints_resolved == cluster.contacts.resolve()


def test_no_contact_points() -> None:
    with pytest.raises(NoHostAvailable, match="no contact point given") as caught:
        Cluster([]).connect()
    assert caught.value.errors == {}


def test_a_name_with_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(name: str, port: int, *args: Any) -> list[Any]:
        if name != "nodes.example":
            raise OSError("unknown name")
        return [(2, 1, 6, "", (address, port)) for address in ("10.0.0.1", "10.0.0.2", "10.0.0.1")]

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    cluster = Cluster(["nodes.example", "gone.example"])
    assert cluster.contacts.resolve() == [DefaultEndPoint("10.0.0.1"), DefaultEndPoint("10.0.0.2")]


def test_ssl_options_alone_are_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="ssl_context") as caught:
        cluster = Cluster(ssl_options={})
    assert caught[0].filename == __file__
    assert cluster.connections.options().uses_tls
    context = ssl.create_default_context()
    assert Cluster(ssl_context=context, ssl_options={"server_hostname": "x"}).connections.options().uses_tls
    assert not Cluster().connections.options().uses_tls


def test_tls_sessions_are_kept_unless_told_otherwise() -> None:
    context = ssl.create_default_context()
    assert Cluster().ssl_session_cache is None
    assert isinstance(Cluster(ssl_context=context).ssl_session_cache, SSLSessionCache)
    assert Cluster(ssl_context=context, ssl_session_cache=None).ssl_session_cache is None
    mine = SSLSessionCache(5)
    cluster = Cluster(ssl_context=context, ssl_session_cache=mine)
    assert cluster.connections.options().ssl_session_cache is mine


def test_options_are_read_when_they_are_used() -> None:
    cluster = Cluster()
    assert cluster.connections.options().protocol_version is None  # to be negotiated
    cluster.connect_timeout = 3
    cluster.auth_provider = PlainTextAuthProvider("u", "p")
    cluster.protocol_version = 4
    options = cluster.connections.options("ks")
    assert (options.connect_timeout, options.protocol_version, options.keyspace) == (3, 4, "ks")
    assert options.auth_provider is cluster.auth_provider
    cluster._versions.set_negotiated(5)
    assert cluster.protocol_version == 4


def test_negotiated_version_stays() -> None:
    cluster = Cluster()
    cluster._versions.set_negotiated(4)
    cluster._versions.set_negotiated(5)
    assert cluster.protocol_version == 4
    assert cluster.connections.options().protocol_version == 4


def test_shard_aware_options() -> None:
    assert ShardAwareOptions().disable_shardaware_port is False
    options = ShardAwareOptions({"disable": True, "disable_shardaware_port": True})
    assert (options.disable, options.disable_shardaware_port) == (True, True)
    again = ShardAwareOptions(options, disable=False)
    assert (again.disable, again.disable_shardaware_port) == (False, True)


# ---- legacy parameters and profiles


def test_legacy_parameters_make_the_default_profile() -> None:
    policy, retry = RoundRobinPolicy(), FallthroughRetryPolicy()
    cluster = Cluster(load_balancing_policy=policy, default_retry_policy=retry)
    default = cluster.profile_manager.profiles[EXEC_PROFILE_DEFAULT]
    assert default.load_balancing_policy is cluster.load_balancing_policy is policy
    assert default.retry_policy is cluster.default_retry_policy is retry
    assert cluster.profile_manager.mode is ConfigMode.LEGACY
    other = RoundRobinPolicy()
    cluster.load_balancing_policy = other
    assert cluster.profile_manager.resolved(EXEC_PROFILE_DEFAULT).load_balancing_policy is other
    with pytest.raises(ValueError, match="legacy parameters"):
        cluster.add_execution_profile("x", ExecutionProfile())


@pytest.mark.parametrize("name", ["load_balancing_policy", "default_retry_policy"])
def test_profiles_exclude_legacy_parameters(name: str) -> None:
    value: Any = RoundRobinPolicy() if name == "load_balancing_policy" else FallthroughRetryPolicy()
    profiles = {"a": ExecutionProfile(consistency_level=ConsistencyLevel.ONE)}
    with pytest.raises(ValueError, match="should not specify legacy parameters"):
        Cluster(execution_profiles=profiles, **{name: value})
    cluster = Cluster(execution_profiles=profiles)
    assert set(cluster.profile_manager.profiles) == {"a", EXEC_PROFILE_DEFAULT}
    with pytest.raises(ValueError, match="while using Configuration Profiles"):
        setattr(cluster, name, value)
    with pytest.raises(ValueError, match="while using Configuration Profiles"):
        cluster.profile_manager.commit_legacy("Session.default_timeout")


def test_default_profile_of_the_user() -> None:
    mine = ExecutionProfile(request_timeout=1)
    assert Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: mine}).profile_manager.default is mine


def test_an_added_profile_leaves_legacy_attributes_open() -> None:
    cluster = Cluster()
    cluster.add_execution_profile("x", ExecutionProfile())
    cluster.default_retry_policy = FallthroughRetryPolicy()
    with pytest.raises(ValueError, match="legacy parameters"):
        cluster.add_execution_profile("y", ExecutionProfile())
    cluster.shutdown()


def test_a_provider_is_known_by_its_method() -> None:
    provider = TransitionalModePlainTextAuthProvider()
    cluster = Cluster(auth_provider=provider)  # type: ignore[arg-type]
    assert cluster.auth_provider is provider


def test_options_from_text_and_none() -> None:
    cluster = Cluster(None, port="9043")  # type: ignore[arg-type]
    assert cluster.contact_points == ["127.0.0.1"] and cluster.port == 9043


def test_adding_a_profile_before_connect() -> None:
    cluster = Cluster()
    profile = ExecutionProfile(RoundRobinPolicy())
    cluster.add_execution_profile("x", profile)
    assert cluster.profile_manager.profiles["x"] is profile
    with pytest.raises(ValueError, match="already exists"):
        cluster.add_execution_profile("x", ExecutionProfile())
    with pytest.raises(TypeError, match="ExecutionProfile"):
        cluster.add_execution_profile("y", object())  # type: ignore[arg-type]
    cluster.shutdown()


# ---- a subclass


def test_a_subclass_may_have_other_defaults() -> None:
    class Mine(Cluster):
        contact_points = ["10.0.0.7"]
        reconnection_policy = ConstantReconnectionPolicy(3.0)
        connect_timeout = 1

    cluster = Mine()
    assert Mine.reconnection_policy is cluster.reconnection_policy
    assert cluster.contact_points == ["10.0.0.7"]
    assert next(iter(cluster.membership.new_schedule())) <= 3.0
    assert cluster.connect_timeout == 5  # the constructor's parameter has a default of its own
    other = ConstantReconnectionPolicy(4.0)
    cluster.reconnection_policy = other
    assert cluster.reconnection_policy is other and Mine.reconnection_policy is not other
    assert isinstance(Cluster().reconnection_policy, ExponentialReconnectionPolicy)


def test_a_subclass_may_override_methods() -> None:
    class Mine(Cluster):
        def refresh_nodes(self, force_token_rebuild: bool = False) -> None:
            seen.append(force_token_rebuild)
            super().refresh_nodes(force_token_rebuild)

        def on_down(self, host: Any, is_host_addition: bool = False, expect_host_to_be_down: bool = False) -> None:
            seen.append(expect_host_to_be_down)

    seen: list[bool] = []
    cluster = Mine()
    with pytest.raises(DriverException, match="not connected yet"):
        cluster.refresh_nodes()
    cluster.on_down_potentially_blocking(None, False, 0)  # type: ignore[arg-type]
    assert seen == [False, True]


def test_delegating_methods_have_signature_doc_and_autospec() -> None:
    wanted = "(self, keyspace: 'str', table: 'str', max_schema_agreement_wait: 'float | None' = None) -> 'None'"
    assert str(inspect.signature(Cluster.refresh_table_metadata)) == wanted
    assert "columns, indexes and triggers" in (Cluster.refresh_table_metadata.__doc__ or "")
    fake = mock.create_autospec(Cluster, instance=True)
    fake.refresh_table_metadata("ks", "t")
    with pytest.raises(TypeError, match="missing a required argument"):
        fake.refresh_table_metadata("ks")
    fake = mock.Mock(spec=Cluster)
    assert fake.connect_timeout and fake.add_prepared("id", None)
    with pytest.raises(AttributeError):
        fake.refresh_everything()
