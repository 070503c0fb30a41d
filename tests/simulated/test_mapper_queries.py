"""Features of the object mapper that only a session of ours has: prepared statements, awaiting, native instances."""

from __future__ import annotations

import asyncio
import gc
import pickle
import re
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import cassandra.cqlengine.connection
from cassandra import InvalidRequest
from cassandra._mapper.query_models import ModelQuerySet
from cassandra._mapper.reading import Pages
from cassandra.cluster import Cluster, Session
from cassandra.cqlengine import CQLEngineException, columns, connection, models
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, BatchType, ContextQuery, LWTException, QueryException
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.simulated.test_aio_nothing_blocks import run as run_and_see_that_nothing_blocks

TEXT = "cassandra._mapper.execution"


class Item(Model):
    part = columns.Integer(partition_key=True)
    at = columns.Integer(primary_key=True)
    name = columns.Text(db_field="called")
    tags = columns.List(columns.Text)
    words = columns.Map(columns.Text, columns.Integer)
    marks = columns.Set(columns.Integer)


class Hits(Model):
    id = columns.Integer(primary_key=True)
    n = columns.Counter()


class Base(Model):
    __table_name__ = "family"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Base):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


TABLES = [
    "item (part int, at int, called text, tags list<text>, words map<text, int>, marks set<int>,"
    " PRIMARY KEY (part, at))",
    "hits (id int PRIMARY KEY, n counter)",
    "family (id int PRIMARY KEY, kind text, lives int)",
]


@pytest.fixture(scope="module")
def shared() -> Iterator[Session]:
    with SimulatedCluster() as server:
        for keyspace in ("app", "other"):
            replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
            server.execute(f"CREATE KEYSPACE {keyspace} WITH replication = {replication}")
            for table in TABLES:
                server.execute(f"CREATE TABLE {keyspace}.{table}")
        with Cluster(server.contact_points, port=server.port) as cluster:
            yield cluster.connect()


@pytest.fixture
def session(shared: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(models, "DEFAULT_KEYSPACE", "app")
    for keyspace in ("app", "other"):
        for table in ("item", "hits", "family"):
            shared.execute(f"TRUNCATE {keyspace}.{table}")
    connection.register_connection("items", session=shared, default=True)
    yield shared
    connection._connections.clear()


@pytest.fixture
def seen(session: Session) -> Iterator[list[Any]]:
    """Statements that were executed."""
    found: list[Any] = []

    def listen(future: Any) -> None:
        found.append(future.query)

    session.add_request_init_listener(listen)
    yield found
    session.remove_request_init_listener(listen)


def kinds(statements: list[Any]) -> list[str]:
    names = [type(statement).__name__ for statement in statements]
    statements.clear()
    return names


def write_and_read() -> list[Any]:
    """Write and read in many ways; return the results."""
    told: list[Any] = [Item.create(part=1, at=1, name="x", tags=["a"], words={"k": 1}, marks={3})]
    for at in range(2, 6):
        Item.create(part=1, at=at, name=str(at))
    item = Item.get(part=1, at=1)
    item.tags.append("b")
    item.words["new"] = 2
    item.marks.discard(3)
    item.name = None
    told.append(item.get_changed_columns())
    item.save()
    told.append(Item.get(part=1, at=1))
    Item.objects(part=1, at=2).update(name="updated", tags__append=["z"])
    told.append(Item.get(part=1, at=2).update(name="again"))
    told.append(list(Item.objects(part=1).order_by("-at").limit(3)))
    told.append(list(Item.objects(part=1).fetch_size(2)))
    told.append([row.at for row in Item.objects(part=1, at__in=[1, 4])])
    told.append([list(row) for row in Item.objects(part=1).values_list("at", "name")])
    told.append(Item.objects(part=1).count())
    Item.ttl(1000).create(part=2, at=1)
    Item.objects.timestamp(5).create(part=2, at=2)
    with BatchQuery(batch_type=BatchType.Unlogged) as batch:
        Item.batch(batch).create(part=3, at=1, name="batched")
        Item.objects(part=2, at=1).batch(batch).delete()
    told.append([(row.part, row.at) for row in Item.objects(part__in=[2, 3])])
    for attempt in range(2):
        try:
            told.append(Item.if_not_exists().create(part=4, at=attempt // 2))
        except LWTException as error:
            told.append(sorted(error.existing))
    told.append(Hits.create(id=1).update(n=5).update(n=3))
    told.append(Hits.get(id=1))
    Cat.create(id=1, lives=9)
    told.append(list(Base.objects))
    item.delete()
    told.append(Item.objects(part=1, at=1).first())
    return told


def test_statements_are_prepared(session: Session, seen: list[Any]) -> None:
    write_and_read()
    assert set(kinds(seen)) == {"BoundStatement", "BatchStatement"}


def test_by_text_it_is_the_same(session: Session, monkeypatch: pytest.MonkeyPatch, seen: list[Any]) -> None:
    prepared = write_and_read()
    for table in ("item", "hits", "family"):
        session.execute(f"TRUNCATE app.{table}")
    seen.clear()
    monkeypatch.setattr(f"{TEXT}.PREPARING", False)
    assert write_and_read() == prepared
    assert set(kinds(seen)) == {"SimpleStatement"}


def test_one_statement_per_shape(session: Session) -> None:
    for number in range(1, 20):
        Item.objects.ttl(number).timestamp(number).create(part=number, at=number, marks={1})
        Item.objects(part=number, at__gt=number, at__lt=number).limit(number).first()
    texts = [statement.query_string for statement in session.cluster.prepared.all()]
    assert len([text for text in texts if '"marks") VALUES (?, ?, ?) USING TTL ? AND TIMESTAMP ?' in text]) == 1
    assert len([text for text in texts if text.endswith('"at" > ? AND "at" < ? LIMIT ?')]) == 1


def test_a_replaced_connection_execute_gets_query_texts(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    Item.create(part=1, at=1, name="x")
    calls: list[str] = []
    execute = cassandra.cqlengine.connection.execute

    def counting(query: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(getattr(query, "query_string", query))
        return execute(query, *args, **kwargs)

    monkeypatch.setattr(cassandra.cqlengine.connection, "execute", counting)
    assert Item.get(part=1, at=1).name == "x"
    with BatchQuery() as batch:
        Item.batch(batch).create(part=1, at=2)
    assert len(calls) == 2 and calls[0].startswith("SELECT") and calls[1].startswith("BEGIN  BATCH")


def test_a_replaced_session_execute_gets_simple_statements(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    execute = session.execute

    def wrapped(query: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(query)
        return execute(query, *args, **kwargs)

    monkeypatch.setitem(session.__dict__, "execute", wrapped)
    Item.objects.consistency(1).create(part=1, at=1, name="x")
    assert next(iter(Item.objects(part=1))).name == "x"
    assert all(type(query) is SimpleStatement for query in seen) and seen[0].consistency_level == 1
    assert seen[0].routing_key == b"\0\0\0\x01"


def test_values_that_cannot_be_bound_are_the_servers_to_refuse(session: Session) -> None:
    with pytest.raises(InvalidRequest):
        list(Item.objects.filter(name=5).allow_filtering())
    with pytest.raises(InvalidRequest):
        list(Item.objects.using(keyspace="nowhere"))


def test_where_a_table_is_may_change(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    Item.create(part=1, at=1, name="in app")
    assert Item.get(part=1, at=1).name == "in app"
    monkeypatch.setattr(models, "DEFAULT_KEYSPACE", "other")
    with pytest.raises(Item.DoesNotExist, match="No Item has part = 1, at = 1"):
        Item.get(part=1, at=1)
    Item.create(part=1, at=1, name="in other")
    assert Item.get(part=1, at=1).name == "in other"
    with ContextQuery(Item, keyspace="app") as There:
        assert There.get(part=1, at=1).name == "in app"
    monkeypatch.setattr(Item, "__keyspace__", "app")
    assert Item.get(part=1, at=1).name == "in app"
    assert Item.objects.using(keyspace="other").get(part=1, at=1).name == "in other"


def test_explain(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Item.objects(part=5, at__gt=2).explain()
    assert told.prepared and told.parameters == [5, 2, 10000] and told.token is not None
    assert told.replicas == session.cluster.metadata.get_replicas("app", b"\0\0\0\x05") != []
    assert told.cql.startswith("SELECT ") and 'WHERE "part" = ? AND "at" > ? LIMIT ?' in told.cql
    assert "prepared" in str(told) and str(told.token) in str(told) and "prepared" in repr(told)
    assert Item.objects.explain().token is None and "to any node" in str(Item.objects.explain())
    assert "cannot be bound" in str(Item.objects.filter(name=5).allow_filtering().explain())
    assert "preparing failed: " in str(Item.objects.using(keyspace="nowhere").explain())
    monkeypatch.setattr(f"{TEXT}.PREPARING", False)
    assert not Item.objects.explain().prepared


def test_the_collector_knows_instances_that_may_be_in_a_cycle(session: Session) -> None:
    for at in range(3):
        Item.create(part=1, at=at)
    read, other, third = Item.objects(part=1)
    assert not gc.is_tracked(read)
    third.tags.append("x")
    assert gc.is_tracked(third)
    read.friend, other.friend = other, read  # type: ignore[attr-defined]
    gone = weakref.ref(read)
    del read, other
    gc.collect()
    assert gone() is None


def test_instances_are_as_models_make_them(session: Session) -> None:
    """A model of a program may have an ``__init__`` that fills its values itself."""

    class Filling(Model):
        __table_name__ = "item"
        part = columns.Integer(partition_key=True)
        at = columns.Integer(primary_key=True)
        name = columns.Text(db_field="called", default="none")
        tags = columns.List(columns.Text)

        def __init__(self, **values: Any) -> None:
            self._ttl = self._timestamp = self._conditional = self._batch = None
            self._timeout = connection.NOT_SET
            self._is_persisted = False
            self._connection = None
            self._values: Any = {}
            for name, column in self._columns.items():
                value = values.get(name, column.get_default() if column.has_default else None)
                if value is not None or isinstance(column, columns.BaseContainerColumn):
                    value = column.to_python(value)
                manager = column.value_manager(self, column, value)
                manager.explicit = name in values
                self._values[name] = manager

    made: Any = Filling.create(part=1, at=1, tags=["a"])
    assert made.name == "none" and made._values["tags"].value == ["a"] and not made._values["tags"].changed
    read: Any = Filling.get(part=1, at=1)
    read.tags.append("b")
    assert read._values["tags"].changed and read._values["tags"].previous_value == ["a"]
    read.name = "set"
    assert read._values["name"].explicit and read.get_changed_columns() == ["name", "tags"]
    read.save()
    assert (Filling.get(part=1, at=1).name, Filling.get(part=1, at=1).tags) == ("set", ["a", "b"])


def test_pickled_instances_keep_their_changed_columns(session: Session) -> None:
    Item.create(part=1, at=1, name="x", tags=["a"])
    read = Item.get(part=1, at=1)
    read.tags.append("b")
    again = pickle.loads(pickle.dumps(read))
    assert again == read and again.get_changed_columns() == ["tags"]
    again.save()
    assert Item.get(part=1, at=1).tags == ["a", "b"]


def test_errors_of_a_model_are_pickled(session: Session) -> None:
    with pytest.raises(Item.DoesNotExist) as caught:
        Item.get(part=77, at=1)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is Item.DoesNotExist and str(again) == "No Item has part = 77, at = 1"


async def awaited() -> None:
    await Item.acreate(part=1, at=0, name="first")
    await asyncio.gather(*(Item.acreate(part=1, at=at, name=str(at)) for at in range(1, 10)))
    item = await Item.aget(part=1, at=3)
    item.name = "saved"
    assert (await item.asave()) is item
    assert (await item.aupdate(tags=["a"])) is item
    await Item.objects(part=1, at=4).aupdate(name="updated")
    assert [row.name async for row in Item.objects(part=1, at__gte=3, at__lte=4)] == ["saved", "updated"]
    assert [row.at async for row in Item.objects(part=1).fetch_size(3)] == list(range(10))
    rows = Item.objects(part=1).fetch_size(4)
    first = await rows.afirst()
    assert first is not None and first.at == 0
    assert len(await rows.aall()) == 10 == await rows.acount() == await Item.objects(part=1).acount()
    async with BatchQuery() as batch:
        Item.batch(batch).create(part=2, at=1)
        Item.objects(part=1, at=9).batch(batch).delete()
    assert await Item.objects(part=1).acount() == 9
    assert (await Item.objects.aget(part=2, at=1)).at == 1
    await item.adelete()
    await Item.objects(part=2).adelete()
    for missing in (Item.aget(part=1, at=3), Item.objects.aget(part=2)):
        with pytest.raises(Item.DoesNotExist):
            await missing
    await Item.objects.if_not_exists().acreate(part=5, at=1)
    with pytest.raises(LWTException):
        await Item.objects.if_not_exists().acreate(part=5, at=1)
    with pytest.raises(InvalidRequest):
        await Item.objects.using(keyspace="nowhere").afirst()


def test_awaiting_does_not_block(session: Session) -> None:
    run_and_see_that_nothing_blocks(awaited)


def test_awaiting_by_text(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{TEXT}.PREPARING", False)
    run_and_see_that_nothing_blocks(awaited)


def test_prepared_statements_of_the_mapper_are_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from cassandra._mapper import execution

    monkeypatch.setattr(execution, "PREPARED_KEPT", 8)
    monkeypatch.setattr(execution, "SHAPES_KEPT", 8)
    for size in range(1, 40):
        assert Item.objects(part=1).fetch_size(size).first() is None
    assert len(execution.prepared_cache_of(session)) <= 8


def test_cached_query_shapes_match_the_generated_statements(session: Session) -> None:
    rows = Item.objects
    sets = [
        rows.filter(part=1),
        rows.filter(part=2, at=3),
        rows.filter(part=2, at__gt=3, at__lte=5).order_by("-at"),
        rows.filter(part__in=[1, 2], at=3),
        rows.filter(part=2).only(["name"]),
        rows.filter(part=2).defer(["name", "tags"]),
        rows.filter(part=2).order_by("at").limit(7),
        rows.filter(part=2).limit(None),
        rows.filter(tags__contains="x").allow_filtering(),
        rows.distinct(["part"]),
        rows.filter(Item.part == 5),
        rows.limit(3),
        rows.filter(part=2).values_list("at", "name"),
    ]
    for _ in range(2):
        for one in sets:
            told = one.explain()
            written = re.sub(r"LIMIT \d+", "LIMIT ?", re.sub(r"%\(\d+\)s", "?", str(one)))
            context = one._select_query().get_context()
            values = [getattr(value, "value", value) for value in context.values()]
            assert told.prepared and told.cql == written
            assert told.parameters == [*values, *([one._limit] if one._limit else [])]
            assert list(one) == []


def test_query_sets_get_as_models_do(session: Session) -> None:
    Item.create(part=1, at=1, name="x")
    Item.create(part=1, at=2, name="y")
    for _ in range(2):  # nothing is prepared at first
        assert Item.objects.get(part=1, at=1) == Item.get(part=1, at=1) == Item.objects.filter(part=1).get(at=1)
        assert Item.objects.get(Item.part == 1, at=2).name == "y" == Item.objects.get(at=2, part=1).name
        with pytest.raises(Item.MultipleObjectsReturned):
            Item.objects.get(part=1)
        with pytest.raises(Item.DoesNotExist):
            Item.objects.consistency(1).get(part=1, at=3)
        with pytest.raises(QueryException):
            Item.objects.get(name="x")


def test_rows_fetched_outside_the_mapper_are_read_by_query_sets(session: Session) -> None:
    """aiocqlengine executes the statement itself and puts its rows where iterating finds them."""
    for at in range(5):
        Item.create(part=1, at=at, name=str(at), tags=["a"])

    def read(queryset: Any) -> Any:
        statement = queryset._select_query()
        queryset._result_generator = iter(session.execute(str(statement), statement.get_context()))
        queryset._result_cache = []
        queryset._construct_result = queryset._maybe_inject_deferred(queryset._get_result_constructor())
        assert not queryset._materialize_results
        return queryset

    assert list(read(Item.objects(part=1))) == list(Item.objects(part=1))
    assert len(read(Item.objects(part=1))) == 5
    assert read(Item.objects(part=1))[2].tags == ["a"]
    assert read(Item.objects(part=1)).first().part == 1, "which was not read"
    assert list(read(Item.objects(part=1).values_list("name", flat=True))) == [str(at) for at in range(5)]
    assert list(read(Item.objects(part=2))) == []
    assert Item.objects._parse_filter_arg("at__gt") == ("at", "gt")
    item = Item.get(part=1, at=1)
    item.name = None
    item.words = {"k": 1}
    query = item.__dmlquery__(Item, item)
    query._delete_null_columns()
    found = Item.get(part=1, at=1)
    assert (found.name, found.words, found.tags) == (None, {}, ["a"])


class Odd(Model):
    """A model whose instances of *broken* rows cannot be made at the first attempt."""

    __table_name__ = "item"
    broken: set[int] = set()
    part = columns.Integer(partition_key=True)
    at = columns.Integer(primary_key=True)

    @classmethod
    def _construct_instance(cls, values: Any) -> Any:
        if values["at"] in cls.broken:
            cls.broken.discard(values["at"])
            raise ValueError("not now")
        return super()._construct_instance(values)


@pytest.mark.parametrize("broken", [{0}, {1}, {2}, {5}, {6}, {0, 2, 6}])
@pytest.mark.parametrize("awaited", [False, True])
def test_rows_of_a_page_that_could_not_be_read_are_there_when_it_is_read_again(
    session: Session, broken: set[int], awaited: bool
) -> None:
    for at in range(7):
        Item.create(part=1, at=at)
    rows = Odd.objects(part=1).fetch_size(2)
    Odd.broken = set(broken)
    for _ in broken:
        with pytest.raises(ValueError, match="not now"):
            asyncio.run(rows.aall()) if awaited else list(rows)
    found = asyncio.run(rows.aall()) if awaited else list(rows)
    assert [row.at for row in found] == list(range(7)) and len(rows) == 7


@pytest.mark.parametrize("when", ["instances are made", "rows are added", "the page is dropped", "it is taken"])
def test_interrupted_reading_goes_on_with_every_row_once(
    session: Session, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The handler of a signal raises between two steps of taking a page."""
    for number in range(7):
        Item.create(part=1, at=number, name=str(number))
    fails = True

    def interrupt() -> None:
        nonlocal fails
        if fails:
            fails = False
            raise KeyboardInterrupt

    made_of, taken = ModelQuerySet._made_of, Pages.taken

    def made(self: Any, names: Any, rows: Any) -> Any:
        found = made_of(self, names, rows)
        if when == "instances are made":
            interrupt()
        return found

    def take(self: Any, passed: int) -> None:
        if when == "rows are added":
            interrupt()
        if when == "the page is dropped":
            self._result._current_rows = []
            interrupt()
        taken(self, passed)
        if when == "it is taken":
            interrupt()

    monkeypatch.setattr(ModelQuerySet, "_made_of", made)
    monkeypatch.setattr(Pages, "taken", take)
    for pages in range(4):  # that are read before
        query = Item.objects(part=1).fetch_size(2)
        fails = False
        reading = iter(query)
        for _ in range(pages * 2):
            next(reading)
        fails = True
        with pytest.raises(KeyboardInterrupt):
            list(query)
        assert [(item.at, item.name) for item in query] == [(number, str(number)) for number in range(7)]


def test_rows_passed_to_request_callbacks_stay_tuples(session: Session) -> None:
    for at in range(4):
        Item.create(part=1, at=at)
    told: list[Any] = []

    def look(future: Any) -> None:
        future.add_callback(told.append)

    session.add_request_init_listener(look)
    try:
        for _ in range(2):  # by text, and prepared
            assert [item.at for item in Item.objects(part=1).only(["at"]).fetch_size(3)] == [0, 1, 2, 3]
        with pytest.raises(Item.MultipleObjectsReturned):
            Item.get(part=1)
    finally:
        session.remove_request_init_listener(look)
    rows = [row for page in told if page for row in page]
    assert len(rows) >= 8 and {type(row) for row in rows} == {tuple}


def test_rows_fetched_outside_the_mapper_stay_after_a_failed_construction(session: Session) -> None:
    for at in range(3):
        Item.create(part=1, at=at)
    queryset: Any = Odd.objects(part=1)
    statement = queryset._select_query()
    queryset._result_generator = iter(session.execute(str(statement), statement.get_context()))
    queryset._result_cache = []
    Odd.broken = {1}
    with pytest.raises(ValueError, match="not now"):
        list(queryset)
    assert [row.at for row in queryset] == [0, 1, 2]
    assert [row.at for row in queryset] == [0, 1, 2]


def test_a_query_set_that_is_read_while_its_thread_reads_it(session: Session) -> None:
    """As by the handler of a signal, or by the constructor of a model: an error, not a hang."""
    asked: list[Any] = []

    class Curious(Item):
        __table_name__ = "item"

        def __init__(self, **values: Any) -> None:
            super().__init__(**values)
            if asked:
                list(asked.pop())

    Curious.create(part=70, at=1)
    query = Curious.objects.filter(part=70)
    asked.append(query)
    with pytest.raises(CQLEngineException, match="this thread is already reading the query set"):
        list(query)
    assert [item.at for item in query] == [1]
