"""Python objects as values of CQL columns: exact conversions to what the codec encodes, and columns of encoded values.

L6. Pure. The rules are those of Arrow columns (docs/ingest.rst, Types): a value that the type cannot hold as it is
raises, with the reason. The bytes are those of the codec, so that they are the same as those of an executed statement.
"""

from __future__ import annotations

import datetime
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from ipaddress import ip_address
from math import inf, isfinite
from typing import Any, Literal, NamedTuple
from uuid import UUID

from cassandra._base.numbers import is_masked
from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import UNSET, Codec, fields_of, is_real

Rounding = Literal["error", "floor", "nearest"]
Convert = Callable[[Any], Any]

COMMON = frozenset((str, int, float, bool, bytes, list, dict, tuple, datetime.datetime, Decimal, UUID))  # never missing
SECRET = "not a value of the type; encrypted values are not shown"
SHOWN = 80  # characters of a value in a message
INTEGERS = ("tinyint", "smallint", "int", "bigint", "varint")
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
SECONDS = {"W": 604800, "D": 86400, "h": 3600, "m": 60}
EPOCH = datetime.datetime(1970, 1, 1)
UTC_EPOCH = EPOCH.replace(tzinfo=datetime.timezone.utc)
MILLISECOND, DAY = 10**6, 86400 * 10**9  # in nanoseconds

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NUMBER = re.compile(rf"{_DECIMAL.pattern}|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DATE = r"([+-][0-9]{4,6}|[0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_ZONE = r"Z|UTC|([+-])([0-9]{2})(?::?([0-9]{2}))?"
_TIME_TEXT = re.compile(_TIME)
_MOMENT_TEXT = re.compile(rf"{_DATE}(?:[T ]{_TIME}(?: ?(?:{_ZONE}))?)?")


#: Errors of values. Others are raised: they may be those of a signal handler, which runs between any two steps.
OF_VALUES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)


class Column(NamedTuple):
    """Encoded values: None for null. ``refused`` has the reasons of values that cannot be written, by row."""

    cells: list[bytes | None]
    refused: dict[int, str]


def encode_column(name: str, codec: Codec, values: Iterable[Any], rounding: Rounding, nulls: str) -> Column:
    """Encode *values* for column *name*. NA, NaT and None are null, as is NaN in a column of integers."""
    stored, codec = codec, codec if codec.stored is None else codec.cipher.inner
    convert = converter(codec, rounding)
    encode = codec.encode
    cells: list[bytes | None] = []
    refused: dict[int, str] = {}
    for row, value in enumerate(values):
        cell = None
        if value is not None:
            try:
                if type(value) in COMMON or not (_is_missing(value) or _is_unset(value, nulls)):
                    converted = convert(value)
                    cell = None if converted is None else encode(converted)
            except OF_VALUES as error:
                refused[row] = _reason(value, error) if stored is codec else SECRET
        cells.append(cell)
    return Column(cells, refused)


def shown(value: Any) -> str:
    """Return the beginning of the repr of *value*."""
    try:
        text = repr(value)
    except OF_VALUES:
        text = f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _reason(value: Any, error: Exception) -> str:
    text = str(error.reason if isinstance(error, UnicodeError) and hasattr(error, "reason") else error)
    return f"{shown(value)} cannot be written: {text or type(error).__name__}"


def _is_unset(value: Any, nulls: str) -> bool:
    if value is not UNSET:
        return False
    if nulls == "null":
        raise ValueError('UNSET_VALUE needs nulls="unset"')
    return True


def _is_missing(value: Any) -> bool:
    """True for the missing values of pandas and NumPy: NA and NaT."""
    name = type(value).__name__
    return name in ("NAType", "NaTType") or (name in ("datetime64", "timedelta64") and bool(value != value))


# ---- conversion of a value to an equal one that the codec encodes


def converter(codec: Codec, rounding: Rounding) -> Convert:
    """Return the function that converts values for *codec*: it returns None for null, and raises TypeError, ValueError
    or OverflowError for values that cannot be written without a change."""
    name = codec.name
    children = [converter(child, rounding) for child in codec.children]
    if codec.type_name is not None:  # a user type, which may have any name
        return lambda value: _fields(value, codec, children)
    if name in INTEGERS:
        return _integer
    if name == "timestamp":
        return lambda value: _timestamp(value, rounding)
    if name in _SCALARS:
        return _SCALARS[name]
    if name in ("list", "set", "vector"):
        return lambda value: _items(value, children[0], name)
    if name == "map":
        return lambda value: _pairs(value, children[0], children[1])
    if name == "tuple":
        return lambda value: _tuple(value, children)
    return lambda value: value


def _wrong(value: Any, wanted: str) -> TypeError:
    return TypeError(f"expected {wanted}, not {type(value).__name__}")


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def _integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if _is_flag(value):
        raise _wrong(value, "an integer")
    if isinstance(value, str):
        if _INTEGER.fullmatch(value) is None:
            raise ValueError("it is not an integer")
        return int(value)
    if isinstance(value, Decimal) or (not hasattr(value, "__index__") and is_real(value)):
        if value != value:
            return None
        try:
            whole = int(value)
        except (OverflowError, ValueError):
            whole = None
        if whole is None or whole != value:
            raise ValueError("it is not an integer: round it")
        return whole
    return value


def _float(value: Any) -> Any:
    return _real(value, ">f")


def _double(value: Any) -> Any:
    return _real(value, ">d")


def _real(value: Any, form: str) -> Any:
    if isinstance(value, float):
        return value
    if isinstance(value, str):
        if _NUMBER.fullmatch(value) is None:
            raise ValueError("it is not a number")
        number = float(value)
        held = _rounded(number, form)
        is_zero = not value.lower().partition("e")[0].strip("+-0.")
        if (not isfinite(held) and isfinite(Decimal(value))) or (held == 0 and not is_zero):
            raise OverflowError(f"it is out of the range of {'float' if form == '>f' else 'double'}")
        return number
    if _is_flag(value) or isinstance(value, Decimal) or not is_real(value):
        raise _wrong(value, "a float")
    number = float(value)
    if hasattr(value, "__index__"):
        held = _rounded(number, form)
        is_exact = isfinite(held) and int(held) == int(value)
    else:
        is_exact = number == value or number != number
    if not is_exact:
        raise ValueError("it is not exact as a floating-point number: convert it to float to round it")
    return number


def _rounded(number: float, form: str) -> float:
    """Return the nearest number of the form; infinity if it is out of range."""
    try:
        held: float = struct.unpack(form, struct.pack(form, number))[0]
    except OverflowError:
        return inf
    return held


def _boolean(value: Any) -> Any:
    if _is_flag(value):
        return bool(value)
    if isinstance(value, str):
        if value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise ValueError("it is not true or false")
    raise _wrong(value, "a bool")


def _decimal(value: Any) -> Any:
    if isinstance(value, Decimal) or type(value) is int:
        return value
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) is None:
            raise ValueError("it is not a decimal number")
        return Decimal(value)
    if _is_flag(value) or isinstance(value, float) or not hasattr(value, "__index__"):
        raise _wrong(value, "a Decimal, an int or a str such as '1.50'")
    return int(value)


def _uuid(value: Any) -> Any:
    if isinstance(value, str):
        if _UUID.fullmatch(value) is None:
            raise ValueError("it is not a UUID")
        return UUID(value)
    return UUID(bytes=bytes(value)) if isinstance(value, (bytes, bytearray, memoryview)) else value


def _inet(value: Any) -> Any:
    return ip_address(bytes(value)) if isinstance(value, (bytes, bytearray, memoryview)) else value


def _blob(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return value
    raise _wrong(value, "bytes")


def _as_it_is(value: Any) -> Any:
    return value


# ---- times


def _of_numpy(value: Any, kind: str) -> int | None:
    """Return the nanoseconds of a datetime64 ("M") or a timedelta64 ("m"); None for other values."""
    dtype = getattr(value, "dtype", None)
    if getattr(dtype, "kind", "") != kind or getattr(value, "shape", None) != ():
        return None
    numpy = sys.modules["numpy"]
    unit, count = numpy.datetime_data(dtype)
    if unit in ("Y", "M") and kind == "M":
        value, unit, count = value.astype("M8[D]"), "D", 1
    nanoseconds = NANOSECONDS.get(unit) or SECONDS.get(unit, 0) * 10**9
    if not nanoseconds:
        raise ValueError(f"the unit {unit} is not supported: convert it to ns")
    return int(value.astype("i8")) * int(count) * nanoseconds


def _nanoseconds(value: datetime.datetime) -> int:
    """Return nanoseconds since 1970 of a datetime, also one of pandas; without a zone it is UTC."""
    begin = EPOCH if value.tzinfo is None or value.utcoffset() is None else UTC_EPOCH
    if begin is EPOCH and value.tzinfo is not None:
        value = value.replace(tzinfo=None)
    extra = getattr(value, "nanosecond", 0)
    if type(value) is not datetime.datetime:  # of pandas, whose range and resolution are others
        value = datetime.datetime(
            value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond,
            value.tzinfo, fold=value.fold,
        )  # fmt: skip
    since = value - begin
    return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000 + extra


def _of_text(text: str) -> int:
    """Return nanoseconds since 1970 of a date, or a date and a time, in ISO 8601."""
    match = _MOMENT_TEXT.fullmatch(text)
    if match is None:
        raise ValueError("it is not a date, or a date and time, such as 2024-12-31T23:59:59Z")
    year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = match.groups()
    days = _days(int(year), int(month), int(day))
    found = days * DAY + (_time_of(hour, minute, second, fraction) if hour else 0)
    if sign:
        hours, minutes = int(zone_hour), int(zone_minute or 0)
        if hours > 18 or minutes > 59:
            raise ValueError("its zone is not a valid offset")
        offset = (hours * 60 + minutes) * 60 * 10**9
        found += offset if sign == "-" else -offset
    return found


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a date of any year."""
    eras, of_era = divmod(year, 400)
    return datetime.date(of_era + 400, month, day).toordinal() - EPOCH.toordinal() + (eras - 1) * 146097


def _time_of(hour: str, minute: str, second: str | None, fraction: str | None) -> int:
    found = datetime.time(int(hour), int(minute), int(second or 0))
    seconds = (found.hour * 60 + found.minute) * 60 + found.second
    return seconds * 10**9 + int((fraction or "0").ljust(9, "0"))


def _timestamp(value: Any, rounding: Rounding) -> Any:
    """Return milliseconds since 1970, or a date."""
    if isinstance(value, datetime.datetime):
        nanoseconds: int | None = _nanoseconds(value)
    elif isinstance(value, datetime.date):
        return value
    elif isinstance(value, str):
        nanoseconds = _of_text(value)
    else:
        nanoseconds = _of_numpy(value, "M")
    if nanoseconds is None:
        raise _wrong(value, "a datetime, a date or a str in ISO 8601")
    milliseconds, rest = divmod(nanoseconds, MILLISECOND)
    if rest and rounding == "error":
        raise ValueError('it has fractions of a millisecond: use round="floor" or round="nearest"')
    if rounding == "nearest" and (2 * rest > MILLISECOND or (2 * rest == MILLISECOND and milliseconds % 2)):
        milliseconds += 1
    return milliseconds


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        if value.utcoffset():
            raise ValueError("its day is that of another zone: convert it to a date")
        nanoseconds: int | None = _nanoseconds(value)
    elif isinstance(value, datetime.date) or hasattr(value, "days_from_epoch"):
        return value
    elif isinstance(value, str):
        if re.search(r"[+-][0-9:]+$", value[10:]) and not re.search(r"[+-]00(:?00)?$", value):
            raise ValueError("its day is that of another zone")
        nanoseconds = _of_text(value)
    else:
        nanoseconds = _of_numpy(value, "M")
    if nanoseconds is None:
        raise _wrong(value, "a date or a str such as '2024-12-31'")
    days, rest = divmod(nanoseconds, DAY)
    if rest:
        raise ValueError("it is not a whole day: convert it to a date")
    return Date(days)


def _time(value: Any) -> Any:
    if isinstance(value, datetime.time):
        if value.tzinfo is not None:
            raise ValueError("time cannot hold its zone")
        return value
    if isinstance(value, str):
        match = _TIME_TEXT.fullmatch(value)
        if match is None:
            raise ValueError("it is not a time such as 23:59:59.999")
        hour, minute, second, fraction = match.groups()
        return Time(_time_of(hour, minute, second, fraction))
    if hasattr(value, "nanosecond_time"):
        return value
    raise _wrong(value, "a time or a str such as '23:59:59.999'")


def _duration(value: Any) -> Any:
    if isinstance(value, datetime.timedelta):
        microseconds = (value.days * 86400 + value.seconds) * 10**6 + value.microseconds
        return Duration(0, 0, microseconds * 1000 + getattr(value, "nanoseconds", 0))
    nanoseconds = _of_numpy(value, "m")
    return value if nanoseconds is None else Duration(0, 0, nanoseconds)


# ---- collections, tuples and user types


def _part(value: Any, convert: Convert) -> Any:
    return None if value is None or _is_missing(value) else convert(value)


def _items(value: Any, convert: Convert, name: str) -> Any:
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise _wrong(value, "a list")
    if name == "vector" and isinstance(value, Set):
        raise _wrong(value, "a list, as the elements have an order")
    if is_masked(value):
        raise TypeError("a masked element of NumPy is not a value")
    if name == "vector" and convert in (_float, _double) and getattr(getattr(value, "dtype", None), "kind", "") == "f":
        return value  # an array, which the codec copies as a whole
    return [_part(item, convert) for item in value]


class _Pairs:
    """Pairs of a map, in their order."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self._pairs = pairs

    def items(self) -> list[tuple[Any, Any]]:
        return self._pairs


def _pairs(value: Any, key: Convert, item: Convert) -> Any:
    if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Iterable):
        raise _wrong(value, "a dict")
    pairs = value.items() if isinstance(value, Mapping) else _checked_pairs(value)
    return _Pairs([(_part(left, key), _part(right, item)) for left, right in pairs])


def _checked_pairs(value: Iterable[Any]) -> Iterator[Any]:
    for pair in value:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise _wrong(value, "a dict or a list of pairs")
        yield pair


def _tuple(value: Any, children: Sequence[Convert]) -> Any:
    if isinstance(value, (str, bytes, bytearray, Mapping, Set)) or not isinstance(value, Iterable):
        raise _wrong(value, "a tuple")
    items = list(value)
    if len(items) > len(children):
        raise ValueError(f"the tuple has {len(items)} fields, the type {len(children)}")
    return tuple(_part(item, convert) for item, convert in zip(items, children, strict=False))


def _fields(value: Any, codec: Codec, children: Sequence[Convert]) -> Any:
    if type(value) in (tuple, list) and len(value) > len(children):
        raise ValueError(f"the value has {len(value)} fields, the type {len(children)}")
    fields = fields_of(value, codec.type_name or "", codec.field_names)
    return tuple(_part(field, convert) for field, convert in zip(fields, children, strict=False))


_SCALARS: dict[str, Convert] = {
    "float": _float,
    "double": _double,
    "boolean": _boolean,
    "text": _as_it_is,
    "varchar": _as_it_is,
    "ascii": _as_it_is,
    "blob": _blob,
    "uuid": _uuid,
    "timeuuid": _uuid,
    "inet": _inet,
    "date": _date,
    "time": _time,
    "duration": _duration,
    "decimal": _decimal,
}
