"""session.scan_order on a real server: every type that a clustering column may have comes in the server's own order."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import tuple_factory
from cassandra.util import Date, Time

pytestmark = pytest.mark.server

SOURCES, EACH = 12, 40
Make = Callable[[random.Random], Any]


def _time_uuid(seed: random.Random) -> uuid.UUID:
    """Few times, and any bytes behind them: these are compared with a sign."""
    low = seed.choice([0, 1, 1 << 31, (1 << 32) - 1])
    return uuid.UUID(
        fields=(low, seed.randrange(3), 0x1000 | seed.randrange(3), *(seed.randrange(256),) * 2, seed.getrandbits(48))
    )


def _uuid(seed: random.Random) -> uuid.UUID:
    return (
        _time_uuid(seed)
        if seed.random() < 0.4
        else uuid.UUID(int=seed.getrandbits(128), version=seed.choice([3, 4, 5]))
    )


def _whole(bits: int) -> Make:
    most = 1 << (bits - 1)
    return lambda seed: seed.choice([-most, -1, 0, 1, most - 1, seed.randrange(-most, most), seed.randrange(-100, 100)])


def _real(seed: random.Random) -> float:
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 0.5, -0.5]
    return seed.choice([*special, seed.randrange(-1000, 1000) / 8])


def _decimal(seed: random.Random) -> Decimal:
    """Equal ones are spelled in several ways, which are one key."""
    return Decimal(seed.randrange(-(10 ** seed.randrange(1, 25)), 10**12)).scaleb(seed.randrange(-30, 30))


TYPES: dict[str, Make] = {
    "ascii": lambda seed: "".join(seed.choices("a\0b~", k=seed.randrange(6))) + "x",
    "bigint": _whole(64),
    "blob": lambda seed: seed.randbytes(seed.randrange(12)) + bytes([seed.randrange(3)]),
    "boolean": lambda seed: seed.random() < 0.5,
    "date": lambda seed: Date(seed.randrange(-(10**5), 10**5)),
    "decimal": _decimal,
    "double": _real,
    "float": _real,
    "inet": lambda seed: seed.choice(
        ["10.0.0.1", "::1", "255.1.2.3", "fe80::1", "0.0.0.0", f"{seed.randrange(256)}.0.0.9"]
    ),
    "int": _whole(32),
    "smallint": _whole(16),
    "text": lambda seed: "".join(seed.choices("aé\0語🙂", k=seed.randrange(5))) + "x",
    "time": lambda seed: Time(seed.randrange(86400 * 10**9)),
    "timestamp": lambda seed: seed.choice([-1, 0, 1, seed.randrange(-(10**13), 10**13)]),
    "timeuuid": _time_uuid,
    "tinyint": _whole(8),
    "uuid": _uuid,
    "varint": lambda seed: seed.randrange(-(10 ** seed.randrange(1, 40)), 10 ** seed.randrange(1, 40)),
}


@pytest.fixture(scope="module")
def tables(session: Session) -> None:
    """Of each type a table of one partition with all rows, which the server orders, and one of many partitions."""
    for number, (cql_type, make) in enumerate(TYPES.items()):
        seed = random.Random(number)
        values = [make(seed) for _ in range(SOURCES * EACH)]
        for kind in ("whole", "parts"):
            session.execute(
                f"CREATE TABLE {kind}_{cql_type} (k int, c {cql_type}, n int, v text, PRIMARY KEY (k, c, n)) "
                f"WITH CLUSTERING ORDER BY (c {'DESC' if number % 2 else 'ASC'}, n ASC)"
            )
            insert = session.prepare(f"INSERT INTO {kind}_{cql_type} (k, c, n, v) VALUES (?, ?, ?, ?)")
            rows = [
                (0 if kind == "whole" else i % SOURCES, value, i % SOURCES * 1000 + i, str(value))
                for i, value in enumerate(values)
            ]
            execute_concurrent_with_args(session, insert, rows, raise_on_first_error=True)


@pytest.mark.parametrize("cql_type", TYPES)
def test_the_order_is_that_of_the_server(session: Session, tables: None, cql_type: str) -> None:
    descends = bool(list(TYPES).index(cql_type) % 2)
    whole = [
        row[0] for row in session.execute(f"SELECT n FROM whole_{cql_type} WHERE k = 0", row_factory=tuple_factory)
    ]
    assert len(whole) > EACH
    for turned in (False, True):
        way = "DESC" if descends is not turned else "ASC"
        other = "ASC" if not turned else "DESC"
        select = session.prepare(f"SELECT c, n, k, v FROM parts_{cql_type} WHERE k = ? ORDER BY c {way}, n {other}")
        merged = session.scan_order(
            select, [(k,) for k in range(SOURCES)], ["c", "n"], [descends is not turned, turned], page_size=7
        )
        table = pa.table(merged)
        table.validate(full=True)
        assert table["n"].to_pylist() == (whole[::-1] if turned else whole)


def test_pages_limits_and_levels(session: Session, tables: None) -> None:
    select = session.prepare("SELECT * FROM parts_bigint WHERE k = ? ORDER BY c DESC, n ASC")
    rows = session.execute("SELECT c, n FROM whole_bigint WHERE k = 0 ORDER BY c DESC, n ASC").all()
    wanted = sorted(((row.c, row.n) for row in rows), key=lambda row: (-row[0], row[1]))
    for options in ({"max_open": 2, "page_size": 3}, {"limit": 100}, {"limit": 17, "page_size": 5, "max_open": 5}):
        scan: Any = session.scan_order(select, [(k,) for k in range(SOURCES)], ["c", "n"], [True, False], **options)
        found = [(row.c, row.n) for row in scan.rows()]
        assert found == wanted[: options.get("limit")]
