"""An asyncio loop in each thread, on one session."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cassandra.cluster import PreparedStatement, Session
from cassandra.concurrent import execute_concurrent_with_args_async
from cassandra.query import SimpleStatement
from tests.patience import PATIENCE
from tests.threads.conftest import ROWS
from tests.threads.harness import THREADS, size, together

TURNS = size("FASTCQL_TURNS", 20)


@pytest.fixture
def select(table: Session) -> PreparedStatement:
    return table.prepare("SELECT v FROM t WHERE id = ?")


def in_loops(main: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    """Run ``main(number)`` in a loop of its own in each thread."""

    def work(number: int) -> None:
        asyncio.run(asyncio.wait_for(main(number), PATIENCE))

    together(work)


def test_requests_of_all_loops(table: Session, select: PreparedStatement) -> None:
    async def main(number: int) -> None:
        async def one(key: int) -> None:
            assert (await table.execute_async(select, (key,))).one().v == key * 7

        for turn in range(TURNS // 3):
            await asyncio.gather(*(one((number * 10 + turn + step) % ROWS) for step in range(10)))

    in_loops(main)


def test_pages_of_all_loops(table: Session) -> None:
    async def main(number: int) -> None:
        for _ in range(2):
            result = await table.execute_async(SimpleStatement("SELECT id, v FROM t", fetch_size=11 + number))
            found = Counter([(row.id, row.v) async for row in result])
            assert found == Counter((key, key * 7) for key in range(ROWS))

    in_loops(main)


def test_tasks_that_are_cancelled(table: Session, select: PreparedStatement) -> None:
    """Others go on: each has its own value."""

    async def main(number: int) -> None:
        async def one(key: int) -> int:
            value: int = (await table.execute_async(select, (key,))).one().v
            return value

        for turn in range(TURNS // 3):
            tasks = [asyncio.create_task(one(key)) for key in range(10)]
            await asyncio.sleep(0)
            for task in tasks[turn % 3 :: 3]:
                task.cancel()
            for key, found in enumerate(await asyncio.gather(*tasks, return_exceptions=True)):
                assert found == key * 7 or isinstance(found, asyncio.CancelledError)

    in_loops(main)


def test_many_requests_of_all_loops(table: Session, select: PreparedStatement) -> None:
    async def main(number: int) -> None:
        values = [((number + step) % ROWS,) for step in range(60)]
        results = await execute_concurrent_with_args_async(table, select, values, concurrency=7)
        assert [result.one().v for _, result in results] == [key * 7 for (key,) in values]

    in_loops(main)


def test_a_future_that_several_loops_await(table: Session, select: PreparedStatement) -> None:
    """Threads wait for one request, some by a loop: all get its result."""
    for turn in range(TURNS // 3):
        future = table.execute_async(select, (turn,))

        async def main(future: Any = future) -> int:
            value: int = (await future).one().v
            return value

        def work(number: int, future: Any = future, main: Any = main) -> Any:
            return asyncio.run(main()) if number % 2 else future.result().one().v

        assert together(work) == [turn * 7] * THREADS


def test_sessions_of_loops(table: Session) -> None:
    """Each loop connects, prepares, and shuts its session down."""
    cluster = table.cluster

    async def main(number: int) -> None:
        for _ in range(3):
            async with await cluster.connect_async("ks") as session:
                select = await session.prepare_async("SELECT v FROM t WHERE id = ?")
                assert (await session.execute_async(select, (number,))).one().v == number * 7

    in_loops(main)
