"""The registry of prepared statements, and preparing again on hosts that come up."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import DriverException
from cassandra._session.cluster import Cluster
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, FakeNode, eventually

pytestmark = pytest.mark.usefixtures("no_leaks")

OPTIONS: dict[str, Any] = {
    "reconnection_policy": ConstantReconnectionPolicy(0.05),
    "load_balancing_policy": RoundRobinPolicy(),
    "prepare_on_all_hosts": False,
    "reprepare_rate": None,
    "status_event_refresh_window": 0,
}


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        yield made


def bounce(cluster: Cluster, node: FakeNode) -> None:
    host: Any = cluster.metadata.get_host_by_host_id(node.host_id)
    node.stop()
    eventually(lambda: host.is_up is False)
    node.prepared.clear()
    node.queries.clear()
    node.start()
    eventually(lambda: host.is_up)


def test_the_registry_is_weak(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS) as cluster:
        session = cluster.connect()
        kept = session.prepare("SELECT kept")
        dropped = session.prepare("SELECT dropped")
        query_id = dropped.query_id
        assert cluster.get_prepared(kept.query_id) is kept
        assert cluster.get_prepared(query_id) is dropped
        del dropped
        # a driver thread may still prepare it on another host
        eventually(lambda: gc.collect() >= 0 and cluster.get_prepared(query_id) is None)
        assert cluster.get_prepared(b"unknown") is None
        assert cluster.prepared.all() == [kept]


@pytest.mark.parametrize("version", [4, 5])
def test_a_host_that_has_come_up_gets_the_statements(fake: FakeCluster, version: int) -> None:
    """Each on a connection in its own keyspace."""
    with Cluster(fake.contact_points, **OPTIONS, protocol_version=version) as cluster:
        first = cluster.connect("one", wait_for_all_pools=True)
        second = cluster.connect("two", wait_for_all_pools=True)
        plain = cluster.connect(wait_for_all_pools=True)
        statements = [first.prepare(f"SELECT one {n}") for n in range(37)]
        statements += [second.prepare("SELECT two"), plain.prepare("SELECT plain")]
        node = fake.nodes[1]
        bounce(cluster, node)
        expected = sorted(statement.query_string for statement in statements)
        eventually(lambda: sorted(node.prepared) == expected)
        eventually(lambda: not cluster.prepared.ahead)


def test_a_host_is_up_before_its_statements_are_prepared(fake: FakeCluster) -> None:
    """However many there are: the first one of these would be prepared in half an hour, on average."""
    options = {**OPTIONS, "reprepare_rate": 1 / 3600}
    with Cluster(fake.contact_points, **options) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        statements = [session.prepare(f"SELECT {n}") for n in range(100)]
        node = fake.nodes[1]
        bounce(cluster, node)
        assert len(node.prepared) <= 1
        for statement in statements[:10]:
            session.execute(statement)
            session.execute(statement)
        assert len(node.prepared) <= 1, "this server executes what it is told"


def test_one_that_goes_down_again_gets_no_more(fake: FakeCluster) -> None:
    options = {**OPTIONS, "reprepare_rate": 1 / 3600}
    with Cluster(fake.contact_points, **options) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        statement = session.prepare("SELECT 1")
        node = fake.nodes[1]
        bounce(cluster, node)
        host: Any = cluster.metadata.get_host_by_host_id(node.host_id)
        eventually(lambda: host in cluster.prepared.ahead)
        node.stop()
        eventually(lambda: host.is_up is False and host not in cluster.prepared.ahead)
        del statement


def test_reprepare_on_up_can_be_turned_off(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS, reprepare_on_up=False) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        statement = session.prepare("SELECT kept")
        bounce(cluster, fake.nodes[1])
        assert fake.nodes[1].prepared == []
        del statement


def test_statements_that_cannot_be_prepared_do_not_keep_a_host_down(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS, protocol_version=4) as cluster:
        session = cluster.connect("gone", wait_for_all_pools=True)
        statements = [session.prepare("SELECT 1"), session.prepare("SELECT 2")]
        session.shutdown()
        other = cluster.connect(wait_for_all_pools=True)

        def refuse(node: Any, connection: Any, request: Any, text: str) -> bool:
            if text.startswith("USE"):
                connection.answer(request, wire.ERROR, wire.error(0x2200, "no such keyspace"))
            return text.startswith("USE")

        fake.on_query = refuse
        bounce(cluster, fake.nodes[1])
        assert fake.nodes[1].prepared == []
        assert len(other._pools) == 2
        del statements


# ---- a table that was dropped and created again, with a parameter of another type

INT, TEXT = 0x09, 0x0D


@pytest.fixture
def parameter(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """``parameter(type)``: from now on statements are prepared with one parameter of that type."""

    def is_of(kind: int) -> None:
        def body(version: int, text: str) -> bytes:
            ids = wire.short_bytes(hashlib.md5(text.encode()).digest()) * (2 if version >= 5 else 1)
            column = wire.string("ks") + wire.string("t") + wire.string("v") + wire.short(kind)
            bound = wire.int32(1) + wire.int32(1) + wire.int32(0) + column
            return wire.int32(4) + ids + bound + wire.int32(4) + wire.int32(0)

        monkeypatch.setattr(FakeNode, "_prepared", staticmethod(body))

    return is_of


OUTDATED = r"'v' of ks.t is of type text, where it was int.*prepare it again"


def test_is_noticed_when_a_host_comes_up(
    fake: FakeCluster, parameter: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    parameter(INT)
    with Cluster(fake.contact_points, **OPTIONS) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        statement = session.prepare("INSERT INTO ks.t (v) VALUES (?)")
        bound = statement.bind((1,))
        session.execute(bound)
        parameter(TEXT)
        bounce(cluster, fake.nodes[1])
        eventually(lambda: statement._outdated)
        with pytest.raises(DriverException, match=OUTDATED):
            session.execute(bound)
        eventually(lambda: "could not be prepared" in caplog.text)
        assert "where it was int" in caplog.text
    caplog.clear()


def test_outdated_statements_are_noticed_after_a_new_prepare(
    fake: FakeCluster, parameter: Callable[[int], None]
) -> None:
    """Then the server knows its id again, and would read old values as another type."""
    parameter(INT)
    with Cluster(fake.contact_points, **OPTIONS) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        first, second = (session.prepare("INSERT INTO ks.t (v) VALUES (?)") for _ in range(2))
        session.execute(first, (1,))
        parameter(TEXT)
        anew = session.prepare("INSERT INTO ks.t (v) VALUES (?)")
        for old in (first, second):
            with pytest.raises(DriverException, match=OUTDATED):
                session.execute(old, (1,))
        session.execute(anew, ("text",))
