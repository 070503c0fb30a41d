"""Every CQL type through the real server and back: written by binding and as literals, stored and echoed.

``echo`` sends a value as ``SELECT (type) ? FROM system.local``: the server checks it, decodes it and encodes it again,
without a table per type.
"""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
from collections import OrderedDict
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple
from uuid import UUID, uuid1, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassandra import DriverException, InvalidRequest
from cassandra.cluster import Cluster, Session
from cassandra.query import UNSET_VALUE, tuple_factory
from cassandra.util import Date, Duration, OrderedMapSerializedKey, Time, sortedset, uuid_from_time

UTC = dt.timezone.utc


def echo(session: Session, cql_type: str, value: Any) -> Any:
    prepared = session.prepare(f"SELECT ({cql_type}) ? AS v FROM system.local")
    return session.execute(prepared, (value,)).one().v


def same(a: Any, b: Any) -> bool:
    """Equality that knows NaN, at any depth."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


SCALARS: dict[str, list[Any]] = {
    "ascii": ["", "a", "x" * 1000, "\x00\x7f"],
    "bigint": [0, 1, -1, 2**63 - 1, -(2**63)],
    "blob": [b"", b"\x00", bytes(range(256)), b"z" * 100_000],
    "boolean": [True, False],
    "date": [
        Date(0),
        Date(dt.date(2024, 2, 29)),
        Date(dt.date(1969, 12, 31)),
        Date(dt.date.min),
        Date(dt.date.max),
        Date(-(2**31)),
        Date(2**31 - 1),
    ],
    "decimal": [
        Decimal("0"),
        Decimal("-1.5"),
        Decimal("1E+40"),
        Decimal("1E-40"),
        Decimal("1234567890.12345678901234567890123456789"),
    ],
    "double": [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308],
    "duration": [
        Duration(0, 0, 0),
        Duration(1, 2, 3),
        Duration(-1, -2, -3),
        Duration(2**31 - 1, 2**31 - 1, 2**63 - 1),
        Duration(-(2**31), -(2**31), -(2**63)),
    ],
    "float": [0.0, 1.5, -3.25, math.inf, -math.inf, math.nan],
    "inet": ["127.0.0.1", "255.255.255.255", "::1", "2001:db8::ff00:42:8329"],
    "int": [0, 1, -1, 2**31 - 1, -(2**31)],
    "smallint": [0, 2**15 - 1, -(2**15)],
    "text": ["", "a", "é\U0001f600 \x00 '", "x" * 100_000],
    "time": [Time(0), Time(1), Time(dt.time(12, 34, 56, 789)), Time(86_399_999_999_999)],
    "timestamp": [
        dt.datetime(1970, 1, 1),
        dt.datetime(2024, 2, 29, 12, 34, 56, 789_000),
        dt.datetime(1900, 1, 1, 0, 0, 0, 1000),
        dt.datetime(2999, 12, 31, 23, 59, 59, 999_000),
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999_000),
    ],
    "timeuuid": [uuid1(), UUID("00000000-0000-1000-8000-000000000000")],
    "tinyint": [0, 127, -128],
    "uuid": [uuid4(), UUID(int=0), UUID(int=2**128 - 1)],
    "varchar": ["varchar is text"],
    "varint": [0, 1, -1, 127, 128, -128, -129, 2**63, -(2**63) - 1, 10**60, -(10**60)],
}
CASES = [(cql_type, value) for cql_type, values in SCALARS.items() for value in values]


@pytest.fixture(scope="module")
def table(session: Session) -> str:
    columns = ", ".join(f"c_{cql_type} {cql_type}" for cql_type in SCALARS)
    session.execute(f"CREATE TABLE scalars (k int PRIMARY KEY, {columns})")
    return "scalars"


class TestScalars:
    @pytest.mark.parametrize("cql_type", SCALARS)
    def test_echo(self, session: Session, cql_type: str) -> None:
        for value in SCALARS[cql_type]:
            returned = echo(session, cql_type, value)
            assert same(returned, value), (returned, value)

    def test_stored_by_binding(self, session: Session, table: str) -> None:
        """All types in one row, so that every decoder runs among the others."""
        names = [f"c_{cql_type}" for cql_type in SCALARS]
        marks = ", ".join("?" * len(names))
        insert = session.prepare(f"INSERT INTO {table} (k, {', '.join(names)}) VALUES (?, {marks})")
        select = session.prepare(f"SELECT {', '.join(names)} FROM {table} WHERE k = ?")
        for key in range(max(map(len, SCALARS.values()))):
            row = tuple(values[key % len(values)] for values in SCALARS.values())
            session.execute(insert, (key, *row))
            returned = session.execute(select, (key,)).one()
            assert same(tuple(returned), row)

    @pytest.mark.parametrize("cql_type", SCALARS)
    def test_as_literal(self, session: Session, table: str, cql_type: str) -> None:
        for value in SCALARS[cql_type]:
            if not _has_literal(value):
                continue
            session.execute(f"INSERT INTO {table} (k, c_{cql_type}) VALUES (1000, %s)", (value,))
            returned = session.execute(f"SELECT c_{cql_type} FROM {table} WHERE k = 1000").one()[0]
            assert same(returned, value), (returned, value)

    def test_null(self, session: Session, table: str) -> None:
        names = [f"c_{cql_type}" for cql_type in SCALARS]
        marks = ", ".join("?" * len(names))
        insert = session.prepare(f"INSERT INTO {table} (k, {', '.join(names)}) VALUES (?, {marks})")
        session.execute(insert, (2000, *[None] * len(names)))
        assert set(session.execute(f"SELECT {', '.join(names)} FROM {table} WHERE k = 2000").one()) == {None}

    def test_unset_keeps_the_stored_value(self, session: Session, table: str) -> None:
        insert = session.prepare(f"INSERT INTO {table} (k, c_int, c_text) VALUES (?, ?, ?)")
        session.execute(insert, (2001, 1, "kept"))
        session.execute(insert, (2001, 2, UNSET_VALUE))
        session.execute(insert, (2001,))
        session.execute(insert, {"k": 2001, "c_int": 3})
        assert session.execute(f"SELECT c_int, c_text FROM {table} WHERE k = 2001").one() == (3, "kept")
        session.execute(insert, (2001, 4, None))
        assert session.execute(f"SELECT c_int, c_text FROM {table} WHERE k = 2001").one() == (4, None)

    @pytest.mark.parametrize("cql_type", ["int", "bigint", "uuid", "timestamp", "boolean", "double", "inet", "varint"])
    def test_empty_value(self, session: Session, table: str, cql_type: str) -> None:
        """Thrift's legacy: zero bytes where the type has no value of zero bytes. They read as None."""
        session.execute(f"INSERT INTO {table} (k, c_{cql_type}) VALUES (2002, blob_as_{cql_type}(0x))")
        assert session.execute(f"SELECT c_{cql_type} FROM {table} WHERE k = 2002").one() == (None,)

    def test_empty_text_and_blob_are_values(self, session: Session, table: str) -> None:
        session.execute(f"INSERT INTO {table} (k, c_text, c_ascii, c_blob) VALUES (2003, '', '', 0x)")
        assert session.execute(f"SELECT c_text, c_ascii, c_blob FROM {table} WHERE k = 2003").one() == ("", "", b"")


def _has_literal(value: Any) -> bool:
    """CQL's literals say less than its types: four digits of a year, and durations whose parts can be negated."""
    if isinstance(value, Duration):
        return value.months > -(2**31)
    if not isinstance(value, Date | dt.datetime):
        return True
    year = value.date().year if isinstance(value, Date) and _is_python_date(value) else getattr(value, "year", 0)
    return 1000 <= year <= 9999


def _is_python_date(value: Date) -> bool:
    try:
        value.date()
    except (ValueError, OverflowError):
        return False
    return True


class TestPythonSpellings:
    """Other Python types that a column takes."""

    @pytest.mark.parametrize(
        ("cql_type", "given", "expected"),
        [
            ("date", dt.date(2020, 5, 17), Date(dt.date(2020, 5, 17))),
            ("date", "2020-05-17", Date(dt.date(2020, 5, 17))),
            ("time", dt.time(1, 2, 3, 4), Time(dt.time(1, 2, 3, 4))),
            ("time", "01:02:03.000000004", Time(3_723_000_000_004)),
            ("timestamp", dt.date(2020, 5, 17), dt.datetime(2020, 5, 17)),
            ("timestamp", dt.datetime(2020, 5, 17, 14, 0, tzinfo=dt.timezone(dt.timedelta(hours=2))),
             dt.datetime(2020, 5, 17, 12, 0)),
            ("timestamp", 1_000, dt.datetime(1970, 1, 1, 0, 0, 1)),
            ("inet", IPv4Address("10.0.0.1"), "10.0.0.1"),
            ("inet", IPv6Address("::2"), "::2"),
            ("decimal", 5, Decimal(5)),
            ("double", 3, 3.0),
            ("blob", bytearray(b"ab"), b"ab"),
            ("blob", memoryview(b"ab"), b"ab"),
            ("int", True, 1),
            ("list<int>", (1, 2), [1, 2]),
            ("list<int>", range(3), [0, 1, 2]),
            ("set<int>", [3, 1, 3], sortedset([1, 3])),
            ("set<int>", frozenset({2, 1}), sortedset([1, 2])),
            ("map<text, int>", OrderedDict([("b", 1), ("a", 2)]), {"a": 2, "b": 1}),
            ("tuple<int, text>", [1, "a"], (1, "a")),
        ],
    )  # fmt: skip
    def test_taken(self, session: Session, cql_type: str, given: Any, expected: Any) -> None:
        assert echo(session, cql_type, given) == expected

    @pytest.mark.parametrize(
        ("cql_type", "wrong"),
        [
            ("int", "1"), ("int", 1.5), ("int", 2**31), ("bigint", 2**63), ("tinyint", 128), ("text", 1),
            ("boolean", "true"), ("uuid", "not-a-uuid"), ("uuid", 1), ("inet", "300.1.1.1"), ("double", "x"),
            ("list<int>", 1), ("list<int>", "12"), ("set<int>", "12"), ("map<int, int>", [1]), ("list<int>", ["a"]),
            ("tuple<int, int>", (1, 2, 3)), ("vector<float, 3>", [1.0, 2.0]), ("ascii", "é"), ("duration", 1),
            ("timeuuid", "x"), ("date", "yesterday"), ("time", "25:00:00"),
        ],
    )  # fmt: skip
    def test_refused_with_a_clear_error(self, session: Session, cql_type: str, wrong: Any) -> None:
        prepared = session.prepare(f"SELECT ({cql_type}) ? AS v FROM system.local")
        with pytest.raises((TypeError, ValueError)) as caught:
            prepared.bind((wrong,))
        assert type(wrong).__name__ in str(caught.value) or repr(wrong) in str(caught.value)
        assert cql_type.split("<")[0] in str(caught.value)


class TestBeyondPython:
    """Values that CQL has and Python's date types have not."""

    def test_timestamps_out_of_range_do_not_fail_the_result(self, session: Session) -> None:
        session.execute("CREATE TABLE far (k int PRIMARY KEY, t timestamp, d date)")
        insert = session.prepare("INSERT INTO far (k, t, d) VALUES (?, ?, ?)")
        raw = [2**63 - 1, -(2**63), 253_402_300_800_000, -62_135_596_800_001]
        for key, millis in enumerate(raw):
            session.execute(insert, (key, millis, Date(2**31 - 1 - key)))
        session.execute(insert, (99, dt.datetime(2020, 1, 1), Date(0)))
        rows = {row.k: row for row in session.execute("SELECT * FROM far")}
        assert len(rows) == len(raw) + 1
        assert rows[99].t == dt.datetime(2020, 1, 1)
        for key, millis in enumerate(raw):
            assert rows[key].d == Date(2**31 - 1 - key)
            session.execute(insert, (key, rows[key].t, None))
            assert _millis(session, key) == millis

    def test_milliseconds_far_from_the_epoch(self, session: Session) -> None:
        """Kept exactly: a key that was read must find its row again."""
        session.execute("CREATE TABLE far_key (t timestamp PRIMARY KEY)")
        insert = session.prepare("INSERT INTO far_key (t) VALUES (?)")
        select = session.prepare("SELECT t FROM far_key WHERE t = ?")
        for year in (1, 1600, 2300, 5000, 9999):
            key = dt.datetime(year, 12, 31, 23, 59, 59, 999_000)
            session.execute(insert, (key,))
            (read,) = session.execute(select, (key,)).one()
            assert read == key
            assert session.execute(select, (read,)).one() == (key,)

    def test_sub_millisecond_is_cut_downwards_or_not_at_all(self, session: Session) -> None:
        for value in (dt.datetime(2020, 1, 1, 0, 0, 0, 123_999), dt.datetime(1960, 1, 1, 0, 0, 0, 123_999)):
            returned = echo(session, "timestamp", value)
            assert abs(returned - value) < dt.timedelta(milliseconds=1)


def _millis(session: Session, key: int) -> int:
    blob = session.execute("SELECT bigint_as_blob(blob_as_bigint(timestamp_as_blob(t))) FROM far WHERE k = %s", (key,))
    (raw,) = blob.one()
    return int(struct.unpack(">q", raw)[0])


class TestCollections:
    @pytest.mark.parametrize(
        ("cql_type", "value"),
        [
            ("list<int>", [3, 1, 2]),
            ("list<text>", ["", "é"]),
            ("list<int>", list(range(2000))),
            ("set<text>", sortedset(["a", "b"])),
            ("set<timeuuid>", sortedset([uuid_from_time(1), uuid_from_time(2)])),
            ("map<text, int>", {"a": 1, "b": 2}),
            ("map<int, frozen<map<text, frozen<list<double>>>>>", {1: {"x": [1.5, -0.5]}, 2: {}}),
            ("map<frozen<list<int>>, text>", {(1, 2): "a"}),
            ("set<frozen<list<int>>>", [[1, 2], [3]]),
            ("set<frozen<map<text, int>>>", [{"a": 1}, {"b": 2}]),
            ("list<frozen<tuple<int, text>>>", [(1, "a"), (2, None)]),
            ("tuple<int, frozen<list<text>>, frozen<map<int, boolean>>>", (1, ["a"], {2: True})),
            ("tuple<int, text, double>", (None, None, None)),
            ("vector<float, 3>", [1.5, -2.25, 0.0]),
            ("vector<int, 2>", [1, -1]),
            ("vector<text, 2>", ["a", "longer"]),
            ("vector<frozen<list<text>>, 2>", [["a"], []]),
            ("vector<vector<float, 2>, 2>", [[1.0, 2.0], [3.0, 4.0]]),
            ("vector<varint, 3>", [10**40, 0, -1]),
            ("list<frozen<vector<float, 2>>>", [[1.0, 2.0]]),
            ("vector<uuid, 2>", [UUID(int=1), UUID(int=2)]),
        ],
    )
    def test_echo(self, session: Session, cql_type: str, value: Any) -> None:
        returned = echo(session, cql_type, value)
        if isinstance(value, dict) and any(isinstance(key, tuple) for key in value):
            assert [(tuple(k), v) for k, v in returned.items()] == list(value.items())
        elif cql_type.startswith("set"):
            assert list(returned) == list(value)
        else:
            assert returned == value

    def test_python_types_of_read_collections(self, session: Session) -> None:
        assert type(echo(session, "list<int>", [1])) is list
        assert type(echo(session, "set<int>", {1})) is sortedset
        assert type(echo(session, "map<int, int>", {1: 2})) is OrderedMapSerializedKey
        assert type(echo(session, "tuple<int, int>", (1, 2))) is tuple
        assert type(echo(session, "vector<float, 2>", [1.0, 2.0])) is list

    def test_stored(self, session: Session) -> None:
        session.execute(
            "CREATE TABLE coll (k int PRIMARY KEY, l list<int>, s set<text>, m map<text, frozen<list<int>>>, "
            "fl frozen<list<int>>, t tuple<int, text>, v vector<float, 3>)"
        )
        insert = session.prepare("INSERT INTO coll (k, l, s, m, fl, t, v) VALUES (?, ?, ?, ?, ?, ?, ?)")
        row = ([1, 2], {"b", "a"}, {"x": [1], "y": []}, [3], (1, None), [1.0, 2.0, 3.0])
        session.execute(insert, (1, *row))
        stored = session.execute("SELECT l, s, m, fl, t, v FROM coll WHERE k = 1").one()
        assert tuple(stored) == row
        session.execute(insert, (2, [], set(), {}, [], None, None))
        stored = session.execute("SELECT l, s, m, fl, t, v FROM coll WHERE k = 2").one()
        assert tuple(stored) == (None, None, None, [], None, None)
        session.execute("UPDATE coll SET l = l + %s, s = s - %s, m['z'] = %s WHERE k = 1", ([9], {"a"}, [7]))
        stored = session.execute("SELECT l, s, m FROM coll WHERE k = 1").one()
        assert tuple(stored) == ([1, 2, 9], {"b"}, {"x": [1], "y": [], "z": [7]})

    def test_literals(self, session: Session) -> None:
        session.execute(
            "CREATE TABLE lits (k int PRIMARY KEY, l list<text>, s set<int>, m map<text, int>, v vector<float, 2>)"
        )
        row = (["it's", ""], {1, 2}, {"a": 1}, [1.5, 2.5])
        session.execute("INSERT INTO lits (k, l, s, m, v) VALUES (1, %s, %s, %s, %s)", row)
        assert tuple(session.execute("SELECT l, s, m, v FROM lits WHERE k = 1").one()) == row

    def test_tuple_literals(self, cassandra_node: Any, keyspace: str, session: Session) -> None:
        """A tuple is written as a list, as scylla-driver does, until the encoder is told otherwise."""
        session.execute("CREATE TABLE tuples (k int PRIMARY KEY, l list<int>, t tuple<int, text>)")
        session.execute("INSERT INTO tuples (k, l) VALUES (1, %s)", ((1, 2),))
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            other = cluster.connect(keyspace)
            other.encoder.mapping[tuple] = other.encoder.cql_encode_tuple
            other.execute("INSERT INTO tuples (k, t) VALUES (1, %s)", ((1, "x"),))
        assert session.execute("SELECT l, t FROM tuples").one() == ([1, 2], (1, "x"))

    def test_null_inside_a_collection(self, session: Session) -> None:
        """A list may hold null in a result; the server refuses it in sets and maps; a vector cannot encode it."""
        assert echo(session, "list<int>", [1, None]) == [1, None]
        for cql_type, value in (("set<int>", {None}), ("map<int, int>", {1: None}), ("map<int, int>", {None: 1})):
            with pytest.raises(InvalidRequest, match="Null value"):
                echo(session, cql_type, value)
        with pytest.raises(TypeError, match="null"):
            echo(session, "vector<int, 2>", [1, None])

    def test_counter(self, session: Session) -> None:
        session.execute("CREATE TABLE counts (k int PRIMARY KEY, c counter)")
        update = session.prepare("UPDATE counts SET c = c + ? WHERE k = 1")
        for amount in (5, -7, 2**40):
            session.execute(update, (amount,))
        assert session.execute("SELECT c FROM counts WHERE k = 1").one() == (2**40 - 2,)


class Street(NamedTuple):
    name: str
    number: int


class Person:
    """Registered class: made by keyword, read by attribute."""

    def __init__(self, name: str | None = None, home: Any = None, tags: Any = None) -> None:
        self.name = name
        self.home = home
        self.tags = tags

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Person) and vars(self) == vars(other)


@pytest.fixture(scope="module")
def user_types(session: Session) -> None:
    session.execute("CREATE TYPE street (name text, number int)")
    session.execute("CREATE TYPE person (name text, home frozen<street>, tags frozen<set<text>>)")
    session.execute('CREATE TYPE "Odd Type" ("a b" int, "class" int)')
    session.execute("CREATE TABLE people (k int PRIMARY KEY, p frozen<person>, loose person, l list<frozen<street>>)")
    session.execute('CREATE TABLE odd (k int PRIMARY KEY, o frozen<"Odd Type">)')


@pytest.mark.usefixtures("user_types")
class TestUserTypes:
    def test_named_tuple_by_default(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO people (k, p, l) VALUES (?, ?, ?)")
        session.execute(insert, (1, ("Ann", Street("Elm", 3), {"x"}), [Street("Oak", 1), ("Ash", None)]))
        row = session.execute("SELECT p, l FROM people WHERE k = 1").one()
        assert row.p == ("Ann", ("Elm", 3), {"x"})
        assert row.p.home.name == "Elm"
        assert row.p._fields == ("name", "home", "tags")
        assert type(row.p).__name__ == "person"
        assert row.l == [("Oak", 1), ("Ash", None)]

    def test_sequences_objects_and_read_values_bind_to_a_udt(self, session: Session) -> None:
        """Sequences, objects with the attributes, and values that were read."""
        insert = session.prepare("INSERT INTO people (k, p) VALUES (?, ?)")
        for value in (("Bob", None, None), Person("Bob"), ["Bob"]):
            session.execute(insert, (2, value))
            read = session.execute("SELECT p FROM people WHERE k = 2").one().p
            assert read == ("Bob", None, None)
            session.execute(insert, (2, read))

    def test_more_fields_than_the_type_has(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO people (k, p) VALUES (?, ?)")
        session.execute(insert, (3, ("a", None, None, "of a field that was added since")))
        assert session.execute("SELECT p FROM people WHERE k = 3").one().p == ("a", None, None)

    def test_unfrozen_field_by_field(self, session: Session) -> None:
        session.execute("UPDATE people SET loose.name = 'L' WHERE k = 4")
        assert session.execute("SELECT loose, loose.name FROM people WHERE k = 4").one() == (("L", None, None), "L")

    def test_odd_field_names(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO odd (k, o) VALUES (1, ?)")
        session.execute(insert, ((1, 2),))
        value = session.execute("SELECT o FROM odd").one().o
        assert tuple(value) == (1, 2)

    def test_fields_added_later_are_none_in_old_values(self, session: Session) -> None:
        session.execute("CREATE TYPE growing (a int)")
        session.execute("CREATE TABLE grown (k int PRIMARY KEY, g frozen<growing>)")
        session.execute("INSERT INTO grown (k, g) VALUES (1, {a: 1})")
        assert session.execute("SELECT g FROM grown").one().g == (1,)
        session.execute("ALTER TYPE growing ADD b text")
        assert session.execute("SELECT g FROM grown").one().g == (1, None)
        insert = session.prepare("INSERT INTO grown (k, g) VALUES (2, ?)")
        session.execute(insert, ((2, "b"),))
        assert session.execute("SELECT g FROM grown WHERE k = 2").one().g == (2, "b")

    def test_registered_class(self, cassandra_node: Any, session: Session, keyspace: str) -> None:
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            other = cluster.connect(keyspace)
            cluster.register_user_type(keyspace, "person", Person)
            cluster.register_user_type(keyspace, "street", Street)
            ann = Person("Ann", Street("Elm", 3), {"x"})
            insert = other.prepare("INSERT INTO people (k, p) VALUES (?, ?)")
            other.execute(insert, (10, ann))
            read = other.execute("SELECT p FROM people WHERE k = 10").one().p
            assert type(read) is Person
            assert type(read.home) is Street
            assert read == ann
            other.execute("INSERT INTO people (k, p) VALUES (11, %s)", (ann,))
            assert other.execute("SELECT p FROM people WHERE k = 11").one().p == ann
        assert session.execute("SELECT p FROM people WHERE k = 11").one().p == ("Ann", ("Elm", 3), {"x"})

    def test_registered_before_connecting(self, cassandra_node: Any, keyspace: str) -> None:
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            cluster.register_user_type(keyspace, "street", Street)
            other = cluster.connect(keyspace)
            other.execute("INSERT INTO people (k, l) VALUES (12, %s)", ([Street("Elm", 1)],))
            assert type(other.execute("SELECT l FROM people WHERE k = 12").one().l[0]) is Street

    def test_registered_as_dict(self, cassandra_node: Any, keyspace: str) -> None:
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            cluster.register_user_type(keyspace, "street", dict)
            other = cluster.connect(keyspace)
            insert = other.prepare("INSERT INTO people (k, l) VALUES (13, ?)")
            other.execute(insert, ([{"name": "Elm", "number": 1}],))
            assert other.execute("SELECT l FROM people WHERE k = 13").one().l == [{"name": "Elm", "number": 1}]

    def test_registering_an_unknown_udt_is_refused(self, cluster: Cluster, session: Session, keyspace: str) -> None:
        from cassandra.cluster import UserTypeDoesNotExist

        with pytest.raises(UserTypeDoesNotExist):
            cluster.register_user_type(keyspace, "no_such_type", Person)
        with pytest.raises(UserTypeDoesNotExist):
            cluster.register_user_type("no_such_keyspace", "street", Person)


# ---- random nested types and values

SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "ascii": st.text(st.characters(max_codepoint=127), max_size=20),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "blob": st.binary(max_size=50),
    "boolean": st.booleans(),
    "date": st.integers(-(2**31), 2**31 - 1).map(Date),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False).filter(lambda d: abs(d.as_tuple().exponent) < 500),
    "double": st.floats(),
    "float": st.floats(width=32),
    # of ::ffff:0:0/96 the server makes IPv4 addresses
    "inet": st.ip_addresses().filter(lambda ip: getattr(ip, "ipv4_mapped", None) is None).map(str),
    "int": st.integers(-(2**31), 2**31 - 1),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "text": st.text(max_size=30),
    "time": st.integers(0, 86_399_999_999_999).map(Time),
    "timestamp": st.datetimes().map(lambda d: d.replace(microsecond=d.microsecond // 1000 * 1000)),
    "tinyint": st.integers(-128, 127),
    "uuid": st.uuids(),
    "varint": st.integers(-(10**40), 10**40),
}
#: Equal and ordered in Python as in CQL, hashable: the types of map keys and set elements.
KEYS = ("ascii", "bigint", "blob", "boolean", "int", "smallint", "text", "tinyint", "varint", "timestamp")

Typed = tuple[str, st.SearchStrategy[Any]]


def _list(element: Typed) -> Typed:
    return f"frozen<list<{element[0]}>>", st.lists(element[1], max_size=4)


def _set(name: str) -> Typed:
    return f"frozen<set<{name}>>", st.sets(SIMPLE[name], max_size=4)


def _map(name: str, value: Typed) -> Typed:
    return f"frozen<map<{name}, {value[0]}>>", st.dictionaries(SIMPLE[name], value[1], max_size=4)


def _tuple(elements: list[Typed]) -> Typed:
    names = ", ".join(name for name, _ in elements)
    return f"frozen<tuple<{names}>>", st.tuples(*(st.none() | values for _, values in elements))


def _vector(element: Typed, size: int) -> Typed:
    return f"frozen<vector<{element[0]}, {size}>>", st.lists(element[1], min_size=size, max_size=size)


def nested(children: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    keys = st.sampled_from(KEYS)
    return st.one_of(
        st.builds(_list, children),
        st.builds(_set, keys),
        st.builds(_map, keys, children),
        st.builds(_tuple, st.lists(children, min_size=1, max_size=4)),
        st.builds(_vector, children, st.integers(1, 4)),
    )


types = st.recursive(st.sampled_from(sorted(SIMPLE.items())), nested, max_leaves=6)
typed_values = types.flatmap(lambda typed: st.tuples(st.just(typed[0]), typed[1]))


def normal(value: Any) -> Any:
    """Containers to one kind, so that sent values compare with received ones."""
    if isinstance(value, list | tuple):
        return [normal(item) for item in value]
    if isinstance(value, set | sortedset):
        return sorted(value)
    if isinstance(value, dict | OrderedMapSerializedKey):
        return sorted(((key, normal(item)) for key, item in value.items()), key=lambda pair: pair[0])
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value
    return value


class TestRandom:
    @settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(case=typed_values)
    def test_echo(self, session: Session, case: tuple[str, Any]) -> None:
        cql_type, value = case
        returned = echo(session, cql_type, value)
        assert normal(returned) == normal(value)

    def test_stored_in_tables(self, session: Session) -> None:
        """Random types as columns of real tables, several rows each."""
        rng = random.Random(20_240)
        for number in range(6):
            columns = [_random_type(rng, 3) for _ in range(5)]
            body = ", ".join(f"c{i} {name}" for i, (name, _) in enumerate(columns))
            session.execute(f"CREATE TABLE random_{number} (k int PRIMARY KEY, {body})")
            names = ", ".join(f"c{i}" for i in range(5))
            insert = session.prepare(f"INSERT INTO random_{number} (k, {names}) VALUES (?, ?, ?, ?, ?, ?)")
            rows = {key: [make(rng) for _, make in columns] for key in range(10)}
            for key, row in rows.items():
                session.execute(insert, (key, *row))
            stored = session.execute(f"SELECT k, {names} FROM random_{number}").all()
            assert len(stored) == 10
            for row in stored:
                assert normal(list(row[1:])) == normal(rows[row.k])


def _random_type(rng: random.Random, depth: int) -> tuple[str, Any]:
    """A CQL type and a function that makes values of it."""
    simple: list[tuple[str, Any]] = [
        ("int", lambda r: r.randrange(-(2**31), 2**31)),
        ("text", lambda r: "".join(r.choices("aé\U0001f600'", k=r.randrange(9)))),
        ("varint", lambda r: r.randrange(-(10**30), 10**30)),
        ("uuid", lambda r: UUID(int=r.getrandbits(128))),
        ("timestamp", lambda r: dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=r.randrange(10**13))),
        ("double", lambda r: r.uniform(-1e9, 1e9)),
        ("blob", lambda r: r.randbytes(r.randrange(9))),
        ("date", lambda r: Date(r.randrange(-(2**31), 2**31))),
        ("boolean", lambda r: r.random() < 0.5),
    ]
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(simple)
    kind = rng.choice(["list", "set", "map", "tuple", "vector"])
    if kind == "set":
        name, make = rng.choice(simple[:4])
        return f"frozen<set<{name}>>", lambda r: {make(r) for _ in range(r.randrange(4))}
    name, make = _random_type(rng, depth - 1)
    if kind == "list":
        return f"frozen<list<{name}>>", lambda r: [make(r) for _ in range(r.randrange(4))]
    if kind == "map":
        key_name, make_key = rng.choice(simple[:4])
        return f"frozen<map<{key_name}, {name}>>", lambda r: {make_key(r): make(r) for _ in range(r.randrange(4))}
    if kind == "vector":
        return f"frozen<vector<{name}, 3>>", lambda r: [make(r) for _ in range(3)]
    other_name, make_other = _random_type(rng, depth - 1)
    return f"frozen<tuple<{name}, {other_name}>>", lambda r: (make(r), r.choice([None, make_other(r)]))


def test_decode_errors_name_the_column(session: Session) -> None:
    """A registered class that refuses its fields: which column it was is in the error."""

    class Refuses:
        def __init__(self, **fields: Any) -> None:
            raise ValueError("refused")

    session.execute("CREATE TYPE IF NOT EXISTS refused (a int)")
    session.execute("CREATE TABLE refusing (k int PRIMARY KEY, the_column frozen<refused>)")
    session.execute("INSERT INTO refusing (k, the_column) VALUES (1, {a: 1})")
    with Cluster(session.cluster.contact_points, port=session.cluster.port) as cluster:
        other = cluster.connect(session.keyspace)
        cluster.register_user_type(session.keyspace, "refused", Refuses)
        with pytest.raises(DriverException, match="the_column"):
            other.execute("SELECT * FROM refusing").all()
        assert other.execute("SELECT k FROM refusing").one() == (1,)


def test_rows_as_tuples_share_nothing(session: Session) -> None:
    profile = session.execution_profile_clone_update(session.cluster.profile_manager.default, row_factory=tuple_factory)
    first = session.execute("SELECT key FROM system.local", execution_profile=profile).all()
    second = session.execute("SELECT key FROM system.local", execution_profile=profile).all()
    assert first == second and first is not second
