"""Kernels, expressions and reducers come to what Python makes of the same rows, for random tables."""

from __future__ import annotations

import gc
import math
import pickle
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID as Uuid

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassandra._base.temporal import Date, Time
from cassandra._core.codec import Codec, ResultPlan
from cassandra._core.columns import ColumnPlan, Mask, RecordBatch, debug_counters, decode, gather, select, uuid_place
from cassandra._core.memory import MemoryPool
from cassandra._routing.tokens import FULL_RING
from cassandra._scan.expressions import Expression, predicate_of
from cassandra._scan.reducers import fold_batch
from cassandra.scan import Collect, Count, GroupBy, MapReducer, Mean, MinMax, Sum, TopN, col
from tests.property.arrow_values import values_of
from tests.unit.core.codec_frames import (
    BIGINT,
    BLOB,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INT,
    NO_METADATA,
    SMALLINT,
    TEXT,
    TIME,
    TIMEUUID,
    TINYINT,
    UUID,
    VARINT,
    encoded,
    rows_body,
)
from tests.unit.core.codec_frames import decode as decode_body

pytestmark = pytest.mark.long

POOL = MemoryPool(1 << 30)
FEW = ["", "a", "aa", "b", "grüße", "a text that is longer than a view"]
UUIDS = [Uuid(int=number, version=version) for version in (1, 4) for number in (0, 1 << 90, (1 << 127) + 5, 77 << 64)]

#: Columns by name: their type, values that are often the same, and the place of a value in its order.
COLUMNS: dict[str, tuple[Codec, st.SearchStrategy[Any], Callable[[Any], Any]]] = {
    "tiny": (TINYINT, st.integers(-128, 127), lambda value: value),
    "small": (SMALLINT, st.integers(-3, 3), lambda value: value),
    "number": (INT, st.integers(-(2**31), 2**31 - 1), lambda value: value),
    "big": (BIGINT, st.sampled_from([-(2**63), -1, 0, 1, 2**62, 2**63 - 1]), lambda value: value),
    "single": (FLOAT, st.floats(width=32), lambda value: place_of_float(value)),
    "double": (DOUBLE, st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.5])), lambda value: place_of_float(value)),
    "flag": (BOOLEAN, st.booleans(), lambda value: value),
    "text": (TEXT, st.sampled_from(FEW), lambda value: value.encode()),
    "blob": (BLOB, st.binary(max_size=3), lambda value: value),
    "id": (UUID, st.sampled_from(UUIDS), lambda value: uuid_place(value.bytes, False)),
    "at": (TIMEUUID, st.sampled_from(UUIDS[:4]), lambda value: uuid_place(value.bytes, True)),
    "day": (DATE, st.builds(Date, st.integers(-5, 5)), lambda value: value),
    "time": (TIME, st.builds(Time, st.integers(0, 5)), lambda value: value),
    "fixed": (DECIMAL, st.decimals(-99, 99, places=2), lambda value: value),
    "wide": (DECIMAL, st.decimals(-(10**50), 10**50, places=2), lambda value: value),
    "decimal": (DECIMAL, st.decimals(-(10**30), 10**30, places=5), lambda value: value),
    "varint": (VARINT, st.integers(-(10**40), 10**40), lambda value: value),
    "long": (VARINT, st.integers(-9, 9), lambda value: value),
}
Row = dict[str, Any]


def place_of_float(value: float) -> tuple[bool, float, float]:
    """NaN is the greatest, and -0.0 before 0.0."""
    return (True, 0.0, 0.0) if math.isnan(value) else (False, value, math.copysign(1.0, value))


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    gc.collect()
    before = debug_counters(), POOL.stats().in_use
    yield
    gc.collect()
    assert (debug_counters(), POOL.stats().in_use) == before


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[Row], str]:
    """Some columns, and rows of them, with nulls in some; and what texts are."""
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    cells = [st.none() | COLUMNS[name][1] if draw(st.booleans()) else COLUMNS[name][1] for name in names]
    rows = draw(st.lists(st.tuples(*cells), max_size=150))
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return names, found, draw(st.sampled_from(["utf8", "view", "dictionary"]))


def batch_of(names: list[str], rows: list[Row], strings: Any = "utf8") -> RecordBatch:
    columns = [(name, COLUMNS[name][0]) for name in names]
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    page = decode_body(
        rows_body(columns, encoded(columns, [tuple(row.values()) for row in rows]), NO_METADATA), plan=plan
    )
    assert page.page is not None
    options = {"fixed": {"decimals": (10, 2)}, "wide": {"decimals": (60, 2)}, "long": {"varints": "int64"}}
    wanted: dict[str, Any] = {}
    for name in names:
        wanted |= options.get(name, {})
    return decode(ColumnPlan(columns, POOL, strings=strings, **wanted), page.page)


def usable(names: list[str]) -> bool:
    """Options are of all columns of a type: some cannot be together."""
    return len({"fixed", "wide", "decimal"} & set(names)) < 2 and len({"varint", "long"} & set(names)) < 2


def truth(name: str, operator: str, value: Any, row: Row) -> bool | None:
    cell = row[name]
    if cell is None:
        return None
    if any(isinstance(one, float) and math.isnan(one) for one in (cell, value)):  # also beside decimals
        return operator == "!="
    if isinstance(cell, float) and isinstance(value, Decimal):
        cell = Fraction(cell) if math.isfinite(cell) else cell
        value = Fraction(value)
    place = (lambda one: one) if isinstance(cell, int | float | Decimal | Fraction) else COLUMNS[name][2]
    a, b = place(cell), place(value)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


NUMBERS = {"tiny", "small", "number", "big", "single", "double", "fixed", "wide", "decimal", "varint", "long"}
ANY_NUMBER = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2.5, -0.5, 1e300, math.inf, -math.inf, math.nan, Decimal("0.5"), 2**63, -(2**63) - 1]),
)


@st.composite
def conditions(draw: st.DrawFn, names: list[str], depth: int = 2) -> tuple[Expression, Callable[[Row], bool | None]]:
    """An expression, and what it is for a row."""
    kind = draw(st.sampled_from(["compare", "compare", "null", "isin", "and", "or", "not"] if depth else ["compare"]))
    if kind in ("and", "or"):
        (one, first), (two, second) = draw(conditions(names, depth - 1)), draw(conditions(names, depth - 1))
        if kind == "and":
            return one & two, lambda row: kleene(first(row), second(row), False)
        return one | two, lambda row: kleene(first(row), second(row), True)
    if kind == "not":
        inner, fact = draw(conditions(names, depth - 1))
        return ~inner, lambda row: None if fact(row) is None else not fact(row)
    name = draw(st.sampled_from(names))
    values = COLUMNS[name][1] | ANY_NUMBER if name in NUMBERS else COLUMNS[name][1]
    if kind == "null":
        return col(name).is_null(), lambda row: row[name] is None
    if kind == "isin":
        some = draw(st.lists(values, max_size=4))
        return col(name).isin(some), lambda row: among(name, some, row)
    operator = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
    value = draw(values)
    column = col(name)
    made: dict[str, Callable[[], Expression]] = {
        "==": lambda: column == value,
        "!=": lambda: column != value,
        "<": lambda: column < value,
        "<=": lambda: column <= value,
        ">": lambda: column > value,
        ">=": lambda: column >= value,
    }
    return made[operator](), lambda row: truth(name, operator, value, row)


def kleene(one: bool | None, two: bool | None, decisive: bool) -> bool | None:
    if decisive in (one, two):
        return decisive
    return None if None in (one, two) else not decisive


def among(name: str, some: list[Any], row: Row) -> bool | None:
    if row[name] is None:
        return None
    return any(truth(name, "==", value, row) for value in some)


@settings(deadline=None, max_examples=150)
@given(tables(), st.data())
def test_masks(table: tuple[list[str], list[Row], str], data: st.DataObject) -> None:
    names, rows, strings = table
    if not usable(names):
        return
    batch = batch_of(names, rows, strings)
    expression, fact = data.draw(conditions(names))
    expected = [fact(row) for row in rows]
    predicate = predicate_of(pickle.loads(pickle.dumps(expression)), batch.plan)
    mask = predicate(batch)
    assert mask.tolist() == expected, expression
    first = data.draw(st.integers(0, len(rows)))
    count = data.draw(st.integers(0, len(rows) - first))
    part = predicate(batch.slice(first, count))
    assert part.tolist() == expected[first : first + count]
    chosen = [i for i, yes in enumerate(expected) if yes is True]
    assert mask.count == len(chosen)
    assert [i for begin, n in mask.runs() for i in range(begin, begin + n)] == chosen
    left = pa.record_batch(select(batch, mask))
    left.validate(full=True)
    assert_rows(names, left, [rows[i] for i in chosen])


def assert_rows(names: list[str], found: Any, rows: list[Row]) -> None:
    for i, name in enumerate(names):
        expected = [row[name] for row in rows]
        column = found.column(i)
        if pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.string())
        assert repr(values_of(COLUMNS[name][0], column)) == repr(expected), name


@settings(deadline=None, max_examples=100)
@given(tables(), st.data())
def test_pickles(table: tuple[list[str], list[Row], str], data: st.DataObject) -> None:
    names, rows, strings = table
    if not usable(names):
        return
    batch = batch_of(names, rows, strings)
    first = data.draw(st.integers(0, len(rows)))
    for part, expected in ((batch, rows), (batch.slice(first), rows[first:])):
        found = pickle.loads(pickle.dumps(part))
        assert found.plan == batch.plan
        arrow = pa.record_batch(found)
        arrow.validate(full=True)
        assert_rows(names, arrow, expected)


def folded(reducer: Any, batches: list[RecordBatch], filter: Any = None) -> Any:
    """By two accumulators, which were elsewhere in between."""
    predicate = None if filter is None else predicate_of(filter, batches[0].plan)
    reducer = pickle.loads(pickle.dumps(reducer))
    accs = [reducer.open(batches[0].plan, FULL_RING) for _ in range(2)]
    for i, batch in enumerate(batches):
        accs[i % 2] = fold_batch(reducer, accs[i % 2], batch, predicate)
    one, two = (pickle.loads(pickle.dumps(acc)) for acc in accs)
    return reducer.finish(reducer.combine(one, two))


@settings(deadline=None, max_examples=150)
@given(tables(), st.data())
def test_reducers(table: tuple[list[str], list[Row], str], data: st.DataObject) -> None:
    names, rows, strings = table
    if not usable(names):
        return
    batch = batch_of(names, rows, strings)
    cut = data.draw(st.integers(0, len(rows)))
    batches = [batch.slice(0, cut), batch.slice(cut)]
    filter = None
    if data.draw(st.booleans()):
        filter, fact = data.draw(conditions(names, 1))
        rows = [row for row in rows if fact(row) is True]
    name = data.draw(st.sampled_from(names))
    place = COLUMNS[name][2]
    cells = [row[name] for row in rows if row[name] is not None]
    assert folded(Count(), batches, filter) == len(rows)
    assert folded(Count(name), batches, filter) == len(cells)
    expected = (min(cells, key=place, default=None), max(cells, key=place, default=None))
    assert repr(folded(MinMax(name), batches, filter)) == repr(expected)
    if name in NUMBERS:
        check_sum(name, cells, folded(Sum(name), batches, filter), folded(Mean(name), batches, filter))
    else:
        with pytest.raises(TypeError, match="cannot be summed"):
            Sum(name).open(batch.plan, FULL_RING)
    assert sum(len(one) for one in folded(Collect(), batches, filter)) == len(rows)
    check_groups(names, rows, batches, filter, data)
    if name not in ("decimal", "varint"):
        descending = data.draw(st.booleans())
        best = pa.table(folded(TopN(7, name, descending=descending), batches, filter))
        ordered = sorted(cells, key=place, reverse=descending) + [None] * (len(rows) - len(cells))
        column = best.column(name).combine_chunks()
        if pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.string())
        assert repr(values_of(COLUMNS[name][0], column)) == repr(ordered[:7])


def check_sum(name: str, cells: list[Any], found: Any, mean: Any) -> None:
    if name not in ("single", "double"):
        total = sum(map(Fraction, cells))
        assert Fraction(found) == total
        assert type(found) is (int if name not in ("fixed", "wide", "decimal") else Decimal)
        if cells:
            assert math.isclose(Fraction(mean), total / len(cells), rel_tol=1e-15)
    elif all(map(math.isfinite, cells)) and sum(map(abs, cells)) < 1e300:
        exact = math.fsum(cells)
        assert math.isclose(found, exact, rel_tol=1e-15, abs_tol=sum(map(abs, cells)) * 1e-30)
        assert mean == (found / len(cells) if cells else None)
    elif any(map(math.isnan, cells)) or {math.inf, -math.inf} <= set(cells):
        assert math.isnan(found)
    assert cells or mean is None


def check_groups(
    names: list[str], rows: list[Row], batches: list[RecordBatch], filter: Any, data: st.DataObject
) -> None:
    keys = [name for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)) if name != "decimal"]
    if not keys:
        return
    counted: dict[str, int] = {}
    for row in rows:
        key = repr(tuple(0.0 if row[name] == 0 and isinstance(row[name], float) else row[name] for name in keys))
        counted[key] = counted.get(key, 0) + 1
    if {"single", "double", "fixed", "wide"} & set(keys):
        assert sorted(one["n"] for one in folded(GroupBy(keys, n=Count()), batches, filter).values()) == sorted(
            counted.values()
        )
    else:
        found = folded(GroupBy(keys, n=Count(), m=Count(names[0])), batches, filter)
        assert {repr(key): one["n"] for key, one in found.items()} == counted


class Rows:
    """Not one of ours: it is given pieces."""

    def open(self, schema: Any, token_range: Any) -> list[Any]:
        return []

    def stream(self, acc: list[Any], batch: RecordBatch) -> list[Any]:
        return [*acc, *pa.record_batch(batch).column(0).to_pylist()]

    def combine(self, a: list[Any], b: list[Any]) -> list[Any]:
        return a + b

    def finish(self, acc: list[Any]) -> list[Any]:
        return acc


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 200)), max_size=12))
def test_pieces_of_masks(runs: list[tuple[bool, int]]) -> None:
    """Runs of any length, the rows once and in order."""
    wanted = [yes for yes, count in runs for _ in range(count)]
    batch = batch_of(["number"], [{"number": i} for i in range(len(wanted))])
    reducer: MapReducer = Rows()
    for offset in (0, len(wanted) // 3):
        part = batch.slice(offset)
        found = fold_batch(reducer, [], part, lambda _, offset=offset: Mask.of(wanted[offset:], len(wanted) - offset))
        assert found == [i for i, yes in enumerate(wanted) if yes and i >= offset]


@settings(deadline=None, max_examples=100)
@given(tables(), st.data())
def test_damaged_pickles(table: tuple[list[str], list[Row], str], data: st.DataObject) -> None:
    """Are refused, or are something else; they break nothing."""
    names, rows, strings = table
    if not usable(names):
        return
    batch = batch_of(names, rows, strings)
    acc = folded_state(names, batch)
    for value in (batch, acc):
        call, (*state,) = value.__reduce__()
        at = next(i for i, part in enumerate(state) if isinstance(part, bytes))
        for _ in range(5):
            broken = bytearray(state[at])
            if data.draw(st.booleans()):
                del broken[data.draw(st.integers(0, len(broken) - 1)) :]
            else:
                broken[data.draw(st.integers(0, len(broken) - 1))] ^= 1 << data.draw(st.integers(0, 7))
            try:
                found = call(*state[:at], bytes(broken), *state[at + 1 :])
            except (ValueError, MemoryError):
                continue
            if value is batch:
                gather([(found, 0, len(found))], found.plan)
            else:
                found.results()


def folded_state(names: list[str], batch: RecordBatch) -> Any:
    keys = [name for name in names if name != "decimal"]
    if not keys:
        return MinMax(names[0]).stream(MinMax(names[0]).open(batch.plan, FULL_RING), batch)
    reducer = GroupBy(keys, n=Count(), ends=MinMax(keys[0]))
    return reducer.stream(reducer.open(batch.plan, FULL_RING), batch)
