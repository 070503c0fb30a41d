"""Threads and event loops together at a limit: every request ends once, and the server never has more than allowed."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_async, execute_concurrent_with_args
from tests.fakes.flow import QUERY, Flow, Jitter, in_thread, waiting_for_room
from tests.patience import PATIENCE, eventually

pytestmark = [pytest.mark.long, pytest.mark.versions]

LIMIT = 8
THREADS, LOOPS = 20, 2
OF_A_THREAD, OF_A_LOOP = 15, 100


@pytest.fixture
def flow(no_leaks: None) -> Iterator[Flow]:
    flow = Flow()
    yield flow
    flow.close()


class Callers:
    """All callers that make requests, and how those ended."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.ends: list[list[str]] = []
        self.lock = threading.Lock()
        self.failures: list[BaseException] = []

    def run(self) -> None:
        threads = [in_thread(lambda n=n: self.guarded(self.thread, n)) for n in range(THREADS)]  # type: ignore[misc]
        threads += [in_thread(lambda n=n: self.guarded(self.loop, n)) for n in range(LOOPS)]  # type: ignore[misc]
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads)
        assert not self.failures, self.failures

    def each_ended_once(self) -> None:
        eventually(lambda: all(self.ends))  # callbacks may run later than result() returns
        assert all(len(ends) == 1 for ends in self.ends)

    def guarded(self, work: Any, number: int) -> None:
        try:
            work(random.Random(number))
        except BaseException as error:
            self.failures.append(error)

    def asked(self, timeout: float) -> Any:
        """A request whose ends are counted."""
        future = self.session.execute_async(QUERY, timeout=timeout)
        ends: list[str] = []
        with self.lock:
            self.ends.append(ends)
        future.add_callbacks(lambda rows: ends.append("answer"), lambda error: ends.append(type(error).__name__))
        return future

    def thread(self, dice: random.Random) -> None:
        for _ in range(OF_A_THREAD):
            future = self.asked(PATIENCE if dice.random() < 0.9 else 0.003)
            if dice.random() < 0.2:
                future.cancel()
            with contextlib.suppress(OperationTimedOut, CancelledError):
                assert future.result().one()

    def loop(self, dice: random.Random) -> None:
        asyncio.run(self.tasks(dice))

    async def tasks(self, dice: random.Random) -> None:
        async def ask() -> Any:
            return (await self.asked(PATIENCE)).one()

        tasks = [asyncio.ensure_future(ask()) for _ in range(OF_A_LOOP)]
        for task in tasks:
            if dice.random() < 0.2:
                await asyncio.sleep(0)
                task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, BaseException):
                assert isinstance(result, asyncio.CancelledError)
            else:
                assert result.release_version


@pytest.mark.parametrize("limit", ["max_requests_per_connection", "max_requests_per_host", "max_requests_per_session"])
def test_never_more_than_allowed(flow: Flow, limit: str) -> None:
    session = flow.connect(**{limit: LIMIT})
    (pool,) = session.get_pools()
    (connection,) = pool.get_connections()
    connection.orphaned_threshold = 1 << 20  # one connection all the time: the server counts the requests on it
    jitter = Jitter(lost=0.0)
    flow.rule.remove()
    flow.simulated.inject(jitter, query=QUERY)
    callers = Callers(session)
    callers.run()
    assert 1 < jitter.most <= LIMIT
    callers.each_ended_once()
    ended = Counter(ends[0] for ends in callers.ends)
    assert set(ended) <= {"answer", "OperationTimedOut", "CancelledError"} and ended["answer"] > 100
    assert waiting_for_room(session) == 0
    eventually(lambda: pool.in_flight == 0 and (pool.limit is None or pool.limit.in_flight == 0))
    assert session.execute(QUERY).one()


def test_answers_that_never_come(flow: Flow) -> None:
    """Lost answers wear connections out; they are replaced, and every waiter gets its turn."""
    session = flow.connect(max_requests_per_session=LIMIT)
    jitter = Jitter(lost=0.1)
    flow.rule.remove()
    flow.simulated.inject(jitter, query=QUERY)
    ends: list[list[str]] = []

    def ask(dice: random.Random) -> None:
        for _ in range(20):
            mine: list[str] = []
            ends.append(mine)
            try:
                session.execute(QUERY, timeout=0.25)
                mine.append("answer")
            except OperationTimedOut:
                mine.append("late")

    threads = [in_thread(lambda n=n: ask(random.Random(n))) for n in range(10)]  # type: ignore[misc]
    for thread in threads:
        thread.join(PATIENCE)
    assert len(ends) == 200 and all(len(mine) == 1 for mine in ends)
    assert waiting_for_room(session) == 0
    (pool,) = session.get_pools()
    jitter.lost = 0.0
    assert session.execute(QUERY, timeout=PATIENCE).one()
    eventually(lambda: pool.limit is not None and pool.limit.in_flight == pool.in_flight)


@pytest.mark.parametrize("limit", ["max_requests_per_connection", "max_requests_per_session"])
def test_execute_concurrent_at_a_limit(flow: Flow, limit: str) -> None:
    """More at a time than may be in flight: the rest waits, in both ways to execute many."""
    session = flow.connect(**{limit: LIMIT})
    jitter = Jitter(lost=0.0)
    flow.rule.remove()
    flow.simulated.inject(jitter, query=QUERY)
    prepared = session.prepare(QUERY + " WHERE key = ?")
    arguments = [("local",)] * 150
    results = execute_concurrent_with_args(session, prepared, arguments, concurrency=50)
    assert [result.one().release_version for _, result in results] == ["3.0.8"] * 150

    async def ask() -> Any:
        return await execute_concurrent_async(session, [(prepared, one) for one in arguments], concurrency=50)

    assert [success for success, _ in asyncio.run(ask())] == [True] * 150
    assert 1 < jitter.most <= LIMIT
    assert waiting_for_room(session) == 0
