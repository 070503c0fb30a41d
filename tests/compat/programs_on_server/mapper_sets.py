"""Object mapper: query sets. Runs with any driver; see mapper_sets.txt."""

# mypy: ignore-errors

import datetime
import uuid
import warnings

from cases import case, show
from mapping import items, many, mapped, sent

from cassandra.cqlengine import columns, functions
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import DoesNotExist, MultipleObjectsReturned, QueryException
from cassandra.util import max_uuid_from_time, min_uuid_from_time

warnings.simplefilter("ignore")  # indices may not be negative in 4.0


class Attempt(Model):
    __table_name__ = "attempts"
    test = columns.Integer(primary_key=True)
    number = columns.Integer(primary_key=True)
    description = columns.Text()
    expected = columns.Integer()
    result = columns.Integer(index=True)
    words = columns.Set(columns.Text, index=True)


class Descending(Model):
    part = columns.Integer(partition_key=True)
    other = columns.Text(partition_key=True)
    first = columns.Integer(primary_key=True, clustering_order="DESC")
    second = columns.Text(primary_key=True)
    value = columns.Integer()
    shared = columns.Text(static=True)


class Event(Model):
    name = columns.Text(primary_key=True)
    at = columns.TimeUUID(primary_key=True)
    what = columns.Text()


class Renamed(Model):
    key = columns.Integer(primary_key=True, db_field="k")
    order = columns.Integer(primary_key=True, db_field="o")
    value = columns.Text(db_field="v")
    custom = columns.Text(custom_index=True, db_field="c")


def rows(queryset):
    return [(row.test, row.number, row.expected) for row in queryset]


def numbers(queryset):
    return [row.number for row in queryset]


def uuid_at(second):
    return min_uuid_from_time(1_700_000_000 + second)


FILTERS = {
    "all": lambda: Attempt.objects.all(),
    "class all": lambda: Attempt.all(),
    "class filter": lambda: Attempt.filter(test=1),
    "called": lambda: Attempt.objects(test=1),
    "equal": lambda: Attempt.objects.filter(test=1),
    "two": lambda: Attempt.objects.filter(test=1, number=2),
    "chained": lambda: Attempt.objects.filter(test=1).filter(number=2),
    "gt": lambda: Attempt.objects.filter(test=1, number__gt=1),
    "gte": lambda: Attempt.objects.filter(test=1, number__gte=1),
    "lt": lambda: Attempt.objects.filter(test=1, number__lt=1),
    "lte": lambda: Attempt.objects.filter(test=1, number__lte=1),
    "range": lambda: Attempt.objects.filter(test=1, number__gt=0, number__lte=2),
    "in": lambda: Attempt.objects.filter(test__in=[0, 2]),
    "in tuple": lambda: Attempt.objects.filter(test__in=(0, 2)),
    "in set": lambda: Attempt.objects.filter(test__in={2}),
    "in empty": lambda: Attempt.objects.filter(test__in=[]),
    "in one": lambda: Attempt.objects.filter(test__in=[1], number__in=[0, 1]),
    "in generator": lambda: Attempt.objects.filter(test__in=(n for n in (1,))),
    "in no list": lambda: Attempt.objects.filter(test__in=5),
    "in texts": lambda: Attempt.objects.filter(test__in=["1"]),
    "equal text": lambda: Attempt.objects.filter(test="1"),
    "equal nonsense": lambda: Attempt.objects.filter(test="x"),
    "equal None": lambda: Attempt.objects.filter(test=None),
    "index": lambda: Attempt.objects.filter(result=3),
    "no index": lambda: Attempt.objects.filter(expected=3),
    "no index allowed": lambda: Attempt.objects.filter(expected=3).allow_filtering(),
    "allow first": lambda: Attempt.objects.allow_filtering().filter(expected=3),
    "ne": lambda: Attempt.objects.filter(test=1, number__ne=1),
    "contains": lambda: Attempt.objects.filter(words__contains="w1"),
    "contains twice": lambda: Attempt.objects.filter(test=1, words__contains="w1").allow_filtering(),
    "contains of a text": lambda: Attempt.objects.filter(description__contains="x"),
    "like": lambda: Attempt.objects.filter(description__like="%x").allow_filtering(),
    "unknown column": lambda: Attempt.objects.filter(nothing=1),
    "unknown operator": lambda: Attempt.objects.filter(test__nothing=1),
    "two underscores": lambda: Attempt.objects.filter(test__gt__lt=1),
    "no key": lambda: Attempt.objects.filter(number=1),
    "clustering only": lambda: Attempt.objects.filter(number__gt=1),
    "token gt": lambda: Attempt.objects.filter(pk__token__gt=functions.Token(1)),
    "token of an int": lambda: Attempt.objects.filter(pk__token__gt=5),
    "token of two": lambda: Attempt.objects.filter(pk__token__gt=functions.Token(1, 2)),
    "pk without token": lambda: Attempt.objects.filter(pk=1),
    "expression": lambda: Attempt.objects.filter(Attempt.test == 1),
    "expressions": lambda: Attempt.objects.filter(Attempt.test == 1, Attempt.number >= 2),
    "expression in": lambda: Attempt.objects.filter(Attempt.test.in_([1, 2])),
    "expression lt": lambda: Attempt.objects.filter(Attempt.test == 1).filter(Attempt.number < 2),
    "expression gt": lambda: Attempt.objects.filter(Attempt.test == 1, Attempt.number > 2),
    "expression le": lambda: Attempt.objects.filter(Attempt.test == 1, Attempt.number <= 2),
    "expression contains": lambda: Attempt.objects.filter(Attempt.words.contains_("w1")),
    "expression like": lambda: Attempt.objects.filter(Attempt.description.like("%x")).allow_filtering(),
    "expression not null": lambda: Attempt.objects.filter(Attempt.description.is_not_null()).allow_filtering(),
    "no expression": lambda: Attempt.objects.filter(5),
    "called with an expression": lambda: Attempt.objects(Attempt.test == 1, number=1),
    "is not null": lambda: Attempt.objects.filter(test=1, description__isnotnull=True).allow_filtering(),
    "same twice": lambda: Attempt.objects.filter(test=1).filter(test=2),
    "limit": lambda: Attempt.objects.filter(test=1).limit(2),
    "limit none": lambda: Attempt.objects.filter(test=1).limit(None),
    "limit zero": lambda: Attempt.objects.filter(test=1).limit(0),
    "limit negative": lambda: Attempt.objects.filter(test=1).limit(-1),
    "limit text": lambda: Attempt.objects.filter(test=1).limit("2"),
    "fetch size": lambda: Attempt.objects.filter(test=1).fetch_size(2),
    "fetch size zero": lambda: Attempt.objects.filter(test=1).fetch_size(0),
    "fetch size text": lambda: Attempt.objects.filter(test=1).fetch_size("2"),
    "order": lambda: Attempt.objects.filter(test=1).order_by("number"),
    "order down": lambda: Attempt.objects.filter(test=1).order_by("-number"),
    "order of nothing": lambda: Attempt.objects.filter(test=1).order_by("nothing"),
    "order of no key": lambda: Attempt.objects.filter(test=1).order_by("expected"),
    "order of partition": lambda: Attempt.objects.filter(test=1).order_by("test"),
    "order by none": lambda: Attempt.objects.filter(test=1).order_by("number").order_by(),
    "order without key": lambda: Attempt.objects.order_by("number"),
    "order all": lambda: Attempt.objects.all().order_by("-number"),
    "distinct": lambda: Attempt.objects.distinct(),
    "distinct of key": lambda: Attempt.objects.distinct(["test"]),
    "distinct of others": lambda: Attempt.objects.distinct(["number"]),
    "only": lambda: Attempt.objects.filter(test=1).only(["number", "test", "expected"]),
    "consistency": lambda: Attempt.objects.filter(test=1).consistency(1),
    "timeout": lambda: Attempt.objects.filter(test=1).timeout(50),
    "using nothing": lambda: Attempt.objects.filter(test=1).using(),
}
COUNTS = {
    "all": lambda: Attempt.objects.count(),
    "class": lambda: Attempt.objects.all().count(),
    "of one": lambda: Attempt.objects.filter(test=1).count(),
    "len": lambda: len(Attempt.objects.filter(test=1)),
    "limited": lambda: Attempt.objects.filter(test=1).limit(2).count(),
    "cached": lambda: (lambda q: (len(q), q.count()))(Attempt.objects.filter(test=1)),
    "iterated": lambda: (lambda q: (len(list(q)), len(list(q))))(Attempt.objects.filter(test=1)),
    "of filtered": lambda: Attempt.objects.filter(expected=3).allow_filtering().count(),
    "distinct": lambda: Attempt.objects.distinct(["test"]).count(),
    "ordered": lambda: Attempt.objects.filter(test=1).order_by("-number").count(),
    "bool": lambda: bool(Attempt.objects.filter(test=99)),
}
SLICES = {
    "0": lambda q: q[0].number,
    "1": lambda q: q[1].number,
    "-1": lambda q: q[-1].number,
    "9": lambda q: q[9],
    ":2": lambda q: numbers(q[:2]),
    "1:3": lambda q: numbers(q[1:3]),
    "2:": lambda q: numbers(q[2:]),
    ":-1": lambda q: numbers(q[:-1]),
    "-2:": lambda q: numbers(q[-2:]),
    "::2": lambda q: numbers(q[::2]),
    "9:": lambda q: numbers(q[9:]),
    "twice": lambda q: (q[0].number, q[2].number, q[1].number),
    "then list": lambda q: (q[1].number, numbers(q)),
    "while iterated": lambda q: [(row.number, q[0].number) for row in q],
    "limited": lambda q: numbers(q.limit(2)[:3]),
}
GETS = {
    "one": lambda: items(Attempt.objects.get(test=1, number=1)),
    "class": lambda: items(Attempt.get(test=1, number=1)),
    "chained": lambda: items(Attempt.objects.filter(test=1).get(number=1)),
    "nothing": lambda: Attempt.get(test=99, number=1),
    "many": lambda: Attempt.get(test=1),
    "without": lambda: Attempt.objects.filter(test=1, number=1).get().number,
    "first": lambda: Attempt.objects.filter(test=1).first().number,
    "first of nothing": lambda: Attempt.objects.filter(test=99).first(),
    "first of class": lambda: Attempt.objects.first() is not None,
    "expression": lambda: Attempt.objects.get(Attempt.test == 1, Attempt.number == 2).number,
    "ordered": lambda: Attempt.objects.filter(test=1).order_by("-number").first().number,
    "limited": lambda: Attempt.objects.filter(test=1).limit(1).get().number,
}
VALUES = {
    "two": lambda: list(Attempt.objects.filter(test=1).values_list("number", "expected")),
    "flat": lambda: list(Attempt.objects.filter(test=1).values_list("number", flat=True)),
    "flat of two": lambda: list(Attempt.objects.filter(test=1).values_list("number", "expected", flat=True)),
    "unknown": lambda: list(Attempt.objects.filter(test=1).values_list("nothing")),
    "unknown option": lambda: list(Attempt.objects.filter(test=1).values_list("number", nothing=True)),
    "of a key": lambda: list(Attempt.objects.filter(test=1, number=1).values_list("test", "number")),
    "of a set": lambda: [sorted(row[0]) for row in Attempt.objects.filter(test=1, number=1).values_list("words")],
    "first": lambda: Attempt.objects.filter(test=1).values_list("number", flat=True).first(),
    "get": lambda: Attempt.objects.values_list("number", "expected").get(test=1, number=1),
    "slice": lambda: Attempt.objects.filter(test=1).values_list("number", flat=True)[1:],
    "count": lambda: Attempt.objects.filter(test=1).values_list("number").count(),
    "distinct": lambda: sorted(Attempt.objects.distinct(["test"]).values_list("test", flat=True)),
    "type": lambda: type(Attempt.objects.filter(test=1).values_list("number").first()).__name__,
}
PARTS = {
    "only": lambda: [items(row) for row in Attempt.objects.filter(test=1, number=1).only(["expected"])],
    "only two": lambda: [items(row) for row in Attempt.objects.filter(test=1, number=1).only(["expected", "result"])],
    "only key": lambda: [items(row) for row in Attempt.objects.filter(test=1, number=1).only(["test"])],
    "only unknown": lambda: list(Attempt.objects.filter(test=1).only(["nothing"])),
    "only twice": lambda: list(Attempt.objects.filter(test=1).only(["expected"]).only(["result"])),
    "only a text": lambda: list(Attempt.objects.filter(test=1, number=1).only("expected")),
    "defer": lambda: [items(row) for row in Attempt.objects.filter(test=1, number=1).defer(["expected", "words"])],
    "defer twice": lambda: [
        items(row) for row in Attempt.objects.filter(test=1, number=1).defer(["expected"]).defer(["result"])
    ],
    "defer unknown": lambda: list(Attempt.objects.filter(test=1).defer(["nothing"])),
    "defer all": lambda: list(
        Attempt.objects.filter(test=1, number=1).defer(["test", "number", "description", "expected", "result", "words"])
    ),
    "only and defer": lambda: [
        items(row) for row in Attempt.objects.filter(test=1, number=1).only(["expected", "result"]).defer(["result"])
    ],
    "a deferred one": lambda: Attempt.objects.filter(test=1, number=1).defer(["expected"]).get().expected,
    "one that is not only": lambda: Attempt.objects.filter(test=1, number=1).only(["expected"]).get().result,
}

with mapped() as session:
    for model in (Attempt, Descending, Event, Renamed):
        sync_table(model)
    for test in range(3):
        for number in range(4):
            Attempt.create(
                test=test,
                number=number,
                description=f"try{number}",
                expected=number * 5,
                result=3 if number == 2 else number,
                words={f"w{number}"} if number else set(),
            )
    for name, make in FILTERS.items():
        show(f"filter {name} text", lambda: str(make()), text=False)
        sent(f"filter {name}", lambda: sorted(rows(make())) if "order" not in name else rows(make()))
        show(f"filter {name} again", lambda: len(list(make())))
    for name, ask in COUNTS.items():
        sent(f"count {name}", ask)
        show(f"count {name} again", ask)
    for name, ask in SLICES.items():
        sent(f"slice {name}", lambda: ask(Attempt.objects.filter(test=1)))
        show(f"slice {name} again", lambda: ask(Attempt.objects.filter(test=1)))
    for name, ask in GETS.items():
        sent(f"get {name}", ask)
        show(f"get {name} again", ask)
    for name, ask in VALUES.items():
        sent(f"values {name}", ask)
        show(f"values {name} again", ask)
    for name, ask in PARTS.items():
        sent(f"part {name}", ask)
        show(f"part {name} again", ask)

    @case("errors are the model's")
    def _():
        found = []
        for model in (Attempt, Event):
            try:
                model.get(**({"test": 99, "number": 1} if model is Attempt else {"name": "x", "at": uuid_at(0)}))
            except DoesNotExist as error:
                found.append(
                    (
                        type(error).__name__,
                        isinstance(error, model.DoesNotExist),
                        issubclass(model.DoesNotExist, QueryException),
                    )
                )
        try:
            Attempt.get(test=1)
        except MultipleObjectsReturned as error:
            found.append((type(error).__name__, isinstance(error, Attempt.MultipleObjectsReturned), str(error)))
        return found

    # several clustering columns, descending, static
    for first in range(3):
        for second in "ab":
            Descending.create(part=1, other="x", first=first, second=second, value=first * 10, shared="s")

    def pairs(queryset):
        return [(row.first, row.second) for row in queryset]

    of_part = Descending.objects.filter(part=1, other="x")
    for name, make in {
        "default": lambda: of_part,
        "first": lambda: of_part.order_by("first"),
        "first down": lambda: of_part.order_by("-first"),
        "both": lambda: of_part.order_by("first", "-second"),
        "both down": lambda: of_part.order_by("-first", "second"),
        "second only": lambda: of_part.order_by("second"),
        "of a slice": lambda: of_part.filter(first__gt=0).order_by("first"),
        "one first": lambda: of_part.filter(first=1),
        "in": lambda: of_part.filter(first__in=[0, 2]),
        "limit": lambda: of_part.limit(3),
        "half a key": lambda: Descending.objects.filter(part=1),
        "half a key allowed": lambda: Descending.objects.filter(part=1).allow_filtering(),
        "token": lambda: Descending.objects.filter(pk__token__gte=functions.Token(1, "x")),
        "token of one": lambda: Descending.objects.filter(pk__token__gte=functions.Token(1)),
        "token lt": lambda: Descending.objects.filter(pk__token__lt=functions.Token(1, "x")),
        "token equal": lambda: Descending.objects.filter(pk__token=functions.Token(1, "x")),
        "token of columns": lambda: Descending.objects.filter(Descending.pk.token > functions.Token(1, "x")),
    }.items():
        sent(f"descending {name}", lambda: pairs(make()))
        show(f"descending {name} again", lambda: pairs(make()))
    show("static", lambda: {row.shared for row in of_part})
    sent("static is set for all", lambda: of_part.update(shared="t"))
    show("static is", lambda: {row.shared for row in of_part})
    sent("static of an instance", lambda: of_part.first().update(shared="u") and None)
    show("static then", lambda: {row.shared for row in of_part})
    sent("static alone", lambda: Descending(part=2, other="y", shared="only").save() and None)
    sent(
        "static and distinct",
        lambda: sorted(
            (row.part, row.other, row.shared) for row in Descending.objects.distinct(["part", "other", "shared"])
        ),
    )

    # ranges of times
    for second in range(5):
        Event.create(name="x", at=uuid_at(second), what=str(second))
    start, end = datetime.datetime(2023, 11, 14, 22, 13, 21), datetime.datetime(2023, 11, 14, 22, 13, 23)
    for name, make in {
        "min and max": lambda: {"at__gte": functions.MinTimeUUID(start), "at__lte": functions.MaxTimeUUID(end)},
        "gt max": lambda: {"at__gt": functions.MaxTimeUUID(end)},
        "lt min": lambda: {"at__lt": functions.MinTimeUUID(start)},
        "with a zone": lambda: {
            "at__gte": functions.MinTimeUUID(end.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1))))
        },
        "uuids": lambda: {"at__gte": uuid_at(2), "at__lt": max_uuid_from_time(1_700_000_004)},
        "no time": lambda: {"at__gte": functions.MinTimeUUID(5)},
        "a datetime": lambda: {"at__gte": start},
        "in": lambda: {"at__in": [uuid_at(1), uuid_at(3)]},
        "another uuid": lambda: {"at": uuid.UUID(int=1)},
    }.items():
        sent(f"times {name}", lambda: [row.what for row in Event.objects.filter(name="x", **make())])
        show(f"times {name} again", lambda: [row.what for row in Event.objects.filter(name="x", **make())])

    # other names in the table
    for order in range(3):
        Renamed.create(key=1, order=order, value=f"v{order}", custom="c")
    for name, make in {
        "filter": lambda: many(Renamed.objects.filter(key=1, order__gt=0)),
        "order": lambda: many(Renamed.objects.filter(key=1).order_by("-order").limit(1)),
        "order by db name": lambda: many(Renamed.objects.filter(key=1).order_by("-o")),
        "values": lambda: list(Renamed.objects.filter(key=1).values_list("order", "value")),
        "only": lambda: many(Renamed.objects.filter(key=1, order=1).only(["value"])),
        "defer": lambda: many(Renamed.objects.filter(key=1, order=1).defer(["value"])),
        "by db name": lambda: many(Renamed.objects.filter(k=1)),
        "custom index": lambda: many(Renamed.objects.filter(custom="c")),
        "distinct by db name": lambda: [row.key for row in Renamed.objects.distinct(["k"])],
        "update": lambda: Renamed.objects(key=1, order=1).update(value="new"),
        "delete": lambda: Renamed.objects(key=1, order=2).delete(),
        "rest": lambda: many(Renamed.objects(key=1)),
    }.items():
        sent(f"renamed {name}", make)

    # updates and deletes of sets
    for name, make in {
        "update": lambda: Attempt.objects(test=0, number=0).update(description="new", expected=7),
        "update nothing": lambda: Attempt.objects(test=0, number=0).update(),
        "update to None": lambda: Attempt.objects(test=0, number=0).update(description=None),
        "update both": lambda: Attempt.objects(test=0, number=0).update(description=None, expected=8),
        "update key": lambda: Attempt.objects(test=0, number=0).update(number=5),
        "update unknown": lambda: Attempt.objects(test=0, number=0).update(nothing=5),
        "update without key": lambda: Attempt.objects.filter(number=0).update(expected=5),
        "update without clustering": lambda: Attempt.objects(test=0).update(expected=5),
        "update in": lambda: Attempt.objects(test=0, number__in=[0, 1]).update(expected=6),
        "delete one": lambda: Attempt.objects(test=0, number=3).delete(),
        "delete range": lambda: Attempt.objects(test=0, number__gt=1).delete(),
        "delete part": lambda: Attempt.objects(test=0).delete(),
        "delete without key": lambda: Attempt.objects.filter(number=0).delete(),
        "delete all": lambda: Attempt.objects.delete(),
        "delete in": lambda: Attempt.objects(test__in=[1]).delete(),
        "rest": lambda: rows(Attempt.objects.all()),
    }.items():
        sent(f"set {name}", make)
