"""Point reads and INSERTs of five columns, one after another and a hundred at a time, by the API that fastcql,
scylla-driver and cassandra-driver share.

Arguments: the server, how many statements ``execute_concurrent_with_args`` gets, and the words of
``modes.options``.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import INSERT, POINT, SELECT, Client, Work, contact, each, run
from benchmarks.clients.modes import options
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

AT_ONCE = 100
LATENCIES = 1000
CONCURRENT = "concurrent(session, statement, parameters, AT_ONCE)"


def works(session: Any, count: int) -> dict[str, Work]:
    select, insert = session.prepare(SELECT), session.prepare(INSERT)
    assert session.execute(select, POINT[:1]).one().id == 1 and not session.execute(insert, POINT).one()
    one = {"execute": session.execute, "select": select, "insert": insert, "key": POINT[:1], "point": POINT}
    many = {"concurrent": execute_concurrent_with_args, "session": session, "AT_ONCE": AT_ONCE}
    reads = {**many, "statement": select, "parameters": [(number,) for number in range(count)]}
    writes = {**many, "statement": insert, "parameters": [(number, *POINT[1:]) for number in range(count)]}
    each_row = f"for done in {CONCURRENT}: done.result_or_exc.one()"

    def read() -> None:
        session.execute(select, POINT[:1]).one()

    def write() -> None:
        session.execute(insert, POINT)

    return {
        "read": Work("execute(select, key).one()", one, whole_process=True, latencies=lambda: each(read, LATENCIES)),
        "insert": Work("execute(insert, point)", one, whole_process=True, latencies=lambda: each(write, LATENCIES)),
        "concurrent read": Work(each_row, reads, whole_process=True, per=count),
        "concurrent read, rows not made": Work(CONCURRENT, reads, whole_process=True, per=count),
        "concurrent insert": Work(CONCURRENT, writes, whole_process=True, per=count),
    }


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    server, count, *mode = arguments
    host, port = contact(server)
    cluster = Cluster([host], port=port, **options(*mode))
    try:
        yield Client(works(cluster.connect(), int(count)))
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.requests", make)
