"""Object mapper: tables by name, and models in other keyspaces and over other connections. Runs with any driver; see
mapper_named.txt."""

# mypy: ignore-errors

import datetime
import warnings

from cases import KEYSPACE, case, show
from mapping import items, many, mapped, sent, told, watched

from cassandra.cqlengine import columns, connection, functions, models
from cassandra.cqlengine.management import create_keyspace_simple, drop_keyspace, sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedColumn, NamedKeyspace, NamedTable
from cassandra.cqlengine.query import BatchQuery, ContextQuery, DoesNotExist, ModelQuerySet, MultipleObjectsReturned

warnings.simplefilter("ignore")
OTHER = f"{KEYSPACE}_other"


class Attempt(Model):
    __table_name__ = "attempts"
    test = columns.Integer(primary_key=True)
    number = columns.Integer(primary_key=True)
    text = columns.Text()
    result = columns.Integer(index=True)
    words = columns.Set(columns.Text)
    at = columns.DateTime()


class Mixed(Model):
    __table_name__ = "Mixed"
    __table_name_case_sensitive__ = True
    id = columns.Integer(primary_key=True)
    Name = columns.Text(db_field="The Name")


class Elsewhere(Model):
    __keyspace__ = OTHER
    id = columns.Integer(primary_key=True)
    text = columns.Text()


class Both(Model):
    id = columns.Integer(primary_key=True)
    text = columns.Text()


class OverOther(Model):
    __table_name__ = "both"
    __connection__ = "other"
    id = columns.Integer(primary_key=True)
    text = columns.Text()


class Own(ModelQuerySet):
    def short(self):
        return self.filter(number__lt=2)


class WithOwn(Attempt):
    __table_name__ = "attempts"
    __queryset__ = Own


def rows(queryset):
    return [(row.test, row.number) for row in queryset]


def over(function):
    """Over which connection statements go, and where to."""

    def run():
        seen = []
        with (
            watched(connection.get_session("default"), seen, lambda *call: f"default {told(*call)}"),
            watched(connection.get_session("other"), seen, lambda *call: f"other {told(*call)}"),
        ):
            try:
                result = function()
            except Exception as error:
                result = type(error).__name__
        return result, seen

    return run


with mapped() as session:
    create_keyspace_simple(OTHER, 1)
    connection.register_connection("other", session=session.cluster.connect())
    for model in (Attempt, Mixed, Elsewhere, Both):
        sync_table(model)
    sync_table(Both, keyspaces=[OTHER])
    for test in range(2):
        for number in range(3):
            Attempt.create(
                test=test,
                number=number,
                text=f"t{number}",
                result=number * 5,
                words={f"w{number}"},
                at=datetime.datetime(2024, 1, 1 + number),
            )
    Mixed.create(id=1, Name="n")

    # tables by name
    table = NamedTable(KEYSPACE, "attempts")
    keyspace = NamedKeyspace(KEYSPACE)
    for name, make in {
        "all": lambda: table.objects.all(),
        "called": lambda: table.objects(test=1),
        "filter": lambda: table.objects.filter(test=1, number__gt=0),
        "in": lambda: table.objects.filter(test__in=[0, 1], number=1),
        "column": lambda: table.objects.filter(table.column("test") == 1),
        "columns": lambda: table.objects(table.column("test") == 1, table.column("number") >= 1),
        "column in": lambda: table.objects.filter(table.column("test").in_([0, 1])),
        "column lt": lambda: table.objects.filter(table.column("test") == 1).filter(table.column("number") < 1),
        "index": lambda: table.objects.filter(result=5),
        "no index": lambda: table.objects.filter(text="t1").allow_filtering(),
        "contains": lambda: table.objects.filter(table.column("words").contains_("w1")).allow_filtering(),
        "contains by name": lambda: table.objects.filter(words__contains="w1").allow_filtering(),
        "limit": lambda: table.objects.filter(test=1).limit(2),
        "order": lambda: table.objects.filter(test=1).order_by("-number"),
        "only": lambda: table.objects.filter(test=1).only(["test", "number"]),
        "defer": lambda: table.objects.filter(test=1).defer(["text"]),
        "token": lambda: table.objects.filter(pk__token__gt=functions.Token(0)),
        "unknown": lambda: table.objects.filter(nothing=1),
        "of a keyspace": lambda: keyspace.table("attempts").objects(test=1),
        "fetch size": lambda: table.objects(test=1).fetch_size(1),
        "no text": lambda: table.objects(test="x"),
    }.items():
        show(f"named {name} text", lambda: str(make()))
        sent(f"named {name}", lambda: sorted((row["test"], row["number"]) for row in make()))
        show(f"named {name} again", lambda: len(list(make())))
    for name, ask in {
        "get": lambda: table.objects.get(test=1, number=1)["text"],
        "get nothing": lambda: table.objects.get(test=9, number=1),
        "get many": lambda: table.objects.get(test=1),
        "first": lambda: table.objects(test=1).first()["number"],
        "count": lambda: table.objects(test=1).count(),
        "len": lambda: len(table.objects(test=1)),
        "index": lambda: table.objects(test=1)[1]["number"],
        "slice": lambda: [row["number"] for row in table.objects(test=1)[1:]],
        "attribute": lambda: table.objects(test=1).first().text,
        "no attribute": lambda: table.objects(test=1).first().nothing,
        "no item": lambda: table.objects(test=1).first()["nothing"],
        "keys": lambda: sorted(table.objects(test=1).first().keys()),
        "type": lambda: type(table.objects(test=1).first()).__name__,
        "dictionary": lambda: sorted(dict(table.objects(test=1, number=1).first()).items(), key=lambda item: item[0]),
        "exceptions": lambda: (
            table.DoesNotExist is DoesNotExist,
            table.MultipleObjectsReturned is MultipleObjectsReturned,
            issubclass(table.DoesNotExist, DoesNotExist),
        ),
        "table name": lambda: (table.column_family_name(), table.name, table.keyspace),
        "column": lambda: (str(table.column("x")), type(table.column("x")).__name__, repr(NamedColumn("x").cql)),
        "case": lambda: [dict(row) for row in NamedTable(KEYSPACE, "Mixed").objects.all()],
        "case filter": lambda: [dict(row) for row in NamedTable(KEYSPACE, "Mixed").objects.filter(id=1)],
        "keyspace": lambda: keyspace.name,
        "no table": lambda: list(NamedTable(KEYSPACE, "nothing").objects.all()),
        "no keyspace": lambda: list(NamedTable("nothing", "nothing").objects.all()),
        "values list": lambda: list(table.objects(test=1).values_list("number")),
        "system": lambda: NamedTable("system", "local").objects.get(key="local")["key"],
        "consistency": lambda: len(table.objects(test=1).consistency(1)),
        "timeout": lambda: len(table.objects(test=1).timeout(30)),
        "distinct": lambda: sorted(row["test"] for row in table.objects.distinct(["test"])),
        "update": lambda: table.objects(test=1, number=2).update(text="new"),
        "delete": lambda: table.objects(test=1, number=2).delete(),
        "after delete": lambda: sorted((row["test"], row["number"]) for row in table.objects.all()),
    }.items():
        sent(f"named {name}", ask)
        show(f"named {name} again", ask)

    # a query set of one's own
    sent("own query set", lambda: rows(WithOwn.objects(test=0).short()))
    show("own query set type", lambda: (type(WithOwn.objects).__name__, type(WithOwn.objects(test=0)).__name__))

    # keyspaces and connections
    for name, function in {
        "keyspace of a model": lambda: items(Elsewhere.create(id=1, text="x")),
        "read from it": lambda: many(Elsewhere.objects(id=1)),
        "using a keyspace": lambda: items(Both.using(keyspace=OTHER).create(id=1, text="other")),
        "objects using a keyspace": lambda: many(Both.objects.using(keyspace=OTHER).filter(id=1)),
        "not there": lambda: many(Both.objects(id=1)),
        "using a connection": lambda: items(Both.using(connection="other").create(id=2, text="over")),
        "objects using a connection": lambda: many(Both.objects.using(connection="other").filter(id=2)),
        "using both": lambda: items(Both.objects.using(connection="other", keyspace=OTHER).create(id=3, text="both")),
        "get using": lambda: items(Both.objects.using(connection="other", keyspace=OTHER).get(id=3)),
        "instance using": lambda: (lambda row: items(row.using(connection="other").update(text="u")))(
            Both.create(id=4, text="x")
        ),
        "instance save using": lambda: (
            lambda row: (setattr(row, "text", "v"), items(row.using(connection="other").save()))
        )(Both.create(id=4, text="x"))[1],
        "instance delete using": lambda: Both.create(id=4, text="x").using(connection="other").delete(),
        "instance using a keyspace": lambda: Both(id=5).using(keyspace=OTHER),
        "update using": lambda: Both.objects(id=2).using(connection="other").update(text="w"),
        "delete using": lambda: Both.objects(id=2).using(connection="other").delete(),
        "delete using a keyspace": lambda: Both.objects(id=3).using(keyspace=OTHER).delete(),
        "using an unknown connection": lambda: Both.using(connection="nothing").create(id=1),
        "using an unknown keyspace": lambda: Both.using(keyspace="nothing").create(id=1),
        "connection of a model": lambda: items(OverOther.create(id=6, text="o")),
        "connection of a model read": lambda: many(OverOther.objects(id=6)),
        "connection of a model, using another": lambda: many(OverOther.using(connection="default").filter(id=6)),
        "count using": lambda: Both.objects.using(keyspace=OTHER).count(),
    }.items():
        show(name, over(function))

    def batch(**options):
        def run():
            with BatchQuery(**options) as b:
                Both.batch(b).create(id=10, text="b")
                Both.batch(b).create(id=11, text="b")

        return run

    def batch_of_others():
        with BatchQuery() as b:
            OverOther.batch(b).create(id=12, text="b")

    def batch_of_both():  # theirs needs no connection for that, and sends all to the one that is not the default one
        with BatchQuery(connection="other") as b:
            Both.batch(b).create(id=12, text="b")
            OverOther.batch(b).create(id=13, text="b")

    def batch_over_another():
        with BatchQuery(connection="other") as b:
            Both.batch(b).create(id=14, text="b")

    def batch_using():
        with BatchQuery() as b:
            Both.objects(id=14).using(connection="other").batch(b).update(text="c")

    for name, function in {
        "batch": batch(),
        "batch over a connection": batch(connection="other"),
        "batch of others": batch_of_others,
        "batch of both": batch_of_both,
        "batch over another": batch_over_another,
        "batch using": batch_using,
    }.items():
        show(name, over(function))

    # contexts
    def context(*args, **options):
        def run():
            with ContextQuery(*args, **options) as model:
                model.create(id=20, text="c")
                return (
                    [(row.id, row.text) for row in model.objects(id=20)],
                    model.__keyspace__,
                    model.__connection__,
                    model is args[0],
                )

        return run

    def two_models():
        with ContextQuery(Both, Elsewhere, keyspace=OTHER) as (one, two):
            one.create(id=21, text="c")
            two.create(id=22, text="c")
            return one.column_family_name(), two.column_family_name()

    def nested():
        with ContextQuery(Both, keyspace=OTHER) as outer, ContextQuery(outer, connection="other") as inner:
            return inner.__keyspace__, inner.__connection__, inner.objects(id=20).count()

    for name, function in {
        "keyspace": context(Both, keyspace=OTHER),
        "connection": context(Both, connection="other"),
        "both": context(Both, keyspace=OTHER, connection="other"),
        "nothing": context(Both),
        "two models": two_models,
        "nested": nested,
        "no model": context(5),
        "unknown keyspace": context(Both, keyspace="nothing"),
        "unknown connection": context(Both, connection="nothing"),
        "unknown option": context(Both, nothing=1),
    }.items():
        show(f"context {name}", over(function))
    show("after contexts", lambda: (Both.__keyspace__, Both.__connection__, Both.column_family_name()))

    @case("another default keyspace")
    def _():
        before = models.DEFAULT_KEYSPACE
        models.DEFAULT_KEYSPACE = OTHER
        try:
            return Both.column_family_name(), sorted(row.id for row in Both.objects.all())
        finally:
            models.DEFAULT_KEYSPACE = before

    @case("another default connection")
    def _():
        connection.set_default_connection("other")
        seen = []
        with watched(connection.get_session("other"), seen):
            list(Both.objects(id=1))
        connection.set_default_connection("default")
        return seen

    show("execute", lambda: list(connection.execute(f"SELECT id FROM {OTHER}.both WHERE id = %s", (1,))))
    show(
        "execute by name",
        lambda: list(
            connection.execute(f"SELECT id FROM {OTHER}.both WHERE id = %(id)s", {"id": 1}, connection="other")
        ),
    )
    show("execute over an unknown connection", lambda: connection.execute("SELECT", connection="nothing"), text=True)
    drop_keyspace(OTHER)
