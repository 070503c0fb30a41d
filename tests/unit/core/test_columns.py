"""The columns extension: schemas, buffers, and refused values."""

from __future__ import annotations

import datetime
import gc
import struct
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cassandra._base.errors import DriverException
from cassandra._core import transport
from cassandra._core.codec import (
    Codec,
    Result,
    ResultPlan,
    RowsPage,
    TypeContext,
    custom_codec,
    decode_result,
    decrypted_page,
    encrypted_codec,
    list_codec,
    map_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from cassandra._core.columns import ColumnBuilder, ColumnPlan, decode
from cassandra._core.memory import MemoryPool
from cassandra._core.transport import Frame
from tests.packages import duckdb
from tests.packages import polars as pl
from tests.unit.core.codec_frames import (
    ASCII,
    BIGINT,
    BLOB,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    DURATION,
    FLOAT,
    INET,
    INT,
    NO_METADATA,
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TINYINT,
    UUID,
    VARINT,
    bytes_,
    encoded,
    int_,
    rows_body,
)
from tests.unit.core.codec_frames import decode as decode_body
from tests.unit.core.column_pages import (
    COLUMNS,
    ROW,
    SOME_UUID,
    TYPES,
    UDT,
    WHEN,
    checked_pool,
    decoded,
    everything,
    page_of,
    page_with,
    planned,
    raw_page,
)
from tests.unit.frames import pandas_frames


@pytest.fixture
def pool() -> Iterator[MemoryPool]:
    yield from checked_pool()


def test_schema_of_every_type(pool: MemoryPool) -> None:
    schema = pa.schema(planned(everything(), pool))
    for (name, codec, _, expected), field in zip(TYPES, schema, strict=True):
        assert (field.name, field.type, field.nullable) == (name, expected, True)
        assert field.metadata[b"cql.type"] == codec.cql().encode()


def test_names_of_nested_fields_are_those_of_the_type(pool: MemoryPool) -> None:
    schema = pa.schema(planned(everything(), pool))
    assert schema.field("udt").type.field(0).metadata == {b"cql.type": b"text"}
    assert not schema.field("map").type.key_field.nullable
    assert schema.field("map").type.item_field.nullable


def test_options_of_types(pool: MemoryPool) -> None:
    page = page_of([("d", DECIMAL), ("v", VARINT), ("u", UUID), ("t", TEXT)], [(Decimal("1.5"), 3, SOME_UUID, "x")])
    of = lambda **options: [field.type for field in pa.schema(planned(page, pool, **options))]  # noqa: E731
    assert of(decimals=(20, 4))[0] == pa.decimal128(20, 4)
    assert of(decimals=[76, 0])[0] == pa.decimal256(76, 0)
    assert of(varints=38)[1] == pa.decimal128(38, 0)
    assert of(varints="int64")[1] == pa.int64()
    assert of(uuids="binary")[2] == pa.binary(16)
    assert of(strings="view")[3] == pa.string_view()
    assert of(strings="dictionary")[3] == pa.dictionary(pa.int32(), pa.string())


@pytest.mark.parametrize(
    "options",
    [
        {"strings": "large"},
        {"decimals": "text"},
        {"decimals": (0, 0)},
        {"decimals": (77, 0)},
        {"decimals": (5, 6)},
        {"decimals": 38},
        {"varints": 0},
        {"varints": 77},
        {"varints": True},
        {"varints": (38, 0)},
        {"uuids": "text"},
    ],
)
def test_options_that_are_none(pool: MemoryPool, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))}|decimals must have"):
        ColumnPlan([("a", TEXT)], pool, **options)


class Cipher:
    """Stores values backwards."""

    def __init__(self, inner: Codec) -> None:
        self.inner = inner

    def encode(self, value: Any, version: int) -> bytes:
        return self.inner.encode(value)[::-1]

    def decrypt(self, data: bytes) -> bytes:
        if data == b"bad":
            raise ValueError("it cannot be decrypted")
        return data[::-1]

    def decode(self, data: bytes, version: int) -> Any:
        return self.inner.decode(self.decrypt(data))


def test_an_encrypted_column_is_of_the_type_inside(pool: MemoryPool) -> None:
    """Each with every other one beside it, and nulls."""
    columns = [
        (name, encrypted_codec(BLOB, Cipher(codec)) if at % 2 else codec) for at, (name, codec) in enumerate(COLUMNS)
    ]
    page = page_of(columns, [ROW if i % 2 == 0 else [None] * len(ROW) for i in range(4)])
    plain = ResultPlan([("ks", "t", name, codec) for name, codec in COLUMNS])
    found = pa.record_batch(decode(planned(page, pool), decrypted_page(page, plain)))
    assert found.equals(pa.record_batch(decoded(everything(4), pool)))
    for at, field in enumerate(found.schema):
        assert field.metadata.get(b"cql.encrypted") == (b"true" if at % 2 else None)
        assert field.metadata[b"cql.type"] == COLUMNS[at][1].cql().encode()


def test_decrypting_a_page_that_is_none(pool: MemoryPool) -> None:
    columns = [("a", INT), ("c", encrypted_codec(BLOB, Cipher(TEXT)))]
    plain = ResultPlan([("ks", "t", "a", INT), ("ks", "t", "c", TEXT)])
    with pytest.raises(DriverException, match=r"column 'c' of ks.t as blob in row 1 .* it cannot be decrypted"):
        decrypted_page(page_with(columns, [[None, b"good"], [None, b"bad"]]), plain)
    whole = rows_body(columns, [[b"\0\0\0\1", b"abc"]] * 2, NO_METADATA)
    for cut in range(1, 8):
        page = decode_body(whole[:-cut], plan=ResultPlan([("ks", "t", *column) for column in columns])).page
        assert page is not None
        with pytest.raises(DriverException, match=r"column 'c' of ks.t as blob in row 1"):
            decrypted_page(page, plain)


def test_every_type_through_every_library(pool: MemoryPool) -> None:
    page = everything(5)
    batch = decoded(page, pool)
    table = pa.table(batch)
    table.validate(full=True)
    assert [table.column(i).null_count for i in range(table.num_columns)] == [2] * len(TYPES)
    row = table.slice(2, 1).to_pylist()[0]
    assert row["text"] == "grüße, " * 5 and row["decimal"] == "-12.340" and row["varint"] == str(-(10**30))
    assert row["vector"] == [0.5, 1.5, 2.5] and row["map"] == [("k", [1, None])] and row["inet"] == bytes(15) + b"\x01"
    # Each library lacks some types; it imports the others from our batches directly.
    frame = pl.DataFrame(batch_without(page, pool, "duration"))
    assert frame.shape == (5, len(TYPES) - 1)
    assert frame["int"].to_list() == [-7, None, -7, None, -7]
    assert frame["vector"].to_list()[0] == [0.5, 1.5, 2.5] and frame["udt"].to_list()[0] == {
        "street": "street",
        "zip": 12345,
    }
    assert frame["timestamp"][0] == WHEN.replace(tzinfo=datetime.timezone.utc)
    relation = duckdb.from_arrow(batch_without(page, pool))
    found = relation.aggregate("count(*), sum(int), max(text), list_sum(any_value(list))").fetchall()
    assert found == [(5, -21, "grüße, " * 5, 6)]
    assert relation.to_arrow_table().column("list").to_pylist() == [[1, 2, 3], None] * 2 + [[1, 2, 3]]
    for pandas in pandas_frames(lambda: batch_without(page, pool)):
        assert pandas["int"].sum() == -21 and len(pandas.columns) == len(TYPES)


def batch_without(page: RowsPage, pool: MemoryPool, *names: str) -> Any:
    return pa.table(decoded(page, pool)).drop_columns(list(names)) if names else pa.table(decoded(page, pool))


@pytest.mark.parametrize("strings", ["utf8", "view", "dictionary"])
def test_texts_through_every_library(pool: MemoryPool, strings: Any) -> None:
    texts = ["", "short", None, "twelve bytes", "more than twelve", "grüße", None, "more than twelve"]
    batch = decoded(
        page_of([("t", TEXT), ("l", list_codec(TEXT))], [(t, [t, None]) for t in texts]), pool, strings=strings
    )
    table = pa.table(batch)
    table.validate(full=True)
    assert table.column("t").to_pylist() == texts
    assert table.column("l").to_pylist() == [[t, None] for t in texts]
    assert pl.DataFrame(batch)["t"].to_list() == texts
    assert duckdb.from_arrow(table).project("t").fetchall() == [(t,) for t in texts]


def framed(texts: list[str | None]) -> tuple[Frame, RowsPage]:
    """A page as it comes from a connection."""
    columns = [("t", TEXT), ("l", list_codec(TEXT))]
    body = rows_body(columns, encoded(columns, [(t, [t]) for t in texts]))
    frame = Frame(4, 0, 0, 8, body)
    page = decode_result(Result, frame, 0, 4, TypeContext()).page
    assert page is not None
    return frame, page


LONG = [f"text number {i}, which is longer than twelve bytes" if i % 7 else None for i in range(3000)]


def test_views_point_into_the_frame(pool: MemoryPool) -> None:
    frame, page = framed(LONG)
    builder = ColumnBuilder(planned(page, pool, strings="view"))
    for _ in range(2):
        assert builder.append(page)
    assert builder.append(page.detached())  # in no frame: copied
    batch = builder.finish()
    assert batch.nbytes > 3 * page.nbytes
    assert pool.stats().in_use < batch.nbytes - page.nbytes, "the page was copied"
    table = pa.record_batch(batch)
    table.validate(full=True)
    assert table.column("t").to_pylist() == LONG * 3
    assert pl.DataFrame(batch)["t"].to_list() == LONG * 3
    begin = pa.py_buffer(memoryview(frame)).address
    _, _, *data = table.column("t").buffers()
    assert [begin <= buffer.address < begin + len(frame) for buffer in data] == [True, True, False]


def test_views_keep_the_frame_alone(pool: MemoryPool) -> None:
    """Not the Python objects around it: the remaining memory is released by any thread, without the GIL."""
    frames = transport.debug_counters().get("frames", 0)
    kept = []
    for _ in range(20):
        frame, page = framed(LONG)
        kept.append(pa.record_batch(decoded(page, pool, strings="view")))
        del frame, page
    gc.collect()
    assert transport.debug_counters().get("frames", 0) == frames
    assert [table.column("t").to_pylist() == LONG for table in kept] == [True] * 20
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()


def test_buffers_are_aligned_padded_and_no_larger_than_needed(pool: MemoryPool) -> None:
    rows = [(i, f"name-{i:05}", i * i, i / 3, WHEN) for i in range(5000)]
    page = page_of([("i", INT), ("t", TEXT), ("b", BIGINT), ("d", DOUBLE), ("w", TIMESTAMP)], rows)
    batch = decoded(page, pool)
    assert batch.nbytes <= 48 * 5000
    assert pool.stats().in_use <= 48 * 5000
    validity, offsets, data = batch.column("t")
    assert validity is None
    assert struct.unpack("=3i", offsets[:12]) == (0, 10, 20) and bytes(data[:10]) == b"name-00000"
    assert batch.column(0)[1].readonly
    assert batch.null_count("t") == 0
    for name, pieces in ((name, batch.column(name)) for name in batch.plan.names):
        imported = pa.record_batch(batch).column(name).buffers()
        for ours, theirs in zip(pieces, imported, strict=True):
            assert (ours is None) == (theirs is None)
            if theirs is not None:
                assert theirs.address % 64 == 0 and bytes(ours) == theirs.to_pybytes()[: len(ours)]
    with pytest.raises(KeyError):
        batch.column("none")
    with pytest.raises(IndexError):
        batch.column(5)


def test_the_first_null_brings_the_validity(pool: MemoryPool) -> None:
    rows: list[tuple[int | None]] = [(i,) for i in range(100)]
    rows[77] = (None,)
    batch = decoded(page_of([("i", INT)], rows), pool)
    validity = batch.column("i")[0]
    assert validity is not None
    assert [i for i in range(104) if not validity[i // 8] >> i % 8 & 1] == [77, *range(100, 104)]
    assert batch.null_count("i") == 1
    assert struct.unpack_from("=i", batch.column("i")[1], 77 * 4) == (0,)


EMPTY_IS_NULL = [codec for _, codec, _, _ in TYPES if codec.name not in ("ascii", "text", "blob", "com.example.Opaque")]


@pytest.mark.parametrize("codec", EMPTY_IS_NULL, ids=lambda codec: str(codec.cql()))
def test_zero_bytes_are_null(pool: MemoryPool, codec: Codec) -> None:
    column = pa.record_batch(decoded(raw_page(codec, b"", None), pool)).column(0)
    assert column.null_count == 2 and column.to_pylist() == [None, None]


@pytest.mark.parametrize("codec", [ASCII, TEXT, BLOB, custom_codec("com.example.Opaque")], ids=lambda codec: codec.name)
def test_zero_bytes_are_a_value(pool: MemoryPool, codec: Codec) -> None:
    assert pa.record_batch(decoded(raw_page(codec, b"", None), pool)).column(0).null_count == 1


@pytest.mark.parametrize(
    ("codec", "value", "why"),
    [
        (INT, b"\x00\x00\x01", "int needs 4 bytes, the value has 3"),
        (BIGINT, b"1234", "bigint needs 8 bytes, the value has 4"),
        (TINYINT, b"12", "tinyint needs 1 byte, the value has 2"),
        (SMALLINT, b"1", "smallint needs 2 bytes, the value has 1"),
        (BOOLEAN, b"12", "boolean needs 1 byte, the value has 2"),
        (UUID, b"12", "uuid needs 16 bytes, the value has 2"),
        (INET, b"12345", "inet needs 4 or 16 bytes, the value has 5"),
        (DECIMAL, b"1234", "decimal needs 5 bytes or more, the value has 4"),
        (TIME, struct.pack(">q", 86400 * 10**9), "the time is not within a day"),
        (TIME, struct.pack(">q", -1), "the time is not within a day"),
        (DURATION, b"\x02", "duration ends within one of its three numbers"),
        (DURATION, b"\x02\x02\x02\x02", "duration has 1 bytes too many"),
        (DURATION, b"\xf8" + b"\xff" * 5 + b"\x02\x02", "beyond 32 bits"),
        (ASCII, "ü".encode(), "the text is not ASCII"),
        (TEXT, b"\xc3", "the text is not UTF-8"),
        (TEXT, b"\xed\xa0\x80", "the text is not UTF-8"),
        (TEXT, b"\xf4\x90\x80\x80", "the text is not UTF-8"),
        (list_codec(INT), b"12", "has no room for its count"),
        (list_codec(INT), int_(3) + int_(4), "claims 3 items in 4 bytes"),
        (list_codec(INT), int_(-1), "claims -1 items in 0 bytes"),
        (list_codec(INT), int_(1) + bytes_(b"123"), "int needs 4 bytes"),
        (list_codec(INT), int_(1) + int_(9) + b"12", "int item of 9 bytes where 2 are left"),
        (list_codec(INT), int_(0) + b"1", "list<int> has 1 bytes too many"),
        (map_codec(INT, INT), int_(1) + bytes_(None) + bytes_(None), "a key of map<int, int> is null"),
        (map_codec(INT, INT), int_(2) + bytes_(None), "claims 2 items"),
        (tuple_codec([INT, INT]), bytes_(b"1234") + b"12", "its length is cut off"),
        (tuple_codec([INT, TEXT]), bytes_(b"1234") + int_(9) + b"12", "text item of 9 bytes where 2 are left"),
        (tuple_codec([tuple_codec([INT])]), bytes_(bytes_(b"123")), "int needs 4 bytes"),
        (vector_codec(FLOAT, 2), b"1234567", "vector<float, 2> cannot have 7 bytes"),
        (vector_codec(TEXT, 2), b"\x01", "vector<text, 2> cannot have 1 bytes"),
        (vector_codec(TEXT, 2), b"\x01a\x05b", "vector element 1 goes past the end of the value"),
        (vector_codec(TEXT, 1), b"\x01ab", "has 1 bytes too many"),
        (VARINT, b"\x01" * 8193, "too long to be converted to text"),
        (list_codec(TEXT), int_(1) + bytes_(b"\xff"), "the text is not UTF-8"),
    ],
)
def test_invalid_values_are_refused_with_column_and_row(pool: MemoryPool, codec: Codec, value: bytes, why: str) -> None:
    page = raw_page(codec, None, None, value, name="broken")
    builder = ColumnBuilder(planned(page, pool))
    good = raw_page(codec, None, name="broken")
    assert builder.append(good)
    with pytest.raises(DriverException) as caught:
        builder.append(page)
    assert "Failed to decode column 'broken' of ks.t as " in str(caught.value)
    assert f"in row 2 of the page: {''}" in str(caught.value) and why in str(caught.value)
    assert builder.append(good)
    assert len(builder.finish()) == 2


@pytest.mark.parametrize("codec", [INT, TEXT, BIGINT, BOOLEAN, list_codec(INT)], ids=lambda codec: str(codec.cql()))
def test_a_page_that_is_cut_off(pool: MemoryPool, codec: Codec) -> None:
    value = codec.encode({"int": 1, "text": "abcdefgh", "bigint": 2, "boolean": True}.get(codec.name, [1]))
    whole = bytes(raw_page(codec, value, value, value))
    plan = ResultPlan([("ks", "t", "c", codec)])
    for end in range(12, len(whole)):  # shorter pages have no room for three rows
        page = decode_body(rows_body([("c", codec)], [], NO_METADATA)[:-4] + int_(3) + whole[:end], plan=plan).page
        assert page is not None
        with pytest.raises(DriverException, match=r"response ends before|where the response has"):
            decoded(page, pool)


NUMBERS = [("a", INT), ("b", BIGINT), ("c", DATE), ("d", DOUBLE), ("e", FLOAT)]


@pytest.mark.parametrize("within", [False, True], ids=["columns", "fields"])
@pytest.mark.parametrize("between", [None, 0, 2, 4])
def test_numbers_that_follow_each_other_with_any_of_them_null(
    pool: MemoryPool, within: bool, between: int | None
) -> None:
    columns: list[tuple[str, Codec]] = list(NUMBERS)
    if between is not None:
        columns.insert(between, ("t", TEXT))
    values = {"a": 1, "b": 1 << 40, "c": datetime.date(2026, 11, 25), "d": 0.1, "e": 0.5, "t": "text"}
    names = [name for name, _ in columns]
    rows = [
        tuple(None if mask >> at & 1 else values[name] for at, name in enumerate(names))
        for mask in range(1 << len(names))
    ]
    if within:
        page = page_of([("u", udt_codec("ks", "u", names, [codec for _, codec in columns]))], [(row,) for row in rows])
    else:
        page = page_of(columns, rows)
    table = pa.table(decoded(page, pool))
    table.validate(full=True)
    found = table.column(0).to_pylist() if within else table.to_pylist()
    assert found == [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("within", [False, True], ids=["columns", "fields"])
def test_one_of_many_numbers_has_another_length(pool: MemoryPool, within: bool) -> None:
    widths = [4, 8, 4, 8, 4]
    for wrong in range(len(NUMBERS)):
        for length in (1, 3, 5, 7, 9, 2**31 - 1, 12, 4, 8):
            if length == widths[wrong]:
                continue
            cells = [int_(length if at == wrong else width) + bytes(width) for at, width in enumerate(widths)]
            if within:
                codec = udt_codec("ks", "u", [name for name, _ in NUMBERS], [codec for _, codec in NUMBERS])
                page = raw_page(codec, None, b"".join(cells), name="u")
            else:
                plan = ResultPlan([("ks", "t", name, codec) for name, codec in NUMBERS])
                good = b"".join(int_(width) + bytes(width) for width in widths)
                body = rows_body(NUMBERS, [], NO_METADATA)[:-4] + int_(2) + good + b"".join(cells)
                found = decode_body(body, plan=plan).page
                assert found is not None
                page = found
            with pytest.raises(DriverException) as caught:
                decoded(page, pool)
            assert f"column '{'u' if within else NUMBERS[wrong][0]}'" in str(caught.value)
            assert "in row 1 of the page" in str(caught.value)


def test_a_page_of_numbers_that_is_cut_off(pool: MemoryPool) -> None:
    whole = b"".join(int_(width) + bytes(width) for width in (4, 8, 4, 8, 4)) * 2
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in NUMBERS])
    head = rows_body(NUMBERS, [], NO_METADATA)[:-4] + int_(2)
    for end in range(40, len(whole)):
        page = decode_body(head + whole[:end], plan=plan).page
        assert page is not None
        with pytest.raises(DriverException, match=r"response ends before|where the response has"):
            decoded(page, pool)


def test_nulls_of_wide_types_have_an_end(pool: MemoryPool) -> None:
    page = raw_page(vector_codec(vector_codec(FLOAT, 1000), 10000), *[None] * 100)
    with pytest.raises(DriverException, match="takes more memory than"):
        decoded(page, pool)
    page = raw_page(vector_codec(tuple_codec([]), 2**31 - 1), *[None] * 3)
    with pytest.raises(DriverException, match=r"more than 2\^31 elements|more nulls"):
        decoded(page, pool)


def test_missing_fields_are_null_and_unknown_ones_left_out(pool: MemoryPool) -> None:
    page = raw_page(UDT, bytes_(b"a"), bytes_(b"b") + bytes_(int_(1)) + bytes_(b"new"))
    found = pa.record_batch(decoded(page, pool)).column(0).to_pylist()
    assert found == [{"street": "a", "zip": None}, {"street": "b", "zip": 1}]


def test_user_types_with_nulls_at_every_level_page_by_page(pool: MemoryPool) -> None:
    inner = tuple_codec([BIGINT, TEXT])
    outer = udt_codec("ks", "outer", ["n", "t", "flag", "inner", "many"], [INT, TEXT, BOOLEAN, inner, list_codec(TEXT)])

    def value(number: int) -> dict[str, Any] | None:
        if number % 7 == 6:
            return None
        found: dict[str, Any] = {"n": number, "t": f"text {number}" * (number % 5), "flag": number % 2 == 0}
        found["inner"] = {
            "f0": None if number % 4 == 1 else number << 40,
            "f1": None if number % 3 == 1 else "ü" * number,
        }
        found["many"] = ["a"] * (number % 3)
        null = list(found)[number % 11 % 6 - 1] if number % 11 < 6 else None
        return {name: None if name == null else field for name, field in found.items()}

    def given(one: dict[str, Any] | None) -> Any:
        """As it is bound."""
        if one is None:
            return None
        return tuple([tuple(field.values()) if isinstance(field, dict) else field for field in one.values()])

    columns = [("before", INT), ("u", outer), ("after", TEXT)]
    values = [value(number) for number in range(270)]
    pages = [
        page_of(columns, [(number, given(values[number]), str(number)) for number in range(first, first + 90)])
        for first in (0, 90, 180)
    ]
    builder = ColumnBuilder(planned(pages[0], pool))
    assert all(builder.append(page) for page in pages)
    table = pa.table(builder.finish())
    table.validate(full=True)
    assert table.to_pylist() == [
        {"before": number, "u": one, "after": str(number)} for number, one in enumerate(values)
    ]


def test_no_rows_and_no_columns(pool: MemoryPool) -> None:
    empty = decoded(everything(0), pool)
    table = pa.table(empty)
    table.validate(full=True)
    assert table.num_rows == 0 and table.num_columns == len(TYPES)
    assert pl.DataFrame(pa.table(empty).drop_columns(["duration"])).shape == (0, len(TYPES) - 1)
    assert pa.record_batch(decoded(page_with([], []), pool)).num_columns == 0


def test_a_builder_coalesces_pages(pool: MemoryPool) -> None:
    page = everything(7)
    plan = planned(page, pool)
    for hints in ((0, 0), (7 * 20, 0), (7 * 20, 7 * 5), (0, 7 * 20), (0, 7 * 50)):
        builder = ColumnBuilder(plan, *hints)
        for _ in range(20):
            assert builder.append(page)
        batch = builder.finish()
        table = pa.table(batch)
        table.validate(full=True)
        assert table.num_rows == 140
        assert table.slice(133, 7).equals(pa.table(decode(plan, page)))
        assert len(builder) == 0 and builder.nbytes == 0


def test_unused_reserved_memory_is_given_back(pool: MemoryPool) -> None:
    page = page_of([("t", TEXT), ("l", list_codec(INT))], [("x" * 1000, list(range(100)))] * 100)
    builder = ColumnBuilder(planned(page, pool), 1_000_000)
    assert builder.append(page) and builder.append(page)
    batch = builder.finish()
    assert batch.nbytes <= 1.25 * 200 * (1000 + 400 + 8) + 4096


def test_room_for_as_many_rows_as_are_expected_is_made_once(pool: MemoryPool) -> None:
    rows = [(i, f"row {i:9}") for i in range(10_000)]
    pages = [page_of([("n", BIGINT), ("t", TEXT)], some) for some in (rows[:5000], rows[5000:])]
    builder = ColumnBuilder(planned(pages[0], pool), 1_000_000, 10_000)
    assert builder.append(pages[0])
    room = builder.nbytes
    assert builder.append(pages[1]) and builder.nbytes == room
    batch = builder.finish()
    assert 10_000 * (8 + 4 + 13) <= batch.nbytes == room <= 1.25 * 10_000 * (8 + 4 + 13)
    assert pa.record_batch(batch).column(1).to_pylist() == [text for _, text in rows]


def test_pools_at_their_limit_cost_plain_memory(pool: MemoryPool) -> None:
    small = MemoryPool(4096)
    page = page_of([("b", BLOB)], [(bytes(100_000),)] * 3)
    batch = decoded(page, small)
    assert small.stats().overflow_bytes >= 300_000
    assert pa.record_batch(batch).column(0).to_pylist() == [bytes(100_000)] * 3
    del batch
    assert small.stats().overflow_bytes == 0
