"""Classes registered for user types reach what was there before them."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import Session
from cassandra.query import PreparedStatement
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect


class Street:
    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number

    def __eq__(self, other: object) -> bool:
        return type(other) is Street and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]


class Later(Street):
    """For another registration."""


ONE = Street("one", 1)


@pytest.fixture
def streets(session: Session) -> Session:
    session.execute("CREATE TYPE street (name text, number int)")
    session.execute("CREATE TYPE town (main frozen<street>, size int)")
    session.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v frozen<street>, l list<frozen<street>>, m map<text, frozen<street>>, "
        "p frozen<tuple<int, frozen<street>>>, w frozen<town>, i int)"
    )
    session.execute(
        "INSERT INTO t (id, v, l, m, p, w, i) VALUES (1, {name: 'one', number: 1}, [{name: 'one', number: 1}], "
        "{'a': {name: 'one', number: 1}}, (7, {name: 'one', number: 1}), {main: {name: 'one', number: 1}, size: 3}, 4)"
    )
    return session


def read(session: Session, statement: PreparedStatement) -> Any:
    return session.execute(statement, (1,)).one()


def is_registered(row: Any) -> bool:
    values = [row.v, row.l[0], row.m["a"], row.p[1], row.w.main]
    return [value == ONE for value in values] == [True] * 5 and (row.p[0], row.w.size, row.i) == (7, 3, 4)


def test_rows_of_statements_that_were_prepared_before(streets: Session) -> None:
    select, twin = (streets.prepare("SELECT v, l, m, p, w, i FROM t WHERE id = ?") for _ in range(2))
    before = read(streets, select)
    assert not isinstance(before.v, Street) and before.v == ("one", 1)
    streets.cluster.register_user_type("ks", "street", Street)
    assert is_registered(read(streets, select)) and is_registered(read(streets, twin))
    assert is_registered(streets.execute(select.bind((1,))).one())
    assert is_registered(streets.execute("SELECT v, l, m, p, w, i FROM t").one())
    assert before.v == ("one", 1), "what was read stays what it was"
    streets.cluster.register_user_type("ks", "street", Later)
    assert type(read(streets, select).v) is Later


def test_other_types_stay(streets: Session) -> None:
    select = streets.prepare("SELECT i, v FROM t WHERE id = ?")
    plan = select._snapshot[0]
    streets.cluster.register_user_type("ks", "town", Street)
    assert select._snapshot[0] is plan
    assert tuple(read(streets, select)) == (4, ("one", 1))


def test_values_of_statements_that_were_prepared_before(streets: Session) -> None:
    insert = streets.prepare("INSERT INTO t (id, v, l) VALUES (?, ?, ?)")
    streets.cluster.register_user_type("ks", "street", Street)
    streets.execute(insert, (1, Street("two", 2), [Street("three", 3)]))
    row = streets.execute("SELECT v, l FROM t").one()
    assert (row.v, row.l) == (Street("two", 2), [Street("three", 3)])


def test_every_session_and_text(streets: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    before = streets.cluster.connect("ks")
    streets.cluster.register_user_type("ks", "street", Street)
    after = streets.cluster.connect("ks")
    for number, session in enumerate((streets, before, after)):
        session.execute("INSERT INTO t (id, v) VALUES (%s, %s)", (10 + number, Street("text", number)))
        assert session.execute("SELECT v FROM t WHERE id = %s", (10 + number,)).one().v == Street("text", number)


TWO = {"number": 2, "name": "two"}
Turned = namedtuple("Turned", "number name")


def written(session: Session, value: Any, bound: bool) -> Any:
    """Rows with *value* in a column, a list, a map and a tuple, written as parameters of text or of a statement."""
    columns = "INSERT INTO t (id, v, l, m, p, w) VALUES "
    values = (5, value, [value], {"a": value}, (7, value), {"main": value, "size": 3})
    if bound:
        session.execute(session.prepare(f"{columns} (?, ?, ?, ?, ?, ?)"), values)
    else:  # as tuples and maps are written for their columns
        session.execute(f"{columns} (%s, %s, %s, %s, (7, %s), {{main: %s, size: 3}})", (*values[:4], value, value))
    row = session.execute("SELECT v, l, m, p, w FROM t WHERE id = 5").one()
    main = row.w["main"] if isinstance(row.w, dict) else row.w.main
    return [row.v, row.l[0], row.m["a"], row.p[1], main]


@pytest.mark.parametrize("bound", [True, False])
def test_dicts(streets: Session, bound: bool) -> None:
    """``dict`` is registered: its instances are user types if their keys are fields, and maps otherwise."""
    streets.cluster.register_user_type("ks", "street", dict)
    assert written(streets, TWO, bound) == [TWO] * 5
    part = {"number": 3}
    assert written(streets, part, bound) == [{"name": None, **part}] * 5
    streets.execute("CREATE TABLE maps (id int PRIMARY KEY, m map<text, int>)")
    insert: Any = "INSERT INTO maps (id, m) VALUES (%s, %s)"
    for number, value in enumerate([{"a": 1}, {}, {"a": 1, "number": 2}]):
        streets.execute(insert, (number, value))
        found = streets.execute(f"SELECT m FROM maps WHERE id = {number}").one().m
        assert (found or {}) == value
    with pytest.raises(ValueError, match="has no field 'street'"):
        written(streets, {"street": "x"}, True)
    with pytest.raises(InvalidRequest):
        written(streets, {"street": "x"}, False)


def test_dicts_for_several_types(streets: Session) -> None:
    for name in ("street", "town", "street"):
        streets.cluster.register_user_type("ks", name, dict)
    town = {"main": TWO, "size": 3}
    for text, values in (
        ("INSERT INTO t (id, v, w) VALUES (%s, %s, %s)", (1, TWO, town)),
        ("INSERT INTO t (id, v, w) VALUES (?, ?, ?)", (1, TWO, town)),
    ):
        streets.execute("TRUNCATE t")
        statement: Any = streets.prepare(text) if "?" in text else text
        streets.execute(statement, values)
        row = streets.execute("SELECT v, w FROM t").one()
        assert (row.v, row.w) == (TWO, town)


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("kind", ["registered", "plain"])
def test_named_tuples_in_another_order(streets: Session, kind: str, bound: bool) -> None:
    if kind == "registered":
        streets.cluster.register_user_type("ks", "street", Turned)
    found = written(streets, Turned(2, "two"), bound)
    assert [(value.number, value.name) for value in found] == [(2, "two")] * 5


@pytest.mark.parametrize("kind", [OrderedDict, type("Keyed", (dict,), {})])
def test_other_mappings(streets: Session, kind: Any) -> None:
    streets.cluster.register_user_type("ks", "street", kind)
    for bound in (True, False):
        found = written(streets, kind(TWO), bound)
        assert found == [TWO] * 5 and {type(value) for value in found} == {kind}


def test_an_object_without_the_fields_is_no_literal(streets: Session) -> None:
    class Other:
        pass

    streets.cluster.register_user_type("ks", "street", Other)
    insert = streets.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    for statement in ("INSERT INTO t (id, v) VALUES (%s, %s)", insert):
        with pytest.raises(TypeError, match="street needs a tuple, a mapping, or an object with its fields"):
            streets.execute(statement, (1, Other()))


def test_a_registered_tuple_with_other_names_is_written_by_position(streets: Session) -> None:
    pair = namedtuple("pair", "p q")
    streets.cluster.register_user_type("ks", "street", pair)
    insert = streets.prepare("INSERT INTO t (id, i, l) VALUES (?, ?, ?)")
    streets.execute("INSERT INTO t (id, v) VALUES (2, %s)", (pair("two", 2),))
    streets.execute(insert, (3, 1, [pair("two", 2)]))
    streets.cluster.register_user_type("ks", "street", Street)
    assert streets.execute("SELECT v FROM t WHERE id = 2").one().v == Street("two", 2)
    assert streets.execute("SELECT l FROM t WHERE id = 3").one().l == [Street("two", 2)]
