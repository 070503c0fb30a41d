"""Rows of one ingest whose keys are equal to the server though their bytes differ: the last one stays."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cassandra.cluster import Session

pytestmark = pytest.mark.server

D = Decimal
LIST = pa.list_(pa.int32())
PAIR = pa.struct([("amount", pa.string()), ("size", pa.int32())])


def doubles(*bits: int) -> pa.Array:
    return pa.array(np.array(bits, np.uint64).view(np.float64), from_pandas=False)


def floats(*bits: int) -> pa.Array:
    return pa.array(np.array(bits, np.uint32).view(np.float32), from_pandas=False)


def vectors(*bits: int) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(floats(*bits), 2)


def maps(*values: Any, kind: Any = None) -> pa.Array:
    return pa.array(values, kind or pa.map_(pa.int32(), pa.int32()))


#: CQL type of a clustering column, and keys of which all are equal.
EQUAL: list[tuple[str, pa.Array]] = [
    ("decimal", pa.array(["1.0", "1.00", "1", "10E-1"])),
    ("decimal", pa.array(["0", "0.000", "-0", "0E+7"])),
    ("decimal", pa.array(["-12300", "-1.23E+4", "-12300.000"])),
    ("decimal", pa.array(["1E+400", f"1{'0' * 400}"])),
    ("double", doubles(0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000)),
    ("float", floats(0x7FC00000, 0x7FC00001, 0xFFC00000)),
    ("frozen<set<int>>", pa.array([[1, 2], [2, 1], [1, 2, 1]], LIST)),
    ("frozen<set<decimal>>", pa.array([["1.0", "2"], ["2.0", "1.00"], ["1", "1.0", "2"]])),
    ("frozen<map<int, int>>", maps([(1, 1), (2, 2)], [(2, 2), (1, 1)])),
    ("frozen<map<int, int>>", maps([(1, 2)], [(1, 1), (1, 2)])),
    ("frozen<map<decimal, int>>", maps([("1", 1)], [("1.0", 1)], kind=pa.map_(pa.string(), pa.int32()))),
    ("frozen<map<int, decimal>>", maps([(1, "1")], [(1, "1.0")], kind=pa.map_(pa.int32(), pa.string()))),
    ("frozen<list<decimal>>", pa.array([["1.0", "2"], ["1.00", "2.0"]])),
    ("frozen<tuple<decimal, int>>", pa.array([("1.0", 1), ("1.00", 1)], PAIR)),
    ("frozen<tuple<decimal, int>>", pa.array([("1.0", None), ("1.00", None)], PAIR)),
    ("frozen<priced>", pa.array([("1.0", 1), ("1.00", 1)], PAIR)),
    ("vector<float, 2>", vectors(0x7FC00000, 0x3F800000, 0xFFC00001, 0x3F800000)),
    ("vector<decimal, 1>", pa.array([["1.0"], ["1.00"]])),
    (
        "frozen<list<frozen<set<frozen<tuple<decimal, int>>>>>>",
        pa.array([[[("1.0", 1), ("2", 2)]], [[("2.0", 2), ("1.00", 1)]]], pa.list_(pa.list_(PAIR))),
    ),
]  # fmt: skip

#: Keys that differ, though a careless comparison might find them equal.
DIFFERENT: list[tuple[str, pa.Array]] = [
    ("double", pa.array([0.0, -0.0])),
    ("float", pa.array([0.0, -0.0], pa.float32())),
    ("decimal", pa.array(["1", "-1", "10", "0.1"])),
    ("text", pa.array(["\u00e9", "e\u0301"])),
    ("inet", pa.array([b"\1\2\3\4", bytes(10) + b"\xff\xff\1\2\3\4"])),
    ("frozen<list<int>>", pa.array([[1, 2], [2, 1]], LIST)),
    ("frozen<map<int, int>>", maps([(1, 1)], [(1, 2)])),
]


@pytest.fixture(scope="module", autouse=True)
def kinds(session: Session) -> None:
    session.execute("CREATE TYPE priced (amount decimal, size int)")


def table(session: Session, kind: str, order: str = "ASC", name: str = "equal") -> str:
    session.execute(f"DROP TABLE IF EXISTS {name}")
    session.execute(
        f"CREATE TABLE {name} (p int, q int, c {kind}, v text, PRIMARY KEY (p, q, c)) "
        f"WITH CLUSTERING ORDER BY (q ASC, c {order})"
    )
    return name


def values(session: Session, name: str) -> list[str]:
    return [row.v for row in session.execute(f"SELECT v FROM {name}")]


def rows(keys: pa.Array) -> pa.Table:
    """Values descend, so that the greatest is the first one."""
    count = len(keys)
    values = pa.array([f"{count - i:03}" for i in range(count)])
    return pa.table(
        {"p": pa.array([1] * count, pa.int32()), "q": pa.array([1] * count, pa.int32()), "c": keys, "v": values}
    )


@pytest.mark.parametrize(("kind", "keys"), EQUAL, ids=lambda value: value if isinstance(value, str) else "")
def test_the_last_of_equal_keys_stays(session: Session, kind: str, keys: pa.Array) -> None:
    name = table(session, kind)
    assert session.ingest(name, rows(keys)).rows == len(keys)
    assert values(session, name) == ["001"]


@pytest.mark.parametrize(("kind", "keys"), EQUAL, ids=lambda value: value if isinstance(value, str) else "")
def test_reversed_keys_are_as_if_rows_came_one_by_one(session: Session, kind: str, keys: pa.Array) -> None:
    """Cassandra does not put sets and maps in order where the clustering order is descending."""
    name, twin = table(session, kind, "DESC"), table(session, kind, "DESC", "twin")
    data = rows(keys)
    assert session.ingest(name, data).rows == len(keys)
    for row in range(len(keys)):
        session.ingest(twin, data.slice(row, 1))
    found = values(session, name)
    assert found == values(session, twin)
    assert "001" in found
    if "set" not in kind and "map" not in kind:
        assert found == ["001"]


@pytest.mark.parametrize(("kind", "keys"), DIFFERENT, ids=lambda value: value if isinstance(value, str) else "")
def test_different_keys_all_stay(session: Session, kind: str, keys: pa.Array) -> None:
    name = table(session, kind)
    assert session.ingest(name, rows(keys)).rows == len(keys)
    assert len(session.execute(f"SELECT v FROM {name}").all()) == len(keys)


def test_equal_keys_among_others(session: Session) -> None:
    """Many partitions, retries left out: of each key the last row stays, in any batch."""
    name = table(session, "decimal")
    texts = [f"{i % 7}{'.' if i % 3 else ''}{'0' * (i % 3)}" for i in range(300)]
    data = pa.table(
        {
            "p": pa.array([i // 60 for i in range(300)], pa.int32()),
            "q": pa.array([0] * 300, pa.int32()),
            "c": pa.array(texts),
            "v": pa.array([f"{999 - i}" for i in range(300)]),
        }
    )
    assert session.ingest(name, data).rows == 300
    expected = {(row["p"], D(row["c"])): row["v"] for row in data.to_pylist()}
    assert {(row.p, row.c): row.v for row in session.execute(f"SELECT p, c, v FROM {name}")} == expected


@pytest.mark.parametrize("kind", ["decimal", "double", "frozen<list<decimal>>"])
def test_partition_keys_are_compared_by_bytes(session: Session, kind: str) -> None:
    """1.0 and 1.00 are two partitions, so that an equal clustering key is no second row of the first."""
    session.execute("DROP TABLE IF EXISTS parts")
    session.execute(f"CREATE TABLE parts (p {kind}, c int, v text, PRIMARY KEY (p, c))")
    keys = {
        "decimal": pa.array(["1.0", "1.00", "1.0"]),
        "double": doubles(0x7FF8000000000000, 0x7FF8000000000001, 0x7FF8000000000000),
        "frozen<list<decimal>>": pa.array([["1.0"], ["1.00"], ["1.0"]]),
    }[kind]
    data = pa.table({"p": keys, "c": pa.array([1, 1, 1], pa.int32()), "v": ["3", "2", "1"]})
    assert session.ingest("parts", data).rows == 3
    assert sorted(row.v for row in session.execute("SELECT v FROM parts")) == ["1", "2"]
