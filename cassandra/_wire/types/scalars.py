"""Types without parameters (L2). Each has a name, a wire id and the attributes of scylla-driver's class."""

import time
from typing import Any, ClassVar

from cassandra._base.constants import TypeId
from cassandra._base.temporal import unix_time_from_uuid1
from cassandra._core.codec import Codec, scalar
from cassandra._wire.types.base import _CassandraType, cqltypes

cql_timestamp_formats = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
)  #: Formats of timestamps in text.

scalar_classes: dict[int, type["_ScalarType"]] = {}  # by wire id


class _ScalarType(_CassandraType):
    """A built-in type; ``type_id`` is its option id on the wire."""

    type_id: ClassVar[int]  #: Number of the type in the protocol.
    fixed_size: ClassVar[int | None] = None  #: Size of a value in bytes; None if it varies.

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "type_id" in cls.__dict__:
            scalar_classes[cls.type_id] = cls

    @classmethod
    def serial_size(cls) -> int | None:
        return cls.fixed_size

    @classmethod
    def _make_native(cls) -> Codec:
        codec = scalar(cls.type_id)
        if codec.py_type is None:
            codec.py_type = scalar_classes[cls.type_id]
        return codec

    @classmethod
    def _apply_empty(cls) -> None:
        """Apply the setting to the codec of the type, which decodes results, even if this class has not created it yet.
        A program's subclass has no effect on that codec."""
        if scalar_classes.get(cls.type_id) is not cls:
            return
        if cls.support_empty_values and cls._native_codec is None:
            cls._native()
        super()._apply_empty()


class AsciiType(_ScalarType):
    """The CQL type ``ascii``; values are ``str``."""

    typename = "ascii"
    type_id = TypeId.ASCII
    empty_binary_ok = True


class LongType(_ScalarType):
    """The CQL type ``bigint``; values are ``int``."""

    typename = "bigint"
    type_id = TypeId.BIGINT
    fixed_size = 8


class BytesType(_ScalarType):
    """The CQL type ``blob``; values are ``bytes``."""

    typename = "blob"
    type_id = TypeId.BLOB
    empty_binary_ok = True


class BooleanType(_ScalarType):
    """The CQL type ``boolean``; values are ``bool``."""

    typename = "boolean"
    type_id = TypeId.BOOLEAN
    fixed_size = 1


class CounterColumnType(LongType):
    """The CQL type ``counter``; values are ``int``."""

    typename = "counter"
    type_id = TypeId.COUNTER


class DecimalType(_ScalarType):
    """The CQL type ``decimal``; values are :class:`decimal.Decimal`."""

    typename = "decimal"
    type_id = TypeId.DECIMAL


class DoubleType(_ScalarType):
    """The CQL type ``double``; values are ``float``."""

    typename = "double"
    type_id = TypeId.DOUBLE
    fixed_size = 8


class FloatType(_ScalarType):
    """The CQL type ``float``; values are ``float``."""

    typename = "float"
    type_id = TypeId.FLOAT
    fixed_size = 4


class Int32Type(_ScalarType):
    """The CQL type ``int``; values are ``int``."""

    typename = "int"
    type_id = TypeId.INT
    fixed_size = 4


class UTF8Type(_ScalarType):
    """The CQL type ``text``; values are ``str``."""

    typename = "text"
    type_id = TypeId.TEXT
    empty_binary_ok = True


class VarcharType(UTF8Type):
    """The CQL type ``varchar``; values are ``str``."""

    typename = "varchar"
    type_id = TypeId.VARCHAR


class DateType(_ScalarType):
    """CQL ``timestamp``: milliseconds since the epoch, read as naive UTC datetimes."""

    typename = "timestamp"
    type_id = TypeId.TIMESTAMP
    fixed_size = 8

    @staticmethod
    def interpret_datestring(val: str) -> int:
        """Convert text in one of the ``cql_timestamp_formats``, with an optional ``±hhmm``, to milliseconds since the
        epoch."""
        import calendar  # here, like time.strptime, which imports it too

        offset = 0
        if len(val) > 5 and val[-5] in "+-" and val[-4:].isdigit():
            offset = int(val[-4:-2]) * 3600 + int(val[-2:]) * 60
            offset = -offset if val[-5] == "+" else offset
            val = val[:-5]
        for form in cql_timestamp_formats:
            try:
                return (calendar.timegm(time.strptime(val.strip(), form)) + offset) * 1000
            except ValueError:
                continue
        raise ValueError(f"can't interpret {val!r} as a date")


class TimestampType(DateType):
    """The server's later name for the same type."""


cqltypes["timestamp"] = TimestampType  # metadata of results has DateType, as in scylla-driver


class UUIDType(_ScalarType):
    """The CQL type ``uuid``; values are :class:`uuid.UUID`."""

    typename = "uuid"
    type_id = TypeId.UUID
    fixed_size = 16


class IntegerType(_ScalarType):
    """The CQL type ``varint``; values are ``int``."""

    typename = "varint"
    type_id = TypeId.VARINT


class TimeUUIDType(DateType):
    """The CQL type ``timeuuid``; values are :class:`uuid.UUID`."""

    typename = "timeuuid"
    type_id = TypeId.TIMEUUID
    fixed_size = 16
    # Not inherited: a program may replace the methods of DateType, which must not apply to UUIDs.
    deserialize: Any = vars(_CassandraType)["deserialize"]
    serialize: Any = vars(_CassandraType)["serialize"]

    def my_timestamp(self) -> float:
        """Return the time in seconds since the epoch."""
        return unix_time_from_uuid1(self.val)


class InetAddressType(_ScalarType):
    """The CQL type ``inet``; values are the text of an address."""

    typename = "inet"
    type_id = TypeId.INET


class SimpleDateType(_ScalarType):
    """CQL ``date``: days, read as :class:`cassandra.util.Date`."""

    typename = "date"
    type_id = TypeId.DATE
    date_format: ClassVar[str] = "%Y-%m-%d"  #: Format of dates in text.
    EPOCH_OFFSET_DAYS: ClassVar[int] = 2**31  #: Number that stands for 1970-01-01.


class TimeType(_ScalarType):
    """CQL ``time``: nanoseconds, read as :class:`cassandra.util.Time`."""

    typename = "time"
    type_id = TypeId.TIME


class ShortType(_ScalarType):
    """The CQL type ``smallint``; values are ``int``."""

    typename = "smallint"
    type_id = TypeId.SMALLINT


class ByteType(_ScalarType):
    """The CQL type ``tinyint``; values are ``int``."""

    typename = "tinyint"
    type_id = TypeId.TINYINT


class DurationType(_ScalarType):
    """The CQL type ``duration``; values are :class:`~cassandra.util.Duration`."""

    typename = "duration"
    type_id = TypeId.DURATION
