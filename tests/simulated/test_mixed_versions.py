"""A rolling upgrade: some nodes speak protocol 5, others only 4, and no request fails for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cassandra import UnsupportedOperation
from cassandra._net import health
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Close
from tests.checked_locks import as_driver
from tests.patience import PATIENCE
from tests.simulated.conftest import eventually

pytestmark = pytest.mark.long

METADATA_IDS = "SCYLLA_USE_METADATA_ID"
LISTED = "PROTOCOL_VERSIONS"
#: options that servers do not report: none (Cassandra 4 and newer), or which versions they have (older ones, ScyllaDB)
SERVERS = pytest.mark.parametrize(
    "without", [(METADATA_IDS,), (METADATA_IDS, LISTED), ()], ids=["listed", "not", "ids"]
)
SCHEMA = (
    "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}",
    "CREATE TABLE ks.t (id int PRIMARY KEY, v text)",
)
OPTIONS: dict[str, Any] = {"topology_event_refresh_window": 0, "status_event_refresh_window": 0}


def mixed(without: Sequence[str], *versions: tuple[int, ...], shards: int = 1) -> SimulatedCluster:
    """A cluster of nodes that speak *versions* each, with keyspace ks and table t."""
    simulated = SimulatedCluster(len(versions), shards, protocol_versions=(3, 4, 5), tablets=False, without=without)
    simulated.start()
    for node, spoken in zip(simulated.nodes, versions, strict=True):
        node.versions = spoken
    for statement in SCHEMA:
        simulated.execute(statement)
    return simulated


OLD, NEW = (3, 4), (3, 4, 5)


def versions_of(session: Session) -> dict[str, set[int]]:
    return {
        str(pool.host.address): {connection.protocol_version for connection in pool.get_connections()}
        for pool in session.get_pools()
    }


def speaks_everywhere(session: Session, nodes: int, version: int) -> bool:
    """Whether it is the cluster's version, and that of all connections."""
    found = versions_of(session)
    return (
        session.cluster.protocol_version == version
        and len(found) == nodes
        and all(one == {version} for one in found.values())
    )


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "protocol version" in record.getMessage()]


class Use:
    """Prepared statements and a session that live through everything."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.insert = session.prepare("INSERT INTO ks.t (id, v) VALUES (?, ?)")
        self.select = session.prepare("SELECT id, v FROM ks.t WHERE id = ?")
        self.next = 0

    def __call__(self, count: int = 30) -> None:
        numbers = range(self.next, self.next + count)
        self.next += count
        for number in numbers:
            self.session.execute(self.insert, (number, f"v{number}"))
            assert self.session.execute(self.select, (number,)).one() == (number, f"v{number}")
        self.session.execute("INSERT INTO ks.t (id, v) VALUES (-1, 'text')")
        bound = self.select.bind((-1,))
        assert self.session.execute(bound).one().v == "text"
        results = execute_concurrent_with_args(self.session, self.select, [(number,) for number in numbers])
        assert [result.result_or_exc.one().id for result in results] == list(numbers)


@pytest.fixture
def used(no_leaks: None) -> Iterator[list[Any]]:
    """Objects that are closed after the test."""
    opened: list[Any] = []
    yield opened
    for one in reversed(opened):
        (one.shutdown if isinstance(one, Cluster) else one.close)()
    opened.clear()


def connected(used: list[Any], simulated: SimulatedCluster, **options: Any) -> Session:
    used.append(simulated)
    cluster = Cluster(simulated.contact_points, port=simulated.port, **{**OPTIONS, **options})
    used.append(cluster)
    return cluster.connect(wait_for_all_pools=True)


@SERVERS
@pytest.mark.parametrize("first", [OLD, NEW], ids=["old-first", "new-first"])
def test_the_highest_that_all_speak(
    used: list[Any], caplog: pytest.LogCaptureFixture, without: Sequence[str], first: tuple[int, ...]
) -> None:
    """Whichever node is asked first; no host is down for a moment, and one warning reports the change."""
    second = NEW if first is OLD else OLD
    session = connected(used, mixed(without, first, second, first))
    assert len(session.get_pools()) == 3
    assert all(host.is_up for host in session.cluster.metadata.all_hosts())
    if LISTED in without and first is OLD:  # no node reports that it supports 5
        assert session.cluster.protocol_version == 4
    else:
        eventually(lambda: speaks_everywhere(session, 3, 4))
        (warning,) = warnings(caplog)
        assert "some only version 4" in warning and "up to 5" in warning
        named = [node.versions for node in used[0].nodes if f"{node.address}:{node.port}" in warning]
        assert named and set(named) == {OLD}, "as many as are known by then"
    Use(session)()
    assert "marked down" not in caplog.text


@SERVERS
def test_up_when_the_last_one_was_upgraded(
    used: list[Any], caplog: pytest.LogCaptureFixture, without: Sequence[str]
) -> None:
    simulated = mixed(without, NEW, OLD, OLD)
    session = connected(used, simulated)
    eventually(lambda: speaks_everywhere(session, 3, 4))
    use = Use(session)
    use()
    for node, version in ((simulated.nodes[1], 4), (simulated.nodes[2], 5)):
        node.stop()
        eventually(lambda: len(session.get_pools()) == 2)
        use()
        node.versions = NEW
        node.start()
        eventually(lambda version=version: speaks_everywhere(session, 3, version))
        use()
    assert len([text for text in warnings(caplog) if "only version 4" in text]) == 1
    use()


@SERVERS
def test_a_whole_rolling_upgrade_and_back(
    used: list[Any], caplog: pytest.LogCaptureFixture, without: Sequence[str]
) -> None:
    """From a cluster that speaks 4 throughout to one that speaks 5, and back to the old release."""
    simulated = mixed(without, OLD, OLD, OLD)
    session = connected(used, simulated)
    assert session.cluster.protocol_version == 4
    use = Use(session)
    for versions in (NEW, OLD):
        for node in simulated.nodes:
            use()
            node.stop()
            eventually(lambda: len(session.get_pools()) == 2)
            use()
            node.versions = versions
            node.start()
            eventually(lambda: len(session.get_pools()) == 3)
            use()
        eventually(lambda versions=versions: speaks_everywhere(session, 3, max(versions)))
        use()
    assert len([text for text in warnings(caplog) if "only version 4" in text]) == 2, "once each time"


@pytest.mark.parametrize("without", [(METADATA_IDS,), ()], ids=["none", "ids"])
def test_requests_in_flight_survive_the_change(
    used: list[Any], without: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connections of the old version end when their requests are answered: no request fails."""
    monkeypatch.setattr(health, "QUIET", PATIENCE)  # nodes that wait for a busy machine are not silent
    monkeypatch.setattr(health, "GRACE", PATIENCE)
    simulated = mixed(without, NEW, OLD, shards=2)
    session = connected(used, simulated)
    eventually(lambda: speaks_everywhere(session, 2, 4))
    use = Use(session)
    errors: list[BaseException] = []
    stop = threading.Event()

    def run() -> None:
        try:
            while not stop.is_set():
                futures = [session.execute_async(use.insert, (n, "x")) for n in range(50)]
                for future in futures:
                    future.result()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for versions in (NEW, OLD, NEW):  # without a restart: requests in flight to this node are none of the matter
            simulated.nodes[1].versions = versions
            for pool in session.get_pools():  # a connection that is opened anew tells
                if pool.host.address == simulated.nodes[1].address:
                    as_driver(pool._replace, pool.get_connections()[0])
            eventually(lambda versions=versions: speaks_everywhere(session, 2, max(versions)) or errors)
            assert not errors
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors


def test_removing_the_old_node_raises_the_protocol_version(used: list[Any]) -> None:
    simulated = mixed((METADATA_IDS,), NEW, NEW, OLD)
    session = connected(used, simulated)
    eventually(lambda: speaks_everywhere(session, 3, 4))
    simulated.remove_node(simulated.nodes[2])
    eventually(lambda: speaks_everywhere(session, 2, 5))
    Use(session)()


def test_a_node_that_joins_with_an_older_version(used: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    simulated = mixed((METADATA_IDS,), NEW, NEW)
    session = connected(used, simulated)
    assert speaks_everywhere(session, 2, 5)
    use = Use(session)
    simulated.protocol_versions = OLD
    simulated.add_node()
    eventually(lambda: speaks_everywhere(session, 3, 4))
    use()
    assert len(warnings(caplog)) == 1


def test_statements_that_need_version_5_are_refused_by_all_nodes_alike(used: list[Any]) -> None:
    session = connected(used, mixed((METADATA_IDS,), NEW, OLD))
    eventually(lambda: speaks_everywhere(session, 2, 4))
    with pytest.raises(UnsupportedOperation):
        session.prepare("SELECT * FROM t WHERE id = ?", keyspace="ks")


def test_a_version_that_was_given_is_kept(used: list[Any]) -> None:
    """Then a node that does not speak it cannot be used, and the error says so."""
    simulated = mixed((METADATA_IDS,), NEW, OLD)
    session = connected(used, simulated, protocol_version=5)
    assert versions_of(session) == {simulated.nodes[0].address: {5}}
    cluster = Cluster([simulated.nodes[1].address], port=simulated.port, protocol_version=5)
    used.append(cluster)
    with pytest.raises(NoHostAvailable, match="5"):
        cluster.connect()
    session4 = connected(used, mixed((METADATA_IDS,), NEW, OLD), protocol_version=4)
    assert speaks_everywhere(session4, 2, 4)


def test_a_node_that_closes_connections_while_it_starts_does_not_lower_the_version(
    used: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Once a version is known, only an explicit error of a server lowers it."""
    simulated = mixed((METADATA_IDS,), NEW, NEW)
    session = connected(used, simulated)
    rule = simulated.inject(Close(), opcode="CONNECT", node=1, times=3)
    simulated.nodes[1].restart()
    eventually(lambda: rule.hits == 3 and speaks_everywhere(session, 2, 5))
    assert warnings(caplog) == []
