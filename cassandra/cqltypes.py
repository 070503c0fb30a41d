"""CQL types as classes: names, parameters, and serialization of values. A subclass adds a type."""

# fmt: off
# isort: off
import logging

from cassandra._base.aliases import add_names
from cassandra._base.names import trim_if_startswith
from cassandra._wire.marshal import (
    double_pack, double_unpack, float_pack, float_unpack, int8_pack, int8_unpack, int16_pack, int16_unpack,
    int32_pack, int32_unpack, int64_pack, int64_unpack, uint16_unpack, uint32_pack, uint32_unpack, uvint_pack,
    uvint_unpack, varint_pack, varint_unpack, vints_pack, vints_unpack,
)
from cassandra._wire.types.base import (
    EMPTY, CassandraType, CassandraTypeType, EmptyValue, apache_cassandra_type_prefix, cassandra_empty_type,
    cql_empty_type, lookup_casstype_simple, mkUnrecognizedType, _CassandraType, _ParameterizedType,
    _SimpleParameterizedType, _UnrecognizedType,
)
from cassandra._wire.types.nested import (
    ColumnToCollectionType, FrozenType, ListType, MapType, ReversedType, SetType, TupleType,
)
from cassandra._wire.types.nested import CompositeType, DynamicCompositeType
from cassandra._wire.types.datastax import (
    BoundKind, DateRangeType, LineStringType, PointType, PolygonType, WKBGeometryType,
)
from cassandra._wire.types.parser import (
    cql_typename, cql_types_from_string, cqltype_to_python, is_counter_type, is_reversed_casstype, lookup_casstype,
    parse_casstype_args, python_to_cqltype, strip_frozen,
)
from cassandra._wire.types.scalars import (
    AsciiType, BooleanType, BytesType, ByteType, CounterColumnType, DateType, DecimalType, DoubleType, DurationType,
    FloatType, InetAddressType, Int32Type, IntegerType, LongType, ShortType, SimpleDateType, TimestampType, TimeType,
    TimeUUIDType, UTF8Type, UUIDType, VarcharType, cql_timestamp_formats,
)
from cassandra._wire.types.nested import UserType
from cassandra._wire.types.nested import VectorType

log = logging.getLogger("cassandra.cqltypes")

__all__ = [
    "log",
    "EMPTY", "AsciiType", "BooleanType", "BoundKind", "ByteType", "BytesType", "CassandraType", "CassandraTypeType",
    "ColumnToCollectionType", "CompositeType", "CounterColumnType", "DateRangeType", "DateType", "DecimalType",
    "DoubleType", "DurationType", "DynamicCompositeType", "EmptyValue", "FloatType", "FrozenType", "InetAddressType",
    "Int32Type", "IntegerType", "LineStringType", "ListType", "LongType", "MapType", "PointType", "PolygonType",
    "ReversedType", "SetType", "ShortType", "SimpleDateType", "TimeType", "TimeUUIDType", "TimestampType", "TupleType",
    "UTF8Type", "UUIDType", "UserType", "VarcharType", "VectorType", "WKBGeometryType", "_CassandraType",
    "_ParameterizedType", "_SimpleParameterizedType", "_UnrecognizedType", "apache_cassandra_type_prefix",
    "cassandra_empty_type", "cql_empty_type", "cql_timestamp_formats", "cql_typename", "cql_types_from_string",
    "cqltype_to_python", "double_pack", "double_unpack", "float_pack", "float_unpack", "int16_pack", "int16_unpack",
    "int32_pack", "int32_unpack", "int64_pack", "int64_unpack", "int8_pack", "int8_unpack", "is_counter_type",
    "is_reversed_casstype", "lookup_casstype", "lookup_casstype_simple", "mkUnrecognizedType", "parse_casstype_args",
    "python_to_cqltype", "strip_frozen", "trim_if_startswith", "uint16_unpack", "uint32_pack", "uint32_unpack",
    "uvint_pack", "uvint_unpack", "varint_pack", "varint_unpack", "vints_pack", "vints_unpack",
]

add_names(__name__, {
    "decimal": "Decimal",
    "uuid": "UUID",
    "cassandra._wire.types.base": "_casstypes=casstypes _cqltypes=cqltypes",
    "cassandra._compat.names": (
        "point_be point_le _little_endian_flag _name_from_hex_string _number_types _strip_frozen_from_python"
        " casstype_scanner cql_type_scanner"
    ),
})  # fmt: skip
