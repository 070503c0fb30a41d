"""Every scalar type against encodings written down by hand from the specification."""

from __future__ import annotations

import datetime
import gc
import math
import pickle
import struct
import uuid
from decimal import Decimal
from typing import Any

import pytest

from cassandra._base.errors import DriverException
from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import Codec, custom_codec, scalar
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
    TIMEUUID,
    TINYINT,
    UUID,
    VARINT,
)

H = bytes.fromhex
NAMES = [
    "ascii",
    "bigint",
    "blob",
    "boolean",
    "counter",
    "decimal",
    "double",
    "float",
    "int",
    "timestamp",
    "uuid",
    "text",
    "varint",
    "timeuuid",
    "inet",
    "date",
    "time",
    "smallint",
    "tinyint",
    "duration",
]

# codec, value, bytes; both directions
GOLDEN: list[tuple[Codec, Any, str]] = [
    (ASCII, "", ""),
    (ASCII, "abc", "616263"),
    (BIGINT, 0, "0000000000000000"),
    (BIGINT, -1, "ffffffffffffffff"),
    (BIGINT, 2**63 - 1, "7fffffffffffffff"),
    (BIGINT, -(2**63), "8000000000000000"),
    (BLOB, b"", ""),
    (BLOB, b"\x00\xff", "00ff"),
    (BOOLEAN, True, "01"),
    (BOOLEAN, False, "00"),
    (COUNTER, -2, "fffffffffffffffe"),
    (DECIMAL, Decimal("0"), "0000000000"),
    (DECIMAL, Decimal("0.00"), "0000000200"),
    (DECIMAL, Decimal("1.5"), "000000010f"),
    (DECIMAL, Decimal("-1.28"), "0000000280"),
    (DECIMAL, Decimal("1E+3"), "fffffffd01"),
    (DECIMAL, Decimal("12345678901234567890"), "0000000000ab54a98ceb1f0ad2"),
    (DECIMAL, Decimal("1E-2147483647"), "7fffffff01"),
    (DOUBLE, 1.5, "3ff8000000000000"),
    (DOUBLE, -math.inf, "fff0000000000000"),
    (FLOAT, -2.5, "c0200000"),
    (FLOAT, math.inf, "7f800000"),
    (INT, 0, "00000000"),
    (INT, 2**31 - 1, "7fffffff"),
    (INT, -(2**31), "80000000"),
    (TIMESTAMP, datetime.datetime(1970, 1, 1), "0000000000000000"),
    (TIMESTAMP, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000), "ffffffffffffffff"),
    (TIMESTAMP, datetime.datetime(1, 1, 1), struct.pack(">q", -62135596800000).hex()),
    (TIMESTAMP, datetime.datetime(9999, 12, 31, 23, 59, 59, 999000), struct.pack(">q", 253402300799999).hex()),
    (TIMESTAMP, datetime.datetime(2000, 2, 29, 12, 30, 15, 1000), struct.pack(">q", 951827415001).hex()),
    (TIMESTAMP, datetime.datetime(1900, 3, 1), struct.pack(">q", -2203891200000).hex()),
    (TIMESTAMP, -62135596800001, struct.pack(">q", -62135596800001).hex()),
    (TIMESTAMP, 253402300800000, struct.pack(">q", 253402300800000).hex()),
    (TIMESTAMP, 2**63 - 1, "7fffffffffffffff"),
    (TIMESTAMP, -(2**63), "8000000000000000"),
    (UUID, uuid.UUID("123e4567-e89b-12d3-a456-426614174000"), "123e4567e89b12d3a456426614174000"),
    (UUID, uuid.UUID(int=0), "00" * 16),
    (UUID, uuid.UUID(int=2**128 - 1), "ff" * 16),
    (TIMEUUID, uuid.UUID("50554d6e-29bb-11e5-b345-feff819cdc9f"), "50554d6e29bb11e5b345feff819cdc9f"),
    (TEXT, "", ""),
    (TEXT, "a", "61"),
    (TEXT, "grüße", "6772c3bcc39f65"),
    (TEXT, "€", "e282ac"),
    (TEXT, "😀", "f09f9880"),
    (TEXT, "x" * 1000, "78" * 1000),
    (TEXT, "ä" * 1000, "c3a4" * 1000),
    (VARINT, 0, "00"),
    (VARINT, 1, "01"),
    (VARINT, 127, "7f"),
    (VARINT, 128, "0080"),
    (VARINT, 129, "0081"),
    (VARINT, -1, "ff"),
    (VARINT, -128, "80"),
    (VARINT, -129, "ff7f"),
    (VARINT, 2**63 - 1, "7fffffffffffffff"),
    (VARINT, 2**63, "008000000000000000"),
    (VARINT, -(2**63), "8000000000000000"),
    (VARINT, -(2**63) - 1, "ff7fffffffffffffff"),
    (VARINT, -(2**71), "80" + "00" * 8),
    (VARINT, 10**40, "1d6329f1c35ca4bfabb9f5610000000000"),
    (INET, "127.0.0.1", "7f000001"),
    (INET, "255.10.9.0", "ff0a0900"),
    (INET, "::1", "00" * 15 + "01"),
    (INET, "2001:db8::ff00:42:8329", "20010db8000000000000ff0000428329"),
    (DATE, Date(0), "80000000"),
    (DATE, Date(-(2**31)), "00000000"),
    (DATE, Date(2**31 - 1), "ffffffff"),
    (DATE, Date("2024-02-29"), "80004d46"),
    (TIME, Time(0), "0000000000000000"),
    (TIME, Time(86399999999999), "00004e94914effff"),
    (SMALLINT, -32768, "8000"),
    (SMALLINT, 32767, "7fff"),
    (TINYINT, -128, "80"),
    (TINYINT, 127, "7f"),
    (DURATION, Duration(0, 0, 0), "000000"),
    (DURATION, Duration(1, 2, 3), "020406"),
    (DURATION, Duration(-1, -2, -3), "010305"),
    (DURATION, Duration(64, 0, 0), "80800000"),
    (DURATION, Duration(0, 0, 256000 // 2), "0000c3e800"),
    (DURATION, Duration(2**31 - 1, 2**31 - 1, 2**63 - 1), "f0fffffffe" * 2 + "fffffffffffffffffe"),
    (DURATION, Duration(-(2**31), -(2**31), -(2**63)), "f0ffffffff" * 2 + "ffffffffffffffffff"),
]


@pytest.mark.parametrize(("codec", "value", "data"), GOLDEN, ids=lambda item: repr(item)[:40])
def test_golden_encodings(codec: Codec, value: Any, data: str) -> None:
    assert codec.encode(value).hex() == data
    decoded = codec.decode(H(data))
    assert decoded == value
    assert type(decoded) is type(value)


def test_names_and_interning() -> None:
    kinds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
    assert [scalar(kind).name for kind in kinds] == NAMES
    assert [scalar(kind).cql() for kind in kinds] == NAMES
    assert all(scalar(kind) is scalar(kind) and scalar(kind).kind == kind for kind in kinds)
    assert repr(INT) == "<Codec int>"
    for kind in (0, 0x20, 0x30, 0x99, -1):
        with pytest.raises(ValueError, match="unknown CQL type without parameters"):
            scalar(kind)
    with pytest.raises(TypeError, match="made by"):
        Codec()


def test_nan() -> None:
    assert math.isnan(FLOAT.decode(FLOAT.encode(math.nan)))
    assert math.isnan(DOUBLE.decode(DOUBLE.encode(math.nan)))


def test_a_decimal_keeps_its_scale_and_every_digit() -> None:
    for text in (
        "1.10",
        "-0.00",
        "1E+10",
        "123456789012345678.90",
        "1" * 100 + "." + "9" * 100,
        "-" + "7" * 60 + "E-9",
    ):
        value = Decimal(text)
        decoded = DECIMAL.decode(DECIMAL.encode(value))
        assert decoded == value
        assert decoded.as_tuple().exponent == value.as_tuple().exponent
    long = Decimal("1" + "0" * 5999 + "1")  # more digits than int() takes from text
    assert DECIMAL.decode(DECIMAL.encode(long)) == long


def test_uuid_is_as_good_as_one_from_its_constructor() -> None:
    value = uuid.uuid4()
    decoded = UUID.decode(value.bytes)
    assert type(decoded) is uuid.UUID
    assert (decoded, hash(decoded), str(decoded)) == (value, hash(value), str(value))
    assert decoded.is_safe is uuid.SafeUUID.unknown
    assert pickle.loads(pickle.dumps(decoded)) == value
    assert not gc.is_tracked(decoded)
    with pytest.raises(TypeError):
        decoded.int = 5  # type: ignore[misc]


def test_uuid_needs_no_call_of_its_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    """It alone would cost ten times the rest."""
    value = uuid.uuid4()

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("called")

    monkeypatch.setattr(uuid.UUID, "__init__", refuse)
    assert UUID.decode(value.bytes) == TIMEUUID.decode(value.bytes) == value


@pytest.mark.parametrize("codec", [scalar(k) for k in range(1, 0x16) if k not in (1, 3, 10, 13)], ids=lambda c: c.name)
def test_an_empty_value_of_a_type_without_one_is_none(codec: Codec) -> None:
    assert codec.decode(b"") is None


def test_an_empty_value_may_be_shown_as_something_else() -> None:
    marker = object()
    assert INT.empty_value is None
    INT.empty_value = marker
    try:
        assert INT.decode(b"") is marker
    finally:
        INT.empty_value = None
    assert INT.decode(b"") is None


def test_text_and_blobs_have_empty_values() -> None:
    assert (TEXT.decode(b""), ASCII.decode(b""), BLOB.decode(b""), scalar(10).decode(b"")) == ("", "", b"", "")


def test_null_decodes_to_none_and_does_not_encode() -> None:
    assert INT.decode(None) is None
    with pytest.raises(TypeError, match="None is null"):
        INT.encode(None)


@pytest.mark.parametrize(
    ("codec", "data", "message"),
    [
        (INT, "000000", "int needs 4 bytes, the value has 3"),
        (INT, "0000000000", "int needs 4 bytes, the value has 5"),
        (BIGINT, "00000000", "bigint needs 8 bytes, the value has 4"),
        (DOUBLE, "00", "double needs 8 bytes"),
        (FLOAT, "00", "float needs 4 bytes"),
        (BOOLEAN, "0000", "boolean needs 1 byte, the value has 2"),
        (SMALLINT, "00", "smallint needs 2 bytes"),
        (TINYINT, "0000", "tinyint needs 1 byte"),
        (TIMESTAMP, "00", "timestamp needs 8 bytes"),
        (DATE, "00", "date needs 4 bytes"),
        (TIME, "00", "time needs 8 bytes"),
        (UUID, "00", "uuid needs 16 bytes"),
        (TIMEUUID, "00" * 17, "timeuuid needs 16 bytes, the value has 17"),
        (INET, "7f00", "inet needs 4 or 16 bytes"),
        (DECIMAL, "00000000", "decimal needs 5 bytes or more, the value has 4"),
        (DURATION, "00", "duration ends within"),
        (DURATION, "0000ff", "duration ends within"),
        (DURATION, "00000000", "duration has 1 bytes too many"),
        (TEXT, "ff", "invalid start byte"),
        (TEXT, "c3", "unexpected end of data"),
        (TEXT, "eda080", "invalid continuation byte"),
        (ASCII, "c3a4", "ordinal not in range"),
    ],
)
def test_bytes_that_are_no_value_are_refused(codec: Codec, data: str, message: str) -> None:
    with pytest.raises(DriverException, match=f"Failed to decode a value of type {codec.cql()}: .*{message}") as caught:
        codec.decode(H(data))
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_boolean_is_true_for_any_other_byte() -> None:
    assert BOOLEAN.decode(b"\x02") is True


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview], ids=lambda b: b.__name__)
def test_decode_takes_any_buffer(buffer: Any) -> None:
    assert INT.decode(buffer(b"\x00\x00\x00\x07")) == 7


def test_small_integers_and_short_texts_are_shared_objects() -> None:
    assert INT.decode(INT.encode(5)) is INT.decode(INT.encode(5))
    assert TEXT.decode(b"a") is TEXT.decode(b"a")


def test_custom_types_are_bytes() -> None:
    codec = custom_codec("com.example.Shape")
    assert (codec.kind, codec.name, codec.cql()) == (0, "com.example.Shape", "'com.example.Shape'")
    assert codec.decode(b"\x01") == b"\x01" == codec.encode(b"\x01")
    assert codec.decode(b"") == b""
    assert codec.decode(None) is None


def test_custom_types_with_functions() -> None:
    seen = []

    def decode(data: bytes, version: int) -> Any:
        seen.append((data, version))
        return data.decode()[::-1]

    def encode(value: Any, version: int) -> bytes:
        seen.append((value, version))
        return str(value).encode()

    codec = custom_codec("com.example.Reversed", decode, encode)
    assert codec.decode(b"abc", 5) == "cba"
    assert codec.encode("xyz", 3) == b"xyz"
    assert seen == [(b"abc", 5), ("xyz", 3)]
    with pytest.raises(DriverException, match="invalid start byte"):
        codec.decode(b"\xff")
    with pytest.raises(TypeError, match="returned str instead of bytes"):
        custom_codec("x", None, lambda value, version: "no").encode(1)  # type: ignore[arg-type,return-value]
