"""Ids of CQL types on the wire, by the names of the server's classes."""

from cassandra._base.constants import TypeId as _TypeId

CUSTOM_TYPE = _TypeId.CUSTOM  #: Number of types with the name of a class.
AsciiType = _TypeId.ASCII  #: Number of the type in the protocol.
LongType = _TypeId.BIGINT  #: Number of the type in the protocol.
BytesType = _TypeId.BLOB  #: Number of the type in the protocol.
BooleanType = _TypeId.BOOLEAN  #: Number of the type in the protocol.
CounterColumnType = _TypeId.COUNTER  #: Number of the type in the protocol.
DecimalType = _TypeId.DECIMAL  #: Number of the type in the protocol.
DoubleType = _TypeId.DOUBLE  #: Number of the type in the protocol.
FloatType = _TypeId.FLOAT  #: Number of the type in the protocol.
Int32Type = _TypeId.INT  #: Number of the type in the protocol.
UTF8Type = _TypeId.TEXT  #: Number of the type in the protocol.
DateType = _TypeId.TIMESTAMP  #: Number of the type in the protocol.
UUIDType = _TypeId.UUID  #: Number of the type in the protocol.
VarcharType = _TypeId.VARCHAR  #: Number of the type in the protocol.
IntegerType = _TypeId.VARINT  #: Number of the type in the protocol.
TimeUUIDType = _TypeId.TIMEUUID  #: Number of the type in the protocol.
InetAddressType = _TypeId.INET  #: Number of the type in the protocol.
SimpleDateType = _TypeId.DATE  #: Number of the type in the protocol.
TimeType = _TypeId.TIME  #: Number of the type in the protocol.
ShortType = _TypeId.SMALLINT  #: Number of the type in the protocol.
ByteType = _TypeId.TINYINT  #: Number of the type in the protocol.
DurationType = _TypeId.DURATION  #: Number of the type in the protocol.
ListType = _TypeId.LIST  #: Number of the type in the protocol.
MapType = _TypeId.MAP  #: Number of the type in the protocol.
SetType = _TypeId.SET  #: Number of the type in the protocol.
UserType = _TypeId.UDT  #: Number of the type in the protocol.
TupleType = _TypeId.TUPLE  #: Number of the type in the protocol.

# fmt: off
__all__ = [
    "AsciiType", "BooleanType", "ByteType", "BytesType", "CUSTOM_TYPE", "CounterColumnType", "DateType",
    "DecimalType", "DoubleType", "DurationType", "FloatType", "InetAddressType", "Int32Type",
    "IntegerType", "ListType", "LongType", "MapType", "SetType", "ShortType", "SimpleDateType",
    "TimeType", "TimeUUIDType", "TupleType", "UTF8Type", "UUIDType", "UserType", "VarcharType",
]
