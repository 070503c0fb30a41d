"""Expressions: their repr, their meaning at the edges of types, and operands that they refuse."""

from __future__ import annotations

import datetime
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address
from typing import Any
from uuid import UUID as Uuid

import numpy as np
import pandas as pd
import pytest

from cassandra._base.temporal import Date, Time
from cassandra._core.codec import Codec
from cassandra._core.columns import Mask
from cassandra._core.memory import MemoryPool
from cassandra._scan.expressions import predicate_of
from cassandra.scan import Expression, col
from tests.unit.core.codec_frames import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INET,
    INT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMEUUID,
    TINYINT,
    UUID,
    VARINT,
)
from tests.unit.core.column_pages import COLUMNS, ROW, decoded, everything, page_of

POOL = MemoryPool(1 << 24)
this = col("v")
UTC = datetime.timezone.utc
MOMENT = datetime.datetime(2024, 2, 29, 12)
EARLY, LATE = Uuid("ffffffff-0000-1000-8000-000000000000"), Uuid("00000000-0001-1000-8000-000000000000")


def chosen(codec: Codec, values: list[Any], expression: Expression, **options: Any) -> list[Any]:
    """Those of *values* for which it is true."""
    batch = decoded(page_of([("v", codec)], [(value,) for value in values]), POOL, **options)
    mask = predicate_of(expression, batch.plan)(batch)
    return [value for value, yes in zip(values, mask.tolist(), strict=True) if yes]


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (this > 3, "(col('v') > 3)"),
        (~(this == "x") & (col("w") <= 2.5), "(~(col('v') == 'x') & (col('w') <= 2.5))"),
        (this.isin([1, 2]) | this.is_null(), "(col('v').isin([1, 2]) | col('v').is_null())"),
        (this == None, "col('v').is_null()"),  # noqa: E711
        (this != None, "~col('v').is_null()"),  # noqa: E711
        (this.between(1, 2), "((col('v') >= 1) & (col('v') <= 2))"),
        (this.isin([1, None]), "(col('v').isin([1]) | col('v').is_null())"),
        (this, "col('v')"),
        (this > 3, "(col('v') > 3)"),
    ],
)
def test_repr_and_columns_of_expressions(expression: Expression, shown: str) -> None:
    assert repr(expression) == repr(pickle.loads(pickle.dumps(expression))) == shown
    assert expression.columns <= {"v", "w"} and "v" in expression.columns


def test_neither_true_nor_false() -> None:
    for use in (lambda: bool(this > 3), lambda: (this > 3) and (this < 5), lambda: 1 < this < 5, lambda: not this):
        with pytest.raises(TypeError, match=r"combine conditions with &, \| and ~"):
            use()
    for refused in (
        lambda: this.isin("abc"),
        lambda: this == col("w"),
        lambda: this.isin([col("w")]),
        lambda: this > None,
    ):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(TypeError):
        (this > 3) & True  # type: ignore[operator]
    with pytest.raises(TypeError, match="unhashable"):
        hash(this)


@pytest.mark.parametrize(
    ("codec", "values", "expression", "expected"),
    [
        (INT, [1, 2, 3], this > 2.5, [3]),
        (INT, [1, 2, 3], this >= Fraction(5, 2), [3]),
        (INT, [1, 2, 3], this < Decimal("2.5"), [1, 2]),
        (INT, [1, 2, 3], this == 2.5, []),
        (INT, [1, 2, 3], this != 2.5, [1, 2, 3]),
        (INT, [1, 2, 3], this.isin([2.0, 2.5, 10**30, math.nan]), [2]),
        (INT, [1, 2], this == np.int64(2), [2]),
        (TINYINT, [-128, 127], this < 1000, [-128, 127]),
        (TINYINT, [-128, 127], this > 127, []),
        (BIGINT, [-(2**63), 2**63 - 1], this > 2**63 - 2, [2**63 - 1]),
        (BIGINT, [-(2**63), 2**63 - 1], this <= 2**200, [-(2**63), 2**63 - 1]),
        (BIGINT, [-(2**63), 2**63 - 1], this < -math.inf, []),
        (BIGINT, [2**53, 2**53 + 1], this == float(2**53), [2**53]),
        (DOUBLE, [float(2**53), 2.0**53 + 2], this > 2**53 + 1, [2.0**53 + 2]),
        (DOUBLE, [float(2**53), 2.0**53 + 2], this == 2**53 + 1, []),
        (DOUBLE, [0.1, 0.2], this >= Decimal("0.1"), [0.1, 0.2]),
        (DOUBLE, [0.1, math.inf, -math.inf], this > 10**400, [math.inf]),
        (DOUBLE, [0.1, math.inf, -math.inf], this >= math.inf, [math.inf]),
        (DOUBLE, [0.0, -0.0, 1e-320], this == 0, [0.0, -0.0]),
        (FLOAT, [0.5, 0.25], this > 0.3, [0.5]),
        (BOOLEAN, [True, False], this, [True]),
        (BOOLEAN, [True, False], ~this, [False]),
        (BOOLEAN, [True, False], this.isin([np.bool_(False)]), [False]),
        (TEXT, ["a", "b", "grüße"], this >= "b", ["b", "grüße"]),
        (TEXT, ["a", "", "b"], this < "a", [""]),
        (INET, ["10.0.0.1", "::1"], this == ip_address("::1"), ["::1"]),
        (INET, ["10.0.0.1", "::1"], this == "10.0.0.1", ["10.0.0.1"]),
        (DATE, [Date(0), Date(5)], this > datetime.date(1970, 1, 3), [Date(5)]),
        (DATE, [Date(0), Date(5)], this == "1970-01-06", [Date(5)]),
        (TIME, [Time(0), Time(3600 * 10**9)], this >= datetime.time(1), [Time(3600 * 10**9)]),
        (TIMESTAMP, [MOMENT], this == MOMENT.replace(tzinfo=UTC), [MOMENT]),
        (TIMESTAMP, [MOMENT], this < MOMENT + datetime.timedelta(microseconds=1), [MOMENT]),
        (TIMESTAMP, [MOMENT], this == MOMENT + datetime.timedelta(microseconds=1), []),
        (TIMESTAMP, [MOMENT], this > datetime.date(2024, 2, 29), [MOMENT]),
        (TIMESTAMP, [MOMENT], this == int(MOMENT.replace(tzinfo=UTC).timestamp() * 1000), [MOMENT]),
        (TIMEUUID, [EARLY, LATE], this > EARLY, [LATE]),
        (UUID, [EARLY, LATE], this == str(EARLY), [EARLY]),
        (VARINT, [-(10**40), 7], this < -(10.5**39), [-(10**40)]),
        (VARINT, [7, 8], this.isin([8.0, "8"][:1]), [8]),
        (DECIMAL, [Decimal("1.10"), Decimal("1E+99999")], this == Decimal("1.1"), [Decimal("1.10")]),
        (DECIMAL, [Decimal("1.10"), Decimal("1E+99999")], this > math.nan, []),
        (DECIMAL, [Decimal("1.10"), Decimal("1E+99999")], this < math.inf, [Decimal("1.10"), Decimal("1E+99999")]),
    ],
)
def test_at_the_edges(codec: Codec, values: list[Any], expression: Expression, expected: list[Any]) -> None:
    assert chosen(codec, values, expression) == expected


def test_decimals_of_a_precision() -> None:
    values = [Decimal("-1.25"), Decimal("1.25"), Decimal("1.30")]
    for precision in (10, 50):
        options = {"decimals": (precision, 2)}
        assert chosen(DECIMAL, values, this > Decimal("1.254"), **options) == [Decimal("1.30")]
        assert chosen(DECIMAL, values, this == Decimal("1.254"), **options) == []
        assert chosen(DECIMAL, values, this.isin([1.25, Decimal("-1.250")]), **options) == values[:2]
        assert chosen(DECIMAL, values, this < 10**80, **options) == values


@pytest.mark.parametrize(
    ("name", "make", "why"),
    [
        ("int", lambda column: column == "3", r"column 'int' \(int\) cannot be compared with '3'"),
        ("ascii", lambda column: column == b"x", r"column 'ascii' \(ascii\) cannot be compared with b'x'"),
        ("boolean", lambda column: column == 1, "cannot be compared with 1"),
        ("bigint", lambda column: column == np.timedelta64(5, "s"), "cannot be compared with np.timedelta64"),
        ("timestamp", lambda column: column > np.timedelta64(5, "ms"), "cannot be compared with np.timedelta64"),
        (
            "timestamp",
            lambda column: column > np.datetime64("2026-01-01", "10ms"),
            "cannot be compared with np.datetime64",
        ),
        ("date", lambda column: column > 7, "cannot be compared with 7"),
        ("uuid", lambda column: column == 7, "cannot be compared with 7"),
        (
            "list",
            lambda column: column == [1],
            r"values of column 'list' \(list<int>\) cannot be compared, except by is_null",
        ),
        ("custom", lambda column: column < b"x", "have no order: compare them with ==, != or isin"),
        ("int", lambda column: column, "is not boolean and cannot be used as a condition"),
        ("decimal", lambda column: column == "1", "cannot be compared with '1'"),
    ],
)
def test_operands_that_do_not_fit_a_column_are_refused(name: str, make: Callable[[Any], Expression], why: str) -> None:
    plan = decoded(everything(1), POOL).plan
    with pytest.raises(TypeError, match=why):
        make(col(name)).compile(plan)


def test_columns_that_are_not_there() -> None:
    plan = decoded(page_of([("a", INT), ("b", INT), ("b", TEXT)], [(1, 2, "x")]), POOL).plan
    with pytest.raises(ValueError, match="there is no column 'v' in the scan: a, b, b; see columns="):
        (this > 3).compile(plan)
    with pytest.raises(ValueError, match="there are 2 columns 'b'"):
        (col("b") > 3).compile(plan)


def test_every_type_against_itself() -> None:
    """Every value that a row has can be compared with."""
    batch = decoded(everything(3), POOL)
    rows = dict(zip((name for name, _ in COLUMNS), ROW, strict=True))
    for name, _, _, form in batch.plan.fields:
        if form is not None:
            assert predicate_of(col(name) == rows[name], batch.plan)(batch).tolist() == [True, None, True], name
            assert predicate_of(col(name).isin([rows[name]]), batch.plan)(batch).tolist() == [True, None, True], name


def test_callables() -> None:
    batch = decoded(page_of([("v", INT)], [(i,) for i in range(5)]), POOL)
    for found in (np.arange(5) > 2, [False, False, False, True, True], Mask.of(b"\0\0\0\1\1", 5)):
        mask = predicate_of(lambda _, found=found: found, batch.plan)(batch)
        assert mask.runs() == [(3, 2)]


def test_timestamps_of_pandas_count_nanoseconds() -> None:
    values = [MOMENT, MOMENT + datetime.timedelta(milliseconds=1)]
    moment = pd.Timestamp(MOMENT)
    assert chosen(TIMESTAMP, values, this >= moment + pd.Timedelta(1, "ns")) == values[1:]
    assert chosen(TIMESTAMP, values, this == moment + pd.Timedelta(1, "ns")) == []
    assert chosen(TIMESTAMP, values, this <= moment) == values[:1]
