"""``shutdown(drain=seconds)``: requests in flight may finish, nothing new begins, and it always ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import DriverException
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException
from cassandra.policies import ExponentialBackoffRetryPolicy
from cassandra.query import SimpleStatement
from cassandra.testing import Rule, SimulatedCluster
from cassandra.testing.errors import Overloaded
from cassandra.testing.faults import Delay, Fail, Hold
from tests.patience import PATIENCE
from tests.simulated.conftest import Connect, eventually

pytestmark = pytest.mark.long

LONG = PATIENCE  # seconds that are never used up
TABLE = "CREATE TABLE t (id int, c int, PRIMARY KEY (id, c))"
LOST = (NoHostAvailable, ConnectionException, DriverException)
SELECT = "SELECT c FROM t WHERE id = 1"


@pytest.fixture
def opened(simulated: SimulatedCluster, connect: Connect) -> Session:
    """A session with a table of ten rows."""
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
    simulated.execute(TABLE, "ks")
    for c in range(10):
        simulated.execute(f"INSERT INTO t (id, c) VALUES (1, {c})", "ks")
    return connect(simulated, "ks", max_schema_agreement_wait=LONG)


class Shutdown(threading.Thread):
    """``shutdown(**options)`` of a cluster or session, in a thread; joined when left."""

    def __init__(self, target: Any, **options: Any) -> None:
        super().__init__()
        self.target, self.options = target, options
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.target.shutdown(**self.options)
        except BaseException as error:
            self.error = error

    def __enter__(self) -> Shutdown:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.join(LONG)
        assert not self.is_alive() and self.error is None


def held(simulated: SimulatedCluster, session: Session, count: int = 20) -> tuple[Rule, list[Any]]:
    """Requests whose answers wait for ``rule.release()``."""
    rule = simulated.inject(Hold(), query="FROM t")
    futures = [session.execute_async(SELECT) for _ in range(count)]
    eventually(lambda: rule.hits == count)
    return rule, futures


def sent(simulated: SimulatedCluster) -> list[Any]:
    """The application's requests as sent, without those of a connection that is opened beside a silent one."""
    opcodes = ("QUERY", "EXECUTE", "PREPARE")
    requests = [one for one in simulated.requests if one.opcode in opcodes and not one.control]
    return [one for one in requests if one.query != 'USE "ks"']


def refused(call: Callable[[], Any]) -> bool:
    """Whether nothing new is taken."""
    try:
        call()
    except (NoHostAvailable, DriverException) as error:
        return "shut down" in str(error)
    return False


def test_drain_finishes_requests_in_flight_and_refuses_new_ones(simulated: SimulatedCluster, opened: Session) -> None:
    cluster = opened.cluster
    prepared = opened.prepare(SELECT)
    opened.execute(prepared)  # compiled
    rule, futures = held(simulated, opened)
    with Shutdown(cluster, drain=LONG) as ending:
        eventually(lambda: is_closed(opened))
        before = len(sent(simulated))
        for new in (
            lambda: opened.execute(prepared),
            lambda: opened.execute(prepared.bind(())),
            lambda: opened.execute_async(SELECT).result(),
            lambda: opened.prepare(SELECT),
            lambda: opened.set_keyspace("system"),
            lambda: execute_concurrent_with_args(opened, prepared, [()] * 3),
            cluster.connect,
        ):
            assert refused(new)
        assert len(sent(simulated)) == before
        assert ending.is_alive() and not cluster.is_shutdown
        assert not any(future._outcome for future in futures)
        rule.release()
        for future in futures:
            assert len(future.result().all()) == 10
    assert cluster.is_shutdown and opened.is_shutdown


def test_the_rest_fails_when_the_time_is_up(
    simulated: SimulatedCluster, opened: Session, caplog: pytest.LogCaptureFixture
) -> None:
    _, futures = held(simulated, opened)
    begun = time.monotonic()
    opened.cluster.shutdown(drain=0.2)
    assert time.monotonic() - begun >= 0.2
    for future in futures:
        with pytest.raises(LOST):
            future.result()
    assert "20 requests" in caplog.text


def test_without_requests_there_is_nothing_to_wait_for(opened: Session) -> None:
    opened.cluster.shutdown(drain=10 * LONG)
    assert opened.cluster.is_shutdown


def test_retries_that_wait_for_their_time(simulated: SimulatedCluster, opened: Session) -> None:
    statement = SimpleStatement(SELECT, retry_policy=ExponentialBackoffRetryPolicy(3, 0.3, 1), is_idempotent=True)
    rule = simulated.inject(Fail(Overloaded()), query="FROM t", times=2)
    future = opened.execute_async(statement)
    eventually(lambda: rule.hits >= 1)
    opened.cluster.shutdown(drain=LONG)
    assert len(future.result().all()) == 10
    assert rule.hits == 2


def test_statements_that_a_node_has_forgotten(simulated: SimulatedCluster, opened: Session) -> None:
    prepared = opened.prepare(SELECT)
    for node in simulated.nodes:
        node.forget_prepared()
    rule = simulated.inject(Delay(0.2), opcode="PREPARE")
    futures = [opened.execute_async(prepared) for _ in range(10)]
    opened.cluster.shutdown(drain=LONG)
    assert all(len(future.result().all()) == 10 for future in futures)
    assert rule.hits


def test_a_page_in_flight_comes_and_no_other(simulated: SimulatedCluster, opened: Session) -> None:
    rule, _ = held(simulated, opened, 1)
    future = opened.execute_async(SimpleStatement(SELECT, fetch_size=4))
    eventually(lambda: rule.hits == 2)
    with Shutdown(opened.cluster, drain=LONG):
        eventually(lambda: is_closed(opened))
        rule.release()
        result = future.result()
        assert [row.c for row in result.current_rows] == [0, 1, 2, 3]
        assert result.has_more_pages
        with pytest.raises(NoHostAvailable, match="shut down"):
            result.fetch_next_page()


def test_execute_concurrent(simulated: SimulatedCluster, opened: Session) -> None:
    prepared = opened.prepare("SELECT c FROM t WHERE id = ?")
    rule = simulated.inject(Hold(), opcode="EXECUTE")
    results: list[Any] = []

    def run() -> None:
        results.extend(
            execute_concurrent_with_args(opened, prepared, [(1,)] * 100, concurrency=30, raise_on_first_error=False)
        )

    thread = threading.Thread(target=run)
    thread.start()
    eventually(lambda: rule.hits == 30)
    with Shutdown(opened.cluster, drain=LONG):
        eventually(lambda: is_closed(opened))
        rule.release()
        thread.join(LONG)
    assert [one.success for one in results] == [True] * 30 + [False] * 70
    assert all(isinstance(one.result_or_exc, NoHostAvailable) for one in results[30:])


def test_schema_changes(simulated: SimulatedCluster, opened: Session) -> None:
    """The change is done when the nodes agree and the metadata has it."""
    simulated.nodes[1].disagree()
    future = opened.execute_async("CREATE TABLE other (id int PRIMARY KEY)")
    eventually(lambda: simulated.statements("other") or "other" in str(simulated.requests))
    with Shutdown(opened.cluster, drain=LONG) as ending:
        eventually(lambda: is_closed(opened))
        assert ending.is_alive()
        simulated.nodes[1].disagree(False)
        future.result()
    assert future.is_schema_agreed
    assert "other" in opened.cluster.metadata.keyspaces["ks"].tables


def test_a_second_shutdown_ends_it_at_once(simulated: SimulatedCluster, opened: Session) -> None:
    _, futures = held(simulated, opened)
    with Shutdown(opened.cluster, drain=10 * LONG):
        eventually(lambda: is_closed(opened))
        opened.cluster.shutdown()
        assert opened.cluster.is_shutdown
    with pytest.raises(LOST):
        futures[0].result()


def test_several_at_a_time(simulated: SimulatedCluster, opened: Session) -> None:
    rule, futures = held(simulated, opened)
    with Shutdown(opened.cluster, drain=LONG), Shutdown(opened.cluster, drain=LONG), Shutdown(opened, drain=LONG):
        eventually(lambda: is_closed(opened))
        rule.release()
    assert all(future.result().all() for future in futures)
    opened.cluster.shutdown(drain=LONG)
    opened.shutdown(drain=LONG)


def test_one_session_of_several(simulated: SimulatedCluster, opened: Session) -> None:
    other = opened.cluster.connect("ks")
    rule, futures = held(simulated, opened)
    with Shutdown(opened, drain=LONG):
        eventually(lambda: is_closed(opened))
        assert other.execute("SELECT key FROM system.local").one()
        rule.release()
        assert all(future.result().all() for future in futures)
    assert opened.is_shutdown and not other.is_shutdown
    assert other.execute("SELECT key FROM system.local").one()


def test_from_a_callback(simulated: SimulatedCluster, opened: Session) -> None:
    """The I/O thread cannot wait for answers that it has to receive itself."""
    rule, futures = held(simulated, opened)
    opened.execute_async("SELECT key FROM system.local").add_callback(lambda rows: opened.cluster.shutdown(drain=LONG))
    eventually(lambda: is_closed(opened))
    rule.release()
    assert all(future.result().all() for future in futures)
    eventually(lambda: opened.cluster.is_shutdown)
    opened.cluster.shutdown()


@pytest.mark.parametrize("drain", [-1, float("nan"), "1", True])
def test_wrong_times(opened: Session, drain: Any) -> None:
    for one in (opened, opened.cluster):
        with pytest.raises((TypeError, ValueError), match="drain"):
            one.shutdown(drain=drain)
        assert not one.is_shutdown


def test_a_cluster_that_was_never_connected(no_leaks: None) -> None:
    cluster = Cluster(["127.0.0.1"])
    cluster.shutdown(drain=LONG)
    assert refused(cluster.connect)


def is_closed(session: Session) -> bool:
    return refused(lambda: session.execute("SELECT key FROM system.local"))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_awaited_requests(simulated: SimulatedCluster, opened: Session, loop: asyncio.AbstractEventLoop) -> None:
    statement = SimpleStatement(SELECT, retry_policy=ExponentialBackoffRetryPolicy(3, 0.1, 1), is_idempotent=True)

    async def ask(query: Any) -> int:
        return len((await opened.execute_async(query)).all())

    async def main() -> list[Any]:
        rule = simulated.inject(Hold(), query="FROM t", times=20)
        failing = simulated.inject(Fail(Overloaded()), query="FROM t", times=5)
        tasks = [asyncio.ensure_future(ask(SELECT)) for _ in range(20)]
        while rule.hits < 20:
            await asyncio.sleep(0.01)
        tasks += [asyncio.ensure_future(ask(statement)) for _ in range(5)]
        await asyncio.sleep(0)
        ending = asyncio.ensure_future(opened.cluster.shutdown_async(drain=LONG))
        await asyncio.sleep(0)
        with pytest.raises(NoHostAvailable, match="shut down"):
            await opened.execute_async(SELECT)
        while failing.hits < 5:
            await asyncio.sleep(0.01)
        rule.release()
        await ending
        assert opened.cluster.is_shutdown
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert loop.run_until_complete(main()) == [10] * 25


def test_a_session_in_a_loop(simulated: SimulatedCluster, opened: Session, loop: asyncio.AbstractEventLoop) -> None:
    async def main() -> None:
        rule = simulated.inject(Hold(), query="FROM t")
        task = asyncio.ensure_future(asyncio.wait_for(opened.execute_async(SELECT), LONG))
        while not rule.hits:
            await asyncio.sleep(0.01)
        ending = asyncio.ensure_future(opened.shutdown_async(drain=LONG))
        await asyncio.sleep(0.1)
        assert not ending.done()
        rule.release()
        await ending
        assert opened.is_shutdown
        assert len((await task).all()) == 10

    loop.run_until_complete(main())
    assert not opened.cluster.is_shutdown
