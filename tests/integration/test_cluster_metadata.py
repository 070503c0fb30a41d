"""Cluster metadata of a real node, and how it follows changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import DriverException, UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._session.control.schema_changes import SchemaAgreementScope
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.policies import HostStateListener
from tests.integration.conftest import create_keyspace

KEYSPACE = "it_cluster_metadata"


def eventually(condition: Callable[[], Any], timeout: float = 30.0) -> Any:
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, f"did not come true within {timeout} s"
        time.sleep(0.02)
    return value


@pytest.fixture
def pair(cassandra_node: Any, cluster_to: Any) -> tuple[Session, Cluster]:
    """A session that changes the schema, and another cluster that only hears of it."""
    session = cluster_to(cassandra_node).connect()
    create_keyspace(session, KEYSPACE)
    watching = cluster_to(cassandra_node, schema_event_refresh_window=0)
    watching.connect()
    return session, watching


@pytest.fixture(autouse=True)
def drop(cassandra_node: Any) -> Iterator[None]:
    yield
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        cluster.connect().execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}", timeout=30)


def keyspace_of(cluster: Cluster) -> Any:
    return cluster.metadata.keyspaces.get(KEYSPACE)


def test_metadata_is_known_after_connect(cassandra_node: Any, cluster_to: Any) -> None:
    cluster = cluster_to(cassandra_node)
    session = cluster.connect("system", wait_for_all_pools=True)
    row = session.execute("SELECT cluster_name, partitioner, host_id, release_version FROM local").one()
    metadata = cluster.metadata
    assert (metadata.cluster_name, metadata.partitioner) == (row.cluster_name, row.partitioner)
    (host,) = metadata.all_hosts()
    assert (host.host_id, host.release_version, host.is_up) == (row.host_id, row.release_version, True)
    assert host.datacenter and host.rack and host.broadcast_rpc_address == cassandra_node.contact_points[0]
    assert cluster.get_control_connection_host() is host
    assert cluster.protocol_version == 5
    assert "host_id" in metadata.keyspaces["system"].tables["local"].columns
    assert session.wait_for_schema_agreement(5, SchemaAgreementScope.RACK)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_protocol_versions(cassandra_node: Any, cluster_to: Any, version: int) -> None:
    cluster = cluster_to(cassandra_node, protocol_version=version)
    session = cluster.connect()
    assert cluster.protocol_version == version
    assert session.execute("SELECT key FROM system.local").one().key == "local"
    assert cluster.metadata.keyspaces["system"].tables


def test_schema_changes_of_other_clients(pair: tuple[Session, Cluster]) -> None:
    session, watching = pair
    eventually(lambda: keyspace_of(watching))
    session.execute(f"CREATE TABLE {KEYSPACE}.t (k int PRIMARY KEY, v text)")
    table = eventually(lambda: keyspace_of(watching).tables.get("t"))
    assert list(table.columns) == ["k", "v"]
    session.execute(f"ALTER TABLE {KEYSPACE}.t ADD more int")
    eventually(lambda: "more" in keyspace_of(watching).tables["t"].columns)
    session.execute(f"CREATE INDEX by_v ON {KEYSPACE}.t (v)")
    eventually(lambda: "by_v" in keyspace_of(watching).indexes)
    session.execute(f"CREATE TYPE {KEYSPACE}.u (a int, b text)")
    eventually(lambda: "u" in keyspace_of(watching).user_types)
    session.execute(f"ALTER TYPE {KEYSPACE}.u ADD c int")
    eventually(lambda: "c" in keyspace_of(watching).user_types["u"].field_names)
    session.execute(f"DROP INDEX {KEYSPACE}.by_v")
    eventually(lambda: "by_v" not in keyspace_of(watching).indexes)
    session.execute(f"DROP TABLE {KEYSPACE}.t")
    eventually(lambda: "t" not in keyspace_of(watching).tables)
    session.execute(f"DROP KEYSPACE {KEYSPACE}", timeout=30)
    eventually(lambda: keyspace_of(watching) is None)


def test_own_schema_changes_are_seen_at_once(pair: tuple[Session, Cluster]) -> None:
    session, _ = pair
    cluster = session.cluster
    for number in range(5):
        session.execute(f"CREATE TABLE {KEYSPACE}.t{number} (k int PRIMARY KEY)")
        assert f"t{number}" in keyspace_of(cluster).tables
    futures = [session.execute_async(f"CREATE TYPE {KEYSPACE}.u{number} (a int)") for number in range(5)]
    for future in futures:
        future.result()
        assert future.is_schema_agreed
    assert {f"u{number}" for number in range(5)} <= set(keyspace_of(cluster).user_types)


def test_refreshing_by_hand(cassandra_node: Any, cluster_to: Any) -> None:
    cluster = cluster_to(cassandra_node, schema_metadata_enabled=False)
    session = cluster.connect()
    create_keyspace(session, KEYSPACE)
    session.execute(f"CREATE TABLE {KEYSPACE}.t (k int PRIMARY KEY, v int)")
    session.execute(f"CREATE TYPE {KEYSPACE}.u (a int)")
    assert cluster.metadata.keyspaces == {}
    cluster.refresh_keyspace_metadata(KEYSPACE)
    assert "t" in keyspace_of(cluster).tables
    session.execute(f"CREATE TABLE {KEYSPACE}.t2 (k int PRIMARY KEY)")
    cluster.refresh_table_metadata(KEYSPACE, "t2")
    assert "t2" in keyspace_of(cluster).tables
    cluster.refresh_user_type_metadata(KEYSPACE, "u")
    assert "u" in keyspace_of(cluster).user_types
    cluster.refresh_user_function_metadata(KEYSPACE, UserFunctionDescriptor("nothing", ["int"]))
    cluster.refresh_user_aggregate_metadata(KEYSPACE, UserAggregateDescriptor("nothing", ["int"]))
    cluster.refresh_materialized_view_metadata(KEYSPACE, "nothing")
    cluster.refresh_nodes(force_token_rebuild=True)
    cluster.refresh_schema_metadata()
    assert "system" in cluster.metadata.keyspaces
    session.execute(f"DROP TABLE {KEYSPACE}.t2")
    cluster.refresh_table_metadata(KEYSPACE, "t2")
    assert "t2" not in keyspace_of(cluster).tables


def test_errors(cassandra_node: Any, cluster_to: Any) -> None:
    cluster = cluster_to(cassandra_node)
    with pytest.raises(NoHostAvailable, match="using keyspace 'no_such_keyspace'") as caught:
        cluster.connect("no_such_keyspace")
    assert "does not exist" in str(caught.value)
    cluster.connect()
    cluster.shutdown()
    with pytest.raises(DriverException, match="shut down"):
        cluster.connect()
    closed = cluster_to(cassandra_node, contact_points=[cassandra_node.contact_points[0]], port=1)
    with pytest.raises(NoHostAvailable) as refused:
        closed.connect()
    (error,) = (refused.value.errors or {}).values()
    assert isinstance(error, OSError)


def test_listeners_hear_of_hosts(cassandra_node: Any, cluster_to: Any) -> None:
    heard: list[Any] = []

    class Listener(HostStateListener):
        def on_add(self, host: Any) -> None:
            heard.append(host)

    cluster = cluster_to(cassandra_node)
    cluster.register_listener(Listener())
    cluster.connect()
    assert heard == cluster.metadata.all_hosts()


def test_asyncio(cassandra_node: Any) -> None:
    async def main() -> None:
        async with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            sessions = await asyncio.gather(*(cluster.connect_async("system") for _ in range(3)))
            rows = await asyncio.gather(*(session.execute_async("SELECT key FROM local") for session in sessions))
            assert [result.one().key for result in rows] == ["local"] * 3
        assert cluster.is_shutdown

    asyncio.run(main())


@pytest.mark.usefixtures("no_leaks")
def test_nothing_is_left_behind(cassandra_node: Any) -> None:
    for _ in range(10):
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            cluster.connect().execute("SELECT key FROM system.local")


def test_names_are_quoted_as_the_server_describes_them(cassandra_node: Any, cluster_to: Any) -> None:
    """All tables of the system's keyspaces."""
    cluster = cluster_to(cassandra_node)
    session = cluster.connect()
    compared = 0
    for name, keyspace in cluster.metadata.keyspaces.items():
        if name.startswith("system"):
            for table in keyspace.tables.values():
                described = session.execute(f'DESCRIBE TABLE "{name}"."{table.name}"').one().create_statement
                (theirs, *_), (ours, *_) = described.split("(", 1), table.as_cql_query(formatted=True).split("(", 1)
                assert ours.split()[-1] == theirs.split()[-1]
                compared += 1
    assert compared > 50


def test_altered_schema_objects_are_replaced(cassandra_node: Any, cluster_to: Any) -> None:
    cluster = cluster_to(cassandra_node, schema_event_refresh_window=-1)  # own changes only: an event may come any time
    session = cluster.connect()
    create_keyspace(session, KEYSPACE)
    session.execute(f"CREATE TABLE {KEYSPACE}.t (k int PRIMARY KEY, v int)")
    session.execute(f"CREATE TABLE {KEYSPACE}.other (k int PRIMARY KEY, v int)")
    session.execute(f"CREATE INDEX idx ON {KEYSPACE}.t (v)")
    session.execute(f"CREATE TYPE {KEYSPACE}.part (a int)")
    before = keyspace_of(cluster)
    keyspaces, table, other, index, part = (
        cluster.metadata.keyspaces, before.tables["t"], before.tables["other"], before.indexes["idx"],
        before.user_types["part"],
    )  # fmt: skip
    session.execute(f"ALTER KEYSPACE {KEYSPACE} WITH durable_writes = false")
    altered = keyspace_of(cluster)
    assert altered is not before and altered != before
    assert before.durable_writes and not altered.durable_writes
    for name in ("tables", "indexes", "functions", "aggregates", "user_types", "views"):
        assert getattr(altered, name) is getattr(before, name)
    assert altered.indexes["idx"] is index is altered.tables["t"].indexes["idx"]
    session.execute(f"ALTER TABLE {KEYSPACE}.t ADD w int")
    assert keyspace_of(cluster) is altered and altered.tables["t"] is not table and altered.tables["other"] is other
    assert "w" in altered.tables["t"].columns and "w" not in table.columns
    assert altered.indexes["idx"] is altered.tables["t"].indexes["idx"] is not index
    session.execute(f"ALTER TYPE {KEYSPACE}.part ADD b int")
    assert altered.user_types["part"] is not part and part.field_names == ["a"]
    table = altered.tables["t"]
    cluster.refresh_table_metadata(KEYSPACE, "t")
    assert keyspace_of(cluster) is altered and altered.tables["t"] is not table
    assert altered.tables["t"].as_cql_query() == table.as_cql_query()
    cluster.refresh_keyspace_metadata(KEYSPACE)
    assert keyspace_of(cluster) is not altered and cluster.metadata.keyspaces is keyspaces
    cluster.refresh_schema_metadata()
    assert cluster.metadata.keyspaces is not keyspaces
    assert keyspace_of(cluster).export_as_string() == keyspaces[KEYSPACE].export_as_string()
