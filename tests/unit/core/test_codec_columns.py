"""Pages decoded into arrays, a column each, and vectors as machine numbers."""

from __future__ import annotations

import datetime
import gc
import math
import sys
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from cassandra._base.errors import DriverException
from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import (
    Codec,
    ResultPlan,
    RowPlan,
    RowsPage,
    custom_codec,
    decode_numbers,
    decode_objects,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from cassandra._core.columns import ColumnPlan, debug_counters, decode_arrays
from tests.unit.core.codec_frames import (
    ASCII,
    BIGINT,
    BLOB,
    BOOLEAN,
    COUNTER,
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
    TIMEUUID,
    TINYINT,
    UUID,
    VARINT,
    decode,
    encoded,
    rows_body,
)


def raw_page(columns: list[tuple[str, Codec]], rows: list[list[bytes | None]], cut: int = 0) -> RowsPage:
    """A page with these bytes, *cut* of which are missing at the end."""
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    body = rows_body(columns, rows, NO_METADATA)
    page = decode(body[: len(body) - cut], plan=plan).page
    assert page is not None
    return page


def page_of(columns: list[tuple[str, Codec]], rows: list[Any]) -> RowsPage:
    """A page with these values."""
    return raw_page(columns, encoded(columns, rows))


def name_of(item: Any) -> str:
    return item.name if isinstance(item, Codec) else str(item)[:20]


def numbers(page: RowsPage, dtype: str) -> tuple[Any, list[int]]:
    """The only column of a page, and which of its values are null."""
    plan = ColumnPlan([(name, codec) for _, _, name, codec in page.plan.specs], None)
    (found,) = decode_arrays(plan, page)
    values, valid = found
    read = np.frombuffer(values, dtype)
    if valid is None:
        return read, [0] * len(page)
    bits = np.unpackbits(np.frombuffer(valid, "u1"), count=len(page), bitorder="little")
    return read, (1 - bits).tolist()


def places(page: RowsPage) -> list[memoryview]:
    """Where the values of each column are."""
    plan = ColumnPlan([(name, None) for name in page.plan.names], None)
    return [memory for memory, _ in decode_arrays(plan, page)]


def objects(page: RowsPage) -> list[Any]:
    """Every column of a page as an array of objects."""
    arrays = [np.empty(len(page), object) for _ in range(len(page.plan))]
    for column, (array, where) in enumerate(zip(arrays, places(page), strict=True)):
        decode_objects(page, column, where, array)
    return arrays


NUMBERS: list[tuple[Codec, str, list[Any]]] = [
    (SMALLINT, "i2", [0, -1, 2**15 - 1, -(2**15), 0x0102]),
    (INT, "i4", [0, -1, 2**31 - 1, -(2**31), 0x01020304]),
    (BIGINT, "i8", [0, -1, 2**63 - 1, -(2**63), 0x0102030405060708]),
    (COUNTER, "i8", [1, -1]),
    (FLOAT, "f4", [0.0, 1.5, -2.25, math.inf, -math.inf]),
    (DOUBLE, "f8", [0.0, 1.5, 1e300, math.inf, -math.inf]),
]


@pytest.mark.parametrize(("codec", "dtype", "values"), NUMBERS, ids=name_of)
def test_numbers(codec: Codec, dtype: str, values: list[Any]) -> None:
    read, nulls = numbers(page_of([("c", codec)], [(value,) for value in values]), dtype)
    assert read.tolist() == values
    assert nulls == [0] * len(values)
    read[0] = 7  # the memory is the caller's


@pytest.mark.parametrize(("codec", "dtype", "values"), NUMBERS, ids=name_of)
def test_null_and_empty_numbers(codec: Codec, dtype: str, values: list[Any]) -> None:
    data = codec.encode(values[1])
    read, nulls = numbers(raw_page([("c", codec)], [[data], [None], [b""], [data]]), dtype)
    assert read.tolist() == [values[1], 0, 0, values[1]]
    assert nulls == [0, 1, 1, 0]


def test_nan_keeps_its_bits() -> None:
    data = b"\x7f\xc0\x12\x34"
    read, _ = numbers(raw_page([("c", FLOAT)], [[data]]), "f4")
    assert read.astype(">f4").tobytes() == data


OBJECTS: list[tuple[Codec, Any]] = [
    (ASCII, "a"),
    (BLOB, b"ab"),
    (BOOLEAN, True),
    (DATE, Date(3)),
    (DECIMAL, Decimal("1.50")),
    (DURATION, Duration(1, 2, 3)),
    (INET, "10.0.0.1"),
    (INT, 12345),
    (DOUBLE, 1.5),
    (TEXT, "\u00e9"),
    (TIME, Time(5)),
    (TIMESTAMP, datetime.datetime(2024, 2, 29, 1, 2, 3, 4000)),
    (TIMESTAMP, 2**62),
    (TIMEUUID, uuid.UUID(int=2**76)),
    (TINYINT, -7),
    (UUID, uuid.UUID(int=2**100)),
    (VARINT, 2**100),
    (list_codec(INT), [1, 2]),
    (set_codec(TEXT), {"a"}),
    (map_codec(TEXT, INT), {"a": 1}),
    (tuple_codec([INT, TEXT]), (1, None)),
    (udt_codec("ks", "place", ["street"], [TEXT]), ("Main",)),
    (vector_codec(FLOAT, 2), [1.5, 2.5]),
    (vector_codec(TEXT, 2), ["a", "b"]),
    (custom_codec("com.example.Raw"), b"raw"),
    (
        custom_codec("com.example.Own", lambda data, version: data.decode(), lambda value, version: value.encode()),
        "own",
    ),
]


def test_every_type_as_objects() -> None:
    columns = [(f"c{i}", codec) for i, (codec, _) in enumerate(OBJECTS)]
    page = page_of(columns, [[value for _, value in OBJECTS], [None] * len(OBJECTS)])
    arrays = objects(page)
    assert [array[0] for array in arrays] == [value for _, value in OBJECTS]
    assert [array[1] for array in arrays] == [None] * len(OBJECTS)
    row = page.decode(RowPlan(page.plan, "tuple"))[0]
    assert [type(array[0]) for array in arrays] == [type(value) for value in row]


def test_zero_bytes_as_objects() -> None:
    page = raw_page([("a", INT), ("b", TEXT), ("c", BLOB), ("d", TIMESTAMP)], [[b"", b"", b"", b""]])
    assert [array[0] for array in objects(page)] == [None, "", b"", None]


def test_columns_of_both_kinds() -> None:
    page = page_of([("a", INT), ("b", TEXT), ("c", DOUBLE)], [(1, "one", 1.5), (None, None, None), (3, "three", -3.5)])
    a, b, c = decode_arrays(ColumnPlan([("a", INT), ("b", None), ("c", DOUBLE)], None), page)
    assert np.frombuffer(a[0], "i4").tolist() == [1, 0, 3] and np.frombuffer(c[0], "f8").tolist() == [1.5, 0.0, -3.5]
    texts = np.empty(3, object)
    decode_objects(page, 1, b[0], texts)
    assert texts.tolist() == ["one", None, "three"]


def test_a_column_keeps_its_own_memory_alone() -> None:
    """Arrays of the others are given back."""
    before = debug_counters()["column_blocks"]
    page = page_of([("a", INT), ("b", DOUBLE)], [(1, 1.5), (None, None)])
    found = decode_arrays(ColumnPlan([("a", INT), ("b", DOUBLE)], None), page)
    assert debug_counters()["column_blocks"] == before + 4
    kept = found[0][0]
    del found
    gc.collect()
    assert debug_counters()["column_blocks"] == before + 1 and kept.nbytes == 8
    del kept
    assert debug_counters()["column_blocks"] == before


def test_an_empty_page() -> None:
    page = page_of([("a", INT), ("b", TEXT)], [])
    a, b = decode_arrays(ColumnPlan([("a", INT), ("b", None)], None), page)
    assert (a[0].nbytes, a[1], b[0].nbytes, b[1]) == (0, None, 0, None)
    decode_objects(page, 1, b[0], np.empty(0, object))


@pytest.mark.parametrize(
    ("element", "dtype"),
    [(INT, "i4"), (BIGINT, "i8"), (FLOAT, "f4"), (DOUBLE, "f8")],
    ids=name_of,
)
@pytest.mark.parametrize("dimensions", [1, 2, 17])
def test_vectors_of_numbers(element: Codec, dtype: str, dimensions: int) -> None:
    codec = vector_codec(element, dimensions)
    wanted = np.arange(3 * dimensions).reshape(3, dimensions).astype(dtype)
    page = page_of([("c", codec)], [(wanted[0],), (None,), (wanted[2],)])
    read, nulls = numbers(page, dtype)
    wanted[1] = 0
    assert (read.reshape(3, dimensions) == wanted).all()
    assert nulls == [0, 1, 0]


def test_references_are_counted() -> None:
    class Value:
        pass

    kept = Value()
    codec = custom_codec("com.example.Kept", lambda data, version: kept, lambda value, version: b"x")
    page = page_of([("c", codec)], [(1,), (2,)])
    values = np.empty(2, object)
    values[:] = kept  # references to the previous values are released
    before = sys.getrefcount(kept)
    for _ in range(3):
        decode_objects(page, 0, places(page)[0], values)
        assert sys.getrefcount(kept) == before
    assert values.tolist() == [kept, kept]
    del values
    gc.collect()
    assert sys.getrefcount(kept) == before - 2


FOUR, NONE = bytes(4), np.empty(1, object)
REFUSED: list[tuple[str, int, Any, Any, str]] = [
    ("numbers", 0, FOUR, np.zeros(1, "i4"), "the array must have format"),
    ("bytes", 0, FOUR, bytearray(8), "the array must have format"),
    ("a structure", 0, FOUR, np.zeros(1, "O,O"), "the array must have format"),
    ("few", 0, FOUR, np.empty(0, object), "an array of 0 bytes and 4 bytes of places for 1 objects"),
    ("many", 0, FOUR, np.empty(2, object), "an array of 16 bytes and 4 bytes of places for 1 objects"),
    ("few places", 0, b"", NONE, "an array of 8 bytes and 0 bytes of places for 1 objects"),
    ("read-only", 0, FOUR, memoryview(bytes(4)).cast("i"), "(?i)writable|read-only"),
    ("gaps", 0, FOUR, np.empty(3, object)[::2], "(?i)contiguous"),
    ("no array", 0, FOUR, 5, "buffer|bytes-like"),
    ("no places", 0, 5, NONE, "buffer|bytes-like"),
    ("another column", 1, FOUR, NONE, "the page has 1 columns"),
    ("no column", -1, FOUR, NONE, "the page has 1 columns"),
    ("behind the page", 0, b"\1\0\0\0", NONE, "row 0 of the page: the place is outside the page"),
    ("before the page", 0, b"\xff\xff\xff\xff", NONE, "row 0 of the page: the place is outside the page"),
]


@pytest.mark.parametrize(
    ("column", "where", "array", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_arrays_that_do_not_fit(column: int, where: Any, array: Any, message: str) -> None:
    refused = (ValueError, TypeError, BufferError, IndexError, DriverException)
    with pytest.raises(refused, match=message):
        decode_objects(raw_page([("c", INT)], [[None]]), column, where, array)
    with pytest.raises(TypeError):
        decode_objects(None, 0, FOUR, NONE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("codec", "dtype", "data", "message"),
    [
        (INT, "i4", b"abc", "int needs 4 bytes, the value has 3"),
        (BIGINT, "i8", b"abcd", "bigint needs 8 bytes, the value has 4"),
        (SMALLINT, "i2", b"abcd", "smallint needs 2 bytes, the value has 4"),
        (FLOAT, "f4", b"abcde", "float needs 4 bytes, the value has 5"),
        (DOUBLE, "f8", b"a", "double needs 8 bytes, the value has 1"),
        (vector_codec(FLOAT, 2), "2f4", b"abcd", "vector<float, 2> cannot have 4 bytes"),
        (TEXT, "O", b"\xff", "invalid start byte"),
        (list_codec(INT), "O", b"\0\0\0\1\0\0\0\4abc", "int item of 4 bytes where 3 are left"),
    ],
)
def test_errors_name_column_row_and_type(codec: Codec, dtype: str, data: bytes, message: str) -> None:
    page = raw_page([("a", BLOB), ("b", codec)], [[b"", None], [b"", data]])
    with pytest.raises(DriverException) as caught:
        if dtype == "O":
            decode_objects(page, 1, places(page)[1], np.empty(2, object))
        else:
            decode_arrays(ColumnPlan([("a", None), ("b", codec)], None), page)
    assert f"column 'b' of ks.t as {codec.cql()} in row 1 of the page" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(("codec", "dtype"), [(INT, "i4"), (TEXT, "O")], ids=["int", "text"])
def test_pages_that_are_cut_off(codec: Codec, dtype: str) -> None:
    data = codec.encode(7 if codec is INT else "seven")
    for cut in range(1, 9):
        page = raw_page([("c", codec)], [[data]] * 3, cut)
        with pytest.raises(DriverException, match=r"column 'c' of ks\.t .* in row 2"):
            objects(page) if codec is TEXT else numbers(page, dtype)
        with pytest.raises(DriverException, match=r"column 'c' of ks\.t .* in row 2"):
            decode_arrays(ColumnPlan([("c", None)], None), page)


def test_a_failure_in_a_users_type_is_chained() -> None:
    def fail(data: bytes, version: int) -> Any:
        raise LookupError("nothing here")

    codec = custom_codec("com.example.Fails", fail, lambda value, version: b"x")
    page = page_of([("c", codec)], [(1,)])
    with pytest.raises(DriverException, match="column 'c'") as caught:
        objects(page)
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize(
    ("element", "format_"),
    [(INT, "i"), (BIGINT, "q"), (FLOAT, "f"), (DOUBLE, "d")],
    ids=name_of,
)
def test_vectors_as_memory(element: Codec, format_: str) -> None:
    codec = vector_codec(element, 5)
    found = decode_numbers(codec, codec.encode([1, -2, 3, -4, 5]))
    assert found.format == format_ and not found.readonly
    assert found.tolist() == [1, -2, 3, -4, 5]
    assert np.asarray(found).sum() == 3
    found[0] = 9
    assert found.tolist()[0] == 9


def test_values_that_are_no_vector_of_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="list<int> is not a vector of machine numbers"):
        decode_numbers(list_codec(INT), b"")
    for element in (SMALLINT, TEXT, vector_codec(FLOAT, 2)):
        with pytest.raises(TypeError, match="not a vector of machine numbers"):
            decode_numbers(vector_codec(element, 2), b"\0" * 16)
    with pytest.raises(DriverException, match=r"of type vector<float, 2>: it cannot have 7 bytes"):
        decode_numbers(vector_codec(FLOAT, 2), b"\0" * 7)
    with pytest.raises(TypeError):
        decode_numbers(vector_codec(FLOAT, 2), None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        decode_numbers(None, b"")  # type: ignore[arg-type]
