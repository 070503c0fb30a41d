"""The log of slow requests, and request trackers: batches of ``execute_concurrent``, scans and ingests."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args, execute_concurrent_with_args_async
from cassandra.ingest import IngestError
from cassandra.metrics import BulkRequest, RequestTracker, TrackedAttempt
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Delay, Drop, Fail
from tests.interrupts import interrupted_everywhere
from tests.patience import eventually
from tests.simulated.conftest import Connect

INSERT = "INSERT INTO t (k, v) VALUES (?, ?)"
PAIRS = [(n, "secret") for n in range(12)]


@pytest.fixture
def simulated(no_leaks: None) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(1, 2) as running:
        running.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        running.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v text)")
        yield running


@pytest.fixture
def slow() -> Iterator[list[str]]:
    """The lines of the log."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("cassandra.slow")
    logger.addHandler(handler)
    logger.propagate = False
    yield lines
    logger.propagate = True
    logger.removeHandler(handler)


def execute(session: Session) -> None:
    insert = session.prepare(INSERT)
    for pair in PAIRS:
        session.execute(insert, pair)


def concurrent(session: Session) -> None:
    execute_concurrent_with_args(session, session.prepare(INSERT), PAIRS)


def concurrent_async(session: Session) -> None:
    async def run() -> None:
        await execute_concurrent_with_args_async(session, session.prepare(INSERT), PAIRS)

    asyncio.run(run())


def awaited(session: Session) -> None:
    async def run() -> None:
        insert = await session.prepare_async(INSERT)
        await asyncio.gather(*(session.execute_async(insert, pair) for pair in PAIRS))

    asyncio.run(run())


def ingest(session: Session) -> None:
    session.ingest("t", {"k": [k for k, _ in PAIRS], "v": [v for _, v in PAIRS]}, batch_rows=1)


def ingest_async(session: Session) -> None:
    async def run() -> None:
        await session.ingest_async("t", {"k": [k for k, _ in PAIRS], "v": [v for _, v in PAIRS]}, batch_rows=1)

    asyncio.run(run())


WAYS = [execute, concurrent, concurrent_async, awaited, ingest, ingest_async]


@pytest.mark.parametrize("way", WAYS)
def test_every_request_is_slow(simulated: SimulatedCluster, connect: Connect, slow: list[str], way: Any) -> None:
    way(connect(simulated, "ks", slow_request_threshold=0))
    eventually(lambda: len(slow) == len(PAIRS))  # worker threads handle the records of driver threads
    for line in slow:
        assert "INSERT INTO" in line and "secret" not in line
        assert "1 attempts" in line and "succeeded" in line and "last host 127." in line


@pytest.mark.parametrize("way", WAYS)
def test_no_request_is_slow(simulated: SimulatedCluster, connect: Connect, slow: list[str], way: Any) -> None:
    way(connect(simulated, "ks", slow_request_threshold=60))
    assert slow == []


@pytest.mark.parametrize("way", WAYS)
def test_one_request_is_slow(simulated: SimulatedCluster, connect: Connect, slow: list[str], way: Any) -> None:
    session = connect(simulated, "ks", slow_request_threshold=0.3)
    with simulated.inject(Delay(0.4), opcode="EXECUTE", times=1):
        way(session)
    eventually(lambda: len(slow) == 1)
    assert "limit 0.300 s" in slow[0]
    assert simulated.execute("SELECT count(*) FROM ks.t")[0]["count"] == len(PAIRS)


def test_a_slow_failure_in_a_batch(simulated: SimulatedCluster, connect: Connect, slow: list[str]) -> None:
    session = connect(simulated, "ks", slow_request_threshold=0)
    insert = session.prepare(INSERT)
    with simulated.inject(Fail(errors.InvalidRequest("no")), opcode="EXECUTE", times=1):
        results = execute_concurrent_with_args(session, insert, PAIRS, raise_on_first_error=False)
    assert [type(error) for success, error in results if not success] == [InvalidRequest]
    eventually(lambda: len(slow) == len(PAIRS))
    assert Counter("failed with" in line for line in slow) == {False: len(PAIRS) - 1, True: 1}


def test_results_of_slow_requests_are_complete(simulated: SimulatedCluster, connect: Connect, slow: list[str]) -> None:
    """They continue as futures, with their rows and their pages."""
    session = connect(simulated, "ks", slow_request_threshold=0)
    concurrent(session)
    select = session.prepare("SELECT k FROM t")
    select.fetch_size = 5
    for success, rows in execute_concurrent_with_args(session, select, [()] * 3):
        assert success and sorted(row.k for row in rows) == [k for k, _ in PAIRS]


def test_pages_of_a_scan(simulated: SimulatedCluster, connect: Connect, slow: list[str]) -> None:
    session = connect(simulated, "ks", slow_request_threshold=0)
    concurrent(session)
    assert sum(len(batch) for batch in session.scan("t").batches()) == len(PAIRS)
    pages = [line for line in slow if "SELECT" in line]
    assert pages and all("token" in line and "succeeded" in line for line in pages)


def test_a_slow_consumer_is_not_a_slow_page(simulated: SimulatedCluster, connect: Connect, slow: list[str]) -> None:
    """The time until the page arrives counts, not until it is read."""
    session = connect(simulated, "ks", slow_request_threshold=0.3)
    concurrent(session)
    with simulated.inject(Delay(0.4), query="WHERE token", opcode="EXECUTE", times=1):
        for _ in session.scan("t").batches():
            pass
    assert len(slow) == 1


# ---- trackers


class Events(RequestTracker):
    def __init__(self) -> None:
        self.of: dict[int, list[Any]] = {}
        self.requests: list[Any] = []

    def on_request(self, request: Any) -> None:
        assert not request.attempted_hosts
        self.requests.append(request)
        self.of[id(request)] = ["begins"]

    def on_attempt(self, request: Any, attempt: TrackedAttempt) -> None:
        self.of[id(request)].append("sent")

    def on_attempt_end(self, request: Any, attempt: TrackedAttempt, error: BaseException | None) -> None:
        self.of[id(request)].append(("ended", error and type(error)))

    def on_request_end(self, request: Any, error: BaseException | None, elapsed: float) -> None:
        assert elapsed >= 0
        self.of[id(request)].append(("over", error and type(error)))


WHOLE = ["begins", "sent", ("ended", None), ("over", None)]


@pytest.mark.parametrize("way", [execute, concurrent, concurrent_async, awaited])
def test_a_tracker_gets_every_request(simulated: SimulatedCluster, connect: Connect, way: Any) -> None:
    events = Events()
    way(connect(simulated, "ks", request_tracker=events))
    assert list(events.of.values()) == [WHOLE] * len(PAIRS)
    assert {request.query.prepared_statement.query_string for request in events.requests} == {INSERT}


def test_a_tracker_gets_a_request_that_no_program_waits_for(simulated: SimulatedCluster, connect: Connect) -> None:
    events = Events()
    session = connect(simulated, "ks", request_tracker=events)
    insert = session.prepare(INSERT)
    for pair in PAIRS:
        session.execute_async(insert, pair)
    eventually(lambda: list(events.of.values()) == [WHOLE] * len(PAIRS))


@pytest.mark.parametrize("way", [ingest, ingest_async])
def test_a_tracker_gets_an_ingest(simulated: SimulatedCluster, connect: Connect, way: Any) -> None:
    events = Events()
    way(connect(simulated, "ks", request_tracker=events))
    assert list(events.of.values()) == [["begins", ("over", None)]]
    (request,) = events.requests
    assert isinstance(request, BulkRequest) and request.rows == len(PAIRS) and "INSERT" in request.query.query_string


def test_a_tracker_gets_an_ingest_that_fails(simulated: SimulatedCluster, connect: Connect) -> None:
    events = Events()
    session = connect(simulated, "ks", request_tracker=events)
    with simulated.inject(Fail(errors.InvalidRequest("no")), opcode="EXECUTE"), pytest.raises(IngestError):
        ingest(session)
    assert list(events.of.values()) == [["begins", ("over", IngestError)]]


def test_a_tracker_gets_the_pages_of_a_scan(simulated: SimulatedCluster, connect: Connect) -> None:
    events = Events()
    session = connect(simulated, "ks", request_tracker=events)
    concurrent(session)
    events.of.clear()
    events.requests.clear()
    with simulated.inject(Fail(errors.Overloaded()), query="WHERE token", opcode="EXECUTE", times=1):
        assert sum(len(batch) for batch in session.scan("t").batches()) == len(PAIRS)
    found = list(events.of.values())
    assert found.count(WHOLE) == len(found) - 1
    assert [steps[-1][1].__name__ for steps in found if steps != WHOLE] == ["OverloadedErrorMessage"]
    for request in events.requests:
        assert isinstance(request, BulkRequest) and request.coordinator_host in session.hosts and request.page_size


def test_a_scan_that_is_closed(simulated: SimulatedCluster, connect: Connect) -> None:
    """The pages in flight end for the tracker."""
    events = Events()
    session = connect(simulated, "ks", request_tracker=events)
    concurrent(session)
    events.of.clear()
    with simulated.inject(Drop(), query="WHERE token", opcode="EXECUTE", after=4):
        batches = session.scan("t", splits=8, parallelism=8).batches()
        assert len(next(batches)) > 0
        batches.close()
    ends = {steps[-1] for steps in events.of.values()}
    assert ends == {("over", None), ("over", CancelledError)}


def test_a_tracker_for_each_request(simulated: SimulatedCluster, connect: Connect) -> None:
    class One(RequestTracker):
        ended = 0

        def on_request_end(self, request: Any, error: BaseException | None, elapsed: float) -> None:
            One.ended += 1

    class Some(RequestTracker):
        begun = 0

        def on_request(self, request: Any) -> Any:
            self.begun += 1
            return One() if self.begun % 2 else False

        def on_request_end(self, request: Any, error: BaseException | None, elapsed: float) -> None:
            raise AssertionError("it is called in place of this")

    execute(connect(simulated, "ks", request_tracker=Some()))
    assert One.ended == len(PAIRS) // 2


def test_an_interrupt_at_any_moment_of_a_tracked_request(simulated: SimulatedCluster, connect: Connect) -> None:
    """The handler of a signal may raise also between the outcome and its report: a request has one end at most, and the
    next one all of its events."""
    events = Events()
    session = connect(simulated, "ks", request_tracker=events)
    insert = session.prepare(INSERT)
    session.execute(insert, PAIRS[0])
    moments = 0
    for _ in interrupted_everywhere(lambda: session.execute(insert, PAIRS[0])):
        moments += 1
        session.execute(insert, PAIRS[1])
        assert list(events.of.values())[-1] == WHOLE
    assert moments > 10
    for steps in events.of.values():
        assert [step[0] for step in steps].count("over") <= 1
