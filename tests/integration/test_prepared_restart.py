"""A server that restarts forgets nothing it wrote down, and everything else: statements are prepared again unseen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query import BatchStatement
from tests.integration.conftest import Connect, create_keyspace
from tests.servers import Options, ServerCluster


@pytest.fixture(scope="module")
def node() -> Iterator[ServerCluster]:
    """A node of its own: the shared one is not to be stopped."""
    with ServerCluster(Options()) as cluster:
        yield cluster


def wait_until_usable(session: Session, within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while True:
        try:
            session.execute("SELECT key FROM system.local")
            return
        except (NoHostAvailable, ConnectionException):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.server
@pytest.mark.parametrize("version", [4, 5])
def test_restart(node: ServerCluster, cluster_to: Connect, version: int) -> None:
    cluster = cluster_to(
        node, protocol_version=version, reconnection_policy=ConstantReconnectionPolicy(0.2, None), reprepare_on_up=False
    )
    session = cluster.connect()
    create_keyspace(session, "it_restart")
    session.set_keyspace("it_restart")
    session.execute("CREATE TABLE kv (k int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
    select = session.prepare("SELECT v FROM kv WHERE k = ?")
    session.execute(insert, (1, 1))
    (host,) = cluster.metadata.all_hosts()

    node.nodes[0].stop()
    deadline = time.monotonic() + 30
    while True:  # a stopped node is an error in bounded time, never a hang
        try:
            session.execute(select, (1,), timeout=2)
        except (NoHostAvailable, ConnectionException) as error:
            assert isinstance(error, ConnectionException) or set(error.errors) <= {host}
            break
        assert time.monotonic() < deadline
    node.nodes[0].start()
    _forget_prepared_statements(node)
    wait_until_usable(session)

    assert session.execute(select, (1,)).one() == (1,)
    session.execute(BatchStatement().add(insert, (2, 2)).add(insert, (3, 3)))
    assert {row.k for row in session.execute("SELECT k FROM kv")} == {1, 2, 3}
    assert session.keyspace == "it_restart"
    session.execute("INSERT INTO kv (k, v) VALUES (4, 4)")  # the connections are in the keyspace again
    assert cluster.get_control_connection_host() == host


def _forget_prepared_statements(node: ServerCluster) -> None:
    """Cassandra keeps prepared statements in system.prepared_statements: take them away and start once more."""
    from cassandra.cluster import Cluster

    with Cluster(node.contact_points, port=node.port) as cluster:
        cluster.connect().execute("TRUNCATE system.prepared_statements", timeout=60)
    node.nodes[0].kill()
    node.nodes[0].start()


@pytest.mark.server
def test_reprepared_when_the_host_comes_up(node: ServerCluster, cluster_to: Connect) -> None:
    """Before the first execution, so that it costs no extra round trip."""
    cluster = cluster_to(node, reconnection_policy=ConstantReconnectionPolicy(0.2, None))
    session = cluster.connect()
    create_keyspace(session, "it_restart_up")
    session.execute("CREATE TABLE it_restart_up.kv (k int PRIMARY KEY, v int)")
    select = session.prepare("SELECT v FROM it_restart_up.kv WHERE k = ?")
    node.nodes[0].stop()
    node.nodes[0].start()
    wait_until_usable(session)
    sent: list[Any] = []
    session.add_request_init_listener(sent.append)
    assert session.execute(select, (1,)).one() is None
    assert [future.attempted_hosts for future in sent] == [list(cluster.metadata.all_hosts())]
