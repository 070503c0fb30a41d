"""Named tuple classes for any names."""

from __future__ import annotations

import logging
import pickle
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._base.tuples import clean_name, row_class, udt_class

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
def test_uncleanable_names_are_numbered_and_field_names_are_unique(
    names: tuple[str, ...], fields: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    row_class.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert row_class(names)._fields == fields
        row_class(names)
    assert len(caplog.records) == (0 if names == ("A", "a") else 1)


def test_equal_names_take_no_more_room_or_time_than_others(caplog: pytest.LogCaptureFixture) -> None:
    count = 20_000
    row_class.cache_clear()
    started = time.thread_time()
    fields = row_class(("a",) * count)._fields
    assert time.thread_time() - started < 10, "it takes 0.2 s; where time goes by the square, minutes"
    assert fields[:17] == (*("a" + "_" * i for i in range(16)), "field_16_") and len(set(fields)) == count
    assert max(map(len, fields)) < 20
    assert sum(len(record.getMessage()) for record in caplog.records) < 1000, "and the log names some of them"


def test_names_that_stand_where_repeated_ones_would_go() -> None:
    taken = [f"field_20_{'_' * i}" for i in range(20)]
    fields = row_class((*taken, *["a"] * 20))._fields
    assert len(set(fields)) == 40 and fields[:20] == tuple(taken)


@pytest.mark.parametrize("name", ["a" + "!" * 65_000 + "a", "!" * 65_000, "a" + "!" * 65_000], ids=len)
def test_a_long_name_is_cleaned_in_one_pass(name: str) -> None:
    started = time.thread_time()
    cleaned = clean_name(name)
    assert time.thread_time() - started < 1
    assert cleaned in (name.replace("!", "_"), "", "a")


@given(st.text(alphabet="aB0_!. ä\n", max_size=8))
def test_clean_name_matches_the_regular_expressions(name: str) -> None:
    kept = re.sub(r"\A[^a-zA-Z0-9]+|[^a-zA-Z0-9_]+\Z", "", name)
    assert clean_name(name) == re.sub(r"[^a-zA-Z0-9]", "_", kept)


@given(st.lists(st.text(max_size=6), max_size=5))
def test_any_names_give_a_class(names: list[str]) -> None:
    values = tuple(range(len(names)))
    for cls in (row_class(tuple(names)), udt_class("t", tuple(names))):
        value = values if cls is tuple else cls(*values)
        assert value == values and (cls is tuple or len(set(cls._fields)) == len(names))
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


@pytest.mark.parametrize(
    "name, fields",
    [("my type", ("a",)), ("class", ("a",)), ("2nd", ("a",)), ("t", ("_x", "field_0_")), ("t", ("a", "a"))],
)
def test_user_types_that_no_named_tuple_can_have(name: str, fields: tuple[str, ...]) -> None:
    assert udt_class(name, fields) is tuple
