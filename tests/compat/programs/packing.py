"""``cassandra.marshal``, corners of ``cassandra.encoder`` and of ``cassandra.util``, and the statements that are made
of them."""

# mypy: ignore-errors
# ruff: noqa
import datetime
import decimal
import ipaddress
import itertools
import math
import struct
import uuid
import warnings
from collections import OrderedDict, namedtuple
from enum import Enum, IntEnum

from cases import case, each, show

warnings.simplefilter("ignore")

from cassandra import encoder, marshal, query, util
from cassandra.encoder import Encoder, ValueSequence
from cassandra.query import BatchStatement, SimpleStatement, bind_params
from cassandra.util import (
    Date,
    Duration,
    LineString,
    OrderedMap,
    OrderedMapSerializedKey,
    Point,
    Polygon,
    SortedSet,
    Time,
)

# ---- numbers as bytes

for bits, signed in itertools.product((8, 16, 32, 64), (True, False)):
    name = f"{'int' if signed else 'uint'}{bits}"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for value in (low, high, 0, 1, low - 1, high + 1, True, 1.5, "1", None):
        if hasattr(marshal, f"{name}_pack"):
            show(f"{name} {value!r}", getattr(marshal, f"{name}_pack"), value, caught=struct.error)
    for data in (
        b"",
        b"\0" * (bits // 8),
        b"\xff" * (bits // 8),
        b"\x80" + b"\0" * (bits // 8 - 1),
        b"\0" * (bits // 8 + 1),
    ):
        if hasattr(marshal, f"{name}_unpack"):
            show(f"{name} of {data!r}", getattr(marshal, f"{name}_unpack"), data, caught=struct.error)
show("uint32_le", lambda: [marshal.uint32_le_pack(258), marshal.uint32_le_unpack(b"\x02\x01\0\0")])
for name in ("float", "double"):
    for value in (0.0, -0.0, 1.5, math.inf, -math.inf, 1e38, 1e300, 1, True, "1"):
        show(f"{name} {value!r}", getattr(marshal, f"{name}_pack"), value, caught=(struct.error, OverflowError))
    size = 4 if name == "float" else 8
    for data in (b"\0" * size, b"\x7f\xf0" + b"\0" * (size - 2), b"\x80" + b"\0" * (size - 1), b""):
        show(f"{name} of {data!r}", getattr(marshal, f"{name}_unpack"), data, caught=struct.error)
NUMBERS = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    255,
    256,
    32767,
    32768,
    -32768,
    -32769,
    1 << 63,
    -(1 << 63),
    1 << 64,
    -(1 << 200),
    (1 << 200) - 1,
]
each("varint", marshal.varint_pack, NUMBERS)
each("varint there and back", lambda value: marshal.varint_unpack(marshal.varint_pack(value)) == value, NUMBERS)
each("varint of", marshal.varint_unpack, [b"\0", b"\xff", b"\x7f", b"\x80", b"\0\0\x01", b"\xff\xff", b"\0\x80"])
each("zigzag", marshal.encode_zig_zag, [0, -1, 1, 2147483647, -2147483648, (1 << 62), -(1 << 63)])
each("zagzig", marshal.decode_zig_zag, [0, 1, 2, 3, 4294967294, (1 << 64) - 1])
each("bits of", marshal.bit_length, [0, 1, 2, 255, 256, 1 << 63])
SOME = [
    (0,),
    (1, -1),
    (127, 128, -128),
    (1 << 31, -(1 << 31)),
    ((1 << 63) - 1, -(1 << 63)),
    (0, 0, 0),
    (1 << 14, 1 << 21, 1 << 28, 1 << 35),
]
each("vints", marshal.vints_pack, SOME)
each("vints there and back", lambda values: marshal.vints_unpack(marshal.vints_pack(values)), SOME)
each(
    "unsigned vint",
    marshal.uvint_pack,
    [0, 1, 127, 128, 16383, 16384, (1 << 21), (1 << 28), (1 << 56), (1 << 63), (1 << 64) - 1],
)
each("unsigned vint of", marshal.uvint_unpack, [b"\0", b"\x7f", b"\x80\x80", b"\xc0\x40\0", b"\x80\x80rest"])
show("header of version 3", lambda: [marshal.v3_header_pack(4, 0, 5, 7), marshal.v3_header_unpack(b"\x04\0\0\x05\x07")])

# ---- literals

E = Encoder()


class Level(IntEnum):
    LOW = 1


class Odd:
    def __str__(self):
        return "odd"


UUID = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")
UTC = datetime.timezone.utc
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1 << 100,
    1.5,
    -0.0,
    1e100,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    "it's",
    "''",
    "ä\n\0",
    b"",
    b"\0\xff",
    bytearray(b"ab"),
    memoryview(b"ab"),
    UUID,
    datetime.date(2024, 2, 29),
    datetime.time(1, 2, 3, 4),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 456789),
    datetime.datetime(2024, 2, 29, 1, 2, 3, 456789, UTC),
    datetime.datetime(1960, 1, 1),
    Date(5),
    Time(5),
    Date("2024-02-29"),
    Time("01:02:03.000000004"),
    Duration(1, 2, 3),
    Duration(-1, 0, -3),
    ipaddress.ip_address("127.0.0.1"),
    ipaddress.ip_address("::1"),
    [],
    [1, "a", None],
    (),
    (1,),
    (1, "a"),
    {},
    {"a": 1, "b": [2]},
    {1: {2: 3}},
    set(),
    {1},
    frozenset({"a"}),
    [[1], [2]],
    OrderedDict([("b", 1), ("a", 2)]),
    OrderedMap([({"a": 1}, 2)]),
    SortedSet([3, 1]),
    util.sortedset([2, 1]),
    Level.LOW,
    (x for x in (1, 2)),
    Point(1, 2),
    LineString([(1, 2), (3, 4)]),
    Polygon([(0, 0), (1, 0), (1, 1)]),
    {"k": None},
    [True],
    [b"\1"],
    [datetime.date(2024, 1, 1)],
    {UUID: 1.5},
    [float("nan")],
    ValueSequence([1, "a"]),
    ValueSequence([]),
    ValueSequence((None,)),
    (None, None),
    {"it's": "it's"},
    [""],
    ("",),
    [set(), {1}],
]
for value in VALUES:
    show(f"literal {type(value).__name__} {value!r}", E.cql_encode_all_types, value)
    show(f"parameter {type(value).__name__} {value!r}", bind_params, "%s", (value,), E)
for name in "all_types float none object".split():
    show(f"{name} of a number", getattr(E, f"cql_encode_{name}"), 5, caught=Exception)
show("literal as text", E.cql_encode_all_types, "x", True)
show("literal of a dict as text", E.cql_encode_all_types, {"a": [1]}, True)


@case("an encoder with a class of its own")
def _():
    own = Encoder()
    own.mapping[Odd] = lambda value: "'mine'"
    return (
        own.cql_encode_all_types(Odd()),
        own.cql_encode_all_types([Odd()]),
        own.cql_encode_all_types({Odd(): Odd()}),
        bind_params("%s", (Odd(),), own),
    )


@case("an encoder that overrides")
def _():
    class Own(Encoder):
        def cql_encode_str(self, value):
            return "<" + value + ">"

    return Own().cql_encode_all_types("x"), Own().cql_encode_all_types(["x"])


@case("an encoder of mappings that are other")
def _():
    own = Encoder()
    own.mapping[dict] = own.cql_encode_map_collection
    own.mapping[tuple] = own.cql_encode_tuple
    return own.cql_encode_all_types({"a": (1, 2)})


for text, parameters in (
    ("a = %s", (1,)),
    ("a = %s AND b = %s", [1, "x"]),
    ("a = %(a)s AND b = %(b)s AND c = %(a)s", {"a": 1, "b": "x"}),
    ("a = %%", ()),
    ("a = '%%' AND b = %s", (1,)),
    ("a = %s", (1, 2)),
    ("a = %s AND b = %s", (1,)),
    ("%(a)s", {"b": 1}),
    ("a", {}),
    ("%s", {"a": 1}),
    ("%(a)s", (1,)),
    ("IN %s", (ValueSequence([1, 2]),)),
    ("%s", ([1, 2],)),
    ("%s", ((1, 2),)),
    ("%d", (1,)),
):
    show(f"{text!r} with {parameters!r}", bind_params, text, parameters, E)

# ---- util

for name in ("unix_time_from_uuid1", "datetime_from_uuid1"):
    show(name, getattr(util, name), uuid.UUID("13814000-1dd2-11b2-8080-808080808080"))
show("random nodes", lambda: util.uuid_from_time(5).version)
for when in (0, 1, 1.5, -1, datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=UTC), 1e10):
    show(f"uuid_from_time {when}", util.uuid_from_time, when, 1, 2)
    show(f"min_uuid_from_time {when}", util.min_uuid_from_time, when)
    show(f"max_uuid_from_time {when}", util.max_uuid_from_time, when)
each(
    "ms_timestamp_from_datetime",
    util.ms_timestamp_from_datetime,
    [datetime.datetime(1970, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999000)],
)
each("datetime_from_timestamp", util.datetime_from_timestamp, [0, 1.5, -1, 1e10, -1e10])
each("datetime_from_ms_timestamp", util.datetime_from_ms_timestamp, [0, 1, -1, 1500, 10**12])
each("utc_datetime_from_ms_timestamp", util.utc_datetime_from_ms_timestamp, [0, 1, -1, 1500])
show("clock_seq", util.uuid_from_time, 0, 1, 0x4000, caught=ValueError)
show("list_contents_to_tuple", util.list_contents_to_tuple, [[1], [2, 3], "x"])
for version in ("4.0.0", "3.11.4", "4.0-beta1", "2.1.17-SNAPSHOT", "5", "4.0.0.1", "1.2.3-rc1-x", "", "x"):
    show(
        f"Version {version!r}",
        lambda: (lambda v: (v.major, v.minor, v.patch, v.build, v.prerelease, repr(v), str(v)))(util.Version(version)),
    )
show(
    "versions",
    lambda: [str(v) for v in sorted(map(util.Version, ["4.0.0", "3.11.4", "4.0-beta1", "4.0-rc1", "4.0.1"]))],
)
each(
    "timeout",
    lambda timeout: util.maybe_add_timeout_to_query("SELECT 1", timeout),
    [None, datetime.timedelta(seconds=1), datetime.timedelta(milliseconds=5), datetime.timedelta(0)],
)
