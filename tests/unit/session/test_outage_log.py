"""The log while no host can be used: lines when it begins, once a minute, when it ends. Not: at each attempt."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._session.cluster import Cluster
from cassandra.policies import ConvictionPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.fakes.options import AT_ONCE
from tests.fakes.scripted import ScriptedConnection
from tests.fakes.wire import Envelope

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_leaks")]

ATTEMPTS = 8


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k")
        yield made


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra._session.hosts.reconnection.URGENT", (0.02, 0.05))


def told(caplog: pytest.LogCaptureFixture) -> Counter[str]:
    """Counts of the lines that a log at INFO shows, regardless of their parameters."""
    return Counter(record.msg for record in caplog.records if record.levelno >= logging.INFO)


def connections(fake: FakeCluster) -> int:
    """That were made so far."""
    return sum(len(node.server._threads) for node in fake.nodes if node.server is not None)


class Lenient(ConvictionPolicy):
    """No failure is the host's."""

    def add_failure(self, connection_exc: BaseException) -> bool:
        return False

    def reset(self) -> None: ...


@pytest.mark.parametrize("options", [{}, {"conviction_policy_factory": Lenient}], ids=["down", "taken for up"])
def test_nodes_that_are_gone(fake: FakeCluster, caplog: pytest.LogCaptureFixture, options: dict[str, Any]) -> None:
    with caplog.at_level(logging.DEBUG), Cluster(fake.contact_points, **AT_ONCE, **options) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        caplog.clear()
        for node in fake.nodes:
            node.stop()
        failed = ("Could not reconnect to", "Could not connect to", "Control connection could not be opened")
        eventually(lambda: sum(any(text in r.msg for text in failed) for r in caplog.records) > 10 * ATTEMPTS)
        assert max(told(caplog).values()) <= 3  # one for each host
        assert sum(told(caplog).values()) <= 4 * 3
        assert sum(record.levelno >= logging.WARNING for record in caplog.records) <= 1 + 3
        caplog.clear()
        for node in fake.nodes:
            node.start()
        eventually(lambda: cluster.control_connection.connection)
        eventually(lambda: all(host.is_up for host in cluster.metadata.all_hosts()))
        eventually(lambda: len(session._pools) == 3)
        assert max(told(caplog).values(), default=0) <= 3


def test_nodes_that_refuse_startup_are_logged_rarely(fake: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(connection: ScriptedConnection, request: Envelope) -> bool:
        refused = request.opcode == wire.STARTUP
        if refused:
            connection.answer(request, wire.ERROR, wire.error(0x0100, "who are you?"))
        return refused

    with caplog.at_level(logging.DEBUG), Cluster(fake.contact_points, **AT_ONCE) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        caplog.clear()
        for node in fake.nodes:
            assert node.server is not None
            node.server.script = refuse
            node.drop_connections()
        before = connections(fake)
        eventually(lambda: connections(fake) > before + 10 * ATTEMPTS)
        assert not any(pool.open_count for pool in session._pools.values())
        assert max(told(caplog).values()) <= 3


def test_a_keyspace_that_is_gone(fake: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    """Nodes answer, but the session cannot use them."""

    def refuse(node: FakeNode, connection: Any, request: Any, text: str) -> bool:
        refused = text.startswith("USE")
        if refused:
            connection.answer(request, wire.ERROR, wire.error(0x2200, "Keyspace 'ks' does not exist"))
        return refused

    with caplog.at_level(logging.DEBUG), Cluster(fake.contact_points, **AT_ONCE) as cluster:
        session = cluster.connect("ks", wait_for_all_pools=True)
        caplog.clear()
        fake.on_query = refuse
        for node in fake.nodes:
            node.stop()
        eventually(lambda: not any(host.is_up for host in cluster.metadata.all_hosts()))
        for node in fake.nodes:
            node.start()
        eventually(lambda: sum(node.asked("USE") for node in fake.nodes) > 10 * ATTEMPTS)
        assert not session._pools
        assert max(told(caplog).values()) <= 2 * 3  # when it begins, and when the reason changes
