"""Every CQL type out of a real server into Arrow, by ``session.ingest`` into another table, and back: the same values,
and the tokens that the server has for the keys."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid1

import pyarrow as pa
import pytest

from cassandra.cluster import Session
from cassandra.query import tuple_factory
from tests.integration.test_types_roundtrip import SCALARS, same

pytestmark = pytest.mark.server

ADDRESSES = [("street", 12345), (None, 1), ("", None)]
NESTED: dict[str, list[Any]] = {
    "list<int>": [[1, -1], [2**31 - 1]],
    "set<text>": [{"b", "a"}, {"é", ""}],
    "map<text, frozen<list<int>>>": [{"k": [1, 2], "l": []}, {"": [3]}],
    "frozen<map<int, text>>": [{}, {-1: "a", 1: "b"}],
    "tuple<int, text, frozen<tuple<uuid, inet>>>": [(1, None, None), (None, "t", (UUID(int=7), "::1"))],
    "address": ADDRESSES,
    "frozen<list<frozen<address>>>": [ADDRESSES, []],
    "vector<float, 3>": [[0.5, -1.5, 0.0], [1.0, 2.0, 3.0]],
    "vector<text, 2>": [["", "a"], ["é" * 50, "b"]],
    "vector<frozen<list<int>>, 2>": [[[1], []], [[2, 3], [4]]],
}
TYPES = {**SCALARS, **NESTED}
NAMES = [f"c{i}" for i in range(len(TYPES))]
#: A key of two parts and a clustering column, and rows without any value.
KEYS = [(i % 3, f"key {i}", uuid1()) for i in range(2 + max(map(len, TYPES.values())))]


def create(session: Session, table: str) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, TYPES, strict=True))
    session.execute(f"CREATE TABLE {table} (a int, b text, at timeuuid, {columns}, PRIMARY KEY ((a, b), at))")


def read(session: Session, table: str) -> list[Any]:
    select = f"SELECT a, b, at, {', '.join(NAMES)} FROM {table}"
    return sorted((tuple(row) for row in session.execute(select)), key=lambda row: row[1:3])


@pytest.fixture(scope="module")
def tables(session: Session) -> tuple[str, str]:
    session.execute("CREATE TYPE address (street text, zip int)")
    for table in ("given", "taken"):
        create(session, table)
    marks = ", ".join("?" * (3 + len(NAMES)))
    insert = session.prepare(f"INSERT INTO given (a, b, at, {', '.join(NAMES)}) VALUES ({marks})")
    for i, key in enumerate(KEYS):
        last = i >= len(KEYS) - 2
        session.execute(insert, (*key, *[None if last else values[i % len(values)] for values in TYPES.values()]))
    return "given", "taken"


@pytest.mark.parametrize("strings", ["utf8", "view", "dictionary"])
def test_ingested_arrow_columns_are_read_back_unchanged(
    session: Session, tables: tuple[str, str], strings: Any
) -> None:
    given, taken = tables
    session.execute(f"TRUNCATE {taken}")
    data = pa.table(session.execute(f"SELECT * FROM {given}").arrow(strings=strings))
    report = session.ingest(taken, data)
    assert (report.rows, report.errors) == (len(KEYS), {})
    expected, found = read(session, given), read(session, taken)
    assert len(expected) == len(KEYS)
    assert same(found, expected)
    again = pa.table(session.execute(f"SELECT * FROM {taken}").arrow(strings=strings))
    assert again.schema == data.schema
    for name in data.schema.names:  # in the same order, which is that of the tokens
        one, other = again.column(name), data.column(name)
        floats = pa.types.is_floating(one.type)  # among them NaN
        assert repr(one.to_pylist()) == repr(other.to_pylist()) if floats else one.equals(other)


def test_tokens_are_those_of_the_server(session: Session, tables: tuple[str, str]) -> None:
    from cassandra._core.columns import IngestPlan

    rows = session.execute(f"SELECT a, b FROM {tables[0]}")
    insert = session.prepare(f"INSERT INTO {tables[1]} (b, a, at) VALUES (?, ?, now())")
    specs = [(name, codec) for _, _, name, codec in insert._bind_plan.specs]
    plan = IngestPlan(specs, partition_key=["a", "b"])
    (batch,) = pa.table(rows).to_batches()
    schema, array = batch.__arrow_c_array__()
    encoded = plan.reader(schema).rows(array)
    session.row_factory = tuple_factory
    tokens = dict(session.execute(f"SELECT b, token(a, b) FROM {tables[0]}").all())
    assert len(tokens) == len(KEYS)
    assert {key.as_py(): encoded.encode(i)[1] for i, key in enumerate(batch.column("b"))} == tokens
