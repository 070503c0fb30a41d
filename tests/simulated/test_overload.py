"""Servers that get more requests than they can answer: a node of the simulated cluster that takes some milliseconds for
each request, one after the other. See ``transport/window.h``, whose rules have their own tests."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cassandra.cluster import NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import ErrorMessage, OverloadedErrorMessage
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from cassandra.testing.errors import Bootstrapping, Overloaded
from cassandra.testing.faults import Delay, Exchange, Fail, Reaction
from tests.patience import PATIENCE, eventually
from tests.simulated.conftest import Connect

SERVICE = 0.005  # seconds for each request
KNOWN = 100  # requests, after which the usual latency is known
READ = "SELECT v FROM t WHERE k = 1"


class OneByOne(Reaction):
    """Executes one request after the other; each takes *SERVICE* seconds."""

    def __init__(self) -> None:
        self.free_at = 0.0
        self.queue = 0

    def react(self, exchange: Exchange) -> None:
        def send() -> None:
            self.queue -= 1
            exchange.send(response)

        response, now = exchange.execute(), time.monotonic()
        self.queue += 1
        self.free_at = max(now, self.free_at) + SERVICE
        exchange.later(self.free_at - now, send)


class Outcomes:
    """Requests at a steady rate, whether or not they are answered."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.answered: list[float] = []
        self.failed = 0

    def ask(self, seconds: float, rate: float, timeout: float) -> None:
        def on_error(error: Exception) -> None:
            self.failed += 1

        begun = time.monotonic()
        asked = 0
        while (passed := time.monotonic() - begun) < seconds:
            while asked < passed * rate:
                asked += 1
                future = self.session.execute_async(READ, timeout=timeout)
                future.add_callbacks(lambda rows: self.answered.append(time.monotonic()), on_error)
            time.sleep(0.002)


@pytest.fixture
def simulated(no_leaks: None) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(1, 1) as running:
        running.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        running.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        running.execute("INSERT INTO ks.t (k, v) VALUES (1, 1)")
        yield running


def known(session: Session) -> Session:
    """The session, once the usual latency of the server is known."""
    for _ in range(KNOWN):
        session.execute(READ)
    return session


def window(session: Session) -> float:
    ((connection,),) = (pool.get_connections() for pool in session.get_pools())
    assert connection.channel is not None
    return connection.channel.window


def overload(session: Session) -> None:
    """Three times as many requests as the server can answer, until it is noticed."""
    outcomes, deadline = Outcomes(session), time.monotonic() + PATIENCE
    while window(session) == math.inf:
        assert time.monotonic() < deadline
        outcomes.ask(0.1, 3 / SERVICE, timeout=5.0)


def test_an_overloaded_server_goes_on_answering(
    simulated: SimulatedCluster, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a limit its queue grows, and soon every response comes too late. One warning is logged."""
    session, server = connect(simulated, "ks", adaptive_concurrency=True), OneByOne()
    with simulated.inject(server, query=READ):
        known(session)
        outcomes = Outcomes(session)
        outcomes.ask(2.5, 3 / SERVICE, timeout=1.0)
        before, queue = len(outcomes.answered), server.queue
        outcomes.ask(1.5, 3 / SERVICE, timeout=1.0)
        assert window(session) < 50 and queue < 200, "600 requests a second, of which 200 are answered"
        assert len(outcomes.answered) - before > 0.4 * 1.5 / SERVICE
        assert outcomes.failed > 0
        eventually(lambda: not len(session._pool_set.admission))
        assert session.execute(READ, timeout=PATIENCE).one().v == 1
    warnings = [record for record in caplog.records if "is overloaded: fewer requests" in record.getMessage()]
    assert [(record.name, record.levelname) for record in warnings] == [("cassandra.pool", "WARNING")]


def test_it_is_an_option(simulated: SimulatedCluster, connect: Connect) -> None:
    session, server = connect(simulated, "ks"), OneByOne()
    with simulated.inject(server, query=READ):
        known(session)
        outcomes = Outcomes(session)
        outcomes.ask(1.5, 3 / SERVICE, timeout=0.5)
        assert window(session) == math.inf
        eventually(lambda: server.queue == 0)


def test_a_slow_server_is_not_limited(simulated: SimulatedCluster, connect: Connect) -> None:
    session = known(connect(simulated, "ks", adaptive_concurrency=True))
    with simulated.inject(Delay(0.2), query=READ):
        for _ in range(5):  # so many at a time are not the reason
            futures = [session.execute_async(READ, timeout=PATIENCE) for _ in range(7)]
            assert {future.result().one().v for future in futures} == {1}
    assert window(session) == math.inf


def test_a_server_that_is_slow_for_another_reason_is_used_again(simulated: SimulatedCluster, connect: Connect) -> None:
    """Every response takes 0.3 s, however many requests there are: a limit is tried, and removed."""
    session = known(connect(simulated, "ks", adaptive_concurrency=True, metrics_enabled=True))
    metrics = session.cluster.metrics
    assert metrics is not None

    def limited() -> int:
        return sum(host.limited_connections for host in metrics.snapshot().hosts)

    with simulated.inject(Delay(0.3), query=READ):
        deadline = time.monotonic() + PATIENCE
        while not limited():
            assert time.monotonic() < deadline
            futures = [session.execute_async(READ, timeout=PATIENCE) for _ in range(100)]
            assert {future.result().one().v for future in futures} == {1}
        eventually(lambda: session.execute(READ, timeout=PATIENCE).one().v == 1 and not limited())
    assert window(session) == math.inf


def test_a_server_that_rejects_requests_gets_fewer(simulated: SimulatedCluster, connect: Connect) -> None:
    session = known(connect(simulated, "ks", adaptive_concurrency=True))
    with simulated.inject(Fail(Overloaded()), query=READ) as rule:
        for _ in range(100):
            with pytest.raises(OverloadedErrorMessage):
                session.execute(SimpleStatement(READ, is_idempotent=False), timeout=PATIENCE)
        assert window(session) < math.inf
        assert rule.hits == 100
    assert session.execute(READ, timeout=PATIENCE).one().v == 1
    futures = [session.execute_async(READ, timeout=PATIENCE) for _ in range(300)]
    assert {future.result().one().v for future in futures} == {1}


def hits_of(three: SimulatedCluster, session: Session, fault: Reaction, count: int) -> int:
    """The attempts of *count* idempotent requests, which all nodes answer by *fault*."""
    statement = SimpleStatement(READ, is_idempotent=True)
    with three.inject(fault, query=READ) as rule:
        futures = [session.execute_async(statement, timeout=PATIENCE) for _ in range(count)]
        for future in futures:
            with pytest.raises((ErrorMessage, NoHostAvailable)) as caught:
                future.result()
            is_exhausted = isinstance(caught.value, NoHostAvailable)
            assert is_exhausted or "retry budget is used up, see Cluster(retry_budget)" in str(caught.value)
    return rule.hits


def test_retries_after_overload_have_a_budget(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(3, 1) as three:
        three.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
        three.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        begun = time.monotonic()
        unlimited, limited = connect(three, "ks"), connect(three, "ks", retry_budget=0.1)
        assert hits_of(three, unlimited, Fail(Overloaded()), 500) == 3 * 500
        extra = hits_of(three, limited, Fail(Overloaded()), 500) - 500
        assert 3 * 10 <= extra <= 3 * 10 + 0.1 * (500 + extra) + 3 * (time.monotonic() - begun)
        assert hits_of(three, limited, Fail(Bootstrapping()), 100) == 3 * 100  # not a matter of load


@pytest.mark.parametrize("work", ["concurrent", "prepared", "ingest", "scan"])
def test_work_of_many_requests_ends(simulated: SimulatedCluster, connect: Connect, work: str) -> None:
    session, server = connect(simulated, "ks", adaptive_concurrency=True), OneByOne()
    insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
    with simulated.inject(server, query=READ):
        overload(known(session))
        pairs: list[Any] = [(number, number) for number in range(100)]
        if work == "concurrent":
            results = execute_concurrent_with_args(session, "INSERT INTO t (k, v) VALUES (%s, %s)", pairs)
            assert all(success for success, _ in results)
        elif work == "prepared":
            assert all(success for success, _ in execute_concurrent_with_args(session, insert, pairs))
        elif work == "ingest":
            rows = {"k": np.arange(100, dtype=np.int32), "v": np.arange(100, dtype=np.int32)}
            assert session.ingest("t", rows).rows == 100
        assert len(list(session.scan("t").rows())) == (1 if work == "scan" else 100)
        eventually(lambda: server.queue == 0)
