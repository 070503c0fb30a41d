"""What the asyncio clients do, whichever driver: point reads and INSERTs, one at a time and by a hundred tasks."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Awaitable, Callable, Iterator, Mapping

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


def works(loop: asyncio.AbstractEventLoop, operations: Mapping[str, Operation], count: int) -> dict[str, Work]:
    """*count* executions of each operation are one sample."""
    found = {}
    names = {"run": loop.run_until_complete, "alone": one_by_one, "tasks": by_tasks}
    for name, operation in operations.items():
        mine = {**names, "operation": operation}
        found[name] = Work(f"run(alone(operation, {count // 10}))", mine, whole_process=True, per=count // 10)
        found[f"concurrent {name}"] = Work(f"run(tasks(operation, {count}))", mine, whole_process=True, per=count)
    return found
