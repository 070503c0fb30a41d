"""Sorted partitions as one: natively, and by ``heapq.merge`` over the tuples that their rows would be."""

from __future__ import annotations

import contextlib
import heapq
import random
import struct
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from cassandra._core.codec import Result, ResultPlan, TypeContext, decode_result, scalar
from cassandra._core.columns import ColumnPlan, Merge, RecordBatch, decode
from cassandra._core.memory import MemoryPool

SOURCES, ROWS = 16, 20_000
MORE = 1024  # sources
BIGINT, DOUBLE, TEXT = map(scalar, (0x02, 0x07, 0x0D))
COLUMNS = [("at", BIGINT), ("value", DOUBLE), ("tag", TEXT)]
Rows = list[tuple[Any, ...]]


def interleaved(source: int, count: int, seed: random.Random) -> list[int]:
    """All sources at the same time."""
    return sorted(seed.randrange(count * SOURCES) for _ in range(count))


def in_runs(source: int, count: int, seed: random.Random) -> list[int]:
    """Each has a time of its own, of which the last tenth is also the next one's."""
    step = count * 10
    return sorted(source * step + seed.randrange(step + step // 9) for _ in range(count))


def rows_of(times: list[int]) -> Rows:
    return [(at, at / 3, f"tag {at % 100}") for at in times]


def batch_of(columns: list[Any], rows: Rows, pool: MemoryPool) -> RecordBatch:
    parts = [struct.pack(">iiii", 2, 4, len(columns), len(rows))]
    for row in rows:
        for (_, codec), value in zip(columns, row, strict=True):
            cell = codec.encode(value)
            parts.append(struct.pack(">i", len(cell)) + cell)
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    page = decode_result(Result, b"".join(parts), 0, 4, TypeContext(), plan).page
    assert page is not None
    return decode(ColumnPlan(columns, pool), page)


def merged(batches: list[RecordBatch], columns: int = 1) -> list[RecordBatch]:
    """What scan_order does with pages that are here."""
    merge = Merge(batches[0].plan, [(column, False) for column in range(columns)], len(batches))
    for source, batch in enumerate(batches):
        merge.feed(source, batch)
        merge.end(source)
    found = []
    while merge.advance(65536):
        while (piece := merge.take()) is not None:
            found.append(piece)
    return found


def by_heapq(sources: list[Rows]) -> Rows:
    return list(heapq.merge(*sources, key=itemgetter(0)))


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    pool = MemoryPool(1 << 30, retain_bytes=1 << 29)
    works: dict[str, Work] = {}
    for name, times in (("interleaved", interleaved), ("in runs", in_runs)):
        seed = random.Random(5)
        sources = [rows_of(times(source, ROWS, seed)) for source in range(SOURCES)]
        batches = [batch_of(COLUMNS, rows, pool) for rows in sources]
        names: dict[str, Any] = {"merged": merged, "batches": batches, "by_heapq": by_heapq, "sources": sources}
        total = SOURCES * ROWS
        works[name] = Work("kept = merged(batches)", names, once=True, per=total)
        works[f"{name} heapq"] = Work("kept = by_heapq(sources)", names, once=True, per=total)
    seed = random.Random(6)
    texts = [sorted((f"place {seed.randrange(10**7):07}", i) for i in range(ROWS)) for _ in range(SOURCES)]
    columns = [("place", TEXT), ("at", BIGINT)]
    batches = [batch_of(columns, rows, pool) for rows in texts]
    works["text and bigint"] = Work(
        "kept = merged(batches, 2)", {"merged": merged, "batches": batches}, once=True, per=SOURCES * ROWS
    )
    seed = random.Random(7)
    many = [batch_of(COLUMNS, rows_of(interleaved(0, 200, seed)), pool) for _ in range(MORE)]
    works["1,024 sources"] = Work(
        "kept = merged(batches)", {"merged": merged, "batches": many}, once=True, per=MORE * 200
    )
    yield Client(works)


if __name__ == "__main__":
    run("benchmarks.clients.merge", make)
