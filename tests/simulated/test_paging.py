"""However an answer is cut into pages, its rows are those of the whole."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from cassandra import DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, Session
from cassandra.protocol import ErrorMessage, ProtocolException
from cassandra.query import SimpleStatement, tuple_factory
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Pages
from tests.simulated.conftest import Connect
from tests.simulated.corpus import random_statements


@pytest.fixture
def filled(no_leaks: None, connect: Connect) -> Iterator[tuple[SimulatedCluster, Session]]:
    """Tables with what a hundred random writes have left."""
    with SimulatedCluster(1, 2) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(row_factory=tuple_factory)}
        session = connect(simulated, "ks", execution_profiles=profiles)
        for text in random_statements.SCHEMA:
            session.execute(text)
        maker = random_statements.Maker(1)
        for n in range(100):
            answer(session, SimpleStatement(maker.insert() if n % 2 else maker.statement()))
        yield simulated, session
        session.cluster.shutdown()


def answer(session: Session, statement: SimpleStatement) -> list[object] | None:
    """The rows; None for a statement that is refused."""
    try:
        return [repr(row) for row in session.execute(statement)]
    except (DriverException, ErrorMessage):
        return None


def test_random_queries_in_random_pages(filled: tuple[SimulatedCluster, Session]) -> None:
    """Of the client's size and of the server's choice, with empty ones between."""
    simulated, session = filled
    maker, rng, cut = random_statements.Maker(2), random.Random(3), 0
    for _ in range(250):
        text = maker.select()
        whole = answer(session, SimpleStatement(text, fetch_size=5000))
        if whole is None:
            continue
        assert answer(session, SimpleStatement(text, fetch_size=rng.randint(1, 4))) == whole, text
        sizes = [rng.choice([0, 0, 1, 2, 3]) for _ in range(3)] + [1]
        with simulated.inject(Pages(sizes), query="SELECT") as rule:
            assert answer(session, SimpleStatement(text, fetch_size=5000)) == whole, (text, sizes)
        cut += rule.hits > 1
    assert cut > 30


def test_rows_that_go_away_between_pages(filled: tuple[SimulatedCluster, Session]) -> None:
    """The next page goes on behind the last row, whether that is still there or not."""
    _, session = filled
    session.execute("TRUNCATE t")
    for c in range(6):
        session.execute(f"INSERT INTO t (p, q, c, d) VALUES (1, '1', {c}, 'a')")
    result = session.execute(SimpleStatement("SELECT c FROM t WHERE p = 1 AND q = '1'", fetch_size=2))
    assert result.current_rows == [(5,), (4,)]
    session.execute("DELETE FROM t WHERE p = 1 AND q = '1' AND c >= 3")
    session.execute("INSERT INTO t (p, q, c, d) VALUES (1, '1', 9, 'a')")  # before the place: it is not seen
    assert result.all() == [(5,), (4,), (2,), (1,), (0,)]


def test_a_paging_state_of_another_query(filled: tuple[SimulatedCluster, Session]) -> None:
    _, session = filled
    session.execute("INSERT INTO f (p, c) VALUES (0, [1])")
    session.execute("INSERT INTO f (p, c) VALUES (0, [2])")
    state = session.execute(SimpleStatement("SELECT * FROM f", fetch_size=1)).paging_state
    with pytest.raises(ProtocolException, match="Invalid value for the paging state"):
        session.execute("SELECT * FROM t", paging_state=state)
