"""Synchronous point reads by one thread and by four, with callers that poll for their own answers and without.

Both in one process and in turns, so that whatever else the machine does happens to both. Arguments: the responder's
port, how many reads are a sample, how many samples, and the words of ``modes.options``.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.clients.harness import POINT, SELECT, Client, run
from benchmarks.clients.modes import options
from cassandra.cluster import Cluster

THREADS = 1, 4
LEADS = {"on": "1", "off": "0"}

Read = Callable[[], object]


def by_threads(read: Read, threads: int, count: int) -> tuple[float, float]:
    """*count* reads by *threads* at once: seconds a read took, by the wall clock and of CPU."""

    def work() -> None:
        for _ in range(count // threads):
            read()

    running = [threading.Thread(target=work) for _ in range(threads)]
    wall, cpu = time.perf_counter(), time.process_time()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


@contextlib.contextmanager
def _connected(lead: str, port: int, mode: list[str]) -> Iterator[tuple[Any, Read]]:
    os.environ["FASTCQL_LEAD"] = LEADS[lead]
    with Cluster(["127.0.0.1"], port=port, **options(*mode)) as cluster:
        session = cluster.connect()
        select, key = session.prepare(SELECT), POINT[:1]

        def read() -> None:
            assert session.execute(select, key).one() is not None

        yield cluster, read


def figures(on: tuple[Any, Read], off: Read, threads: int, count: int, samples: int) -> dict[str, float]:
    """By name: the best wall time, the median of CPU, and how often a read's caller polled."""
    reads = {"on": on[1], "off": off}
    leads = on[0].reactor.stats
    before = leads()["leads"]
    taken = [{lead: by_threads(read, threads, count) for lead, read in reads.items()} for _ in range(samples)]
    found = {f"{threads} leads": (leads()["leads"] - before) / (count * samples)}
    for lead in reads:
        wall, cpu = zip(*(sample[lead] for sample in taken), strict=True)
        found |= {f"{threads} {lead} wall": min(wall), f"{threads} {lead}": statistics.median(cpu)}
    return found


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    port, count, samples, *mode = arguments
    with _connected("on", int(port), mode) as on, _connected("off", int(port), mode) as (_, off):
        found: dict[str, float] = {}
        for threads in THREADS:
            figures(on, off, threads, int(count), 3)  # warm
            found |= figures(on, off, threads, int(count), int(samples))
        yield Client({}, found)


if __name__ == "__main__":
    run("benchmarks.clients.lead", make)
