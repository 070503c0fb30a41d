"""Exported columns: their ownership, the thread that releases them, and the behaviour of streams."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cassandra._core.columns import ColumnPlan, RecordBatch, decode, stream
from cassandra._core.memory import MemoryPool
from tests.unit.core.codec_frames import (
    BIGINT,
    INT,
    TEXT,
)
from tests.unit.core.column_pages import checked_pool, decoded, everything, page_of, planned


@pytest.fixture
def pool() -> Iterator[MemoryPool]:
    yield from checked_pool()


def test_exported_columns_outlive_their_batch_and_pool(pool: MemoryPool) -> None:
    own = MemoryPool(1 << 24)
    batch = decoded(everything(9), own)
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    column = first.column("map")
    del batch, own, first
    gc.collect()
    assert column.to_pylist()[0] == [("k", [1, None])]
    assert second.column("text").to_pylist()[0] == "grüße, " * 5


def test_unconsumed_arrow_capsules_free_themselves(pool: MemoryPool) -> None:
    batch = decoded(everything(), pool)
    batch.__arrow_c_array__()
    batch.__arrow_c_schema__()
    batch.plan.__arrow_c_schema__()
    stream(batch.plan, lambda: None)


def test_release_on_a_foreign_thread(pool: MemoryPool) -> None:
    kept = [pa.record_batch(decoded(everything(), pool)) for _ in range(50)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()


def test_decoding_in_many_threads(pool: MemoryPool) -> None:
    page = page_of([("t", TEXT), ("b", BIGINT)], [(f"text {i}", i) for i in range(5000)])
    plan = planned(page, pool)
    expected = pa.record_batch(decode(plan, page))
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(30):
            if not pa.record_batch(decode(plan, page)).equals(expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Source:
    """Batches one after the other, then an error if there is one."""

    def __init__(self, batches: list[RecordBatch], error: str | None = None) -> None:
        self.batches, self.error = batches, error

    def __call__(self) -> RecordBatch | None:
        if self.batches:
            return self.batches.pop(0)
        if self.error is not None:
            raise RuntimeError(self.error)
        return None


class Stream:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.capsule


def test_a_stream_of_batches(pool: MemoryPool) -> None:
    page = everything(3)
    plan = planned(page, pool)
    reader = pa.RecordBatchReader.from_stream(Stream(stream(plan, Source([decode(plan, page), decode(plan, page)]))))
    assert reader.schema == pa.schema(plan)
    assert reader.read_all().num_rows == 6


def test_a_stream_that_breaks(pool: MemoryPool) -> None:
    page = everything(3)
    plan = planned(page, pool)
    source = Source([decode(plan, page)], "the page is gone")
    reader = pa.RecordBatchReader.from_stream(Stream(stream(plan, source)))
    assert reader.read_next_batch().num_rows == 3
    with pytest.raises(OSError, match="RuntimeError: the page is gone"):
        reader.read_next_batch()


def test_a_stream_has_one_schema(pool: MemoryPool) -> None:
    page, other = page_of([("a", INT)], [(1,)]), page_of([("a", BIGINT)], [(1,)])
    reader = pa.RecordBatchReader.from_stream(Stream(stream(planned(page, pool), Source([decoded(other, pool)]))))
    with pytest.raises(pa.ArrowInvalid, match="does not fit the schema"):
        reader.read_next_batch()


def test_a_stream_is_released_by_a_thread_without_the_gil(pool: MemoryPool) -> None:
    """DuckDB and PyArrow release streams with or without the GIL held; the source is freed in any case."""
    page = everything(3)
    plan = planned(page, pool)
    for _ in range(100):
        reader = pa.RecordBatchReader.from_stream(Stream(stream(plan, Source([decode(plan, page)]))))
        thread = threading.Thread(target=reader.read_all)
        thread.start()
        thread.join()
        del reader
    for _ in range(1000):  # pending calls are made between instructions
        gc.collect(0)


def test_at_the_end_of_the_interpreter() -> None:
    """Each owner releases the objects that are alive then, also in threads that go on, without Python."""
    program = """
import threading
import pyarrow as pa
from tests.unit.core.column_pages import everything, planned
from tests.unit.core.test_columns import LONG, framed
from tests.unit.core.test_columns_export import Source, Stream
from cassandra._core.columns import decode, stream
from cassandra._core.memory import MemoryPool
page = everything(100)
plan = planned(page, MemoryPool(1 << 24))
table = pa.record_batch(decode(plan, page))
frame, texts = framed(LONG)
views = pa.record_batch(decode(planned(texts, MemoryPool(1 << 24), strings="view"), texts))
reader = pa.RecordBatchReader.from_stream(Stream(stream(plan, Source([decode(plan, page)] * 1000))))
reader.read_next_batch()
capsules = decode(plan, page).__arrow_c_array__(), stream(plan, Source([]))
def work():
    while True:
        pa.record_batch(decode(plan, page))
threading.Thread(target=work, daemon=True).start()
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_column_plan_repr_and_equality(pool: MemoryPool) -> None:
    plan = ColumnPlan([("a", INT), ("b", TEXT)], pool)
    assert repr(plan) == "<ColumnPlan a: i, b: u>"
    assert plan == ColumnPlan([("a", INT), ("b", TEXT)], pool)
    assert plan != ColumnPlan([("a", INT), ("c", TEXT)], pool)
    assert plan != ColumnPlan([("a", INT), ("b", TEXT)], pool, strings="view")
    assert plan != 1 and len(plan) == 2
    batch = decode(plan, page_of([("a", INT), ("b", TEXT)], [(1, "x")]))
    assert (len(batch), batch.num_rows, batch.num_columns) == (1, 1, 2)
    assert repr(batch).startswith("<RecordBatch: 1 rows of 2 columns in ")
    with pytest.raises(TypeError, match="to make batches"):
        RecordBatch()
