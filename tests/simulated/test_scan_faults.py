"""session.scan under faults: every row comes once, or the error names the missing range; and nothing hangs."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from cassandra import InvalidRequest, Unauthorized
from cassandra._net import health
from cassandra._scan.reading import BATCH, DONE, FAILED, RESTARTED
from cassandra._session.request import many
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionShutdown
from cassandra.scan import ScanError
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing._connection import paging_state_of
from cassandra.testing.faults import Close, Cut, Delay, Drop, EmptyPage, Fail, Hold, Pages, Pause, Reaction, Warn
from tests.simulated.conftest import Connect, eventually

pytestmark = pytest.mark.long

ROWS = 600
TOTAL = ROWS * (ROWS - 1) // 2
READ_TIMEOUT = errors.ReadTimeout(consistency="LOCAL_ONE", received=0, required=1, data_present=False)
PAGES: dict[str, Any] = {"page_size": 5, "splits": 24}
SELECT: dict[str, Any] = {"query": "SELECT", "opcode": "EXECUTE"}


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v bigint)")
    session.cluster.refresh_schema_metadata()
    ids = range(ROWS)
    session.ingest("ks.t", pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int64())}))
    simulated.clear_requests()
    return session


def values(batches: Any) -> list[int]:
    return [value for batch in batches for value in pa.record_batch(batch).column("v").to_pylist()]


def assert_all(found: list[int]) -> None:
    assert len(found) == ROWS and sum(found) == TOTAL and len(set(found)) == ROWS


PASSING: dict[str, Reaction] = {
    "overloaded": Fail(errors.Overloaded()),
    "read timeout": Fail(READ_TIMEOUT),
    "unavailable": Fail(errors.Unavailable(consistency="LOCAL_ONE", required=1, alive=0)),
    "server error": Fail(errors.ServerError("hm")),
    "rate limit": Fail(errors.RateLimit()),
    "connection closed": Close(),
    "connection reset": Close(reset=True),
    "connection cut in an answer": Cut(40),
    "empty pages": EmptyPage(),
    "pages of odd sizes": Pages((0, 1, 3)),
    "warnings": Warn(("careful",)),
}


@pytest.mark.parametrize("name", PASSING)
def test_transient_errors_are_retried(table: Session, simulated: SimulatedCluster, name: str) -> None:
    with simulated.inject(PASSING[name], **SELECT, after=20, times=20) as rule:
        assert_all(values(table.scan("t", **PAGES).batches()))
    assert rule.hits == 20

    async def on_a_loop() -> None:
        with simulated.inject(PASSING[name], **SELECT, after=20, times=20) as rule:
            assert_all(values([batch async for batch in table.scan("t", **PAGES).batches()]))
        assert rule.hits == 20

    asyncio.run(on_a_loop())


def test_no_answer_in_time(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Drop(), **SELECT, after=10, times=5) as rule:
        scan = table.scan("t", **PAGES, timeout=0.5)
        assert_all(values(scan.batches()))
    assert rule.hits == 5


def test_a_node_is_killed_in_the_middle(table: Session, simulated: SimulatedCluster) -> None:
    found: list[int] = []
    with table.scan("t", **PAGES, target_rows=1).batches() as batches:
        for number, batch in enumerate(batches):
            found += values([batch])
            if number == 20:
                simulated.nodes[0].kill()
    assert_all(found)


def test_a_node_stands_still(
    table: Session, simulated: SimulatedCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pages are asked for at another replica, long before the timeout."""
    monkeypatch.setattr(health, "QUIET", 0.5)
    session = connect(simulated, "ks")
    with simulated.inject(Pause(), **SELECT, after=20, times=1):
        assert_all(values(session.scan("t", **PAGES, timeout=300).batches()))


def test_the_statement_was_forgotten(table: Session, simulated: SimulatedCluster) -> None:
    """By all nodes, in the middle."""

    def read() -> Iterator[Any]:
        for number, batch in enumerate(table.scan("t", **PAGES, target_rows=1).batches()):
            if number == 15:
                for node in simulated.nodes:
                    node.forget_prepared()
            yield batch

    assert_all(values(read()))


def test_tablets_are_split_and_moved_meanwhile(table: Session, simulated: SimulatedCluster) -> None:
    found: list[int] = []
    for number, batch in enumerate(table.scan("t", **PAGES, target_rows=1).batches()):
        found += values([batch])
        if number == 10:
            simulated.split_tablets("ks.t")
        elif number == 20:
            simulated.rebalance()
        elif number == 30:
            simulated.merge_tablets("ks.t")
    assert_all(found)


def test_the_paging_state_is_refused(table: Session, simulated: SimulatedCluster) -> None:
    """The range begins again: its rows that came before are discarded."""
    counts: dict[int, int] = {}
    kinds = set()
    refused = Fail(errors.ProtocolError("Invalid value for the paging state"))
    with simulated.inject(refused, **SELECT, when=has_paging_state, after=30, times=3) as rule:
        for event in table.scan("t", **PAGES, target_rows=1)._reading():
            kinds.add(event.kind)
            if event.kind == BATCH:
                assert event.batch is not None
                counts[event.number] = counts.get(event.number, 0) + len(event.batch)
            elif event.kind == RESTARTED:
                assert event.error is not None and "paging state" in str(event.error)
                counts.pop(event.number)
    assert rule.hits == 3 and sum(counts.values()) == ROWS and kinds == {BATCH, DONE, RESTARTED}
    with simulated.inject(refused, **SELECT, when=has_paging_state, after=30, times=3):
        assert_all(table.scan("t", **PAGES, target_rows=1).to_arrow().column("v").to_pylist())


def has_paging_state(exchange: Any) -> bool:
    return bool(paging_state_of(exchange.frame))


def is_first_page(exchange: Any) -> bool:
    return not has_paging_state(exchange)


def test_refused_paging_state_after_delivered_rows_fails_the_scan(table: Session, simulated: SimulatedCluster) -> None:
    refused = Fail(errors.ProtocolError("Invalid value for the paging state"))
    inject = simulated.inject(refused, **SELECT, when=has_paging_state, after=30, times=1)
    with inject, pytest.raises(ScanError, match="were already delivered") as caught:
        list(table.scan("t", **PAGES, target_rows=1).batches())
    assert caught.value.token_range is not None


def test_a_paging_state_that_is_always_refused(table: Session, simulated: SimulatedCluster) -> None:
    inject = simulated.inject(Fail(errors.InvalidRequest("paging state")), **SELECT, when=has_paging_state)
    with inject, pytest.raises(ScanError, match="paging state") as caught:
        table.scan("t", **PAGES).to_arrow()
    assert isinstance(caught.value.__cause__, InvalidRequest)


def test_columns_change_meanwhile(table: Session, simulated: SimulatedCluster) -> None:
    """Those that were selected by a star: ranges that were begun begin again."""
    prepared = table.prepare("SELECT * FROM t WHERE token(id) > ? AND token(id) <= ?")
    rows: dict[int, list[tuple[str, ...]]] = {}
    for number, event in enumerate(table.scan(prepared, **PAGES, target_rows=1)._reading()):
        if number == 10:
            simulated.execute("ALTER TABLE ks.t ADD more int")
        if event.kind == BATCH:
            assert event.batch is not None
            rows.setdefault(event.number, []).extend([event.batch.plan.names] * len(event.batch))
        elif event.kind == RESTARTED:
            rows.pop(event.number)
    assert sum(map(len, rows.values())) == ROWS
    assert {len(set(names)) for names in rows.values()} == {1}
    assert {names[0] for names in rows.values()} <= {("id", "v"), ("id", "v", "more"), ("id", "more", "v")}


FATAL = {InvalidRequest: errors.InvalidRequest("no"), Unauthorized: errors.Unauthorized("no")}


@pytest.mark.parametrize("kind", FATAL)
def test_the_first_error_that_does_not_pass_ends_it(
    table: Session, simulated: SimulatedCluster, kind: type[Exception]
) -> None:
    inject = simulated.inject(Fail(FATAL[kind]), **SELECT, when=is_first_page, after=10, times=1)
    with inject, pytest.raises(ScanError, match="has failed: page") as caught:
        list(table.scan("t", **PAGES).batches())
    error: Any = caught.value
    assert isinstance(error.__cause__, kind) and error.token_range is not None
    assert error.page == 0 and error.host is not None and error.checkpoint is None
    eventually(lambda: not any(pool["in_flights"] != [0] * 4 for pool in table.get_pool_state().values()))


def test_ranges_that_fail_may_be_skipped(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Fail(errors.InvalidRequest("no")), **SELECT, when=is_first_page, after=10, times=2):
        scan = table.scan("t", **PAGES, on_error="skip")
        there = values(scan.batches())
        failed = scan.failed_ranges
    assert len(failed) == 2 and all(isinstance(error, InvalidRequest) for _, error in failed)
    rest = table.scan("t", token_range=[one for one, _ in failed])
    assert set(values(rest.batches())) | set(there) == set(range(ROWS))
    with simulated.inject(Fail(errors.InvalidRequest("no")), **SELECT, when=is_first_page, after=10, times=2):
        kinds = [event.kind for event in scan._reading()]
    assert kinds.count(FAILED) == 2 and kinds.count(DONE) == len(scan._options.ranges(24)) - 2


def test_patience_has_an_end(table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "PATIENCE", 0.2)
    with simulated.inject(Fail(READ_TIMEOUT), **SELECT), pytest.raises(ScanError) as caught:
        list(table.scan("t").batches())
    error: Any = caught.value
    assert error.attempts >= 2 and error.elapsed >= 0.2


def test_hosts_that_have_too_much_to_do_get_less(table: Session, simulated: SimulatedCluster) -> None:
    inject = simulated.inject(Fail(errors.Overloaded()), **SELECT, times=60)
    with inject as rule, table.scan("t", **PAGES)._reading() as pieces:
        before = pieces.plan.parallelism
        rows = sum(len(event.batch) for event in pieces if event.batch is not None)
        sizes = pieces._fetcher.window_sizes()
    assert rule.hits == 60 and rows == ROWS and min(sizes.values()) < before


@pytest.mark.parametrize("order", [None, "token"])
def test_a_slow_consumer_pauses_the_requests(table: Session, simulated: SimulatedCluster, order: Any) -> None:
    scan = table.scan("t", **PAGES, parallelism=4, target_rows=1)
    with scan.batches(order) as batches:
        found = values([next(batches)])
        eventually(lambda: all(pool["in_flights"] == [0] * 4 for pool in table.get_pool_state().values()))
        asked = len(simulated.statements("ks.t"))
        assert asked <= 2 * 4 + 1
        found += values(batches)
    assert_all(found)
    assert len(simulated.statements("ks.t")) > asked + 20


def test_pages_in_flight_are_limited(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Delay(0.002), **SELECT), table.scan("t", **PAGES, parallelism=3)._reading() as pieces:
        rows = sum(len(event.batch) for event in pieces if event.batch is not None)
    assert rows == ROWS and pieces.most_in_flight == 3


def test_little_memory_makes_small_batches(table: Session) -> None:
    with table.scan("t", page_size=5, splits=3)._reading() as pieces:
        pieces._budget = 1
        sizes = [len(event.batch) for event in pieces if event.batch is not None]
    assert sum(sizes) == ROWS and max(sizes) < 200


def test_limits_of_requests_are_kept(simulated: SimulatedCluster, table: Session, connect: Connect) -> None:
    session = connect(simulated, "ks", max_requests_per_host=2)
    assert_all(values(session.scan("t", **PAGES, parallelism=50).batches()))


def test_ending_a_scan_early_gives_up_requests_in_flight(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Hold(), **SELECT, after=8):
        for _ in table.scan("t", **PAGES, target_rows=1).batches():
            break  # and the iterator is dropped
    with simulated.inject(Hold(), **SELECT, after=8), table.scan("t", **PAGES, target_rows=1).batches() as batches:
        next(batches)
        batches.close()
        assert list(batches) == []
    gc.collect()
    eventually(lambda: all(pool["orphaned_requests"] == [0] * 4 for pool in table.get_pool_state().values()))


def test_a_cancelled_task(table: Session, simulated: SimulatedCluster) -> None:
    async def read(got: asyncio.Event) -> None:
        async with table.scan("t", **PAGES, target_rows=1).batches() as batches:
            async for _ in batches:
                got.set()

    async def run() -> None:
        with simulated.inject(Hold(), **SELECT, after=40) as rule:
            got = asyncio.Event()
            task = asyncio.ensure_future(read(got))
            await got.wait()
            while not rule.hits:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert len([row async for row in table.scan("t").rows()]) == ROWS

    asyncio.run(run())


def test_other_tasks_go_on(table: Session, simulated: SimulatedCluster) -> None:
    """A scan whose pages are always there lets others have their turn."""

    async def run() -> None:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        batches = 0
        async for _ in table.scan("t", **PAGES, target_rows=1).batches():
            batches += 1
        task.cancel()
        assert turns >= batches

    asyncio.run(run())


@pytest.mark.parametrize("on_a_loop", [False, True])
def test_the_session_is_shut_down_in_the_middle(
    table: Session, simulated: SimulatedCluster, connect: Connect, on_a_loop: bool
) -> None:
    session = connect(simulated, "ks")

    async def run() -> None:
        async for _ in session.scan("t", **PAGES, target_rows=1).batches():
            session.shutdown()

    with pytest.raises(ScanError) as caught:
        if on_a_loop:
            asyncio.run(run())
        else:
            for _ in session.scan("t", **PAGES, target_rows=1).batches():
                session.shutdown()
    assert isinstance(caught.value.__cause__, NoHostAvailable)
    with pytest.raises(NoHostAvailable):
        session.scan("t")


def test_shutdown_fails_a_waiting_scan(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, "ks")
    raised: list[BaseException] = []

    def read() -> None:
        try:
            list(session.scan("t").batches())
        except ScanError as error:
            raised.append(error)

    with simulated.inject(Hold(), **SELECT) as rule:
        thread = threading.Thread(target=read)
        thread.start()
        eventually(lambda: rule.hits > 5)
        session.shutdown()
        thread.join(30)
    assert not thread.is_alive() and len(raised) == 1


def test_several_at_a_time(table: Session) -> None:
    found: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: found.append(values(table.scan("t", **PAGES).batches()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()

    async def both() -> None:
        async def read() -> list[int]:
            return values([batch async for batch in table.scan("t", **PAGES).batches()])

        found.extend(await asyncio.gather(read(), read()))

    asyncio.run(both())
    for thread in threads:
        thread.join(60)
    assert len(found) == 6
    for one in found:
        assert_all(one)


def test_no_host_at_all(table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "PATIENCE", 0.3)
    scan = table.scan("t", **PAGES, target_rows=1)
    with pytest.raises(ScanError):
        for number, _ in enumerate(scan.batches()):
            if number == 3:
                for node in simulated.nodes:
                    node.kill()


def test_not_in_a_callback(table: Session) -> None:
    raised: list[BaseException] = []

    def called(_: Any) -> None:
        try:
            list(table.scan("t").batches())
        except BaseException as error:
            raised.append(error)

    table.execute_async("SELECT id FROM t").add_callback(called)
    eventually(lambda: raised)
    assert "I/O thread" in str(raised[0])


def test_timeouts_of_a_profile(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, "ks", execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(request_timeout=0.5)})
    with simulated.inject(Drop(), **SELECT, times=3):
        assert_all(values(session.scan("t").batches()))


def test_ctrl_c(table: Session, simulated: SimulatedCluster) -> None:
    """While it waits for pages; the session is as good as before."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with simulated.inject(Hold(), **SELECT, after=10) as rule, table.scan("t", **PAGES).batches() as batches:
            thread = threading.Thread(target=kill_when, args=(rule,))
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                list(batches)
            thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert_all(values(table.scan("t", **PAGES).batches()))


def kill_when(rule: Any) -> None:
    eventually(lambda: rule.hits)
    os.kill(os.getpid(), signal.SIGUSR1)


def test_a_forked_child_leaves_it_to_its_parent(table: Session) -> None:
    found: list[int] = []
    with table.scan("t", **PAGES, target_rows=1).batches() as batches:
        found += values([next(batches)])
        child = os.fork()
        if child == 0:
            try:
                next(batches)
                next(batches)
            except ConnectionShutdown:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        found += values(batches)
    assert_all(found)
