"""Cached statements over real connections: what is a hit, what makes it invalid, and reads that share a response."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra._session.caching import first_word
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    CachedStatement,
    CacheStatistics,
    ExecutionProfile,
    OperationTimedOut,
    Session,
    UnsupportedOperation,
)
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.query import (
    BatchStatement,
    ConsistencyLevel,
    PreparedStatement,
    dict_factory,
    named_tuple_factory,
    tuple_factory,
)
from cassandra.testing import Rule, SimulatedCluster
from cassandra.testing.errors import InvalidRequest
from cassandra.testing.faults import Fail, Hold, Warn
from tests.interrupts import interrupted_everywhere
from tests.patience import eventually
from tests.simulated.conftest import Connect

SELECT = "SELECT k, v FROM t WHERE k = ?"
READ = "SELECT k, v FROM t"
TTL = 3600.0  # tests let time go by with advance()


class Lab:
    """One node, a table of ten partitions, and a cached read of one of them."""

    def __init__(self, simulated: SimulatedCluster, session: Session) -> None:
        self.simulated = simulated
        self.session = session
        self.insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        for k in range(10):
            session.execute(self.insert, (k, k))
        self.select = session.prepare(SELECT)
        self.cached = session.cached(self.select, ttl=TTL)

    def read(self, k: int = 1) -> Any:
        return self.cached.execute((k,)).one().v

    def write_unseen(self, k: int, v: int) -> None:
        """Write as another client does."""
        self.simulated.execute(f"INSERT INTO t (k, v) VALUES ({k}, {v})", "ks")

    def sent(self, action: Callable[[], object]) -> int:
        """Number of reads of the table that *action* sends."""
        self.simulated.clear_requests()
        action()
        return sum(" FROM t" in request.query for request in self.simulated.statements())

    def held(self) -> Rule:
        return self.simulated.inject(Hold(), query=READ)


@pytest.fixture
def lab(no_leaks: None, connect: Connect) -> Iterator[Lab]:
    with SimulatedCluster(1, 2) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session = connect(simulated, "ks")
        session.execute("CREATE TABLE t (k int PRIMARY KEY, v int)")
        session.execute("CREATE TABLE u (k int PRIMARY KEY, v int)")
        yield Lab(simulated, session)
        if "caching" in connection._connections:
            connection.unregister_connection("caching")
        session.cluster.shutdown()


# ---- hits


def test_the_second_read_is_a_hit(lab: Lab) -> None:
    assert lab.sent(lambda: [lab.read() for _ in range(5)]) == 1
    found = lab.cached.statistics()
    assert (found.hits, found.misses, found.entries) == (4, 1, 1)
    assert 0 < found.bytes < 1000


def test_other_values_are_another_result(lab: Lab) -> None:
    assert [lab.read(k) for k in (1, 2, 1, 2)] == [1, 2, 1, 2]
    assert lab.cached.statistics().entries == 2


def test_a_result_without_rows(lab: Lab) -> None:
    assert lab.sent(lambda: [lab.cached.execute((99,)).one() for _ in range(3)]) == 1


def test_every_way_to_execute_uses_it(lab: Lab) -> None:
    cached, session = lab.cached, lab.session
    lab.read()
    rows: list[Any] = []

    async def wait() -> Any:
        return (await cached.execute_async((1,))).one(), (await session.execute_async(cached.statement, (1,))).one()

    def all_ways() -> None:
        cached.execute_async((1,)).add_callback(rows.extend)
        rows.extend(asyncio.run(wait()))
        rows.append(session.execute(cached.statement, (1,)).one())
        rows.append(session.execute(cached.statement, {"k": 1}).one())
        rows.append(session.execute(cached.statement.bind((1,))).one())
        rows.append(session.execute(cached.statement, (1,), timeout=7).one())
        rows.append(cached.execute({"k": 1}, timeout=7).one())
        rows.extend(
            result.result_or_exc.one() for result in execute_concurrent_with_args(session, cached.statement, [(1,)])
        )

    assert lab.sent(all_ways) == 0
    assert [row.v for row in rows] == [1] * 9


def test_rows_are_made_for_each_caller(lab: Lab) -> None:
    first, second = lab.cached.execute((1,)).all(), lab.cached.execute((1,)).all()
    first.clear()
    assert [tuple(row) for row in second] == [(1, 1)]
    assert [tuple(row) for row in lab.cached.execute((1,)).all()] == [(1, 1)]


@pytest.mark.parametrize("as_option", [True, False])
def test_row_factories(lab: Lab, as_option: bool) -> None:
    def of_program(names: list[str], rows: list[Any]) -> list[Any]:
        return [list(zip(names, row, strict=True)) for row in rows]

    factories = {tuple_factory: (1, 1), dict_factory: {"k": 1, "v": 1}, of_program: [("k", 1), ("v", 1)]}

    def read() -> None:
        for factory, row in factories.items():
            if as_option:
                assert list(lab.cached.execute((1,), row_factory=factory)) == [row]
            else:
                lab.session.row_factory = factory
                assert list(lab.cached.execute((1,))) == [row]

    assert lab.sent(lambda: [read(), read(), read()]) == 1


def test_the_future_of_a_hit(lab: Lab) -> None:
    lab.read()
    result = lab.cached.execute((1,))
    assert result.column_names == ["k", "v"] and not result.has_more_pages
    future = result.response_future
    assert future.query.prepared_statement is lab.cached.statement
    assert future.result().one().v == 1 and future.warnings is None and future.coordinator_host is None
    assert lab.cached.execute_async((1,)).result().one().v == 1


def test_a_large_result(lab: Lab) -> None:
    lab.session.execute("CREATE TABLE wide (k int, n int, v text, PRIMARY KEY (k, n))")
    for n in range(50):
        lab.session.execute("INSERT INTO wide (k, n, v) VALUES (1, %s, %s)", (n, "x" * 1000))
    wide = lab.session.cached(lab.session.prepare("SELECT n, v FROM wide WHERE k = ?"), ttl=TTL)
    results = [wide.execute((1,)) for _ in range(3)]
    wide.invalidate()
    assert [[row.n for row in result] for result in results] == [list(range(50))] * 3
    assert wide.statistics().hits == 2


# ---- what is not cached


def test_results_of_several_pages(lab: Lab) -> None:
    every = lab.session.prepare("SELECT k FROM t")
    every.fetch_size = 4
    cached = lab.session.cached(every, ttl=TTL)
    assert lab.sent(lambda: [cached.execute().all(), cached.execute().all()]) == 6
    assert cached.statistics().entries == 0


def test_results_with_warnings(lab: Lab) -> None:
    with lab.simulated.inject(Warn(["too much"]), query=READ, times=1):
        assert lab.cached.execute((1,)).response_future.warnings == ["too much"]
    assert lab.cached.statistics().entries == 0


def test_errors(lab: Lab) -> None:
    refused = lab.simulated.inject(Fail(InvalidRequest("not now")), query=READ, times=1)
    with refused, pytest.raises(Exception, match="not now"):
        lab.read()
    assert lab.read() == 1


@pytest.mark.parametrize("options", [{"trace": True}, {"custom_payload": {"a": b"b"}}, {"host": None}])
def test_options_that_change_the_response(lab: Lab, options: dict[str, Any]) -> None:
    lab.read()
    if "host" in options:
        options = {"host": next(iter(lab.session.cluster.metadata.all_hosts()))}
    assert lab.sent(lambda: lab.session.execute(lab.cached.statement, (1,), **options)) == 1


@pytest.mark.parametrize(
    "text", ["INSERT INTO t (k, v) VALUES (?, ?)", "UPDATE t SET v = ? WHERE k = ?", "DELETE FROM t WHERE k = ?"]
)
def test_writes_are_refused(lab: Lab, text: str) -> None:
    with pytest.raises(UnsupportedOperation, match="Only the results of SELECT statements can be cached"):
        lab.session.cached(lab.session.prepare(text), ttl=1)


def test_serial_reads(lab: Lab) -> None:
    lab.select.consistency_level = ConsistencyLevel.SERIAL
    with pytest.raises(UnsupportedOperation, match="serial"):
        lab.session.cached(lab.select, ttl=1)
    serial = ExecutionProfile(consistency_level=ConsistencyLevel.LOCAL_SERIAL)
    lab.session.cluster.add_execution_profile("serial", serial)
    assert lab.sent(lambda: [lab.cached.execute((1,), execution_profile="serial") for _ in range(3)]) == 3


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"ttl": 0}, ValueError),
        ({"ttl": -1.0}, ValueError),
        ({"ttl": float("nan")}, ValueError),
        ({"ttl": float("inf")}, ValueError),
        ({"ttl": None}, TypeError),
        ({"ttl": "1"}, TypeError),
        ({"ttl": 1, "max_bytes": 1000}, ValueError),
        ({"ttl": 1, "max_bytes": 1e9}, TypeError),
    ],
)
def test_arguments(lab: Lab, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        lab.session.cached(lab.select, **options)
    with pytest.raises(TypeError, match="prepared"):
        lab.session.cached("SELECT k FROM t", ttl=1)  # type: ignore[arg-type]


def test_profiles_with_other_levels_have_other_results(lab: Lab) -> None:
    lab.session.cluster.add_execution_profile("all", ExecutionProfile(consistency_level=ConsistencyLevel.ALL))
    lab.read()
    assert lab.sent(lambda: [lab.cached.execute((1,), execution_profile="all") for _ in range(3)]) == 1
    assert lab.sent(lab.read) == 0


# ---- the limit of time


def test_a_result_is_used_until_its_time_is_up(lab: Lab) -> None:
    lab.read()
    lab.write_unseen(1, 100)
    lab.cached._cache.advance(TTL - 60)
    assert lab.read() == 1
    lab.cached._cache.advance(60)
    assert lab.read() == 100
    assert lab.cached.statistics().expirations == 1


def test_the_time_counts_from_before_the_request_was_sent(lab: Lab) -> None:
    rule = lab.held()
    with rule:
        future = lab.cached.execute_async((1,))
        eventually(lambda: rule.hits == 1)
        lab.cached._cache.advance(TTL)
        rule.release()
        assert future.result().one().v == 1
    lab.write_unseen(1, 100)
    assert lab.read() == 100


def test_a_read_in_flight_is_not_shared_when_its_time_is_up(lab: Lab) -> None:
    rule = lab.held()
    with rule:
        first = lab.cached.execute_async((1,))
        lab.cached._cache.advance(TTL)
        second = lab.cached.execute_async((1,))
        eventually(lambda: rule.hits == 2)
        rule.release()
        assert first.result().one() == second.result().one()


# ---- writes of the session


def text_write(lab: Lab) -> object:
    return lab.session.execute("INSERT INTO t (k, v) VALUES (1, 100)")


def prepared_write(lab: Lab) -> object:
    return lab.session.execute(lab.insert, (1, 100))


def prepared_delete(lab: Lab) -> object:
    lab.session.execute(lab.session.prepare("DELETE FROM t WHERE k = ?"), (1,))
    return lab.write_unseen(1, 100)


def update(lab: Lab) -> object:
    return lab.session.execute(lab.session.prepare("UPDATE t SET v = ? WHERE k = ?"), (100, 1))


def conditional(lab: Lab) -> object:
    return lab.session.execute(lab.session.prepare("UPDATE t SET v = ? WHERE k = ? IF v = ?"), (100, 1, 1))


def bound_write(lab: Lab) -> object:
    return lab.session.execute(lab.insert.bind((1, 100)))


def awaited_write(lab: Lab) -> object:
    async def write() -> object:
        return await lab.session.execute_async(lab.insert, (1, 100))

    return asyncio.run(write())


def traced_write(lab: Lab) -> object:
    return lab.session.execute(lab.insert, (1, 100), trace=True)


def batch_of_prepared(lab: Lab) -> object:
    batch = BatchStatement()
    batch.add(lab.insert, (2, 100))
    batch.add(lab.insert, (1, 100))
    return lab.session.execute(batch)


def batch_of_texts(lab: Lab) -> object:
    batch = BatchStatement()
    batch.add("INSERT INTO t (k, v) VALUES (%s, %s)", (1, 100))
    return lab.session.execute(batch)


def concurrent_writes(lab: Lab) -> object:
    return execute_concurrent_with_args(lab.session, lab.insert, [(k, 100) for k in range(10)])


def ingest(lab: Lab) -> object:
    return lab.session.ingest("t", [{"k": 1, "v": 100}])


def without_parameters(lab: Lab) -> object:
    return lab.session.execute(lab.session.prepare("UPDATE t SET v = 100 WHERE k = 1"))


def of_several_partitions(lab: Lab) -> object:
    return lab.session.execute(lab.session.prepare("UPDATE t SET v = ? WHERE k IN (?, ?)"), (100, 1, 2))


class Mapped(Model):
    """The table, for the object mapper."""

    __table_name__ = "t"
    __keyspace__ = "ks"
    __connection__ = "caching"
    k = columns.Integer(primary_key=True)
    v = columns.Integer()


def mapper_write(lab: Lab) -> object:
    if "caching" not in connection._connections:
        connection.register_connection("caching", session=lab.session)
    Mapped.create(k=2, v=100)
    written = Mapped.objects(k=1).update(v=100)
    lab.session.row_factory = named_tuple_factory  # the mapper has set its own
    return written


WRITES = [
    text_write, prepared_write, prepared_delete, update, conditional, bound_write, awaited_write, traced_write,
    batch_of_prepared, batch_of_texts, concurrent_writes, ingest, without_parameters, of_several_partitions,
    mapper_write,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("again", [False, True])
def test_no_write_of_the_session_is_hidden(lab: Lab, write: Callable[[Lab], object], again: bool) -> None:
    if again:  # with what the first one has compiled
        write(lab)
        lab.session.execute(lab.insert, (1, 1))
    assert lab.read() == 1
    assert lab.sent(lab.read) == 0
    write(lab)
    assert lab.read() == 100
    assert lab.sent(lab.read) == 0


def test_other_partitions_and_tables_stay(lab: Lab) -> None:
    of_other = lab.session.prepare("INSERT INTO u (k, v) VALUES (?, ?)")
    for k in range(10):
        lab.read(k)
    lab.session.execute(lab.insert, (1, 100))
    for k in range(10):
        lab.session.execute(of_other, (k, 5))
    lab.session.execute("SELECT k FROM t WHERE k = 1")
    lab.session.execute(lab.select, (1,))
    assert lab.sent(lambda: [lab.read(k) for k in range(10)]) == 1


def test_a_read_of_the_whole_table_depends_on_every_write(lab: Lab) -> None:
    every = lab.session.cached(lab.session.prepare("SELECT k, v FROM t"), ttl=TTL)
    some = lab.session.cached(lab.session.prepare("SELECT k, v FROM t WHERE k IN (?, ?)"), ttl=TTL)

    def read() -> list[set[Any]]:
        return [set(every.execute()), set(some.execute((1, 2)))]

    before = read()
    assert lab.sent(read) == 0
    lab.session.execute(lab.insert, (1, 100))
    after = read()
    assert all(row not in before[n] and row in after[n] for n in range(2) for row in [(1, 100)])


def test_a_failed_write_counts(lab: Lab) -> None:
    """It may have been executed."""
    lab.read()
    with lab.simulated.inject(Hold(), query="INSERT", times=1), pytest.raises(OperationTimedOut):
        lab.session.execute(lab.insert, (1, 100), timeout=0.05)
    lab.write_unseen(1, 100)
    assert lab.read() == 100


def test_a_cancelled_write_counts(lab: Lab) -> None:
    lab.read()
    with lab.simulated.inject(Hold(), query="INSERT", times=1):
        lab.session.execute_async(lab.insert, (1, 100)).cancel()
    lab.write_unseen(1, 100)
    assert lab.read() == 100


def test_a_read_that_was_sent_before_a_write_has_ended(lab: Lab) -> None:
    """Its result, which came before the write, is not kept after it; nor is it shared with a later read."""
    rule = lab.held()
    with rule:
        before = lab.cached.execute_async((1,))
        eventually(lambda: rule.hits == 1)
        lab.session.execute(lab.insert, (1, 100))
        after = lab.cached.execute_async((1,))
        eventually(lambda: rule.hits == 2)
        rule.release()
        before.result()
        assert after.result().one().v == 100
    assert lab.read() == 100


def test_the_response_of_a_read_comes_while_a_write_is_in_flight(lab: Lab) -> None:
    """What it has kept is gone when the write has ended."""
    with lab.simulated.inject(Hold(executed=False), query="INSERT", times=1) as rule:
        write = lab.session.execute_async(lab.insert, (1, 100))
        eventually(lambda: rule.hits == 1)
        assert lab.read() == 1  # in flight: either is correct
        rule.release()
        write.result()
    assert lab.read() == 100


def test_a_statement_that_another_session_has_cached(lab: Lab) -> None:
    """It cannot know of this session's writes: there it is an ordinary statement."""
    other = lab.session.cluster.connect("ks")
    lab.read()
    assert lab.sent(lambda: [other.execute(lab.cached.statement, (1,)) for _ in range(3)]) == 3
    other.cached(lab.select, ttl=TTL)
    assert lab.sent(lambda: [other.execute(lab.cached.statement, (1,)) for _ in range(3)]) == 3


def test_invalidation_by_the_program(lab: Lab) -> None:
    for k in (1, 2):
        lab.read(k)
        lab.write_unseen(k, 100)
    lab.cached.invalidate((1,))
    assert [lab.read(1), lab.read(2)] == [100, 2]
    lab.cached.invalidate()
    assert lab.cached.statistics().entries == 0
    assert [lab.read(1), lab.read(2)] == [100, 100]


def test_a_read_in_flight_when_the_program_invalidates(lab: Lab) -> None:
    rule = lab.held()
    with rule:
        future = lab.cached.execute_async((1,))
        eventually(lambda: rule.hits == 1)
        lab.cached.invalidate()
        rule.release()
        future.result()
    assert lab.cached.statistics().entries == 0


# ---- schema changes


def test_columns_that_change(lab: Lab) -> None:
    """The bytes of before are not decoded as the columns of after."""
    every = lab.session.cached(lab.session.prepare("SELECT * FROM t WHERE k = ?"), ttl=TTL)
    assert every.execute((1,)).one() == (1, 1)
    lab.session.execute("ALTER TABLE t ADD a text")
    assert tuple(every.execute((2,)).one()) in [(2, None, 2), (2, 2)]
    row = every.execute((1,)).one()
    assert len(row) == len(row._fields) and row.v == 1 and row.k == 1
    every.invalidate()
    assert every.execute((2,)).one().v == 2
    assert every.execute((2,)).one().v == 2


# ---- the limit of memory


def test_the_memory_is_bounded(lab: Lab) -> None:
    small = lab.session.cached(lab.select, ttl=TTL, max_bytes=1 << 16)
    for k in range(1000):
        small.execute((k,))
    found = small.statistics()
    assert found.bytes <= 1 << 16 and found.evictions > 100 and found.entries > 50
    in_use = lab.session.cluster.memory_pool.stats().in_use
    small.invalidate()
    assert small.statistics().bytes == 0
    assert lab.session.cluster.memory_pool.stats().in_use < in_use


# ---- equal reads in flight


def test_equal_reads_are_one_request(lab: Lab) -> None:
    rule = lab.held()
    with rule:
        futures = [lab.cached.execute_async((1,)) for _ in range(1000)]
        eventually(lambda: rule.hits > 0)
        rule.release()
        rows = [future.result().all() for future in futures]
    assert rule.hits == 1 and rows == [[(1, 1)]] * 1000
    assert len({id(row) for row in rows}) == 1000
    assert lab.cached.statistics().shared == 999


def test_threads_callbacks_and_tasks_share_one_request(lab: Lab) -> None:
    rule = lab.held()
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(lab.cached.execute((1,)).one())) for _ in range(8)]

    async def wait() -> list[Any]:
        tasks = [asyncio.ensure_future(one()) for _ in range(50)]
        while lab.cached.statistics().shared < 8 + 50:
            await asyncio.sleep(0.01)
        rule.release()
        return await asyncio.gather(*tasks)

    async def one() -> Any:
        return (await lab.cached.execute_async((1,))).one()

    with rule:
        lab.cached.execute_async((1,)).add_callback(lambda rows: found.append(rows[0]))
        for thread in threads:
            thread.start()
        found += asyncio.run(wait())
        for thread in threads:
            thread.join()
    assert rule.hits == 1 and found == [(1, 1)] * 59


class HoldAndFail(Hold):
    """Hold responses, which are errors."""

    def react(self, exchange: Any) -> None:
        self.held.append(lambda: exchange.send(exchange.failed(InvalidRequest("no"))))


def test_each_gets_an_error_of_its_own(lab: Lab) -> None:
    errors = []
    with lab.simulated.inject(HoldAndFail(), query=READ) as rule:
        futures = [lab.cached.execute_async((1,)) for _ in range(20)]
        eventually(lambda: rule.hits > 0)
        rule.release()
        for future in futures:
            with pytest.raises(Exception, match="no") as caught:
                future.result()
            errors.append(caught.value)
    assert rule.hits == 1
    assert len({id(error) for error in errors}) == 20
    assert len({(type(error), str(error)) for error in errors}) == 1
    assert lab.read() == 1


def test_one_that_is_cancelled_does_not_cancel_the_others(lab: Lab) -> None:
    rule = lab.held()
    with rule:
        futures = [lab.cached.execute_async((1,)) for _ in range(5)]
        for n in (0, 1, 3):  # the one that was sent, too
            assert futures[n].cancel()
            with pytest.raises(CancelledError):
                futures[n].result()
        eventually(lambda: rule.hits == 2)  # one of the others was sent
        rule.release()
        assert [futures[n].result().one().v for n in (2, 4)] == [1, 1]
    assert rule.hits == 2


def test_each_has_a_timeout_of_its_own(lab: Lab) -> None:
    rule = lab.held()
    with rule:
        first = lab.cached.execute_async((1,), timeout=0.2)
        second = lab.cached.execute_async((1,), timeout=60)
        third = lab.cached.execute_async((1,), timeout=0.05)
        for future in (third, first):
            with pytest.raises(OperationTimedOut):
                future.result()
        eventually(lambda: rule.hits == 2)
        rule.release()
        assert second.result().one().v == 1


def test_the_options_of_a_call(lab: Lab) -> None:
    """The first execution uses the cache with them, too."""
    assert lab.cached.execute((1,), timeout=7).one().v == 1
    assert lab.sent(lambda: lab.cached.execute((1,), timeout=None, row_factory=tuple_factory)) == 0


def test_tasks_that_are_cancelled(lab: Lab) -> None:
    rule = lab.held()

    async def run() -> Any:
        async def one() -> Any:
            return (await lab.cached.execute_async((1,))).one().v

        tasks = [asyncio.ensure_future(one()) for _ in range(4)]
        while lab.cached.statistics().shared < 3:
            await asyncio.sleep(0.01)
        tasks[0].cancel()
        tasks[2].cancel()
        while rule.hits < 2:
            await asyncio.sleep(0.01)
        rule.release()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with rule:
        found = asyncio.run(run())
    assert [type(one) for one in (found[0], found[2])] == [asyncio.CancelledError] * 2
    assert [found[1], found[3]] == [1, 1]


def test_without_sharing(lab: Lab) -> None:
    single = lab.session.cached(lab.select, ttl=TTL, single_flight=False)
    rule = lab.held()
    with rule:
        futures = [single.execute_async((1,)) for _ in range(5)]
        eventually(lambda: rule.hits == 5)
        rule.release()
        assert [future.result().one().v for future in futures] == [1] * 5


def test_a_result_of_several_pages_is_shared(lab: Lab) -> None:
    lab.session.execute("CREATE TABLE wide (k int, n int, PRIMARY KEY (k, n))")
    for n in range(6):
        lab.session.execute("INSERT INTO wide (k, n) VALUES (1, %s)", (n,))
    select = lab.session.prepare("SELECT n FROM wide WHERE k = ?")
    select.fetch_size = 2
    wide = lab.session.cached(select, ttl=TTL)
    with lab.simulated.inject(Hold(), query="SELECT n FROM wide", times=1) as rule:
        futures = [wide.execute_async((1,)) for _ in range(3)]
        eventually(lambda: rule.hits == 1)
        rule.release()
        assert [[row.n for row in future.result()] for future in futures] == [list(range(6))] * 3


def test_shutdown_ends_all(lab: Lab) -> None:
    rule = lab.held()
    with rule:
        futures = [lab.cached.execute_async((1,)) for _ in range(5)]
        eventually(lambda: rule.hits == 1)
        lab.session.cluster.shutdown()
        for future in futures:
            with pytest.raises(ConnectionException, match="was closed"):
                future.result()
        rule.release()
    with pytest.raises(Exception, match=r"shut down|shutdown"):
        lab.read()


# ---- forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_sends_its_own_reads(lab: Lab) -> None:
    """Those in flight are its parent's."""
    lab.read(2)
    with lab.simulated.inject(Hold(), query=READ, times=1) as rule:
        leader = lab.cached.execute_async((1,))
        eventually(lambda: rule.hits == 1)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if [lab.read(1), lab.read(2)] == [1, 2] else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        rule.release()
        assert leader.result().one().v == 1


# ---- signals


@pytest.mark.long
def test_handlers_that_raise(lab: Lab) -> None:
    """At each moment of a miss: no later read, and none that waits for an equal one, waits for ever."""
    turn = iter(range(100, 1_000_000))

    def miss() -> None:
        k = next(turn)
        lab.cached.execute((k,))

    for _ in interrupted_everywhere(miss):
        k = next(turn) - 1
        assert lab.cached.execute((k,), timeout=30).one() is None

    def write() -> None:
        lab.session.execute(lab.insert, (1, 100))

    for _ in interrupted_everywhere(write):
        assert lab.cached.execute((1,), timeout=30).one().v in (1, 100)
    write()
    assert lab.read() == 100

    def shared() -> None:
        k = next(turn)
        first = lab.cached.execute_async((k,))
        second = lab.cached.execute_async((k,))
        first.cancel()
        second.result()

    for _ in interrupted_everywhere(shared):
        k = next(turn) - 1
        assert lab.cached.execute((k,), timeout=30).one() is None


# ---- all together


class Oracle:
    """The results that a cache may return, by value: a dict with the time of each read, and a virtual clock."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[float, int]] = {}
        self.stored = {k: k for k in range(10)}
        self.now = 0.0

    def read(self, k: int) -> int:
        found = self.kept.get(k)
        if found is None or self.now - found[0] >= TTL:
            found = self.kept[k] = (self.now, self.stored[k])
        return found[1]


@pytest.mark.parametrize("seed", range(5))
def test_like_a_dict(lab: Lab, seed: int) -> None:
    """Reads, writes of the session and of others, and time that goes by: each result is that of the oracle."""
    chosen, oracle = random.Random(seed), Oracle()
    select = (lab.read, lambda k: lab.session.execute(lab.cached.statement, (k,)).one().v)
    for n in range(600):
        k = chosen.randrange(10)
        step = chosen.random()
        if step < 0.7:
            assert chosen.choice(select)(k) == oracle.read(k)
        elif step < 0.8:
            lab.session.execute(lab.insert, (k, n))
            oracle.stored[k] = n
            oracle.kept.pop(k, None)
        elif step < 0.9:
            lab.write_unseen(k, n)
            oracle.stored[k] = n
        elif step < 0.95:
            lab.cached.invalidate((k,))
            oracle.kept.pop(k, None)
        elif step < 0.97:
            lab.cached.invalidate()
            oracle.kept.clear()
        else:
            lab.cached._cache.advance(TTL / 8)
            oracle.now += TTL / 8
    assert lab.cached.statistics().hits > 100


def test_threads_that_write_see_their_writes(lab: Lab) -> None:
    """Each writes to a partition of its own and reads all others meanwhile."""
    wrong: list[Any] = []
    start = threading.Barrier(4)

    def run(own: int) -> None:
        chosen = random.Random(own)
        start.wait()
        for n in range(100, 300):
            lab.session.execute(lab.insert, (own, n))
            if lab.read(own) != n:
                wrong.append((own, n))
            lab.read(chosen.randrange(4))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert lab.cached.statistics().hits > 100


def test_shown(lab: Lab) -> None:
    lab.read()
    assert isinstance(lab.cached, CachedStatement) and isinstance(lab.cached.statement, PreparedStatement)
    assert isinstance(lab.cached.statistics(), CacheStatistics)
    assert "1 results" in repr(lab.cached) and SELECT in repr(lab.cached)
    assert EXEC_PROFILE_DEFAULT in lab.session.cluster.profile_manager.profiles


def test_the_metrics_of_the_cluster(lab: Lab, connect: Connect) -> None:
    """Their counters include statements that are gone, and sessions that were shut down."""
    metrics = connect(lab.simulated, "ks", metrics_enabled=True).cluster.metrics
    assert metrics is not None
    before = metrics.snapshot()
    for _ in range(2):
        session = metrics._cluster.connect("ks")
        cached = [session.cached(session.prepare(SELECT), ttl=60.0) for _ in range(2)]
        for statement in cached:
            for _ in range(3):
                statement.execute((1,)).one()
        held = metrics.snapshot()
        assert held.cache_bytes == sum(statement.statistics().bytes for statement in cached) > 0
        assert held.cache_entries == 2
        cached.clear()
        del statement
        session.shutdown()
        del session
        gc.collect()
    found = metrics.snapshot() - before
    assert (found.cache_hits, found.cache_misses) == (8, 4)
    assert (found.cache_entries, found.cache_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT a", "SELECT"),
        (" \n select(a)", "SELECT"),
        ("-- a\n// b\n/* c\n*/ Insert", "INSERT"),
        ("/**/SELECT", "SELECT"),
        ("-- SELECT", ""),
        ("/* SELECT", ""),
        ("(SELECT", ""),
        ("", ""),
    ],
)
def test_the_first_word_of_a_statement(text: str, word: str) -> None:
    assert first_word(text) == word
