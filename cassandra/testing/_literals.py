"""CQL constants to values of a type."""

from __future__ import annotations

import calendar
import ipaddress
import math
import re
import struct
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from cassandra.testing import _types as types
from cassandra.testing._types import CqlType, Value
from cassandra.testing.errors import InvalidRequest, NotSupported, SyntaxError

EPOCH = date(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)
MOST = (1 << 31) - 1
_TIMESTAMP = re.compile(
    r"(\d{1,4})-(\d\d?)-(\d\d?)[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d{1,9}))?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)?", re.ASCII
)  # fmt: skip
_DATE = re.compile(r"(\d{4}|-\d{4,9}|\+\d{5,9})-(\d\d)-(\d\d)(?:Z|UTC|GMT|([+-]\d\d:?\d\d|[+-]\d\d))?", re.ASCII)
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
    if match := _DATE.fullmatch(text):
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
    match = _DATE.fullmatch(text)
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
