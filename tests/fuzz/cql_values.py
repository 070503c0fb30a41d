"""Random CQL schemas and values, and their canonical forms: equal canonical forms are equal bytes on the server.

The oracle of the fuzzers of files: it knows nothing of how the driver or its tools convert values.
"""

from __future__ import annotations

import datetime
import ipaddress
import math
import random
import struct
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from cassandra.cluster import Session
from cassandra.util import Date, Duration, Time

SCALARS = (
    *("ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "float", "inet", "int", "smallint", "text"),
    *("time", "timestamp", "timeuuid", "tinyint", "uuid", "varint"),
)
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
CHARACTERS = "abz019 ,;|'\"\\\n\r\t.:-_{}[]()%$/NU\x00\x7f\x85\u2028\ufeffäß漢🙂"


class Type:
    """A CQL type: *text* as in CREATE TABLE, *make* gives a value to bind and its canonical form, *read* the canonical
    form of an Arrow scalar."""

    def __init__(
        self,
        text: str,
        make: Callable[[random.Random], tuple[Any, Any]],
        read: Callable[[Any], Any],
        name: str = "",
        has_durations: bool = False,
        empty_is_null: bool = False,
    ) -> None:
        self.text = text
        self.name = name or text
        self.make = make
        self.read = read
        self.has_durations = has_durations
        self.empty_is_null = empty_is_null


def text_of(rng: random.Random, characters: str = CHARACTERS) -> str:
    special = [
        "",
        "null",
        "None",
        "NULL",
        "0",
        "True",
        "\\N",
        "''",
        '""',
        "[]",
        "{",
        "N/A",
        "1970-01-01",
        "\ufeff",
        "\\",
    ]
    if rng.random() < 0.3:
        return rng.choice([word for word in special if set(word) <= set(characters) or characters is CHARACTERS])
    return "".join(rng.choice(characters) for _ in range(rng.choice([0, 1, 2, 5, 20, 200])))


def _integer(rng: random.Random, bits: int) -> int:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return rng.choice([low, high, 0, 1, -1, rng.randint(low, high), max(low, min(high, rng.randint(-9999, 9999)))])


def _double_bits(rng: random.Random) -> int:
    special = [0, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 1, 0x3FB999999999999A, (0x7FF0 << 48) - 1]
    return int(
        rng.choice([*special, rng.getrandbits(64), struct.unpack(">Q", struct.pack(">d", rng.uniform(-1e6, 1e6)))[0]])
    )


def float_form(value: float) -> bytes:
    return struct.pack(">d", value)


def loose(canonical: Any) -> Any:
    """*canonical* with one NaN for all: text has one."""
    if isinstance(canonical, bytes) and len(canonical) == 8 and math.isnan(struct.unpack(">d", canonical)[0]):
        return b"nan"
    if isinstance(canonical, (list, tuple)):
        return type(canonical)(map(loose, canonical))
    return canonical


def _float(rng: random.Random) -> tuple[Any, Any]:
    bits = rng.choice([0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x3DCCCCCD, 0x7F7FFFFF, rng.getrandbits(32)])
    value = struct.unpack(">f", struct.pack(">I", bits))[0]
    return value, float_form(value)


def _double(rng: random.Random) -> tuple[Any, Any]:
    value = struct.unpack(">d", struct.pack(">Q", _double_bits(rng)))[0]
    return value, float_form(value)


def _decimal(rng: random.Random) -> tuple[Any, Any]:
    digits = rng.choice([1, 1, 3, 18, 40, 400, 5000 if rng.random() < 0.1 else 5])
    number = rng.randrange(10**digits) * rng.choice([1, -1])
    exponent = rng.choice([0, -1, -2, 2, -digits, 10, -400, 2**31, -(2**31) + 1, rng.randint(-99999, 99999)])
    value = Decimal((int(number < 0), _digits(abs(number)), exponent))
    return value, decimal_form(value)


def _digits(number: int) -> tuple[int, ...]:
    return Decimal(number).as_tuple().digits


def decimal_form(value: Decimal) -> Any:
    sign, digits, exponent = value.as_tuple()
    return (sign if any(digits) else 0, "".join(map(str, digits)).lstrip("0"), exponent)


def _varint(rng: random.Random) -> tuple[Any, Any]:
    bits = rng.choice([1, 7, 8, 31, 64, 65, 500, 20000 if rng.random() < 0.1 else 9])
    value = rng.getrandbits(bits) * rng.choice([1, -1])
    return value, hex(value)


def _inet(rng: random.Random) -> tuple[Any, Any]:
    raw = rng.randbytes(rng.choice([4, 16]))
    if len(raw) == 16 and rng.random() < 0.3:
        raw = bytes(rng.choice([10, 12, 15])) + raw
        raw = raw[:16]
    if len(raw) == 16 and raw[:12] == bytes(10) + b"\xff\xff":
        raw = bytes(15) + b"\1"
    address = ipaddress.ip_address(raw)
    return str(address), raw


def _uuid(rng: random.Random, version: int) -> tuple[Any, Any]:
    value = uuid.UUID(bytes=rng.randbytes(16), version=version)
    return value, value.bytes


BEGIN = datetime.datetime(1970, 1, 1)


def _timestamp(rng: random.Random) -> tuple[Any, Any]:
    value = rng.choice([0, -1, 1, -62135596800000, 253402300799999, 253402300800000, -62135596800001])
    value = rng.choice([value, rng.randint(-(2**45), 2**47), rng.randint(-55_790_000_000_000, -50_000_000_000_000)])
    return value, value


def _date(rng: random.Random) -> tuple[Any, Any]:
    value = rng.choice([0, -1, -719162, -719163, 2932896, 2932897, 2**31 - 1, -(2**31), rng.randint(-800000, 3000000)])
    return Date(value), value


def _time(rng: random.Random) -> tuple[Any, Any]:
    value = rng.choice([0, 86399999999999, rng.randrange(86400) * 10**9, rng.randrange(86400 * 10**9)])
    return Time(value), value


def _duration(rng: random.Random) -> tuple[Any, Any]:
    sign = rng.choice([1, -1])
    parts = (
        sign * rng.choice([0, 1, 12, 2**31 - 1, rng.randrange(99)]),
        sign * rng.choice([0, 1, 2**31 - 1, rng.randrange(99)]),
        sign * rng.choice([0, 1, 10**9, 2**63 - 1, rng.randrange(10**13)]),
    )
    return Duration(*parts), parts


def _storage(scalar: Any) -> Any:
    return scalar.value if isinstance(scalar, pa.ExtensionScalar) else scalar


def _read_inet(scalar: Any) -> Any:
    value = scalar.as_py()
    return ipaddress.ip_address(value).packed if isinstance(value, str) else value


def _plain(scalar: Any) -> Any:
    return scalar.as_py()


_SCALARS: dict[str, tuple[Callable[[random.Random], tuple[Any, Any]], Callable[[Any], Any]]] = {
    "ascii": (lambda rng: (text_of(rng, "".join(filter(str.isascii, CHARACTERS))),) * 2, _plain),
    "text": (lambda rng: (text_of(rng),) * 2, _plain),
    "blob": (lambda rng: (rng.randbytes(rng.choice([0, 1, 7, 300])),) * 2, _plain),
    "boolean": (lambda rng: (rng.random() < 0.5,) * 2, _plain),
    "double": (_double, lambda scalar: float_form(scalar.as_py())),
    "float": (_float, lambda scalar: float_form(scalar.as_py())),
    "decimal": (_decimal, lambda scalar: decimal_form(Decimal(scalar.as_py()))),
    "varint": (_varint, lambda scalar: hex(int(Decimal(scalar.as_py())))),
    "inet": (_inet, _read_inet),
    "uuid": (lambda rng: _uuid(rng, 4), lambda scalar: _storage(scalar).as_py()),
    "timeuuid": (lambda rng: _uuid(rng, 1), lambda scalar: _storage(scalar).as_py()),
    "timestamp": (_timestamp, lambda scalar: scalar.value),
    "date": (_date, lambda scalar: scalar.value),
    "time": (_time, lambda scalar: scalar.value),
    "duration": (_duration, lambda scalar: tuple(scalar.as_py())),
}


def scalar_type(name: str) -> Type:
    if name in BITS:
        return Type(name, lambda rng: (_integer(rng, BITS[name]),) * 2, _plain)
    make, read = _SCALARS[name]
    return Type(name, make, read, has_durations=name == "duration")


def null_or(of: Type, rng: random.Random, share: float = 0.25) -> tuple[Any, Any]:
    return (None, None) if rng.random() < share else of.make(rng)


def random_type(rng: random.Random, user_types: dict[str, list[tuple[str, Type]]], depth: int = 0) -> Type:
    """*user_types* are added to by name."""
    choices = ["scalar"] * (2 + 2 * depth) + ["duration", "list", "set", "map", "tuple", "udt", "vector"]
    kind = rng.choice(choices) if depth < 3 else "scalar"
    if kind == "scalar":
        return scalar_type(rng.choice(SCALARS))
    if kind == "duration":
        return scalar_type("duration")
    is_cells = depth == 0 and kind in ("list", "set", "map", "udt") and rng.random() < 0.5
    if kind in ("list", "set", "map"):
        return _collection(rng, kind, user_types, depth, is_cells)
    if kind == "vector":
        of = scalar_type(rng.choice(["float", "double", "int", "text", "varint", "timestamp"]))
        return _vector(of, rng.randint(1, 3))
    parts = [random_type(rng, user_types, depth + 1) for _ in range(rng.randint(1, 3))]
    if kind == "tuple":
        return _row(f"frozen<tuple<{', '.join(part.text for part in parts)}>>", parts, is_cells=False)
    name = f"type_{len(user_types)}"
    fields = [(f"f{at}" if rng.random() < 0.7 else f"odd: {at}, 'x'", part) for at, part in enumerate(parts)]
    user_types[name] = fields
    return _row(name if is_cells else f"frozen<{name}>", parts, is_cells)


def _sorted(values: list[Any]) -> list[Any]:
    """In an order that :func:`loose` keeps."""
    return sorted(values, key=lambda value: (repr(loose(value)), repr(value)))


def _collection(rng: random.Random, kind: str, user_types: Any, depth: int, is_cells: bool) -> Type:
    element = random_type(rng, user_types, depth + 1)
    while kind != "list" and element.has_durations:
        element = random_type(rng, user_types, depth + 1)
    if kind == "map":
        key = scalar_type(rng.choice(SCALARS))
        text, parts = f"map<{key.text}, {element.text}>", [key, element]
    else:
        text, parts = f"{kind}<{element.text}>", [element]

    def make(rng: random.Random) -> tuple[Any, Any]:
        made = [[part.make(rng) for part in parts] for _ in range(rng.choice([0, 1, 2, 5]))]
        if kind == "list":
            return [one[0][0] for one in made], [one[0][1] for one in made]
        forms = {order_form(one[0][1]): one for one in made}
        if kind == "set":
            return [one[0][0] for one in forms.values()], _sorted([one[0][1] for one in forms.values()])
        pairs = _Pairs((one[0][0], one[1][0]) for one in forms.values())
        return pairs, _sorted([(one[0][1], one[1][1]) for one in forms.values()])

    def read(scalar: Any) -> Any:
        if kind == "map":
            entries = [(pair[0], pair[1]) for pair in scalar.values] if scalar.is_valid else []
            return _sorted([(form(parts[0], pair[0]), form(parts[1], pair[1])) for pair in entries])
        found = [form(element, one) for one in scalar.values]
        return found if kind == "list" else _sorted(found)

    return Type(
        text if is_cells else f"frozen<{text}>",
        make,
        read,
        kind,
        any(part.has_durations for part in parts),
        empty_is_null=is_cells,
    )


class _Pairs(list[Any]):
    """A map whose keys may have no hash."""

    def items(self) -> list[Any]:
        return self

    def keys(self) -> list[Any]:
        return [key for key, _ in self]


def order_form(canonical: Any) -> Any:
    """Equal for canonical forms of values that the server takes for the same element or key, as 0 and 0E+2. It may be
    equal for others too: a tuple of two ints and digits is taken for a decimal."""
    if not isinstance(canonical, (list, tuple)):
        return repr(canonical)
    if len(canonical) == 3 and isinstance(canonical[1], str) and all(isinstance(canonical[at], int) for at in (0, 2)):
        sign, digits, exponent = canonical
        kept = digits.rstrip("0")
        return (sign, kept, exponent + len(digits) - len(kept)) if kept else 0
    return tuple(map(order_form, canonical))


def _row(text: str, parts: list[Type], is_cells: bool) -> Type:
    def make(rng: random.Random) -> tuple[Any, Any]:
        made = [null_or(part, rng) for part in parts]
        return tuple(value for value, _ in made), tuple(form for _, form in made)

    def read(scalar: Any) -> Any:
        return tuple(form(part, scalar[at]) for at, part in enumerate(parts))

    return Type(
        text,
        make,
        read,
        "udt" if not text.startswith("frozen<tuple") else "tuple",
        any(part.has_durations for part in parts),
        is_cells,
    )


def _vector(of: Type, size: int) -> Type:
    def make(rng: random.Random) -> tuple[Any, Any]:
        made = [of.make(rng) for _ in range(size)]
        return [value for value, _ in made], [form for _, form in made]

    return Type(f"vector<{of.text}, {size}>", make, lambda scalar: [form(of, one) for one in scalar.values], "vector")


def form(of: Type, scalar: Any) -> Any:
    """The canonical form of an Arrow scalar; None for null."""
    return of.read(scalar) if scalar.is_valid else None


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- tables

KEYS = (
    "ascii",
    "bigint",
    "blob",
    "boolean",
    "date",
    "decimal",
    "double",
    "inet",
    "int",
    "text",
    "time",
    "timestamp",
    "uuid",
)
Made = tuple[Any, Any]  # a value to bind, its canonical form


class Write(NamedTuple):
    """A row, or with no clustering the static columns of a partition."""

    partition: list[Made]
    clustering: list[Made] | None
    values: list[Made]


class Schema:
    """A random table: keys, values of all types, static columns, odd names."""

    def __init__(self, rng: random.Random) -> None:
        self.user_types: dict[str, list[tuple[str, Type]]] = {}
        self.partition = [self._named(rng, scalar_type(rng.choice(KEYS)), "p", at) for at in range(rng.randint(1, 2))]
        self.clustering = [self._named(rng, scalar_type(rng.choice(KEYS)), "c", at) for at in range(rng.randint(0, 2))]
        self.values = [self._named(rng, random_type(rng, self.user_types), "v", at) for at in range(rng.randint(1, 5))]
        static = rng.randint(0, 1) if self.clustering else 0
        self.statics = [self._named(rng, random_type(rng, self.user_types), "s", at) for at in range(static)]
        self.columns = [*self.partition, *self.clustering, *self.values, *self.statics]

    @staticmethod
    def _named(rng: random.Random, of: Type, letter: str, at: int) -> tuple[str, Type]:
        odd = f"{letter}{at}" + "".join(rng.choice("ab ,'\"\\;|.:()A\n") for _ in range(3))
        return rng.choice(
            [f"{letter}{at}", f"{letter}{at}", odd, f"ttl({letter}0)" if at == 1 else f"writetime({letter}{at})"]
        ), of

    def create(self, session: Session, name: str) -> None:
        for type_name, fields in self.user_types.items():
            text = ", ".join(f"{quoted(field)} {of.text}" for field, of in fields)
            session.execute(f"CREATE TYPE IF NOT EXISTS {type_name} ({text})", timeout=60)
        columns = [f"{quoted(column)} {of.text}" for column, of in [*self.partition, *self.clustering, *self.values]]
        columns += [f"{quoted(column)} {of.text} STATIC" for column, of in self.statics]
        key = ", ".join(quoted(column) for column, _ in self.partition)
        rest = "".join(f", {quoted(column)}" for column, _ in self.clustering)
        session.execute(f"CREATE TABLE {name} ({', '.join(columns)}, PRIMARY KEY (({key}){rest}))", timeout=60)

    def drop(self, session: Session, *names: str) -> None:
        for name in names:
            session.execute(f"DROP TABLE IF EXISTS {name}", timeout=60)
        for type_name in reversed(self.user_types):
            session.execute(f"DROP TYPE IF EXISTS {type_name}", timeout=60)

    def random_writes(self, rng: random.Random) -> list[Write]:
        found = []
        for _ in range(rng.choice([0, 1, 10, 60])):
            partition = [key_of(of, rng) for _, of in self.partition]
            for _ in range(rng.choice([0, 1, 3]) if self.clustering else 1):
                clustering = [key_of(of, rng) for _, of in self.clustering]
                found.append(Write(partition, clustering, [null_or(of, rng) for _, of in self.values]))
            if self.statics:
                found.append(Write(partition, None, [null_or(of, rng) for _, of in self.statics]))
        return found

    def write(self, session: Session, name: str, writes: list[Write]) -> None:
        """In this order. *name* is of a keyspace and a table."""
        rows = session.prepare(_insert(name, [*self.partition, *self.clustering, *self.values]))
        statics = session.prepare(_insert(name, [*self.partition, *self.statics])) if self.statics else rows
        for one in writes:
            values = [value for value, _ in (*one.partition, *(one.clustering or ()), *one.values)]
            session.execute(statics if one.clustering is None else rows, values)

    def rows(self, writes: list[Write]) -> list[dict[str, Any]]:
        """The rows that are there after *writes*: canonical forms by column."""
        rows: dict[str, dict[str, Any]] = {}
        partitions: dict[str, dict[str, Any]] = {}
        statics: dict[str, dict[str, Any]] = {}
        for one in writes:
            partition = repr([form for _, form in one.partition])
            key = _stored(self.partition, one.partition)
            if one.clustering is None:
                statics[partition] = _stored(self.statics, one.values)
                partitions[partition] = key
            else:
                clustering = repr([form for _, form in one.clustering])
                row = key | _stored(self.clustering, one.clustering) | _stored(self.values, one.values)
                rows[f"{partition} {clustering}"] = {"partition": partition, "row": row}
        nothing: dict[str, Any] = dict.fromkeys(column for column, _ in self.columns)
        found = [nothing | one["row"] | statics.get(one["partition"], {}) for one in rows.values()]
        with_rows = {one["partition"] for one in rows.values()}
        for partition, values in statics.items():
            if partition not in with_rows and any(value is not None for value in values.values()):
                found.append(nothing | partitions[partition] | values)
        return found


def key_of(of: Type, rng: random.Random) -> Made:
    """A value of a key: none that is equal to the server to one with other bytes, not empty, not long."""
    while True:
        value, canonical = of.make(rng)
        if of.name == "decimal":
            value = Decimal(rng.randrange(-999, 999) * 2 + 1)
            canonical = decimal_form(value)
        if of.name == "double" and (math.isnan(value) or not value):
            continue
        if value not in ("", b"") and len(repr(value)) < 1000:
            return value, canonical


def _stored(columns: list[tuple[str, Type]], made: list[Made]) -> dict[str, Any]:
    """Canonical forms by column as the server has them: cells of their own are not there if there are none."""
    found = {}
    for (column, of), (_, canonical) in zip(columns, made, strict=True):
        is_nothing = of.empty_is_null and canonical is not None and all(part is None for part in canonical)
        found[column] = None if is_nothing else canonical
    return found


def _insert(name: str, columns: list[tuple[str, Type]]) -> str:
    names = ", ".join(quoted(column) for column, _ in columns)
    return f"INSERT INTO {name} ({names}) VALUES ({', '.join('?' * len(columns))})"


def rows_of(table: pa.Table, types: dict[str, Type]) -> list[dict[str, Any]]:
    """The rows of *table*: canonical forms by column."""
    found: list[dict[str, Any]] = [{} for _ in range(table.num_rows)]
    for name in table.schema.names:
        for row, scalar in zip(found, table[name], strict=True):
            row[name] = form(types[name], scalar)
    return found


def multiset(rows: list[dict[str, Any]], columns: list[str], *, exactly: bool = True) -> Counter[str]:
    """*exactly*: NaNs with other payloads are other values."""
    return Counter(repr([row[column] if exactly else loose(row[column]) for column in columns]) for row in rows)
