"""Handlers of signals that raise, or that execute requests themselves, at any moment of calls that make many requests:
requests that wait for room, ``execute_concurrent``, ingests, scans and folds, and the mapper. Nothing hangs, each call
ends completely or with the exception, and the session works at once."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

from cassandra.cluster import PreparedStatement, Session
from cassandra.concurrent import execute_concurrent_async, execute_concurrent_with_args
from cassandra.testing import SimulatedCluster
from tests.interrupts import handlers_raise, is_reporting
from tests.patience import PATIENCE, eventually
from tests.simulated.conftest import Connect

pytestmark = pytest.mark.long

ROUNDS = 100
ROWS = 20

Arm = Callable[[], None]


class Alarm(BaseException):
    """Raised by the handler of a signal."""


class LoopAlarm(KeyboardInterrupt):
    """Raised by the handler of a signal while a loop runs; asyncio lets no other kind out of it."""


class Hang(BaseException):
    """The main thread was too long in one call."""


class Signals:
    """Sends the main thread a signal within three milliseconds."""

    def __init__(self, seed: int) -> None:
        self.handled = 0
        self.stack = traceback.StackSummary()  # where the last handler was called
        self.ignored: list[str] = []  # finalizers and callbacks of weak references, of any module, that it interrupted
        self._moments = random.Random(seed)

    def tosses(self) -> bool:
        """One of two things, at random."""
        return self._moments.random() < 0.5

    def arm(self, longest: float = 0.003) -> None:
        """The next one."""
        signal.setitimer(signal.ITIMER_REAL, self._moments.uniform(0.00005, longest))

    def disarm(self) -> None:
        """None any more."""
        signal.setitimer(signal.ITIMER_REAL, 0)


def is_of_asyncio(frame: FrameType | None) -> bool:
    """A loop that is interrupted there may lose a callback: ``_run_once`` takes one from its queue, and then calls it;
    a future drops its callbacks if ``call_soon`` raises. No library can help that."""
    return frame is not None and str(frame.f_globals.get("__name__")).startswith("asyncio.")


@contextmanager
def signals(action: Callable[[], object], seed: int = 11, spares_asyncio: bool = False) -> Iterator[Signals]:
    """*action* is what the handler does. A main thread that hangs is interrupted, too."""
    made = Signals(seed)

    def handle(number: int, frame: FrameType | None) -> None:
        if is_reporting(frame) or (spares_asyncio and is_of_asyncio(frame)):
            signal.setitimer(signal.ITIMER_REAL, 0.00002)  # a little later
            return
        made.handled += 1
        made.stack = traceback.extract_stack(frame, 12)
        action()

    def end_hang(number: int, frame: object) -> None:
        raise Hang(f"it hangs; Python ignored the exception in {made.ignored}")

    before = signal.signal(signal.SIGALRM, handle), signal.signal(signal.SIGUSR1, end_hang)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(PATIENCE):
            if made.handled == watched[0]:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            watched[0] = made.handled

    watched = [-1]
    watchdog = threading.Thread(target=watch, daemon=True)
    watchdog.start()
    try:
        with handlers_raise(Alarm, LoopAlarm, on_ignored=made.arm) as made.ignored:
            yield made
    finally:
        made.disarm()
        ended.set()
        watchdog.join()
        signal.signal(signal.SIGALRM, before[0])
        signal.signal(signal.SIGUSR1, before[1])


def raises() -> None:
    raise Alarm


def raises_in_loop() -> None:
    raise LoopAlarm


def run_interrupted(handler: Signals, main: Callable[[], Any]) -> bool:
    """Run the coroutine of *main* on a loop of its own, as ``asyncio.run`` does; whether it was interrupted. Then the
    loop goes on until the task has ended, which is cancelled in every second case only."""

    async def begun() -> None:
        handler.arm()
        await main()

    loop = asyncio.new_event_loop()
    task = loop.create_task(begun())
    before = handler.handled - len(handler.ignored)
    interrupted = False
    try:
        loop.run_until_complete(task)
        handler.disarm()
        swallowed = handler.handled - len(handler.ignored) != before
        assert not swallowed, "the exception was swallowed:\n" + "".join(handler.stack.format())
    except LoopAlarm:
        handler.disarm()
        interrupted = True
    try:
        cancelled = handler.tosses() and task.cancel()
        loop.run_until_complete(asyncio.wait([task], timeout=PATIENCE))
        assert task.done(), "the task never ends"
        error = None if task.cancelled() else task.exception()
        assert isinstance(error, LoopAlarm) if error is not None else cancelled or not task.cancelled()
        loop.run_until_complete(loop.shutdown_asyncgens())
    except LoopAlarm as again:
        raise AssertionError("the exception came twice") from again
    finally:
        loop.close()
    return interrupted


def executes(session: Session, statement: PreparedStatement) -> Callable[[], None]:
    """A handler that makes requests, and raises nothing."""

    def execute() -> None:
        assert session.execute(statement, (1,)).one().v == 1
        assert session.execute("SELECT v FROM t WHERE id = 2").one().v == 2

    return execute


def filled(session: Session) -> PreparedStatement:
    """The statement that reads one row of a new table."""
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    for number in range(ROWS):
        session.execute(insert, (number, number))
    return session.prepare("SELECT v FROM t WHERE id = ?")


@pytest.fixture
def tables(simulated: SimulatedCluster) -> None:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
    )


def is_quiet(session: Session) -> bool:
    """No request is in flight or in line."""
    admission = session._pool_set.admission
    return not (len(admission) or admission.held_up or any(pool.in_flight for pool in session.get_pools()))


def works(session: Session, statement: PreparedStatement) -> None:
    """Every kind of request, at once."""
    assert session.execute(statement, (3,)).one().v == 3
    assert session.execute("SELECT v FROM t WHERE id = 4").one().v == 4
    results = execute_concurrent_with_args(session, statement, [(number,) for number in range(ROWS)])
    assert [result.one().v for _, result in results] == list(range(ROWS))
    eventually(lambda: is_quiet(session))


# ---- requests that wait for room


@pytest.mark.parametrize("most_waiting", [32768, 2])
@pytest.mark.parametrize("limit", ["max_requests_per_session", "max_requests_per_host"])
def test_handlers_that_execute_while_requests_wait_for_room(
    simulated: SimulatedCluster, tables: None, connect: Connect, limit: str, most_waiting: int
) -> None:
    session = connect(simulated, "ks", **{limit: 2, "max_waiting_requests": most_waiting})
    select = filled(session)
    with signals(executes(session, select)) as handler:
        for _ in range(ROUNDS):
            handler.arm()
            futures = [session.execute_async(select, (number,)) for number in range(8)]
            assert [future.result().one().v for future in futures] == list(range(8))
    assert handler.handled > 0
    works(session, select)


@pytest.mark.parametrize("most_waiting", [32768, 2])
@pytest.mark.parametrize("limit", ["max_requests_per_session", "max_requests_per_host"])
def test_requests_that_are_interrupted_while_they_wait_for_room(
    simulated: SimulatedCluster, tables: None, connect: Connect, limit: str, most_waiting: int
) -> None:
    session = connect(simulated, "ks", **{limit: 2, "max_waiting_requests": most_waiting})
    select = filled(session)
    with signals(raises) as handler:
        for _ in range(ROUNDS):
            futures = []
            try:
                handler.arm()
                futures += [session.execute_async(select, (number,)) for number in range(8)]
                handler.disarm()
            except Alarm:
                pass
            assert [future.result().one().v for future in futures] == list(range(len(futures)))
            assert session.execute(select, (5,)).one().v == 5
    assert handler.handled > 0
    works(session, select)


def test_a_thread_that_is_held_up_is_interrupted(simulated: SimulatedCluster, tables: None, connect: Connect) -> None:
    """It leaves no place in line behind; others that are held up get theirs."""
    session = connect(simulated, "ks", max_requests_per_session=1, max_waiting_requests=1)
    select = filled(session)
    others: list[Any] = []
    threads = []
    with signals(raises) as handler:
        for _ in range(50):
            threads = [
                threading.Thread(target=lambda: others.append(session.execute(select, (1,)).one().v)) for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            try:
                handler.arm()
                while True:
                    session.execute_async(select, (2,))
            except Alarm:
                pass
            for thread in threads:
                thread.join(PATIENCE)
                assert not thread.is_alive(), "another thread is held up for ever"
    assert others == [1] * 200
    works(session, select)


# ---- many statements at a time


@pytest.mark.parametrize("limit", [None, 4])
def test_execute_concurrent_interrupted(
    simulated: SimulatedCluster, tables: None, connect: Connect, limit: int | None
) -> None:
    session = connect(simulated, "ks", **({} if limit is None else {"max_requests_per_session": limit}))
    select = filled(session)
    with signals(raises) as handler:
        for _ in range(ROUNDS):
            try:
                handler.arm()
                results = execute_concurrent_with_args(
                    session, select, [(number % ROWS,) for number in range(50)], concurrency=10
                )
                handler.disarm()
            except Alarm:
                continue
            assert [result.one().v for _, result in results] == [number % ROWS for number in range(50)]
    assert handler.handled > 0
    works(session, select)


@pytest.mark.parametrize("way", ["list", "generator"])
def test_handlers_that_execute_during_execute_concurrent(
    simulated: SimulatedCluster, tables: None, connect: Connect, way: str
) -> None:
    session = connect(simulated, "ks", max_requests_per_session=4)
    select = filled(session)
    with signals(executes(session, select)) as handler:
        for _ in range(ROUNDS):
            handler.arm()
            results = execute_concurrent_with_args(
                session,
                select,
                [(number % ROWS,) for number in range(50)],
                concurrency=10,
                results_generator=way == "generator",
            )
            assert [result.one().v for _, result in results] == [number % ROWS for number in range(50)]
    assert handler.handled > 0
    works(session, select)


@pytest.mark.parametrize("text", [False, True], ids=["prepared", "text"])
@pytest.mark.parametrize("limit", [None, 4])
def test_execute_concurrent_async_interrupted(
    simulated: SimulatedCluster, tables: None, connect: Connect, limit: int | None, text: bool
) -> None:
    """The exception of the handler comes out of the loop, as of any coroutine; if it does not, the results are
    complete."""
    session = connect(simulated, "ks", **({} if limit is None else {"max_requests_per_session": limit}))
    select = filled(session)
    statement: Any = "SELECT v FROM t WHERE id = %s" if text else select

    async def run() -> None:
        values = [(number % ROWS,) for number in range(50)]
        results = await _of_all(session, statement, values)
        assert [result.one().v for _, result in results] == [number % ROWS for number in range(50)]

    asyncio.run(run())  # modules are imported
    with signals(raises_in_loop, spares_asyncio=True) as handler:
        for _ in range(ROUNDS):
            run_interrupted(handler, run)
    assert handler.handled > 0
    works(session, select)


async def _of_all(session: Session, statement: Any, values: list[Any]) -> list[Any]:
    found: list[Any] = await execute_concurrent_async(session, [(statement, one) for one in values], concurrency=10)
    return found


def test_handlers_that_execute_during_execute_concurrent_async(
    simulated: SimulatedCluster, tables: None, connect: Connect
) -> None:
    session = connect(simulated, "ks", max_requests_per_session=4)
    select = filled(session)

    def execute() -> None:  # a loop runs: beyond the limit it is refused, but here is room in line
        assert session.execute(select, (1,)).one().v == 1

    async def run() -> None:
        for _ in range(ROUNDS):
            handler.arm()
            results = await _of_all(session, select, [(number % ROWS,) for number in range(50)])
            assert [result.one().v for _, result in results] == [number % ROWS for number in range(50)]

    with signals(execute) as handler:
        asyncio.run(run())
    assert handler.handled > 0
    works(session, select)


# ---- ingests, scans, folds and the mapper


@pytest.mark.parametrize("limit", [None, 4])
def test_ingest_interrupted(simulated: SimulatedCluster, tables: None, connect: Connect, limit: int | None) -> None:
    """Rows that the exception says are unfinished may be written; all others are."""
    session = connect(simulated, "ks", **({} if limit is None else {"max_requests_per_session": limit}))
    select = filled(session)
    rows = {"id": np.arange(200, dtype=np.int32), "v": np.arange(200, dtype=np.int32)}
    session.ingest("t", rows)  # modules are imported
    with signals(raises) as handler:
        for _ in range(100):
            try:
                handler.arm()
                report = session.ingest("t", rows)
                handler.disarm()
                assert report.rows == 200
            except Alarm:
                pass
    assert handler.handled > 0
    works(session, select)
    assert session.ingest("t", rows).rows == 200


def test_ingest_async_interrupted(simulated: SimulatedCluster, tables: None, connect: Connect) -> None:
    session = connect(simulated, "ks")
    select = filled(session)
    rows = {"id": np.arange(200, dtype=np.int32), "v": np.arange(200, dtype=np.int32)}
    session.ingest("t", rows)  # modules are imported

    async def run() -> None:
        report = await session.ingest_async("t", rows)
        assert report.rows == 200

    asyncio.run(run())  # modules are imported
    with signals(raises_in_loop, spares_asyncio=True) as handler:
        for _ in range(100):
            run_interrupted(handler, run)
    assert handler.handled > 0
    works(session, select)


def test_scan_interrupted(simulated: SimulatedCluster, tables: None, connect: Connect) -> None:
    session = connect(simulated, "ks")
    select = filled(session)
    assert len(list(session.scan("t").rows())) == ROWS  # modules are imported
    with signals(raises) as handler:
        for _ in range(100):
            try:
                handler.arm()
                found = sorted(row.id for row in session.scan("t", columns=["id", "v"], page_size=5).rows())
                handler.disarm()
                assert found == list(range(ROWS))
            except Alarm:
                pass
    assert handler.handled > 0
    works(session, select)


def test_scan_async_interrupted(simulated: SimulatedCluster, tables: None, connect: Connect) -> None:
    session = connect(simulated, "ks")
    select = filled(session)

    async def run() -> None:
        found = [row.id async for row in session.scan("t", columns=["id", "v"], page_size=5).rows()]
        assert sorted(found) == list(range(ROWS))

    asyncio.run(run())  # modules are imported
    with signals(raises_in_loop, spares_asyncio=True) as handler:
        for _ in range(100):
            run_interrupted(handler, run)
    assert handler.handled > 0
    works(session, select)


@pytest.mark.parametrize("work", ["ingest", "scan"])
def test_handlers_that_execute_during_bulk_work(
    simulated: SimulatedCluster, tables: None, connect: Connect, work: str
) -> None:
    session = connect(simulated, "ks", max_requests_per_session=4)
    select = filled(session)
    rows = {"id": np.arange(200, dtype=np.int32), "v": np.arange(200, dtype=np.int32)}
    session.ingest("t", rows)  # modules are imported
    with signals(executes(session, select)) as handler:
        for _ in range(50):
            handler.arm()
            if work == "ingest":
                assert session.ingest("t", rows).rows == 200
            else:
                assert {row.id for row in session.scan("t", columns=["id"], page_size=5).rows()} >= set(range(ROWS))
    assert handler.handled > 0
    works(session, select)


@pytest.mark.parametrize("action", ["raises", "executes"])
def test_metrics_are_read_and_counted(simulated: SimulatedCluster, tables: None, connect: Connect, action: str) -> None:
    """Whoever reads them holds up no request."""
    session = connect(simulated, "ks", metrics_enabled=True)
    select = filled(session)
    metrics = session.cluster.metrics
    with signals(raises if action == "raises" else executes(session, select)) as handler:
        for _ in range(200):
            try:
                handler.arm(0.001)
                for _ in range(5):
                    metrics.get_stats()
                    session.execute(select, (1,))
                handler.disarm()
            except Alarm:
                pass
    assert handler.handled > 0
    works(session, select)
    assert metrics.request_timer["count"] >= 1
