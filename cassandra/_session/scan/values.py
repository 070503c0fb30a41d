"""Conversion of column values between applications and kernels (L5).

A :class:`Field` is a column of a schema. Values compared with a column are converted to kernel form once, when an
expression is compiled; results of kernels are converted back at the end.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address, ip_address
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from cassandra._base.temporal import Date, Time, datetime_from_ms_timestamp
from cassandra._core.columns import uuid_place

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan

_MICROSECOND = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)
_NUMBERS = ("c", "s", "i", "l")  # formats of plain integers


class Field(NamedTuple):
    """A column of a schema: its name, its Arrow format, its CQL type, and its kernel form (``columns.pyi``)."""

    name: str
    format: str
    cql: str
    form: str | None

    def __str__(self) -> str:
        return f"{self.name!r} ({self.cql})"

    @property
    def is_addable(self) -> bool:
        """True if values can be summed."""
        return self.format in _NUMBERS if self.form == "integer" else self.form in ("float", "wide", "number")

    @property
    def is_ordered(self) -> bool:
        """True if the order of values is known to the client: that of custom types is defined by the server."""
        return self.form is not None and (self.format != "z" or self.cql in ("blob", "inet"))


def field_of(schema: ColumnPlan, name: str) -> tuple[int, Field]:
    """Return index and field of the column of that name. ValueError if there is none, or several."""
    found = schema.names.count(name)
    if found != 1:
        what = "is no column" if not found else f"are {found} columns"
        raise ValueError(f"there {what} {name!r} in the scan: {', '.join(schema.names)}; see columns=")
    index = schema.names.index(name)
    return index, Field(*schema.fields[index])


def kernel_number(field: Field, value: Any) -> Fraction | float:
    """Return the number for *value* in the order of a column of numbers, dates or UUIDs: exact, or an infinity or NaN.
    TypeError for a value that the column cannot be compared with, ValueError for text that is not one of its values."""
    if field.form == "uuid":
        return Fraction(_uuid(field, value))
    if field.format == "tdD":
        return Fraction(_day(field, value))
    if field.format == "ttn":
        return Fraction(_time(field, value))
    if field.format.startswith("ts") and isinstance(value, datetime.date):
        return _milliseconds(value)
    if field.format == "b":
        return Fraction(bool(_checked(field, value, type(value).__name__ in ("bool", "bool_"))))  # NumPy's too
    number = _number(field, value)
    if field.form == "wide" and isinstance(number, Fraction):
        return number * Fraction(10 ** scale_of(field))
    return number


def kernel_bytes(field: Field, value: Any) -> bytes:
    """Return the kernel form of *value* for a column of text, blobs or addresses; errors as in
    :func:`kernel_number`."""
    if field.cql == "inet":
        if isinstance(value, str):
            value = ip_address(value)
        if isinstance(value, IPv4Address | IPv6Address):
            return value.packed
    if field.format in ("u", "vu"):
        return _checked(field, value, isinstance(value, str)).encode()  # type: ignore[no-any-return]
    return bytes(_checked(field, value, isinstance(value, bytes | bytearray | memoryview)))


def python_value(field: Field, value: Any) -> Any:
    """Return the Python value, as in rows, for the *value* of a kernel."""
    if value is None:
        return None
    if field.form == "uuid":
        return UUID(bytes=value)
    if field.form == "bytes":
        if field.cql == "inet":
            return str(ip_address(value))
        return value.decode() if field.format in ("u", "vu") else value
    if field.form == "number":
        return int(value) if field.cql == "varint" else value
    if field.form == "wide":
        return value if field.cql == "varint" else scaled(value, scale_of(field))
    if field.format == "b":
        return bool(value)
    if field.format == "tdD":
        return Date(value)
    if field.format == "ttn":
        return Time(value)
    if field.format.startswith("ts"):
        try:
            return datetime_from_ms_timestamp(value)
        except OverflowError:  # rows have the number in this case, too
            return value
    return value


def scale_of(field: Field) -> int:
    """Return the decimal places of a column with a precision."""
    return int(field.format.removeprefix("d:").split(",")[1])


def scaled(number: int, scale: int) -> Decimal:
    """Return the decimal of an unscaled number, exactly, independent of the decimal context."""
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -scale))


def _number(field: Field, value: Any) -> Fraction | float:
    if type(value).__name__ == "timedelta64":  # NumPy's is an Integral, in any unit
        _checked(field, value, False)
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    number = float(_checked(field, value, isinstance(value, Real | Decimal)))
    return Fraction(number) if math.isfinite(number) else number


def _milliseconds(value: datetime.date) -> Fraction:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    elif value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    nanoseconds = getattr(value, "nanosecond", 0)  # of a pandas timestamp
    return Fraction((value - _EPOCH) // _MICROSECOND * 1000 + nanoseconds, 1_000_000)


def _day(field: Field, value: Any) -> int:
    if isinstance(value, str) or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        value = Date(value)
    days: int = _checked(field, value, isinstance(value, Date)).days_from_epoch
    return days


def _time(field: Field, value: Any) -> int:
    if isinstance(value, str | datetime.time):
        value = Time(value)
    nanoseconds: int = _checked(field, value, isinstance(value, Time)).nanosecond_time
    return nanoseconds


def _uuid(field: Field, value: Any) -> int:
    if isinstance(value, str):
        value = UUID(value)
    return uuid_place(_checked(field, value, isinstance(value, UUID)).bytes, field.cql == "timeuuid")


def _checked(field: Field, value: Any, fits: bool) -> Any:
    if not fits:
        raise TypeError(f"column {field} cannot be compared with {value!r}")
    return value
