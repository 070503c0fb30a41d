"""What is kept of a small page, and the page that is made of it again: as columns it is what it was."""

from __future__ import annotations

import gc
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cassandra._base.errors import DriverException
from cassandra._base.tuples import row_class
from cassandra._core.codec import (
    Codec,
    Result,
    ResultDecoder,
    ResultPlan,
    RowPlan,
    RowsPage,
    TypeContext,
    encrypted_codec,
    retained_page,
    split_page,
    tuple_codec,
    udt_codec,
)
from cassandra._core.columns import ColumnPlan, debug_counters, decode
from cassandra._core.memory import MemoryPool
from cassandra._core.transport import Frame
from cassandra._wire.rows import dict_factory, named_tuple_factory, ordered_dict_factory, row_plan, tuple_factory
from cassandra.query import class_row
from tests.unit.core.codec_frames import (
    BIGINT,
    BLOB,
    BOOLEAN,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INT,
    NO_METADATA,
    TEXT,
    TIME,
    TIMESTAMP,
    VARINT,
    rows_body,
)
from tests.unit.core.codec_frames import decode as decode_body
from tests.unit.core.column_pages import ROW, TYPES

FACTORIES = [tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory]
ONLY_BYTES = {"time", "duration", "list", "set", "map", "tuple", "udt", "vector", "texts", "nested"}


@pytest.fixture(autouse=True)
def pool() -> Iterator[MemoryPool]:
    before = debug_counters()
    pool = MemoryPool(1 << 30)
    yield pool
    gc.collect()
    assert debug_counters() == before and pool.stats().in_use == 0


def planned(columns: list[tuple[str, Codec]], rows: list[list[bytes | None]]) -> RowsPage:
    plan = ResultPlan([("ks", "t", *column) for column in columns])
    page = decode_body(rows_body(columns, rows, NO_METADATA), plan=plan).page
    assert page is not None
    return page


def split(page: RowsPage, factory: Any) -> tuple[Any, Any]:
    how = row_plan(page.plan, factory)
    assert how is not None
    return split_page(page, how)


def columns_of(page: RowsPage, pool: MemoryPool) -> pa.RecordBatch:
    plan = ColumnPlan([(name, codec) for _, _, name, codec in page.plan.specs], pool)
    found = pa.record_batch(decode(plan, page))
    found.validate(full=True)
    return found


def same(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """NaN is itself."""
    return one.schema.equals(other.schema, check_metadata=True) and _shown(one) == _shown(other)


def _shown(batch: pa.RecordBatch) -> str:
    times = [pa.types.is_timestamp(column.type) for column in batch.columns]  # those of Python end earlier
    return repr([(c.view(pa.int64()) if time else c).to_pylist() for c, time in zip(batch.columns, times, strict=True)])


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize(("name", "codec", "value", "_"), TYPES)
def test_every_type_and_factory(
    name: str, codec: Codec, value: Any, _: pa.DataType, factory: Any, pool: MemoryPool
) -> None:
    data = codec.encode(value)
    page = planned([("key", INT), (name, codec)], [[b"\0\0\0\1", data], [None, None], [b"\0\0\0\2", data]])
    direct = columns_of(page, pool)
    rows, kept = split(page, factory)
    assert (kept is rows) == (name not in ONLY_BYTES)
    for _ in range(2):
        again = retained_page(page.plan, kept)
        assert len(again) == 3 and bytes(memoryview(again)) == bytes(memoryview(page))
        assert same(columns_of(again, pool), direct)
    assert len(rows) == 3


@pytest.mark.parametrize("factory", FACTORIES)
def test_a_row_of_all_types(factory: Any, pool: MemoryPool) -> None:
    cells = [codec.encode(value) for (_, codec, _, _), value in zip(TYPES, ROW, strict=True)]
    page = planned([(name, codec) for name, codec, _, _ in TYPES], [cells, [None] * len(cells)])
    _, kept = split(page, factory)
    assert isinstance(kept, bytes)
    assert same(columns_of(retained_page(page.plan, kept), pool), columns_of(page, pool))


@pytest.mark.parametrize("codec", [codec for name, codec, _, _ in TYPES if name not in ONLY_BYTES])
@pytest.mark.parametrize("stands_for", [None, "EMPTY"])
def test_values_of_no_bytes(codec: Codec, stands_for: str | None, pool: MemoryPool) -> None:
    page = planned([("a", codec)], [[b""], [None]])
    codec.empty_value = stands_for
    try:
        rows, kept = split(page, None)
        assert kept is rows
        again = retained_page(page.plan, kept)
    finally:
        codec.empty_value = None
    assert same(columns_of(again, pool), columns_of(page, pool))


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (BOOLEAN, b"\x02"),
        (VARINT, b"\x00\x00\x01"),
        (VARINT, b"\xff\xff"),
        (DECIMAL, b"\x00\x00\x00\x05\x00\x00"),
        (DECIMAL, b"\x7f\xff\xff\xff\x01"),
        (DECIMAL, b"\x80\x00\x00\x01\x01"),
        (DECIMAL, struct.pack(">i", 30) + (10**40).to_bytes(18, "big")),
        (FLOAT, b"\x7f\xa0\x00\x01"),
        (FLOAT, b"\xff\x80\x00\x00"),
        (DOUBLE, b"\x7f\xf4\x00\x00\x00\x00\x00\x01"),
        (DOUBLE, b"\x80" + bytes(7)),
        (TIMESTAMP, b"\x7f" + b"\xff" * 7),
        (TIMESTAMP, b"\x80" + bytes(7)),
        (TIMESTAMP, b"\xff" * 8),
        (TIME, b"\x00" + b"\x01" * 7),
        (TEXT, "\x00\U0001f600".encode()),
    ],
)
def test_odd_values(codec: Codec, data: bytes, pool: MemoryPool) -> None:
    """Columns of rows are what columns of the page are: not spelled in as many ways."""
    page = planned([("a", codec)], [[data]])
    _, kept = split(page, None)
    try:
        direct = columns_of(page, pool)
    except DriverException as error:
        with pytest.raises(DriverException, match=str(error)):
            columns_of(retained_page(page.plan, kept), pool)
        return
    assert same(columns_of(retained_page(page.plan, kept), pool), direct)


def test_names_that_come_again(pool: MemoryPool) -> None:
    page = planned([("a", INT), ("a", INT)], [[b"\0\0\0\1", b"\0\0\0\2"]])
    for factory in FACTORIES:
        rows, kept = split(page, factory)
        assert (kept is rows) == (factory in (tuple_factory, named_tuple_factory))
        again = columns_of(retained_page(page.plan, kept), pool)
        assert [column.to_pylist() for column in again.columns] == [[1], [2]]


class Item:
    def __init__(self, a: int) -> None:
        self.a = a


def test_rows_of_a_class(pool: MemoryPool) -> None:
    page = planned([("a", INT)], [[b"\0\0\0\1"]])
    rows, kept = split(page, class_row(Item))
    assert rows[0].a == 1 and isinstance(kept, bytes)
    assert same(columns_of(retained_page(page.plan, kept), pool), columns_of(page, pool))


def test_encrypted_columns_are_kept_as_they_are() -> None:
    class Cipher:
        def encode(self, value: Any, version: int) -> bytes:
            raise AssertionError

        def decode(self, data: bytes, version: int) -> Any:
            return data[::-1].decode()

    page = planned([("a", INT), ("c", encrypted_codec(BLOB, Cipher()))], [[b"\0\0\0\1", b"cba"]])
    rows, kept = split(page, None)
    assert rows == [(1, "abc")] and isinstance(kept, bytes)
    assert bytes(memoryview(retained_page(page.plan, kept))) == bytes(memoryview(page))


def test_user_types_and_tuples_made_by_a_program() -> None:
    made = udt_codec("ks", "place", ["street"], [TEXT], lambda street: f"in {street}")
    page = planned([("u", made), ("t", tuple_codec([INT]))], [[b"\0\0\0\1x", b"\0\0\0\4\0\0\0\7"]])
    rows, kept = split(page, None)
    assert rows == [("in x", (7,))]
    assert bytes(memoryview(retained_page(page.plan, kept))) == bytes(memoryview(page))


def test_rows_that_a_program_has_changed(pool: MemoryPool) -> None:
    """Columns are of what the rows are now, or of nothing."""
    cells: list[list[bytes | None]] = [[b"\0\0\0\1", b"x"], [b"\0\0\0\2", b"y"]]
    page = planned([("a", INT), ("b", TEXT)], cells)
    rows, kept = split(page, dict_factory)
    rows[0]["a"] = 7
    rows.pop()
    assert columns_of(retained_page(page.plan, kept), pool).to_pydict() == {"a": [7], "b": ["x"]}
    for change, why in (
        (lambda rows: rows[0].pop("b"), "KeyError: 'b'"),
        (lambda rows: rows[0].update(a="one"), "int needs an int, not str"),
        (lambda rows: rows.append((1, "x", 3)), "values, got 3"),
        (lambda rows: rows.append("ab"), "expected a dict or tuple as row, got 'ab'"),
        (lambda rows: rows[0].update(a=1 << 40), "out of range"),
    ):
        rows, kept = split(page, dict_factory)
        change(rows)
        with pytest.raises(RuntimeError, match=f"its rows were changed .*{why}"):
            retained_page(page.plan, kept)


def test_no_rows(pool: MemoryPool) -> None:
    page = planned([("a", INT)], [])
    _, kept = split(page, None)
    assert len(retained_page(page.plan, kept)) == 0
    assert columns_of(retained_page(page.plan, kept), pool).num_rows == 0


def test_of_answers_of_one_statement() -> None:
    """They come by another way, from the second one on; so do the rows of a page that is not so small."""
    columns = [("a", BIGINT), ("b", DECIMAL)]
    plan = ResultPlan([("ks", "t", *column) for column in columns])
    decoder = ResultDecoder(Result, TypeContext())
    row: list[bytes | None] = [struct.pack(">q", 5), DECIMAL.encode(Decimal("1.50"))]
    plan.note_row_plan(None, RowPlan(plan, "tuple"))
    plan.note_row_plan(named_tuple_factory, RowPlan(plan, "named", row_class(("a", "b"))))
    for factory in (None, named_tuple_factory):
        for count in (0, 1, 40, 400):
            body = rows_body(columns, [row] * count, NO_METADATA)
            frame = Frame(4, 0, 1, 8, body)
            plain = decoder.plain(frame, 4 << 16 | 8, plan, factory)
            assert plain is not None
            rows, paging_state, kept = plain
            assert paging_state is None and (kept is rows) == (count < 400) and len(rows) == count
            page = retained_page(plan, kept)
            assert bytes(memoryview(page)) == body[-len(memoryview(page)) :] if count else not page.nbytes
