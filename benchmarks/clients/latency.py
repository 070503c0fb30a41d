"""How long a synchronous point read takes while fifty threads do the same: the median and the 99th percentile.

By the API that fastcql, scylla-driver and cassandra-driver share. Arguments: the responder's port, and how many reads
each thread does.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import POINT, SELECT, Client, run
from cassandra.cluster import Cluster

THREADS = 50


def latencies(session: Any, select: Any, count: int) -> list[float]:
    """Seconds of *count* reads of each thread, sorted."""
    found: list[list[float]] = [[] for _ in range(THREADS)]
    barrier = threading.Barrier(THREADS)

    def read(mine: list[float]) -> None:
        barrier.wait()
        for _ in range(count):
            start = time.perf_counter()
            session.execute(select, POINT[:1]).one()
            mine.append(time.perf_counter() - start)

    threads = [threading.Thread(target=read, args=(mine,)) for mine in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(took for mine in found for took in mine)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    port, count = map(int, arguments)
    cluster = Cluster(["127.0.0.1"], port=port, compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        select = session.prepare(SELECT)
        latencies(session, select, max(count // 10, 2))  # warm
        cpu = time.process_time()
        took = latencies(session, select, count)
        cpu = (time.process_time() - cpu) / len(took)
        at = {"median": took[len(took) // 2], "p99": took[len(took) * 99 // 100], "most": took[-1], "cpu": cpu}
        yield Client({}, at)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.latency", make)
