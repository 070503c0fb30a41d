"""Events that nodes send to registered clients, byte by byte."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

import pytest

from cassandra.testing import SimulatedCluster, SimulatedNode
from tests.simulated.raw import RawClient, text

KINDS = ("STATUS_CHANGE", "TOPOLOGY_CHANGE", "SCHEMA_CHANGE")


@pytest.fixture
def listener(simulated: SimulatedCluster) -> Iterator[RawClient]:
    """A client of node 0 that registered for all."""
    with RawClient(simulated.nodes[0]) as client:
        client.start()
        client.register(*KINDS)
        yield client


def told(listener: RawClient, kind: str, change: str, node: SimulatedNode) -> None:
    event = listener.receive()
    address = ipaddress.ip_address(node.address).packed + node.port.to_bytes(4, "big")
    assert (event.name, event.body) == ("EVENT", text(kind) + text(change) + b"\4" + address)


def test_nodes_go_down_and_come_up(simulated: SimulatedCluster, listener: RawClient) -> None:
    node = simulated.nodes[1]
    node.stop()
    told(listener, "STATUS_CHANGE", "DOWN", node)
    node.start()
    told(listener, "STATUS_CHANGE", "UP", node)
    node.reshard(2)
    told(listener, "STATUS_CHANGE", "DOWN", node)
    told(listener, "STATUS_CHANGE", "UP", node)


def test_nodes_join_and_leave(simulated: SimulatedCluster, listener: RawClient) -> None:
    node = simulated.add_node()
    told(listener, "TOPOLOGY_CHANGE", "NEW_NODE", node)
    told(listener, "STATUS_CHANGE", "UP", node)
    simulated.remove_node(node)
    told(listener, "STATUS_CHANGE", "DOWN", node)
    told(listener, "TOPOLOGY_CHANGE", "REMOVED_NODE", node)


def test_untrue_events(simulated: SimulatedCluster, listener: RawClient) -> None:
    simulated.push_event("STATUS_CHANGE", "DOWN", 2)
    told(listener, "STATUS_CHANGE", "DOWN", simulated.nodes[2])
    simulated.push_event("TOPOLOGY_CHANGE", "MOVED_NODE", 1)
    told(listener, "TOPOLOGY_CHANGE", "MOVED_NODE", simulated.nodes[1])


def test_changes_of_the_schema(simulated: SimulatedCluster, listener: RawClient) -> None:
    statements = {
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}": (
            "CREATED", "KEYSPACE", "ks",
        ),
        "ALTER KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}": (
            "UPDATED", "KEYSPACE", "ks",
        ),
        "CREATE TYPE ks.pair (a int)": ("CREATED", "TYPE", "ks", "pair"),
        "ALTER TYPE ks.pair ADD b int": ("UPDATED", "TYPE", "ks", "pair"),
        "DROP TYPE ks.pair": ("DROPPED", "TYPE", "ks", "pair"),
        "CREATE TABLE ks.t (id int PRIMARY KEY, v int)": ("CREATED", "TABLE", "ks", "t"),
        "ALTER TABLE ks.t ADD w int": ("UPDATED", "TABLE", "ks", "t"),
        "CREATE INDEX ON ks.t (v)": ("UPDATED", "TABLE", "ks", "t"),
        "DROP TABLE ks.t": ("DROPPED", "TABLE", "ks", "t"),
        "DROP KEYSPACE ks": ("DROPPED", "KEYSPACE", "ks"),
    }  # fmt: skip
    with RawClient(simulated.nodes[1]) as other:  # not the client that receives the event
        other.start()
        for statement, words in statements.items():
            assert other.query(statement).name == "RESULT"
            event = listener.receive()
            assert (event.name, event.body) == ("EVENT", text("SCHEMA_CHANGE") + b"".join(map(text, words)))


def test_unregistered_clients_receive_no_events(simulated: SimulatedCluster) -> None:
    with RawClient(simulated.nodes[0]) as client, RawClient(simulated.nodes[0]) as other:
        for one in (client, other):
            one.start()
        other.register("SCHEMA_CHANGE")
        simulated.nodes[1].stop()
        assert client.supported() and other.supported()  # the answers are the first that come


def test_unknown_kinds_of_events(simulated: SimulatedCluster) -> None:
    with RawClient(simulated.nodes[0]) as client:
        client.start()
        assert client.exchange("REGISTER", b"\0\1" + text("WEATHER_CHANGE")).code == 0x0A
