"""Values of Arrow arrays are written as the codec encodes the same values, in every layout of the arrays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cassandra._core.codec import UNSET, BindPlan, Codec
from cassandra._core.columns import ColumnPlan, IngestPlan, debug_counters, decode
from cassandra._core.memory import MemoryPool
from tests.property.codec_types import tables
from tests.unit.core.codec_frames import bytes_, encoded, page_of

POOL = MemoryPool(1 << 30)
Table = tuple[list[tuple[str, Codec]], list[Any]]  # columns and rows


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    gc.collect()
    before = debug_counters(), POOL.stats().in_use
    yield
    gc.collect()
    assert (debug_counters(), POOL.stats().in_use) == before


def _counts(codec: Codec) -> bool:
    return codec.name == "counter" or any(map(_counts, codec.children))


@st.composite
def columns(draw: st.DrawFn) -> Table:
    codecs, rows = draw(tables())
    assume(not any(map(_counts, codecs)))  # counters are refused
    return [(f"c{i}", codec) for i, codec in enumerate(codecs)], rows


def exported(columns: list[tuple[str, Codec]], rows: list[Any], **options: Any) -> pa.RecordBatch:
    page = page_of(columns, rows)
    return pa.record_batch(decode(ColumnPlan(columns, POOL, **options), page))


def written(plan: IngestPlan, batch: Any) -> list[tuple[bytes, int | None]]:
    schema, array = batch.__arrow_c_array__()
    rows = plan.reader(schema).rows(array)
    return [rows.encode(i) for i in range(len(rows))]


def bytes_of(plan: IngestPlan, batch: Any) -> list[bytes]:
    return [data for data, _ in written(plan, batch)]


def expected(columns: list[tuple[str, Codec]], rows: list[Any]) -> list[bytes]:
    return [b"".join(map(bytes_, row)) for row in encoded(columns, rows)]


@given(columns(), st.sampled_from(["utf8", "view", "dictionary"]))
def test_exported_batches_are_written_as_the_codec_encodes_them(table: Table, strings: Any) -> None:
    columns, rows = table
    batch = exported(columns, rows, strings=strings)
    assert bytes_of(IngestPlan(columns, nulls="null"), batch) == expected(columns, rows)


@given(columns(), st.data())
def test_rows_are_bound_as_the_codec_binds_them(table: Table, data: Any) -> None:
    """In any order of columns; the tokens of keys of one part and of several, too."""
    columns, rows = table
    batch = exported(columns, rows)
    order = data.draw(st.permutations(range(len(columns))))
    key = data.draw(st.lists(st.sampled_from(range(len(columns))), unique=True, min_size=1))
    rows = [row for row in rows if all(row[i] is not None for i in key)]
    batch = exported(columns, rows)
    plan = IngestPlan([columns[i] for i in order], partition_key=[columns[i][0] for i in key])
    bind = BindPlan([("ks", "t", *columns[i]) for i in order], [order.index(i) for i in key])
    for row, (found, token) in zip(rows, written(plan, batch), strict=True):
        bound = bind.bind([UNSET if row[i] is None else row[i] for i in order], 4)
        assert found == bound.data[2:]
        assert token == bound.token


def _otherwise(draw: Any, array: pa.Array) -> pa.Array:
    """The same values in another type of Arrow's."""
    kind = array.type
    ways = ["as it is", "sliced"]
    if not pa.types.is_nested(kind) and kind != pa.month_day_nano_interval():
        ways.append("dictionary")
    if pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        ways.append("runs")
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        ways += ["large", "view"]
    if pa.types.is_list(kind):
        ways += ["large", "view"]
    way = draw(st.sampled_from(ways))
    if way == "sliced":
        return pa.concat_arrays([array.slice(len(array)), array[:1], array, array[:1]]).slice(
            min(len(array), 1), len(array)
        )
    if way == "dictionary":
        return array.dictionary_encode()
    if way == "runs":
        return pc.run_end_encode(array, draw(st.sampled_from([pa.int16(), pa.int32(), pa.int64()])))
    if way == "view" and pa.types.is_list(kind):
        sizes = pc.list_value_length(array).fill_null(0)
        return pa.ListViewArray.from_arrays(array.offsets[:-1], sizes, array.values, mask=array.is_null())
    if way in ("large", "view"):
        return array.cast(_target(kind, way))
    return array


def _target(kind: pa.DataType, way: str) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.large_list(kind.value_field)
    if pa.types.is_string(kind):
        return pa.large_string() if way == "large" else pa.string_view()
    return pa.large_binary() if way == "large" else pa.binary_view()


@given(columns(), st.data())
def test_it_does_not_matter_how_values_lie_in_arrays(table: Table, data: Any) -> None:
    columns, rows = table
    batch = exported(columns, rows, uuids="binary")
    arrays = [_otherwise(data.draw, array) for array in batch.columns]
    other = pa.record_batch(arrays, names=batch.schema.names)
    plan = IngestPlan(columns, nulls="null")
    assert bytes_of(plan, other) == expected(columns, rows)
    start = data.draw(st.integers(0, len(rows)))
    assert bytes_of(plan, other.slice(start)) == expected(columns, rows[start:])
