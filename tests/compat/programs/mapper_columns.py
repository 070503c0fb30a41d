"""Columns of the object mapper: attributes, definitions, validation with its messages, conversion both ways."""

# mypy: ignore-errors
import datetime as dt
import decimal
from uuid import UUID

from cases import case, each, show

from cassandra.cqlengine import ValidationError, columns
from cassandra.util import Date, Duration, Time

SIMPLE = [
    columns.Ascii, columns.BigInt, columns.Blob, columns.Bytes, columns.Boolean, columns.Date, columns.DateTime, columns.Decimal,
    columns.Double, columns.Duration, columns.Float, columns.Inet, columns.Integer, columns.SmallInt, columns.Text,
    columns.Time, columns.TimeUUID, columns.TinyInt, columns.UUID, columns.VarInt,
]  # fmt: skip
OTHERS = [columns.Column, columns.BaseFloat, columns.BaseCollectionColumn, columns.BaseContainerColumn, columns.Counter,
          columns.Set, columns.List, columns.Map, columns.Tuple, columns.UserDefinedType]  # fmt: skip
MANAGERS = [columns.BaseValueManager, columns.CounterValueManager, columns.UDTValueManager]
OPTIONS = ["primary_key", "partition_key", "index", "custom_index", "db_field", "default", "required", "clustering_order",
           "discriminator_column", "static", "column_name", "value"]  # fmt: skip


def named(column, name="field"):
    column.set_column_name(name)
    return column


for cls in [*SIMPLE, *OTHERS]:
    name = cls.__name__
    show(f"{name} path", lambda: (cls.__module__, cls.__qualname__, type(cls).__name__))
    show(f"{name} bases", lambda: [base.__name__ for base in cls.__mro__ if not base.__name__.startswith("_")])
    show(
        f"{name} class",
        lambda: (
            cls.db_type if isinstance(cls.db_type, str) else None,
            cls.value_manager.__name__,
            [getattr(cls, option, None) for option in OPTIONS[:10]],
        ),
    )
for cls in MANAGERS:
    show(
        f"{cls.__name__} path",
        lambda: (
            cls.__module__,
            cls.__qualname__,
            [base.__name__ for base in cls.__mro__ if not base.__name__.startswith("_")],
        ),
    )
show("Bytes", lambda: columns.Bytes is columns.Blob)
show("Column type", lambda: columns.Column.db_type)

COMPLEX = {
    "Set": lambda **k: columns.Set(columns.Integer, **k),
    "List": lambda **k: columns.List(columns.Text, **k),
    "Map": lambda **k: columns.Map(columns.Text, columns.Integer, **k),
    "Tuple": lambda **k: columns.Tuple(columns.Integer, columns.Text, **k),
}
MAKERS = {**{cls.__name__: cls for cls in SIMPLE}, "Counter": columns.Counter, **COMPLEX}
for name, make in MAKERS.items():

    @case(f"{name} made")
    def _():
        column = make()
        return [getattr(column, option) for option in OPTIONS]

    show(f"{name} cql", lambda: (named(make()).cql, named(make()).get_cql()))
    show(f"{name} definition", lambda: (named(make()).get_column_def(), named(make()).db_type))
    show(f"{name} type", lambda: (make().cql_parameterized_type(), make().cql_type.__name__), caught=Exception)
    show(f"{name} names", lambda: (named(make()).db_field_name, named(make()).db_index_name, named(make()).column_name))
    show(f"{name} sub_types", lambda: [type(t).__name__ for t in make().sub_types])
    show(
        f"{name} flags",
        lambda: (make().has_default, make().is_primary_key, make().can_delete, make().has_index, make().get_default()),
    )
    if name not in ("Blob", "Bytes"):
        show(f"{name} None", lambda: (make().validate(None), make().to_python(None), make().to_database(None)))
    show(f"{name} required None", lambda: named(make(required=True)).validate(None), text=True)
    show(f"{name} required without a name", lambda: make(required=True).validate(None), text=True)
    show(
        f"{name} db_field",
        lambda: (lambda c: (c.db_field_name, c.cql, c.get_column_def(), c.db_index_name, c.column_name))(
            named(make(db_field="stored"))
        ),
    )
    if name != "Counter":
        show(f"{name} static", lambda: named(make(static=True)).get_column_def())
        show(
            f"{name} keys",
            lambda: (
                named(make(primary_key=True)).get_column_def(),
                make(primary_key=True).is_primary_key,
                make(partition_key=True).is_primary_key,
                make(partition_key=True).primary_key,
            ),
        )
        show(f"{name} keys deleted", lambda: (make(primary_key=True).can_delete, make(partition_key=True).can_delete))
    show(f"{name} index", lambda: (make(index=True).has_index, named(make(index=True)).db_index_name))
    show(f"{name} equal", lambda: (make() == make(), make() != make()))

show("Counter with a primary key", lambda: columns.Counter(primary_key=True))
show(
    "Counter with an index",
    lambda: (
        columns.Counter(index=True).index,
        columns.Counter(db_field="x").db_field,
        columns.Counter(required=True).required,
    ),
)
show("unknown option", lambda: columns.Integer(nonsense=True))
show("unknown option of text", lambda: columns.Text(nonsense=True))
show("positional", lambda: (lambda c: (c.primary_key, c.partition_key, c.index))(columns.Integer(True, True, True)))
show("custom index", lambda: (lambda c: (c.custom_index, c.index, c.has_index))(columns.Text(custom_index=True)))
show(
    "clustering order",
    lambda: (lambda c: (c.clustering_order, c.get_column_def()))(
        named(columns.Text(primary_key=True, clustering_order="DESC"))
    ),
)
each(
    "clustering order",
    lambda order: columns.Text(clustering_order=order).clustering_order,
    ["desc", "ASC", "up", None, 1],
)
show(
    "discriminator",
    lambda: (lambda c: (c.discriminator_column, c.index, c.has_index))(columns.Text(discriminator_column=True)),
)

# order and equality


@case("columns are ordered as they are made")
def _():
    first, second = columns.Integer(), columns.Text()
    return (
        first < second,
        first <= second,
        first > second,
        first >= second,
        first == second,
        first != second,
        first == first,
        second.position - first.position,
    )


show(
    "sorted",
    lambda: (lambda a, b, c: [x is y for x, y in zip(sorted([c, a, b]), [a, b, c])])(
        columns.Text(), columns.Text(), columns.Text()
    ),
)
show("compared with others", lambda: (columns.Text() == 5, columns.Text() != 5, columns.Text() == "a"))
show("ordered with others", lambda: columns.Text() < 5)
show("hash", lambda: len({columns.Text(), columns.Text()}))
show(
    "instance_counter",
    lambda: (lambda before, made, after: (after - before, made.position == before))(
        columns.Column.instance_counter, columns.Text(), columns.Column.instance_counter
    ),
)

# defaults

for name, default in [
    ("value", 5),
    ("callable", lambda: 7),
    ("class", int),
    ("none", None),
    ("false", False),
    ("zero", 0),
    ("empty", ""),
]:
    show(
        f"default {name}",
        lambda: (lambda c: (c.has_default, c.get_default(), callable(c.default)))(columns.Integer(default=default)),
    )
show(
    "default of containers",
    lambda: (
        columns.Set(columns.Text).get_default(),
        columns.List(columns.Text).get_default(),
        columns.Map(columns.Text, columns.Text).get_default(),
    ),
)
show(
    "default of containers none",
    lambda: (
        columns.Set(columns.Text, default=None).get_default(),
        columns.List(columns.Text, default=None).has_default,
    ),
)
show("default with arguments", lambda: columns.Integer(default=lambda a: a).get_default())
show("defaults are new", lambda: (lambda c: c.get_default() is not c.get_default())(columns.List(columns.Text)))

# values

NOW = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
ZONE = dt.timezone(dt.timedelta(hours=-5))
U1, U4 = UUID("c9ac4f0e-d6c5-11ee-a506-0242ac120002"), UUID("3c2d6c8e-4f4c-4a3e-9d43-8e1f6c9f1b2a")
VALUES = [
    0, 1, -1, 5, 2**31 - 1, 2**31, 2**63, 2**100, True, False, 1.5, -0.0, float("inf"), "", "5", "text", "it's", "ünicode", " 7 ", "1.5", "true",
    b"", b"bytes", b"5", bytearray(b"x"), decimal.Decimal("1.50"), decimal.Decimal("NaN"), NOW, NOW.replace(tzinfo=ZONE), NOW.date(), NOW.time(), dt.timedelta(seconds=5),
    Date("2024-02-29"), Time("12:30:15.123456789"), Duration(1, 2, 3), U1, U4, str(U1), str(U4), "3c2d6c8e4f4c4a3e9d438e1f6c9f1b2a", "2024-02-29", "12:30:15",
    "127.0.0.1", "::1", "nonsense", (1, 2), [1, 2], {1, 2}, {"a": 1}, (), object, 1e300, complex(1, 2),
]  # fmt: skip
NO_NUMBER = (
    bytes,
    bytearray,
    dt.date,
    dt.time,
    dt.timedelta,
    Date,
    Time,
    Duration,
    UUID,
    tuple,
    list,
    set,
    dict,
    type,
    complex,
)
for cls in [*SIMPLE, columns.Counter]:
    for value in VALUES:
        by_accident = (cls is columns.Decimal and isinstance(value, NO_NUMBER)) or value == float("inf")
        show(
            f"{cls.__name__} validate {value!r}",
            lambda: named(cls()).validate(value),
            text=not by_accident,
            caught=Exception if by_accident else TypeError if cls is columns.Duration else (),
        )
    for value in [*VALUES, None]:
        if not (
            cls in (columns.Date, columns.Time) and (value in (2**63, 2**100, -1) or isinstance(value, bool))
        ) and not (cls is columns.Blob and value is None):
            show(f"{cls.__name__} to_python {value!r}", lambda: named(cls()).to_python(value), caught=Exception)
            show(f"{cls.__name__} to_database {value!r}", lambda: named(cls()).to_database(value), caught=Exception)

# text

for value in ["", "a", "abc", "abcd", "abcde", None, b"ab", "äöüß"]:
    show(f"Text 2..4 {value!r}", lambda: named(columns.Text(min_length=2, max_length=4)).validate(value), text=True)
    show(
        f"Text required 2..4 {value!r}",
        lambda: named(columns.Text(min_length=2, max_length=4, required=True)).validate(value),
        text=True,
    )
    show(f"Ascii 2..4 {value!r}", lambda: named(columns.Ascii(min_length=2, max_length=4)).validate(value), text=True)
LENGTHS = [{"min_length": 0}, {"min_length": -1}, {"max_length": 0}, {"max_length": -1}, {"min_length": 5, "max_length": 4},
           {"min_length": 4, "max_length": 4}, {"min_length": None}, {"min_length": 1}, {"max_length": 10}]  # fmt: skip
for lengths in LENGTHS:
    show(f"Text {lengths}", lambda: (lambda c: (c.min_length, c.max_length))(columns.Text(**lengths)), text=True)
    for value in ("", "x", "xxxxxx", None):
        show(f"Text {lengths} {value!r}", lambda: named(columns.Text(**lengths)).validate(value), text=True)
        show(
            f"Text required {lengths} {value!r}",
            lambda: named(columns.Text(required=True, **lengths)).validate(value),
            text=True,
        )
show("Text positional", lambda: (columns.Text(1, 2).min_length, columns.Text(1, 2).max_length))
each(
    "Ascii letters",
    lambda value: named(columns.Ascii()).validate(value),
    ["\x00", "\x7f", "\x80", "é", "a\u2603", 5, b"\xff"],
    text=True,
)
show("Text required empty", lambda: named(columns.Text(required=True)).validate(""), text=True)

# moments


@case("truncate_microseconds", text=True)
def _():
    columns.DateTime.truncate_microseconds = True
    try:
        return (
            columns.DateTime().to_python(NOW),
            columns.DateTime().to_python(NOW.replace(tzinfo=ZONE)),
            columns.DateTime().to_database(NOW),
        )
    finally:
        columns.DateTime.truncate_microseconds = False


MOMENTS = [dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999000), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999000),
           dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), NOW.replace(tzinfo=dt.timezone(dt.timedelta(hours=13, minutes=45))), dt.date(1970, 1, 1), dt.date(2024, 2, 29),
           0, 1, -1, 1709209815123, 1709209815.123, "2024-02-29", None]  # fmt: skip
for value in MOMENTS:
    show(f"DateTime to_database {value!r}", lambda: columns.DateTime().to_database(value), caught=Exception)
    show(f"DateTime to_python {value!r}", lambda: columns.DateTime().to_python(value), caught=Exception)
    show(f"Date to_database {value!r}", lambda: columns.Date().to_database(value), caught=Exception)
    show(f"Date to_python {value!r}", lambda: columns.Date().to_python(value), caught=Exception)
each("DateTime of another Date", lambda days: columns.DateTime().to_python(Date(days)), [0, 1, -1, 19782])

# a column of a program's own


@case("a column of a program's own")
def _():
    class Upper(columns.Text):
        db_type = "text"

        def validate(self, value):
            value = super().validate(value)
            return value.upper() if value else value

        def to_python(self, value):
            return ("python", value)

        def to_database(self, value):
            return ("database", value)

    column = named(Upper(max_length=3))
    return (
        column.validate("abc"),
        column.to_python(1),
        column.to_database(1),
        column.get_column_def(),
        column.max_length,
        columns.List(Upper).to_database(["a"]),
        columns.List(Upper).to_python(["a"]),
        columns.List(Upper).validate(["a"]),
    )


@case("a column type of a program's own")
def _():
    class Strange(columns.Column):
        db_type = "strange"

    return (named(Strange()).get_column_def(), Strange().validate(5), columns.Set(Strange).db_type)


show(
    "class attributes are defaults",
    lambda: type("Indexed", (columns.Text,), {"required": True, "max_length": 3})().required,
)
show("a column without a type", lambda: named(columns.Column()).get_column_def(), text=True)
show("the names", lambda: (columns.Text(db_field="a").db_field_name, columns.Text().db_field_name, columns.Text().cql))
show("get_column_def without a name", lambda: columns.Integer().get_column_def())
show("errors", lambda: issubclass(ValidationError, Exception))
