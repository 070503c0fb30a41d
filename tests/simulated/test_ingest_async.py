"""session.ingest_async: the same on a loop that is never held up."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import pyarrow as pa
import pytest

from cassandra._ingest import run, writing
from cassandra._session.request.many import ManyRequests
from cassandra.cluster import Session
from cassandra.ingest import IngestError, IngestReport, report_of
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Close, Drop, Fail
from tests.simulated.conftest import eventually


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
    session.cluster.refresh_schema_metadata()
    return session


def rows(count: int, first: int = 0) -> pa.Table:
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array([f"v{i}" for i in ids])})


def all_there(simulated: SimulatedCluster, count: int) -> bool:
    found = {row["id"]: row["v"] for row in simulated.execute("SELECT id, v FROM ks.t")}
    return found == {i: f"v{i}" for i in range(count)}


async def pieces(count: int, size: int = 100) -> AsyncIterator[pa.Table]:
    for at in range(0, count, size):
        yield rows(size, at)
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "source",
    [
        lambda: rows(1000),
        lambda: rows(1000).to_reader(100),
        lambda: [rows(500), rows(500, 500)],
        lambda: (rows(100, at) for at in range(0, 1000, 100)),
        lambda: pieces(1000),
        lambda: rows(1000).to_batches()[0],
    ],
    ids=["table", "stream", "list", "generator", "asynchronous", "batch"],
)
def test_sources(table: Session, simulated: SimulatedCluster, source: Callable[[], Any]) -> None:
    report = asyncio.run(table.ingest_async("ks.t", source()))
    assert (report.rows, report.reached, report.errors, report.unfinished) == (1000, 1000, {}, [])
    assert all_there(simulated, 1000)


def test_nothing_to_write(table: Session) -> None:
    async def nothing() -> AsyncIterator[Any]:
        for piece in ():
            yield piece

    assert asyncio.run(table.ingest_async("ks.t", nothing())).rows == 0
    with pytest.raises(TypeError, match="got an item of type int"):

        async def wrong() -> AsyncIterator[Any]:
            yield 1

        asyncio.run(table.ingest_async("ks.t", wrong()))
    with pytest.raises(TypeError, match="ingest_async takes asynchronous"):
        table.ingest("ks.t", nothing())  # type: ignore[arg-type]


@pytest.mark.parametrize("reaction", [Fail(errors.Overloaded()), Close()], ids=["overloaded", "closed"])
def test_transient_failures_are_retried(table: Session, simulated: SimulatedCluster, reaction: Any) -> None:
    with simulated.inject(reaction, query="INSERT", opcode="EXECUTE", after=50, times=20):
        report = asyncio.run(table.ingest_async("ks.t", rows(1000)))
    assert report.rows == 1000 and report.retries > 0
    assert all_there(simulated, 1000)


def test_failures(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Fail(errors.InvalidRequest("no")), query="INSERT", opcode="EXECUTE", after=10, times=2):
        report = asyncio.run(table.ingest_async("ks.t", rows(300), on_error="collect"))
    assert len(report.errors) == 2 and report.rows == 298
    with (
        simulated.inject(Fail(errors.InvalidRequest("no")), query="INSERT", opcode="EXECUTE", times=1),
        pytest.raises(IngestError) as caught,
    ):
        asyncio.run(table.ingest_async("ks.t", pieces(10_000), concurrency=10))
    assert caught.value.report.unfinished == [] and len(caught.value.errors) == 1


def test_the_loop_goes_on(table: Session) -> None:
    """No step of it takes long, neither encoding nor a stream that blocks."""
    gaps = []

    class Slow:
        def __init__(self, data: pa.Table) -> None:
            self.data = data

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            def batches() -> Iterator[pa.RecordBatch]:
                for batch in self.data.to_batches(1000):
                    time.sleep(0.3)
                    yield batch

            return pa.RecordBatchReader.from_batches(self.data.schema, batches()).__arrow_c_stream__()

    async def ticking() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.001)
            gaps.append(time.monotonic() - last)
            last = time.monotonic()

    async def main() -> IngestReport:
        ticker = asyncio.create_task(ticking())
        report = await table.ingest_async("ks.t", Slow(rows(3000)))
        ticker.cancel()
        return report

    assert asyncio.run(main()).rows == 3000
    assert len(gaps) > 50
    assert sorted(gaps)[len(gaps) // 2] < 0.1


def run_cancelled(start: Callable[[], Coroutine[Any, Any, Any]], when: Callable[[], bool]) -> IngestReport | None:
    """The report of a task that is cancelled as soon as *when* says."""

    async def main() -> IngestReport | None:
        task = asyncio.create_task(start())
        while not when():
            assert not task.done()
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert task.cancelled()
        return report_of(caught.value)

    return asyncio.run(main())


def test_a_cancelled_task(table: Session, simulated: SimulatedCluster) -> None:
    written: list[IngestReport] = []

    def endless() -> Iterator[pa.Table]:
        for at in range(0, 10**9, 100):
            yield rows(100, at)

    def progress(report: IngestReport) -> None:
        written.append(report)

    report = run_cancelled(
        lambda: table.ingest_async("ks.t", endless(), progress=progress),
        lambda: bool(written) and written[-1].rows > 100,
    )
    assert report is not None
    assert report.unfinished == [] and report.rows == report.reached
    assert all_there(simulated, report.reached)


def test_cancelled_while_rows_are_in_flight(
    table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "GRACE", 0.2)
    with simulated.inject(Drop(), query="INSERT", opcode="EXECUTE", after=50) as rule:
        report = run_cancelled(lambda: table.ingest_async("ks.t", rows(1000), concurrency=20), lambda: rule.hits >= 20)
    assert report is not None
    assert report.rows == 50 and len(report.unfinished) == 20 and report.reached == 70
    assert asyncio.run(table.ingest_async("ks.t", rows(10))).rows == 10


def test_cancelled_while_the_source_is_waited_for(table: Session, simulated: SimulatedCluster) -> None:
    ended = []

    async def stuck() -> AsyncIterator[pa.Table]:
        try:
            yield rows(100)
            await asyncio.sleep(1000)
            yield rows(100, 100)
        finally:
            ended.append(True)

    report = run_cancelled(
        lambda: table.ingest_async("ks.t", stuck()), lambda: len(simulated.execute("SELECT id FROM ks.t")) == 100
    )
    assert report is not None and report.rows == 100 and report.unfinished == []
    assert ended == [True]


def test_an_asynchronous_source_that_raises(table: Session, simulated: SimulatedCluster) -> None:
    async def broken() -> AsyncIterator[pa.Table]:
        yield rows(100)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more") as caught:
        asyncio.run(table.ingest_async("ks.t", broken()))
    report = report_of(caught.value)
    assert report is not None and report.rows == 100
    assert all_there(simulated, 100)


def test_rows_are_answered_and_tried_again_while_a_source_is_slow(table: Session, simulated: SimulatedCluster) -> None:
    seen = []

    async def slow() -> AsyncIterator[pa.Table]:
        for at in range(0, 300, 100):
            yield rows(100, at)
            while not all_there(simulated, at + 100):
                await asyncio.sleep(0.005)
            seen.append(at)

    with simulated.inject(Fail(errors.Overloaded()), query="INSERT", opcode="EXECUTE", times=5):
        assert asyncio.run(table.ingest_async("ks.t", slow())).rows == 300
    assert seen == [0, 100, 200]


def test_the_session_is_shut_down(table: Session, simulated: SimulatedCluster) -> None:
    async def endless() -> AsyncIterator[pa.Table]:
        for at in range(0, 10**9, 100):
            if at == 300:
                await table.shutdown_async()
            yield rows(100, at)

    with pytest.raises(IngestError, match="shut down") as caught:
        asyncio.run(table.ingest_async("ks.t", endless()))
    report = caught.value.report
    assert report.unfinished == [] and report.rows + len(report.errors) == report.reached


def test_many_tasks(table: Session, simulated: SimulatedCluster) -> None:
    async def main() -> list[IngestReport]:
        return await asyncio.gather(*(table.ingest_async("ks.t", rows(300, at)) for at in range(0, 1500, 300)))

    assert [report.rows for report in asyncio.run(main())] == [300] * 5
    assert all_there(simulated, 1500)


def test_a_loop_without_descriptors(
    table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcomes come on the I/O thread then, and wake the loop."""

    class Bare(asyncio.SelectorEventLoop):
        def add_reader(self, *_: Any) -> None:
            raise NotImplementedError

        def _add_reader(self, fd: Any, callback: Any, *args: Any) -> Any:
            return super()._add_reader(fd, callback, *args)  # type: ignore[misc]

    loop = Bare()
    try:
        with simulated.inject(Fail(errors.Overloaded()), query="INSERT", opcode="EXECUTE", times=5):
            report = loop.run_until_complete(table.ingest_async("ks.t", rows(1000)))
    finally:
        loop.close()
    assert report.rows == 1000
    assert all_there(simulated, 1000)


def test_nothing_is_left_of_a_thread_that_reads(table: Session, simulated: SimulatedCluster) -> None:
    """A stream that blocks for long does not keep a cancelled task."""
    goes_on = threading.Event()

    class Stuck:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            def batches() -> Iterator[pa.RecordBatch]:
                yield rows(100).to_batches()[0]
                goes_on.wait(60)

            return pa.RecordBatchReader.from_batches(rows(1).schema, batches()).__arrow_c_stream__()

    async def main() -> None:
        task = asyncio.create_task(table.ingest_async("ks.t", Stuck()))
        while len(simulated.execute("SELECT id FROM ks.t")) < 100:
            assert not task.done()
            await asyncio.sleep(0.005)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < 30
        goes_on.set()

    asyncio.run(main())
    eventually(lambda: not [thread for thread in threading.enumerate() if "ingest" in thread.name])


def test_slices(table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "SLICE", 10)
    assert asyncio.run(table.ingest_async("ks.t", rows(1000), concurrency=5000)).rows == 1000


def test_cancelled_while_rows_wait_to_be_sent_again(table: Session, simulated: SimulatedCluster) -> None:
    """They are unfinished, and not waited for."""
    simulated.inject(Fail(errors.Overloaded()), query="INSERT", opcode="EXECUTE", after=50)
    began = time.monotonic()
    report = run_cancelled(
        lambda: table.ingest_async("ks.t", rows(100), concurrency=20),
        lambda: len(simulated.execute("SELECT id FROM ks.t")) == 50,
    )
    assert report is not None and time.monotonic() - began < 30
    assert report.rows == 50 and report.errors == {}
    assert len(report.unfinished) == report.reached - 50 > 0


def test_a_wait_ends_although_a_signal_handler_raises_in_its_wake_up(
    table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each second call that ends a wait is interrupted, and the loop goes on, as it does after any exception."""
    calls = itertools.count()
    wake = ManyRequests.wake

    def interrupted(self: Any, *args: Any) -> None:
        if next(calls) % 2 == 0:
            raise ValueError("as a handler of a signal raises")
        wake(self, *args)

    async def ingest() -> IngestReport:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        return await asyncio.wait_for(table.ingest_async("ks.t", rows(50), concurrency=1), 60)

    monkeypatch.setattr(ManyRequests, "wake", interrupted)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)  # where no caller is there to raise it to
    with simulated.inject(Fail(errors.Overloaded()), opcode="EXECUTE", times=5):
        report = asyncio.run(ingest())
    assert report.rows == 50 and next(calls) > 2
    assert all_there(simulated, 50)
