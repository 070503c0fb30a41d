"""Parameters bound to prepared statements made by hand, of every type: bytes, and the classes of errors."""

# mypy: ignore-errors
import datetime as dt
from collections import OrderedDict, defaultdict
from decimal import Decimal
from uuid import UUID

import cases
from cases import case

from cassandra import cqltypes as t
from cassandra.protocol import ColumnMetadata
from cassandra.query import UNSET_VALUE, BatchStatement, BoundStatement, PreparedStatement, SimpleStatement
from cassandra.util import Date, Duration, Time


def plain(value):
    """The marker is another object in each driver."""
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return "UNSET" if value is UNSET_VALUE else value


def show(name, function, *args, **kwargs):
    cases.show(name, lambda: plain(function(*args)), **kwargs)


def prepared(*types, key=None, version=4, names=None, **options):
    columns = [ColumnMetadata("ks", "t", name, kind) for name, kind in zip(names or "abcdefgh", types)]
    return PreparedStatement(columns, b"id", key, "INSERT INTO t", "ks", version, None, None, **options)


def bound(*types):
    def bind(*values):
        return [
            value if value is None or value is UNSET_VALUE else value.hex()
            for value in prepared(*types).bind(values).values
        ]

    return bind


INT, TEXT = t.Int32Type, t.UTF8Type
LISTS = t.ListType.apply_parameters([INT])
SETS = t.SetType.apply_parameters([TEXT])
MAPS = t.MapType.apply_parameters([TEXT, INT])
TUPLES = t.TupleType.apply_parameters([INT, TEXT])
VECTOR = t.VectorType.apply_parameters([t.FloatType, 2], None)
UDT = t.UserType.make_udt_class("ks", "bound", ("name", "age"), (TEXT, INT))
U1 = UUID("3d2a7f10-1dd1-11b2-8080-808080808080")
VALUES = [
    None,
    UNSET_VALUE,
    0,
    1,
    -1,
    2**31,
    2**63,
    2**64,
    True,
    1.5,
    float("nan"),
    float("inf"),
    1e300,
    "",
    "a",
    "ä",
    "\ud800",
    "5",
    b"",
    b"a",
    bytearray(b"b"),
    dt.datetime(2024, 2, 29),
    dt.date(2024, 2, 29),
    dt.time(1, 2),
    dt.timedelta(1),
    Date(5),
    Time(5),
    Duration(1, 2, 3),
    U1,
    Decimal("1.5"),
    Decimal("NaN"),
    "127.0.0.1",
    "2024-02-29",
    "01:02:03",
    [],
    [1],
    (1, "a"),
    (1, "a", 2),
    {"a": 1},
    {"a"},
    {1},
    [None],
    [1.0, 2.0],
    [1.0],
    ("n", 5, 6),
    str(U1),
    object,
]
TYPES = [
    t.AsciiType,
    TEXT,
    t.BytesType,
    INT,
    t.LongType,
    t.ShortType,
    t.ByteType,
    t.IntegerType,
    t.FloatType,
    t.DoubleType,
    t.BooleanType,
    t.DecimalType,
    t.DateType,
    t.SimpleDateType,
    t.TimeType,
    t.UUIDType,
    t.TimeUUIDType,
    t.InetAddressType,
    t.DurationType,
    t.CounterColumnType,
    LISTS,
    SETS,
    MAPS,
    TUPLES,
    VECTOR,
    UDT,
]
NAMES = {LISTS: "list", SETS: "set", MAPS: "map", TUPLES: "tuple", VECTOR: "vector", UDT: "udt"}
for kind in TYPES:
    for value in VALUES:
        if (
            kind is t.InetAddressType
            and value in ("\ud800", "5")
            or kind is t.TimeType
            and value == -1
            or kind in (t.BytesType, UDT)
            and (isinstance(value, set) or value in (True, object))
        ):
            continue
        if (
            kind in (t.BytesType, t.BooleanType)
            and type(value) is int
            or kind is t.DateType
            and value is True
            or kind is UDT
            and value in ({"a": 1}, [], [None])
        ):
            continue  # other drivers take a number for that many zeros, and what is no address for one without fields
        if kind in (UDT, TUPLES) and isinstance(
            value, (str, int, float, dt.date, dt.time, dt.timedelta, Date, Time, Duration, UUID, Decimal)
        ):
            continue
        shown = "UNSET" if value is UNSET_VALUE else value.__name__ if isinstance(value, type) else repr(value)
        by_accident = kind in (t.AsciiType, TEXT, SETS, UDT, VECTOR) and not isinstance(
            value, str
        )  # AttributeError and the like
        by_accident |= (
            isinstance(value, (Decimal, float)) or kind in (VECTOR, t.SimpleDateType) and isinstance(value, str)
        )
        show(f"{NAMES.get(kind, kind.__name__)} {shown}", bound(kind), value, caught=Exception if by_accident else ())


@case("the column is named")
def _():
    try:
        prepared(INT, TEXT).bind((1, 2))
    except Exception as error:
        return "b" in str(error)


@case("type and value are named")
def _():
    try:
        prepared(INT, INT).bind((1, "x"))
    except TypeError as error:
        return (
            'Received an argument of invalid type for column "b".' in str(error) or 'for column "b"' in str(error),
            "Got: " in str(error),
            "Expected: " in str(error),
        )


two = prepared(INT, TEXT)
for name, value in {
    "nothing": (),
    "None": None,
    "one": (1,),
    "list": [1, "a"],
    "too many": (1, "a", 2),
    "dict": {"a": 1, "b": "x"},
    "ordered": OrderedDict(b="x", a=1),
    "missing": {"a": 1},
    "extra": {"a": 1, "b": "x", "c": 3},
    "wrong": {"x": 1},
    "defaultdict": defaultdict(int, a=1, b="x"),
    "text": "ab",
    "set": {1},
    "range": range(1),
    "unset": (UNSET_VALUE, "a"),
    "all None": (None, None),
    "number": 5,
    "keys": {"a": 1}.keys(),
}.items():
    show(f"parameters {name}", lambda: two.bind(value).values)
show("one parameter of text", lambda: prepared(TEXT).bind("a").values)
show("two parameters of text", lambda: prepared(TEXT, TEXT).bind("ab").values)
show("letters for numbers", lambda: prepared(INT).bind("a").values)
for version in (3, 4, 5):
    for name, value in {
        "few": (1,) if version > 3 else (1, "a"),
        "missing": {"a": 1},
        "unset": (1, UNSET_VALUE),
        "extra": {"a": 1, "b": "x", "c": 3},
        "too many": (1, "a", 2),
        "none": () if version > 3 else (1, "a"),
    }.items():
        show(
            f"version {version} {name}",
            lambda: prepared(INT, TEXT, version=version).bind(value).values,
            text=name in ("few", "too many"),
        )
for name, value in {
    "null": (None, "a"),
    "unset": (UNSET_VALUE, "a"),
    "few": (),
    "short": (1,),
    "good": (1, "a"),
    "good dict": {"a": 1, "b": "x"},
    "missing": {"b": "x"},
}.items():
    show(f"key {name}", lambda: prepared(INT, TEXT, key=[0]).bind(value).values)
    show(f"routing key {name}", lambda: prepared(INT, TEXT, key=[0]).bind(value).routing_key)
    if name == "null":
        continue
    show(f"two keys {name}", lambda: prepared(INT, TEXT, key=[0, 1]).bind(value).routing_key)
    show(f"keys reversed {name}", lambda: prepared(INT, TEXT, key=[1, 0]).bind(value).routing_key)
show("no parameters", lambda: prepared().bind(()).values)
show("no parameters given", lambda: prepared().bind(None).values)
show("no parameters but one", lambda: prepared().bind((1,)).values)
show("same names", lambda: prepared(INT, INT, names=["a", "a"]).bind({"a": 5}).values)
show("quoted names", lambda: prepared(INT, INT, names=["A b", "[limit]"]).bind({"A b": 5, "[limit]": 6}).values)

statement = prepared(INT, TEXT, key=[0])
for name in (
    "query_string",
    "query_id",
    "keyspace",
    "protocol_version",
    "routing_key_indexes",
    "consistency_level",
    "serial_consistency_level",
    "retry_policy",
    "custom_payload",
    "is_idempotent",
    "result_metadata",
    "result_metadata_id",
    "column_encryption_policy",
):
    show(f"prepared {name}", lambda: getattr(statement, name))
show("prepared repr", lambda: repr(statement))
show("prepared text", lambda: str(statement))
show(
    "prepared columns",
    lambda: [(c.keyspace_name, c.table_name, c.name, c.type.__name__) for c in statement.column_metadata],
)
show("is_routing_key_index", lambda: [statement.is_routing_key_index(i) for i in range(3)])
show("is_lwt", lambda: (statement.is_lwt(), prepared(INT, is_lwt=True).is_lwt()))
for name in (
    "consistency_level",
    "serial_consistency_level",
    "fetch_size",
    "custom_payload",
    "is_idempotent",
    "retry_policy",
):
    for value in (True, False) if name == "is_idempotent" else (None, 5, {"a": b"b"}):

        def inherited(name=name, value=value):
            made = prepared(INT)
            setattr(made, name, value)
            return getattr(made.bind((1,)), name), getattr(BoundStatement(made), name)

        show(f"{name} {value} is inherited", inherited)
statement.consistency_level = 4
show("repr with a level", lambda: (repr(statement), str(statement.bind((1, "a")))))
for name in (
    "keyspace",
    "table",
    "routing_key",
    "consistency_level",
    "serial_consistency_level",
    "retry_policy",
    "is_idempotent",
    "custom_payload",
    "prepared_statement",
):
    show(
        f"bound {name}",
        lambda: (
            getattr(statement.bind((1, "a")), name)
            if name != "prepared_statement"
            else statement.bind((1, "a")).prepared_statement is statement
        ),
    )
show("bound repr", lambda: repr(statement.bind((1, "a"))))
show("bound text", lambda: str(statement.bind((1, "a"))))
show("bound twice", lambda: BoundStatement(statement).bind((1, "a")).bind((2, "b")).values)
show("routing key set", lambda: BoundStatement(statement, routing_key=b"k").bind((1, "a")).routing_key)
show("keyspace set", lambda: BoundStatement(statement, keyspace="other").keyspace)
show("no key", lambda: prepared(INT).bind((1,)).routing_key)
for name, values in {
    "nothing": (),
    "text": ("SELECT 1",),
    "text with parameters": ("SELECT %s", (1,)),
    "simple": (SimpleStatement("SELECT %s"), (1,)),
    "bound": (statement.bind((1, "a")),),
    "bound with parameters": (statement.bind((1, "a")), (1, "a")),
    "prepared": (statement, (1, "a")),
    "prepared with text": (prepared(TEXT), "a"),
    "prepared with too many": (statement, (1, "a", 2)),
    "prepared with nothing": (statement,),
    "number": (5,),
    "None": (None,),
    "wrong type": (statement, ("a", "a")),
}.items():

    def added(values=values):
        batch = BatchStatement()
        if values:
            batch.add(*values)
        return len(batch), str(batch), batch.keyspace, batch.routing_key

    show(f"batch of {name}", added, caught=Exception)


@case("65,536 statements")
def _():
    batch = BatchStatement()
    for _ in range(0xFFFF):
        batch.add("x")
    try:
        batch.add("x")
    finally:
        print(len(batch))


@case("65,535 statements added at once")
def _():
    batch = BatchStatement()
    batch.add_all(["x"] * 0xFFFF, [None] * 0xFFFF)
    return len(batch)
