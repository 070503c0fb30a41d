"""Values of every type bound, written as literals and read back; what batches, pages and prepared statements tell."""

# mypy: ignore-errors
import datetime as dt
from collections import OrderedDict
from decimal import Decimal
from ipaddress import IPv4Address
from uuid import UUID

from cases import connect, show

from cassandra import ConsistencyLevel
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.encoder import ValueSequence
from cassandra.query import (
    UNSET_VALUE,
    BatchStatement,
    BatchType,
    SimpleStatement,
    dict_factory,
    ordered_dict_factory,
    tuple_factory,
)
from cassandra.util import Date, Duration, OrderedMap, Time, sortedset

U1 = UUID("3d2a7f10-1dd1-11b2-8080-808080808080")
U4 = UUID("9a2f6a6e-6e0b-4b0e-8d3c-0d6a1f7f2c11")
ZONE = dt.timezone(dt.timedelta(hours=2))
SCALARS = {
    "ascii": ["", "a", "ä", 5, b"x"],
    "bigint": [0, -1, 2**63 - 1, -(2**63), 2**63, True, "5", 1.5],
    "blob": [b"", b"a\xff", bytearray(b"b"), memoryview(b"c"), "text", [1, 2]],
    "boolean": [True, False, 0, 1],
    "date": [
        dt.date(2024, 2, 29),
        dt.datetime(2024, 2, 29, 23),
        Date(0),
        Date(-(2**31)),
        Date(2**31 - 1),
        "2024-02-29",
        2**31,
        "x",
    ],
    "decimal": [Decimal("1.25"), Decimal("-1e-40"), Decimal("1e30"), 5, 1.5, "2.5"],
    "double": [0.0, -0.0, 1.5, 1e300, float("inf"), float("nan"), 3, "x"],
    "duration": [Duration(1, 2, 3), Duration(-1, -2, -3), Duration(), "1d"],
    "float": [0.0, 1.5, 0.1, float("inf"), float("nan"), 3, 1e300],
    "inet": ["127.0.0.1", "::1", "fe80::1", IPv4Address("1.2.3.4"), "x", 5],
    "int": [0, -1, 2**31 - 1, -(2**31), 2**31, True, "5", 1.5],
    "smallint": [0, -1, 32767, 32768],
    "text": ["", "a", "ä", "\U0001f600", "it's", "\0", "x" * 1000, 5, b"x"],
    "time": [dt.time(1, 2, 3, 4), Time(0), Time(86399999999999), "01:02:03.5", 5, "x"],
    "timestamp": [
        dt.datetime(2024, 2, 29, 12, 30, 1, 999999),
        dt.datetime(2024, 2, 29, tzinfo=ZONE),
        dt.date(2024, 2, 29),
        0,
        -1,
        1.9,
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31),
        "x",
    ],
    "timeuuid": [U1, U4, "x"],
    "tinyint": [0, -1, 127, 128],
    "uuid": [U1, U4, str(U4), b"x"],
    "varchar": ["", "a"],
    "varint": [0, -1, 255, -129, 2**100, -(2**100), "x"],
    "list<int>": [[], [1, 2], (1,), {3}, [None], "x", 5],
    "set<text>": [set(), {"b", "a"}, ["b", "a"], sortedset(["z"]), frozenset(["q"]), [1], 5],
    "map<text, int>": [{}, {"b": 1, "a": 2}, OrderedDict(q=1), OrderedMap([("z", 1)]), {"a": None}, [("a", 1)], {1: 1}],
    "frozen<list<frozen<set<int>>>>": [[], [{1}, {3, 2}], [[1]]],
    "map<frozen<map<text, int>>, int>": [OrderedMap([({"a": 1}, 2)]), {}],
    "set<frozen<list<int>>>": [sortedset([[2], [1]]), [[1], [1, 2]]],
    "tuple<int, text>": [(1, "a"), (1, None), (None, None), (1,), (1, "a", 2), [1, "a"], 5],
    "frozen<tuple<int, frozen<tuple<text, int>>>>": [(1, ("a", 2))],
    "vector<float, 3>": [[1.0, 2.0, 3.0], (1, 2, 3), [1.0], [], [1, 2, None]],
    "vector<text, 2>": [["a", "bc"], ["", "x" * 200], ["a"]],
    "frozen<person>": [("n", 5), ["n", 5], ("n", None), ("n", 5, 6)],
    "list<frozen<person>>": [[("n", 5), ("m", 6)], []],
}


class Person:
    def __init__(self, name, age):
        self.name, self.age = name, age

    def __repr__(self):
        return f"Person({self.name!r}, {self.age!r})"


def done(result):
    """Nothing: what the result of a write shows is no matter."""


def main(session):
    session.execute("CREATE TYPE person (name text, age int)")
    for number, (cql, values) in enumerate(SCALARS.items()):
        session.execute(f"CREATE TABLE t{number} (k int PRIMARY KEY, v {cql})")
        insert = session.prepare(f"INSERT INTO t{number} (k, v) VALUES (?, ?)")
        select = session.prepare(f"SELECT v FROM t{number} WHERE k = ?")
        show(f"{cql} column", lambda: [column.type.typename for column in insert.column_metadata])
        for value in [*values, None]:
            session.execute(f"DELETE FROM t{number} WHERE k = 1")
            show(f"{cql} bound {value!r}", lambda: done(session.execute(insert, (1, value))), caught=Exception)
            show(f"{cql} read {value!r}", lambda: session.execute(select, (1,)).one())
            session.execute(f"DELETE FROM t{number} WHERE k = 1")
            show(
                f"{cql} literal {value!r}",
                lambda: done(session.execute(f"INSERT INTO t{number} (k, v) VALUES (1, %s)", (value,))),
                caught=Exception,
            )
            show(f"{cql} literal read {value!r}", lambda: session.execute(select, (1,)).one())
    people = list(SCALARS).index("frozen<person>")
    insert = session.prepare(f"INSERT INTO t{people} (k, v) VALUES (?, ?)")
    show("a class for a user type", lambda: done(session.execute(insert, (2, Person("x", 7)))))
    show("a user type read", lambda: session.execute(f"SELECT v FROM t{people} WHERE k = 2").one().v)
    session.cluster.register_user_type(session.keyspace, "person", Person)
    show("a user type read as its class", lambda: session.execute(f"SELECT v FROM t{people} WHERE k = 2").one().v)
    show(
        "a user type written as text",
        lambda: done(session.execute(f"INSERT INTO t{people} (k, v) VALUES (3, %s)", (Person("it's", 7),))),
    )
    show("and read", lambda: session.execute(f"SELECT v FROM t{people} WHERE k = 3").one().v)
    show("a type that does not exist", lambda: session.cluster.register_user_type(session.keyspace, "nobody", Person))

    session.execute("CREATE TABLE rows (p int, c int, v text, s text static, PRIMARY KEY (p, c))")
    insert = session.prepare("INSERT INTO rows (p, c, v) VALUES (?, ?, ?)")
    for c in range(10):
        session.execute(insert, (1, c, f"v{c}"))
    for name, values in {
        "nothing": (),
        "key only": (1,),
        "too many": (1, 2, "a", 4),
        "null key": (None, 1, "a"),
        "unset key": (UNSET_VALUE, 1, "a"),
        "unset value": (2, 1, UNSET_VALUE),
        "dict": {"p": 2, "c": 2, "v": "d"},
        "dict without": {"p": 2, "c": 3},
        "wrong": ("x", 1, "a"),
        "text": "abc",
        "none": None,
    }.items():
        show(f"parameters: {name}", lambda: done(session.execute(insert, values)))
    for name, rows in {
        "named": None,
        "tuples": tuple_factory,
        "dicts": dict_factory,
        "ordered": ordered_dict_factory,
    }.items():
        if rows is not None:
            session.row_factory = rows
        show(f"{name} all", lambda: session.execute("SELECT * FROM rows WHERE p = 1 LIMIT 2").all())
        show(f"{name} one", lambda: session.execute("SELECT c, v FROM rows WHERE p = 1 LIMIT 1").one())
        show(f"{name} none", lambda: session.execute("SELECT c FROM rows WHERE p = 9").one())
        show(f"{name} count", lambda: session.execute("SELECT count(*) FROM rows WHERE p = 1").one())
        show(
            f"{name} functions",
            lambda: session.execute(
                'SELECT token(p), ttl(v), cast(c AS text), c AS "Named It" FROM rows WHERE p = 1 LIMIT 1'
            ).one(),
        )
        show(
            f"{name} applied",
            lambda: session.execute("INSERT INTO rows (p, c, v) VALUES (1, 1, 'x') IF NOT EXISTS").one(),
        )
        show(
            f"{name} was applied",
            lambda: session.execute("INSERT INTO rows (p, c, v) VALUES (1, 1, 'x') IF NOT EXISTS").was_applied,
        )
    session.row_factory = tuple_factory
    for size in (1, 3, 10, 11, None):

        def pages():
            result = session.execute(SimpleStatement("SELECT c FROM rows WHERE p = 1", fetch_size=size))
            first = len(result.current_rows), result.has_more_pages, result.paging_state is None
            return first, [row[0] for row in result]

        show(f"pages of {size}", pages)
    show(
        "columns",
        lambda: (
            session.execute("SELECT p, c FROM rows").column_names,
            [kind.typename for kind in session.execute("SELECT p, c FROM rows").column_types],
        ),
    )
    show(
        "ValueSequence",
        lambda: session.execute("SELECT c FROM rows WHERE p = 1 AND c IN %s", (ValueSequence([1, 2]),)).all(),
    )
    show("names", lambda: session.execute("SELECT c FROM rows WHERE p = %(p)s AND c = %(c)s", {"p": 1, "c": 2}).all())
    in_list = session.prepare("SELECT c FROM rows WHERE p = ? AND c IN ?")
    show("IN ?", lambda: session.execute(in_list, (1, [1, 2])).all())
    for kind in (BatchType.LOGGED, BatchType.UNLOGGED):

        def batch():
            made = BatchStatement(kind, consistency_level=ConsistencyLevel.ONE)
            made.add(insert, (5, 1, "a"))
            made.add("INSERT INTO rows (p, c, v) VALUES (5, 2, 'b')")
            made.add(SimpleStatement("INSERT INTO rows (p, c, v) VALUES (%s, %s, %s)"), (5, 3, "it's"))
            session.execute(made)
            return session.execute("SELECT * FROM rows WHERE p = 5").all()

        show(f"batch {kind}", batch)
    show("empty batch", lambda: done(session.execute(BatchStatement())))
    show("a batch of selects", lambda: session.execute(BatchStatement().add("SELECT * FROM rows")))
    for text in (
        "SELEC",
        "SELECT * FROM nothing",
        "SELECT x FROM rows",
        "INSERT INTO rows (p) VALUES (1)",
        "CREATE TABLE rows (k int PRIMARY KEY)",
        "CREATE KEYSPACE system WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "DROP TABLE nothing",
        "USE nowhere",
        "SELECT * FROM rows WHERE v = 'a'",
        "INSERT INTO rows (p, c) VALUES ('x', 1)",
        "SELECT * FROM system.local; SELECT 1",
        "",
    ):
        show(f"refused {text!r}", lambda: session.execute(text), text=True)
        show(f"refused when prepared {text!r}", lambda: done(session.prepare(text)))
    show(
        "no such level",
        lambda: session.execute(SimpleStatement("SELECT * FROM rows", consistency_level=ConsistencyLevel.THREE)),
        text=False,
    )
    show(
        "concurrent",
        lambda: [
            (ok, rows.all() if ok else rows)
            for ok, rows in execute_concurrent(session, [(in_list, (1, [c])) for c in range(3)])
        ],
    )
    show(
        "concurrent with args",
        lambda: [
            next(iter(result))
            for result in execute_concurrent_with_args(session, in_list, [(1, [c]) for c in range(3)])
        ],
    )
    show(
        "concurrent with an error",
        lambda: [
            type(result).__name__
            for ok, result in execute_concurrent_with_args(
                session, insert, [(1, 2, "x"), (1, "x", "y")], raise_on_first_error=False
            )
            if not ok
        ],
    )
    show(
        "prepared",
        lambda: (
            insert.query_string,
            insert.routing_key_indexes,
            insert.protocol_version,
            [c.name for c in insert.column_metadata],
            insert.result_metadata,
            repr(insert),
        ),
    )
    show("routing key", lambda: insert.bind((1, 2, "x")).routing_key)
    session.execute("CREATE TABLE counters (k int PRIMARY KEY, n counter)")
    session.execute("UPDATE counters SET n = n + 5 WHERE k = 1")
    count = session.prepare("UPDATE counters SET n = n + ? WHERE k = ?")
    show("counter", lambda: (done(session.execute(count, (-2, 1))), session.execute("SELECT * FROM counters").all()))
    show("JSON", lambda: session.execute("SELECT JSON * FROM rows WHERE p = 1 LIMIT 1").all())


with connect(protocol_version=5) as session:
    main(session)
