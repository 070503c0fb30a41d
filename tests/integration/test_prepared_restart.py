"""A server that restarts comes back without its prepared statements; applications must not notice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query import BatchStatement
from tests.integration.conftest import Connect, create_keyspace
from tests.servers import Options, ServerCluster

pytestmark = pytest.mark.long

KEYSPACE = "it_restart"


@pytest.fixture(scope="module")
def node() -> Iterator[ServerCluster]:
    """A node of its own: the shared one is not to be stopped."""
    with ServerCluster(Options()) as cluster:
        yield cluster


class Application:
    """A session with prepared statements that it made before the restart."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.session: Session = cluster.connect(KEYSPACE)
        self.insert = self.session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
        self.select = self.session.prepare("SELECT v FROM kv WHERE k = ?")

    def fails_in_bounded_time(self) -> None:
        """While the node is down: an error, never a hang."""
        begin = time.monotonic()
        with pytest.raises((NoHostAvailable, ConnectionException)):
            while True:
                self.session.execute(self.select, (1,), timeout=2)
        assert time.monotonic() - begin < 30

    def wait_until_usable(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                self.session.execute("SELECT key FROM system.local")
                return
            except (NoHostAvailable, ConnectionException):
                assert time.monotonic() < deadline
                time.sleep(0.1)

    def goes_on(self) -> None:
        assert self.session.execute(self.select, (1,)).one() == (1,)
        self.session.execute(BatchStatement().add(self.insert, (2, 2)).add(self.insert, (3, 3)))
        assert {row.k for row in self.session.execute("SELECT k FROM kv")} == {1, 2, 3}
        assert self.session.keyspace == KEYSPACE


@pytest.mark.server
def test_restart(node: ServerCluster, cluster_to: Connect) -> None:
    server = node.nodes[0]

    def application(**options: Any) -> Application:
        options["reconnection_policy"] = ConstantReconnectionPolicy(0.2, None)
        return Application(cluster_to(node, **options))

    with Cluster(node.contact_points, port=node.port) as setting_up:
        session = setting_up.connect()
        create_keyspace(session, KEYSPACE)
        session.execute(f"CREATE TABLE {KEYSPACE}.kv (k int PRIMARY KEY, v int)")
        session.execute(f"INSERT INTO {KEYSPACE}.kv (k, v) VALUES (1, 1)")
        applications = [application(protocol_version=v, reprepare_on_up=False) for v in (4, 5)]
        eager = application()
        session.execute("TRUNCATE system.prepared_statements", timeout=60)  # where Cassandra keeps them

    server.stop()
    for app in applications:
        app.fails_in_bounded_time()
    server.start()
    for app in applications:
        app.wait_until_usable()
        app.goes_on()

    eager.wait_until_usable()
    future = eager.session.execute_async(eager.select, (1,))
    assert future.result().one() == (1,)
    assert len(future.attempted_hosts) == 1, "prepared again when the host came up, not when it was needed"
    eager.goes_on()
    (host,) = eager.cluster.metadata.all_hosts()
    assert eager.cluster.get_control_connection_host() == host
    assert host.is_up
