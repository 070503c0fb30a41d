"""Query sets: the statements they make, what they answer, and what they refuse."""

# mypy: ignore-errors
import datetime as dt
import warnings
from uuid import UUID

from cases import show
from pretending import Rows, asked, doing, session

from cassandra.cqlengine import columns, functions, models, query
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import ContextQuery

warnings.simplefilter("ignore")
models.DEFAULT_KEYSPACE = "ks"


class T(Model):
    a = columns.Integer(partition_key=True)
    b = columns.Text(partition_key=True, db_field="bb")
    c = columns.Integer(primary_key=True, clustering_order="DESC")
    d = columns.Text(primary_key=True)
    v = columns.Text(db_field="vv")
    n = columns.Integer(index=True)
    s = columns.Text(static=True)
    tags = columns.List(columns.Text)
    words = columns.Map(columns.Text, columns.Integer)
    marks = columns.Set(columns.Integer, index=True)
    when = columns.DateTime()
    flag = columns.Boolean()
    custom = columns.Text(custom_index=True)


class U(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()


class Timed(Model):
    __keyspace__ = "other"
    id = columns.UUID(primary_key=True)
    at = columns.TimeUUID(primary_key=True)
    text = columns.Text()


class Fixed(Model):
    __default_ttl__ = 77
    id = columns.Integer(primary_key=True)
    text = columns.Text()


class Base(Model):
    __table_name__ = "family"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True, index=True)


class Cat(Base):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


ROW = {
    "a": 1,
    "bb": "x",
    "c": 2,
    "d": "y",
    "vv": "v",
    "n": 3,
    "s": None,
    "tags": ["t"],
    "words": {"k": 1},
    "marks": {4},
    "when": None,
    "flag": True,
    "custom": None,
}
US = [{"id": i, "name": f"n{i}"} for i in range(5)]
q = T.objects
u = U.objects
KEY = {"a": 1, "b": "x"}
TEXTS = {
    "all": lambda: q.all(),
    "objects": lambda: q,
    "called": lambda: q(a=1),
    "key": lambda: q.filter(**KEY),
    "two filters": lambda: q.filter(a=1).filter(b="x"),
    "model.filter": lambda: T.filter(a=1),
    "db field": lambda: q.filter(bb="x"),
    "in": lambda: q.filter(a__in=[1, 2], b="x"),
    "in nothing": lambda: q.filter(a__in=[]),
    "in generator": lambda: q.filter(a__in=(i for i in (1, 2))),
    "in set": lambda: q.filter(a__in={1}),
    "in text": lambda: q.filter(b__in="xy"),
    "in number": lambda: q.filter(a__in=5),
    "in query": lambda: q.filter(a__in=u),
    "gt": lambda: q.filter(**KEY, c__gt=1),
    "gte": lambda: q.filter(**KEY, c__gte=1),
    "lt": lambda: q.filter(**KEY, c__lt=1),
    "lte": lambda: q.filter(**KEY, c__lte=1),
    "ne": lambda: q.filter(**KEY, c__ne=1),
    "range": lambda: q.filter(**KEY, c__gt=1, c__lte=9),
    "contains": lambda: q.filter(**KEY, tags__contains="t"),
    "contains on text": lambda: q.filter(v__contains="t"),
    "contains key": lambda: q.filter(words__contains_key="t"),
    "like": lambda: q.filter(custom__like="a%"),
    "like without index": lambda: q.filter(v__like="a%"),
    "isnotnull": lambda: q.filter(v__isnotnull=True),
    "isnotnull false": lambda: q.filter(v__isnotnull=False),
    "unknown operator": lambda: q.filter(a__near=5),
    "unknown column": lambda: q.filter(zz=5),
    "two underscores": lambda: q.filter(a__in__x=5),
    "none": lambda: q.filter(a=None),
    "equal of object": lambda: q.filter(T.a == 1, T.b == "x"),
    "object gt": lambda: q.filter(T.c > 1, T.c < 5),
    "object ge le": lambda: q.filter(T.c >= 1, T.c <= 5),
    "object ne": lambda: q.filter(T.c != 1),
    "object in": lambda: q.filter(T.a.in_([1, 2])),
    "object contains": lambda: q.filter(T.tags.contains_("x")),
    "object like": lambda: q.filter(T.custom.like("x")),
    "object is not null": lambda: q.filter(T.custom.is_not_null()),
    "object db field": lambda: q.filter(T.v == "1"),
    "positional text": lambda: q.filter("a = 1"),
    "token": lambda: q.filter(pk__token__gt=functions.Token(1, "x")),
    "token lte": lambda: q.filter(pk__token__lte=functions.Token(1, "x")),
    "token of one": lambda: u.filter(pk__token__gt=functions.Token(1)),
    "token of a wrong number": lambda: q.filter(pk__token__gt=functions.Token(1)),
    "token without Token": lambda: q.filter(pk__token__gt=5),
    "token on column": lambda: q.filter(a__token__gt=functions.Token(1)),
    "pk": lambda: u.filter(pk=1),
    "pk of two": lambda: q.filter(pk=1),
    "pk gt": lambda: u.filter(pk__gt=1),
    "Token as value": lambda: u.filter(id__gt=functions.Token(1)),
    "pk token object": lambda: u.filter(pk__token__gt=functions.Token("id")),
    "time": lambda: Timed.objects.filter(
        id=UUID(int=1),
        at__gt=functions.MinTimeUUID(dt.datetime(2020, 1, 1)),
        at__lte=functions.MaxTimeUUID(dt.datetime(2021, 1, 1)),
    ),
    "time on another": lambda: q.filter(a__gt=functions.MinTimeUUID(dt.datetime(2020, 1, 1))),
    "datetime": lambda: q.filter(when=dt.datetime(2020, 1, 1)),
    "text for a number": lambda: q.filter(a="1", b="5"),
    "order": lambda: q.filter(**KEY).order_by("c"),
    "order desc": lambda: q.filter(**KEY).order_by("-c"),
    "order two": lambda: q.filter(**KEY).order_by("-c", "d"),
    "order none": lambda: q.filter(**KEY).order_by("c").order_by(),
    "order again": lambda: q.filter(**KEY).order_by("c").order_by("d"),
    "order by partition": lambda: q.order_by("a"),
    "order by value": lambda: q.order_by("v"),
    "order unknown": lambda: q.order_by("zz"),
    "order db field": lambda: q.order_by("bb"),
    "limit": lambda: q.limit(5),
    "limit 0": lambda: q.limit(0),
    "limit none": lambda: q.limit(None),
    "limit negative": lambda: q.limit(-1),
    "fetch size": lambda: q.fetch_size(5),
    "fetch size 0": lambda: q.fetch_size(0),
    "allow filtering": lambda: q.filter(n=1).allow_filtering(),
    "only": lambda: q.only(["v", "n"]),
    "only key": lambda: q.filter(**KEY).only(["a", "c", "v"]),
    "only in another order": lambda: q.only(["n", "v", "a"]),
    "values_list in another order": lambda: q.values_list("n", "v", "a"),
    "only text": lambda: q.only("v"),
    "only unknown": lambda: q.only(["zz"]),
    "only twice": lambda: q.only(["v", "n"]).only(["v"]),
    "only twice another": lambda: q.only(["v"]).only(["n"]),
    "only db field": lambda: q.only(["vv"]),
    "only pk": lambda: u.only(["pk"]),
    "only set": lambda: u.only(("name",)),
    "only nothing": lambda: q.only([]),
    "defer": lambda: q.defer(["v"]),
    "defer key": lambda: q.defer(["a", "v"]),
    "defer twice": lambda: q.defer(["v"]).defer(["n"]),
    "defer unknown": lambda: q.defer(["zz"]),
    "defer all": lambda: u.defer(["id", "name"]),
    "defer after only": lambda: q.only(["v", "n"]).defer(["v"]),
    "defer all of only": lambda: q.only(["v"]).defer(["v"]),
    "only after defer": lambda: q.defer(["v"]).only(["v", "n"]),
    "filter and defer": lambda: q.filter(**KEY).defer(["v"]),
    "distinct fields": lambda: q.distinct(["a", "c"]),
    "distinct with filter": lambda: q.distinct(["a"]).filter(a=1),
    "distinct on value": lambda: q.distinct(["n"]),
    "distinct unknown": lambda: q.distinct(["zz"]),
    "distinct of one": lambda: u.distinct(),
    "distinct and only": lambda: q.distinct(["a", "s"]).only(["s"]),
    "values_list": lambda: q.values_list("v"),
    "values_list two": lambda: q.values_list("a", "v"),
    "values_list none": lambda: q.values_list(),
    "values_list flat": lambda: q.values_list("v", flat=True),
    "values_list flat two": lambda: q.values_list("v", "n", flat=True),
    "values_list option": lambda: q.values_list("v", other=True),
    "values_list unknown": lambda: q.values_list("zz"),
    "consistency": lambda: q.consistency(4),
    "timeout": lambda: q.timeout(4),
    "timeout text": lambda: q.timeout("x"),
    "using keyspace": lambda: q.using(keyspace="elsewhere"),
    "using connection": lambda: q.using(connection="default"),
    "using both": lambda: q.using(keyspace="elsewhere", connection="default"),
    "using unknown": lambda: q.using(connection="nowhere"),
    "using unknown keyspace": lambda: Timed.objects.using(keyspace="x"),
    "iff": lambda: q.iff(v="x"),
    "ttl": lambda: q.ttl(5),
    "timestamp": lambda: q.timestamp(5),
    "if_not_exists": lambda: q.if_not_exists(),
    "if_exists": lambda: q.if_exists(),
    "batch": lambda: q.batch(5),
    "batch none": lambda: q.batch(None),
    "batch and timeout": lambda: q.timeout(5).batch(query.BatchQuery()),
    "cat": lambda: Cat.objects.filter(id=1),
    "family": lambda: Base.objects.filter(id=1),
    "cat all": lambda: Cat.objects.all(),
    "cat by kind": lambda: Cat.objects.filter(kind="dog"),
    "filter nothing": lambda: q.filter(),
    "filter twice same": lambda: q.filter(a=1).filter(a=2),
    "abstract": lambda: Model.objects,
    "tuple as value": lambda: q.filter(a=(1, 2)),
    "list as value": lambda: q.filter(tags=["a"]),
    "contains number": lambda: q.filter(marks__contains=5),
    "static": lambda: q.filter(s="x"),
    "case": lambda: q.filter(a__GT=1),
    "starts": lambda: q.filter(a__eq=1),
}
for name, make in TEXTS.items():
    show(name, lambda: str(make()), text=True)
    show(f"{name}: listed", lambda: doing(lambda: list(make()), answers=[[]]), text=True)

for name, work in {
    "iteration": lambda: [list(u), asked()],
    "cache": lambda: (lambda s: [list(s), list(s), len(s), s[0], s[1:3], s.count(), bool(s)])(u.all()),
    "cached by index": lambda: (lambda s: [s[0], s[1], asked()])(u.all()),
    "index": lambda: u[2],
    "index of sliced": lambda: u[1:3][0],
    "negative": lambda: u[-1],
    "slice": lambda: u[1:3],
    "slice open": lambda: u[2:],
    "slice to": lambda: u[:2],
    "slice step": lambda: u[::2],
    "slice negative": lambda: u[-2:],
    "slice negative to": lambda: u[:-1],
    "slice back": lambda: u[3:1],
    "slice of nothing": lambda: u[5:9],
    "slice type": lambda: type(u[0:1]).__name__,
    "index text": lambda: u["a"],
    "len": lambda: len(u.all()),
    "first": lambda: u.first(),
    "first of filter": lambda: u.filter(id=1).first(),
    "first of iterated": lambda: (lambda s: [list(s), s.first()])(u.all()),
    "get": lambda: u.get(id=1),
    "get by object": lambda: u.get(U.id == 1),
    "get of filter": lambda: u.filter(id=1).get(),
    "get of model": lambda: U.get(id=1),
    "count": lambda: u.count(),
    "count of filter": lambda: U.objects.filter(id=1).count(),
    "count of limit": lambda: U.objects.limit(2).count(),
    "bool": lambda: bool(u.all()),
    "contains": lambda: U(id=1, name="n1") in u.all(),
    "two iterators": lambda: (lambda s: [(x.id, y.id) for x in s for y in s])(u.all()),
    "values_list": lambda: list(u.values_list("id", "name")),
    "values_list flat": lambda: list(u.values_list("id", flat=True)),
    "values_list in another order": lambda: [
        str(u.values_list("name", "id")),
        list(u.filter(id=1).values_list("name", "id")),
    ],
    "values_list index": lambda: u.values_list("id")[0],
    "values_list first": lambda: u.values_list("id", "name").first(),
    "values_list get": lambda: u.values_list("id", "name").get(id=1),
    "distinct rows": lambda: list(u.distinct(["id"])),
    "only rows": lambda: [x.get_changed_columns() for x in u.only(["name"])],
    "iterating after filter": lambda: (lambda s: [len(s), len(s.filter(id=1))])(u.all()),
    "all again": lambda: (lambda s: s.all() is s)(u.all()),
    "filter copies": lambda: (lambda s: s.filter(id=1) is s)(u.all()),
    "limit copies": lambda: (lambda s: s.limit(1) is s)(u.all()),
    "model objects": lambda: U.objects is U.objects,
    "consistency asked": lambda: list(u.consistency(4)),
    "timeout asked": lambda: list(u.timeout(3)),
    "no timeout asked": lambda: list(u.timeout(None)),
    "fetch size asked": lambda: list(u.fetch_size(3)),
    "exists": lambda: u.exists(),
    "fails": lambda: [session.answers.__setitem__(0, ValueError("server")), list(u)],
    "models of rows": lambda: [type(x).__name__ for x in u],
    "persisted": lambda: [x._is_persisted for x in u],
    "create of set": lambda: u.create(id=1, name="x"),
    "create of set with options": lambda: u.ttl(5).timestamp(dt.timedelta(seconds=0) and 5).create(id=1, name="x"),
    "create with consistency": lambda: u.consistency(4).create(id=1, name="x"),
    "create if not exists": lambda: u.if_not_exists().create(id=1, name="x"),
    "create with unknown": lambda: u.create(id=1, zz="x"),
    "create of filter": lambda: u.filter(id=1).create(name="x"),
    "create with ttl of model": lambda: Fixed.create(id=1, text="x"),
    "create with ttl": lambda: Fixed.ttl(3).create(id=1, text="x"),
    "update of set": lambda: u.filter(id=1).update(name="x"),
    "update with ttl of model": lambda: Fixed.objects(id=1).update(text="x"),
    "update without key": lambda: u.update(name="x"),
    "update part of key": lambda: q.filter(a=1).update(v="x"),
    "update nothing": lambda: u.filter(id=1).update(),
    "update key": lambda: u.filter(id=1).update(id=2),
    "update unknown": lambda: u.filter(id=1).update(zz=2),
    "update to null": lambda: u.filter(id=1).update(name=None),
    "update two": lambda: q.filter(**KEY, c=1, d="d").update(v="x", n=None, flag=False),
    "update by db field": lambda: q.filter(**KEY, c=1, d="d").update(vv="x"),
    "update with options": lambda: u.filter(id=1).ttl(5).timestamp(7).consistency(4).timeout(9).update(name="x"),
    "update null with options": lambda: u.filter(id=1).ttl(5).consistency(4).update(name=None),
    "update iff": lambda: u.filter(id=1).iff(name="y").update(name="x"),
    "update iff null": lambda: u.filter(id=1).iff(name=None).update(name="x"),
    "update if exists": lambda: u.filter(id=1).if_exists().update(name="x"),
    "update null if exists": lambda: u.filter(id=1).if_exists().update(name=None),
    "update invalid": lambda: u.filter(id=1).update(name=5),
    "update with in": lambda: u.filter(id__in=[1, 2]).update(name="x"),
    "update append": lambda: q.filter(**KEY, c=1, d="d").update(tags__append=["x"]),
    "update prepend": lambda: q.filter(**KEY, c=1, d="d").update(tags__prepend=["x", "y"]),
    "update append one": lambda: q.filter(**KEY, c=1, d="d").update(tags__append="x"),
    "update list": lambda: q.filter(**KEY, c=1, d="d").update(tags=["x"]),
    "update list empty": lambda: q.filter(**KEY, c=1, d="d").update(tags=[]),
    "update set add": lambda: q.filter(**KEY, c=1, d="d").update(marks__add={1}),
    "update set remove": lambda: q.filter(**KEY, c=1, d="d").update(marks__remove={1}),
    "update set both": lambda: q.filter(**KEY, c=1, d="d").update(marks__remove={1}, marks__add={2}),
    "update set": lambda: q.filter(**KEY, c=1, d="d").update(marks={1}),
    "update set empty": lambda: q.filter(**KEY, c=1, d="d").update(marks=set()),
    "update map update": lambda: q.filter(**KEY, c=1, d="d").update(words__update={"a": 1}),
    "update map remove": lambda: q.filter(**KEY, c=1, d="d").update(words__remove={"a"}),
    "update map null": lambda: q.filter(**KEY, c=1, d="d").update(words__update={"a": None}),
    "update map": lambda: q.filter(**KEY, c=1, d="d").update(words={"a": 1}),
    "update operator unknown": lambda: q.filter(**KEY, c=1, d="d").update(words__near={"a": 1}),
    "update operator of another": lambda: q.filter(**KEY, c=1, d="d").update(v__append="x"),
    "update static": lambda: q.filter(**KEY).update(s="x"),
    "update mixed": lambda: q.filter(**KEY, c=1, d="d").update(s=None, n=5, tags__append=["a"]),
    "delete of set": lambda: u.filter(id=1).delete(),
    "delete part": lambda: q.filter(**KEY).delete(),
    "delete without key": lambda: q.filter(a=1).delete(),
    "delete all": lambda: q.delete(),
    "delete by range": lambda: q.filter(**KEY, c__gt=1).delete(),
    "delete with options": lambda: u.filter(id=1).timestamp(5).consistency(4).timeout(9).delete(),
    "delete if exists": lambda: u.filter(id=1).if_exists().delete(),
    "delete iff": lambda: u.filter(id=1).iff(name="x").delete(),
    "delete by in": lambda: u.filter(id__in=[1, 2]).delete(),
    "delete with ttl": lambda: u.filter(id=1).ttl(5).delete(),
    "delete by value": lambda: u.filter(name="x").delete(),
    "iff unknown": lambda: u.filter(id=1).iff(zz="x").update(name="y"),
    "iff operator": lambda: u.filter(id=1).iff(name__gt="x").update(name="y"),
    "iff in": lambda: u.filter(id=1).iff(name__in=["x"]).update(name="y"),
    "iff ne": lambda: u.filter(id=1).iff(name__ne="x").update(name="y"),
    "iff two": lambda: u.filter(id=1).iff(name="x").iff(id=1).update(name="y"),
    "iff list index": lambda: q.filter(**KEY, c=1, d="d").iff(tags=["a"]).update(v="y"),
    "timestamp of timedelta": lambda: u.filter(id=1).timestamp(5).update(name="y"),
    "create in another": lambda: u.using(keyspace="elsewhere").create(id=1),
    "update in another": lambda: u.using(keyspace="elsewhere").filter(id=1).update(name="y"),
    "filter in another": lambda: list(u.using(keyspace="elsewhere").filter(id=1)),
    "timed": lambda: list(Timed.objects.filter(id=UUID(int=1))),
    "get_or_create": lambda: u.get_or_create(id=1),
    "cat rows": lambda: [
        session.answers.__setitem__(0, [{"id": 1, "kind": "cat", "lives": 3}]),
        list(Base.objects.filter(id=1)),
    ],
}.items():
    rows = [dict(row) for row in US]
    show(f"do {name}", lambda: doing(work, answers=[rows, rows, rows]), text=True)

for name, answers in {
    "one": [US[:1]],
    "two": [US[:2]],
    "applied": [[{"[applied]": True}]],
    "refused": [[{"[applied]": False, "id": 1, "name": "other"}]],
    "count": [[{"count": 5}]],
    "error": [KeyError("x")],
}.items():
    for what, work in {
        "get": lambda: U.get(id=1),
        "get by own error": lambda: U.objects.get(id=1),
        "first": lambda: U.objects(id=1).first(),
        "len": lambda: len(U.objects(id=1)),
        "update": lambda: U.objects(id=1).iff(name="x").update(name="y"),
        "delete": lambda: U.objects(id=1).if_exists().delete(),
        "plain update": lambda: U.objects(id=1).update(name="y"),
        "create": lambda: U.if_not_exists().create(id=1, name="x"),
        "plain create": lambda: U.create(id=1, name="x"),
        "in": lambda: 5 in U.objects(id=1),
        "index": lambda: U.objects(id=1)[0],
    }.items():
        show(f"answer {name} for {what}", lambda: doing(work, answers=answers), text=True)


def existing():
    session.answers = [[{"[applied]": False, "id": 1, "name": "other"}]]
    try:
        U.if_not_exists().create(id=1, name="x")
    except query.LWTException as error:
        return error.existing, str(error), repr(error), error.args


show("LWTException", existing)
show("check_applied", lambda: [query.check_applied(Rows([])), query.check_applied(Rows([{"[applied]": True}]))])
show("check_applied refused", lambda: query.check_applied(Rows([{"[applied]": False, "a": 1}])), text=True)
show("context", lambda: (lambda: [ContextQuery(U, keyspace="there").__enter__().__name__])())


def contexts():
    told = []
    with ContextQuery(U, keyspace="there") as Other:
        told.append(
            (
                Other.__name__,
                Other.__keyspace__,
                issubclass(Other, U),
                Other is U,
                Other._connection,
                Other.__connection__,
            )
        )
        told.append(str(Other.objects.filter(id=1)))
    with ContextQuery(U, Timed, connection="default") as (One, Two):
        told.append((One.__keyspace__, Two.__keyspace__, One._connection, Two.__connection__))
    with ContextQuery(U) as Same:
        told.append(Same is U)
    return told


show("contexts", contexts, text=True)
show("context of none", lambda: ContextQuery(), text=True)
show("context of an instance", lambda: ContextQuery(U(id=1)), text=True)
show("context option", lambda: ContextQuery(U, other=1), text=True)


for what, work in {
    "get": lambda: U.get(id=1),
    "first": lambda: U.objects(id=1).first(),
    "len": lambda: len(U.objects(id=1)),
    "update": lambda: U.objects(id=1).iff(name="x").update(name="y"),
    "delete": lambda: U.objects(id=1).if_exists().delete(),
    "create": lambda: U.if_not_exists().create(id=1, name="x"),
    "in": lambda: 5 in U.objects(id=1),
    "index": lambda: U.objects(id=1)[0],
    "count": lambda: [session.answers.__setitem__(0, [{"count": 0}]), U.objects(id=1).count()],
}.items():

    def answered():
        session.answers = [[]]
        return work()

    show(f"answer nothing for {what}", answered)


def counted():
    asked()
    told = []
    for rows in (
        T.filter(**KEY),
        T.filter(**KEY).limit(3),
        T.filter(**KEY).order_by("c"),
        T.objects.only(["v"]),
        T.objects.distinct(["a"]),
    ):
        session.answers = [[{"count": 7}]]
        told.append((rows.count(), rows.count(), asked()))
    return told


show("counted", counted)
