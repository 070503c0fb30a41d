"""Nodes and servers that are not to be trusted: addresses that a node announces, servers that ask for no password."""

from __future__ import annotations

import logging

import pytest

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.testing import SimulatedCluster
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.simulated.conftest import eventually


def addresses(simulated: SimulatedCluster) -> list[str]:
    return [node.address for node in simulated.nodes]


def left_out(caplog: pytest.LogCaptureFixture) -> list[str]:
    texts = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    return [text for text in texts if "is not in allowed_addresses" in text]


def test_a_node_at_another_address_is_no_host(caplog: pytest.LogCaptureFixture) -> None:
    with SimulatedCluster(3, 1, users={"me": "pw"}) as simulated:
        first, second, third = addresses(simulated)
        with Cluster(
            [first],
            port=simulated.port,
            allowed_addresses=[first, f"{second}/32"],
            auth_provider=PlainTextAuthProvider("me", "pw"),
        ) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            assert {host.address for host in cluster.metadata.all_hosts()} == {first, second}
            for _ in range(20):
                assert session.execute("SELECT key FROM system.local").one().key == "local"
            for _ in range(3):
                cluster.refresh_nodes()
            (text,) = left_out(caplog)
            assert third in text
            assert [node.connections > 0 for node in simulated.nodes] == [True, True, False]


def test_a_host_that_moves_to_another_address_is_one_no_more() -> None:
    with SimulatedCluster(3, 1) as simulated:
        first, _, third = addresses(simulated)
        with Cluster([first], port=simulated.port) as cluster:
            cluster.connect(wait_for_all_pools=True)
            assert len(cluster.metadata.all_hosts()) == 3
            cluster.allowed_addresses = [one for one in addresses(simulated) if one != third]
            cluster.refresh_nodes()
            eventually(lambda: len(cluster.metadata.all_hosts()) == 2)


def test_a_contact_point_at_another_address_is_not_connected_to() -> None:
    with SimulatedCluster(1, 1) as simulated:
        cluster = Cluster(simulated.contact_points, port=simulated.port, allowed_addresses=["10.0.0.0/8"])
        with cluster, pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        (error,) = caught.value.errors.values()
        assert "is not in allowed_addresses" in str(error)


def test_a_server_that_announces_another_class_gets_no_password() -> None:
    with ScriptedServer(password=b"\0me\0pw", authenticator="org.example.Evil") as server:
        cluster = Cluster([server.host], port=server.port, auth_provider=PlainTextAuthProvider("me", "pw"))
        with cluster, pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        (error,) = caught.value.errors.values()
        assert "'org.example.Evil', which is not among the allowed authenticators: nothing was sent" in str(error)
        assert not [request for request in server.requests if request.opcode == wire.AUTH_RESPONSE]


def test_a_server_that_never_ends_the_log_in() -> None:
    def challenge(connection: ScriptedConnection, request: wire.Envelope) -> bool:
        if request.opcode != wire.AUTH_RESPONSE:
            return False
        connection.answer(request, wire.AUTH_CHALLENGE, wire.int32(11) + b"PLAIN-START")
        return True

    with ScriptedServer(challenge, password=b"\0me\0pw") as server:
        cluster = Cluster([server.host], port=server.port, auth_provider=PlainTextAuthProvider("me", "pw"))
        with cluster, pytest.raises(NoHostAvailable) as caught:
            cluster.connect()
        (error,) = caught.value.errors.values()
        assert "sent more than 16 authentication challenges" in str(error)
        assert len([request for request in server.requests if request.opcode == wire.AUTH_RESPONSE]) == 17


@pytest.mark.parametrize("warns", [True, False])
def test_a_server_that_asks_for_no_password_is_told_once(caplog: pytest.LogCaptureFixture, warns: bool) -> None:
    with (
        SimulatedCluster(3, 2) as simulated,
        Cluster(
            simulated.contact_points,
            port=simulated.port,
            auth_provider=PlainTextAuthProvider("me", "pw"),
            security_warnings=warns,
        ) as cluster,
    ):
        cluster.connect(wait_for_all_pools=True)
        texts = [record.getMessage() for record in caplog.records if record.name == "cassandra.auth"]
        assert len(texts) == warns and all("requires no authentication" in text for text in texts)
