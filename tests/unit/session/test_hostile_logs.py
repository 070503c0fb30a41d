"""A cluster whose strings all have line breaks and escape sequences: no record of the driver has one, nor an error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from cassandra import DriverException
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from cassandra.query import SimpleStatement
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.fakes.scripted import ScriptedConnection
from tests.fakes.wire import Envelope, int32, short, string, string_list

pytestmark = pytest.mark.usefixtures("no_leaks")

EVIL = "evil\n\x1b[31m2026-01-01 CRITICAL fake\u2028\u202e\x9b"
MANY = 60_000


@pytest.fixture
def records() -> Iterator[list[str]]:
    """The messages of the driver until everything is closed."""
    kept: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if not record.name.startswith("cassandra.testing"):
                kept.append(record.getMessage())

    handler, log = Keep(), logging.getLogger("cassandra")
    log.addHandler(handler)
    level = log.level
    log.setLevel(logging.DEBUG)
    log.propagate = False  # records keep references to their arguments
    yield kept
    log.removeHandler(handler)
    log.setLevel(level)
    log.propagate = True
    texts = list(kept)
    assert any("evil" in text for text in texts)
    assert [text for text in texts if not text.isprintable()] == []
    assert max(map(len, texts)) <= 4096


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        for node in made.nodes:
            node.datacenter, node.rack = f"{EVIL}dc", f"{EVIL}r"
        made.add_table(EVIL, EVIL, EVIL, f"{EVIL}2")
        made.keyspaces[0]["replication"] = {"class": EVIL, "replication_factor": EVIL}
        made.columns[1]["type"] = f"list<{EVIL}"
        made.extra_peers = [odd_peer(number) for number in range(30)]
        made.on_query = answers
        yield made


def odd_peer(number: int) -> dict[str, Any]:
    address = f"10.1.1.{number}"
    row = {"host_id": uuid4(), "peer": address, "peer_port": 7000, "native_address": address, "native_port": 70_000}
    return {**row, "data_center": EVIL, "rack": EVIL, "tokens": {EVIL}, "release_version": EVIL, "schema_version": None}


def answers(node: FakeNode, connection: ScriptedConnection, request: Envelope, text: str) -> bool:
    if "warn" in text:
        connection.answer(request, wire.RESULT, string_list([EVIL] * MANY) + int32(1), wire.WARNING)
    elif "fail" in text:
        connection.answer(request, wire.ERROR, wire.error(int(text.split()[1], 16), EVIL, int32(1) * 5))
    elif "odd names" in text:
        names = [EVIL, f"{EVIL}\t", "def"]
        columns = int32(1) + int32(len(names)) + string(EVIL) + string(EVIL)
        columns += b"".join(string(name) + short(0x0D) for name in names)
        connection.answer(request, wire.RESULT, int32(2) + columns + int32(0))
    elif "broken" in text:
        column = int32(1) + int32(1) + string(EVIL) + string(EVIL) + string(EVIL) + short(9)
        connection.answer(request, wire.RESULT, int32(2) + column + int32(1) + wire.bytes_(b"123"))
    else:
        return False
    return True


@pytest.fixture
def cluster(fake: FakeCluster, records: list[str]) -> Iterator[Cluster]:
    options: dict[str, Any] = {
        "reconnection_policy": ConstantReconnectionPolicy(0.05),
        "load_balancing_policy": RoundRobinPolicy(),
        "status_event_refresh_window": 0,
        "topology_event_refresh_window": 0,
        "schema_event_refresh_window": 0,
    }
    with Cluster(fake.contact_points, **options) as made:
        yield made


def test_a_life_of_a_cluster(cluster: Cluster, fake: FakeCluster, records: list[str]) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    records.clear()
    session.execute("warn")
    eventually(lambda: any(str(MANY - 5) in message for message in records))
    warnings = [message for message in records if message.startswith("Server warning")]
    assert 1 < len(warnings) < 10 and str(MANY - 5) in warnings[-1]
    for code in ("0", "a", "1001", "1002", "1003", "2000", "2100", "2200", "2300", "8000", "7777"):
        with pytest.raises(Exception) as caught:
            session.execute(SimpleStatement(f"fail {code}", is_idempotent=True))
        assert str(caught.value).isprintable() and repr(caught.value).isprintable()
        if isinstance(caught.value, NoHostAvailable):
            assert caught.value.errors
    session.execute("odd names")
    with pytest.raises(DriverException) as broken:
        session.execute("broken").all()
    assert str(broken.value).isprintable()
    with pytest.raises(Exception) as unknown:
        session.set_keyspace(EVIL + "x")
        session.execute("fail 2200")
    assert str(unknown.value).isprintable()


def test_events(cluster: Cluster, fake: FakeCluster, records: list[str]) -> None:
    cluster.connect(wait_for_all_pools=True)
    fake.push("STATUS_CHANGE", EVIL, ("10.2.2.2", 0))
    fake.push("STATUS_CHANGE", "UP", ("10.2.2.2", 70_000))
    fake.push("TOPOLOGY_CHANGE", EVIL, ("10.2.2.2", 9042))
    fake.push("SCHEMA_CHANGE", EVIL, "TABLE", EVIL, EVIL)
    fake.push("SCHEMA_CHANGE", "CREATED", EVIL, EVIL, EVIL)
    fake.push("SCHEMA_CHANGE", "CREATED", "KEYSPACE", EVIL)
    asked = sum(node.asked("system_schema.tables") for node in fake.nodes)
    eventually(lambda: sum(node.asked("system_schema.tables") for node in fake.nodes) > asked)
    eventually(lambda: any("10.2.2.2" in message for message in records))


@pytest.mark.usefixtures("as_driver_thread")
def test_a_flood_of_events_is_read_as_a_whole(cluster: Cluster, fake: FakeCluster) -> None:
    cluster.connect(wait_for_all_pools=True)
    router = cluster.control_connection.events
    asked = sum(node.asked("system_schema") for node in fake.nodes)
    connection = next(connection for node in fake.nodes for connection in node.registered)
    for number in range(5_000):
        body = string("SCHEMA_CHANGE") + string("CREATED") + string("TABLE") + string(f"ks{number}") + string(EVIL)
        connection.send(wire.EVENT, body, stream=-1)
    eventually(lambda: sum(node.asked("system_schema") for node in fake.nodes) > asked)
    eventually(lambda: len(router.take_pending_schema()) == 0)
    assert sum(node.asked("system_schema") for node in fake.nodes) - asked < 1_000


def test_nodes_come_and_go(cluster: Cluster, fake: FakeCluster, records: list[str]) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    for node in fake.nodes:
        node.rack = f"{EVIL}moved"
    cluster.refresh_nodes()
    added = fake.add_node()
    added.datacenter, added.rack = EVIL, EVIL
    cluster.refresh_nodes()
    eventually(lambda: any("New host" in message for message in records))
    fake.nodes[0].stop()
    eventually(lambda: any("marked down" in message for message in records))
    session.execute("SELECT now() FROM system.local")


def test_schema_that_is_not_understood(cluster: Cluster, fake: FakeCluster) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    keyspace = cluster.metadata.keyspaces[EVIL]
    assert EVIL in keyspace.tables
    fake.columns.append({**fake.columns[0], "column_name": EVIL, "kind": EVIL, "type": "<" * 200})
    cluster.refresh_schema_metadata()
    list(cluster.metadata.keyspaces[EVIL].tables.values())
    session.execute("SELECT now() FROM system.local")
