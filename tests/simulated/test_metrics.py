"""Metrics of requests against the simulated cluster: each is counted once, with its host, kind and profile."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import ConsistencyLevel, OperationTimedOut, ReadTimeout
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, ResponseFuture, Session
from cassandra.concurrent import execute_concurrent_with_args, execute_concurrent_with_args_async
from cassandra.connection import ConnectionException
from cassandra.metrics import MetricsSnapshot, RequestMetrics, prometheus_text
from cassandra.policies import ConstantSpeculativeExecutionPolicy, FallthroughRetryPolicy, RetryPolicy
from cassandra.protocol import QueryMessage
from cassandra.query import BatchStatement, SimpleStatement, dict_factory
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Close, Delay, Drop, Fail

from .conftest import Connect, eventually

ROWS = 20


@pytest.fixture
def counted(session: Session, simulated: SimulatedCluster, connect: Connect) -> Session:
    """A session with metrics, and a table of 20 rows."""
    session.execute("CREATE TABLE m (id int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO m (id, v) VALUES (?, ?)")
    execute_concurrent_with_args(session, insert, [(number, number) for number in range(ROWS)])
    profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(),
        "short": ExecutionProfile(request_timeout=0.2),
        "ignoring": ExecutionProfile(retry_policy=Ignoring()),
        "failing": ExecutionProfile(retry_policy=FallthroughRetryPolicy()),
        "speculative": ExecutionProfile(
            speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.05, 1), request_timeout=5
        ),
    }
    return connect(simulated, "ks", metrics_enabled=True, execution_profiles=profiles)


class Ignoring(RetryPolicy):
    """Ignores all errors."""

    def on_read_timeout(self, *args: Any, **kwargs: Any) -> Any:
        return self.IGNORE, None


def snapshot(session: Session) -> MetricsSnapshot:
    metrics = session.cluster.metrics
    assert metrics is not None
    return metrics.snapshot()


def of(session: Session, kind: str, work: Callable[[], object], profile: str | None = None) -> RequestMetrics:
    """Return what *work* has added to the requests of one kind."""
    before = snapshot(session)
    work()
    return (snapshot(session) - before).total(kind=kind, profile=profile)


def plain(found: RequestMetrics, requests: int) -> bool:
    """True if these are so many requests that have succeeded at the first attempt."""
    assert (found.requests, found.attempts) == (requests, requests)
    assert not (found.errors or found.retries or found.failures or found.timeouts or found.unprepared)
    assert (found.latency.min > 0) == (requests > 0)
    return True


def test_requests_of_each_kind(counted: Session) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT INTO m (id, v) VALUES (1, 1)"))
    assert plain(of(counted, "prepared", lambda: [counted.execute(select, (key,)) for key in range(10)]), 10)
    assert plain(of(counted, "prepared", lambda: counted.execute(select.bind((1,)))), 1)
    assert plain(of(counted, "simple", lambda: counted.execute("SELECT v FROM m WHERE id = 1")), 1)
    assert plain(of(counted, "batch", lambda: counted.execute(batch)), 1)
    prepares = of(counted, "prepare", lambda: counted.prepare("SELECT id FROM m"))
    assert prepares.requests == prepares.attempts >= 1 and not prepares.failures


def test_the_labels_are_host_datacenter_kind_and_profile(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    before = snapshot(counted)
    host = counted.execute(select, (1,)).response_future.coordinator_host
    counted.execute(select, (1,), execution_profile="short")
    policy = counted.cluster.load_balancing_policy
    counted.execute(select, (1,), execution_profile=ExecutionProfile(policy))
    found = [one for one in (snapshot(counted) - before).requests if one.requests]
    assert {(one.kind, one.profile) for one in found} == {
        ("prepared", "default"), ("prepared", "short"), ("prepared", "unnamed"),
    }  # fmt: skip
    assert str(host.endpoint) in {one.host for one in found}
    assert {one.datacenter for one in found} == {host.datacenter}


@pytest.mark.parametrize("own", [{}, {"row_factory": dict_factory}])
def test_concurrent_requests(counted: Session, own: dict[str, Any]) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    keys = [(key % ROWS,) for key in range(500)]
    assert plain(of(counted, "prepared", lambda: execute_concurrent_with_args(counted, select, keys, **own)), 500)

    async def run() -> None:
        await execute_concurrent_with_args_async(counted, select, keys)

    found = of(counted, "prepared", lambda: asyncio.run(run()), "default")
    assert plain(found, 500)


def test_requests_that_are_awaited(counted: Session) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")

    async def run() -> None:
        for key in range(5):
            await counted.execute_async(select, (key,))
        await asyncio.gather(*[counted.execute_async(select, (key,)) for key in range(50)])
        await counted.execute_async("SELECT v FROM m WHERE id = 1")

    before = snapshot(counted)
    asyncio.run(run())
    since = snapshot(counted) - before
    assert plain(since.total(kind="prepared"), 55) and plain(since.total(kind="simple"), 1)


@pytest.mark.parametrize("query", ["prepared", "simple"])
@pytest.mark.parametrize("kept", [True, False])
def test_results_that_no_thread_takes(counted: Session, query: str, kept: bool) -> None:
    statement = counted.prepare("SELECT v FROM m WHERE id = 1") if query == "prepared" else "SELECT v FROM m"
    before = snapshot(counted)
    futures = [counted.execute_async(statement) for _ in range(30)]
    if not kept:
        futures.clear()
        gc.collect()

    def found() -> RequestMetrics:
        return (snapshot(counted) - before).total(kind=query)

    eventually(lambda: found().requests == 30)
    assert plain(found(), 30)
    for future in futures:
        future.result()
    assert plain(found(), 30)


def test_requests_with_callbacks(counted: Session) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    done: list[Any] = []
    before = snapshot(counted)
    for key in range(20):
        counted.execute_async(select, (key,)).add_callback(done.append)
    eventually(lambda: len(done) == 20)
    eventually(lambda: (snapshot(counted) - before).total(kind="prepared").requests == 20)
    assert plain((snapshot(counted) - before).total(kind="prepared"), 20)


def test_each_page_is_a_request(counted: Session) -> None:
    select = counted.prepare("SELECT * FROM m")
    select.fetch_size = 5
    found = of(counted, "prepared", lambda: list(counted.execute(select)))
    assert found.requests == found.attempts >= ROWS // 5
    assert not found.failures


def test_errors_that_are_retried(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    simulated.inject(Fail(errors.Unavailable()), opcode="EXECUTE", times=1)
    found = of(counted, "prepared", lambda: counted.execute(select, (1,)))
    assert (found.requests, found.attempts) == (1, 2)
    assert found.errors == found.retries == {"unavailable": 1}
    assert not found.failures and int(counted.cluster.metrics.retries) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("query", ["prepared", "simple"])
def test_errors_that_fail_a_request(counted: Session, simulated: SimulatedCluster, query: str) -> None:
    statement: Any = "SELECT v FROM m WHERE id = 1"
    if query == "prepared":
        statement = counted.prepare(statement)
    simulated.inject(Fail(errors.ReadTimeout()), query="SELECT v FROM m", times=1)

    def work() -> None:
        with pytest.raises(ReadTimeout):
            counted.execute(statement, execution_profile="failing")

    found = of(counted, query, work, "failing")
    assert (found.requests, found.attempts) == (1, 1)
    assert found.errors == found.failures == {"read_timeout": 1}
    assert not found.retries and int(counted.cluster.metrics.read_timeouts) == 1  # type: ignore[union-attr]


def test_errors_that_are_ignored(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    simulated.inject(Fail(errors.ReadTimeout()), opcode="EXECUTE", times=1)
    found = of(counted, "prepared", lambda: counted.execute(select, (1,), execution_profile="ignoring"))
    assert (found.requests, found.attempts, found.ignored_errors) == (1, 1, 1)
    assert found.errors == {"read_timeout": 1} and not found.failures


def test_errors_of_concurrent_requests(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    simulated.inject(Fail(errors.Unavailable()), opcode="EXECUTE", times=3)
    keys = [(key % ROWS,) for key in range(100)]
    found = of(counted, "prepared", lambda: execute_concurrent_with_args(counted, select, keys))
    assert (found.requests, found.attempts) == (100, 103)
    assert found.errors == found.retries == {"unavailable": 3} and not found.failures


def test_rows_that_cannot_be_made(counted: Session) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")

    def broken(names: Any, rows: Any) -> Any:
        raise ZeroDivisionError

    def work() -> None:
        with pytest.raises(ZeroDivisionError):
            counted.execute(select, (1,), row_factory=broken)
        results = execute_concurrent_with_args(
            counted, select, [(1,), (2,)], raise_on_first_error=False, row_factory=broken
        )
        assert not any(success for success, _ in results)

    found = of(counted, "prepared", work)
    assert (found.requests, found.attempts) == (3, 3)
    assert found.failures == {"other": 3}


def test_requests_that_time_out(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    simulated.inject(Drop(), opcode="EXECUTE")

    def work() -> None:
        with pytest.raises(OperationTimedOut):
            counted.execute(select, (1,), execution_profile="short")
        assert sum(one.orphaned_streams for one in snapshot(counted).hosts) == 1

    found = of(counted, "prepared", work, "short")
    assert (found.requests, found.attempts, found.timeouts) == (1, 1, 1)
    assert found.failures == {"client_timeout": 1}
    assert found.latency.min >= 0.19 and int(counted.cluster.metrics.client_timeouts) == 1  # type: ignore[union-attr]


def test_speculative_attempts(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    select.is_idempotent = True
    simulated.inject(Delay(1), opcode="EXECUTE", times=1)
    found = of(counted, "prepared", lambda: counted.execute(select, (1,), execution_profile="speculative"))
    assert (found.requests, found.attempts, found.speculative_attempts) == (1, 2, 1)
    assert not found.failures


def test_statements_that_hosts_have_forgotten(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    for node in simulated.nodes:
        node.forget_prepared()
    found = of(counted, "prepared", lambda: counted.execute(select, (1,)))
    assert (found.requests, found.attempts, found.unprepared) == (1, 2, 1)
    assert not (found.failures or found.retries)


def test_lost_connections(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    simulated.inject(Close(), opcode="EXECUTE", times=1)

    def work() -> None:
        with pytest.raises(ConnectionException):
            counted.execute(select, (1,))

    before = snapshot(counted)
    work()
    since = snapshot(counted) - before
    found = since.total(kind="prepared")
    assert (found.requests, found.attempts) == (1, 1)
    assert found.errors == found.failures == {"connection": 1}
    eventually(lambda: sum(one.connection_errors for one in (snapshot(counted) - before).hosts) >= 1)
    eventually(lambda: sum(one.connections_opened for one in (snapshot(counted) - before).hosts) >= 1)


def test_no_host_at_all(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    for node in simulated.nodes:
        node.stop()
    eventually(lambda: snapshot(counted).connected_hosts == 0)
    before = snapshot(counted)
    with pytest.raises(NoHostAvailable):
        counted.execute(select, (1,), timeout=1)
    eventually(lambda: (snapshot(counted) - before).total().requests == 1)  # a moment after the error is raised
    (found,) = [one for one in (snapshot(counted) - before).requests if one.requests]
    assert (found.host, found.requests, found.attempts) == ("", 1, 0)
    assert found.failures == {"no_host": 1}


def test_gauges_and_bytes(counted: Session, simulated: SimulatedCluster) -> None:
    eventually(lambda: all(one.connections == 4 for one in snapshot(counted).hosts))
    found = snapshot(counted)
    assert (found.known_hosts, found.connected_hosts, found.sessions) == (3, 3, 1)
    assert len(found.hosts) == 3 and all(one.connections_opened >= 4 for one in found.hosts)
    assert {one.host for one in found.hosts} == {f"{node.address}:{simulated.port}" for node in simulated.nodes}
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    before = snapshot(counted)
    assert before.prepared_statements == 1
    for key in range(10):
        counted.execute(select, (key,))
    since = snapshot(counted) - before
    sent, received = (sum(getattr(one, f"bytes_{way}") for one in since.hosts) for way in ("sent", "received"))
    assert 10 * 30 < sent < 10 * 500 and 10 * 20 < received < 10 * 2000


def test_requests_in_flight(counted: Session, simulated: SimulatedCluster) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    simulated.inject(Delay(0.5), opcode="EXECUTE")
    futures = [counted.execute_async(select, (key,)) for key in range(7)]
    assert sum(one.in_flight for one in snapshot(counted).hosts) == 7
    for future in futures:
        future.result()
    assert sum(one.in_flight for one in snapshot(counted).hosts) == 0


def test_hosts_that_leave_are_folded(
    counted: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    select = counted.prepare("SELECT v FROM m WHERE id = ?")
    for key in range(ROWS):
        counted.execute(select, (key,))
    node = simulated.nodes[2]
    label = f"{node.address}:{simulated.port}"
    before = snapshot(counted)
    assert before.total(host=label).requests > 0
    simulated.remove_node(node)
    eventually(lambda: snapshot(counted).known_hosts == 2)
    monkeypatch.setattr("cassandra._session.metrics.FOLD_AFTER", 0.0)
    eventually(lambda: snapshot(counted).total(host=label).requests == 0)
    after = snapshot(counted)
    gone = after.total(host="(gone)")
    assert gone.requests == before.total(host=label).requests
    assert gone.attempts == before.total(host=label).attempts
    assert "(gone)" not in prometheus_text(after)
    assert after.total(kind="prepared").requests >= before.total(kind="prepared").requests
    assert counted.cluster.metrics.request_timer["count"] == after.total().requests  # type: ignore[union-attr]


def test_tablets_scans_and_ingests(counted: Session) -> None:
    pytest.importorskip("pyarrow")
    before = snapshot(counted)
    counted.execute("SELECT v FROM m WHERE id = 1")
    assert sum(1 for _ in counted.scan("m").rows()) == ROWS
    counted.ingest("m", {"id": list(range(100, 150)), "v": list(range(50))})
    since = snapshot(counted) - before
    assert (since.scan_rows, since.ingest_rows) == (ROWS, 50)


def test_requests_that_a_program_makes(counted: Session, simulated: SimulatedCluster) -> None:
    """With the metrics of the cluster, as programs for scylla-driver pass them."""
    metrics = counted.cluster.metrics
    statement = SimpleStatement("SELECT v FROM m WHERE id = 1")
    message = QueryMessage(statement.query_string, ConsistencyLevel.ONE)

    def execute() -> None:
        future = ResponseFuture(counted, message, statement, 5.0, metrics, row_factory=dict_factory)
        future.send_request()
        future.result()

    assert plain(of(counted, "simple", execute, "unnamed"), 1)
    simulated.inject(Fail(errors.ReadTimeout()), query="FROM m WHERE", times=2)
    before = int(metrics.read_timeouts)  # type: ignore[union-attr]
    with pytest.raises(ReadTimeout):
        execute()
    assert int(metrics.read_timeouts) > before  # type: ignore[union-attr]


def test_more_profiles_than_series(simulated: SimulatedCluster, counted: Session, connect: Connect) -> None:
    """Those without a series of their own are counted together."""
    names = [f"p{number}" for number in range(100)]
    session = connect(
        simulated, "ks", metrics_enabled=True, execution_profiles={name: ExecutionProfile() for name in names}
    )
    for name in names:
        session.execute("SELECT v FROM m WHERE id = 1", execution_profile=name)
    found = snapshot(session)
    assert found.total(kind="simple", profile="p0").requests == 1
    assert found.total(kind="simple", profile="other").requests > 30
    assert sum(found.total(kind="simple", profile=name).requests for name in [*names, "other"]) == len(names)
