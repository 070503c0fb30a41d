"""Unmodified models write as models that override methods: the same requests, the same instances, the same errors."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import math
from collections.abc import Iterator
from typing import Any
from unittest import mock
from uuid import UUID

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import Cluster, Session
from cassandra.cqlengine import CQLEngineException, ValidationError, columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, DMLQuery
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail

TABLE = """
    CREATE TABLE app.readings (
        sensor int, at timestamp, value double, name text, mark uuid, number int, unit text static, note text,
        tags list<text>, marks set<uuid>, counts map<text, int>, PRIMARY KEY (sensor, at)
    )
"""
AT = dt.datetime(2024, 2, 29, 12, 30)
numbers = itertools.count()


class Plain(Model):
    __keyspace__ = "app"
    __table_name__ = "readings"
    sensor = columns.Integer(primary_key=True)
    at = columns.DateTime(primary_key=True)
    value = columns.Double()
    name = columns.Text(db_field="name")
    mark = columns.UUID(default=lambda: UUID(int=5))
    number = columns.Integer(default=lambda: next(numbers) % 3)
    unit = columns.Text(static=True)
    note = columns.Text(max_length=3)
    tags = columns.List(columns.Text)
    marks = columns.Set(columns.UUID, default=None)
    counts = columns.Map(columns.Text, columns.Integer, default=lambda: {"made": 1})


class Seen(Plain):
    """The same, with methods of its own, which have to be called."""

    __table_name__ = "readings"

    def validate(self) -> None:
        super().validate()

    def save(self) -> Any:
        return super().save()

    def update(self, **values: Any) -> Any:
        return super().update(**values)


class PlainUsual(Plain):
    """Only columns whose values of the usual classes are bound as they are."""

    __table_name__ = "readings"
    note = columns.Text()


class SeenUsual(Seen):
    __table_name__ = "readings"
    note = columns.Text()


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedCluster]:
    with SimulatedCluster() as server:
        server.execute("CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        server.execute(TABLE)
        yield server


@pytest.fixture(scope="module")
def session(server: SimulatedCluster) -> Iterator[Session]:
    with Cluster(server.contact_points, port=server.port) as cluster:
        yield cluster.connect()


@pytest.fixture(autouse=True)
def registered(session: Session) -> Iterator[None]:
    connection.register_connection("plain", session=session, default=True)
    yield
    connection._connections.clear()


def described(instance: Any) -> Any:
    """All that a program can find out about it."""
    return (
        dict(instance.items()),
        instance.get_changed_columns(),
        instance._is_persisted,
        instance._can_update(),
        sorted(instance._given),
        {name: value for name, value in vars(instance).items() if value is not None and name != "_batch"},
        instance._batch is not None,
    )


def outcome(work: Any) -> Any:
    try:
        result = work()
        return (*described(result[0]), result[1]) if isinstance(result, tuple) else described(result)
    except Exception as error:
        return type(error), str(error).replace("Seen", "Plain")


def told(server: SimulatedCluster, session: Session) -> Any:
    """The rows of the server, and the texts that it executed."""
    rows = [tuple(row) for row in session.execute("SELECT * FROM app.readings")]
    texts = [request.query for request in server.requests if request.query and "app.readings" in request.query]
    return repr(rows), [text for text in texts if not text.startswith("SELECT")]


KEY: dict[str, Any] = {"sensor": 1, "at": AT}
CREATES: dict[str, dict[str, Any]] = {
    "key": KEY,
    "all": {
        **KEY,
        "value": 1.5,
        "name": "a",
        "mark": UUID(int=1),
        "number": 9,
        "unit": "C",
        "note": "abc",
        "tags": ["b", "a"],
    },
    "another order": {"name": "a", "at": AT, "value": 2.5, "sensor": 1},
    "a null": {**KEY, "name": None},
    "a default": {**KEY, "number": 4},
    "a null instead of a default": {**KEY, "number": None},
    "converted": {**KEY, "value": 3, "mark": str(UUID(int=2))},
    "a key that is converted": {"sensor": "7", "at": AT},
    "no number": {**KEY, "number": "x"},
    "too large": {**KEY, "number": 1 << 40},
    "too long": {**KEY, "note": "abcd"},
    "not too long": {**KEY, "note": "ab"},
    "without a clustering key": {"sensor": 1, "unit": "C"},
    "without a partition key": {"at": AT, "name": "a"},
    "no column": {**KEY, "other": 1},
    "not a number": {**KEY, "value": math.nan},
    "a zone": {"sensor": 1, "at": AT.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))},
    "empty": {**KEY, "name": ""},
    "a bool": {**KEY, "number": True},
    "containers": {**KEY, "tags": ["b", "a"], "marks": {UUID(int=1), UUID(int=2)}, "counts": {"x": 1}},
    "empty containers": {**KEY, "tags": [], "marks": set(), "counts": {}},
    "null containers": {**KEY, "tags": None, "marks": None, "counts": None},
    "a tuple": {**KEY, "tags": ("a",)},
    "a null in a list": {**KEY, "tags": ["a", None]},
    "no text in a list": {**KEY, "tags": ["a", 1]},
    "texts of UUIDs": {**KEY, "marks": {str(UUID(int=1))}},
    "no number in a map": {**KEY, "counts": {"x": "y"}},
    "too large in a map": {**KEY, "counts": {"x": 1 << 40}},
}


def both(server: SimulatedCluster, session: Session, work: Any, model: Any) -> Any:
    global numbers
    found = []
    for _ in range(2):  # the second time the statements are prepared
        numbers = itertools.count(1)
        session.execute("TRUNCATE app.readings")
        server.clear_requests()
        result = outcome(lambda: work(model))
        found.append((result, *told(server, session), next(numbers)))
    return found[1]


@pytest.mark.parametrize("name", CREATES)
@pytest.mark.parametrize("awaited", [False, True])
def test_rows_are_created_alike(server: SimulatedCluster, session: Session, name: str, awaited: bool) -> None:
    def work(model: Any) -> Any:
        return asyncio.run(model.acreate(**CREATES[name])) if awaited else model.create(**CREATES[name])

    assert both(server, session, work, Plain) == both(server, session, work, Seen)


@pytest.mark.parametrize("name", CREATES)
@pytest.mark.parametrize("options", ["", "a timestamp", "a ttl", "text"])
@pytest.mark.parametrize("awaited", [False, True])
def test_rows_of_batches_are_created_alike(
    server: SimulatedCluster, session: Session, name: str, options: str, awaited: bool
) -> None:
    written: list[Any] = []

    async def within(batch: BatchQuery, queryset: Any) -> Any:
        async with batch:
            return await queryset.acreate(**CREATES[name])

    def work(model: Any) -> Any:
        batch = BatchQuery(timestamp=AT) if options == "a timestamp" else BatchQuery()
        queryset = model.batch(batch)
        if options == "a ttl":
            queryset = queryset.ttl(600)
        execute, before = batch._executing, len(written)

        def executing() -> Any:
            written.extend([str(query), query.get_context()] for query in batch.queries)
            return execute()

        batch._executing = executing  # type: ignore[method-assign]
        with mock.patch("cassandra._mapper.execution.PREPARING", options != "text"):
            if awaited:
                made = asyncio.run(within(batch, queryset))
            else:
                with batch:
                    made = queryset.create(**CREATES[name])
        return made, written[before:]

    found = both(server, session, work, Plain)
    assert found == both(server, session, work, Seen)
    assert "Error" in str(found[0][0]) or found[0][-1]


def test_a_batch_prepares_each_text_once(server: SimulatedCluster, session: Session) -> None:
    class Fresh(Plain):
        __table_name__ = "readings"

    session.execute("TRUNCATE app.readings")
    server.clear_requests()
    with BatchQuery() as batch:
        for sensor in range(5):
            Fresh.batch(batch).create(sensor=sensor, at=AT, value=1.5, note="yes")
            Fresh(sensor=sensor, at=AT).batch(batch).delete()
    prepared = [(request.node, request.query) for request in server.requests if request.opcode == "PREPARE"]
    assert len(prepared) == len(set(prepared)) > 1


UPDATES: dict[str, dict[str, Any]] = {
    "one": {"value": 2.5},
    "two": {"name": "b", "value": 2.5},
    "the same": {"value": 1.5},
    "one of two the same": {"value": 1.5, "name": "b"},
    "a null": {"name": None},
    "a static one": {"unit": "F"},
    "a static one and another": {"unit": "F", "value": 2.5},
    "a key": {"sensor": 2},
    "a key that is the same": {"sensor": 1, "value": 2.5},
    "no column": {"other": 1},
    "converted": {"value": 2},
    "no number": {"number": "x"},
    "too large": {"number": 1 << 40},
    "too long": {"note": "abcd"},
    "not a number": {"value": math.nan},
    "a default": {"number": 8},
    "nothing": {},
    "a list": {"tags": ["a", "b", "c"]},
    "the same list": {"tags": ["b", "a"]},
    "a value and an empty list": {"value": 2.5, "tags": []},
}


SOURCES = [
    "created",
    "created with containers",
    "loaded",
    "loaded in part",
    "read",
    "changed",
    "changed in place",
    "with an option",
    "saved",
    "new",
    "new with containers",
]


def made(model: Any, source: str) -> Any:
    instance = model.create(**CREATES["all"])
    if source == "created with containers":
        instance = model.create(**CREATES["containers"])
    elif source == "loaded":
        instance = model.get(**KEY)
    elif source == "loaded in part":
        instance = model.objects(**KEY).only(["name", "number"]).get()
    elif source == "read":
        instance = model.get(**KEY)
        assert (instance.tags, instance.marks, instance.counts) == (["b", "a"], set(), {"made": 1})
    elif source == "changed":
        instance.note = "xyz"
    elif source == "changed in place":
        instance.tags.append("c")
    elif source == "with an option":
        instance.timeout(5.0)
    elif source == "saved":
        instance.note = "xyz"
        instance.save()
    elif source.startswith("new"):
        instance = model(**CREATES["containers" if source == "new with containers" else "all"])
    return instance


def assigned(instance: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(instance, name, value)


CHANGES: dict[str, Any] = {
    "nothing": lambda instance: None,
    "one": lambda instance: assigned(instance, value=2.5),
    "two": lambda instance: assigned(instance, name="b", value=2.5),
    "the same": lambda instance: assigned(instance, value=1.5),
    "a null": lambda instance: assigned(instance, name=None, value=2.5),
    "deleted": lambda instance: delattr(instance, "name"),
    "a static one": lambda instance: assigned(instance, unit="F"),
    "another row": lambda instance: assigned(instance, at=AT + dt.timedelta(1)),
    "the same key": lambda instance: assigned(instance, sensor=1, value=2.5),
    "converted": lambda instance: assigned(instance, value=2, mark=str(UUID(int=7))),
    "no number": lambda instance: assigned(instance, number="x"),
    "too large": lambda instance: assigned(instance, number=1 << 40),
    "too long": lambda instance: assigned(instance, note="abcd"),
    "not a number": lambda instance: assigned(instance, value=math.nan),
    "a list": lambda instance: assigned(instance, tags=["z"], value=2.5),
    "the same list": lambda instance: assigned(instance, tags=list(instance.tags), value=2.5),
    "an empty list": lambda instance: assigned(instance, tags=[], value=2.5),
    "in place": lambda instance: (instance.tags.append("z"), assigned(instance, value=2.5)),
    "in place and back": lambda instance: (
        instance.tags.append("z"),
        instance.tags.pop(),
        assigned(instance, value=2.5),
    ),
    "read": lambda instance: (instance.tags, instance.marks, instance.counts, assigned(instance, value=2.5)),
    "no text in a list": lambda instance: instance.tags.append(1),
    "a map": lambda instance: (instance.counts.update(z=9), assigned(instance, value=2.5)),
    "a set": lambda instance: assigned(instance, marks={UUID(int=9)}),
}


@pytest.mark.parametrize("models", [(Plain, Seen), (PlainUsual, SeenUsual)], ids=["plain", "usual"])
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("awaited", [False, True])
def test_rows_are_saved_alike(
    server: SimulatedCluster, session: Session, source: str, name: str, awaited: bool, models: Any
) -> None:
    """Also rows that were read before, and changes of them afterwards."""

    def work(model: Any) -> Any:
        instance = made(model, source)
        CHANGES[name](instance)
        tags = instance.tags
        server.clear_requests()
        try:
            saved = asyncio.run(instance.asave()) if awaited else instance.save()
        except Exception as error:
            return instance, str(error).replace("Seen", "Plain")
        assert saved is instance
        tags.append("not a part of it")
        told = described(instance)
        instance.tags.append("later")
        instance.save()
        return instance, told

    plain, seen = models
    assert both(server, session, work, plain) == both(server, session, work, seen)


def test_a_program_that_replaces_save_calls_it(server: SimulatedCluster, session: Session) -> None:
    """It sets an attribute on the way, as programs do, and is called for each row that is created."""

    class Stamped(Plain):
        __table_name__ = "readings"

        def save(self) -> Any:
            self.name = f"{self.name}, saved"
            return super().save()

    session.execute("TRUNCATE app.readings")
    for _ in range(2):
        instance = Stamped.create(**KEY, name="a", tags=["x"])
        instance.value = 2.5
        instance.save()
        found = Stamped.get(**KEY)
        assert (found.name, found.value, found.tags) == ("a, saved, saved", 2.5, ["x"])


def test_values_that_are_set_while_a_write_is_awaited_remain_changes() -> None:
    async def work() -> Any:
        one = await Plain.acreate(**KEY, value=1.0, tags=["a"])
        one.value = 2.0
        one.tags.append("b")
        task = asyncio.create_task(one.asave())
        await asyncio.sleep(0)  # it is sent
        one.value, one.name = 3.0, "later"
        one.tags.append("c")
        await task
        assert (one.value, one.name, one.tags) == (3.0, "later", ["a", "b", "c"])
        assert one.get_changed_columns() == ["value", "name", "tags"]
        return await one.asave()

    for _ in range(2):
        one = asyncio.run(work())
        found = Plain.get(**KEY)
        assert (found.value, found.name, found.tags) == (3.0, "later", ["a", "b", "c"])
        assert one.get_changed_columns() == []


@pytest.mark.parametrize("how", ["create", "save"])
def test_containers_that_are_sent_again_are_those_of_the_call(
    server: SimulatedCluster, session: Session, how: str
) -> None:
    """A program changes its list while it awaits the write, whose statement has to be prepared again."""

    async def write(tags: list[str]) -> Any:
        work = Plain.acreate(**KEY, tags=tags) if how == "create" else Plain(**KEY, tags=tags).asave()
        task = asyncio.create_task(work)
        await asyncio.sleep(0)  # it is sent
        tags.append("later")
        return await task

    asyncio.run(write(["a"]))  # it is prepared
    for node in server.nodes:
        node.forget_prepared()
    server.clear_requests()
    instance = asyncio.run(write(["a"]))
    sent = [request.opcode for request in server.requests if request.opcode in ("EXECUTE", "PREPARE")]
    assert sent == ["EXECUTE", "PREPARE", "EXECUTE"]
    assert Plain.get(**KEY).tags == instance.tags == ["a"]


def test_containers_of_a_batch_are_those_of_the_call(server: SimulatedCluster, session: Session) -> None:
    for _ in range(2):
        tags = ["a"]
        with BatchQuery() as batch:
            instance = Plain.batch(batch).create(**KEY, tags=tags)
            tags.append("later")
        assert Plain.get(**KEY).tags == instance.tags == ["a"]


@pytest.mark.parametrize("models", [(Plain, Seen), (PlainUsual, SeenUsual)], ids=["plain", "usual"])
@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("awaited", [False, True])
def test_rows_are_updated_alike(
    server: SimulatedCluster, session: Session, source: str, name: str, awaited: bool, models: Any
) -> None:
    def work(model: Any) -> Any:
        instance = made(model, source)
        server.clear_requests()
        try:
            return asyncio.run(instance.aupdate(**UPDATES[name])) if awaited else instance.update(**UPDATES[name])
        except Exception as error:
            return instance, str(error).replace("Seen", "Plain")

    plain, seen = models
    assert both(server, session, work, plain) == both(server, session, work, seen)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_write_that_fails_leaves_the_instance_as_it_was_set(
    server: SimulatedCluster, session: Session, awaited: bool
) -> None:
    for _ in range(2):
        instance = Plain.create(**CREATES["all"])
        instance.update(value=8.5)
        with (
            server.inject(Fail(errors.InvalidRequest("not now")), query="UPDATE"),
            pytest.raises(InvalidRequest, match="not now"),
        ):
            asyncio.run(instance.aupdate(value=2.5)) if awaited else instance.update(value=2.5)
        assert (instance.value, instance.get_changed_columns()) == (2.5, ["value"])
        instance.save()
        assert Plain.get(**KEY).value == 2.5


def test_replaced_methods_are_called_by_plain_writes(session: Session) -> None:
    Plain.create(**KEY), Plain.create(**KEY).update(value=1.0)
    with mock.patch.object(DMLQuery, "save") as save:
        Plain.create(**KEY)
    assert save.call_count == 1
    with mock.patch.object(Plain, "validate") as validate:
        Plain.create(**KEY).update(value=2.0)
    assert validate.call_count == 2
    with mock.patch("cassandra.cqlengine.connection.execute") as execute:
        Plain.create(**KEY).update(value=3.0)
    assert execute.call_count == 2
    assert connection.execute.__module__ == "cassandra.cqlengine.connection"
    with mock.patch.object(Session, "execute", autospec=True, side_effect=Session.execute) as executed:
        Plain.create(**KEY).update(value=4.0)
    assert executed.call_count == 2
    with mock.patch.object(session, "execute", side_effect=session.execute) as own:
        Plain.create(**KEY).update(value=5.0)
    assert own.call_count == 2
    assert Plain.get(**KEY).value == 5.0


def test_replaced_methods_are_called_by_batches(session: Session) -> None:
    async def within() -> None:
        async with BatchQuery() as batch:
            await Plain.batch(batch).acreate(**KEY)

    for _ in range(2):
        with BatchQuery() as batch:
            Plain.batch(batch).create(**KEY)
        asyncio.run(within())
    with mock.patch.object(DMLQuery, "save") as save, BatchQuery() as batch:
        Plain.batch(batch).create(**KEY)
    with mock.patch.object(DMLQuery, "asave", new_callable=mock.AsyncMock) as asave:
        asyncio.run(within())
    assert (save.call_count, asave.call_count) == (1, 1)


def test_a_default_that_becomes_another_class_is_made_once() -> None:
    class Odd(Plain):
        __table_name__ = "readings"
        number = columns.Integer(default=lambda: str(next(numbers)))

    for _ in range(3):
        start = next(numbers)
        made = Odd.create(**KEY)
        assert (made.number, next(numbers)) == (start + 1, start + 2)


class Strict(Plain):
    """Rows of other programs: some have values that this model refuses."""

    __table_name__ = "readings"
    name = columns.Text(required=True)
    note = columns.Text(min_length=2, max_length=3)
    number = columns.Integer()


class StrictSeen(Strict):
    __table_name__ = "readings"

    def save(self) -> Any:
        return super().save()

    def update(self, **values: Any) -> Any:
        return super().update(**values)


STORED: dict[str, dict[str, Any]] = {
    "valid": {"name": "a", "note": "abc"},
    "a null that is required": {"note": "abc"},
    "too long": {"name": "a", "note": "abcdef"},
    "a null that is too short": {"name": "a"},
}


@pytest.mark.parametrize("stored", STORED)
def test_loaded_values_are_validated_on_update(server: SimulatedCluster, session: Session, stored: str) -> None:
    def work(model: Any) -> Any:
        values = {**KEY, "value": 1.5, **STORED[stored]}
        names = ", ".join(values)
        marks = ", ".join(["%s"] * len(values))
        session.execute(f"INSERT INTO app.readings ({names}) VALUES ({marks})", tuple(values.values()))
        instance = model.get(**KEY)
        server.clear_requests()
        try:
            return instance.update(value=2.5)
        except ValidationError as error:
            return instance, str(error).replace("StrictSeen", "Strict")

    found = both(server, session, work, Strict)
    assert found == both(server, session, work, StrictSeen)
    assert (found[0][0]["value"], len(found[2])) == (2.5, stored == "valid")


@pytest.mark.parametrize("given", [{"name": "a"}, {"name": "a", "note": "ab"}, {"note": "ab"}])
def test_given_and_missing_columns_are_validated_on_create(
    server: SimulatedCluster, session: Session, given: dict[str, Any]
) -> None:
    def work(model: Any) -> Any:
        return model.create(**KEY, **given)

    found = both(server, session, work, Strict)
    if isinstance(found[0][1], str):
        assert found[0][0] is ValidationError and len(given) == 1
    seen = both(server, session, work, StrictSeen)
    assert repr(found).replace("StrictSeen", "Strict") == repr(seen).replace("StrictSeen", "Strict")


def test_an_attribute_in_the_place_of_a_column_is_used(session: Session) -> None:
    class Rounded(Plain):
        __table_name__ = "readings"

    taken: list[float] = []
    Rounded.create(**KEY, value=1.0).update(value=2.0)
    Rounded.create(**KEY, value=1.0).update(value=2.0)
    Rounded.value = property(lambda self: 7.0, lambda self, value: taken.append(value))  # type: ignore[assignment]
    for _ in range(2):
        Rounded.create(**KEY, value=1.0).update(value=2.0)
    assert taken == [2.0, 2.0]


def test_a_base_names_another_connection_later() -> None:
    """Also a base that is no model, and after the class was used."""

    class Where:
        __connection__: Any = None

    class Placed(Where, Plain):
        __table_name__ = "readings"

    Where.__connection__ = Plain.__connection__  # which is looked for in Where first
    point = Placed.create(**KEY, value=1.0)
    for value in 2.0, 3.0:
        assert point.update(value=value) is point
    assert Placed.get(**KEY).value == 3.0
    Where.__connection__ = "nowhere"
    for work in (
        lambda: point.update(value=4.0),
        lambda: Placed.get(**KEY),
        lambda: Placed.create(**KEY),
    ):
        with pytest.raises(CQLEngineException, match="nowhere"):
            work()
    Where.__connection__ = "plain"
    assert Placed.get(**KEY).value == 3.0


def test_models_in_turn() -> None:
    """The layout cached for one model is not used for another that is written in between."""

    class Other(Plain):
        __table_name__ = "readings"
        number = columns.Text(db_field="name", default=lambda: "none")
        name = columns.Integer(db_field="number")

    one, other = Plain.create(**KEY, number=1), Other.create(**{**KEY, "sensor": 2}, number="1")
    for turn in range(1, 4):
        one.update(number=turn)
        other.update(number=str(turn))
        assert (Plain.get(**KEY).number, Plain.get(**{**KEY, "sensor": 2}).name) == (turn, str(turn))


def test_a_connection_is_ready_when_it_is_connected(session: Session) -> None:
    lazy = connection.Connection("lazy", None, lazy_connect=True)
    assert lazy._ready is None
    lazy.session = session
    assert lazy._ready is None
    lazy.lazy_connect = False
    assert lazy._ready is session
    lazy.session = None
    assert lazy._ready is None
    assert connection.Connection.from_session("made", session)._ready is session


def test_errors_name_unknown_columns_and_missing_keys() -> None:
    for _ in range(2):
        with pytest.raises(ValidationError, match=r"Incorrect columns passed: \{'other'\}"):
            Plain.create(**KEY, other=1)
        with pytest.raises(InvalidRequest, match="partition key parts are missing: sensor"):
            Plain.create(at=AT)
