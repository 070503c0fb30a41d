"""Container columns, tuples and user types of the object mapper: definitions, validation, conversion, nesting."""

# mypy: ignore-errors
import datetime as dt
import re
from collections import OrderedDict

from cases import case, each, show

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.columns import (
    BaseCollectionColumn,
    BaseContainerColumn,
    DateTime,
    Float,
    Integer,
    List,
    Map,
    Set,
    Text,
    Tuple,
    UserDefinedType,
    resolve_udts,
)
from cassandra.cqlengine.usertype import UserType
from cassandra.util import OrderedMap, OrderedMapSerializedKey, SortedSet


class Address(UserType):
    street = Text()
    number = Integer()


class Person(UserType):
    __type_name__ = "person_type"
    name = Text(required=True, max_length=5)
    home = UserDefinedType(Address)
    tags = Set(Text)


def named(column, name="field"):
    column.set_column_name(name)
    return column


MAKERS = {
    "Set(Integer)": lambda **k: Set(Integer, **k),
    "Set(Integer())": lambda **k: Set(Integer(), **k),
    "Set(Text(max_length=2))": lambda **k: Set(Text(max_length=2), **k),
    "Set(strict=False)": lambda **k: Set(Integer, strict=False, **k),
    "List(Integer)": lambda **k: List(Integer, **k),
    "List(Text)": lambda **k: List(Text(), **k),
    "List(DateTime)": lambda **k: List(DateTime, **k),
    "Map(Text, Integer)": lambda **k: Map(Text, Integer, **k),
    "Map(Integer, Text())": lambda **k: Map(Integer, Text(min_length=1), **k),
    "Tuple(Integer)": lambda **k: Tuple(Integer, **k),
    "Tuple(Integer, Text)": lambda **k: Tuple(Integer, Text, **k),
    "Tuple(Text, Integer, Float)": lambda **k: Tuple(Text(), Integer(), Float(), **k),
    "List(List)": lambda **k: List(List(Integer, frozen=True), **k),
    "Set(Set)": lambda **k: Set(Set(Integer), **k),
    "Set(Tuple)": lambda **k: Set(Tuple(Integer, Text), **k),
    "Map(Text, List)": lambda **k: Map(Text, List(Integer), **k),
    "Map(Tuple, Set)": lambda **k: Map(Tuple(Integer), Set(Text), **k),
    "Map(Text, Map)": lambda **k: Map(Text, Map(Text, DateTime), **k),
    "Tuple(List, Map)": lambda **k: Tuple(List(Integer), Map(Text, Text), **k),
    "Tuple(Tuple)": lambda **k: Tuple(Tuple(Integer, Integer), Text, **k),
    "UserDefinedType": lambda **k: UserDefinedType(Address, **k),
    "UserDefinedType nested": lambda **k: UserDefinedType(Person, **k),
    "List(UserDefinedType)": lambda **k: List(UserDefinedType(Address), **k),
    "Map(Text, UserDefinedType)": lambda **k: Map(Text, UserDefinedType(Person), **k),
    "Tuple(UserDefinedType)": lambda **k: Tuple(UserDefinedType(Address), Integer, **k),
}
for name, make in MAKERS.items():
    show(f"{name} db_type", lambda: make().db_type)
    show(f"{name} definition", lambda: (named(make()).get_column_def(), make().cql_parameterized_type()))
    show(f"{name} sub_types", lambda: [(type(t).__name__, t.db_type) for t in make().sub_types])
    show(f"{name} types", lambda: [type(t).__name__ for t in getattr(make(), "types", ())])
    if "(UserDefinedType)" not in name and "Text, UserDefinedType" not in name:
        show(f"{name} cql_type", lambda: make().cql_type.__name__, caught=Exception)
    show(
        f"{name} defaults",
        lambda: (make().has_default, make().get_default(), make(default=None).has_default, make().default),
    )
    show(
        f"{name} frozen",
        lambda: make(frozen=True).db_type if "Tuple(" not in name[:6] and "User" not in name[:4] else None,
    )
    show(
        f"{name} frozen flag",
        lambda: make(frozen=True).frozen if "Tuple(" not in name[:6] and "User" not in name[:4] else None,
    )
    show(f"{name} static", lambda: named(make(static=True)).get_column_def())
    show(f"{name} key", lambda: named(make(primary_key=True)).get_column_def())
    show(f"{name} required", lambda: named(make(required=True)).validate(None), text=True)
    show(f"{name} udts", lambda: (lambda found: (resolve_udts(make(), found), [u.__name__ for u in found]))([]))
    show(f"{name} hashable", lambda: isinstance(hash(make()), int))
    show(
        f"{name} attributes",
        lambda: sorted(n for n in vars(make()) if not n.startswith("_") and n not in ("position", "instance_counter")),
    )
show(
    "kinds",
    lambda: (
        type(Set(Integer).value_col).__name__,
        type(List(Text).value_col).__name__,
        type(Map(Text, Integer).key_col).__name__,
        type(Map(Text, Integer).value_col).__name__,
        Set(Integer).strict,
        Set(Integer, strict=False).strict,
    ),
)
show("positional", lambda: (Set(Integer, False).strict, List(Integer, None).default, Map(Text, Text, None).default))
for cls in (Set, List, Map, Tuple, BaseCollectionColumn, BaseContainerColumn, UserDefinedType):
    show(f"{cls.__name__} without types", cls)
    show(f"{cls.__name__} frozen", lambda: getattr(cls, "frozen", "nothing"))
for bad in (int, "text", None, 5, str, [Integer]):
    show(f"Set of {bad!r}", lambda: Set(bad), text=False)
    show(f"List of {bad!r}", lambda: List(bad), text=False)
    show(f"Map of {bad!r}", lambda: Map(bad, Integer), text=False)
    show(f"Map to {bad!r}", lambda: Map(Integer, bad), text=False)
    show(f"Tuple of {bad!r}", lambda: Tuple(bad), text=False)


@case("the error of a wrong type")
def _():
    try:
        Set(int)
    except Exception as error:
        return (type(error).__name__, str(error))


@case("the error of a tuple without types")
def _():
    try:
        Tuple()
    except Exception as error:
        return (type(error).__name__, str(error))


show("keys of a map have to be hashable", lambda: Map(List(Integer), Text))
show("values of a set have to be hashable", lambda: Set(List(Integer)))
show("keys of a map can be frozen sets", lambda: Map(Set(Integer, frozen=True), Text).db_type)
show("sets of frozen lists", lambda: Set(List(Integer, frozen=True)).db_type)
each("sets of many", lambda n: Set(Text).validate({str(i) for i in range(n)}) is not None, [65535, 65536], text=True)
each("lists of many", lambda n: List(Text).validate(["a"] * n) is not None, [65535, 65536], text=True)
each(
    "maps of many",
    lambda n: Map(Integer, Integer).validate({i: i for i in range(n)}) is not None,
    [65535, 65536],
    text=True,
)

NOW = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
VALUES = [
    {1, 2}, {"1", "2"}, {1, "a"}, {None}, {1, None}, set(), frozenset([1]), [1, 2], ["1", 2], [], [None], [1, None], (1, 2), (1, "a"), ("1", "a"), (1, None),
    (None, None), (1,), (), (1, 2, 3), ("a", "2", "1.5"), {"a": 1}, {"a": "1"}, {"a": None}, {None: 1}, {1: "a"}, {"1": "a"}, {1: ""}, {}, {"a": 1, "b": 2}, OrderedDict(b=1, a=2),
    5, "text", "", b"bytes", None, True, object, 1.5, [[1, 2], [3]], [["1"], []], [[1], None], {(1, "a")}, {(1, 2)}, {"a": [1, "2"]}, {"a": {"b": NOW}}, {"a": {"b": 5}},
    ([1, "2"], {"a": "b"}), ((1, 2), "a"), ((1,), "a"), {frozenset([1])}, {(1,): {"a"}}, [NOW], [5], [NOW.date()], SortedSet([1, 2]), OrderedMap([("a", 1)]), iter([1, 2]),
    {"a", "abc"}, ("a", 1, 2),
]  # fmt: skip
NESTED = [
    name
    for name in MAKERS
    if name.count("(") > 1
    or name.startswith("Tuple")
    or name in ("List(List)", "Set(Set)", "Set(Tuple)", "Map(Text, List)", "Map(Tuple, Set)", "Map(Text, Map)")
]


def validated(column, value):
    """What theirs tells of an element names no column, and hence "None"."""
    try:
        return named(column).validate(value)
    except ValidationError as error:
        raise ValidationError(re.sub(r"^None ", "field ", str(error))) from None


for name, make in MAKERS.items():
    if "User" in name:
        continue
    for value in VALUES:
        shown = "an iterator" if hasattr(value, "__next__") else repr(value)
        if shown == "an iterator":
            continue
        plain = name not in NESTED and hasattr(value, "__len__")
        show(
            f"{name} validate {shown}", lambda: validated(make(), value), text=plain, caught=() if plain else Exception
        )
        show(f"{name} to_python {shown}", lambda: named(make()).to_python(value), caught=Exception)
        show(f"{name} to_database {shown}", lambda: named(make()).to_database(value), caught=Exception)

for name, value in [
    ("Set(Integer)", {"1"}),
    ("List(Integer)", ["1"]),
    ("Map(Text, Integer)", {"a": "1"}),
    ("Tuple(Integer)", ("1",)),
]:
    show(
        f"{name} types of results",
        lambda: [
            type(f(value)).__name__
            for f in (MAKERS[name]().validate, MAKERS[name]().to_python, MAKERS[name]().to_database)
        ],
    )
show(
    "Set is a new one",
    lambda: (lambda v, c: (c.to_database(v) is v, c.to_python(v) is v, c.validate(v) is v))({1}, Set(Integer)),
)
show(
    "List is a new one",
    lambda: (lambda v, c: (c.to_database(v) is v, c.to_python(v) is v, c.validate(v) is v))([1], List(Integer)),
)
show(
    "Map is a new one",
    lambda: (lambda v, c: (c.to_database(v) is v, c.to_python(v) is v, c.validate(v) is v))(
        {"a": 1}, Map(Text, Integer)
    ),
)
show("Map keeps order", lambda: list(Map(Text, Integer).to_database(OrderedDict([("b", 1), ("a", 2)]))))
show(
    "Map of a driver's map",
    lambda: (lambda m: (type(m).__name__, m))(Map(Text, Integer).to_python(OrderedMapSerializedKey(None, 4))),
    caught=Exception,
)
show("validation of elements", lambda: validated(List(Text(max_length=2)), ["abc"]), text=True)
show("validation of keys", lambda: validated(Map(Text(max_length=1), Integer), {"ab": 1}), text=True)
show("required elements", lambda: named(List(Text(required=True))).validate([None]), text=True)

# null values of containers, which are not told from empty ones

for value in (None, set(), {1}, [], [1], {}, {"a": 1}, ()):
    show(
        f"null {value!r}",
        lambda: [
            c._val_is_null(value) if hasattr(c, "_val_is_null") else None
            for c in (Set(Integer), List(Integer), Map(Text, Integer), Tuple(Integer), Integer())
        ],
    )

# value managers

for column in (
    Integer(),
    Text(),
    Set(Integer),
    List(Integer),
    Map(Text, Integer),
    Tuple(Integer),
    columns.Counter(),
    Integer(default=5),
):
    kind = type(column).__name__ + ("" if column.default in (None, 0, set, list, dict) else " with default")
    for value in (None, 5, {1}, [1], {"a": 1}):

        @case(f"manager of {kind} {value!r}")
        def _():
            manager = column.value_manager(None, column, value)
            return (
                type(manager).__name__,
                manager.value,
                manager.previous_value,
                manager.explicit,
                manager.changed,
                manager.deleted,
                manager.getval(),
                manager.column is column,
                manager.instance,
            )

        @case(f"manager of {kind} {value!r} set")
        def _():
            manager = column.value_manager(None, column, value)
            manager.setval(7)
            found = [manager.value, manager.previous_value, manager.explicit, manager.changed, manager.deleted]
            manager.setval(None)
            found += [manager.value, manager.previous_value, manager.explicit, manager.changed, manager.deleted]
            manager.reset_previous_value()
            return [*found, manager.value, manager.previous_value, manager.explicit, manager.changed, manager.deleted]

        @case(f"manager of {kind} {value!r} deleted")
        def _():
            manager = column.value_manager(None, column, value)
            manager.delval()
            return (
                manager.value,
                manager.previous_value,
                manager.explicit,
                manager.changed,
                manager.deleted,
                manager.getval(),
            )

        @case(f"manager of {kind} {value!r} reset")
        def _():
            manager = column.value_manager(None, column, value)
            manager.reset_previous_value()
            return (
                manager.value,
                manager.previous_value,
                manager.previous_value is manager.value,
                manager.explicit,
                manager.changed,
            )

    @case(f"manager of {kind} changed in place")
    def _():
        manager = column.value_manager(None, column, [[1]])
        manager.reset_previous_value()
        manager.value.append(2)
        found = [manager.changed, manager.previous_value]
        manager.reset_previous_value()
        manager.value[0].append(3)
        return [*found, manager.changed, manager.previous_value, manager.value]

    show(f"manager of {kind} property", lambda: type(column.value_manager(None, column, 5).get_property()).__name__)


@case("property of a manager")
def _():
    class Owner:
        pass

    manager = columns.BaseValueManager(None, Integer(), 5)
    Owner.x = manager.get_property()
    owner = Owner()
    found = [owner.x]
    owner.x = 6
    found += [owner.x, manager.value]
    del owner.x
    return [*found, owner.x, manager.value, manager.deleted]
