"""Random values of CQL types, their bytes on the wire, and Arrow arrays that hold them in every layout.

Nothing here comes from the driver: values are encoded by :func:`encode` in plain Python, and arrays are made by
PyArrow. Sets are lists and maps are lists of pairs, in the order in which they are written.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

MS_PER_DAY = 86_400_000
NS_PER_DAY = MS_PER_DAY * 1_000_000
INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
SCALARS = [
    *INTEGERS, "float", "double", "boolean", "text", "ascii", "blob", "uuid", "timeuuid", "inet", "timestamp", "date",
    "time", "duration", "varint", "decimal",
]  # fmt: skip
#: User types that the schema of the test has: names and fields.
UDTS = {
    "priced": [("amount", "decimal"), ("size", "int")],
    "measured": [("at", "timestamp"), ("real", "double"), ("names", "list")],
}


class Kind(NamedTuple):
    """A CQL type: *name* is that of a scalar, "list", "set", "map", "tuple", "vector", or of a user type."""

    name: str
    children: tuple[Kind, ...] = ()
    dimensions: int = 0
    fields: tuple[str, ...] = ()

    def cql(self, frozen: bool = True) -> str:
        inner = ", ".join(child.cql() for child in self.children)
        if self.name == "vector":
            return f"vector<{inner}, {self.dimensions}>"
        if not self.children:
            return self.name
        text = self.name if self.fields else f"{self.name}<{inner}>"
        return f"frozen<{text}>" if frozen else text


TEXTS = Kind("list", (Kind("text"),))
USER_TYPES = [
    Kind("priced", (Kind("decimal"), Kind("int")), fields=("amount", "size")),
    Kind("measured", (Kind("timestamp"), Kind("double"), TEXTS), fields=("at", "real", "names")),
]


def random_kind(random: Random, depth: int, key: bool) -> Kind:
    if depth == 0 or random.random() < 0.6:
        name = random.choice([name for name in SCALARS if not (key and name == "duration")])
        return Kind("decimal" if key and random.random() < 0.2 else name)
    name = random.choice(["list", "set", "map", "tuple", "vector", "user"])
    if name == "user":
        return random.choice(USER_TYPES)
    count = {"map": 2, "tuple": random.randint(1, 3)}.get(name, 1)
    inner = [random_kind(random, depth - 1, key or name in ("set", "map")) for _ in range(count)]
    return Kind(name, tuple(inner), random.randint(1, 3) if name == "vector" else 0)


# ---- values


def random_value(random: Random, kind: Kind, few: bool = False) -> Any:
    """A value that is not null. *few*: of a small number of values, among them equal ones of different bytes."""
    name = kind.name
    if name in ("list", "set"):
        return [random_value(random, kind.children[0], few) for _ in range(random.randint(0, 3))]
    if name == "vector":
        return [random_value(random, kind.children[0], few) for _ in range(kind.dimensions)]
    if name == "map":
        return _different(
            [tuple(random_value(random, child, few) for child in kind.children) for _ in range(random.randint(0, 3))],
            kind.children[0],
        )
    if kind.children:
        return tuple(None if random.random() < 0.2 else random_value(random, child, few) for child in kind.children)
    return _scalar(random, name, few)


def _different(pairs: list[Any], key: Kind) -> list[Any]:
    """Pairs whose keys differ as bytes, as PyArrow checks maps for no such thing."""
    return list({encode(key, pair[0]): pair for pair in pairs}.values())


def _scalar(random: Random, name: str, few: bool) -> Any:
    if name in INTEGERS:
        bits = INTEGERS[name]
        return (
            random.choice([0, 1, -1])
            if few
            else random.choice(
                [random.randint(-(1 << bits - 1), (1 << bits - 1) - 1), random.randint(-100, 100), (1 << bits - 1) - 1]
            )
        )
    if name in ("float", "double"):
        return _real(random, name, few)
    if name == "boolean":
        return random.random() < 0.5
    if name in ("text", "ascii"):
        letters = "ab" if few else "abcZ \x00" + ("é√😀" if name == "text" else "")
        return "".join(random.choices(letters, k=random.randint(0, 2 if few else 20)))
    if name == "blob":
        return random.randbytes(random.randint(0, 1 if few else 30))
    if name == "uuid":
        return UUID(int=random.choice([0, 1, (1 << 128) - 1]) if few else random.getrandbits(128))
    if name == "timeuuid":
        return UUID(int=(random.randint(0, 2) if few else random.getrandbits(128)) & ~(15 << 76) | 1 << 76)
    if name == "inet":
        return random.randbytes(random.choice([4, 16])) if not few else bytes([random.randint(0, 2)] * 4)
    if name == "timestamp":
        if few:
            return random.choice([0, 1000, -MS_PER_DAY])
        return random.choice(
            [random.randint(-(1 << 50), 1 << 50), random.randint(-99, 99) * MS_PER_DAY, 1_700_000_000_123]
        )
    if name == "date":
        return random.randint(-1, 1) if few else random.choice([random.randint(-(1 << 31), (1 << 31) - 1), 20_000, -1])
    if name == "time":
        return (
            random.choice([0, 1_000_000_000])
            if few
            else random.choice([random.randrange(NS_PER_DAY), random.randrange(86_400) * 1_000_000_000, NS_PER_DAY - 1])
        )
    if name == "duration":
        sign = random.choice([1, -1])
        parts = (random.randrange(1 << 31), random.randrange(1 << 31), random.randrange(1 << 62))
        return tuple(sign * part for part in (parts if random.random() < 0.5 else (0, 0, parts[2])))
    digits = (
        random.choice([0, 1, 10, -10, 100])
        if few
        else random.choice(
            [random.randint(-1000, 1000), random.getrandbits(random.randint(1, 300)) * random.choice([1, -1])]
        )
    )
    if name == "varint":
        return digits
    return scaled(digits, random.randint(0, 2) if few else random.choice([0, 2, 2, random.randint(-20, 40)]))


def _real(random: Random, name: str, few: bool) -> float:
    short, bits = ("f", 32) if name == "float" else ("d", 64)
    if few or random.random() < 0.2:
        nan = random.choice([0x7FC00000, 0x7FC00001, 0xFFC00002])
        number = random.choice([nan << bits - 32, 0, 1 << bits - 1])
    elif random.random() < 0.4:
        return float(random.randint(-1000, 1000)) / 4
    else:
        number = random.getrandbits(bits)
    found: float = struct.unpack(f">{short}", number.to_bytes(bits // 8, "big"))[0]
    return found


def scaled(digits: int, scale: int) -> Decimal:
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))


def decimal_parts(value: Decimal) -> tuple[int, int]:
    """The digits as an integer, and the scale."""
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits)))
    assert isinstance(exponent, int)
    return -number if sign else number, -exponent


# ---- bytes


def encode(kind: Kind, value: Any) -> bytes:
    """The bytes of a value on the wire, without its length."""
    name = kind.name
    if name in ("list", "set", "map"):
        parts = [
            encode(child, part)
            for item in value
            for child, part in zip(kind.children, item if name == "map" else (item,), strict=True)
        ]
        return struct.pack(">i", len(value)) + b"".join(map(cell, parts))
    if name == "vector":
        items = [encode(kind.children[0], item) for item in value]
        return b"".join(items if fixed_size(kind.children[0]) else [vint(len(item)) + item for item in items])
    if kind.children:
        return b"".join(
            cell(None if part is None else encode(child, part))
            for child, part in zip(kind.children, value, strict=True)
        )
    return _SCALAR_BYTES[name](value)


def cell(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value


def fixed_size(kind: Kind) -> bool:
    """Whether elements of a vector stand side by side, without lengths."""
    if kind.name == "vector":
        return fixed_size(kind.children[0])
    return kind.name in ("int", "bigint", "float", "double", "boolean", "uuid", "timeuuid", "timestamp")


def vint(value: int) -> bytes:
    size = max(1, (value.bit_length() + 6) // 7)
    if size > 8:
        return b"\xff" + value.to_bytes(8, "big")
    first = 0xFF00 >> (size - 1) & 0xFF
    return (value | first << (size - 1) * 8).to_bytes(size, "big")


def signed(value: int) -> bytes:
    bits = value.bit_length() if value >= 0 else (value + 1).bit_length()
    return value.to_bytes(bits // 8 + 1, "big", signed=True)


def _decimal(value: Decimal) -> bytes:
    number, scale = decimal_parts(value)
    return struct.pack(">i", scale) + signed(number)


def _duration(value: tuple[int, int, int]) -> bytes:
    return b"".join(vint((part << 1 ^ part >> 63) & (1 << 64) - 1) for part in value)


_SCALAR_BYTES: dict[str, Callable[[Any], bytes]] = {
    "tinyint": lambda v: struct.pack(">b", v),
    "smallint": lambda v: struct.pack(">h", v),
    "int": lambda v: struct.pack(">i", v),
    "bigint": lambda v: struct.pack(">q", v),
    "float": lambda v: struct.pack(">f", v),
    "double": lambda v: struct.pack(">d", v),
    "boolean": lambda v: bytes([v]),
    "text": lambda v: v.encode(),
    "ascii": lambda v: v.encode(),
    "blob": bytes,
    "uuid": lambda v: v.bytes,
    "timeuuid": lambda v: v.bytes,
    "inet": bytes,
    "timestamp": lambda v: struct.pack(">q", v),
    "date": lambda v: struct.pack(">I", v + (1 << 31)),
    "time": lambda v: struct.pack(">q", v),
    "duration": _duration,
    "varint": signed,
    "decimal": _decimal,
}


# ---- arrays


def arrow_array(random: Random, kind: Kind, values: list[Any]) -> pa.Array:
    """An array of *values*, of any type and layout that holds them: sliced, with garbage where they are null, ..."""
    before, behind = random.choice([0, 0, 1, 9]), random.choice([0, 0, 3])
    padded = [*_fill(random, kind, values, before), *values, *_fill(random, kind, values, behind)]
    made = _indirect(random, kind, padded)
    return made.slice(before, len(values)) if before or behind else made


def _fill(random: Random, kind: Kind, values: list[Any], count: int) -> list[Any]:
    """Values that are sliced away: of those that are there, so that they do not decide on the type."""
    some = [value for value in values if value is not None]
    return [random.choice(some) if some and random.random() < 0.8 else None for _ in range(count)]


def _indirect(random: Random, kind: Kind, values: list[Any]) -> pa.Array:
    """Some arrays as dictionaries or runs."""
    chance = random.random()
    if values and chance < 0.12:
        places = list(range(len(values)))
        random.shuffle(places)
        inner = _direct(random, kind, [values[place] for place in places])
        index = {place: at for at, place in enumerate(places)}
        hidden = [value is None and random.random() < 0.5 for value in values]
        indexes = pa.array(
            [None if gone else index[at] for at, gone in enumerate(hidden)],
            random.choice([pa.int16(), pa.uint32(), pa.int64()]),
        )
        return pa.DictionaryArray.from_arrays(indexes, inner)
    if values and chance < 0.2 and not kind.children:
        runs = [1]
        for value, before in zip(values[1:], values, strict=False):
            if _same(kind, value, before):
                runs[-1] += 1
            else:
                runs.append(1)
        ends = np.cumsum(runs)
        inner = _direct(random, kind, [values[end - 1] for end in ends])
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, random.choice([pa.int32(), pa.int64()])), inner)
    return _direct(random, kind, values)


def _same(kind: Kind, one: Any, other: Any) -> bool:
    return one is None is other if one is None or other is None else encode(kind, one) == encode(kind, other)


def _direct(random: Random, kind: Kind, values: list[Any]) -> pa.Array:
    gone = [value is None for value in values]
    if all(gone) and random.random() < 0.3:
        return pa.nulls(len(values))
    if kind.children:
        return _nested(random, kind, values, gone)
    some = [value for value in values if value is not None]
    filler = some or [random_value(random, kind)]
    garbage = random.random() < 0.7
    full = [random.choice(filler) if value is None else value for value in values]
    made = _SCALAR_ARRAYS[kind.name](random, kind, full)
    if isinstance(made, pa.ExtensionArray):
        storage = _with_nulls(random, made.storage, gone, garbage)
        return pa.ExtensionArray.from_storage(made.type, storage)
    return _with_nulls(random, made, gone, garbage)


def _with_nulls(random: Random, array: pa.Array, gone: list[bool], garbage: bool) -> pa.Array:
    """Without what lies there if it is not *garbage*; buffers may begin anywhere."""
    if not garbage and any(gone):
        return pa.array([None if none else value for none, value in zip(gone, array, strict=True)], array.type)
    buffers = array.buffers()
    validity = (
        pa.py_buffer(np.packbits([not none for none in gone], bitorder="little").tobytes()) if any(gone) else None
    )
    if random.random() < 0.3:
        buffers = [None if buffer is None else _moved(buffer) for buffer in buffers]
        validity = None if validity is None else _moved(validity)
    assert array.offset == 0
    return pa.Array.from_buffers(array.type, len(array), [validity, *buffers[1:]], random.choice([-1, sum(gone)]))


def _moved(buffer: pa.Buffer) -> pa.Buffer:
    return pa.py_buffer(b"\xaa" + buffer.to_pybytes()).slice(1)


def _mask(gone: list[bool]) -> Any:
    return pa.array(gone, pa.bool_()) if any(gone) else None


def _nested(random: Random, kind: Kind, values: list[Any], gone: list[bool]) -> pa.Array:
    some = [value for value in values if value is not None] or [random_value(random, kind)]
    full = [random.choice(some) if value is None else value for value in values]  # garbage where they are null
    if kind.name == "map":
        return _map(random, kind, full, gone)
    if kind.name in ("list", "set", "vector"):
        return _list(random, kind, full, gone)
    order = list(range(len(kind.children)))
    names = list(kind.fields) or [f"f{i}" for i in order]
    if kind.fields:
        random.shuffle(order)
        empty = [i for i in order if all(value[i] is None for value in full)]
        order = [i for i in order if i not in empty or random.random() < 0.5] or order
    arrays = [arrow_array(random, kind.children[i], [value[i] for value in full]) for i in order]
    return pa.StructArray.from_arrays(arrays, [names[i] for i in order], mask=_mask(gone))


def _ends(values: list[Any]) -> list[int]:
    return [0, *map(int, np.cumsum([len(value) for value in values]))]


def _list(random: Random, kind: Kind, values: list[Any], gone: list[bool]) -> pa.Array:
    items = arrow_array(random, kind.children[0], [item for value in values for item in value])
    ends = _ends(values)
    sizes = {len(value) for value in values}
    layouts = ["list", "large", "view", "large view", *(["fixed"] * 2 if len(sizes) == 1 and 0 not in sizes else [])]
    layout = random.choice(layouts)
    if layout == "fixed":
        return pa.FixedSizeListArray.from_arrays(items, sizes.pop(), mask=_mask(gone))
    if layout in ("view", "large view"):
        made, width = (pa.ListViewArray, pa.int32()) if layout == "view" else (pa.LargeListViewArray, pa.int64())
        lengths = pa.array([len(value) for value in values], width)
        return made.from_arrays(pa.array(ends[:-1], width), lengths, items, mask=_mask(gone))
    made, width = (pa.ListArray, pa.int32()) if layout == "list" else (pa.LargeListArray, pa.int64())
    return made.from_arrays(pa.array(ends, width), items, mask=_mask(gone))


def _map(random: Random, kind: Kind, values: list[Any], gone: list[bool]) -> pa.Array:
    pairs = [pair for value in values for pair in value]
    keys, items = (arrow_array(random, child, [pair[i] for pair in pairs]) for i, child in enumerate(kind.children))
    ends = pa.array(_ends(values), pa.int32())
    plain = keys.null_count == 0 and not pa.types.is_null(keys.type)
    if plain and random.random() < 0.6:
        return pa.MapArray.from_arrays(ends, keys, items, mask=_mask(gone))
    return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays([keys, items], ["k", "v"]), mask=_mask(gone))


# Scalars. All *values* are there.


def _integers(random: Random, kind: Kind, values: list[int]) -> pa.Array:
    least, most = min(values, default=0), max(values, default=0)
    types = [
        kind
        for bits, kind in ((8, pa.int8()), (16, pa.int16()), (32, pa.int32()), (64, pa.int64()))
        if -(1 << bits - 1) <= least and most < 1 << bits - 1
    ]
    types += [
        kind
        for bits, kind in ((8, pa.uint8()), (16, pa.uint16()), (32, pa.uint32()), (64, pa.uint64()))
        if least >= 0 and most < 1 << bits
    ]
    digits = max(len(str(abs(least))), len(str(abs(most))))
    types += [kind(most_digits, 0) for kind, most_digits in _DECIMALS if digits <= most_digits]
    chosen = random.choice(types)
    return pa.array(list(map(Decimal, values)) if pa.types.is_decimal(chosen) else values, chosen)


_DECIMALS = [(pa.decimal32, 9), (pa.decimal64, 18), (pa.decimal128, 38), (pa.decimal256, 76)]


def _reals(random: Random, kind: Kind, values: list[float]) -> pa.Array:
    doubles = np.array(values, np.float64)
    with np.errstate(all="ignore"):
        types = [
            width
            for width in (np.float16, np.float32, np.float64)
            if all(
                _bits(float(short)) == _bits(value) for short, value in zip(doubles.astype(width), values, strict=True)
            )
        ]
        if kind.name == "float" and np.float32 not in types:  # NaN whose payload a double does not keep
            types.append(np.float32)
        if (
            all(_bits(value) == _bits(float(int(value))) for value in values if np.isfinite(value))
            and np.isfinite(doubles).all()
        ):
            whole = [int(value) for value in values]
            if random.random() < 0.3 and all(abs(value) < 1 << 63 for value in whole):
                return pa.array(whole, pa.int64())
        chosen = random.choice(types)
        if chosen is np.float32:
            made = np.array([struct.unpack("<i", struct.pack("<f", value))[0] for value in values], np.int32)
            return pa.array(made.view(np.float32), from_pandas=False)
        return pa.array(doubles.astype(chosen), from_pandas=False)


def _bits(value: float) -> bytes:
    return struct.pack(">d", value)


def _booleans(random: Random, kind: Kind, values: list[bool]) -> pa.Array:
    if random.random() < 0.3:
        return pa.ExtensionArray.from_storage(
            pa.bool8(), pa.array([random.choice([1, -1, 7]) if v else 0 for v in values], pa.int8())
        )
    return pa.array(values, pa.bool_())


def _texts(random: Random, kind: Kind, values: list[str]) -> pa.Array:
    return pa.array(values, random.choice([pa.string(), pa.large_string(), pa.string_view()]))


def _blobs(random: Random, kind: Kind, values: list[bytes]) -> pa.Array:
    types = [pa.binary(), pa.large_binary(), pa.binary_view()]
    if len({len(value) for value in values}) == 1:
        types.append(pa.binary(len(values[0])))
    return pa.array(values, random.choice(types))


def _uuids(random: Random, kind: Kind, values: list[UUID]) -> pa.Array:
    chance = random.random()
    if chance < 0.3:
        return _texts(random, kind, [random.choice([str(value), value.hex, str(value).upper()]) for value in values])
    if chance < 0.5:
        return pa.ExtensionArray.from_storage(pa.uuid(), pa.array([value.bytes for value in values], pa.binary(16)))
    return _blobs(random, kind, [value.bytes for value in values])


def _addresses(random: Random, kind: Kind, values: list[bytes]) -> pa.Array:
    mapped = any(len(value) == 16 and value.startswith(bytes(10) + b"\xff\xff") for value in values)
    if random.random() < 0.5 and not mapped:
        return _texts(random, kind, [str(ip_address(value)) for value in values])
    return _blobs(random, kind, values)


_UNITS = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}


def _view(values: list[int], width: str, kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.array(values, width).tobytes())])


def _moments(random: Random, kind: Kind, values: list[int]) -> pa.Array:
    types: list[Callable[[], pa.Array]] = []
    zone = random.choice([None, "UTC", "+02:00", "Europe/Berlin", "America/New_York"])
    for unit, per_second in _UNITS.items():
        counts = [value * per_second // 1000 for value in values]
        exact = all(count * 1000 == value * per_second for count, value in zip(counts, values, strict=True))
        if exact and all(-(1 << 63) <= count < 1 << 63 for count in counts):
            types.append(lambda unit=unit, counts=counts: _view(counts, "<i8", pa.timestamp(unit, zone)))  # type: ignore[misc]
    if all(value % MS_PER_DAY == 0 for value in values):
        types.append(lambda: _view(values, "<i8", pa.date64()))
        if all(abs(value // MS_PER_DAY) < 1 << 31 for value in values):
            types.append(lambda: _view([value // MS_PER_DAY for value in values], "<i4", pa.date32()))
    return random.choice(types)()


def _days(random: Random, kind: Kind, values: list[int]) -> pa.Array:
    unit = random.choice(["s", "ms"])
    return random.choice(
        [
            lambda: _view(values, "<i4", pa.date32()),
            lambda: _view([value * MS_PER_DAY for value in values], "<i8", pa.date64()),
            lambda: _view([value * 86_400 * _UNITS[unit] for value in values], "<i8", pa.timestamp(unit)),
        ]
    )()


def _times(random: Random, kind: Kind, values: list[int]) -> pa.Array:
    units = [unit for unit, per in _UNITS.items() if all(value % (1_000_000_000 // per) == 0 for value in values)]
    unit = random.choice(units)
    counts = [value // (1_000_000_000 // _UNITS[unit]) for value in values]
    return _view(counts, "<i4", pa.time32(unit)) if unit in ("s", "ms") else _view(counts, "<i8", pa.time64(unit))


def _durations(random: Random, kind: Kind, values: list[Any]) -> pa.Array:
    if all(value[:2] == (0, 0) for value in values) and random.random() < 0.5:
        units = [
            unit for unit, per in _UNITS.items() if all(value[2] % (1_000_000_000 // per) == 0 for value in values)
        ]
        unit = random.choice(units)
        return _view([value[2] // (1_000_000_000 // _UNITS[unit]) for value in values], "<i8", pa.duration(unit))
    data = b"".join(struct.pack("<iiq", *value) for value in values)
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(values), [None, pa.py_buffer(data)])


def _varints(random: Random, kind: Kind, values: list[int]) -> pa.Array:
    if max(map(abs, values), default=0) < 1 << 62 and random.random() < 0.5:
        return _integers(random, kind, values)
    if max((len(str(abs(value))) for value in values), default=0) <= 76 and random.random() < 0.5:
        return pa.array(list(map(Decimal, values)), pa.decimal256(76, 0))
    return _texts(random, kind, [str(value) for value in values])


def _decimals(random: Random, kind: Kind, values: list[Decimal]) -> pa.Array:
    parts = [decimal_parts(value) for value in values]
    scales = {scale for _, scale in parts}
    digits = max((len(str(abs(number))) for number, _ in parts), default=0)
    types = [(make, most) for make, most in _DECIMALS if digits <= most]
    if len(scales) == 1 and types and random.random() < 0.7:
        make, most = random.choice(types)
        kind_of_arrow = make(most, scales.pop())
        data = b"".join(number.to_bytes(kind_of_arrow.bit_width // 8, "little", signed=True) for number, _ in parts)
        return pa.Array.from_buffers(kind_of_arrow, len(values), [None, pa.py_buffer(data)])
    return _texts(
        random,
        kind,
        [
            random.choice([f"{number}E{-scale}", str(value)])
            for (number, scale), value in zip(parts, values, strict=True)
        ],
    )


_SCALAR_ARRAYS: dict[str, Callable[[Random, Kind, Any], pa.Array]] = {
    **dict.fromkeys(INTEGERS, _integers),
    "float": _reals,
    "double": _reals,
    "boolean": _booleans,
    "text": _texts,
    "ascii": _texts,
    "blob": _blobs,
    "uuid": _uuids,
    "timeuuid": _uuids,
    "inet": _addresses,
    "timestamp": _moments,
    "date": _days,
    "time": _times,
    "duration": _durations,
    "varint": _varints,
    "decimal": _decimals,
}


# ---- what is read


def exact(value: Any) -> Any:
    """A value as rows have it, so that only values of the same bytes are equal."""
    if isinstance(value, float):
        return struct.pack(">d", value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return ("map", [(exact(key), exact(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "SortedSet":
        return (type(value).__name__, [exact(item) for item in value])
    return (type(value).__name__, repr(value))


def as_key(value: Any) -> Any:
    """A value of a clustering key, so that values which the server compares as equal are equal: which of them it keeps
    depends on which request it has first."""
    if isinstance(value, float):
        return struct.pack(">d", value) if value == value else "NaN"
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return ("map", sorted({repr((as_key(key), as_key(item))) for key, item in value.items()}))
    if isinstance(value, (set, frozenset)) or type(value).__name__ == "SortedSet":
        return ("set", sorted({repr(as_key(item)) for item in value}))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [as_key(item) for item in value])
    return (type(value).__name__, repr(value))
