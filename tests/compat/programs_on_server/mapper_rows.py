"""The object mapper over a server: what is written, what is read again, and what the server refuses."""

# mypy: ignore-errors
import datetime as dt
import os
import warnings
from decimal import Decimal
from uuid import UUID

from cases import KEYSPACE, connect, show

os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"

from cassandra.cqlengine import columns, connection, functions, models
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedTable
from cassandra.cqlengine.query import BatchQuery, BatchType, ContextQuery, LWTException

warnings.simplefilter("ignore")
models.DEFAULT_KEYSPACE = KEYSPACE
U1 = UUID("3d2a7f10-1dd1-11b2-8080-808080808080")


class Item(Model):
    __table_name__ = "items"
    part = columns.Integer(partition_key=True)
    ck = columns.Integer(primary_key=True, clustering_order="DESC")
    name = columns.Text(db_field="called")
    count = columns.Integer(default=5)
    shared = columns.Text(static=True)
    tags = columns.List(columns.Text)
    words = columns.Map(columns.Text, columns.Integer)
    marks = columns.Set(columns.Integer)
    pair = columns.Tuple(columns.Integer, columns.Text)
    kind = columns.Text(index=True)


class Every(Model):
    __table_name__ = "every"
    id = columns.Integer(primary_key=True)
    a = columns.Ascii()
    b = columns.Boolean()
    big = columns.BigInt()
    blob = columns.Blob()
    d = columns.Date()
    dec = columns.Decimal()
    dbl = columns.Double()
    dur = columns.Duration()
    f = columns.Float()
    inet = columns.Inet()
    sm = columns.SmallInt()
    t = columns.Time()
    ti = columns.TinyInt()
    ts = columns.DateTime()
    tu = columns.TimeUUID()
    u = columns.UUID()
    v = columns.VarInt()
    lists = columns.List(columns.Date)
    maps = columns.Map(columns.Text, columns.DateTime)
    sets = columns.Set(columns.Decimal)
    nested = columns.Map(columns.Integer, columns.List(columns.Text))
    frozen = columns.Set(columns.Text)
    tup = columns.Tuple(columns.Text, columns.Integer, columns.DateTime)


class Hits(Model):
    __table_name__ = "hits"
    id = columns.Integer(primary_key=True)
    n = columns.Counter()
    m = columns.Counter()


class Base(Model):
    __table_name__ = "family"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Base):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


class Dog(Base):
    __discriminator_value__ = "dog"
    tricks = columns.List(columns.Text)


class Own(Model):
    __table_name__ = "items"
    part = columns.Integer(partition_key=True)
    ck = columns.Integer(primary_key=True)
    name = columns.Text(db_field="called")

    def __init__(self, **values):
        self.seen = sorted(values)
        super().__init__(**values)


class Timed(Model):
    __table_name__ = "timed"
    id = columns.Integer(primary_key=True)
    at = columns.TimeUUID(primary_key=True)
    what = columns.Text()


class Missing(Model):
    id = columns.Integer(primary_key=True)


TABLES = [
    "items (part int, ck int, called text, count int, shared text static, tags list<text>, words map<text, int>,"
    " marks set<int>, pair frozen<tuple<int, text>>, kind text, extra text, PRIMARY KEY (part, ck))"
    " WITH CLUSTERING ORDER BY (ck DESC)",
    "every (id int PRIMARY KEY, a ascii, b boolean, big bigint, blob blob, d date, dec decimal, dbl double, dur duration,"
    " f float, inet inet, sm smallint, t time, ti tinyint, ts timestamp, tu timeuuid, u uuid, v varint,"
    " lists list<date>, maps map<text, timestamp>, sets set<decimal>, nested map<int, frozen<list<text>>>,"
    " frozen set<text>, tup frozen<tuple<text, int, timestamp>>)",
    "hits (id int PRIMARY KEY, n counter, m counter)",
    "family (id int PRIMARY KEY, kind text, lives int, tricks list<text>)",
    "timed (id int, at timeuuid, what text, PRIMARY KEY (id, at))",
]
FULL = dict(
    a="ascii", b=True, big=2**40, blob=b"\x00\xff", d=dt.date(2024, 2, 29), dec=Decimal("1.5"), dbl=1.5, f=0.5,
    inet="127.0.0.1", sm=-3, t=dt.time(1, 2, 3, 4), ti=5, ts=dt.datetime(2024, 1, 2, 3, 4, 5, 6000), tu=U1, u=UUID(int=5),
    v=10**30, lists=[dt.date(2020, 1, 1)], maps={"k": dt.datetime(2020, 1, 1)}, sets={Decimal("2.5")},
    nested={1: ["a", "b"]}, frozen={"x"}, tup=("a", 1, dt.datetime(2020, 1, 1)),
)  # fmt: skip


def row(part=1, ck=1):
    return Item.objects(part=part, ck=ck).first()


def refill():
    for ck in range(5):
        Item.create(part=9, ck=ck, name=f"n{ck}", kind="odd" if ck % 2 else "even")


def changed(**values):
    item = row()
    for name, value in values.items():
        setattr(item, name, value)
    item.save()
    return row()


def in_place():
    item = row()
    item.tags.append("z")
    item.tags.insert(0, "a0")
    item.marks.add(99)
    item.marks.discard(1)
    item.words["new"] = 7
    told = item.get_changed_columns()
    item.save()
    return told, row()


def batched():
    with BatchQuery() as batch:
        for i in range(3):
            Item.batch(batch).create(part=20, ck=i, name=str(i))
        Item.objects(part=20, ck=0).batch(batch).update(name="changed")
    return list(Item.objects(part=20))


def unlogged():
    with BatchQuery(batch_type=BatchType.Unlogged) as batch:
        Item.batch(batch).create(part=21, ck=1)
        Item.objects(part=20, ck=1).batch(batch).delete()
    return list(Item.objects(part=21)), len(Item.objects(part=20))


def counted():
    with BatchQuery(batch_type=BatchType.Counter) as batch:
        Hits.objects(id=5).batch(batch).update(n=4)
        Hits.objects(id=5).batch(batch).update(m=2)
    return Hits.get(id=5)


def stamped():
    with BatchQuery(timestamp=dt.datetime(2030, 1, 1)) as batch:
        Item.batch(batch).create(part=22, ck=1, name="late")
    Item.objects(part=22, ck=1).update(name="early")
    return Item.get(part=22, ck=1).name


def conditional_batch():
    with BatchQuery() as batch:
        Item.if_not_exists().batch(batch).create(part=20, ck=2)


def existing(work):
    def run():
        try:
            return work()
        except LWTException as error:
            return "LWTException", {k: v for k, v in error.existing.items() if v is not None}

    return run


def context():
    with ContextQuery(Item, keyspace=KEYSPACE) as Other:
        return Other.objects(part=1).count(), type(Other.objects(part=1).first()).__name__


def counter_up():
    hit = Hits.create(id=1)
    hit.update(n=3)
    hit.update(n=5, m=1)
    again = Hits.get(id=1)
    again.n -= 2
    again.save()
    return Hits.get(id=1), again


def polymorphic():
    Cat.create(id=1, lives=9)
    Dog.create(id=2, tricks=["sit"])
    found = sorted(Base.objects.all(), key=lambda one: one.id)
    return found, [type(one).__name__ for one in found], Cat.objects(id=1).first(), found[0].kind


def slices():
    rows = Item.objects(part=9)
    return [r.ck for r in rows[1:3]], rows[0].ck, rows[-1].ck, [r.ck for r in rows[::2]], len(rows)


def statics():
    Item.objects(part=9).update(shared="all")
    return {r.shared for r in Item.objects(part=9)}


with connect() as session:
    for table in TABLES:
        session.execute(f"CREATE TABLE {table}")
    session.execute("CREATE INDEX ON items (kind)")
    connection.set_session(session)
    CASES = {
        "create": lambda: Item.create(part=1, ck=1, name="x", tags=["a"], words={"k": 1}, marks={1, 2}, pair=(1, "p")),
        "get": lambda: Item.get(part=1, ck=1),
        "get by objects": lambda: Item.get(Item.part == 1, Item.ck == 1),
        "get missing": lambda: Item.get(part=1, ck=77),
        "create more": lambda: Item.create(part=1, ck=2, name="y"),
        "get many": lambda: Item.get(part=1),
        "first": lambda: Item.objects(part=1).first(),
        "first of none": lambda: Item.objects(part=77).first(),
        "defaults": lambda: (row(1, 2).count, row(1, 2).tags, row(1, 2).pair),
        "state": lambda: (row()._is_persisted, row().get_changed_columns()),
        "set": lambda: changed(name="new"),
        "set null": lambda: changed(name=None),
        "set several": lambda: changed(name="again", count=None, kind="k"),
        "set list": lambda: changed(tags=["a", "b", "c"]),
        "prepend": lambda: changed(tags=["0", "a", "b", "c"]),
        "replace list": lambda: changed(tags=["q"]),
        "empty list": lambda: changed(tags=[]),
        "list again": lambda: changed(tags=["m", "n"]),
        "set set": lambda: changed(marks={2, 3}),
        "empty set": lambda: changed(marks=set()),
        "set again": lambda: changed(marks={1, 5}),
        "set map": lambda: changed(words={"k": 2, "l": 3}),
        "empty map": lambda: changed(words={}),
        "map again": lambda: changed(words={"k": 5, "o": 6}),
        "tuple": lambda: changed(pair=(7, "seven")),
        "static": lambda: changed(shared="st"),
        "in place": in_place,
        "update of instance": lambda: row().update(name="u", count=9),
        "update nothing": lambda: row().update(),
        "update key": lambda: row().update(part=9),
        "update of set": lambda: Item.objects(part=1, ck=1).update(name="by set", count=3),
        "update of set to null": lambda: Item.objects(part=1, ck=1).update(name="q", kind=None),
        "after update": row,
        "update append": lambda: [Item.objects(part=1, ck=1).update(tags__append=["e"]), row().tags],
        "update prepend": lambda: [Item.objects(part=1, ck=1).update(tags__prepend=["1", "2"]), row().tags],
        "update add": lambda: [Item.objects(part=1, ck=1).update(marks__add={70}), row().marks],
        "update remove": lambda: [Item.objects(part=1, ck=1).update(marks__remove={70, 5}), row().marks],
        "update map update": lambda: [Item.objects(part=1, ck=1).update(words__update={"z": 1}), row().words],
        "update map remove": lambda: [Item.objects(part=1, ck=1).update(words__remove={"z"}), row().words],
        "update without key": lambda: Item.objects(part=1).update(name="x"),
        "update without any": lambda: Item.objects.update(name="x"),
        "refill": refill,
        "all of a partition": lambda: [(r.ck, r.name) for r in Item.objects(part=9)],
        "order": lambda: [r.ck for r in Item.objects(part=9).order_by("ck")],
        "order back": lambda: [r.ck for r in Item.objects(part=9).order_by("-ck")],
        "limit": lambda: [r.ck for r in Item.objects(part=9).limit(2)],
        "pages": lambda: [r.ck for r in Item.objects(part=9).fetch_size(2)],
        "pages indexed": lambda: Item.objects(part=9).fetch_size(2)[3].ck,
        "slices": slices,
        "range": lambda: [r.ck for r in Item.objects(part=9, ck__gt=1, ck__lte=3)],
        "in": lambda: [(r.part, r.ck) for r in Item.objects.filter(part__in=[1, 9], ck=1)],
        "in of clustering": lambda: [r.ck for r in Item.objects.filter(part=9, ck__in=[0, 4])],
        "index": lambda: sorted(r.ck for r in Item.objects.filter(kind="odd")),
        "filtering": lambda: sorted(r.ck for r in Item.objects.filter(name="n2").allow_filtering()),
        "no filtering": lambda: list(Item.objects.filter(name="n2")),
        "contains": lambda: [r.ck for r in Item.objects.filter(tags__contains="e").allow_filtering()],
        "token": lambda: sorted({r.part for r in Item.objects.filter(pk__token__gt=functions.Token(-(2**31)))}) != [],
        "token of row": lambda: Item.objects.filter(pk__token__lte=functions.Token(9)).limit(1)[:] != [],
        "count": lambda: (
            Item.objects(part=9).count(),
            Item.objects(part=9).limit(2).count(),
            Item.objects.count() > 5,
        ),
        "only": lambda: [(r.ck, r.name, r.count) for r in Item.objects(part=9).only(["ck", "name"])],
        "defer": lambda: [(r.ck, r.name) for r in Item.objects(part=9).defer(["name"])],
        "values_list": lambda: [list(r) for r in Item.objects(part=9).values_list("ck", "name")],
        "values_list flat": lambda: list(Item.objects(part=9).values_list("ck", flat=True)),
        "values_list of containers": lambda: [
            list(r) for r in Item.objects(part=1, ck=1).values_list("tags", "marks", "words")
        ],
        "distinct": lambda: sorted(r.part for r in Item.objects.distinct(["part"])),
        "distinct alone": lambda: sorted(r.part for r in Item.objects.distinct()),
        "static of partition": statics,
        "unknown column of the table": lambda: Item.objects.filter(Item.part == 9).first(),
        "own init": lambda: [(r.seen, r.name) for r in Own.objects(part=9).limit(1)],
        "consistency": lambda: Item.objects.consistency(1).get(part=1, ck=1).ck,
        "timeout": lambda: Item.objects.timeout(60).get(part=1, ck=1).ck,
        "ttl": lambda: Item.ttl(1000).create(part=30, ck=1, name="short").name,
        "ttl is set": lambda: (
            session.execute("SELECT TTL(called) AS t FROM items WHERE part=30 AND ck=1").one()["t"] > 900
        ),
        "ttl of update": lambda: Item.objects(part=30, ck=1).ttl(5000).update(name="longer"),
        "ttl of update is set": lambda: (
            session.execute("SELECT TTL(called) AS t FROM items WHERE part=30 AND ck=1").one()["t"] > 4000
        ),
        "timestamp": lambda: Item.objects.timestamp(123).create(part=31, ck=1, name="old").name,
        "timestamp is set": lambda: session.execute(
            "SELECT WRITETIME(called) AS t FROM items WHERE part=31 AND ck=1"
        ).one()["t"],
        "timestamp of delete": lambda: [
            Item.objects(part=31, ck=1).timestamp(100).delete(),
            Item.objects(part=31).count(),
        ],
        "if_not_exists": existing(lambda: Item.if_not_exists().create(part=40, ck=1, name="first")),
        "if_not_exists again": existing(lambda: Item.if_not_exists().create(part=40, ck=1, name="second")),
        "if_exists": existing(lambda: Item.objects(part=40, ck=1).if_exists().update(name="third")),
        "if_exists not": existing(lambda: Item.objects(part=40, ck=2).if_exists().update(name="third")),
        "iff": existing(lambda: Item.objects(part=40, ck=1).iff(name="third").update(name="fourth")),
        "iff not": existing(lambda: Item.objects(part=40, ck=1).iff(name="third").update(name="fifth")),
        "iff in": existing(lambda: Item.objects(part=40, ck=1).iff(name__in=["fourth", "x"]).update(count=1)),
        "iff ne": existing(lambda: Item.objects(part=40, ck=1).iff(name__ne="fourth").update(count=2)),
        "iff of instance": existing(lambda: Item.get(part=40, ck=1).iff(count=1).update(count=7)),
        "iff delete not": existing(lambda: Item.objects(part=40, ck=1).iff(count=1).delete()),
        "if_exists delete": existing(lambda: Item.objects(part=40, ck=1).if_exists().delete()),
        "if_exists delete not": existing(lambda: Item.objects(part=40, ck=1).if_exists().delete()),
        "batch": batched,
        "batch unlogged": unlogged,
        "batch of counters": counted,
        "batch with timestamp": stamped,
        "batch refused": existing(conditional_batch),
        "delete": lambda: [row(1, 2).delete(), Item.objects(part=1).count()],
        "delete of set": lambda: [Item.objects(part=9, ck=0).delete(), Item.objects(part=9).count()],
        "delete range": lambda: [Item.objects(part=9, ck__gt=3).delete(), Item.objects(part=9).count()],
        "delete partition": lambda: [Item.objects(part=9).delete(), Item.objects(part=9).count()],
        "every": lambda: Every.create(id=1, **FULL),
        "every read": lambda: [(n, type(v).__name__, v) for n, v in Every.get(id=1).items()],
        "every null": lambda: [Every.create(id=2), Every.get(id=2)][1],
        "every unchanged": lambda: (lambda e: (e.get_changed_columns(), list(e.values()) and e.get_changed_columns()))(
            Every.get(id=1)
        ),
        "every by values_list": lambda: [
            list(r) for r in Every.objects(id=1).values_list("d", "t", "ts", "sets", "nested", "tup")
        ],
        "every rewritten": lambda: (
            lambda e: [
                e.nested.update({2: ["c"]}),
                e.lists.append(dt.date(2021, 1, 1)),
                e.maps.pop("k"),
                e.save(),
                Every.get(id=1) == e,
                Every.get(id=1).nested,
            ]
        )(Every.get(id=1)),
        "every equal": lambda: Every.get(id=1) == Every.get(id=1),
        "every type error": lambda: Every.create(id="x"),
        "every text for a number": lambda: Every.objects(id=3).update(big="x"),
        "wrong type to the server": lambda: list(Every.objects.filter(id__in=["x"])),
        "counters": counter_up,
        "counter of set": lambda: [Hits.objects(id=1).update(n=2), Hits.get(id=1)][1],
        "counter delete": lambda: [Hits.get(id=1).delete(), Hits.objects(id=1).count()],
        "polymorphic": polymorphic,
        "polymorphic update": lambda: [Cat.get(id=1).update(lives=8), Cat.get(id=1).lives][1],
        "time": lambda: [
            Timed.create(id=1, at=U1, what="x"),
            Timed.objects(id=1, at__gte=functions.MinTimeUUID(dt.datetime(1970, 1, 1))).count(),
            Timed.objects(id=1, at__lt=functions.MaxTimeUUID(dt.datetime(1960, 1, 1))).count(),
        ],
        "named": lambda: [dict(r) for r in NamedTable(KEYSPACE, "timed").objects.filter(id=1)],
        "named get": lambda: NamedTable(KEYSPACE, "timed").get(id=1).what,
        "named count": lambda: NamedTable(KEYSPACE, "timed").objects.count(),
        "named delete": lambda: [
            NamedTable(KEYSPACE, "timed").objects.filter(id=1).delete(),
            NamedTable(KEYSPACE, "timed").objects.count(),
        ],
        "context": context,
        "missing table": lambda: list(Missing.objects),
        "missing table create": lambda: Missing.create(id=1),
        "missing keyspace": lambda: list(Item.objects.using(keyspace="nowhere_to_be_found")),
        "execute": lambda: [
            dict(r) for r in connection.execute("SELECT part, ck FROM items WHERE part = %(0)s", {"0": 20})
        ],
        "execute with level": lambda: (
            len(list(connection.execute(f"SELECT * FROM {KEYSPACE}.items", consistency_level=1))) > 0
        ),
        "save without key": lambda: Item(name="x").save(),
        "delete without key": lambda: Item(name="x").delete(),
        "save static only": lambda: [Item(part=50, shared="alone").save(), Item.objects(part=50).first().shared],
        "save again is nothing": lambda: row().save().get_changed_columns(),
    }
    for name, work in CASES.items():
        show(name, work)
