"""The same folds of a table by one thread, by two threads and by a ``LocalCluster`` of Dask with two workers: that they
come to the same, and what a task costs.

The nodes are simulated, in this process. A task of a table without rows is what engine, worker and statements take.
``python -m benchmarks.bench_distributed`` prints the figures and fails when results differ; it needs the environment of
``make test-distributed``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.peers import ROOT
from benchmarks.report import Line, compared_only, show
from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster

TITLE = "Folds of one table by two workers of Dask"
PYTHON = ROOT / ".venv-distributed" / "bin" / "python"
ROWS, TASKS, FOLDS = 20_000, 32, 2
KEYSPACE = "CREATE KEYSPACE bench WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"


def lines() -> list[Line]:
    if not PYTHON.exists():
        print(f"{TITLE}: left out, as there is no {PYTHON.parent.parent.name}, which make test-distributed makes")
        return []
    with SimulatedCluster(nodes=3, shards=2) as simulated:
        simulated.execute(KEYSPACE)
        for table in ("filled", "empty"):
            simulated.execute(f"CREATE TABLE bench.{table} (id int PRIMARY KEY, v bigint)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            import numpy

            ids = numpy.arange(ROWS, dtype="int32")
            cluster.connect().ingest("bench.filled", {"id": ids, "v": ids.astype("int64") * 3})
        return _lines(_measured(simulated.contact_points[0], simulated.port))


def _measured(address: str, port: int) -> dict[str, tuple[list[Any], float]]:
    command = [str(PYTHON), "-m", "benchmarks.clients.distributed", address, str(port), str(TASKS)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, tuple[list[Any], float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _lines(found: dict[str, tuple[list[Any], float]]) -> list[Line]:
    results = [found[f"filled {way}"][0] for way in ("here", "threads", "dask")]
    equal = all(result == [ROWS, sum(range(ROWS)) * 3] for result in results)
    took = {name: seconds for name, (_, seconds) in found.items()}
    per_task = {way: took[f"empty {way}"] / TASKS / FOLDS for way in ("threads", "dask")}
    return [
        Line(f"count and sum of {ROWS:,} rows", "equal" if equal else "DIFFER", "equal", reached=equal),
        compared_only(
            "both, by Dask", took["filled dask"], {"here": took["filled here"], "threads": took["filled threads"]}
        ),
        compared_only("a task without rows, by Dask", per_task["dask"], {"threads": per_task["threads"]}),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    sys.exit(main())
