"""Metadata that is read while it is refreshed, listeners that come and go, and metrics."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Host, Session
from cassandra.metrics import IntStat, Metrics, PmfStat
from cassandra.policies import HostStateListener
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE, eventually
from tests.threads.conftest import Connect
from tests.threads.harness import THREADS, beside, size, together

TURNS = size("FASTCQL_TURNS", 20)


def test_the_schema_while_it_is_refreshed(simulated: SimulatedCluster, table: Session) -> None:
    """A table that stays is always there, whole; others come and go, whole."""
    cluster = table.cluster
    metadata = cluster.metadata
    steps = itertools.count()

    def change() -> None:
        number = next(steps)
        simulated.execute(f"CREATE TABLE ks.u{number} (a int PRIMARY KEY, b text, c set<int>)")
        cluster.refresh_table_metadata("ks", f"u{number}")
        simulated.execute(f"DROP TABLE ks.u{number}")

    def work(number: int) -> None:
        for turn in range(TURNS):
            if number < 2 and turn % 5 == 0:
                cluster.refresh_schema_metadata()
            keyspace = metadata.keyspaces["ks"]
            assert list(keyspace.tables["t"].columns) == ["id", "v"]
            for name, other in dict(keyspace.tables).items():
                assert name == "t" or list(other.columns) == ["a", "b", "c"]
            assert "CREATE TABLE ks.t " in keyspace.export_as_string()
            assert "CREATE KEYSPACE ks " in metadata.export_schema_as_string()
            assert len(metadata.all_hosts()) == 3
            assert all(part.replicas for part in metadata.token_ranges("ks", "t"))
            assert set(metadata.get_replicas("ks", b"\0\0\0\1")) <= set(metadata.all_hosts())

    with beside(change):
        together(work)
    cluster.refresh_schema_metadata()
    assert list(metadata.keyspaces["ks"].tables) == ["t"]


def test_hosts_while_they_come_and_go(simulated: SimulatedCluster, table: Session) -> None:
    """Nodes join and leave: a snapshot of the ring has replicas for every range."""
    metadata = table.cluster.metadata
    stays = {host.host_id for host in metadata.all_hosts()}

    def change() -> None:
        node = simulated.add_node(shards=1)
        table.cluster.refresh_nodes()
        simulated.remove_node(node)
        table.cluster.refresh_nodes()

    def work(number: int) -> None:
        for _ in range(TURNS):
            known = metadata.all_hosts()
            assert stays <= {host.host_id for host in known} and len(known) == len(set(known)) <= 4
            for host in known:
                assert metadata.get_host(host.endpoint) in (host, None)
                assert host.host_id is not None and metadata.get_host_by_host_id(host.host_id) in (host, None)
            assert table.execute("SELECT v FROM t WHERE id = 4").one().v == 28

    with beside(change):
        together(work)


class Recorder(HostStateListener):
    """Counts the events of each kind."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()

    def on_up(self, host: Host) -> None:
        self.events["up"] += 1

    def on_down(self, host: Host) -> None:
        self.events["down"] += 1

    def on_add(self, host: Host) -> None:
        self.events["add"] += 1

    def on_remove(self, host: Host) -> None:
        self.events["remove"] += 1


def test_listeners_that_threads_register(simulated: SimulatedCluster, table: Session) -> None:
    """None is lost, and none that was removed is left; each is told of a host once."""
    cluster = table.cluster
    for _ in range(TURNS):
        kept: list[Recorder] = [Recorder() for _ in range(THREADS)]
        gone: list[Recorder] = [Recorder() for _ in range(THREADS)]

        def work(number: int, kept: list[Recorder] = kept, gone: list[Recorder] = gone) -> None:
            cluster.register_listener(gone[number])
            cluster.register_listener(kept[number])
            cluster.register_listener(kept[0])
            cluster.unregister_listener(gone[number])

        together(work)
        assert set(kept) <= set(cluster.listeners) and not set(gone) & set(cluster.listeners)
        together(lambda number, kept=kept: cluster.unregister_listener(kept[number]))  # type: ignore[misc]
        assert not set(kept) & set(cluster.listeners)

    last = [Recorder() for _ in range(THREADS)]
    together(lambda number: cluster.register_listener(last[number]))
    node = simulated.add_node(shards=1)
    eventually(lambda: all(recorder.events["add"] for recorder in last))
    simulated.remove_node(node)
    eventually(lambda: all(recorder.events["remove"] for recorder in last))
    assert all(recorder.events["add"] == recorder.events["remove"] == 1 for recorder in last)
    with pytest.raises(KeyError):
        cluster.unregister_listener(Recorder())


def test_metrics_of_requests(simulated: SimulatedCluster, table: Session, connect: Connect) -> None:
    """Each request is counted once, while all threads read the figures."""
    session = connect(simulated, "ks", metrics_enabled=True)
    metrics = session.cluster.metrics
    assert isinstance(metrics, Metrics)
    select = session.prepare("SELECT v FROM t WHERE id = ?")
    before = metrics.request_timer["count"]

    def work(number: int) -> None:
        for turn in range(TURNS):
            assert session.execute(select, (turn,)).one().v == turn * 7
            stats: dict[str, Any] = metrics.get_stats()
            assert stats["known_hosts"] == 3 and stats["request_timer"]["count"] > before

    together(work)
    assert metrics.request_timer["count"] == before + THREADS * TURNS
    assert int(metrics.connection_errors) == 0


def test_metrics_of_many_profiles(simulated: SimulatedCluster, table: Session, connect: Connect) -> None:
    """Threads that use a profile for the first time at the same time take one series for it, or leave it to the common
    one: no request fails, and each is counted."""
    names = [f"p{number}" for number in range(80)]
    profiles = {name: ExecutionProfile() for name in names}
    session = connect(simulated, "ks", metrics_enabled=True, execution_profiles=profiles)
    metrics = session.cluster.metrics
    assert isinstance(metrics, Metrics)

    def work(number: int) -> None:
        for name in names:
            session.execute("SELECT v FROM t WHERE id = 1", execution_profile=name)

    together(work)
    found = metrics.snapshot()
    assert sum(found.total(profile=name).requests for name in [*names, "other"]) == THREADS * len(names)


def test_numbers_of_programs() -> None:
    """Counters and distributions that all threads add to."""
    count, times = IntStat("count"), PmfStat("times")

    def work(number: int) -> None:
        nonlocal count
        for turn in range(200):
            count.increment()
            count += 2
            times.addValue(float(turn))

    together(work)
    assert count == THREADS * 600
    assert (times["count"], times["min"], times["max"]) == (THREADS * 200, 0.0, 199.0)


def test_execution_profiles_that_threads_add(table: Session) -> None:
    cluster: Cluster = table.cluster

    def work(number: int) -> None:
        for turn in range(5):
            name = f"{number} {turn}"
            clone = table.execution_profile_clone_update("reading", request_timeout=PATIENCE + number)
            cluster.add_execution_profile(name, clone)
            found = table.execute("SELECT v FROM t WHERE id = 2", execution_profile=name)
            assert found.one().v == 14
            assert table.get_execution_profile(name).request_timeout == PATIENCE + number

    cluster.add_execution_profile("reading", table.get_execution_profile(EXEC_PROFILE_DEFAULT))
    together(work)
