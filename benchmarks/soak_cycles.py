"""A thousand lives of a ``Cluster`` leave nothing: ``python -m benchmarks.soak_cycles [cycles]``, or ``make soak``.

Each cycle is ``Cluster()``, ``connect()``, a few requests and ``shutdown()``, in turns as threads, event loops and
callers that leave early do it; half of them receive into one memory pool of the application. After the cycles that warm
caches up, everything that can grow is counted: threads, descriptors, native objects, the bytes in use of that pool,
objects of the driver's classes, all objects and memory blocks of Python, and the resident memory. Prints each beside
its target; the exit code says whether all of them are reached.
"""

from __future__ import annotations

import asyncio
import collections
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.chaos.left import Left, left_since
from benchmarks.clients.harness import INSERT, POINT, SELECT
from benchmarks.clients.resident import collected
from benchmarks.report import Line, show
from benchmarks.responder import Responder
from cassandra import OperationTimedOut
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_async, execute_concurrent_with_args
from cassandra.memory import MemoryPool

CYCLES = WARM = 1_000  # allocations of threads settle late, and then stay constant
AT_ONCE = 20
NOISE = 250  # objects and memory blocks that all cycles together may leave: caches of the interpreter
RESIDENT = 2 << 20  # fragmentation by short-lived objects is worth one of them
KEY = POINT[:1]
SERVER = "cassandra.testing"  # a node of this process, in the tests, which remembers its requests

Connected = Callable[..., Cluster]  # takes arguments of a Cluster, and adds those that say where the nodes are


# ---- kinds of life


def sync(connected: Connected) -> None:
    """One request after another, and many at a time."""
    with connected() as cluster:
        session = cluster.connect()
        select, insert = session.prepare(SELECT), session.prepare(INSERT)
        session.execute(insert, POINT)
        assert session.execute(select, KEY).one().id == 1
        execute_concurrent_with_args(session, insert, [POINT] * AT_ONCE)
        assert all(done.success for done in execute_concurrent_with_args(session, select, [KEY] * AT_ONCE))
        session.shutdown()


def awaited(connected: Connected) -> None:
    """A loop of its own."""

    async def main() -> None:
        async with connected() as cluster:
            session = await cluster.connect_async()
            select = await session.prepare_async(SELECT)
            await session.execute_async(await session.prepare_async(INSERT), POINT)
            row = (await session.execute_async(select, KEY)).one()
            assert row is not None and row.id == 1
            async for success, _ in execute_concurrent_async(session, [(select, KEY)] * AT_ONCE):
                assert success

    asyncio.run(main())


def callbacks(connected: Connected) -> None:
    """From a thread; one callback shuts the cluster down."""
    cluster, done = connected(), threading.Event()

    def last(_: Any) -> None:
        cluster.shutdown()
        done.set()

    def work() -> None:
        session = cluster.connect()
        insert = session.prepare(INSERT)
        future = session.execute_async(insert, POINT)
        future.result()
        future.add_callbacks(last, last)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done.wait(60)
    cluster.shutdown()


def left_early(connected: Connected) -> None:
    """Requests in flight, results half taken, errors that the caller keeps."""
    cluster = connected()
    session = cluster.connect()
    select = session.prepare(SELECT)
    try:
        session.execute(select, KEY, timeout=0)
    except OperationTimedOut as error:
        kept = error
    else:
        raise AssertionError("there was no time")
    results = execute_concurrent_with_args(session, select, [KEY] * 10 * AT_ONCE, AT_ONCE, results_generator=True)
    next(iter(results))
    futures = [session.execute_async(select, KEY) for _ in range(AT_ONCE)]
    cluster.shutdown()
    del futures, results, kept


def never_connected(connected: Connected) -> None:
    connected().shutdown()


KINDS = (sync, awaited, callbacks, left_early, never_connected)


def live(connected: Connected, cycles: int, pool: MemoryPool) -> None:
    """*cycles* lives."""
    for number in range(cycles):
        where = {"memory_pool": pool} if number % 2 else {}
        KINDS[number % len(KINDS)](partial(connected, **where))


# ---- leaks


class Held(NamedTuple):
    """The objects and memory that exist between two lives."""

    left: Left
    pooled: int  # bytes in use in the pool
    ours: collections.Counter[str]  # objects of the driver's classes
    objects: int
    blocks: int
    resident: int

    @classmethod
    def now(cls, pool: MemoryPool) -> Held:
        left = Left.now()
        everything = gc.get_objects()
        names = (f"{type(one).__module__}.{type(one).__qualname__}" for one in everything)
        ours = collections.Counter(name for name in names if name.startswith("cassandra.") and SERVER not in name)
        return cls(left, pool.stats().in_use, ours, len(everything), sys.getallocatedblocks(), collected())


def settled(before: Held, pool: MemoryPool) -> Held:
    """The objects and memory that remain after pending releases had time to finish."""
    left_since(before.left)
    return Held.now(pool)


def verdicts(first: Held, last: Held, cycles: int) -> list[Line]:
    """The growth over *cycles* lives, as lines with targets."""
    grown = last.left.since(first.left)
    threads = [what for what in grown if what.startswith("thread")]
    descriptors = [what for what in grown if what.startswith("descriptor")]
    native = [what for what in grown if what not in threads and what not in descriptors]
    ours = last.ours - first.ours
    resident = last.resident - first.resident
    return [
        _none("threads", threads),
        _none("descriptors", descriptors),
        _none("native objects", native),
        _none("objects of the driver's classes", [f"{number} {name}" for name, number in ours.most_common(5)]),
        Line("bytes in use of the pool", f"{last.pooled:,}", "0", reached=last.pooled == 0),
        _little("all Python objects", last.objects - first.objects),
        _little("all memory blocks of Python", last.blocks - first.blocks),
        Line(
            "resident memory",
            f"{resident / 2**20:+.2f} MiB",
            f"≤ {RESIDENT / 2**20:g} MiB",
            f"{first.resident / 2**20:.1f} MiB after {cycles} that warmed up",
            reached=resident <= RESIDENT,
        ),
    ]


def _none(what: str, left: list[str]) -> Line:
    return Line(what, f"{len(left)} more" if left else "0", "0", ", ".join(left), reached=not left)


def _little(what: str, grown: int) -> Line:
    return Line(what, f"{grown:+,}", f"≤ {NOISE}", reached=grown <= NOISE)


def soak(connected: Connected, cycles: int, warm: int = WARM) -> list[Line]:
    """Verdicts of *cycles* lives, after *warm* others."""
    pool = MemoryPool(64 << 20, name="cycles")
    live(connected, warm, pool)
    first = Held.now(pool)
    first = Held.now(pool)  # again: notes made since then belong to no life
    live(connected, cycles, pool)
    return verdicts(first, settled(first, pool), warm)


def main(cycles: int = CYCLES) -> int:
    logging.disable(logging.ERROR)
    started = time.monotonic()
    with Responder() as responder:
        connected = partial(Cluster, ["127.0.0.1"], port=responder.port, compression=False, protocol_version=4)
        found = soak(connected, cycles)
    return min(show(f"{cycles:,} lives of a Cluster, {time.monotonic() - started:.0f} s", found), 1)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
