"""Ports, shards, and how many requests found their owner."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from cassandra.cluster import Session
from cassandra.query import BatchStatement
from cassandra.testing import Routing, SimulatedCluster
from tests.servers.certificates import Certificates
from tests.simulated.conftest import Connect
from tests.simulated.raw import RawClient


def test_counts_by_shard(simulated: SimulatedCluster, session: Session) -> None:
    """They say the same as the requests themselves, and go on where those are forgotten."""
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    simulated.clear_requests()
    assert simulated.routing() == Routing() and simulated.routing().share == 0.0
    for n in range(50):
        session.execute(insert, (n, n))
    session.execute("SELECT * FROM t")  # about no partition
    requests = [request for request in simulated.statements("ks.t") if request.token is not None]
    found = simulated.routing("ks.t")
    assert found.requests == len(requests) == 50
    assert found.on_owner == sum(bool(request.on_owner) for request in requests)
    assert found.on_replica == sum(bool(request.on_replica) for request in requests)
    assert found.share == found.on_owner / 50
    assert sum(found.shards.values()) == 50 and sum(found.owners.values()) == found.on_owner
    assert sum(simulated.shard_hits("ks.t").values()) == 51
    assert simulated.routing() == found and simulated.routing("ks.other") == Routing()
    simulated.clear_requests()
    assert simulated.routing("ks.t").requests == 0


def test_a_batch_counts_with_its_first_statement(simulated: SimulatedCluster, session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, 1)")
    session.execute(insert, (1,))
    token = simulated.statements("ks.t")[-1].token
    batch = BatchStatement()
    for n in (1, 2, 3):
        batch.add(insert, (n,))
    simulated.clear_requests()
    session.execute(batch)
    (request,) = simulated.statements("ks.t")
    assert (request.opcode, request.token) == ("BATCH", token)
    assert simulated.routing("ks.t").requests == 1


@pytest.mark.parametrize("tls_only", [True, False])
def test_ports_of_tls(no_leaks: None, connect: Connect, tmp_path: Path, tls_only: bool) -> None:
    """The shard follows from the client's port there as well; a node says which ports are for TLS clients."""
    certificates = Certificates.generate(tmp_path, ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    with SimulatedCluster(1, 4, address="127.0.0.1", ssl_context=context, tls_only=tls_only) as simulated:
        node = simulated.nodes[0]
        assert (node.tls_port == node.port) is tls_only
        with RawClient(node, node.shard_aware_tls_port, certificates.context()) as client:
            options = client.supported()
            assert options["SCYLLA_SHARD"] == [str(client.port % 4)]
            assert options["SCYLLA_SHARD_AWARE_PORT_SSL"] == [str(node.shard_aware_tls_port)]
            assert ("SCYLLA_SHARD_AWARE_PORT" in options) is not tls_only
        if not tls_only:
            with RawClient(node, node.shard_aware_port) as client:
                assert client.supported()["SCYLLA_SHARD"] == [str(client.port % 4)]
        session = connect(simulated, ssl_context=certificates.context(), port=node.tls_port)
        rows = session.execute("SELECT ssl_enabled FROM system.clients").all()
        assert rows and all(row.ssl_enabled for row in rows)
        session.cluster.shutdown()


def test_supported_omits_an_unadvertised_shard_aware_port(simulated: SimulatedCluster) -> None:
    node = simulated.nodes[0]
    node.advertise_shard_aware_port = False
    with RawClient(node) as client:
        assert "SCYLLA_SHARD_AWARE_PORT" not in client.supported()
