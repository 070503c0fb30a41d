"""The public calls of asyncio; ``run`` is a coroutine function. See :mod:`tests.signals.calls`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from cassandra.concurrent import execute_concurrent_async
from cassandra.query import BatchStatement, SimpleStatement
from tests.signals.calls import (
    MANY,
    Call,
    Parts,
    all_counted,
    counted,
    in_thread,
    nothing,
    shut_down,
    used,
    written,
)
from tests.signals.scene import AT_ONCE, KEYSPACES, ROWS, Left, Scene, check_nothing_left, holds

ASYNC_CALLS: dict[str, Call] = {}


def call(costly: bool = False, **options: Any) -> Callable[[Callable[[Scene], Parts]], Callable[[Scene], Parts]]:
    """Register a call; *options* are of its Cluster."""

    def register(parts: Callable[[Scene], Parts]) -> Callable[[Scene], Parts]:
        ASYNC_CALLS[parts.__name__] = Call(parts.__name__, parts, options, costly)
        return parts

    return register


@call()
def await_prepared(scene: Scene) -> Parts:
    number = next(scene.ids)

    async def run() -> None:
        await scene.session.execute_async(scene.count, (number,))

    return run, lambda ended: counted(scene, number, ended)


@call()
def await_text(scene: Scene) -> Parts:
    number = next(scene.ids)

    async def run() -> None:
        await scene.session.execute_async(f"UPDATE one.counts SET n = n + 1 WHERE id = {number}")

    return run, lambda ended: counted(scene, number, ended)


@call()
def await_batch(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(3)]

    async def run() -> None:
        batch = BatchStatement()
        for number in numbers:
            batch.add(scene.insert, (number, "x"))
        await scene.session.execute_async(batch)

    return run, lambda ended: written(scene, numbers, ended)


@call()
def await_failing(scene: Scene) -> Parts:
    async def run() -> None:
        try:
            await scene.session.execute_async("SELECT missing FROM one.t WHERE id = 1")
        except Exception as error:
            if "missing" not in str(error):
                raise

    return run, nothing


@call()
def await_gathered(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(8)]

    async def one(number: int) -> None:
        await scene.session.execute_async(scene.count, (number,))

    async def run() -> None:
        await asyncio.gather(*map(one, numbers))

    return run, lambda ended: all_counted(scene, numbers, ended)


@call()
def await_shared(scene: Scene) -> Parts:
    """Tasks that await one future."""
    number = next(scene.ids)
    seen: dict[str, Any] = {}

    async def one(future: Any) -> None:
        await future

    async def run() -> None:
        seen["future"] = future = scene.session.execute_async(scene.count, (number,))
        await asyncio.gather(one(future), one(future), one(future))

    def check(ended: bool) -> None:
        counted(scene, number, ended)
        if "future" in seen:
            in_thread(seen["future"].result, "result() does not end")

    return run, check


@call(metrics_enabled=True)
def await_with_metrics(scene: Scene) -> Parts:
    return await_shared(scene)


@call()
def async_pages(scene: Scene) -> Parts:
    async def run() -> None:
        statement = SimpleStatement("SELECT at FROM one.ordered WHERE part = 1", fetch_size=3)
        read = [row async for row in await scene.session.execute_async(statement)]
        holds(len(read) == ROWS // 4, f"{len(read)} rows by pages")

    return run, nothing


@call()
def prepare_async(scene: Scene) -> Parts:
    text = f"SELECT v FROM one.t WHERE id = ? AND v = 'p{next(scene.ids)}' ALLOW FILTERING"

    async def run() -> None:
        await scene.session.prepare_async(text)

    def check(ended: bool) -> None:
        scene.session.execute(scene.session.prepare(text), (1,))

    return run, check


@call()
def reprepare_async(scene: Scene) -> Parts:
    scene.server.forget_prepared()
    return await_prepared(scene)


@call()
def await_use(scene: Scene) -> Parts:
    other = KEYSPACES[1 - KEYSPACES.index(scene.session.keyspace)]

    async def run() -> None:
        await scene.session.execute_async(f"USE {other}")

    return run, lambda ended: used(scene, other, ended)


@call()
def await_ddl(scene: Scene) -> Parts:
    name = f"one.made{next(scene.names)}"

    async def run() -> None:
        await scene.session.execute_async(f"CREATE TABLE {name} (id int PRIMARY KEY)")

    def check(ended: bool) -> None:
        scene.session.execute(f"CREATE TABLE IF NOT EXISTS {name} (id int PRIMARY KEY)")
        scene.session.execute(f"DROP TABLE {name}")

    return run, check


@call()
def concurrent_async(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(MANY)]

    async def run() -> None:
        statements = [(scene.count, (number,)) for number in numbers]
        results = await execute_concurrent_async(scene.session, statements, concurrency=7)
        holds(len(results) == MANY, f"{len(results)} results of {MANY}")
        holds(all(result.success for result in results), "a request failed")

    return run, lambda ended: all_counted(scene, numbers, ended)


@call()
def ingest_async(scene: Scene) -> Parts:
    numbers = [next(scene.ids) for _ in range(MANY)]

    async def run() -> None:
        report = await scene.session.ingest_async("one.t", {"id": numbers, "v": ["x"] * MANY})
        holds(report.rows == MANY, f"{report.rows} rows of {MANY}")

    return run, lambda ended: written(scene, numbers[::6], ended)


@call(max_requests_per_session=2)
def ingest_within_limits_async(scene: Scene) -> Parts:
    return ingest_async(scene)


@call()
def scan_async(scene: Scene) -> Parts:
    async def run() -> None:
        holds((await scene.session.scan("one.ordered").to_arrow_async()).num_rows == ROWS, "rows are missing")

    return run, nothing


@call(max_requests_per_session=2)
def admission_queue_async(scene: Scene) -> Parts:
    return await_gathered(scene)


@call(costly=True)
def connect_async(scene: Scene) -> Parts:
    async def run() -> None:
        session = await scene.cluster.connect_async("one")
        await session.execute_async("SELECT v FROM t WHERE id = 1")
        await session.shutdown_async()

    def check(ended: bool) -> None:
        session = scene.cluster.connect("one")
        holds(session.execute("SELECT v FROM t WHERE id = 1").one().v == "v1", "a wrong value")
        shut_down(session)

    return run, check


@call(costly=True)
def cluster_life_async(scene: Scene) -> Parts:
    before = Left()
    seen: dict[str, Any] = {}

    async def run() -> None:
        seen["cluster"] = cluster = scene.new_cluster()
        session = await cluster.connect_async("one")
        await session.execute_async("SELECT v FROM t WHERE id = 1")
        await cluster.shutdown_async()

    def check(ended: bool) -> None:
        if "cluster" in seen:
            in_thread(seen.pop("cluster").shutdown, f"Cluster.shutdown() does not end within {AT_ONCE} s")
        check_nothing_left(before)

    return run, check
