"""Addresses that lead to another node than the host that they are known to belong to."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.connection import ConnectionException, UnexpectedHost
from cassandra.policies import AddressTranslator, ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.testing import SimulatedCluster, SimulatedNode
from cassandra.testing.errors import ServerError
from cassandra.testing.faults import Fail, Hold
from tests.simulated.conftest import Connect, eventually, host_of, other_node, with_table
from tests.simulated.links import Balancer

OPTIONS: dict[str, Any] = {
    "reconnection_policy": ConstantReconnectionPolicy(0.05),
    "load_balancing_policy": RoundRobinPolicy(),
}
SCYLLA = ("SCYLLA_HOST_ID",)
TEXT = "it gets no requests"


@pytest.fixture(params=[(), SCYLLA, (*SCYLLA, "SCYLLA_NR_SHARDS")], ids=["announced", "asked", "unsharded"])
def nodes(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[SimulatedCluster]:
    """Three nodes: they announce their host ids (ScyllaDB), or do not (older ScyllaDB, Cassandra)."""
    with SimulatedCluster(3, 2, without=request.param) as simulated:
        with_table(simulated)
        yield simulated


def sent_to(simulated: SimulatedCluster, node: SimulatedNode) -> list[Any]:
    """Requests of the application that *node* received."""
    return [request for request in simulated.statements("ks.t") if request.node == node.index]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_address_that_was_given_to_another_node(
    nodes: SimulatedCluster, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """A pod takes the address of another one. Its peers still list the old one, so the new one gets no request; when
    they list it, it is a host of its own."""
    session = connect(nodes, "ks", **OPTIONS)
    other = session.cluster.connect("ks")
    node = other_node(session, nodes)
    old = host_of(session, node)
    held = nodes.inject(Hold(), query="FROM system.peers", control=True)  # what the driver knows stays as it is
    new = nodes.replace_node(node)
    eventually(lambda: old.is_up is False)
    for n in range(50):
        session.execute("INSERT INTO t (id, v) VALUES (%s, 1)", (n,))
        other.execute("INSERT INTO t (id, v) VALUES (%s, 1)", (n,))
    eventually(lambda: TEXT in caplog.text)
    assert not sent_to(nodes, new)
    (line,) = [line for line in warnings(caplog) if TEXT in line]
    assert str(old.host_id) in line and str(new.host_id) in line
    held.remove()
    eventually(lambda: host_of(session, new) is not None and host_of(session, new).is_up)
    found = host_of(session, new)
    assert found is not old and found == old and host_of(session, node) is None
    eventually(lambda: session.get_pool_state()[found]["open_count"] > 0)
    eventually(lambda: gets_requests(session, nodes, new))
    assert len([line for line in warnings(caplog) if TEXT in line]) == 1, "one, however often it is tried"


def gets_requests(session: Session, simulated: SimulatedCluster, node: SimulatedNode) -> bool:
    session.execute("INSERT INTO t (id, v) VALUES (1, 1)")
    return bool(sent_to(simulated, node))


def test_a_translator_that_is_wrong(no_leaks: None, caplog: pytest.LogCaptureFixture) -> None:
    """It gives two hosts the addresses of each other. Where nodes announce their ids, neither gets a request."""
    with SimulatedCluster(3, 2) as nodes:
        with_table(nodes)
        first, *swapped = nodes.nodes
        wrong = {swapped[0].address: swapped[1].address, swapped[1].address: swapped[0].address}

        class Translator(AddressTranslator):
            def translate(self, addr: str) -> str:
                return wrong.get(addr, addr)

        with Cluster([first.address], port=nodes.port, address_translator=Translator(), **OPTIONS) as cluster:
            session = cluster.connect("ks", wait_for_all_pools=True)
            for n in range(30):
                session.execute("INSERT INTO t (id, v) VALUES (%s, 1)", (n,))
            assert not any(sent_to(nodes, node) for node in swapped)
            eventually(lambda: not any(host_of(session, node).is_up for node in swapped))
            eventually(lambda: len([line for line in warnings(caplog) if TEXT in line]) == 2)
            wrong.clear()
            eventually(lambda: cluster.refresh_nodes() or all(host_of(session, node).is_up for node in swapped))
            eventually(lambda: all(gets_requests(session, nodes, node) for node in swapped))


def test_credentials_are_not_sent_to_another_node(no_leaks: None, connect: Connect) -> None:
    """Where the node announces its id, the connection ends before STARTUP."""
    with SimulatedCluster(3, 1) as simulated:
        with_table(simulated)
        session = connect(simulated, "ks", **OPTIONS)
        node = other_node(session, simulated)
        held = simulated.inject(Hold(), query="FROM system.peers", control=True)
        new = simulated.replace_node(node)
        eventually(lambda: any(request.node == new.index for request in simulated.requests))
        assert {request.opcode for request in simulated.requests if request.node == new.index} == {"OPTIONS"}
        held.remove()
        session.cluster.shutdown()


def test_the_error(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(3, 1) as simulated:
        with_table(simulated)
        session = connect(simulated, "ks", **{**OPTIONS, "reconnection_policy": ConstantReconnectionPolicy(3600)})
        node = other_node(session, simulated)
        held = simulated.inject(Hold(), query="FROM system.peers", control=True)
        new = simulated.replace_node(node)
        old = host_of(session, node)
        eventually(lambda: old.is_up is False)

        found: list[Any] = []

        def has_failed() -> bool:
            """False if the pool was removed meanwhile, because the host was marked down."""
            future = session._pool_set.add_or_renew(old, False)
            assert future is not None and future.result() is False
            found.append(session._pool_set.errors.get(old))
            return found[-1] is not None

        eventually(has_failed)
        error = found[-1]
        assert isinstance(error, UnexpectedHost) and isinstance(error, ConnectionException)
        assert (error.expected, error.found, error.endpoint) == (old.host_id, new.host_id, old.endpoint)
        held.remove()
        session.cluster.shutdown()


# ---- one address in front of all nodes


def behind(nodes: SimulatedCluster, balancer: Balancer, **options: Any) -> Cluster:
    """A cluster whose only contact point leads to the nodes in turn."""
    windows: dict[str, Any] = {"topology_event_refresh_window": 0, "status_event_refresh_window": 0}
    return Cluster([("127.0.0.1", balancer.ports[0])], port=nodes.port, **{**OPTIONS, **windows, **options})


def test_a_contact_point_that_leads_to_all_nodes(nodes: SimulatedCluster, caplog: pytest.LogCaptureFixture) -> None:
    """The host that the control connection found behind it is reached at its own address."""
    with Balancer(nodes) as balancer, behind(nodes, balancer) as cluster:
        session = cluster.connect("ks")

        def is_complete() -> bool:
            at = {host.address for host in cluster.metadata.all_hosts() if host.is_up}
            return at == {node.address for node in nodes.nodes} == {host.address for host in session.get_pool_state()}

        eventually(is_complete)
        cluster.refresh_nodes()
        assert is_complete()
        for pool in session.get_pools():
            for connection in pool.get_connections():
                assert connection.channel.getpeername()[0] == pool.host.address
        assert not [line for line in warnings(caplog) if TEXT in line or "marked down" in line]


def test_a_contact_point_that_is_the_only_way(no_leaks: None) -> None:
    """With the check switched off, the nodes behind one address serve as one host."""
    with SimulatedCluster(3, 1) as nodes:
        with_table(nodes)
        with Balancer(nodes) as balancer, behind(nodes, balancer, verify_host_ids=False) as cluster:
            session = cluster.connect("ks")
            eventually(lambda: "127.0.0.1" in {host.address for host in session.get_pool_state()})
            session.execute("INSERT INTO t (id, v) VALUES (1, 1)")


@pytest.mark.parametrize("announced", [True, False])
def test_a_server_that_does_not_say_who_it_is(no_leaks: None, connect: Connect, announced: bool) -> None:
    """A node that rejects the query for its host id gets no request until it responds."""
    with SimulatedCluster(3, 1, without=() if announced else SCYLLA) as simulated:
        with_table(simulated)
        session = connect(simulated, "ks", **OPTIONS)
        node = other_node(session, simulated)
        host = host_of(session, node)
        rejected = simulated.inject(Fail(ServerError("busy")), query="SELECT host_id FROM system.local")
        before = next(pool for pool in session.get_pools() if pool.host is host).get_connections()
        node.drop_connections()
        eventually(lambda: all(connection.is_closed for connection in before))
        eventually(lambda: announced or rejected.hits > 0)
        simulated.clear_requests()
        for n in range(30):
            session.execute("INSERT INTO t (id, v) VALUES (%s, 1)", (n,))
        if not announced:
            assert not sent_to(simulated, node)
        rejected.remove()
        eventually(lambda: gets_requests(session, simulated, node))
        session.cluster.shutdown()


def test_no_extra_request_in_a_normal_connect(nodes: SimulatedCluster, connect: Connect) -> None:
    session = connect(nodes, "ks", **OPTIONS)
    eventually(lambda: all(state["open_count"] for state in session.get_pool_state().values()))
    assert not [one for one in nodes.requests if "SELECT host_id FROM system.local" in one.query]


def test_the_check_can_be_switched_off(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(3, 1) as simulated:
        with_table(simulated)
        session = connect(simulated, "ks", verify_host_ids=False, **OPTIONS)
        node = other_node(session, simulated)
        held = simulated.inject(Hold(), query="FROM system.peers", control=True)
        new = simulated.replace_node(node)
        eventually(lambda: gets_requests(session, simulated, new))
        held.remove()
        session.cluster.shutdown()
