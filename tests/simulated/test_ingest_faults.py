"""session.ingest when something goes wrong: every row is there, or the report says that it is not."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from cassandra import DriverException, InvalidRequest, OperationTimedOut, Unauthorized, WriteTimeout
from cassandra._ingest import run, writing
from cassandra._net import health
from cassandra._session.request import many
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.ingest import IngestError, IngestReport, report_of
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Close, Cut, Delay, Drop, Fail, Hold, Pause, Warn
from tests.simulated.conftest import Connect, eventually

pytestmark = pytest.mark.long

TABLE = "CREATE TABLE ks.t (id int PRIMARY KEY, v text)"
EVENTS = "CREATE TABLE ks.events (day int, at bigint, what text, PRIMARY KEY (day, at))"
OVERLOADED = errors.Overloaded()
WRITE_TIMEOUT = errors.WriteTimeout(consistency="LOCAL_ONE", received=0, required=1, write_type="SIMPLE")
UNAVAILABLE = errors.Unavailable(consistency="LOCAL_ONE", required=1, alive=0)


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute(TABLE)
    simulated.execute(EVENTS)
    session.cluster.refresh_schema_metadata()
    return session


def rows(count: int, first: int = 0) -> pa.Table:
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array([f"v{i}" for i in ids])})


def events(count: int) -> pa.Table:
    return pa.table(
        {
            "day": pa.array([i // 20 for i in range(count)], pa.int32()),
            "at": pa.array(range(count), pa.int64()),
            "what": pa.array([f"{i}" for i in range(count)]),
        }
    )


def ids(simulated: SimulatedCluster) -> list[int]:
    return sorted(row["id"] for row in simulated.execute("SELECT id FROM ks.t"))


def all_there(simulated: SimulatedCluster, count: int) -> bool:
    found = {row["id"]: row["v"] for row in simulated.execute("SELECT id, v FROM ks.t")}
    return found == {i: f"v{i}" for i in range(count)}


PASSING = {
    "overloaded": Fail(OVERLOADED),
    "overloaded, and executed": Fail(OVERLOADED, executed=True),
    "write timeout": Fail(WRITE_TIMEOUT, executed=True),
    "unavailable": Fail(UNAVAILABLE),
    "server error": Fail(errors.ServerError("hm")),
    "rate limit": Fail(errors.RateLimit()),
    "connection closed": Close(),
    "connection closed, and executed": Close(executed=True),
    "connection reset": Close(reset=True),
    "connection cut in an answer": Cut(7),
}


@pytest.mark.parametrize("name", PASSING)
def test_transient_errors_are_retried(table: Session, simulated: SimulatedCluster, name: str) -> None:
    with simulated.inject(PASSING[name], query="INSERT", opcode="EXECUTE", after=50, times=20) as rule:
        report = table.ingest("ks.t", rows(1000))
    assert rule.hits == 20
    assert (report.rows, report.reached, report.errors) == (1000, 1000, {})
    assert report.retries >= 1
    assert all_there(simulated, 1000)


@pytest.mark.parametrize("name", ["overloaded", "write timeout", "connection closed"])
def test_batches_are_tried_again_too(table: Session, simulated: SimulatedCluster, name: str) -> None:
    with simulated.inject(PASSING[name], opcode="BATCH", after=3, times=5) as rule:
        report = table.ingest("ks.events", events(1000))
    assert rule.hits == 5 and report.rows == 1000 and report.retries >= 1
    there = simulated.execute("SELECT at, what FROM ks.events")
    assert {row["at"]: row["what"] for row in there} == {i: f"{i}" for i in range(1000)}


def test_retried_rows_keep_their_timestamp(table: Session, simulated: SimulatedCluster) -> None:
    """The older row of a key is sent again when the newer one is there already."""
    data = pa.table({"id": pa.array([1, 1], pa.int32()), "v": ["older", "newer"]})
    with simulated.inject(Fail(OVERLOADED), opcode="EXECUTE", query="INSERT", times=1):
        assert table.ingest("ks.t", data).retries == 1
    assert simulated.execute("SELECT v FROM ks.t") == [{"v": "newer"}]


def test_no_answer_in_time(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    profile = ExecutionProfile(request_timeout=0.3)
    session = connect(simulated, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    with simulated.inject(Drop(executed=True), opcode="EXECUTE", query="INSERT", times=5) as rule:
        report = session.ingest("ks.t", rows(500))
    assert rule.hits == 5 and report.rows == 500 and report.retries >= 5
    assert all_there(simulated, 500)


@pytest.mark.parametrize("first", [Drop(executed=True), Close(executed=True), Fail(WRITE_TIMEOUT, executed=True)])
@pytest.mark.parametrize("batch_rows", [1, 20])
def test_a_row_of_which_an_attempt_was_executed(
    table: Session, simulated: SimulatedCluster, connect: Connect, first: Any, batch_rows: int
) -> None:
    """Its error says so, although the last attempt was refused."""
    session = connect(simulated, execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(request_timeout=0.3)})
    with (
        simulated.inject(first, opcode="EXECUTE" if batch_rows == 1 else "BATCH", times=1) as executed,
        simulated.inject(Fail(errors.Unauthorized("no")), query="INSERT", when=lambda _: executed.hits > 0),
    ):
        report = session.ingest("ks.events", events(20), on_error="collect", batch_rows=batch_rows)
    there = {row["at"] for row in simulated.execute("SELECT at FROM ks.events")}
    written = {row for row in range(20) if report.is_done(row)}
    assert there - written
    assert all(report.errors[row].maybe_executed for row in there - written)  # type: ignore[attr-defined]
    assert written <= there


def test_rows_that_were_not_sent_when_the_session_ends_are_not_in_doubt(
    table: Session, simulated: SimulatedCluster, connect: Connect
) -> None:
    session = connect(simulated, execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(request_timeout=1.0)})
    with (
        simulated.inject(Drop(executed=True), query="INSERT", opcode="EXECUTE", times=1) as first,
        simulated.inject(Fail(UNAVAILABLE), query="INSERT", opcode="EXECUTE", when=lambda _: first.hits > 0),
    ):
        closing = threading.Timer(2.5, session.shutdown)
        closing.start()
        with pytest.raises(IngestError) as caught:
            session.ingest("ks.t", rows(20), on_error="collect")
        closing.join()
    report = caught.value.report
    (executed,) = ids(simulated)
    assert sorted(report.errors) == list(range(20))
    in_doubt = {row for row, error in report.errors.items() if error.maybe_executed}  # type: ignore[attr-defined]
    assert in_doubt == {executed}


def test_patience_has_an_end(table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "PATIENCE", 0.3)
    with simulated.inject(Fail(WRITE_TIMEOUT), opcode="EXECUTE", query="INSERT", when=lambda _: True):
        with pytest.raises(IngestError) as caught:
            table.ingest("ks.t", rows(10))
        report = table.ingest("ks.t", rows(10), on_error="collect")
    assert sorted(caught.value.errors) == sorted(report.errors) == list(range(10))
    assert all(isinstance(error, WriteTimeout) for error in report.errors.values())
    assert report.rows == 0 and report.unfinished == []
    assert report.errors[3].maybe_executed is True  # type: ignore[attr-defined]
    assert report.errors[3].attempts > 2  # type: ignore[attr-defined]


def test_invalid_request_and_unauthorized_are_not_retried(table: Session, simulated: SimulatedCluster) -> None:
    for error, expected in ((errors.InvalidRequest("no"), InvalidRequest), (errors.Unauthorized("no"), Unauthorized)):
        with simulated.inject(Fail(error), opcode="EXECUTE", query="INSERT", after=10, times=3) as rule:
            report = table.ingest("ks.t", rows(300), on_error="collect")
        assert rule.hits == 3 and report.retries == 0
        assert len(report.errors) == 3 and report.rows == 297
        assert {type(error) for error in report.errors.values()} == {expected}
        assert set(ids(simulated)) == set(range(300)) - set(report.errors)
        again = rows(300).take(list(report.errors))
        assert table.ingest("ks.t", again).rows == 3
        assert all_there(simulated, 300)
        simulated.execute("TRUNCATE ks.t")


def test_reading_stops_at_the_first_failure(table: Session, simulated: SimulatedCluster) -> None:
    read = 0

    def pieces() -> Iterator[pa.Table]:
        nonlocal read
        while True:
            yield rows(10, read)
            read += 10

    simulated.inject(Fail(errors.InvalidRequest("no")), opcode="EXECUTE", query="INSERT", after=100, times=1)
    with pytest.raises(IngestError, match="1 failed") as caught:
        table.ingest("ks.t", pieces(), concurrency=20)
    report = caught.value.report
    assert read < 1000
    assert report.rows == report.reached - 1 and report.unfinished == []
    assert set(ids(simulated)) == {row for row in range(report.reached) if report.is_done(row)}


def test_one_row_of_a_batch_is_refused(table: Session, simulated: SimulatedCluster) -> None:
    """The server refuses the batch; the row alone fails."""
    with (
        simulated.inject(Fail(errors.InvalidRequest("no")), opcode="BATCH", times=1),
        simulated.inject(Fail(errors.InvalidRequest("this one")), opcode="EXECUTE", query="INSERT", after=3, times=1),
    ):
        report = table.ingest("ks.events", events(100), on_error="collect")
    assert len(report.errors) == 1 and report.rows == 99
    (row,) = report.errors
    assert "this one" in str(report.errors[row])
    assert {one["at"] for one in simulated.execute("SELECT at FROM ks.events")} == set(range(100)) - {row}


@pytest.mark.parametrize("name", ["ks.t", "ks.events"])
def test_the_statement_was_forgotten(table: Session, simulated: SimulatedCluster, name: str) -> None:
    """By all nodes, in the middle."""

    def pieces() -> Iterator[pa.Table]:
        for at in range(0, 1000, 100):
            if at == 500:
                for node in simulated.nodes:
                    node.forget_prepared()
            yield rows(100, at) if name == "ks.t" else events(1000).slice(at, 100)

    report = table.ingest(name, pieces())
    assert (report.rows, report.errors) == (1000, {})
    assert len(simulated.execute(f"SELECT * FROM {name}")) == 1000


def test_the_table_is_altered_meanwhile(table: Session, simulated: SimulatedCluster) -> None:
    def pieces() -> Iterator[pa.Table]:
        yield rows(100)
        table.execute("ALTER TABLE ks.t ADD more int")
        yield rows(100, 100)

    assert table.ingest("ks.t", pieces()).rows == 200
    assert all_there(simulated, 200)


def test_a_column_is_dropped_meanwhile(table: Session, simulated: SimulatedCluster) -> None:
    def pieces() -> Iterator[pa.Table]:
        yield rows(100)
        table.execute("ALTER TABLE ks.t DROP v")
        for node in simulated.nodes:
            node.forget_prepared()
        yield rows(100, 100)

    with pytest.raises(IngestError) as caught:
        table.ingest("ks.t", pieces())
    report = caught.value.report
    assert report.errors and report.unfinished == []
    assert report.rows + len(report.errors) == report.reached


@pytest.mark.parametrize("on_error", ["raise", "collect"])
def test_the_table_is_made_again_with_other_types(table: Session, simulated: SimulatedCluster, on_error: Any) -> None:
    """Nothing is written to it as something else."""

    def pieces() -> Iterator[pa.Table]:
        yield rows(100)
        eventually(lambda: len(ids(simulated)) == 100)
        table.execute("DROP TABLE ks.t")
        table.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v blob)")
        for node in simulated.nodes:
            node.forget_prepared()  # as Cassandra does
        yield from (rows(100, at) for at in range(100, 10**9, 100))

    with pytest.raises(IngestError) as caught:
        table.ingest("ks.t", pieces(), on_error=on_error, concurrency=100)
    report = caught.value.report
    assert report.rows == 100 and report.unfinished == []
    # Those that were in flight at the first error, and no others.
    assert report.errors and set(report.errors) <= set(range(100, 300))
    assert isinstance(caught.value.__cause__, DriverException)
    assert ids(simulated) == []


@pytest.mark.parametrize("limit", ["max_requests_per_connection", "max_requests_per_host", "max_requests_per_session"])
@pytest.mark.parametrize("concurrency", ["auto", 100])
def test_limits_of_the_cluster_hold(
    table: Session, simulated: SimulatedCluster, connect: Connect, limit: str, concurrency: Any
) -> None:
    session = connect(simulated, **{limit: 5})
    report = session.ingest("ks.t", rows(400), concurrency=concurrency)
    assert (report.rows, report.errors) == (400, {})
    assert all_there(simulated, 400)


@pytest.mark.parametrize("how", ["ingest", "ingest_async"])
def test_rows_that_wait_for_room_are_written(
    table: Session, simulated: SimulatedCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A row found no room, was sent again and written, and no other row was in flight: the next ones wait still."""
    monkeypatch.setattr(writing, "FIRST_DELAY", 0.3)  # how long new rows wait after that; a retry begins after 10 ms
    session = connect(simulated, max_requests_per_session=1)
    selects: list[Any] = []

    def source() -> Iterator[pa.Table]:
        yield rows(1)
        selects.append(session.execute_async("SELECT v FROM ks.t WHERE id = 0"))  # takes the room
        yield rows(3, 1)

    with simulated.inject(Delay(0.05), query="SELECT v FROM ks.t"):
        report = session.ingest("ks.t", source()) if how == "ingest" else asyncio.run(waited(session, source()))
    assert selects[0].result().one() is not None and report.retries > 0
    assert (report.rows, report.reached, report.errors) == (4, 4, {})
    assert ids(simulated) == [0, 1, 2, 3]


async def waited(session: Session, source: Iterator[pa.Table]) -> IngestReport:
    return await session.ingest_async("ks.t", source)


def test_waiting_costs_nothing(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    """Not even after there was no room for a row."""
    session = connect(simulated, max_requests_per_session=5)
    steps: list[int] = []

    class Watched(writing.Writing):
        def step(self, most: int = writing.SLICE) -> bool:
            steps.append(self.in_flight)
            return super().step(most)

    original = run.Writing
    run.Writing = Watched  # type: ignore[misc]
    try:
        with simulated.inject(Delay(0.5), opcode="EXECUTE", query="INSERT"):
            report = session.ingest("ks.t", rows(10), concurrency=6)
    finally:
        run.Writing = original  # type: ignore[misc]
    assert report.rows == 10 and report.retries > 0
    assert len(steps) < 200


def test_a_node_goes_down(table: Session, simulated: SimulatedCluster) -> None:
    def pieces() -> Iterator[pa.Table]:
        for at in range(0, 3000, 100):
            if at == 500:
                simulated.nodes[1].stop()
            yield rows(100, at)

    report = table.ingest("ks.t", pieces())
    assert (report.rows, report.errors) == (3000, {})
    assert all_there(simulated, 3000)


def test_no_node_for_a_while(table: Session, simulated: SimulatedCluster) -> None:
    def back() -> None:
        for node in simulated.nodes:
            node.start()

    later = threading.Timer(0.5, back)

    def pieces() -> Iterator[pa.Table]:
        yield rows(100)
        for node in simulated.nodes:
            node.stop()
        later.start()
        yield rows(100, 100)

    report = table.ingest("ks.t", pieces())
    later.join()
    assert report.rows == 200 and report.retries > 0
    assert all_there(simulated, 200)


def test_no_node_any_more(table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "PATIENCE", 0.5)

    def pieces() -> Iterator[pa.Table]:
        yield rows(100)
        for node in simulated.nodes:
            node.stop()
        yield from (rows(100, at) for at in range(100, 10**9, 100))

    with pytest.raises(IngestError) as caught:
        table.ingest("ks.t", pieces(), concurrency=50)
    report = caught.value.report
    assert report.unfinished == [] and report.rows + len(report.errors) == report.reached
    assert {type(error) for error in report.errors.values()} <= {NoHostAvailable, ConnectionException}


def test_a_silent_node(
    table: Session, simulated: SimulatedCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its requests are sent to another replica long before the timeout."""
    monkeypatch.setattr(health, "QUIET", 0.5)
    profile = ExecutionProfile(request_timeout=300)
    session = connect(simulated, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    began = time.monotonic()
    with simulated.inject(Pause(), opcode="EXECUTE", query="INSERT", after=100, times=1):
        report = session.ingest("ks.t", rows(2000))
    assert (report.rows, report.errors) == (2000, {})
    assert time.monotonic() - began < 100


def test_the_session_is_shut_down(table: Session, simulated: SimulatedCluster) -> None:
    def pieces() -> Iterator[pa.Table]:
        for at in range(0, 10**9, 100):
            if at == 500:
                table.shutdown()
            yield rows(100, at)

    with pytest.raises(IngestError, match="shut down") as caught:
        table.ingest("ks.t", pieces(), on_error="collect")
    report = caught.value.report
    assert report.unfinished == [] and report.reached <= 700
    assert report.rows + len(report.errors) == report.reached
    assert set(ids(simulated)) >= {row for row in range(report.reached) if report.is_done(row)}
    with pytest.raises(NoHostAvailable):
        table.ingest("ks.t", rows(1))


def test_the_session_is_shut_down_while_rows_wait(table: Session, simulated: SimulatedCluster) -> None:
    with simulated.inject(Hold(executed=True), opcode="EXECUTE", query="INSERT") as rule:

        def shut() -> None:
            eventually(lambda: rule.hits >= 10)
            table.shutdown()

        thread = threading.Thread(target=shut)
        thread.start()
        with pytest.raises(IngestError) as caught:
            table.ingest("ks.t", rows(10))
        thread.join()
    assert sorted(caught.value.errors) == list(range(10))
    assert all(error.maybe_executed for error in caught.value.errors.values())  # type: ignore[attr-defined]


def test_warnings_are_answers(table: Session, simulated: SimulatedCluster, caplog: pytest.LogCaptureFixture) -> None:
    with simulated.inject(Warn(("careful",)), opcode="EXECUTE", query="INSERT", times=3):
        assert table.ingest("ks.t", rows(50)).rows == 50
    assert caplog.text.count("Server warning: careful") == 1


def test_ctrl_c(table: Session, simulated: SimulatedCluster) -> None:
    def pieces() -> Iterator[pa.Table]:
        for at in range(0, 10**9, 100):
            if at == 1000:
                signal.raise_signal(signal.SIGINT)
            yield rows(100, at)

    with pytest.raises(KeyboardInterrupt) as caught:
        table.ingest("ks.t", pieces())
    report = report_of(caught.value)
    assert report is not None
    assert report.reached <= 1000 and report.unfinished == [] and report.errors == {}
    assert ids(simulated) == list(range(report.reached)) and report.rows == report.reached


def test_ctrl_c_while_rows_are_in_flight(
    table: Session, simulated: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "GRACE", 0.3)
    with simulated.inject(Drop(executed=True), opcode="EXECUTE", query="INSERT", after=100) as rule:

        def interrupt() -> None:
            eventually(lambda: rule.hits >= 40)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            table.ingest("ks.t", rows(10_000), concurrency=40)
        thread.join()
        report = report_of(caught.value)
        assert report is not None
        assert report.rows == 100 and len(report.unfinished) == 40 and report.reached == 140
        assert len([row for row in range(140) if report.is_done(row)]) == 100
    assert table.ingest("ks.t", rows(10)).rows == 10  # the session is as before


def test_a_slow_source_is_waited_for(table: Session, simulated: SimulatedCluster) -> None:
    """The rows that were sent are answered meanwhile."""
    seen = []

    def pieces() -> Iterator[pa.Table]:
        for at in range(0, 300, 100):
            yield rows(100, at)
            eventually(lambda at=at: len(ids(simulated)) == at + 100)  # type: ignore[misc]
            seen.append(at)

    assert table.ingest("ks.t", pieces()).rows == 300
    assert seen == [0, 100, 200]


def test_a_fork_in_the_source(table: Session, simulated: SimulatedCluster) -> None:
    """The parent goes on; in the child the call raises."""
    read, write = os.pipe()

    def pieces() -> Iterator[pa.Table]:
        yield rows(100)
        if os.fork() == 0:
            in_child.append(True)
        yield rows(100, 100)

    in_child: list[bool] = []
    try:
        report: Any = table.ingest("ks.t", pieces())
    except BaseException as error:
        if in_child:
            os.write(write, type(error).__name__.encode())
            os._exit(0)
        raise
    if in_child:
        os.write(write, b"it went on")
        os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"ConnectionShutdown"
    os.wait()
    assert report.rows == 200
    assert all_there(simulated, 200)


def test_many_nodes_have_too_much_to_do(table: Session, simulated: SimulatedCluster) -> None:
    """Fewer are in flight then, and more again later."""
    sizes: list[int] = []

    class Watched(writing.Writing):
        def _process_response(self, *args: Any) -> None:
            super()._process_response(*args)
            found = self.window_sizes()
            assert found is not None
            sizes.append(min(found.values()))

    original = run.Writing
    run.Writing = Watched  # type: ignore[misc]
    try:
        with simulated.inject(Fail(OVERLOADED), opcode="EXECUTE", query="INSERT", after=200, times=300):
            report = table.ingest("ks.t", rows(3000))
    finally:
        run.Writing = original  # type: ignore[misc]
    assert report.rows == 3000 and report.retries >= 300
    assert min(sizes) < 32
    assert all_there(simulated, 3000)


def test_several_threads_ingest_by_one_session(table: Session, simulated: SimulatedCluster) -> None:
    reports: list[Any] = []

    def work(first: int) -> None:
        reports.append(table.ingest("ks.t", rows(500, first)))

    with simulated.inject(Delay(0.001), opcode="EXECUTE", query="INSERT"):
        threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 2000, 500)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [report.rows for report in reports] == [500] * 4
    assert all_there(simulated, 2000)


def test_timeouts_are_told_as_such(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    profile = ExecutionProfile(request_timeout=0.2)
    session = connect(simulated, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    original, many.PATIENCE = many.PATIENCE, 0.1
    try:
        with simulated.inject(Drop(), opcode="EXECUTE", query="INSERT"):
            report = session.ingest("ks.t", rows(3), on_error="collect")
    finally:
        many.PATIENCE = original
    assert {type(error) for error in report.errors.values()} == {OperationTimedOut}
    assert len(report.errors) == 3
