"""Requests over the control connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, ControlConnectionQueryFallback, NoHostAvailable
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, eventually

pytestmark = pytest.mark.usefixtures("no_leaks")

OPTIONS: dict[str, Any] = {
    "load_balancing_policy": RoundRobinPolicy(),
    "reconnection_policy": ConstantReconnectionPolicy(0.05),
}


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


def coordinator(session: Any, query: str) -> Any:
    future = session.execute_async(query)
    future.result()
    return future.coordinator_host


def test_no_pools_at_all(fake: FakeCluster) -> None:
    mode = ControlConnectionQueryFallback.SkipPoolCreation
    with Cluster(fake.contact_points, **OPTIONS, allow_control_connection_query_fallback=mode) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert session.get_pools() == []
        assert sum(node.connections for node in fake.nodes) == 1
        assert coordinator(session, "SELECT 1") == cluster.get_control_connection_host()
        in_keyspace = cluster.connect("ks")
        coordinator(in_keyspace, "SELECT 2")
        assert cluster.control_connection.connection.keyspace == "ks"
        cluster.refresh_nodes()


def test_only_when_no_pool_takes_it(fake: FakeCluster) -> None:
    mode = ControlConnectionQueryFallback.Fallback
    with Cluster(fake.contact_points, **OPTIONS, allow_control_connection_query_fallback=mode) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert {coordinator(session, "SELECT 1") for _ in range(4)} == set(cluster.metadata.all_hosts())
        for host in cluster.metadata.all_hosts():
            session.remove_pool(host)
        assert coordinator(session, "SELECT 1") == cluster.get_control_connection_host()


def test_disabled_by_default(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        for host in cluster.metadata.all_hosts():
            session.remove_pool(host)
        with pytest.raises(NoHostAvailable):
            session.execute("SELECT 1")


def test_a_keyspace_that_is_not_there(fake: FakeCluster) -> None:
    def refuse(node: Any, connection: Any, request: Any, text: str) -> bool:
        if text.startswith("USE"):
            connection.answer(request, wire.ERROR, wire.error(0x2200, "Keyspace 'nope' does not exist"))
        return text.startswith("USE")

    fake.on_query = refuse
    mode = ControlConnectionQueryFallback.SkipPoolCreation
    with Cluster(fake.contact_points, **OPTIONS, allow_control_connection_query_fallback=mode) as cluster:
        session = cluster.connect("nope")
        with pytest.raises(Exception, match="does not exist"):
            session.execute("SELECT 1")


def test_without_any_connection(fake: FakeCluster) -> None:
    mode = ControlConnectionQueryFallback.SkipPoolCreation
    with Cluster(fake.contact_points, **OPTIONS, allow_control_connection_query_fallback=mode) as cluster:
        session = cluster.connect()
        for node in fake.nodes:
            node.stop()
        eventually(lambda: cluster.control_connection.connection is None)
        with pytest.raises(NoHostAvailable):
            session.execute("SELECT 1")
        fake.nodes[1].start()
        eventually(lambda: cluster.control_connection.connection)
        session.execute("SELECT 1")
