"""Literals of values (cassandra.encoder), parameters put into text, statements, row factories (cassandra.query)."""

# mypy: ignore-errors
import datetime as dt
import enum
from collections import OrderedDict
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

from cases import case, each, show

from cassandra import ConsistencyLevel, query
from cassandra.encoder import Encoder, ValueSequence, cql_quote
from cassandra.query import (
    BatchStatement,
    BatchType,
    SimpleStatement,
    bind_params,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)
from cassandra.util import (
    Date,
    Duration,
    LineString,
    OrderedMap,
    Point,
    Polygon,
    Time,
    sortedset,
)


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    pass


class Plain:
    def __str__(self):
        return "plain"


ZONE = dt.timezone(dt.timedelta(hours=2))
VALUES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**70,
    Colour.RED,
    0.0,
    1.5,
    -0.0,
    1e300,
    1e-7,
    0.1 + 0.2,
    float("inf"),
    float("-inf"),
    float("nan"),
    Decimal("1.25"),
    Decimal("-12345.678"),
    Decimal("NaN"),
    "",
    "a",
    "it's",
    "''",
    'say "x"',
    "ä",
    "a\\nb",
    "\n",
    b"",
    b"ab\xff",
    bytearray(b"ab"),
    memoryview(b"ab"),
    UUID("3d2a7f10-1dd1-11b2-8080-808080808080"),
    dt.datetime(2024, 2, 29, 12, 30, 1, 999999),
    dt.datetime(2024, 2, 29, tzinfo=ZONE),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.date(2024, 2, 29),
    dt.date(1001, 1, 1),
    dt.time(1, 2, 3, 4),
    dt.time(1, 2),
    Date(5),
    Date("2024-02-29"),
    Date(-(2**31)),
    Date(2932897),
    Time(5),
    Time("01:02:03.5"),
    Duration(1, 2, 3),
    Duration(-1, -2, -3),
    IPv4Address("1.2.3.4"),
    IPv6Address("::1"),
    [],
    [1, "a"],
    [[1], [2]],
    (),
    (1, "a"),
    (1,),
    {1},
    set(),
    frozenset([1]),
    sortedset([2, 1]),
    {},
    {"a": 1},
    {"a": [1]},
    OrderedDict(a=1),
    OrderedMap([("a", 1)]),
    ValueSequence([1, 2]),
    ValueSequence([]),
    ValueSequence(["a"]),
    Point(1, 2),
    LineString([(1, 2), (3, 4)]),
    Polygon([(0, 0), (1, 1), (1, 0)]),
    {"it's": "x'y"},
    [None],
    [True],
    {1: None},
    [dt.date(2024, 1, 1)],
    ["it's"],
]
for value in VALUES:
    name = repr(value)
    show(f"literal {name}", lambda: Encoder().cql_encode_all_types(value))
    show(f"parameter {name}", lambda: bind_params("%s", (value,), Encoder()))
    show(f"named parameter {name}", lambda: bind_params("%(a)s", {"a": value}, Encoder()))
show("generator", lambda: Encoder().cql_encode_all_types(i for i in (1, 2)))
for value in ([1, "a"], (1, "a"), ("it's",), [], ValueSequence([1])):
    for method in (
        "cql_encode_sequence",
        "cql_encode_tuple",
        "cql_encode_list_collection",
        "cql_encode_set_collection",
    ):
        show(f"{method} {value}", lambda: getattr(Encoder(), method)(value))
for method, values in {
    "cql_encode_none": [None],
    "cql_encode_str": ["a'b", ""],
    "cql_encode_bytes": [b"ab"],
    "cql_encode_object": [5, "x"],
    "cql_encode_float": [1.5, float("nan")],
    "cql_encode_datetime": [dt.datetime(2024, 1, 1)],
    "cql_encode_date": [dt.date(2024, 1, 1)],
    "cql_encode_time": [dt.time(1)],
    "cql_encode_date_ext": [Date(5)],
    "cql_encode_map_collection": [{"a": 1}],
    "cql_encode_str_quoted": [Point(1, 2)],
    "cql_encode_ipaddress": [IPv4Address("1.2.3.4")],
    "cql_encode_decimal": [Decimal("1.5")],
}.items():
    each(method, lambda value: getattr(Encoder(), method)(value), values)
each("cql_quote", cql_quote, ["a", "it's", "", "ä", 5], caught=Exception)


@case("a mapping of one's own")
def _():
    encoder = Encoder()
    encoder.mapping[tuple] = encoder.cql_encode_tuple
    encoder.mapping[Plain] = lambda value: "<plain>"
    return bind_params("%s %s %s", ((1, 2), Plain(), [(1, 2)]), encoder)


TEXTS = [
    ("SELECT %s", (1,)),
    ("SELECT %s", [1]),
    ("SELECT %s, %s", (1, "a")),
    ("SELECT %s", (1, 2)),
    ("SELECT %s %s", (1,)),
    ("SELECT %(a)s", {"a": 1}),
    ("SELECT %(a)s %(b)s", {"a": 1}),
    ("SELECT %(a)s", {"a": 1, "b": 2}),
    ("SELECT %%", ()),
    ("SELECT %%", (1,)),
    ("SELECT '%%' %s", (1,)),
    ("SELECT %d", (1,)),
    ("SELECT ?", (1,)),
    ("SELECT %s", "a"),
    ("SELECT %s %s", "ab"),
    ("SELECT %s", "ab"),
    ("SELECT %s", 5),
    ("SELECT %s", None),
    ("SELECT %s", ()),
    ("SELECT %s", {"a": 1}),
    ("SELECT %(a)s", (1,)),
    ("SELECT %s", {1}),
    ("SELECT %s", b"a"),
    ("SELECT %s %s", range(2)),
    ("SELECT %s", OrderedDict(a=1)),
    ("SELECT %(a)s %(a)s", {"a": "x"}),
    ("SELECT '%s'", ("a",)),
    ("SELECT %S", (1,)),
    ("SELECT %", (1,)),
]
for text, parameters in TEXTS:
    show(f"{text!r} with {parameters!r}", bind_params, text, parameters, Encoder())

ROWS = [(1, "a"), (2, None)]
NAMES = [
    ["a", "b"],
    ["a", "a"],
    ["1x", "class"],
    ["_x", "count(*)"],
    ["a b", "system.cast(x as int)"],
    ["ä", "b"],
    ["A", "a"],
    ["[applied]", "v"],
    ["", "x"],
]
for names in NAMES:
    show(f"tuples {names}", tuple_factory, names, ROWS)
    show(f"dicts {names}", dict_factory, names, ROWS)
    show(f"ordered {names}", ordered_dict_factory, names, ROWS)
    if names not in (["a", "a"],):
        show(f"named {names}", lambda: [tuple(row) for row in named_tuple_factory(names, ROWS)])
        show(f"fields {names}", lambda: named_tuple_factory(names, ROWS)[0]._fields)
show("named", lambda: named_tuple_factory(["a", "b"], ROWS)[0])
show("named class", lambda: type(named_tuple_factory(["a", "b"], ROWS)[0]).__name__)
show("named without rows", lambda: (named_tuple_factory(["a"], []), dict_factory(["a"], []), tuple_factory(["a"], [])))

LEVELS = [None, *range(-1, 12)]
for level in LEVELS:
    show(f"statement at {level}", lambda: repr(SimpleStatement("SELECT 1", consistency_level=level)))
    show(f"text at {level}", lambda: str(SimpleStatement("SELECT 1", consistency_level=level)))
    show(f"batch at {level}", lambda: repr(BatchStatement(consistency_level=level)))
    show(f"serial {level}", lambda: SimpleStatement("x", serial_consistency_level=level).serial_consistency_level)
for name in (
    "query_string",
    "retry_policy",
    "consistency_level",
    "fetch_size",
    "keyspace",
    "table",
    "routing_key",
    "is_idempotent",
    "custom_payload",
    "serial_consistency_level",
):
    if name != "fetch_size":
        show(f"SimpleStatement.{name}", lambda: getattr(SimpleStatement("SELECT 1"), name))
    if name not in ("query_string", "fetch_size"):
        show(f"BatchStatement.{name}", lambda: getattr(BatchStatement(), name))
for keys in (None, b"k"):
    show(f"routing key {keys!r}", lambda: SimpleStatement("x", routing_key=keys).routing_key)
show(
    "SimpleStatement of all",
    lambda: vars_of(
        SimpleStatement(
            "SELECT %s", None, ConsistencyLevel.ONE, b"k", ConsistencyLevel.SERIAL, 50, "ks", {"a": b"b"}, True
        )
    ),
)


def vars_of(s):
    return (
        s.query_string,
        s.retry_policy,
        s.consistency_level,
        s.routing_key,
        s.serial_consistency_level,
        s.fetch_size,
        s.keyspace,
        s.custom_payload,
        s.is_idempotent,
    )


show(
    "SimpleStatement of everything",
    lambda: vars_of(
        SimpleStatement(
            "SELECT %s", None, ConsistencyLevel.ONE, b"k", ConsistencyLevel.SERIAL, 50, "ks", {"a": b"b"}, True
        )
    ),
)
show("long text", lambda: repr(SimpleStatement("SELECT " + "x" * 300)))
for kind in (BatchType.LOGGED, BatchType.UNLOGGED, BatchType.COUNTER):
    show(f"batch type {kind}", lambda: (repr(BatchStatement(kind)), str(kind), kind.value, kind.name))
show("batch types", lambda: (BatchType.LOGGED == BatchType.LOGGED, BatchType.LOGGED == BatchType.UNLOGGED))


@case("batch")
def _():
    batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
    batch.add("INSERT %s", (1,))
    batch.add(SimpleStatement("INSERT %s", keyspace="ks", routing_key=b"k"), ("it's",))
    batch.add_all(["a", "b %s"], [None, (5,)])
    return (
        [part[:2] for part in batch._statements_and_parameters],
        len(batch),
        repr(batch),
        batch.routing_key,
        batch.keyspace,
    )


@case("batch cleared")
def _():
    batch = BatchStatement()
    batch.add(SimpleStatement("x", keyspace="ks", routing_key=b"k"))
    batch.clear()
    return len(batch), batch.keyspace, batch.routing_key


show("serial refused", lambda: SimpleStatement("x", serial_consistency_level=ConsistencyLevel.ONE), text=False)


@case("serial set and deleted")
def _():
    statement = SimpleStatement("x", serial_consistency_level=ConsistencyLevel.SERIAL)
    before = statement.serial_consistency_level
    del statement.serial_consistency_level
    return before, statement.serial_consistency_level


@case("custom payload refused")
def _():
    statement = SimpleStatement("x")
    statement.keyspace = "other"
    statement.routing_key = b"z"
    return statement.keyspace, statement.routing_key


show("trace sources", lambda: query.QueryTrace.__name__)
show("unset", lambda: query.UNSET_VALUE is query.UNSET_VALUE)
