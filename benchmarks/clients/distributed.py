"""Folds of one table here, by threads, and by two workers of Dask; prints as JSON what they came to and took.

Runs with the Python of ``make test-distributed``: ``python -m benchmarks.clients.distributed ADDRESS PORT TASKS``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from cassandra.cluster import Cluster
from cassandra.scan import Count, Sum

ROUNDS = 3


def best(fold: Callable[[], Any]) -> tuple[Any, float]:
    """What it comes to, and the shortest of some times, after one that connects."""
    result, times = fold(), []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        assert fold() == result
        times.append(time.perf_counter() - began)
    return result, min(times)


def main(address: str, port: int, tasks: int) -> None:
    distributed = import_module("distributed")
    found: dict[str, Any] = {}
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with Cluster([address], port=port) as cluster, local, distributed.Client(local) as client:
        session = cluster.connect()
        executor = client.get_executor()
        ways: dict[str, dict[str, Any]] = {"here": {}, "dask": {"executor": executor, "tasks": tasks}}
        with ThreadPoolExecutor(2) as threads:
            ways["threads"] = {"executor": threads, "tasks": tasks}
            for table in ("filled", "empty"):
                scan = session.scan(f"bench.{table}", pushdown="never")
                for way, options in ways.items():
                    found[f"{table} {way}"] = best(
                        lambda scan=scan, options=options: [  # type: ignore[misc]
                            scan.fold(reducer, **options) for reducer in (Count(), Sum("v"))
                        ]
                    )
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
