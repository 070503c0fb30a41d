"""CQL's native functions, in terms and in selections."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from cassandra.testing import _types as types
from cassandra.testing._literals import EPOCH, parse_date, parse_timestamp
from cassandra.testing._plan import Env
from cassandra.testing._types import CqlType, Value
from cassandra.testing.errors import InvalidRequest, NotSupported

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


# -- CAST -------------------------------------------------------------------------------------------------------------


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


__all__ = ["Function", "cast", "find", "milliseconds_of", "parse_date", "parse_timestamp", "text_of"]
