"""Values that would be stored as other values are refused before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from ipaddress import ip_address, ip_interface
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cassandra.cqltypes import DateType, DoubleType, FloatType, lookup_casstype
from cassandra.encoder import Encoder
from cassandra.util import Date, Duration, LineString, OrderedMap, Point, Time


@pytest.mark.parametrize("kind", [FloatType, DoubleType])
@pytest.mark.parametrize("value", [Decimal("1E+400"), Decimal("-1E+2147483647"), Decimal("1" * 5000), 10**400])
def test_finite_numbers_are_not_rounded_to_infinity(kind: Any, value: Any) -> None:
    with pytest.raises(OverflowError):
        kind.serialize(value, 4)


@pytest.mark.parametrize("kind", [FloatType, DoubleType])
@pytest.mark.parametrize("value", [Decimal("Infinity"), float("inf"), Decimal("-Infinity")])
def test_infinities_are_stored(kind: Any, value: Any) -> None:
    assert kind.deserialize(kind.serialize(value, 4), 4) == value


def test_vectors_of_floats_look_at_their_elements() -> None:
    kind = lookup_casstype("org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, 1)")
    with pytest.raises(Exception, match="out of range"):
        kind.serialize([Decimal("1E+400")], 4)


@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_is_no_timestamp(value: bool) -> None:
    with pytest.raises(TypeError, match="timestamp needs a datetime"):
        DateType.serialize(value, 4)


@pytest.mark.parametrize("value", [Duration(1, -2, 3), Duration(-1, 0, 1), Duration(0, 1, -1)])
def test_literals_of_durations_with_two_signs(value: Duration) -> None:
    with pytest.raises(ValueError, match="one sign"):
        Encoder().cql_encode_all_types(value)


def test_literals_of_durations() -> None:
    encode = Encoder().cql_encode_all_types
    assert encode(Duration(1, 2, 3)) == "1mo2d3ns"
    assert encode(Duration(-1, 0, -3)) == "-1mo0d3ns"


@pytest.mark.parametrize("value", ["", "a", "abc", [1.0], "1,2"])
def test_a_vector_of_another_length(value: Any) -> None:
    """Of a str, too, which has a length as a list has."""
    kind = lookup_casstype("org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType, 2)")
    with pytest.raises(ValueError, match="Expected sequence of size 2"):
        kind.serialize(value, 4)
    with pytest.raises(TypeError):
        kind.serialize("ab", 4)


MASKED = np.ma.masked_array(np.array([1, 2, 3], "f4"), mask=[False, True, False])


@pytest.mark.parametrize("kind", ["FloatType", "DoubleType", "BooleanType", "Int32Type", "LongType", "BytesType"])
def test_a_masked_value(kind: str) -> None:
    with pytest.raises(TypeError):
        lookup_casstype(kind).serialize(np.ma.masked, 4)


@pytest.mark.parametrize(
    "kind",
    ["VectorType(FloatType,3)", "ListType(FloatType)", "SetType(DoubleType)", "VectorType(BooleanType,3)", "BytesType"],
)
def test_an_array_with_masked_values(kind: str) -> None:
    with pytest.raises(TypeError):
        lookup_casstype(kind).serialize(MASKED, 4)


@pytest.mark.parametrize("kind", ["VectorType(FloatType,3)", "ListType(FloatType)"])
def test_an_array_whose_mask_hides_nothing(kind: str) -> None:
    values = np.array([1, 2, 3], "f4")
    written = lookup_casstype(kind).serialize(np.ma.masked_array(values), 4)
    assert written == lookup_casstype(kind).serialize(values, 4)


HIDDEN = np.ma.masked_array(5, mask=True)  # without dimensions: an integer array, whose data __index__ returns


@pytest.mark.parametrize(
    "kind",
    [
        "ByteType", "ShortType", "Int32Type", "LongType", "CounterColumnType", "IntegerType", "FloatType",
        "DoubleType", "DecimalType", "BooleanType", "DateType", "SimpleDateType", "TimeType",
    ],
)  # fmt: skip
def test_a_masked_array_of_no_dimension(kind: str) -> None:
    with pytest.raises(TypeError, match="not MaskedArray"):
        lookup_casstype(kind).serialize(HIDDEN, 4)
    with pytest.raises(TypeError):
        lookup_casstype(f"ListType({kind})").serialize([HIDDEN], 4)


@pytest.mark.parametrize("kind", ["Int32Type", "DoubleType", "IntegerType", "BooleanType", "DateType"])
def test_an_array_of_no_dimension_whose_mask_hides_nothing(kind: str) -> None:
    written = lookup_casstype(kind).serialize(np.ma.masked_array(1, mask=False), 4)
    assert written == lookup_casstype(kind).serialize(1, 4)


@pytest.mark.parametrize("kind", ["SimpleDateType", "TimeType"])
def test_masked_days_and_times_of_util(kind: str) -> None:
    with pytest.raises(TypeError, match="not MaskedArray"):
        (Date if kind == "SimpleDateType" else Time)(HIDDEN)


COMPLEX = [1 + 2j, np.complex64(1 + 2j), np.complex128(1), np.array(1 + 2j), np.array(1 + 2j, "c8")]


@pytest.mark.parametrize(
    "kind",
    ["Int32Type", "LongType", "IntegerType", "FloatType", "DoubleType", "DecimalType", "BooleanType", "DateType"],
)
@pytest.mark.parametrize("value", COMPLEX, ids=lambda value: f"{type(value).__name__} {value}")
def test_complex_numbers(kind: str, value: Any) -> None:
    """The imaginary part has no place, even if it is zero."""
    with pytest.raises(TypeError):
        lookup_casstype(kind).serialize(value, 4)


USER_TYPE = "UserType(ks,61646472,61:FloatType)"  # a float field, a
NESTED = [
    ("ListType(FloatType)", lambda value: [value]),
    ("SetType(DoubleType)", lambda value: (value,)),
    ("MapType(Int32Type,FloatType)", lambda value: {1: value}),
    ("MapType(DoubleType,Int32Type)", lambda value: OrderedMap([(value, 1)])),
    ("TupleType(Int32Type,FloatType)", lambda value: (1, value)),
    ("VectorType(FloatType,2)", lambda value: [1.5, value]),
    (USER_TYPE, lambda value: (value,)),
    (USER_TYPE, lambda value: {"a": value}),
    (USER_TYPE, lambda value: SimpleNamespace(a=value)),
    (f"ListType({USER_TYPE})", lambda value: [{"a": value}]),
    ("VectorType(ListType(FloatType),1)", lambda value: [[value]]),
]


@pytest.mark.parametrize("value", [*COMPLEX, np.ma.masked, HIDDEN, MASKED[1]], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("kind", "around"), NESTED, ids=lambda part: part if isinstance(part, str) else "")
def test_parts_of_values(kind: str, around: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(TypeError):
        lookup_casstype(kind).serialize(around(value), 4)


@pytest.mark.parametrize("kind", ["ListType(FloatType)", "SetType(DoubleType)", "VectorType(FloatType,2)"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_arrays_of_complex_numbers(kind: str, dtype: str) -> None:
    with pytest.raises(TypeError, match="needs a float, not complex"):
        lookup_casstype(kind).serialize(np.array([1, 2j], dtype), 4)


@pytest.mark.parametrize("kind", ["FloatType", "DoubleType"])
@pytest.mark.parametrize("value", [np.timedelta64(5, "s"), np.datetime64(5, "ns"), np.array("1.5")])
def test_times_and_text_of_numpy_are_no_floats(kind: str, value: Any) -> None:
    with pytest.raises(TypeError, match="needs a float"):
        lookup_casstype(kind).serialize(value, 4)


@pytest.mark.parametrize("kind", ["FloatType", "DoubleType"])
def test_objects_in_arrays_of_no_dimension(kind: str) -> None:
    for value in (np.complex64(1 + 2j), 1j, "1.5", np.timedelta64(5, "s")):
        array = np.empty((), object)
        array[()] = value
        with pytest.raises(TypeError, match="needs a float"):
            lookup_casstype(kind).serialize(array, 4)
    written = lookup_casstype(kind).serialize(np.array(Decimal("1.5"), object), 4)
    assert written == lookup_casstype(kind).serialize(1.5, 4)


@pytest.mark.parametrize("value", [np.array(0.5), np.array([1]), np.array([True])])
def test_arrays_that_are_no_truth_values(value: Any) -> None:
    with pytest.raises(TypeError):
        lookup_casstype("BooleanType").serialize(value, 4)


@pytest.mark.parametrize("value", [np.array(1), np.array(True), np.bool_(True), np.int8(3), 2])
def test_truth_values_of_numpy(value: Any) -> None:
    assert lookup_casstype("BooleanType").serialize(value, 4) == b"\1"


@pytest.mark.parametrize("kind", ["PointType", "LineStringType"])
@pytest.mark.parametrize("value", [np.complex64(1 + 2j), np.ma.masked])
def test_coordinates(kind: str, value: Any) -> None:
    point = Point(1.0, 2.0)
    point.y = value
    line = LineString()
    line.coords = ((1.0, value), (1.0, 2.0))
    with pytest.raises(TypeError, match="a coordinate must be a float"):
        lookup_casstype(kind).serialize(point if kind == "PointType" else line, 4)


INET = lookup_casstype("InetAddressType")


@pytest.mark.parametrize("text", ["fe80::1%eth0", "fe80::1%1", "::1%lo"])
def test_an_address_with_a_scope(text: str) -> None:
    with pytest.raises(ValueError, match=f"inet cannot hold the scope of {text}"):
        INET.serialize(ip_address(text), 4)
    with pytest.raises(ValueError, match="scope"):
        lookup_casstype("MapType(InetAddressType,Int32Type)").serialize({ip_address(text): 1}, 4)
    with pytest.raises(ValueError, match="not an IP address"):
        INET.serialize(text, 4)
    for value in (ip_address(text), [ip_address(text)], {ip_address(text): 1}):
        with pytest.raises(ValueError, match=f"inet cannot hold the scope of {text}"):
            Encoder().cql_encode_all_types(value)


@pytest.mark.parametrize("text", ["10.0.0.1/24", "fe80::1/64"])
def test_an_address_with_a_prefix(text: str) -> None:
    for encode in (lambda value: INET.serialize(value, 4), Encoder().cql_encode_all_types):
        with pytest.raises(ValueError, match=f"inet cannot hold the prefix length of {text}"):
            encode(ip_interface(text))


@pytest.mark.parametrize("text", ["10.0.0.1", "fe80::1", "::ffff:10.0.0.1"])
def test_an_interface_of_one_address(text: str) -> None:
    assert INET.serialize(ip_interface(text), 4) == ip_address(text).packed
    encode = Encoder().cql_encode_all_types
    assert encode(ip_interface(text)) == encode(ip_address(text)) == f"'{ip_address(text).compressed}'"
