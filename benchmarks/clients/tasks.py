"""What the asyncio clients do, whichever driver: point reads and INSERTs, one at a time and by a hundred tasks."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from benchmarks.clients.harness import Work

TASKS = 100

#: One operation, as an application of that driver writes it.
Operation = Callable[[], Awaitable[object]]


@contextlib.contextmanager
def event_loop(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """A loop of ``asyncio`` or of ``uvloop``."""
    make = asyncio.new_event_loop
    if name == "uvloop":
        make = importlib.import_module("uvloop").new_event_loop
    loop = make()
    try:
        yield loop
    finally:
        loop.close()


async def one_by_one(operation: Operation, count: int) -> None:
    for _ in range(count):
        await operation()


async def by_tasks(operation: Operation, count: int) -> None:
    """*count* operations by :data:`TASKS` tasks."""
    await asyncio.gather(*(one_by_one(operation, count // TASKS) for _ in range(TASKS)))


async def latencies(operation: Operation, count: int, tasks: int) -> list[float]:
    """Seconds of *count* operations by as many *tasks*."""
    found = []

    async def some() -> None:
        for _ in range(count // tasks):
            begun = time.perf_counter()
            await operation()
            found.append(time.perf_counter() - begun)

    await asyncio.gather(*(some() for _ in range(tasks)))
    return found


def works(loop: asyncio.AbstractEventLoop, operations: Mapping[str, Operation], count: int) -> dict[str, Work]:
    """*count* executions of each operation are one sample."""
    found = {}
    shared: dict[str, Any] = {"run": loop.run_until_complete, "alone": one_by_one, "tasks": by_tasks}
    for name, operation in operations.items():
        mine = {**shared, "operation": operation}
        for kind, statement, number, tasks in (
            (name, "run(alone(operation, number))", count // 10, 1),
            (f"concurrent {name}", "run(tasks(operation, number))", count, TASKS),
        ):

            def measure(operation: Operation = operation, number: int = number, tasks: int = tasks) -> list[float]:
                return loop.run_until_complete(latencies(operation, number, tasks))

            names = {**mine, "number": number}
            found[kind] = Work(statement, names, whole_process=True, per=number, latencies=measure)
    return found
