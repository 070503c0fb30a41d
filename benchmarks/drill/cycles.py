"""Connects, sends, and shuts down with requests in flight, again and again.

Argument: a file of JSON, ``Orders``. It prints ``ready`` at once, and ends by itself.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from typing import Any

import cassandra
from benchmarks.drill.calls import NEVER, READ, Call, Held, Logged, Report, save
from benchmarks.drill.orders import TEXT, Orders, attempted, make_cluster, orders_of

THREADS, FUTURES = 3, 30
BUSY = 0.02  # seconds until it is shut down


class Cycle:
    """One life of a cluster."""

    def __init__(self, orders: Orders, number: int) -> None:
        self.orders = orders
        self.calls: list[Call] = []
        self._name = str(number)
        self._open: dict[int, Call] = {}

    def run(self) -> float:
        """How long the shutdown took."""
        cluster = make_cluster(self.orders)
        try:
            session: Any = cluster.connect(self.orders.keyspace)
            read = session.prepare(TEXT[READ])
            threads = [threading.Thread(target=self._reads, args=(session, read), daemon=True) for _ in range(THREADS)]
            threads.append(threading.Thread(target=self._futures, args=(session, read), daemon=True))
            for thread in threads:
                thread.start()
            time.sleep(BUSY)
        finally:
            begin = time.monotonic()
            cluster.shutdown()
            took = time.monotonic() - begin
        deadline = time.monotonic() + self.orders.timeout + 5
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.calls += self._open.values()
        return took

    def _reads(self, session: Any, read: Any) -> None:
        for number in itertools.count():
            if not self._noted(number, session.execute, read, (number,)):
                return

    def _futures(self, session: Any, read: Any) -> None:
        while True:
            futures = [attempted(session.execute_async, read, (number,)) for number in range(FUTURES)]
            ended = [
                self._noted(number, _raised if isinstance(future, Exception) else future.result, *_given(future))
                for number, future in enumerate(futures)
            ]
            if not all(ended):
                return

    def _noted(self, number: int, function: Any, *args: Any) -> bool:
        """Whether it succeeded."""
        call = Call(self._name, READ, number, time.monotonic(), NEVER, "", -1, self.orders.timeout)
        self._open[id(call)] = call
        result = attempted(function, *args)
        del self._open[id(call)]
        error = type(result).__name__ if isinstance(result, Exception) else ""
        self.calls.append(call._replace(end=time.monotonic(), error=error))
        return not error


def _given(future: Any) -> tuple[Any, ...]:
    return (future,) if isinstance(future, Exception) else ()


def _raised(error: Exception) -> None:
    raise error


def run(orders: Orders) -> None:
    logged, held = Logged(), Held()
    print("ready", flush=True)
    calls: list[Call] = []
    longest = 0.0
    for number in range(orders.cycles):
        cycle = Cycle(orders, number)
        longest = max(longest, cycle.run())
        calls += cycle.calls
    save(
        orders.report,
        Report(f"{orders.driver} {cassandra.__version__}", calls, logged.lines, held.left(), longest, []),
    )


if __name__ == "__main__":
    run(orders_of(sys.argv[1]))
    print("done", flush=True)
    os._exit(0)  # even if a thread hangs
