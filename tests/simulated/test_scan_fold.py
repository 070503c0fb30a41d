"""scan.fold on a cluster where things go wrong: the sums are those of a quiet run."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cassandra.cluster import Session
from cassandra.metadata import TokenRange
from cassandra.scan import (
    Checkpoint,
    CheckpointError,
    FunctionReducer,
    ScanError,
    ScanProgress,
    StopScan,
    checkpoint_of,
)
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing._connection import paging_state_of
from cassandra.testing.faults import Close, Cut, Drop, Fail

ROWS = 1500
TOTAL = (ROWS, sum(range(ROWS)))


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, name text, v bigint)")
    session.cluster.refresh_schema_metadata()
    ids = range(ROWS)
    rows = {"id": pa.array(ids, pa.int32()), "name": [f"name {i}" for i in ids], "v": pa.array(ids, pa.int64())}
    session.ingest("ks.t", pa.table(rows))
    return session


def count_and_sum(batch: Any) -> tuple[int, int]:
    return len(batch), pc.sum(pa.record_batch(batch).column("v")).as_py() or 0


def added(one: tuple[int, int], two: tuple[int, int]) -> tuple[int, int]:
    return one[0] + two[0], one[1] + two[1]


def nothing() -> tuple[int, int]:
    return 0, 0


class Totals(FunctionReducer):
    """Rows, and the sum of v."""

    def __init__(self, seen: Callable[[int], object] | None = None) -> None:
        super().__init__(count_and_sum, added, nothing)
        self.batches = 0
        self.seen = seen

    def stream(self, acc: Any, batch: Any) -> Any:
        self.batches += 1
        if self.seen is not None:
            self.seen(self.batches)
        return super().stream(acc, batch)

    def __repr__(self) -> str:
        return "Totals()"


def test_a_fold(table: Session) -> None:
    scan = table.scan("ks.t", columns=["v"], page_size=10, target_rows=50)
    everything: list[dict[str, Any]] = [{}, {"deterministic": True}, {"workers": 3}]
    for options in everything:
        assert scan.fold(Totals(), **options) == TOTAL
        assert asyncio.run(scan.fold_async(Totals(), **options)) == TOTAL
        sizes = scan.open_map_reducer(map=lambda batch: {len(batch)}, reduce=set.union, init=set, finish=max)
        assert 0 < scan.fold(sizes, **options) <= 69


def test_a_table_without_rows(table: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("TRUNCATE ks.t")
    assert table.scan("ks.t").fold(Totals()) == (0, 0)


def test_it_stops_when_there_is_enough(table: Session, simulated: SimulatedCluster) -> None:
    class Enough(Totals):
        def stream(self, acc: Any, batch: Any) -> Any:
            acc = super().stream(acc, batch)
            if acc[0] >= 40:
                raise StopScan(acc)
            return acc

    simulated.clear_requests()
    scan = table.scan("ks.t", columns=["v"], page_size=10, target_rows=10, splits=8, parallelism=2)
    rows, _ = scan.fold(Enough())
    assert 40 <= rows < ROWS
    with pytest.raises(CheckpointError, match="StopScan"):
        scan.checkpoint()


PASSING = {
    "overloaded": Fail(errors.Overloaded()),
    "read timeout": Fail(errors.ReadTimeout(consistency="LOCAL_ONE", received=0, required=1, data_present=False)),
    "connection closed": Close(),
    "cut in an answer": Cut(30),
    "no answer": Drop(),
}


@pytest.mark.parametrize("options", [{}, {"workers": 2, "deterministic": True}])
def test_fold_retries_transient_faults(table: Session, simulated: SimulatedCluster, options: dict[str, Any]) -> None:
    for name, fault in PASSING.items():
        scan = table.scan("ks.t", columns=["v"], page_size=10, timeout=1.0 if name == "no answer" else 10.0)
        with simulated.inject(fault, query="token", opcode="EXECUTE", after=20, times=6) as rule:
            assert scan.fold(Totals(), **options) == TOTAL, name
        assert rule.hits == 6


def test_a_range_begins_again(table: Session, simulated: SimulatedCluster) -> None:
    """Pages behind the first are refused, now and then: the pages before them do not count."""
    refused = errors.ProtocolError("Invalid value for the paging state")
    scan = table.scan("ks.t", columns=["v"], page_size=10, target_rows=10, splits=8)
    with simulated.inject(
        Fail(refused), query="token", opcode="EXECUTE", when=has_paging_state, after=40, times=3
    ) as rule:
        assert scan.fold(Totals()) == TOTAL
    assert rule.hits == 3


def has_paging_state(exchange: Any) -> bool:
    return bool(paging_state_of(exchange.frame))


def test_a_node_dies_in_the_middle(table: Session, simulated: SimulatedCluster) -> None:
    def kill(batches: int) -> None:
        if batches == 10:
            simulated.nodes[1].stop()

    scan = table.scan("ks.t", columns=["v"], page_size=10, target_rows=20)
    assert scan.fold(Totals(kill)) == TOTAL


def test_tablets_are_split_and_moved_in_the_middle(table: Session, simulated: SimulatedCluster) -> None:
    def change(batches: int) -> None:
        if batches == 5:
            simulated.split_tablets("ks.t")
        elif batches == 15:
            move()
        elif batches == 30:
            simulated.merge_tablets("ks.t")

    def move() -> None:
        ids = [node.host_id for node in simulated.nodes]
        for tablet in simulated.tablets("ks.t")[::2]:
            held = [ids.index(host) for host, _ in tablet.replicas]
            (free,) = set(range(3)) - set(held)
            simulated.migrate_tablet("ks.t", tablet.last_token, held[0], free, 2)

    scan = table.scan("ks.t", columns=["v"], page_size=10, target_rows=20)
    assert scan.fold(Totals(change)) == TOTAL


def test_the_columns_change_in_the_middle(table: Session) -> None:
    """Ranges that are half read begin again."""

    def change(batches: int) -> None:
        if batches == 10:
            table.execute("ALTER TABLE ks.t ADD more int")

    scan = table.scan(table.prepare("SELECT * FROM ks.t"), page_size=10, target_rows=10)
    assert scan.fold(Totals(change)) == TOTAL


def test_a_failed_fold_leaves_a_checkpoint(table: Session, simulated: SimulatedCluster, tmp_path: Path) -> None:
    scan = table.scan("ks.t", columns=["v"], page_size=10, parallelism=4)
    with (
        simulated.inject(Fail(errors.InvalidRequest("no")), query="token", opcode="EXECUTE", after=60),
        pytest.raises(ScanError) as caught,
    ):
        scan.fold(Totals())
    checkpoint = caught.value.checkpoint
    assert checkpoint is checkpoint_of(caught.value) and 0 < checkpoint.fraction < 1
    checkpoint.save(tmp_path / "here")
    for other in ({}, {"splits": 7}, {"parallelism": 1}):
        again = table.scan("ks.t", columns=["v"], **other)  # type: ignore[arg-type]
        assert again.fold(Totals(), resume=Checkpoint.load(tmp_path / "here")) == TOTAL
        assert again.checkpoint().fraction == 1 and again.checkpoint().rows == ROWS
        whole = table.scan("ks.t", columns=["v"], resume=again.checkpoint())
        assert whole.fold(Totals()) == TOTAL
    with pytest.raises(CheckpointError, match="its statement is"):
        table.scan("ks.t").fold(Totals(), resume=checkpoint)
    with pytest.raises(CheckpointError, match="its reducer is"):
        table.scan("ks.t", columns=["v"], resume=checkpoint).to_arrow()
    with pytest.raises(CheckpointError, match="range"):
        table.scan("ks.t", columns=["v"], token_range=TokenRange(0, 1), resume=checkpoint).fold(Totals())
    with pytest.raises(ValueError, match="resume"):
        table.scan("ks.t", columns=["v"], resume=checkpoint).fold(Totals(), resume=checkpoint)
    with pytest.raises(TypeError, match="Checkpoint"):
        table.scan("ks.t").fold(Totals(), resume="here")  # type: ignore[arg-type]


def test_ctrl_c(table: Session) -> None:
    for at in (1, 7, 20):

        def interrupt(batches: int, at: int = at) -> None:
            if batches == at:
                os.kill(os.getpid(), signal.SIGINT)

        scan = table.scan("ks.t", columns=["v"], page_size=10)
        with pytest.raises(KeyboardInterrupt) as caught:
            scan.fold(Totals(interrupt))
        checkpoint = checkpoint_of(caught.value)
        assert checkpoint is not None
        assert table.scan("ks.t", columns=["v"], page_size=10).fold(Totals(), resume=checkpoint) == TOTAL


def test_a_checkpoint_in_the_handler_of_a_signal(table: Session) -> None:
    scan = table.scan("ks.t", columns=["v"], page_size=10)
    found = []

    def handle(*_: object) -> None:
        found.append(scan.checkpoint())

    def alarm(batches: int) -> None:
        if batches % 10 == 0:
            os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        assert scan.fold(Totals(alarm)) == TOTAL
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found
    for checkpoint in (found[0], found[len(found) // 2], found[-1]):
        assert table.scan("ks.t", columns=["v"]).fold(Totals(), resume=checkpoint) == TOTAL


def test_a_task_is_cancelled(table: Session) -> None:
    scan = table.scan("ks.t", columns=["v"], page_size=10, parallelism=2)

    async def run() -> Checkpoint:
        enough = asyncio.Event()

        def seen(batches: int) -> None:
            if batches == 5:
                enough.set()

        task = asyncio.create_task(scan.fold_async(Totals(seen)))
        await enough.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return scan.checkpoint()

    checkpoint = asyncio.run(run())
    assert checkpoint.fraction < 1
    assert table.scan("ks.t", columns=["v"]).fold(Totals(), resume=checkpoint) == TOTAL


def test_a_checkpoint_of_batches(table: Session) -> None:
    """Ranges that were not given whole are given again, and nothing else."""
    with pytest.raises(CheckpointError, match="the scan has not been read yet"):
        table.scan("ks.t").checkpoint()
    scan = table.scan("ks.t", columns=["v"], page_size=10, splits=20)
    found: list[int] = []
    with scan.batches() as batches:
        for number, batch in enumerate(batches):
            if number == 15:
                break
            found += pa.record_batch(batch).column("v").to_pylist()
    checkpoint = scan.checkpoint()
    assert 0 < checkpoint.rows <= len(found)
    again = table.scan("ks.t", columns=["v"], resume=checkpoint)
    rest = [row.v for row in again.rows()]
    assert len(rest) + checkpoint.rows == ROWS
    assert set(rest) | set(found) == set(range(ROWS))
    assert again.checkpoint().fraction == 1


def test_progress(table: Session) -> None:
    told: list[ScanProgress] = []
    table.scan("ks.t", columns=["v"], progress=told.append).fold(Totals())
    assert told[-1].fraction == 1 and told[-1].rows == ROWS and told[-1].ranges_done == told[-1].ranges
    assert told[-1].rate > 0 and told[-1].eta == 0
    table.scan("ks.t", columns=["v"], progress=told.append).to_arrow()
    assert told[-1].fraction == 1

    def no(report: ScanProgress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        table.scan("ks.t", columns=["v"], progress=no).fold(Totals())
    with pytest.raises(TypeError, match="progress"):
        table.scan("ks.t", progress=3).fold(Totals())  # type: ignore[arg-type]


def test_explain(table: Session) -> None:
    scan = table.scan("ks.t", columns=["v"], where=("v > ? ALLOW FILTERING", [3]), splits=10)
    found = scan.explain(Totals())
    assert found.cql == "SELECT v FROM ks.t WHERE v > ? AND token(id) > ? AND token(id) <= ? ALLOW FILTERING"
    assert sum(count for count, _ in found.replicas().values()) == len(found.ranges)
    assert sum(share for _, share in found.replicas().values()) == pytest.approx(1)
    text = str(found)
    assert "Scan of ks.t" in text and "Totals()" in text and "127." in text and "100.0 % of the ring" in text


def test_invalid_reducers_are_refused(table: Session) -> None:
    with pytest.raises(TypeError, match="has no stream"):
        table.scan("ks.t").fold(type("Half", (), {"open": print})())
    with pytest.raises(TypeError, match="map="):
        table.scan("ks.t").open_map_reducer(map=None, reduce=max, init=int)  # type: ignore[arg-type]


def test_several_at_a_time(table: Session) -> None:
    scan = table.scan("ks.t", columns=["v"], page_size=50)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(scan.fold(Totals(), workers=2))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [TOTAL] * 3
