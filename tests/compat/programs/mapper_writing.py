"""Instances that are saved, updated and deleted; batches; tables without a model."""

# mypy: ignore-errors
import datetime as dt
import warnings

from cases import show
from pretending import asked, doing, session

from cassandra.cqlengine import CQLEngineException, columns, models
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedKeyspace, NamedTable
from cassandra.cqlengine.query import BatchQuery, BatchType, DMLQuery, LWTException

warnings.simplefilter("ignore")
models.DEFAULT_KEYSPACE = "ks"


class T(Model):
    a = columns.Integer(partition_key=True)
    b = columns.Text(primary_key=True, default="bee")
    v = columns.Text(db_field="vv")
    n = columns.Integer(default=3)
    s = columns.Text(static=True)
    tags = columns.List(columns.Text)
    words = columns.Map(columns.Text, columns.Integer)
    marks = columns.Set(columns.Integer)
    needed = columns.Text(required=False)


class U(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()


class Hits(Model):
    id = columns.Integer(primary_key=True)
    n = columns.Counter()
    m = columns.Counter()


class Strict(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text(required=True, max_length=5)


class Base(Model):
    __table_name__ = "family"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Base):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


class Fixed(Model):
    __default_ttl__ = 77
    id = columns.Integer(primary_key=True)
    text = columns.Text()


class Keys(Model):
    id = columns.Integer(primary_key=True)
    ck = columns.Integer(primary_key=True)


def loaded(model=T, **values):
    values = values or dict(a=1, b="k", vv="x", n=2, s="st", tags=["a"], words={"w": 1}, marks={1})
    return model._construct_instance(values)


def changed(**values):
    item = loaded()
    for name, value in values.items():
        setattr(item, name, value)
    return item


def then(work, after=lambda i: (i.get_changed_columns(), i._is_persisted)):
    """Do it to an instance and tell what it is afterwards."""

    def run():
        item = work()
        return (type(item).__name__, after(item)) if isinstance(item, Model) else item

    return run


def type_of_error(work):
    try:
        work()
    except Exception as error:  # the type is what is shown
        return type(error).__name__


CASES = {
    "save new": lambda: T(a=1, v="x").save(),
    "save new with containers": lambda: T(a=1, tags=["a"], words={"k": 1}, marks={2}).save(),
    "save new with empty": lambda: T(a=1, tags=[], words={}, marks=set()).save(),
    "save new with nulls": lambda: T(a=1, v=None, n=None).save(),
    "save new twice": lambda: T(a=1, v="x").save().save(),
    "save new without key": lambda: T(v="x").save(),
    "save loaded": lambda: loaded().save(),
    "save changed": lambda: changed(v="y").save(),
    "save null": lambda: changed(v=None).save(),
    "save two": lambda: changed(v="y", n=None).save(),
    "save lists": lambda: changed(tags=["a", "b"], marks={1, 2}, words={"w": 1, "x": 2}).save(),
    "save lists replaced": lambda: changed(tags=["q"], marks={7}, words={"w": 3, "q": 2}).save(),
    "save lists null": lambda: changed(tags=None, marks=None, words=None).save(),
    "save map null value": lambda: changed(words={"w": None}).save(),
    "save static": lambda: changed(s="other").save(),
    "save static and value": lambda: changed(s="other", v="z").save(),
    "save static null": lambda: changed(s=None).save(),
    "save with options": lambda: changed(v="y").ttl(5).timestamp(dt.timedelta(seconds=0)).consistency(4).save(),
    "save new with options": lambda: T(a=1, v="q").ttl(5).timestamp(9).consistency(4).timeout(2).save(),
    "save if_not_exists": lambda: T(a=1).if_not_exists().save(),
    "save if_exists": lambda: T(a=1).if_exists().save(),
    "save changed if_exists": lambda: changed(v="1").if_exists().save(),
    "save changed iff": lambda: changed(v="1").iff(n=2).save(),
    "save new iff": lambda: T(a=1).iff(n=2).save(),
    "save null iff": lambda: changed(v=None).iff(n=2).save(),
    "save null if_exists": lambda: changed(v=None).if_exists().save(),
    "save null with options": lambda: changed(v=None).ttl(5).consistency(4).save(),
    "save invalid": lambda: Strict(id=1, name="longer").save(),
    "save missing": lambda: Strict(id=1).save(),
    "save deleted value": lambda: (lambda i: [delattr(i, "v"), i.save()][1])(loaded()),
    "save counter": lambda: Hits(id=1).save(),
    "save counter changed": lambda: (lambda i: [setattr(i, "n", i.n + 3), i.save()][1])(loaded(Hits, id=1, n=4, m=0)),
    "save counter down": lambda: (lambda i: [setattr(i, "n", 1), i.save()][1])(loaded(Hits, id=1, n=4, m=0)),
    "save new counter": lambda: Hits(id=1, n=3).save(),
    "save counter if_not_exists": lambda: Hits(id=1).if_not_exists().save(),
    "save counter if_exists": lambda: Hits(id=1).if_exists().save(),
    "save keys": lambda: Keys(id=1, ck=2).save(),
    "save keys loaded": lambda: loaded(Keys, id=1, ck=2).save(),
    "save cat": lambda: Cat(id=1, lives=9).save(),
    "save cat kind": lambda: Cat(id=1, lives=9).save().kind,
    "save base": lambda: Base(id=1).save(),
    "save base as": lambda: Base(id=1, kind="cat").save(),
    "save cat loaded": lambda: (lambda i: [setattr(i, "lives", 8), i.save()][1])(
        loaded(Cat, id=1, kind="cat", lives=3)
    ),
    "save default ttl": lambda: Fixed(id=1, text="x").save(),
    "save own ttl": lambda: Fixed(id=1, text="x").ttl(3).save(),
    "save no ttl": lambda: Fixed(id=1, text="x").ttl(None).save(),
    "save ttl 0": lambda: Fixed(id=1, text="x").ttl(0).save(),
    "create": lambda: T.create(a=1, v="x"),
    "create unknown": lambda: T.create(a=1, zz=1),
    "create unknown two": lambda: T.create(a=1, zz=1, aa=2),
    "create invalid": lambda: Strict.create(id=1, name="longer"),
    "create cat": lambda: Cat.create(id=1, lives=3),
    "create ttl": lambda: T.ttl(9).create(a=1),
    "create timestamp": lambda: T.timestamp(9).create(a=1),
    "create consistency": lambda: T.consistency(4).create(a=1),
    "create timeout": lambda: T.timeout(4).create(a=1) if False else T.objects.timeout(4).create(a=1),
    "create if_not_exists": lambda: T.if_not_exists().create(a=1),
    "create if_exists": lambda: T.if_exists().create(a=1),
    "create using": lambda: T.using(connection="default").create(a=1),
    "create using keyspace": lambda: T.using(keyspace="there").create(a=1),
    "create in text": lambda: T.create(a="5", n=7.0),
    "update": lambda: loaded().update(v="y"),
    "update nothing": lambda: loaded().update(),
    "update after set": lambda: changed(v="y").update(n=7),
    "update null": lambda: loaded().update(v=None),
    "update both": lambda: loaded().update(v=None, n=5),
    "update key": lambda: loaded().update(a=9),
    "update unknown": lambda: loaded().update(zz=9),
    "update new": lambda: T(a=1, b="x").update(v="z"),
    "update new without values": lambda: T(a=1, b="x").update(),
    "update list": lambda: loaded().update(tags=["a", "b"]),
    "update list operator": lambda: loaded().update(tags__append=["b"]),
    "update to same": lambda: loaded().update(v="x"),
    "update key to same": lambda: loaded().update(a=1),
    "update static": lambda: loaded().update(s="n"),
    "update static and value": lambda: loaded().update(s="n", v="q"),
    "update options": lambda: loaded().ttl(5).timestamp(9).consistency(4).timeout(3).update(v="q"),
    "update iff": lambda: loaded().iff(v="x", n=2).update(v="q"),
    "update iff twice": lambda: loaded().iff(v="x").iff(n=2).update(v="q"),
    "update iff null": lambda: loaded().iff(v=None).update(v="q"),
    "update if_exists": lambda: loaded().if_exists().update(v="q"),
    "update if_not_exists": lambda: loaded().if_not_exists().update(v="q"),
    "update invalid": lambda: loaded(Strict, id=1, name="x").update(name="longer"),
    "update cat": lambda: loaded(Cat, id=1, kind="cat", lives=3).update(lives=2),
    "update counter": lambda: loaded(Hits, id=1, n=4, m=0).update(n=9),
    "update counter of class": lambda: Hits.objects(id=1).update(n=9),
    "update default ttl": lambda: loaded(Fixed, id=1, text="t").update(text="u"),
    "delete": lambda: loaded().delete(),
    "delete new": lambda: T(a=1, b="x").delete(),
    "delete without key": lambda: T().delete(),
    "delete options": lambda: loaded().timestamp(9).consistency(4).timeout(3).delete(),
    "delete iff": lambda: loaded().iff(v="x").delete(),
    "delete if_exists": lambda: loaded().if_exists().delete(),
    "delete counter if_exists": lambda: loaded(Hits, id=1, n=4, m=0).if_exists().delete(),
    "delete cat": lambda: loaded(Cat, id=1, kind="cat", lives=3).delete(),
    "delete after key change": lambda: changed(a=7).delete(),
    "dml": lambda: (DMLQuery(T, loaded()).save(), DMLQuery(T, loaded()).column_family_name),
    "dml delete without": lambda: DMLQuery(T).delete(),
    "dml batch": lambda: DMLQuery(T).batch(5),
    "instance of": lambda: type(U(id=1).objects),
    "class save": lambda: type_of_error(U.save),
    "saved name": lambda: U(id=1, name="x").save().name,
    "instance create": lambda: U(id=1).create(id=2),
    "instance filter": lambda: str(U(id=1).filter(id=2)),
}
for name, work in CASES.items():
    show(name, lambda: doing(then(work)), text=True)
    show(
        f"{name}: refused",
        lambda: doing(work, answers=[[{"[applied]": False, "vv": "z"}]])[0] if "if" in name else None,
        text=True,
    )


def batched(work, **options):
    def run():
        with BatchQuery(**options) as batch:
            return work(batch)

    return run


def raising(batch):
    U.batch(batch).create(id=1)
    raise ZeroDivisionError("inside")


def called(*args, **kwargs):
    session.asked.append(f"called {args} {kwargs}")


def callback(batch):
    batch.add_callback(called, 1, x=2)
    batch.add_callback(called)
    U.batch(batch).create(id=1)


def executed(batch):
    U.batch(batch).create(id=1)
    batch.execute()
    return list(asked())


def failing(batch):
    batch.add_callback(called)
    session.answers = [KeyError("server")]
    U.batch(batch).create(id=1)


BATCHES = {
    "one": (lambda b: U.batch(b).create(id=1, name="x"), {}),
    "two": (lambda b: [U.batch(b).create(id=1), U.batch(b).create(id=2)] and None, {}),
    "update": (lambda b: loaded().batch(b).update(v="q"), {}),
    "update null": (lambda b: loaded().batch(b).update(v=None, n=3), {}),
    "save": (lambda b: changed(v="3").batch(b).save() and None, {}),
    "delete": (lambda b: loaded().batch(b).delete(), {}),
    "delete of set": (lambda b: U.objects(id=1).batch(b).delete(), {}),
    "update of set": (lambda b: U.objects(id=1).batch(b).update(name="x"), {}),
    "create of set": (lambda b: U.objects.batch(b).create(id=1) and None, {}),
    "select": (lambda b: list(U.objects.batch(b)), {}),
    "get": (lambda b: U.objects.batch(b).get(id=1), {}),
    "count": (lambda b: U.objects.batch(b).count(), {}),
    "empty": (lambda b: None, {}),
    "unlogged": (lambda b: U.batch(b).create(id=1) and None, {"batch_type": BatchType.Unlogged}),
    "counter": (
        lambda b: loaded(Hits, id=1, n=4, m=0).batch(b).update(n=9) and None,
        {"batch_type": BatchType.Counter},
    ),
    "type as text": (lambda b: U.batch(b).create(id=1) and None, {"batch_type": "logged"}),
    "timestamp": (lambda b: U.batch(b).create(id=1) and None, {"timestamp": 5}),
    "timestamp and type": (
        lambda b: U.batch(b).create(id=1) and None,
        {"timestamp": 5, "batch_type": BatchType.Unlogged},
    ),
    "timestamp 0": (lambda b: U.batch(b).create(id=1) and None, {"timestamp": 0}),
    "timestamp text": (lambda b: U.batch(b).create(id=1) and None, {"timestamp": "x"}),
    "consistency": (lambda b: U.batch(b).create(id=1) and None, {"consistency": 4}),
    "timeout": (lambda b: U.batch(b).create(id=1) and None, {"timeout": 3}),
    "timeout none": (lambda b: U.batch(b).create(id=1) and None, {"timeout": None}),
    "connection": (lambda b: U.batch(b).create(id=1) and None, {"connection": "default"}),
    "connection unknown": (lambda b: U.batch(b).create(id=1) and None, {"connection": "nowhere"}),
    "raising": (raising, {}),
    "raising but executed": (raising, {"execute_on_exception": True}),
    "callback": (callback, {}),
    "callback of empty": (lambda b: b.add_callback(called), {}),
    "callback of nothing": (lambda b: b.add_callback(5), {}),
    "callback when raising": (lambda b: [callback(b), raising(b)], {}),
    "callback when failing": (failing, {}),
    "executed inside": (executed, {}),
    "executed twice": (lambda b: [executed(b), b.execute()], {}),
    "ttl": (lambda b: U.batch(b).ttl(5).create(id=1) and None, {}),
    "ttl of instance": (lambda b: U(id=1, name="x").batch(b).ttl(5).save() and None, {}),
    "timestamp of one": (lambda b: U(id=1, name="x").batch(b).timestamp(5).save() and None, {}),
    "consistency of one": (lambda b: U(id=1, name="x").consistency(4).batch(b).save() and None, {}),
    "if_not_exists": (lambda b: U.if_not_exists().batch(b).create(id=1) and None, {}),
    "iff": (lambda b: loaded().iff(v="x").batch(b).update(v="y") and None, {}),
    "using": (lambda b: U.using(connection="default").batch(b).create(id=1) and None, {}),
    "add text": (lambda b: b.add_query("x"), {}),
    "mixed": (
        lambda b: (
            [
                U.batch(b).create(id=1, name="a"),
                loaded().batch(b).update(v="q", tags=["a", "b"]),
                U.objects(id=4).batch(b).delete(),
            ]
            and None
        ),
        {},
    ),
    "timeout of instance": (lambda b: U(id=1).batch(b).timeout(5), {}),
    "batch of instance with timeout": (lambda b: U(id=1).timeout(5).batch(b), {}),
    "no batch": (lambda b: U.batch(None).create(id=1) and None, {}),
    "not a batch": (lambda b: U.batch(5).create(id=1) and None, {}),
}
for name, (work, options) in BATCHES.items():
    show(f"batch {name}", lambda: doing(batched(work, **options)), text=True)


def unused():
    batch = BatchQuery()
    U.batch(batch).create(id=1)
    batch.execute()
    first = list(asked())
    U.batch(batch).create(id=2)
    batch.execute()
    return first, list(asked()), batch._executed, batch.warn_multiple_exec


def warned():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        unused()
        unused()
    return [(w.category.__name__, str(w.message).replace("\n", "|")) for w in seen]


def hushed():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        BatchQuery.warn_multiple_exec = False
        unused()
    BatchQuery.warn_multiple_exec = True
    return len(seen)


show("batch by hand", unused)
show("batch warnings", warned)
show("batch hushed", hushed)
show(
    "batch state",
    lambda: (
        lambda b: (
            b.queries,
            b.batch_type,
            b.timestamp,
            b._consistency,
            b._execute_on_exception,
            b._connection,
            b._callbacks,
            b._executed,
            b._context_entered,
        )
    )(BatchQuery()),
)
show("batch consistency", lambda: (lambda b: (b.consistency(4), b._consistency))(BatchQuery()))
show(
    "batch refused",
    lambda: doing(
        batched(lambda b: U.if_not_exists().batch(b).create(id=1) and None), answers=[[{"[applied]": False, "id": 1}]]
    ),
    text=True,
)
show("batch type", lambda: (BatchType.Unlogged, BatchType.Counter))
show("batch after an error", lambda: doing(batched(failing, execute_on_exception=True)), text=True)


def two_connections():
    with BatchQuery(connection="default") as batch:
        U.objects.using(connection="other").batch(batch).create(id=1)


show("batch of two connections", lambda: doing(two_connections), text=True)
show(
    "batch with connection of model",
    lambda: doing(lambda: [U.using(connection="nowhere").batch(BatchQuery()).create(id=1)]),
    text=True,
)

people = NamedTable("ks", "People")
space = NamedKeyspace("Space")
ROWS = [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]
for name, work in {
    "all": lambda: list(people.all()),
    "objects": lambda: list(people.objects),
    "text": lambda: str(people.objects.filter(id=1)),
    "filter": lambda: list(people.filter(id=1)),
    "filter two": lambda: list(people.filter(id=1, name="x")),
    "gt": lambda: list(people.filter(id__gt=1)),
    "in": lambda: list(people.filter(id__in=[1, 2])),
    "contains": lambda: list(people.filter(tags__contains=1)),
    "column": lambda: list(people.filter(people.column("id") == 1)),
    "column gt": lambda: list(people.filter(people.column("id") > 1)),
    "column in": lambda: list(people.filter(people.column("id").in_([1]))),
    "none": lambda: list(people.filter(id=None)),
    "token": lambda: list(people.filter(pk__token__gt=1)),
    "get": lambda: people.get(id=1),
    "first": lambda: people.objects.first(),
    "count": lambda: people.objects.count(),
    "len": lambda: len(people.objects),
    "index": lambda: people.objects[1],
    "slice": lambda: people.objects[0:1],
    "order": lambda: list(people.objects.order_by("-id", "name")),
    "limit": lambda: list(people.objects.limit(5)),
    "distinct": lambda: list(people.objects.distinct(["id"])),
    "distinct without": lambda: list(people.objects.distinct()),
    "allow filtering": lambda: list(people.objects.allow_filtering()),
    "consistency": lambda: list(people.objects.consistency(4)),
    "timeout": lambda: list(people.objects.timeout(4)),
    "fetch size": lambda: list(people.objects.fetch_size(4)),
    "create": lambda: people.objects.create(id=1),
    "update": lambda: people.objects.update(id=1),
    "delete": lambda: people.objects.filter(id=1).delete(),
    "values_list": lambda: people.objects.values_list("id"),
    "names": lambda: (people.name, people.keyspace, people.column_family_name(), people.column_family_name(False)),
    "of a keyspace": lambda: (space.name, space.table("t").column_family_name(), list(space.table("Table").all())),
    "classes": lambda: (people.__class__.__name__, type(people.objects).__name__, type(people.column("x")).__name__),
    "errors": lambda: (people.DoesNotExist.__mro__[1].__name__, people.MultipleObjectsReturned.__name__),
    "row": lambda: (lambda r: (r.id, r["id"], type(r).__name__, dict(r)))(people.objects.first()),
    "column names": lambda: (lambda c: (str(c), c.name, c.cql, c.get_cql(), c.db_field_name, c.to_database(5)))(
        people.column("Name")
    ),
    "using of table": lambda: list(people.using(connection="default").filter(id=1)),
    "using of table 2": lambda: type(people.using).__name__,
    "token ": lambda: list(people.filter(id__token=1)),
    "repr": lambda: (repr(people)[:40], repr(space)[:50], type(people.objects)),
    "filter unknown operator": lambda: list(people.filter(id__near=1)),
    "batch": lambda: type(people.objects.batch(BatchQuery())),
    "iff": lambda: type(people.objects.iff(id=1)),
}.items():
    show(f"named {name}", lambda: doing(work, answers=[ROWS, ROWS]), text=True)
show("named many", lambda: doing(lambda: people.get(id=1), answers=[ROWS]), text=True)
show("named own error", lambda: people.DoesNotExist is NamedTable("ks", "x").DoesNotExist)
show("errors", lambda: issubclass(LWTException, CQLEngineException))
