"""Caller threads wait, driver threads decide: locks, exceptions and other work of a waiting caller's thread change
nothing for the request, for its callbacks, and for its other waiters."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import NoHostAvailable, PreparedStatement, Session
from cassandra.policies import SimpleConvictionPolicy
from cassandra.pool import Host
from cassandra.protocol import InvalidRequest
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Hold
from tests import interrupted_use
from tests.interrupted_use import Alarm
from tests.interrupts import handlers_raise
from tests.patience import PATIENCE, eventually

pytestmark = pytest.mark.long

ROUNDS = 300


@pytest.fixture
def select(session: Session) -> PreparedStatement:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    session.execute("INSERT INTO t (id, v) VALUES (1, 'one')")
    return session.prepare("SELECT v FROM t WHERE id = ?")


def run(target: Callable[[], Any]) -> Any:
    """The result of *target*, in a thread; fails if it hangs."""
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(target()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it hangs"
    return got[0]


@contextmanager
def alarms(seed: int = 5) -> Iterator[Callable[[], None]]:
    """``alarm()`` has :class:`Alarm` raised in the main thread within three milliseconds."""
    moments = random.Random(seed)

    def handler(number: int, frame: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with handlers_raise(Alarm):
            yield lambda: signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.00005, 0.003))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("statement", ["prepared", "simple", "failing"])
def test_callbacks_may_take_a_lock_that_the_waiting_thread_holds(
    session: Session, select: PreparedStatement, statement: str
) -> None:
    lock, called = threading.Lock(), threading.Semaphore(0)

    def on_end(_: Any) -> None:
        with lock:
            called.release()

    def wait() -> str:
        for _ in range(50):
            with lock:
                if statement == "prepared":
                    future = session.execute_async(select, (1,))
                else:
                    column = "v" if statement == "simple" else "missing"
                    future = session.execute_async(f"SELECT {column} FROM t WHERE id = 1")
                future.add_callbacks(on_end, on_end)
                if statement == "failing":
                    with pytest.raises(InvalidRequest):
                        future.result()
                else:
                    assert future.result().one().v == "one"
            assert called.acquire(timeout=PATIENCE)
        return "ended"

    assert run(wait) == "ended"


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, CancelledError, ValueError])
def test_an_exception_in_a_callback_affects_nothing_else(
    session: Session, select: PreparedStatement, raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def bad(_: Any) -> None:
        raise raised("from a callback")

    for _ in range(20):
        called = threading.Event()
        future = session.execute_async(select, (1,))
        with suppress(raised):  # by add_callback(), if the response was faster
            future.add_callback(bad)
        future.add_callback(lambda _, called=called: called.set())
        assert future.result().one().v == "one"
        assert called.wait(PATIENCE)
    assert any("from a callback" in str(record.exc_info) for record in caplog.records)


def test_callbacks_run_on_the_io_thread(session: Session, select: PreparedStatement) -> None:
    threads: set[int] = set()
    ended = threading.Semaphore(0)

    def note(_: Any) -> None:
        threads.add(threading.get_ident())
        ended.release()

    for _ in range(ROUNDS):
        future = session.execute_async(select, (1,))
        future.add_callback(note)
        future.result()
    for _ in range(ROUNDS):
        assert ended.acquire(timeout=PATIENCE)
    assert threading.get_ident() not in threads
    assert len(threads) == 1


@pytest.mark.parametrize("text", [None, "SELECT v FROM t WHERE id = 1", "SELECT missing FROM t WHERE id = 1"])
def test_interrupted_waits_leave_the_request_to_others(
    session: Session, select: PreparedStatement, text: str | None
) -> None:
    """An exception of a signal's handler ends the wait, and nothing else: callbacks are called, other threads and tasks
    get the outcome."""
    interrupted = 0
    with alarms() as alarm:
        for _ in range(ROUNDS):
            ended = threading.Event()
            future = session.execute_async(select, (1,)) if text is None else session.execute_async(text)
            future.add_callbacks(lambda _, ended=ended: ended.set(), lambda _, ended=ended: ended.set())
            try:
                alarm()
                with pytest.raises(InvalidRequest) if text and "missing" in text else _nothing():
                    future.result()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Alarm:
                interrupted += 1
            except BaseException:
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise
            assert ended.wait(PATIENCE), "its callback was never called"
            assert run(lambda future=future: _ended(future)) is True
    assert interrupted > 0
    assert session.execute(select, (1,)).one().v == "one"


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _ended(future: Any) -> bool:
    try:
        return bool(future.result().one().v == "one")
    except InvalidRequest:
        return True


def test_a_future_awaited_in_two_loops_of_which_one_is_busy(session: Session, select: PreparedStatement) -> None:
    busy, release = threading.Event(), threading.Event()
    joined = threading.Event()

    async def quick(future: Any) -> str:
        return str((await asyncio.wait_for(_of(future, joined), PATIENCE)).one().v)

    async def slow(future: Any) -> str:
        task = asyncio.ensure_future(_of(future, None))
        await asyncio.sleep(0)
        busy.set()
        release.wait(PATIENCE)  # the loop does nothing meanwhile
        return str((await task).one().v)

    for _ in range(20):
        for event in (busy, release, joined):
            event.clear()
        future = session.execute_async(select, (1,))
        got: list[str] = []
        first = threading.Thread(target=lambda f=future, g=got: g.append(asyncio.run(quick(f))))
        second = threading.Thread(target=lambda f=future, g=got: g.append(asyncio.run(slow(f))))
        second.start()
        assert busy.wait(PATIENCE)
        first.start()
        first.join(PATIENCE)
        assert not first.is_alive(), "the busy loop holds up the other one"
        release.set()
        second.join(PATIENCE)
        assert got == ["one", "one"]


async def _of(future: Any, joined: threading.Event | None) -> Any:
    if joined is not None:
        joined.set()
    return await future


def test_interrupted_use_leaves_one_keyspace(session: Session) -> None:
    interrupted_use.create(session, "{'class': 'NetworkTopologyStrategy', 'dc1': 1}")
    interrupted_use.run(session, 3)


def test_requests_wait_for_a_use_that_is_under_way(
    simulated: SimulatedCluster, session: Session, select: PreparedStatement
) -> None:
    interrupted_use.create(session, "{'class': 'NetworkTopologyStrategy', 'dc1': 1}")
    rule = simulated.inject(Hold(), query="USE")
    use = session.execute_async(f"USE {interrupted_use.KEYSPACES[0]}")
    insert = session.execute_async("INSERT INTO t (id) VALUES (1)")
    prepared = session.execute_async(select, (1,))
    eventually(lambda: rule.hits > 0)
    assert not insert._has_come() and not prepared._has_come()
    rule.remove()
    use.result()
    insert.result()
    assert prepared.result().one().v == "one"
    assert session.execute(f"SELECT id FROM {interrupted_use.KEYSPACES[0]}.t").one().id == 1


def test_connections_that_are_opened_during_a_use_are_held_too(
    simulated: SimulatedCluster, session: Session, select: PreparedStatement
) -> None:
    interrupted_use.create(session, "{'class': 'NetworkTopologyStrategy', 'dc1': 1}")
    pools = session.get_pools()
    eventually(lambda: all(pool.open_count == 4 for pool in pools))
    rule = simulated.inject(Hold(), query="USE use_first", times=1)
    use = session.execute_async("USE use_first")
    eventually(lambda: rule.hits > 0)
    before = {id(connection) for pool in pools for connection in pool.get_connections()}
    for pool in pools:
        for connection in pool.get_connections():
            if not connection.in_flight:  # the USE is not on it
                connection.close()
    eventually(lambda: all(pool.open_count == 4 for pool in pools))
    assert {id(connection) for pool in pools for connection in pool.get_connections()} - before
    inserts = [session.execute_async(f"INSERT INTO t (id) VALUES ({number})") for number in range(20)]
    time.sleep(0.05)
    assert not any(insert._has_come() for insert in inserts)
    rule.remove()
    use.result()
    for insert in inserts:
        insert.result()
    assert {row.id for row in session.execute("SELECT id FROM use_first.t")} == set(range(20))


@pytest.mark.parametrize("ended_by", ["cancel", "refused", "unknown host"])
def test_requests_go_on_after_a_use_that_failed(
    simulated: SimulatedCluster, session: Session, select: PreparedStatement, ended_by: str
) -> None:
    keyspace = session.keyspace
    if ended_by == "cancel":
        rule = simulated.inject(Hold(), query="USE")
        use = session.execute_async("USE other")
        eventually(lambda: rule.hits > 0)
        use.cancel()
        rule.remove()
    elif ended_by == "refused":
        with pytest.raises(InvalidRequest):
            session.execute("USE no_such_keyspace")
    else:
        with pytest.raises(NoHostAvailable):
            session.execute("USE other", host=Host("10.9.9.9", SimpleConvictionPolicy))
    assert run(lambda: session.execute(select, (1,)).one().v) == "one"
    assert session.keyspace == keyspace


def test_errbacks_of_a_cancelled_request_run_on_another_thread(
    simulated: SimulatedCluster, session: Session, select: PreparedStatement
) -> None:
    """Errbacks run on the I/O thread, also if another one ends the request."""
    rule = simulated.inject(Hold(), query="SELECT v FROM t")
    lock, threads, called = threading.Lock(), [], threading.Event()

    def on_error(error: Any) -> None:
        with lock:
            threads.append(threading.current_thread())
        called.set()

    future = session.execute_async(select, (1,))
    future.add_errback(on_error)
    with lock:
        assert run(future.cancel) is True
        assert isinstance(run(lambda: _raised(future)), CancelledError)
    assert called.wait(PATIENCE)
    assert threads[0] is not threading.current_thread()
    rule.remove()


def _raised(future: Any) -> Any:
    try:
        return future.result()
    except CancelledError as error:
        return error


def test_interrupted_cancellations_call_errbacks(
    simulated: SimulatedCluster, session: Session, select: PreparedStatement
) -> None:
    rule = simulated.inject(Hold(), query="SELECT v FROM t")
    interrupted = 0
    with alarms() as alarm:
        for _ in range(ROUNDS):
            ended = threading.Event()
            future = session.execute_async(select, (1,))
            future.add_errback(lambda _, ended=ended: ended.set())
            try:
                alarm()
                future.cancel()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Alarm:
                interrupted += 1
                future.cancel()
            assert ended.wait(PATIENCE), "its errback was never called"
    rule.remove()
    assert run(lambda: session.execute(select, (1,)).one().v) == "one"


def test_interrupted_pages_are_neither_lost_nor_doubled(session: Session) -> None:
    session.execute("CREATE TABLE pages (p int, c int, PRIMARY KEY (p, c))")
    for number in range(50):
        session.execute("INSERT INTO pages (p, c) VALUES (1, %s)", (number,))
    statement = SimpleStatement("SELECT c FROM pages WHERE p = 1", fetch_size=5)
    interrupted = 0
    with alarms() as alarm:
        for _ in range(ROUNDS // 3):
            result, found = session.execute(statement), []
            found.extend(row.c for row in result.current_rows)
            while result.has_more_pages:
                state = result.paging_state
                try:
                    alarm()
                    result.fetch_next_page()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Alarm:
                    interrupted += 1
                    if result.paging_state == state:
                        continue
                found.extend(row.c for row in result.current_rows)
            assert found == list(range(50))
    assert interrupted > 0


def test_interrupted_iteration_goes_on_where_it_was(session: Session) -> None:
    session.execute("CREATE TABLE pages (p int, c int, PRIMARY KEY (p, c))")
    for number in range(50):
        session.execute("INSERT INTO pages (p, c) VALUES (1, %s)", (number,))
    statement = SimpleStatement("SELECT c FROM pages WHERE p = 1", fetch_size=5)
    interrupted = 0
    with alarms() as alarm:
        for _ in range(ROUNDS // 3):
            rows, found = iter(session.execute(statement)), []
            while len(found) < 50:
                try:
                    alarm()
                    for row in rows:  # no handler runs between the row and append(), as one may after next()
                        found.append(row.c)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Alarm:
                    interrupted += 1
            assert found == list(range(50))
            assert next(rows, None) is None
    assert interrupted > 0


@pytest.mark.parametrize("first", ["busy", "stopped", "closed"])
@pytest.mark.parametrize("answer", ["rows", "timeout"])
def test_a_future_awaited_in_two_loops_of_which_the_first_is_gone(
    simulated: SimulatedCluster, session: Session, select: PreparedStatement, first: str, answer: str
) -> None:
    """With the answer in the queue of the first one when the second one begins, or while both wait."""
    rule = simulated.inject(Hold(), query="SELECT v FROM t")
    future = session.execute_async(select, (1,), timeout=PATIENCE if answer == "rows" else 0.5)
    loop, release = asyncio.new_event_loop(), threading.Event()
    task = loop.create_task(_outcome(future))
    loop.run_until_complete(asyncio.sleep(0.01))
    thread = None
    if first == "closed":
        loop.close()
    elif first == "busy":
        loop.call_soon(release.wait, PATIENCE)
        thread = threading.Thread(target=loop.run_until_complete, args=(task,))
        thread.start()
    if answer == "rows":
        rule.remove()
    assert run(lambda: asyncio.run(_outcome(future))) == answer
    release.set()
    if thread is not None:
        thread.join(PATIENCE)
    elif first == "stopped":
        loop.run_until_complete(asyncio.wait_for(task, PATIENCE))
    if first != "closed":
        assert task.result() == answer
        loop.close()
    rule.remove()


async def _outcome(future: Any) -> str:
    try:
        return "rows" if (await future).one().v == "one" else "others"
    except OperationTimedOut:
        return "timeout"
