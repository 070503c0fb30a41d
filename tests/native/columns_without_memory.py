"""Run by test_failing_allocations.py: each use of the columns extension with each of its allocations failing once.

The outcome is the right one or a MemoryError (of a foreign consumer an error with its text), never a crash, and nothing
native is left.
"""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from cassandra._core.columns import (
    ArrowReader,
    ColumnBuilder,
    ColumnPlan,
    ColumnTest,
    Groups,
    Mask,
    Merge,
    RecordBatch,
    batch_of,
    debug_counters,
    decode,
    gather,
    select,
    stream,
    top,
)
from cassandra._core.memory import MemoryPool
from tests.unit.core.codec_frames import BIGINT, BOOLEAN, TEXT, UUID
from tests.unit.core.column_pages import COLUMNS, ROW, page_of

POOL = MemoryPool(1 << 28)
KINDS = [("n", BIGINT), ("t", TEXT), ("b", BOOLEAN), ("u", UUID)]


def rows_of(n: int, first: int = 0) -> list[list[Any]]:
    import uuid

    return [[first + i, f"the text of row {first + i}", i % 3 == 0, uuid.UUID(int=i)] for i in range(n)]


ALL = page_of(COLUMNS, [ROW, [None] * len(ROW), ROW])
SOME = page_of(KINDS, rows_of(300))
MORE = page_of(KINDS, rows_of(300, 300))
PLAN = ColumnPlan(KINDS, POOL)
BATCH = decode(PLAN, SOME)
OTHER = decode(PLAN, MORE)


def plans() -> None:
    for strings in ("utf8", "view", "dictionary"):
        ColumnPlan(COLUMNS, POOL, strings=strings).__arrow_c_schema__()  # type: ignore[arg-type]


def building() -> None:
    for strings in ("utf8", "view", "dictionary"):
        builder = ColumnBuilder(ColumnPlan(COLUMNS, POOL, strings=strings), 100_000)  # type: ignore[arg-type]
        for _ in range(3):
            assert builder.append(ALL)
        assert len(pa.record_batch(builder.finish())) == 9
        assert len(builder) == 0
        assert builder.append(ALL)
        assert len(builder.finish()) == 3


def finishing() -> None:
    """What was much too large becomes smaller."""
    builder = ColumnBuilder(PLAN, 100_000)
    assert builder.append(SOME)
    assert builder.append(MORE)
    batch = builder.finish()
    assert len(batch) == 600
    assert len(builder) == 0


def decoding() -> None:
    assert len(decode(ColumnPlan(COLUMNS, POOL), ALL)) == 3


def exporting() -> None:
    for _ in range(2):
        assert pa.record_batch(BATCH.slice(3, 9)).num_rows == 9


def streaming() -> None:
    batches = iter([BATCH, OTHER])
    reader = ArrowReader(stream(PLAN, lambda: next(batches, None)))
    assert len(list(reader)) == 2


def read_by_pyarrow() -> None:
    batches = iter([BATCH, OTHER])

    class Source:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return stream(PLAN, lambda: next(batches, None))

    assert pa.table(Source()).num_rows == 600


def masks() -> None:
    half = Mask.of([i % 2 == 0 for i in range(300)], 300)
    some = Mask.of([None if i % 7 == 0 else i % 3 == 0 for i in range(300)], 300)
    arrow = Mask.of(pa.array([i < 9 for i in range(300)]), 300)
    test = ColumnTest(PLAN, 1, among=[b"the text of row 7", b"the text of row 8"])
    both = (half & some) | ~arrow | test(BATCH)
    assert both.count and both.runs()
    assert len(select(BATCH, both)) == both.count


def merging() -> None:
    merge = Merge(PLAN, [(0, False)], 2, 8)
    merge.feed(0, BATCH)
    merge.feed(1, OTHER)
    merge.end(0)
    merge.end(1)
    found = 0
    while merge.advance(100):
        piece = merge.take()
        assert piece is not None
        found += len(piece)
        assert merge.origins
    assert found == 600


def gathering() -> None:
    plan = ColumnPlan(COLUMNS, POOL, strings="dictionary")
    batch = decode(plan, ALL)
    assert len(gather([(batch, 0, 2), (batch, 1, 2)], plan)) == 4


def pickling() -> None:
    found: RecordBatch = pickle.loads(pickle.dumps(BATCH.slice(5, 20)))
    assert len(found) == 20


def grouping() -> None:
    groups = Groups(PLAN, [2, 1], [("sum", 0), ("count", -1), ("max", 1)])
    groups.add(BATCH.slice(0, 40))
    groups.add(OTHER.slice(0, 40))
    assert len(groups.results()) == 80
    assert len(pickle.loads(pickle.dumps(groups)).results()) == 80
    assert len(top([(BATCH, None), (OTHER, None)], 0, 10, True)) == 10


def lending() -> None:
    columns = [("a", "l", (None, array("q", range(9)))), ("v", "+w:3:i", (None, array("i", range(27))))]
    assert pa.RecordBatch._import_from_c_capsule(*batch_of(columns, 9)).num_rows == 9


USES = (
    plans,
    building,
    finishing,
    decoding,
    exporting,
    streaming,
    read_by_pyarrow,
    masks,
    merging,
    gathering,
    pickling,
    grouping,
    lending,
)


def watch(library: ctypes.CDLL) -> None:
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, flags, *rest = line.split()
        if "x" in flags and rest[-1].endswith(".so") and ("_core/columns." in rest[-1] or "_core/memory." in rest[-1]):
            begin, end = (int(part, 16) for part in span.split("-"))
            library.watch_code(ctypes.c_size_t(begin), ctypes.c_size_t(end))


def run(library: ctypes.CDLL, use: Callable[[], None]) -> int:
    """With each allocation failing; how many there were."""
    use()
    gc.collect()
    before, in_use = debug_counters(), POOL.stats().in_use
    gc.freeze()
    for lasting in (0, 1):
        for number in range(100_000):
            library.fail_allocation(ctypes.c_long(number), lasting)
            outcome = "done"
            try:
                use()
            except MemoryError:
                outcome = "no memory"
            except OSError as error:  # of a consumer
                outcome = "no memory" if "emory" in str(error) else repr(error)
            failed = library.failed_allocations()
            library.fail_allocation(ctypes.c_long(-1), 0)
            if (debug_counters(), POOL.stats().in_use) != (before, in_use):
                gc.collect()
            assert outcome in ("done", "no memory"), (use.__name__, number, outcome)
            assert debug_counters() == before, (use.__name__, number, debug_counters(), before)
            assert POOL.stats().in_use == in_use, (use.__name__, number)
            if not failed:
                break
    return number


if __name__ == "__main__":
    preloaded = ctypes.CDLL(sys.argv[1])
    preloaded.failed_allocations.restype = ctypes.c_long
    watch(preloaded)
    for one in USES:
        print(one.__name__, run(preloaded, one), flush=True)
