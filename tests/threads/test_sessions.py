"""One Cluster, and its sessions, used by several threads: connected, loaded, shut down, thousands of times."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

import pytest

from cassandra.cluster import Cluster, ConnectionException, NoHostAvailable, Session
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE
from tests.threads.harness import THREADS, beside, size, together

STARTS = size("FASTCQL_STARTS", 80)
SELECT = "SELECT v FROM ks.t WHERE id = ?"


@pytest.fixture
def one_node(no_leaks: None) -> Iterator[SimulatedCluster]:
    """One node with one shard: a session takes two connections."""
    with SimulatedCluster(nodes=1, shards=1) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        for number in range(THREADS):
            simulated.execute(f"INSERT INTO ks.t (id, v) VALUES ({number}, {number * 7})")
        yield simulated


def assert_is_of_the_end(error: Exception) -> None:
    """It is an exception of a session that is being shut down."""
    assert isinstance(error, (NoHostAvailable, ConnectionException)), repr(error)
    assert any(text in str(error) for text in ("shut down", "was closed")), repr(error)


def test_clusters_of_several_threads(one_node: SimulatedCluster) -> None:
    """Each thread has clusters of its own, one after another; :data:`STARTS` in all."""

    def work(number: int) -> int:
        count = 0
        for _ in range(STARTS // THREADS):
            with Cluster(one_node.contact_points, port=one_node.port) as cluster:
                session = cluster.connect()
                select = session.prepare(SELECT)
                count += [session.execute(select, (number,)).one().v for _ in range(3)] == [number * 7] * 3
        return count

    assert together(work, seconds=2 * PATIENCE + STARTS) == [STARTS // THREADS] * THREADS


def test_sessions_of_one_cluster(one_node: SimulatedCluster) -> None:
    """Threads connect, use and shut down sessions of one cluster."""
    with Cluster(one_node.contact_points, port=one_node.port) as cluster:

        def work(number: int) -> None:
            for _ in range(8):
                with cluster.connect("ks") as session:
                    select = session.prepare("SELECT v FROM t WHERE id = ?")
                    futures = [session.execute_async(select, (key,)) for key in range(THREADS)]
                    assert [future.result().one().v for future in futures] == [key * 7 for key in range(THREADS)]
                assert session.is_shutdown

        together(work)
        assert not list(cluster.sessions)


def test_the_first_connect_of_a_cluster(one_node: SimulatedCluster) -> None:
    """Threads that connect at the same time to a cluster without a connection: each gets a session that works."""
    for _ in range(5):
        connected_at_once(one_node)


def connected_at_once(one_node: SimulatedCluster) -> None:
    with Cluster(one_node.contact_points, port=one_node.port) as cluster:
        sessions = together(lambda _: cluster.connect())
        assert len(set(map(id, sessions))) == THREADS
        for session in sessions:
            assert session.execute("SELECT v FROM ks.t WHERE id = 3").one().v == 21


@pytest.mark.parametrize("of", ["session", "cluster"])
def test_a_session_that_is_shut_down_under_load(one_node: SimulatedCluster, of: str) -> None:
    """Every request has a result, its own, or the exception of a session that is shut down. Each shutdown returns."""
    for _ in range(6):
        shut_down_under_load(one_node, of)


def shut_down_under_load(one_node: SimulatedCluster, of: str) -> None:
    cluster = Cluster(one_node.contact_points, port=one_node.port)
    session = cluster.connect()
    select = session.prepare(SELECT)
    loaded = threading.Event()

    def work(number: int) -> int:
        if number >= THREADS - 2:  # two shut down at the same time
            assert loaded.wait(PATIENCE)
            (session if of == "session" else cluster).shutdown()
            return 0
        for count in itertools.count():
            try:
                row = session.execute(select, (number,)).one()
            except Exception as error:
                assert_is_of_the_end(error)
                return count
            assert row.v == number * 7
            if count == 10:
                loaded.set()
        raise AssertionError

    assert sum(together(work)) > 10
    assert session.is_shutdown
    cluster.shutdown()


def test_a_session_that_drains(one_node: SimulatedCluster) -> None:
    """Requests that were sent before ``shutdown(drain=...)`` get their responses."""
    for _ in range(10):
        drain(one_node)


def drain(one_node: SimulatedCluster) -> None:
    cluster = Cluster(one_node.contact_points, port=one_node.port)
    session = cluster.connect()
    select = session.prepare(SELECT)

    def send(number: int) -> int:
        futures = [session.execute_async(select, (number,)) for _ in range(20)]
        session.shutdown(drain=PATIENCE)
        values = []
        for future in futures:
            try:
                values.append(future.result().one().v)
            except Exception as error:  # sent after another thread had begun the shutdown
                assert_is_of_the_end(error)
        assert values == [number * 7] * len(values)
        return len(values)

    assert sum(together(send)) >= 20
    cluster.shutdown()


def test_sessions_beside_a_load(simulated: SimulatedCluster, table: Session) -> None:
    """Sessions come and go while others of the same cluster are used, with three nodes of four shards."""
    cluster = table.cluster
    select = table.prepare(SELECT)

    def come_and_go() -> None:
        with cluster.connect() as other:
            assert other.execute(select, (5,)).one().v == 35

    def work(number: int) -> None:
        for turn in range(60):
            key = (number * 60 + turn) % 200
            assert table.execute(select, (key,)).one().v == key * 7

    with beside(come_and_go):
        together(work)
