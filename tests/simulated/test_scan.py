"""session.scan: all rows of a table, from all shards."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa
import pytest

from cassandra.cluster import Session
from cassandra.testing import SimulatedCluster

TABLE = "CREATE TABLE ks.t (id int PRIMARY KEY, name text, v bigint)"
ROWS = 2000


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute(TABLE)
    session.cluster.refresh_schema_metadata()
    ids = range(ROWS)
    rows = {"id": pa.array(ids, pa.int32()), "name": [f"name {i}" for i in ids], "v": pa.array(ids, pa.int64())}
    session.ingest("ks.t", pa.table(rows))
    simulated.clear_requests()
    return session


def ids_in(batches: Any) -> list[int]:
    return sorted(row for batch in batches for row in pa.record_batch(batch).column("id").to_pylist())


@pytest.mark.parametrize("order", [None, "token"])
def test_every_row_comes_once(table: Session, order: Any) -> None:
    scan = table.scan("ks.t", page_size=7)
    assert ids_in(scan.batches(order)) == list(range(ROWS))
    assert sorted(row.id for row in scan.rows(order)) == list(range(ROWS))

    async def on_a_loop() -> None:
        assert ids_in([batch async for batch in scan.batches(order)]) == list(range(ROWS))
        assert len([row async for row in scan.rows(order)]) == ROWS

    asyncio.run(on_a_loop())
