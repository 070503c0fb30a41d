"""What requests leave in memory: of this driver alone, requests of every kind in rounds.

Arguments: the responder's port, and how many requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path

from benchmarks.clients.harness import INSERT, POINT, SELECT, Client, run
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args

ROUND = 10_000  # requests
TASKS = 100

#: Makes :data:`ROUND` requests.
Requests = Callable[[], None]


def resident() -> int:
    """Bytes of this process in memory; where the system does not say, the most there ever were."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def collected() -> int:
    """:func:`resident` without garbage that is only waiting for the collector."""
    gc.collect()
    return resident()


def requests(session: Session, loop: asyncio.AbstractEventLoop) -> Requests:
    """Point reads and INSERTs: concurrently, by asyncio tasks, with callbacks, and one after another."""
    select, insert = session.prepare(SELECT), session.prepare(INSERT)
    key = POINT[:1]

    def concurrent() -> None:
        for done in execute_concurrent_with_args(session, select, repeat(key, 4000), results_generator=True):
            assert done.result_or_exc.one().id == 1
        execute_concurrent_with_args(session, insert, repeat(POINT, 2000))

    async def task() -> None:
        for _ in range(2000 // TASKS):
            result = await session.execute_async(select, key)
            row = result.one()
            assert row is not None and row.id == 1

    async def tasks() -> None:
        await asyncio.gather(*(task() for _ in range(TASKS)))

    def callbacks() -> None:
        done = threading.Semaphore(0)

        def called(_: object) -> None:
            done.release()

        for _ in range(1000 // TASKS):
            for _ in range(TASKS):
                session.execute_async(insert, POINT).add_callbacks(called, called)
            for _ in range(TASKS):
                assert done.acquire(timeout=60)

    def one_by_one() -> None:
        for _ in range(1000):
            row = session.execute(select, key).one()
            assert row is not None and row.id == 1

    def all_of_them() -> None:
        concurrent()
        loop.run_until_complete(tasks())
        callbacks()
        one_by_one()

    return all_of_them


@contextlib.contextmanager
def connected(port: int) -> Iterator[Requests]:
    loop = asyncio.new_event_loop()
    cluster = Cluster(["127.0.0.1"], port=port, compression=False, protocol_version=4)
    try:
        yield requests(cluster.connect(), loop)
    finally:
        cluster.shutdown()
        loop.close()


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    port, count = map(int, arguments)
    with connected(port) as a_round:
        a_round()
        before = collected()
        for _ in range(count // ROUND - 1):
            a_round()
        yield Client({}, {"grown": collected() - before, "before": before})


if __name__ == "__main__":
    run("benchmarks.clients.resident", make)
