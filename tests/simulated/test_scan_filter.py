"""Scans with a filter, and the reducers that come along, on a simulated cluster."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cassandra.cluster import Session
from cassandra.scan import Collect, Count, ForEachBatch, GroupBy, Mean, MinMax, StopScan, Sum, TopN, col
from cassandra.testing import SimulatedCluster

ROWS = 1500
KEPT = (col("v") >= 100) & ~col("name").isin([f"name {i}" for i in range(0, ROWS, 3)])
IDS = [i for i in range(100, ROWS) if i % 3]


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, name text, v bigint)")
    session.cluster.refresh_schema_metadata()
    ids = range(ROWS)
    rows = {"id": pa.array(ids, pa.int32()), "name": [f"name {i}" for i in ids], "v": pa.array(ids, pa.int64())}
    session.ingest("ks.t", pa.table(rows))
    return session


def by_arrow(batch: Any) -> Any:
    found = pa.record_batch(batch)
    return pc.and_(
        pc.greater_equal(found["v"], 100),
        pc.not_equal(pc.subtract(found["v"], pc.multiply(pc.divide(found["v"], 3), 3)), 0),
    )


@pytest.mark.parametrize("filter", [KEPT, by_arrow])
@pytest.mark.parametrize("workers", [None, 2])
def test_folds(table: Session, filter: Any, workers: int | None) -> None:
    scan = table.scan("ks.t", page_size=100, filter=filter)
    assert scan.fold(Count(), workers=workers) == len(IDS)
    assert scan.fold(Sum("v"), workers=workers) == sum(IDS)
    assert scan.fold(Mean("v"), workers=workers) == sum(IDS) / len(IDS)
    assert scan.fold(MinMax("name"), workers=workers) == ("name 100", "name 998")
    assert scan.fold(GroupBy("v", n=Count()), workers=workers) == {i: {"n": 1} for i in IDS}
    best = pa.table(scan.fold(TopN(5, "v", descending=True), workers=workers))
    assert best["id"].to_pylist() == IDS[:-6:-1]
    assert sorted(pa.table(scan.fold(Collect(), workers=workers))["id"].to_pylist()) == IDS


def test_batches(table: Session) -> None:
    scan = table.scan("ks.t", page_size=100, filter=KEPT)
    assert sorted(i for batch in scan.batches() for i in pa.record_batch(batch)["id"].to_pylist()) == IDS
    assert sorted(pa.table(scan)["id"].to_pylist()) == sorted(scan.to_arrow()["id"].to_pylist()) == IDS
    assert list(table.scan("ks.t", filter=col("v") < 0).batches()) == []
    assert sorted(row.id for row in scan.rows()) == IDS

    async def count() -> int:
        return sum([len(batch) async for batch in scan.batches(order="token")])

    assert asyncio.run(count()) == len(IDS)


def test_each_batch(table: Session) -> None:
    seen: list[int] = []

    def look(batch: Any) -> None:
        seen.extend(pa.record_batch(batch)["id"].to_pylist())

    assert table.scan("ks.t", page_size=100).fold(ForEachBatch(look), filter=KEPT) == len(IDS)
    assert sorted(seen) == IDS

    def first(batch: Any) -> None:
        raise StopScan(None)

    assert 0 < table.scan("ks.t", page_size=100).fold(ForEachBatch(first)) < ROWS


def test_filters_that_do_not_fit_the_scan_are_refused(table: Session) -> None:
    with pytest.raises(ValueError, match="there is no column 'w' in the scan: id, name, v"):
        table.scan("ks.t", filter=col("w") > 1).fold(Count())
    with pytest.raises(TypeError, match=r"column 'name' \(text\) cannot be compared with 1"):
        next(table.scan("ks.t", filter=col("name") == 1).batches())
    with pytest.raises(TypeError, match="filter must be an expression"):
        table.scan("ks.t").fold(Count(), filter="v > 3")
    with pytest.raises(ValueError, match="a mask of 1 rows does not fit a batch of"):
        table.scan("ks.t").fold(Count(), filter=lambda batch: [True])


def test_several_threads_fold_at_a_time(table: Session) -> None:
    scan = table.scan("ks.t", page_size=100)
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(scan.fold, [Count(), Sum("v"), GroupBy("id", total=Sum("v"))])
    assert [len(one) if isinstance(one, dict) else one for one in found] == [ROWS, sum(range(ROWS)), ROWS]
