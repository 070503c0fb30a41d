"""Classes of types without parameters: names, bytes, bounds, and zero bytes."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import DriverException, cqltypes
from cassandra.cqltypes import EMPTY, lookup_casstype
from cassandra.util import Date, Duration, Time

UUID4, UUID1 = UUID("b0c57a3e-5f0e-4f44-8a1d-2f0c6f0d9a11"), UUID("8e1f2a90-e5fc-11f1-9381-0242ac110002")

# class, CQL name, (value, bytes)
SAMPLES: list[tuple[str, str, Any, str]] = [
    ("AsciiType", "ascii", "abc", "616263"),
    ("LongType", "bigint", -2, "fffffffffffffffe"),
    ("BytesType", "blob", b"\x00\xff", "00ff"),
    ("BooleanType", "boolean", True, "01"),
    ("CounterColumnType", "counter", 1, "0000000000000001"),
    ("DecimalType", "decimal", Decimal("-1.28"), "0000000280"),
    ("DoubleType", "double", 1.5, "3ff8000000000000"),
    ("FloatType", "float", 1.5, "3fc00000"),
    ("Int32Type", "int", -1, "ffffffff"),
    ("UTF8Type", "text", "aä", "61c3a4"),
    ("VarcharType", "varchar", "aä", "61c3a4"),
    ("DateType", "timestamp", dt.datetime(1970, 1, 1, 0, 0, 1, 500000), "00000000000005dc"),
    ("TimestampType", "timestamp", dt.datetime(1969, 12, 31), "fffffffffad9a400"),
    ("UUIDType", "uuid", UUID4, UUID4.hex),
    ("IntegerType", "varint", -129, "ff7f"),
    ("TimeUUIDType", "timeuuid", UUID1, UUID1.hex),
    ("InetAddressType", "inet", "127.0.0.1", "7f000001"),
    ("InetAddressType", "inet", "::1", "00000000000000000000000000000001"),
    ("SimpleDateType", "date", Date(-1), "7fffffff"),
    ("TimeType", "time", Time(1), "0000000000000001"),
    ("ShortType", "smallint", -2, "fffe"),
    ("ByteType", "tinyint", -2, "fe"),
    ("DurationType", "duration", Duration(1, 2, 3), "020406"),
]
NAMES = sorted({name for name, *_ in SAMPLES})


@pytest.mark.parametrize(("name", "cql", "value", "hexed"), SAMPLES)
@pytest.mark.parametrize("version", [3, 4, 5])
def test_values_and_bytes(name: str, cql: str, value: Any, hexed: str, version: int) -> None:
    cls = getattr(cqltypes, name)
    data = bytes.fromhex(hexed)
    assert cls.serialize(value, version) == cls.to_binary(value, version) == data
    for decoded in (cls.deserialize(data, version), cls.from_binary(data, version)):
        assert decoded == value and type(decoded) is type(value)


@pytest.mark.parametrize(("name", "cql"), sorted({(name, cql) for name, cql, *_ in SAMPLES}))
def test_names(name: str, cql: str) -> None:
    cls = getattr(cqltypes, name)
    assert cls.__module__ == "cassandra.cqltypes" and cls.cassname == name
    assert cls.cql_parameterized_type() == cls.typename == cql
    assert cls.cass_parameterized_type() == name
    full = cls.cass_parameterized_type(full=True)
    assert full == f"org.apache.cassandra.db.marshal.{name}"
    assert lookup_casstype(name) is lookup_casstype(full) is cls


@pytest.mark.parametrize("name", NAMES)
def test_null(name: str) -> None:
    cls = getattr(cqltypes, name)
    assert cls.from_binary(None, 4) is None and cls.to_binary(None, 4) == b""


@pytest.mark.parametrize("name", NAMES)
def test_zero_bytes(name: str) -> None:
    cls = getattr(cqltypes, name)
    expected = {"AsciiType": "", "UTF8Type": "", "VarcharType": "", "BytesType": b""}.get(name)
    assert cls.from_binary(b"", 4) == cls.codec().decode(b"") == expected


@pytest.fixture
def empty_values() -> Iterator[None]:
    cqltypes.CassandraType.support_empty_values = True
    yield
    cqltypes.CassandraType.support_empty_values = False


@pytest.mark.parametrize("name", NAMES)
def test_zero_bytes_on_demand(name: str, empty_values: None) -> None:
    cls = getattr(cqltypes, name)
    expected: Any = {"AsciiType": "", "UTF8Type": "", "VarcharType": "", "BytesType": b""}.get(name, EMPTY)
    assert cls.from_binary(b"", 4) == expected and cls.codec().decode(b"") == expected
    assert cls.from_binary(None, 4) is None and cls.to_binary(EMPTY, 4) == b"" and str(EMPTY) == "EMPTY"


def test_zero_bytes_for_one_type() -> None:
    cqltypes.Int32Type.support_empty_values = True
    try:
        assert cqltypes.Int32Type.from_binary(b"", 4) is EMPTY and cqltypes.LongType.from_binary(b"", 4) is None
        assert lookup_casstype("TupleType(Int32Type,LongType)").deserialize(bytes(8), 4) == (EMPTY, None)
    finally:
        cqltypes.Int32Type.support_empty_values = False
    assert cqltypes.Int32Type.from_binary(b"", 4) is None


UNUSED = """
from cassandra import cqltypes
from cassandra._core.codec import scalar

cqltypes.{0}.support_empty_values = True
print(scalar(cqltypes.{0}.type_id).decode(b""))
"""


@pytest.mark.parametrize("name", ["Int32Type", "UUIDType"])
def test_zero_bytes_of_a_type_that_was_not_used_before(name: str) -> None:
    """The setting applies to the codec that decodes results, before the program uses the class itself."""
    program = [sys.executable, "-c", UNUSED.format(name)]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout == "EMPTY\n"


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("BooleanType", 1),
        ("FloatType", 4),
        ("Int32Type", 4),
        ("LongType", 8),
        ("DoubleType", 8),
        ("DateType", 8),
        ("TimestampType", 8),
        ("UUIDType", 16),
        ("TimeUUIDType", 16),
        ("UTF8Type", None),
        ("IntegerType", None),
        ("ShortType", None),
        ("SimpleDateType", None),
    ],
)
def test_sizes(name: str, size: int | None) -> None:
    assert getattr(cqltypes, name).serial_size() == size


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Int32Type", 2**31),
        ("ByteType", -129),
        ("ShortType", 2**15),
        ("LongType", 2**63),
        ("Int32Type", "1"),
        ("UTF8Type", 5),
        ("UUIDType", "nope"),
        ("InetAddressType", "300.1.1.1"),
        ("AsciiType", "ä"),
        ("BytesType", 5),
        ("DecimalType", "x"),
        ("DurationType", 5),
        ("TimeType", -1),
        ("DateType", "x"),
    ],
)
def test_serialize_refuses_values_outside_the_type(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        getattr(cqltypes, name).serialize(value, 4)


@pytest.mark.parametrize("name", ["Int32Type", "LongType", "UUIDType", "FloatType", "DecimalType", "SimpleDateType"])
def test_wrong_lengths(name: str) -> None:
    with pytest.raises(DriverException, match=getattr(cqltypes, name).typename):
        getattr(cqltypes, name).deserialize(b"\x01\x02\x03", 4)


@given(st.integers(-(2**63), 2**63 - 1))
def test_timestamps_are_always_readable(ms: int) -> None:
    data = ms.to_bytes(8, "big", signed=True)
    value = cqltypes.DateType.deserialize(data, 4)
    if isinstance(value, dt.datetime):
        assert cqltypes.DateType.serialize(value, 4) == data
    else:
        assert value == ms and cqltypes.DateType.serialize(value, 4) == data


@given(st.integers(0, 2**32 - 1))
def test_dates_are_always_readable(raw: int) -> None:
    data = raw.to_bytes(4, "big")
    value = cqltypes.SimpleDateType.deserialize(data, 4)
    assert value == Date(raw - cqltypes.SimpleDateType.EPOCH_OFFSET_DAYS)
    assert cqltypes.SimpleDateType.serialize(value, 4) == data


def test_dates_from_other_values() -> None:
    for value in (Date(1), dt.date(1970, 1, 2), "1970-01-02"):
        assert cqltypes.SimpleDateType.serialize(value, 4).hex() == "80000001"


def test_times_from_other_values() -> None:
    for value in (Time(1000), dt.time(microsecond=1), "00:00:00.000001"):
        assert cqltypes.TimeType.serialize(value, 4) == (1000).to_bytes(8, "big")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:01", 60000),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01 01:00+0100", 0),
        ("1970-01-01 00:00:00-0030", 1800000),
    ],
)
def test_dates_in_text(text: str, ms: int) -> None:
    assert cqltypes.DateType.interpret_datestring(text) == ms


def test_dates_in_other_text() -> None:
    with pytest.raises(ValueError, match="can't interpret"):
        cqltypes.DateType.interpret_datestring("soon")


def test_instances_hold_a_value() -> None:
    assert cqltypes.TimeUUIDType(UUID(int=0x13814000_1DD2_11B2_8000_000000000000)).my_timestamp() == 0
    assert repr(cqltypes.Int32Type(5)) == "<int( 5 )>"
