"""What a real server folds comes to the same as what the client folds; folds that go on."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cassandra.cluster import Session
from cassandra.scan import Checkpoint, Count, GroupBy, Max, Mean, Min, MinMax, Sum, checkpoint_of

pytestmark = pytest.mark.server

ROWS = 3000
WHOLE = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
KINDS = (*WHOLE, "varint", "decimal", "float", "double", "timestamp", "date", "time", "text", "ascii")


def values(kind: str, chance: random.Random) -> Any:
    if kind in WHOLE:
        return chance.choice([-1, 1]) * ((1 << WHOLE[kind]) - 1 - chance.randint(0, 9))
    if kind == "varint":
        return chance.randint(-(1 << 90), 1 << 90)
    if kind == "decimal":
        return Decimal(chance.randint(-(10**12), 10**12)).scaleb(-chance.randint(0, 9))
    if kind in ("float", "double"):
        return chance.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, chance.randint(-9, 9) / 4])
    moment = datetime.datetime(1900, 1, 1) + datetime.timedelta(milliseconds=chance.randint(0, 1 << 43))
    found = {"timestamp": moment, "date": moment.date(), "time": chance.randint(0, 86399 * 10**9)}
    return found.get(kind, "".join(chance.choices("abcZ~" if kind == "ascii" else "abzé€😀", k=chance.randint(0, 6))))


@pytest.fixture(scope="module")
def table(session: Session) -> Session:
    chance = random.Random(15)
    columns = ", ".join(f"v_{kind} {kind}" for kind in KINDS)
    session.execute(f"CREATE TABLE numbers (id int PRIMARY KEY, {columns})")
    names = [f"v_{kind}" for kind in KINDS]
    insert = session.prepare(
        f"INSERT INTO numbers (id, {', '.join(names)}) VALUES ({', '.join('?' * (len(names) + 1))})"
    )
    futures = []
    for row in range(ROWS):
        given = [None if chance.random() < 0.1 else values(kind, chance) for kind in KINDS]
        futures.append(session.execute_async(insert, (row, *given)))
        if len(futures) == 100:
            for future in futures:
                future.result()
            futures.clear()
    for future in futures:
        future.result()
    return session


def same(one: Any, two: Any) -> bool:
    if isinstance(one, tuple):
        return all(map(same, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return repr(one) == repr(two)  # NaN, and the sign of zero
    return type(one) is type(two) and bool(one == two)


def test_the_same_as_the_client(table: Session) -> None:
    reducers: list[Any] = [Count(), Count("v_text"), MinMax("id")]
    reducers += [one(f"v_{kind}") for kind in (*WHOLE, "varint", "decimal") for one in (Sum, Mean)]
    reducers += [one(f"v_{kind}") for kind in KINDS for one in (Min, Max)]
    for splits in (1, 7):
        for reducer in reducers:
            scan = table.scan("numbers", splits=splits, pushdown="never")
            pushed = table.scan("numbers", splits=splits, pushdown="always")
            client, server = scan.fold(reducer), pushed.fold(reducer)
            assert same(client, server), (reducer, client, server)
            assert scan.checkpoint().rows == pushed.checkpoint().rows == ROWS


def test_sums_that_overflow_on_the_server(table: Session) -> None:
    """That is what they are cast for."""
    table.execute("CREATE TABLE large (id int PRIMARY KEY, v bigint)")
    data = {"id": pa.array(range(100), pa.int32()), "v": pa.array([(1 << 63) - 1] * 100, pa.int64())}
    table.ingest("large", pa.table(data))
    (wrong,) = table.execute("SELECT sum(v) FROM large").one()
    right = 100 * ((1 << 63) - 1)
    assert wrong != right
    assert table.scan("large", pushdown="always").fold(Sum("v")) == right


def test_a_table_without_rows(table: Session) -> None:
    table.execute("CREATE TABLE nothing (id int PRIMARY KEY, v int, d decimal, t text)")
    for reducer in (Count(), Sum("v"), Sum("d"), Mean("v"), MinMax("t"), Min("v")):
        client = table.scan("nothing", pushdown="never").fold(reducer)
        assert same(client, table.scan("nothing", pushdown="always").fold(reducer)), reducer


def test_static_columns_are_counted_here(table: Session) -> None:
    table.execute("CREATE TABLE statics (p int, c int, s int static, v int, PRIMARY KEY (p, c))")
    for p in range(10):
        table.execute("INSERT INTO statics (p, s) VALUES (%s, 1)", (p,))
        if p % 2:
            table.execute("INSERT INTO statics (p, c, v) VALUES (%s, 1, 1)", (p,))
    assert "static" in str(table.scan("statics").explain(Count()))
    assert table.scan("statics").fold(Count()) == len(list(table.execute("SELECT * FROM statics")))


def test_a_fold_goes_on(table: Session) -> None:
    """It is interrupted again and again, and goes on with other ranges each time."""
    chance = random.Random(3)
    quiet = table.scan("numbers").fold(GroupBy("v_tinyint", n=Count(), total=Sum("v_bigint")))
    checkpoint: Checkpoint | None = None

    class Interrupted(GroupBy):
        left = 3

        def stream(self, acc: Any, batch: Any) -> Any:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().stream(acc, batch)

        def __repr__(self) -> str:
            return "Interrupted()"

    interruptions = 0
    while interruptions < 100:
        reducer = Interrupted("v_tinyint", n=Count(), total=Sum("v_bigint"))
        scan = table.scan("numbers", splits=chance.randint(20, 40), parallelism=2, page_size=100)
        try:
            result = scan.fold(reducer, resume=checkpoint)
        except KeyboardInterrupt as error:
            checkpoint = checkpoint_of(error)
            interruptions += 1
        else:
            break
    assert interruptions > 2 and result == quiet
