"""Object mapper: user types, alone and in containers and in each other. Runs with any driver; see mapper_types.txt."""

# mypy: ignore-errors

import datetime
import uuid

from cases import KEYSPACE, show
from mapping import items, mapped, sent

from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import sync_table, sync_type
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.usertype import UserType


class Inner(UserType):
    number = columns.Integer()
    text = columns.Text()


class Defaults(UserType):
    number = columns.Integer(default=5)
    made = columns.List(columns.Text, default=lambda: ["x"])
    needed = columns.Text(required=True)


class Wide(UserType):
    __type_name__ = "wide_type"
    a = columns.Ascii()
    b = columns.BigInt()
    c = columns.Blob()
    d = columns.Boolean()
    e = columns.Date()
    f = columns.DateTime()
    g = columns.Double()
    h = columns.Duration()
    i = columns.Float()
    j = columns.Inet()
    k = columns.SmallInt()
    l = columns.Time()
    m = columns.TimeUUID()
    n = columns.TinyInt()
    o = columns.UUID()
    p = columns.VarInt()
    q = columns.List(columns.Integer)
    r = columns.Set(columns.Text)
    s = columns.Map(columns.Text, columns.DateTime)
    t = columns.Text(db_field="other_name")


class Outer(UserType):
    inner = columns.UserDefinedType(Inner)
    many = columns.List(columns.UserDefinedType(Inner))
    by_name = columns.Map(columns.Text, columns.UserDefinedType(Inner))
    both = columns.Tuple(columns.Integer, columns.UserDefinedType(Inner))


class Row(Model):
    __table_name__ = "typed"
    id = columns.Integer(primary_key=True)
    inner = columns.UserDefinedType(Inner)
    outer = columns.UserDefinedType(Outer)
    wide = columns.UserDefinedType(Wide)
    many = columns.List(columns.UserDefinedType(Inner))
    by_name = columns.Map(columns.Text, columns.UserDefinedType(Inner))
    some = columns.Set(columns.Tuple(columns.Integer, columns.Text))
    both = columns.Tuple(columns.Text, columns.UserDefinedType(Inner))


class Key(UserType):
    number = columns.Integer()
    text = columns.Text()


class Keyed(Model):
    id = columns.UserDefinedType(Key, primary_key=True)
    value = columns.Text()


class Defaulted(Model):
    id = columns.Integer(primary_key=True)
    value = columns.UserDefinedType(Defaults)


def plain(value):
    """A value with user types as dictionaries, by name."""
    if isinstance(value, UserType):
        return {type(value).__name__: {name: plain(each) for name, each in value.items()}}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(each) for each in value)
    return value


def told(instance):
    return plain({name: value for name, value in items(instance).items() if value not in (None, [], {}, set())})


def quiet(query, parameters, kwargs):
    """Statements without values: user types have no repr of their own."""
    return getattr(query, "query_string", query)


WIDE = {
    "a": "ascii",
    "b": 2**40,
    "c": b"\x00\x01",
    "d": True,
    "e": datetime.date(2024, 2, 29),
    "f": datetime.datetime(2024, 2, 29, 12, 30),
    "g": 1.5,
    "i": 0.5,
    "j": "10.0.0.1",
    "k": 7,
    "l": datetime.time(1, 2, 3),
    "m": uuid.UUID("9e3aa0c0-5b1a-11ee-8c99-0242ac120002"),
    "n": 3,
    "o": uuid.UUID(int=5),
    "p": 2**70,
    "q": [1, 2],
    "r": {"x"},
    "s": {"x": datetime.datetime(2024, 1, 1)},
    "t": "text",
}


def one(number=1, text="x"):
    return Inner(number=number, text=text)


SAVED = {
    "inner": {"inner": one()},
    "inner with None": {"inner": one(text=None)},
    "inner empty": {"inner": Inner()},
    "inner None": {"inner": None},
    "inner of texts": {"inner": Inner(number="5", text="x")},
    "inner of another class": {"inner": Outer()},
    "outer": {"outer": Outer(inner=one(), many=[one(2), one(3)], by_name={"k": one(4)}, both=(5, one(6)))},
    "outer with None": {"outer": Outer(inner=None, many=[], by_name={})},
    "wide": {"wide": Wide(**WIDE)},
    "wide partly": {"wide": Wide(a="x", q=[])},
    "many": {"many": [one(1), one(2)]},
    "many with None in it": {"many": [one(1, None)]},
    "by name": {"by_name": {"a": one(1), "b": one(2)}},
    "some": {"some": {(1, "a")}},
    "both": {"both": ("x", one())},
}
CHANGES = {
    "a field to the same": ({"inner": one()}, lambda row: setattr(row.inner, "number", 1)),
    "an equal one": ({"inner": one()}, lambda row: setattr(row, "inner", one())),
    "another": ({"inner": one()}, lambda row: setattr(row, "inner", one(2))),
    "to None": ({"inner": one()}, lambda row: setattr(row, "inner", None)),
    "from None": ({}, lambda row: setattr(row, "inner", one())),
    "nothing": ({"inner": one()}, lambda row: row.inner.number),
    "a list of the row": ({"many": [one()]}, lambda row: row.many.append(one(2))),
    "a map of the row": ({"by_name": {"a": one()}}, lambda row: row.by_name.__setitem__("b", one(2))),
    "a set of tuples": ({"some": {(1, "a")}}, lambda row: row.some.add((2, "b"))),
    "a tuple": ({"both": ("x", one())}, lambda row: setattr(row, "both", ("y", one(2)))),
}

with mapped() as session:
    for model in (Row, Keyed, Defaulted):
        sync_table(model)
    for name, values in SAVED.items():
        sent(f"saved {name}", lambda: told(Row.create(id=1, **values)), what=quiet)
        show(f"saved {name} read", lambda: told(Row.get(id=1)))
        Row.objects(id=1).delete()
        show(f"saved {name} again", lambda: told(Row.create(id=1, **values)))
        show(f"saved {name} again read", lambda: told(Row.get(id=1)))
        sent(f"updated {name}", lambda: Row.objects(id=1).update(**values), what=quiet)
        Row.objects(id=1).delete()
    for name, (start, change) in CHANGES.items():

        def changed():
            Row.objects(id=2).delete()
            Row.create(id=2, **start)
            row = Row.get(id=2)
            change(row)
            before = row.get_changed_columns()
            row.save()
            return before, told(Row.get(id=2))

        sent(f"change {name}", changed, what=quiet)
        show(f"change {name} again", changed)

    inner = one()
    for name, ask in {
        "equal": lambda: (one() == one(), one() != one(2), one() == 5),
        "keys": lambda: (list(inner), list(inner.keys()), list(inner.values()), list(inner.items())),
        "attributes": lambda: (inner.number, inner.text),
        "item": lambda: inner["number"],
        "set item": lambda: (inner.__setitem__("number", 7), inner.number)[1],
        "unknown item": lambda: inner["nothing"],
        "wrong": lambda: Inner(number="x"),
        "len": lambda: len(inner),
        "type name": lambda: (Inner.type_name(), Wide.type_name()),
        "changed": lambda: inner.has_changed_fields(),
        "changed after": lambda: (lambda one: (setattr(one, "number", 3), one.has_changed_fields())[1])(
            Row.create(id=3, inner=one()) and Row.get(id=3).inner
        ),
        "str": lambda: str(one()),
        "defaults": lambda: list(Defaults().items()),
        "db type": lambda: columns.UserDefinedType(Inner).db_type,
        "db type in a list": lambda: columns.List(columns.UserDefinedType(Inner)).db_type,
        "db type in a tuple": lambda: columns.Tuple(columns.UserDefinedType(Inner), columns.Integer).db_type,
    }.items():
        show(name, ask)
    sent("defaults saved", lambda: told(Defaulted.create(id=1, value=Defaults(needed="n"))), what=quiet)
    show("defaults read", lambda: told(Defaulted.get(id=1)))
    sent("not what is needed", lambda: Defaulted.create(id=2, value=Defaults()), what=quiet)
    sent("as a key", lambda: told(Keyed.create(id=Key(number=1, text="x"), value="v")), what=quiet)
    sent("as a key read", lambda: told(Keyed.get(id=Key(number=1, text="x"))), what=quiet)
    show("as a key again", lambda: told(Keyed.objects(id=Key(number=1, text="x")).first()))
    sent("values", lambda: [plain(value) for value in Row.objects(id=3).values_list("inner", flat=True)], what=quiet)

    # rows that have more and less than the class
    session.execute(f"ALTER TYPE {KEYSPACE}.inner ADD later int")
    session.execute(f"INSERT INTO {KEYSPACE}.typed (id, inner) VALUES (4, {{number: 1, later: 2}})")
    later = type(
        "Later",
        (UserType,),
        {"__type_name__": "inner", "number": columns.Integer(), "text": columns.Text(), "later": columns.Integer()},
    )
    sync_type(KEYSPACE, later)
    of_later = type(
        "OfLater",
        (Model,),
        {"__table_name__": "typed", "id": columns.Integer(primary_key=True), "inner": columns.UserDefinedType(later)},
    )
    show("a later class", lambda: plain(of_later.get(id=4).inner))
    show("a later class of an early row", lambda: plain(of_later.get(id=3).inner))
    show("a later class saved", lambda: plain(of_later.create(id=5, inner=later(number=1, later=3)).inner))
    show(
        "by the session",
        lambda: plain(connection.execute(f"SELECT inner FROM {KEYSPACE}.typed WHERE id = 5").one()["inner"]),
    )
