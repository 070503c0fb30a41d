"""Pages of 5,000 rows through ``Session.execute``: as a PyArrow table, and as tuples.

Argument: the responder's port.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pyarrow

from benchmarks.clients.harness import PAGES, Client, Work, run
from cassandra.cluster import Cluster
from cassandra.query import tuple_factory


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    cluster = Cluster(["127.0.0.1"], port=int(arguments[0]), compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        session.row_factory = tuple_factory
        session.default_fetch_size = 10_000  # the tables have 5,000 rows
        works = {}
        for name, text in PAGES.items():
            select = session.prepare(text)
            assert pyarrow.table(session.execute(select)).num_rows == len(list(session.execute(select))) == 5000
            names: dict[str, Any] = {"table": pyarrow.table, "execute": session.execute, "select": select}
            works[f"{name} table"] = Work("table(execute(select))", names, whole_process=True)
            works[f"{name} tuples"] = Work("list(execute(select))", names, whole_process=True)
        yield Client(works)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.frames", make)
