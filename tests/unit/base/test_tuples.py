"""Named tuple classes for any names."""

from __future__ import annotations

import logging
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._base.tuples import row_class, udt_class

CLEANED = {
    "a": "a",
    "count(*)": "count",
    "system.count(*)": "system_count",
    "cast(a as text)": "cast_a_as_text",
    "_a": "a",
    "__a__b": "a__b",
    "a_": "a_",
    "(a)": "a",
    "a.b.c": "a_b_c",
    "writetime(v)": "writetime_v",
}


@pytest.mark.parametrize("name", CLEANED)
def test_columns_are_cleaned(name: str) -> None:
    assert row_class((name,))._fields == (CLEANED[name],)


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        (("a", "1b"), ("a", "field_1_")),
        (("class",), ("field_0_",)),
        (("a", "a", "a_", "a"), ("a", "a_", "a__", "a___")),
        (("count", "count(*)"), ("count", "count_")),
        (("A", "a"), ("A", "a")),
        (("", "(*)", "ä"), ("field_0_", "field_1_", "field_2_")),
        (("a", "_a"), ("a", "a_")),
        (("def", "field_0_"), ("field_0_", "field_0__")),
    ],
)
def test_what_cannot_be_cleaned_is_numbered_and_names_are_unique(
    names: tuple[str, ...], fields: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    row_class.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert row_class(names)._fields == fields
        row_class(names)
    assert len(caplog.records) == (0 if names == ("A", "a") else 1)


@given(st.lists(st.text(max_size=6), max_size=5))
def test_any_names_give_a_class(names: list[str]) -> None:
    values = tuple(range(len(names)))
    for cls in (row_class(tuple(names)), udt_class("t", tuple(names))):
        value = cls(*values)
        assert value == values and len(set(cls._fields)) == len(names)
        twin = pickle.loads(pickle.dumps(value))
        assert type(twin) is cls and twin == value


def test_one_class_per_shape() -> None:
    assert row_class(("a", "b")) is row_class(("a", "b")) and row_class(("a", "b")) is not row_class(("b", "a"))
    assert row_class(("a",)).__name__ == "Row"


def test_more_columns_than_old_pythons_took() -> None:
    assert row_class(tuple(f"c{i}" for i in range(1000)))(*range(1000)).c999 == 999


def test_user_types() -> None:
    cls = udt_class("address", ("street", "from", "_x", "zip code"))
    assert cls.__name__ == "address" and cls._fields == ("street", "field_1_", "field_2_", "field_3_")
    assert udt_class("my type", ("a",)).__name__ == "UserType"
