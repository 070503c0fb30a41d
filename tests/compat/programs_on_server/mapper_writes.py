"""Object mapper: conditions, batches, times to live, timestamps, options of writes. Runs with any driver; see
mapper_writes.txt."""

# mypy: ignore-errors

import datetime
import warnings

from cases import case, show
from mapping import items, many, mapped, sent, told

from cassandra import ConsistencyLevel
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, BatchType, LWTException

warnings.simplefilter("ignore")


class Item(Model):
    __table_name__ = "items"
    part = columns.Integer(primary_key=True)
    id = columns.Integer(primary_key=True)
    count = columns.Integer()
    text = columns.Text()
    words = columns.Set(columns.Text)
    numbers = columns.List(columns.Integer)
    pairs = columns.Map(columns.Text, columns.Integer)


class Living(Model):
    __options__ = {"default_time_to_live": 3600}
    id = columns.Integer(primary_key=True)
    text = columns.Text()


class Single(Model):
    id = columns.Integer(primary_key=True)
    text = columns.Text()
    number = columns.Integer()


class Tally(Model):
    id = columns.Integer(primary_key=True)
    n = columns.Counter()


def item(id=1, **values):
    return Item.create(part=1, id=id, **{"count": 5, "text": "x", **values})


def answered(function):
    """What a conditional write returns, or what kept it from being applied."""

    def run():
        try:
            result = function()
        except LWTException as error:
            return "not applied", dict(error.existing), str(error)
        return items(result) if isinstance(result, Model) else result

    return run


def consistency_told(query, parameters, kwargs):
    level, serial = query.consistency_level, query.serial_consistency_level
    return f"{told(query, parameters, kwargs)} | {level} {serial} {kwargs.get('timeout') if isinstance(kwargs.get('timeout'), (int, float)) else ''}"


def ttl_of(column="text", **key):
    where = " AND ".join(f"{name} = {value}" for name, value in key.items())
    row = (
        connection.get_session()
        .execute(
            f"SELECT ttl({column}) AS ttl, writetime({column}) AS time FROM {Item.column_family_name()} WHERE {where}"
        )
        .one()
    )
    return row and (row["ttl"], row["time"])


with mapped() as session:
    for model in (Item, Living, Single, Tally):
        sync_table(model)

    # conditions
    conditions = {
        "create if not exists": lambda: Item.if_not_exists().create(part=1, id=50, count=1),
        "create if not exists again": lambda: Item.if_not_exists().create(part=1, id=50, count=2),
        "objects if not exists": lambda: Item.objects.if_not_exists().create(part=1, id=51, count=2),
        "save if not exists": lambda: Item(part=1, id=52, count=1).if_not_exists().save(),
        "save if not exists again": lambda: Item(part=1, id=52, count=1).if_not_exists().save(),
        "if not exists False": lambda: Item.if_not_exists(False).create(part=1, id=52, count=3),
        "update if exists": lambda: item().if_exists().update(text="y"),
        "update if exists and there is none": lambda: Item(part=1, id=99).if_exists().update(text="y"),
        "save if exists": lambda: (lambda row: (setattr(row, "count", 9), row.if_exists().save())[1])(item()),
        "set if exists": lambda: Item.objects(part=1, id=1).if_exists().update(text="z"),
        "set if exists and there is none": lambda: Item.objects(part=1, id=99).if_exists().update(text="z"),
        "delete if exists": lambda: item().if_exists().delete(),
        "delete if exists and there is none": lambda: Item(part=1, id=99).if_exists().delete(),
        "set delete if exists": lambda: (item(), Item.objects(part=1, id=1).if_exists().delete())[1],
        "set delete if exists and there is none": lambda: Item.objects(part=1, id=99).if_exists().delete(),
        "iff": lambda: item().iff(count=5).update(text="iff"),
        "iff not": lambda: item().iff(count=6).update(text="iff"),
        "iff two": lambda: item().iff(count=5, text="x").update(text="iff"),
        "iff two not": lambda: item().iff(count=5, text="q").update(text="iff"),
        "iff None": lambda: item(count=None).iff(count=None).update(text="iff"),
        "iff gt": lambda: item().iff(count__gt=4).update(text="iff"),
        "iff lte not": lambda: item().iff(count__lte=4).update(text="iff"),
        "iff ne": lambda: item().iff(count__ne=4).update(text="iff"),
        "iff and None": lambda: item().iff(count=5).update(text=None),
        "iff save": lambda: (lambda row: (setattr(row, "text", "s"), row.iff(count=5).save())[1])(item()),
        "iff delete": lambda: item().iff(count=5).delete(),
        "iff delete not": lambda: item().iff(count=6).delete(),
        "iff of a set": lambda: (item(), Item.objects(part=1, id=1).iff(count=5).update(text="iff"))[1],
        "iff of a set not": lambda: (item(), Item.objects(part=1, id=1).iff(count=6).update(text="iff"))[1],
        "iff unknown": lambda: item().iff(nothing=6).update(text="iff"),
        "iff of a key": lambda: item().iff(id=1).update(text="iff"),
        "iff of a set column": lambda: item(words={"a"}).iff(words={"a"}).update(text="iff"),
        "class iff": lambda: Item.iff(count=5).create(part=1, id=60),
    }
    for name, function in conditions.items():
        sent(name, answered(function))
    Item.objects(part=1).delete()
    for name, function in conditions.items():
        show(f"{name} again", answered(function))
    show("after conditions", lambda: many(Item.objects(part=1)))
    show("exception", lambda: (LWTException.__mro__[1].__name__, issubclass(LWTException, Exception)))

    # times to live and timestamps
    stamp = 1_600_000_000_000_000
    moment = datetime.datetime(2020, 9, 13, 12, 26, 40)
    for name, function in {
        "ttl create": lambda: Item.ttl(1000).create(part=2, id=1, text="x"),
        "ttl instance": lambda: (lambda row: (setattr(row, "text", "y"), row.ttl(2000).save())[1])(
            Item.get(part=2, id=1)
        ),
        "ttl update": lambda: Item.get(part=2, id=1).ttl(3000).update(text="z"),
        "ttl set": lambda: Item.objects(part=2, id=1).ttl(4000).update(text="q"),
        "ttl None": lambda: Item.objects(part=2, id=1).ttl(None).update(text="r"),
        "ttl zero": lambda: Item.ttl(0).create(part=2, id=5, text="x"),
        "ttl all": lambda: Item.objects.ttl(500).create(part=2, id=2, text="x"),
        "ttl of a default": lambda: Living.create(id=1, text="x"),
        "ttl over a default": lambda: Living.ttl(60).create(id=2, text="x"),
        "timestamp create": lambda: Item.timestamp(stamp).create(part=2, id=3, text="x"),
        "timestamp create of a datetime": lambda: Item.timestamp(moment).create(part=2, id=4, text="x"),
        "timestamp instance": lambda: Item.get(part=2, id=3).timestamp(stamp + 1).update(text="y"),
        "timestamp set": lambda: Item.objects(part=2, id=3).timestamp(stamp + 2).update(text="z"),
        "timestamp delete": lambda: Item.objects(part=2, id=3).timestamp(stamp).delete(),
        "timestamp instance delete": lambda: Item.get(part=2, id=3).timestamp(stamp + 1).delete(),
        "timestamp save": lambda: Item(part=2, id=6, text="x").timestamp(stamp).save(),
        "both": lambda: Item.ttl(77).timestamp(stamp).create(part=2, id=7, text="x"),
        "both of a set": lambda: Item.objects(part=2, id=7).ttl(88).timestamp(stamp + 9).update(text="y"),
    }.items():
        sent(name, function, what=lambda query, parameters, kwargs: told(query, parameters, kwargs))
    for id in range(1, 8):
        show(
            f"ttl of {id}",
            lambda: (
                lambda known: (
                    known
                    and (
                        known[0] and (known[0] + 25) // 50,
                        (known[1] or 0) - stamp if (known[1] or 0) < stamp + 100 else None,
                    )
                )
            )(ttl_of(part=2, id=id)),
        )
    show("timestamps read", lambda: [(row.id, row.text) for row in Item.objects(part=2)])

    @case("a timedelta is from now")
    def _():
        Item.timestamp(datetime.timedelta(seconds=-100)).create(part=2, id=8, text="x")
        now = session.execute(
            f"SELECT writetime(text) AS w FROM {Item.column_family_name()} WHERE part = 2 AND id = 8"
        ).one()["w"]
        return abs(now / 1e6 - datetime.datetime.now().timestamp() + 100) < 60

    # consistency, timeout
    for name, function in {
        "consistency set": lambda: list(Item.objects(part=1).consistency(ConsistencyLevel.ONE)),
        "consistency update": lambda: Item.objects(part=1, id=1).consistency(ConsistencyLevel.QUORUM).update(text="x"),
        "consistency delete": lambda: Item.objects(part=1, id=1).consistency(ConsistencyLevel.ALL).delete(),
        "consistency create": lambda: Item.consistency(ConsistencyLevel.ALL).create(part=1, id=1) and None,
        "consistency objects create": lambda: (
            Item.objects.consistency(ConsistencyLevel.ALL).create(part=1, id=1) and None
        ),
        "consistency instance": lambda: (
            lambda row: row.consistency(ConsistencyLevel.QUORUM).update(text="c") and None
        )(item()),
        "consistency stays": lambda: (
            lambda row: (
                row.consistency(ConsistencyLevel.QUORUM),
                setattr(row, "text", "v"),
                row.save(),
                setattr(row, "text", "w"),
                row.save(),
                None,
            )[-1]
        )(item()),
        "timeout set": lambda: list(Item.objects(part=1).timeout(33)),
        "timeout update": lambda: Item.objects(part=1, id=1).timeout(33).update(text="x"),
        "timeout create": lambda: Item.objects.timeout(33).create(part=1, id=1) and None,
        "timeout instance": lambda: (lambda row: (setattr(row, "text", "v"), row.timeout(34).save(), None)[-1])(item()),
        "timeout None": lambda: list(Item.objects(part=1).timeout(None)),
        "timeout get": lambda: Item.objects(part=1).timeout(35).first() and None,
        "timeout count": lambda: Item.objects(part=1).timeout(36).count(),
        "consistency count": lambda: Item.objects(part=1).consistency(ConsistencyLevel.ONE).count(),
    }.items():
        sent(name, function, what=consistency_told)

    # batches
    def batch(**options):
        return BatchQuery(**options)

    def created():
        with batch() as b:
            Item.batch(b).create(part=3, id=1, text="a")
            Item.batch(b).create(part=3, id=2, text="b", count=2)
        return many(Item.objects(part=3))

    def mixed():
        with batch() as b:
            row = Item.batch(b).create(part=3, id=3, text="a")
            row.batch(b).text = "changed"
            row.batch(b).save()
            Item.objects(part=3, id=1).batch(b).update(text="by set")
            Item.objects(part=3, id=2).batch(b).delete()
        return many(Item.objects(part=3))

    def of_instances():
        one, two = Item.get(part=3, id=1), Item.get(part=3, id=3)
        with batch() as b:
            one.batch(b).update(text="one", count=None)
            two.batch(b).delete()
        return many(Item.objects(part=3))

    def none():
        with batch():
            pass

    def failing():
        with batch() as b:
            Item.batch(b).create(part=3, id=9)
            raise KeyError("x")

    def failing_but_executed():
        with batch(execute_on_exception=True) as b:
            Item.batch(b).create(part=3, id=9)
            raise KeyError("x")

    def by_hand():
        b = batch()
        Item.batch(b).create(part=3, id=10)
        b.execute()
        return [row.id for row in Item.objects(part=3)]

    def twice():
        b = batch()
        Item.batch(b).create(part=3, id=10)
        b.execute()
        Item.batch(b).create(part=3, id=11)
        b.execute()

    def unlogged(kind):
        def run():
            with batch(batch_type=kind) as b:
                Item.batch(b).create(part=3, id=12)

        return run

    def counting():
        with batch(batch_type=BatchType.Counter) as b:
            Tally.objects(id=1).batch(b).update(n=1)
            Tally.objects(id=2).batch(b).update(n=2)
        return sorted((row.id, row.n) for row in Tally.objects.all())

    def with_options(**options):
        def run():
            with batch(**options) as b:
                Item.batch(b).create(part=3, id=13, text="t")
                Item.batch(b).create(part=3, id=14, text="t")

        return run

    def with_ttl():
        with batch() as b:
            Item.batch(b).ttl(1000).create(part=3, id=15, text="t")
            Item.objects(part=3, id=13).batch(b).ttl(1000).update(text="u")
            Item.timestamp(datetime.timedelta(seconds=5)).batch(b).create(part=3, id=16)

    def conditional(again):
        def run():
            with batch() as b:
                Item.if_not_exists().batch(b).create(part=4, id=1, text="a")
                Item.batch(b).create(part=4, id=2)

        return run

    def conditional_update(count):
        def run():
            row = Item.get(part=4, id=2)
            with batch() as b:
                row.batch(b).iff(count=count).update(text="c")

        return run

    def callbacks():
        seen = []
        b = batch()
        b.add_callback(lambda *args, **kwargs: seen.append((args, kwargs)), 1, two=2)
        with b:
            Item.batch(b).create(part=3, id=20)
            seen.append("in")
        return seen

    def callback_that_is_none():
        batch().add_callback(5)

    def callbacks_without_statements():
        seen = []
        with batch() as b:
            b.add_callback(seen.append, 1)
        return seen

    def callbacks_after_failure():
        seen = []
        try:
            with batch() as b:
                b.add_callback(seen.append, 1)
                Item.batch(b).create(part=3, id=21)
                raise KeyError
        except KeyError:
            return seen

    def not_a_batch():
        Item.batch(5)

    def reading():
        with batch() as b:
            return list(Item.objects(part=3).batch(b))

    for name, function in {
        "created": created,
        "mixed": mixed,
        "of instances": of_instances,
        "none": none,
        "failing": failing,
        "failing but executed": failing_but_executed,
        "by hand": by_hand,
        "twice": twice,
        "unlogged": unlogged(BatchType.Unlogged),
        "a text": unlogged("UNLOGGED"),
        "counting": counting,
        "consistency": with_options(consistency=ConsistencyLevel.ALL),
        "timeout": with_options(timeout=44),
        "timestamp": with_options(timestamp=stamp),
        "timestamp of a datetime": with_options(timestamp=moment),
        "timestamp of a text": with_options(timestamp="x"),
        "with ttl": None,
        "conditional": conditional(False),
        "conditional again": conditional(True),
        "conditional update": conditional_update(None),
        "conditional update not": conditional_update(5),
        "callbacks": callbacks,
        "callback that is none": callback_that_is_none,
        "callbacks without statements": callbacks_without_statements,
        "callbacks after failure": callbacks_after_failure,
        "not a batch": not_a_batch,
        "reading": reading,
    }.items():
        if function is not None:
            sent(f"batch {name}", answered(function), what=consistency_told)
            show(f"batch {name} again", answered(function))
    show("batch with ttl", with_ttl)
    show("batch with ttl read", lambda: ttl_of(part=3, id=15)[0] // 50)
    show("after batches", lambda: [(row.part, row.id, row.text, row.count) for row in Item.objects(part__in=[3, 4])])
    sent("insert without nulls", lambda: Single.create(id=1, text=None, number=5) and None)
    sent("insert of all nulls", lambda: Single.create(id=2) and None)
    sent("saved with a null", lambda: Single(id=1, text=None, number=6).save() and None)
    show("tombstones", lambda: sorted((row.id, row.text, row.number) for row in Single.objects.all()))
