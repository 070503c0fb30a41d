"""Pages of all types for the tests of the columns extension, and record batches made of them."""

from __future__ import annotations

import datetime
import gc
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID as Uuid

import pyarrow as pa

from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import (
    Codec,
    ResultPlan,
    RowsPage,
    custom_codec,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from cassandra._core.columns import ColumnPlan, RecordBatch, debug_counters, decode
from cassandra._core.memory import MemoryPool
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
    encoded,
    rows_body,
)
from tests.unit.core.codec_frames import decode as decode_body

UDT = udt_codec("ks", "address", ["street", "zip"], [TEXT, INT])
SOME_UUID = Uuid("00112233-4455-1677-8899-aabbccddeeff")
WHEN = datetime.datetime(2024, 2, 29, 12, 30, 1, 5000)

#: Every type with a value, and its Arrow type.
TYPES: list[tuple[str, Codec, Any, pa.DataType]] = [
    ("ascii", ASCII, "plain", pa.string()),
    ("bigint", BIGINT, -(2**62), pa.int64()),
    ("blob", BLOB, b"\x00\xff", pa.binary()),
    ("boolean", BOOLEAN, True, pa.bool_()),
    ("counter", COUNTER, 12, pa.int64()),
    ("date", DATE, Date(-3), pa.date32()),
    ("decimal", DECIMAL, Decimal("-12.340"), pa.string()),
    ("double", DOUBLE, 1 / 3, pa.float64()),
    ("duration", DURATION, Duration(1, 2, 3), pa.month_day_nano_interval()),
    ("float", FLOAT, 0.5, pa.float32()),
    ("inet", INET, "::1", pa.binary()),
    ("int", INT, -7, pa.int32()),
    ("smallint", SMALLINT, -300, pa.int16()),
    ("text", TEXT, "grüße, " * 5, pa.string()),
    ("time", TIME, Time(86399999999000), pa.time64("ns")),
    ("timestamp", TIMESTAMP, WHEN, pa.timestamp("ms", "UTC")),
    ("timeuuid", TIMEUUID, SOME_UUID, pa.uuid()),
    ("tinyint", TINYINT, -8, pa.int8()),
    ("uuid", UUID, SOME_UUID, pa.uuid()),
    ("varint", VARINT, -(10**30), pa.string()),
    ("list", list_codec(INT), [1, 2, 3], pa.list_(pa.int32())),
    ("set", set_codec(TEXT), {"a", "b"}, pa.list_(pa.string())),
    ("map", map_codec(TEXT, list_codec(INT)), {"k": [1, None]}, pa.map_(pa.string(), pa.list_(pa.int32()))),
    ("tuple", tuple_codec([INT, TEXT]), (1, None), pa.struct([("f0", pa.int32()), ("f1", pa.string())])),
    ("udt", UDT, ("street", 12345), pa.struct([("street", pa.string()), ("zip", pa.int32())])),
    ("vector", vector_codec(FLOAT, 3), [0.5, 1.5, 2.5], pa.list_(pa.float32(), 3)),
    ("texts", vector_codec(TEXT, 2), ["", "xy"], pa.list_(pa.string(), 2)),
    (
        "nested",
        vector_codec(vector_codec(BOOLEAN, 2), 2),
        [[True, False], [False, True]],
        pa.list_(pa.list_(pa.bool_(), 2), 2),
    ),
    ("custom", custom_codec("com.example.Opaque"), b"bytes", pa.binary()),
]
COLUMNS = [(name, codec) for name, codec, _, _ in TYPES]
ROW = [value for _, _, value, _ in TYPES]


def checked_pool() -> Iterator[MemoryPool]:
    """Nothing of it is in use afterwards, and nothing native is left."""
    before = debug_counters()
    pool = MemoryPool(1 << 30)
    yield pool
    gc.collect()
    assert debug_counters() == before
    assert pool.stats().in_use == 0


def planned(page: RowsPage, pool: MemoryPool, **options: Any) -> ColumnPlan:
    return ColumnPlan([(name, codec) for _, _, name, codec in page.plan.specs], pool, **options)


def decoded(page: RowsPage, pool: MemoryPool, **options: Any) -> RecordBatch:
    return decode(planned(page, pool, **options), page)


def page_with(columns: list[tuple[str, Codec]], rows: list[Any]) -> RowsPage:
    """A page with these cells, valid or not."""
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    page = decode_body(rows_body(columns, rows, NO_METADATA), plan=plan).page
    assert page is not None
    return page


def page_of(columns: list[tuple[str, Codec]], rows: list[Any]) -> RowsPage:
    return page_with(columns, encoded(columns, rows))


def raw_page(codec: Codec, *values: bytes | None, name: str = "c") -> RowsPage:
    return page_with([(name, codec)], [[value] for value in values])


def everything(rows: int = 3) -> RowsPage:
    """A page of all types, with nulls in every other row."""
    return page_of(COLUMNS, [ROW if i % 2 == 0 else [None] * len(ROW) for i in range(rows)])
