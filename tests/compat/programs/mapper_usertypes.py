"""User types of the object mapper: classes, instances, changes, validation, the columns that hold them."""

# mypy: ignore-errors
import datetime as dt
from collections import namedtuple

from cases import case, each, show

from cassandra.cqlengine import ValidationError, columns, usertype
from cassandra.cqlengine.columns import UserDefinedType, resolve_udts
from cassandra.cqlengine.usertype import (
    BaseUserType,
    UserType,
    UserTypeDefinitionException,
    UserTypeException,
    UserTypeMetaClass,
)


class Address(UserType):
    street = columns.Text()
    number = columns.Integer(default=7)


class Person(UserType):
    __type_name__ = "Person_Type"
    name = columns.Text(required=True, max_length=5)
    home = UserDefinedType(Address)
    tags = columns.Set(columns.Text)
    born = columns.DateTime()


class Stored(UserType):
    first = columns.Integer(db_field="f")
    second = columns.Text(db_field="s", default=lambda: "made")


for cls in (BaseUserType, UserType, Address, Person):  # whose names are not asked for: theirs gives subclasses the same
    name = cls.__name__
    show(f"{name} bases", lambda: [base.__name__ for base in cls.__mro__])
    show(f"{name} meta", lambda: (type(cls).__name__, cls.__module__ if cls in (BaseUserType, UserType) else None))
    show(f"{name} public", lambda: sorted(n for n in dir(cls) if not n.startswith("_")))
    if cls in (Address, Person):
        show(f"{name} type name", cls.type_name)
show("errors", lambda: [base.__name__ for base in UserTypeDefinitionException.__mro__])
show("metaclass", lambda: issubclass(UserTypeMetaClass, type))
show("fields", lambda: {n: type(c).__name__ for n, c in Person._fields.items()})
show("db_map", lambda: (dict(Person._db_map), dict(Stored._db_map)))
show("field names", lambda: [(c.column_name, c.db_field_name) for c in Stored._fields.values()])
for name in ("Simple", "CamelCase", "ABCType", "with_underscore", "X", "HTTPServer2", "lower", "Ab1Cd"):
    show(f"type name of {name}", lambda: type(name, (UserType,), {"x": columns.Integer()}).type_name())
show(
    "type name given",
    lambda: type("N", (UserType,), {"x": columns.Integer(), "__type_name__": "GivenName"}).type_name(),
)

# definitions that cannot be


@case("primary key in a user type", text=True)
def _():
    class Bad(UserType):
        x = columns.Integer(primary_key=True)

    return Bad.type_name()


@case("partition key in a user type", text=True)
def _():
    class Bad(UserType):
        x = columns.Integer(partition_key=True)

    return Bad.type_name()


@case("counter in a user type", text=True)
def _():
    class Bad(UserType):
        x = columns.Counter()

    return Bad.type_name()


@case("static in a user type", text=True)
def _():
    class Bad(UserType):
        x = columns.Integer(static=True)

    return Bad.type_name()


@case("index in a user type", text=True)
def _():
    class Bad(UserType):
        x = columns.Integer(index=True)

    return Bad.type_name()


for reserved in (
    "keys",
    "values",
    "items",
    "type_name",
    "validate",
    "_x",
    "has_changed_fields",
    "x-y",
    "__x__",
    "register_for_keyspace",
):
    show(
        f"field named {reserved}",
        lambda: list(type("Named", (UserType,), {reserved: columns.Integer()})._fields),
        text=False,
    )


@case("duplicate db_field", text=True)
def _():
    class Bad(UserType):
        x = columns.Integer(db_field="y")
        y = columns.Integer()

    return list(Bad._fields)


@case("no fields")
def _():
    class Empty(UserType):
        pass

    return (list(Empty._fields), len(Empty()), str(Empty()))


@case("inherited fields")
def _():
    class Base(UserType):
        a = columns.Integer()

    class Derived(Base):
        b = columns.Integer()

    return (list(Derived._fields), Derived.type_name(), list(Derived(a=1, b=2).keys()))


@case("methods and other attributes")
def _():
    class Rich(UserType):
        a = columns.Integer()
        constant = 5

        def double(self):
            return self.a * 2

    return (Rich(a=4).double(), Rich.constant, list(Rich._fields))


# instances

show("made", lambda: dict(Address(street="a", number=1).items()))
show("made with defaults", lambda: dict(Address().items()))
show("made with a callable default", lambda: dict(Stored().items()))
show("made with unknown names", lambda: dict(Address(nonsense=1).items()), text=False)
show("made with positions", lambda: Address("a", 1))
show("made by db_field", lambda: dict(Stored(f=1).items()), text=False)
show("made with conversion", lambda: Address(number="5").number)
show(
    "text",
    lambda: (str(Address(street="a", number=1)), str(Address()), str(Person(name="x", home=Address(street="y")))),
)
show("text of the inherited", lambda: str(Stored(first=1)))
show("attributes", lambda: (lambda a: (a.street, a.number))(Address(street="s")))
show("missing attribute", lambda: Address().nonsense)
show("missing attribute text", lambda: Address().nonsense, text=False)
show(
    "items",
    lambda: (list(Address(street="a").keys()), list(Address(street="a").values()), list(Address(street="a").items())),
)
show("iterated", lambda: list(Address(street="a")))
show("length", lambda: len(Address(street="a")))
each("item", lambda key: Address(street="a")[key], ["street", "number", "nonsense", 0])


@case("items set")
def _():
    address = Address()
    address["street"] = "x"
    address.number = 9
    return dict(address.items())


@case("item set of no name")
def _():
    Address()["nonsense"] = 1


@case("an attribute that is no field")
def _():
    address = Address()
    address.other = 5
    return (address.other, dict(address.items()))


@case("deleted")
def _():
    address = Address(street="a", number=1)
    del address.street
    return (address.street, dict(address.items()), address.has_changed_fields())


EQUAL = [
    (Address(street="a"), Address(street="a")),
    (Address(street="a"), Address(street="b")),
    (Address(street="a", number=None), Address(street="a")),
    (Address(), 5),
    (Address(), None),
    (Address(street="a", number=1), {"street": "a", "number": 1}),
    (Address(street="a", number=1), namedtuple("A", "street number")("a", 1)),
    (Person(name="x", home=Address(street="a")), Person(name="x", home=Address(street="a"))),
    (Person(name="x", home=Address(street="a")), Person(name="x", home=Address(street="b"))),
    (Stored(first=1), Address()),
]
for number, (left, right) in enumerate(EQUAL):
    show(f"equal {number}", lambda: (left == right, left != right), text=False)
show("hash", lambda: hash(Address()))

# changes


@case("changes")
def _():
    address = Address(street="a")
    found = [address.has_changed_fields()]
    address.reset_changed_fields()
    found.append(address.has_changed_fields())
    address.street = "b"
    found.append(address.has_changed_fields())
    address.reset_changed_fields()
    found.append(address.has_changed_fields())
    address.street = "b"
    return [*found, address.has_changed_fields()]


show("changes of defaults", lambda: (Address().has_changed_fields(), Stored().has_changed_fields()))


@case("changes in a set")
def _():
    person = Person(name="x", tags={"a"})
    found = [person.has_changed_fields()]
    person.reset_changed_fields()
    person.tags.add("b")
    found.append(person.has_changed_fields())
    person.reset_changed_fields()
    return [*found, person.has_changed_fields(), person.tags]


@case("changes in a nested type")
def _():
    person = Person(name="x", home=Address(street="a"))
    person.reset_changed_fields()
    found = [person.has_changed_fields()]
    person.home.street = "b"
    person.reset_changed_fields()
    found += [person.has_changed_fields(), person.home.has_changed_fields()]
    person.home = Address(street="c")
    found.append(person.has_changed_fields())
    person.reset_changed_fields()
    person.home = None
    return [*found, person.has_changed_fields()]


# validation

VALID = [
    {"name": "x"}, {}, {"name": "toolong"}, {"name": "x", "tags": {1}}, {"name": "x", "home": Address(street=5)},
    {"name": "x", "home": Address(number="7")}, {"name": None},
]  # fmt: skip
for number, values in enumerate(VALID):

    @case(f"validate {number}", text=True)
    def _():
        value = Person(**values)
        try:
            result = value.validate()
        except ValidationError as error:  # ours names the class and the value, too
            return type(error).__name__ if number == 3 else str(error).partition(" (")[0]
        return (result, type(value.home).__name__, value.home.number if isinstance(value.home, Address) else None)


each(
    "made of what is none", lambda values: Person(**values), [{"home": 5}, {"born": "x"}, {"tags": 5}], caught=Exception
)


@case("validate converts")
def _():
    address = Address(number="7")
    address.validate()
    return address.number


# the column


def named(column, name="field"):
    column.set_column_name(name)
    return column


for cls in (Address, Person, Stored):
    name = cls.__name__
    show(
        f"column of {name}",
        lambda: (
            named(UserDefinedType(cls)).get_column_def(),
            UserDefinedType(cls).db_type,
            UserDefinedType(cls).user_type is cls,
        ),
    )
    show(f"column of {name} sub types", lambda: [type(c).__name__ for c in UserDefinedType(cls).sub_types])
    show(f"column of {name} default", lambda: (UserDefinedType(cls).has_default, UserDefinedType(cls).get_default()))
    show(
        f"column of {name} None",
        lambda: (
            UserDefinedType(cls).validate(None),
            UserDefinedType(cls).to_python(None),
            UserDefinedType(cls).to_database(None),
        ),
    )
    show(
        f"column of {name} options",
        lambda: (lambda c: (c.primary_key, c.static, c.db_field, c.index))(
            UserDefinedType(cls, static=True, db_field="x")
        ),
    )
show(
    "column cql_type",
    lambda: (
        UserDefinedType(Person).cql_type.__name__,
        UserDefinedType(Person).cql_type.typename,
        tuple(UserDefinedType(Person).cql_type.fieldnames),
    ),
)
show("column types", lambda: [t.cql_parameterized_type() for t in UserDefinedType(Address).cql_type.subtypes])
show("column of nothing", lambda: UserDefinedType())
show("column of no user type", lambda: UserDefinedType(5).db_type)
GIVEN = [Address(street="a", number=1), Address(street="a", number="1"), Address(street=5), Address(), {"street": "a", "number": 1}, 5, "text", ("a", 1), [1]]  # fmt: skip
for number, value in enumerate(GIVEN):
    show(
        f"column validate {number}",
        lambda: (lambda r: (type(r).__name__, getattr(r, "street", None), getattr(r, "number", None)))(
            named(UserDefinedType(Address)).validate(value)
        ),
        caught=Exception,
    )
    show(
        f"column to_python {number}",
        lambda: (lambda r: (type(r).__name__, getattr(r, "street", None), getattr(r, "number", None)))(
            named(UserDefinedType(Address)).to_python(value)
        ),
        caught=Exception,
    )
    show(
        f"column to_database {number}",
        lambda: (lambda r: (type(r).__name__, getattr(r, "street", None), getattr(r, "number", None)))(
            named(UserDefinedType(Address)).to_database(value)
        ),
        caught=Exception,
    )


@case("to_database is a copy")
def _():
    address = Address(street="a", number="1")
    found = UserDefinedType(Address).to_database(address)
    return (found is address, address.number, found.number)


@case("to_python is the same")
def _():
    address = Address(street="a", number="1")
    found = UserDefinedType(Address).to_python(address)
    return (found is address, address.number)


@case("to_database of dates")
def _():
    person = Person(name="x", born=dt.datetime(2024, 2, 29), home=Address(number="5"), tags={"a"})
    found = UserDefinedType(Person).to_database(person)
    return (found.born, found.home.number, found.tags, found.name, person.born, person.home.number)


@case("to_python of dates")
def _():
    person = Person(name="x", born=5, home=Address(number="5"), tags=["a"])
    found = UserDefinedType(Person).to_python(person)
    return (found.born, found.home.number, found.tags, found.name)


show(
    "lists of them",
    lambda: [
        a.number
        for a in columns.List(UserDefinedType(Address)).to_database([Address(number="5"), Address(number=None)])
    ],
)
show(
    "lists of them as python",
    lambda: [a.number for a in columns.List(UserDefinedType(Address)).to_python([Address(number="5")])],
)
show(
    "maps of them",
    lambda: columns.Map(columns.Text, UserDefinedType(Address)).to_database({"k": Address(number="5")})["k"].number,
)
show(
    "maps validated",
    lambda: named(columns.Map(columns.Text, UserDefinedType(Address))).validate({"k": Address(street=5)}),
    caught=Exception,
)

for number, column in enumerate(
    [
        UserDefinedType(Address),
        UserDefinedType(Person),
        columns.List(UserDefinedType(Person)),
        columns.Text(),
        columns.Map(columns.Text, columns.Tuple(UserDefinedType(Address))),
    ]
):

    @case(f"resolve_udts {number}")
    def _():
        found = []
        result = resolve_udts(column, found)
        return (result, [u.__name__ for u in found])


# the value manager

for value in (None, Address(street="a")):
    shown = "None" if value is None else "a value"

    @case(f"manager of {shown}")
    def _():
        manager = UserDefinedType(Address).value_manager(None, UserDefinedType(Address), value)
        found = [manager.changed, manager.deleted, manager.explicit, manager.previous_value is None]
        manager.reset_previous_value()
        found += [manager.changed, manager.deleted, manager.previous_value == value]
        if value is not None:
            manager.value.street = "b"
            manager.reset_previous_value()
            found.append(manager.changed)
        manager.setval(None)
        return [*found, manager.changed, manager.deleted, manager.explicit]


show("the module", lambda: sorted(n for n in dir(usertype) if "User" in n))
show("the error", lambda: issubclass(UserTypeException, Exception) and issubclass(ValidationError, Exception))
show("made by hand", lambda: type("ByHand", (UserType,), {"x": columns.Integer()}))
