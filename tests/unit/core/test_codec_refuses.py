"""Values that would be stored as other values are refused before anything is sent."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from cassandra.cqltypes import DateType, DoubleType, FloatType, lookup_casstype
from cassandra.encoder import Encoder
from cassandra.util import Duration


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
