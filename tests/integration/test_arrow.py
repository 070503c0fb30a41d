"""Every type from a real server into Arrow, beside the rows of the same result."""

from __future__ import annotations

import asyncio
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from cassandra._core.codec import Codec
from cassandra.cluster import ResultSet, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import tuple_factory
from tests.property.arrow_values import values_of

from .test_numpy_handler import VALUES as LITERALS

pytestmark = pytest.mark.server

ROWS = 3000
#: Column type: a literal. Nested collections, and types with limits of their own.
VALUES = LITERALS | {
    "map<int, frozen<list<text>>>": "{1: ['a', 'b'], 2: []}",
    "list<frozen<map<text, frozen<set<int>>>>>": "[{'a': {1, 2}}, {}]",
    "tuple<int, frozen<tuple<text, double>>, frozen<list<uuid>>>": "(1, ('x', 2.5), [])",
    "list<frozen<address>>": "[{street: 's', number: null}, {street: null, number: 2}]",
    "vector<text, 2>": "['a', 'longer than twelve bytes']",
    "vector<frozen<list<int>>, 2>": "[[1], [2, 3]]",
    "vector<vector<float, 2>, 2>": "[[1, 2], [3, 4]]",
    "map<timeuuid, frozen<tuple<date, time, timestamp>>>": (
        "{50554d6e-29bb-11e5-b345-feff819cdc9f: ('1969-12-31', '23:59:59.999999999', -1)}"
    ),
    "set<inet>": "{'10.0.0.1', '::1'}",
    "list<varint>": "[-123456789012345678901234567890, 0, 255]",
    "list<decimal>": "[1.50, -1E+30, 0.000]",
    "list<duration>": "[1mo2d3ns, -1y]",
}
COLUMNS = {f"c{i}": cql_type for i, cql_type in enumerate(VALUES)}
NAMES = ", ".join(COLUMNS)


@pytest.fixture(scope="module")
def tables(session: Session) -> None:
    session.execute("CREATE TYPE address (street text, number int)")
    described = ", ".join(f"{name} {cql_type}" for name, cql_type in COLUMNS.items())
    session.execute(f"CREATE TABLE every (k int, c int, {described}, PRIMARY KEY (k, c))")
    session.execute(f"INSERT INTO every (k, c, {NAMES}) VALUES (0, 0, {', '.join(VALUES.values())})")
    session.execute("INSERT INTO every (k, c) VALUES (0, 1)")  # all null
    for at, (name, literal) in enumerate(zip(COLUMNS, VALUES.values(), strict=True)):  # each alone
        session.execute(f"INSERT INTO every (k, c, {name}) VALUES (0, {at + 2}, {literal})")
    session.execute("CREATE TABLE readings (k int, c int, v double, note text, PRIMARY KEY (k, c))")
    insert = session.prepare("INSERT INTO readings (k, c, v, note) VALUES (0, ?, ?, ?)")
    rows = [(i, None if i % 10 == 0 else i / 2, f"the note of the row number {i}") for i in range(ROWS)]
    execute_concurrent_with_args(session, insert, rows, raise_on_first_error=True)
    session.execute("CREATE TABLE counts (k int PRIMARY KEY, n counter)")
    session.execute("UPDATE counts SET n = n + 4 WHERE k = 1")


@pytest.fixture
def tuples(session: Session, tables: None, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(session, "row_factory", tuple_factory)
    return session


def codecs(result: ResultSet) -> list[Codec]:
    plan: Any = result._plan
    return list(plan.codecs)


def plain(value: Any, is_ordered: bool) -> Any:
    """Lists for collections of any class; sets of rows have an order of their own."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return [(plain(key, is_ordered), plain(item, is_ordered)) for key, item in value.items()]
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return value
    items = [plain(item, is_ordered) for item in value]
    if isinstance(value, tuple):
        return tuple(items)
    return items if is_ordered else sorted(items, key=repr)


@pytest.mark.parametrize("prepared", [False, True], ids=["simple", "prepared"])
@pytest.mark.parametrize("fetch_size", [1, 7, 5000])
def test_every_type(tuples: Session, fetch_size: int, prepared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuples, "default_fetch_size", fetch_size)
    query = f"SELECT {NAMES} FROM every WHERE k = 0"
    statement: Any = tuples.prepare(query) if prepared else query
    rows = tuples.execute(statement).all()
    assert len(rows) == len(COLUMNS) + 2
    result = tuples.execute(statement)
    kinds = codecs(result)
    table = pa.table(result).combine_chunks()
    table.validate(full=True)
    for i, codec in enumerate(kinds):
        column = table.column(i).chunk(0)
        is_ordered = "set<" not in codec.cql()
        for found, row in zip(values_of(codec, column), rows, strict=True):
            assert plain(found, is_ordered) == plain(row[i], is_ordered), codec.cql()
        assert column.null_count == len(rows) - 2


def test_counters_and_results_of_no_rows(tuples: Session) -> None:
    assert pa.table(tuples.execute("SELECT n FROM counts WHERE k = 1")).to_pydict() == {"n": [4]}
    empty = pa.table(tuples.execute(f"SELECT {NAMES} FROM every WHERE k = 1"))
    assert (empty.num_rows, empty.column_names) == (0, list(COLUMNS))
    with pytest.raises(TypeError, match="it has no rows"):
        tuples.execute("INSERT INTO every (k, c) VALUES (2, 1)").to_arrow()


@pytest.mark.parametrize("strings", ["utf8", "view", "dictionary"])
@pytest.mark.parametrize("fetch_size", [100, 5000])
def test_texts(tuples: Session, strings: Any, fetch_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuples, "default_fetch_size", fetch_size)
    rows = tuples.execute("SELECT c, v, note FROM readings WHERE k = 0").all()
    table = tuples.execute("SELECT c, v, note FROM readings WHERE k = 0").to_arrow(strings=strings)
    table.validate(full=True)
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == rows


def test_other_libraries(tuples: Session) -> None:
    query = "SELECT c, v, note FROM readings WHERE k = 0"
    rows = tuples.execute(query).all()
    assert pl.DataFrame(tuples.execute(query)).rows() == rows
    connection = duckdb.connect()
    connection.register("readings", tuples.execute(query))
    assert connection.sql("SELECT count(*), sum(v) FROM readings").fetchall() == [
        (ROWS, sum(v for _, v, _ in rows if v is not None))
    ]
    frame = tuples.execute(query).to_pandas()
    assert frame["note"].tolist() == [note for _, _, note in rows] and frame["v"].count() == ROWS * 9 // 10
    assert tuples.execute(query).to_numpy()["c"].tolist() == list(range(ROWS))


def test_asyncio(tuples: Session) -> None:
    async def read() -> int:
        result = await tuples.execute_async("SELECT c, note FROM readings WHERE k = 0")
        return sum([len(batch) async for batch in result.arrow(target_rows=500)])

    assert asyncio.run(read()) == ROWS
