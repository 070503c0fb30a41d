"""Caller threads wait, driver threads decide: what a caller's thread may hold, raise or do while it waits changes
nothing for the request, for its callbacks, and for others that wait for it."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra.cluster import PreparedStatement, Session
from cassandra.protocol import InvalidRequest
from tests.patience import PATIENCE

ROUNDS = 300


class Alarm(Exception):
    """Raised by the handler of a signal."""


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
def test_what_a_callback_raises_concerns_nothing_else(
    session: Session, select: PreparedStatement, raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def bad(_: Any) -> None:
        raise raised("from a callback")

    for _ in range(20):
        called = threading.Event()
        future = session.execute_async(select, (1,))
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
            alarm()
            try:
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
