"""session.ingest of the data that programs have: data frames with gaps, objects, rows, files."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import ipaddress
import sqlite3
import uuid
from collections import namedtuple
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from cassandra.cluster import Session
from cassandra.ingest import IngestError, IngestReport
from cassandra.query import UNSET_VALUE
from cassandra.testing import SimulatedCluster
from cassandra.util import Date, Duration, Time

#: A column of each type, with values of Python in the forms that a program may have them in. All of a row are equal.
FORMS: dict[str, list[list[Any]]] = {
    "tinyint": [[7, 7.0, "7", np.int64(7), np.float32(7), Decimal("7.0")]],
    "smallint": [[-300, "-300"]],
    "int": [[2**31 - 1, float(2**31 - 1), "2147483647"]],
    "bigint": [[-(2**63), "-9223372036854775808", -(2.0**63)]],
    "varint": [[10**30, "1" + "0" * 30, Decimal(10**30)]],
    "float": [[0.1, np.float64(0.1), "0.1"]],
    "double": [[1.5, "1.5", np.float32(1.5), np.int8(0) + 1.5], [3.0, 3, "3"]],
    "boolean": [[True, np.bool_(True), "true", "True"], [False, "FALSE"]],
    "text": [["grüße", np.str_("grüße")]],
    "ascii": [["plain"]],
    "blob": [[b"\0\xff", bytearray(b"\0\xff"), memoryview(b"\0\xff")]],
    "decimal": [[Decimal("1.50"), "1.50"], [Decimal(7), 7, "7"]],
    "uuid": [[uuid.UUID(int=5), str(uuid.UUID(int=5)), uuid.UUID(int=5).hex, uuid.UUID(int=5).bytes]],
    "timeuuid": [[(u := uuid.uuid1()), str(u)]],
    "inet": [["10.0.0.1", ipaddress.ip_address("10.0.0.1"), b"\x0a\0\0\1"]],
    "timestamp": [
        [
            datetime.datetime(2024, 2, 29, 12, 30, 1, 5000),
            datetime.datetime(2024, 2, 29, 14, 30, 1, 5000, datetime.timezone(datetime.timedelta(hours=2))),
            "2024-02-29T12:30:01.005Z",
            "2024-02-29 14:30:01.005+0200",
            pd.Timestamp("2024-02-29 12:30:01.005"),
            pd.Timestamp("2024-02-29 13:30:01.005", tz="Europe/Berlin"),
            np.datetime64("2024-02-29T12:30:01.005"),
        ],
        [datetime.datetime(2024, 2, 29), datetime.date(2024, 2, 29), "2024-02-29", np.datetime64("2024-02-29")],
        [datetime.datetime(1, 1, 1), "0001-01-01"],
    ],
    "date": [
        [
            datetime.date(2024, 2, 29),
            "2024-02-29",
            datetime.datetime(2024, 2, 29),
            pd.Timestamp("2024-02-29"),
            np.datetime64("2024-02-29"),
            Date("2024-02-29"),
            "2024-02-29T00:00:00Z",
        ],
        [Date(-1000000), "-0768-02-04"],
    ],
    "time": [[datetime.time(23, 59, 59, 1), "23:59:59.000001", Time("23:59:59.000001")]],
    "duration": [
        [
            Duration(0, 0, 1500),
            datetime.timedelta(microseconds=1.5e0) and pd.Timedelta(1500),
            np.timedelta64(1500, "ns"),
        ],
        [Duration(0, 0, 5 * 10**9), datetime.timedelta(seconds=5), np.timedelta64(5, "s")],
    ],
    "list<int>": [[[1, 2], (1, 2), np.array([1, 2]), [1.0, "2"], pd.Series([1, 2])], [[]]],
    "set<text>": [[{"a"}, ["a"], ("a",), frozenset({"a"})]],
    "map<text, int>": [[{"a": 1, "b": 2}, [("a", 1), ("b", 2)], {"a": 1.0, "b": "2"}]],
    "frozen<tuple<int, text>>": [[(1, "x"), [1, "x"], (1.0, "x")], [(None, "x")]],
    "vector<float, 3>": [
        [[0.5, 1.5, 0.1], (0.5, 1.5, 0.1), np.array([0.5, 1.5, 0.1]), np.array([0.5, 1.5, 0.1], "f4")]
    ],
    "vector<int, 2>": [[[1, 2], np.array([1, 2], "i8"), np.array([1.0, 2.0])]],
    "frozen<place>": [
        [
            {"street": "s", "zip": 5},
            {"zip": 5.0, "street": "s"},
            namedtuple("place", "street zip")("s", 5),
            dataclasses.make_dataclass("Place", ["zip", "street"])(5, "s"),
            ("s", 5),
        ],
        [{"street": None, "zip": 5}, {"zip": 5}],
    ],
    "list<frozen<map<text, timestamp>>>": [
        [[{"a": datetime.datetime(2024, 1, 1)}], [{"a": "2024-01-01"}], [[("a", datetime.date(2024, 1, 1))]]]
    ],
}


@pytest.fixture(scope="module", autouse=True)
def threads_of_libraries(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Libraries keep descriptors of threads that they start with the first query."""
    path = tmp_path_factory.mktemp("first") / "x.parquet"
    pl.DataFrame({"id": [1]}).write_parquet(path)
    for frame in (pl.scan_parquet(path).filter(pl.col("id") >= 0), pl.LazyFrame({"id": [1]})):
        assert list(frame.collect_batches())


@pytest.fixture
def table(few: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TYPE ks.place (street text, zip int)")
    for name in ("t", "twin"):
        columns = ", ".join(f"c{i} {cql}" for i, cql in enumerate(FORMS))
        simulated.execute(f"CREATE TABLE ks.{name} (id int PRIMARY KEY, {columns})")
    few.cluster.refresh_schema_metadata()
    return few


@pytest.fixture
def few(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TABLE ks.few (id int PRIMARY KEY, name text, big bigint, real double, at timestamp)")
    session.cluster.refresh_schema_metadata()
    return session


def blocking(session: Session, table: str, data: Any, **options: Any) -> IngestReport:
    return session.ingest(table, data, **options)


def awaiting(session: Session, table: str, data: Any, **options: Any) -> IngestReport:
    return asyncio.run(session.ingest_async(table, data, **options))


@pytest.fixture(params=[blocking, awaiting], ids=["blocking", "awaiting"])
def ingest(request: pytest.FixtureRequest) -> Callable[..., IngestReport]:
    found: Callable[..., IngestReport] = request.param
    return found


def values_in(session: Session, table: str = "few") -> list[Any]:
    return sorted(map(tuple, session.execute(f"SELECT * FROM ks.{table}")), key=repr)


def written(session: Session, table: str, column: str) -> list[str]:
    """The values of a column, by id, as exact as their repr."""
    found = {row[0]: repr(row[1]) for row in session.execute(f"SELECT id, {column} FROM ks.{table}")}
    return [found[at] for at in sorted(found)]


SOURCES: dict[str, Callable[[str, list[Any]], Any]] = {
    "rows": lambda name, values: [{"id": i, name: value} for i, value in enumerate(values)],
    "iterator of rows": lambda name, values: ({"id": i, name: value} for i, value in enumerate(values)),
    "columns": lambda name, values: {"id": range(len(values)), name: values},
    "array of objects": lambda name, values: {"id": list(range(len(values))), name: _objects(values)},
    "pandas": lambda name, values: pd.DataFrame({"id": range(len(values)), name: pd.Series(values, dtype=object)}),
    "polars": lambda name, values: pl.DataFrame({"id": range(len(values)), name: pl.Series(values, dtype=pl.Object)}),
}


def _objects(values: list[Any]) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_objects_are_stored_as_the_session_stores_the_same_values(table: Session, source: str) -> None:
    for at, (cql, groups) in enumerate(FORMS.items()):
        name = f"c{at}"
        insert = table.prepare(f"INSERT INTO ks.twin (id, {name}) VALUES (?, ?)")
        forms = [(form, group[0]) for group in groups for form in group]
        if source in ("array of objects", "polars"):
            arrays = (np.ndarray, pd.Series, memoryview)
            forms = [(form, value) for form, value in forms if not isinstance(form, arrays)]
        for row, (_, value) in enumerate(forms):
            table.execute(insert, (row, value))
        report = table.ingest("ks.t", SOURCES[source](name, [form for form, _ in forms]))
        assert report.rows == len(forms), cql
        assert written(table, "t", name) == written(table, "twin", name), cql
        for twin in ("t", "twin"):
            table.execute(f"TRUNCATE ks.{twin}")


REFUSED: dict[str, list[tuple[Any, str]]] = {
    "tinyint": [(128, "out of range"), (1.5, "not an integer: round it"), (True, "expected an integer, not bool")],
    "int": [("1.0", "not an integer"), (float("inf"), "not an integer"), ([1], "an int"), (Decimal("0.5"), "round it")],
    "float": [
        (1e39, "out of range"),
        (2**24 + 1, "not exact"),
        ("1e39", "out of the range"),
        ("1e-60", "out of the range"),
        (10**50, "not exact"),
        (True, "expected a float"),
    ],
    "double": [
        (2**53 + 1, "not exact"),
        (Fraction(1, 3), "not exact"),
        (Decimal("0.1"), "expected a float, not Decimal"),
        ("1e-400", "out of the range"),
    ],
    "boolean": [(1, "expected a bool, not int"), ("1", "not true or false")],
    "text": [(5, "text needs a str, not int"), ("a\ud800", "lone surrogate")],
    "ascii": [("ü", "is not ASCII")],
    "blob": [("text", "expected bytes, not str"), ([1, 2], "expected bytes, not list")],
    "decimal": [
        (0.1, "expected a Decimal, an int or a str"),
        ("NaN", "not a decimal number"),
        ("1_0", "not a decimal"),
    ],
    "uuid": [("5", "not a UUID"), (5, "needs a uuid.UUID"), (b"123", "16")],
    "inet": [("example.org", "not an IP address"), (5, "inet needs")],
    "timestamp": [
        (datetime.datetime(2024, 1, 1, 0, 0, 0, 1), 'use round="floor" or round="nearest"'),
        (pd.Timestamp(1), "fractions of a millisecond"),
        (5, "expected a datetime, a date or a str in ISO 8601, not int"),
        ("yesterday", "such as 2024-12-31T23:59:59Z"),
        ("2024-02-30", "day"),
    ],
    "date": [
        (datetime.datetime(2024, 1, 1, 1), "not a whole day"),
        ("2024-01-01T00:00+01:00", "another zone"),
        (datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), "another zone"),
        (5, "expected a date"),
    ],
    "time": [("24:00", "hour"), (5, "expected a time"), (datetime.time(tzinfo=datetime.timezone.utc), "zone")],
    "duration": [(5, "needs a cassandra.util.Duration"), (Duration(1, -1, 0), "the same sign")],
    "list<int>": [
        ("12", "expected a list, not str"),
        ({1: 2}, "expected a list, not dict"),
        ([1, 2**40], "out of range"),
    ],
    "map<text, int>": [("ab", "expected a dict"), ([1], "list of pairs"), ({"a": 0.5}, "not an integer")],
    "frozen<tuple<int, text>>": [((1, "a", 2), "has 3 fields, the type 2"), ({1, 2}, "expected a tuple")],
    "vector<float, 3>": [([1.0], "Expected sequence of size 3"), ({1.0, 2.0, 3.0}, "order"), ([None] * 3, "null")],
    "frozen<place>": [
        ({"zap": 1}, "no field 'zap'"),
        (("s", 1, 2), "has 3 fields, the type 2"),
        ({"zip": "x"}, "integer"),
    ],
}


def test_values_that_would_change_are_refused(table: Session) -> None:
    for cql, cases in REFUSED.items():
        name = f"c{list(FORMS).index(cql)}"
        for value, why in cases:
            report = table.ingest("ks.t", [{"id": 7, name: None}, {"id": 8, name: value}], on_error="collect")
            assert (report.rows, list(report.errors)) == (1, [1]), value
            text = str(report.errors[1])
            assert text.startswith(f"column '{name}' ({_bare(cql)}), row 1: ") and why in text, text
    assert table.execute("SELECT count(*) FROM ks.t").one()[0] == 1


def _bare(cql: str) -> str:
    return cql.replace("frozen<place>", "place").replace("frozen<tuple<int, text>>", "tuple<int, text>")


# ---- pandas


def test_integers_with_gaps(few: Session) -> None:
    frame = pd.DataFrame({"id": [1.0, 2.0], "big": [5.0, None], "real": [None, 0.5], "name": ["a", None]})
    few.ingest("ks.few", frame)
    assert values_in(few) == [(1, None, 5, "a", None), (2, None, None, None, 0.5)]
    with pytest.raises(IngestError, match=r"column 'big' \(bigint\), row 1: 0.5 is not an integer"):
        few.ingest("ks.few", pd.DataFrame({"id": [1, 2], "big": [1.0, 0.5]}))


def test_nullable_and_other_types_of_pandas(table: Session) -> None:
    frame = pd.DataFrame(
        {
            "id": pd.array([1, 2], "Int64"),
            "c7": pd.array([True, None], "boolean"),
            "c8": pd.Series(["a", None], dtype="string"),
            "c6": pd.array([0.5, None], "Float64"),
            "c2": pd.arrays.SparseArray([0, 5]),
            "c9": pd.Series(["x", None], dtype="category"),
            "c11": pd.Series([Decimal("1.5"), Decimal("1.25")], dtype="category"),
            "c15": pd.Series(["2024-01-01T00:00:00.005", None], dtype="datetime64[ns]").dt.tz_localize("Europe/Berlin"),
            "c18": pd.Series([1500, None], dtype="timedelta64[ns]"),
            "c19": pd.Series([[1], None]),
            "c12": pd.Series([uuid.UUID(int=5), pd.NA]),
            "c16": pd.Series([datetime.date(2024, 1, 1), pd.NaT], dtype=object),
        }
    )
    table.ingest("ks.t", frame)
    names = ["id", "c7", "c8", "c6", "c2", "c9", "c11", "c15", "c18", "c19", "c12", "c16"]
    assert sorted(map(tuple, table.execute(f"SELECT {', '.join(names)} FROM ks.t"))) == [
        (1, True, "a", 0.5, 0, "x", Decimal("1.5"), datetime.datetime(2023, 12, 31, 23, 0, 0, 5000),
         Duration(0, 0, 1500), [1], uuid.UUID(int=5), Date("2024-01-01")),
        (2, None, None, None, 5, None, Decimal("1.25"), None, None, None, None, None),
    ]  # fmt: skip


def test_timestamps_of_nanoseconds(few: Session) -> None:
    at = pd.to_datetime(["2024-01-01T00:00:00.001500", "2024-01-01T00:00:00.0025001"], format="ISO8601")
    frame = pd.DataFrame({"id": [1, 2], "at": at}, index=["a", "b"])
    with pytest.raises(IngestError, match=r"column 'at' \(timestamp\), row 0: .*round=\"floor\".*index 'a'"):
        few.ingest("ks.few", frame)
    for rounding, expected in (("floor", [1, 2]), ("nearest", [2, 3])):
        few.ingest("ks.few", frame, round=rounding)
        assert [row[1].microsecond // 1000 for row in values_in(few)] == expected
        few.ingest("ks.few", [{"id": i, "at": moment} for i, moment in zip((1, 2), at, strict=True)], round=rounding)
        assert [row[1].microsecond // 1000 for row in values_in(few)] == expected
        few.ingest("ks.few", {"id": [1, 2], "at": [str(moment) for moment in at]}, round=rounding)
        assert [row[1].microsecond // 1000 for row in values_in(few)] == expected


def test_missing_values_within_objects(table: Session) -> None:
    rows = [{"id": i, "c25": {"zip": gone}} for i, gone in enumerate([None, pd.NA, pd.NaT, float("nan")])]
    table.ingest("ks.t", rows)
    assert [row.c25.zip for row in table.execute("SELECT c25 FROM ks.t")] == [None] * 4
    rows = [{"id": 1, "c22": (np.datetime64("NaT", "ms"), "x")}, {"id": 2, "c24": [pd.NA, pd.NA]}]
    report = table.ingest("ks.t", rows, on_error="collect")
    assert list(report.errors) == [1] and "the elements of a vector cannot be null" in str(report.errors[1])
    assert table.execute("SELECT c22 FROM ks.t WHERE id = 1").one() == ((None, "x"),)


def test_errors_name_the_index_of_pandas(few: Session, ingest: Callable[..., IngestReport]) -> None:
    index = pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)])
    frame = pd.DataFrame({"id": [1, 2, 3], "big": [1.0, 1.5, 2**70]}, index=index)
    report = ingest(few, "ks.few", frame, on_error="collect")
    assert report.rows == 1
    assert str(report.errors[1]).endswith("(index ('x', 2))") and str(report.errors[2]).endswith("(index ('y', 1))")
    objects = pd.DataFrame({"id": [1, 2], "big": ["1", []]}, index=["a", "b"])
    report = ingest(few, "ks.few", [frame, objects], on_error="collect")
    assert str(report.errors[4]).startswith("column 'big' (bigint), row 4: []")
    assert str(report.errors[4]).endswith("(index 'b')")


def test_an_index_with_a_name_is_a_column(few: Session) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    few.ingest("ks.few", frame[frame.id > 1])
    few.ingest("ks.few", frame[:1].set_index("id"))
    assert [(row[0], row[3]) for row in values_in(few)] == [(1, "a"), (2, "b"), (3, "c")]
    by_two = frame.assign(big=7).set_index(["big", "id"])
    few.ingest("ks.few", by_two)
    assert {row[2] for row in values_in(few)} == {7}
    with pytest.raises(ValueError, match="column 'other': the table has no such column"):
        few.ingest("ks.few", frame.rename_axis("other"))
    few.ingest("ks.few", frame.rename_axis("other"), columns=["id", "name"])


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "several columns 'id'"),
        (pd.DataFrame({"id": [1]}, index=pd.Index([1], name="id")), "reset_index"),
        (pd.DataFrame([[1]], columns=[5]), "names of columns must be str"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("id", "x")])), "columns of 2 levels"),
        (pd.DataFrame({"id": [1], "big": pd.period_range("2024", periods=1)}), "pandas.period"),
        (pd.DataFrame({"id": [1], "big": [1j]}), "column 'big'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_frames_that_are_refused(few: Session, frame: pd.DataFrame, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        few.ingest("ks.few", frame)
    assert values_in(few) == []


def test_empty_data(few: Session, ingest: Callable[..., IngestReport]) -> None:
    for data in (
        pd.DataFrame({"id": [], "name": []}),
        pd.DataFrame({"id": pd.Series([], dtype=object)}),
        pl.DataFrame({"id": [], "name": []}),
        pl.DataFrame({"id": []}).lazy(),
        {"id": [], "name": []},
        [],
        iter([]),
        [[]],
        pa.table({"id": pa.array([], pa.null())}),
    )[:-2]:
        assert ingest(few, "ks.few", data).rows == 0
    nothing = {"id": [1, 2], "name": [None, None], "big": np.array([None, None], object), "at": pd.Series([None, None])}
    assert ingest(few, "ks.few", nothing).rows == 2
    assert values_in(few) == [(1, None, None, None, None), (2, None, None, None, None)]


def test_many_objects_in_slices(few: Session, ingest: Callable[..., IngestReport]) -> None:
    count = 2500
    for data in (
        {"id": np.arange(count), "name": [f"n{i}" for i in range(count)], "big": [Decimal(i) for i in range(count)]},
        pd.DataFrame(
            {"id": range(count), "name": [f"n{i}" for i in range(count)], "big": [Decimal(i) for i in range(count)]}
        ),
        ({"id": i, "name": f"n{i}", "big": i} for i in range(count)),
    ):
        few.execute("TRUNCATE ks.few")
        assert ingest(few, "ks.few", data).rows == count
        assert sorted((row[0], row[2], row[3]) for row in values_in(few)) == [(i, i, f"n{i}") for i in range(count)]


# ---- rows

Few = namedtuple("Few", "id name big")


@dataclasses.dataclass
class Item:
    id: int
    name: str | None
    big: int = 5


ROWS: dict[str, Callable[[], Any]] = {
    "mappings": lambda: [{"id": 1, "name": "a", "big": 5}, {"name": None, "big": 5, "id": 2}],
    "mappings with gaps": lambda: [{"id": 1, "name": "a", "big": 5}, {"big": 5, "id": 2}],
    "named tuples": lambda: [Few(1, "a", 5), Few(2, None, 5)],
    "data classes": lambda: [Item(1, "a"), Item(2, None)],
    "lists of rows": lambda: iter([[{"id": 1, "name": "a", "big": 5}], [Few(2, None, 5)]]),
    "of sqlite": lambda: _of_sqlite(),
    "mixed": lambda: [{"id": 1, "name": "a", "big": 5}, pa.table({"id": [2], "name": [None], "big": [5]})],
}


def _of_sqlite() -> Iterator[Any]:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    try:
        yield from connection.execute("SELECT 1 AS id, 'a' AS name, 5 AS big UNION SELECT 2, NULL, 5")
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ROWS)
def test_rows(few: Session, ingest: Callable[..., IngestReport], kind: str) -> None:
    assert ingest(few, "ks.few", ROWS[kind]()).rows == 2
    assert values_in(few) == [(1, None, 5, "a", None), (2, None, 5, None, None)]


def test_rows_without_names(few: Session, ingest: Callable[..., IngestReport]) -> None:
    rows = [(1, "a"), [2, None], (3,)]
    with pytest.raises(TypeError, match="a row is a tuple without names: use columns="):
        ingest(few, "ks.few", rows)
    report = ingest(few, "ks.few", rows, columns=["id", "name"], on_error="collect")
    assert str(report.errors[2]) == "row 2: it has 1 values for the 2 columns"
    assert [(row[0], row[3]) for row in values_in(few)] == [(1, "a"), (2, None)]


def test_rows_with_a_new_column(few: Session) -> None:
    rows = [{"id": i} for i in range(1024)] + [{"id": 2000, "name": "x"}, {"id": 2001}]
    report = few.ingest("ks.few", rows, on_error="collect")
    assert report.rows == 1025
    assert "row 1024: it has a column 'name', which no row of the first batch has: use columns=" in str(
        report.errors[1024]
    )
    assert few.ingest("ks.few", rows, columns=["id", "name"]).rows == 1026


TAGS = "CREATE TABLE ks.tags (k frozen<list<text>>, m frozen<map<text, int>>, v int, PRIMARY KEY (k, m))"


def test_rows_whose_values_are_all_collections(
    simulated: SimulatedCluster, session: Session, ingest: Callable[..., IngestReport]
) -> None:
    """A row of lists is a row, also if its other columns are null."""
    simulated.execute(TAGS)
    session.cluster.refresh_schema_metadata()
    try:
        pairs, none = [("x", 1)], [("y", 2)]
        rows = [{"k": ["a"], "m": pairs, "v": 1}, {"k": ["b"], "m": none}, {"m": [], "k": ["c", "d"]}]
        assert ingest(session, "ks.tags", rows, columns=["k", "m", "v"]).rows == 3
        assert ingest(session, "ks.tags", [[[], {"z": 3}]], columns=["k", "m"]).rows == 1
        assert ingest(session, "ks.tags", iter([{"k": [["g"], ["h"]], "m": [{}, {}], "v": [8, 9]}])).rows == 2
        found = {tuple(row.k): (dict(row.m), row.v) for row in session.execute("SELECT k, m, v FROM ks.tags")}
        assert found == {
            ("a",): ({"x": 1}, 1),
            ("b",): ({"y": 2}, None),
            ("c", "d"): ({}, None),
            (): ({"z": 3}, None),
            ("g",): ({}, 8),
            ("h",): ({}, 9),
        }
    finally:
        simulated.execute("DROP TABLE ks.tags")


def test_unset_values(few: Session) -> None:
    few.ingest("ks.few", [{"id": 1, "name": "a", "big": 5}])
    few.ingest("ks.few", [{"id": 1, "name": UNSET_VALUE, "big": None}])
    assert values_in(few) == [(1, None, 5, "a", None)]
    with pytest.raises(IngestError, match='UNSET_VALUE needs nulls="unset"'):
        few.ingest("ks.few", [{"id": 1, "name": UNSET_VALUE}], nulls="null")
    few.ingest("ks.few", [{"id": 1, "name": None}], nulls="null")
    assert values_in(few) == [(1, None, 5, None, None)]


def test_asynchronous_rows_are_sent_without_waiting_for_others(few: Session) -> None:
    async def run() -> None:
        arrived = asyncio.Event()

        async def rows() -> AsyncIterator[Any]:
            yield {"id": 1, "name": "a"}
            yield {"id": 2, "name": "b"}
            await arrived.wait()
            yield {"id": 3, "name": "c"}

        task = asyncio.create_task(few.ingest_async("ks.few", rows()))
        while len(values_in(few)) < 2:
            await asyncio.sleep(0.01)
        arrived.set()
        assert (await task).rows == 3

    asyncio.run(run())


# ---- files


def _few() -> pa.Table:
    return pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "name": ["a,\nb", None],
            "big": [5, None],
            "real": [None, 0.1],
            "at": pa.array([datetime.datetime(2024, 1, 1), None], pa.timestamp("ms")),
        }
    )


def _write(path: Path, table: pa.Table) -> None:
    if path.suffix in (".parquet", ".pq"):
        pa.parquet.write_table(table, path)
    elif path.suffix in (".arrow", ".feather"):
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".ipc":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    else:
        options = pa.csv.WriteOptions(delimiter="\t" if ".tsv" in path.suffixes else ",")
        with pa.output_stream(path) as out:
            pa.csv.write_csv(table, out, options)


@pytest.mark.parametrize(
    "name", ["x.parquet", "x.pq", "x.arrow", "x.feather", "x.ipc", "x.csv", "x.tsv", "x.csv.gz", "X.CSV"]
)
def test_files(few: Session, ingest: Callable[..., IngestReport], tmp_path: Path, name: str) -> None:
    _write(tmp_path / name, _few())
    expected = [(1, datetime.datetime(2024, 1, 1), 5, "a,\nb", None), (2, None, None, None, 0.1)]
    for path in (tmp_path / name, str(tmp_path / name), [tmp_path / name], str(tmp_path / "[xX].*")):
        few.execute("TRUNCATE ks.few")
        assert ingest(few, "ks.few", path).rows == 2
        assert values_in(few) == expected


def test_several_files(few: Session, tmp_path: Path) -> None:
    for at in range(3):
        _write(tmp_path / f"part-{at}.csv", pa.table({"id": [at], "big": [str(at) if at < 2 else "x"]}))
    with pytest.raises(IngestError, match=rf"row 2: 'x' is not an integer \(row 0 of {tmp_path}/part-2.csv\)"):
        few.ingest("ks.few", tmp_path / "part-*.csv")
    assert [(row[0], row[2]) for row in values_in(few)] == [(0, 0), (1, 1)]


def test_csv_of_odd_content(few: Session, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id,name,big,real\n1,"",,\n2,007,7,NaN\n3,null,-0,inf\n')
    few.ingest("ks.few", path)
    rows = {row[0]: row[2:] for row in values_in(few)}
    assert rows[1] == (None, "", None) and rows[2][:2] == (7, "007") and rows[3] == (0, "null", float("inf"))
    path.write_text("id,name\n")
    assert few.ingest("ks.few", path).rows == 0
    path.write_text("")
    assert few.ingest("ks.few", path).rows == 0
    path.write_text("id,name\n1\n")
    with pytest.raises(ValueError, match=r"x\.csv: .*Expected 2 columns, got 1"):
        few.ingest("ks.few", path)


@pytest.mark.parametrize(
    ("path", "error", "why"),
    [
        ("nowhere.csv", FileNotFoundError, "no such file"),
        ("*.parquet", FileNotFoundError, "no files match"),
        ("rows.xlsx", ValueError, "the format is unknown"),
        ("rows", ValueError, "the format is unknown"),
        (".", IsADirectoryError, "use a pattern"),
    ],
)
def test_paths_that_are_refused(few: Session, tmp_path: Path, path: str, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        few.ingest("ks.few", tmp_path / path)


# ---- lazy sources


def test_a_lazy_frame_is_read_in_batches(few: Session, ingest: Callable[..., IngestReport], tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": range(1000), "big": range(1000)})
    frame.write_parquet(tmp_path / "x.parquet")
    for lazy in (frame.lazy(), pl.scan_parquet(tmp_path / "x.parquet").filter(pl.col("id") >= 0)):
        few.execute("TRUNCATE ks.few")
        assert ingest(few, "ks.few", lazy).rows == 1000
        assert [row[2] for row in sorted(values_in(few))] == list(range(1000))
