"""The statements that instances write, without a server: those that they add to a batch."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any
from unittest import mock
from uuid import UUID

import pytest

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, DMLQuery

AT = dt.datetime(2024, 2, 29, 12, 30)
MS = 1709209800000
Statements = list[tuple[str, dict[str, Any]]]


class Reading(Model):
    __keyspace__ = "app"
    __table_name__ = "readings"
    sensor = columns.Integer(primary_key=True)
    at = columns.DateTime(primary_key=True)
    value = columns.Double()
    name = columns.Text(db_field="Name")
    tags = columns.List(columns.Text)
    marks = columns.Set(columns.Integer)
    counts = columns.Map(columns.Text, columns.Integer)
    unit = columns.Text(static=True)


class Total(Model):
    __keyspace__ = "app"
    id = columns.Integer(primary_key=True)
    hits = columns.Counter()
    misses = columns.Counter()


KEY: dict[str, Any] = {"sensor": 1, "at": AT}


def written(batch: BatchQuery) -> Statements:
    found = [(str(query), query.get_context()) for query in batch.queries]
    batch.queries = []
    return found


def stored(**values: Any) -> tuple[Any, BatchQuery]:
    """An instance whose row exists, and its batch."""
    batch = BatchQuery()
    one = Reading.batch(batch).create(**{**KEY, **values})
    batch.queries = []
    return one, batch


def saved(one: Any, batch: BatchQuery) -> Statements:
    one.save()
    return written(batch)


WHERE = 'WHERE "sensor" = %({})s AND "at" = %({})s'


def update(assignments: str, *values: Any) -> tuple[str, dict[str, Any]]:
    """The UPDATE of a row, and its context."""
    count = len(values)
    text = f"UPDATE app.readings SET {assignments} {WHERE.format(count, count + 1)}"
    return text, {str(number): value for number, value in enumerate([*values, 1, MS])}


def test_a_new_row_is_inserted_with_its_values_only() -> None:
    batch = BatchQuery()
    Reading.batch(batch).create(**KEY, value=1, tags=["a"], marks={1}, counts={"x": 1})
    assert written(batch) == [
        (
            'INSERT INTO app.readings ("sensor", "at", "value", "tags", "marks", "counts")'
            " VALUES (%(0)s, %(1)s, %(2)s, %(3)s, %(4)s, %(5)s)",
            {"0": 1, "1": MS, "2": 1.0, "3": ["a"], "4": {1}, "5": {"x": 1}},
        )
    ]


def test_a_null_that_was_given_is_deleted() -> None:
    batch = BatchQuery()
    Reading.batch(batch).create(**KEY, value=None, name="a")
    assert written(batch) == [
        ('INSERT INTO app.readings ("sensor", "at", "Name") VALUES (%(0)s, %(1)s, %(2)s)', {"0": 1, "1": MS, "2": "a"}),
        (f'DELETE "value" FROM app.readings {WHERE.format(0, 1)}', {"0": 1, "1": MS}),
    ]


def test_changes_are_written_alone() -> None:
    one, batch = stored(value=1.5, name="a", tags=["a"])
    assert saved(one, batch) == []
    one.value, one.name = 2.5, "a"
    assert saved(one, batch) == [update('"value" = %(0)s', 2.5)]
    assert saved(one, batch) == []
    one.update(name="b", value=2.5)
    assert written(batch) == [update('"Name" = %(0)s', "b")]


@pytest.mark.parametrize(
    ("before", "after", "text", "values"),
    [
        ({"tags": ["b"]}, {"tags": ["b", "c"]}, '"tags" = "tags" + %(0)s', [["c"]]),
        ({"tags": ["b"]}, {"tags": ["a", "b"]}, '"tags" = %(0)s + "tags"', [["a"]]),
        (
            {"tags": ["b"]},
            {"tags": ["a", "b", "c"]},
            '"tags" = %(0)s + "tags", "tags" = "tags" + %(1)s',
            [["a"], ["c"]],
        ),
        ({"tags": ["b"]}, {"tags": ["c"]}, '"tags" = %(0)s', [["c"]]),
        ({}, {"tags": ["c"]}, '"tags" = %(0)s', [["c"]]),
        ({"marks": {1}}, {"marks": {1, 2}}, '"marks" = "marks" + %(0)s', [{2}]),
        ({"marks": {1}}, {"marks": {2}}, '"marks" = "marks" + %(0)s, "marks" = "marks" - %(1)s', [{2}, {1}]),
        ({"counts": {"a": 1}}, {"counts": {"a": 2}}, '"counts"[%(0)s] = %(1)s', ["a", 2]),
        (
            {"counts": {"a": 1}},
            {"counts": {"a": 1, "c": 3, "b": 2}},
            '"counts"[%(0)s] = %(1)s, "counts"[%(2)s] = %(3)s',
            ["b", 2, "c", 3],
        ),
    ],
)
@pytest.mark.parametrize("in_place", [False, True])
def test_changes_of_containers_are_written_as_differences(
    before: dict[str, Any], after: dict[str, Any], text: str, values: list[Any], in_place: bool
) -> None:
    for _ in range(2):  # the second time the text is known
        one, batch = stored(**before)
        for name, value in after.items():
            if in_place:
                container = getattr(one, name)
                container.clear()
                (container.extend if name == "tags" else container.update)(value)
            else:
                setattr(one, name, value)
        assert saved(one, batch) == [update(text, *values)]
        assert saved(one, batch) == [] and one.get_changed_columns() == []


def test_differences_and_values_keep_the_order_of_the_columns() -> None:
    for _ in range(2):
        one, batch = stored(value=1.5, tags=["a"], marks={1})
        one.marks.add(2)
        one.value = 2.5
        one.tags.append("b")
        text = '"value" = %(0)s, "tags" = "tags" + %(1)s, "marks" = "marks" + %(2)s'
        assert saved(one, batch) == [update(text, 2.5, ["b"], {2})]


def test_removed_keys_of_maps_and_emptied_containers_are_deleted() -> None:
    for _ in range(2):
        one, batch = stored(counts={"a": 1, "b": 2}, tags=["a"])
        del one.counts["a"]
        one.tags = []
        assert saved(one, batch) == [
            (
                f'DELETE "tags", "counts"[%(0)s] FROM app.readings {WHERE.format(1, 2)}',
                {"0": "a", "1": 1, "2": MS},
            )
        ]
        assert saved(one, batch) == []


def test_static_columns_are_written_by_their_partition() -> None:
    one, batch = stored(unit="C", value=1.5)
    one.unit = "F"
    assert saved(one, batch) == [('UPDATE app.readings SET "unit" = %(0)s WHERE "sensor" = %(1)s', {"0": "F", "1": 1})]
    one.unit = None
    assert saved(one, batch) == [('DELETE "unit" FROM app.readings WHERE "sensor" = %(0)s', {"0": 1})]


def test_a_row_with_another_key_is_written_whole() -> None:
    one, batch = stored(value=1.5, unit="C")
    one.at = AT + dt.timedelta(milliseconds=1)
    assert saved(one, batch) == [
        (
            'INSERT INTO app.readings ("sensor", "at", "value", "unit") VALUES (%(0)s, %(1)s, %(2)s, %(3)s)',
            {"0": 1, "1": MS + 1, "2": 1.5, "3": "C"},
        ),
        (
            f'DELETE "Name", "tags", "marks", "counts" FROM app.readings {WHERE.format(0, 1)}',
            {"0": 1, "1": MS + 1},
        ),
    ]


def test_counters_are_written_as_differences() -> None:
    for _ in range(2):
        batch = BatchQuery()
        one: Any = Total(id=1, hits=3)
        one.batch(batch).save()
        one.hits, one.misses = 1, 5
        one.save()
        text = 'UPDATE app.total SET "hits" = "hits" {} %(0)s, "misses" = "misses" + %(1)s WHERE "id" = %(2)s'
        assert written(batch) == [
            (text.format("+"), {"0": 3, "1": 0, "2": 1}),
            (text.format("-"), {"0": 2, "1": 5, "2": 1}),
        ]


def test_options_are_a_part_of_the_text() -> None:
    when = dt.timedelta(seconds=5)
    for _ in range(2):
        one, batch = stored(value=1.5)
        one.ttl(60).timestamp(1234)
        one.value = 2.5
        assert saved(one, batch) == [
            (
                f'UPDATE app.readings USING TTL 60 AND TIMESTAMP 1234 SET "value" = %(0)s {WHERE.format(1, 2)}',
                {"0": 2.5, "1": 1, "2": MS},
            )
        ]
        one.value = 3.5
        assert saved(one, batch)[0][0].startswith("UPDATE app.readings USING TTL 60 SET"), "a timestamp is used once"
        one.ttl(None).if_exists()
        one.value = None
        assert saved(one, batch) == [
            (f'DELETE "value" FROM app.readings {WHERE.format(0, 1)} IF EXISTS', {"0": 1, "1": MS})
        ]
        one.if_exists(False).iff(name="a")
        one.value = 4.5
        assert saved(one, batch) == [
            (
                f'UPDATE app.readings SET "value" = %(1)s {WHERE.format(2, 3)} IF "Name" = %(0)s',
                {"0": "a", "1": 4.5, "2": 1, "3": MS},
            )
        ]
        one.timestamp(when).delete()
        assert "USING TIMESTAMP" in written(batch)[0][0]


def test_rows_are_deleted_and_may_be_inserted_again() -> None:
    one, batch = stored(value=1.5)
    one.delete()
    assert written(batch) == [(f"DELETE FROM app.readings {WHERE.format(0, 1)}", {"0": 1, "1": MS})]
    assert [text.partition(" ")[0] for text, _ in saved(one, batch)] == ["INSERT", "DELETE"]


@pytest.mark.parametrize("name", ["note", "_note"])
def test_attributes_of_a_program_are_no_options(name: str) -> None:
    one, batch = stored(value=1.5)
    setattr(one, name, "of the program")
    one.value = 2.5
    assert saved(one, batch) == [update('"value" = %(0)s', 2.5)] and getattr(one, name) == "of the program"


def test_replaced_methods_are_called() -> None:
    """Of an instance, of the model, and of the class that writes."""
    one, batch = stored(value=1.5)
    with mock.patch.object(one, "validate") as of_instance:
        one.save()
    with mock.patch.object(Reading, "validate") as of_model:
        one.save()
    with mock.patch.object(DMLQuery, "save") as of_write:
        one.save()
    assert of_instance.call_count == of_model.call_count == of_write.call_count == 1
    one.value = 2.5
    assert saved(one, batch) == [update('"value" = %(0)s', 2.5)]


def test_a_table_name_that_is_set_later_is_used() -> None:
    class Renamed(Reading):
        __table_name__ = "first"

    for name in "first", "second":
        Renamed.__table_name__ = name
        type.__setattr__(Renamed, "_table_name", name)
        batch = BatchQuery()
        Renamed.batch(batch).create(**KEY)
        assert written(batch)[0][0].startswith(f"INSERT INTO app.{name} ")


def test_values_are_converted_checked_and_not_shared() -> None:
    tags = ["a"]
    one, batch = stored(tags=tags, value="1.5")
    held = one.tags
    tags.append("b")
    held.append("c")
    assert (one.value, one.tags) == (1.5, ["a", "c"])
    assert saved(one, batch) == [update('"tags" = "tags" + %(0)s', ["c"])]
    held.append("d")
    assert one.tags == ["a", "c"] and saved(one, batch) == []
    one.value = "x"
    with pytest.raises(ValidationError, match="x is not a valid float"):
        one.save()
    assert written(batch) == [] and one.get_changed_columns() == ["value"]


def test_defaults_are_made_once() -> None:
    numbers = itertools.count(1)

    class Numbered(Reading):
        __table_name__ = "readings"
        value = columns.Double(default=lambda: float(next(numbers)))
        mark = columns.UUID(default=UUID(int=5))

    batch = BatchQuery()
    one = Numbered.batch(batch).create(**KEY)
    assert (one.value, one.mark, next(numbers)) == (1.0, UUID(int=5), 2)


def test_a_model_of_many_columns() -> None:
    """More than there are bits in the number that stands for a text."""
    names = [f"c{number}" for number in range(100)]
    body: dict[str, Any] = {name: columns.Integer() for name in names}
    wide: Any = type("Wide", (Model,), {"__keyspace__": "app", "id": columns.Integer(primary_key=True), **body})
    batch = BatchQuery()
    one = wide.batch(batch).create(id=1, c0=1, c99=2)
    for name in ("c1", "c64", "c99", "c64"):
        batch.queries = []
        setattr(one, name, getattr(one, name) + 1 if getattr(one, name) else 1)
        one.save()
        assert written(batch)[0][0] == f'UPDATE app.wide SET "{name}" = %(0)s WHERE "id" = %(1)s'
