"""Instances whose key changed, and instances with columns that were not loaded: the stored row has their values."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, LWTException
from cassandra.query import dict_factory
from cassandra.testing import SimulatedCluster

REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"


class Plain(Model):
    """All values are stored as they are: the native path."""

    __keyspace__ = "moved"
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    size = columns.Integer(default=7)


class Own(Plain):
    """As Plain, with an ``__init__`` of its own: the Python path."""

    __keyspace__ = "moved"

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)


class Full(Model):
    __keyspace__ = "moved"
    part = columns.Integer(primary_key=True)
    row = columns.Integer(primary_key=True)
    note = columns.Text(static=True)
    shared = columns.Set(columns.Integer, static=True)
    name = columns.Text()
    marks = columns.Set(columns.Integer)
    words = columns.List(columns.Text)
    counts = columns.Map(columns.Text, columns.Integer)
    fixed = columns.Map(columns.Text, columns.Integer, frozen=True)


class OwnFull(Full):
    __keyspace__ = "moved"

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)


class Count(Model):
    __keyspace__ = "moved"
    part = columns.Integer(primary_key=True)
    row = columns.Integer(primary_key=True)
    total = columns.Counter()


class Indexed(Model):
    __keyspace__ = "moved"
    id = columns.Integer(primary_key=True)
    words = columns.List(columns.Text, frozen=True, index=True)
    marks = columns.Set(columns.Integer, frozen=True, index=True, db_field="Marks")
    counts = columns.Map(columns.Text, columns.Integer, frozen=True, index=True)
    loose = columns.Set(columns.Integer, index=True)


MODELS: tuple[type[Model], ...] = (Plain, Own, Full, OwnFull, Count)


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedCluster]:
    with SimulatedCluster() as server:
        server.execute(f"CREATE KEYSPACE moved WITH replication = {REPLICATION}")
        yield server


@pytest.fixture(scope="module")
def session(server: SimulatedCluster) -> Iterator[Session]:
    with Cluster(server.contact_points, port=server.port) as cluster:
        session = cluster.connect("moved")
        session.row_factory = dict_factory
        yield session


@pytest.fixture(autouse=True)
def tables(session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    connection.register_connection("moved", session=session, default=True)
    for model in MODELS:
        sync_table(model)
        session.execute(f"TRUNCATE {model.column_family_name()}")
    yield
    connection._connections.clear()
    connection.udt_by_keyspace.clear()


def _save(one: Any) -> None:
    one.save()


def _asave(one: Any) -> None:
    asyncio.run(one.asave())


def _update(one: Any) -> None:
    one.update()


def _aupdate(one: Any) -> None:
    asyncio.run(one.aupdate())


def _batch(one: Any) -> None:
    with BatchQuery() as batch:
        one.batch(batch).save()
    one.batch(None)


def _batch_update(one: Any) -> None:
    with BatchQuery() as batch:
        one.batch(batch).update()
    one.batch(None)


def _if_not_exists(one: Any) -> None:
    with pytest.raises(LWTException):
        one.if_not_exists().save()
    one.if_not_exists(False).save()


WRITES = pytest.mark.parametrize("write", [_save, _asave, _update, _aupdate, _batch, _batch_update, _if_not_exists])
PLAIN = pytest.mark.parametrize("model", [Plain, Own])
FULL = pytest.mark.parametrize("model", [Full, OwnFull])
Write = Callable[[Any], None]


def stored(session: Session, model: Any, **key: Any) -> dict[str, Any]:
    """The row of this key, as the server has it, with empty containers as the mapper reads them."""
    where = " AND ".join(f'"{name}" = {value}' for name, value in key.items())
    row = session.execute(f"SELECT * FROM {model.column_family_name()} WHERE {where}").one()
    return {name: model._columns[name].to_python(value) for name, value in row.items()}


def says(one: Any) -> dict[str, Any]:
    return dict(one.items())


# ---- keys that changed


@WRITES
@PLAIN
def test_a_null_of_an_instance_with_another_key_is_stored(model: Any, write: Write, session: Session) -> None:
    model.create(id=2, name="old", size=1)
    one = model.create(id=1, size=3)
    one.id = 2
    write(one)
    assert stored(session, model, id=2) == says(one) == {"id": 2, "name": None, "size": 3}
    one.name = "new"
    one.save()
    assert stored(session, model, id=2) == {"id": 2, "name": "new", "size": 3}


@WRITES
@PLAIN
def test_a_loaded_instance_with_another_key(model: Any, write: Write, session: Session) -> None:
    model.create(id=2, name="old", size=1)
    model.create(id=1, name=None, size=None)
    one = model.get(id=1)
    one.id = 2
    write(one)
    assert stored(session, model, id=2) == {"id": 2, "name": None, "size": None}


@WRITES
@PLAIN
def test_an_instance_with_deferred_columns_and_another_key(model: Any, write: Write, session: Session) -> None:
    model.create(id=2, name="old", size=1)
    model.create(id=1, name="unseen", size=3)
    one = model.objects.only(["size"]).get(id=1)
    one.id = 2
    write(one)
    assert stored(session, model, id=2) == says(one) == {"id": 2, "name": None, "size": 3}


@WRITES
@FULL
@pytest.mark.parametrize("changed", ["part", "row"])
def test_containers_are_whole_under_another_key(model: Any, write: Write, changed: str, session: Session) -> None:
    old = {"name": "x", "marks": {8}, "words": ["old"], "counts": {"old": 1}, "fixed": {"old": 1}}
    key = {"part": 1, "row": 1}
    model.create(**{**key, changed: 2}, **old)
    model.create(**key, marks={1}, words=["a"], counts={"a": 1, "b": 2})
    one = model.get(**key)
    one.marks.add(2)
    one.words.append("b")
    del one.counts["a"]
    setattr(one, changed, 2)
    write(one)
    expected = {"name": None, "marks": {1, 2}, "words": ["a", "b"], "counts": {"b": 2}, "fixed": {}}
    row = stored(session, model, **{**key, changed: 2})
    assert {name: row[name] for name in expected} == expected
    assert {name: says(one)[name] for name in expected} == expected


@WRITES
@FULL
def test_static_nulls_are_stored_in_another_partition(model: Any, write: Write, session: Session) -> None:
    model.create(part=2, row=1, note="old", shared={1})
    one = model.create(part=1, row=1, name="x")
    one.part = 2
    write(one)
    assert stored(session, model, part=2, row=1) == says(one)
    assert one.note is None and one.shared == set()


@WRITES
@FULL
def test_static_values_of_the_same_partition_stay(model: Any, write: Write, session: Session) -> None:
    """Another clustering key is another row, but the partition is the same: columns that an instance has not set
    are not taken from the other rows."""
    one = model.create(part=1, row=1, name="x")
    model.create(part=1, row=2, note="of all", shared={1})
    one.row = 2
    write(one)
    row = stored(session, model, part=1, row=2)
    assert (row["name"], row["note"], row["shared"]) == ("x", "of all", {1})


@FULL
def test_static_values_without_a_clustering_key(model: Any, session: Session) -> None:
    one = model.create(part=1, note="a", shared={1})
    one.note = None
    one.save()
    assert stored(session, model, part=1)["note"] is None
    one.note = "b"
    one.shared = set()
    one.update()
    row = stored(session, model, part=1)
    assert (row["note"], row["shared"]) == ("b", set())
    model.create(part=2, note="old")
    one.part = 2
    one.note, one.shared = None, {3}
    one.save()
    row = stored(session, model, part=2)
    assert (row["note"], row["shared"]) == (None, {3})
    model(part=2, note=None).save()
    assert stored(session, model, part=2)["shared"] == {3}
    model(part=2, note=None, shared=None).save()
    assert session.execute(f"SELECT * FROM {model.column_family_name()} WHERE part = 2").one() is None


def test_counters_under_another_key(session: Session) -> None:
    one = Count.create(part=1, row=1, total=5)
    one.row = 2
    one.save()
    assert stored(session, Count, part=1, row=2) == {"part": 1, "row": 2, "total": 5}
    one.total += 1
    one.part = 2
    one.update()
    assert stored(session, Count, part=2, row=2) == {"part": 2, "row": 2, "total": 6}
    assert stored(session, Count, part=1, row=2) == {"part": 1, "row": 2, "total": 5}


# ---- rows that were deleted


@pytest.mark.parametrize("write", [_save, _asave, _batch])
@PLAIN
def test_a_deleted_instance_is_written_as_a_new_one(model: Any, write: Write, session: Session) -> None:
    one = model.create(id=1, name="a")
    one.delete()
    write(one)
    assert stored(session, model, id=1) == says(one) == {"id": 1, "name": "a", "size": 7}
    asyncio.run(one.adelete())
    write(one)
    assert stored(session, model, id=1) == says(one)


# ---- columns that were not loaded


@PLAIN
def test_a_deferred_value_equal_to_the_default_is_written(model: Any, session: Session) -> None:
    model.create(id=1, name="a", size=3)
    one = model.objects.defer(["size"]).get(id=1)
    one.size = 7
    one.save()
    assert stored(session, model, id=1) == {"id": 1, "name": "a", "size": 7}


@FULL
@pytest.mark.parametrize("before", [None, "read", "saved"])
def test_a_container_that_was_not_loaded_is_replaced(model: Any, before: str | None, session: Session) -> None:
    """By an assignment, also when others were written meanwhile."""
    model.create(part=1, row=1, marks={1}, words=["a"], counts={"a": 1}, shared={1})
    one = model.objects.only(["name"]).get(part=1, row=1)
    if before == "read":
        assert (one.marks, one.words, one.counts) == (set(), [], {})
    if before == "saved":
        one.name = "x"
        one.save()
    one.marks, one.words, one.counts, one.shared = {2}, ["b"], {"b": 2}, {2}
    one.save()
    row = stored(session, model, part=1, row=1)
    assert (row["marks"], row["words"], row["counts"], row["shared"]) == ({2}, ["b"], {"b": 2}, {2})


@FULL
def test_in_place_changes_of_a_deferred_container_keep_its_elements(model: Any, session: Session) -> None:
    """Elements that are added in place are stored."""
    model.create(part=1, row=1, marks={1}, counts={"a": 1})
    one = model.objects.only(["name"]).get(part=1, row=1)
    one.marks.add(2)
    one.counts["b"] = 2
    one.save()
    row = stored(session, model, part=1, row=1)
    assert (row["marks"], row["counts"]) == ({1, 2}, {"a": 1, "b": 2})


# ---- indexes


def test_frozen_containers_are_indexed_as_a_whole(server: SimulatedCluster, session: Session) -> None:
    sync_table(Indexed)
    names = sorted(session.cluster.metadata.keyspaces["moved"].tables["indexed"].indexes)
    assert len(names) == 4
    sync_table(Indexed)
    indexes = session.cluster.metadata.keyspaces["moved"].tables["indexed"].indexes
    assert sorted(indexes) == names
    assert sorted(index.index_options["target"] for index in indexes.values()) == [
        'full("Marks")',
        "full(counts)",
        "full(words)",
        "values(loose)",
    ]
    Indexed.create(id=1, words=["a", "b"], marks={1, 2}, counts={"a": 1})
    Indexed.create(id=2, words=["a"], marks={1}, counts={"a": 2})
    assert [one.id for one in Indexed.filter(words=["a", "b"])] == [1]
    assert [one.id for one in Indexed.filter(marks={1, 2})] == [1]
    assert [one.id for one in Indexed.filter(counts={"a": 2})] == [2]
    session.execute(f'DROP INDEX moved."{names[0]}"')
    session.execute('CREATE INDEX of_another_name ON moved.indexed (full("Marks"))')
    sync_table(Indexed)
    assert len(session.cluster.metadata.keyspaces["moved"].tables["indexed"].indexes) == 4


@PLAIN
def test_a_null_stays_one_where_the_column_has_a_default(model: Any, session: Session) -> None:
    model.create(id=1, name="a", size=None)
    one = model.get(id=1)
    one.name = "b"
    one.save()
    assert stored(session, model, id=1) == says(one) == {"id": 1, "name": "b", "size": None}
    one.delete()
    one.save()
    assert stored(session, model, id=1) == says(one) == {"id": 1, "name": "b", "size": None}


@FULL
def test_a_map_that_loses_a_key_beside_a_static_change(model: Any, session: Session) -> None:
    model.create(part=1, row=1, note="a", counts={"a": 1, "b": 2})
    one = model.get(part=1, row=1)
    one.note = "b"
    del one.counts["a"]
    one.save()
    row = stored(session, model, part=1, row=1)
    assert (row["note"], row["counts"]) == ("b", {"b": 2})


@FULL
def test_static_columns_alone_of_a_row(model: Any, session: Session) -> None:
    model.create(part=1, row=1, note="a", name="x")
    assert model.objects.only(["note"]).get(part=1, row=1).note == "a"
    assert model.objects(part=1, row=1).values_list("note", flat=True)[0] == "a"
    one = model.objects.only(["note", "part"]).filter(part=1, row=1).first()
    assert (one.part, one.row, one.note) == (1, 1, "a")
