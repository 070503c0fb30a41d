"""The control connection: its reads and their times, failover, and its reactions to events."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from cassandra import DriverException
from cassandra._session.cluster import Cluster
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("no_leaks")

OPTIONS: dict[str, Any] = {
    "reconnection_policy": ConstantReconnectionPolicy(0.05),
    "load_balancing_policy": RoundRobinPolicy(),
    "status_event_refresh_window": 0,
    "topology_event_refresh_window": 0,
    "schema_event_refresh_window": 0,
}


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k", "v")
        yield made


@pytest.fixture
def cluster(fake: FakeCluster) -> Iterator[Cluster]:
    with Cluster(fake.contact_points, **OPTIONS) as made:
        made.connect(wait_for_all_pools=True)
        yield made


def node_of(cluster: Cluster, fake: FakeCluster) -> FakeNode:
    """The node of the control connection."""
    connection = eventually(lambda: cluster.control_connection.connection)
    return next(node for node in fake.nodes if node.port == connection.endpoint.port)


def settle(cluster: Cluster) -> None:
    cluster.control_connection.strand.call(lambda: None)
    cluster.membership.strand.call(lambda: None)


def asked(fake: FakeCluster, fragment: str) -> int:
    return sum(node.asked(fragment) for node in fake.nodes)


# ---- failover


def test_failover_when_the_node_stops(cluster: Cluster, fake: FakeCluster) -> None:
    node = node_of(cluster, fake)
    node.stop()
    eventually(lambda: node_of(cluster, fake) is not node)
    assert len(node_of(cluster, fake).registered) == 1
    assert cluster.get_control_connection_host().endpoint.port != node.port  # type: ignore[union-attr]


def test_failover_reads_missed_changes(cluster: Cluster, fake: FakeCluster) -> None:
    fake.add_table("ks", "missed", "k")
    fresh = fake.add_node()
    node_of(cluster, fake).stop()
    eventually(lambda: "missed" in cluster.metadata.keyspaces["ks"].tables)
    eventually(lambda: cluster.metadata.get_host_by_host_id(fresh.host_id))


def test_a_closed_control_connection_alone_is_replaced_elsewhere(cluster: Cluster, fake: FakeCluster) -> None:
    node = node_of(cluster, fake)
    before = cluster.control_connection.connection
    before.close()  # type: ignore[union-attr]
    eventually(lambda: cluster.control_connection.connection not in (None, before))
    assert node_of(cluster, fake) is not node
    assert all(host.is_up for host in cluster.metadata.all_hosts())


def test_searching_until_a_node_is_back(cluster: Cluster, fake: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "cassandra.cluster"):
        for node in fake.nodes:
            node.stop()
        eventually(lambda: "No host is up" in caplog.text)
        eventually(lambda: cluster.control_connection.connection is None)
    assert cluster.control_connection.connection is None
    assert cluster.get_control_connection_host() is None
    with pytest.raises(DriverException, match="not refreshed"):
        cluster.refresh_nodes()
    fake.nodes[2].start()
    eventually(lambda: cluster.control_connection.connection)
    cluster.refresh_nodes()


def test_a_host_that_comes_up_ends_the_search_at_once(fake: FakeCluster) -> None:
    """The schedules of all, whose next tries are an hour away, have no part in it."""
    policy = ConstantReconnectionPolicy(3600)
    with Cluster(fake.contact_points, **{**OPTIONS, "reconnection_policy": policy}) as cluster:
        cluster.connect(wait_for_all_pools=True)
        control, hosts = cluster.control_connection, cluster.metadata.all_hosts()
        for node in fake.nodes:
            node.stop()
        eventually(lambda: all(host.is_up is False for host in hosts), 30)
        eventually(lambda: control.search.is_under_way and control.search.failed_rounds, 30)
        settle(cluster)
        assert control.connection is None
        fake.nodes[1].start()
        host = cluster.metadata.get_host(*fake.nodes[1].address)
        assert host is not None
        cluster.on_up(host)
        eventually(lambda: control.connection, 30)
        assert host.is_up and control.connection.endpoint == host.endpoint  # type: ignore[union-attr]


def test_an_exhausted_schedule_starts_anew(fake: FakeCluster) -> None:
    policy = ConstantReconnectionPolicy(0.02, max_attempts=1)
    with Cluster(fake.contact_points, **{**OPTIONS, "reconnection_policy": policy}) as cluster:
        cluster.connect()
        for node in fake.nodes:
            node.stop()
        eventually(lambda: cluster.control_connection.connection is None)
        time.sleep(0.2)  # several rounds of the schedule
        fake.nodes[0].start()
        eventually(lambda: cluster.control_connection.connection)


def test_a_node_that_stops_answering_refreshes_is_left(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS) as cluster:
        cluster.connect(wait_for_all_pools=True)
        cluster.control_connection_timeout = 0.2
        node = node_of(cluster, fake)
        node.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "t")
        node.pause()
        eventually(lambda: node_of(cluster, fake) is not node)


def test_the_pools_tell_that_the_control_connections_host_is_silent(fake: FakeCluster) -> None:
    options = {**OPTIONS, "idle_heartbeat_interval": 0.1, "idle_heartbeat_timeout": 0.2}
    with Cluster(fake.contact_points, **options) as cluster:
        cluster.connect(wait_for_all_pools=True)
        cluster.connect_timeout = 0.3
        node = node_of(cluster, fake)
        node.pause()
        eventually(lambda: node_of(cluster, fake) is not node)


def test_the_contact_points_are_resolved_again(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeCluster(1) as other, Cluster(fake.contact_points[:1], **OPTIONS) as cluster:
        cluster.connect(wait_for_all_pools=True)
        cluster.contact_points = other.contact_points
        for node in fake.nodes:
            node.stop()

        def port() -> Any:
            connection = cluster.control_connection.connection
            return None if connection is None else connection.endpoint.port

        eventually(lambda: port() == other.nodes[0].port)  # that the old connection is gone may not be noticed yet


# ---- schema events


def test_a_schema_event_reads_only_the_changed_table(cluster: Cluster, fake: FakeCluster) -> None:
    fake.add_table("ks", "fresh", "k")
    before = asked(fake, "system_schema.tables")
    fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "fresh")
    eventually(lambda: "fresh" in cluster.metadata.keyspaces["ks"].tables)
    settle(cluster)
    assert asked(fake, "system_schema.tables") == before + 1
    query = next(query for node in fake.nodes for query in reversed(node.queries) if "schema.tables" in query)
    assert "'ks'" in query and "'fresh'" in query
    fake.drop_table("ks", "fresh")
    fake.push("SCHEMA_CHANGE", "DROPPED", "TABLE", "ks", "fresh")
    eventually(lambda: "fresh" not in cluster.metadata.keyspaces["ks"].tables)
    settle(cluster)
    assert asked(fake, "system_schema.tables") == before + 1  # a dropped table is not read


def test_a_new_keyspace_and_a_dropped_one(cluster: Cluster, fake: FakeCluster) -> None:
    fake.add_table("other", "x", "k")
    fake.push("SCHEMA_CHANGE", "CREATED", "KEYSPACE", "other")
    eventually(lambda: "other" in cluster.metadata.keyspaces)
    assert "x" in cluster.metadata.keyspaces["other"].tables
    fake.push("SCHEMA_CHANGE", "DROPPED", "KEYSPACE", "other")
    eventually(lambda: "other" not in cluster.metadata.keyspaces)


@pytest.fixture
def patient(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster that lets events wait until a test hurries them on."""
    monkeypatch.setattr("cassandra._session.control.events.random", lambda: 1.0)  # the whole window
    windows = {"schema_event_refresh_window": 3600, "topology_event_refresh_window": 3600}
    with Cluster(fake.contact_points, **{**OPTIONS, **windows}) as cluster:
        cluster.connect()
        yield cluster


@pytest.mark.usefixtures("as_driver_thread")
def test_events_within_the_window_are_read_together(patient: Cluster, fake: FakeCluster) -> None:
    router = patient.control_connection.events
    before = asked(fake, "system_schema.tables")
    node = node_of(patient, fake)
    for number in range(50):
        fake.add_table("ks", f"t{number}", "k")
        node.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", f"t{number}")
    eventually(lambda: len(router._schema) == 50)
    assert asked(fake, "system_schema.tables") == before
    router._refresh_schema()
    settle(patient)
    assert len(patient.metadata.keyspaces["ks"].tables) == 51
    assert asked(fake, "system_schema.tables") == before + 1


def test_an_event_flood_while_connecting(fake: FakeCluster) -> None:
    def flood(node: Any, connection: Any, request: Any, text: str) -> bool:
        if "system.local" in text:
            for number in range(2000):
                body = wire.string("SCHEMA_CHANGE") + wire.string("UPDATED") + wire.string("TABLE")
                connection.send(wire.EVENT, body + wire.string("ks") + wire.string(f"t{number % 300}"), stream=-1)
        return False

    fake.on_query = flood
    with Cluster(fake.contact_points, **OPTIONS) as cluster:
        cluster.connect()
        fake.on_query = None
        settle(cluster)
        assert "t" in cluster.metadata.keyspaces["ks"].tables
        eventually(lambda: not cluster.control_connection.events._schema)
        assert asked(fake, "system_schema.columns") < 100


@pytest.mark.parametrize("options", [{"schema_event_refresh_window": -1}, {"schema_metadata_enabled": False}])
def test_schema_events_may_be_ignored(fake: FakeCluster, options: dict[str, Any]) -> None:
    with Cluster(fake.contact_points, **{**OPTIONS, **options}) as cluster:
        cluster.connect()
        before = asked(fake, "system_schema")
        fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")
        node_of(cluster, fake).push("STATUS_CHANGE", "UP", ("127.9.9.9", 1))  # handled after it
        eventually(lambda: asked(fake, "system.peers") > 1)
        settle(cluster)
        assert asked(fake, "system_schema") == before


def test_a_failing_refresh_does_not_end_the_driver(cluster: Cluster, fake: FakeCluster) -> None:
    connection = cluster.control_connection.connection

    def refuse(node: Any, connection: Any, request: Any, text: str) -> bool:
        if "system_schema" in text:
            connection.answer(request, wire.ERROR, wire.error(0x2100, "not allowed"))
        return "system_schema" in text

    fake.on_query = refuse
    fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")
    eventually(lambda: asked(fake, "table_name = 't'"))
    settle(cluster)
    with pytest.raises(DriverException, match="not allowed"):
        cluster.refresh_table_metadata("ks", "t")
    fake.on_query = None
    cluster.refresh_table_metadata("ks", "t")
    assert cluster.control_connection.connection is connection


# ---- refreshing by hand


def test_refreshing_by_hand(cluster: Cluster, fake: FakeCluster) -> None:
    fake.add_table("ks", "a", "k")
    fake.add_table("new", "b", "k")
    cluster.refresh_table_metadata("ks", "a")
    assert "a" in cluster.metadata.keyspaces["ks"].tables
    assert "new" not in cluster.metadata.keyspaces
    cluster.refresh_keyspace_metadata("new")
    assert "new" in cluster.metadata.keyspaces
    fake.add_table("ks", "c", "k")
    cluster.refresh_schema_metadata()
    assert set(cluster.metadata.keyspaces["ks"].tables) == {"t", "a", "c"}
    assert "b" in cluster.metadata.keyspaces["new"].tables
    cluster.refresh_user_type_metadata("ks", "nothing")
    cluster.refresh_materialized_view_metadata("ks", "nothing")
    fake.drop_table("ks", "a")
    cluster.refresh_table_metadata("ks", "a", max_schema_agreement_wait=0)
    assert "a" not in cluster.metadata.keyspaces["ks"].tables


def test_refreshing_without_agreement(cluster: Cluster, fake: FakeCluster) -> None:
    fake.nodes[1].schema_version = uuid4()
    fake.add_table("ks", "a", "k")
    with pytest.raises(DriverException, match="do not agree"):
        cluster.refresh_table_metadata("ks", "a", max_schema_agreement_wait=0.1)
    assert "a" in cluster.metadata.keyspaces["ks"].tables  # the schema of one node was read all the same
    cluster.refresh_table_metadata("ks", "a", max_schema_agreement_wait=0)


def test_refreshing_works_though_schema_metadata_is_disabled(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS, schema_metadata_enabled=False) as cluster:
        cluster.connect()
        assert not cluster.metadata.keyspaces
        cluster.refresh_schema_metadata()
        assert "ks" in cluster.metadata.keyspaces
        assert cluster.control_connection.refresh_schema() is False
        with pytest.warns(DeprecationWarning, match="set_meta_refresh_enabled is deprecated"):
            cluster.set_meta_refresh_enabled(True)
        assert cluster.control_connection.refresh_schema() is True


def test_refreshing_before_connect_and_after_shutdown(fake: FakeCluster) -> None:
    cluster = Cluster(fake.contact_points)
    for refresh in (cluster.refresh_nodes, cluster.refresh_schema_metadata):
        with pytest.raises(DriverException, match="not connected"):
            refresh()
    cluster.connect()
    cluster.shutdown()
    for refresh in (cluster.refresh_nodes, cluster.refresh_schema_metadata):
        with pytest.raises(DriverException, match="shut down"):
            refresh()


def test_a_forced_token_rebuild(cluster: Cluster, fake: FakeCluster) -> None:
    ring = cluster.metadata.state.topology.ring
    cluster.refresh_nodes()
    assert cluster.metadata.state.topology.ring is ring
    cluster.refresh_nodes(force_token_rebuild=True)
    assert cluster.metadata.state.topology.ring is not ring
    fake.nodes[1].tokens = {"5", "6"}
    cluster.refresh_nodes()
    assert len(cluster.metadata.token_map.ring) == 4  # type: ignore[union-attr]


# ---- topology events


@pytest.mark.usefixtures("as_driver_thread")
def test_topology_events_within_the_window_are_one_refresh(patient: Cluster, fake: FakeCluster) -> None:
    router = patient.control_connection.events
    before = asked(fake, "system.peers")
    for _ in range(100):
        node_of(patient, fake).push("TOPOLOGY_CHANGE", "MOVED_NODE", fake.nodes[1].address)
    task = eventually(lambda: router._nodes_task)
    node_of(patient, fake).push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")  # handled after them
    eventually(lambda: router._schema)
    assert router._nodes_task is task
    assert asked(fake, "system.peers") == before
    router._refresh_nodes()
    settle(patient)
    assert asked(fake, "system.peers") == before + 1


def test_topology_events_may_be_ignored(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **{**OPTIONS, "topology_event_refresh_window": -1}) as cluster:
        cluster.connect()
        before = asked(fake, "system.peers")
        node_of(cluster, fake).push("TOPOLOGY_CHANGE", "NEW_NODE", fake.nodes[1].address)
        node_of(cluster, fake).push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")  # handled after it
        eventually(lambda: asked(fake, "table_name = 't'"))
        settle(cluster)
        assert asked(fake, "system.peers") == before


def test_refreshes_from_many_threads(cluster: Cluster) -> None:
    threads = [threading.Thread(target=cluster.refresh_nodes) for _ in range(10)]
    threads += [threading.Thread(target=cluster.refresh_schema_metadata) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert len(cluster.metadata.all_hosts()) == 3
