"""session.scan_order: the rows of many partitions in one order, however pages come."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from cassandra import ConsistencyLevel
from cassandra._session.request import many
from cassandra.cluster import Session
from cassandra.columns import SchemaChanged
from cassandra.policies import RoundRobinPolicy
from cassandra.query import dict_factory
from cassandra.scan import OrderedScan, ScanError
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing._connection import paging_state_of
from cassandra.testing.faults import Close, Drop, EmptyPage, Fail, Hold, Pages
from tests.simulated.conftest import Connect, eventually

TABLE = "CREATE TABLE ks.r (sensor int, at bigint, value text, tags list<text>, PRIMARY KEY (sensor, at))"
NEWEST_FIRST = (
    "CREATE TABLE ks.n (a int, b text, at timestamp, place text, v int STATIC, PRIMARY KEY ((a, b), place, at)) "
    "WITH CLUSTERING ORDER BY (place ASC, at DESC)"
)
SELECT = "SELECT * FROM ks.r WHERE sensor = ?"
SENSORS, EACH = 20, 60
KEYS = [(i,) for i in range(SENSORS)]


def readings(sensors: int, each: int) -> list[tuple[int, int, str]]:
    """Many are at the same time, and some sensors have a time of their own."""
    return [
        (sensor, at * 3 + (10**6 if sensor % 7 == 6 else 0), f"{sensor}/{at}")
        for sensor in range(sensors)
        for at in range(each)
    ]


def write(session: Session, rows: list[tuple[int, int, str]]) -> None:
    columns = {
        "sensor": pa.array([row[0] for row in rows], pa.int32()),
        "at": pa.array([row[1] for row in rows], pa.int64()),
        "value": [row[2] for row in rows],
        "tags": [[row[2]] * (row[1] % 3) for row in rows],
    }
    session.ingest("ks.r", pa.table(columns))


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute(TABLE)
    session.cluster.refresh_schema_metadata()
    write(session, readings(SENSORS, EACH))
    simulated.clear_requests()
    return session


def in_order(rows: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    return sorted(rows, key=lambda row: (row[1], row[0]))


EXPECTED = in_order(readings(SENSORS, EACH))


def scan_of(session: Session, **options: Any) -> OrderedScan:
    return session.scan_order(session.prepare(SELECT), KEYS, "at", **options)


def rows_of(batches: Any) -> list[tuple[int, int, str]]:
    found = []
    for batch in batches:
        whole = pa.record_batch(batch)
        whole.validate(full=True)
        for row in whole.to_pylist():
            assert (row["tags"] or []) == [row["value"]] * (row["at"] % 3)
            found.append((row["sensor"], row["at"], row["value"]))
    return found


def executed(simulated: SimulatedCluster) -> list[Any]:
    return [request for request in simulated.requests if request.query == SELECT and request.opcode == "EXECUTE"]


# ---- rows


def test_all_rows_in_order(table: Session) -> None:
    ways: list[dict[str, Any]] = [
        {"page_size": 1},
        {"page_size": 7, "max_open": 3},
        {"page_size": 20, "slice_rows": 1},
        {"page_size": 20, "target_rows": 5, "parallelism": 1},
        {},
    ]
    for options in ways:
        scan = scan_of(table, **options)
        assert rows_of(scan) == EXPECTED
        assert [(row.sensor, row.at, row.value) for row in scan.rows()] == EXPECTED


def test_all_ways_to_have_them(table: Session) -> None:
    scan = scan_of(table, page_size=13)
    assert rows_of(scan.to_arrow().to_batches()) == EXPECTED
    assert rows_of(pa.table(scan).to_batches()) == EXPECTED
    assert pa.schema(scan).names == ["sensor", "at", "tags", "value"]
    table.row_factory = dict_factory
    assert [(row["sensor"], row["at"], row["value"]) for row in scan.rows()] == EXPECTED
    assert repr(scan) == "<OrderedScan of 20 partitions of ks.r by at ASC>"

    async def on_a_loop() -> None:
        assert rows_of([batch async for batch in scan]) == EXPECTED
        assert [(row["sensor"], row["at"], row["value"]) async for row in scan.rows()] == EXPECTED
        async with scan.batches() as batches:
            assert (await anext(batches)).num_rows
        with pytest.raises(StopAsyncIteration):
            await anext(batches)

    asyncio.run(on_a_loop())


def test_a_limit(table: Session, simulated: SimulatedCluster) -> None:
    for limit, max_open in ((1, 128), (59, 3), (61, 128), (1199, 2), (1200, 128), (5000, 4)):
        simulated.clear_requests()
        scan = scan_of(table, limit=limit, max_open=max_open)
        assert rows_of(scan) == EXPECTED[:limit]
        sent = executed(simulated)
        assert len(sent) <= SENSORS * (2 if limit >= EACH else 1)
        assert {request.page_size for request in sent} == {min(limit, 5000)}
        assert [row.value for row in scan.rows()] == [value for _, _, value in EXPECTED[:limit]]


def test_nothing_is_asked_for_beyond_a_limit(table: Session, simulated: SimulatedCluster) -> None:
    """The page at hand and one ahead, of each."""
    assert rows_of(scan_of(table, limit=25, page_size=10)) == EXPECTED[:25]
    assert len(executed(simulated)) <= 2 * SENSORS


def test_the_other_direction(table: Session, simulated: SimulatedCluster) -> None:
    select = table.prepare(f"{SELECT} ORDER BY at DESC")
    backwards = sorted(readings(SENSORS, EACH), key=lambda row: (-row[1], row[0]))
    assert rows_of(table.scan_order(select, KEYS, "at", True, page_size=8)) == backwards
    with pytest.raises(ValueError, match="but ASC is requested"):
        table.scan_order(select, KEYS, "at")


def test_two_columns_with_ways_of_their_own(session: Session, simulated: SimulatedCluster) -> None:
    """Keys are mappings; a partition has nothing but a static value; another one is not there."""
    simulated.execute(NEWEST_FIRST)
    session.cluster.refresh_schema_metadata()
    wanted = []
    for a in range(4):
        for place in ("x", "y"):
            for at in (1000, 2000, 3000 + a):
                simulated.execute(f"INSERT INTO ks.n (a, b, place, at) VALUES ({a}, 'b', '{place}', {at})")
                wanted.append((place, -at, a))
    simulated.execute("INSERT INTO ks.n (a, b, v) VALUES (9, 'b', 1)")
    select = session.prepare("SELECT a, place, toTimestamp(now()) AS n, at FROM ks.n WHERE a = :a AND b = :b")
    keys = [{"a": a, "b": "b"} for a in (0, 1, 2, 3, 7, 9)]
    found = session.scan_order(select, keys, ["place", "at"], [False, True], page_size=2).to_arrow()
    rows = [(row["place"], row["at"] and -int(row["at"].timestamp() * 1000), row["a"]) for row in found.to_pylist()]
    assert rows == [(None, None, 9), *sorted(wanted)]
    one_place = session.prepare("SELECT a, at FROM ks.n WHERE a = ? AND b = ? AND place = ?")
    found = session.scan_order(one_place, [(a, "b", "x") for a in range(4)], descending=True).to_arrow()
    assert found["a"].to_pylist() == [3, 2, 1, 0, 0, 1, 2, 3, 0, 1, 2, 3]


def test_no_keys_and_partitions_without_rows(table: Session) -> None:
    select = table.prepare(SELECT)
    assert rows_of(table.scan_order(select, [])) == []
    assert list(table.scan_order(select, [(1000 + i,) for i in range(300)], max_open=2).rows()) == []
    twice = table.scan_order(select, [(1,), (1,)], page_size=11).to_arrow()
    assert twice["at"].to_pylist() == [at * 3 for at in range(EACH) for _ in range(2)]


def test_a_thousand_partitions_in_levels(session: Session, simulated: SimulatedCluster) -> None:
    simulated.execute(TABLE)
    session.cluster.refresh_schema_metadata()
    rows = readings(1000, 4)
    write(session, rows)
    select = session.prepare(SELECT)
    scan = session.scan_order(select, [(i,) for i in range(1000)], max_open=30, page_size=3)
    assert rows_of(scan) == in_order(rows)
    assert [row.value for row in session.scan_order(select, [(i,) for i in range(1000)], max_open=7).rows()] == [
        value for _, _, value in in_order(rows)
    ]


# ---- requests


def test_requests_go_to_their_shards(table: Session, simulated: SimulatedCluster) -> None:
    stats = table.cluster.shard_aware_stats
    eventually(lambda: [one["connected"] for one in (stats() or {}).values()] == [4, 4, 4])
    table.prefetch_tablets("ks", "r")
    scan = scan_of(table, page_size=20, consistency_level=ConsistencyLevel.LOCAL_ONE)
    assert rows_of(scan) == EXPECTED
    sent = executed(simulated)
    assert all(request.on_owner for request in sent)
    assert {(request.page_size, request.consistency) for request in sent} == {(20, "LOCAL_ONE")}


def test_nothing_is_sent_before_and_a_slow_consumer_stops_it(table: Session, simulated: SimulatedCluster) -> None:
    """Two pages of each source at most, however long the consumer takes."""
    scan = scan_of(table, page_size=5, target_rows=5)
    batches = scan.batches()

    assert not executed(simulated)
    first = next(batches)
    threading.Event().wait(0.2)
    assert 0 < len(executed(simulated)) <= 2 * SENSORS
    assert rows_of([first, *batches]) == EXPECTED


def test_pages_in_flight_are_limited(table: Session, simulated: SimulatedCluster) -> None:
    rule = simulated.inject(Hold(), query=SELECT, opcode="EXECUTE")
    batches = scan_of(table, parallelism=3).batches()
    reader = threading.Thread(target=lambda: next(batches, None))
    reader.start()
    eventually(lambda: rule.hits == 3)
    threading.Event().wait(0.1)
    assert rule.hits == 3
    rule.remove()
    rule.release()
    reader.join()
    batches.close()


def test_a_policy_of_the_program(simulated: SimulatedCluster, table: Session, connect: Connect) -> None:
    class Mine(RoundRobinPolicy):
        def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Iterator[Any]:
            return iter(super().make_query_plan(working_keyspace, query))

    session = connect(simulated, load_balancing_policy=Mine())
    assert rows_of(scan_of(session, page_size=50)) == EXPECTED


# ---- faults

PASSING = {
    "overloaded": Fail(errors.Overloaded()),
    "unavailable": Fail(errors.Unavailable(consistency="LOCAL_ONE", required=1, alive=0)),
    "closed": Close(),
    "an empty page": EmptyPage(),
}


@pytest.mark.parametrize("name", PASSING)
def test_transient_errors_are_retried(table: Session, simulated: SimulatedCluster, name: str) -> None:
    with simulated.inject(PASSING[name], query=SELECT, opcode="EXECUTE", after=10, times=15) as rule:
        assert rows_of(scan_of(table, page_size=10)) == EXPECTED
    assert rule.hits == 15


def test_pages_of_all_sizes(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Pages((0, 3, 1, 0, 0, 17)), query=SELECT):
        assert rows_of(scan_of(table, page_size=20, max_open=6)) == EXPECTED
        assert [row.value for row in scan_of(table, page_size=20, limit=300).rows()] == [
            v for _, _, v in EXPECTED[:300]
        ]


def test_a_node_is_killed_in_the_middle(table: Session, simulated: SimulatedCluster) -> None:
    batches = scan_of(table, page_size=3, target_rows=100).batches()
    found = [next(batches), next(batches)]
    simulated.nodes[1].kill()
    assert rows_of([*found, *batches]) == EXPECTED


def test_no_answer_in_time(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Drop(), query=SELECT, opcode="EXECUTE", after=5, times=2) as rule:
        assert rows_of(scan_of(table, page_size=30, timeout=0.3)) == EXPECTED
    assert rule.hits == 2


def test_statements_are_forgotten(table: Session, simulated: SimulatedCluster) -> None:
    batches = scan_of(table, page_size=5, target_rows=50).batches()
    found = [next(batches)]
    for node in simulated.nodes:
        node.forget_prepared()
    assert rows_of([*found, *batches]) == EXPECTED


REFUSED = Fail(errors.ProtocolError("Invalid value for the paging state"))


@pytest.mark.parametrize("max_open", [3, 128])
def test_a_paging_state_is_refused(table: Session, simulated: SimulatedCluster, max_open: int) -> None:
    """The partition is read from its beginning; rows that were merged come once, also with writes meanwhile."""

    def goes_on(exchange: Any) -> bool:
        return paging_state_of(exchange.frame) is not None

    with simulated.inject(REFUSED, query=SELECT, when=goes_on, after=12, times=3) as rule:
        batches = scan_of(table, page_size=7, target_rows=40, max_open=max_open).batches()
        found = [next(batches)]
        simulated.execute("INSERT INTO ks.r (sensor, at, value) VALUES (0, -5, 'before all')")
        assert rows_of([*found, *batches]) == EXPECTED
        assert rule.hits == 3
    with simulated.inject(REFUSED, query=SELECT, when=goes_on, after=12, times=3):
        rows = [row.value for row in scan_of(table, page_size=7, max_open=max_open).rows()]
        assert rows == ["before all", *(value for _, _, value in EXPECTED)]


def test_a_paging_state_is_refused_where_rows_may_be_equal(table: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("CREATE TABLE ks.e (k int, a int, b int, PRIMARY KEY (k, a, b))")
    table.cluster.refresh_schema_metadata()
    for i in range(30):
        simulated.execute(f"INSERT INTO ks.e (k, a, b) VALUES ({i % 3}, {i // 9}, {i})")
    select = table.prepare("SELECT * FROM ks.e WHERE k = ?")
    scan = table.scan_order(select, [(0,), (1,), (2,)], "a", page_size=2)
    assert len(list(scan.rows())) == 30
    with (
        simulated.inject(REFUSED, query="ks.e", when=lambda exchange: paging_state_of(exchange.frame) is not None),
        pytest.raises(ScanError, match=r"of ks.e has failed: page 1 of key ., \(.,\): .*paging state") as caught,
    ):
        list(scan)
    assert caught.value.key in [(0,), (1,), (2,)] and caught.value.page == 1 and caught.value.host is not None


def test_an_error_names_the_key(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Fail(errors.Unauthorized("no")), query=SELECT, opcode="EXECUTE", times=1):
        batches = scan_of(table, page_size=5, parallelism=1).batches()
        for _ in range(2):  # again and again
            with pytest.raises(ScanError, match=r"page 0 of key 0, \(0,\): .*no") as caught:
                next(batches)
    assert caught.value.key == (0,) and caught.value.__cause__ is not None
    batches.close()
    assert list(batches) == []


def test_patience_has_an_end(table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "PATIENCE", 0.2)
    scan = scan_of(table)
    with simulated.inject(PASSING["overloaded"], query=SELECT), pytest.raises(ScanError, match="overloaded"):
        list(scan)


def test_rows_out_of_order_are_refused(table: Session, simulated: SimulatedCluster) -> None:
    """Where nothing is known of the table, and the statement gives another order than is said."""
    select = table.prepare(f"{SELECT} ORDER BY at DESC")
    scan = table.scan_order(select, KEYS, "at", True)
    scan._plan.columns = tuple((column, False) for column, _ in scan._plan.columns)
    with pytest.raises(ScanError, match="row 1 of the batch is out of order"):
        list(scan)


def test_the_table_is_altered_meanwhile(table: Session, simulated: SimulatedCluster) -> None:
    batches = scan_of(table, page_size=5, target_rows=50).batches()
    next(batches)
    table.execute("ALTER TABLE ks.r ADD more int")
    for node in simulated.nodes:
        node.forget_prepared()
    with pytest.raises(ScanError, match="the columns were") as caught:
        list(batches)
    assert isinstance(caught.value.__cause__, SchemaChanged)


def test_wrong_arguments(table: Session) -> None:
    select = table.prepare(SELECT)
    for error, message, arguments in (
        (TypeError, "needs a prepared SELECT", (SELECT, KEYS)),
        (TypeError, "key 1: expected a sequence or mapping .*, got 'no'", (select, [(1,), "no"])),
        (TypeError, "key 1: ", (select, [(1,), ("no",)])),
        (ValueError, "key 0: ", (select, [(1, 2)])),
        (ValueError, "key 0", (select, [()])),
        (ValueError, "value is not a clustering column", (select, KEYS, "value")),
        (ValueError, "limit must be an int", (select, KEYS, "at", False, 0)),
        (ValueError, "must select at of ks.r once", (table.prepare("SELECT value FROM ks.r WHERE sensor = ?"), KEYS)),
        (ValueError, "no markers", (table.prepare("SELECT * FROM ks.r WHERE sensor = 1"), KEYS)),
    ):
        with pytest.raises(error, match=message):
            table.scan_order(*arguments)  # type: ignore[arg-type]
    for options in (
        {"max_open": 1},
        {"page_size": 0},
        {"parallelism": 0},
        {"slice_rows": 0},
        {"consistency_level": 99},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            table.scan_order(select, KEYS, **options)  # type: ignore[arg-type]


# ---- the end


def test_closed_and_dropped_in_the_middle(table: Session, simulated: SimulatedCluster) -> None:
    for end in ("close", "drop", "with"):
        batches = scan_of(table, page_size=3, target_rows=10).batches()
        assert next(batches).num_rows
        if end == "close":
            batches.close()
            assert list(batches) == []
        elif end == "with":
            with batches:
                next(batches)
            assert list(batches) == []
        del batches
    gc.collect()
    assert rows_of(scan_of(table)) == EXPECTED  # the session goes on


def test_a_cancelled_task(table: Session, simulated: SimulatedCluster) -> None:
    """The requests in flight are given up; the same iterator goes on, as nothing is lost."""

    async def main() -> None:
        batches = scan_of(table, page_size=3).batches()
        found = [await asyncio.create_task(anext(batches))]
        rule = simulated.inject(Hold(), query=SELECT, opcode="EXECUTE")
        waiting = asyncio.create_task(_read(batches, found))
        while not rule.hits:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        rule.remove()
        rule.release()
        await _read(batches, found)
        assert rows_of(found) == EXPECTED

    asyncio.run(main())


async def _read(batches: Any, found: list[Any]) -> None:
    async for batch in batches:
        found.append(batch)


def test_the_session_is_shut_down(table: Session, simulated: SimulatedCluster) -> None:
    batches = scan_of(table, page_size=3, target_rows=10).batches()
    next(batches)
    table.shutdown()
    with pytest.raises(ScanError, match="has failed"):
        list(batches)


def test_a_forked_child(table: Session) -> None:
    """The parent goes on; the child is told."""
    batches = scan_of(table, page_size=3, target_rows=10).batches()
    found = [next(batches)]
    child = os.fork()
    if child == 0:
        try:
            try:
                list(batches)
            finally:
                batches.close()
        except BaseException as error:
            os._exit(7 if "fork" in str(error) or "process" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert rows_of([*found, *batches]) == EXPECTED


def test_batches_outlive_all(table: Session) -> None:
    batches = list(scan_of(table, page_size=50))
    table.cluster.shutdown()
    assert rows_of(batches) == EXPECTED
