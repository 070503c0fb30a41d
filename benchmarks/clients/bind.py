"""Binding values to a prepared INSERT of 3 and of 8 columns, by the API that fastcql and both Python drivers share.

Argument: the responder's port.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
from collections.abc import Iterator
from uuid import UUID

from benchmarks.clients.harness import Client, Work, run
from cassandra.cluster import Cluster

COLUMNS = {
    "id": "int",
    "name": "text",
    "score": "bigint",
    "ratio": "double",
    "at": "timestamp",
    "mark": "uuid",
    "active": "boolean",
    "data": "blob",
}
AT = datetime.datetime(2024, 2, 29, 12, 30, 15, 250_000)
ROW = 7, "point 7", 1 << 40, 1 / 3, AT, UUID(int=1 << 100), True, bytes(range(32))
WIDTHS = (3, 8)


def insert(width: int) -> str:
    names = list(COLUMNS)[:width]
    return f"INSERT INTO bench.bound{width} ({', '.join(names)}) VALUES ({', '.join('?' * width)})"


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    cluster = Cluster(["127.0.0.1"], port=int(arguments[0]), compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        works = {}
        for width in WIDTHS:
            prepared = session.prepare(insert(width))
            session.execute(prepared, ROW[:width])
            bound = prepared.bind(ROW[:width])
            assert len(bound.values) == width and bound.values[0] == b"\0\0\0\7" and bound.routing_key == b"\0\0\0\7"
            works[f"bind {width}"] = Work("bind(row)", {"bind": prepared.bind, "row": ROW[:width]})
        yield Client(works)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.bind", make)
