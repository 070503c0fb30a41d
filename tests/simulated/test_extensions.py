"""Other extensions of ScyllaDB from end to end: the mark of conditional statements, the error of rate limits, the id of
result metadata."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra import OperationType, RateLimitReached
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RetryPolicy, RoundRobinPolicy
from cassandra.protocol import ConfigurationException
from cassandra.query import BatchStatement, SimpleStatement
from cassandra.testing import SimulatedCluster
from cassandra.testing.errors import RateLimit
from cassandra.testing.faults import Exchange, Fail, Reaction
from tests.simulated.conftest import Connect

pytestmark = pytest.mark.long

KEYSPACE = "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"


@contextmanager
def made(*without: str) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(2, 2, without=without) as cluster:
        cluster.execute(KEYSPACE)
        cluster.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        yield cluster


@pytest.fixture
def simulated(no_leaks: None) -> Iterator[SimulatedCluster]:
    with made() as cluster:
        yield cluster


class TestConditional:
    def test_is_lwt(self, simulated: SimulatedCluster, connect: Connect) -> None:
        session = connect(simulated, "ks")
        plain = session.prepare("UPDATE t SET v = ? WHERE id = ?")
        for text in ("UPDATE t SET v = ? WHERE id = ? IF v = 1", "UPDATE t SET v = ? WHERE id = ? IF EXISTS"):
            conditional = session.prepare(text)
            assert conditional.is_lwt() and conditional.bind((1, 2)).is_lwt()
            assert BatchStatement().add(plain, (1, 2)).add(conditional, (1, 2)).is_lwt()
        assert not plain.is_lwt() and not plain.bind((1, 2)).is_lwt()
        assert not BatchStatement().add(plain, (1, 2)).is_lwt()
        assert not SimpleStatement("UPDATE t SET v = 1 WHERE id = 2 IF EXISTS").is_lwt()  # no server has parsed it

    def test_prepared_on_a_loop(self, simulated: SimulatedCluster, connect: Connect) -> None:
        import asyncio

        session = connect(simulated, "ks")
        statement = asyncio.run(session.prepare_async("DELETE FROM t WHERE id = ? IF EXISTS"))
        assert statement.is_lwt()


class TestRateLimit:
    @pytest.mark.parametrize(("write", "by_coordinator"), [(True, False), (False, True)])
    def test_is_the_callers(
        self, simulated: SimulatedCluster, connect: Connect, write: bool, by_coordinator: bool
    ) -> None:
        """Never sent again, even if the retry policy and the statement allow it."""

        class Always(RetryPolicy):
            def __getattribute__(self, name: str) -> Any:
                return (
                    (lambda *args, **kwargs: (self.RETRY, None))
                    if name.startswith("on_")
                    else super().__getattribute__(name)
                )

        profile = ExecutionProfile(RoundRobinPolicy(), retry_policy=Always())
        session = connect(simulated, "ks", execution_profiles={EXEC_PROFILE_DEFAULT: profile})
        select = session.prepare("SELECT v FROM t WHERE id = ?")
        select.is_idempotent = True
        for query in (select, SimpleStatement("SELECT v FROM t WHERE id = %s", is_idempotent=True)):
            fault = Fail(RateLimit(write=write, by_coordinator=by_coordinator))
            with simulated.inject(fault, query="SELECT v") as rule:
                with pytest.raises(RateLimitReached) as caught:
                    session.execute(query, (1,))
                assert rule.hits == 1
            error = caught.value
            assert error.op_type == (OperationType.Write if write else OperationType.Read)
            assert error.rejected_by_coordinator is by_coordinator
        with simulated.inject(Fail(RateLimit()), query="SELECT v", times=3) as rule:
            results = execute_concurrent_with_args(
                session, select, [(n,) for n in range(9)], raise_on_first_error=False
            )
            assert rule.hits == 3
        failed = [outcome for success, outcome in results if not success]
        assert len(failed) == 3 and all(isinstance(error, RateLimitReached) for error in failed)

    def test_without_the_extension(self, no_leaks: None, connect: Connect) -> None:
        """Servers then say that it is the configuration."""
        with made("SCYLLA_RATE_LIMIT_ERROR") as simulated:
            session = connect(simulated, "ks")
            fault = simulated.inject(Fail(RateLimit(message="too fast")), query="SELECT v")
            with fault, pytest.raises(ConfigurationException, match="too fast") as caught:
                session.execute("SELECT v FROM t")
            assert not isinstance(caught.value, RateLimitReached)
            session.cluster.shutdown()


class Sizes(Reaction):
    """Notes how large answers are: metadata that is left out is not in them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def react(self, exchange: Exchange) -> None:
        answer = exchange.execute()
        self.bodies.append(answer.body)
        exchange.send(answer)

    def described(self) -> list[bool]:
        """Of each answer with rows whether it describes the columns: flag 4 says that it does not."""
        found = [not body[7] & 4 for body in self.bodies if body[:4] == b"\0\0\0\2"]
        self.bodies.clear()
        return found


@pytest.fixture(params=[True, False], ids=["with ids", "without ids"])
def with_ids(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_columns_that_changed_since_a_statement_was_prepared(no_leaks: None, connect: Connect, with_ids: bool) -> None:
    """By the id of the metadata the server knows that the client has others, and tells it once. Without ids it tells
    with every answer."""
    with made(*([] if with_ids else ["SCYLLA_USE_METADATA_ID"])) as simulated:
        session: Session = connect(simulated, "ks", protocol_version=4)
        session.execute("INSERT INTO t (id, v) VALUES (1, 2)")
        select = session.prepare("SELECT * FROM t WHERE id = ?")
        before = select.result_metadata_id
        assert (before is not None) is with_ids
        sizes = Sizes()
        with simulated.inject(sizes, query="SELECT * FROM t"):
            assert session.execute(select, (1,)).one() == (1, 2)
            assert sizes.described() == [not with_ids]
            simulated.execute("ALTER TABLE ks.t ADD a text")
            row = session.execute(select, (1,)).one()
            assert row == (1, None, 2) and row._fields == ("id", "a", "v")
            assert sizes.described() == [True]
            assert (select.result_metadata_id != before) is with_ids
            assert [column.name for column in select.result_metadata or ()] == ["id", "a", "v"]
            for bound in (select.bind((1,)), select):
                assert session.execute(bound, () if bound is not select else (1,)).one() == (1, None, 2)
            assert sizes.described() == [not with_ids] * 2
            simulated.execute("ALTER TABLE ks.t DROP v")
            results = execute_concurrent_with_args(session, select, [(1,)] * 20)
            assert [outcome.one() for _, outcome in results] == [(1, None)] * 20
            assert any(sizes.described())
            session.execute(select, (1,))
            assert sizes.described() == [not with_ids]
        session.cluster.shutdown()


def test_columns_that_change_between_two_pages(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, "ks", protocol_version=4)
    for n in range(6):
        session.execute(f"INSERT INTO t (id, v) VALUES ({n}, {n})")
    select = session.prepare("SELECT * FROM t")
    select.fetch_size = 4
    result = session.execute(select)
    simulated.execute("ALTER TABLE ks.t ADD a text")
    rows = list(result)
    assert sorted((row.id, row.v) for row in rows) == [(n, n) for n in range(6)]
    assert [len(row) for row in rows] == [2] * 4 + [3] * 2
