"""Classes of types with parameters: collections, tuples, user types, vectors, composites, DataStax types."""

from __future__ import annotations

import datetime as dt
import struct
from collections import namedtuple
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import DriverException
from cassandra._wire.types.base import _on_register, casstypes, cqltypes
from cassandra._wire.types.registry import resolve_custom
from cassandra.cqltypes import (
    BoundKind,
    BytesType,
    CompositeType,
    DateRangeType,
    DynamicCompositeType,
    FloatType,
    FrozenType,
    Int32Type,
    LineStringType,
    ListType,
    MapType,
    PointType,
    PolygonType,
    ReversedType,
    SetType,
    TupleType,
    UserType,
    UTF8Type,
    VectorType,
    lookup_casstype,
)
from cassandra.util import (
    OPEN_BOUND,
    DateRange,
    DateRangeBound,
    LineString,
    OrderedMap,
    OrderedMapSerializedKey,
    Point,
    Polygon,
    SortedSet,
)

LIST = ListType.apply_parameters([Int32Type])


def test_list() -> None:
    assert LIST.serialize([1, None], 4).hex() == "00000002000000040000000" + "1ffffffff"
    assert LIST.deserialize(LIST.serialize((1, 2), 4), 4) == [1, 2]
    assert ListType.adapter is list and SetType.adapter is SortedSet


def test_set() -> None:
    cls = SetType.apply_parameters([UTF8Type])
    value = cls.deserialize(cls.serialize({"b", "a"}, 4), 4)
    assert type(value) is SortedSet and list(value) == ["a", "b"]


def test_map() -> None:
    cls = MapType.apply_parameters([UTF8Type, FrozenType.apply_parameters([LIST])])
    value = cls.deserialize(cls.serialize({"a": [1]}, 4), 4)
    assert type(value) is OrderedMapSerializedKey and value == {"a": [1]} == OrderedMap(a=[1])
    assert cls.cql_parameterized_type() == "map<text, frozen<list<int>>>"
    assert cls.cass_parameterized_type() == "MapType(UTF8Type, FrozenType(ListType(Int32Type)))"


def test_tuple() -> None:
    cls = TupleType.apply_parameters([Int32Type, UTF8Type])
    assert cls.deserialize(cls.serialize((1, None), 4), 4) == (1, None)
    assert cls.deserialize(bytes.fromhex("0000000400000001"), 4) == (1, None)
    assert cls.cql_parameterized_type() == "frozen<tuple<int, text>>"
    with pytest.raises(ValueError):
        cls.serialize((1, "a", 2), 4)


def test_safe_variants_and_binary() -> None:
    assert LIST.deserialize_safe(LIST.serialize_safe([1], 4), 4) == LIST.from_binary(LIST.to_binary([1], 4), 4) == [1]
    assert LIST.from_binary(None, 4) is None and LIST.to_binary(None, 4) == b""


def test_wrappers_leave_values_alone() -> None:
    for wrapper in (FrozenType, ReversedType):
        cls = wrapper.apply_parameters([Int32Type])
        assert cls.codec() is Int32Type.codec() and cls.serial_size() == 4
        assert cls.deserialize(cls.serialize(5, 4), 4) == 5
        assert cls.deserialize_safe(cls.serialize_safe(5, 4), 4) == 5
    assert FrozenType.apply_parameters([LIST]).cql_parameterized_type() == "frozen<list<int>>"


def test_one_class_per_parameters() -> None:
    assert ListType.apply_parameters([Int32Type]) is LIST is lookup_casstype("ListType(Int32Type)")
    assert VectorType.apply_parameters([FloatType, 3]) is VectorType.apply_parameters([FloatType, 3])
    assert issubclass(LIST, ListType) and LIST.subtypes == (Int32Type,)


@pytest.mark.parametrize("cls", [ListType, SetType, MapType, FrozenType, ReversedType])
def test_the_number_of_parameters_is_checked(cls: Any) -> None:
    with pytest.raises(ValueError, match="subtypes"):
        cls.apply_parameters([Int32Type] * 3)


@pytest.mark.parametrize("cls", [ListType, SetType, MapType, TupleType, UserType, VectorType])
def test_without_parameters_no_values(cls: Any) -> None:
    with pytest.raises(NotImplementedError, match="parameters"):
        cls.serialize([1], 4)


class TestVector:
    def test_fixed_size(self) -> None:
        cls = VectorType.apply_parameters([FloatType, 3])
        assert cls.serialize([1, 2.5, -1], 4) == struct.pack(">3f", 1, 2.5, -1)
        assert cls.deserialize(struct.pack(">3f", 1, 2.5, -1), 4) == [1, 2.5, -1]
        assert (cls.vector_size, cls.subtype, cls.serial_size()) == (3, FloatType, 12)
        assert cls.cql_parameterized_type() == "vector<float, 3>"
        assert cls.cass_parameterized_type() == "VectorType(FloatType, 3)"
        full = cls.cass_parameterized_type(full=True)
        assert full.startswith("org.apache") and lookup_casstype(full) is cls

    def test_variable_size(self) -> None:
        cls = VectorType.apply_parameters([UTF8Type, 2])
        assert cls.serialize(["a", "bc"], 4) == b"\x01a\x02bc" and cls.serial_size() is None
        assert cls.deserialize(b"\x01a\x02bc", 4) == ["a", "bc"]

    def test_nested(self) -> None:
        cls = VectorType.apply_parameters([VectorType.apply_parameters([Int32Type, 2]), 2])
        assert cls.serial_size() == 16 and cls.deserialize(cls.serialize([[1, 2], [3, 4]], 5), 5) == [[1, 2], [3, 4]]

    def test_bad_sizes(self) -> None:
        cls = VectorType.apply_parameters([FloatType, 3])
        with pytest.raises(ValueError):
            cls.serialize([1, 2], 4)
        with pytest.raises(DriverException):
            cls.deserialize(bytes(11), 4)
        for params in ([FloatType], [FloatType, 0], [FloatType, "x"]):
            with pytest.raises((ValueError, AttributeError)):
                VectorType.apply_parameters(params)

    def test_numbers(self) -> None:
        cls = VectorType.apply_parameters([FloatType, 3])
        found = cls.numbers(struct.pack(">3f", 1, 2.5, -1))
        assert (found.format, found.readonly, found.tolist()) == ("f", False, [1.0, 2.5, -1.0])
        with pytest.raises(DriverException, match="cannot have 11 bytes"):
            cls.numbers(bytes(11))
        with pytest.raises(TypeError, match="not a vector of machine numbers"):
            VectorType.apply_parameters([UTF8Type, 2]).numbers(b"")

    @pytest.mark.usefixtures("own_types")
    def test_rows_of_arrays_by_a_class_of_the_application(self) -> None:
        original = VectorType.apply_parameters([FloatType, 3])

        class Arrays(VectorType):
            cassname = "VectorType"

            @classmethod
            def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
                return np.asarray(cls.numbers(byts))

        casstypes["VectorType"] = Arrays  # what naming the class VectorType does
        codec = resolve_custom(original.cass_parameterized_type(full=True))
        assert codec.encode(np.array([1, 2.5, -1])) == original.serialize([1, 2.5, -1], 4)
        value = codec.decode(original.serialize([1, 2.5, -1], 4))
        assert value.dtype == "float32" and value.tolist() == [1.0, 2.5, -1.0]
        with pytest.raises(DriverException, match=r"VectorType\(.*FloatType, 3\).*cannot have 11 bytes"):
            codec.decode(bytes(11))


@pytest.fixture
def own_types() -> Iterator[None]:
    """Classes that a test registers are gone after it."""
    kept, kept_cql = dict(casstypes), dict(cqltypes)
    forget_lookups()
    yield
    for registry, before in ((casstypes, kept), (cqltypes, kept_cql)):
        registry.clear()
        registry.update(before)
    forget_lookups()


def forget_lookups() -> None:
    for forget in _on_register:
        forget()


class TestUserType:
    NAME = "org.apache.cassandra.db.marshal.UserType(ks,61646472,6369747931:UTF8Type,7a6970:ListType(Int32Type))"

    def test_parsed(self) -> None:
        cls = lookup_casstype(self.NAME.replace("31:", ":"))
        assert (cls.keyspace, cls.typename, cls.fieldnames) == ("ks", "addr", ("city", "zip"))
        assert cls.subtypes == (UTF8Type, LIST) and cls.cql_parameterized_type() == "frozen<addr>"
        value = cls.deserialize(cls.serialize(("x", [5]), 4), 4)
        assert value == ("x", [5]) and value.city == "x" and type(value) is cls.tuple_type
        assert lookup_casstype(cls.cass_parameterized_type(full=True)) is cls

    def test_made(self) -> None:
        cls = UserType.make_udt_class("ks", "t1", ("a", "b"), (Int32Type, UTF8Type))
        assert UserType.make_udt_class("ks", "t1", ["a", "b"], [Int32Type, UTF8Type]) is cls
        for value in ((1, "x"), {"a": 1, "b": "x"}, cls.tuple_type(1, "x"), type("O", (), {"a": 1, "b": "x"})()):
            assert cls.deserialize(cls.serialize(value, 4), 4) == (1, "x")
        assert cls.deserialize(cls.serialize((1, None), 4), 4) == (1, None)
        assert cls.from_binary(None, 4) is None

    @pytest.mark.parametrize(
        ("fields", "values"),
        [
            ("b a", ("x", 1)),
            ("a b", (1, "x")),
            ("b", ("x",)),  # the type has more fields
            ("Index b a", (7, "x", 1)),  # it has fewer: a row of pandas
            ("b a c", ("x", 1, 7)),
            ("a b c", (1, "x", 7)),
            ("old b", (1, "x")),  # a field was renamed
            ("p q", (1, "x")),
            ("p q r", (1, "x", 7)),
        ],
    )
    def test_named_tuples(self, fields: str, values: tuple[Any, ...]) -> None:
        """By name, as they are read; by position if their names say nothing else."""
        cls = UserType.make_udt_class("ks", "named", ("a", "b"), (Int32Type, UTF8Type))
        value = namedtuple("Named", fields)(*values)
        expected = (None, "x") if fields == "b" else (1, "x")
        assert cls.deserialize(cls.serialize(value, 4), 4) == expected
        for outer, around in (
            (ListType.apply_parameters([cls]), [value]),
            (MapType.apply_parameters([cls, Int32Type]), {value: 1}),
            (TupleType.apply_parameters([Int32Type, cls]), (1, value)),
            (VectorType.apply_parameters([cls, 1]), [value]),
            (UserType.make_udt_class("ks", "outer", ("n",), (cls,)), SimpleNamespace(n=value)),
        ):
            plain = type(around)([expected]) if isinstance(around, list) else (1, expected)
            plain = {expected: 1} if isinstance(around, dict) else plain
            plain = (expected,) if isinstance(around, SimpleNamespace) else plain
            assert outer.serialize(around, 4) == outer.serialize(plain, 4)

    @pytest.mark.parametrize("fields", ["b old", "b a2", "c a"])
    def test_named_tuples_in_another_order_with_unknown_names(self, fields: str) -> None:
        cls = UserType.make_udt_class("ks", "named", ("a", "b"), (UTF8Type, UTF8Type))
        with pytest.raises(ValueError, match=r"user type named has no field .*at another position"):
            cls.serialize(namedtuple("Named", fields)("x", "y"), 4)

    def test_subclasses_of_tuples_without_names(self) -> None:
        class Pair(tuple[Any, ...]):
            _fields = None

        cls = UserType.make_udt_class("ks", "pair", ("a", "b"), (Int32Type, UTF8Type))
        for value in ((1, "x"), [1, "x"], Pair((1, "x")), (1, "x", "later")):
            assert cls.deserialize(cls.serialize(value, 4), 4) == (1, "x")

    def test_altered(self) -> None:
        old = UserType.make_udt_class("ks", "t2", ("a",), (Int32Type,))
        new = UserType.make_udt_class("ks", "t2", ("a", "b"), (Int32Type, Int32Type))
        assert new is not old and new.deserialize(old.serialize((1,), 4), 4) == (1, None)
        assert old.deserialize(new.serialize((1, 2), 4), 4) == (1,)

    def test_evicted(self) -> None:
        cls = UserType.make_udt_class("ks", "t3", ("a",), (Int32Type,))
        cls.mapped_class = dict
        UserType.evict_udt_class("ks", "t3")
        UserType.evict_udt_class("ks", "never")
        fresh = UserType._make("ks", "t3", ("a",), (UTF8Type,))
        assert fresh.mapped_class is None

    def test_registered_class(self) -> None:
        class Address:
            def __init__(self, a: int, b: str) -> None:
                self.a, self.b = a, b

        cls = UserType.make_udt_class("ks", "t4", ("a", "b"), (Int32Type, UTF8Type))
        outer = ListType.apply_parameters([cls])
        data = outer.serialize([(1, "x")], 4)
        assert outer.deserialize(data, 4) == [(1, "x")]
        cls.mapped_class = Address
        assert type(cls.deserialize(cls.serialize((1, "x"), 4), 4)) is Address
        value = outer.deserialize(data, 4)[0]
        assert type(value) is Address and (value.a, value.b) == (1, "x") and outer.serialize([value], 4) == data

    def test_field_names_of_any_kind(self) -> None:
        cls = UserType.make_udt_class("ks", "my type", ("class", "a b", "_c"), (Int32Type,) * 3)
        value = cls.deserialize(cls.serialize((1, 2, 3), 4), 4)
        assert type(value) is tuple and value == (1, 2, 3) and cls.serialize(value, 4)
        assert cls.cql_parameterized_type() == 'frozen<"my type">'

    @pytest.mark.parametrize("text", ["UserType(ks)", "UserType(ks,61,Int32Type)", "UserType(ks,zz,61:Int32Type)"])
    def test_malformed(self, text: str) -> None:
        with pytest.raises(ValueError, match="parse"):
            lookup_casstype(text)


class TestComposite:
    def test_values(self) -> None:
        cls = CompositeType.apply_parameters([Int32Type, UTF8Type])
        data = b"\x00\x04\x00\x00\x00\x05\x00\x00\x01a\x00"
        assert cls.deserialize(data, 4) == (5, "a") and cls.serialize((5, "a"), 4) == data
        assert cls.deserialize(data[:7], 4) == (5,) and cls.deserialize_safe(data, 4) == (5, "a")
        assert cls.deserialize(b"\x00\x00\x00" + data[7:], 4) == (None, "a")

    def test_names(self) -> None:
        cls = CompositeType.apply_parameters([Int32Type])
        name = "org.apache.cassandra.db.marshal.CompositeType(org.apache.cassandra.db.marshal.Int32Type)"
        assert cls.cql_parameterized_type() == f"'{name}'"
        dynamic = lookup_casstype("DynamicCompositeType(a=>Int32Type,b=>UTF8Type)")
        assert issubclass(dynamic, DynamicCompositeType) and dynamic.fieldnames == ("a", "b")
        assert dynamic.cass_parameterized_type() == "DynamicCompositeType(a=>Int32Type, b=>UTF8Type)"
        assert dynamic.cql_parameterized_type().startswith("'org.apache")
        assert dynamic.deserialize(b"raw", 4) == b"raw" and dynamic.serialize(b"raw", 4) == b"raw"

    @pytest.mark.parametrize("data", [b"\x00", b"\x00\x04\x00\x00", b"\x00\x04\x00\x00\x00\x05"])
    def test_cut_off(self, data: bytes) -> None:
        with pytest.raises(DriverException, match="past the end"):
            CompositeType.apply_parameters([Int32Type, UTF8Type]).deserialize(data, 4)

    def test_too_many(self) -> None:
        with pytest.raises(ValueError, match="2 components for 1"):
            CompositeType.apply_parameters([Int32Type]).serialize((1, 2), 4)


PAIR = st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False))


@given(
    st.one_of(
        st.tuples(st.just(PointType), PAIR.map(lambda pair: Point(*pair))),
        st.tuples(st.just(LineStringType), st.lists(PAIR).map(LineString)),
        st.tuples(
            st.just(PolygonType), st.builds(Polygon, st.lists(PAIR, min_size=1), st.lists(st.lists(PAIR, min_size=1)))
        ),
        st.just((PolygonType, Polygon())),
    )
)
def test_geometry(case: tuple[Any, Any]) -> None:
    cls, shape = case
    data = cls.serialize(shape, 4)
    assert cls.deserialize(data, 4) == shape
    for cut in range(1, len(data)):
        with pytest.raises(DriverException):
            cls.deserialize(data[:cut], 4)


def test_geometry_of_the_other_byte_order() -> None:
    assert PointType.deserialize(struct.pack(">BIdd", 0, 1, 1.5, 2), 4) == Point(1.5, 2.0)
    with pytest.raises(DriverException, match="expected geometry 2, got 1"):
        LineStringType.deserialize(struct.pack(">BIdd", 0, 1, 1.5, 2), 4)


WHEN = DateRangeBound(dt.datetime(2020, 5, 17, 3), "MONTH")
UP = DateRangeBound(dt.datetime(2020, 5, 31, 23, 59, 59, 999000), "MONTH")


@pytest.mark.parametrize(
    ("given_range", "read"),
    [
        (DateRange(value=WHEN), DateRange(value=WHEN)),
        (DateRange(value=OPEN_BOUND), DateRange(value=OPEN_BOUND)),
        (DateRange(WHEN, WHEN), DateRange(WHEN, UP)),
        (DateRange(OPEN_BOUND, WHEN), DateRange(OPEN_BOUND, UP)),
        (DateRange(WHEN, OPEN_BOUND), DateRange(WHEN, OPEN_BOUND)),
        (DateRange(OPEN_BOUND, OPEN_BOUND), DateRange(OPEN_BOUND, OPEN_BOUND)),
    ],
)
def test_date_ranges(given_range: DateRange, read: DateRange) -> None:
    data = DateRangeType.serialize(given_range, 4)
    assert DateRangeType.deserialize(data, 4) == read
    assert BoundKind.to_int(BoundKind.to_str(data[0])) == data[0]
    with pytest.raises(DriverException):
        DateRangeType.deserialize(data + b"\0", 4)


def test_custom_types_work_inside_collections() -> None:
    cls = lookup_casstype("ListType(org.apache.cassandra.db.marshal.PointType)")
    assert cls.deserialize(cls.serialize([Point(1.0, 2.0)], 4), 4) == [Point(1.0, 2.0)]
    assert lookup_casstype("SetType(com.example.Unknown)").cql_parameterized_type() == "set<'com.example.Unknown'>"
    unknown = lookup_casstype("SetType(com.example.Unknown)")
    assert unknown.deserialize(unknown.serialize([b"x", b""], 4), 4) == {b"x", b""}


def test_nested_bytes() -> None:
    cls = MapType.apply_parameters([BytesType, SetType.apply_parameters([TupleType.apply_parameters([Int32Type])])])
    assert cls.deserialize(cls.serialize({b"": {(1,)}}, 5), 5) == {b"": [(1,)]}
