"""Requests of every kind on one session, from many threads: the application that the soak is about.

Each worker takes numbers from the ledger, sends each as a read or a write, and tells the ledger how it ended. They stop
when the ledger hands out no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.chaos.ledger import EXPECTED, Ledger, is_write
from benchmarks.chaos.recordings import READ, WRITE
from cassandra.cluster import NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_async, execute_concurrent_with_args

SYNC_THREADS, TASKS, LOOPS, WINDOW = 6, 40, 2, 100
PATIENCE = 120.0  # seconds: requests end within one; a request that waits longer than this was forgotten
REST = 0.005  # seconds that a worker waits when no node is there: requests that no node takes are no load
CANCELLED, FORGOTTEN, TWICE, FAIL_FAST, LEFT_EARLY = 0.03, 0.02, 0.2, 0.2, 0.1  # how likely each is


class Load:
    """Threads that use *session*; a context manager that waits for all of them. *seed* is that of their choices."""

    def __init__(self, session: Session, ledger: Ledger, seed: int) -> None:
        self.session, self.ledger, self.seed = session, ledger, seed
        self.read, self.write = prepared(session, READ), prepared(session, WRITE)
        self.read.is_idempotent = True
        works = [*[self._sync] * SYNC_THREADS, self._futures, self._callbacks, *[self._loop] * LOOPS]
        works += [self._concurrent, self._concurrent_with_args]
        self._threads = [
            threading.Thread(target=self._run, args=(work, random.Random(f"{seed} {number}")), name=work.__name__)
            for number, work in enumerate(works)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """No new requests; waits for those there are."""
        self.ledger.stop()
        self.wait(PATIENCE)
        for thread in self._threads:
            if thread.is_alive():
                self.ledger.violation(f"a call hangs in {thread.name}")

    def wait(self, seconds: float) -> bool:
        """Until there is nothing more to do, or for *seconds*; whether there is nothing more."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, work: Callable[[random.Random], None], chance: random.Random) -> None:
        try:
            work(chance)
        except BaseException as error:
            self.ledger.violation(f"{work.__name__} ended with {error!r}")
            raise

    def _statement(self, number: int) -> tuple[Any, tuple[int]]:
        return (self.write if is_write(number) else self.read), (number,)

    def _failed(self, number: int, error: Exception) -> None:
        self.ledger.failed(number, error)
        if isinstance(error, NoHostAvailable):
            time.sleep(REST)

    # ---- workers

    def _sync(self, chance: random.Random) -> None:
        for number in self.ledger.numbers():
            self.ledger.begin(number)
            try:
                rows = self.session.execute(*self._statement(number))
            except EXPECTED as error:
                self._failed(number, error)
            else:
                self.ledger.answered(number, rows)

    def _futures(self, chance: random.Random) -> None:
        for block in _blocks(self.ledger.numbers(), WINDOW):
            futures = [(number, self._sent(number)) for number in block]
            for number, future in futures:
                if future is not None and chance.random() >= FORGOTTEN:
                    self._take(number, future, twice=chance.random() < TWICE)
                elif future is not None:
                    self.ledger.given_up(number)

    def _sent(self, number: int) -> Any:
        self.ledger.begin(number)
        try:
            return self.session.execute_async(*self._statement(number))
        except EXPECTED as error:
            self._failed(number, error)
            return None

    def _take(self, number: int, future: Any, twice: bool) -> None:
        try:
            rows = list(future.result())
        except EXPECTED as error:
            self._failed(number, error)
            if twice:
                with contextlib.suppress(type(error)):
                    future.result()
                    self.ledger.violation(f"{number} failed, and succeeded when asked again")
        else:
            self.ledger.answered(number, rows)

    def _callbacks(self, chance: random.Random) -> None:
        free = threading.Semaphore(WINDOW)

        def succeeded(rows: Any, number: int) -> None:
            self.ledger.answered(number, rows)
            free.release()

        def failed(error: BaseException, number: int) -> None:
            self.ledger.failed(number, error)
            free.release()

        def one_more() -> bool:
            got = free.acquire(timeout=PATIENCE)
            if not got:
                self.ledger.violation("a callback was never called")
            return got

        for number in self.ledger.numbers():
            if not one_more():
                return
            future = self._sent(number)
            if future is None:
                free.release()
            else:
                future.add_callbacks(succeeded, failed, (number,), None, (number,), None)
        for _ in range(WINDOW):
            if not one_more():
                return

    def _concurrent(self, chance: random.Random) -> None:
        """Both statements in turns, as a list; sometimes the first error is enough."""
        for block in _blocks(self.ledger.numbers(), 5 * WINDOW):
            sent = [self._statement(self.ledger.begin(number)) for number in block]
            fail_fast = chance.random() < FAIL_FAST
            try:
                results = list(execute_concurrent(self.session, sent, WINDOW, raise_on_first_error=fail_fast))
            except EXPECTED:
                if not fail_fast:
                    raise
                self._all_given_up(block)
            else:
                self._collect(block, results)

    def _concurrent_with_args(self, chance: random.Random) -> None:
        """One statement at a time, as a generator that is sometimes left early."""
        for block in _blocks(self.ledger.numbers(), 5 * WINDOW):
            for statement, mine in ((self.read, block[::2]), (self.write, block[1::2])):
                parameters = [(self.ledger.begin(number),) for number in mine]
                results = execute_concurrent_with_args(
                    self.session,
                    statement,
                    iter(parameters),
                    WINDOW,
                    raise_on_first_error=False,
                    results_generator=True,
                )
                taken = self._how_many(mine, chance)
                self._collect(mine[:taken], list(itertools.islice(results, taken)))
                self._all_given_up(mine[taken:])

    def _how_many(self, numbers: list[int], chance: random.Random) -> int:
        """Of the results for *numbers*, how many are taken."""
        return chance.randrange(len(numbers) + 1) if chance.random() < LEFT_EARLY else len(numbers)

    def _collect(self, numbers: list[int], results: list[Any]) -> None:
        if len(results) != len(numbers):
            self.ledger.violation(f"{len(numbers)} statements had {len(results)} results")
        for number, (success, outcome) in zip(numbers, results, strict=False):
            if success:
                self.ledger.answered(number, outcome)
            else:
                self._failed(number, outcome)

    def _all_given_up(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.ledger.given_up(number)

    # ---- asyncio

    def _loop(self, chance: random.Random) -> None:
        asyncio.run(self._tasks(chance))

    async def _tasks(self, chance: random.Random) -> None:
        numbers = self.ledger.numbers()
        tasks = [self._task(numbers, chance) for _ in range(TASKS)]
        await asyncio.gather(*tasks, self._concurrent_async(numbers, chance))

    async def _task(self, numbers: Iterator[int], chance: random.Random) -> None:
        for number in numbers:
            self.ledger.begin(number)
            cancelled = chance.random() * REST if chance.random() < CANCELLED else None
            try:
                rows = await asyncio.wait_for(self._awaited(number), cancelled)
            except (asyncio.TimeoutError, TimeoutError):
                self.ledger.given_up(number)
            except EXPECTED as error:
                self.ledger.failed(number, error)
                if isinstance(error, NoHostAvailable):
                    await asyncio.sleep(REST)
            else:
                self.ledger.answered(number, rows)

    async def _concurrent_async(self, numbers: Iterator[int], chance: random.Random) -> None:
        """Awaited as a list, or iterated over and sometimes left early."""
        for block in _blocks(numbers, WINDOW):
            sent = [self._statement(self.ledger.begin(number)) for number in block]
            run = execute_concurrent_async(self.session, sent, WINDOW // 4, raise_on_first_error=False)
            if chance.random() < 0.5:
                self._collect(block, await run)
                continue
            taken = self._how_many(block, chance)
            results: list[Any] = []
            async with contextlib.aclosing(aiter(run)) as iterated:
                while len(results) < taken:
                    results.append(await anext(iterated))
            self._collect(block[:taken], results)
            self._all_given_up(block[taken:])

    async def _awaited(self, number: int) -> list[Any]:
        return list(await self.session.execute_async(*self._statement(number)))


def prepared(session: Session, query: str) -> Any:
    """*query* prepared, however long that takes: the session's timeout is short, and all nodes may be down."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return session.prepare(query)
        except EXPECTED:
            if time.monotonic() >= deadline:
                raise
            time.sleep(REST)


def _blocks(numbers: Iterator[int], size: int) -> Iterator[list[int]]:
    """Lists of *size*, an even number, so that reads and writes alternate; the last is shorter."""
    while block := list(itertools.islice(numbers, size)):
        yield block
