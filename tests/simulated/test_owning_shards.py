"""Requests come to the shard that owns their partition: by the counts of the simulated nodes themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args, execute_concurrent_with_args_async
from cassandra.query import PreparedStatement
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect, eventually

pytestmark = pytest.mark.long

KEYS = range(300)
MIGRATIONS, BETWEEN = 100, 101
TABLETS = 32


@pytest.fixture(params=[False, True], ids=["v1", "v2"])
def simulated(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=3, shards=4, tablets_v2=request.param) as cluster:
        cluster.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
            f"AND tablets = {{'initial': {TABLETS}}}"
        )
        cluster.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        yield cluster


@pytest.fixture
def session(simulated: SimulatedCluster, connect: Connect) -> Session:
    """A session with a connection to every shard."""
    made = connect(simulated, "ks")
    eventually(lambda: is_on_every_shard(simulated, made))
    return made


def is_on_every_shard(simulated: SimulatedCluster, session: Session) -> bool:
    stats = session.cluster.shard_aware_stats() or {}
    shards = {f"{node.address}:{node.port}": node.shards for node in simulated.members()}
    return {at: (one["shards_count"], one["connected"]) for at, one in stats.items()} == {
        at: (count, count) for at, count in shards.items()
    }


def outcomes(simulated: SimulatedCluster) -> list[bool | None]:
    """Of each request whether it came to the owner, since the last time."""
    found = [request.on_owner for request in simulated.statements("ks.t")]
    simulated.clear_requests()
    return found


def one_by_one(session: Session, insert: PreparedStatement) -> None:
    for key in KEYS:
        session.execute(insert, (key, key))


def concurrently(session: Session, insert: PreparedStatement) -> None:
    execute_concurrent_with_args(session, insert, [(key, key) for key in KEYS])


def on_a_loop(session: Session, insert: PreparedStatement) -> None:
    async def run() -> None:
        async for success, _ in execute_concurrent_with_args_async(session, insert, [(key, key) for key in KEYS]):
            assert success
        await asyncio.gather(*(session.execute_async(insert.bind((key, key))) for key in KEYS))

    asyncio.run(run())


def traced(session: Session, insert: PreparedStatement) -> None:
    for key in KEYS:
        session.execute(insert, (key, key), trace=True)


WAYS = [one_by_one, concurrently, on_a_loop, traced]


def warm_up(simulated: SimulatedCluster, session: Session, insert: PreparedStatement) -> None:
    """Until everything is known; by version 2 a block may be right by chance, so that nothing is learned."""

    def is_warm() -> bool:
        simulated.clear_requests()
        concurrently(session, insert)
        find, requests = session.cluster.metadata._tablets.get_tablet_for_key, simulated.statements("ks.t")
        simulated.clear_requests()
        return all(request.on_owner and find("ks", "t", request.token) is not None for request in requests)

    eventually(is_warm)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_after_warm_up_all_of_them(
    simulated: SimulatedCluster, session: Session, way: Callable[[Session, Any], None]
) -> None:
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    warm_up(simulated, session, insert)
    way(session, insert)
    # Which of its two replicas a tablet's request asks depends on their load: at least half of the 12 shards are asked.
    assert len(simulated.shard_hits("ks.t")) >= 6
    found = outcomes(simulated)
    assert len(found) >= len(KEYS) and all(found)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_after_prefetch_the_first_one_too(
    simulated: SimulatedCluster, session: Session, way: Callable[[Session, Any], None]
) -> None:
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    assert session.prefetch_tablets("ks", "t") == TABLETS
    simulated.clear_requests()
    way(session, insert)
    assert all(outcomes(simulated))


def test_during_migrations_nearly_all_of_them(simulated: SimulatedCluster, session: Session) -> None:
    """A tablet that moved costs one request that is a hop longer: then its new place is known. By version 2 also who
    asks a replica that stayed is told."""
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    warm_up(simulated, session, insert)
    ids = [node.host_id for node in simulated.nodes]
    migrations = MIGRATIONS if not session.cluster._version_blocks else MIGRATIONS // 3
    for number in range(migrations):
        tablet = simulated.tablets("ks.t")[number % TABLETS]
        held = tablet.replicas[number % 2][0]
        (free,) = (host for host in ids if host not in dict(tablet.replicas))
        simulated.migrate_tablet("ks.t", tablet.last_token, ids.index(held), ids.index(free), number % 4)
        for key in range(BETWEEN):
            session.execute(insert, (number * 7 + key, key))
    found = outcomes(simulated)
    assert len(found) == migrations * BETWEEN
    assert found.count(True) >= 0.99 * len(found)
    assert found.count(False) > 0  # else nothing was tested
    warm_up(simulated, session, insert)


def test_after_splits_and_merges(simulated: SimulatedCluster, session: Session) -> None:
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    warm_up(simulated, session, insert)
    simulated.split_tablets("ks.t")
    concurrently(session, insert)
    assert all(outcomes(simulated))  # the halves stay where the whole was
    ids = [node.host_id for node in simulated.nodes]
    for tablet in simulated.tablets("ks.t")[::2]:
        (held, shard), _ = tablet.replicas
        simulated.migrate_tablet("ks.t", tablet.last_token, ids.index(held), ids.index(held), (shard + 1) % 4)
    warm_up(simulated, session, insert)
    simulated.merge_tablets("ks.t")
    warm_up(simulated, session, insert)


def test_after_a_node_has_other_shards(simulated: SimulatedCluster, session: Session) -> None:
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    insert.is_idempotent = True
    warm_up(simulated, session, insert)
    simulated.nodes[1].reshard(2)
    eventually(lambda: is_on_every_shard(simulated, session))
    warm_up(simulated, session, insert)


def test_after_nodes_join_and_leave(simulated: SimulatedCluster, session: Session) -> None:
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    insert.is_idempotent = True
    warm_up(simulated, session, insert)
    simulated.add_node()
    simulated.rebalance()
    eventually(lambda: is_on_every_shard(simulated, session))
    warm_up(simulated, session, insert)
    simulated.remove_node(simulated.nodes[0])
    eventually(lambda: is_on_every_shard(simulated, session))
    warm_up(simulated, session, insert)


def test_conditional_statements_go_to_the_first_replica(simulated: SimulatedCluster, session: Session) -> None:
    """Whoever contends for a row does so at one place."""
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?) IF NOT EXISTS")
    assert insert.is_lwt() and insert.bind((1, 1)).is_lwt()
    session.prefetch_tablets("ks", "t")
    for _ in range(6 if session.cluster._version_blocks else 0):  # then they come in another order
        concurrently(session, insert)
    simulated.clear_requests()
    for _ in range(3):
        concurrently(session, insert)
    ids = [node.host_id for node in simulated.nodes]
    tablets = session.cluster.metadata._tablets
    for request in simulated.statements("ks.t"):
        tablet = tablets.get_tablet_for_key("ks", "t", request.token)
        assert tablet is not None and tablet.replicas is not None
        assert (ids[request.node], request.shard) == tablet.replicas[0]
    simulated.clear_requests()
    plain = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    assert not plain.is_lwt() and not plain.bind((1, 1)).is_lwt()
    for _ in range(3):
        concurrently(session, plain)
    firsts = [
        tablet.replicas[0] == (ids[request.node], request.shard)
        for request in simulated.statements("ks.t")
        if (tablet := tablets.get_tablet_for_key("ks", "t", request.token)) is not None and tablet.replicas is not None
    ]
    assert len(firsts) == 3 * len(KEYS) and True in firsts and False in firsts


def test_without_tablets_by_the_ring(simulated: SimulatedCluster, session: Session) -> None:
    simulated.execute(
        "CREATE KEYSPACE vnodes WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
        "AND tablets = {'enabled': false}"
    )
    simulated.execute("CREATE TABLE vnodes.t (id int PRIMARY KEY, v int)")
    session.cluster.control_connection.refresh_schema(force=True)
    insert = session.prepare("INSERT INTO vnodes.t (id, v) VALUES (?, ?)")
    simulated.clear_requests()
    concurrently(session, insert)
    assert [request.on_owner for request in simulated.statements("vnodes.t")] == [True] * len(KEYS)
    assert not session.cluster.metadata._tablets.table_has_tablets("vnodes", "t")
