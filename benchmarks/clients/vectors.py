"""INSERTs of vectors of 768 elements, from lists, arrays and Arrow tables, by ``execute_concurrent_with_args`` of this
driver and of scylla-driver, and by ``Session.ingest``.

Arguments: the server, the rows of a sample, and how many requests are in flight.
"""

from __future__ import annotations

import contextlib
import logging
import random
import struct
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import Client, Work, contact, run

DIMENSIONS, DIFFERENT = 768, 100
INSERT = "INSERT INTO bench.vectors (id, embedding) VALUES (?, ?)"


def lists() -> list[list[float]]:
    """:data:`DIFFERENT` vectors, of values that a four-byte float represents exactly."""
    choose = random.Random(768)
    return [[choose.randrange(-1024, 1024) / 1024 for _ in range(DIMENSIONS)] for _ in range(DIFFERENT)]


def bytes_of(values: list[float]) -> bytes:
    return struct.pack(f">{DIMENSIONS}f", *values)


def rows_of(vectors: list[Any], count: int) -> list[tuple[int, Any]]:
    return [(number, vectors[number % DIFFERENT]) for number in range(count)]


def ingest(session: Any, vectors: list[list[float]], rows: int) -> Iterator[tuple[str, Work]]:
    import numpy as np
    import pyarrow as pa

    flat = pa.array(np.array([vectors[number % DIFFERENT] for number in range(rows)], np.float32).ravel())
    table = pa.table(
        {"id": pa.array(range(rows), pa.int32()), "embedding": pa.FixedSizeListArray.from_arrays(flat, DIMENSIONS)}
    )
    names = {"ingest": session.ingest, "data": table}
    assert session.ingest("bench.vectors", table, batch_rows=1).rows == rows
    yield "ingest", Work("ingest('bench.vectors', data, batch_rows=1)", names, whole_process=True, per=rows)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    from cassandra.cluster import Cluster
    from cassandra.concurrent import execute_concurrent_with_args

    logging.disable(logging.WARNING)
    server, rows, at_once = arguments[0], int(arguments[1]), int(arguments[2])
    host, port = contact(server)
    cluster = Cluster([host], port=port, compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        insert = session.prepare(INSERT)
        vectors = lists()
        assert insert.bind((7, vectors[7])).values[1] == bytes_of(vectors[7])
        names: dict[str, Any] = {"run": execute_concurrent_with_args, "session": session, "insert": insert}
        statement = f"run(session, insert, rows, {at_once}, True)"
        works = {"lists": Work(statement, names | {"rows": rows_of(vectors, rows)}, whole_process=True, per=rows)}
        if hasattr(session, "ingest"):
            import numpy as np

            arrays = [np.array(values, np.float32) for values in vectors]
            work = Work(statement, names | {"rows": rows_of(arrays, rows)}, whole_process=True, per=rows)
            works |= {"arrays": work, **dict(ingest(session, vectors, rows))}
        yield Client(works)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.vectors", make)
