"""Statements, batches and results alone: arguments, attributes, texts, errors."""

# mypy: ignore-errors
# ruff: noqa
import copy
import decimal
import logging
import pickle
import uuid
import warnings
from collections import OrderedDict, namedtuple
from types import SimpleNamespace
from unittest.mock import Mock

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from cassandra import ConsistencyLevel as CL
from cassandra import cluster, cqltypes, protocol, query
from cassandra.cluster import ResultSet
from cassandra.protocol import QueryMessage
from cassandra.query import *
from cassandra.query import (
    BatchType,
    BoundStatement,
    PreparedStatement,
    SimpleStatement,
    Statement,
    UNSET_VALUE,
    ValueSequence,
    bind_params,
)
from cassandra.encoder import Encoder
import datetime
from cassandra.policies import RetryPolicy, ConstantSpeculativeExecutionPolicy


def shown(value):
    if value is query.FETCH_SIZE_UNSET:
        return "unset"
    if value is query.UNSET_VALUE:
        return "UNSET_VALUE"
    text = repr(value)
    return text if " at 0x" not in text else type(value).__name__


def show(name, function, *args, **kwargs):
    try:
        print(name, "->", shown(function(*args, **kwargs)))
    except Exception as error:
        print(name, "raises", type(error).__name__)


def told(name, function, *args, **kwargs):
    try:
        print(name, "->", shown(function(*args, **kwargs)))
    except Exception as error:
        print(name, "raises", type(error).__name__, error)


PUBLIC = (
    "consistency_level",
    "serial_consistency_level",
    "fetch_size",
    "keyspace",
    "table",
    "custom_payload",
    "is_idempotent",
    "retry_policy",
    "routing_key",
    "query_string",
)


def attributes(statement):
    return [(name, shown(getattr(statement, name, "-"))) for name in PUBLIC]


for name, make in (
    ("statement", lambda: Statement()),
    ("statement all", lambda: Statement(None, CL.ONE, b"k", CL.SERIAL, 10, "ks", {"a": b"b"}, True, "t")),
    ("statement level", lambda: Statement(consistency_level=CL.QUORUM)),
    ("simple", lambda: SimpleStatement("SELECT 1")),
    ("simple all", lambda: SimpleStatement("x", None, CL.ONE, b"k", CL.SERIAL, 10, "ks", {"a": b"b"}, True)),
    ("simple fetch 0", lambda: SimpleStatement("x", fetch_size=0)),
    ("simple fetch None", lambda: SimpleStatement("x", fetch_size=None)),
    ("simple fetch -1", lambda: SimpleStatement("x", fetch_size=-1)),
    ("simple fetch unset", lambda: SimpleStatement("x", fetch_size=FETCH_SIZE_UNSET)),
    ("simple serial wrong", lambda: SimpleStatement("x", serial_consistency_level=CL.ONE)),
    ("simple serial 0", lambda: SimpleStatement("x", serial_consistency_level=0)),
    ("simple consistency None", lambda: SimpleStatement("x", consistency_level=None)),
    ("simple consistency 99", lambda: SimpleStatement("x", consistency_level=99)),
    ("simple nothing", lambda: SimpleStatement()),
    ("simple None", lambda: SimpleStatement(None)),
    ("simple bytes", lambda: SimpleStatement(b"x")),
    ("simple unknown", lambda: SimpleStatement("x", nothing=3)),
    ("simple positional 2", lambda: SimpleStatement("x", RetryPolicy())),
    ("simple keyspace", lambda: SimpleStatement("x", keyspace="ks")),
    ("simple payload", lambda: SimpleStatement("x", custom_payload={"a": b"1"})),
    ("simple key str", lambda: SimpleStatement("x", routing_key="key")),
    ("simple key empty", lambda: SimpleStatement("x", routing_key=b"")),
    ("batch", lambda: BatchStatement()),
    ("batch all", lambda: BatchStatement(BatchType.COUNTER, None, CL.ALL, CL.LOCAL_SERIAL, None, {"a": b"b"})),
    ("batch unlogged", lambda: BatchStatement(batch_type=BatchType.UNLOGGED)),
    ("batch session", lambda: BatchStatement(session=None)),
    ("batch unknown", lambda: BatchStatement(keyspace="ks")),
    ("batch type", lambda: BatchStatement(3)),
):
    try:
        made = make()
        print("make", name, type(made).__name__, attributes(made))
        print("make", name, repr(made) if not type(made) is Statement else "")
        print("make", name, str(made) if not type(made) is Statement else "")
    except Exception as error:
        print("make", name, "raises", type(error).__name__)

# ---- setters

statement = SimpleStatement("x")
for name, values in {
    "consistency_level": (CL.ONE, None, 77, "QUORUM"),
    "serial_consistency_level": (CL.SERIAL, CL.LOCAL_SERIAL, CL.ONE, None, 5, "SERIAL"),
    "routing_key": (b"a", "key", [b"a", b"b"], (b"a", b"b"), None),
    "keyspace": ("ks", None, ""),
    "table": ("t",),
    "fetch_size": (5, None, 0, -1, "x"),
    "is_idempotent": (True, False, None, 1),
    "retry_policy": (RetryPolicy(), None, 5),
    "custom_payload": ({"a": b"b"}, None, {}, 5),
    "query_string": ("y",),
}.items():
    for value in values:
        try:
            setattr(statement, name, value)
            print("set", name, shown(value), shown(getattr(statement, name)))
        except Exception as error:
            print("set", name, shown(value), "raises", type(error).__name__)
for name in ("consistency_level", "serial_consistency_level", "routing_key", "keyspace", "nothing"):
    try:
        delattr(statement, name)
        print("del", name, shown(getattr(statement, name)))
    except Exception as error:
        print("del", name, type(error).__name__)
statement.anything = 5
print(statement.anything, statement.is_lwt(), Statement().is_lwt())

# ---- text with parameters

ENCODER = Encoder()
POINT = namedtuple("Point", "x y")
for text, parameters in (
    ("SELECT %s", (1,)),
    ("SELECT %s, %s", (1, "it's")),
    ("SELECT %(a)s", {"a": "x"}),
    ("SELECT %(a)s %(b)s", {"a": None, "b": True}),
    ("SELECT %s", [b"\x00\xff"]),
    ("SELECT %s", ({"a": 1},)),
    ("SELECT %s", ([1, 2],)),
    ("SELECT %s", ((1, 2),)),
    ("SELECT %s", ({1},)),
    ("SELECT %s", (ValueSequence((1, 2)),)),
    ("SELECT %s", (ValueSequence(("a", "b")),)),
    ("SELECT %s", (OrderedDict([("a", [1])]),)),
    ("SELECT %s", (1.5,)),
    ("SELECT %s", (float("nan"),)),
    ("SELECT %s", (float("inf"),)),
    ("SELECT %s", (-float("inf"),)),
    ("SELECT %s", (uuid.UUID(int=5),)),
    ("SELECT %s", (datetime.date(2020, 2, 3),)),
    ("SELECT %s", (datetime.datetime(2020, 2, 3, 4, 5, 6, 789000),)),
    ("SELECT %s", (datetime.time(1, 2, 3, 4),)),
    ("SELECT %s", (bytearray(b"ab"),)),
    ("SELECT %s", (memoryview(b"ab"),)),
    ("SELECT %s", ("100%",)),
    ("SELECT '100%%' %s", (1,)),
    ("SELECT %s", (1, 2)),
    ("SELECT %s %s", (1,)),
    ("SELECT %(a)s", {"b": 1}),
    ("SELECT %(a)s", (1,)),
    ("SELECT %s", {"a": 1}),
    ("SELECT", (1,)),
    ("SELECT 1", ()),
    ("SELECT 1 %%", ()),
    ("SELECT 1", {}),
    ("SELECT %s", "a"),
    ("SELECT %s %s", "ab"),
    ("SELECT %s", 5),
    ("SELECT %s", None),
    ("SELECT %d", (5,)),
    ("SELECT %s", (frozenset([2]),)),
    ("SELECT %s", ((x for x in (1,)),)),
    ("SELECT %s", (True,)),
    ("SELECT %s", ("\u20ac",)),
    ("SELECT %s", (10**30,)),
):
    show(
        f"bind {text!r} {parameters if 'generator' not in repr(parameters) else 'generator'!r}"[:150].split(" at 0x")[
            0
        ],
        bind_params,
        text,
        parameters,
        ENCODER,
    )

# ---- prepared statements


def column(name, kind, keyspace="ks", table="t"):
    return protocol.ColumnMetadata(keyspace, table, name, kind)


def prepared(columns=None, key=(0,), version=4, **arguments):
    if columns is None:
        columns = [column("a", cqltypes.Int32Type), column("b", cqltypes.UTF8Type), column("c", cqltypes.Int32Type)]
    values = dict(
        column_metadata=columns,
        query_id=b"id",
        routing_key_indexes=list(key) if key is not None else None,
        query="SELECT ?",
        keyspace="ks",
        protocol_version=version,
        result_metadata=None,
        result_metadata_id=None,
    )
    values.update(arguments)
    return PreparedStatement(**values)


made = prepared()
for name in (
    "column_metadata",
    "query_id",
    "query_string",
    "keyspace",
    "protocol_version",
    "routing_key_indexes",
    "result_metadata",
    "result_metadata_id",
    "consistency_level",
    "serial_consistency_level",
    "fetch_size",
    "custom_payload",
    "retry_policy",
    "is_idempotent",
    "column_encryption_policy",
):
    told(f"prepared {name}", lambda: getattr(made, name))
told("prepared str", lambda: str(made))
told("prepared repr", lambda: repr(made))
told("prepared keyspace None", lambda: prepared(keyspace=None).keyspace)
told("prepared is_lwt", lambda: made.is_lwt())
for name, value in (
    ("consistency_level", CL.QUORUM),
    ("serial_consistency_level", CL.SERIAL),
    ("fetch_size", 7),
    ("is_idempotent", True),
    ("custom_payload", {"a": b"b"}),
    ("retry_policy", RetryPolicy()),
    ("keyspace", "other"),
):
    try:
        setattr(made, name, value)
        bound = made.bind((1, "x", 2))
        print("prepared set", name, shown(getattr(made, name)), shown(getattr(bound, name, "-")))
    except Exception as error:
        print("prepared set", name, type(error).__name__)

for version in (3, 4, 5):
    for values in (
        (),
        (1, "x", 2),
        (1, "x", 2, 3),
        [1, "x", 2],
        None,
        {"a": 1, "b": "x", "c": 2},
        {"a": 1},
        {"b": "x"},
        {},
        {"a": 1, "z": 3},
        {"a": 1, "b": "x", "c": 2, "z": 3},
        (None, "x", 2),
        (UNSET_VALUE, "x", 2),
        (1, UNSET_VALUE, 2),
        (1, None, None),
        ("x", "x", 2),
        (1, "x", 2**40),
        (1.5, "x", 2),
        (True, "x", 2),
        5,
    ):

        def bound():
            statement = prepared(version=version).bind(values)
            return (
                [shown(one) for one in statement.values],
                statement.routing_key,
                statement.keyspace,
                statement.raw_values if False else None,
            )

        show(f"bind {version} {values!r}".replace(repr(UNSET_VALUE), "UNSET_VALUE"), bound)
for key, columns in (((0,), None), ((0, 1), None), ((1, 0), None), ((), None), (None, None), ((2,), None)):
    show(f"routing key {key}", lambda: prepared(key=key).bind((1, "x", 2)).routing_key)
    show(f"routing key {key} short", lambda: prepared(key=key).bind((1,)).routing_key)
    show(
        f"routing key {key} unset", lambda: prepared(key=key).bind((UNSET_VALUE, UNSET_VALUE, UNSET_VALUE)).routing_key
    )
statement = prepared().bind((1, "x", 2))
told("bound str", lambda: str(statement))
told("bound repr", lambda: repr(statement))
told("bound prepared", lambda: statement.prepared_statement.query_string)
show(
    "bound by hand all",
    lambda: attributes(BoundStatement(prepared(), None, CL.ONE, b"k", CL.SERIAL, 3, "ks2", {"a": b"b"})),
)
show("bound twice", lambda: BoundStatement(prepared()).bind((1, "x", 2)).bind((2, "y", 3)).values[1])
told("too many", lambda: prepared().bind((1, "x", 2, 3)))
told("bad name", lambda: prepared().bind({"z": 3, "a": 1, "b": "x", "c": 2}) and "ok")
told("too few 3", lambda: prepared(version=3).bind({"a": 1}))

# ---- batches

for name, fill in (
    ("text", lambda batch: batch.add("INSERT", (1,))),
    ("text with parameters", lambda batch: batch.add("INSERT %s", (1,))),
    ("text without", lambda batch: batch.add("INSERT")),
    ("simple", lambda batch: batch.add(SimpleStatement("INSERT %s", routing_key=b"k", keyspace="ks"), ("x",))),
    ("prepared", lambda batch: batch.add(prepared(), (1, "x", 2))),
    ("prepared dict", lambda batch: batch.add(prepared(), {"a": 1, "b": "x", "c": 2})),
    ("prepared without", lambda batch: batch.add(prepared())),
    ("bound", lambda batch: batch.add(prepared().bind((1, "x", 2)))),
    ("bound with parameters", lambda batch: batch.add(prepared().bind((1, "x", 2)), (3,))),
    ("add_all", lambda batch: batch.add_all(["A %s", "B %s"], [(1,), (2,)])),
    ("add_all short", lambda batch: batch.add_all(["A %s", "B %s"], [(1,)])),
    ("many", lambda batch: [batch.add("A") for _ in range(70000)] and None),
):
    batch = BatchStatement()
    try:
        print("batch", name, shown(fill(batch)), len(batch), batch.routing_key, batch.keyspace, str(batch)[:80])
    except Exception as error:
        print("batch", name, "raises", type(error).__name__, len(batch))
batch = BatchStatement()
(
    batch.add("A"),
    batch.add(SimpleStatement("B", routing_key=b"first")),
    batch.add(SimpleStatement("C", routing_key=b"second")),
)
print("batch", len(batch), batch.routing_key, bool(batch))
show("batch clear", lambda: (batch.clear(), len(batch), batch.routing_key))
print("empty batch", bool(BatchStatement()), len(BatchStatement()))
for kind in (BatchType.LOGGED, BatchType.UNLOGGED, BatchType.COUNTER):
    print("type", kind, type(kind).__name__, getattr(kind, "name", None), getattr(kind, "value", None), str(kind))

# ---- row factories

for factory in (
    tuple_factory,
    named_tuple_factory,
    dict_factory,
    ordered_dict_factory,
    pseudo_namedtuple_factory if hasattr(query, "pseudo_namedtuple_factory") else tuple_factory,
):
    for names in (
        ["a", "b"],
        ["a", "a"],
        ["class", "b"],
        ["_x", "1y"],
        ["count(*)", "system.now()"],
        ["", "b"],
        ["a b", "a_b"],
        ["\u20ac", "x"],
        ["func(a, b)", "writetime(x)"],
    ):
        for rows in ([(1, 2)], [], [(1, 2), (3, 4)]):

            def made():
                result = factory(names, rows)
                return [
                    type(row).__name__ if not isinstance(row, tuple) else getattr(row, "_fields", None)
                    for row in result
                ], [list(row) if isinstance(row, (tuple, dict)) else row for row in result]

            show(f"{factory.__name__} {names} {len(rows)}", made)

# ---- results by hand


class Future:
    def __init__(self, more=False, rows=None, **attributes):
        self.has_more_pages = more
        self._col_names, self._col_types = ["a"], [cqltypes.Int32Type]
        self.row_factory = tuple_factory
        self.query = None
        self._continuous_paging_session = None
        self._paging_state = b"state" if more else None
        self.later = rows or []
        self.fetched = 0
        self.is_schema_agreed = True
        self.custom_payload, self.warnings = {"p": b"1"}, ["w"]
        self.message = None
        self.__dict__.update(attributes)

    def start_fetching_next_page(self):
        self.fetched += 1

    def result(self):
        rows = self.later.pop(0)
        self.has_more_pages = bool(self.later)
        return ResultSet(self, rows)


def result(rows, **attributes):
    return ResultSet(Future(**attributes), rows)


for name, make in (
    ("none", lambda: result(None)),
    ("empty", lambda: result([])),
    ("one", lambda: result([(1,)])),
    ("two", lambda: result([(1,), (2,)])),
    ("pages", lambda: result([(1,)], more=True, rows=[[(2,)], [(3,)]])),
    ("mock", lambda: ResultSet(Mock(has_more_pages=False, _col_names=["a"], _col_types=None), [(1,)])),
):
    for what, use in (
        ("list", lambda r: list(r)),
        ("all", lambda r: r.all()),
        ("one", lambda r: r.one()),
        ("bool", bool),
        ("0", lambda r: r[0]),
        ("1", lambda r: r[1]),
        ("-1", lambda r: r[-1]),
        ("slice", lambda r: r[:1]),
        ("len", len),
        ("has_more_pages", lambda r: r.has_more_pages),
        ("current_rows", lambda r: r.current_rows),
        ("column_names", lambda r: r.column_names),
        ("column_types", lambda r: [t.typename for t in r.column_types]),
        ("iter", lambda r: [x for x in r]),
        ("eq", lambda r: r == [(1,)]),
        ("eq 5", lambda r: r == 5),
        ("in", lambda r: (1,) in r),
        ("iter then index", lambda r: (next(iter(r)), r[0])),
        ("all then all", lambda r: (r.all(), r.all())),
        ("fetch_next_page", lambda r: (r.fetch_next_page(), r.current_rows)[1]),
        ("one one", lambda r: (r.one(), r.one())),
        ("str", lambda r: type(str(r)).__name__),
        ("bool after iter", lambda r: (list(r), bool(r))),
        ("set", lambda r: setattr(r, "x", 1)),
        ("response_future", lambda r: type(r.response_future).__name__),
        ("list twice", lambda r: (list(r), list(r))),
    ):
        show(f"result {name} {what}", lambda: use(make()))

LWT = namedtuple("Row", "applied a")
for name, factory, rows, names in (
    ("tuple", tuple_factory, [(True,)], ["[applied]"]),
    ("tuple false", tuple_factory, [(False, 1)], ["[applied]", "a"]),
    ("named", named_tuple_factory, [LWT(True, 1)], ["[applied]", "a"]),
    ("dict", dict_factory, [{"[applied]": True}], ["[applied]"]),
    ("dict missing", dict_factory, [{"a": True}], ["a"]),
    ("ordered", ordered_dict_factory, [OrderedDict([("[applied]", False)])], ["[applied]"]),
    ("own", lambda names, rows: rows, [(True,)], ["[applied]"]),
    ("empty", tuple_factory, [], ["[applied]"]),
    ("two", tuple_factory, [(True,), (False,)], ["[applied]"]),
    ("none", tuple_factory, None, ["[applied]"]),
):
    for what in (
        None,
        SimpleStatement("INSERT INTO t (a) VALUES (1) IF NOT EXISTS"),
        SimpleStatement("BEGIN BATCH INSERT IF NOT EXISTS APPLY BATCH"),
        BatchStatement(),
        prepared().bind((1, "x", 2)),
    ):
        show(
            f"was_applied {name} {type(what).__name__} {getattr(what, 'query_string', '')[:12]}",
            lambda: ResultSet(Future(row_factory=factory, query=what, _col_names=names), rows).was_applied,
        )
for value in (BatchType.LOGGED, ValueSequence([1])):
    print(type(value).__name__, shown(value))
print(sorted(name for name in dir(query) if name.endswith("_factory")))
