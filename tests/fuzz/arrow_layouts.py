"""Random CQL types, values of them, and the same values as Arrow arrays of every layout and as texts.

Values are what a prepared statement binds. Neither arrays nor texts are made by code of the driver.
"""

from __future__ import annotations

import datetime
import ipaddress
import itertools
import json
import math
import struct
import uuid
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from cassandra.util import Date, Duration, OrderedMap, Time

INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
SCALARS = [
    *INTEGERS,
    *("varint", "decimal", "float", "double", "boolean", "text", "ascii", "blob", "uuid", "timeuuid", "inet"),
    *("timestamp", "date", "time", "duration"),
]
KEYS = ["int", "bigint", "text", "blob", "uuid", "timestamp", "date", "inet", "varint", "boolean"]
LETTERS = ["a", "b", "é", "😀", "'", '"', ",", "\n", "\r\n", " ", "\\", "|", "{", "]", ":", "NULL", "N", "0"]
USER_TYPES = {"place": (("street", "text"), ("zip", "int"), ("since", "date")), "pair": (("x", "float"), ("y", "blob"))}
EPOCH = datetime.datetime(1970, 1, 1)
SCALE = 3  # of all decimals: those of Arrow have one per column


class Kind:
    """A CQL type."""

    def __init__(self, name: str, parts: Sequence[Kind] = (), size: int = 0, fields: Sequence[str] = ()) -> None:
        self.name = name
        self.parts = tuple(parts)
        self.size = size
        self.fields = tuple(fields)

    def cql(self, is_frozen: bool = False) -> str:
        if not self.parts:
            return self.name
        if self.name == "vector":
            return f"vector<{self.parts[0].cql(True)}, {self.size}>"
        inner = self.name if self.fields else f"{self.name}<{', '.join(part.cql(True) for part in self.parts)}>"
        return f"frozen<{inner}>" if is_frozen and self.name != "tuple" else inner


def random_kind(random: Random, depth: int = 2) -> Kind:
    if not depth or random.random() < 0.5:
        return Kind(random.choice(SCALARS))
    name = random.choice(["list", "set", "map", "tuple", "vector", "udt"])
    if name == "udt":
        found = random.choice(list(USER_TYPES))
        fields = USER_TYPES[found]
        return Kind(found, [Kind(kind) for _, kind in fields], fields=[field for field, _ in fields])
    if name == "set":
        return Kind(name, [Kind(random.choice(KEYS))])
    if name == "map":
        return Kind(name, [Kind(random.choice(KEYS)), random_kind(random, depth - 1)])
    if name == "vector":
        return Kind(name, [Kind(random.choice(["float", "int", "text", "double"]))], size=random.randrange(1, 4))
    count = random.randrange(1, 4) if name == "tuple" else 1
    return Kind(name, [random_kind(random, depth - 1) for _ in range(count)])


# -- values


def random_value(random: Random, kind: Kind) -> Any:
    """Not None."""
    name = kind.name
    if kind.fields or name == "tuple":
        return tuple(None if random.random() < 0.2 else random_value(random, part) for part in kind.parts)
    if name == "vector":
        return [random_value(random, kind.parts[0]) for _ in range(kind.size)]
    if name == "list":
        return [random_value(random, kind.parts[0]) for _ in range(random.randrange(4))]
    if name in ("set", "map"):
        keys = {repr(key): key for key in (random_value(random, kind.parts[0]) for _ in range(random.randrange(4)))}
        if name == "set":
            return list(keys.values())
        return OrderedMap([(key, random_value(random, kind.parts[1])) for key in keys.values()])
    return random_scalar(random, name)


def random_scalar(random: Random, name: str) -> Any:
    if name in INTEGERS:
        bits = INTEGERS[name] - 1
        edges = [0, 1, -1, (1 << bits) - 1, -(1 << bits)]
        return random.choice([*edges, random.randrange(-(1 << bits), 1 << bits), random.randrange(-100, 100)])
    if name == "varint":
        return random.randrange(-(1 << random.choice([3, 63, 100])), 1 << random.choice([3, 62, 100]))
    if name == "decimal":
        return Decimal(random.randrange(-(10 ** random.choice([2, 8, 25])), 10**9)).scaleb(-SCALE)
    if name == "float":
        found: float = struct.unpack(
            ">f", struct.pack(">f", random.choice([0.1, -0.0, 1e38, 1e-40, random.gauss(0, 1)]))
        )[0]
        return random.choice([found, math.inf, -math.inf, math.nan, 0.0])
    if name == "double":
        return random.choice([0.1, -0.0, 1e300, 5e-324, random.gauss(0, 1e6), math.inf, math.nan])
    if name == "boolean":
        return random.random() < 0.5
    if name == "text":
        return "".join(random.choices(LETTERS, k=random.choice([0, 1, 2, 5, 30])))
    if name == "ascii":
        return "".join(random.choices([letter for letter in LETTERS if letter.isascii()], k=random.randrange(20)))
    if name == "blob":
        return random.randbytes(random.choice([0, 1, 16, 40]))
    if name == "uuid":
        return uuid.UUID(int=random.getrandbits(128))
    if name == "timeuuid":
        return uuid.UUID(int=random.getrandbits(128), version=1)
    if name == "inet":
        size = random.choice([4, 16])
        return str(ipaddress.ip_address(b"\x20" + random.randbytes(size - 1)))
    if name == "timestamp":
        exact = random.choice([1, 1000, 86_400_000])
        return random.randrange(-(10**12), 4 * 10**12) // exact * exact
    if name == "date":
        return Date(random.randrange(-50_000, 50_000))
    if name == "time":
        exact = random.choice([1, 10**3, 10**6, 10**9])
        return Time(random.randrange(86400 * 10**9) // exact * exact)
    sign = random.choice([1, -1])
    return Duration(sign * random.randrange(40), sign * random.randrange(40), sign * random.randrange(10**15))


def bound(kind: Kind, value: Any) -> Any:
    """*value* as a prepared statement takes it."""
    return None if value is None else value


# -- arrays


def array_of(random: Random, kind: Kind, values: Sequence[Any]) -> pa.Array:
    """*values*, None for null, in some layout."""
    if all(value is None for value in values) and random.random() < 0.3:
        return pa.nulls(len(values))
    if kind.fields or kind.name == "tuple":
        found = _struct(random, kind, values)
    elif kind.name in ("list", "set", "vector"):
        found = _list(random, kind, values)
    elif kind.name == "map":
        found = _map(random, kind, values)
    else:
        found = _scalars(random, kind.name, values)
    return _varied(random, found, is_scalar=not kind.parts)


def _varied(random: Random, array: pa.Array, is_scalar: bool) -> pa.Array:
    """The same values behind an offset, in a dictionary, or as runs."""
    way = random.random()
    if way < 0.2 and len(array) and not pa.types.is_run_end_encoded(array.type):
        head = array.slice(0, random.randrange(1, len(array) + 1))
        return pa.concat_arrays([head, array]).slice(len(head)) if not _has_views(array.type) else array
    if not is_scalar or isinstance(array.type, pa.BaseExtensionType):
        return array
    try:
        if way < 0.35:
            return array.dictionary_encode()
        if way < 0.5:
            return pa.compute.run_end_encode(array)
    except pa.ArrowNotImplementedError:
        pass
    return array


def _has_views(type_: pa.DataType) -> bool:
    """What PyArrow does not concatenate."""
    types = pa.types
    if types.is_list_view(type_) or types.is_large_list_view(type_) or types.is_run_end_encoded(type_):
        return True
    return any(_has_views(type_.field(i).type) for i in range(type_.num_fields))


def _scalars(random: Random, name: str, values: Sequence[Any]) -> pa.Array:
    present = [value for value in values if value is not None]
    ways = _ways(name, present)
    type_, convert = random.choice(ways)
    stored = [None if value is None else convert(value) for value in values]
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, pa.array(stored, type_.storage_type))
    return pa.array(stored, type_)


def _ways(name: str, present: list[Any]) -> list[tuple[pa.DataType, Any]]:
    """Arrow types that hold these values, and how a value is given to them."""
    text = [pa.string(), pa.large_string(), pa.string_view()]
    binary = [pa.binary(), pa.large_binary(), pa.binary_view()]
    if name in INTEGERS or name == "varint":
        low, high = min(present, default=0), max(present, default=0)
        ways: list[tuple[pa.DataType, Any]] = []
        for bits in (8, 16, 32, 64):
            if -(1 << (bits - 1)) <= low and high < 1 << (bits - 1):
                ways.append((getattr(pa, f"int{bits}")(), int))
            if low >= 0 and high < 1 << bits:
                ways.append((getattr(pa, f"uint{bits}")(), int))
        for type_ in (pa.decimal32(9), pa.decimal64(18), pa.decimal128(38), pa.decimal256(60)):
            if max(abs(low), abs(high)) < 10**type_.precision:
                ways.append((type_, Decimal))
        return ways + ([(type_, str) for type_ in text] if name == "varint" else [])
    if name == "decimal":
        most = max((abs(int(value.scaleb(SCALE))) for value in present), default=0)
        types = (pa.decimal32(9, SCALE), pa.decimal64(18, SCALE), pa.decimal128(38, SCALE), pa.decimal256(70, SCALE))
        fitting = [(type_, lambda value: value) for type_ in types if most < 10**type_.precision]
        return [*fitting, *((type_, str) for type_ in text)]
    if name == "float":
        return [(pa.float32(), float), (pa.float64(), float)]
    if name == "double":
        return [(pa.float64(), float)]
    if name == "boolean":
        return [(pa.bool_(), bool), (pa.bool8(), int)]
    if name in ("text", "ascii"):
        return [(type_, str) for type_ in text]
    if name == "blob":
        sizes = {len(value) for value in present}
        fixed = [pa.binary(sizes.pop())] if len(sizes) == 1 else []
        return [(type_, bytes) for type_ in [*binary, *fixed] if type_ != pa.binary(0) or not present]
    if name in ("uuid", "timeuuid"):
        packed = [*binary, pa.binary(16), pa.uuid()]
        return [(type_, str) for type_ in text] + [(type_, lambda value: value.bytes) for type_ in packed]
    if name == "inet":
        return [(type_, str) for type_ in text] + [
            (t, lambda value: ipaddress.ip_address(value).packed) for t in binary
        ]
    return _times(name, present)


def _times(name: str, present: list[Any]) -> list[tuple[pa.DataType, Any]]:
    ways: list[tuple[pa.DataType, Any]] = []
    if name == "timestamp":
        for zone in (None, "UTC", "Europe/Berlin"):
            ways += [(pa.timestamp("ms", zone), int), (pa.timestamp("us", zone), lambda value: value * 1000)]
            ways.append((pa.timestamp("ns", zone), lambda value: value * 10**6))
            if not any(value % 1000 for value in present):
                ways.append((pa.timestamp("s", zone), lambda value: value // 1000))
        if not any(value % 86_400_000 for value in present):
            ways += [(pa.date32(), lambda value: value // 86_400_000), (pa.date64(), int)]
    elif name == "date":
        ways = [(pa.date32(), lambda value: value.days_from_epoch)]
        ways.append((pa.date64(), lambda value: value.days_from_epoch * 86_400_000))
        ways += [
            (pa.timestamp(unit), lambda v, by=by: v.days_from_epoch * 86400 * by)
            for unit, by in (("s", 1), ("us", 10**6))
        ]
    elif name == "time":
        for type_, unit in (
            (pa.time32("s"), 10**9),
            (pa.time32("ms"), 10**6),
            (pa.time64("us"), 1000),
            (pa.time64("ns"), 1),
        ):
            if not any(value.nanosecond_time % unit for value in present):
                ways.append((type_, lambda value, unit=unit: value.nanosecond_time // unit))
    else:
        ways = [(pa.month_day_nano_interval(), lambda value: (value.months, value.days, value.nanoseconds))]
        if not any(value.months or value.days for value in present):
            ways.append((pa.duration("ns"), lambda value: value.nanoseconds))
    return ways


def _mask(values: Sequence[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())


def _struct(random: Random, kind: Kind, values: Sequence[Any]) -> pa.Array:
    columns = []
    for i, part in enumerate(kind.parts):
        columns.append(array_of(random, part, [None if value is None else value[i] for value in values]))
    names = list(kind.fields) or [f"any {i}" for i in range(len(columns))]
    order = list(range(len(columns)))
    if kind.fields:
        random.shuffle(order)
        gone = [i for i in order if columns[i].null_count == len(values) and random.random() < 0.3]
        order = [i for i in order if i not in gone] or order
    return pa.StructArray.from_arrays([columns[i] for i in order], [names[i] for i in order], mask=_mask(values))


def _flat(values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    items: list[Any] = []
    offsets = [0]
    for value in values:
        items += value or ()
        offsets.append(len(items))
    return items, offsets


def _list(random: Random, kind: Kind, values: Sequence[Any]) -> pa.Array:
    items, offsets = _flat(values)
    sizes = {len(value) for value in values if value is not None}
    child = array_of(random, kind.parts[0], items)
    if len(sizes) == 1 and not any(value is None for value in values) and sizes != {0} and random.random() < 0.5:
        return pa.FixedSizeListArray.from_arrays(child, sizes.pop())
    return _lists(random, child, offsets, values)


def _lists(random: Random, child: pa.Array, offsets: list[int], values: Sequence[Any]) -> pa.Array:
    way = random.choice(["list", "large", "view", "large view"])
    of = pa.int64() if way.startswith("large") else pa.int32()
    if way.endswith("view"):
        make = pa.LargeListViewArray if way.startswith("large") else pa.ListViewArray
        sizes = [end - begin for begin, end in itertools.pairwise(offsets)]
        return make.from_arrays(pa.array(offsets[:-1], of), pa.array(sizes, of), child, mask=_mask(values))
    make = pa.LargeListArray if way == "large" else pa.ListArray
    return make.from_arrays(pa.array(offsets, of), child, mask=_mask(values))


def _map(random: Random, kind: Kind, values: Sequence[Any]) -> pa.Array:
    items, offsets = _flat([None if value is None else list(value.items()) for value in values])
    keys = array_of(random, kind.parts[0], [key for key, _ in items])
    found = array_of(random, kind.parts[1], [value for _, value in items])
    if random.random() < 0.5 or keys.type == pa.null():
        pairs = pa.StructArray.from_arrays([keys, found], ["key", "value"])
        return _lists(random, pairs, offsets, values)
    shown = [None if value is None else offset for value, offset in zip(values, offsets, strict=False)]
    return pa.MapArray.from_arrays(pa.array([*shown, offsets[-1]], pa.int32()), keys, found)


# -- texts


def text_of(random: Random, kind: Kind, value: Any, is_inside: bool = False) -> str:
    """As CQL spells it, or COPY."""
    name = kind.name
    if value is None:
        return random.choice(["null", ""])
    if kind.fields:
        shown = [f"{f}: {text_of(random, p, v, True)}" for f, p, v in zip(kind.fields, kind.parts, value, strict=True)]
        random.shuffle(shown)
        return "{" + ", ".join(shown) + "}"
    if name == "tuple":
        return "(" + ", ".join(text_of(random, part, v, True) for part, v in zip(kind.parts, value, strict=True)) + ")"
    if name == "map":
        key, item = kind.parts
        return (
            "{"
            + ", ".join(f"{text_of(random, key, k, True)}: {text_of(random, item, v, True)}" for k, v in value.items())
            + "}"
        )
    if kind.parts:
        begin, end = "{}" if name == "set" else "[]"
        return begin + ",".join(text_of(random, kind.parts[0], item, True) for item in value) + end
    found = _scalar_text(random, name, value)
    if is_inside and name not in (
        *INTEGERS,
        "varint",
        "decimal",
        "float",
        "double",
        "boolean",
        "blob",
        "uuid",
        "timeuuid",
    ):
        return "'" + found.replace("'", "''") + "'"
    return found


def json_of(random: Random, kind: Kind, value: Any) -> str:
    """As INSERT JSON accepts it."""
    name = kind.name
    if value is None:
        return "null"
    if kind.fields:
        shown = [
            f"{json.dumps(f)}: {json_of(random, p, v)}" for f, p, v in zip(kind.fields, kind.parts, value, strict=True)
        ]
        random.shuffle(shown)
        return "{" + ", ".join(shown) + "}"
    if name == "tuple":
        return "[" + ", ".join(json_of(random, part, v) for part, v in zip(kind.parts, value, strict=True)) + "]"
    if name == "map":
        key, item = kind.parts
        return (
            "{" + ",".join(f"{_json_key(random, key, k)}: {json_of(random, item, v)}" for k, v in value.items()) + "}"
        )
    if kind.parts:
        return "[" + ",".join(json_of(random, kind.parts[0], item) for item in value) + "]"
    found = value if name in ("text", "ascii", "varchar") else _scalar_text(random, name, value)
    if name == "boolean":
        found = found.lower()
    is_number = name in (*INTEGERS, "varint", "decimal", "float", "double") and found.lower().lstrip("-") not in (
        *("inf", "nan", "infinity"),
    )
    if (is_number or name == "boolean") and random.random() < 0.7:
        return found
    return json.dumps(found, ensure_ascii=random.random() < 0.5)


def _json_key(random: Random, kind: Kind, value: Any) -> str:
    found = json_of(random, kind, value)
    return found if found.startswith('"') else json.dumps(found)


def _scalar_text(random: Random, name: str, value: Any) -> str:
    """Of a value that is not nested."""
    if name in ("float", "double"):
        return "NaN" if math.isnan(value) else repr(value).replace("inf", random.choice(["inf", "Infinity"]))
    if name == "boolean":
        return random.choice([str(value), str(value).lower()])
    if name == "blob":
        return f"0x{value.hex()}"
    if name == "timestamp":
        if random.random() < 0.3:
            return str(value)
        moment = EPOCH + datetime.timedelta(milliseconds=value)
        zone = random.choice(["Z", "+0000", "+00:00", ""])
        return f"{moment.isoformat(random.choice(' T'), 'milliseconds')}{zone}"
    if name == "date":
        return str(value.date())
    if name == "duration":
        sign = "-" if min(value.months, value.days, value.nanoseconds) < 0 else ""
        return f"{sign}{abs(value.months)}mo{abs(value.days)}d{abs(value.nanoseconds)}ns"
    return str(value)
