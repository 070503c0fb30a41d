"""Names that programs import from modules where they are not at home."""

from __future__ import annotations

import importlib
from typing import Any
from unittest.mock import patch

import pytest

from cassandra import UnresolvableContactPoints, connection
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.metadata import SchemaParserV3, SchemaParserV4  # type: ignore[attr-defined]
from cassandra.policies import RoundRobinPolicy


@pytest.mark.parametrize(
    "module, name, home",
    [
        ("cassandra.util", "inet_pton", "socket"),
        ("cassandra.util", "inet_ntop", "socket"),
        ("cassandra.query", "OrderedDict", "collections"),
        ("cassandra.cqltypes", "UUID", "uuid"),
        ("cassandra.cqltypes", "Decimal", "decimal"),
    ],
)
def test_a_name_is_that_of_its_home(module: str, name: str, home: str) -> None:
    assert getattr(importlib.import_module(module), name) is getattr(importlib.import_module(home), name)


@pytest.mark.parametrize(
    "module, names",
    [
        ("cassandra.connection", "socket ssl time random struct errno Event RLock Thread Queue deque weakref"),
        ("cassandra.cluster", "time socket random uuid weakref Event Lock Thread Future"),
        ("cassandra.pool", "time random Lock Condition WeakSet"),
        ("cassandra.metadata", "json random RLock"),
        ("cassandra.query", "time struct warnings datetime"),
        ("cassandra.protocol", "io socket namedtuple"),
    ],
)
def test_libraries_can_be_found_and_patched(module: str, names: str) -> None:
    for name in names.split():
        with patch(f"{module}.{name}") as replaced:
            assert getattr(importlib.import_module(module), name) is replaced
        assert getattr(importlib.import_module(module), name) is not replaced


def test_a_function_of_a_library_is_replaced_where_it_is_called() -> None:
    with (
        patch("cassandra.connection.socket.getaddrinfo", side_effect=OSError("patched")) as look_up,
        Cluster(["db.example"]) as cluster,
        pytest.raises(UnresolvableContactPoints, match="patched"),
    ):
        cluster.connect()
    assert look_up.called


@pytest.mark.parametrize(
    "name",
    [
        "send_msg",
        "wait_for_response",
        "wait_for_responses",
        "register_watcher",
        "register_watchers",
        "factory",
        "close",
        "defunct",
    ],
)
def test_methods_of_connections_can_be_patched(name: str) -> None:
    with patch.object(connection.Connection, name) as replaced:
        assert getattr(connection.Connection, name) is replaced


def test_names_of_connections() -> None:
    for name in [
        "_Frame",
        "ConnectionHeartbeat",
        "HeartbeatFuture",
        "frame_header_v3",
        "locally_supported_compressions",
        "ResponseWaiter",
        "DefaultEndPoint",
        "SniEndPoint",
        "UnixSocketEndPoint",
        "DefaultEndPointFactory",
        "SegmentCodec",
        "DRIVER_NAME",
        "DRIVER_VERSION",
    ]:
        assert getattr(connection, name) is not None


def test_options_that_parsers_of_the_schema_know() -> None:
    old, new = SchemaParserV3.recognized_table_options, SchemaParserV4.recognized_table_options
    assert {"compaction", "caching", "comment"} <= set(old) & set(new)
    assert "read_repair" in new and "read_repair" not in old and "read_repair_chance" in old


def test_the_policy_of_requests_without_a_profile() -> None:
    policy = RoundRobinPolicy()
    cluster: Any = Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)})
    assert cluster._default_load_balancing_policy is policy
    assert "_default_load_balancing_policy" in dir(Cluster)
    legacy: Any = Cluster(load_balancing_policy=policy)
    assert legacy._default_load_balancing_policy is policy
