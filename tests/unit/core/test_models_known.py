"""The checks on the short way from a model to its request: classes of values, and whether methods were replaced."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from cassandra._core.models import ExactKinds, Instance, InstanceLayout, UnmodifiedMethods, new_loaded


class Kind:
    def one(self) -> None: ...
    def other(self) -> None: ...


def test_values_are_bound_at_their_places() -> None:
    kinds = ExactKinds([int, str], [2, 0], 4)
    assert kinds.bound({"a": 1, "b": "x"}) == ["x", None, 1, None]
    assert kinds.bound({"a": True, "b": "x"}) is None
    assert kinds.bound({"a": 1, "b": None}) is None
    assert ExactKinds([], [], 1).bound({}) == [None]


def test_nothing_is_kept_of_values() -> None:
    kinds, value = ExactKinds([object], [0], 1), object()
    before = sys.getrefcount(value)
    for _ in range(100):
        kinds.bound({"a": value})
    assert sys.getrefcount(value) == before


@pytest.mark.parametrize("places", [[0], [0, 2], [0, -1]])
def test_places_are_checked(places: list[int]) -> None:
    with pytest.raises(ValueError, match="classes do not fit the places"):
        ExactKinds([int, int], places, 2)


def test_values_are_bound_with_another_one() -> None:
    kinds = ExactKinds([int, str], [0, 1], 2)
    assert kinds.bind_with({"a": 1, "b": "x"}, 7) == ((1, "x", 7), (1, "x"))
    assert kinds.bind_with({"a": 1, "b": 2}, 7) is None
    assert ExactKinds([], [], 0).bind_with({}, 7) == ((7,), ())


def test_as_many_values_as_classes() -> None:
    kinds: Any = ExactKinds([int], [0], 1)
    with pytest.raises(ValueError, match="2 values for 1 classes"):
        kinds.bound({"a": 1, "b": 2})
    with pytest.raises(TypeError):
        kinds.bound([1])


def test_untouched_recognizes_classes_and_instances_without_overrides() -> None:
    untouched = UnmodifiedMethods(Kind, ["one", "other"])
    made: Any = Kind()
    assert untouched.holds() and untouched.of(made)
    made.something = 1
    assert untouched.of(made)
    made.other = None
    assert not untouched.of(made)
    assert not untouched.of(type("Sub", (Kind,), {})()) and not untouched.of(Kind) and not untouched.of(None)


def test_a_class_that_was_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    untouched = UnmodifiedMethods(Kind, ["one"])
    monkeypatch.setattr(Kind, "other", None)
    assert untouched.holds() and untouched.of(Kind())
    monkeypatch.setattr(Kind, "one", lambda self: None)
    assert not untouched.holds() and not untouched.of(Kind())
    monkeypatch.undo()
    assert untouched.holds() and untouched.of(Kind())


def test_methods_that_are_gone() -> None:
    class Short:
        def one(self) -> None: ...

    untouched = UnmodifiedMethods(Short, ["one"])
    del Short.one
    with pytest.raises(AttributeError):
        untouched.holds()


class Row(Instance):
    pass


def loaded() -> Row:
    return new_loaded(Row, InstanceLayout(["a", "b", "c"], [None, None, list]), (1, 2), ((),))


def test_values_that_are_set_together() -> None:
    row = loaded()
    row._set_all({"b": 7})
    assert row._touched == {"b": 7} and row._given == {"b"}
    row._set_all({"a": 8})
    assert row._touched == {"b": 7, "a": 8} and row._given == {"a", "b"}


def test_values_that_were_given_stay_the_callers() -> None:
    row, given = loaded(), {"b": 7}
    row._set_all(given)
    row._touched["a"] = 8
    assert given == {"b": 7}
