"""Pages of 5,000 rows as DataFrames of pandas, by the API that fastcql, scylla-driver and cassandra-driver share.

Arguments: the server, and how: ``columns`` (``to_pandas()``, which only fastcql has), ``arrays`` (a DataFrame of the
arrays of ``NumpyProtocolHandler``) or ``rows`` (a DataFrame of tuples).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pandas

from benchmarks.clients.harness import PAGES, Client, Work, contact, run
from cassandra.cluster import Cluster
from cassandra.protocol import NumpyProtocolHandler
from cassandra.query import tuple_factory

STATEMENTS = {
    "columns": "execute(select).to_pandas()",
    "arrays": "DataFrame(execute(select).one())",
    "rows": "DataFrame(list(result := execute(select)), columns=result.column_names)",
}


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    server, how = arguments
    host, port = contact(server)
    cluster = Cluster([host], port=port, compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        session.row_factory = tuple_factory
        if how == "arrays":
            session.client_protocol_handler = NumpyProtocolHandler
        session.default_fetch_size = 10_000  # the tables have 5,000 rows
        works = {}
        for name, text in PAGES.items():
            select = session.prepare(text)
            names: dict[str, Any] = {"execute": session.execute, "select": select, "DataFrame": pandas.DataFrame}
            frame = eval(STATEMENTS[how], names)
            assert len(frame) == 5000 and frame["name"][0].startswith("user-"), frame
            works[f"{name} frame"] = Work(f"kept = {STATEMENTS[how]}", names, whole_process=True)
        yield Client(works)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.dataframes", make)
