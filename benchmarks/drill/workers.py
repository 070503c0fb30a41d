"""Keeps a session busy from threads, ``execute_concurrent``, futures and asyncio, and notes how each call went.

Every write has a number of its own: an INSERT a row, an append (which is not idempotent) an element of a list, so that
a reader of the tables can tell missing writes and writes done twice. Workers keep to a timetable, so that the rate
says whether calls had to wait, not how fast the machine is.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from benchmarks.drill.calls import APPEND, DDL, INSERT, NEVER, READ, Call
from benchmarks.drill.orders import TEXT, Orders, attempted, node_of
from cassandra.concurrent import execute_concurrent

PERIOD = 0.2  # seconds from one call of a worker to its next
THREADS, TASKS, AT_ONCE, FLOOD = 15, 10, 10, 50
LISTS = 200  # appends are spread over that many
OPS = READ, INSERT, APPEND
DDL_TIMEOUT = 10.0


class Load:
    """Workers on one session."""

    def __init__(self, session: Any, orders: Orders) -> None:
        self.session = session
        self.timeout = orders.timeout
        self.calls: list[Call] = []
        self._stopped = threading.Event()
        self._numbers = itertools.count(1)
        self._open: dict[int, Call] = {}
        self._prepared = {op: session.prepare(text) for op, text in TEXT.items()}
        self._prepared[READ].is_idempotent = self._prepared[INSERT].is_idempotent = True
        works: list[Callable[[], None]] = [self._sync] * THREADS
        works += [self._concurrent, self._futures]
        works.append((lambda: asyncio.run(self._tasks())) if orders.asyncio else self._futures)
        self.threads = [threading.Thread(target=work, daemon=True) for work in works]

    def start(self) -> None:
        """Returns when each worker has had a success."""
        for thread in self.threads:
            thread.start()
        while len({call.worker for call in list(self.calls) if not call.error}) < len(self.threads):
            time.sleep(0.05)

    def stop(self) -> list[threading.Thread]:
        """Those that hang."""
        self._stopped.set()
        deadline = time.monotonic() + self.timeout + 5
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.calls += self._open.values()
        return [thread for thread in self.threads if thread.is_alive()]

    def ddl(self, seconds: float) -> None:
        """Tables come, are used, altered, and go."""
        self._beside(self._ddl, seconds)

    def flood(self, seconds: float) -> None:
        """Many writes in flight at any moment, without a rest."""
        self._beside(self._flood, seconds)

    def _beside(self, work: Callable[[float], None], seconds: float) -> None:
        thread = threading.Thread(target=work, args=(time.monotonic() + seconds,), daemon=True)
        thread.start()
        self.threads.append(thread)

    # ---- one call

    def _begin(self, op: str, number: int = 0, limit: float = 0.0) -> Call:
        call = Call(threading.current_thread().name, op, number, time.monotonic(), NEVER, "", -1, limit or self.timeout)
        self._open[id(call)] = call
        return call

    def _end(self, call: Call, result: Any) -> None:
        """*result*: the result of the call, or its exception."""
        del self._open[id(call)]
        error = type(result).__name__ if isinstance(result, Exception) else ""
        node = -1 if error else node_of(result)
        self.calls.append(call._replace(end=time.monotonic(), error=error, node=node))

    def _statement(self, op: str, number: int) -> tuple[Any, tuple[Any, ...]]:
        values = {READ: (number,), INSERT: (number, f"value {number}"), APPEND: ([number], number % LISTS)}
        return self._prepared[op], values[op]

    def _due(self, due: float) -> float:
        """Rest until the next call is due."""
        due = max(due + PERIOD, time.monotonic())
        self._stopped.wait(due - time.monotonic())
        return due

    # ---- workers

    def _sync(self) -> None:
        due = time.monotonic()
        for op in itertools.cycle(OPS):
            if self._stopped.is_set():
                return
            number = next(self._numbers)
            call = self._begin(op, number)
            self._end(call, attempted(self.session.execute, *self._statement(op, number)))
            due = self._due(due)

    def _concurrent(self) -> None:
        due = time.monotonic()
        while not self._stopped.is_set():
            self._at_once([OPS[index % 3] for index in range(AT_ONCE)])
            due = self._due(due)

    def _at_once(self, ops: list[str]) -> None:
        calls = [self._begin(op, next(self._numbers)) for op in ops]
        statements = [self._statement(call.op, call.number) for call in calls]
        found = execute_concurrent(self.session, statements, len(ops), raise_on_first_error=False)
        for call, (_, result) in zip(calls, found, strict=True):
            self._end(call, result)

    def _futures(self) -> None:
        due = time.monotonic()
        while not self._stopped.is_set():
            sent = []
            for index in range(AT_ONCE):
                call = self._begin(OPS[index % 3], next(self._numbers))
                sent.append((call, attempted(self.session.execute_async, *self._statement(call.op, call.number))))
            for call, future in sent:
                self._end(call, future if isinstance(future, Exception) else attempted(future.result))
            due = self._due(due)

    async def _tasks(self) -> None:
        await asyncio.gather(*(self._task() for _ in range(TASKS)))

    async def _task(self) -> None:
        due = time.monotonic()
        for op in itertools.cycle(OPS):
            if self._stopped.is_set():
                return
            call = self._begin(op, next(self._numbers))
            try:
                result: Any = await self.session.execute_async(*self._statement(op, call.number))
            except Exception as error:
                result = error
            self._end(call, result)
            due = max(due + PERIOD, time.monotonic())
            await asyncio.sleep(due - time.monotonic())

    def _flood(self, until: float) -> None:
        while time.monotonic() < until:
            self._at_once([APPEND] * FLOOD)

    def _ddl(self, until: float) -> None:
        for number in itertools.count():
            if time.monotonic() > until:
                return
            table = f"made_{number}"
            for text in (
                f"CREATE TABLE {table} (id int PRIMARY KEY, v text)",
                f"INSERT INTO {table} (id, v) VALUES (1, 'one')",
                f"ALTER TABLE {table} ADD w int",
                f"INSERT INTO {table} (id, v, w) VALUES (2, 'two', 2)",
                f"SELECT * FROM {table}",
                f"DROP TABLE {table}",
            ):
                call = self._begin(DDL, limit=DDL_TIMEOUT)
                self._end(call, attempted(self.session.execute, text, timeout=DDL_TIMEOUT))
