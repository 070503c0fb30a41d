"""Rules: the outcome of each reaction at the client, and whether the statement ran."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from cassandra import ConsistencyLevel, OperationTimedOut, RateLimitReached, Unauthorized, Unavailable, WriteTimeout
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantSpeculativeExecutionPolicy, FallthroughRetryPolicy
from cassandra.protocol import OverloadedErrorMessage, ProtocolException
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import (
    Close,
    Cut,
    Delay,
    Drop,
    EmptyPage,
    Exchange,
    Fail,
    Garbage,
    Hold,
    Pages,
    Reaction,
    Rewrite,
    Warn,
    WrongStream,
)  # fmt: skip
from tests.simulated.conftest import DEADLINE, Connect, eventually

INSERT = "INSERT INTO t (id) VALUES (1)"


@pytest.fixture
def one(no_leaks: None, connect: Connect) -> Session:  # type: ignore[misc]
    """A session that asks once: no other node is there, and no policy tries again."""
    with SimulatedCluster(1, 1) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        profile = ExecutionProfile(retry_policy=FallthroughRetryPolicy(), request_timeout=DEADLINE)
        session = connect(simulated, "ks", execution_profiles={EXEC_PROFILE_DEFAULT: profile})
        session.simulated = simulated
        yield session
        session.cluster.shutdown()


def ran(session: Session) -> bool:
    return bool(session.simulated.execute("SELECT * FROM ks.t"))


@pytest.mark.parametrize("executed", [False, True])
def test_no_answer(one: Session, executed: bool) -> None:
    with one.simulated.inject(Drop(executed=executed), query="INSERT") as rule:
        with pytest.raises(OperationTimedOut):
            one.execute(INSERT, timeout=0.2)
        eventually(lambda: rule.hits == 1)
    assert ran(one) is executed


@pytest.mark.parametrize("executed", [False, True])
def test_a_closed_connection(one: Session, executed: bool) -> None:
    with one.simulated.inject(Close(executed=executed), query="INSERT"), pytest.raises(ConnectionException):
        one.execute(INSERT)
    assert ran(one) is executed


@pytest.mark.parametrize("executed", [False, True])
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (errors.Overloaded(), OverloadedErrorMessage),
        (errors.WriteTimeout(consistency="QUORUM", received=1, required=2, write_type="BATCH_LOG"), WriteTimeout),
        (errors.Unavailable(consistency="ALL", required=3, alive=1), Unavailable),
        (errors.RateLimit(), RateLimitReached),
    ],
    ids=["overloaded", "write timeout", "unavailable", "rate limit"],
)
def test_an_error(one: Session, error: errors.CqlError, expected: type[Exception], executed: bool) -> None:
    with one.simulated.inject(Fail(error, executed=executed), query="INSERT"), pytest.raises(expected) as caught:
        one.execute(INSERT)
    assert ran(one) is executed
    if isinstance(error, errors.WriteTimeout):
        assert isinstance(caught.value, WriteTimeout)
        assert (caught.value.received_responses, caught.value.required_responses) == (1, 2)


@pytest.mark.parametrize("reaction", [Cut(5), Cut(12), Garbage()], ids=["in the header", "in the body", "no frame"])
def test_damaged_answers(one: Session, reaction: Reaction) -> None:
    with (
        one.simulated.inject(reaction, query="SELECT v", times=1),
        pytest.raises((ConnectionException, ProtocolException)),
    ):
        one.execute("SELECT v FROM t")


def test_the_wrong_stream(one: Session) -> None:
    """An answer on another stream does not complete the request."""
    with one.simulated.inject(WrongStream(), query="SELECT v"), pytest.raises((OperationTimedOut, ConnectionException)):
        one.execute("SELECT v FROM t", timeout=0.2)


def test_a_rewritten_answer(one: Session) -> None:
    one.execute("INSERT INTO t (id, v) VALUES (1, 5)")
    change = Rewrite(lambda body: body[:-4] + b"\0\0\0\x07")
    with one.simulated.inject(change, query="SELECT v"):
        assert one.execute("SELECT v FROM t").one().v == 7


def test_a_delay(one: Session) -> None:
    with one.simulated.inject(Delay(0.05), query="INSERT"):
        one.execute(INSERT)
    assert ran(one)


def test_held_answers_come_when_they_are_released(one: Session) -> None:
    caught = threading.Event()

    class Signal(Hold):
        def react(self, exchange: Exchange) -> None:
            super().react(exchange)
            caught.set()

    with one.simulated.inject(Signal(executed=False), query="INSERT") as rule:
        future = one.execute_async(INSERT)
        assert caught.wait(DEADLINE)
        assert not ran(one)
        rule.release()
        future.result()
    assert ran(one)


def test_warnings(one: Session) -> None:
    with one.simulated.inject(Warn(("careful",)), query="SELECT v"):
        future = one.execute_async("SELECT v FROM t")
        future.result()
    assert future.warnings == ["careful"]


@pytest.mark.parametrize("prepared", [False, True])
def test_empty_pages(one: Session, prepared: bool) -> None:
    """Each page comes after one without rows, and no row is lost."""
    for n in range(10):
        one.execute(f"INSERT INTO t (id) VALUES ({n})")
    statement = one.prepare("SELECT id FROM t") if prepared else SimpleStatement("SELECT id FROM t")
    statement.fetch_size = 4
    with one.simulated.inject(EmptyPage(), query="SELECT id") as rule:
        assert sorted(row.id for row in one.execute(statement)) == list(range(10))
    assert rule.hits == 6


@pytest.mark.parametrize("query", ["SELECT id FROM t", "SELECT id FROM t LIMIT 7", "SELECT DISTINCT id FROM t"])
@pytest.mark.parametrize("sizes", [(1,), (0, 0, 3), (100,), (2, 0, 1)], ids=lambda sizes: "-".join(map(str, sizes)))
def test_pages_of_any_size(one: Session, query: str, sizes: tuple[int, ...]) -> None:
    """However the answer is cut, each row comes once; pages are never longer than the client asked for."""
    for n in range(10):
        one.execute(f"INSERT INTO t (id) VALUES ({n})")
    statement = SimpleStatement(query, fetch_size=4)
    whole = [row.id for row in one.execute(statement)]
    with one.simulated.inject(Pages(sizes), query="id FROM t") as rule:
        result = one.execute(statement)
        lengths = [len(result.current_rows)]
        rows = list(result.current_rows)
        while result.has_more_pages:
            result.fetch_next_page()
            lengths.append(len(result.current_rows))
            rows += result.current_rows
    assert rows == [(n,) for n in whole]
    expected = [min(4, sizes[n % len(sizes)]) for n in range(len(lengths))]
    assert all(length == wanted for length, wanted in zip(lengths[:-1], expected[:-1], strict=True))
    assert rule.hits == len(lengths)


def test_pages_that_never_end_are_not_possible() -> None:
    for sizes in ((), (0,), (0, 0), (1, -1)):
        with pytest.raises(ValueError, match="sizes"):
            Pages(sizes)


@pytest.mark.parametrize("reaction", [Drop, "drop", lambda exchange: None], ids=["class", "text", "function"])
def test_a_reaction_is_an_object(simulated: SimulatedCluster, reaction: Any) -> None:
    with pytest.raises(TypeError, match=r"an object of cassandra\.testing\.faults, such as Drop\(\), not "):
        simulated.inject(reaction)


def test_unpaged_requests_ignore_a_pages_rule(one: Session) -> None:
    for n in range(10):
        one.execute(f"INSERT INTO t (id) VALUES ({n})")
    with one.simulated.inject(Pages((1,)), query="SELECT id"):
        result = one.execute(SimpleStatement("SELECT id FROM t", fetch_size=None))
        assert len(result.current_rows) == 10


@pytest.mark.parametrize("executed", [True, False])
def test_an_error_while_another_attempt_is_in_flight(
    simulated: SimulatedCluster, connect: Connect, executed: bool
) -> None:
    """It says that the statement may have been executed; one alone that is refused says that it was not."""
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}")
    simulated.execute("CREATE TABLE ks.other (id int PRIMARY KEY)")
    profile = ExecutionProfile(speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.05, 1))
    session = connect(simulated, "ks", execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    statement = SimpleStatement("INSERT INTO other (id) VALUES (1)", is_idempotent=True)
    refuse = Fail(errors.Unauthorized("no"))
    with (
        simulated.inject(Drop(executed=True), query="INSERT", times=1, when=lambda _: executed) as first,
        simulated.inject(refuse, query="INSERT", when=lambda _: first.hits > 0 or not executed),
        pytest.raises(Unauthorized) as caught,
    ):
        session.execute(statement)
    assert caught.value.maybe_executed is executed
    assert bool(simulated.execute("SELECT * FROM ks.other")) is executed


def test_conditions(simulated: SimulatedCluster, session: Session) -> None:
    """A rule catches requests that fulfil all of its conditions, so often, after so many."""
    session.execute("CREATE TABLE t (id int PRIMARY KEY)")
    overloaded = Fail(errors.InvalidRequest("caught"))

    def caught(text: str, **options: object) -> int:
        rule = simulated.inject(overloaded, **options)
        found = 0
        for _ in range(6):
            try:
                session.execute(SimpleStatement(text, consistency_level=ConsistencyLevel.TWO))
            except Exception as error:
                assert "caught" in str(error)
                found += 1
        assert found == rule.hits
        rule.remove()
        return found

    select = "SELECT id FROM t"
    assert caught(select, query="from T") == 6
    assert caught(select, query=re.compile(r"FROM\s+t$")) == 6
    assert caught(select, query="FROM u") == 0
    assert caught(select, query="FROM t", times=2) == 2
    assert caught(select, query="FROM t", after=4) == 2
    assert caught(select, query="FROM t", opcode="PREPARE") == 0
    assert caught(select, query="FROM t", opcode="query") == 6
    assert caught(select, query="FROM t", consistency="TWO") == 6
    assert caught(select, query="FROM t", consistency="ONE") == 0
    assert caught(select, query="FROM t", control=True) == 0
    assert 0 < caught(select, query="FROM t", node=1) < 6
    assert caught(select, query="FROM t", probability=0.0) == 0
    assert caught(select, query="FROM t", probability=1.0) == 6
    assert caught(select, when=lambda exchange: exchange.query == select) == 6


def test_a_node_that_refuses_startup(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(2, 1) as simulated:
        rule = simulated.inject(Fail(errors.Overloaded()), opcode="STARTUP")
        with pytest.raises(NoHostAvailable):
            connect(simulated)
        assert rule.hits >= 2
        simulated.clear_faults()
        connect(simulated).cluster.shutdown()
