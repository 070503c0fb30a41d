"""Requests while all connections are lost: they wait for the first attempt to open another one, and no longer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Delay, Drop, Refuse
from tests.patience import PATIENCE, eventually

pytestmark = pytest.mark.long

INSERT = "INSERT INTO ks.t (k, v) VALUES (%s, 1)"  # not idempotent, as far as the driver knows


@pytest.fixture(params=[1, 4], ids=["one shard", "four shards"])
def simulated(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=1, shards=request.param) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        simulated.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        yield simulated


@pytest.fixture
def cluster(simulated: SimulatedCluster) -> Iterator[Cluster]:
    policy = ConstantReconnectionPolicy(0.5)
    with Cluster(simulated.contact_points, port=simulated.port, reconnection_policy=policy) as cluster:
        yield cluster


@pytest.fixture
def session(simulated: SimulatedCluster, cluster: Cluster) -> Session:
    return whole(simulated, cluster.connect(wait_for_all_pools=True))


def whole(simulated: SimulatedCluster, session: Session) -> Session:
    """With one connection to each shard: none is being opened."""
    shards = simulated.nodes[0].shards
    assert eventually(lambda: all(state["open_count"] == shards for state in session.get_pool_state().values()))
    return session


def lose(simulated: SimulatedCluster, session: Session) -> None:
    """All connections of pools."""
    before = [one for pool in session._pools.values() for one in pool.get_connections()]
    for connection in before:
        connection.close()
    assert before


def count(session: Session) -> int:
    return len(session.execute("SELECT k FROM ks.t").all())


def test_requests_wait(simulated: SimulatedCluster, session: Session) -> None:
    for turn in range(40):
        lose(simulated, session)
        futures = [session.execute_async(INSERT, (turn * 100 + key,)) for key in range(20)]
        session.execute(INSERT, (turn * 100 + 50,))
        for future in futures:
            future.result()
    assert count(session) == 40 * 21
    assert len(session._pool_set.admission) == 0


def test_while_it_takes_time(simulated: SimulatedCluster, session: Session) -> None:
    with simulated.inject(Delay(0.5), opcode="CONNECT"):
        lose(simulated, session)
        began = time.monotonic()
        session.execute(INSERT, (1,))
        assert time.monotonic() - began > 0.3
    assert count(session) == 1


def test_prepared_and_many_at_a_time(simulated: SimulatedCluster, session: Session) -> None:
    insert = session.prepare("INSERT INTO ks.t (k, v) VALUES (?, 1)")
    for turn in range(5):
        lose(simulated, session)
        results = execute_concurrent_with_args(session, insert, [(turn * 1000 + key,) for key in range(300)])
        assert all(result.success for result in results)
        lose(simulated, session)
        session.execute(insert, (turn * 1000 + 500,))
    assert count(session) == 5 * 301


def test_tasks(simulated: SimulatedCluster, session: Session) -> None:
    async def main() -> None:
        for turn in range(10):
            lose(simulated, session)
            await asyncio.gather(*(session.execute_async(INSERT, (turn * 100 + key,)) for key in range(20)))

    asyncio.run(main())
    assert count(session) == 200


def test_no_longer_than_their_timeout(simulated: SimulatedCluster, session: Session) -> None:
    """Nothing answers: the attempt takes its whole time."""
    with simulated.inject(Drop(), opcode="CONNECT"):
        lose(simulated, session)
        began = time.monotonic()
        with pytest.raises(Exception, match=r"No connection|room") as caught:
            session.execute(INSERT, (1,), timeout=0.3)
        assert 0.2 < time.monotonic() - began < 4
        assert caught.value.maybe_executed is False  # type: ignore[attr-defined]


def test_an_attempt_that_fails_ends_the_wait(simulated: SimulatedCluster, session: Session) -> None:
    """Its port refuses: the request fails then, and not by its timeout; so does the next one, at once."""
    with simulated.inject(Refuse(), opcode="CONNECT"):
        lose(simulated, session)
        for limit in (PATIENCE / 4, PATIENCE / 4):
            began = time.monotonic()
            with pytest.raises(NoHostAvailable):
                session.execute(INSERT, (1,), timeout=PATIENCE)
            assert time.monotonic() - began < limit
    assert eventually(lambda: _try(session) is not None)


def test_a_session_that_is_shut_down(simulated: SimulatedCluster, session: Session) -> None:
    with simulated.inject(Drop(), opcode="CONNECT"):
        lose(simulated, session)
        future = session.execute_async(INSERT, (1,), timeout=PATIENCE)
        session.shutdown()
        with pytest.raises(NoHostAvailable):
            future.result()


def test_a_program_that_does_not_wait(simulated: SimulatedCluster) -> None:
    with Cluster(simulated.contact_points, port=simulated.port, max_request_wait=0) as cluster:
        session = whole(simulated, cluster.connect(wait_for_all_pools=True))
        with simulated.inject(Drop(), opcode="CONNECT"):
            lose(simulated, session)
            began = time.monotonic()
            with pytest.raises(NoHostAvailable):
                session.execute(INSERT, (1,), timeout=PATIENCE)
            assert time.monotonic() - began < PATIENCE / 4


def _try(session: Session) -> Any:
    try:
        return session.execute("SELECT k FROM ks.t WHERE k = 1", timeout=1.0)
    except Exception:
        return None
