"""The native merge gives the result of ``heapq.merge`` over the same rows, in the order of servers; and runs of rows
of any types, taken together, are these rows."""

from __future__ import annotations

import functools
import heapq
import ipaddress
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassandra._core.codec import Codec, list_codec
from cassandra._core.columns import ColumnPlan, Merge, RecordBatch, decode, gather
from tests.property.arrow_values import values_of
from tests.property.codec_types import EXACT, OTHERS, plain, types
from tests.property.test_columns import _nothing_is_left, column_plan, from_rows, imported, page_for
from tests.unit.core.codec_frames import DECIMAL, INT, TEXT, VARINT

pytestmark = pytest.mark.long

__all__ = ["_nothing_is_left"]

ROWS = 12


def _real(value: float) -> Any:
    return (math.isnan(value), 0.0 if math.isnan(value) else value, math.isnan(value) or math.copysign(1, value))


def _bytes_with_sign(data: bytes) -> list[int]:
    return [byte - 256 if byte > 127 else byte for byte in data]


def _uuid(value: Any) -> Any:
    """By version; those of version 1 by their time, others by their bytes."""
    return (value.version_bits, value.time if value.version_bits == 1 else value.int >> 64, value.int & (2**64 - 1))


class _Uuid:
    def __init__(self, value: Any) -> None:
        self.int, self.time, self.version_bits = value.int, value.time, value.int >> 76 & 15


#: How servers order values of a type, by its name.
ORDERS: dict[str, Callable[[Any], Any]] = {
    "ascii": str.encode,
    "text": str.encode,
    "blob": bytes,
    "inet": lambda value: ipaddress.ip_address(value).packed,
    "double": _real,
    "float": _real,
    "date": lambda value: value.days_from_epoch,
    "time": lambda value: value.nanosecond_time,
    "uuid": lambda value: _uuid(_Uuid(value)),
    "timeuuid": lambda value: (value.time, _bytes_with_sign(value.bytes[8:])),
}
NUMBERS = ("bigint", "boolean", "int", "smallint", "tinyint", "varint", "decimal", "timestamp")
ORDERED = [
    (codec, values, ORDERS.get(codec.cql(), lambda value: value))
    for codec, values in EXACT + OTHERS
    if codec.cql() in ORDERS or codec.cql() in NUMBERS
]


def _compare(directions: list[bool], left: list[Any], right: list[Any]) -> int:
    for descends, a, b in zip(directions, left, right, strict=True):
        if a != b:
            return -1 if (a < b) is not descends else 1
    return 0


@st.composite
def sources(draw: st.DrawFn) -> Any:
    """Columns, how many of them are the key, its directions, and rows of each source in that order."""
    keys = draw(st.lists(st.sampled_from(ORDERED), min_size=1, max_size=3))
    directions = [draw(st.booleans()) for _ in keys]
    payload = draw(st.lists(types, max_size=2))
    few = [st.lists(values, min_size=1, max_size=4) for _, values, _ in keys]  # so that many are equal
    pools = [st.sampled_from(draw(values)) for values in few]
    row = st.tuples(*pools, *(st.none() | values for _, values in payload))
    order = functools.cmp_to_key(functools.partial(_compare, directions))

    def key(row: Any) -> Any:
        return order([of(value) for (_, _, of), value in zip(keys, row, strict=False)])

    found = [sorted(draw(st.lists(row, max_size=ROWS)), key=key) for _ in range(draw(st.integers(0, 5)))]
    codecs = [codec for codec, _, _ in keys] + [codec for codec, _ in payload]
    return codecs, directions, key, found


def merged(merge: Merge, batches: list[list[RecordBatch]], target: int) -> list[RecordBatch]:
    """*batches* are of each source."""
    coming = [iter(of_source) for of_source in batches]
    taken: list[RecordBatch] = []
    while True:
        hungry = merge.sources_without_rows()
        for source in hungry:
            batch = next(coming[source], None)
            if batch is None:
                merge.end(source)
            else:
                merge.feed(source, batch)
        before = len(taken)
        merge.advance(target)
        while (piece := merge.take()) is not None:
            taken.append(piece)
        if not hungry and len(taken) == before:
            return taken


def rows_in(codecs: list[Codec], batches: list[RecordBatch]) -> list[Any]:
    rows: list[Any] = []
    for batch in batches:
        whole = imported_slice(batch)
        columns = [[plain(c, v) for v in values_of(c, whole.column(i))] for i, c in enumerate(codecs)]
        rows.extend(zip(*columns, strict=True))
    return rows


def imported_slice(batch: RecordBatch) -> pa.RecordBatch:
    found = pa.record_batch(batch)
    found.validate(full=True)
    for i in range(found.num_columns):
        assert found.column(i).null_count == batch.null_count(i)
    return found.take(pa.array(range(found.num_rows), pa.int32()))  # columns that begin at the first row


def plain_rows(codecs: list[Codec], rows: list[Any]) -> list[Any]:
    return list(zip(*from_rows(page_for(codecs, rows)), strict=True))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(sources(), st.data())
def test_as_heapq_merges(table: Any, data: st.DataObject) -> None:
    codecs, directions, key, rows = table
    cuts = [sorted(data.draw(st.lists(st.integers(0, len(of_source)), max_size=2))) for of_source in rows]
    parts = [
        [of_source[a:b] for a, b in zip([0, *cut], [*cut, len(of_source)], strict=True)]
        for of_source, cut in zip(rows, cuts, strict=True)
    ]
    plan = column_plan(page_for(codecs, []), uuids="binary")
    batches = [[decode(plan, page_for(codecs, part)) for part in of_source] for of_source in parts]
    merge = Merge(plan, list(enumerate(directions)), len(rows), data.draw(st.sampled_from([1, 3, 64])))
    found = merged(merge, batches, data.draw(st.sampled_from([1, 5, 1000])))
    del merge, batches
    wanted = list(heapq.merge(*rows, key=key))
    assert rows_in(codecs, found) == (plain_rows(codecs, wanted) if wanted else [])


OPTIONS = [
    {},
    {"strings": "view"},
    {"strings": "dictionary"},
    {"decimals": (38, 9)},
    {"decimals": (76, 9)},
    {"varints": "int64"},
    {"varints": 30},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(data=st.data())
def test_keys_of_any_arrow_type_merge_in_cql_order(options: Any, data: st.DataObject) -> None:
    """The order is that of the CQL type."""
    small = st.integers(-(10**17), 10**17)
    texts = st.text("a\0é", max_size=20)
    decimals = st.builds(lambda n, by: Decimal(n).scaleb(-by), small, st.integers(0, 9))
    row = st.tuples(texts, decimals, small)
    at = data.draw(st.integers(0, 2))
    rows = [sorted(data.draw(st.lists(row, max_size=6)), key=lambda row: row[at]) for _ in range(3)]
    codecs = [TEXT, DECIMAL, VARINT]
    plan = column_plan(page_for(codecs, []), **options)
    batches = [[decode(plan, page_for(codecs, of_source))] for of_source in rows]
    found = merged(Merge(plan, [(at, False)], 3, 2), batches, 4)
    wanted = [row[at] for row in heapq.merge(*rows, key=lambda row: row[at])]
    names = ["text", "decimal", "varint"]
    made = {"text": str, "decimal": Decimal, "varint": int}[names[at]]
    assert [made(v) for batch in found for v in pa.record_batch(batch).column(at).to_pylist()] == wanted


@st.composite
def some_tables(draw: st.DrawFn) -> tuple[list[Codec], list[list[Any]]]:
    columns = draw(st.lists(types, min_size=1, max_size=4))
    rows = st.lists(st.tuples(*(st.none() | values for _, values in columns)), max_size=8)
    return [codec for codec, _ in columns], draw(st.lists(rows, min_size=1, max_size=3))


@given(some_tables(), st.data(), st.sampled_from(OPTIONS[:3]))
def test_runs_of_rows(table: Any, data: st.DataObject, options: Any) -> None:
    codecs, tables = table
    plan: ColumnPlan = column_plan(page_for(codecs, []), **options)
    batches = [decode(plan, page_for(codecs, rows)) for rows in tables]
    runs, wanted = [], []
    for which in data.draw(st.lists(st.integers(0, len(tables) - 1), max_size=8)):
        first = data.draw(st.integers(0, len(tables[which])))
        count = data.draw(st.integers(0, len(tables[which]) - first))
        begin = data.draw(st.integers(0, first))
        runs.append((batches[which].slice(begin), first - begin, count))
        wanted.extend(tables[which][first : first + count])
    found = imported(gather(runs, plan), len(wanted))
    del runs, batches
    if wanted:
        columns = [[plain(c, v) for v in values_of(c, found.column(i))] for i, c in enumerate(codecs)]
        assert list(zip(*columns, strict=True)) == plain_rows(codecs, wanted)


def test_runs_of_no_rows() -> None:
    codecs = [TEXT, list_codec(INT), INT]
    plan = column_plan(page_for(codecs, []))
    none, two = (decode(plan, page_for(codecs, rows)) for rows in ([], [("a", [1], 1), ("b", [2, 3], 2)]))
    found = gather([(none, 0, 0), (two, 1, 1), (two, 2, 0), (none, 0, 0), (two, 0, 1)], plan)
    assert imported(found, 2).column(1).to_pylist() == [[2, 3], [1]]
    assert len(gather([], plan)) == len(gather([(none, 0, 0)], plan)) == 0


def test_null_is_the_smallest_key() -> None:
    rows = [[(None, 0), (2, 0)], [(-5, 1)], [(None, 2)]]
    for descends, wanted in ((False, [0, 2, 1, 0]), (True, [0, 1, 0, 2])):
        plan = column_plan(page_for([INT, INT], []))
        ordered = [of_source[::-1] if descends else of_source for of_source in rows]
        batches = [[decode(plan, page_for([INT, INT], of_source))] for of_source in ordered]
        found = merged(Merge(plan, [(0, descends)], 3), batches, 10)
        assert [number for batch in found for number in pa.record_batch(batch).column(1).to_pylist()] == wanted
