"""session.scan of a real node: what a SELECT of everything gives, from ranges of tokens."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa
import pytest

from cassandra.cluster import Session
from cassandra.metadata import MAX_LONG, MIN_LONG, TokenRange
from cassandra.query import SimpleStatement
from cassandra.scan import ScanError, col
from tests.patience import PATIENCE

pytestmark = pytest.mark.server

ROWS = 20_000


@pytest.fixture
def points(session: Session) -> Session:
    session.execute('DROP TABLE IF EXISTS "Points"', timeout=PATIENCE)
    session.execute('CREATE TABLE "Points" (id int PRIMARY KEY, v bigint, "Name" text)')
    ids = range(ROWS)
    rows = {"id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int64()), "Name": [f"n{i}" for i in ids]}
    session.ingest('"Points"', pa.table(rows))
    return session


def selected(session: Session, query: str) -> pa.Table:
    return session.execute(SimpleStatement(query, fetch_size=5000), timeout=PATIENCE).to_arrow()


def test_the_rows_of_a_select(points: Session) -> None:
    expected = selected(points, 'SELECT id, v, "Name", token(id) AS at FROM "Points"')
    scan = points.scan('"Points"', columns=["id", "v", "Name", "token(id) AS at"], page_size=300)
    found = scan.to_arrow()
    assert found.cast(expected.schema).equals(expected)  # in the order of tokens, as the server reads them
    ordered = pa.Table.from_batches([pa.record_batch(batch) for batch in scan.batches("token")])
    assert ordered.equals(found.cast(ordered.schema).combine_chunks()) or ordered.to_pydict() == found.to_pydict()

    async def on_a_loop() -> int:
        return sum([len(batch) async for batch in scan.batches()])

    assert asyncio.run(on_a_loop()) == ROWS
    assert sum(row.v for row in scan.rows()) == ROWS * (ROWS - 1) // 2


def test_parts_of_the_ring(points: Session) -> None:
    ranges = points.cluster.metadata.token_ranges(points.keyspace or "")
    assert ranges[0].start == MIN_LONG and ranges[-1].end == MAX_LONG
    assert all(part.replicas for part in ranges)
    whole = TokenRange(MIN_LONG, MAX_LONG)
    counts = [points.scan('"Points"', token_range=part).to_arrow().num_rows for part in whole.split(7)]
    assert sum(counts) == ROWS and min(counts) > 0


def test_conditions(points: Session) -> None:
    scan = points.scan('"Points"', where=("v >= ? AND v < ? ALLOW FILTERING", [500, 700]), filter=col("id") != 600)
    assert sorted(scan.to_arrow()["v"].to_pylist()) == [v for v in range(500, 700) if v != 600]
    with pytest.raises(Exception, match="ALLOW FILTERING"):
        points.scan('"Points"', where="v > 3").to_arrow()


def test_static_columns_and_wide_partitions(session: Session) -> None:
    session.execute("CREATE TABLE events (day int, at int, place text STATIC, what text, PRIMARY KEY (day, at))")
    insert = session.prepare("INSERT INTO events (day, at, what) VALUES (?, ?, ?)")
    for day in range(5):
        session.execute("INSERT INTO events (day, place) VALUES (%s, %s)", (day, f"place {day}"))
        for at in range(day * 40):
            session.execute(insert, (day, at, f"what {at}"))
    expected = selected(session, "SELECT day, at, place, what FROM events").to_pylist()
    assert session.scan("events", page_size=11).to_arrow().to_pylist() == expected
    limited = session.scan("events", where="PER PARTITION LIMIT 3", page_size=2).to_arrow()
    assert limited.num_rows == 1 + 4 * 3
    distinct = session.prepare("SELECT DISTINCT day, place FROM events")
    assert session.scan(distinct).to_arrow().num_rows == 5


def test_columns_change_meanwhile(points: Session) -> None:
    """Of a SELECT by a star: ranges that were begun begin again, with the new columns."""
    prepared = points.prepare('SELECT * FROM "Points" WHERE token(id) > ? AND token(id) <= ?')
    rows: dict[int, int] = {}
    columns = set()
    for number, event in enumerate(points.scan(prepared, page_size=50, target_rows=1)._reading()):
        if number == 20:
            points.execute('ALTER TABLE "Points" ADD more int')
        if event.batch is not None:
            columns.add(event.batch.plan.names)
            rows[event.number] = rows.get(event.number, 0) + len(event.batch)
        elif event.kind == "restarted":
            rows.pop(event.number)
    assert sum(rows.values()) == ROWS
    assert {len(names) for names in columns} <= {3, 4}


def test_the_table_is_dropped_meanwhile(points: Session) -> None:
    def read() -> None:
        for number, _ in enumerate(points.scan('"Points"', page_size=50, target_rows=1).batches()):
            if number == 10:
                points.execute('DROP TABLE "Points"')

    with pytest.raises(ScanError) as caught:
        read()
    error: Any = caught.value
    assert error.token_range is not None and error.__cause__ is not None


def test_views(points: Session) -> None:
    try:
        points.execute(
            'CREATE MATERIALIZED VIEW by_v AS SELECT v, id FROM "Points" WHERE v IS NOT NULL AND id IS NOT NULL '
            "PRIMARY KEY (v, id)"
        )
    except Exception as error:
        assert "disabled" in str(error)  # as they are by default
        return
    assert points.scan("by_v").to_arrow().num_rows <= ROWS
