"""Point reads by fifty greenlets of gevent, and a neighbour that wants its turn a hundred times a second.

By the API that fastcql and cassandra-driver share. Arguments: the responder's port, and for how many seconds.
"""
# ruff: noqa: E402

from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import contextlib
import logging
import time
from collections.abc import Callable, Iterator

import gevent

from benchmarks.clients.harness import POINT, SELECT, Client, run
from cassandra.cluster import Cluster
from cassandra.io.geventreactor import GeventConnection

GREENLETS = 50
PAUSE = 0.01  # seconds between two turns of the neighbour


def turns(seconds: float) -> float:
    """How many turns a second the neighbour has meanwhile."""
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds:
        gevent.sleep(PAUSE)
        count += 1
    return count / (now - start)


def reads(read: Callable[[], object], seconds: float) -> dict[str, float]:
    """What *seconds* of reads by all greenlets, beside the neighbour, come to."""
    done, going = 0, True

    def work() -> None:
        nonlocal done
        while going:
            read()
            done += 1

    greenlets = [gevent.spawn(work) for _ in range(GREENLETS)]
    cpu, start = time.process_time(), time.perf_counter()
    beside = turns(seconds)
    took, cpu, count = time.perf_counter() - start, time.process_time() - cpu, done
    going = False
    gevent.joinall(greenlets, raise_error=True)
    return {"read": took / count, "cpu": cpu / count, "turns": beside}


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    port, seconds = int(arguments[0]), float(arguments[1])
    cluster = Cluster(
        ["127.0.0.1"], port=port, compression=False, protocol_version=4, connection_class=GeventConnection
    )
    try:
        session = cluster.connect()
        select = session.prepare(SELECT)

        def read() -> None:
            session.execute(select, POINT[:1]).one()

        reads(read, seconds / 5)  # warm
        alone = turns(seconds / 2)
        found = reads(read, seconds)
        yield Client({}, {**found, "neighbour": found["turns"] / alone})
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.greenlets", make)
