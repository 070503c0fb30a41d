"""Memory pools and columns: blocks of all threads in one pool, record batches that all read, and builders that only one
thread may use at a time."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cassandra._core.columns import ArrowReader, ColumnBuilder, ColumnPlan, Groups, decode
from cassandra.cluster import Cluster, Session
from cassandra.memory import MemoryPool
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE, eventually
from tests.threads.conftest import ROWS
from tests.threads.harness import beside, size, together
from tests.unit.core.codec_frames import INT, TEXT, page_of

POOL = MemoryPool(256 << 20, name="columns")
BLOCKS = size("FASTCQL_BLOCKS", 200)
TURNS = size("FASTCQL_TURNS", 20)


def test_blocks_of_all_threads_in_one_pool(no_leaks: None) -> None:
    """Each block keeps its bytes while others are moved, released and trimmed."""
    pool = MemoryPool(64 << 20, name="threads")

    def work(number: int) -> None:
        blocks: list[tuple[int, bytes]] = []
        for turn in range(BLOCKS):
            data = bytes([number, turn % 251]) * (1 + (turn * 37) % 3000)
            blocks.append((pool.commit(data), data))
            with pool.reserve(1000) as buffer:
                memoryview(buffer)[:4] = b"abcd"
                written = buffer.commit(4)
            assert pool.read(written) == b"abcd"
            pool.release(written)
            ref, data = blocks[turn // 2]
            view = pool.read(ref, zero_copy=True)
            assert pool.read(ref) == data and bytes(view) == data
            if len(blocks) > 40:
                ref, data = blocks.pop(turn % 40)
                view = pool.read(ref, zero_copy=True)
                pool.release(ref)
                assert bytes(view) == data  # it keeps the memory
                with pytest.raises(ValueError):
                    pool.read(ref)
                blocks.insert(0, (pool.commit(data), data))
        for ref, data in blocks:
            assert pool.read(ref) == data
            pool.release(ref)

    def tidy() -> None:
        pool.compact()
        pool.trim()
        assert 0 <= pool.fragmentation() <= 1 and pool.stats().in_use >= 0

    with beside(tidy):
        together(work)
    assert pool.stats().in_use == 0 and not pool.used_segments


def test_a_full_pool(no_leaks: None) -> None:
    """Threads that want more than there is: no byte beyond the limit is given, and none is lost."""
    pool = MemoryPool(1 << 20)

    def work(number: int) -> int:
        refused = 0
        for _ in range(BLOCKS):
            try:
                refs = [pool.commit(bytes(60_000)) for _ in range(3)]
            except MemoryError:
                refused += 1
                continue
            assert 0 <= pool.available_space() <= 1 << 20
            for ref in refs:
                pool.release(ref)
        return refused

    # Blocks that were committed before the pool was full are dropped with their references: they stay live.
    together(work)
    assert pool.stats().in_use <= 1 << 20
    for ref in pool.used_segments:
        pool.release(ref)
    assert pool.stats().in_use == 0


def test_a_reference_that_all_release(no_leaks: None) -> None:
    """Only one thread releases it; the others get ValueError."""
    pool = MemoryPool(1 << 20)
    for _ in range(BLOCKS // 4):
        ref = pool.commit(b"once")

        def release(_: int, ref: int = ref) -> bool:
            try:
                pool.release(ref)
            except ValueError:
                return False
            return True

        assert sum(together(release, 3)) == 1
    assert pool.stats().in_use == 0


def test_clusters_that_share_a_pool(simulated: SimulatedCluster, table: Session) -> None:
    pool = MemoryPool(32 << 20)

    def work(number: int) -> None:
        with Cluster(simulated.contact_points, port=simulated.port, memory_pool=pool) as cluster:
            session = cluster.connect("ks")
            for _ in range(3):
                assert sum(row.v for row in session.execute("SELECT v FROM t")) == 7 * sum(range(ROWS))

    together(work, 4)
    # A cluster and its session refer to each other, and keep the rows of the system tables.
    assert eventually(lambda: gc.collect() >= 0 and pool.stats().in_use == 0)


def test_a_batch_that_all_read(table: Session) -> None:
    """Its buffers, slices of it, and exports to Arrow."""
    (batch,) = table.execute("SELECT id, v FROM t").arrow()

    def work(number: int) -> None:
        for turn in range(TURNS):
            first = (number * 13 + turn) % ROWS
            part = batch.slice(first, 10)
            whole = pa.record_batch(batch)
            assert pa.record_batch(part).equals(whole.slice(first, 10))
            assert whole.column("v").to_pylist() == [7 * key for key in whole.column("id").to_pylist()]
            values = batch.column("v")[1]
            assert values is not None and np.frombuffer(values, np.int32)[:ROWS].sum() == 7 * sum(range(ROWS))

    together(work)


def test_columns_of_each_thread(table: Session) -> None:
    """Results of one statement, as columns, in all threads."""
    expected = sorted((number, number * 7) for number in range(ROWS))

    def work(number: int) -> None:
        for turn in range(5):
            result = table.execute(SimpleStatement("SELECT id, v FROM t", fetch_size=20 + number))
            found = pa.table(result.arrow(target_rows=10 + turn * 40))
            pairs = zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True)
            assert sorted(pairs) == expected

    together(work)


# ---- one thread at a time


def counted(calls: Callable[[], object]) -> Callable[[int], int]:
    """Call *calls* often; return how often it was done, and not refused."""

    def work(_: int) -> int:
        done = 0
        for _ in range(BLOCKS // 10):
            try:
                calls()
            except RuntimeError as error:
                assert "another thread" in str(error) or "in use" in str(error)
            else:
                done += 1
        return done

    return work


def test_a_builder_of_columns(no_leaks: None) -> None:
    """A page is appended whole, or refused with RuntimeError."""
    page = page_of([("a", INT), ("b", TEXT)], [(number, f"text {number}") for number in range(3000)])
    plan = ColumnPlan([("a", INT), ("b", TEXT)], POOL)
    builder = ColumnBuilder(plan)
    done = sum(together(counted(lambda: builder.append(page))))
    rows = pa.record_batch(builder.finish())
    assert done > 0 and rows.num_rows == done * 3000
    assert rows.column("a").to_pylist() == list(range(3000)) * done


def test_groups_of_rows(no_leaks: None) -> None:
    page = page_of([("a", INT), ("b", INT)], [(number % 7, number) for number in range(7000)])
    plan = ColumnPlan([("a", INT), ("b", INT)], POOL)
    batch = decode(plan, page)
    groups = Groups(plan, [0], [("count", -1), ("sum", 1)])
    done = sum(together(counted(lambda: groups.add(batch))))
    assert done > 0
    assert sorted(groups.results()) == [
        ((key,), (1000 * done, sum(range(key, 7000, 7)) * done)) for key in range(7)
    ]  # fmt: skip


def test_a_reader_that_waits_for_its_producer(no_leaks: None) -> None:
    """A second thread gets RuntimeError at once; the first one its batch."""
    waits, goes_on = threading.Event(), threading.Event()
    given = [pa.record_batch({"a": [1, 2, 3]}), pa.record_batch({"a": [4]})]

    def batches() -> Any:
        for batch in given:
            waits.set()
            assert goes_on.wait(PATIENCE)
            yield batch

    stream = pa.RecordBatchReader.from_batches(given[0].schema, batches())
    reader = ArrowReader(stream.__arrow_c_stream__())

    def work(number: int) -> int:
        if number == 0:
            return len(list(reader))
        assert waits.wait(PATIENCE)
        try:
            with pytest.raises(RuntimeError, match="another thread is reading"):
                next(reader)
        finally:
            goes_on.set()
        return 0

    assert together(work, 2)[0] == 2
    reader.close()
