"""Instances of models without any statement: values, defaults, what has changed, comparison, containers."""

# mypy: ignore-errors
import copy
import datetime as dt
import pickle
import warnings
from decimal import Decimal
from uuid import UUID

import pretending  # noqa: F401
from cases import show

from cassandra.cqlengine import columns, models
from cassandra.cqlengine.models import Model
from cassandra.util import OrderedMapSerializedKey, sortedset

warnings.simplefilter("ignore")
models.DEFAULT_KEYSPACE = "ks"


class Item(Model):
    id = columns.Integer(primary_key=True)
    ck = columns.Text(primary_key=True, default="first")
    name = columns.Text(db_field="n")
    count = columns.Integer(default=5)
    made = columns.Integer(default=lambda: 7)
    needed = columns.Text(required=True)
    tags = columns.List(columns.Text)
    words = columns.Map(columns.Text, columns.Integer)
    marks = columns.Set(columns.Integer)
    pair = columns.Tuple(columns.Integer, columns.Text)
    flag = columns.Boolean()
    when = columns.DateTime()
    ratio = columns.Float()
    given = columns.List(columns.Integer, default=lambda: [1])


class Tiny(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()


class Same(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()


class Many(Model):
    a = columns.Integer(partition_key=True)
    b = columns.Integer(partition_key=True)
    c = columns.Integer(primary_key=True)
    v = columns.Integer()


class Base(Model):
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Base):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


class Own(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()

    def __init__(self, **values):
        self.seen = sorted(values)
        super().__init__(**values)


class Counted(Model):
    id = columns.Integer(primary_key=True)
    hits = columns.Counter()


def state(instance, names=None):
    """Everything about each value."""
    return {
        name: (m.value, m.previous_value, m.explicit, m.changed, m.deleted)
        for name, m in instance._values.items()
        if names is None or name in names
    }


def loaded(model=Item, **values):
    return model._construct_instance(values)


FULL = dict(
    id=1, ck="k", n="x", count=2, made=3, needed="y", tags=["a"], words={"w": 1}, marks={1}, flag=True, given=[4]
)

for name, make in {
    "empty": lambda: Item(),
    "some": lambda: Item(id=1, name="x", tags=["a"], words={"b": 2}, marks={3}),
    "nulls": lambda: Item(id=None, name=None, count=None, tags=None, words=None, marks=None, given=None),
    "empty containers": lambda: Item(id=1, tags=[], words={}, marks=set(), given=[]),
    "converted": lambda: Item(id="5", count=2.0, ratio=1, flag=1, marks=[1, 2], when=dt.date(2020, 1, 2)),
    "other containers": lambda: Item(
        tags=("a",), words=OrderedMapSerializedKey(None, 4), marks=sortedset([2, 1]), pair=(1, "a")
    ),
    "loaded": lambda: loaded(**FULL),
    "loaded partly": lambda: loaded(id=1, n="x"),
    "loaded nulls": lambda: loaded(id=1, ck="k", n=None, count=None, tags=None, words=None, marks=None, given=None),
    "loaded unknown": lambda: loaded(id=1, nothing=3),
    "loaded by its own name": lambda: loaded(id=1, name="x"),
}.items():
    show(f"{name}: state", lambda: state(make()), text=True)
    show(f"{name}: repr", lambda: (repr(make()), str(make())), text=True)
    show(f"{name}: persisted", lambda: make()._is_persisted, text=True)
    show(f"{name}: changed", lambda: make().get_changed_columns(), text=True)
    show(f"{name}: items", lambda: make().items(), text=True)
    show(f"{name}: validate", lambda: make().validate(), text=True)
    show(f"{name}: dict", lambda: make()._as_dict(), text=True)
    show(f"{name}: can update", lambda: make()._can_update(), text=True)
show("unknown column", lambda: Item(id=1, nothing=2), text=True)
show("unknown columns", lambda: Item(id=1, b=2, a=2), text=True)
show("db name", lambda: Item(n="x"), text=True)
show("positional", lambda: Item(1), text=True)
for column, value in [
    ("id", "x"),
    ("name", 5),
    ("when", "x"),
    ("tags", "abc"),
    ("words", [1]),
    ("flag", "no"),
    ("ratio", "x"),
    ("tags", [None]),
]:
    show(
        f"make {column}={value!r}",
        lambda: getattr(
            Item(id=1, **{column: value} if column != "id" else {}) if column != "id" else Item(id=value), column
        ),
        text=True,
    )

    def assign():
        item = loaded(**FULL)
        setattr(item, column, value)
        return getattr(item, column), item._values[column].changed

    show(f"assign {column}={value!r}", assign, text=True)

    def validated():
        item = loaded(**FULL)
        setattr(item, column, value)
        item.validate()
        return getattr(item, column)

    show(f"validate {column}={value!r}", validated, text=True)


def steps(name, *actions, make=lambda: loaded(**FULL), only=None):
    """State of what is changed after each action."""

    def run():
        item = make()
        told = []
        for action in actions:
            before = state(item)
            got = action(item)
            after = state(item)
            told.append(
                (got, {key: after[key] for key in after if after[key] != before[key]}, item.get_changed_columns())
            )
        return told

    show(name, run, text=True)


def put(name, value):
    return lambda item: setattr(item, name, value)


steps("set", put("name", "z"), put("name", "x"), put("name", None), put("name", "q"))
steps("set equal", put("count", 2), put("count", 2.0), put("flag", 1))
steps("set number as text", put("count", "7"), lambda i: i.validate(), lambda i: i.count)
steps("set key", put("id", 9), lambda i: i._can_update(), put("id", 1), lambda i: i._can_update())
steps("delete", lambda i: delattr(i, "name"), lambda i: i.name, put("name", "n"))
steps("delete twice", lambda i: delattr(i, "name"), lambda i: delattr(i, "name"))
steps("delete key", lambda i: delattr(i, "id"))
steps(
    "delete list",
    lambda i: delattr(i, "tags"),
    lambda i: i.tags,
    lambda i: i.tags.append("x") if i.tags is not None else 0,
)
steps("delete default", lambda i: delattr(i, "count"), lambda i: i.count)
steps("append", lambda i: i.tags.append("b"), lambda i: i.tags, lambda i: i.tags.pop())
steps("prepend", lambda i: i.tags.insert(0, "0"))
steps("replace list", put("tags", ["q"]), put("tags", ["a"]), put("tags", []), put("tags", None))
steps("add in place", lambda i: i.tags.__iadd__(["w"]) and None)
steps("set add", lambda i: i.marks.add(5), lambda i: i.marks.discard(1), lambda i: i.marks)
steps(
    "map",
    lambda i: i.words.__setitem__("k", 3),
    lambda i: i.words.pop("w"),
    lambda i: i.words.update(z=1),
    lambda i: i.words,
)
steps("set frozen", put("pair", (1, "a")), lambda i: i.pair)
steps("item", lambda i: i["name"])
steps("set item", lambda i: i.__setitem__("name", "by item"))
show("set unknown item", lambda: loaded(**FULL).__setitem__("nothing", 1))
steps("new: set", put("name", None), put("tags", []), put("tags", ["b"]), make=lambda: Item(id=1))
steps("new: default", lambda i: i.count, put("count", 5), put("count", 6), make=lambda: Item(id=1))
steps("new: append", lambda i: i.tags.append("x"), lambda i: i.given.append(3), make=lambda: Item(id=1))
steps("other attribute", put("whatever", 1), lambda i: i.whatever)
steps("persisted", put("name", "z"), lambda i: i._set_persisted(), lambda i: i._set_persisted(True))
steps(
    "new persisted",
    lambda i: i._is_persisted,
    lambda i: i._set_persisted(),
    lambda i: i._is_persisted,
    make=lambda: Tiny(id=1),
)
steps(
    "manager",
    lambda i: i._values["name"].setval("m"),
    lambda i: i.name,
    lambda i: i._values["name"].getval(),
    lambda i: i._values["name"].reset_previous_value(),
    lambda i: i._values["name"].delval(),
    lambda i: i._values["name"].value,
)
steps("set column value", lambda i: i._set_column_value("name", "m"), lambda i: i.name)
steps("counter", lambda i: i.hits, lambda i: setattr(i, "hits", i.hits + 2), make=lambda: loaded(Counted, id=1, hits=3))
steps("new counter", lambda i: i.hits, lambda i: setattr(i, "hits", 2), make=lambda: Counted(id=1))
show(
    "counter state",
    lambda: (state(Counted(id=1)), state(loaded(Counted, id=1, hits=None)), state(loaded(Counted, id=1, hits=4))),
)

for name, function in {
    "equal": lambda: Tiny(id=1, name="x") == Tiny(id=1, name="x"),
    "unequal": lambda: (Tiny(id=1, name="x") == Tiny(id=1, name="y"), Tiny(id=1) != Tiny(id=1)),
    "other class": lambda: (Tiny(id=1) == Same(id=1), Tiny(id=1) != Same(id=1), Tiny(id=1) == 5),
    "derived": lambda: Base(id=1, kind="cat") == Cat(id=1, kind="cat"),
    "loaded or not": lambda: Tiny(id=1, name="x") == loaded(Tiny, id=1, name="x"),
    "iteration": lambda: (
        list(Tiny(id=1)),
        len(Tiny(id=1)),
        Tiny(id=1).keys(),
        Tiny(id=1).values(),
        Tiny(id=1).items(),
    ),
    "dict of": lambda: dict(Tiny(id=1, name="q")),
    "contains": lambda: "id" in Tiny(id=1),
    "getitem": lambda: Tiny(id=1, name="q")["name"],
    "pk": lambda: (Tiny(id=4).pk, Many(a=1, b=2, c=3).pk, Item(id=1).pk),
    "set pk": lambda: setattr(Tiny(id=4), "pk", 5),
    "set pk of many": lambda: setattr(Many(a=4), "pk", (5,)),
    "bool": lambda: bool(Tiny(id=1)),
    "cat": lambda: (Cat(id=1), Cat(id=1).kind, Base(id=1).kind, Cat(id=1, kind="x").kind),
    "cat loaded": lambda: loaded(Base, id=1, kind="cat", lives=3),
    "cat loaded by base": lambda: type(loaded(Base, id=1, kind="cat", lives=3)).__name__,
    "cat loaded unknown": lambda: loaded(Base, id=1, kind="dog", lives=3),
    "cat loaded without": lambda: loaded(Base, id=1, lives=3),
    "cat loaded null": lambda: loaded(Base, id=1, kind=None),
    "cat loaded by a cat as another": lambda: loaded(Cat, id=1, kind="dog"),
    "own": lambda: (Own(id=1).seen, loaded(Own, id=1, name="x").seen, loaded(Own, id=1).name),
    "pickle": lambda: pickle.loads(pickle.dumps(Tiny(id=1, name="x"))),
    "pickle loaded": lambda: state(pickle.loads(pickle.dumps(loaded(Tiny, id=1, name="x")))),
    "copy": lambda: (copy.copy(Tiny(id=1, name="x")), state(copy.deepcopy(loaded(**FULL)), ("tags", "name"))),
    "ordering": lambda: Tiny(id=1) < Tiny(id=2),
    "default fresh": lambda: Item(id=1).given is Item(id=1).given,
    "given list is kept": lambda: (lambda given: Item(tags=given).tags is given)(["a"]),
    "repr of quotes": lambda: repr(Tiny(id=1, name="it's")),
    "str of many": lambda: (str(Many(a=1, b=2, c=3)), str(Many())),
    "str of item": lambda: str(Item(id=3, name="x")),
    "datetimes": lambda: (
        Item(when=dt.datetime(2020, 1, 1, 12)).when,
        Item(when=dt.date(2020, 1, 1)).when,
        Item(when=5).when,
    ),
    "aware": lambda: Item(when=dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))).when,
    "required": lambda: Item(id=1).validate(),
    "required default": lambda: Item(id=1, needed="x").validate(),
    "null key": lambda: Item(needed="x").validate(),
    "routing": lambda: [Many._routing_key_from_values([1, 2], 4), Tiny._routing_key_from_values([1], 4)],
    "key serializer": lambda: Many._key_serializer([1, 2], 4),
    "getattr class": lambda: [
        callable(getattr(Tiny, n))
        for n in (
            "objects",
            "save",
            "batch",
            "ttl",
            "iff",
            "timestamp",
            "using",
            "if_not_exists",
            "if_exists",
            "consistency",
            "timeout",
        )
    ],
    "getattr instance": lambda: [
        callable(getattr(Tiny(id=1), n))
        for n in (
            "save",
            "batch",
            "ttl",
            "iff",
            "timestamp",
            "using",
            "if_not_exists",
            "if_exists",
            "consistency",
            "timeout",
        )
    ],
    "objects of an instance": lambda: type(Tiny(id=1).objects),
    "chained": lambda: (
        lambda t: [
            t.ttl(5) is t,
            t.timestamp(dt.timedelta(seconds=1)) is t,
            t.consistency(1) is t,
            t.if_not_exists() is t,
            t.if_exists() is t,
            t.iff(name="x") is t,
            t.timeout(3) is t,
            t.using(connection="default") is t,
            t.batch(None) is t,
        ]
    )(Tiny(id=1)),
    "chained state": lambda: (
        lambda t: (
            t._ttl,
            t._timestamp,
            t.__consistency__,
            t._if_not_exists,
            t._if_exists,
            t._timeout,
            t._connection,
            t._batch,
        )
    )(Tiny(id=1).ttl(5).timestamp(7).consistency(1).if_not_exists().if_exists().timeout(3).using(connection="default")),
    "fresh state": lambda: (
        lambda t: (
            t._ttl,
            t._timestamp,
            t.__consistency__,
            t._if_not_exists,
            t._if_exists,
            t._connection,
            t._batch,
            t._conditional,
        )
    )(Tiny(id=1)),
    "using an unknown connection": lambda: Tiny(id=1).using(connection="nowhere")._connection,
    "using a keyspace": lambda: Tiny(id=1).using(keyspace="k"),
    "Decimal": lambda: Item(id=Decimal(3)).id,
    "uuid": lambda: Item(id=UUID(int=3)).id,
}.items():
    show(name, function, text=True)
show("getitem unknown", lambda: Tiny(id=1)["x"])
show("getitem attribute", lambda: Tiny(id=1)["save"])
