"""Synchronous point reads by one thread, the main one, and by four, and many at a time, with callers that poll for
their own answers or without.

Arguments: the responder's port, ``on`` or ``off``, and the words of ``modes.options``. Reports, per number of threads,
CPU of the whole process for a read and the best sample of wall time, and how often a read's caller polled.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator

from benchmarks.clients.harness import POINT, SELECT, Client, Work, run, timed
from benchmarks.clients.modes import options
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

THREADS = 1, 4
MANY = "execute_concurrent"
COUNT, AT_ONCE = 5000, 100
ROUND = 200  # reads of each thread, where there are several
LEADS = {"on": "1", "off": "0"}


def at_once(read: Callable[[], object], threads: int) -> None:
    """*ROUND* reads by each of *threads*."""

    def work() -> None:
        for _ in range(ROUND):
            read()

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def work(read: Callable[[], object], threads: int) -> Work:
    if threads == 1:
        return Work("read()", {"read": read}, whole_process=True)
    names = {"at_once": at_once, "read": read, "threads": threads}
    return Work("at_once(read, threads)", names, whole_process=True, per=threads * ROUND)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    port, lead, *mode = arguments
    os.environ["FASTCQL_LEAD"] = LEADS[lead]
    with Cluster(["127.0.0.1"], port=int(port), **options(*mode)) as cluster:
        session = cluster.connect()
        select, key = session.prepare(SELECT), POINT[:1]
        count = 0

        def read() -> None:
            nonlocal count
            count += 1
            assert session.execute(select, key).one() is not None

        found: dict[str, float] = {}
        for threads in THREADS:
            before, count = cluster.reactor.stats()["leads"], 0
            found[f"{threads}"], found[f"{threads} wall"], _ = timed(work(read, threads))
            found[f"{threads} leads"] = (cluster.reactor.stats()["leads"] - before) / count

        def many() -> None:
            nonlocal count
            count += COUNT
            for done in execute_concurrent_with_args(session, select, [key] * COUNT, AT_ONCE):
                assert done.result_or_exc.one() is not None

        before, count = cluster.reactor.stats()["leads"], 0
        found[MANY], _, _ = timed(Work("many()", {"many": many}, whole_process=True, per=COUNT))
        found[f"{MANY} leads"] = (cluster.reactor.stats()["leads"] - before) / count
        yield Client({}, found)


if __name__ == "__main__":
    run("benchmarks.clients.lead", make)
