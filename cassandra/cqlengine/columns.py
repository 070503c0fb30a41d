"""Columns of models and fields of user types."""

import logging

from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.containers import (
    BaseCollectionColumn,
    BaseContainerColumn,
    List,
    Map,
    Set,
    Tuple,
    Vector,
)
from cassandra._mapper.columns.counter import Counter
from cassandra._mapper.columns.moments import Date, DateTime, Duration, Time
from cassandra._mapper.columns.scalars import (
    UUID,
    Ascii,
    BaseFloat,
    BigInt,
    Blob,
    Boolean,
    Bytes,
    Decimal,
    Double,
    Float,
    Inet,
    Integer,
    SmallInt,
    Text,
    TimeUUID,
    TinyInt,
    VarInt,
)
from cassandra._mapper.columns.tracking import BaseValueManager, CounterValueManager, UDTValueManager
from cassandra._mapper.columns.udt import UserDefinedType, resolve_udts
from cassandra._mapper.errors import ValidationError
from cassandra._mapper.functions import get_total_seconds
from cassandra._wire.types.nested import UserType
from cassandra._wire.types.scalars import SimpleDateType

log = logging.getLogger("cassandra.cqlengine.columns")

__all__ = [
    "Ascii",
    "BaseCollectionColumn",
    "BaseContainerColumn",
    "BaseFloat",
    "BaseValueManager",
    "BigInt",
    "Blob",
    "Boolean",
    "Bytes",
    "Column",
    "Counter",
    "CounterValueManager",
    "Date",
    "DateTime",
    "Decimal",
    "Double",
    "Duration",
    "Float",
    "Inet",
    "Integer",
    "List",
    "Map",
    "Set",
    "SimpleDateType",
    "SmallInt",
    "Text",
    "Time",
    "TimeUUID",
    "TinyInt",
    "Tuple",
    "UDTValueManager",
    "UUID",
    "UserDefinedType",
    "UserType",
    "ValidationError",
    "VarInt",
    "Vector",
    "get_total_seconds",
    "log",
    "resolve_udts",
]
