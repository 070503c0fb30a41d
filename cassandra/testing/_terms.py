"""Terms of a known type, compiled to functions of an environment: constants, native functions, collections.

Native functions are for terms and for selections.
"""

from __future__ import annotations

import calendar
import ipaddress
import math
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from cassandra.testing import _types as types
from cassandra.testing._ast import (
    Call,
    Hint,
    ListLiteral,
    Literal,
    MapLiteral,
    Marker,
    Name,
    SetLiteral,
    TupleLiteral,
)
from cassandra.testing._plan import Env, Scope, Term, required
from cassandra.testing._topology import token_of
from cassandra.testing._types import BIGINT, EMPTY, Collection, CqlType, Scalar, Tuple, Udt, Value, Vector
from cassandra.testing._wire import UNSET
from cassandra.testing.errors import InvalidRequest, NotSupported, SyntaxError

# ---- constants of a type

EPOCH = date(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)
MOST = (1 << 31) - 1
_TIMESTAMP = re.compile(
    r"(\d{1,4})-(\d\d?)-(\d\d?)[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d{1,9}))?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)?", re.ASCII
)  # fmt: skip
_DATE_TEXT = re.compile(r"(\d{4}|-\d{4,9}|\+\d{5,9})-(\d\d)-(\d\d)(?:Z|UTC|GMT|([+-]\d\d:?\d\d|[+-]\d\d))?", re.ASCII)
_UNSIGNED = re.compile(r"\d+|-0+", re.ASCII)
_TIME = re.compile(r"(\d+):(\d\d?):(\d\d?)(?:\.(\d{1,9}))?", re.ASCII)
_DURATION = re.compile(r"(\d+)(mo|ms|us|µs|ns|y|w|d|h|m|s)", re.ASCII)
_ISO_DURATION = re.compile(
    r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE | re.ASCII
)
_PERIOD = re.compile(r"P(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)", re.IGNORECASE | re.ASCII)
_UNITS = ("y", "mo", "w", "d", "h", "m", "s", "ms", "us", "ns")
_MONTHS = {"y": 12, "mo": 1}
_DAYS = {"w": 7, "d": 1}
_NANOS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 10**9, "ms": 10**6, "us": 1000, "µs": 1000, "ns": 1}
RANGES = {
    types.TINYINT: 7, types.SMALLINT: 15, types.INT: 31, types.BIGINT: 63, types.COUNTER: 63, types.TIMESTAMP: 63,
}  # fmt: skip


def constant(kind: str, text: str, target: CqlType, name: str) -> Value:
    """Return the value of a literal of *kind* for a column *name* of type *target*; raise InvalidRequest."""
    if kind == "float" and text[-1:] not in "yYnN" and _is_out_of_range(text):  # Infinity and NaN are words
        raise SyntaxError(f"Failed parsing statement: the number {text} is out of range")
    reader = _READERS.get(kind, {}).get(target)
    if reader is None:
        raise InvalidRequest(f'Invalid {kind.upper()} constant ({text}) for "{name}" of type {target.cql}')
    try:
        value = reader(text)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise InvalidRequest(f"Unable to make {target.cql} from '{text}' for {name}: {error}") from None
    bits = RANGES.get(target) if isinstance(target, types.Scalar) else None
    if bits is not None and value is not types.EMPTY and not -(1 << bits) <= value < 1 << bits:
        raise InvalidRequest(f"Unable to make {target.cql} from '{text}' for {name}: out of range")
    return value


def _is_out_of_range(text: str) -> bool:
    """True if a number is out of the range of a double, or its exponent of an int."""
    return math.isinf(float(text)) or abs(int(re.split("[eE]", text)[-1] if "e" in text.lower() else 0)) > MOST


def parse_timestamp(text: str) -> Value:
    """Return milliseconds."""
    if not text:
        return types.EMPTY
    if re.fullmatch(r"-?\d+", text, re.ASCII):
        return int(text)
    if text == "now":
        raise NotSupported("the moment 'now'")
    if match := _DATE_TEXT.fullmatch(text):
        days = _days(match[1], match[2], match[3], clamp=True)
        return days * 86_400_000 - _offset(match[4]) // MILLISECOND
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError("invalid date")
    hour, minute, second = (int(part or 0) for part in match.groups()[3:6])
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and (minute or second or int(match[7] or 0))):
        raise ValueError("invalid time of day")
    days = _days(match[1], match[2], match[3], clamp=True)
    found = ((days * 24 + hour) * 60 + minute) * 60 + second
    return found * 1000 - _offset(match[8]) // MILLISECOND + int((match[7] or "0").ljust(3, "0")[:3])


def _days(year: str, month: str, day: str, clamp: bool = False) -> int:
    """Return days since 1970-01-01. Python's calendar has the years 1 to 9999; the calendar repeats after 400 years.
    *clamp*: the 31st of a shorter month is its last day."""
    y, m, d = int(year), int(month), int(day)
    if year == "-0000":
        raise ValueError("invalid year")
    ages = (y - 1) // 400
    if clamp and 1 <= m <= 12 and d <= 31:
        d = min(d, calendar.monthrange(y - 400 * ages, m)[1])
    return (date(y - 400 * ages, m, d) - EPOCH).days + ages * 146097


def _offset(text: str | None) -> timedelta:
    if not text or text[0] not in "+-":
        return timedelta()
    digits = text[1:].replace(":", "").ljust(4, "0")
    found = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    if int(digits[2:]) > 59 or found > timedelta(hours=18):
        raise ValueError("invalid offset")
    return -found if text[0] == "-" else found


def parse_date(text: str) -> int:
    match = _DATE_TEXT.fullmatch(text)
    if match is None or not text[-1:].isdecimal() or match[4]:
        if not _UNSIGNED.fullmatch(text):
            raise ValueError("invalid date")
        value = int(text)
    else:
        value = _days(match[1], match[2], match[3]) + (1 << 31)
    if not 0 <= value < 1 << 32:
        raise ValueError("out of range")
    return value


def parse_time(text: str) -> int:
    if _UNSIGNED.fullmatch(text):
        value = int(text)
        if value >= 86_400 * 10**9:
            raise ValueError("out of range")
        return value
    match = _TIME.fullmatch(text)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) > 59:
        raise ValueError("invalid time of day")
    seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    return seconds * 10**9 + int((match[4] or "0").ljust(9, "0"))


def parse_inet(text: str) -> Value:
    """Parse numeric addresses as Java's InetAddress does; names are not resolved."""
    if not text:
        return types.EMPTY
    if re.fullmatch(r"\d+(?:\.\d+){0,3}", text, re.ASCII):
        *heads, last = map(int, text.split("."))
        width = 4 - len(heads)
        return bytes(heads) + last.to_bytes(width, "big")
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    address = ipaddress.IPv6Address(text)
    mapped = address.ipv4_mapped
    return address.packed if mapped is None else mapped.packed


def parse_duration(text: str) -> tuple[int, int, int]:
    negative = text.startswith("-")
    body = text.removeprefix("-")
    months = days = nanos = 0
    if match := _PERIOD.fullmatch(body):
        y, mo, d, h, m, s = (int(part) for part in match.groups())
        months, days, nanos = 12 * y + mo, d, ((h * 60 + m) * 60 + s) * 10**9
    elif body[:1] in ("P", "p"):
        match = _ISO_DURATION.fullmatch(body)
        if match is None:
            raise ValueError("invalid duration")
        y, mo, w, d, h, m, s = (int(part or 0) for part in match.groups())
        months, days, nanos = 12 * y + mo, 7 * w + d, ((h * 60 + m) * 60 + s) * 10**9
    else:
        body = body.lower()
        if not _DURATION.match(body) or _DURATION.sub("", body):
            raise ValueError("invalid duration")
        parts = [(number, unit.replace("µs", "us")) for number, unit in _DURATION.findall(body)]
        places = [_UNITS.index(unit) for _, unit in parts]
        if sorted(set(places)) != places:
            raise ValueError("Invalid duration. Each unit may occur once, in descending order")
        for number, unit in parts:
            months += int(number) * _MONTHS.get(unit, 0)
            days += int(number) * _DAYS.get(unit, 0)
            nanos += int(number) * _NANOS.get(unit, 0)
    if months > MOST or days > MOST or nanos >= 1 << 63:
        raise ValueError("Invalid duration. The total number of months, days or nanoseconds is out of range")
    sign = -1 if negative else 1
    return sign * months, sign * days, sign * nanos


def _blob(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def _ascii(text: str) -> str:
    if not text.isascii():
        raise ValueError("not ASCII")
    return text


def _timeuuid(text: str) -> UUID:
    value = UUID(text)
    if types.uuid_version(value) != 1:
        raise ValueError("not a version 1 UUID")
    return value


def _double(text: str) -> float:
    value = types.Real(text)
    return types.Real(math.nan) if math.isnan(value) else value  # a NaN has no sign


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError("not a number")
    return value


def _single(text: str) -> float:
    number = _double(text)
    try:
        return types.Real(struct.unpack(">f", struct.pack(">f", number))[0])
    except OverflowError:
        return types.Real(math.copysign(math.inf, number))


_WHOLE: dict[CqlType, Callable[[str], Any]] = dict.fromkeys(types.WHOLE, int)
_REAL: dict[CqlType, Callable[[str], Any]] = {types.FLOAT: _single, types.DOUBLE: _double, types.DECIMAL: _decimal}
_TIMES: dict[CqlType, Callable[[str], Any]] = {
    types.TIMESTAMP: parse_timestamp, types.DATE: parse_date, types.TIME: parse_time,
}  # fmt: skip
_READERS: dict[str, dict[CqlType, Callable[[str], Any]]] = {
    "string": {types.TEXT: str, types.ASCII: _ascii, types.INET: parse_inet, **_TIMES},
    "integer": {**_WHOLE, **_REAL, types.TIMESTAMP: int, types.DATE: parse_date, types.TIME: parse_time},
    "float": _REAL,
    "uuid": {types.UUID_: UUID, types.TIMEUUID: _timeuuid},
    "blob": {types.BLOB: _blob},
    "boolean": {types.BOOLEAN: lambda text: text == "true"},
    "duration": {types.DURATION: parse_duration},
}


# ---- native functions

UUID_EPOCH = 122192928000000000  # 1970-01-01 in 100 ns since 1582-10-15
DAY = 86_400_000
MIN_CLOCK, MAX_CLOCK = 0x8080808080808080, 0x7F7F7F7F7F7F7F7F


@dataclass(frozen=True)
class Function:
    """One signature; *run* is called with values that are not null."""

    parameters: tuple[CqlType, ...]
    returns: CqlType
    run: Callable[..., Any]  # (env, *values)


def milliseconds_of(value: UUID) -> int:
    return (value.time - UUID_EPOCH) // 10000


def _timeuuid_at(clock: int) -> Callable[[Env, int], UUID]:
    def make(env: Env, milliseconds: int) -> UUID:
        ticks = milliseconds * 10000 + UUID_EPOCH + (9999 if clock == MAX_CLOCK else 0)
        low, mid, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0x0FFF | 0x1000
        return UUID(int=(low << 96 | mid << 80 | high << 64 | clock))

    return make


def _day_of(milliseconds: int) -> int:
    return milliseconds // DAY + (1 << 31)


_TS, _UUID, _DATE, _BIG = types.TIMESTAMP, types.TIMEUUID, types.DATE, types.BIGINT
FUNCTIONS: dict[str, list[Function]] = {
    "now": [Function((), _UUID, lambda env: env.new_timeuuid())],
    "currenttimeuuid": [Function((), _UUID, lambda env: env.new_timeuuid())],
    "uuid": [Function((), types.UUID_, lambda env: env.new_uuid())],
    "currenttimestamp": [Function((), _TS, lambda env: env.now)],
    "currentdate": [Function((), _DATE, lambda env: _day_of(env.now))],
    "currenttime": [Function((), types.TIME, lambda env: env.now % DAY * 10**6)],
    "totimestamp": [
        Function((_UUID,), _TS, lambda env, value: milliseconds_of(value)),
        Function((_DATE,), _TS, lambda env, value: (value - (1 << 31)) * DAY),
    ],
    "todate": [
        Function((_UUID,), _DATE, lambda env, value: _day_of(milliseconds_of(value))),
        Function((_TS,), _DATE, lambda env, value: _day_of(value)),
    ],
    "tounixtimestamp": [
        Function((_UUID,), _BIG, lambda env, value: milliseconds_of(value)),
        Function((_TS,), _BIG, lambda env, value: value),
        Function((_DATE,), _BIG, lambda env, value: (value - (1 << 31)) * DAY),
    ],
    "mintimeuuid": [Function((_TS,), _UUID, _timeuuid_at(MIN_CLOCK))],
    "maxtimeuuid": [Function((_TS,), _UUID, _timeuuid_at(MAX_CLOCK))],
    "dateof": [Function((_UUID,), _TS, lambda env, value: milliseconds_of(value))],
    "unixtimestampof": [Function((_UUID,), _BIG, lambda env, value: milliseconds_of(value))],
}
for _kind in set(types.SCALARS.values()) - {types.BLOB, types.COUNTER}:
    _encode, _decode = _kind.encode, _kind.decode
    for _name in (f"{_kind.name}asblob", f"{_kind.name}_as_blob"):
        FUNCTIONS[_name] = [Function((_kind,), types.BLOB, lambda env, value, encode=_encode: encode(value))]
    for _name in (f"blobas{_kind.name}", f"blob_as_{_kind.name}"):
        FUNCTIONS[_name] = [Function((types.BLOB,), _kind, lambda env, value, decode=_decode: decode(value))]
_SNAKE = {
    "current_timestamp": "currenttimestamp", "current_timeuuid": "currenttimeuuid", "current_date": "currentdate",
    "current_time": "currenttime", "to_timestamp": "totimestamp", "to_date": "todate", "min_timeuuid": "mintimeuuid",
    "to_unix_timestamp": "tounixtimestamp", "max_timeuuid": "maxtimeuuid",
}  # fmt: skip


def find(name: str, arguments: Sequence[CqlType | None]) -> Function:
    """Return the function *name* for arguments of these types (None: not known yet)."""
    name = _SNAKE.get(name, name)
    if name not in FUNCTIONS:
        raise NotSupported(f"function {name}()")
    for function in FUNCTIONS[name]:
        if len(function.parameters) == len(arguments) and all(
            given in (None, wanted) for given, wanted in zip(arguments, function.parameters, strict=True)
        ):
            return function
    given = ", ".join(kind.cql if kind else "?" for kind in arguments)
    raise InvalidRequest(f"Invalid call to function {name}, none of its type signatures match ({given})")


# ---- CAST


def cast(source: CqlType, target: CqlType) -> Callable[[Value], Value]:
    """Return a function that converts a value of one type to another; raise InvalidRequest if it cannot be
    converted."""
    if source == target:
        return lambda value: value
    if source in types.NUMBERS and target in types.NUMBERS - {types.COUNTER}:
        return lambda value: _number(value, target)
    if target in (types.TEXT, types.ASCII):
        return lambda value: text_of(source, value)
    if target in (types.TIMESTAMP, types.DATE) and source in (types.TIMESTAMP, types.DATE, types.TIMEUUID):
        run = find("totimestamp" if target is types.TIMESTAMP else "todate", [source]).run
        return lambda value: run(Env(), value)
    raise InvalidRequest(f"{source.cql} cannot be cast to {target.cql}")


def _number(value: Any, target: CqlType) -> Value:
    if target is types.DECIMAL:
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if target in (types.FLOAT, types.DOUBLE):
        converted = float(value)
        return types.FLOAT.decode(types.FLOAT.encode(converted)) if target is types.FLOAT else converted
    if isinstance(value, float):  # as in Java: to the nearest end of the range
        limit = 63 if target in (types.BIGINT, types.VARINT) else 31
        value = 0 if value != value else min(max(value, -float(1 << limit)), float(1 << limit))
        value = min(int(value), (1 << limit) - 1)
    whole = int(value)
    bits = {types.TINYINT: 8, types.SMALLINT: 16, types.INT: 32, types.BIGINT: 64}.get(target)  # type: ignore[call-overload]
    if bits is None:
        return whole
    whole &= (1 << bits) - 1
    return whole - (1 << bits) if whole >> (bits - 1) else whole


def text_of(kind: CqlType, value: Any) -> str:
    """Return a value as CAST to text shows it."""
    if kind in (types.TEXT, types.ASCII):
        return str(value)
    if kind is types.BOOLEAN:
        return str(value).lower()
    if kind in types.WHOLE or kind in (types.UUID_, types.TIMEUUID):
        return str(value)
    if kind is types.INET:
        return str(ipaddress.ip_address(value))
    if kind in (types.DATE, types.TIMESTAMP):
        try:
            return _moment_text(kind, value)
        except OverflowError:
            raise NotSupported("CAST of dates before the year 1 or after 9999") from None
    raise NotSupported(f"CAST({kind.cql} AS text)")


def _moment_text(kind: CqlType, value: int) -> str:
    if kind is types.DATE:
        return (EPOCH + timedelta(days=value - (1 << 31))).isoformat()
    moment = datetime.combine(EPOCH, time()) + timedelta(milliseconds=value)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value % 1000:03d}Z"


# ---- compiled terms


def compile_term(term: Any, kind: CqlType, name: str, scope: Scope) -> Term:
    """Return a function that returns the value of *term*, for a column *name* of type *kind*."""
    if isinstance(term, Marker):
        return scope.marker(term.index, name, kind)
    if isinstance(term, Literal):
        value = None if term.kind == "null" else constant(term.kind, term.text, kind, name)
        return lambda env: value
    if isinstance(term, Call):
        return _call(term, kind, name, scope)
    if isinstance(term, Hint):
        hinted = scope.schema.type_(term.kind, scope.keyspace or "")
        if hinted.frozen() != kind.frozen():
            raise InvalidRequest(f"Cannot assign value of type {hinted.cql} to {name} of type {kind.cql}")
        return compile_term(term.term, hinted, name, scope)
    return _literal(term, kind, name, scope)


def _call(term: Call, kind: CqlType, name: str, scope: Scope) -> Term:
    if term.name == "token":
        if kind is not BIGINT:
            raise InvalidRequest(f"token() is a bigint, but {name} is a {kind.cql}")
        return compile_token(term, scope)
    given = [find(part.name, [None] * len(part.arguments)).returns if isinstance(part, Call) else None
             for part in term.arguments]  # fmt: skip
    function = find(term.name, given)
    if function.returns != kind:
        message = f"Type error: cannot assign result of function system.{term.name} (type {function.returns.cql}) to"
        raise InvalidRequest(f"{message} {name} (type {kind.cql})")
    arguments = [
        compile_term(part, wanted, f"arg{n}(system.{term.name})", scope)
        for n, (part, wanted) in enumerate(zip(term.arguments, function.parameters, strict=True))
    ]

    def value(env: Env) -> Any:
        values = [argument(env) for argument in arguments]
        return None if any(item in (None, UNSET, EMPTY) for item in values) else function.run(env, *values)

    return value


def compile_token(term: Call, scope: Scope) -> Term:
    """Compile ``token(1, 2)`` with the values of a partition key."""
    table = scope.table
    assert table is not None
    columns = table.partition_key
    if len(term.arguments) != len(columns):
        raise InvalidRequest(f"token() takes the {len(columns)} columns of the partition key")
    parts = [
        compile_term(part, column.type, f"partition key token({column.name})", scope)
        for part, column in zip(term.arguments, columns, strict=True)
    ]

    def value(env: Env) -> int:
        return token_of(table.partition_bytes(tuple(required(part(env), "token()") for part in parts)))

    return value


def _literal(term: Any, kind: CqlType, name: str, scope: Scope) -> Term:
    wrong = InvalidRequest(f"Invalid literal for {name} of type {kind.cql}")
    if isinstance(kind, Scalar) and isinstance(term, TupleLiteral) and len(term.items) == 1:
        return compile_term(term.items[0], kind, name, scope)  # in parentheses
    if isinstance(kind, Collection):
        return _collection(term, kind, name, scope, wrong)
    if isinstance(kind, Tuple) and isinstance(term, TupleLiteral):
        if len(term.items) > len(kind.arguments):
            raise InvalidRequest(f"Invalid tuple literal for {name}: too many elements. Type {kind.cql} expects fewer")
        items = [
            compile_term(item, part, f"{name}[{n}]", scope)
            for n, (item, part) in enumerate(zip(term.items, kind.arguments, strict=False))
        ]
        missing = (None,) * (len(kind.arguments) - len(items))
        return lambda env: tuple(_set(item(env), name) for item in items) + missing
    if isinstance(kind, Vector) and isinstance(term, ListLiteral):
        if len(term.items) != kind.size:
            raise InvalidRequest(f"Invalid vector literal for {name} of type {kind.cql}; expected {kind.size} elements")
        elements = [compile_term(item, kind.element, name, scope) for item in term.items]
        return lambda env: tuple(required(element(env), name) for element in elements)
    if isinstance(kind, Udt) and isinstance(term, MapLiteral) and term.items:
        return _user_type(term, kind, name, scope)
    raise wrong


def _collection(term: Any, kind: Collection, name: str, scope: Scope, wrong: InvalidRequest) -> Term:
    inner = [part.frozen() for part in kind.arguments]
    if kind.name == "map" and isinstance(term, MapLiteral):
        pairs = [
            (compile_term(key, inner[0], f"key({name})", scope), compile_term(value, inner[1], f"value({name})", scope))
            for key, value in term.items
        ]

        def entries(env: Env) -> Any:
            found = [(_inside(key(env)), _inside(value(env))) for key, value in pairs]
            whole = kind.normal(found)
            if len(whole) != len(found):  # the value that a server takes is not predictable
                raise NotSupported(f"a literal for map {name} with a duplicate key")
            return whole

        return entries
    literal = {"list": ListLiteral, "set": SetLiteral}.get(kind.name)
    empty = kind.name == "set" and isinstance(term, MapLiteral) and not term.items
    if literal is None or not (empty or isinstance(term, literal)):
        raise wrong
    items = [compile_term(item, inner[0], f"value({name})", scope) for item in term.items]
    return lambda env: kind.normal([_inside(item(env)) for item in items])


def _inside(value: Any) -> Any:
    if value is None or value is UNSET:
        raise InvalidRequest("null is not supported inside collections")
    return value


def _user_type(term: MapLiteral, kind: Udt, name: str, scope: Scope) -> Term:
    fields = kind.definition.fields
    given: dict[str, Term] = {}
    for key, value in term.items:
        if not isinstance(key, Name) or key.name not in fields:
            shown = key.name if isinstance(key, Name) else key
            raise InvalidRequest(f"Unknown field '{shown}' in value of user defined type {kind.definition.name}")
        given[key.name] = compile_term(value, fields[key.name].frozen(), f"{name}.{key.name}", scope)
    return lambda env: tuple(_set(given[field](env), name) if field in given else None for field in fields)


def _set(value: Any, name: str) -> Any:
    if value is UNSET:
        raise InvalidRequest(f"Invalid unset value inside {name}")
    return value
