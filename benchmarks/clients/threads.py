"""Operations by one thread and by several at once, in one process on all cores, by the API of this driver.

Arguments: the responder's port, the folder of the recordings, counts of threads, such as ``1,2,4``, and the threshold
of the garbage collector. Prints seconds per operation by the wall clock, as ``<operation> <threads>``, and of CPU, as
``<operation> <threads> CPU``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.clients.harness import POINT, SELECT
from benchmarks.clients.messages import Recordings
from benchmarks.clients.tablets import KEY, MAX, MIN, rows
from benchmarks.clients.tasks import by_tasks
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.metadata import Murmur3Token
from cassandra.query import PreparedStatement
from cassandra.tablets import Tablets

PERIOD = 0.4  # seconds
AT_ONCE, SEVERAL, TABLETS = 100, 1000, 1000

#: An operation without this driver.
INTERPRETER = "Python function called"

#: Does some operations on the calling thread, and returns how many.
Work = Callable[[], int]
#: Makes the work of one more thread.
Make = Callable[[], Work]


class Increment:
    def __init__(self, number: int) -> None:
        self.number = number


class Connected(NamedTuple):
    session: Session
    select: PreparedStatement


@contextlib.contextmanager
def connected(port: int) -> Iterator[Connected]:
    with Cluster(["127.0.0.1"], port=port, compression=False, protocol_version=4) as cluster:
        session = cluster.connect()
        yield Connected(session, session.prepare(SELECT))


def interpreted() -> Work:
    """The interpreter alone: one operation is a call of a Python function with an attribute and an addition."""
    state = Increment(1)

    def step(value: int) -> int:
        return value + state.number

    def work() -> int:
        for value in range(SEVERAL):
            step(value)
        return SEVERAL

    return work


def rows_decoded(data: Recordings) -> Make:
    """One operation is one row of a page of 5,000."""

    def make() -> Work:
        names = data.names("rows5")
        decode, features, types = names["decode"], names["features"], names["types"]
        opcode, body = names["opcode"], bytes(bytearray(names["body"]))

        def work() -> int:
            return len(decode(4, features, types, 0, 0, opcode, body, None, None).parsed_rows)

        return work

    return make


def bound(prepare: Callable[[], PreparedStatement]) -> Make:
    def make() -> Work:
        bind, point = prepare().bind, (random.randrange(1000),)

        def work() -> int:
            for _ in range(SEVERAL):
                bind(point)
            return SEVERAL

        return work

    return make


def looked_up() -> Make:
    tablets = Tablets({KEY: rows(TABLETS)})

    def make() -> Work:
        get = tablets.get_tablet_for_key  # a bound method of one thread: calls change its reference count
        (keyspace, table), tokens = KEY, [Murmur3Token(random.randrange(MIN + 1, MAX)) for _ in range(SEVERAL)]

        def work() -> int:
            for token in tokens:
                get(keyspace, table, token)
            return SEVERAL

        return work

    return make


def executed(connect: Callable[[], Connected]) -> Make:
    def make() -> Work:
        session, select = connect()
        execute, key = session.execute, (POINT[0],)

        def work() -> int:
            for _ in range(AT_ONCE):
                execute(select, key).one()
            return AT_ONCE

        return work

    return make


def concurrent(connect: Callable[[], Connected]) -> Make:
    def make() -> Work:
        session, select = connect()
        parameters = [(POINT[0],)] * SEVERAL

        def work() -> int:
            for done in execute_concurrent_with_args(session, select, parameters, AT_ONCE):
                done.result_or_exc.one()
            return SEVERAL

        return work

    return make


def awaited(connect: Callable[[], Connected]) -> Make:
    def make() -> Work:
        session, select = connect()
        key = (POINT[0],)
        loop = asyncio.new_event_loop()

        async def read() -> None:
            (await session.execute_async(select, key)).one()

        def work() -> int:
            loop.run_until_complete(by_tasks(read, SEVERAL))
            return SEVERAL

        return work

    return make


def measure(make: Make, count: int) -> tuple[float, float]:
    """Seconds per operation of *count* threads: by the wall clock, and of CPU of the whole process."""
    works = [make() for _ in range(count)]
    done, ready, over = [0] * count, threading.Barrier(count + 1), threading.Event()

    def run(index: int, work: Work) -> None:
        work()
        ready.wait()
        amount = 0
        while not over.is_set():
            amount += work()
        done[index] = amount

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    ready.wait()
    begun, cpu = time.perf_counter(), time.process_time()
    time.sleep(PERIOD)
    over.set()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - begun) / sum(done), (time.process_time() - cpu) / sum(done)


def main(arguments: list[str]) -> None:
    port, folder, counts = int(arguments[0]), arguments[1], [int(count) for count in arguments[2].split(",")]
    logging.disable(logging.WARNING)
    gc.set_threshold(int(arguments[3]))
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    found: dict[str, float] = {}
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(connected(port))
        owned = [stack.enter_context(connected(port)) for _ in range(max(counts))]
        operations = {
            INTERPRETER: interpreted,
            "row decoded": rows_decoded(Recordings(folder)),
            "bind, own statements": bound(lambda: one.session.prepare(SELECT)),
            "bind, one statement": bound(lambda: one.select),
            "tablet looked up": looked_up(),
        }
        requests = {"execute": executed, "execute_concurrent": concurrent, "await, a loop each": awaited}
        for name, operation in requests.items():
            operations[f"{name}, own sessions"] = operation(Owned(owned))
            operations[f"{name}, one session"] = operation(lambda: one)
        for name, make in operations.items():
            for count in counts:
                found[f"{name} {count}"], found[f"{name} {count} CPU"] = measure(make, count)
    print(json.dumps(found))


class Owned:
    """Gives the sessions in turns: each thread of a measurement has one of its own."""

    def __init__(self, connections: list[Connected]) -> None:
        self._connections, self._next = connections, 0

    def __call__(self) -> Connected:
        self._next += 1
        return self._connections[self._next % len(self._connections)]


if __name__ == "__main__":
    main(sys.argv[1:])
