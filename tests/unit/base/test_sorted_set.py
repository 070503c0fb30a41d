"""SortedSet: the set API, over any items."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra.util import Date, OrderedMap, SortedSet, sortedset

NAN = float("nan")
SETS = st.sets(st.integers(-5, 5))
UNORDERED = [
    [1, "a", 5, 2],
    [{1}, {2}, {1, 2}],
    [NAN, 1.0, 0.0],
    [None, 1],
    [[1], ["a"]],
    [1j, 2j],
    [{"a": 1}, {"b": 1}],
]


def test_items_are_sorted_and_unique() -> None:
    items = SortedSet([3, 1, 2, 3, 1])
    assert list(items) == [1, 2, 3] and len(items) == 3 and repr(items) == "SortedSet([1, 2, 3])"
    assert list(reversed(items)) == [3, 2, 1]
    assert (items[0], items[-1], items[1:]) == (1, 3, [2, 3])
    assert sortedset is SortedSet and not SortedSet() and list(SortedSet("ba")) == ["a", "b"]


@pytest.mark.parametrize("items", UNORDERED, ids=repr)
def test_items_without_an_order(items: list[Any]) -> None:
    made = SortedSet([*items, *items])
    assert len(made) == len(items)
    assert all(item in made for item in items)
    for item in items:
        made.remove(item)
    assert len(made) == 0
    for item in items:
        made.add(item)
        made.add(item)
    assert len(made) == len(items) and made == SortedSet(items[::-1])


@given(st.lists(st.frozensets(st.integers(0, 3)), max_size=8), st.frozensets(st.integers(0, 3)))
def test_sets_of_sets_are_searched_right(items: list[frozenset[int]], probe: frozenset[int]) -> None:
    """``<`` of sets is no total order: bisection would miss items."""
    made = SortedSet()
    for item in items:
        made.add(SortedSet(item))
    assert len(made) == len(set(items))
    assert (SortedSet(probe) in made) == (probe in items)
    assert made == SortedSet([SortedSet(item) for item in items])


@given(st.lists(st.one_of(st.integers(-3, 3), st.text("ab", max_size=1), st.none(), st.floats(-2, 2))))
def test_mixed_types_are_searched_right(items: list[Any]) -> None:
    made = SortedSet(items)
    assert len(made) == len(set(items))
    assert all(item in made for item in items) and "zz" not in made


@given(SETS, SETS)
def test_operators_are_those_of_sets(a: set[int], b: set[int]) -> None:
    left = SortedSet(a)
    for right in (SortedSet(b), b, frozenset(b)):
        for result, expected in (
            (left & right, a & b),
            (left | right, a | b),
            (left - right, a - b),
            (left ^ right, a ^ b),
        ):
            assert type(result) is SortedSet and list(result) == sorted(expected)
        assert (left == right, left != right) == (a == b, a != b)
        assert (left <= right, left < right, left >= right, left > right) == (a <= b, a < b, a >= b, a > b)
        assert (left.isdisjoint(right), left.issubset(right)) == (a.isdisjoint(b), a <= b)
        assert left.issuperset(right) == (a >= b)


@given(SETS, SETS)
def test_operators_with_a_plain_set_on_the_left(a: set[int], b: set[int]) -> None:
    right = SortedSet(b)
    assert list(a & right) == sorted(a & b)
    assert list(a | right) == sorted(a | b)
    assert list(a - right) == sorted(a - b)
    assert list(a ^ right) == sorted(a ^ b)
    assert (a == right, a < right, a <= right) == (a == b, a < b, a <= b)


@given(SETS, st.lists(st.lists(st.integers(-5, 5)), max_size=3))
def test_methods_take_any_iterables(a: set[int], others: list[list[int]]) -> None:
    left = SortedSet(a)
    assert list(left.union(*others)) == sorted(a.union(*others))
    assert list(left.intersection(*others)) == sorted(a.intersection(*others))
    assert list(left.difference(*map(iter, others))) == sorted(a.difference(*others))
    for other in others:
        assert list(left.symmetric_difference(other)) == sorted(a.symmetric_difference(other))
        assert left.isdisjoint(iter(other)) == a.isdisjoint(other)
        assert left.issubset(iter(other)) == a.issubset(other)
        assert left.issuperset(iter(other)) == a.issuperset(other)


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "discard"]), st.integers(-4, 4))))
def test_changing_it(steps: list[tuple[str, int]]) -> None:
    model: set[int] = set()
    made = SortedSet()
    for name, item in steps:
        if name == "remove" and item not in model:
            with pytest.raises(KeyError):
                made.remove(item)
            continue
        getattr(model, name)(item)
        getattr(made, name)(item)
        assert list(made) == sorted(model)


class Counted(set[int]):
    """A set that counts how often it is compared."""

    compared = 0
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return set.__eq__(self, other)


def test_sets_of_sets_are_not_compared_each_with_each() -> None:
    count = 500
    items = [Counted([i, i + 1]) for i in range(count)]
    Counted.compared = 0
    made = SortedSet([*items, *map(Counted, items)])
    assert len(made) == count and Counted.compared < 20 * count
    Counted.compared = 0
    assert made == SortedSet(items[::-1]) and made <= made and made & made == made and made - made == []
    assert made ^ items[:5] == items[5:]
    assert Counted.compared < 100 * count


def test_sets_of_maps_and_of_unorderable_objects() -> None:
    class Opaque:
        __hash__ = None  # type: ignore[assignment]

        def __init__(self, key: int) -> None:
            self.key, self.other = key, object()

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Opaque) and self.key == other.key

    def map_of(*pairs: tuple[Any, Any]) -> OrderedMap:
        return OrderedMap(pairs)

    assert len(SortedSet([Opaque(1), Opaque(2), Opaque(1)])) == 2
    assert len(SortedSet([(Opaque(1), [1]), (Opaque(2), [1]), (Opaque(1), [1])])) == 2
    maps = SortedSet([map_of((1, [1]), (2, [2])), map_of((2, [2]), (1, [1])), map_of((1, [1]), (2, [2]))])
    assert len(maps) == 2, "their order counts"
    mixed = SortedSet([SortedSet([3]), [3], SortedSet([4]), {5}, [4, 4], {3}])
    assert len(mixed) == len([item for i, item in enumerate(mixed) if item not in list(mixed)[:i]]) == 3


def test_pop_update_clear_and_del() -> None:
    made = SortedSet([1, 2])
    made.update(iter([5, 4, 1]))
    assert list(made) == [1, 2, 4, 5] and made.pop() == 5
    del made[0]
    assert list(made) == [2, 4]
    made.clear()
    assert list(made) == []
    with pytest.raises(KeyError):
        made.pop()


def test_a_copy_is_another_set() -> None:
    made = SortedSet([1, 2])
    for twin in (made.copy(), copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), SortedSet(made)):
        assert twin == made
        twin.add(3)
        assert twin != made and 3 not in made


def test_unhashable_items_meet_plain_sets() -> None:
    made = SortedSet([[1], [2]])
    assert [1] in made and (made & {1, 2}) == [] and made.difference({1}) == made
    assert made & [[1], [3]] == [[1]]
    with pytest.raises(TypeError):
        hash(made)


def test_equality_counts_items_once() -> None:
    assert SortedSet([1, 2]) == [2, 1] == SortedSet([1, 2])
    assert SortedSet([1, 2]) != [1, 1] and SortedSet([1, 2]) == [1, 2, 2]
    assert SortedSet([1]) != 1 and SortedSet(["a"]) != "a"
    with pytest.raises(TypeError):
        SortedSet([1]) < 1  # type: ignore[operator] # noqa: B015


def test_equal_items_of_other_types() -> None:
    assert Date(5) in SortedSet([Date(1), Date(5)]) and 1.0 in SortedSet([1, 2])


def test_subclasses_stay() -> None:
    class Mine(SortedSet):
        pass

    assert type(Mine([1]) | {2}) is Mine and type(Mine([1]).copy()) is Mine


@given(st.lists(st.integers(-9, 9)))
def test_from_list_of_native_code_sorts_and_deduplicates(items: list[int]) -> None:
    assert list(SortedSet._from_list(list(items))) == sorted(set(items))
