"""Point reads through ``Session.execute``: CPU of the client per operation, side by side with scylla-driver 3.29.12.

Both read one row of five columns by a prepared statement from the same native responder, which plays recorded answers
of a real server (``benchmarks/responder``). CPU is that of the whole process, I/O threads included; processes
alternate, each is fresh, figures are medians. ``python -m benchmarks.bench_execute`` prints them and fails when ours is
more than a third of theirs.
"""

from __future__ import annotations

import platform
import statistics
import sys
from pathlib import Path

from benchmarks.bench_rows import PEER, PEER_VERSION, ROOT, run, set_up_peer
from benchmarks.responder import Responder

PROCESSES = 5
OPERATIONS = {"fastcql": 10_000, "scylla-driver": 4_000}
TARGET = 1 / 3

SCHEMA = [
    "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE bench.points (id int PRIMARY KEY, score bigint, name text, ratio double, at timestamp)",
]
CLIENT = ROOT / "benchmarks" / "execute_client.py"


def client_command(driver: str, port: int, number: int) -> tuple[list[str | Path], Path]:
    """How to run the client with one of the drivers: command and folder."""
    if driver == "fastcql":
        return [sys.executable, "-m", "benchmarks.execute_client", str(port), str(number)], ROOT
    return [set_up_peer(), CLIENT, str(port), str(number)], PEER


def main() -> int:
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in OPERATIONS}
    set_up_peer()
    with Responder() as responder:
        for _ in range(PROCESSES):
            for name, number in OPERATIONS.items():
                samples[name].append(run(*client_command(name, responder.port, number)))
    print(
        f"Session.execute of a prepared point read, 5 columns, Python {platform.python_version()}; "
        f"median of {PROCESSES} processes"
    )
    cpu = {}
    for name, figures in samples.items():
        cpu[name] = statistics.median(one["cpu"] for one in figures)
        rate = 1e6 / statistics.median(one["wall"] for one in figures)
        label = f"scylla-driver {PEER_VERSION}" if name != "fastcql" else name
        print(f"  {label:34}{cpu[name]:9.1f} µs CPU per operation   ({rate:,.0f} operations/s)")
    ratio = cpu["fastcql"] / cpu["scylla-driver"]
    reached = ratio <= TARGET
    verdict = "reached" if reached else "MISSED"
    print(f"  {'CPU against scylla-driver':34}{ratio:9.2f}x   target {TARGET:.2f}x at most   {verdict}")
    return 0 if reached else 1


if __name__ == "__main__":
    raise SystemExit(main())
