"""Functions of type classes that a program replaces are called by the plans of requests, and natively again after."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from cassandra import cqltypes
from cassandra._core.codec import BindPlan, Codec, list_codec, map_codec, scalar, tuple_codec, udt_codec
from cassandra.cqltypes import (
    AsciiType,
    BytesType,
    DateType,
    Int32Type,
    IntegerType,
    ListType,
    LongType,
    MapType,
    SetType,
    TimestampType,
    TimeUUIDType,
    TupleType,
    UserType,
    UTF8Type,
    VarcharType,
    VectorType,
)
from tests.unit.session.harness import Lab, prepared, rows

TIMESTAMP, TIMEUUID = scalar(0x0B), scalar(0x0F)
ASCII, INT, TEXT, VARINT = scalar(0x01), scalar(0x09), scalar(0x0D), scalar(0x0E)


def bound(codec: Codec, value: Any) -> Any:
    """The bytes that a plan of one parameter makes."""
    plan = BindPlan([("ks", "t", "v", codec)])
    return plan.bind((value,), 4).values[0]


def upper(value: Any, version: int) -> bytes:
    return str(value).upper().encode()


def shouted(data: bytes, version: int) -> str:
    return bytes(data).decode() + "!"


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setattr(AsciiType, "serialize", staticmethod(upper))
    monkeypatch.setattr(AsciiType, "deserialize", staticmethod(shouted))
    yield monkeypatch


def test_a_plan_that_was_made_before() -> None:
    plan = BindPlan([("ks", "t", "v", ASCII)])
    assert plan.bind(("a",), 4).values == [b"a"]
    with patch.object(AsciiType, "serialize", staticmethod(upper)):
        assert plan.bind(("a",), 4).values == [b"A"] and bound(ASCII, "b") == b"B"
        assert ASCII.decode(b"a") == "a"  # the other half is the driver's
    assert plan.bind(("a",), 4).values == [b"a"]
    with patch.object(AsciiType, "deserialize", staticmethod(shouted)):
        assert ASCII.decode(b"a") == "a!" and plan.bind(("a",), 4).values == [b"a"]
    assert ASCII.decode(b"a") == "a"


def test_assigned_as_programs_do(monkeypatch: pytest.MonkeyPatch) -> None:
    before = IntegerType.serialize
    try:
        IntegerType.serialize = staticmethod(lambda value, version: b"\x07")  # type: ignore[method-assign]
        assert bound(VARINT, 5) == b"\x07" and IntegerType.serialize(5, 4) == b"\x07"
        IntegerType.serialize = staticmethod(lambda value, version: b"\x08")  # type: ignore[method-assign]
        assert bound(VARINT, 5) == b"\x08"
    finally:
        IntegerType.serialize = before  # type: ignore[method-assign]
    assert bound(VARINT, 5) == b"\x05" and VARINT.decode(b"\x05") == 5
    with pytest.raises(TypeError):
        bound(VARINT, "five")
    del IntegerType.serialize
    assert bound(VARINT, 5) == b"\x05"


def test_around_the_one_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    original, read = Int32Type.serialize, Int32Type.deserialize
    monkeypatch.setattr(Int32Type, "serialize", staticmethod(lambda value, version: original(value + 1, version)))
    monkeypatch.setattr(Int32Type, "deserialize", staticmethod(lambda data, version: read(data, version) * 10))
    assert bound(INT, 1) == b"\0\0\0\2" and INT.decode(b"\0\0\0\2") == 20
    assert Int32Type.to_binary(1, 4) == b"\0\0\0\2" and Int32Type.from_binary(b"\0\0\0\2", 4) == 20
    monkeypatch.undo()
    assert bound(INT, 1) == b"\0\0\0\1" and INT.decode(b"\0\0\0\2") == 2


def test_functions_of_dates_do_not_apply_to_timeuuids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their class is a subclass, with functions of its own."""
    monkeypatch.setattr(DateType, "deserialize", staticmethod(lambda data, version: "a date"))
    monkeypatch.setattr(DateType, "serialize", staticmethod(lambda value, version: b"a date"))
    value = UUID(int=1 << 76)
    assert TIMEUUID.decode(value.bytes) == value and bound(TIMEUUID, value) == value.bytes
    assert TimeUUIDType.from_binary(value.bytes, 4) == value
    assert TIMESTAMP.decode(bytes(8)) == TimestampType.from_binary(bytes(8), 4) == "a date"


def test_a_class_method_that_calls_super(monkeypatch: pytest.MonkeyPatch) -> None:
    def serialize(cls: Any, value: Any, version: int) -> bytes:
        return super(AsciiType, cls).serialize(value, version) + cls.typename.encode()  # type: ignore[no-any-return]

    monkeypatch.setattr(AsciiType, "serialize", classmethod(serialize))
    assert bound(ASCII, "a") == b"aascii"


def test_nested_types(replaced: pytest.MonkeyPatch) -> None:
    replaced.undo()
    user = udt_codec("ks", "u", ["a", "b"], [ASCII, list_codec(ASCII)])
    nested = map_codec(ASCII, tuple_codec([ASCII, user]))
    value = {"a": ("b", ("c", ["d"]))}
    plain = bound(nested, value)
    assert b"a" in plain and nested.decode(plain) == value
    with patch.object(AsciiType, "serialize", staticmethod(upper)):
        changed = bound(nested, value)
        assert changed == plain.upper()
    with patch.object(AsciiType, "deserialize", staticmethod(shouted)):
        assert nested.decode(plain) == {"a!": ("b!", ("c!", ["d!"]))}
    assert bound(nested, value) == plain and nested.decode(plain) == value


def test_elements_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    vector = VectorType.apply_parameters([Int32Type, 2]).codec()
    assert bound(vector, (1, 2)) == b"\0\0\0\1\0\0\0\2"
    monkeypatch.setattr(Int32Type, "serialize", staticmethod(lambda value, version: bytes([0, 0, 0, value * 2])))
    assert bound(vector, (1, 2)) == b"\0\0\0\2\0\0\0\4"


def test_null_and_zero_bytes(replaced: pytest.MonkeyPatch) -> None:
    replaced.setattr(Int32Type, "deserialize", staticmethod(lambda data, version: data))
    assert bound(ASCII, None) is None and ASCII.decode(None) is None
    assert ASCII.decode(b"") == "!" and INT.decode(b"") is None  # where zero bytes are no value, nothing is called
    replaced.setattr(Int32Type, "support_empty_values", True)
    assert INT.decode(b"") is cqltypes.EMPTY
    replaced.delattr(Int32Type, "deserialize")
    assert INT.decode(b"") is cqltypes.EMPTY and INT.decode(b"\0\0\0\1") == 1
    replaced.undo()
    assert INT.decode(b"") is None


def test_subclasses_use_the_replaced_methods_of_their_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UTF8Type, "serialize", staticmethod(upper))
    assert bound(TEXT, "a") == b"A" and VarcharType.serialize("a", 4) == b"A"
    monkeypatch.setattr(LongType, "deserialize", staticmethod(lambda data, version: "long"))
    assert scalar(0x02).decode(b"\0" * 8) == scalar(0x05).decode(b"\0" * 8) == "long"


def test_a_class_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(AsciiType):
        @classmethod
        def serialize(cls, val: Any, protocol_version: int) -> bytes:
            return b"mine"

    class Plain(AsciiType):
        pass

    plan = BindPlan([("ks", "t", "v", Mine.codec()), ("ks", "t", "w", ListType.apply_parameters([Mine]).codec())])
    assert plan.bind(("a", ["b"]), 4).values == [b"mine", b"\0\0\0\1\0\0\0\4mine"]
    monkeypatch.setattr(Mine, "serialize", classmethod(lambda cls, value, version: b"ours"))
    assert plan.bind(("a", ["b"]), 4).values == [b"ours", b"\0\0\0\1\0\0\0\4ours"]
    monkeypatch.setattr(Plain, "serialize", staticmethod(upper))
    assert bound(Plain.codec(), "a") == b"A" and bound(ASCII, "a") == b"a"
    monkeypatch.undo()
    assert plan.bind(("a", ["b"]), 4).values == [b"mine", b"\0\0\0\1\0\0\0\4mine"]
    assert bound(Plain.codec(), "a") == b"a" and Plain.codec() is AsciiType.codec() is ASCII


@pytest.mark.parametrize(
    "kind, codec, value",
    [
        (ListType, list_codec(INT), [1]),
        (SetType, SetType.apply_parameters([Int32Type]).codec(), {1}),
        (MapType, map_codec(INT, INT), {1: 2}),
        (TupleType, tuple_codec([INT, TEXT]), (1, "a")),
        (UserType, udt_codec("ks", "u", ["a"], [INT]), (1,)),
        (VectorType, VectorType.apply_parameters([Int32Type, 1]).codec(), [1]),
    ],
    ids=lambda given: getattr(given, "typename", ""),
)
def test_types_with_parameters(kind: Any, codec: Codec, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in plans, and within others."""
    outer = list_codec(codec)
    plain, within = bound(codec, value), bound(outer, [value])
    natively = codec.decode(plain)
    monkeypatch.setattr(kind, "serialize", classmethod(lambda cls, value, version: b"own"))
    assert bound(codec, value) == b"own" and b"own" in bound(outer, [value])
    monkeypatch.setattr(kind, "deserialize", classmethod(lambda cls, data, version: (cls.typename, data)))
    assert codec.decode(plain) == (codec.py_type.typename, plain)
    monkeypatch.undo()
    assert bound(codec, value) == plain and bound(outer, [value]) == within and codec.decode(plain) == natively


def test_both_ways_are_taken_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        with patch.object(ListType, "serialize", classmethod(lambda cls, value, version: b"own")):
            made = ListType.apply_parameters([Int32Type]).codec()
            assert bound(made, [1]) == bound(list_codec(INT), [1]) == b"own" or bound(made, [1]) == b"own"
        assert bound(made, [1]) == b"\0\0\0\1\0\0\0\4\0\0\0\1"
        with patch.object(Int32Type, "serialize", staticmethod(lambda value, version: b"\1")):
            assert bound(made, [1]) == b"\0\0\0\1\0\0\0\1\1"


def test_values_that_are_serialised_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BytesType, "serialize", staticmethod(lambda value, version: value * 2))
    lab = Lab()
    lab[0].script = [prepared()]
    statement = lab.session.prepare("SELECT n FROM tbl WHERE k = ?").bind((1,))
    statement.values = [b"\0\0\0\7"]
    assert statement.values == [b"\0\0\0\7"]


def test_requests_of_statements_that_were_prepared_before(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    lab[0].script = [prepared(), rows(3), rows(3), rows(3)]
    select = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
    assert lab.session.execute(select, (7,)).one() == (3,)
    monkeypatch.setattr(Int32Type, "serialize", staticmethod(lambda value, version: b"\0\0\0\x63"))
    monkeypatch.setattr(Int32Type, "deserialize", staticmethod(lambda data, version: ("read", bytes(data))))
    assert lab.session.execute(select, (7,)).one() == (("read", b"\0\0\0\3"),)
    assert b"\0\0\0\x63" in lab[0].sent[-1].frame
    monkeypatch.undo()
    assert lab.session.execute(select, (7,)).one() == (3,)
    assert b"\0\0\0\x63" not in lab[0].sent[-1].frame


@pytest.mark.parametrize("how", ["replaced", "deleted"])
def test_the_end_of_a_function_finds_what_has_replaced_it(how: str) -> None:
    """CPython caches the attributes of classes, and may still have a function that is being freed."""
    found: list[Any] = []

    class Mine:
        def __call__(self, data: bytes, version: int) -> int:
            return -1

        def __del__(self) -> None:
            found.append(Int32Type.deserialize)

    kind: Any = Int32Type
    kind.deserialize = Mine()
    try:
        assert type(Int32Type.deserialize) is Mine  # from now on in the cache
        if how == "replaced":
            kind.deserialize = staticmethod(len)
    finally:
        del kind.deserialize
    gc.collect()
    assert [getattr(one, "__name__", "?") for one in found] == (["len"] if how == "replaced" else ["deserialize"])
