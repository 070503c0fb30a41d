"""Rows of five columns written from an Arrow table, and by ``execute_concurrent_with_args``, in one process.

Arguments: the responder's port, the rows of a table, and how many statements ``execute_concurrent_with_args`` gets.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from benchmarks.clients.harness import INSERT, POINT, Client, Work, run
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

AT_ONCE = 100


def table(rows: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int32()),
            "score": pa.array(range(1 << 40, (1 << 40) + rows), pa.int64()),
            "name": pa.array([f"point {number}" for number in range(rows)]),
            "ratio": pa.array([1 / 3] * rows, pa.float64()),
            "at": pa.array([1_700_000_000_000] * rows, pa.timestamp("ms", "UTC")),
        }
    )


def works(session: Any, rows: int, count: int) -> dict[str, Work]:
    insert = session.prepare(INSERT)
    data = table(rows)
    assert session.ingest("bench.points", data, batch_rows=1).rows == rows
    names = {"ingest": session.ingest, "data": data}
    parameters = [(number, *POINT[1:]) for number in range(count)]
    many = {
        "concurrent": execute_concurrent_with_args,
        "session": session,
        "statement": insert,
        "parameters": parameters,
    }
    auto, fixed = (f"ingest('bench.points', data, batch_rows=1{more})" for more in ("", f", concurrency={AT_ONCE}"))
    at_once = f"concurrent(session, statement, parameters, {AT_ONCE})"
    return {
        "ingest": Work(auto, names, whole_process=True, per=rows),
        f"ingest, {AT_ONCE} in flight": Work(fixed, names, whole_process=True, per=rows),
        "concurrent insert": Work(at_once, many, whole_process=True, per=count),
    }


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    port, rows, count = map(int, arguments)
    cluster = Cluster(["127.0.0.1"], port=port, compression=False, protocol_version=4)
    try:
        yield Client(works(cluster.connect(), rows, count))
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.ingest", make)
