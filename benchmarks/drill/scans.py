"""Reads a whole table again and again, and compares its sum with that of the rows that were written.

Argument: a file of JSON, ``Orders``. It writes the rows, prints ``ready`` when each thread has had a sum, and takes
``stop`` from standard input; other commands are for other clients. This driver folds a scan; scylla-driver, which has
none, iterates over all rows.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import cassandra
from benchmarks.drill.calls import NEVER, SCAN, WRONG, Call, Held, Logged, Report, save
from benchmarks.drill.orders import Orders, attempted, make_cluster, orders_of
from cassandra import ConsistencyLevel
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import SimpleStatement

ROWS, PAGE = 5_000, 10
EXPECTED = sum((number << 20) + number for number in range(ROWS))
THREADS = 2
LIMIT = 120.0  # seconds that a scan may take: those of a node that is silent, and of its pages again


def fill(session: Any) -> None:
    insert = session.prepare("INSERT INTO numbers (id, v) VALUES (?, ?)")
    insert.consistency_level = ConsistencyLevel.ALL
    rows = ((number, (number << 20) + number) for number in range(ROWS))
    for success, result in execute_concurrent_with_args(session, insert, rows, 64, raise_on_first_error=False):
        if not success:
            raise result


def by_scan(session: Any) -> int:
    from cassandra.scan import Sum

    return int(session.scan("numbers", columns=["v"], page_size=PAGE, pushdown="never").fold(Sum("v")))


def by_rows(session: Any) -> int:
    return sum(row.v for row in session.execute(SimpleStatement("SELECT v FROM numbers", fetch_size=PAGE)))


class Scans:
    """Threads that read on one session."""

    def __init__(self, session: Any, read: Callable[[Any], int]) -> None:
        self.calls: list[Call] = []
        self._session = session
        self._read = read
        self._stopped = threading.Event()
        self._open: dict[str, Call] = {}
        self._threads = [threading.Thread(target=self._run, args=(str(n),), daemon=True) for n in range(THREADS)]

    def start(self) -> None:
        """Returns when each has had a right sum."""
        for thread in self._threads:
            thread.start()
        while len({call.worker for call in list(self.calls) if not call.error}) < THREADS:
            time.sleep(0.05)

    def stop(self) -> list[threading.Thread]:
        """Those that hang."""
        self._stopped.set()
        deadline = time.monotonic() + LIMIT
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.calls += self._open.values()
        return [thread for thread in self._threads if thread.is_alive()]

    def _run(self, name: str) -> None:
        while not self._stopped.is_set():
            call = self._open[name] = Call(name, SCAN, 0, time.monotonic(), NEVER, "", -1, LIMIT)
            found = attempted(self._read, self._session)
            error = type(found).__name__ if isinstance(found, Exception) else "" if found == EXPECTED else WRONG
            self.calls.append(call._replace(end=time.monotonic(), error=error))
            del self._open[name]


def run(orders: Orders) -> None:
    logged, held = Logged(), Held()
    cluster = make_cluster(orders)
    session = cluster.connect(orders.keyspace)
    fill(session)
    scans = Scans(session, by_scan if orders.driver == "fastcql" else by_rows)
    scans.start()
    print("ready", flush=True)
    for line in sys.stdin:
        if line.split() == ["stop"]:
            break
    hanging = scans.stop()
    begin = time.monotonic()
    cluster.shutdown()
    took = time.monotonic() - begin
    left = held.left(hanging)
    save(orders.report, Report(f"{orders.driver} {cassandra.__version__}", scans.calls, logged.lines, left, took, []))


if __name__ == "__main__":
    run(orders_of(sys.argv[1]))
    print("done", flush=True)
    os._exit(0)  # also while threads hang
