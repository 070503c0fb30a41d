"""Arrow columns as values of a statement: conversions, errors of values that do not fit, and ownership of memory."""

from __future__ import annotations

import datetime
import gc
import ipaddress
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID as Uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import (
    BindPlan,
    Codec,
    custom_codec,
    encrypted_codec,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from cassandra._core.columns import (
    ArrowReader,
    ColumnPlan,
    IngestPlan,
    RowReader,
    Rows,
    column_names,
    debug_counters,
    decode,
    stream,
)
from cassandra._core.memory import MemoryPool
from tests.packages import duckdb
from tests.packages import polars as pl
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
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TINYINT,
    UUID,
    VARINT,
    bytes_,
    page_of,
)

UDT = udt_codec("ks", "address", ["street", "zip"], [TEXT, INT])
SOME_UUID = Uuid("00112233-4455-1677-8899-aabbccddeeff")
WHEN = datetime.datetime(2024, 2, 29, 12, 30, 1, 5000)
DAY = datetime.date(2024, 2, 29)
UNSET = b"\xff\xff\xff\xfe"


def rows_of(plan: IngestPlan, data: Any, **options: Any) -> Rows:
    schema, array = data.__arrow_c_array__()
    return plan.reader(schema).rows(array, **options)


def written(plan: IngestPlan, data: Any) -> list[bytes]:
    rows = rows_of(plan, data)
    return [rows.encode(i)[0] for i in range(len(rows))]


def one(codec: Codec, array: pa.Array) -> list[bytes]:
    return written(IngestPlan([("c", codec)], nulls="null"), pa.record_batch([array], names=["c"]))


def cells(codec: Codec, *values: Any) -> list[bytes]:
    return [bytes_(None if value is None else codec.encode(value)) for value in values]


#: CQL type, Arrow array, the same values for the codec.
CONVERSIONS: list[tuple[Codec, pa.Array, list[Any]]] = [
    *[
        (INT, pa.array([1, None, 100], kind), [1, None, 100])
        for kind in (pa.int8(), pa.int16(), pa.int64(), pa.uint64())
    ],
    (TINYINT, pa.array([-128, 127], pa.int64()), [-128, 127]),
    (SMALLINT, pa.array([-(2**15), 2**15 - 1], pa.int32()), [-(2**15), 2**15 - 1]),
    (BIGINT, pa.array([2**63 - 1], pa.uint64()), [2**63 - 1]),
    *[
        (BIGINT, pa.array([Decimal(-7), None], kind(9, 0)), [-7, None])
        for kind in (pa.decimal32, pa.decimal64, pa.decimal256)
    ],
    (BIGINT, pa.array([Decimal(-(2**63)), Decimal(2**63 - 1)], pa.decimal128(38, 0)), [-(2**63), 2**63 - 1]),
    (FLOAT, pa.array([0.5, None, float("inf")], pa.float64()), [0.5, None, float("inf")]),
    (FLOAT, pa.array([2**24], pa.int32()), [2**24]),
    (FLOAT, pa.array([0.1, 1e-50, -1.0e38]), [0.1, 1e-50, -1.0e38]),
    (INT, pa.array([7.0, -0.0, None, float("nan")]), [7, 0, None, None]),
    (BIGINT, pa.array([-(2.0**63), 2.0**62]), [-(2**63), 2**62]),
    (TINYINT, pa.array(np.array([-128, 127], np.float16)), [-128, 127]),
    (
        VARINT,
        pa.array([2.0**62, -(2.0**63), 1e300, -1e22, float("nan")]),
        [2**62, -(2**63), int(1e300), -(10**22), None],
    ),
    (BIGINT, pa.array(["12", "-0", "+7", str(-(2**63))]), [12, 0, 7, -(2**63)]),
    (DOUBLE, pa.array(["1.5", "-2e-3", "+.5", "7", "-inf"]), [1.5, -0.002, 0.5, 7, float("-inf")]),
    (FLOAT, pa.array(["0.1", "1."]), [0.1, 1]),
    (BOOLEAN, pa.array(["true", "False", None]), [True, False, None]),
    *[
        (TIMESTAMP, pa.array([text]), [datetime.datetime(2024, 2, 29, 12, 30, 1, 5000)])
        for text in (
            "2024-02-29T12:30:01.005Z",
            "2024-02-29 12:30:01.005",
            "2024-02-29T14:30:01.005+02:00",
            "2024-02-29 07:00:01.005000000-0530",
            "2024-02-29T14:30:01.005+02",
            "2024-02-29 12:30:01.005 UTC",
        )
    ],
    (TIMESTAMP, pa.array(["2024-02-29", "1969-12-31T23:59"]), [DAY, datetime.datetime(1969, 12, 31, 23, 59)]),
    (TIMESTAMP, pa.array(["-0044-03-15", "+12345-01-01T00:00:00Z"]), [-63549360000000, 327403382400000]),
    (DATE, pa.array(["2024-02-29", "1969-12-31 00:00:00", "-0001-01-01"]), [DAY, Date(-1), Date(-719893)]),
    (
        TIME,
        pa.array(["23:59:59", "00:00", "12:30:01.000000001"]),
        [datetime.time(23, 59, 59), Time(0), Time(45001000000001)],
    ),
    (DOUBLE, pa.array([0.5, -2.0], pa.float32()), [0.5, -2.0]),
    (DOUBLE, pa.array(np.array([1.5], np.float16)), [1.5]),
    (BOOLEAN, pa.array([True, None, False]), [True, None, False]),
    (
        BOOLEAN,
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None, 0, -1], pa.int8())),
        [True, None, False, True],
    ),
    *[
        (TEXT, pa.array(["", "grüße", None], kind), ["", "grüße", None])
        for kind in (pa.large_string(), pa.string_view())
    ],
    (TEXT, pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    (ASCII, pa.array(["plain"]), ["plain"]),
    *[
        (BLOB, pa.array([b"", b"\xff" * 20], kind), [b"", b"\xff" * 20])
        for kind in (pa.large_binary(), pa.binary_view())
    ],
    (BLOB, pa.array([b"abc"], pa.binary(3)), [b"abc"]),
    (custom_codec("com.example.Opaque"), pa.array([b"abc"]), [b"abc"]),
    (UUID, pa.array([SOME_UUID.bytes], pa.uuid()), [SOME_UUID]),
    (UUID, pa.array([SOME_UUID.bytes]), [SOME_UUID]),
    (UUID, pa.array([str(SOME_UUID), SOME_UUID.hex.upper()]), [SOME_UUID] * 2),
    (INET, pa.array(["127.0.0.1", "::1"]), ["127.0.0.1", "::1"]),
    (INET, pa.array([b"\x7f\0\0\1"], pa.binary(4)), ["127.0.0.1"]),
    (INET, pa.array([ipaddress.ip_address("2001:db8::1").packed]), ["2001:db8::1"]),
    *[(TIMESTAMP, pa.array([WHEN], pa.timestamp(unit, "UTC")), [WHEN]) for unit in ("ms", "us", "ns")],
    (TIMESTAMP, pa.array([WHEN.replace(microsecond=0)], pa.timestamp("s")), [WHEN.replace(microsecond=0)]),
    (TIMESTAMP, pa.array([DAY]), [DAY]),
    (TIMESTAMP, pa.array([DAY], pa.date64()), [DAY]),
    (DATE, pa.array([DAY, None]), [DAY, None]),
    (DATE, pa.array([DAY], pa.date64()), [DAY]),
    (DATE, pa.array([datetime.datetime(1969, 12, 31)], pa.timestamp("us")), [Date(-1)]),
    *[
        (TIME, pa.array([datetime.time(23, 59, 59)], kind), [datetime.time(23, 59, 59)])
        for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    ],
    (DURATION, pa.array([(1, 2, 3)], pa.month_day_nano_interval()), [Duration(1, 2, 3)]),
    (DURATION, pa.array([-5], pa.duration("us")), [Duration(0, 0, -5000)]),
    (VARINT, pa.array([-(2**63), 0]), [-(2**63), 0]),
    (VARINT, pa.array([str(10**40), "-1"]), [10**40, -1]),
    (VARINT, pa.array([Decimal(10) ** 40], pa.decimal256(60, 2)), [10**40]),
    (VARINT, pa.array([Decimal(-7), None], pa.decimal128(5)), [-7, None]),
    (DECIMAL, pa.array(["1.50", "-1E-7", "1e5"]), [Decimal("1.50"), Decimal("-1E-7"), Decimal("1e5")]),
    (DECIMAL, pa.array([7], pa.uint8()), [Decimal(7)]),
    *[
        (DECIMAL, pa.array([Decimal("-1.25")], kind), [Decimal("-1.250")])
        for kind in (pa.decimal32(9, 3), pa.decimal64(18, 3), pa.decimal128(38, 3), pa.decimal256(76, 3))
    ],
    (INT, pa.nulls(2), [None, None]),
    *[
        (list_codec(INT), pa.array([[1, None], [], None], kind), [[1, None], [], None])
        for kind in (pa.list_(pa.int32()), pa.large_list(pa.int64()), pa.list_view(pa.int8()))
    ],
    (set_codec(TEXT), pa.array([["a", "b"]], pa.list_(pa.string(), 2)), [["a", "b"]]),
    (vector_codec(FLOAT, 2), pa.array([[0.5, 1.5], None], pa.list_(pa.float32(), 2)), [[0.5, 1.5], None]),
    (vector_codec(FLOAT, 2), pa.array([[0.5, 1.5]], pa.list_(pa.float64())), [[0.5, 1.5]]),
    (vector_codec(TEXT, 2), pa.array([["", "xy"]], pa.list_(pa.string(), 2)), [["", "xy"]]),
    (vector_codec(SMALLINT, 2), pa.array([[1, 2]], pa.list_(pa.int16(), 2)), [[1, 2]]),
    (
        map_codec(TEXT, INT),
        pa.array([[("k", 1), ("l", None)], None], pa.map_(pa.string(), pa.int64())),
        [{"k": 1, "l": None}, None],
    ),
    (map_codec(TEXT, INT), pa.array([[{"key": "k", "value": 1}]]), [{"k": 1}]),
    (map_codec(TEXT, INT), pa.array([{"a": 1, "b": None}, {"a": None, "b": 2}, None]), [{"a": 1}, {"b": 2}, None]),
    (tuple_codec([INT, BIGINT]), pa.array([[1, None], None]), [(1, None), None]),
    (tuple_codec([INT, BIGINT]), pa.array([[1, 2]], pa.list_(pa.int16(), 2)), [(1, 2)]),
    (list_codec(INT), pa.array([[1.0, float("nan")]]), [[1, None]]),
    (tuple_codec([INT, TEXT]), pa.array([{"x": 1, "y": None}, None]), [(1, None), None]),
    (
        UDT,
        pa.array([{"zip": 12345, "street": "s"}, {"zip": None, "street": None}, None]),
        [("s", 12345), (None, None), None],
    ),
    (UDT, pa.array([{"zip": 12345}]), [(None, 12345)]),
    (list_codec(UDT), pa.array([[{"zip": 1}, None]]), [[(None, 1), None]]),
    (TEXT, pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None])), ["a", "a", None]),
]


@pytest.mark.parametrize(("codec", "array", "values"), CONVERSIONS, ids=lambda value: getattr(value, "type", None))
def test_conversions(codec: Codec, array: pa.Array, values: list[Any]) -> None:
    assert one(codec, array) == cells(codec, *values)


CAST = "cast it to an Arrow type with a time unit"
REFUSED: list[tuple[Codec, pa.DataType, str]] = [
    (INT, pa.decimal128(9, 1), ": decimal128(9, 1) cannot be written as int without loss"),
    (INT, pa.bool_(), ": bool cannot be written as int without loss"),
    (INT, pa.dense_union([pa.field("a", pa.int8())]), ": the Arrow type '+ud:0' cannot be written as int without loss"),
    (BOOLEAN, pa.int8(), ": int8 cannot be written as boolean without loss"),
    (TEXT, pa.binary(), ": binary cannot be written as text without loss"),
    (BLOB, pa.large_string(), ": large_string cannot be written as blob without loss"),
    (
        UUID,
        pa.opaque(pa.binary(16), "hugeint", "DuckDB"),
        ": the Arrow type 'arrow.opaque' cannot be written as uuid without loss",
    ),
    (INT, pa.time64("us"), ": time64[us] cannot be written as int without loss"),
    (UUID, pa.binary(8), ": fixed_size_binary(8) cannot be written as uuid without loss"),
    (TIMESTAMP, pa.int64(), f": int64 cannot be written as timestamp without loss: {CAST}"),
    (DATE, pa.int32(), f": int32 cannot be written as date without loss: {CAST}"),
    (
        TIME,
        pa.timestamp("ms", "Europe/Berlin"),
        ": timestamp[ms, Europe/Berlin] cannot be written as time without loss",
    ),
    (
        DECIMAL,
        pa.float32(),
        ": float32 cannot be written as decimal without loss: cast it to decimals or strings",
    ),
    (
        map_codec(INT, INT),
        pa.struct([("a", pa.int32())]),
        ": struct<a: int32> cannot be written as map<int, int> without loss",
    ),
    (map_codec(TEXT, INT), pa.struct([("a", pa.bool_())]), ", field 'a': bool cannot be written as int without loss"),
    (map_codec(ASCII, INT), pa.struct([("ü", pa.int32())]), ", field 'ü': the name is not ASCII"),
    (tuple_codec([INT, BOOLEAN]), pa.list_(pa.bool_(), 2), ", field 0: bool cannot be written as int without loss"),
    (
        tuple_codec([INT, INT]),
        pa.list_(pa.int32(), 3),
        ": fixed_size_list<int32, 3> cannot be written as tuple<int, int> without loss",
    ),
    (
        COUNTER,
        pa.int64(),
        ": int64 cannot be written as counter without loss: counters are updated by additions, they cannot be written",
    ),
    (
        INT,
        pa.dense_union([pa.field("a", pa.int32())]),
        ": the Arrow type '+ud:0' cannot be written as int without loss",
    ),
    (list_codec(INT), pa.list_(pa.bool_()), ", items: bool cannot be written as int without loss"),
    (list_codec(INT), pa.int32(), ": int32 cannot be written as list<int> without loss"),
    (
        vector_codec(FLOAT, 3),
        pa.list_(pa.float32(), 2),
        ": fixed_size_list<float32, 2> cannot be written as vector<float, 3> without loss",
    ),
    (map_codec(TEXT, INT), pa.map_(pa.string(), pa.bool_()), ", values: bool cannot be written as int without loss"),
    (
        tuple_codec([INT, TEXT]),
        pa.struct([("x", pa.int32())]),
        ": struct<x: int32> cannot be written as tuple<int, text> without loss",
    ),
    (tuple_codec([INT]), pa.struct([("x", pa.bool_())]), ", field 0: bool cannot be written as int without loss"),
    (UDT, pa.struct([("zap", pa.int32())]), ": address has no field 'zap'"),
    (UDT, pa.struct([("zip", pa.int32()), ("zip", pa.int32())]), ": duplicate field 'zip'"),
    (BLOB, pa.dictionary(pa.int8(), pa.string()), ": string cannot be written as blob without loss"),
]


@pytest.mark.parametrize(("codec", "kind", "why"), REFUSED, ids=lambda value: str(value)[:40])
def test_types_that_do_not_fit(codec: Codec, kind: pa.DataType, why: str) -> None:
    plan = IngestPlan([("c", codec)])
    with pytest.raises(ValueError) as caught:
        plan.reader(pa.schema([("c", kind)]).__arrow_c_schema__())
    assert str(caught.value).splitlines()[1:] == [f"  column 'c'{why}"]


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    plan = IngestPlan(
        [("id", INT), ("at", TIMESTAMP), ("a", TEXT), ("b", UDT)], partition_key=["id"], clustering=["at"]
    )
    data = pa.schema(
        [
            ("a", pa.int32()),
            ("b", pa.struct([("street", pa.bool_()), ("zip", pa.bool_())])),
            ("x", pa.int32()),
            ("a", pa.string()),
        ]
    )
    with pytest.raises(ValueError) as caught:
        plan.reader(data.__arrow_c_schema__())
    assert str(caught.value) == (
        "the data does not fit the table:\n"
        "  column 'x': the table has no such column\n"
        "  column 'a': duplicate column in the data\n"
        "  column 'id': missing in the data, it is part of the primary key\n"
        "  column 'at': missing in the data, it is part of the primary key\n"
        "  column 'a': int32 cannot be written as text without loss\n"
        "  column 'b', field 'street': bool cannot be written as text without loss\n"
        "  column 'b', field 'zip': bool cannot be written as int without loss"
    )


def test_columns_are_found_by_name_and_others_unset() -> None:
    plan = IngestPlan([("a", INT), ("b", TEXT), ("c", INT)], partition_key=["c"], nulls="null")
    data = pa.record_batch({"c": pa.array([7]), "x": pa.array([1.5]), "a": pa.array([None], pa.int32())})
    schema, array = data.__arrow_c_array__()
    with pytest.raises(ValueError, match="column 'x': the table has no such column"):
        plan.reader(schema)
    rows = plan.reader(schema, others="ignore").rows(array)
    assert rows.encode(0)[0] == bytes_(None) + UNSET + bytes_(INT.encode(7))
    assert column_names(schema) == ["c", "x", "a"]


def test_a_reader_is_kept_for_the_same_schema() -> None:
    plan = IngestPlan([("a", TEXT)])
    of: Callable[..., RowReader] = lambda kind, **options: plan.reader(  # noqa: E731
        pa.schema([pa.field("a", kind)]).__arrow_c_schema__(), **options
    )
    first = of(pa.string())
    assert of(pa.string()) is first and first.plan is plan
    assert of(pa.string(), others="ignore") is not first
    other = of(pa.dictionary(pa.int8(), pa.string()))
    assert other is not first and of(pa.dictionary(pa.int8(), pa.string())) is other
    assert of(pa.dictionary(pa.int8(), pa.large_string())) is not other


OF_INT = "is out of range (-2147483648 to 2147483647)"
ERRORS: list[tuple[Codec, pa.Array, str]] = [
    (INT, pa.array([1, 2**31]), f"2147483648 {OF_INT}"),
    (TINYINT, pa.array([0, 200], pa.uint8()), "200 is out of range (-128 to 127)"),
    (FLOAT, pa.array([0.5, 1e39]), "1e+39 is out of range for float"),
    (FLOAT, pa.array([0.5, 3.4028235677973366e38]), "3.4028235677973366e+38 is out of range for float"),
    (FLOAT, pa.array([0, 2**24 + 1]), "16777217 is not an exact float: cast the column to float64 to round it"),
    (INT, pa.array([0.0, 1.5]), "1.5 is not an integer: round it"),
    (INT, pa.array([0.0, float("inf")]), "inf is not an integer: round it"),
    (INT, pa.array([0.0, 2.0**31]), f"2147483648 {OF_INT}"),
    (
        BIGINT,
        pa.array([0.0, 2.0**63]),
        "9.223372036854776e+18 is out of range (-9223372036854775808 to 9223372036854775807)",
    ),
    (VARINT, pa.array([0.0, float("-inf")]), "-inf is not an integer: round it"),
    *[
        (INT, pa.array(["0", text]), f"'{text}' is not an integer")
        for text in ("", " 1", "1.0", "+-1", "0x1", "--1", "1_0")
    ],
    (INT, pa.array(["0", str(2**31)]), f"'2147483648' {OF_INT}"),
    (INT, pa.array(["0", "9" * 30]), f"'{'9' * 30}' {OF_INT}"),
    *[
        (DOUBLE, pa.array(["0", text]), f"'{text}' is not a number")
        for text in ("", "-", "1,5", "0x1p3", "nan(1)", " 1", "1 ")
    ],
    (DOUBLE, pa.array(["0", "1e400"]), "'1e400' is out of range for double"),
    (FLOAT, pa.array(["0", "1e39"]), "'1e39' is out of range for float"),
    (FLOAT, pa.array(["0", "x"]), "'x' is not a number"),
    (BOOLEAN, pa.array(["true", "1"]), "'1' is not true or false"),
    *[
        (TIMESTAMP, pa.array(["2024-02-29", text]), f"'{text}' is not a timestamp such as 2024-12-31T23:59:59Z")
        for text in (
            "",
            "2023-02-29",
            "2024-13-01",
            "2024-1-1",
            "24-01-01",
            "2024-01-01T",
            "2024-01-01T24:00",
            "2024-01-01T00:00:60",
            "2024-01-01 00:00 Europe/Berlin",
            "2024-01-01T00:00+19:00",
            "2024-01-01T00:00:00.1234567890",
            "01/02/2024",
        )
    ],
    (
        TIMESTAMP,
        pa.array(["2024-02-29", "2024-02-29T00:00:00.0001"]),
        '\'2024-02-29T00:00:00.0001\' has fractions of a millisecond: use round="floor" or round="nearest"',
    ),
    (DATE, pa.array(["2024-02-29", "2024-02-30"]), "'2024-02-30' is not a date such as 2024-12-31"),
    (DATE, pa.array(["2024-02-29", "2024-02-29T12:00"]), "'2024-02-29T12:00' is not a whole day in UTC"),
    (DATE, pa.array(["2024-02-29", "2024-02-29T00:00+01:00"]), "'2024-02-29T00:00+01:00' is not a whole day in UTC"),
    (TIME, pa.array(["00:00", "24:00"]), "'24:00' is not a time such as 23:59:59.999"),
    (
        map_codec(TEXT, INT),
        pa.array([{"a": 1.0}, {"a": 1.5}]),
        "field 'a': 1.5 is not an integer: round it",
    ),
    (tuple_codec([INT, INT]), pa.array([[1, 2], [1]]), "1 items, expected 2"),
    (tuple_codec([INT, INT]), pa.array([[1, 2], [1, 2**40]]), f"field 1: 1099511627776 {OF_INT}"),
    (vector_codec(INT, 1), pa.array([[1.0], [float("nan")]]), "item 0: the elements of a vector cannot be null"),
    (DOUBLE, pa.array([0, 2**53 + 1]), "9007199254740993 is not an exact double"),
    (ASCII, pa.array(["a", "ü"]), "'ü' is not ASCII"),
    (UUID, pa.array([b"0123456789abcdef", b"short"]), "a value of 5 bytes is not a UUID, which has 16 bytes"),
    (INET, pa.array(["::1", "example.org"]), "'example.org' is not an IP address"),
    (VARINT, pa.array(["1", "1.5"]), "'1.5' is not an integer"),
    (
        BIGINT,
        pa.array([Decimal(0), Decimal(2**63)]),
        "9223372036854775808 is out of range (-9223372036854775808 to 9223372036854775807)",
    ),
    (
        TINYINT,
        pa.array([Decimal(0), Decimal(-(2**100))]),
        "-1267650600228229401496703205376 is out of range (-128 to 127)",
    ),
    (VARINT, pa.array([Decimal("1.0"), Decimal("1.5")]), "1.5 is not an integer"),
    (DECIMAL, pa.array(["1", "NaN"]), "'NaN' is not a decimal number"),
    (
        TIMESTAMP,
        pa.array([WHEN, WHEN.replace(microsecond=5001)]),
        '2024-02-29 12:30:01.005001 has fractions of a millisecond: use round="floor" or round="nearest"',
    ),
    (DATE, pa.array([datetime.datetime(2024, 1, 1), WHEN]), "2024-02-29 12:30:01.005000 is not a whole day"),
    (TIME, pa.array([0, -1], pa.time64("us")), "-1 us is not within a day"),
    (
        DURATION,
        pa.array([(0, 0, 0), (1, -1, 0)], pa.month_day_nano_interval()),
        "1 months, -1 days, 0 ns has mixed signs: months, days and nanoseconds of a duration must have the same sign",
    ),
    (list_codec(INT), pa.array([[1], [1, 2**40]]), f"item 1: 1099511627776 {OF_INT}"),
    (
        map_codec(TEXT, TINYINT),
        pa.array([[], [("k", 300)]], pa.map_(pa.string(), pa.int64())),
        "value 0: 300 is out of range (-128 to 127)",
    ),
    (map_codec(ASCII, INT), pa.array([[], [("ü", 3)]], pa.map_(pa.string(), pa.int64())), "key 0: 'ü' is not ASCII"),
    (
        map_codec(TEXT, INT),
        pa.array([[], [None]], pa.list_(pa.struct([("k", pa.string()), ("v", pa.int32())]))),
        "pair 0 is null",
    ),
    (list_codec(UDT), pa.array([[], [{"zip": 2**31}]]), f"item 0: field 'zip': 2147483648 {OF_INT}"),
    (tuple_codec([INT, INT]), pa.array([None, {"a": 0, "b": 2**31}]), f"field 1: 2147483648 {OF_INT}"),
    (vector_codec(FLOAT, 2), pa.array([[1.0, 2.0], [1.0]]), "1 elements, expected 2"),
    (
        vector_codec(FLOAT, 2),
        pa.array([None, [1.0, None]], pa.list_(pa.float32(), 2)),
        "item 1: the elements of a vector cannot be null",
    ),
]


@pytest.mark.parametrize(("codec", "array", "why"), ERRORS, ids=lambda value: str(value)[:40])
def test_values_that_do_not_fit(codec: Codec, array: pa.Array, why: str) -> None:
    """They are errors of their rows; others are written."""
    rows = rows_of(IngestPlan([("c", codec)]), pa.record_batch([array], names=["c"]), first=10)
    rows.encode(0)
    with pytest.raises(ValueError) as caught:
        rows.encode(1)
    assert str(caught.value) == f"column 'c' ({codec.cql()}), row 11: {why}"
    rows.encode(0)


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_times_are_rounded_on_request(unit: str) -> None:
    """As numbers and as text. Of two equally near milliseconds the even one is taken, as pandas does."""
    per = {"us": 10**3, "ns": 10**6}[unit]
    counts = [0, 1, -1, per // 2, per // 2 + 1, 3 * per // 2, -per // 2, 5 * per, 7 * per - 1, -7 * per + 1]
    moments = pa.array(counts, pa.int64()).cast(pa.timestamp(unit))
    for array in (moments, moments.cast(pa.string())):
        data = pa.record_batch([array], names=["c"])
        floor = written(IngestPlan([("c", TIMESTAMP)], round="floor"), data)
        assert floor == cells(TIMESTAMP, *[count // per for count in counts])
        nearest = written(IngestPlan([("c", TIMESTAMP)], round="nearest"), data)
        assert nearest == cells(TIMESTAMP, *[round(Fraction(count, per)) for count in counts])
    frame = pd.Series(moments.to_pandas())
    assert [int(value) for value in frame.dt.round("ms").astype("M8[ms]").astype("i8")] == [
        round(Fraction(count, per)) for count in counts
    ]


def test_values_that_are_encoded_already() -> None:
    plan = IngestPlan([("a", INT), ("b", list_codec(TEXT))], partition_key=["a"], nulls="null")
    bytes_of = [list_codec(TEXT).encode(["x"]), None, list_codec(TEXT).encode([])]
    batch = pa.record_batch({"a": [1, 2, 3], "b": pa.array(bytes_of, pa.binary())})
    schema, array = batch.__arrow_c_array__()
    with pytest.raises(ValueError, match="column 'b': binary cannot be written as list<text> without loss"):
        plan.reader(schema)
    reader = plan.reader(schema, encoded=["b"])
    assert plan.reader(schema, encoded=["b"]) is reader
    rows = reader.rows(array, first=10, refused={1: "row 11: it is refused"})
    assert rows.encode(0)[0] == bytes_(INT.encode(1)) + bytes_(bytes_of[0])
    assert rows.encode(2)[0] == bytes_(INT.encode(3)) + bytes_(bytes_of[2])
    with pytest.raises(ValueError, match=r"^row 11: it is refused$"):
        rows.encode(1)
    with pytest.raises(ValueError, match="column 'a': encoded values must be binary, not int64"):
        plan.reader(schema, encoded=["a"])


def test_keys_are_not_null() -> None:
    plan = IngestPlan([("a", INT), ("b", TEXT), ("c", INT)], partition_key=["a"], clustering=["b"])
    data = pa.record_batch({"a": [1, None, 1], "b": pa.array(["x", "y", None]).dictionary_encode(), "c": [None, 1, 1]})
    rows = rows_of(plan, data)
    assert rows.encode(0)[0] == bytes_(INT.encode(1)) + bytes_(b"x") + UNSET
    with pytest.raises(ValueError, match=r"^column 'a' \(int\), row 1: null in a column of the primary key$"):
        rows.encode(1)
    with pytest.raises(ValueError, match=r"^column 'b' \(text\), row 2: null in a column of the primary key$"):
        rows.encode(2)


def test_rows_that_are_null() -> None:
    array = pa.array([{"a": 1}, None])
    rows = rows_of(IngestPlan([("a", INT)]), array, first=5)
    rows.encode(0)
    with pytest.raises(ValueError, match=r"^row 6 is null$"):
        rows.encode(1)


def test_tokens() -> None:
    data = pa.record_batch({"a": [1, 1, 1, 2], "b": ["x", "x", "y", "x"]})
    columns = [("a", INT), ("b", TEXT)]
    assert rows_of(IngestPlan(columns, partition_key=["a"], tokens=False), data).encode(0)[1] is None
    assert rows_of(IngestPlan(columns), data).encode(0)[1] is None
    rows = rows_of(IngestPlan(columns, partition_key=["b", "a"]), data)
    assert rows.has_tokens
    assert [rows.same_partition(0, i) for i in range(4)] == [True, True, False, False]
    assert len({rows.encode(i)[1] for i in range(4)}) == 3
    alone = rows_of(IngestPlan(columns, partition_key=["a"]), data)
    assert [alone.same_partition(0, i) for i in range(4)] == [True, True, True, False]
    assert alone.encode(0)[1] == -4069959284402364209  # token(1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"nulls": "delete"}, "nulls must be"),
        ({"round": "up"}, "round must be"),
        ({"partition_key": ["z", "a"]}, "columns of the primary key are missing: z"),
        ({"clustering": ["y"]}, "columns of the primary key are missing: y"),
    ],
)
def test_plans_that_are_none(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        IngestPlan([("a", INT)], **options)
    with pytest.raises(ValueError, match="different names"):
        IngestPlan([("a", INT), ("a", INT)])
    with pytest.raises(ValueError, match="others must be"):
        IngestPlan([("a", INT)]).reader(pa.schema([("a", pa.int32())]).__arrow_c_schema__(), others="skip")  # type: ignore[arg-type]


def test_arrow_data_that_is_not_rows_is_refused() -> None:
    plan = IngestPlan([("a", INT)])
    with pytest.raises(ValueError, match=r"expected rows \(a struct of columns\), got int32"):
        plan.reader(pa.int32().__arrow_c_schema__())
    with pytest.raises(ValueError, match=r"expected the Arrow schema of rows \(a struct of columns\)"):
        column_names(pa.int32().__arrow_c_schema__())
    with pytest.raises(TypeError, match="expected a capsule of an Arrow schema, got Schema"):
        plan.reader(pa.schema([]))
    schema, array = pa.record_batch({"a": [1]}).__arrow_c_array__()
    reader = plan.reader(schema)
    with pytest.raises(TypeError, match="expected a capsule of an Arrow array, got PyCapsule"):
        reader.rows(schema)
    reader.rows(array)
    with pytest.raises(ValueError, match="the array was released already"):
        reader.rows(array)
    _, other = pa.record_batch({"a": [1], "b": [1]}).__arrow_c_array__()
    with pytest.raises(ValueError, match=r"struct<a: int64> array: 2 children, but 1 are needed"):
        reader.rows(other)
    rows = rows_of(plan, pa.record_batch({"a": [1]}))
    for wrong in (-1, 1):
        with pytest.raises(IndexError):
            rows.encode(wrong)
        with pytest.raises(IndexError):
            rows.same_partition(0, wrong)


@pytest.mark.parametrize("made", [Rows, RowReader])
def test_made_by_others(made: type) -> None:
    with pytest.raises(TypeError, match="to make r"):
        made()


def test_metadata_of_the_data_do_not_switch_encryption_off() -> None:
    class Cipher:
        def decode(self, data: bytes, version: int) -> Any:
            raise AssertionError("no caller asked")

        encode = decode

    plan = IngestPlan([("c", encrypted_codec(INT, Cipher()))])
    marked = pa.field("c", pa.binary(), metadata={"other": "x", "cql.encrypted": "true"})
    with pytest.raises(ValueError, match="binary cannot be written as int without loss: the column is encrypted"):
        plan.reader(pa.schema([marked]).__arrow_c_schema__())


class Reversing:
    """A cipher that stores bytes in reverse."""

    inner = TEXT

    def encode(self, value: Any, version: int) -> bytes:
        return self.seal(TEXT.encode(value))

    def decode(self, data: bytes, version: int) -> Any:
        return TEXT.decode(self.seal(data))

    def seal(self, plain: bytes) -> Any:
        if plain == b"none":
            return None
        if plain == b"weak":
            raise ArithmeticError("weak key")
        return plain[::-1]


KEYS = ["key", "key", "key", "xyz"]
ENCODED_KEYS = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 1], pa.int8()), pa.array(KEYS[2:], pa.large_string()))


@pytest.mark.parametrize("keys", [pa.array(KEYS), ENCODED_KEYS, pa.array(KEYS, pa.string_view())])
def test_values_are_encrypted(keys: pa.Array) -> None:
    codec = encrypted_codec(BLOB, Reversing())
    plan = IngestPlan([("a", codec), ("c", codec)], partition_key=["a"])
    rows = rows_of(plan, pa.record_batch({"a": keys, "c": pa.array(["text", None, "none", "weak"])}))
    bind = BindPlan([("ks", "t", "a", codec), ("ks", "t", "c", codec)], [0])
    for row, values in enumerate([("key", "text"), ("key",)]):
        bound = bind.bind(values, 4)
        assert rows.encode(row) == (bound.data[2:], bound.token)
    assert rows.same_partition(0, 1) and not rows.same_partition(0, 3)
    with pytest.raises(
        ValueError, match=r"^column 'c' \(text\), row 2: its cipher failed: TypeError: seal\(\) returned NoneType"
    ):
        rows.encode(2)
    with pytest.raises(ValueError, match=r"^column 'c' \(text\), row 3: its cipher failed: ArithmeticError: weak key$"):
        rows.encode(3)


#: For each library a frame of these values in its own types.
FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(
        {
            "i": [1, None],
            "t": ["text", "x" * 20],
            "w": [WHEN, None],
            "d": [DAY, None],
            "l": [[1, 2], []],
            "f": [0.5, None],
        },
        schema_overrides={"w": pl.Datetime("us"), "t": pl.Categorical},
    ),
    "pandas": lambda: pd.DataFrame(
        {
            "i": pd.array([1, None], "Int64"),
            "t": ["text", "x" * 20],
            "w": pd.Series([WHEN, None]),
            "d": pd.Series([datetime.datetime(2024, 2, 29), None]),
            "l": pd.Series([[1, 2], []], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
            "f": pd.array([0.5, None], "Float64"),
        }
    ),
    "duckdb": lambda: duckdb.sql(
        "SELECT unnest([1, NULL]) i, unnest(['text', repeat('x', 20)]) t, "
        "unnest([TIMESTAMP '2024-02-29 12:30:01.005', NULL]) w, "
        "unnest([DATE '2024-02-29', NULL]) d, unnest([[1, 2], []]) l, unnest([0.5::DOUBLE, NULL]) f"
    ),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_every_library(library: str) -> None:
    plan = IngestPlan(
        [("i", INT), ("t", TEXT), ("w", TIMESTAMP), ("d", DATE), ("l", list_codec(INT)), ("f", FLOAT)], nulls="null"
    )
    reader = ArrowReader(FRAMES[library]().__arrow_c_stream__())
    found = []
    for array in reader:
        rows = plan.reader(reader.schema).rows(array)
        found += [rows.encode(i)[0] for i in range(len(rows))]
    first = zip((INT, TEXT, TIMESTAMP, DATE, list_codec(INT), FLOAT), (1, "text", WHEN, DAY, [1, 2], 0.5), strict=True)
    null = bytes_(None)
    assert found == [
        b"".join(cells(codec, value)[0] for codec, value in first),
        null + bytes_(b"x" * 20) + null + null + bytes_(list_codec(INT).encode([])) + null,
    ]


@pytest.fixture
def pool() -> Iterator[MemoryPool]:
    pool = MemoryPool(1 << 30)
    yield pool
    gc.collect()
    assert pool.stats().in_use == 0


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    gc.collect()
    before = debug_counters()
    yield
    gc.collect()
    assert debug_counters() == before


def test_rows_keep_the_array_and_nothing_else_does(pool: MemoryPool) -> None:
    """Our own columns, by a stream."""
    columns = [("a", TEXT), ("b", TIME)]
    page = page_of(columns, [("x" * 5000, Time(i)) for i in range(10)])
    column_plan = ColumnPlan(columns, pool)
    left = [decode(column_plan, page) for _ in range(3)]
    reader = ArrowReader(stream(column_plan, lambda: left.pop() if left else None))
    plan = IngestPlan(columns)
    rows = [plan.reader(reader.schema).rows(array) for array in reader]
    assert list(reader) == []
    del page, reader
    assert [len(found) for found in rows] == [10] * 3
    assert rows[1].encode(9)[0] == bytes_(b"x" * 5000) + bytes_(TIME.encode(9))
    assert pool.stats().in_use > 0
    del rows
    assert pool.stats().in_use == 0


def test_a_stream_that_fails(pool: MemoryPool) -> None:
    def source() -> None:
        raise KeyError("gone")

    reader = ArrowReader(stream(ColumnPlan([("a", TEXT)], pool), source))  # type: ignore[arg-type]
    with pytest.raises(OSError, match="KeyError: 'gone'"):
        next(reader)
    assert list(reader) == []
    reader.close()
    with pytest.raises(TypeError, match="expected a capsule of an Arrow stream, got int"):
        ArrowReader(3)
    used = pa.table({"a": [1]}).__arrow_c_stream__()
    ArrowReader(used).close()
    with pytest.raises(ValueError, match="the Arrow stream was read already"):
        ArrowReader(used)
