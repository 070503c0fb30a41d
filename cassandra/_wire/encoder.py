"""CQL literals of Python values, for the ``%s`` parameters of simple statements (L2).

Not used for prepared statements, whose values are sent as bytes. The content of a value is written, never the ``str()``
of a subclass: text is in quotes, all other literals consist of digits and names. A value without a literal is a
TypeError, as its ``str()`` may contain arbitrary CQL.
"""

import math
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from types import GeneratorType
from typing import Any
from uuid import UUID

from cassandra._base.collections import OrderedMap, OrderedMapSerializedKey, SortedSet
from cassandra._base.datastax_values import DateRange, LineString, Point, Polygon
from cassandra._base.names import integer_literal, maybe_escape_name, quote_text
from cassandra._base.numbers import is_masked
from cassandra._base.objects import public
from cassandra._base.temporal import Date, Duration, Time, whole_ms
from cassandra._core.codec import check_address

_EPOCH_DAY = 2**31  # day 0 of the CQL date as a number


@public("cassandra.encoder")
class ValueSequence(list[Any]):
    """A list that is written as ``(a, b)``, for the values of ``IN``."""


@public("cassandra.encoder")
class Encoder:
    """Writes values as CQL literals. ``mapping`` has the method for each type. That of a session may be changed,
    to write tuples as tuples instead of lists::

        session.encoder.mapping[tuple] = session.encoder.cql_encode_tuple
    """

    mapping: dict[type, Callable[[Any], str]]  #: Functions that return a literal, by type; may be changed.

    def __init__(self) -> None:
        self.mapping = {
            type(None): self.cql_encode_none,
            bool: self._encode_bool,
            int: self._encode_int,
            float: self.cql_encode_float,
            Decimal: self.cql_encode_decimal,
            str: self.cql_encode_str,
            bytes: self.cql_encode_bytes,
            bytearray: self.cql_encode_bytes,
            memoryview: self.cql_encode_bytes,
            UUID: self._encode_uuid,
            datetime: self.cql_encode_datetime,
            date: self.cql_encode_date,
            time: self.cql_encode_time,
            Date: self.cql_encode_date_ext,
            Time: self.cql_encode_time,
            Duration: self._encode_duration,
            IPv4Address: self.cql_encode_ipaddress,
            IPv6Address: self.cql_encode_ipaddress,
            ValueSequence: self.cql_encode_sequence,
            list: self.cql_encode_list_collection,
            tuple: self.cql_encode_list_collection,
            GeneratorType: self.cql_encode_list_collection,
            set: self.cql_encode_set_collection,
            frozenset: self.cql_encode_set_collection,
            SortedSet: self.cql_encode_set_collection,
            dict: self.cql_encode_map_collection,
            OrderedDict: self.cql_encode_map_collection,
            OrderedMap: self.cql_encode_map_collection,
            OrderedMapSerializedKey: self.cql_encode_map_collection,
            Point: self.cql_encode_str_quoted,
            LineString: self.cql_encode_str_quoted,
            Polygon: self.cql_encode_str_quoted,
            DateRange: self.cql_encode_str_quoted,
        }

    def cql_encode_all_types(self, val: Any, as_text_type: bool = False) -> str:
        """Return the literal of a value, by its type or else by its nearest base class in ``mapping``.

        Raise TypeError for an object of another type.
        """
        return (self.mapping.get(type(val)) or self._nearest(type(val)))(val)

    def _nearest(self, cls: type) -> Callable[[Any], str]:
        if issubclass(cls, tuple) and hasattr(cls, "_fields") and self._overrides(tuple) is None:
            return self._encode_named_tuple
        for base in cls.__mro__:
            if base in self.mapping:
                return self.mapping[base]
        if hasattr(cls, "_cql_literal"):
            return self._encode_by_itself
        if type(self).cql_encode_object is not Encoder.cql_encode_object:  # overridden by a program for such objects
            return self.cql_encode_object
        return self._encode_scalar

    def _encode_by_itself(self, val: Any) -> str:
        """Call the method of an object of the driver: ``_cql_literal(write)``, where *write* encodes a value."""
        return val._cql_literal(self.cql_encode_all_types)  # type: ignore[no-any-return]

    def _encode_scalar(self, val: Any) -> str:
        """Return the literal of a scalar of NumPy or of another integer type with ``__index__``."""
        kind = getattr(getattr(val, "dtype", None), "kind", None) if getattr(val, "shape", None) == () else None
        try:
            if is_masked(val):
                raise TypeError("the data under a mask is not a value")
            if kind == "b":
                return self._encode_bool(bool(val))
            if kind == "f":
                number = float(val)
                if math.isinf(number) and val != number:  # a long double
                    raise OverflowError(f"{val!r} is out of range for double")
                return self.cql_encode_float(number)
            return int.__repr__(operator.index(val))
        except (TypeError, ValueError):
            raise TypeError(
                f"no CQL literal is known for {type(val).__qualname__}: convert the value, prepare the statement, or "
                "register the class with Cluster.register_user_type() or in session.encoder.mapping"
            ) from None

    def _overrides(self, cls: type) -> Callable[[Any], str] | None:
        chosen = self.mapping.get(cls)
        return None if chosen == self.cql_encode_list_collection else chosen

    def cql_encode_none(self, val: Any) -> str:
        """Return ``NULL``."""
        return "NULL"

    def cql_encode_object(self, val: Any) -> str:
        """Return the ``str()`` of a value, **without quotes**. For classes of a program in ``mapping`` whose ``str()``
        is a CQL literal; if a subclass of the encoder overrides it, it is used for all objects of unknown types."""
        return str(val)

    def _encode_bool(self, val: bool) -> str:
        return str(val)

    def _encode_uuid(self, val: UUID) -> str:
        return UUID.__str__(val)

    def _encode_int(self, val: int) -> str:
        return int.__repr__(val)  # writes an IntEnum as a number, too

    def _encode_duration(self, val: Duration) -> str:
        """Return the literal of a duration. Raise ValueError for parts of both signs: a literal has one sign."""
        parts = (val.months, val.days, val.nanoseconds)
        if min(parts) < 0 < max(parts):
            raise ValueError(f"the parts of a duration must have one sign: {val!r}")
        return Duration.__str__(val)

    def cql_encode_float(self, val: float) -> str:
        """Return a float with all digits; NaN and infinities in the spelling of CQL."""
        if math.isinf(val):
            return "Infinity" if val > 0 else "-Infinity"
        if math.isnan(val):
            return "NaN"
        if isinstance(val, int):
            return int.__repr__(val)
        return float.__repr__(val if isinstance(val, float) else float(val))

    def cql_encode_decimal(self, val: Decimal) -> str:
        """Return a decimal as a literal."""
        return Decimal.__str__(val)  # not the __str__ of a subclass

    def cql_encode_unicode(self, val: str) -> str:
        """Return *val* in quotes, with quotes inside doubled."""
        return quote_text(val)

    def cql_encode_str(self, val: str) -> str:
        """Return *val* in quotes, with quotes inside doubled."""
        return quote_text(val)

    def cql_encode_str_quoted(self, val: Any) -> str:
        """Return the ``str()`` of a value in quotes."""
        return quote_text(str(val))

    def cql_encode_bytes(self, val: bytes | bytearray | memoryview) -> str:
        """Return ``0x`` and hex digits."""
        return "0x" + bytes(val).hex()

    def cql_encode_datetime(self, val: datetime) -> str:
        """Return milliseconds since the epoch; a naive datetime is in UTC."""
        return integer_literal(whole_ms(val), "a timestamp")

    def cql_encode_date(self, val: date) -> str:
        """Return ``'YYYY-MM-DD'``."""
        return quote_text(date.isoformat(val))

    def cql_encode_date_ext(self, val: Date) -> str:
        """Return a number: a :class:`cassandra.util.Date` may be outside the range of the text form."""
        return integer_literal(val.days_from_epoch + _EPOCH_DAY, "a date")

    def cql_encode_time(self, val: time | Time) -> str:
        """Return ``'HH:MM:SS.fffffffff'``."""
        return quote_text(val.replace(tzinfo=None).isoformat() if isinstance(val, time) else str(val))

    def cql_encode_ipaddress(self, val: IPv4Address | IPv6Address) -> str:
        """Return the address in quotes. Raise ValueError for an address with a scope or a prefix length."""
        check_address(val)
        address: IPv4Address | IPv6Address = getattr(val, "ip", val)  # of an interface
        return quote_text(address.compressed)

    def cql_encode_sequence(self, val: Iterable[Any]) -> str:
        """Return ``(a, b)``, for ``IN``."""
        return f"({self._items(val)})"

    def cql_encode_tuple(self, val: Iterable[Any]) -> str:
        """Return ``(a, b)``, for tuple columns."""
        return f"({self._items(val)})"

    def cql_encode_list_collection(self, val: Iterable[Any]) -> str:
        """Return ``[a, b]``."""
        return f"[{self._items(val)}]"

    def cql_encode_set_collection(self, val: Iterable[Any]) -> str:
        """Return ``{a, b}``."""
        return f"{{{self._items(val)}}}"

    def cql_encode_map_collection(self, val: Mapping[Any, Any]) -> str:
        """Return ``{a: b}``."""
        write = self.cql_encode_all_types
        return f"{{{', '.join(f'{write(key)}: {write(value)}' for key, value in val.items())}}}"

    def _encode_named_tuple(self, val: Any) -> str:
        """Return the literal of a user type, as values of user types are read as named tuples."""
        fields = zip(val._fields, val, strict=True)
        parts = (f"{maybe_escape_name(name)}: {self.cql_encode_all_types(value)}" for name, value in fields)
        return f"{{{', '.join(parts)}}}"

    def _items(self, val: Iterable[Any]) -> str:
        return ", ".join(map(self.cql_encode_all_types, val))
