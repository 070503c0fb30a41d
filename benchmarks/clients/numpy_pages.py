"""Pages of 5,000 rows as NumPy arrays, by the API that fastcql and scylla-driver share.

Arguments: "decoded" and the folder of the recordings, or "fetched" and the responder's port.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import PAGES, Client, Work, run
from benchmarks.clients.messages import ARGUMENTS, Recordings
from cassandra.cluster import Cluster
from cassandra.protocol import NumpyProtocolHandler
from cassandra.query import tuple_factory


def decoded(folder: str) -> Iterator[Client]:
    names = {**Recordings(folder).names("rows5"), "decode": NumpyProtocolHandler.decode_message}
    yield Client({"rows5": Work(f"kept = decode({ARGUMENTS}, metadata).parsed_rows", names, once=True)})


def fetched(port: str) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    cluster = Cluster(["127.0.0.1"], port=int(port), compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        session.client_protocol_handler = NumpyProtocolHandler
        session.row_factory = tuple_factory
        session.default_fetch_size = 10_000  # the tables have 5,000 rows
        works = {}
        for name, text in PAGES.items():
            select = session.prepare(text)
            (page,) = session.execute(select)
            assert {len(array) for array in page.values()} == {5000}
            names: dict[str, Any] = {"execute": session.execute, "select": select}
            works[name] = Work("list(execute(select))", names, whole_process=True)
        yield Client(works)
    finally:
        cluster.shutdown()


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    what, argument = arguments
    yield from {"decoded": decoded, "fetched": fetched}[what](argument)


if __name__ == "__main__":
    run("benchmarks.clients.numpy_pages", make)
