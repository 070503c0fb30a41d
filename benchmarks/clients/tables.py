"""Scans and ingests of whole tables. Argument: the responder's port, which has ``bench_scan.canned`` pages."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import PAGES, Client, Work, run
from benchmarks.clients.ingest import table
from cassandra.cluster import Cluster
from cassandra.scan import Count

ROWS = 1000  # of an ingest
SPLITS = 512
SCAN = f"scan(statement, splits={SPLITS}, parallelism=32)"


def works(session: Any) -> dict[str, Work]:
    statement = session.prepare(f"{PAGES['pages4']} WHERE token(id) > ? AND token(id) <= ?")
    scan = {"scan": session.scan, "statement": statement, "Count": Count}
    ingest = {"ingest": session.ingest, "table": table(ROWS)}
    return {
        "page of a scan": Work(f"for _ in {SCAN}.batches(): pass", scan, whole_process=True, per=SPLITS),
        "page of a fold": Work(f"{SCAN}.fold(Count())", scan, whole_process=True, per=SPLITS),
        "row of an ingest": Work("ingest('bench.points', table)", ingest, whole_process=True, per=ROWS),
        "request of an ingest": Work(
            "ingest('bench.points', table, batch_rows=1)", ingest, whole_process=True, per=ROWS
        ),
    }


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    with Cluster(["127.0.0.1"], port=int(arguments[0]), compression=False, protocol_version=4) as cluster:
        yield Client(works(cluster.connect()))


if __name__ == "__main__":
    run("benchmarks.clients.tables", make)
