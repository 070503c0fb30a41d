"""CQL types: names, wire format of type and value, and order. Quoting of names.

Values inside the simulation are hashable and plain: ``int`` for all whole numbers, timestamps (milliseconds), dates
(days, 2**31 is 1970-01-01) and times (nanoseconds); ``bytes`` for blobs and addresses; ``tuple`` for durations, lists,
sets (sorted), tuples, user-defined types and vectors; a sorted tuple of pairs for maps; :data:`EMPTY` for zero bytes
where the type has no such value. If the bytes of a value differ from its encoding, they are kept with it, as servers
store the bytes that they received: see :class:`Kept`.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from cassandra.testing import _wire as wire
from cassandra.testing._wire import (
    pack_decimal,
    pack_duration,
    pack_varint,
    read_unsigned_vint,
    unpack_decimal,
    unpack_duration,
    unpack_varint,
    unsigned_vint,
)
from cassandra.testing.errors import InvalidRequest

# ---- names and quoting

RESERVED = frozenset(
    [
        "add",
        "allow",
        "alter",
        "and",
        "apply",
        "asc",
        "authorize",
        "batch",
        "begin",
        "by",
        "columnfamily",
        "create",
        "delete",
        "desc",
        "describe",
        "drop",
        "entries",
        "execute",
        "from",
        "full",
        "grant",
        "if",
        "in",
        "index",
        "infinity",
        "insert",
        "into",
        "is",
        "keyspace",
        "limit",
        "materialized",
        "modify",
        "nan",
        "norecursive",
        "not",
        "null",
        "of",
        "on",
        "or",
        "order",
        "primary",
        "rename",
        "replace",
        "revoke",
        "schema",
        "select",
        "set",
        "table",
        "to",
        "token",
        "truncate",
        "unlogged",
        "update",
        "use",
        "using",
        "view",
        "where",
        "with",
    ]
)
_PLAIN = re.compile(r"[a-z][a-z0-9_]*$")


def quote(name: str) -> str:
    """Return *name*, quoted if CQL requires it."""
    if _PLAIN.match(name) and name not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


# ---- types and values

Value = Any
MARSHAL: Final = "org.apache.cassandra.db.marshal."


class Empty:
    """The value of zero bytes."""

    def __repr__(self) -> str:
        return "EMPTY"


EMPTY: Final = Empty()


class Kept:
    """Mixin of values with other bytes than their encoding: ``0001`` for the varint 1."""

    raw: bytes


class KeptInt(Kept, int):
    pass


class Real(float):
    """A floating point number with the equality of servers: NaN equals NaN, 0.0 does not equal -0.0."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and _real_order(self) == _real_order(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_real_order(self))


class KeptFloat(Kept, Real):
    pass


class KeptDecimal(Kept, Decimal):
    pass


class KeptTuple(Kept, tuple[Any, ...]):
    pass


_KEPT: Final[dict[type, type[Any]]] = {
    bool: KeptInt, int: KeptInt, Real: KeptFloat, Decimal: KeptDecimal, tuple: KeptTuple,
}  # fmt: skip


def keep(value: Value, data: bytes) -> Value:
    """Return *value* with *data* as its bytes."""
    made = _KEPT[type(value)](value)
    made.raw = data
    return made


class CqlType:
    """A type; equal types are interchangeable."""

    multicell: bool = False

    @property
    def cql(self) -> str:
        """The type in CQL."""
        raise NotImplementedError

    @property
    def marshal(self) -> str:
        """The type as a Java class name."""
        raise NotImplementedError

    def option(self, version: int) -> bytes:
        """Return the type as result metadata describe it."""
        raise NotImplementedError

    def encode(self, value: Value) -> bytes:
        raise NotImplementedError

    def decode(self, data: bytes) -> Value:
        """Decode *data*. Raise InvalidRequest for bytes that are not a value of this type."""
        raise NotImplementedError

    def order(self, value: Value) -> Any:
        """Return a key that sorts as the server sorts."""
        return value

    def frozen(self) -> CqlType:
        return self

    @property
    def parts(self) -> tuple[CqlType, ...]:
        """The types inside."""
        return ()


@dataclass(frozen=True)
class Scalar(CqlType):
    """A type without parameters."""

    name: str
    number: int
    java: str
    since: int = 3  # the first protocol version that has a number for it
    pack: Callable[[Any], bytes] = field(default=bytes, compare=False, repr=False)
    unpack: Callable[[bytes], Any] = field(default=bytes, compare=False, repr=False)
    sort: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)
    empty: bool = True  # True if zero bytes are EMPTY

    @property
    def cql(self) -> str:
        return self.name

    @property
    def marshal(self) -> str:
        return MARSHAL + self.java

    def option(self, version: int) -> bytes:
        if version < self.since:
            return wire.short(0) + wire.string(self.marshal)
        return wire.short(self.number)

    def encode(self, value: Value) -> bytes:
        if value is EMPTY:
            return b""
        if isinstance(value, Kept):
            return value.raw
        try:
            return self.pack(value)
        except struct.error:
            raise InvalidRequest(f"{value} is out of range for {self.name}") from None

    def decode(self, data: bytes) -> Value:
        if not data and self.empty:
            return EMPTY
        try:
            value = self.unpack(data)
        except (struct.error, ValueError) as error:
            raise InvalidRequest(f"Not a {self.name}: {data.hex() or 'no bytes'} ({error})") from None
        return value if self.pack(value) == data else keep(value, data)

    def order(self, value: Value) -> Any:
        if value is EMPTY:
            return (0,)
        return (1, self.sort(value) if self.sort else value)


def _fixed(
    name: str,
    number: int,
    java: str,
    layout: str,
    since: int = 3,
    sort: Callable[[Any], Any] | None = None,
    empty: bool = True,
) -> Scalar:
    packer = struct.Struct(layout)
    return Scalar(name, number, java, since, packer.pack, lambda data: packer.unpack(data)[0], sort, empty)


def _real(name: str, number: int, java: str, layout: str) -> Scalar:
    packer = struct.Struct(layout)
    return Scalar(name, number, java, 3, packer.pack, lambda data: Real(packer.unpack(data)[0]), _real_order)


def _timeuuid_order(value: UUID) -> tuple[int, bytes]:
    """Return a sort key: by time, then by the other bytes as signed ones."""
    return value.time, bytes(byte ^ 0x80 for byte in value.bytes[8:])


def _uuid_order(value: UUID) -> tuple[int, int, bytes]:
    version = uuid_version(value)
    return version, value.time if version == 1 else 0, value.bytes


def uuid_version(value: UUID) -> int:
    """Return the version, independently of the variant, which maxTimeuuid() changes."""
    return value.int >> 76 & 0xF


def _unpack_timeuuid(data: bytes) -> UUID:
    value = UUID(bytes=data)
    if uuid_version(value) != 1:
        raise ValueError("its version is not 1")
    return value


def _unpack_time(data: bytes) -> int:
    value: int = struct.unpack(">q", data)[0]
    return value


def _unpack_inet(data: bytes) -> bytes:
    if len(data) not in (4, 16):
        raise ValueError("4 or 16 bytes")
    return data


def _encode_ascii(value: str) -> bytes:
    if not value.isascii():
        raise InvalidRequest(f"Invalid ASCII character in string literal: {value!r}")
    return value.encode()


def _encode_text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


#: UTF-8 as Cassandra accepts it: surrogates, 0 in two bytes, and numbers above the last code point, too.
_UTF8 = re.compile(
    rb"(?:[\x00-\x7f]|\xc0\x80|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf7][\x80-\xbf]{3})*"
)


def _decode_text(data: bytes) -> str:
    if _UTF8.fullmatch(data) is None:
        raise ValueError("not UTF-8")
    return data.decode("utf-8", "surrogateescape")


def _real_order(value: float) -> tuple[bool, float, float]:
    """Return a sort key: -0.0 is less than 0.0, all NaNs are equal and greater than numbers."""
    return (True, 0.0, 0.0) if math.isnan(value) else (False, float(value), math.copysign(1.0, value))


def _unpack_part(kind: CqlType, data: bytes) -> Value:
    """Decode an element of a set, or a key of a map, which must be comparable."""
    if kind == DECIMAL and len(data) == 4:
        raise InvalidRequest("Not a comparable decimal: it has no digits")
    return kind.decode(data)


ASCII = Scalar("ascii", 0x01, "AsciiType", 3, _encode_ascii, lambda data: data.decode("ascii"), empty=False)
BIGINT = _fixed("bigint", 0x02, "LongType", ">q")
BLOB = Scalar("blob", 0x03, "BytesType", empty=False)
BOOLEAN = _fixed("boolean", 0x04, "BooleanType", ">?")
COUNTER = _fixed("counter", 0x05, "CounterColumnType", ">q")
DECIMAL = Scalar("decimal", 0x06, "DecimalType", 3, pack_decimal, unpack_decimal)
DOUBLE = _real("double", 0x07, "DoubleType", ">d")
FLOAT = _real("float", 0x08, "FloatType", ">f")
INT = _fixed("int", 0x09, "Int32Type", ">i")
TIMESTAMP = _fixed("timestamp", 0x0B, "TimestampType", ">q")
UUID_ = Scalar("uuid", 0x0C, "UUIDType", 3, lambda value: value.bytes, lambda data: UUID(bytes=data), _uuid_order)
TEXT = Scalar("text", 0x0D, "UTF8Type", 3, _encode_text, _decode_text, _encode_text, empty=False)
VARINT = Scalar("varint", 0x0E, "IntegerType", 3, pack_varint, unpack_varint)
TIMEUUID = Scalar("timeuuid", 0x0F, "TimeUUIDType", 3, lambda value: value.bytes, _unpack_timeuuid, _timeuuid_order)
INET = Scalar("inet", 0x10, "InetAddressType", 3, bytes, _unpack_inet)
DATE = _fixed("date", 0x11, "SimpleDateType", ">I", 4, empty=False)
TIME = Scalar("time", 0x12, "TimeType", 4, struct.Struct(">q").pack, _unpack_time, empty=False)
SMALLINT = _fixed("smallint", 0x13, "ShortType", ">h", 4, empty=False)
TINYINT = _fixed("tinyint", 0x14, "ByteType", ">b", 4, empty=False)
DURATION = Scalar("duration", 0x15, "DurationType", 5, pack_duration, unpack_duration, empty=False)

SCALARS: Final = {
    kind.name: kind
    for kind in (
        ASCII, BIGINT, BLOB, BOOLEAN, COUNTER, DECIMAL, DOUBLE, FLOAT, INT, TIMESTAMP, UUID_, TEXT, VARINT, TIMEUUID,
        INET, DATE, TIME, SMALLINT, TINYINT, DURATION,
    )
} | {"varchar": TEXT}  # fmt: skip
WHOLE: Final = {TINYINT, SMALLINT, INT, BIGINT, VARINT, COUNTER}
NUMBERS: Final = WHOLE | {FLOAT, DOUBLE, DECIMAL}
FIXED_SIZE: Final = {
    BOOLEAN: 1, TIMESTAMP: 8, BIGINT: 8, DOUBLE: 8, FLOAT: 4, INT: 4, UUID_: 16, TIMEUUID: 16,
}  # fmt: skip


class _Elements:
    """Reads the [bytes] of a collection or tuple."""

    def __init__(self, kind: str, data: bytes) -> None:
        self.kind, self.data, self.at = kind, data, 0

    def count(self) -> int:
        number = self._int()
        if not 0 <= number <= len(self.data):
            raise InvalidRequest(f"Not a {self.kind}: {number} elements in {len(self.data)} bytes")
        return number

    def next(self, kind: CqlType, decode: Callable[[CqlType, bytes], Value] | None = None) -> Value:
        length = self._int()
        if length < 0:
            return None
        if self.at + length > len(self.data):
            raise InvalidRequest(f"Not a {self.kind}: it ends within an element")
        self.at += length
        data = self.data[self.at - length : self.at]
        return kind.decode(data) if decode is None else decode(kind, data)

    def present(self, kind: CqlType, decode: Callable[[CqlType, bytes], Value] | None = None) -> Value:
        value = self.next(kind, decode)
        if value is None:
            raise InvalidRequest("null is not supported inside collections")
        return value

    def end(self) -> None:
        if self.at != len(self.data):
            raise InvalidRequest(f"Not a {self.kind}: {len(self.data) - self.at} bytes are left")

    def _int(self) -> int:
        if self.at + 4 > len(self.data):
            raise InvalidRequest(f"Not a {self.kind}: it ends within a length")
        self.at += 4
        return int.from_bytes(self.data[self.at - 4 : self.at], "big", signed=True)


def _element(kind: CqlType, value: Value) -> bytes:
    return wire.bytes_(None if value is None else kind.encode(value))


def _elements(kinds: tuple[CqlType, ...], values: Sequence[Value]) -> bytes:
    return b"".join(_element(kind, item) for kind, item in zip(kinds, values, strict=False))


def _decode_parts(kind: CqlType, data: bytes) -> list[Value]:
    """Return the elements of a tuple, or the fields of a user-defined type, that are present."""
    reader = _Elements(kind.cql, data)
    items: list[Value] = []
    for part in kind.parts:
        if reader.at == len(data):
            break
        items.append(reader.next(part))
    if reader.at != len(data):
        raise InvalidRequest(f"Expected {len(kind.parts)} elements for type {kind.cql}, but got more")
    return items


def _tuple_order(kinds: tuple[CqlType, ...], value: tuple[Value, ...]) -> tuple[Any, ...]:
    return tuple((0,) if v is None else (1, k.order(v)) for k, v in zip(kinds, value, strict=False))


@dataclass(frozen=True)
class Collection(CqlType):
    """``list``, ``set`` or ``map``."""

    name: str
    arguments: tuple[CqlType, ...]
    multicell: bool = True

    @property
    def parts(self) -> tuple[CqlType, ...]:
        return self.arguments

    @property
    def cql(self) -> str:
        inner = f"{self.name}<{', '.join(part.cql for part in self.arguments)}>"
        return inner if self.multicell else f"frozen<{inner}>"

    @property
    def marshal(self) -> str:
        inner = f"{MARSHAL}{self.name.title()}Type({','.join(part.marshal for part in self.arguments)})"
        return inner if self.multicell else f"{MARSHAL}FrozenType({inner})"

    def option(self, version: int) -> bytes:
        number = {"list": 0x20, "map": 0x21, "set": 0x22}[self.name]
        return wire.short(number) + b"".join(part.option(version) for part in self.arguments)

    def frozen(self) -> Collection:
        return Collection(self.name, tuple(part.frozen() for part in self.arguments), False)

    def encode(self, value: Value) -> bytes:
        if self.name == "map":
            key, item = self.arguments
            return wire.int32(len(value)) + b"".join(_element(key, k) + _element(item, v) for k, v in value)
        return wire.int32(len(value)) + b"".join(_element(self.arguments[0], item) for item in value)

    def decode(self, data: bytes) -> Value:
        reader = _Elements(self.cql, data)
        count = reader.count()
        if self.name == "map":
            key, item = self.arguments
            value = self.normal([(reader.present(key, _unpack_part), reader.present(item)) for _ in range(count)])
        elif self.name == "list" and not self.multicell:
            # a frozen list may have nulls; zero bytes are null, too, where they are not a value
            items = [reader.next(self.arguments[0]) for _ in range(count)]
            value = self.normal([None if item is EMPTY else item for item in items])
        else:
            items = [reader.present(self.arguments[0], _unpack_part) for _ in range(count)]
            if self.name == "list" and EMPTY in items:
                raise InvalidRequest("null is not supported inside collections")
            value = self.normal(items)
        reader.end()
        return value

    def normal(self, items: list[Value]) -> tuple[Value, ...]:
        """Return sets and maps sorted, without duplicates: the first of equal keys, with the last value."""
        if self.name == "list":
            return tuple(items)
        order = self.arguments[0].order
        if self.name == "set":
            first: dict[Any, Value] = {}
            for item in items:
                first.setdefault(order(item), item)
            return tuple([first[key] for key in sorted(first)])
        found: dict[Any, tuple[Value, Value]] = {}
        for key, value in items:
            same = found.get(order(key))
            found[order(key)] = (key if same is None else same[0], value)
        return tuple([found[key] for key in sorted(found)])

    def order(self, value: Value) -> Any:
        if self.name == "map":
            return tuple((self.arguments[0].order(k), self.arguments[1].order(v)) for k, v in value)
        return _tuple_order(self.arguments * len(value), value)


@dataclass(frozen=True)
class Tuple(CqlType):
    """``tuple<...>``; always frozen."""

    arguments: tuple[CqlType, ...]

    @property
    def parts(self) -> tuple[CqlType, ...]:
        return self.arguments

    @property
    def cql(self) -> str:
        return f"frozen<tuple<{', '.join(part.cql for part in self.arguments)}>>"

    @property
    def marshal(self) -> str:
        return f"{MARSHAL}TupleType({','.join(part.marshal for part in self.arguments)})"

    def option(self, version: int) -> bytes:
        types = b"".join(part.option(version) for part in self.arguments)
        return wire.short(0x31) + wire.short(len(self.arguments)) + types

    def encode(self, value: Value) -> bytes:
        return value.raw if isinstance(value, Kept) else _elements(self.arguments, value)

    def decode(self, data: bytes) -> Value:
        items = _decode_parts(self, data)
        value = tuple(items) + (None,) * (len(self.arguments) - len(items))
        return value if self.encode(value) == data else keep(value, data)

    def order(self, value: Value) -> Any:
        return _tuple_order(self.arguments, value)


@dataclass(eq=False)
class UserType:
    """A user-defined type; ALTER TYPE changes it in place, for every column that uses it."""

    keyspace: str  #: Name of the keyspace.
    name: str
    fields: dict[str, CqlType]


@dataclass(frozen=True)
class Udt(CqlType):
    """A user-defined type of a column."""

    definition: UserType
    multicell: bool = True

    @property
    def parts(self) -> tuple[CqlType, ...]:
        return tuple(self.definition.fields.values())

    @property
    def cql(self) -> str:
        name = quote(self.definition.name)
        return name if self.multicell else f"frozen<{name}>"

    @property
    def marshal(self) -> str:
        fields = ",".join(f"{name.encode().hex()}:{kind.marshal}" for name, kind in self.definition.fields.items())
        head = f"{self.definition.keyspace},{self.definition.name.encode().hex()}"
        inner = f"{MARSHAL}UserType({head},{fields})"
        return inner if self.multicell else f"{MARSHAL}FrozenType({inner})"

    def option(self, version: int) -> bytes:
        owner = self.definition
        fields = b"".join(wire.string(name) + kind.option(version) for name, kind in owner.fields.items())
        head = wire.string(owner.keyspace) + wire.string(owner.name) + wire.short(len(owner.fields))
        return wire.short(0x30) + head + fields

    def frozen(self) -> Udt:
        return Udt(self.definition, False)

    def encode(self, value: Value) -> bytes:
        return value.raw if isinstance(value, Kept) else _elements(self.parts, value)

    def decode(self, data: bytes) -> Value:
        """Decode the fields; fields that are missing at the end stay missing."""
        items, parts = _decode_parts(self, data), self.parts
        value = tuple(items) + (None,) * (len(parts) - len(items))
        return value if len(items) == len(parts) else keep(value, _elements(parts, items))

    def order(self, value: Value) -> Any:
        return _tuple_order(self.parts, value)


@dataclass(frozen=True)
class Vector(CqlType):
    """``vector<type, n>``; a custom type on the wire."""

    element: CqlType
    size: int

    @property
    def parts(self) -> tuple[CqlType, ...]:
        return (self.element,)

    @property
    def cql(self) -> str:
        return f"vector<{self.element.cql}, {self.size}>"

    @property
    def marshal(self) -> str:
        return f"{MARSHAL}VectorType({self.element.marshal}, {self.size})"

    def option(self, version: int) -> bytes:
        return wire.short(0) + wire.string(self.marshal)

    def _width(self) -> int | None:
        return FIXED_SIZE.get(self.element) if isinstance(self.element, Scalar) else None

    def encode(self, value: Value) -> bytes:
        if isinstance(value, Kept):
            return value.raw
        parts = [self.element.encode(item) for item in value]
        if self._width() is None:
            parts = [unsigned_vint(len(part)) + part for part in parts]
        return b"".join(parts)

    def decode(self, data: bytes) -> Value:
        width, at = self._width(), 0
        items: list[Value] = []
        try:
            for _ in range(self.size):
                if width is not None:
                    size = width
                else:  # minimal bytes of the length, even if it was encoded in more
                    size, _ = read_unsigned_vint(data, at)
                    at += len(unsigned_vint(size))
                if at + size > len(data):
                    raise ValueError("too short")
                items.append(self.element.decode(data[at : at + size]))
                at += size
        except ValueError as error:
            raise InvalidRequest(f"Not a {self.cql}: {error}") from None
        if at != len(data):
            raise InvalidRequest(f"Not a {self.cql}: {len(data) - at} bytes are left")
        found = tuple(items)
        return found if self.encode(found) == data else keep(found, data)

    def order(self, value: Value) -> Any:
        return tuple(self.element.order(item) for item in value)


def uses(kind: CqlType, definition: UserType) -> bool:
    """True if *definition* occurs in *kind*."""
    return (isinstance(kind, Udt) and kind.definition is definition) or any(
        uses(part, definition) for part in kind.parts
    )
