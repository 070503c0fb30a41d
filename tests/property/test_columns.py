"""Arrow columns hold the values of rows, for random tables; for damaged bytes they do so too, or are refused."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import Codec, ResultPlan, RowPlan, RowsPage, retained_page, split_page
from cassandra._core.columns import ColumnBuilder, ColumnPlan, debug_counters, decode
from cassandra._core.memory import MemoryPool
from tests.property.arrow_values import values_of
from tests.property.codec_types import plain, tables
from tests.property.test_codec_fuzz import mutations
from tests.unit.core.codec_frames import DECIMAL, NO_METADATA, TEXT, VARINT, encoded, page_of, rows_body
from tests.unit.core.codec_frames import decode as decode_body

pytestmark = pytest.mark.long

POOL = MemoryPool(1 << 30)
#: Error texts for values that rows can hold and Arrow cannot.
REFUSED = (
    "not within a day",
    "beyond 32 bits",
    "is null",
    "more nulls",
    "takes more memory",
    "too long to be converted",
)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before = debug_counters(), POOL.stats().in_use
    yield
    gc.collect()
    assert (debug_counters(), POOL.stats().in_use) == before


def planned(codecs: list[Codec], rows: list[Any]) -> tuple[bytes, ResultPlan]:
    columns = [(f"c{i}", codec) for i, codec in enumerate(codecs)]
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    return rows_body(columns, encoded(columns, rows), NO_METADATA), plan


def page_for(codecs: list[Codec], rows: list[Any]) -> RowsPage:
    body, plan = planned(codecs, rows)
    page = decode_body(body, plan=plan).page
    assert page is not None
    return page


def column_plan(page: RowsPage, **options: Any) -> ColumnPlan:
    return ColumnPlan([(name, codec) for _, _, name, codec in page.plan.specs], POOL, **options)


def imported(batch: Any, rows: int) -> pa.RecordBatch:
    found = pa.record_batch(batch)
    found.validate(full=True)
    assert found.num_rows == rows
    for i in range(found.num_columns):
        assert found.column(i).null_count == sum(not valid for valid in found.column(i).is_valid().to_pylist())
        for buffer in found.column(i).buffers():
            assert buffer is None or buffer.address % 64 == 0
    return found


def from_rows(page: RowsPage) -> list[list[Any]]:
    rows = page.decode(RowPlan(page.plan, "tuple"))
    return [
        [plain(codec, value) for value in column]
        for codec, column in zip(page.plan.codecs, _turned(page, rows), strict=True)
    ]


def _turned(page: RowsPage, rows: list[Any]) -> list[list[Any]]:
    return [[row[i] for row in rows] for i in range(len(page.plan.codecs))]


def from_batch(page: RowsPage, batch: pa.RecordBatch) -> list[list[Any]]:
    return [
        [plain(codec, value) for value in values_of(codec, batch.column(i))] for i, codec in enumerate(page.plan.codecs)
    ]


@given(tables())
def test_columns_have_the_values_of_rows(table: tuple[list[Codec], list[Any]]) -> None:
    page = page_for(*table)
    assert from_batch(page, imported(decode(column_plan(page), page), len(page))) == from_rows(page)


@given(tables(), st.sampled_from(["tuple", "dict", "ordered"]))
def test_columns_of_retained_pages_have_the_values_of_rows(table: tuple[list[Codec], list[Any]], kind: Any) -> None:
    page = page_for(*table)
    _, kept = split_page(page, RowPlan(page.plan, kind))
    again = retained_page(page.plan, kept)
    assert from_batch(page, imported(decode(column_plan(page), again), len(page))) == from_rows(page)


@given(tables(), st.lists(st.integers(0, 6), max_size=5), st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_pages_become_one_batch(table: tuple[list[Codec], list[Any]], cuts: list[int], hints: tuple[int, int]) -> None:
    codecs, rows = table
    builder = None
    expected: list[list[Any]] = [[] for _ in codecs]
    for cut in [*cuts, len(rows)]:
        page = page_for(codecs, rows[:cut])
        builder = builder or ColumnBuilder(column_plan(page), *hints)
        assert builder.append(page)
        for column, more in zip(expected, from_rows(page), strict=True):
            column.extend(more)
    assert builder is not None
    assert from_batch(page, imported(builder.finish(), len(expected[0]))) == expected
    assert len(builder) == 0


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_corrupted_pages(data: st.DataObject) -> None:
    """They are refused, or rows say the same; and a builder goes on as if they had not come."""
    codecs, rows = data.draw(tables())
    body, plan = planned(codecs, rows)
    whole = page_for(codecs, rows)
    try:
        page = decode_body(data.draw(mutations(body)), plan=plan).page
    except (ProtocolError, DriverException):
        return
    if page is None:
        return
    builder = ColumnBuilder(column_plan(whole))
    assert builder.append(whole)
    try:
        builder.append(page)
    except DriverException as error:
        again = [column * 2 for column in from_rows(whole)]
        assert builder.append(whole)
        assert from_batch(whole, imported(builder.finish(), 2 * len(rows))) == again
        if any(words in str(error) for words in REFUSED):
            return
        with pytest.raises(DriverException):
            from_rows(page)
        return
    found = from_batch(page, imported(builder.finish(), len(rows) + len(page)))
    assert [column[len(rows) :] for column in found] == from_rows(page)


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)), st.integers(1, 3))
@pytest.mark.parametrize("strings", ["view", "dictionary"])
def test_text_as_views_and_words(strings: Any, texts: list[str | None], times: int) -> None:
    page = page_of([("a", TEXT), ("b", TEXT)], [(text, text) for text in texts])
    builder = ColumnBuilder(column_plan(page, strings=strings))
    for _ in range(times):
        assert builder.append(page)
    batch = imported(builder.finish(), times * len(texts))
    assert batch.column(0).to_pylist() == batch.column(1).to_pylist() == texts * times


NUMBERS = st.integers(-(10**80), 10**80) | st.integers(-(10**20), 10**20) | st.integers(-3, 3)


@given(NUMBERS, st.integers(-100, 100), st.integers(1, 76), st.integers(0, 76))
def test_decimals_of_fixed_scale(unscaled: int, exponent: int, precision: int, scale: int) -> None:
    """Exactly, or not at all."""
    scale = min(scale, precision)
    page = page_of([("d", DECIMAL)], [(Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), exponent)),)])
    power = exponent + scale
    units = unscaled * 10**power if power >= 0 else unscaled // 10**-power
    exact = power >= 0 or unscaled % 10**-power == 0
    plan = column_plan(page, decimals=(precision, scale))
    if exact and abs(units) < 10**precision:
        (found,) = imported(decode(plan, page), 1).column(0).to_pylist()
        assert (
            found.as_tuple()
            == Decimal((unscaled < 0 and units != 0, tuple(map(int, str(abs(units)))), -scale)).as_tuple()
        )
    else:
        with pytest.raises(DriverException, match=r"column 'd' .* in row 0 of the page: the value has more d"):
            decode(plan, page)


@given(NUMBERS, st.integers(1, 76))
def test_varints_of_fixed_width(value: int, precision: int) -> None:
    page = page_of([("v", VARINT)], [(value,)])
    for varints, most in (("int64", 2**63 - 1), (precision, 10**precision - 1)):
        plan = column_plan(page, varints=varints)
        if -most - (varints == "int64") <= value <= most:
            assert [int(v) for v in imported(decode(plan, page), 1).column(0).to_pylist()] == [value]
        else:
            with pytest.raises(DriverException, match="row 0"):
                decode(plan, page)


@given(st.integers(-(10**300), 10**300) | NUMBERS, st.integers(-400, 400))
def test_decimals_as_python_writes_them(unscaled: int, scale: int) -> None:
    value = Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))
    page = page_of([("d", DECIMAL)], [(value,)])
    assert imported(decode(column_plan(page), page), 1).column(0).to_pylist() == [str(value)]
