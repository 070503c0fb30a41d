"""A secure connect bundle, and three real nodes behind a TLS proxy that tells them apart by server name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.connection import SniEndPoint
from tests.integration.conftest import create_keyspace
from tests.patience import PATIENCE, eventually
from tests.servers import ServerCluster
from tests.servers.sni import SniCloud


@pytest.fixture
def cloud(cassandra_three: ServerCluster, tmp_path: Path) -> Iterator[SniCloud]:
    with Cluster(cassandra_three.contact_points, port=cassandra_three.port) as cluster:
        cluster.connect()
        nodes = {
            str(host.host_id): (host.endpoint.address, cassandra_three.port) for host in cluster.metadata.all_hosts()
        }
    with SniCloud(tmp_path / "certificates", nodes) as running:
        yield running


@pytest.fixture
def session(cloud: SniCloud) -> Iterator[Session]:
    with Cluster(cloud={"secure_connect_bundle": cloud.bundle(), "connect_timeout": PATIENCE}) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def test_requests_go_to_replicas(session: Session, cloud: SniCloud) -> None:
    metadata = session.cluster.metadata
    assert {host.endpoint for host in metadata.all_hosts()} == {
        SniEndPoint(cloud.host, name, cloud.proxy_port) for name in cloud.nodes
    }
    create_keyspace(session, "it_cloud")
    session.execute("CREATE TABLE it_cloud.t (id int PRIMARY KEY, n int)")
    insert = session.prepare("INSERT INTO it_cloud.t (id, n) VALUES (?, ?)")
    select = session.prepare("SELECT n FROM it_cloud.t WHERE id = ?")
    for id in range(60):
        session.execute(insert, (id, id))
        future = session.execute_async(select, (id,))
        assert future.result().one().n == id
        assert future.coordinator_host in metadata.get_replicas("it_cloud", select.bind((id,)).routing_key)


def test_connections_are_opened_again(session: Session, cloud: SniCloud) -> None:
    select = session.prepare("SELECT key FROM system.local WHERE key = ?")
    before = len(cloud.asked)
    cloud.cut()
    eventually(lambda: len(cloud.asked) >= before + 4)  # pools and the control connection
    eventually(lambda: all(host.is_up for host in session.hosts) and len(session.get_pools()) == 3)
    eventually(lambda: session.cluster.control_connection.connection is not None)
    assert session.execute(select, ("local",)).one().key == "local"
