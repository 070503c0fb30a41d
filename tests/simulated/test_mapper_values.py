"""Values of models on a server: writing and reading them, and other properties of instances."""

from __future__ import annotations

import asyncio
import copy
import datetime as dt
import pickle
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster, Session
from cassandra.cqlengine import ValidationError, columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery
from cassandra.cqlengine.usertype import UserType
from cassandra.testing import SimulatedCluster
from cassandra.util import Date

TEXT = "cassandra._mapper.execution"


class Address(UserType):
    street = columns.Text()
    number = columns.Integer(default=7)


class Thing(Model):
    __keyspace__ = "app"
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    marks = columns.Set(columns.Integer)
    words = columns.List(columns.Text)
    counts = columns.Map(columns.Text, columns.Integer)
    fixed_counts = columns.Map(columns.Text, columns.Integer, frozen=True)
    fixed_marks = columns.Set(columns.Integer, frozen=True)
    nested = columns.List(columns.List(columns.Integer))
    day = columns.Date()
    moment = columns.DateTime()
    vector = columns.Vector(columns.Float, 3)
    home = columns.UserDefinedType(Address)


TABLE = """
    CREATE TABLE app.thing (
        id int PRIMARY KEY, name text, marks set<int>, words list<text>, counts map<text, int>,
        fixed_counts frozen<map<text, int>>, fixed_marks frozen<set<int>>, nested list<frozen<list<int>>>,
        day date, moment timestamp, vector vector<float, 3>, home frozen<address>
    )
"""


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedCluster]:
    with SimulatedCluster() as server:
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        server.execute(f"CREATE KEYSPACE app WITH replication = {replication}")
        server.execute("CREATE TYPE app.address (street text, number int)")
        server.execute(TABLE)
        yield server


@pytest.fixture(scope="module")
def session(server: SimulatedCluster) -> Iterator[Session]:
    with Cluster(server.contact_points, port=server.port) as cluster:
        yield cluster.connect()


@pytest.fixture(autouse=True)
def registered(session: Session) -> Iterator[None]:
    connection.register_connection("things", session=session, default=True)
    Address.register_for_keyspace("app")
    yield
    connection._connections.clear()
    connection.udt_by_keyspace.clear()


@pytest.fixture(params=["prepared", "by text"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{TEXT}.PREPARING", request.param == "prepared")


@pytest.fixture
def thing(way: None) -> Thing:
    return Thing.create(
        id=1,
        name="x",
        marks={1, 2},
        words=["a"],
        counts={"a": 1, "b": 2},
        fixed_counts={"a": 1, "b": 2},
        fixed_marks={1},
        nested=[[1]],
        day=dt.date(2024, 2, 29),
        moment=dt.datetime(2024, 2, 29, 12),
        vector=[1, 2, 3],
        home=Address(street="s"),
    )


def test_written_values_are_read_back(thing: Thing) -> None:
    found = Thing.get(id=1)
    assert found == thing and not found.get_changed_columns()
    assert (found.day, found.vector, found.home.number) == (Date(dt.date(2024, 2, 29)), [1.0, 2.0, 3.0], 7)


def test_values_changed_in_place_are_written(thing: Thing) -> None:
    found = Thing.get(id=1)
    found.marks.add(3)
    found.words.append("b")
    del found.counts["a"]
    found.counts["c"] = 3
    found.nested[0].append(2)
    found.home.number = 8
    found.vector[0] = 9
    assert set(found.get_changed_columns()) == {"marks", "words", "counts", "nested", "home", "vector"}
    found.save()
    again = Thing.get(id=1)
    assert (again.marks, again.words, again.counts) == ({1, 2, 3}, ["a", "b"], {"b": 2, "c": 3})
    assert (again.nested, again.home.number, again.vector, again.name) == ([[1, 2]], 8, [9.0, 2.0, 3.0], "x")


def test_frozen_containers_change_as_a_whole(thing: Thing) -> None:
    found = Thing.get(id=1)
    del found.fixed_counts["a"]
    found.fixed_marks.add(5)
    found.save()
    again = Thing.get(id=1)
    assert (again.fixed_counts, again.fixed_marks) == ({"b": 2}, {1, 5})
    again.fixed_counts.clear()
    again.save()
    assert Thing.get(id=1).fixed_counts == {}


def test_emptied_and_null_values_are_saved(thing: Thing) -> None:
    found = Thing.get(id=1)
    found.marks = set()
    found.counts.clear()
    found.words = None
    found.home = None
    found.vector = None
    found.save()
    again = Thing.get(id=1)
    assert (again.marks, again.counts, again.words, again.home, again.vector) == (set(), {}, [], None, None)


@pytest.mark.parametrize("copied", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy])
@pytest.mark.parametrize("read", [False, True])
def test_copies_are_apart(thing: Thing, copied: Any, read: bool) -> None:
    found = Thing.get(id=1)
    if read:
        dict(found.items())
    other = copied(found)
    assert other == found and not other.get_changed_columns()
    other.words.append("b")
    other.name = "y"
    other.save()
    assert (found.name, found.get_changed_columns()) == ("x", [])
    assert (Thing.get(id=1).name, Thing.get(id=1).words) == ("y", ["a", "b"])


def test_a_shallow_copy_has_values_of_its_own(thing: Thing) -> None:
    other = copy.copy(thing)
    other.name = "y"
    assert (thing.name, thing.get_changed_columns(), other.get_changed_columns()) == ("x", [], ["name"])


class Sets(Model):
    __keyspace__ = "app"
    id = columns.Integer(primary_key=True)
    marks = columns.Set(columns.Integer)
    amounts = columns.Set(columns.Decimal)


@pytest.mark.parametrize("name", ["marks", "amounts"])
@pytest.mark.parametrize("save", [False, True], ids=["update", "save"])
def test_a_set_that_was_null_grows_beside_elements_of_other_writers(
    server: SimulatedCluster, way: None, name: str, save: bool
) -> None:
    server.execute("CREATE TABLE IF NOT EXISTS app.sets (id int PRIMARY KEY, marks set<int>, amounts set<decimal>)")
    instance = Sets.create(id=1, **{name: {1}})
    if save:
        setattr(instance, name, None)
        instance.save()
    else:
        instance.update(**{name: None})
    Sets.objects(id=1).update(**{f"{name}__add": {2}})
    setattr(instance, name, {3})
    instance.save()
    assert getattr(Sets.get(id=1), name) == {2, 3}


class Word(Model):
    __keyspace__ = "app"
    __table_name__ = "made_again"
    id = columns.Integer(primary_key=True)
    value = columns.Text()


class Number(Model):
    __keyspace__ = "app"
    __table_name__ = "made_again"
    id = columns.Integer(primary_key=True)
    value = columns.Integer()


class LargeNumber(Model):
    __keyspace__ = "app"
    __table_name__ = "made_again"
    id = columns.Integer(primary_key=True)
    value = columns.BigInt()


async def awaited(model: Any, value: Any) -> Any:
    await model.acreate(id=4, value=value)
    async with BatchQuery() as batch:
        model.batch(batch).create(id=5, value=value)
    return [(await model.aget(id=at)).value for at in (4, 5)]


KINDS = [(Word, "text", "x"), (Number, "int", 1094861636), (LargeNumber, "bigint", 1094861636)]


@pytest.mark.parametrize("way", ["prepared"], indirect=True)
def test_a_table_that_is_made_again_with_other_types(server: SimulatedCluster, session: Session, way: None) -> None:
    """Statements of the same text are prepared again, without an error for the caller."""
    for model, kind, value in [*KINDS, *KINDS[:2]]:
        session.execute(f"CREATE TABLE app.made_again (id int PRIMARY KEY, value {kind})")
        for reading_first in (False, True):
            for node in server.nodes:  # as a server does
                node.forget_prepared()
            if reading_first:
                assert model.get(id=1).value == value
            model.create(id=1, value=value)
            model.objects(id=2).consistency(ConsistencyLevel.QUORUM).update(value=value)
            with BatchQuery() as batch:
                model.batch(batch).create(id=3, value=value)
            found = [model.objects(id=at).consistency(ConsistencyLevel.QUORUM).get().value for at in (1, 2, 3)]
            found += [model.get(id=at).value for at in (1, 2, 3)]
            assert [*found, *asyncio.run(awaited(model, value))] == [value] * 8
        server.clear_requests()
        model.create(id=1, value=value)
        assert [request.opcode for request in server.requests if "made_again" in (request.query or "")] == ["EXECUTE"]
        session.execute("DROP TABLE app.made_again")


def keyed_by(column: Any) -> Any:
    class Keyed(Model):
        __keyspace__ = "app"
        __table_name__ = "made_again"
        id = column(primary_key=True)
        value = columns.Integer()

    return Keyed


KEYS = [(keyed_by(columns.BigInt), "bigint", 1094861636), (keyed_by(columns.Integer), "int", 1094861636)]


def in_a_batch(model: Any, id: Any, value: Any) -> Any:
    with BatchQuery() as batch:
        model.batch(batch).create(id=id, value=value)
    return model.get(id=id)


async def in_a_batch_async(model: Any, id: Any, value: Any) -> Any:
    async with BatchQuery() as batch:
        model.batch(batch).create(id=id, value=value)
    return await model.aget(id=id)


FIRST: dict[str, Callable[..., Any]] = {
    "get": lambda model, id, value: model.get(id=id),
    "objects.get": lambda model, id, value: model.objects.get(id=id),
    "first": lambda model, id, value: model.objects(id=id).first(),
    "aget": lambda model, id, value: asyncio.run(model.aget(id=id)),
    "objects.aget": lambda model, id, value: asyncio.run(model.objects.aget(id=id)),
    "create": lambda model, id, value: model.create(id=id, value=value),
    "acreate": lambda model, id, value: asyncio.run(model.acreate(id=id, value=value)),
    "batch": in_a_batch,
    "async batch": lambda model, id, value: asyncio.run(in_a_batch_async(model, id, value)),
}


@pytest.mark.parametrize("way", ["prepared"], indirect=True)
@pytest.mark.parametrize("first", FIRST)
def test_any_first_request_notices_a_table_recreated_with_other_types(
    server: SimulatedCluster, session: Session, way: None, first: str
) -> None:
    values = [(model, "int", kind, 1, value) for model, kind, value in KINDS]
    keys = [(model, kind, "int", id, 7) for model, kind, id in KEYS]
    for model, key_kind, kind, id, value in [*values, *values[:2], *keys, *keys]:
        session.execute(f"CREATE TABLE app.made_again (id {key_kind} PRIMARY KEY, value {kind})")
        session.execute("INSERT INTO app.made_again (id, value) VALUES (%s, %s)", (id, value))
        for node in server.nodes:
            node.forget_prepared()
        found = FIRST[first](model, id, value)
        assert (found.id, found.value) == (id, value)
        session.execute("DROP TABLE app.made_again")


class Measured(Model):
    __keyspace__ = "app"
    __table_name__ = "measured"
    id = columns.Integer(primary_key=True)
    single = columns.Float()
    double = columns.Double()
    several = columns.List(columns.Float)


def test_numbers_that_are_too_great_are_not_stored_as_infinity(session: Session) -> None:
    session.execute("CREATE TABLE app.measured (id int PRIMARY KEY, single float, double double, several list<float>)")
    writes: list[Callable[[], object]] = [
        lambda: Measured.create(id=1, single=1e39),
        lambda: asyncio.run(Measured.acreate(id=1, single=-1e39)),
        lambda: Measured.create(id=1, several=[1.0, 1e39]),
        lambda: Measured.create(id=1, double=Decimal("1E+400")),
        lambda: Measured.objects(id=1).update(single=1e39),
        lambda: _in_batch(single=1e39),
    ]
    for write in writes:
        with pytest.raises(ValidationError):
            write()
    assert not list(session.execute("SELECT id FROM app.measured"))
    Measured.create(id=1, single=float("inf"), double=float("-inf"))
    assert Measured.get(id=1).single == float("inf")


def _in_batch(**values: Any) -> None:
    with BatchQuery() as batch:
        Measured.batch(batch).create(id=1, **values)
