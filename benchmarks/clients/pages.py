"""Pages of 5,000 rows through ``Session.execute``, by the API that fastcql and scylla-driver share.

Argument: the server.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from benchmarks.clients.harness import PAGES, Client, Work, contact, run
from cassandra.cluster import Cluster


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    host, port = contact(arguments[0])
    cluster = Cluster([host], port=port, compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        session.default_fetch_size = 10_000  # the tables have 5,000 rows: one page, and the server knows it is the last
        works = {}
        for name, text in PAGES.items():
            select = session.prepare(text)
            rows = list(session.execute(select))
            assert len(rows) == 5000 and rows[0].name.startswith("user-"), rows[:1]
            names = {"execute": session.execute, "select": select}
            works[name] = Work("list(execute(select))", names, whole_process=True)
        yield Client(works)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.pages", make)
