"""Binding parameters: wire bytes, routing tokens, missing and wrong values."""

from __future__ import annotations

import copy
import pickle
import re
import uuid
from collections import UserDict, defaultdict
from types import MappingProxyType
from typing import Any

import pytest

from cassandra._core.codec import (
    UNSET,
    BindPlan,
    Bound,
    list_codec,
    map_codec,
    scalar,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from tests.unit.core.codec_frames import BIGINT, BLOB, FLOAT, INT, TEXT, UUID, VARINT, bytes_, int_, short

INET, TIME = scalar(0x10), scalar(0x12)


def plan(*columns: Any, pk: Any = None) -> BindPlan:
    return BindPlan([("ks", "t", name, codec) for name, codec in columns], pk)


AB = plan(("a", INT), ("b", TEXT))
UNSET_BYTES = int_(-2)


def test_positions() -> None:
    bound = AB.bind([1, "x"], 4)
    assert bound.data == short(2) + bytes_(b"\0\0\0\1") + bytes_(b"x")
    assert (bound.count, len(bound), bound.values) == (2, 2, [b"\0\0\0\1", b"x"])
    assert list(bound) == bound.values and (bound[0], bound[-1]) == (b"\0\0\0\1", b"x")
    assert bound.token is None and bound.routing_key is None
    assert repr(bound) == "<Bound 2 values, 15 bytes>"


@pytest.mark.parametrize("values", [(1, "x"), [1, "x"], iter((1, "x"))], ids=["tuple", "list", "iterator"])
def test_sequences(values: Any) -> None:
    assert AB.bind(values, 4).values == [b"\0\0\0\1", b"x"]


@pytest.mark.parametrize("kind", [dict, UserDict, lambda d: MappingProxyType(d)])
def test_names(kind: Any) -> None:
    assert AB.bind(kind({"b": "x", "a": 1}), 4).values == [b"\0\0\0\1", b"x"]
    assert AB.bind(kind({"b": "x", "unknown": 1}), 4).values == [UNSET, b"x"]


def test_a_mapping_may_make_up_values() -> None:
    assert AB.bind(defaultdict(lambda: None, a=1), 4).values == [b"\0\0\0\1", None]


def test_nothing_to_bind() -> None:
    empty = plan()
    kinds: list[Any] = [None, (), [], {}]
    for values in kinds:
        assert empty.bind(values, 4).data == short(0)
    assert AB.bind(None, 4).values == [UNSET, UNSET]


def test_null_and_unset() -> None:
    bound = AB.bind([None, UNSET], 4)
    assert bound.data == short(2) + bytes_(None) + UNSET_BYTES
    assert bound.values == [None, UNSET]
    assert AB.bind([1], 5).values == [b"\0\0\0\1", UNSET], "missing ones are unset"
    with pytest.raises(ValueError, match=r"unsuitable protocol version \(3 < 4\)"):
        AB.bind([1, UNSET], 3)


def test_unset_is_one_object_for_ever() -> None:
    assert copy.copy(UNSET) is copy.deepcopy([UNSET])[0] is pickle.loads(pickle.dumps(UNSET)) is UNSET
    assert repr(UNSET) == "UNSET_VALUE"


def test_too_few_on_protocol_3() -> None:
    with pytest.raises(ValueError, match=r"Too few arguments provided to bind\(\) \(got 1, expected 2\)"):
        AB.bind([1], 3)
    with pytest.raises(KeyError, match="Column name `b` not found in bound dict"):
        AB.bind({"a": 1}, 3)
    assert AB.bind([1, None], 3).values == [b"\0\0\0\1", None]


def test_too_many() -> None:
    for version in (3, 4, 5):
        with pytest.raises(ValueError, match=r"Too many arguments provided to bind\(\) \(got 3, expected 2\)"):
            AB.bind([1, "x", 2], version)


@pytest.mark.parametrize(("values", "name"), [(b"ab", "bytes"), (5, "int"), (1.5, "float")])
def test_parameters_that_are_not_a_sequence_are_refused(values: Any, name: str) -> None:
    text = f"parameters must be a sequence or a mapping, not {name}; one value is given as (value,)"
    with pytest.raises(TypeError, match=f"^{re.escape(text)}$"):
        AB.bind(values, 4)


def test_text_is_its_letters() -> None:
    """As with scylla-driver: mostly a forgotten comma, which is told where the number of letters is another one."""
    two = plan(("a", TEXT), ("b", TEXT))
    assert two.bind("xy", 4).values == [b"x", b"y"]
    with pytest.raises(ValueError, match="text counts as one argument per character, put it into a tuple"):
        two.bind("xyz", 4)


def test_unset_where_it_has_no_meaning_is_a_plain_value_error() -> None:
    """And no error about the type of a value, nor of a class that programs cannot catch."""
    for values, version in (([1, UNSET], 3), ([UNSET, "x"], 4), ({"b": "x"}, 5)):
        with pytest.raises(ValueError, match="UNSET_VALUE") as caught:
            plan(("a", INT), ("b", TEXT), pk=(0,)).bind(values, version)
        assert type(caught.value) is ValueError and caught.value.__cause__ is None


EXPECTED_INT = "Expected: <class 'cassandra.cqltypes.Int32Type'>"
EXPECTED_TEXT = "Expected: <class 'cassandra.cqltypes.UTF8Type'>"


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (["x", "y"], TypeError, f"\"a\". {EXPECTED_INT}, Got: <class 'str'>; (ks.t, int: int needs an int, not str)"),
        (
            [2**31, "y"],
            TypeError,
            f"\"a\". {EXPECTED_INT}, Got: <class 'int'>; (ks.t, int: 2147483648 is out of range for",
        ),
        ([1, 5], TypeError, f"\"b\". {EXPECTED_TEXT}, Got: <class 'int'>; (ks.t, text: text needs a str, not int)"),
        (
            [1, "\ud800"],
            UnicodeEncodeError,
            f"\"b\". {EXPECTED_TEXT}, Got: <class 'str'>; (ks.t, text: text cannot hold a",
        ),
        ({"b": b"x"}, TypeError, f"\"b\". {EXPECTED_TEXT}, Got: <class 'bytes'>"),
    ],
)
def test_a_wrong_value_names_parameter_and_types(values: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        AB.bind(values, 4)
    assert type(caught.value) is kind and caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("codec", "value", "kind", "shown"),
    [
        (INET, "x", ValueError, "InetAddressType"),
        (vector_codec(INT, 2), [1], ValueError, "VectorType(2)"),
        (tuple_codec([INT]), (1, 2), ValueError, "TupleType(Int32Type)"),
        (TIME, 2**63, ValueError, "TimeType"),
        (FLOAT, 1e300, OverflowError, "FloatType"),
        (map_codec(TEXT, list_codec(INT)), {"a": [2**31]}, TypeError, "MapType(UTF8Type, ListType(Int32Type))"),
        (udt_codec("ks", "place", ["a"], [INT]), 5, TypeError, "place"),
    ],
)
def test_errors_are_of_the_classes_that_programs_catch(
    codec: Any, value: Any, kind: type[Exception], shown: str
) -> None:
    with pytest.raises(kind, match=re.escape(f"Expected: <class 'cassandra.cqltypes.{shown}'>")) as caught:
        plan(("a", codec)).bind([value], 4)
    assert type(caught.value) is kind


def test_a_wrong_item_names_the_parameter_too() -> None:
    with pytest.raises(
        TypeError, match=r'column "a".*ListType\(Int32Type\).*\(ks.t, list<int>: int needs an int, not str\)'
    ):
        plan(("a", list_codec(INT))).bind([[1, "x"]], 4)


def test_errors_of_the_callers_own_code_pass_through() -> None:
    class Broken:
        def __index__(self) -> int:
            raise RuntimeError("cable cut")

    with pytest.raises(RuntimeError, match="cable cut"):
        AB.bind([Broken(), "x"], 4)


# key bytes and tokens as Cassandra 5.0 reports them (SELECT token(...))
@pytest.mark.parametrize(
    ("codec", "value", "token"),
    [
        (INT, 0, -3485513579396041028),
        (INT, 1, -4069959284402364209),
        (INT, -1, 7297452126230313552),
        (TEXT, "", None),
        (TEXT, "a", -8839064797231613815),
        (TEXT, "grüße", None),
        (BIGINT, 2**63 - 1, None),
    ],
)
def test_tokens_of_one_component(codec: Any, value: Any, token: int | None) -> None:
    from cassandra._core.routing import murmur3_token

    bound = plan(("k", codec), ("v", TEXT), pk=[0]).bind([value, "x"], 4)
    assert bound.routing_key == codec.encode(value)
    assert bound.token == murmur3_token(codec.encode(value))
    if token is not None:
        assert bound.token == token


def test_tokens_of_several_components() -> None:
    from cassandra._core.routing import murmur3_token

    two = plan(("v", TEXT), ("b", TEXT), ("a", INT), pk=(2, 1))
    bound = two.bind(["x", "yz", 7], 4)
    key = b"\0\4\0\0\0\7\0" + b"\0\2yz\0"
    assert bound.routing_key == key
    assert bound.token == murmur3_token(key)
    assert two.pk_indexes == (2, 1)


def test_tokens_of_long_keys() -> None:
    from cassandra._core.routing import murmur3_token

    for size in (*range(40), 1000, 70000):
        key = bytes(range(256)) * (size // 256 + 1)
        key = key[:size]
        assert plan(("k", BLOB), pk=[0]).bind([key], 4).token == murmur3_token(key)
    long = plan(("k", BLOB), ("l", INT), pk=[0, 1]).bind([b"x" * 65536, 1], 4)
    assert long.token is None and long.routing_key is None, "no key has such a component"


def test_no_token_without_the_whole_key() -> None:
    one = plan(("k", INT), ("v", INT), pk=[0])
    assert (one.bind([None, 1], 4).token, one.bind([None, 1], 4).routing_key) == (None, None)
    assert one.bind([1, 1], 4, want_token=False).token is None
    assert one.bind([1, 1], 4, want_token=False).routing_key == b"\0\0\0\1"
    two = plan(("k", INT), ("l", INT), pk=[0, 1])
    assert two.bind([1, None], 4).token is None
    incomplete: list[Any] = [[UNSET, 1], {}, [1]]
    for values in incomplete:
        with pytest.raises(ValueError, match="Cannot bind UNSET_VALUE as a part of the routing key"):
            two.bind(values, 4)


def test_java_encodes_varint_keys_minimally() -> None:
    one = plan(("k", VARINT), pk=[0])
    assert one.bind([-(2**71)], 4).routing_key == b"\x80" + b"\0" * 8
    assert one.bind([128], 4).routing_key == b"\0\x80"


def test_many_parameters() -> None:
    many = plan(*((f"c{i}", INT) for i in range(300)), pk=[299, 0])
    bound = many.bind(list(range(300)), 4)
    assert [int.from_bytes(value, "big") for value in bound.values] == list(range(300))
    assert bound.routing_key == b"\0\4\0\0\1\x2b\0" + b"\0\4\0\0\0\0\0"
    assert bound.token is not None


def test_large_values() -> None:
    text = "ä" * 1_000_000
    assert AB.bind([1, text], 4).values == [b"\0\0\0\1", text.encode()]


def test_plans() -> None:
    found = plan(("a", INT), ("b", UUID), pk=[0])
    assert (found.names, len(found), found.pk_indexes) == (("a", "b"), 2, (0,))
    assert found.specs[1] == ("ks", "t", "b", UUID)
    assert plan(("a", INT), pk=[]).pk_indexes is None
    with pytest.raises(ValueError, match="partition key positions"):
        plan(("a", INT), pk=[1])
    with pytest.raises(TypeError, match=r"BindPlan.bind\(\)"):
        Bound()


def test_the_same_name_twice() -> None:
    twice = plan(("a", INT), ("a", INT))
    assert twice.bind({"a": 5}, 4).values == [b"\0\0\0\5"] * 2
    assert plan(("id", UUID)).bind({"id": uuid.UUID(int=1)}, 4).values == [b"\0" * 15 + b"\1"]
