"""Classes registered for user types reach what was there before them."""

from __future__ import annotations

from typing import Any

import pytest

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
