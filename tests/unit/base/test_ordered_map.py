"""OrderedMap and the map that the codec makes: any keys, in order."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra.cqltypes import lookup_casstype
from cassandra.util import Date, OrderedMap, OrderedMapSerializedKey, SortedSet

KEYS: list[Any] = [[1, 2], {3}, {"a": [1]}, SortedSet([[4]]), (5, [6]), "x", None, OrderedMap([([7], 8)])]


def native(items: list[tuple[Any, Any]], key_type: str, version: int = 4) -> OrderedMapSerializedKey:
    """As the codec does it."""
    made = OrderedMapSerializedKey.__new__(OrderedMapSerializedKey)
    made._items, made._index = items, None
    made.cass_key_type, made.protocol_version = lookup_casstype(key_type).codec(), version
    return made


def test_any_key() -> None:
    made = OrderedMap((key, i) for i, key in enumerate(KEYS))
    assert list(made) == KEYS and list(made.values()) == list(range(len(KEYS)))
    assert list(made.items()) == list(zip(KEYS, range(len(KEYS)), strict=True)) and list(made.keys()) == KEYS
    for i, key in enumerate(KEYS):
        assert made[copy.deepcopy(key)] == i and key in made
    assert [1] not in made and made.get([9], "none") == "none"
    with pytest.raises(KeyError):
        made[{9}]


@pytest.mark.parametrize(
    "source", [{"a": 1, "b": 2}, [("a", 1), ("b", 2)], OrderedMap(a=1, b=2), iter([("a", 1), ("b", 2)])]
)
def test_sources(source: Any) -> None:
    assert list(OrderedMap(source, c=3).items()) == [("a", 1), ("b", 2), ("c", 3)]


def test_one_source_at_most() -> None:
    with pytest.raises(TypeError, match="at most 1"):
        OrderedMap({}, {})
    assert len(OrderedMap()) == 0 and not OrderedMap()


def test_the_last_value_of_a_key_wins_in_the_first_place() -> None:
    assert list(OrderedMap([("a", 1), ("b", 2), ("a", 3)]).items()) == [("a", 3), ("b", 2)]


@given(st.lists(st.tuples(st.sampled_from(["set", "del", "pop"]), st.lists(st.integers(0, 1), max_size=2))))
def test_changing_it(steps: list[tuple[str, list[int]]]) -> None:
    model: OrderedDict[Any, int] = OrderedDict()
    made = OrderedMap()
    for number, (name, key) in enumerate(steps):
        if name == "set":
            model[tuple(key)] = number
            made[key] = number
        elif name == "del" and tuple(key) in model:
            del model[tuple(key)]
            del made[key]
        elif name == "pop" and model:
            assert made.popitem() == (list(next(reversed(model))), model.popitem()[1])
        else:
            with pytest.raises(KeyError):
                made.__delitem__([9]) if name != "pop" else made.popitem()
        assert [(tuple(k), v) for k, v in made.items()] == list(model.items())
        assert all(made[list(k)] == v for k, v in model.items())


def test_equality() -> None:
    made = OrderedMap([("a", 1), ("b", 2)])
    assert made == {"b": 2, "a": 1} and made == OrderedMap([("a", 1), ("b", 2)])
    plain: object = {"a": 1, "b": 2}
    assert plain == made and made != OrderedMap([("b", 2), ("a", 1)])
    assert made != {"a": 1} and made != {"a": 1, "c": 2} and made != {"a": 1, "b": 3} and made != [("a", 1)]
    assert OrderedMap([([1], 2)]) != {1: 2}
    with pytest.raises(TypeError):
        hash(made)


def test_text() -> None:
    made = OrderedMap([("a", 1), ([2], "b")])
    assert repr(made) == "OrderedMap([('a', 1), ([2], 'b')])" and str(made) == "{'a': 1, [2]: 'b'}"


def test_copies() -> None:
    made = OrderedMap([([1], 2)])
    for twin in (copy.deepcopy(made), copy.copy(made), pickle.loads(pickle.dumps(made))):
        assert twin == made and twin[[1]] == 2


def test_objects_with_equality_only() -> None:
    made = OrderedMap([(Unhashable(1), "one")])
    assert made[Unhashable(1)] == "one" and Unhashable(2) not in made


class Unhashable:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and other.value == self.value

    __hash__ = None  # type: ignore[assignment]


class TestFromTheServer:
    def test_plain_keys(self) -> None:
        made = native([("b", 1), ("a", 2)], "UTF8Type")
        assert list(made) == ["b", "a"] and made["a"] == 2 and "c" not in made and made == {"a": 2, "b": 1}
        assert 5 not in made and None not in made and [] not in made

    def test_nested_keys(self) -> None:
        made = native([([1, 2], "x"), ([3], "y")], "ListType(Int32Type)")
        assert made[[1, 2]] == made[(1, 2)] == "x" and made.get([4]) is None
        sets = native([(SortedSet([1, 2]), "x")], "SetType(Int32Type)")
        assert sets[{2, 1}] == sets[frozenset([1, 2])] == "x"

    def test_keys_that_serialize_alike(self) -> None:
        import datetime

        made = native([(Date(0), "epoch")], "SimpleDateType")
        assert made[datetime.date(1970, 1, 1)] == made["1970-01-01"] == made[Date(0)] == "epoch"
        with pytest.raises(KeyError):
            made["1970-01-02"]

    def test_it_can_be_changed(self) -> None:
        made = native([(Date(0), 0)], "SimpleDateType")
        assert "1970-01-01" in made
        made[Date(1)] = 1
        assert made["1970-01-02"] == 1
        made["1970-01-02"] = 2
        assert list(made.items()) == [(Date(0), 0), (Date(1), 2)]
        del made["1970-01-01"]
        assert list(made) == [Date(1)] and made["1970-01-02"] == 2 and made.popitem() == (Date(1), 2)

    def test_made_by_hand(self) -> None:
        made = OrderedMapSerializedKey(lookup_casstype("Int32Type"), 4)
        made[1] = "a"
        assert made[1] == "a" and made == {1: "a"} and 2 not in made

    def test_it_pickles(self) -> None:
        made = native([([1], 2)], "ListType(Int32Type)")
        assert [1] in made
        twin = pickle.loads(pickle.dumps(made))
        assert type(twin) is OrderedMapSerializedKey and twin == made and twin[[1]] == 2
        assert copy.deepcopy(made) == made

    def test_from_bytes(self) -> None:
        codec = lookup_casstype("MapType(FrozenType(ListType(Int32Type)), UTF8Type)").codec()
        made = codec.decode(codec.encode(OrderedMap([([2], "b"), ([1], "a")])))
        assert type(made) is OrderedMapSerializedKey
        assert list(made.items()) == [([2], "b"), ([1], "a")] and made[[1]] == "a"


def test_equal_to_a_list_of_its_pairs() -> None:
    made = OrderedMap([("a", 1), ("b", 2)])
    assert made == [("b", 2), ("a", 1)] == made and made == (("a", 1), ("b", 2))
    assert made != [("a", 1)] and made != ["a", "b"] and made != [1, 2] and made != {("a", 1), ("b", 2)}
    assert OrderedMap([([1], 2)]) != [([1], 2)]
