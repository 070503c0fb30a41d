"""Columns of bytes, text, numbers, booleans, addresses and UUIDs."""

from __future__ import annotations

import decimal
import math
import uuid
from typing import Any, TypeVar

from cassandra._base.objects import public
from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.tracking import HOME
from cassandra._mapper.errors import ValidationError

T = TypeVar("T")


@public(HOME)
class Blob(Column[bytes]):
    """``blob``: bytes."""

    db_type = "blob"
    read_as = bytes

    def to_database(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (bytes, bytearray)):
            raise ValidationError(f"expecting a binary, got a {type(value)}")
        return bytearray(value)


Bytes = Blob


@public(HOME)
class Inet(Column[str]):
    """``inet``: an IP address, as text."""

    db_type = "inet"
    stored_as = str


@public(HOME)
class Text(Column[str]):
    """``text``."""

    db_type = "text"
    stored_as = str

    def __init__(self, min_length: int | None = None, max_length: int | None = None, **kwargs: Any) -> None:
        """*min_length*, *max_length*: in characters. A required text must not be empty, unless *min_length* is 0."""
        self.min_length = 1 if min_length is None and kwargs.get("required", False) else min_length
        self.max_length = max_length
        if self.min_length is not None and self.min_length < 0:
            raise ValueError("Minimum length is not allowed to be negative.")
        if self.max_length is not None and self.max_length < 0:
            raise ValueError("Maximum length is not allowed to be negative.")
        if self.min_length is not None and self.max_length is not None and self.max_length < self.min_length:
            raise ValueError("Maximum length must be greater or equal to minimum length.")
        super().__init__(**kwargs)

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, (str, bytearray)):
            raise self._refusal(f"{type(value)} is not a string", value)
        length = 0 if value is None else len(value)
        if self.max_length is not None and length > self.max_length:
            raise self._refusal(f"is longer than {self.max_length} characters", value)
        if self.min_length is not None and length < self.min_length:
            raise self._refusal(f"is shorter than {self.min_length} characters", value)
        return value


@public(HOME)
class Ascii(Text):
    """``ascii``: text of ASCII characters."""

    db_type = "ascii"
    stored_as = str

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value and not value.isascii():
            raise ValidationError(f"{value!r} is not an ASCII string.")
        return value


class _Converted(Column[T]):
    """Base of columns that convert values by validating them, in both directions."""

    def to_python(self, value: Any) -> Any:
        return self.validate(value)

    def to_database(self, value: Any) -> Any:
        return self.validate(value)


class _Whole(_Converted[int]):
    """Base of integer columns."""

    stored_as = int

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):
            raise self._refusal(f"{value} can't be converted to integral value", value) from None


@public(HOME)
class Integer(_Whole):
    """``int``: 32 bits."""

    db_type = "int"


@public(HOME)
class TinyInt(Integer):
    """``tinyint``: 8 bits."""

    db_type = "tinyint"


@public(HOME)
class SmallInt(Integer):
    """``smallint``: 16 bits."""

    db_type = "smallint"


@public(HOME)
class BigInt(Integer):
    """``bigint``: 64 bits."""

    db_type = "bigint"


@public(HOME)
class VarInt(_Whole):
    """``varint``: any size."""

    db_type = "varint"


@public(HOME)
class UUID(_Converted[uuid.UUID]):
    """``uuid``: of any version; text is converted."""

    db_type = "uuid"
    stored_as = uuid.UUID

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None or isinstance(value, uuid.UUID):
            return value
        if isinstance(value, str):
            try:
                return uuid.UUID(value)
            except ValueError:
                pass
        raise self._refusal(f"{value} is not a valid uuid", value)


@public(HOME)
class TimeUUID(UUID):
    """``timeuuid``: a UUID of version 1."""

    db_type = "timeuuid"


@public(HOME)
class Boolean(Column[bool]):
    """``boolean``."""

    db_type = "boolean"
    stored_as = bool

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        return None if value is None else bool(value)

    def to_python(self, value: Any) -> Any:
        return self.validate(value)


@public(HOME)
class BaseFloat(_Converted[float]):
    """Base of binary floating-point columns."""

    stored_as = float

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self._refusal(f"{value} is not a valid float", value) from None
        if math.isinf(found) and isinstance(value, decimal.Decimal) and value.is_finite():
            raise self._refusal(f"{value} is not a valid float", value)
        return found


@public(HOME)
class Float(BaseFloat):
    """``float``: 32 bits."""

    db_type = "float"


@public(HOME)
class Double(BaseFloat):
    """``double``: 64 bits."""

    db_type = "double"


@public(HOME)
class Decimal(_Converted[decimal.Decimal]):
    """``decimal``. A ``float`` is converted by its ``repr``: 1.1 becomes ``Decimal("1.1")``."""

    db_type = "decimal"
    stored_as = decimal.Decimal

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        try:
            return decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
        except (TypeError, ValueError, decimal.InvalidOperation):
            raise self._refusal(f"{_shown(value)} can't be coerced to decimal", value) from None


def _shown(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else repr(value)
