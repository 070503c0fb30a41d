"""Type names: the server's spelling to classes, CQL spelling, and codecs to classes."""

from __future__ import annotations

import gc
import sys
import sysconfig
import weakref
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra import cqltypes
from cassandra._core.codec import custom_codec, list_codec, map_codec, scalar, tuple_codec, udt_codec, vector_codec
from cassandra._wire.types.registry import resolve_custom, type_class
from cassandra.cqltypes import (
    Int32Type,
    ListType,
    SetType,
    UTF8Type,
    cql_typename,
    cql_types_from_string,
    cqltype_to_python,
    is_counter_type,
    is_reversed_casstype,
    lookup_casstype,
    lookup_casstype_simple,
    mkUnrecognizedType,
    parse_casstype_args,
    python_to_cqltype,
    strip_frozen,
)

P = "org.apache.cassandra.db.marshal."
#: Free-threaded builds of Python 3.13 do not count references of classes once there is a second thread.
CLASSES_STAY = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14)


@pytest.mark.parametrize(
    ("text", "cql"),
    [
        ("Int32Type", "int"),
        (f"{P}Int32Type", "int"),
        (f"{P}ListType({P}UTF8Type)", "list<text>"),
        (f" {P}MapType( {P}UTF8Type , {P}IntegerType ) ", "map<text, varint>"),
        (f"{P}FrozenType({P}SetType({P}TimeUUIDType))", "frozen<set<timeuuid>>"),
        (f"{P}TupleType({P}Int32Type,{P}BytesType)", "frozen<tuple<int, blob>>"),
        (f"{P}VectorType({P}FloatType, 1536)", "vector<float, 1536>"),
        (f"{P}VectorType({P}VectorType({P}FloatType , 2) , 3)", "vector<vector<float, 2>, 3>"),
        (f"{P}UserType(ks,6d7954797065,61:{P}Int32Type)", 'frozen<"myType">'),
        ("com.example.Other", "'com.example.Other'"),
        (f"{P}EmptyType", "'EmptyType'"),
    ],
)
def test_cql_spelling(text: str, cql: str) -> None:
    assert cql_typename(text) == cql
    assert lookup_casstype(text) is lookup_casstype(text)


def test_reversed_and_counters() -> None:
    text = f"{P}ReversedType({P}TimestampType)"
    assert is_reversed_casstype(lookup_casstype(text)) and not is_reversed_casstype(Int32Type)
    assert is_counter_type("CounterColumnType") and is_counter_type(cqltypes.CounterColumnType)
    assert not is_counter_type("LongType") and not is_counter_type("ListType(CounterColumnType)")


def test_column_to_collection() -> None:
    cls = lookup_casstype(f"{P}ColumnToCollectionType(6d:{P}MapType({P}UTF8Type,{P}UTF8Type))")
    assert issubclass(cls, cqltypes.ColumnToCollectionType) and cls.subtypes[0].cql_parameterized_type() == (
        "map<text, text>"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "ListType(",
        "ListType(Int32Type",
        "ListType(Int32Type))",
        "ListType(Int32Type,)x",
        "ListType()",
        ",",
        ":",
        "1",
        "=>",
        "a:b",
        "ListType(a:)",
        "MapType(Int32Type)",
        "VectorType(FloatType)",
        "ListType(Int32Type;UTF8Type)x",
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(ValueError, match="Don't know how to parse"):
        lookup_casstype(text)
    with pytest.raises(ValueError):
        parse_casstype_args(text)


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    with pytest.raises(ValueError, match="128 levels"):
        lookup_casstype("ListType(" * 100_000)


@given(st.text("ListType(),:=> 3Int32", max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        cls = lookup_casstype(text)
    except ValueError:
        return
    assert isinstance(cls, type)


def test_a_class_is_itself() -> None:
    assert lookup_casstype(Int32Type) is Int32Type and lookup_casstype_simple("UTF8Type") is UTF8Type


def test_unknown_types_move_bytes() -> None:
    cls = mkUnrecognizedType("com.example.X")
    assert lookup_casstype_simple("com.example.X") is cls and cls.cassname == "com.example.X"
    assert cls.deserialize(b"x", 4) == b"x" and cls.serialize(b"y", 4) == b"y"
    assert cls.from_binary(b"", 4) == b"" and cls.cass_parameterized_type(full=True) == "com.example.X"


@pytest.mark.parametrize(
    ("cql", "nested"),
    [
        ("int", ["int"]),
        ("frozen<tuple<text, int>>", ["frozen", ["tuple", ["text", "int"]]]),
        (
            "map<text, frozen<list<frozen<my_udt>>>>",
            ["map", ["text", "frozen", ["list", ["frozen", ["my_udt"]]]]],
        ),
        ('frozen<"My, odd <name>">', ["frozen", ['"My, odd <name>"']]),
        ("vector<float, 3>", ["vector", ["float", "3"]]),
    ],
)
def test_cql_as_lists(cql: str, nested: list[Any]) -> None:
    assert cqltype_to_python(cql) == nested and python_to_cqltype(nested) == cql


@pytest.mark.parametrize("cql", ["list<int", "list<int>>", ">", "<"])
def test_unbalanced_cql(cql: str) -> None:
    with pytest.raises(ValueError, match="unbalanced"):
        cqltype_to_python(cql)


@pytest.mark.parametrize(
    ("cql", "plain"),
    [
        ("frozen<tuple<text>>", "tuple<text>"),
        ("frozen<map<frozen<list<int>>, frozen<x>>>", "map<list<int>, x>"),
        ("int", "int"),
        ("tuple<frozen<a>, b, frozen<list<frozen<c>>>>", "tuple<a, b, list<c>>"),
    ],
)
def test_strip_frozen(cql: str, plain: str) -> None:
    assert strip_frozen(cql) == plain


def test_names_in_a_cql_type() -> None:
    assert cql_types_from_string("map<text, frozen<list<my_udt>>>") == ["map", "text", "list", "my_udt"]
    assert cql_types_from_string('frozen<tuple<"Odd", vector<float, 3>>>') == ["tuple", "Odd", "vector", "float"]


def test_classes_of_codecs() -> None:
    int_, text = scalar(9), scalar(10)
    assert type_class(int_) is Int32Type and type_class(text) is UTF8Type
    assert type_class(scalar(13)) is cqltypes.VarcharType and type_class(scalar(11)) is cqltypes.DateType
    assert type_class(list_codec(int_)) is ListType.apply_parameters([Int32Type])
    assert type_class(map_codec(int_, text)).cql_parameterized_type() == "map<int, text>"
    assert type_class(tuple_codec([int_, text])).cql_parameterized_type() == "frozen<tuple<int, text>>"
    assert type_class(vector_codec(int_, 2)) is cqltypes.VectorType.apply_parameters([Int32Type, 2])
    assert type_class(custom_codec("com.example.X")) is mkUnrecognizedType("com.example.X")
    codec = list_codec(int_)
    assert type_class(codec) is codec.py_type


def test_classes_of_user_type_codecs() -> None:
    class Mine:
        def __init__(self, a: int) -> None:
            self.a = a

    plain = udt_codec("ks", "t", ["a"], [scalar(9)])
    mine = udt_codec("ks", "t", ["a"], [scalar(9)], Mine)
    cls, mapped = type_class(plain), type_class(mine)
    assert (cls.keyspace, cls.typename, cls.fieldnames, cls.mapped_class) == ("ks", "t", ("a",), None)
    assert mapped.mapped_class is Mine and type(mapped.deserialize(mapped.serialize((1,), 4), 4)) is Mine
    assert cls.deserialize(cls.serialize((1,), 4), 4) == (1,)


@pytest.mark.parametrize(
    "name", [f"{P}PointType", f"{P}DateRangeType", "com.example.X", f"{P}CompositeType({P}UTF8Type)"]
)
def test_custom_types_from_metadata(name: str) -> None:
    codec = resolve_custom(name)
    assert codec.py_type.cass_parameterized_type(full=True) == name


@pytest.mark.parametrize("name", ["ListType(", f"{P}ColumnToCollectionType(6d:{P}UTF8Type)", "", "1"])
def test_custom_types_that_cannot_be_read_are_bytes(name: str) -> None:
    assert resolve_custom(name).decode(b"raw") == b"raw"


def test_the_server_cannot_take_a_name() -> None:
    type_class(udt_codec("ks", "Int32Type", [], []))
    type_class(tuple_codec([]))
    lookup_casstype("Unheard")
    assert lookup_casstype("Int32Type") is Int32Type and lookup_casstype("TupleType") is cqltypes.TupleType

    class Unheard(cqltypes.CassandraType):
        typename = "unheard"

    assert lookup_casstype("Unheard") is Unheard


def test_vectors_from_metadata() -> None:
    codec = resolve_custom(f"{P}VectorType({P}FloatType , 3)")
    assert codec.dimensions == 3 and codec.decode(bytes(12)) == [0, 0, 0]


def test_classes_do_not_outlive_their_users() -> None:
    if CLASSES_STAY:
        pytest.xfail("this Python never frees a class")
    cls: Any = ListType.apply_parameters([cqltypes.VectorType.apply_parameters([Int32Type, 977])])
    cls.codec()
    gone = weakref.ref(cls)
    del cls
    gc.collect()
    assert gone() is None


class TestOwnTypes:
    def test_found_by_the_servers_name(self) -> None:
        class ReversedText(cqltypes.CassandraType):
            typename = "'com.example.ReversedText'"

            @staticmethod
            def deserialize(byts: bytes, protocol_version: int) -> str:
                return byts.decode()[::-1]

            @staticmethod
            def serialize(val: str, protocol_version: int) -> bytes:
                return val[::-1].encode()

        found = lookup_casstype("org.apache.cassandra.db.marshal.ReversedText")
        assert found is ReversedText and found.from_binary(b"ab", 4) == "ba"
        codec = resolve_custom("org.apache.cassandra.db.marshal.ReversedText")
        assert codec.decode(b"ab") == "ba" and codec.encode("xy") == b"yx" and type_class(codec) is ReversedText
        nested = lookup_casstype("ListType(FrozenType(ReversedText))")
        assert nested.deserialize(nested.serialize(["ab"], 4), 4) == ["ab"]
        assert b"ba" in nested.serialize(["ab"], 4)

    def test_half_of_a_built_in_type_replaced(self) -> None:
        class Doubled(Int32Type):
            @classmethod
            def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
                return super().deserialize(byts, protocol_version) * 2

        nested = ListType.apply_parameters([Doubled])
        assert nested.deserialize(nested.serialize([4], 4), 4) == [8]
        assert Int32Type.deserialize(Int32Type.serialize(4, 4), 4) == 4

    def test_a_plain_subclass_is_the_built_in_type(self) -> None:
        class Same(Int32Type):
            pass

        assert Same.codec() is Int32Type.codec() and type_class(Same.codec()) is Int32Type


def test_cql_spellings_are_kept_until_a_type_is_changed() -> None:
    kind = lookup_casstype("MapType(UTF8Type, ListType(TupleType(Int32Type, VectorType(FloatType, 3))))")
    text = kind.cql_parameterized_type()
    assert text == "map<text, list<frozen<tuple<int, vector<float, 3>>>>>"
    assert kind.cql_parameterized_type() is text
    own = type("Own", (kind,), {"typename": "own"})
    assert own.cql_parameterized_type() == text.replace("map", "own", 1)
    with mock.patch.object(Int32Type, "typename", "number"):
        assert kind.cql_parameterized_type() == text.replace("int", "number")
    assert kind.cql_parameterized_type() == text
    with mock.patch.object(ListType, "cql_parameterized_type", classmethod(lambda cls: "patched")):
        assert kind.cql_parameterized_type() == "map<text, patched>"
    assert kind.cql_parameterized_type() == text


def test_cql_spellings_of_a_program_are_asked_for_each_time() -> None:
    class Counted(UTF8Type):
        calls = 0

        @classmethod
        def cql_parameterized_type(cls) -> str:
            cls.calls += 1
            return f"counted{cls.calls}"

    kind: Any = ListType.apply_parameters((SetType.apply_parameters((Counted,)),))
    assert [kind.cql_parameterized_type() for _ in range(2)] == ["list<set<counted1>>", "list<set<counted2>>"]
