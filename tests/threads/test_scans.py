"""Scans, folds and ingests of all threads on one session."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from cassandra.cluster import Session
from cassandra.ingest import IngestTask
from cassandra.scan import Count, GroupBy, Sum, col
from cassandra.testing import SimulatedCluster
from tests.threads.conftest import ROWS
from tests.threads.harness import THREADS, beside, size, together

TURNS = size("FASTCQL_SCANS", 2)
PAIRS = [(number, number * 7) for number in range(ROWS)]


def pairs(table: pa.Table) -> list[tuple[int, int]]:
    return sorted(zip(table["id"].to_pylist(), table["v"].to_pylist(), strict=True))


def test_scans_of_all_threads(table: Session) -> None:
    """Each scan has all rows, once, in every way of reading it."""

    def work(number: int) -> None:
        for turn in range(TURNS):
            scan = table.scan("t", page_size=10 + number)
            way = (number + turn) % 4
            if way == 0:
                assert pairs(scan.to_arrow()) == PAIRS
            elif way == 1:
                assert sorted((row.id, row.v) for row in scan.rows()) == PAIRS
            elif way == 2:
                assert scan.fold(Sum("v")) == 7 * sum(range(ROWS))
            else:
                half = table.scan("t", filter=col("id") < ROWS // 2).to_arrow()
                assert pairs(half) == PAIRS[: ROWS // 2]

    together(work)


def test_one_scan_that_all_read(table: Session) -> None:
    """A scan can be read any number of times, also at the same time."""
    scan = table.scan("t", page_size=17)

    def work(number: int) -> None:
        for _ in range(TURNS):
            assert pairs(scan.to_arrow()) == PAIRS
            assert scan.fold(Count()) == ROWS
            assert scan.explain()

    together(work)


def test_folds_with_workers(table: Session) -> None:
    """Each fold has threads of its own."""

    def work(number: int) -> None:
        found = table.scan("t").fold(GroupBy("id", total=Sum("v")), workers=2)
        assert found == {number: {"total": number * 7} for number in range(ROWS)}

    together(work, 4)


@pytest.fixture
def target(simulated: SimulatedCluster, table: Session) -> Session:
    simulated.execute("CREATE TABLE ks.u (id int PRIMARY KEY, v bigint, name text)")
    table.cluster.refresh_schema_metadata()
    return table


def rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {"id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int64()), "name": [f"name {number}" for number in ids]}
    )


def test_ingests_of_all_threads(simulated: SimulatedCluster, target: Session) -> None:
    """Each row is written once, with its own values, while nodes forget the statement."""
    count = 100
    nodes = itertools.cycle(simulated.nodes)

    def work(number: int) -> None:
        for turn in range(TURNS):
            first = (number * TURNS + turn) * count
            report = target.ingest("u", rows(first, count))
            assert (report.rows, report.errors, report.unfinished) == (count, {}, [])
            again = {"id": np.arange(first, first + count, dtype=np.int32), "v": np.arange(first, first + count)}
            assert target.ingest("u", again).rows == count

    target.ingest("u", rows(0, 1))
    next(nodes).forget_prepared()
    together(work)
    found = simulated.execute("SELECT id, v, name FROM ks.u")
    assert {row["id"]: (row["v"], row["name"]) for row in found} == {
        number: (number, f"name {number}") for number in range(THREADS * TURNS * count)
    }


def test_data_that_all_write(simulated: SimulatedCluster, target: Session) -> None:
    """The same Arrow table, and one task, in all threads."""
    data = rows(0, 150)
    task: IngestTask = target.ingest_task("u")
    assert task is not None

    def work(number: int) -> None:
        for _ in range(TURNS):
            assert target.ingest("u", data).rows == 150
        assert data.num_rows == 150

    together(work)
    assert len(simulated.execute("SELECT id FROM ks.u")) == 150


def test_scans_beside_writes(simulated: SimulatedCluster, target: Session) -> None:
    """Rows that were there before are in each scan, unchanged."""
    target.ingest("u", rows(0, 100))
    numbers = itertools.count(1)

    def write() -> None:
        target.ingest("u", rows(1000 * next(numbers) % 1_000_000, 50))

    def work(number: int) -> None:
        for _ in range(TURNS):
            found = target.scan("u", columns=["id", "v", "name"]).to_arrow()
            ids = found["id"].to_pylist()
            assert len(ids) == len(set(ids)) and set(range(100)) <= set(ids)
            assert found["v"].to_pylist() == ids
            assert found["name"].to_pylist() == [f"name {number}" for number in ids]

    with beside(write):
        together(work)
