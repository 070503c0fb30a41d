"""Object mapper: what is sent when containers change. Runs with any driver; see mapper_boxes.txt."""

# mypy: ignore-errors

import datetime
import uuid

from cases import show
from mapping import items, mapped, sent

from cassandra.cqlengine import columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model

UUIDS = [uuid.UUID(int=n) for n in range(4)]


class Boxes(Model):
    __table_name__ = "boxes"
    id = columns.Integer(primary_key=True)
    numbers = columns.List(columns.Integer)
    words = columns.Set(columns.Text)
    pairs = columns.Map(columns.Text, columns.Integer)
    times = columns.List(columns.DateTime)
    uuids = columns.Set(columns.UUID)
    by_uuid = columns.Map(columns.UUID, columns.DateTime)
    nested = columns.Map(columns.Text, columns.List(columns.Integer))
    lists = columns.List(columns.Set(columns.Integer))
    both = columns.Tuple(columns.Integer, columns.Text)
    deep = columns.Tuple(columns.Set(columns.Integer), columns.Map(columns.Text, columns.Integer))
    plain = columns.Text()


class Fixed(Model):
    """With containers in its key, and defaults."""

    id = columns.Tuple(columns.Integer, columns.Text, primary_key=True)
    numbers = columns.List(columns.Integer, default=list)
    words = columns.Set(columns.Text, default={"a", "b"})
    pairs = columns.Map(columns.Text, columns.Integer, default=lambda: {"a": 1})


def changed(start, change):
    """An instance with *start*, changed by *change*; what is in the table afterwards."""
    Boxes.objects(id=1).delete()
    Boxes.create(id=1, plain="x", **start)
    instance = Boxes.get(id=1)

    def run():
        change(instance)
        instance.save()

    return run


def column_of(name):
    return lambda: getattr(Boxes.get(id=1), name)


LISTS = {
    "append": ([1, 2], lambda row: row.numbers.append(3)),
    "append two": ([1, 2], lambda row: row.numbers.extend([3, 4])),
    "prepend": ([1, 2], lambda row: row.numbers.insert(0, 3)),
    "prepend two": ([1, 2], lambda row: setattr(row, "numbers", [8, 9, 1, 2])),
    "both ends": ([1, 2], lambda row: setattr(row, "numbers", [9, 1, 2, 3])),
    "remove": ([1, 2, 3], lambda row: row.numbers.remove(2)),
    "pop": ([1, 2, 3], lambda row: row.numbers.pop()),
    "pop first": ([1, 2, 3], lambda row: row.numbers.pop(0)),
    "set item": ([1, 2, 3], lambda row: row.numbers.__setitem__(1, 9)),
    "reverse": ([1, 2, 3], lambda row: row.numbers.reverse()),
    "sort no change": ([1, 2, 3], lambda row: row.numbers.sort()),
    "clear": ([1, 2, 3], lambda row: row.numbers.clear()),
    "to none": ([1, 2, 3], lambda row: setattr(row, "numbers", None)),
    "from empty": ([], lambda row: row.numbers.append(1)),
    "from none": (None, lambda row: setattr(row, "numbers", [1, 2])),
    "replace": ([1, 2, 3], lambda row: setattr(row, "numbers", [4, 5])),
    "same": ([1, 2, 3], lambda row: setattr(row, "numbers", [1, 2, 3])),
    "a tuple": ([1, 2], lambda row: setattr(row, "numbers", (1, 2, 3))),
    "repeated": ([1, 1], lambda row: row.numbers.append(1)),
    "repeated both": ([1, 1], lambda row: setattr(row, "numbers", [1, 1, 1, 1])),
    "grown around": ([2], lambda row: setattr(row, "numbers", [1, 2, 3, 2])),
    "subset": ([1, 2, 3, 4], lambda row: setattr(row, "numbers", [2, 3])),
    "del": ([1, 2, 3], lambda row: delattr(row, "numbers")),
    "a text in it": ([1], lambda row: row.numbers.append("x")),
    "a number as text in it": ([1], lambda row: row.numbers.append("7")),
    "none in it": ([1], lambda row: row.numbers.append(None)),
    "a text for a list": ([1], lambda row: setattr(row, "numbers", "12")),
    "a set for a list": ([1], lambda row: setattr(row, "numbers", {1, 2})),
}
SETS = {
    "add": ({"a"}, lambda row: row.words.add("b")),
    "add two": ({"a"}, lambda row: row.words.update(["b"])),
    "add the same": ({"a"}, lambda row: row.words.add("a")),
    "remove": ({"a", "b"}, lambda row: row.words.remove("b")),
    "discard nothing": ({"a"}, lambda row: row.words.discard("z")),
    "both": ({"a", "b"}, lambda row: setattr(row, "words", {"b", "c"})),
    "clear": ({"a"}, lambda row: row.words.clear()),
    "to none": ({"a"}, lambda row: setattr(row, "words", None)),
    "from empty": (set(), lambda row: row.words.add("a")),
    "from none": (None, lambda row: setattr(row, "words", {"a"})),
    "replace": ({"a"}, lambda row: setattr(row, "words", {"x"})),
    "a list": ({"a"}, lambda row: setattr(row, "words", ["a", "b"])),
    "a frozenset": ({"a"}, lambda row: setattr(row, "words", frozenset("ab"))),
    "a number in it": ({"a"}, lambda row: row.words.add(5)),
    "none in it": ({"a"}, lambda row: row.words.add(None)),
    "a dict": ({"a"}, lambda row: setattr(row, "words", {"x": 1})),
    "del": ({"a"}, lambda row: delattr(row, "words")),
}
MAPS = {
    "set new": ({"a": 1}, lambda row: row.pairs.__setitem__("b", 2)),
    "set known": ({"a": 1}, lambda row: row.pairs.__setitem__("a", 2)),
    "set the same": ({"a": 1}, lambda row: row.pairs.__setitem__("a", 1)),
    "delete": ({"a": 1, "b": 2}, lambda row: row.pairs.__delitem__("b")),
    "delete all": ({"a": 1, "b": 2}, lambda row: row.pairs.clear()),
    "set and delete": ({"a": 1, "b": 2}, lambda row: setattr(row, "pairs", {"b": 3, "c": 4})),
    "update": ({"a": 1}, lambda row: row.pairs.update({"b": 2, "a": 5})),
    "to none in it": ({"a": 1, "b": 2}, lambda row: row.pairs.__setitem__("a", None)),
    "none for a new one": ({"a": 1}, lambda row: row.pairs.__setitem__("z", None)),
    "to none": ({"a": 1}, lambda row: setattr(row, "pairs", None)),
    "to empty": ({"a": 1}, lambda row: setattr(row, "pairs", {})),
    "from empty": ({}, lambda row: row.pairs.__setitem__("a", 1)),
    "from none": (None, lambda row: setattr(row, "pairs", {"a": 1})),
    "replace": ({"a": 1}, lambda row: setattr(row, "pairs", {"z": 9})),
    "pop": ({"a": 1, "b": 2}, lambda row: row.pairs.pop("a")),
    "no map": ({"a": 1}, lambda row: setattr(row, "pairs", [1])),
    "a wrong value": ({"a": 1}, lambda row: row.pairs.__setitem__("b", "x")),
    "a number as text": ({"a": 1}, lambda row: row.pairs.__setitem__("b", "7")),
    "del": ({"a": 1}, lambda row: delattr(row, "pairs")),
}
OTHERS = {
    "times append": (
        "times",
        [datetime.datetime(2024, 1, 1)],
        lambda row: row.times.append(datetime.datetime(2024, 1, 2)),
    ),
    "times unchanged": ("times", [datetime.datetime(2024, 1, 1)], lambda row: row.times),
    "uuids": ("uuids", {UUIDS[0]}, lambda row: row.uuids.add(UUIDS[1])),
    "by_uuid": (
        "by_uuid",
        {UUIDS[0]: datetime.datetime(2024, 1, 1)},
        lambda row: row.by_uuid.__setitem__(UUIDS[1], datetime.datetime(2024, 1, 2)),
    ),
    "nested new": ("nested", {"a": [1]}, lambda row: row.nested.__setitem__("b", [2])),
    "nested deep": ("nested", {"a": [1]}, lambda row: row.nested["a"].append(2)),
    "lists": ("lists", [{1}], lambda row: row.lists.append({2})),
    "lists deep": ("lists", [{1}], lambda row: row.lists[0].add(2)),
    "both": ("both", (1, "a"), lambda row: setattr(row, "both", (2, "b"))),
    "both same": ("both", (1, "a"), lambda row: setattr(row, "both", (1, "a"))),
    "both short": ("both", (1, "a"), lambda row: setattr(row, "both", (2,))),
    "both list": ("both", (1, "a"), lambda row: setattr(row, "both", [2, "b"])),
    "both none": ("both", (1, "a"), lambda row: setattr(row, "both", (None, "b"))),
    "both to none": ("both", (1, "a"), lambda row: setattr(row, "both", None)),
    "deep": ("deep", ({1}, {"a": 1}), lambda row: setattr(row, "deep", ({2}, {"b": 2}))),
    "deep in place": ("deep", ({1}, {"a": 1}), lambda row: row.deep[0].add(2)),
}
BY_SET = {
    "list set": {"numbers": [7]},
    "list append": {"numbers__append": [8]},
    "list prepend": {"numbers__prepend": [9, 10]},
    "list remove": {"numbers__remove": [1]},
    "list none": {"numbers": None},
    "list empty": {"numbers": []},
    "set set": {"words": {"q"}},
    "set add": {"words__add": {"r"}},
    "set remove": {"words__remove": {"q"}},
    "set add one": {"words__add": "s"},
    "set none": {"words": None},
    "map set": {"pairs": {"k": 1}},
    "map update": {"pairs__update": {"l": 2}},
    "map update none": {"pairs__update": {"l": None}},
    "map remove": {"pairs__remove": {"k"}},
    "map none": {"pairs": None},
    "tuple": {"both": (5, "t")},
    "two": {"numbers__append": [1], "words__add": {"z"}, "plain": "y"},
    "unknown operator": {"numbers__nothing": [1]},
    "operator of another": {"words__append": ["x"]},
    "unknown column": {"nothing": 1},
    "key": {"id": 2},
    "invalid": {"numbers": "x"},
}

with mapped() as session:
    sync_table(Boxes)
    sync_table(Fixed)
    show("nothing", lambda: items(Boxes(id=5)))
    show("nothing read", lambda: (Boxes.create(id=5), items(Boxes.get(id=5)))[1])
    for table, name in ((LISTS, "numbers"), (SETS, "words"), (MAPS, "pairs")):
        for case, (start, change) in table.items():
            sent(f"{name} {case}", changed({name: start}, change))
            show(f"{name} {case} read", column_of(name))
    for case, (name, start, change) in OTHERS.items():
        sent(case, changed({name: start}, change))
        show(f"{case} read", column_of(name))
    for case, values in BY_SET.items():
        Boxes.create(id=1, plain="x", numbers=[1, 2], words={"q"}, pairs={"k": 0})
        sent(f"update {case}", lambda: Boxes.objects(id=1).update(**values))
        show(f"update {case} read", lambda: items(Boxes.get(id=1)))
        instance = Boxes.get(id=1)
        sent(f"instance update {case}", lambda: instance.update(**values) and None)
    for value in ((1, "a"), (2, None), (None, "x"), [3, "b"], (4,), "x", None):
        sent(f"tuple key {value!r}", lambda: items(Fixed.create(id=value)))
        show(f"tuple key {value!r} read", lambda: items(Fixed.get(id=value)))
    show("defaults are each one's own", lambda: (Fixed().numbers is Fixed().numbers, Fixed().words is Fixed().words))
    sent(
        "create with all",
        lambda: items(
            Boxes.create(id=9, numbers=[1], words={"a"}, pairs={"a": 1}, both=(1, "x"), nested={"a": [1]}, lists=[{1}])
        ),
    )
    sent("contains", lambda: [row.id for row in Boxes.objects.filter(words__contains="a").allow_filtering()])
    sent("contains of a list", lambda: [row.id for row in Boxes.objects.filter(numbers__contains=1).allow_filtering()])
    sent("contains of a map", lambda: [row.id for row in Boxes.objects.filter(pairs__contains=1).allow_filtering()])
    sent("equal tuple", lambda: [row.id for row in Boxes.objects.filter(both=(1, "x")).allow_filtering()])
    sent("null after save", lambda: Boxes(id=9, numbers=None, plain="z").save() and None)
    show("null after save read", lambda: items(Boxes.get(id=9)))
    sent("create with none", lambda: Boxes.create(id=9, numbers=None, words=None, plain=None) and None)
    show("create with none read", lambda: items(Boxes.get(id=9)))
