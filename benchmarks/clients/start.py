"""What starting costs: importing the driver, the first connect of a process, connecting again, shutting down.

By the API that fastcql and scylla-driver share. Argument: the responder's port. Each figure is of fresh interpreters
that have imported nothing before, or what the driver shares with the benchmark would not count.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.clients.harness import Client, run

PROCESSES = 7
IMPORT = """
import time
begun = time.process_time()
import cassandra.cluster
print(time.process_time() - begun)
"""
CONNECT = """
import logging, sys, time
from cassandra.cluster import Cluster

logging.disable(logging.WARNING)
for _ in range(20):
    begun, cpu = time.perf_counter(), time.process_time()
    cluster = Cluster(["127.0.0.1"], port=int(sys.argv[1]), compression=False, protocol_version=4)
    cluster.connect()
    connected, spent = time.perf_counter(), time.process_time() - cpu
    assert "bench" in cluster.metadata.keyspaces
    ending = time.perf_counter()
    cluster.shutdown()
    print(connected - begun, spent, time.perf_counter() - ending)
"""


def fresh(program: str, *arguments: str) -> list[list[float]]:
    """What *program* prints, line by line. Byte code is kept, as it is wherever a driver is installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program, *arguments]
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [[float(number) for number in line.split()] for line in printed.splitlines()]


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    fresh(IMPORT)  # compiles
    imports = [fresh(IMPORT)[0][0] for _ in range(PROCESSES)]
    connects = [fresh(CONNECT, *arguments) for _ in range(PROCESSES)]
    first = [lines[0] for lines in connects]
    again = [line for lines in connects for line in lines[1:]]
    facts = {
        "import": min(imports),
        "first wall": min(wall for wall, _, _ in first),
        "first": statistics.median(cpu for _, cpu, _ in first),
        "again wall": min(wall for wall, _, _ in again),
        "again": statistics.median(cpu for _, cpu, _ in again),
        "shutdown wall": min(wall for _, _, wall in again),
    }
    yield Client({}, facts)


if __name__ == "__main__":
    run("benchmarks.clients.start", make)
