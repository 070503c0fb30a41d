"""Requests over the control connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import Cluster, ControlConnectionQueryFallback, NoHostAvailable
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, eventually

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_leaks")]

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
        cluster.refresh_nodes()


@pytest.fixture
def without_pools(fake: FakeCluster) -> Iterator[Callable[[int], Cluster]]:
    """A cluster of that protocol version whose requests all use the control connection."""
    mode = ControlConnectionQueryFallback.SkipPoolCreation
    with ExitStack() as stack:
        yield lambda version: stack.enter_context(
            Cluster(
                fake.contact_points,
                **OPTIONS,
                protocol_version=version,
                allow_control_connection_query_fallback=mode,
            )
        )


class TestKeyspaces:
    """The connection has one keyspace, its sessions may have several."""

    def test_one(self, fake: FakeCluster, without_pools: Callable[[int], Cluster]) -> None:
        cluster = without_pools(4)
        for session in (cluster.connect("ks"), cluster.connect("ks")):
            coordinator(session, "SELECT 1")
        assert cluster.control_connection.connection.keyspace == "ks"
        assert sum(node.asked("USE") for node in fake.nodes) == 1

    def test_every_request_says_its_own(self, fake: FakeCluster, without_pools: Callable[[int], Cluster]) -> None:
        seen: list[tuple[str, bool]] = []

        def look(node: Any, connection: Any, request: Any, text: str) -> bool:
            if text.startswith("SELECT "):
                seen.extend((text, name in request.body) for name in (b"first", b"second"))
            return False

        cluster = without_pools(5)
        sessions = cluster.connect("first"), cluster.connect("second"), cluster.connect()
        fake.on_query = look
        for session in sessions:
            coordinator(session, f"SELECT {sessions.index(session)}")
        expected = [("SELECT 0", True, False), ("SELECT 1", False, True), ("SELECT 2", False, False)]
        assert seen == [(text, has) for text, *both in expected for has in both]
        assert sum(node.asked("USE") for node in fake.nodes) == 0

    @pytest.mark.parametrize("keyspace", ["second", None])
    def test_of_another_session(self, without_pools: Callable[[int], Cluster], keyspace: str | None) -> None:
        cluster = without_pools(4)
        first, second = cluster.connect("first"), cluster.connect(keyspace)
        coordinator(first, "SELECT 1")
        with pytest.raises(NoHostAvailable, match="keyspace of another session"):
            second.execute("SELECT 1")
        first.shutdown()
        if keyspace is None:  # the connection stays where it is
            with pytest.raises(NoHostAvailable, match="keyspace of another session"):
                second.execute("SELECT 1")
        else:
            coordinator(second, "SELECT 1")

    @pytest.mark.parametrize("version", [4, 5])
    def test_use(self, without_pools: Callable[[int], Cluster], version: int, fake: FakeCluster) -> None:
        def use(node: Any, connection: Any, request: Any, text: str) -> bool:
            if text.startswith("USE"):
                connection.answer(request, wire.RESULT, wire.int32(3) + wire.string("ks"))
            return text.startswith("USE")

        fake.on_query = use
        cluster = without_pools(version)
        session, other = cluster.connect(), cluster.connect()
        coordinator(session, "SELECT 1")
        session.set_keyspace("ks")
        coordinator(session, "SELECT 1")
        with pytest.raises(NoHostAvailable, match="keyspace of another session"):
            other.execute("SELECT 1")
        with pytest.raises(NoHostAvailable, match="keyspace of another session"):
            other.set_keyspace("other")
        assert session.keyspace == "ks" and other.keyspace is None

    def test_use_beside_others(self, without_pools: Callable[[int], Cluster]) -> None:
        cluster = without_pools(4)
        session, other = cluster.connect(), cluster.connect()
        coordinator(session, "SELECT 1")
        with pytest.raises(NoHostAvailable, match="keyspace of another session"):
            other.set_keyspace("ks")


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


def test_a_keyspace_that_is_not_there(fake: FakeCluster, without_pools: Callable[[int], Cluster]) -> None:
    def refuse(node: Any, connection: Any, request: Any, text: str) -> bool:
        if text.startswith("USE"):
            connection.answer(request, wire.ERROR, wire.error(0x2200, "Keyspace 'nope' does not exist"))
        return text.startswith("USE")

    fake.on_query = refuse
    session = without_pools(4).connect("nope")
    with pytest.raises(InvalidRequest, match="does not exist"):
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
