"""Schema changes of the cluster's own sessions, and waiting for agreement."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from cassandra._session.cluster import Cluster
from cassandra._session.control.schema_changes import SchemaAgreementScope
from cassandra.metadata import TableMetadata
from cassandra.policies import RoundRobinPolicy
from tests.checked_locks import as_driver
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, eventually
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("no_leaks")


def schema_change(change: str, target: str, *names: str) -> bytes:
    return wire.int32(5) + wire.string(change) + wire.string(target) + b"".join(map(wire.string, names))


class DDL:
    """Lets a fake cluster execute "CREATE TABLE ks.name" and tell of it as a server does."""

    def __init__(self, fake: FakeCluster) -> None:
        self.fake = fake
        self.before_answer: Callable[[], object] = lambda: None
        fake.on_query = self.on_query

    def on_query(self, node: Any, connection: Any, request: Any, text: str) -> bool:
        if not text.startswith("CREATE TABLE "):
            return False
        keyspace, table = text.split()[2].split(".")
        self.fake.add_table(keyspace, table, "k")
        event = ("SCHEMA_CHANGE", "CREATED", "TABLE", keyspace, table)
        self.fake.push(*event)
        self.before_answer()
        connection.answer(request, wire.RESULT, schema_change(*event[1:]))
        return True


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k", "v")
        yield made


@pytest.fixture(autouse=True)
def ddl(fake: FakeCluster) -> DDL:
    return DDL(fake)


OPTIONS: dict[str, Any] = {"load_balancing_policy": RoundRobinPolicy(), "schema_event_refresh_window": 0.05}


@pytest.fixture
def cluster(fake: FakeCluster) -> Iterator[Cluster]:
    with Cluster(fake.contact_points, **OPTIONS) as made:
        yield made


def asked(fake: FakeCluster, fragment: str) -> int:
    return sum(node.asked(fragment) for node in fake.nodes)


def test_the_metadata_is_there_when_the_statement_is_done(cluster: Cluster, fake: FakeCluster) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
    future.result()
    assert future.is_schema_agreed is True
    assert "fresh" in cluster.metadata.keyspaces["ks"].tables


def test_one_fetch_per_change(cluster: Cluster, fake: FakeCluster, ddl: DDL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra._session.control.events.random", lambda: 1.0)  # the whole window
    cluster.schema_event_refresh_window = 3600
    session = cluster.connect(wait_for_all_pools=True)
    events = cluster.control_connection.events
    ddl.before_answer = lambda: eventually(lambda: events._schema)  # the event is there before the answer
    before = asked(fake, "system_schema.tables")
    for number in range(5):
        session.execute(f"CREATE TABLE ks.fresh{number} (k text PRIMARY KEY)")
    as_driver(events._refresh_schema)  # the events' window passes
    cluster.control_connection.strand.call(lambda: None)
    assert asked(fake, "system_schema.tables") == before + 5


def test_statements_at_the_same_time_share_refreshes(cluster: Cluster, fake: FakeCluster) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    futures = [session.execute_async(f"CREATE TABLE ks.fresh{number} (k text PRIMARY KEY)") for number in range(40)]
    for future in futures:
        future.result()
    assert len(cluster.metadata.keyspaces["ks"].tables) == 41


def test_waiting_for_a_node_that_lags(cluster: Cluster, fake: FakeCluster) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    fake.nodes[1].schema_version = uuid4()
    future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
    eventually(lambda: asked(fake, "schema_version") > 3)
    assert not future._finished
    fake.nodes[1].schema_version = None
    future.result()
    assert future.is_schema_agreed is True


def test_a_node_that_never_agrees(fake: FakeCluster) -> None:
    fake.nodes[1].schema_version = uuid4()
    with Cluster(fake.contact_points, **OPTIONS, max_schema_agreement_wait=0.2) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
        future.result()
        assert future.is_schema_agreed is False
        assert "fresh" in cluster.metadata.keyspaces["ks"].tables


def test_nodes_that_are_down_need_not_agree(cluster: Cluster, fake: FakeCluster) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    node = fake.nodes[2]
    node.schema_version = uuid4()
    node.stop()
    host = cluster.metadata.get_host_by_host_id(node.host_id)
    eventually(lambda: host.is_up is False)  # type: ignore[union-attr]
    future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
    future.result()
    assert future.is_schema_agreed is True


def test_not_waiting_for_agreement(fake: FakeCluster) -> None:
    fake.nodes[1].schema_version = uuid4()
    with Cluster(fake.contact_points, **OPTIONS, max_schema_agreement_wait=0) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
        future.result()
        assert future.is_schema_agreed is True
        assert asked(fake, "SELECT schema_version") == 0
        assert "fresh" in cluster.metadata.keyspaces["ks"].tables


def test_without_schema_metadata_nothing_is_read(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS, schema_metadata_enabled=False) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        session.execute("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
        assert asked(fake, "system_schema") == 0


def test_without_a_control_connection_the_statement_still_ends(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points, **OPTIONS, max_schema_agreement_wait=0.2) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        cluster.control_connection.search.begin = lambda *args: None  # type: ignore[method-assign]
        cluster.control_connection.connection.close()  # type: ignore[union-attr]
        eventually(lambda: cluster.control_connection.connection is None)
        future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
        future.result()
        assert future.is_schema_agreed is True  # the node that made the change knows the others' versions


def test_a_change_that_is_not_everywhere_though_the_others_agree(cluster: Cluster, fake: FakeCluster) -> None:
    """The control connection's node, and all its peers as it sees them, still have the version before the change."""
    session = cluster.connect(wait_for_all_pools=True)
    control = next(node for node in fake.nodes if node.registered)
    other = next(node for node in fake.nodes if node is not control)
    before = fake.schema_version
    for node in fake.nodes:
        node.schema_version = before
    host = cluster.metadata.get_host_by_host_id(other.host_id)
    done: list[Any] = []
    other.schema_version = uuid4()
    control_peers = control.peers
    control.peers = lambda: [{**row, "schema_version": before} for row in control_peers()]  # type: ignore[method-assign]
    event = {"target_type": "TABLE", "change_type": "CREATED", "keyspace": "ks", "table": "t"}
    as_driver(cluster.handle_schema_change, event, host, lambda *args: done.append(args))
    eventually(lambda: control.asked("SELECT schema_version") >= 2)
    assert session and not done
    for node in fake.nodes:
        node.schema_version = other.schema_version
    eventually(lambda: done == [(True, None)])


def test_a_shutdown_ends_the_wait(fake: FakeCluster) -> None:
    fake.nodes[1].schema_version = uuid4()
    cluster = Cluster(fake.contact_points, **OPTIONS, max_schema_agreement_wait=600)
    session = cluster.connect(wait_for_all_pools=True)
    future = session.execute_async("CREATE TABLE ks.fresh (k text PRIMARY KEY)")
    eventually(lambda: asked(fake, "SELECT schema_version"))
    done = threading.Event()
    future.add_callbacks(lambda rows: done.set(), lambda error: done.set())
    cluster.shutdown()
    assert done.wait(PATIENCE)
    outcome: list[Any] = []
    as_driver(cluster.handle_schema_change, {}, None, lambda *args: outcome.append(args))
    assert outcome[0][0] is False and "shut down" in str(outcome[0][1])


# ---- Session.wait_for_schema_agreement


def test_agreement_by_scope(cluster: Cluster, fake: FakeCluster) -> None:
    fake.nodes[1].rack = fake.nodes[0].rack
    fake.nodes[2].datacenter = "dc2"
    session = cluster.connect(wait_for_all_pools=True)
    wait = session.wait_for_schema_agreement
    assert all(wait(PATIENCE, scope) for scope in SchemaAgreementScope)
    assert wait() and wait(scope="cluster")  # type: ignore[arg-type]
    fake.nodes[2].schema_version = uuid4()
    assert wait(PATIENCE, SchemaAgreementScope.DC) and wait(PATIENCE, SchemaAgreementScope.RACK)
    assert not wait(0.05, SchemaAgreementScope.CLUSTER)
    fake.nodes[2].schema_version = None
    fake.nodes[1].schema_version = uuid4()
    assert not wait(0.05, SchemaAgreementScope.RACK)


def test_agreement_asks_each_node_itself(cluster: Cluster, fake: FakeCluster) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    before = [node.asked("SELECT schema_version") for node in fake.nodes]
    assert session.wait_for_schema_agreement(PATIENCE)
    assert [node.asked("SELECT schema_version") - b for node, b in zip(fake.nodes, before, strict=True)] == [1, 1, 1]


def test_a_connected_node_that_does_not_answer_does_not_agree(cluster: Cluster, fake: FakeCluster) -> None:
    session = cluster.connect(wait_for_all_pools=True)
    fake.nodes[1].pause()
    assert not session.wait_for_schema_agreement(0.2)
    fake.nodes[1].resume()
    assert session.wait_for_schema_agreement(PATIENCE)


@pytest.mark.parametrize("wait_time", [0, -1, -0.5])
def test_wait_time_must_be_positive(cluster: Cluster, wait_time: float) -> None:
    session = cluster.connect()
    with pytest.raises(ValueError, match="wait_time"):
        session.wait_for_schema_agreement(wait_time)


@pytest.mark.parametrize("scope", ["planet", None, 3])
def test_unknown_scope(cluster: Cluster, scope: Any) -> None:
    session = cluster.connect()
    with pytest.raises(ValueError, match="scope"):
        session.wait_for_schema_agreement(1, scope)


def tables_made() -> set[str]:
    return {one.name for one in gc.get_objects() if isinstance(one, TableMetadata) and one.keyspace_name == "lazy"}


def test_tables_are_decoded_on_first_access(fake: FakeCluster) -> None:
    """A look at one makes no other one, nor does a change by another client."""
    for name in ("t", "u"):
        fake.add_table("lazy", name, "k", "v")
    with Cluster(fake.contact_points, **{**OPTIONS, "schema_event_refresh_window": 0}) as cluster:
        cluster.connect()
        fake.add_table("lazy", "fresh", "k")
        fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "lazy", "fresh")
        eventually(lambda: "fresh" in cluster.metadata.keyspaces["lazy"].tables)
        assert tables_made() == set()
        table = cluster.metadata.keyspaces["lazy"].tables["t"]
        assert list(table.columns) == ["k", "v"] and tables_made() == {"t"}
        fake.add_table("lazy", "later", "k")
        fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "lazy", "later")
        eventually(lambda: "later" in cluster.metadata.keyspaces["lazy"].tables)
        assert tables_made() == {"t"} and cluster.metadata.keyspaces["lazy"].tables["t"] is table
        assert list(cluster.metadata.keyspaces["lazy"].tables) == ["fresh", "later", "t", "u"]


def test_changes_of_one_refresh_are_published_together(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them cannot be read at first: none is seen before it can."""
    monkeypatch.setattr("cassandra._session.control.control.FIRST", 0.05)
    refused: list[set[str]] = []
    with Cluster(fake.contact_points, **{**OPTIONS, "schema_event_refresh_window": 0.05}) as cluster:
        cluster.connect()

        def refuse(node: Any, connection: Any, request: Any, text: str) -> bool:
            if "system_schema.tables" not in text or "'b'" not in text or len(refused) >= 3:
                return False
            refused.append(set(cluster.metadata.keyspaces["ks"].tables))
            connection.answer(request, wire.ERROR, wire.error(0x1001, "overloaded"))
            return True

        fake.on_query = refuse
        monkeypatch.setattr("cassandra._session.control.events.random", lambda: 1.0)
        for name in ("a", "b"):
            fake.add_table("ks", name, "k")
            fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "ks", name)
        eventually(lambda: set(cluster.metadata.keyspaces["ks"].tables) == {"a", "b", "t"})
    assert refused == [{"t"}] * 3


def test_an_event_during_the_first_read_of_a_keyspace(
    cluster: Cluster, fake: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is fetched for itself: objects that the program has got since are not replaced by reading all again."""
    monkeypatch.setattr("cassandra._session.control.events.random", lambda: 1.0)  # the whole window
    cluster.schema_event_refresh_window = 3600
    cluster.connect()
    events = cluster.control_connection.events
    fake.add_table("fresh", "t", "k")
    fake.add_table("fresh", "u", "k")

    def push(node: Any, connection: Any, request: Any, text: str) -> bool:
        if "system_schema.tables" in text and not events._schema:
            fake.push("SCHEMA_CHANGE", "CREATED", "TABLE", "fresh", "t")
            eventually(lambda: events._schema)
        return False

    fake.on_query = push
    cluster.refresh_keyspace_metadata("fresh")
    fake.on_query = None
    keyspace = cluster.metadata.keyspaces["fresh"]
    t, u = keyspace.tables["t"], keyspace.tables["u"]
    as_driver(events._refresh_schema)  # the events' window passes
    eventually(lambda: keyspace.tables["t"] is not t)
    assert cluster.metadata.keyspaces["fresh"] is keyspace and keyspace.tables["u"] is u
