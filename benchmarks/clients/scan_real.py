"""A table of a real server, read as a whole: counted, its ``score`` added up, and unloaded to a Parquet file.

Arguments: how, what, host, port, table, number of rows, and a folder for files. How: ``scan`` (``Session.scan``),
``servers`` (the same, which lets the servers fold), or, of any driver, ``rows`` (``for row in session.execute(...)``)
and ``ranges`` (ranges of tokens, cut by hand, with ``execute_concurrent_with_args``). What: ``count``, ``sum``,
``unload``. All is done once on ``<table>_warm``, which is small, before the clock. Prints seconds, and CPU seconds of
this process.
"""

from __future__ import annotations

import importlib
import itertools
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args

COLUMNS = "id, score, name, ratio, at"
RANGES, AT_ONCE = 96, 12  # 48, as a scan has them, made it slower: pages of a range come one after the other
LEAST, SPAN = -(1 << 63), 1 << 64
FILE_ROWS = 50_000


def scanned(session: Any, what: str, table: str, folder: Path) -> int | None:
    from cassandra.scan import Count, Sum

    if what == "count":
        return int(session.scan(table, columns=["id"], pushdown="never").fold(Count()))
    if what == "sum":
        return int(session.scan(table, columns=["score"], pushdown="never").fold(Sum("score")))
    session.scan(table).to_parquet(folder)
    return None


def folded_by_servers(session: Any, what: str, table: str, folder: Path) -> int | None:
    from cassandra.scan import Count, Sum

    return int(session.scan(table).fold(Count() if what == "count" else Sum("score")))


def by_rows(session: Any, what: str, table: str, folder: Path) -> int | None:
    names = {"count": "id", "sum": "score", "unload": COLUMNS}[what]
    return _consumed(session.execute(f"SELECT {names} FROM {table}", timeout=None), what, folder)


def by_ranges(session: Any, what: str, table: str, folder: Path) -> int | None:
    names = {"count": "id", "sum": "score", "unload": COLUMNS}[what]
    select = session.prepare(f"SELECT {names} FROM {table} WHERE token(id) > ? AND token(id) <= ?")
    edges = [LEAST + SPAN * number // RANGES for number in range(RANGES)] + [-LEAST - 1]
    found = execute_concurrent_with_args(session, select, itertools.pairwise(edges), AT_ONCE, results_generator=True)
    return _consumed((row for _, rows in found for row in rows), what, folder)


def _consumed(rows: Iterator[Any], what: str, folder: Path) -> int | None:
    if what == "count":
        return sum(1 for _ in rows)
    if what == "sum":
        return sum(int(row.score) for row in rows)
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = pa.int32(), pa.int64(), pa.string(), pa.float64(), pa.timestamp("ms")
    schema = pa.schema(list(zip(COLUMNS.split(", "), kinds, strict=True)))
    folder.mkdir()
    with pq.ParquetWriter(folder / "rows.parquet", schema) as writer:
        while piece := list(itertools.islice(rows, FILE_ROWS)):
            columns = zip(*piece, strict=True)
            writer.write_table(
                pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)], schema=schema)
            )
    return None


Way = Callable[[Any, str, str, Path], "int | None"]
WAYS: dict[str, Way] = {"scan": scanned, "servers": folded_by_servers, "rows": by_rows, "ranges": by_ranges}


def main() -> None:
    logging.disable(logging.WARNING)
    how, what, host, port, table, rows, folder = sys.argv[1:]
    cluster = Cluster([host], port=int(port))
    if what == "unload":
        importlib.import_module("pyarrow.parquet")  # before the clock
    try:
        session = cluster.connect()
        WAYS[how](session, what, f"{table}_warm", Path(f"{folder}-warm"))  # what is imported and learned once
        begun, cpu = time.perf_counter(), time.process_time()
        found = WAYS[how](session, what, table, Path(folder))
        took = {"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu}
    finally:
        cluster.shutdown()
    expected = {"count": int(rows), "sum": sum(range(int(rows))) << 20}.get(what)
    assert found == expected, f"{what} by {how}: {found}, not {expected}"
    print(json.dumps(took))


if __name__ == "__main__":
    main()
