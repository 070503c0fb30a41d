"""Ids of CQL types on the wire, by the names of the server's classes."""

from cassandra._base.constants import TypeId as _TypeId

CUSTOM_TYPE = _TypeId.CUSTOM
AsciiType = _TypeId.ASCII
LongType = _TypeId.BIGINT
BytesType = _TypeId.BLOB
BooleanType = _TypeId.BOOLEAN
CounterColumnType = _TypeId.COUNTER
DecimalType = _TypeId.DECIMAL
DoubleType = _TypeId.DOUBLE
FloatType = _TypeId.FLOAT
Int32Type = _TypeId.INT
UTF8Type = _TypeId.TEXT
DateType = _TypeId.TIMESTAMP
UUIDType = _TypeId.UUID
VarcharType = _TypeId.VARCHAR
IntegerType = _TypeId.VARINT
TimeUUIDType = _TypeId.TIMEUUID
InetAddressType = _TypeId.INET
SimpleDateType = _TypeId.DATE
TimeType = _TypeId.TIME
ShortType = _TypeId.SMALLINT
ByteType = _TypeId.TINYINT
DurationType = _TypeId.DURATION
ListType = _TypeId.LIST
MapType = _TypeId.MAP
SetType = _TypeId.SET
UserType = _TypeId.UDT
TupleType = _TypeId.TUPLE

# fmt: off
__all__ = [
    "AsciiType", "BooleanType", "ByteType", "BytesType", "CUSTOM_TYPE", "CounterColumnType", "DateType",
    "DecimalType", "DoubleType", "DurationType", "FloatType", "InetAddressType", "Int32Type",
    "IntegerType", "ListType", "LongType", "MapType", "SetType", "ShortType", "SimpleDateType",
    "TimeType", "TimeUUIDType", "TupleType", "UTF8Type", "UUIDType", "UserType", "VarcharType",
]
