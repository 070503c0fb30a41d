"""Nodes that stop, pause, come back, join and leave; the events that their clients get."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from cassandra import ConsistencyLevel, Unavailable
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import DefaultLoadBalancingPolicy, RoundRobinPolicy
from cassandra.query import HostTargetingStatement, SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import DEADLINE, Connect, eventually
from tests.simulated.raw import RawClient, text

pytestmark = pytest.mark.long


def up(session: Session) -> set[str]:
    return {host.address for host in session.cluster.metadata.all_hosts() if host.is_up}


def test_a_node_stops_and_starts(simulated: SimulatedCluster, session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY)")
    all_nodes = {node.address for node in simulated.nodes}
    node = simulated.nodes[1]
    eventually(lambda: up(session) == all_nodes)
    node.kill()
    eventually(lambda: up(session) == all_nodes - {node.address})
    assert node.connections == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((node.address, node.port), DEADLINE)
    with pytest.raises(Unavailable) as caught:
        session.execute(SimpleStatement("SELECT * FROM t", consistency_level=ConsistencyLevel.ALL))
    assert (caught.value.required_replicas, caught.value.alive_replicas) == (2, 1)
    assert session.execute("SELECT * FROM t").all() == []
    node.start()
    eventually(lambda: up(session) == all_nodes)


def test_a_paused_node_answers_when_it_is_resumed(simulated: SimulatedCluster) -> None:
    node = simulated.nodes[0]
    with RawClient(node) as client:
        assert client.supported()["SCYLLA_SHARD"]
        node.pause()
        client.send("OPTIONS")
        assert client.is_silent()
        node.resume()
        assert client.receive().name == "SUPPORTED"


def test_refused_connections(simulated: SimulatedCluster) -> None:
    node = simulated.nodes[0]
    node.refuse_connections()
    for port in (node.port, node.shard_aware_port):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((node.address, port), DEADLINE)
    node.refuse_connections(False)
    socket.create_connection((node.address, node.port), DEADLINE).close()


def test_the_shard_follows_from_the_port(simulated: SimulatedCluster) -> None:
    """On the shard-aware port the client's port decides."""
    node = simulated.nodes[0]
    for _ in range(8):
        with socket.create_connection((node.address, node.shard_aware_port), DEADLINE) as client:
            expected = client.getsockname()[1] % 4
            eventually(lambda: node.connections == 1)
            shards = node.connections_by_shard()
            assert shards[expected] == 1
        eventually(lambda: node.connections == 0)


def test_an_address_translation_shifts_the_shards(simulated: SimulatedCluster) -> None:
    node = simulated.nodes[0]
    node.port_shift = 1
    with RawClient(node, node.shard_aware_port) as client:
        assert client.supported()["SCYLLA_SHARD"] == [str((client.port + 1) % 4)]


def test_supported_announces_host_id_shards_and_tablets(simulated: SimulatedCluster) -> None:
    node = simulated.nodes[2]
    with RawClient(node) as client:
        options = client.supported()
    assert options["SCYLLA_HOST_ID"] == [str(node.host_id)]
    assert options["SCYLLA_NR_SHARDS"] == ["4"]
    assert options["SCYLLA_SHARD_AWARE_PORT"] == [str(node.shard_aware_port)]
    assert "SCYLLA_SHARD_AWARE_PORT_SSL" not in options
    assert options["SCYLLA_SHARDING_ALGORITHM"] == ["biased-token-round-robin"]
    assert options["TABLETS_ROUTING_V1"] == [""]
    assert "TABLETS_ROUTING_V2_EXPERIMENTAL" not in options


def test_client_routes(simulated: SimulatedCluster) -> None:
    """A client that registered for them hears that they changed; the table has them."""
    with RawClient(simulated.nodes[0]) as client:
        client.start()
        client.register("CLIENT_ROUTES_CHANGE")
        simulated.set_client_routes("link-1", {1: ("10.0.0.9", 9999)})
        event = client.receive()
    host = str(simulated.nodes[1].host_id)
    assert event.name == "EVENT"
    expected = text("CLIENT_ROUTES_CHANGE") + text("UPDATE_NODES") + b"\0\1" + text("link-1") + b"\0\1" + text(host)
    assert event.body == expected
    (row,) = simulated.execute("SELECT connection_id, host_id, address, port FROM system.client_routes")
    assert list(row.values()) == ["link-1", simulated.nodes[1].host_id, "10.0.0.9", 9999]


def test_hostile_bytes_end_only_their_own_connection(simulated: SimulatedCluster) -> None:
    node = simulated.nodes[0]
    hostile = [
        b"\x04\0\0\0\x07\x7f\xff\xff\xff",  # a body of two gigabytes
        b"\x84\0\0\0\x05\0\0\0\0",  # a response
        b"\x09\0\0\0\x05\0\0\0\0",  # protocol 9
        b"GET / HTTP/1.1\r\n\r\n",
    ]
    for data in hostile:
        with RawClient(node) as client:
            client.socket.sendall(data)
            assert client.receive().name == "ERROR"
            assert client.is_closed()
    with RawClient(node) as client:
        answer = client.exchange("STARTUP", b"\0\5abc")  # a map that ends too early
        assert (answer.name, answer.body[:4]) == ("ERROR", b"\0\0\0\x0a")
        assert client.supported()["CQL_VERSION"] == ["3.3.1"]


def test_nodes_join_and_leave(simulated: SimulatedCluster, session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY)")
    new = simulated.add_node(rack="rack2", shards=3)
    eventually(lambda: new.address in up(session))
    host = session.cluster.metadata.get_host(new.address, new.port)
    assert (host.rack, host.host_id) == ("rack2", new.host_id)
    simulated.rebalance()
    assert any(new.host_id in dict(tablet.replicas) for tablet in simulated.tablets("ks.t"))
    simulated.remove_node(new)
    eventually(lambda: new.address not in {host.address for host in session.cluster.metadata.all_hosts()})
    assert not any(new.host_id in dict(tablet.replicas) for tablet in simulated.tablets("ks.t"))


def test_schema_disagreement(simulated: SimulatedCluster, session: Session) -> None:
    simulated.nodes[1].disagree()
    host = session.cluster.metadata.get_host(simulated.nodes[0].address, simulated.port)
    rows = session.execute("SELECT peer, schema_version FROM system.peers", host=host).all()
    assert len(rows) == len({row.schema_version for row in rows}) == 2
    simulated.nodes[1].disagree(False)
    rows = session.execute("SELECT peer, schema_version FROM system.peers", host=host).all()
    assert len({row.schema_version for row in rows}) == 1


def test_closing_twice_and_late_calls(no_leaks: None) -> None:
    simulated = SimulatedCluster(1, 1)
    with pytest.raises(RuntimeError, match="not started"):
        simulated.execute("SELECT * FROM system.local")
    simulated.start()
    with pytest.raises(RuntimeError, match="only once"):
        simulated.start()
    simulated.close()
    simulated.close()
    with pytest.raises(RuntimeError, match="closed"):
        simulated.execute("SELECT * FROM system.local")


def addressed(session: Session, host: Any, **options: Any) -> int:
    """The node that a statement for *host* was sent to."""
    statement = HostTargetingStatement(SimpleStatement("SELECT host_id FROM system.local"), host)
    future = session.execute_async(statement, **options)
    host_id = future.result().one().host_id
    assert len(future.attempted_hosts) == 1
    return [node.host_id for node in session.simulated.nodes].index(host_id)  # type: ignore[attr-defined]


def test_statements_for_one_host(simulated: SimulatedCluster, connect: Connect) -> None:
    """By its address, as in scylla-driver, its endpoint, or itself."""
    session = connect(simulated)
    session.simulated = simulated  # type: ignore[attr-defined]
    for number, node in enumerate(simulated.nodes):
        host = session.cluster.metadata.get_host_by_host_id(node.host_id)
        assert host is not None
        for target in (node.address, host.endpoint, host):
            assert [addressed(session, target) for _ in range(3)] == [number] * 3
            assert session.execute("SELECT host_id FROM system.local", host=target).one() == (node.host_id,)
            prepared = session.prepare("SELECT host_id FROM system.local")
            for inner in (prepared.bind(()), prepared):
                assert session.execute(HostTargetingStatement(inner, target)).one() == (node.host_id,)


def test_a_statement_for_a_host_that_is_not_known(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated)
    statement = HostTargetingStatement(SimpleStatement("SELECT host_id FROM system.local"), "192.0.2.9")
    for query, host in ((statement, None), ("SELECT host_id FROM system.local", "192.0.2.9")):
        with pytest.raises(NoHostAvailable, match=rf"192\.0\.2\.9.*known hosts: .*{simulated.nodes[0].address}"):
            session.execute(query, host=host)


def test_a_statement_for_a_host_that_is_down(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated)
    host = session.cluster.metadata.get_host_by_host_id(simulated.nodes[1].host_id)
    simulated.nodes[1].kill()
    eventually(lambda: host is not None and host.is_up is False)
    statement = HostTargetingStatement(SimpleStatement("SELECT host_id FROM system.local"), simulated.nodes[1].address)
    with pytest.raises(NoHostAvailable, match=simulated.nodes[1].address):
        session.execute(statement)


def test_a_policy_that_tries_the_host_first(simulated: SimulatedCluster, connect: Connect) -> None:
    profile = ExecutionProfile(DefaultLoadBalancingPolicy(RoundRobinPolicy()))
    session = connect(simulated, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    session.simulated = simulated  # type: ignore[attr-defined]
    assert [addressed(session, simulated.nodes[2].address) for _ in range(4)] == [2] * 4
    assert addressed(session, "192.0.2.9") in range(3)


def test_a_cluster_of_hundreds_of_nodes(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(nodes=300, shards=1) as many:
        assert len({node.address for node in many.nodes}) == 300
        session = connect(many, connect_timeout=DEADLINE, control_connection_timeout=DEADLINE)
        eventually(lambda: sum(pool.open_count for pool in session.get_pools()) == 300)
        assert sorted(host.address for host in session.hosts) == sorted(node.address for node in many.nodes)
