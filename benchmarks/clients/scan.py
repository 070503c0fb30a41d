"""Scans of canned pages, and what a page costs the client: see ``benchmarks.bench_scan``.

Arguments: the responder's port, the statement, the ranges it is scanned in, and how many of them at a time, by commas.
Prints seconds of wall time per scan as ``<at a time> at a time``, and of CPU per page as ``CPU``.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

from benchmarks.clients.harness import pin
from cassandra.cluster import Cluster

REPEATED = 5


def read(session: Any, statement: Any, ranges: int, parallelism: int) -> tuple[float, float]:
    """Seconds of wall time and of CPU."""
    began, spent = time.perf_counter(), time.process_time()
    with session.scan(statement, splits=ranges, parallelism=parallelism)._reading() as reading:
        done = sum(piece.kind == "done" for piece in reading)
    assert ranges <= done <= ranges + 1  # where the ring of the recording begins there is a small one
    return time.perf_counter() - began, time.process_time() - spent


def main(port: int, text: str, ranges: int, widths: list[int]) -> dict[str, float]:
    logging.disable(logging.WARNING)
    with Cluster(["127.0.0.1"], port=port, compression=False, protocol_version=4) as cluster:
        session = cluster.connect()
        statement = session.prepare(text)
        read(session, statement, ranges, max(widths))
        times = {f"{width} at a time": read(session, statement, ranges, width)[0] for width in widths if width == 1}
        best: dict[int, list[tuple[float, float]]] = {}
        for width in widths:
            if width > 1:
                best[width] = [read(session, statement, ranges, width) for _ in range(REPEATED)]
        times |= {f"{width} at a time": min(wall for wall, _ in found) for width, found in best.items()}
        return {**times, "CPU": min(spent for _, spent in best[max(widths)]) / ranges}


if __name__ == "__main__":
    pin()
    port, text, ranges, widths = sys.argv[1:]
    print(json.dumps(main(int(port), text, int(ranges), [int(width) for width in widths.split(",")])))
