"""Changes that were noted are read in the end, also if nodes answer with errors meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import DriverException
from cassandra._session.cluster import Cluster
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.fakes.options import AT_ONCE

pytestmark = pytest.mark.usefixtures("no_leaks")

OVERLOADED, READ_TIMEOUT, SERVER_ERROR = 0x1001, 0x1200, 0x0000


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k", "v")
        yield made


@pytest.fixture
def cluster(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr("cassandra._session.control.control.FIRST", 0.05)
    with Cluster(fake.contact_points, **AT_ONCE) as made:
        made.connect(wait_for_all_pools=True)
        yield made


class Refusal:
    """The next *times* queries with *fragment* get a server error."""

    def __init__(self, fake: FakeCluster, fragment: str, code: int = OVERLOADED, times: int = 1) -> None:
        self.fragment = fragment
        self.code = code
        self.left = times
        fake.on_query = self

    def __call__(self, node: FakeNode, connection: Any, request: Any, text: str) -> bool:
        if self.fragment not in text or self.left <= 0:
            return False
        self.left -= 1
        more = wire.short(1) + wire.int32(0) + wire.int32(1) + wire.byte(False) if self.code == READ_TIMEOUT else b""
        connection.answer(request, wire.ERROR, wire.error(self.code, "not just now") + more)
        return True


def tables(cluster: Cluster) -> set[str]:
    return set(cluster.metadata.keyspaces["ks"].tables)


@pytest.mark.parametrize("code", [OVERLOADED, READ_TIMEOUT, SERVER_ERROR])
def test_a_new_table_appears_though_the_node_refused_to_tell_of_it(
    cluster: Cluster, fake: FakeCluster, code: int
) -> None:
    refusal = Refusal(fake, "system_schema.tables", code, times=3)
    fake.add_table("ks", "fresh", "k")
    fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "fresh")
    eventually(lambda: "fresh" in tables(cluster))
    assert refusal.left == 0


def test_a_node_that_left_is_forgotten_though_the_node_refused_to_tell_of_it(
    cluster: Cluster, fake: FakeCluster
) -> None:
    connection = cluster.control_connection.connection
    assert connection is not None
    gone = next(node for node in fake.nodes if node.port != connection.endpoint.port)
    gone.listed = False
    refusal = Refusal(fake, "system.peers", times=3)
    fake.push("TOPOLOGY_CHANGE", "REMOVED_NODE", gone.address)
    eventually(lambda: cluster.metadata.get_host_by_host_id(gone.host_id) is None)
    assert refusal.left == 0


def test_later_changes_keep_their_place_behind_those_that_wait(cluster: Cluster, fake: FakeCluster) -> None:
    """Created, and that could not be read; then dropped: it is gone."""
    refusal = Refusal(fake, "system_schema.tables", times=10**6)
    fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "t")
    eventually(lambda: refusal.left < 10**6)
    fake.push("SCHEMA_CHANGE", "DROPPED", "TABLE", "ks", "t")
    eventually(lambda: "t" not in tables(cluster))


def test_a_failed_manual_refresh_keeps_the_noted_changes(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra._session.control.control.FIRST", 0.05)
    monkeypatch.setattr("cassandra._session.control.events.random", lambda: 1.0)  # the whole window
    with Cluster(fake.contact_points, **{**AT_ONCE, "schema_event_refresh_window": 3600}) as cluster:
        cluster.connect()
        router = cluster.control_connection.events
        fake.add_table("ks", "fresh", "k")
        fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "fresh")
        eventually(lambda: router._schema)
        Refusal(fake, "system_schema.tables")
        with pytest.raises(DriverException, match="not just now"):
            cluster.refresh_table_metadata("ks", "fresh", max_schema_agreement_wait=0)
        eventually(lambda: "fresh" in tables(cluster))


def test_a_schema_change_of_a_statement_is_read_after_failed_refreshes(cluster: Cluster, fake: FakeCluster) -> None:
    """Its own refresh fails, and so does the next one."""
    session = cluster.connect()

    def ddl(node: FakeNode, connection: Any, request: Any, text: str) -> bool:
        if text.startswith("CREATE TABLE"):
            fake.add_table("ks", "fresh", "k")
            body = wire.string("CREATED") + wire.string("TABLE") + wire.string("ks") + wire.string("fresh")
            connection.answer(request, wire.RESULT, wire.int32(5) + body)
            return True
        return refusal(node, connection, request, text)

    refusal = Refusal(fake, "system_schema.tables", times=3)
    fake.on_query = ddl
    session.execute("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
    eventually(lambda: "fresh" in tables(cluster))
    assert refusal.left == 0


def test_a_new_control_connection_reads_the_unread_changes(cluster: Cluster, fake: FakeCluster) -> None:
    connection = cluster.control_connection.connection
    assert connection is not None
    node = next(node for node in fake.nodes if node.port == connection.endpoint.port)
    refusal = Refusal(fake, "system_schema.tables", times=10**6)
    fake.add_table("ks", "fresh", "k")
    node.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", "fresh")
    eventually(lambda: refusal.left < 10**6)
    node.drop_connections()
    eventually(lambda: refusal.left < 10**6 - 5)  # on every node, again and again
    fake.on_query = None
    eventually(lambda: "fresh" in tables(cluster))


def test_attempts_are_ever_further_apart_and_said_once(
    cluster: Cluster, fake: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = Refusal(fake, "system_schema.tables", times=4)
    with caplog.at_level(logging.INFO, "cassandra.cluster"):
        fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")
        eventually(lambda: refusal.left == 0)
        eventually(lambda: "was refreshed again" in caplog.text)
    said = [record for record in caplog.records if "could not be refreshed" in record.getMessage()]
    assert len(said) == 1
    assert said[0].levelno == logging.WARNING
    assert "not just now" in said[0].getMessage()


def test_a_shutdown_ends_the_attempts(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **AT_ONCE) as cluster:
        cluster.connect()
        refusal = Refusal(fake, "system_schema.tables", times=10**6)
        fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")
        eventually(lambda: refusal.left < 10**6)
