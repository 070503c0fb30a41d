"""session.ingest: rows of Arrow into tables, and back."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.ingest import IngestError, IngestReport, report_of
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect

TABLE = "CREATE TABLE ks.t (id int PRIMARY KEY, name text, big bigint, real double, at timestamp)"
EVENTS = "CREATE TABLE ks.events (day int, at bigint, what text, PRIMARY KEY (day, at))"


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute(TABLE)
    simulated.execute(EVENTS)
    session.cluster.refresh_schema_metadata()
    return session


def rows(count: int, first: int = 0) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "name": pa.array([f"name {i}" for i in ids]),
            "big": pa.array([i << 33 for i in ids], pa.int64()),
            "real": pa.array([i / 7 for i in ids], pa.float64()),
            "at": pa.array([datetime.datetime(2026, 1, 1, 0, 0, i % 60) for i in ids], pa.timestamp("ms", "UTC")),
        }
    )


def found(session: Session, name: str = "t", key: str = "id") -> list[Any]:
    return sorted(session.execute(f"SELECT * FROM ks.{name}"), key=lambda row: getattr(row, key))


def test_every_value_is_there(table: Session) -> None:
    given = rows(3000)
    report = table.ingest("ks.t", given)
    assert (report.rows, report.reached, report.errors, report.unfinished) == (3000, 3000, {}, [])
    assert report.bytes > 3000 * 50 and report.seconds > 0 and report.retries == 0
    there = found(table)
    assert len(there) == 3000
    for index in (0, 1, 1499, 2999):
        row = there[index]
        assert (row.id, row.name, row.big, row.real) == (index, f"name {index}", index << 33, index / 7)
        assert row.at == datetime.datetime(2026, 1, 1, 0, 0, index % 60)
    assert table.execute("SELECT * FROM ks.t").to_arrow().num_rows == 3000


@pytest.mark.parametrize("concurrency", [1, 7, "auto"])
def test_sources_of_all_kinds(table: Session, concurrency: Any) -> None:
    given = rows(50)
    kinds = [
        given,
        given.to_batches()[0],
        given.to_reader(),
        pl.from_arrow(given),
        given.to_pandas(),
        (given.slice(at, 7) for at in range(0, 50, 7)),
        [given, rows(0)],
    ]
    for data in kinds:
        table.execute("TRUNCATE ks.t")
        report = table.ingest("t", data, concurrency=concurrency)
        assert report.rows == 50
        assert [row.id for row in found(table)] == list(range(50))


def test_numpy_arrays(table: Session) -> None:
    data = {"id": np.arange(100, dtype=np.int32), "real": np.linspace(0, 1, 100), "big": np.arange(100) * 3}
    assert table.ingest("ks.t", data).rows == 100
    there = found(table)
    assert [row.big for row in there] == [i * 3 for i in range(100)]
    assert there[99].real == 1.0 and there[99].name is None


def test_arrays_without_pyarrow(table: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    at = np.array(["2026-01-01T00:00:01", "NaT"], "M8[ms]")
    table.ingest("ks.t", {"id": np.array([1, 2]), "name": ["one", None], "at": at})
    there = [(row.id, row.name, row.at) for row in found(table)]
    assert there == [(1, "one", datetime.datetime(2026, 1, 1, 0, 0, 1)), (2, None, None)]


def test_nothing_to_write(table: Session) -> None:
    assert table.ingest("ks.t", []).rows == 0
    assert table.ingest("ks.t", rows(0)).rows == 0
    assert table.ingest("ks.t", iter([rows(0), rows(0)])).rows == 0


def test_null_leaves_or_deletes(table: Session) -> None:
    table.ingest("ks.t", rows(2))
    nothing = pa.table({"id": pa.array([0, 1], pa.int32()), "name": pa.array([None, "new"])})
    table.ingest("ks.t", nothing)
    assert [row.name for row in found(table)] == ["name 0", "new"]
    table.ingest("ks.t", nothing, nulls="null")
    assert [row.name for row in found(table)] == [None, "new"]


def test_columns_that_are_wanted(table: Session) -> None:
    table.ingest("ks.t", rows(2).append_column("more", pa.array([1, 2])), columns=["id", "big"])
    assert [(row.id, row.name, row.big) for row in found(table)] == [(0, None, 0), (1, None, 1 << 33)]


def test_ttl_and_timestamp(table: Session) -> None:
    table.ingest("ks.t", rows(3), ttl=1000, timestamp=5_000_000)
    there = table.execute("SELECT id, TTL(name) AS ttl, WRITETIME(name) AS written FROM ks.t")
    assert sorted((row.id, row.written) for row in there) == [(0, 5_000_000), (1, 5_000_001), (2, 5_000_002)]
    for row in table.execute("SELECT TTL(name) AS ttl FROM ks.t"):
        assert 0 < row.ttl <= 1000


@pytest.mark.parametrize("batch_rows", [1, 32])
def test_of_rows_with_one_key_the_last_one_stays(table: Session, batch_rows: int) -> None:
    count = 400
    data = pa.table(
        {
            "day": pa.array([1] * count, pa.int32()),
            "at": pa.array([i % 5 for i in range(count)], pa.int64()),
            "what": pa.array([f"v{i}" if i % 2 else f"v{count - i}" for i in range(count)]),
        }
    )
    assert table.ingest("ks.events", data, batch_rows=batch_rows).rows == count
    last = {row["at"]: row["what"] for row in data.to_pylist()}
    assert {row.at: row.what for row in found(table, "events", "at")} == last


def test_neighbours_of_a_partition_are_batches(table: Session, simulated: SimulatedCluster) -> None:
    data = pa.table(
        {
            "day": pa.array([i // 100 for i in range(1000)], pa.int32()),
            "at": pa.array(range(1000), pa.int64()),
            "what": pa.array([f"{i}" for i in range(1000)]),
        }
    )
    for batch_rows, kinds in ((10, {"BATCH"}), (1, {"EXECUTE"})):
        table.execute("TRUNCATE ks.events")
        simulated.clear_requests()
        assert table.ingest("ks.events", data, batch_rows=batch_rows).rows == 1000
        sent = [record for record in simulated.requests if record.opcode in ("BATCH", "EXECUTE")]
        assert {record.opcode for record in sent} == kinds
        assert len(sent) == (100 if batch_rows == 10 else 1000)
        assert [row.at for row in found(table, "events", "at")] == list(range(1000))


def test_batches_stay_below_the_size_that_servers_warn_of(table: Session, simulated: SimulatedCluster) -> None:
    data = pa.table(
        {
            "day": pa.array([1] * 100, pa.int32()),
            "at": pa.array(range(100), pa.int64()),
            "what": pa.array(["x" * 1000] * 100),
        }
    )
    simulated.clear_requests()
    table.ingest("ks.events", data)
    sent = [record for record in simulated.requests if record.opcode == "BATCH"]
    assert 25 <= len(sent) <= 34
    assert len(found(table, "events", "at")) == 100


def test_mismatched_columns_raise_one_error_before_any_request(table: Session, simulated: SimulatedCluster) -> None:
    data = pa.table({"name": pa.array([1.5]), "big": pa.array([True]), "what": pa.array([1])})
    simulated.clear_requests()
    with pytest.raises(ValueError) as caught:
        table.ingest("ks.t", data)
    for column in ("id", "name", "big", "what"):
        assert column in str(caught.value)
    assert "EXECUTE" not in {record.opcode for record in simulated.requests}


def test_invalid_arguments_of_ingest_raise(table: Session, simulated: SimulatedCluster) -> None:
    data = rows(1)
    for wrong, error in (
        ({"on_error": "ignore"}, ValueError),
        ({"concurrency": 0}, ValueError),
        ({"concurrency": "many"}, ValueError),
        ({"concurrency": True}, ValueError),
        ({"batch_rows": 0}, ValueError),
        ({"batch_rows": 1.5}, TypeError),
        ({"ttl": -1}, ValueError),
        ({"ttl": "1"}, TypeError),
        ({"timestamp": 1.0}, TypeError),
        ({"nulls": "keep"}, ValueError),
        ({"round": "up"}, ValueError),
        ({"columns": "id"}, TypeError),
        ({"columns": []}, ValueError),
        ({"columns": ["id", "id"]}, ValueError),
        ({"columns": ["id", "nowhere"]}, ValueError),
        ({"progress": 3}, TypeError),
    ):
        with pytest.raises(error):
            table.ingest("ks.t", data, **wrong)
    for name in ("", "a.b.c", "ks.", "ks t", 'ks."t', "ks.t;"):
        with pytest.raises(ValueError, match="invalid table name"):
            table.ingest(name, data)
    for nothing in (5, b"text", [5], object()):
        with pytest.raises(TypeError, match="data must have __arrow_c_stream__"):
            table.ingest("ks.t", nothing)  # type: ignore[arg-type]
    assert found(table) == []


def test_counters_are_refused(table: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("CREATE TABLE ks.counts (id int PRIMARY KEY, n counter)")
    table.cluster.refresh_schema_metadata()
    with pytest.raises(ValueError, match="n is a counter"):
        table.ingest("ks.counts", pa.table({"id": pa.array([1], pa.int32()), "n": pa.array([1])}))


def test_names_are_as_in_cql(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    simulated.execute('CREATE TABLE ks."Big ""one""" ("Id" int PRIMARY KEY, "select" text)')
    table.cluster.refresh_schema_metadata()
    data = pa.table({"Id": pa.array([1], pa.int32()), "select": ["x"]})
    assert table.ingest('KS."Big ""one"""', data).rows == 1
    assert table.execute('SELECT * FROM ks."Big ""one"""').one() == (1, "x")
    without = connect(simulated)
    with pytest.raises(ValueError, match="no keyspace for table"):
        without.ingest("t", rows(1))
    assert without.ingest("ks.t", rows(1)).rows == 1


@pytest.mark.parametrize("collect", [True, False])
def test_errors_of_too_many_rows(table: Session, collect: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report keeps so many, and counts all."""
    monkeypatch.setattr("cassandra._ingest.writing.MOST_ERRORS", 3)
    data = (
        {"id": np.array([1 << 40 if i % 10 == 9 else i for i in range(at, at + 100)])} for at in range(0, 1000, 100)
    )
    seen: list[IngestReport] = []
    if not collect:
        with pytest.raises(IngestError, match="failed") as caught:
            table.ingest("ks.t", data)
        report = caught.value.report
        assert report.failed >= 1 and report.rows + report.failed == report.reached
        return
    report = table.ingest("ks.t", data, on_error="collect", progress=seen.append)
    assert (report.rows, report.reached, report.failed, len(report.errors)) == (900, 1000, 100, 3)
    assert list(report.errors) == [9, 19, 29] and report.unlisted == 39
    assert [report.is_done(row) for row in (8, 9, 29, 38, 39, 40, 998)] == [True, False, False, True] + [False] * 3
    assert "100 failed (3 of them are in errors)" in repr(report)
    assert all(len(one.errors) <= 3 for one in seen) and seen[-1].failed == 100


def test_a_value_that_does_not_fit(table: Session) -> None:
    data = pa.table({"id": pa.array([1, 2, 1 << 40, 4], pa.int64())})
    with pytest.raises(IngestError, match="Row 2") as caught:
        table.ingest("ks.t", data)
    error = caught.value
    assert list(error.errors) == [2] and isinstance(error.errors[2], ValueError)
    assert error.__cause__ is error.errors[2]
    assert error.report.unfinished == [] and error.report.is_done(1) and not error.report.is_done(2)
    assert report_of(error) is error.report
    assert {row.id for row in found(table)} == {1, 2}
    report = table.ingest("ks.t", data, on_error="collect")
    assert report.rows == 3 and list(report.errors) == [2]
    assert {row.id for row in found(table)} == {1, 2, 4}
    assert "3 rows" in repr(report) and "1 failed" in repr(report)


def test_without_schema_metadata(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, schema_metadata_enabled=False)
    assert session.ingest("ks.t", rows(100)).rows == 100
    assert len(found(session)) == 100


def test_consistency_level(table: Session, simulated: SimulatedCluster) -> None:
    simulated.clear_requests()
    table.ingest("ks.t", rows(2), consistency_level=ConsistencyLevel.ALL)
    sent = [record for record in simulated.requests if record.opcode == "EXECUTE"]
    assert {record.consistency for record in sent} == {"ALL"}


def test_progress(table: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from cassandra._session import progress

    monkeypatch.setattr(progress, "REPORT_INTERVAL", 0.0)
    told: list[IngestReport] = []
    report = table.ingest("ks.t", rows(2000), progress=told.append)
    assert len(told) > 2 and told[-1] is report
    assert [one.rows for one in told] == sorted(one.rows for one in told)
    assert told[-1].rows == 2000


def test_a_bar(table: Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    table.ingest("ks.t", rows(200), progress=True)
    assert capsys.readouterr() == ("", ""), "no terminal"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    table.ingest("ks.t", rows(200), progress=True)
    shown = capsys.readouterr().err
    assert "ks.t" in shown and "100 %, 200 rows" in shown


def test_an_endless_source_is_read_no_faster_than_it_is_written(table: Session) -> None:
    given = 0

    def endless() -> Iterator[pa.Table]:
        nonlocal given
        while True:
            yield rows(100, given)
            given += 100
            assert given - len(found(table)) <= 200

    class Enough(Exception):
        pass

    def told(report: IngestReport) -> None:
        if report.rows > 3000:
            raise Enough

    with pytest.raises(Enough) as caught:
        table.ingest("ks.t", endless(), progress=told, concurrency=10)
    report = report_of(caught.value)
    assert report is not None and report.rows > 3000
    assert len(found(table)) >= report.rows


def test_a_source_that_raises(table: Session) -> None:
    class Broken(Exception):
        pass

    def broken() -> Iterator[pa.Table]:
        yield rows(100)
        raise Broken("no more")

    with pytest.raises(Broken) as caught:
        table.ingest("ks.t", broken())
    report = report_of(caught.value)
    assert report is not None
    assert (report.rows, report.reached, report.unfinished) == (100, 100, [])
    assert len(found(table)) == 100


def test_another_schema_in_the_middle(table: Session) -> None:
    with pytest.raises(ValueError, match="batch of row 10 has other columns") as caught:
        table.ingest("ks.t", [rows(10), rows(10, 10).select(["id", "name"])])
    report = report_of(caught.value)
    assert report is not None and report.rows == 10
    wider = pa.table({"id": pa.array([7, 8], pa.int64())})
    assert table.ingest("ks.t", [rows(5).select(["id"]), wider]).rows == 7  # the same columns of another type


def test_pandas_with_gaps(table: Session) -> None:
    frame = pd.DataFrame({"id": [1, 2], "name": ["a", None]}).astype({"id": "int32"})
    table.ingest("ks.t", frame)
    assert [(row.id, row.name) for row in found(table)] == [(1, "a"), (2, None)]


def test_static_columns_alone(table: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("CREATE TABLE ks.shared (day int, at int, common text STATIC, own text, PRIMARY KEY (day, at))")
    table.cluster.refresh_schema_metadata()
    data = pa.table({"day": [1, 2], "at": [None, 5], "common": ["a", "b"]})
    assert table.ingest("ks.shared", data, columns=["day", "common"]).rows == 2
    assert sorted(tuple(row) for row in table.execute("SELECT day, at, common FROM ks.shared")) == [
        (1, None, "a"),
        (2, None, "b"),
    ]
    for columns in (["day"], ["day", "common", "own"]):
        with pytest.raises(ValueError, match="at"):
            table.ingest(
                "ks.shared", data.drop_columns("at").append_column("own", pa.array(["x", "y"])), columns=columns
            )
