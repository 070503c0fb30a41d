"""Instances of models, natively: rows as they came, and values read instead."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from typing import Any

import pytest

from cassandra._core.models import ColumnAccess, Instance, InstanceLayout, KeywordCache, load_instances, new_loaded


def nothing() -> None:
    return None


class Thing(Instance):
    """A model, as far as native code knows one."""

    key = ColumnAccess("column", "query", "key", nothing, "a key cannot be deleted")
    name = ColumnAccess("column", "query", "name", lambda: "initial")
    tags = ColumnAccess("column", "query", "tags", list)


LAYOUT = InstanceLayout(["key", "tags"], [None, list])


def loaded(*row: Any, cls: Any = Thing, layout: InstanceLayout = LAYOUT, shared: tuple[Any, ...] = ()) -> Any:
    return new_loaded(cls, layout, row, shared)


def test_values_are_read_of_the_row() -> None:
    row = (1, ("a", "b"))
    thing = new_loaded(Thing, LAYOUT, row, ())
    assert (thing.key, thing.tags, thing.name) == (1, ["a", "b"], "initial")
    assert thing.tags is thing.tags and thing._loaded("tags") is not thing.tags
    assert thing._loaded("key") == 1 and thing._loaded("name", "no") == "no" and thing._is_persisted
    assert set(thing._touched) == {"tags", "name"} and thing._given == set()


def test_values_that_all_share_follow_those_of_the_row() -> None:
    layout = InstanceLayout(["name", "key"], [None, None])
    one, two = load_instances(Thing, layout, [("a",), ("b",)], (7,))
    assert (one.name, one.key, two.name, two.key) == ("a", 7, "b", 7)


def test_values_are_set_and_deleted() -> None:
    thing = loaded(1, ["a"])
    thing.name = "set"
    thing.tags.append("b")
    assert (thing.name, thing._loaded("name", "none")) == ("set", "none") and thing._given == {"name"}
    assert (thing.tags, thing._loaded("tags")) == (["a", "b"], ["a"])
    del thing.name
    assert thing.name is None and thing._given == {"name"}
    with pytest.raises(AttributeError, match="a key cannot be deleted"):
        del thing.key
    thing.anything = 5
    assert thing.anything == 5 and vars(thing) == {"anything": 5}


def test_class_attributes_are_the_query_columns() -> None:
    assert Thing.key == "query" and Thing.__dict__["key"].column == "column"


def test_new_ones_and_written_ones() -> None:
    thing: Any = Thing()
    thing._begin({"key": 5}, {"key"})
    assert thing.key == 5 and thing._loaded("key", "never") == "never" and not thing._is_persisted
    thing._keep(LAYOUT, (5, ["x"]), {}, set())
    assert thing._loaded("key") == 5 and thing.tags == ["x"] and thing._given == set()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_copies_are_alike(again: Any) -> None:
    thing = loaded(1, ["a"])
    thing.tags.append("b")
    thing.anything = 5
    other = again(thing)
    assert type(other) is Thing and (other.key, other.tags, other.anything) == (1, ["a", "b"], 5)
    assert other._loaded("tags") == ["a"] and other._is_persisted
    other.name = "other"
    assert thing.name == "initial"


def test_mismatched_rows_layouts_and_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="1 converters for 2 columns"):
        InstanceLayout(["a", "b"], [None])
    with pytest.raises(ValueError, match="1 values and 0 shared ones for 2 columns"):
        new_loaded(Thing, LAYOUT, (1,), ())
    with pytest.raises(TypeError, match="a row must be a tuple of 2 values"):
        load_instances(Thing, LAYOUT, [(1, 2), (1,)], ())
    with pytest.raises(TypeError, match="a row must be a tuple of 2 values"):
        load_instances(Thing, LAYOUT, [[1, 2]], ())  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected a subclass of Instance"):
        load_instances(int, LAYOUT, [], ())  # type: ignore[type-var]
    with pytest.raises(TypeError):
        Thing.__dict__["key"].__get__(5, int)
    with pytest.raises(ValueError, match="1 values for 2 columns"):
        Thing()._keep(LAYOUT, (1,), {}, set())


def test_instances_that_may_be_in_a_cycle_are_gc_tracked() -> None:
    assert not gc.is_tracked(loaded(1, ["a"]))
    for change in (
        lambda thing: thing.tags,
        lambda thing: setattr(thing, "name", thing),
        lambda thing: setattr(thing, "other", thing),
        lambda thing: delattr(thing, "name"),
    ):
        thing = loaded(1, ["a"])
        change(thing)
        assert gc.is_tracked(thing)


def test_layouts_change_under_a_column_that_several_threads_read() -> None:
    layouts = [InstanceLayout(names, [None] * len(names)) for names in (["key", "name"], ["name", "key"], ["key"])]
    things = [load_instances(Thing, layout, [tuple(f"{name}" for name in layout.names)] * 10, ()) for layout in layouts]
    wrong: list[Any] = []

    def read() -> None:
        for _ in range(300):
            for some in things:
                for thing in some:
                    if thing.key != "key" or thing.name not in ("name", "initial"):
                        wrong.append((thing.key, thing.name))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_names_of_calls_are_found_in_their_order() -> None:
    known = KeywordCache(3)
    assert known.find({"a": 1}) is None and known.find({}) is None
    assert known.add({"a": 1, "b": 2}, "ab") == "ab"
    assert known.find({"a": 5, "b": 6}) == "ab"
    assert known.find({"b": 6, "a": 5}) is None and known.find({"a": 5}) is None
    assert known.find({"a": 5, "b": 6, "c": 7}) is None
    known.add({"b": 0, "a": 0}, "ba")
    known.add({}, "none")
    assert [known.find(given) for given in ({"a": 1, "b": 2}, {}, {"b": 1, "a": 2}, {"a": 1, "b": 2})] == [
        "ab",
        "none",
        "ba",
        "ab",
    ]
    assert known.find({"".join(["", "a"]): 1, "b".upper().lower(): 2}) == "ab"  # names that are equal, and not the same


def test_no_more_names_are_kept_than_were_asked_for() -> None:
    known = KeywordCache(10)
    for number in range(100):
        known.add({f"name{number}": 1}, number)
    found = [known.find({f"name{number}": 1}) for number in range(100)]
    assert found[-1] == 99 and len([one for one in found if one is not None]) <= 10
    with pytest.raises(TypeError):
        known.find(None)  # type: ignore[arg-type]


def test_rows_of_a_list_become_instances_in_it() -> None:
    rows: list[Any] = [(1, 2), (3, 4)]
    made = load_instances(Thing, LAYOUT, rows, ())
    assert made is rows and all(type(one) is Thing for one in rows)
    given = ((1, 2),)
    assert load_instances(Thing, LAYOUT, given, ()) is not given and given == ((1, 2),)
