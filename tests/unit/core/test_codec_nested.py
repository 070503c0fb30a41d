"""Collections, tuples, user types and vectors, both directions and malformed."""

from __future__ import annotations

import gc
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._base.collections import OrderedMapSerializedKey, SortedSet
from cassandra._base.errors import DriverException
from cassandra._core.codec import (
    Codec,
    custom_codec,
    encrypted_codec,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from tests.unit.core.codec_frames import BIGINT, BLOB, INT, SMALLINT, TEXT, TIMESTAMP, UUID, bytes_, int_

H = bytes.fromhex
INTS = list_codec(INT)


def test_golden_collections() -> None:
    assert INTS.encode([1, -1]) == H("00000002 00000004 00000001 00000004 ffffffff")
    assert INTS.encode([]) == H("00000000")
    assert set_codec(TEXT).encode(["a"]) == H("00000001 00000001 61")
    data = H("00000001 00000001 61 00000002 0007")
    codec = map_codec(TEXT, SMALLINT)
    assert codec.encode({"a": 7}) == data
    assert codec.decode(data) == {"a": 7}


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        (INTS, "list<int>"),
        (set_codec(INTS), "set<list<int>>"),
        (map_codec(TEXT, INTS), "map<text, list<int>>"),
        (tuple_codec((INT, TEXT)), "tuple<int, text>"),
        (tuple_codec(()), "tuple<>"),
        (vector_codec(INT, 3), "vector<int, 3>"),
        (udt_codec("ks", "place", ("a",), (INT,)), "place"),
        (list_codec(custom_codec("a.B")), "list<'a.B'>"),
    ],
)
def test_spelling(codec: Codec, text: str) -> None:
    assert codec.cql() == text


def test_collections_decode_to_list_sorted_set_and_ordered_map() -> None:
    assert type(INTS.decode(INTS.encode([1]))) is list
    found = set_codec(TEXT).decode(set_codec(TEXT).encode(["b", "a"]))
    assert type(found) is SortedSet and list(found) == ["a", "b"]
    codec = map_codec(TEXT, INT)
    mapping = codec.decode(codec.encode({"b": 1, "a": 2}), 5)
    assert type(mapping) is OrderedMapSerializedKey
    assert list(mapping.items()) == [("b", 1), ("a", 2)]
    assert (mapping["a"], mapping.protocol_version, mapping.cass_key_type) == (2, 5, TEXT)
    assert "c" not in mapping


def test_maps_find_unhashable_keys_by_their_bytes() -> None:
    codec = map_codec(INTS, TEXT)
    mapping = codec.decode(codec.encode({(1, 2): "x"}))
    assert mapping[[1, 2]] == mapping[(1, 2)] == "x"


def test_null_items() -> None:
    assert INTS.decode(H("00000002 ffffffff 00000004 00000001")) == [None, 1]
    assert INTS.decode(H("00000001 00000000")) == [None]
    codec = map_codec(TEXT, INT)
    assert codec.decode(H("00000001 00000001 61 ffffffff")) == {"a": None}


def test_an_empty_value_of_a_collection_is_none() -> None:
    for codec in (INTS, set_codec(INT), map_codec(INT, INT), tuple_codec((INT,)), vector_codec(INT, 1)):
        assert codec.decode(b"") is None


@pytest.mark.parametrize(
    ("codec", "data", "message"),
    [
        (INTS, "000000", "list of 3 bytes has no room for its count"),
        (INTS, "00000001", "list claims 1 items in 0 bytes"),
        (INTS, "7fffffff" + "00000000" * 4, "list claims 2147483647 items in 16 bytes"),
        (INTS, "ffffffff", "list claims -1 items"),
        (INTS, "00000001 00000004 000000", "int item of 4 bytes where 3 are left"),
        (INTS, "00000001 7fffffff", "int item of 2147483647 bytes where 0 are left"),
        (INTS, "00000000 00", "list has 1 bytes too many"),
        (INTS, "00000001 00000002 0000", "int needs 4 bytes, the value has 2"),
        (set_codec(INT), "00000003 00000000 00000000", "set claims 3 items in 8 bytes"),
        (map_codec(INT, INT), "00000002 ffffffff ffffffff ffffffff", "map claims 2 items in 12 bytes"),
        (map_codec(INT, INT), "00000001 00000005 0000000000", "int item of 5 bytes|needs 4 bytes"),
        (map_codec(TEXT, INT), "00000001 00000001 61 00000004 00", "int item of 4 bytes where 1 are left"),
        (tuple_codec((INT, INT)), "ffffffff 0000", "int item: its length is cut off"),
        (
            vector_codec(INT, 2),
            "00000001",
            "Expected vector of type int and dimension 2 to have serialized size 8; observed serialized size of 4",
        ),
        (vector_codec(INT, 2), "00000001 00000002 00000003", "observed serialized size of 12 instead"),
        (
            vector_codec(TEXT, 2),
            "00",
            "type text and dimension 2 to have a serialized size of 2 or more; observed serialized size of 1",
        ),
        (vector_codec(TEXT, 2), "0161 0261", "after successfully adding 1 elements"),
        (vector_codec(TEXT, 2), "0161 ff", "after successfully adding 1 elements"),
        (vector_codec(TEXT, 1), "ffffffffffffffffff", "after successfully adding 0 elements"),
        (vector_codec(TEXT, 1), "0161 00", "Additional bytes remaining after vector deserialization completed: 1"),
    ],
)
def test_malformed(codec: Codec, data: str, message: str) -> None:
    with pytest.raises(DriverException, match=message):
        codec.decode(H(data))


def test_tuples() -> None:
    codec = tuple_codec((INT, TEXT))
    assert codec.encode((1, None)) == H("00000004 00000001 ffffffff")
    assert codec.encode((1,)) == H("00000004 00000001"), "as the server's literals, and so the key of the same row"
    assert codec.decode(H("00000004 00000001 00000001 61")) == (1, "a")
    assert codec.decode(H("00000004 00000001")) == (1, None), "fields that are not there are null"
    assert codec.decode(H("00000004 00000001 00000001 61 00000001 62")) == (1, "a"), "unknown ones are left out"
    assert type(codec.decode(codec.encode((1, "a")))) is tuple
    assert tuple_codec(()).decode(b"\x00") == ()


def test_user_types_decode_to_a_cached_named_tuple() -> None:
    first = udt_codec("ks", "place", ("street", "number"), (TEXT, INT))
    second = udt_codec("ks", "place", ("street", "number"), (TEXT, INT))
    value = first.decode(first.encode(("Main", 7)))
    assert value == ("Main", 7) and (value.street, value.number) == ("Main", 7)
    assert type(value).__name__ == "place"
    assert type(value) is type(second.decode(second.encode(("x", 1)))) is first.decode(b"\xff\xff\xff\xff").__class__
    assert first.factory is None
    assert (first.keyspace, first.type_name, first.field_names) == ("ks", "place", ("street", "number"))


def test_user_types_with_a_class_of_their_own() -> None:
    class Place:
        def __init__(self, street: str | None = None, number: int | None = None) -> None:
            self.pair = street, number

    codec = udt_codec("ks", "place", ("street", "number"), (TEXT, INT), Place)
    assert codec.decode(codec.encode(("Main", 7))).pair == ("Main", 7)
    codec.factory = dict
    assert codec.decode(codec.encode(("Main", 7))) == {"street": "Main", "number": 7}
    codec.factory = None
    assert codec.decode(codec.encode(("Main", 7))) == ("Main", 7)
    with pytest.raises(TypeError, match="not callable"):
        codec.factory = 5
    for other in (INT, encrypted_codec(codec, SimpleNamespace(decode=None, encode=None))):
        with pytest.raises(AttributeError, match="has no factory"):
            other.factory = dict


def test_named_tuples_are_filled_directly_only_when_that_is_the_same() -> None:
    same = namedtuple("same", "street number")
    swapped = namedtuple("swapped", "number street")

    class Own(namedtuple("Own", "street number")):
        __slots__ = ()

        def __new__(cls, street: str, number: int) -> Any:
            return super().__new__(cls, street.upper(), number + 1)

    def made(factory: Any) -> Any:
        codec = udt_codec("ks", "place", ("street", "number"), (TEXT, INT), factory)
        return codec.decode(codec.encode(("Main", 7)))

    assert made(same) == ("Main", 7) and type(made(same)) is same
    assert made(swapped) == (7, "Main")
    assert made(Own) == ("MAIN", 8)


def test_a_factory_that_fails_is_a_decode_error() -> None:
    def broken(**fields: Any) -> Any:
        raise RuntimeError("no such place")

    codec = udt_codec("ks", "place", ("street",), (TEXT,), broken)
    with pytest.raises(DriverException, match="no such place") as caught:
        codec.decode(codec.encode(("Main",)))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_field_names_that_python_cannot_have() -> None:
    codec = udt_codec("ks", "odd", ("class", "ok", "a b"), (INT, INT, INT))
    value = codec.decode(codec.encode((1, 2, 3)))
    assert tuple(value) == (1, 2, 3) and value.ok == 2
    assert codec.decode(codec.encode({"class": 4, "a b": 5})) == (4, None, 5)


def test_golden_vectors() -> None:
    assert vector_codec(INT, 2).encode([1, 2]) == H("00000001 00000002")
    assert vector_codec(TEXT, 2).encode(["a", "bc"]) == H("01 61 02 6263")
    assert vector_codec(SMALLINT, 2).encode([1, 2]) == H("02 0001 02 0002"), "Cassandra prefixes these too"
    long = "x" * 300
    assert vector_codec(TEXT, 1).encode([long]) == H("812c") + long.encode()
    assert vector_codec(vector_codec(INT, 2), 2).encode([[1, 2], [3, 4]]) == H("00000001000000020000000300000004")
    assert vector_codec(TEXT, 2).decode(H("00 01 61")) == ["", "a"]
    assert vector_codec(SMALLINT, 1).decode(H("00")) == [None]
    assert vector_codec(TIMESTAMP, 1).encode([1]) == H("0000000000000001")
    assert len(vector_codec(UUID, 3).encode([__import__("uuid").UUID(int=1)] * 3)) == 48


def test_vector_lengths() -> None:
    for dimensions in (0, -1):
        with pytest.raises(ValueError, match="dimensions of a vector must be positive"):
            vector_codec(INT, dimensions)
    with pytest.raises(ValueError, match="too large"):
        vector_codec(vector_codec(BIGINT, 2**27), 2**27)
    assert vector_codec(TEXT, 2**31 - 1).dimensions == 2**31 - 1
    with pytest.raises(DriverException, match="observed serialized size of 100"):
        vector_codec(TEXT, 2**31 - 1).decode(b"\x00" * 100)


def test_nesting_is_bounded() -> None:
    codec = INT
    for _ in range(127):
        codec = list_codec(codec)
    with pytest.raises(ValueError, match="more than 128 levels"):
        list_codec(codec)
    value: Any = 5
    for _ in range(127):
        value = [value]
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize("make", [list_codec, set_codec, lambda c: map_codec(c, INT), lambda c: tuple_codec([c])])
def test_children_are_codecs(make: Any) -> None:
    with pytest.raises(TypeError, match="expected a Codec, got str"):
        make("int")


def test_field_names_and_types_match() -> None:
    with pytest.raises(ValueError, match="1 field names for 2 types in place"):
        udt_codec("ks", "place", ("a",), (INT, INT))


def test_garbage_collector_tracks_only_values_that_may_hold_cycles() -> None:
    atomic = tuple_codec((INT, TEXT, UUID))
    assert not gc.is_tracked(atomic.decode(bytes_(None)))
    assert not gc.is_tracked(tuple_codec((atomic,)).decode(bytes_(None)))
    assert gc.is_tracked(tuple_codec((INTS,)).decode(bytes_(None)))
    place = udt_codec("ks", "place", ("a",), (INT,))
    assert not gc.is_tracked(place.decode(bytes_(None)))
    nested = tuple_codec((udt_codec("ks", "place", ("a",), (INT,), dict),))
    assert gc.is_tracked(nested.decode(bytes_(bytes_(None))))
    called = tuple_codec((custom_codec("x", lambda data, version: [data]),))
    assert gc.is_tracked(called.decode(bytes_(b"")))
    assert gc.is_tracked(map_codec(INT, INT).decode(int_(0)))
    assert BLOB.children == ()
