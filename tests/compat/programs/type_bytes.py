"""Values to bytes and back by the classes of cassandra.cqltypes."""

# mypy: ignore-errors
import datetime as dt
from collections import OrderedDict, namedtuple
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

from cases import show

from cassandra import cqltypes as t
from cassandra.util import (
    Date,
    Duration,
    LineString,
    OrderedMap,
    Point,
    Polygon,
    Time,
    sortedset,
)


class MyInt(int):
    pass


class ByteInt(int):
    def __bytes__(self):
        return b"own"


class Text(str):
    pass


class Indexed:
    def __index__(self):
        return 7


class Floating:
    def __float__(self):
        return 1.5


U1 = UUID("3d2a7f10-1dd1-11b2-8080-808080808080")
U4 = UUID("9a2f6a6e-6e0b-4b0e-8d3c-0d6a1f7f2c11")
ZONE = dt.timezone(dt.timedelta(hours=2))
Pair = namedtuple("Pair", "a b")

INTS = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    32767,
    32768,
    2**31 - 1,
    2**31,
    -(2**31),
    2**63 - 1,
    2**63,
    -(2**63),
    2**70,
    True,
    MyInt(5),
    ByteInt(6),
    Indexed(),
    1.0,
    1.5,
    "5",
    b"5",
    None,
    Decimal(3),
    [],
    float("nan"),
]
TEXTS = ["", "a", "ä", "\0", "\ud800", Text("own"), b"bytes", b"\xff", bytearray(b"x"), 5, None, [], object]
BLOBS = [b"", b"a", bytearray(b"x"), memoryview(b"y"), "text", "ä", ByteInt(4), None, [1, 2], (1, 2), [300], object]
FLOATS = [0.0, -0.0, 1.5, 1e300, float("inf"), float("nan"), 3, True, Decimal("1.5"), "1.5", b"1", None, Floating()]
STAMPS = [
    dt.datetime(2024, 2, 29, 12, 30, 1, 999999),
    dt.datetime(2024, 2, 29, 12, tzinfo=ZONE),
    dt.date(2024, 2, 29),
    dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    0,
    1,
    -1,
    1.9,
    -1.9,
    2**63 - 1,
    2**63,
    "2024-02-29",
    "5",
    None,
    Time(5),
    Date(5),
    Decimal(4),
    dt.time(1),
    [],
    float("nan"),
    float("inf"),
]
DATES = [
    dt.date(2024, 2, 29),
    dt.datetime(2024, 2, 29, 23),
    Date(0),
    Date(-5),
    Date("2024-02-29"),
    0,
    5,
    -1,
    2**31,
    2**32 - 1,
    2**32,
    "2024-02-29",
    "2024-2-9",
    "+1492-10-12",
    "-0001-01-01",
    "junk",
    "",
    1.5,
    None,
    [],
    True,
    Date(2**31 - 1),
    Date(-(2**31)),
    Date(2**31),
]
TIMES = [
    dt.time(1, 2, 3, 4),
    Time(0),
    Time("01:02:03.4"),
    0,
    5,
    86399999999999,
    86400000000000,
    "01:02:03",
    "01:02:03.",
    "01:02:03.123456789",
    "1:2:3",
    "24:00:00",
    "01:02",
    "junk",
    "",
    1.5,
    None,
    [],
    True,
    dt.datetime(2024, 1, 1, 5),
]
DECIMALS = [
    Decimal("0"),
    Decimal("1.50"),
    Decimal("-1.5"),
    Decimal("1e10"),
    Decimal("1e-40"),
    Decimal("-0"),
    Decimal("NaN"),
    Decimal("Infinity"),
    1,
    -129,
    1.5,
    0.1,
    "1.5",
    "x",
    (0, (1, 2, 3), -1),
    (1, (4, 5), 2),
    [0, [1], 0],
    (1, 2),
    None,
    [],
    True,
    object,
    b"1",
]
VARINTS = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    255,
    256,
    2**64,
    -(2**64),
    2**200,
    True,
    MyInt(5),
    1.5,
    "5",
    None,
    Decimal(4),
]
UUIDS = [U1, U4, str(U4), U4.bytes, U4.int, None, "x", b"", [], 5]
INETS = [
    "127.0.0.1",
    "::1",
    "fe80::1",
    "x",
    "",
    IPv4Address("1.2.3.4"),
    IPv6Address("::2"),
    b"\x01\x02\x03\x04",
    5,
    None,
    [],
]
DURATIONS = [
    Duration(1, 2, 3),
    Duration(-1, -2, -3),
    Duration(0, 0, 0),
    Duration(2**31 - 1, 0, 2**63 - 1),
    "1d",
    5,
    None,
    dt.timedelta(1),
]
BOOLS = [True, False, 0, 1, "", "x", None, [], [0], 0.0, object]

SCALARS = {
    "AsciiType": TEXTS,
    "UTF8Type": TEXTS,
    "VarcharType": TEXTS,
    "BytesType": BLOBS,
    "Int32Type": INTS,
    "LongType": INTS,
    "ShortType": INTS,
    "ByteType": INTS,
    "CounterColumnType": INTS,
    "IntegerType": VARINTS,
    "FloatType": FLOATS,
    "DoubleType": FLOATS,
    "BooleanType": BOOLS,
    "DecimalType": DECIMALS,
    "DateType": STAMPS,
    "TimestampType": STAMPS,
    "SimpleDateType": DATES,
    "TimeType": TIMES,
    "UUIDType": UUIDS,
    "TimeUUIDType": UUIDS,
    "InetAddressType": INETS,
    "DurationType": DURATIONS,
}
for name, values in SCALARS.items():
    cls = getattr(t, name)
    for value in values:
        shown = value.__name__ if isinstance(value, type) else repr(value)
        show(f"{name} {shown}", lambda: cls.serialize(value, 4).hex(), caught=Exception)

BYTES = [
    b"",
    b"\0",
    b"\1",
    b"\xff",
    b"\x80\0",
    b"\0\0\0\1",
    b"\0\0\0\0\0\0\0\1",
    b"\xff" * 8,
    b"\x80" + bytes(7),
    b"\x7f\xc0\0\0",
    U1.bytes,
    b"\0\0\0\2\1\x23",
    b"\x7f\xff\xff\xff\1",
    b"\x02\x04\x06",
    b"\x80\0\0\0",
    b"\x7f" + b"\xff" * 7,
    bytes(17),
]
for name in SCALARS:
    cls = getattr(t, name)
    for data in BYTES:
        if (
            "Time" in name
            and name != "TimeUUIDType"
            and data[:1] in b"\x7f\x80"
            and len(data) == 8
            or name in ("DateType",)
            and len(data) == 8
            and data[0] in (0x7F, 0x80)
        ):
            continue  # beyond what datetime has
        show(f"{name} of {data.hex()}", lambda: cls.from_binary(data, 4), caught=Exception)
        if data:
            show(f"{name} deserialize {data.hex()}", lambda: cls.deserialize(data, 4), caught=Exception)

INT, TEXT = t.Int32Type, t.UTF8Type
LISTS = t.ListType.apply_parameters([INT])
SETS = t.SetType.apply_parameters([INT])
MAPS = t.MapType.apply_parameters([TEXT, INT])
TUPLES = t.TupleType.apply_parameters([INT, TEXT])
NESTED = t.ListType.apply_parameters([t.FrozenType.apply_parameters([SETS])])
OF_TEXT = t.ListType.apply_parameters([TEXT])
OF_MAPS = t.MapType.apply_parameters([t.FrozenType.apply_parameters([MAPS]), INT])
VECTOR = t.VectorType.apply_parameters([t.FloatType, 3], None)
VECTOR_TEXT = t.VectorType.apply_parameters([TEXT, 2], None)
UDT = t.UserType.make_udt_class("ks", "person", ("name", "age"), (TEXT, INT))


class Person:
    def __init__(self, name, age):
        self.name, self.age = name, age


class NoAge:
    name = "only"


COLLECTIONS = [
    (
        "list",
        LISTS,
        [
            [],
            [1],
            (1, 2),
            {1},
            sortedset([2, 1]),
            "12",
            b"12",
            [None],
            [1, None],
            ["x"],
            {1: 2},
            5,
            None,
            range(3),
            [2**31],
        ],
    ),
    (
        "set",
        SETS,
        [set(), {1}, frozenset([1]), sortedset([2, 1]), [1, 1], (1,), "12", {1: 2}, 5, None, {None}, [2**31]],
    ),
    (
        "map",
        MAPS,
        [
            {},
            {"a": 1},
            OrderedDict(a=1),
            OrderedMap([("a", 1)]),
            [("a", 1)],
            "x",
            5,
            None,
            {"a": None},
            {None: 1},
            {1: 1},
            {"a": "b"},
        ],
    ),
    (
        "tuple",
        TUPLES,
        [
            (1, "a"),
            [1, "a"],
            (1,),
            (),
            (1, "a", 2),
            (None, None),
            (1, None),
            ("a", 1),
            "1a",
            "1",
            5,
            None,
            {1, "a"},
            Pair(1, "b"),
            {1: 2},
        ],
    ),
    ("nested", NESTED, [[[1], {2}], [[]], [1], [None]]),
    ("list of text", OF_TEXT, [["a", ""], "ab", [b"a"], [1], [None]]),
    ("map of maps", OF_MAPS, [OrderedMap([({"a": 1}, 2)]), {}, [({"a": 1}, 2)]]),
    (
        "vector",
        VECTOR,
        [[1.0, 2.0, 3.0], (1, 2, 3), [1.0], [1.0] * 4, [], "abc", 5, None, [1, 2, None], ["a", "b", "c"], {1, 2, 3}],
    ),
    ("vector of text", VECTOR_TEXT, [["a", "bc"], ["a"], ["", "x" * 200], [1, 2], [None, None]]),
    (
        "udt",
        UDT,
        [
            ("n", 5),
            ["n", 5],
            Person("n", 5),
            NoAge(),
            ("n", 5, 6),
            {"x": 1},
            "ab",
            Pair("n", 1),
            Person(5, "n"),
            Person(None, None),
        ],
    ),
]


def named(value):
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text


for name, cls, values in COLLECTIONS:
    for value in values:
        show(f"{name} {named(value)}", lambda: cls.serialize(value, 4).hex(), caught=Exception)
        show(f"{name} {named(value)} to_binary", lambda: cls.to_binary(value, 4).hex(), caught=Exception)

NESTED_BYTES = [
    (
        "list",
        LISTS,
        "00000000 00000001000000040000007b 00000001ffffffff 0000000100000000 00000002000000040000007b 000000 000000010000000300007b",
    ),
    ("set", SETS, "00000000 0000000200000004000000020000000400000001 00000001ffffffff 0000000100000000"),
    (
        "map",
        MAPS,
        "00000000 0000000100000001610000000400000001 000000010000000161ffffffff 00000001ffffffff0000000400000001 000000010000000000000000",
    ),
    (
        "tuple",
        TUPLES,
        "0000000400000001 0000000400000001ffffffff ffffffffffffffff 0000000000000000 00000004000000010000000161ffffffff 00000004000000010000000161",
    ),
    (
        "udt",
        UDT,
        "00000001610000000400000005 0000000161 ffffffffffffffff 0000000161000000040000000500000000 0000000000000000",
    ),
    ("vector", VECTOR, "3f8000004000000040400000 3f800000 3f8000004000000040400000ff"),
    ("vector of text", VECTOR_TEXT, "0161026263 0161 016102626300 0000"),
    ("list of text", OF_TEXT, "000000020000000161ffffffff 0000000100000001ff"),
]
for name, cls, texts in NESTED_BYTES:
    show(f"{name} of nothing", lambda: cls.from_binary(b"", 4))
    show(f"{name} of None", lambda: cls.from_binary(None, 4))
    for text in texts.split():
        show(f"{name} of {text}", lambda: cls.from_binary(bytes.fromhex(text), 4), caught=Exception)

for value in (
    Point(1, 2),
    LineString(((1, 2), (3, 4))),
    Polygon(((0, 0), (1, 1), (1, 0))),
    Polygon(((0, 0), (1, 1), (1, 0)), [((0, 0), (1, 1), (1, 0))]),
    LineString(),
    Polygon(),
    5,
    "POINT (1 2)",
    None,
):
    for name in ("PointType", "LineStringType", "PolygonType"):
        cls = getattr(t, name)
        show(f"{name} {value}", lambda: cls.serialize(value, 4).hex(), caught=Exception)
        show(f"{name} {value} back", lambda: cls.deserialize(cls.serialize(value, 4), 4), caught=Exception)
for text in (
    "0101000000000000000000f03f0000000000000040",
    "00000000013ff00000000000004000000000000000",
    "010200000000000000",
    "010300000000000000",
    "0104",
    "",
    "01",
):
    for name in ("PointType",):
        cls = getattr(t, name)
        show(f"{name} of {text}", lambda: cls.deserialize(bytes.fromhex(text), 4), caught=Exception)
