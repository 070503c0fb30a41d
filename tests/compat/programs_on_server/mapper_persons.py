"""Object mapper: models and their instances. Runs with any driver; see mapper_persons.txt."""

# mypy: ignore-errors

import uuid

from cases import case, show
from mapping import items, many, mapped, sent

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import Model

KEY = uuid.UUID(int=7)


class Person(Model):
    __table_name__ = "people"
    id = columns.UUID(primary_key=True, default=lambda: KEY)
    name = columns.Text(required=False)
    age = columns.Integer()
    tags = columns.Set(columns.Text)
    active = columns.Boolean(default=True)


class Base(Model):
    __abstract__ = True
    id = columns.Integer(primary_key=True)
    created = columns.Text(default="then")

    def shout(self):
        return (self.created or "").upper()


class Child(Base):
    __table_name__ = "children"
    name = columns.Text()


class Shape(Model):
    __table_name__ = "shapes"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)
    name = columns.Text()


class Circle(Shape):
    __discriminator_value__ = "circle"
    radius = columns.Integer()


class Square(Shape):
    __discriminator_value__ = "square"
    side = columns.Integer()


class Hits(Model):
    page = columns.Text(primary_key=True)
    views = columns.Counter()
    likes = columns.Counter(db_field="l")


class Checked(Model):
    id = columns.Integer(primary_key=True)
    even = columns.Integer()

    def validate(self):
        super().validate()
        if self.even is not None and self.even % 2:
            raise ValidationError("odd")


class Keys(Model):
    a = columns.Integer(partition_key=True)
    b = columns.Text(partition_key=True)
    c = columns.Integer(primary_key=True)
    v = columns.Text()
    w = columns.Text()
    s = columns.Text(static=True)


class OnlyKeys(Model):
    a = columns.Integer(primary_key=True)
    b = columns.Integer(primary_key=True)


def person(**values):
    return Person.create(**{"id": KEY, "name": "x", "age": 5, **values})


CHANGES = {
    "nothing": lambda row: None,
    "one": lambda row: setattr(row, "age", 6),
    "to the same": lambda row: setattr(row, "age", 5),
    "and back": lambda row: (setattr(row, "age", 6), setattr(row, "age", 5)),
    "to None": lambda row: setattr(row, "age", None),
    "None to None": lambda row: (setattr(row, "age", None), row.save(), setattr(row, "age", None)),
    "deleted": lambda row: delattr(row, "age"),
    "two": lambda row: (setattr(row, "age", 7), setattr(row, "name", "y")),
    "set and None": lambda row: (setattr(row, "age", 7), setattr(row, "name", None)),
    "the key": lambda row: setattr(row, "id", uuid.UUID(int=8)),
    "as text": lambda row: setattr(row, "age", "9"),
    "wrong": lambda row: setattr(row, "age", "nine"),
    "False": lambda row: setattr(row, "active", False),
    "unknown": lambda row: setattr(row, "nothing", 5),
    "a set": lambda row: row.tags.add("t"),
    "items": lambda row: (row.__setitem__("age", 11), row["name"]),
    "unknown item": lambda row: row.__setitem__("nothing", 11),
}
UPDATES = {
    "one": {"age": 6},
    "none": {},
    "same": {"age": 5},
    "to None": {"age": None},
    "two": {"age": 7, "name": "y"},
    "unknown": {"nothing": 5},
    "the key": {"id": uuid.UUID(int=8)},
    "the same key": {"id": KEY},
    "wrong": {"age": "nine"},
    "as text": {"age": "12"},
    "a set": {"tags": {"a", "b"}} and {"tags": {"a"}},
    "an operator": {"tags__add": {"a"}},
}

with mapped() as session:
    for model in (Person, Child, Shape, Circle, Square, Hits, Checked, Keys, OnlyKeys):
        sync_table(model)

    # creating
    sent("create", lambda: items(Person.create(name="a")))
    sent("create with all", lambda: items(Person.create(id=KEY, name="a", age=1, tags={"t"}, active=False)))
    sent("create with None", lambda: items(Person.create(name=None, age=None)))
    sent("create unknown", lambda: Person.create(nothing=1))
    sent("save", lambda: items(Person(name="b").save()))
    sent("save twice", lambda: items(Person(name="b").save().save()))
    sent("save of a created one", lambda: items(person().save()))
    sent(
        "save after a change of a created one",
        lambda: (lambda row: (setattr(row, "age", 9), items(row.save())))(person())[1],
    )
    sent("create only keys", lambda: items(OnlyKeys.create(a=1, b=2)))
    sent("save only keys", lambda: items(OnlyKeys(a=1, b=3).save()))
    sent("save only keys again", lambda: items(OnlyKeys.get(a=1, b=3).save()))
    sent("delete only keys", lambda: OnlyKeys.get(a=1, b=3).delete())

    # changing
    for name, change in CHANGES.items():

        def changed():
            person()
            row = Person.get(id=KEY)
            before = row.get_changed_columns()
            change(row)
            told = (before, sorted(row.get_changed_columns()), row.is_deleted() if hasattr(row, "is_deleted") else None)
            row.save()
            return told, row.get_changed_columns(), items(row)

        sent(f"change {name}", changed)
        show(f"change {name} again", changed)
        show(f"change {name} read", lambda: many(Person.objects(id=KEY)))
    for name, values in UPDATES.items():

        def updated():
            person()
            row = Person.get(id=KEY)
            row.update(**values)
            return items(row), row.get_changed_columns()

        sent(f"update {name}", updated)
        show(f"update {name} again", updated)
        show(f"update {name} read", lambda: many(Person.objects(id=KEY)))
        sent(f"update a new one {name}", lambda: items(Person(id=KEY, age=5).update(**values)))
    sent("delete", lambda: person().delete())
    sent("delete twice", lambda: (lambda row: (row.delete(), row.delete()))(person()))
    sent("delete one that was not saved", lambda: Person(id=KEY).delete())

    # instances
    class Other(Model):
        id = columns.UUID(primary_key=True)

    row = person()
    for name, ask in {
        "equal": lambda: (row == Person.get(id=KEY), row != Person.get(id=KEY)),
        "not equal": lambda: (row == Person(id=KEY, age=99), row == 5, row is None, row != Other(id=KEY)),
        "hash": lambda: hash(row) == hash(Person.get(id=KEY)),
        "len": lambda: len(row),
        "iter": lambda: list(row),
        "keys": lambda: list(row.keys()),
        "values": lambda: list(row.values()),
        "items": lambda: list(row.items()),
        "contains": lambda: ("age" in row, "nothing" in row),
        "item": lambda: (row["age"], row["name"]),
        "no item": lambda: row["nothing"],
        "item that is no column": lambda: row["save"],
        "pk": lambda: hasattr(Person.pk, "token"),
        "pk of an instance": lambda: row.pk,
        "str": lambda: str(row),
        "is persisted": lambda: (row._is_persisted, Person()._is_persisted, Person.get(id=KEY)._is_persisted),
        "validate": lambda: row.validate(),
        "key of several": lambda: Keys(a=1, b="x", c=2).pk,
        "table": lambda: (Person.column_family_name(), Person.column_family_name(include_keyspace=False)),
        "columns": lambda: list(Person._columns),
        "instance attribute": lambda: (setattr(row, "note", 5), row.note)[1],
        "bool": lambda: bool(row),
        "to python": lambda: Person(id=str(KEY), age="5").id == KEY,
        "not validated before": lambda: Person(age="x").age,
        "positional": lambda: Person(KEY),
        "a deferred one": lambda: Person.objects(id=KEY).defer(["age"]).get().age,
    }.items():
        show(name, ask)

    # inheritance
    show("inherited columns", lambda: list(Child._columns))
    sent("inherited create", lambda: items(Child.create(id=1, name="c")))
    show("inherited read", lambda: Child.get(id=1).shout())
    show("abstract create", lambda: Base.create(id=1))
    show("abstract query", lambda: list(Base.objects.all()))

    # by discriminator
    sent("circle", lambda: items(Circle.create(id=1, name="c", radius=5)))
    sent("square", lambda: items(Square.create(id=2, name="s", side=6)))
    sent("plain shape", lambda: items(Shape.create(id=3, kind="unknown", name="u")))
    sent("read", lambda: [(type(row).__name__, items(row)) for row in Shape.objects(id__in=[1, 2])])
    show("read again", lambda: [(type(row).__name__, items(row)) for row in Shape.objects(id__in=[1, 2])])
    sent("read a circle", lambda: items(Circle.get(id=1)))
    sent("read a circle that is none", lambda: items(Circle.get(id=2)))
    sent("read what is unknown", lambda: items(Shape.get(id=3)))
    sent("filter of a subclass", lambda: many(Circle.objects.filter(name="c").allow_filtering()))
    sent("saved", lambda: (lambda row: (setattr(row, "radius", 9), items(row.save())))(Shape.get(id=1))[1])
    show("only", lambda: [type(row).__name__ for row in Shape.objects(id=1).only(["name"])])
    show("values", lambda: list(Shape.objects(id=1).values_list("name", "kind")))
    show("discriminator", lambda: (Circle.__discriminator_value__, Shape._is_polymorphic_base, Circle._is_polymorphic))

    # counters
    sent("counter", lambda: items(Hits.create(page="a", views=2)))
    sent("counter read", lambda: items(Hits.get(page="a")))
    sent(
        "counter up",
        lambda: (lambda row: (setattr(row, "views", row.views + 3), items(row.save())))(Hits.get(page="a"))[1],
    )
    sent(
        "counter down",
        lambda: (lambda row: (setattr(row, "views", row.views - 1), items(row.save())))(Hits.get(page="a"))[1],
    )
    sent("counter same", lambda: items(Hits.get(page="a").save()))
    sent("counter update", lambda: items(Hits.get(page="a").update(views=10)))
    sent("counter of a new one", lambda: items(Hits(page="b").save()))
    sent("counter without read", lambda: Hits.objects(page="c").update(views=5))
    sent("counter None", lambda: items(Hits.objects(page="c").update(views=None)))
    sent("counter two", lambda: items(Hits.create(page="d", views=1, likes=2)))
    sent("counter all", lambda: sorted(row.page for row in Hits.objects.all()))
    sent("counter if not exists", lambda: Hits.if_not_exists().create(page="z", views=1))
    sent("counter if exists", lambda: Hits.objects(page="a").if_exists().update(views=1))
    sent("counter deleted", lambda: Hits.get(page="a").delete())
    show(
        "counter with a value",
        lambda: type(
            "Mixed", (Model,), {"id": columns.Integer(primary_key=True), "n": columns.Counter(), "t": columns.Text()}
        ),
    )
    show("counter in a key", lambda: columns.Counter(primary_key=True))

    # validation of one's own
    sent("own validation", lambda: items(Checked.create(id=1, even=2)))
    sent("own validation fails", lambda: Checked.create(id=1, even=3))
    sent("own validation of update", lambda: Checked.get(id=1).update(even=5))

    # keys
    row = Keys.create(a=1, b="x", c=1, v="v", s="s")
    sent("keys update", lambda: items(Keys.get(a=1, b="x", c=1).update(v="z")))
    sent("keys static", lambda: items(Keys.get(a=1, b="x", c=1).update(s="t")))
    sent("keys static and plain", lambda: items(Keys.get(a=1, b="x", c=1).update(s="t2", w="y")))
    sent("keys to None", lambda: items(Keys.get(a=1, b="x", c=1).update(s=None, v=None)))
    sent("static without clustering", lambda: items(Keys(a=2, b="x", s="only").save()))
    show("static without clustering read", lambda: many(Keys.objects(a=2, b="x")))
    sent("key missing", lambda: Keys.create(a=1, c=1))
    sent("clustering missing", lambda: Keys.create(a=1, b="x", v="v"))
    sent("deleted by key", lambda: Keys.get(a=1, b="x", c=1).delete())

    @case("definitions")
    def _():
        wrong = {
            "no key": {"t": columns.Text()},
            "no columns": {},
            "two discriminators": {
                "id": columns.Integer(primary_key=True),
                "x": columns.Text(discriminator_column=True),
                "y": columns.Text(discriminator_column=True),
            },
            "reserved": {"id": columns.Integer(primary_key=True), "filter": columns.Text()},
            "same db field": {
                "id": columns.Integer(primary_key=True),
                "a": columns.Text(db_field="b"),
                "b": columns.Text(),
            },
            "static without clustering": {"id": columns.Integer(primary_key=True), "s": columns.Text(static=True)},
            "a column named pk": {"pk": columns.Integer(primary_key=True)},
            "a column named table": {"id": columns.Integer(primary_key=True), "table": columns.Text()},
        }
        told = {}
        for name, attributes in wrong.items():
            try:
                told[name] = list(type("Wrong", (Model,), attributes)._columns)
            except Exception as error:
                told[name] = type(error).__name__
        return told
