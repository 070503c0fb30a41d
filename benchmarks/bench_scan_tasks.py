"""What a task of a fold costs beside the rows it reads: over threads, spawned processes, and Dask where that is there.

The same small table of the simulated cluster is folded in few tasks and in many; the difference is what a task costs:
its pickle, its way, its plan, and the ranges that it does not share with others. Results have to be equal. There are no
targets. ``python -m benchmarks.bench_scan_tasks`` prints it; what ``make test-distributed`` installs has Dask.
"""

from __future__ import annotations

import importlib
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any

from benchmarks.report import Line, compared_only, show
from cassandra.cluster import Cluster, Session
from cassandra.scan import GroupBy, Sum
from cassandra.testing import SimulatedCluster

TITLE = "a task of scan.fold"
ROWS, FEW, MANY, TIMES, WORKERS = 2000, 8, 72, 3, 2
REPLICATION = "{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"


@contextmanager
def connected() -> Iterator[Session]:
    """To a table of some rows."""
    with SimulatedCluster(nodes=1, shards=2) as simulated:
        simulated.execute(f"CREATE KEYSPACE ks WITH replication = {REPLICATION}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v double)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            session = cluster.connect("ks")
            insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
            for row in range(ROWS):
                session.execute(insert, (row, row / 2))
            yield session


def executors(stack: ExitStack) -> Iterator[tuple[str, Any]]:
    yield "threads", stack.enter_context(ThreadPoolExecutor(WORKERS))
    spawned = multiprocessing.get_context("spawn")
    yield "processes", stack.enter_context(ProcessPoolExecutor(WORKERS, mp_context=spawned))
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        return
    workers = distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    yield "Dask", stack.enter_context(distributed.Client(stack.enter_context(workers))).get_executor()


def cost(session: Session, executor: Any) -> float:
    """Seconds of a task more."""
    expected = session.scan("t", splits=MANY).fold(Sum("v"))
    by_id = session.scan("t", splits=MANY).fold(GroupBy("id", total=Sum("v")))
    assert session.scan("t").fold(GroupBy("id", total=Sum("v")), executor=executor, tasks=FEW) == by_id
    took: dict[int, list[float]] = {FEW: [], MANY: []}
    for _ in range(TIMES):
        for tasks, found in took.items():
            began = time.perf_counter()
            assert session.scan("t", splits=MANY).fold(Sum("v"), executor=executor, tasks=tasks) == expected
            found.append(time.perf_counter() - began)
    return (median(took[MANY]) - median(took[FEW])) / (MANY - FEW)


def lines() -> list[Line]:
    with connected() as session, ExitStack() as stack:
        return [compared_only(f"over {name}", cost(session, executor)) for name, executor in executors(stack)]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
