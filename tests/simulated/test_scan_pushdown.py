"""Folds on servers give the same results as folds on the client."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pytest

from cassandra import UnsupportedOperation
from cassandra.cluster import Session
from cassandra.scan import Collect, Count, GroupBy, Max, Mean, Min, MinMax, Sum, col
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Delay, Fail

COLUMNS = {
    "ti": "tinyint",
    "si": "smallint",
    "i": "int",
    "bi": "bigint",
    "vi": "varint",
    "de": "decimal",
    "f": "float",
    "d": "double",
    "ts": "timestamp",
    "da": "date",
    "tm": "time",
    "tx": "text",
}
ADDED = ("ti", "si", "i", "bi", "vi", "de")
ROWS = 200


def value(kind: str, row: int) -> Any:
    """Near the limits of their types: sums of them overflow."""
    if row % 7 == 0:
        return None
    whole = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63, "varint": 90}
    if kind in whole:
        return (1 << whole[kind]) - 1 - row
    found = {
        "decimal": Decimal(row) / 8,
        "float": row / 2,
        "double": -row * 1.5,
        "timestamp": datetime.datetime(2020, 1, 1) + datetime.timedelta(milliseconds=row),
        "date": datetime.date(2020, 1, 1) + datetime.timedelta(days=row),
        "time": row * 1_000_000_007,
        "text": f"name {row % 17}é",
    }
    return found[kind]


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    simulated.execute(f'CREATE TABLE ks.t (id int PRIMARY KEY, {columns}, "Odd Name" int)')
    session.cluster.refresh_schema_metadata()
    names = ["id", *COLUMNS, '"Odd Name"']
    insert = session.prepare(f"INSERT INTO t ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})")
    for row in range(ROWS):
        session.execute(insert, (row, *(value(kind, row) for kind in COLUMNS.values()), row))
    return session


def test_the_same_as_the_client(table: Session) -> None:
    reducers: list[Any] = [Count(), Count("i"), Sum("Odd Name"), MinMax("id")]
    reducers += [one(name) for name in ADDED for one in (Sum, Mean)]
    reducers += [one(name) for name in COLUMNS for one in (Min, Max, MinMax)]
    for reducer in reducers:
        client = table.scan("ks.t", splits=12, pushdown="never").fold(reducer)
        pushed = table.scan("ks.t", splits=12, pushdown="always")
        assert pushed.fold(reducer) == client, reducer
        assert type(pushed.fold(reducer)) is type(client), reducer
        assert pushed.checkpoint().rows == ROWS
    assert table.scan("ks.t", pushdown="always").fold(Sum("i")) == sum(value("int", i) or 0 for i in range(ROWS))


def test_a_table_without_rows(table: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("TRUNCATE ks.t")
    for reducer in (Count(), Sum("i"), Sum("de"), Mean("i"), Mean("vi"), MinMax("tx"), Min("ts")):
        client = table.scan("ks.t", pushdown="never").fold(reducer)
        assert table.scan("ks.t", pushdown="always").fold(reducer) == client, reducer


def test_where(table: Session) -> None:
    scan = table.scan("ks.t", where=("bi > ? ALLOW FILTERING", [(1 << 63) - 50]), pushdown="always")
    assert scan.fold(Count()) == sum((value("bigint", row) or 0) > (1 << 63) - 50 for row in range(ROWS))
    assert scan.explain(Count()).cql.startswith("SELECT count(*) AS fastcql_rows FROM ks.t WHERE bi > ? AND token(id)")


REFUSED = {
    "never": (lambda s: s.scan("ks.t", pushdown="never"), Count(), {}),
    "filter": (lambda s: s.scan("ks.t"), Count(), {"filter": col("id") > 3}),
    "'i' is not selected as a plain column": (lambda s: s.scan("ks.t", columns=["id"]), Sum("i"), {}),
    "is not selected as a plain column of the table": (
        lambda s: s.scan("ks.t", columns=["writetime(i) AS i"]),
        Sum("i"),
        {},
    ),
    "not exact": (lambda s: s.scan("ks.t"), Sum("d"), {}),
    "GroupBy": (lambda s: s.scan("ks.t"), GroupBy("i", n=Count()), {}),
    "Collect": (lambda s: s.scan("ks.t"), Collect(), {}),
    "PER PARTITION LIMIT": (lambda s: s.scan("ks.t", where="PER PARTITION LIMIT 1"), Count(), {}),
    "the scan converts decimal": (lambda s: s.scan("ks.t", decimals=(20, 5)), Min("de"), {}),
    "prepared with token markers": (
        lambda s: s.scan(s.prepare("SELECT id FROM ks.t WHERE token(id) > ? AND token(id) <= ?")),
        Count(),
        {},
    ),
}


def test_folds_without_pushdown_run_on_the_client(table: Session, simulated: SimulatedCluster) -> None:
    for why, (made, reducer, options) in REFUSED.items():
        found = made(table).explain(reducer, **options)
        assert found.pushdown is False and why in str(found), why
        assert "count(" not in found.cql and "sum(" not in found.cql
    found = table.scan("ks.t").explain(Sum("i"))
    assert found.pushdown and "push-down  yes" in str(found) and "sum(CAST(i AS bigint))" in str(found)
    with pytest.raises(UnsupportedOperation, match="filter"):
        table.scan("ks.t", pushdown="always").fold(Count(), filter=col("id") > 3)
    with pytest.raises(ValueError, match="pushdown"):
        table.scan("ks.t", pushdown="perhaps")  # type: ignore[arg-type]


def test_servers_that_do_not_know_a_function(table: Session, simulated: SimulatedCluster) -> None:
    refused = errors.InvalidRequest("Unknown function")
    with simulated.inject(Fail(refused), query="count(*)", opcode="PREPARE"):
        assert table.scan("ks.t").fold(Count()) == ROWS
        assert "Unknown function" in str(table.scan("ks.t").explain(Count()))
        with pytest.raises(UnsupportedOperation, match="Unknown function"):
            table.scan("ks.t", pushdown="always").fold(Count())


def test_static_columns(table: Session, simulated: SimulatedCluster) -> None:
    simulated.execute("CREATE TABLE ks.s (p int, c int, s int static, PRIMARY KEY (p, c))")
    table.cluster.refresh_schema_metadata()
    assert "static" in str(table.scan("ks.s").explain(Count()))


def test_masked_columns(table: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    column = table.cluster.metadata.keyspaces["ks"].tables["t"].columns["i"]
    monkeypatch.setattr(column, "mask", "system.mask_default()")
    assert "masked" in str(table.scan("ks.t").explain(Sum("i")))
    assert table.scan("ks.t").explain(Count()).pushdown


def test_ranges_that_take_too_long_are_halved(table: Session, simulated: SimulatedCluster) -> None:
    """Only those that are small enough are answered in time."""
    simulated.clear_requests()
    scan = table.scan("ks.t", splits=8, pushdown="always", timeout=1.0)
    with simulated.inject(Delay(5.0), query="count(*)", opcode="EXECUTE", times=5) as rule:
        assert scan.fold(Count()) == ROWS
    assert rule.hits == 5
    timeout = errors.ReadTimeout(consistency="LOCAL_ONE", received=0, required=1, data_present=False)
    scan = table.scan("ks.t", splits=8, pushdown="always")
    with simulated.inject(Fail(timeout), query="count(*)", opcode="EXECUTE", times=9):
        assert scan.fold(Sum("i"), deterministic=True, workers=2) == sum(value("int", i) or 0 for i in range(ROWS))
    assert scan.checkpoint().fraction == 1 and scan.checkpoint().rows == ROWS
    assert simulated.statements("ks.t")


def test_filters_of_folds(table: Session) -> None:
    scan = table.scan("ks.t", columns=["id", "d"], filter=(col("id") >= 100) & ~col("d").is_null())
    expected = [row for row in range(100, ROWS) if row % 7]
    assert scan.fold(Count()) == len(expected)
    assert scan.fold(Sum("d"), workers=2) == math.fsum(-1.5 * row for row in expected)
    assert scan.checkpoint().rows == ROWS
    even = table.scan("ks.t", columns=["id"]).fold(Count(), filter=lambda batch: [True] * len(batch))
    assert even == ROWS
    with pytest.raises(ValueError, match="filter"):
        scan.fold(Count(), filter=col("id") > 3)
