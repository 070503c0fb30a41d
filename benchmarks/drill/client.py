"""A client that puts load on the nodes while a drill disturbs them.

Argument: a file of JSON, ``Orders``. It prints ``ready`` when all workers have had an answer, and takes commands from
standard input: ``flood SECONDS``, ``ddl SECONDS``, ``fork``, ``stop``.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

import cassandra
from benchmarks.drill.calls import Child, Held, Logged, Report, save
from benchmarks.drill.orders import Orders, attempted, make_cluster, orders_of
from benchmarks.drill.workers import Load

CHILD_EXECUTES, CHILD_PATIENCE = 30, 20.0


def fork(load: Load, orders: Orders) -> Child:
    """Statements that a forked process executes: by the session that it inherits, or by one of its own where the
    driver's sessions do not survive a fork."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _in_child(load, orders, writer)
    os.close(writer)
    try:
        if not select.select([reader], [], [], CHILD_PATIENCE)[0]:
            return Child(0, ["hangs"], CHILD_PATIENCE)
        return Child(*json.loads(os.read(reader, 1 << 16) or b'[0, ["died"], 0]'))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)


def _in_child(load: Load, orders: Orders, writer: int) -> None:
    begin = time.monotonic()
    try:
        session: Any = load.session
        if orders.driver != "fastcql":
            session = make_cluster(orders).connect(orders.keyspace)
        found = [
            attempted(session.execute, "SELECT v FROM points WHERE id = %s", (key,)) for key in range(CHILD_EXECUTES)
        ]
        errors = [type(result).__name__ for result in found if isinstance(result, Exception)]
        report = [len(found) - len(errors), errors, time.monotonic() - begin]
    except BaseException as error:
        report = [0, [type(error).__name__], time.monotonic() - begin]
    os.write(writer, json.dumps(report).encode())
    os._exit(0)


def run(orders: Orders) -> None:
    logged, held, children = Logged(), Held(), []
    cluster = make_cluster(orders)
    load = Load(cluster.connect(orders.keyspace), orders)
    load.start()
    print("ready", flush=True)
    for line in sys.stdin:
        command, *words = line.split()
        if command == "stop":
            break
        if command == "ddl":
            load.ddl(float(words[0]))
        elif command == "flood":
            load.flood(float(words[0]))
        elif command == "fork":
            children.append(fork(load, orders))
    hanging = load.stop()
    begin = time.monotonic()
    cluster.shutdown()
    took = time.monotonic() - begin
    left = held.left(hanging)
    save(
        orders.report,
        Report(f"{orders.driver} {cassandra.__version__}", load.calls, logged.lines, left, took, children),
    )


if __name__ == "__main__":
    run(orders_of(sys.argv[1]))
    print("done", flush=True)
    os._exit(0)  # even if a thread hangs
