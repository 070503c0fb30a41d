"""Rules about new connections, and what happens to the whole node or to the network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.testing import SimulatedCluster, SimulatedNode, errors
from cassandra.testing.faults import Close, Cut, Delay, Drop, Fail, Garbage, Hold, Nat, Pause, Reaction, Refuse
from tests.simulated.conftest import DEADLINE, eventually
from tests.simulated.raw import RawClient


@pytest.fixture
def node(no_leaks: None) -> Iterator[SimulatedNode]:
    """The only one of its cluster, with four shards."""
    with SimulatedCluster(1, 4) as simulated:
        yield simulated.nodes[0]


def served(node: SimulatedNode, port: int | None = None) -> bool:
    """Whether a new connection gets answers."""
    with RawClient(node, port) as client:
        return client.exchange("OPTIONS").name == "SUPPORTED"


def test_the_nth_connection_is_closed(node: SimulatedNode) -> None:
    with node.cluster.inject(Close(), opcode="CONNECT", connection=2) as rule:
        assert served(node) and served(node)
        with RawClient(node) as client:
            assert client.is_closed()
        assert served(node)
    assert rule.hits == 1


def test_the_nth_connection_is_reset(node: SimulatedNode) -> None:
    with node.cluster.inject(Close(reset=True), opcode="CONNECT", after=1, times=1):
        assert served(node)
        with pytest.raises(ConnectionResetError), RawClient(node) as client:
            client.is_closed()
        assert served(node)


def test_a_connection_that_is_accepted_and_left_alone(node: SimulatedNode) -> None:
    with node.cluster.inject(Drop(), opcode="CONNECT", times=1) as rule:
        with RawClient(node) as client:
            client.send("OPTIONS")
            assert client.is_silent()
            assert node.connections == 1
        eventually(lambda: node.connections == 0)  # the node hears that the client has gone
        assert served(node)
    assert rule.hits == 1


def test_connections_that_wait(node: SimulatedNode) -> None:
    """They are served when they are released, with all that they have sent meanwhile."""
    with node.cluster.inject(Hold(), opcode="CONNECT") as rule, RawClient(node) as one, RawClient(node) as other:
        one.send("OPTIONS")
        other.send("OPTIONS")
        other.send("OPTIONS")
        assert one.is_silent()
        rule.release()
        assert one.receive().name == other.receive().name == other.receive().name == "SUPPORTED"
    assert rule.hits == 2
    assert served(node)


def test_a_late_connection(node: SimulatedNode) -> None:
    with node.cluster.inject(Delay(0.05), opcode="CONNECT"):
        assert served(node)


def test_a_connection_that_gets_garbage(node: SimulatedNode) -> None:
    with node.cluster.inject(Garbage(b"220 mail ready"), opcode="CONNECT"), RawClient(node) as client:
        assert client.socket.recv(14) == b"220 mail ready"
        client.send("OPTIONS")
        assert client.is_silent()


@pytest.mark.parametrize("opcode", ["CONNECT", "OPTIONS"])
def test_a_node_that_stops(node: SimulatedNode, opcode: str) -> None:
    """Neither this client nor another hears anything until it goes on."""
    with RawClient(node) as before:
        before.supported()
        with node.cluster.inject(Pause(), opcode=opcode, times=1) as rule, RawClient(node) as client:
            client.send("OPTIONS")
            eventually(lambda: rule.hits == 1)
            before.send("OPTIONS")
            assert not node.alive
            assert before.is_silent() and client.is_silent()
            rule.release()
            assert before.receive().name == client.receive().name == "SUPPORTED"
            assert node.alive


def test_a_node_that_refuses_connections(node: SimulatedNode) -> None:
    """From the second connection on, until the rule ends; those that are there stay."""
    with RawClient(node) as before:
        before.supported()
        with node.cluster.inject(Refuse(), opcode="CONNECT", times=1):
            with pytest.raises(ConnectionResetError), RawClient(node) as client:
                client.is_closed()
            for port in (node.port, node.shard_aware_port):
                with pytest.raises(ConnectionRefusedError):
                    RawClient(node, port)
            before.supported()
        assert served(node)


def test_a_request_after_which_connections_are_refused(node: SimulatedNode) -> None:
    with RawClient(node) as client, node.cluster.inject(Refuse(), opcode="STARTUP") as rule:
        client.start()
        with pytest.raises(ConnectionRefusedError):
            RawClient(node)
        rule.release()
        assert served(node)


def test_an_address_translation(node: SimulatedNode) -> None:
    """It shifts the shards on the shard-aware port; on the other there is nothing to shift."""
    with node.cluster.inject(Nat(shift=3), opcode="CONNECT") as rule:
        with RawClient(node, node.shard_aware_port) as client:
            assert client.supported()["SCYLLA_SHARD"] == [str((client.port + 3) % 4)]
        with RawClient(node) as client:
            assert client.supported()["SCYLLA_SHARD"] == ["1"]  # the second connection in turn
        assert rule.hits == 2
    with RawClient(node, node.shard_aware_port) as client:
        assert client.supported()["SCYLLA_SHARD"] == [str(client.port % 4)]


def test_an_address_translation_with_ports_of_its_own(node: SimulatedNode) -> None:
    """No shard follows from a client's port: sooner or later each is wrong."""
    wrong = 0
    with node.cluster.inject(Nat(shift=None), opcode="CONNECT"):
        for _ in range(40):
            with RawClient(node, node.shard_aware_port) as client:
                wrong += client.supported()["SCYLLA_SHARD"] != [str(client.port % 4)]
    assert wrong > 0


def test_a_translation_of_some(node: SimulatedNode) -> None:
    with node.cluster.inject(Nat(), opcode="CONNECT", probability=0.5) as rule:
        for _ in range(30):
            assert served(node, node.shard_aware_port)
    assert 0 < rule.hits < 30


def test_conditions_on_connections(node: SimulatedNode) -> None:
    """The number of the connection, its shard, and whether it is a control connection."""
    with RawClient(node) as a, RawClient(node) as b, RawClient(node) as c, RawClient(node) as d:
        clients = (a, b, c, d)
        for shard, client in enumerate(clients):
            assert client.supported()["SCYLLA_SHARD"] == [str(shard)]
            client.start()
        c.register("STATUS_CHANGE")

        def caught(**conditions: Any) -> list[int]:
            with node.cluster.inject(Fail(errors.Overloaded()), **conditions):
                return [n for n, client in enumerate(clients) if client.exchange("OPTIONS").name == "ERROR"]

        assert caught() == [0, 1, 2, 3]
        assert caught(connection=1) == [1]
        assert caught(shard=3) == [3]
        assert caught(control=True) == [2]
        assert caught(control=False, opcode="options") == [0, 1, 3]
        assert caught(shard=2, connection=1) == caught(node=1) == caught(opcode="QUERY") == []
        assert caught(after=2, times=1) == [2]


def test_a_probability(node: SimulatedNode) -> None:
    """Which requests are caught is random, and the same again for the same seed."""
    found = []
    for _ in range(2):
        with SimulatedCluster(1, 1, seed=7) as simulated, RawClient(simulated.nodes[0]) as client:
            simulated.inject(Fail(errors.Overloaded()), opcode="OPTIONS", probability=0.3)
            found.append([client.exchange("OPTIONS").name for _ in range(60)])
    assert 0 < found[0].count("ERROR") < 60
    assert found[0] == found[1]


def test_rules_without_an_opcode_are_about_requests(node: SimulatedNode) -> None:
    with node.cluster.inject(Drop()) as rule, RawClient(node) as client:
        eventually(lambda: node.connections == 1)
        assert rule.hits == 0
        client.send("OPTIONS")
        eventually(lambda: rule.hits == 1)


@pytest.mark.parametrize("reaction", [Fail(errors.Overloaded()), Cut()], ids=["error", "cut"])
def test_a_new_connection_gets_no_answer(node: SimulatedNode, reaction: Reaction) -> None:
    with pytest.raises(ValueError, match="gets none"):
        node.cluster.inject(reaction, opcode="CONNECT")


def test_mistakes_in_conditions(node: SimulatedNode) -> None:
    with pytest.raises(ValueError, match="unknown opcode SELECT"):
        node.cluster.inject(Drop(), opcode="select")
    with pytest.raises(ValueError, match="between 0 and 1"):
        node.cluster.inject(Drop(), probability=50)


def test_a_reaction_that_raises_is_no_answer(node: SimulatedNode, caplog: pytest.LogCaptureFixture) -> None:
    """The cluster goes on, and its log says what went wrong."""
    logged = threading.Event()

    class Wrong(Reaction):
        def react(self, exchange: object) -> None:
            logged.set()
            raise KeyError("my mistake")

    with node.cluster.inject(Wrong(), opcode="OPTIONS", times=1), RawClient(node) as client:
        client.send("OPTIONS")
        assert logged.wait(DEADLINE)
        assert served(node)
    assert "my mistake" in caplog.text
