"""How long it takes until there is a control connection again, and which calls wait for it."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._session.cluster import Cluster
from cassandra.policies import ConstantReconnectionPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.fakes.options import AT_ONCE
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("no_leaks")

NAME = "cql.example"
NEVER = ConstantReconnectionPolicy(3600)


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k", "v")
        yield made


class Names:
    """A name server that can be told to be slow, or to know other addresses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.addresses = ["127.0.0.1"]
        self.asked = 0
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._look_up)

    def _look_up(self, name: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if name != NAME:
            return self._real(name, port, *args, **kwargs)
        self.asked += 1
        assert self.answers.wait(PATIENCE)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.addresses]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    made = Names(monkeypatch)
    yield made
    made.answers.set()


def node_of(cluster: Cluster, fake: FakeCluster) -> FakeNode | None:
    """The node of the control connection."""
    connection = cluster.control_connection.connection
    return None if connection is None else next(node for node in fake.nodes if node.port == connection.endpoint.port)


def test_known_nodes_are_used_while_names_are_looked_up(fake: FakeCluster, names: Names) -> None:
    with Cluster([(NAME, fake.nodes[0].port)], **AT_ONCE) as cluster:
        cluster.connect(wait_for_all_pools=True)
        names.answers.clear()
        fake.nodes[0].stop()
        eventually(lambda: node_of(cluster, fake) in fake.nodes[1:], PATIENCE / 2)  # the names are slower than that
        assert not names.answers.is_set()
        names.answers.set()


def test_when_all_known_nodes_are_gone_the_names_lead_to_others(fake: FakeCluster, names: Names) -> None:
    """Though no try is due within the hour, and the name server took its time."""
    with FakeCluster(1) as other:
        port = other.nodes[0].port
        with Cluster([*fake.contact_points, (NAME, port)], **{**AT_ONCE, "reconnection_policy": NEVER}) as cluster:
            names.addresses = []
            cluster.connect(wait_for_all_pools=True)
            names.answers.clear()
            names.addresses = ["127.0.0.1"]
            asked = names.asked
            for node in fake.nodes:
                node.stop()
            eventually(lambda: names.asked > asked)
            eventually(lambda: cluster.control_connection.search.failed_rounds)
            assert cluster.control_connection.connection is None
            names.answers.set()
            eventually(lambda: node_of(cluster, other) is other.nodes[0])


def test_names_are_looked_up_once_at_a_time(fake: FakeCluster, names: Names) -> None:
    with Cluster([(NAME, fake.nodes[0].port)], **AT_ONCE) as cluster:
        cluster.connect(wait_for_all_pools=True)
        names.answers.clear()
        asked = names.asked
        for node in fake.nodes:
            node.stop()
        tried = cluster.control_connection.search.failed_rounds
        eventually(lambda: cluster.control_connection.search.failed_rounds > tried + 10)
        assert names.asked == asked + 1
        fake.nodes[1].start()
        eventually(lambda: node_of(cluster, fake) is fake.nodes[1])


def test_names_that_lead_nowhere_are_said_once(
    fake: FakeCluster, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    with Cluster([*fake.contact_points, "no.such.name.invalid"], **AT_ONCE) as cluster:
        cluster.connect(wait_for_all_pools=True)
        for node in fake.nodes:
            node.stop()
        eventually(lambda: cluster.control_connection.search.failed_rounds > 5)
    said = [record for record in caplog.records if "no.such.name.invalid" in record.getMessage()]
    assert [record.levelno for record in said if record.levelno > logging.DEBUG] == [logging.WARNING]


def test_warnings_while_up_hosts_refuse_the_control_connection(
    fake: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]

    def refuse(node: FakeNode, connection: Any, request: Any, text: str) -> bool:
        refused = "system.local" in text
        if refused:
            connection.answer(request, wire.ERROR, wire.error(0x1001, "not just now"))
        return refused

    with Cluster(fake.contact_points, **AT_ONCE) as cluster:
        cluster.connect(wait_for_all_pools=True)
        search = cluster.control_connection.search
        fake.on_query = refuse
        cluster.control_connection.connection.close()  # type: ignore[union-attr]
        eventually(lambda: search.failed_rounds > 20)
        assert len(said()) == 1
        assert "was lost" in said()[0] and "not just now" in said()[0]
        monkeypatch.setattr("cassandra._session.control.search.LOG_INTERVAL", 0.0)
        eventually(lambda: len(said()) == 2)
        monkeypatch.setattr("cassandra._session.control.search.LOG_INTERVAL", 3600.0)
        fake.on_query = None
        eventually(lambda: cluster.control_connection.connection)
        eventually(lambda: "is open again" in said()[-1])
        assert "No node has taken the control connection" in said()[-2]


def test_a_schema_change_does_not_wait_for_a_search_that_takes_long(fake: FakeCluster) -> None:
    """The control connection's node is gone, and those that are asked next are silent: the known part of the change is
    reported within the time of a refresh, and the metadata follows."""
    with Cluster(fake.contact_points, **AT_ONCE, connect_timeout=PATIENCE, control_connection_timeout=0.3) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        answering = node_of(cluster, fake)
        assert answering is not None
        silent = [node for node in fake.nodes if node is not answering]

        def ddl(node: FakeNode, connection: Any, request: Any, text: str) -> bool:
            if not text.startswith("CREATE TABLE"):
                return False
            for other in silent:
                other.pause()
            fake.add_table("ks", "fresh", "k")
            cluster.control_connection.connection.close()  # type: ignore[union-attr]
            eventually(lambda: cluster.control_connection.connection is None)
            body = wire.string("CREATED") + wire.string("TABLE") + wire.string("ks") + wire.string("fresh")
            connection.answer(request, wire.RESULT, wire.int32(5) + body)
            return True

        fake.on_query = ddl
        begun = time.monotonic()
        cluster.max_schema_agreement_wait = 0.5
        session.execute("CREATE TABLE ks.fresh (k text PRIMARY KEY)", timeout=PATIENCE)
        assert time.monotonic() - begun < PATIENCE / 2
        for other in silent:
            other.resume()
        eventually(lambda: "fresh" in cluster.metadata.keyspaces["ks"].tables)
