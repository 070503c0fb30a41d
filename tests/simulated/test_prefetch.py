"""Pages ahead over real connections: of a peer that holds them back, of one that goes away, of a session that ends."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator

import pytest

import cassandra
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.query import SimpleStatement, tuple_factory
from cassandra.testing import SimulatedCluster
from cassandra.testing.errors import InvalidRequest
from cassandra.testing.faults import Drop, Fail, Hold, Pages
from tests.patience import eventually
from tests.simulated.conftest import Connect

pytestmark = pytest.mark.long

ROWS = [(n,) for n in range(40)]
QUERY = SimpleStatement("SELECT n FROM t WHERE k = 1", fetch_size=4)


@pytest.fixture
def filled(no_leaks: None, connect: Connect) -> Iterator[tuple[SimulatedCluster, Session]]:
    with SimulatedCluster(1, 2) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(row_factory=tuple_factory)}
        session = connect(simulated, "ks", execution_profiles=profiles)
        session.execute("CREATE TABLE t (k int, n int, PRIMARY KEY (k, n))")
        for (n,) in ROWS:
            session.execute("INSERT INTO t (k, n) VALUES (1, %s)", (n,))
        yield simulated, session
        session.cluster.shutdown()


def test_a_page_that_is_held_back(filled: tuple[SimulatedCluster, Session]) -> None:
    """It is asked for while rows of the page before are read, which it does not hold up."""
    simulated, session = filled
    rows = iter(session.execute(QUERY))
    held = Hold()
    with simulated.inject(held, query="SELECT n FROM t", times=1) as rule:
        assert next(rows) == (0,) and rule.hits == 0
        assert next(rows) == (1,)
        eventually(lambda: rule.hits == 1)
        assert [next(rows), next(rows)] == [(2,), (3,)]
        held.release()
        assert list(rows) == ROWS[4:]


def test_an_error_of_a_page_ahead(filled: tuple[SimulatedCluster, Session]) -> None:
    """Comes where the page begins, and the page is asked for anew."""
    simulated, session = filled
    rows = iter(session.execute(QUERY))
    with simulated.inject(Fail(InvalidRequest("not this page")), query="SELECT n FROM t", times=1) as rule:
        seen = [next(rows) for _ in range(4)]
        eventually(lambda: rule.hits == 1)
    with pytest.raises(cassandra.InvalidRequest, match="not this page"):
        next(rows)
    assert seen + list(rows) == ROWS


def test_a_page_ahead_that_never_comes(filled: tuple[SimulatedCluster, Session]) -> None:
    """Nobody came for it in its time: it is asked for once more, and has all the time again."""
    simulated, session = filled
    begun = time.monotonic()
    rows = iter(session.execute(QUERY, timeout=2.0))
    with simulated.inject(Drop(), query="SELECT n FROM t", times=1) as rule:
        seen = [next(rows) for _ in range(4)]
        eventually(lambda: rule.hits == 1)
        eventually(lambda: time.monotonic() - begun > 3.0)
    assert seen + list(rows) == ROWS


def test_a_session_that_ends(filled: tuple[SimulatedCluster, Session]) -> None:
    simulated, session = filled
    rows = iter(session.execute(QUERY))
    held = Hold()
    with simulated.inject(held, query="SELECT n FROM t", times=1) as rule:
        seen = [next(rows), next(rows)]
        eventually(lambda: rule.hits == 1)
        session.shutdown()
        held.release()
    assert [*seen, next(rows), next(rows)] == ROWS[:4]
    for _ in range(3):
        with pytest.raises((NoHostAvailable, ConnectionException)):
            next(rows)
    assert rule.hits == 1


def test_again_and_again(filled: tuple[SimulatedCluster, Session]) -> None:
    """Read to the end, broken off, dropped: any number of times."""
    simulated, session = filled
    rng = random.Random(5)
    with simulated.inject(Pages([2, 0, 3]), query="SELECT n FROM t"):
        for _ in range(1500):
            stop = rng.choice((1, 2, 3, 5, 40))
            rows = iter(session.execute(QUERY, prefetch=rng.choice((0, 1))))
            assert [next(rows) for _ in range(stop)] == ROWS[:stop]
            if stop == 40:
                assert list(rows) == []


def test_many_tasks(filled: tuple[SimulatedCluster, Session]) -> None:
    _, session = filled

    async def read(stop: int) -> list[object]:
        seen: list[object] = []
        async for row in await session.execute_async(QUERY):
            seen.append(row)
            if len(seen) == stop:
                break
        return seen

    async def run() -> None:
        for _ in range(20):
            stops = [1, 3, 7, 40] * 5
            found = await asyncio.gather(*map(read, stops))
            assert found == [ROWS[:stop] for stop in stops]

    asyncio.run(run())
