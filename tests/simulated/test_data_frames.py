"""Results and scans in data frames: all types with nulls, and the calls that people write with pandas, Polars, DuckDB
and PyArrow."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassandra.cluster import ResultSet, Session
from cassandra.query import dict_factory
from cassandra.scan import Scan
from cassandra.testing import SimulatedCluster
from cassandra.util import Date, Duration, Time
from tests.packages import duckdb, require
from tests.packages import polars as pl
from tests.unit.frames import TAKES_ARROW

TYPES = {
    "a_boolean": ("boolean", True),
    "a_tinyint": ("tinyint", -5),
    "a_smallint": ("smallint", 300),
    "an_int": ("int", 2**31 - 1),
    "a_bigint": ("bigint", -(2**63)),
    "a_float": ("float", 0.5),
    "a_double": ("double", 1e300),
    "a_text": ("text", "na\u00efve \u65e5\u672c"),
    "an_ascii": ("ascii", "abc"),
    "a_blob": ("blob", b"\x00\xff"),
    "a_uuid": ("uuid", UUID(int=7)),
    "a_timeuuid": ("timeuuid", UUID("d0be7e60-0000-11ef-8000-000000000000")),
    "a_timestamp": ("timestamp", datetime(2030, 1, 2, 3, 4, 5, 6000)),
    "a_date": ("date", Date(date(2030, 1, 2))),
    "a_time": ("time", Time(12 * 3600 * 10**9 + 1000)),
    "a_duration": ("duration", Duration(1, 2, 3000)),
    "an_inet": ("inet", "10.0.0.1"),
    "a_varint": ("varint", 12345),
    "a_decimal": ("decimal", Decimal("1.25")),
    "a_list": ("list<int>", [1, 2]),
    "a_set": ("set<text>", {"x"}),
    "a_map": ("map<text, int>", {"k": 1}),
    "a_tuple": ("frozen<tuple<int, text>>", (1, "t")),
    "an_address": ("frozen<address>", ("Main St", 5)),
    "a_vector": ("vector<float, 2>", [1.0, 2.0]),
    "deep": ("map<text, frozen<list<decimal>>>", {"k": [Decimal("1.5")]}),
}
#: Rows of DuckDB, where they are not those of the driver.
IN_DUCKDB = {
    "a_timestamp": datetime(2030, 1, 2, 3, 4, 5, 6000, tzinfo=timezone.utc),
    "a_date": date(2030, 1, 2),
    "a_time": Time(12 * 3600 * 10**9 + 1000).time(),
    "a_duration": timedelta(days=32, microseconds=3),  # of Python, which has no months
    "a_set": ["x"],
    "a_tuple": {"f0": 1, "f1": "t"},
    "an_address": {"street": "Main St", "zip": 5},
    "a_vector": (1.0, 2.0),
}
ROWS = 30


@pytest.fixture(scope="module", autouse=True)
def _libraries_are_loaded() -> None:
    """They start threads, and open descriptors, when they are first used, and keep them: these are no leaks."""
    duckdb.sql("SELECT 1").fetchall()
    pl.LazyFrame({"a": [1]}).select("a").collect()
    pl.DataFrame({"a": [1]}).sql("SELECT a FROM self")


@pytest.fixture
def all_types(session: Session, simulated: SimulatedCluster) -> Session:
    """A table with a row of all types, rows of nulls, and, for each type, a row with only that value."""
    simulated.execute("CREATE TYPE ks.address (street text, zip int)")
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
    simulated.execute(f"CREATE TABLE ks.everything (id int PRIMARY KEY, {columns})")
    session.cluster.refresh_schema_metadata()
    names = ", ".join(["id", *TYPES])
    insert = session.prepare(f"INSERT INTO everything ({names}) VALUES (?{', ?' * len(TYPES)})")
    values = [value for _, value in TYPES.values()]
    session.execute(insert, (0, *values))
    session.execute(insert, (1, *([None] * len(values))))
    for at in range(len(values)):
        session.execute(insert, (2 + at, *(value if i == at else None for i, value in enumerate(values))))
    return session


def everything(session: Session) -> ResultSet:
    return session.execute("SELECT * FROM everything")


def test_frames_of_scans_are_those_of_results(all_types: Session) -> None:
    require("polars")
    scan = all_types.scan("everything")
    ours, theirs = (made.to_pandas().set_index("id").sort_index() for made in (scan, everything(all_types)))
    pd.testing.assert_frame_equal(ours, theirs)
    assert scan.to_polars().sort("id").equals(everything(all_types).to_polars().sort("id"))
    of_scan, of_result = (made.to_duckdb().order("id") for made in (scan, everything(all_types)))
    assert of_scan.types == of_result.types and of_scan.fetchall() == of_result.fetchall()


def test_every_type_in_duckdb(all_types: Session) -> None:
    relation = everything(all_types).to_duckdb().order("id")
    rows = {name: [row[at] for row in relation.fetchall()] for at, name in enumerate(relation.columns)}
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    for number, (name, (_, value)) in enumerate(TYPES.items()):
        expected = IN_DUCKDB.get(name, value)
        assert rows[name] == [expected, None, *(expected if at == number else None for at in range(len(TYPES)))], name
    assert types["a_decimal"] == "DECIMAL(38,2)" and types["a_varint"] == "BIGINT" and types["a_uuid"] == "UUID"
    assert types["a_duration"] == "INTERVAL" and types["an_inet"] == "VARCHAR"
    assert types["deep"] == "MAP(VARCHAR, DECIMAL(38,1)[])"
    interval = relation.filter("id = 0").project("a_duration::VARCHAR").fetchall()
    assert interval == [("1 month 2 days 00:00:00.000003",)]


@pytest.mark.parametrize(
    ("kind", "values", "expected_type", "expected"),
    [
        ("varint", [2**70, None, -1], "DECIMAL(38,0)", [Decimal(2**70), None, Decimal(-1)]),
        ("varint", [10**40, None], "VARCHAR", ["1" + "0" * 40, None]),
        ("decimal", [Decimal("1E-50"), None], "VARCHAR", ["1E-50", None]),
        ("decimal", [None, None], "DECIMAL(38,0)", [None, None]),
        (
            "duration",
            [Duration(1, 2, 3), None],
            "STRUCT(months INTEGER, days INTEGER, nanoseconds BIGINT)",
            [{"months": 1, "days": 2, "nanoseconds": 3}, None],
        ),
        ("list<inet>", [["::1", "1.2.3.4"], None], "VARCHAR[]", [["::1", "1.2.3.4"], None]),
    ],
)
def test_duckdb_loses_nothing(
    session: Session, simulated: SimulatedCluster, kind: str, values: list[Any], expected_type: str, expected: Any
) -> None:
    simulated.execute(f"CREATE TABLE ks.t (id int PRIMARY KEY, v {kind})")
    session.cluster.refresh_schema_metadata()
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    for number, value in enumerate(values):
        session.execute(insert, (number, value))
    relation = session.scan("t").to_duckdb().order("id")
    assert str(relation.types[1]).replace('"', "") == expected_type
    found = [value for _, value in relation.fetchall()]
    assert found == [
        [one for one in value if one is not None] if isinstance(value, list) else value for value in expected
    ]


# ---- everyday calls


@pytest.fixture
def items(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute(
        "CREATE TABLE ks.items (id int PRIMARY KEY, name text, price decimal, at timestamp, tags list<text>, ref uuid)"
    )
    session.cluster.refresh_schema_metadata()
    insert = session.prepare("INSERT INTO items (id, name, price, at, tags, ref) VALUES (?, ?, ?, ?, ?, ?)")
    for at in range(ROWS):
        price = None if at == 5 else Decimal(at) / 4
        session.execute(
            insert, (at, f"n{at % 3}", price, datetime(2030, 1, 1, at % 24), ["a"] * (at % 3), UUID(int=at))
        )
    session.default_fetch_size = 7  # of several pages
    return session


TOTAL = sum(range(ROWS))
PRICES = sum((Decimal(at) / 4 for at in range(ROWS) if at != 5), Decimal(0))
BY_NAME = {f"n{k}": sum(range(k, ROWS, 3)) for k in range(3)}
COUNTS = {f"n{k}": 10 for k in range(3)}

Call = Callable[[Any], Any]


def sql(query: str) -> Call:
    """Run *query* of a relation named ``source``."""

    def run(source: Any) -> Any:
        return duckdb.sql(query).fetchall()  # DuckDB finds the variable

    return run


def in_new_database(source: Any) -> Any:
    with duckdb.connect() as connection:
        connection.register("source", source)
        connection.execute("CREATE TABLE copied AS SELECT * FROM source")
        return connection.execute("SELECT sum(id) FROM copied").fetchone()[0]


def relation_in_new_database(source: Any) -> Any:
    with duckdb.connect() as connection:
        return source.to_duckdb(connection).aggregate("sum(id)").fetchall()[0][0]


def csv_of(rows: Any) -> int:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return len(text.getvalue().splitlines())


def parquet_of(table: Any) -> int:
    file = io.BytesIO()
    pq.write_table(table, file)
    return int(pq.read_table(io.BytesIO(file.getvalue())).num_rows)


def by_polars(frame: Any) -> dict[str, int]:
    return dict(frame.group_by("name").agg(pl.col("id").cast(pl.Int64).sum()).iter_rows())


GROUPED = "SELECT name, sum(id) FROM source GROUP BY name"

#: Calls of both results and scans: what they return.
BOTH: dict[str, tuple[Call, Any]] = {
    "to_pandas().groupby()": (lambda s: s.to_pandas().groupby("name")["id"].sum().to_dict(), BY_NAME),
    "to_pandas().value_counts()": (lambda s: s.to_pandas()["name"].value_counts().to_dict(), COUNTS),
    "to_pandas().price.sum()": (lambda s: s.to_pandas()["price"].dropna().sum(), PRICES),
    "to_pandas().set_index().loc[]": (lambda s: s.to_pandas().set_index("id").loc[4, "price"], Decimal(1)),
    "to_pandas().merge()": (lambda s: len(s.to_pandas().merge(pd.DataFrame({"id": [1, 2]}), on="id")), 2),
    "to_pandas().sort_values()": (lambda s: s.to_pandas().sort_values("id")["id"].tolist(), list(range(ROWS))),
    "to_pandas().query()": (lambda s: len(s.to_pandas().query("id < 3")), 3),
    "to_pandas().resample()": (
        lambda s: int(s.to_pandas().set_index("at")["id"].resample("1D").count().sum()),
        ROWS,
    ),
    "to_pandas().describe()": (lambda s: s.to_pandas()["id"].describe()["max"], ROWS - 1),
    "to_pandas().explode()": (lambda s: int(s.to_pandas().explode("tags")["tags"].count()), 30),
    "to_pandas().to_csv()": (lambda s: len(s.to_pandas().to_csv().splitlines()), ROWS + 1),
    "to_pandas().to_dict()": (lambda s: len(s.to_pandas().to_dict("records")), ROWS),
    "to_pandas().isna()": (lambda s: int(s.to_pandas()["price"].isna().sum()), 1),
    "to_polars().group_by()": (lambda s: by_polars(s.to_polars()), BY_NAME),
    "to_polars().filter()": (lambda s: s.to_polars().filter(pl.col("price") > 1).height, ROWS - 6),
    "to_polars().sum()": (lambda s: s.to_polars()["price"].sum(), PRICES),
    "to_polars().lazy()": (lambda s: s.to_polars().lazy().select(pl.col("id").max()).collect().item(), ROWS - 1),
    "to_polars().sql()": (lambda s: s.to_polars().sql("SELECT count(*) FROM self").item(), ROWS),
    "to_polars().explode()": (lambda s: s.to_polars().explode("tags")["tags"].count(), 30),
    "to_polars().to_dicts()": (lambda s: len(s.to_polars().to_dicts()), ROWS),
    "to_polars().null_count()": (lambda s: s.to_polars()["price"].null_count(), 1),
    "pl.DataFrame()": (lambda s: by_polars(pl.DataFrame(s)), BY_NAME),
    "pl.from_arrow()": (lambda s: by_polars(pl.from_arrow(s).struct.unnest()), BY_NAME),
    "pl.DataFrame(to_arrow())": (lambda s: by_polars(pl.DataFrame(s.to_arrow())), BY_NAME),
    "pl.DataFrame(to_pandas())": (lambda s: by_polars(pl.DataFrame(s.to_pandas()[["id", "name"]])), BY_NAME),
    "pl.LazyFrame()": (lambda s: pl.LazyFrame(s).select(pl.len()).collect().item(), ROWS),
    "duckdb.sql() of it": (lambda s: dict(sql(GROUPED)(s)), BY_NAME),
    "duckdb.sql() of to_duckdb()": (lambda s: dict(sql(GROUPED)(s.to_duckdb())), BY_NAME),
    "duckdb.sql() of prices": (lambda s: sql("SELECT sum(price) FROM source")(s.to_duckdb()), [(PRICES,)]),
    "duckdb.sql() of to_arrow()": (lambda s: dict(sql(GROUPED)(s.to_arrow())), BY_NAME),
    "duckdb.sql() of to_polars()": (lambda s: dict(sql(GROUPED)(s.to_polars())), BY_NAME),
    "duckdb.from_arrow()": (lambda s: len(duckdb.from_arrow(s).fetchall()), ROWS),
    "CREATE TABLE AS SELECT": (in_new_database, TOTAL),
    "to_duckdb(connection)": (relation_in_new_database, TOTAL),
    "to_duckdb().filter()": (
        lambda s: s.to_duckdb().filter("id < 3").order("id").project("id").fetchall(),
        [(0,), (1,), (2,)],
    ),
    "to_duckdb().df()": (lambda s: len(s.to_duckdb().df()), ROWS),
    "to_duckdb().pl()": (lambda s: s.to_duckdb().pl().height, ROWS),
    "a relation used twice": (lambda s: [len(r.fetchall()) for r in [s.to_duckdb()] * 2], [ROWS, ROWS]),
    "pa.table()": (lambda s: pa.table(s).num_rows, ROWS),
    "pa.RecordBatchReader": (lambda s: pa.RecordBatchReader.from_stream(s).read_all().num_rows, ROWS),
    "pa.schema()": (lambda s: pa.schema(s).names, ["id", "at", "name", "price", "ref", "tags"]),
    "to_arrow().group_by()": (
        lambda s: dict(
            zip(*s.to_arrow().group_by("name").aggregate([("id", "sum")]).to_pydict().values(), strict=True)
        ),
        BY_NAME,
    ),
    "to_arrow().to_pylist()": (lambda s: sum(row["id"] for row in s.to_arrow().to_pylist()), TOTAL),
    "to_arrow().to_pandas()": (lambda s: int(s.to_arrow().to_pandas()["id"].sum()), TOTAL),
    "pq.write_table()": (lambda s: parquet_of(s.to_arrow()), ROWS),
}

OF_RESULTS: dict[str, tuple[Call, Any]] = {
    "pd.DataFrame()": (lambda s: int(pd.DataFrame(s)["id"].sum()), TOTAL),
    "pd.DataFrame(list())": (lambda s: int(pd.DataFrame(list(s))["id"].sum()), TOTAL),
    "pd.DataFrame(all())": (lambda s: int(pd.DataFrame(s.all())["id"].sum()), TOTAL),
    "pd.DataFrame(dicts)": (lambda s: int(pd.DataFrame([row._asdict() for row in s])["id"].sum()), TOTAL),
    "pl.DataFrame(list())": (lambda s: by_polars(pl.DataFrame(list(s))), BY_NAME),
    "pl.from_arrow(arrow())": (lambda s: by_polars(pl.from_arrow(s.arrow()).struct.unnest()), BY_NAME),
    "duckdb.sql() of arrow()": (lambda s: dict(sql(GROUPED)(s.arrow())), BY_NAME),
    "pa.record_batch()": (lambda s: sum(pa.record_batch(batch).num_rows for batch in s.arrow()), ROWS),
    "np.array()": (lambda s: int(np.array([row.id for row in s]).sum()), TOTAL),
    "to_numpy()": (lambda s: int(s.to_numpy()["id"].sum()), TOTAL),
    "csv.writer": (csv_of, ROWS),
    "json.dumps()": (lambda s: len(json.loads(json.dumps([row._asdict() for row in s], default=str))), ROWS),
}

OF_SCANS: dict[str, tuple[Call, Any]] = {
    "pd.DataFrame(rows())": (lambda s: int(pd.DataFrame(s.rows())["id"].sum()), TOTAL),
    "pl.DataFrame(rows())": (lambda s: by_polars(pl.DataFrame(s.rows())), BY_NAME),
    "pl.concat(batches())": (lambda s: by_polars(pl.concat([pl.DataFrame(batch) for batch in s.batches()])), BY_NAME),
    "pa.record_batch()": (lambda s: sum(pa.record_batch(batch).num_rows for batch in s.batches()), ROWS),
    "sum(rows())": (lambda s: sum(row.id for row in s.rows()), TOTAL),
    "csv.writer": (lambda s: csv_of(s.rows()), ROWS),
    "to_pandas_async()": (lambda s: len(asyncio.run(s.to_pandas_async())), ROWS),
    "to_polars_async()": (lambda s: asyncio.run(s.to_polars_async()).height, ROWS),
    "to_duckdb_async()": (lambda s: len(asyncio.run(s.to_duckdb_async()).fetchall()), ROWS),
}


def wrong(calls: dict[str, tuple[Call, Any]], source: Callable[[], Any]) -> dict[str, Any]:
    """Return the results of calls that are not as expected, by name."""
    found: dict[str, Any] = {}
    for name, (call, expected) in calls.items():
        try:
            got = call(source())
        except Exception as error:
            found[name] = repr(error)
        else:
            if got != expected:
                found[name] = got
    return found


def test_results(items: Session) -> None:
    require("polars")
    assert wrong({**BOTH, **OF_RESULTS}, lambda: items.execute("SELECT * FROM items")) == {}


def test_scans(items: Session) -> None:
    require("polars")
    assert wrong({**BOTH, **OF_SCANS}, lambda: items.scan("items")) == {}


@pytest.mark.skipif(not TAKES_ARROW, reason="pandas 3 has it")
def test_pandas_from_arrow(items: Session) -> None:
    from_arrow: Any = pd.DataFrame.from_arrow  # type: ignore[attr-defined, unused-ignore]
    for source in (items.execute("SELECT * FROM items"), items.scan("items")):
        assert int(from_arrow(source)["id"].sum()) == TOTAL


def test_results_in_tasks(items: Session) -> None:
    async def read() -> list[Any]:
        made = [await items.execute_async("SELECT id, name FROM items") for _ in range(3)]
        pandas, polars, relation = made
        return [
            len(await pandas.to_pandas_async()),
            (await polars.to_polars_async()).height,
            len((await relation.to_duckdb_async()).fetchall()),
        ]

    assert asyncio.run(read()) == [ROWS] * 3


def test_ordered_scans(items: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("CREATE TABLE ks.readings (sensor int, at int, value double, PRIMARY KEY (sensor, at))")
    items.cluster.refresh_schema_metadata()
    for sensor in range(3):
        for at in range(5):
            items.execute("INSERT INTO readings (sensor, at, value) VALUES (%s, %s, 0.5)", (sensor, 3 * at + sensor))
    select = items.prepare("SELECT at, sensor, value FROM readings WHERE sensor = ?")
    scan = items.scan_order(select, [(0,), (1,), (2,)])
    assert scan.to_pandas()["at"].tolist() == list(range(15))
    assert scan.to_polars()["at"].to_list() == list(range(15))
    assert [row[0] for row in scan.to_duckdb().fetchall()] == list(range(15))


# ---- errors that say what to do


def test_a_scan_is_not_iterated(items: Session) -> None:
    for call in (iter, list, pd.DataFrame, lambda scan: [*scan], sum):
        with pytest.raises(TypeError, match=r"a Scan cannot be iterated itself: use scan.rows\(\) .* to_pandas\(\)"):
            call(items.scan("items"))  # type: ignore[operator]


def test_a_scan_is_not_iterated_by_async_for(items: Session) -> None:
    async def read(scan: Scan) -> None:
        async for _ in scan:  # type: ignore[attr-defined]
            pass

    with pytest.raises(TypeError, match=r"use scan.rows\(\) .* async for"):
        asyncio.run(read(items.scan("items")))


@pytest.mark.parametrize("factory", [None, dict_factory])
def test_a_column_of_a_result(items: Session, factory: Any) -> None:
    if factory is not None:
        items.row_factory = factory
    with pytest.raises(TypeError, match=r"rows, not columns.*to_pandas\(\)\['name'\]"):
        items.execute("SELECT * FROM items")["name"]


def test_packages_that_are_not_installed(items: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r"pip install fastcql\[duckdb\]"):
        items.scan("items").to_duckdb()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install fastcql\[pandas\]"):
        items.scan("items").to_pandas()
