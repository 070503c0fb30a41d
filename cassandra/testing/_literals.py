"""Constants of CQL as values of a type."""

from __future__ import annotations

import ipaddress
import math
import re
import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from cassandra.testing import _types as types
from cassandra.testing._types import CqlType, Value
from cassandra.testing.errors import InvalidRequest

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d)?$"
)
_DATE = re.compile(r"(-?\d+)-(\d\d?)-(\d\d?)$")
_TIME = re.compile(r"(\d\d?):(\d\d):(\d\d)(?:\.(\d{1,9}))?$")
_DURATION = re.compile(r"(\d+)(mo|ms|us|µs|ns|y|w|d|h|m|s)")
_ISO_DURATION = re.compile(
    r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$", re.IGNORECASE
)
_MONTHS = {"y": 12, "mo": 1}
_DAYS = {"w": 7, "d": 1}
_NANOS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 10**9, "ms": 10**6, "us": 1000, "µs": 1000, "ns": 1}
RANGES = {
    types.TINYINT: 7, types.SMALLINT: 15, types.INT: 31, types.BIGINT: 63, types.COUNTER: 63, types.TIMESTAMP: 63,
}  # fmt: skip


def constant(kind: str, text: str, target: CqlType, name: str) -> Value:
    """The value of a literal of *kind* for a column *name* of type *target*; raises InvalidRequest."""
    reader = _READERS.get(kind, {}).get(target)
    if reader is None:
        raise InvalidRequest(f'Invalid {kind.upper()} constant ({text}) for "{name}" of type {target.cql}')
    try:
        value = reader(text)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise InvalidRequest(f"Unable to make {target.cql} from '{text}' for {name}: {error}") from None
    bits = RANGES.get(target) if isinstance(target, types.Scalar) else None
    if bits is not None and not -(1 << bits) <= value < 1 << bits:
        raise InvalidRequest(f"Unable to make {target.cql} from '{text}' for {name}: out of range")
    return value


def parse_timestamp(text: str) -> int:
    """Milliseconds."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    match = _TIMESTAMP.match(text)
    if match is None:
        raise ValueError("no date")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    found = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc) - _offset(match[8])
    return (found - EPOCH) // timedelta(milliseconds=1) + int((match[7] or "0").ljust(3, "0")[:3])


def _offset(text: str | None) -> timedelta:
    if not text or text[0] not in "+-":
        return timedelta()
    digits = text[1:].replace(":", "").ljust(4, "0")
    found = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -found if text[0] == "-" else found


def parse_date(text: str) -> int:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    match = _DATE.match(text)
    if match is None:
        raise ValueError("no date")
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    ages = (year - 1) // 400  # Python's calendar has the years 1 to 9999; it repeats after 400
    found = date(year - 400 * ages, month, day) - EPOCH.date()
    value = found.days + ages * 146097 + (1 << 31)
    if not 0 <= value < 1 << 32:
        raise ValueError("out of range")
    return value


def parse_time(text: str) -> int:
    if text.isdecimal():
        return int(text)
    match = _TIME.match(text)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) > 59:
        raise ValueError("no time of day")
    seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    return seconds * 10**9 + int((match[4] or "0").ljust(9, "0"))


def parse_inet(text: str) -> bytes:
    return ipaddress.ip_address(text).packed


def parse_duration(text: str) -> tuple[int, int, int]:
    negative = text.startswith("-")
    body = text.removeprefix("-")
    months = days = nanos = 0
    if body[:1] in ("P", "p"):
        match = _ISO_DURATION.match(body)
        if match is None:
            raise ValueError("no duration")
        y, mo, w, d, h, m, s = (int(part or 0) for part in match.groups())
        months, days, nanos = 12 * y + mo, 7 * w + d, ((h * 60 + m) * 60 + s) * 10**9
    else:
        if not _DURATION.match(body) or _DURATION.sub("", body):
            raise ValueError("no duration")
        for number, unit in _DURATION.findall(body):
            months += int(number) * _MONTHS.get(unit, 0)
            days += int(number) * _DAYS.get(unit, 0)
            nanos += int(number) * _NANOS.get(unit, 0)
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
    if value.version != 1:
        raise ValueError("not a version 1 UUID")
    return value


def _single(text: str) -> float:
    number = float(text)
    try:
        value: float = struct.unpack(">f", struct.pack(">f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return value


_WHOLE: dict[CqlType, Callable[[str], Any]] = dict.fromkeys(types.WHOLE, int)
_REAL: dict[CqlType, Callable[[str], Any]] = {types.FLOAT: _single, types.DOUBLE: float, types.DECIMAL: Decimal}
_TIMES: dict[CqlType, Callable[[str], Any]] = {
    types.TIMESTAMP: parse_timestamp, types.DATE: parse_date, types.TIME: parse_time,
}  # fmt: skip
_READERS: dict[str, dict[CqlType, Callable[[str], Any]]] = {
    "string": {types.TEXT: str, types.ASCII: _ascii, types.INET: parse_inet, **_TIMES},
    "integer": {**_WHOLE, **_REAL, types.TIMESTAMP: int, types.DATE: int, types.TIME: int},
    "float": _REAL,
    "uuid": {types.UUID_: UUID, types.TIMEUUID: _timeuuid},
    "blob": {types.BLOB: _blob},
    "boolean": {types.BOOLEAN: lambda text: text == "true"},
    "duration": {types.DURATION: parse_duration},
}
