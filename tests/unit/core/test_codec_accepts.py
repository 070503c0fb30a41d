"""Values that the encoders accept besides those that decoding gives back, and values that they refuse."""

from __future__ import annotations

import array
import datetime
import enum
import ipaddress
import math
import re
import uuid
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from cassandra._base.collections import OrderedMap, SortedSet
from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import (
    UNSET,
    BindPlan,
    Codec,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
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
    SMALLINT,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMEUUID,
    TINYINT,
    UUID,
    VARINT,
)


class Whole:
    def __index__(self) -> int:
        return 7


class Colour(enum.IntEnum):
    RED = 7


class Word(str):
    pass


class OwnBytes(int):
    def __bytes__(self) -> bytes:
        return b"own"


class LoudDecimal(Decimal):
    """Prints and computes as it likes; the encoder uses its value."""

    def __str__(self) -> str:
        return "9.99"

    __repr__ = __str__

    def is_finite(self) -> bool:
        return False

    def scaleb(self, *args: Any, **kwargs: Any) -> Decimal:
        return Decimal(9)

    def as_tuple(self) -> Any:
        raise AssertionError


class LoudInt(int):
    def __str__(self) -> str:
        return "9"

    __repr__ = __str__

    def __int__(self) -> int:
        return 9

    __index__ = __trunc__ = __invert__ = __int__

    def bit_length(self) -> int:
        return 9

    def to_bytes(self, *args: Any, **kwargs: Any) -> bytes:
        return b"9"


class LoudFloat(float):
    def __str__(self) -> str:
        return "9.0"

    __repr__ = __str__

    def __float__(self) -> float:
        return 9.0

    def __int__(self) -> int:
        return 9

    __trunc__ = __int__

    def as_integer_ratio(self) -> tuple[int, int]:
        return 9, 1


class LoudWord(str):
    def __str__(self) -> str:
        return "9"

    __repr__ = __str__


class Status(str, enum.Enum):
    OPEN = "open"


utc = datetime.timezone.utc
east = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
PLACE = udt_codec("ks", "place", ("street", "number"), (TEXT, INT))
Pair = namedtuple("Pair", "a b")


@dataclass
class Place:
    street: str
    number: int


ACCEPTED: list[tuple[Codec, Any, Any]] = [
    # whole numbers of any kind
    (INT, True, 1),
    (INT, Whole(), 7),
    (INT, Colour.RED, 7),
    (INT, np.int64(-5), -5),
    (BIGINT, np.uint8(200), 200),
    (SMALLINT, np.int8(-1), -1),
    (TINYINT, Whole(), 7),
    (VARINT, np.int64(2**40), 2**40),
    (VARINT, True, 1),
    # floats of any kind
    (DOUBLE, 3, 3.0),
    (DOUBLE, Decimal("0.5"), 0.5),
    (DOUBLE, Fraction(1, 4), 0.25),
    (DOUBLE, np.float32(0.5), 0.5),
    (FLOAT, 2**20, 2.0**20),
    (FLOAT, np.float64(1.5), 1.5),
    (BOOLEAN, 1, True),
    (BOOLEAN, 0, False),
    (BOOLEAN, np.True_, True),
    (BOOLEAN, np.False_, False),
    (TEXT, Word("abc"), "abc"),
    (BLOB, OwnBytes(5), b"own"),
    (BLOB, [1, 255], b"\x01\xff"),
    (DECIMAL, (1, (1, 5), -1), Decimal("-1.5")),
    (PLACE, ("a", 1, 2), ("a", 1)),
    (ASCII, Word("abc"), "abc"),
    (BLOB, bytearray(b"ab"), b"ab"),
    (BLOB, memoryview(b"xaby")[1:3], b"ab"),
    (BLOB, array.array("B", [1, 2]), b"\x01\x02"),
    (BLOB, np.array([1, 2], np.uint8), b"\x01\x02"),
    (BLOB, np.array([[1, 2], [3, 4]], np.uint8), b"\x01\x02\x03\x04"),
    (BLOB, np.array([], np.uint8), b""),
    # timestamps
    (TIMESTAMP, datetime.date(1970, 1, 2), datetime.datetime(1970, 1, 2)),
    (TIMESTAMP, 86400000, datetime.datetime(1970, 1, 2)),
    (TIMESTAMP, np.int64(1), datetime.datetime(1970, 1, 1, 0, 0, 0, 1000)),
    (TIMESTAMP, 1500.75, datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)),
    (TIMESTAMP, datetime.datetime(2024, 1, 1, tzinfo=utc), datetime.datetime(2024, 1, 1)),
    (TIMESTAMP, datetime.datetime(2024, 1, 1, tzinfo=east), datetime.datetime(2023, 12, 31, 18, 30)),
    (TIMESTAMP, datetime.datetime(2024, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")), datetime.datetime(2024, 6, 30, 22)),
    (TIMESTAMP, datetime.datetime(2024, 1, 1, 0, 0, 0, 999), datetime.datetime(2024, 1, 1)),
    (
        TIMESTAMP,
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
    ),
    # dates: an int is the number CQL has, counted from 2**31
    (DATE, datetime.date(1970, 1, 2), Date(1)),
    (DATE, datetime.datetime(1969, 12, 31, 23), Date(-1)),
    (DATE, "1970-01-11", Date(10)),
    (DATE, 2**31, Date(0)),
    (DATE, 0, Date(-(2**31))),
    (DATE, np.int64(2**31 + 3), Date(3)),
    (DATE, datetime.date.min, Date(datetime.date.min)),
    (DATE, datetime.date.max, Date(datetime.date.max)),
    (TIME, datetime.time(1, 2, 3, 4), Time(3723000004000)),
    (TIME, "01:02:03.000000004", Time(3723000000004)),
    (TIME, 5, Time(5)),
    (TIME, np.int64(5), Time(5)),
    (DURATION, SimpleNamespace(months=1, days=2, nanoseconds=3), Duration(1, 2, 3)),
    # decimals
    (DECIMAL, 12, Decimal(12)),
    (DECIMAL, 0.5, Decimal("0.5")),
    (DECIMAL, 2.0**-30, Decimal(2.0**-30)),
    (DECIMAL, "12.50", Decimal("12.50")),
    (DECIMAL, np.int64(3), Decimal(3)),
    # subclasses: the value they hold, not the text they print
    (DECIMAL, LoudDecimal("12.50"), Decimal("12.50")),
    (DECIMAL, LoudDecimal("1" * 60 + ".5"), Decimal("1" * 60 + ".5")),
    (DECIMAL, LoudInt(12), Decimal(12)),
    (DECIMAL, LoudFloat(0.5), Decimal("0.5")),
    (DECIMAL, LoudWord("12.50"), Decimal("12.50")),
    (INT, LoudInt(12), 12),
    (BIGINT, LoudInt(-(2**63)), -(2**63)),
    (VARINT, LoudInt(12), 12),
    (VARINT, LoudInt(2**80), 2**80),
    (VARINT, LoudInt(-(2**80)), -(2**80)),
    (DOUBLE, LoudFloat(0.5), 0.5),
    (DOUBLE, LoudInt(12), 12.0),
    (FLOAT, LoudFloat(0.5), 0.5),
    (TEXT, LoudWord("abc\u00e9"), "abc\u00e9"),
    (TEXT, Status.OPEN, "open"),
    (INET, LoudWord("10.0.0.1"), "10.0.0.1"),
    (TIMESTAMP, LoudInt(86400000), datetime.datetime(1970, 1, 2)),
    (TIMESTAMP, LoudFloat(86400000.5), datetime.datetime(1970, 1, 2)),
    (DATE, LoudInt(2**31), Date(0)),
    (DATE, LoudWord("1970-01-11"), Date(10)),
    (TIME, LoudInt(5), Time(5)),
    (TIME, LoudWord("01:02:03"), Time(3723000000000)),
    # addresses
    (INET, ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    (INET, ipaddress.ip_address("fe80::1"), "fe80::1"),
    (INET, "0:0::1", "::1"),
    (UUID, SimpleNamespace(bytes=b"\x01" * 16), uuid.UUID(bytes=b"\x01" * 16)),
    # collections
    (list_codec(INT), (1, 2), [1, 2]),
    (list_codec(INT), range(3), [0, 1, 2]),
    (list_codec(INT), (i for i in range(3)), [0, 1, 2]),
    (list_codec(INT), {1: "a", 2: "b"}, [1, 2]),
    (list_codec(DOUBLE), np.array([1.5, 2.5]), [1.5, 2.5]),
    (list_codec(INT), [1, None, 3], [1, None, 3]),
    (set_codec(INT), [3, 1, 3], {1, 3}),
    (set_codec(INT), frozenset([3, 1]), {1, 3}),
    (set_codec(INT), SortedSet([2, 1]), {1, 2}),
    (map_codec(TEXT, INT), OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    (map_codec(TEXT, INT), MappingProxyType({"a": 1}), {"a": 1}),
    (map_codec(TEXT, INT), OrderedMap([("a", 1)]), {"a": 1}),
    (map_codec(TEXT, INT), {"a": None}, {"a": None}),
    (map_codec(list_codec(INT), INT), OrderedMap([([1], 2)]), OrderedMap([([1], 2)])),
    (tuple_codec((INT, TEXT)), [1, "x"], (1, "x")),
    (tuple_codec((INT, TEXT)), (1,), (1, None)),
    (tuple_codec((INT, TEXT)), (), None),
    (tuple_codec((INT, TEXT)), Pair(1, "x"), (1, "x")),
    (tuple_codec((INT, INT)), iter((1, 2)), (1, 2)),
    # user types
    (PLACE, ("Main", 1), ("Main", 1)),
    (PLACE, ["Main"], ("Main", None)),
    (PLACE, Pair("Main", 1), ("Main", 1)),
    (PLACE, {"number": 1}, (None, 1)),
    (PLACE, MappingProxyType({"street": "Main", "number": 1}), ("Main", 1)),
    (PLACE, Place("Main", 1), ("Main", 1)),
    (PLACE, SimpleNamespace(number=1, other=5), (None, 1)),
    # vectors
    (vector_codec(INT, 2), (1, 2), [1, 2]),
    (vector_codec(INT, 2), (i for i in (1, 2)), [1, 2]),
    (vector_codec(FLOAT, 2), [1, 2.5], [1.0, 2.5]),
    (vector_codec(TEXT, 2), ["a", "x" * 300], ["a", "x" * 300]),
    (vector_codec(vector_codec(INT, 2), 2), [[1, 2], (3, 4)], [[1, 2], [3, 4]]),
]


def spelled(item: Any) -> str:
    """The same in every run: without addresses."""
    return re.sub(r" at 0x\w+", "", repr(item))[:50]


@pytest.mark.parametrize(("codec", "value", "read"), ACCEPTED, ids=spelled)
def test_accepted(codec: Codec, value: Any, read: Any) -> None:
    assert codec.decode(codec.encode(value)) == read


REFUSED: list[tuple[Codec, Any, type[Exception], str]] = [
    (INT, "1", TypeError, "int needs an int, not str"),
    (INT, 1.0, TypeError, "int needs an int, not float"),
    (INT, 2**31, OverflowError, r"2147483648 is out of range for int \(-2147483648 to 2147483647\)"),
    (INT, -(2**31) - 1, OverflowError, "out of range for int"),
    (INT, 2**100, OverflowError, "out of range for int"),
    (BIGINT, 2**63, OverflowError, "out of range for bigint"),
    (SMALLINT, 32768, OverflowError, "out of range for smallint"),
    (TINYINT, -129, OverflowError, "out of range for tinyint"),
    (VARINT, 1.5, TypeError, "varint needs an int"),
    (VARINT, "1", TypeError, "varint needs an int"),
    (DOUBLE, "1.5", TypeError, "double needs a float, not str"),
    (DOUBLE, [], TypeError, "double needs a float"),
    (FLOAT, 1e39, OverflowError, "out of range for float"),
    (FLOAT, 10**400, OverflowError, "too large"),
    (BOOLEAN, "yes", TypeError, "boolean needs a bool, not str"),
    (BOOLEAN, [], TypeError, "boolean needs a bool"),
    (TEXT, b"abc", TypeError, "text needs a str, not bytes"),
    (TEXT, 5, TypeError, "text needs a str"),
    (TEXT, "ok \ud800", UnicodeEncodeError, "position 3: text cannot hold a lone surrogate"),
    (ASCII, "abcä", UnicodeEncodeError, r"position 3: ascii cannot hold characters beyond U\+007F"),
    (ASCII, "ä", ValueError, r"ascii cannot hold characters beyond U\+007F"),
    (BLOB, "abc", TypeError, "blob needs bytes or another buffer, not str"),
    (BLOB, 5, TypeError, "blob needs bytes"),
    (BLOB, np.int32(5), TypeError, "blob needs bytes or another buffer, not int32"),
    (BLOB, np.float64(5), TypeError, "blob needs bytes or another buffer, not float64"),
    (BLOB, np.arange(6)[::2], ValueError, "contiguous"),
    (TIMESTAMP, "2024-01-01", TypeError, "timestamp needs a datetime"),
    (TIMESTAMP, 2**63, OverflowError, "out of range for timestamp"),
    (TIMESTAMP, math.nan, ValueError, "NaN"),
    (TIMESTAMP, math.inf, OverflowError, "infinity"),
    (DATE, "yesterday", ValueError, "yesterday"),
    (DATE, 2**32, OverflowError, "out of range for date"),
    (DATE, -1, OverflowError, "out of range for date"),
    (DATE, 1.5, TypeError, "date needs a date"),
    (DATE, Date(2**31), OverflowError, "out of range for date"),
    (TIME, 86400000000000, OverflowError, "out of range for time"),
    (TIME, -1, OverflowError, "out of range for time"),
    (TIME, "25:00:00", ValueError, "25:00:00"),
    (TIME, 1.5, TypeError, "time needs a time"),
    (DURATION, 5, TypeError, "duration needs a cassandra.util.Duration"),
    (DURATION, Duration(2**31, 0, 0), ValueError, "out of range"),
    (DURATION, Duration(1, -1, 0), ValueError, "must have the same sign"),
    (DECIMAL, "abc", TypeError, "invalid decimal number"),
    (DECIMAL, Decimal("NaN"), ValueError, "cannot hold NaN"),
    (DECIMAL, math.inf, ValueError, "cannot hold Infinity"),
    (DECIMAL, [1], TypeError, "invalid decimal number"),
    (DECIMAL, {1}, TypeError, "decimal needs a decimal.Decimal"),
    (BLOB, 5, TypeError, "blob needs bytes or another buffer, not int"),
    (DECIMAL, Decimal("1E+2147483649"), OverflowError, "a scale of 32 bits"),
    (INET, "300.1.1.1", ValueError, "not an IP address"),
    (INET, "1:2", ValueError, "not an IP address"),
    (INET, "127.0.0.1\0x", ValueError, "not an IP address"),
    (INET, "", ValueError, "not an IP address"),
    (INET, 5, ValueError, "inet needs a str or an ipaddress"),
    (INET, "10.0.0.1 hello", ValueError, "'10.0.0.1 hello' is not an IP address"),
    (INET, "12345", ValueError, "'12345' is not an IP address"),
    (INET, "127.1", ValueError, "'127.1' is not an IP address"),
    (INET, "192.168.001.010", ValueError, "'192.168.001.010' is not an IP address"),
    (INET, "0x7f.0.0.1", ValueError, "'0x7f.0.0.1' is not an IP address"),
    (UUID, "123e4567-e89b-12d3-a456-426614174000", TypeError, "uuid needs a uuid.UUID, not str"),
    (UUID, b"\x01" * 16, TypeError, "uuid needs a uuid.UUID"),
    (TIMEUUID, 5, TypeError, "timeuuid needs a uuid.UUID"),
    (list_codec(INT), "12", TypeError, "list<int> needs a collection, not str"),
    (list_codec(INT), 5, TypeError, "list<int> needs a collection, not int"),
    (list_codec(INT), ["a"], TypeError, "int needs an int, not str"),
    (list_codec(INT), [UNSET], ValueError, "stands for a whole value"),
    (set_codec(TEXT), "ab", TypeError, "set<text> needs a collection"),
    (map_codec(TEXT, INT), [("a", 1)], TypeError, "map<text, int> needs a mapping, not list"),
    (map_codec(TEXT, INT), {1: 1}, TypeError, "text needs a str, not int"),
    (tuple_codec((INT, INT)), (1, 2, 3), ValueError, "has 2 fields, the value has 3"),
    (tuple_codec((INT, INT)), 5, TypeError, "needs a tuple, not int"),
    (tuple_codec((INT, INT)), "12", TypeError, "needs a tuple, not str"),
    (tuple_codec((INT,)), (1, 2), ValueError, "has 1 fields, the value has 2"),
    (PLACE, {"streat": "a"}, ValueError, "user type place has no field 'streat'"),
    (PLACE, 5, TypeError, "place needs a tuple, a mapping, or an object"),
    (PLACE, "Main", TypeError, "place needs a tuple"),
    (
        vector_codec(INT, 2),
        [1],
        ValueError,
        "Expected sequence of size 2 for vector of type int and dimension 2, observed sequence of length 1",
    ),
    (vector_codec(INT, 2), [1, None], TypeError, "elements of a vector cannot be null"),
    (vector_codec(INT, 2), "12", TypeError, "needs a sequence"),
    (vector_codec(INT, 2), 5, TypeError, "needs a sequence"),
    (vector_codec(FLOAT, 1), np.array([1e39]), OverflowError, "out of range"),
    (vector_codec(INT, 1), np.array([2**31]), OverflowError, "out of range"),
    (vector_codec(INT, 1), np.array([1.5]), TypeError, "int needs an int"),
    (vector_codec(INT, 2), np.array([1, 2, 3]), ValueError, "observed sequence of length 3"),
]


@pytest.mark.parametrize(("codec", "value", "error", "message"), REFUSED, ids=spelled)
def test_refused(codec: Codec, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        codec.encode(value)


def test_an_integer_too_long_to_print_is_refused_in_words() -> None:
    with pytest.raises(OverflowError, match="an int that large is out of range for int"):
        INT.encode(10**5000)


def test_nat_like_datetime_subclasses_are_refused() -> None:
    class NaT(datetime.datetime):
        """Like that of pandas: a datetime to isinstance() that is not even equal to itself."""

        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            return False

        def __ne__(self, other: object) -> bool:
            return True

        def __str__(self) -> str:
            return "NaT"

    class Stamp(datetime.datetime):
        pass

    for codec in (TIMESTAMP, DATE):
        with pytest.raises(ValueError, match="NaT"):
            codec.encode(NaT(2024, 1, 1))
    assert TIMESTAMP.decode(TIMESTAMP.encode(Stamp(2024, 1, 1))) == datetime.datetime(2024, 1, 1)


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", ">f4", ">f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", ">i4", "f2", "u8"]
)
@pytest.mark.parametrize("element", [FLOAT, DOUBLE], ids=lambda c: c.name)
def test_vectors_of_floats_from_arrays(element: Codec, dtype: str) -> None:
    array_ = np.arange(8).astype(dtype)
    for values in (array_, array_[::2], array_[::-1]):
        codec = vector_codec(element, len(values))
        assert codec.encode(values) == codec.encode([float(v) for v in values])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i8"])
@pytest.mark.parametrize("element", [INT, BIGINT, SMALLINT, VARINT], ids=lambda c: c.name)
def test_vectors_of_integers_from_arrays(element: Codec, dtype: str) -> None:
    values = np.array([1, 100, 127], dtype)
    codec = vector_codec(element, 3)
    assert codec.encode(values) == codec.encode([1, 100, 127])


def test_vectors_from_array_array_and_memoryview() -> None:
    codec = vector_codec(FLOAT, 3)
    data = codec.encode([1.0, 2.0, 3.0])
    assert codec.encode(array.array("f", [1, 2, 3])) == data
    assert codec.encode(array.array("d", [1, 2, 3])) == data
    assert codec.encode(memoryview(array.array("i", [1, 2, 3]))) == data
    with pytest.raises(TypeError):
        codec.encode(np.ones((3, 3)))


def test_an_iterable_that_fails_shows_its_own_error() -> None:
    def broken() -> Any:
        yield 1
        raise RuntimeError("cable cut")

    with pytest.raises(RuntimeError, match="cable cut"):
        list_codec(INT).encode(broken())


def test_a_list_that_changes_while_it_is_encoded() -> None:
    values: list[Any] = []

    class Shrinking:
        def __index__(self) -> int:
            values.clear()
            return 1

    values.extend([Shrinking(), 2, 3])
    assert list_codec(INT).decode(list_codec(INT).encode(values)) == [1]
    values.extend([Shrinking(), 2, 3])
    assert vector_codec(INT, 3).decode(vector_codec(INT, 3).encode(values)) == [1, 2, 3]
    values.extend([Shrinking(), 2, 3])
    assert tuple_codec((INT, INT, INT)).decode(tuple_codec((INT, INT, INT)).encode(values)) == (1, 2, 3)
    values.extend([Shrinking(), 2, 3])
    plan = BindPlan([("ks", "t", name, INT) for name in "abc"])
    assert len(plan.bind(values, 4).values) == 3
