"""Rows of five columns into a real server: by ``Session.ingest`` and back as columns, or by
``execute_concurrent_with_args``, which scylla-driver has too.

Arguments: ``ingest`` or ``concurrent``, host, port, table and the number of rows. Each runs once: a load is what it
takes. Prints seconds, CPU seconds of this process and, of an ingest, by how many bytes it has grown on the way.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

PIECE = 50_000
AT_ONCE = 256
COLUMNS = "id, score, name, ratio, at"
START = 1_700_000_000_000


def resident() -> int:
    """Bytes of memory that this process has just now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def pieces(rows: int) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    for first in range(0, rows, PIECE):
        numbers = pa.array(range(first, min(rows, first + PIECE)), pa.int64())
        yield pa.table(
            {
                "id": numbers.cast(pa.int32()),
                "score": pc.multiply(numbers, 1 << 20),
                "name": pc.binary_join_element_wise("point ", numbers.cast(pa.string()), ""),
                "ratio": pc.divide(numbers.cast(pa.float64()), 7.0),
                "at": pc.add(numbers, START).cast(pa.timestamp("ms", "UTC")),
            }
        )


def ingest(session: Any, table: str, rows: int) -> dict[str, float]:
    import pyarrow as pa
    import pyarrow.compute  # before the clock

    sizes: list[int] = []

    def watched() -> Iterator[Any]:
        for piece in pieces(rows):
            sizes.append(resident())
            yield piece

    begun, cpu = time.perf_counter(), time.process_time()
    report = session.ingest(table, watched())
    found = {"write": time.perf_counter() - begun, "write cpu": time.process_time() - cpu}
    assert report.rows == rows and not report.errors, report
    begun, cpu = time.perf_counter(), time.process_time()
    read = session.execute(f"SELECT {COLUMNS} FROM {table}", timeout=None).to_arrow()
    found |= {"read": time.perf_counter() - begun, "read cpu": time.process_time() - cpu}
    written = pa.concat_tables(pieces(rows))
    assert read.sort_by("id").cast(written.schema).equals(written), "what was read is not what was written"
    warm = sizes[min(2, len(sizes) - 1)]
    return {**found, "growth": float(max(0, max(sizes[2:], default=warm) - warm)), "retries": float(report.retries)}


def concurrent(session: Any, table: str, rows: int) -> dict[str, float]:
    insert = session.prepare(f"INSERT INTO {table} ({COLUMNS}) VALUES (?, ?, ?, ?, ?)")
    values = ((number, number << 20, f"point {number}", number / 7, START + number) for number in range(rows))
    begun, cpu = time.perf_counter(), time.process_time()
    done = execute_concurrent_with_args(session, insert, values, concurrency=AT_ONCE, results_generator=True)
    count = sum(1 for _ in done)
    assert count == rows
    return {"write": time.perf_counter() - begun, "write cpu": time.process_time() - cpu}


def main() -> None:
    logging.disable(logging.WARNING)
    kind, host, port, table, rows = sys.argv[1:]
    cluster = Cluster([host], port=int(port))
    try:
        work = ingest if kind == "ingest" else concurrent
        print(json.dumps(work(cluster.connect(), table, int(rows))))
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
