"""Classes registered for user types, and a type that another program alters: values are read with the fields that the
class takes, and what does not fit is logged once."""

from __future__ import annotations

import logging
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from cassandra.cluster import Session
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.usertype import UserType

pytestmark = pytest.mark.long


class Plain:
    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number


class Slots:
    __slots__ = ("name", "number")

    def __init__(self, *, name: str, number: int = 7) -> None:
        self.name = name
        self.number = number


class Positional:
    def __init__(self, name: str, number: int, /) -> None:
        self.name = name
        self.number = number


@dataclass
class Data:
    name: str
    number: int


class Typed(NamedTuple):
    name: str
    number: int


class Open:
    def __init__(self, name: str | None = None, **others: Any) -> None:
        self.name = name
        self.number = others.get("number")


Named = namedtuple("Named", "name number")
Row = namedtuple("Row", "v l")
CLASSES = [Plain, Slots, Positional, Data, Typed, Named, Open]


class Mapped(UserType):
    __type_name__ = "street"
    name = columns.Text()
    number = columns.Integer()


@pytest.fixture
def streets(session: Session) -> Session:
    session.execute("CREATE TYPE street (name text, number int)")
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v frozen<street>, l list<frozen<street>>)")
    session.execute("INSERT INTO t (id, v, l) VALUES (1, {name: 'one', number: 1}, [{name: 'one', number: 1}])")
    return session


def values(session: Session) -> list[Any]:
    """By a simple statement, and by one that is prepared now."""
    text = "SELECT v, l FROM t WHERE id = 1"
    rows = [session.execute(text).one(), session.execute(session.prepare(text)).one()]
    rows = [Row(**row) if isinstance(row, dict) else row for row in rows]  # the mapper's sessions give dicts
    return [value for row in rows for value in (row.v, row.l[0])]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_field_is_added(kind: Any, streets: Session, caplog: pytest.LogCaptureFixture) -> None:
    streets.cluster.register_user_type(streets.keyspace, "street", kind)
    assert all((value.name, value.number) == ("one", 1) for value in values(streets))
    caplog.clear()
    with caplog.at_level(logging.WARNING, "cassandra"):
        streets.execute("ALTER TYPE street ADD zip text")
        for _ in range(3):
            read = values(streets)
            assert all(type(value) is kind and (value.name, value.number) == ("one", 1) for value in read)
    lines = [message for message in caplog.messages if "does not match" in message]
    assert len(lines) == (0 if kind is Open else 1)
    assert all("street" in line and "'zip'" in line for line in lines)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_field_is_renamed(kind: Any, streets: Session, caplog: pytest.LogCaptureFixture) -> None:
    streets.cluster.register_user_type(streets.keyspace, "street", kind)
    with caplog.at_level(logging.WARNING, "cassandra"):
        streets.execute("ALTER TYPE street RENAME number TO house")
        for _ in range(3):
            read = values(streets)
            assert all(type(value) is kind and value.name == "one" for value in read)
            assert {value.number for value in read} == {7 if kind is Slots else None}
    lines = [message for message in caplog.messages if "does not match" in message]
    assert len(lines) == (0 if kind is Open else 1)


def test_dicts_have_all_fields(streets: Session) -> None:
    streets.cluster.register_user_type(streets.keyspace, "street", dict)
    streets.execute("ALTER TYPE street ADD zip text")
    assert all(value == {"name": "one", "number": 1, "zip": None} for value in values(streets))
    streets.execute(streets.prepare("INSERT INTO t (id, v) VALUES (2, ?)"), ({"name": "two", "zip": "z"},))
    assert streets.execute("SELECT v FROM t WHERE id = 2").one().v == {"name": "two", "number": None, "zip": "z"}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("prepared", [True, False])
def test_instances_are_written(kind: Any, prepared: bool, streets: Session) -> None:
    streets.cluster.register_user_type(streets.keyspace, "street", kind)
    streets.execute("ALTER TYPE street ADD zip text")
    if kind is Positional:
        value = kind("two", 2)
    else:
        value = kind(name="two", number=2)
    if prepared:
        streets.execute(streets.prepare("INSERT INTO t (id, v) VALUES (2, ?)"), (value,))
    else:
        streets.execute("INSERT INTO t (id, v) VALUES (2, %s)", (value,))
    found = streets.execute("SELECT v FROM t WHERE id = 2").one().v
    assert (found.name, found.number) == ("two", 2)


def test_a_renamed_field_in_a_simple_statement(streets: Session) -> None:
    """The literal has the names that the type has now."""
    streets.cluster.register_user_type(streets.keyspace, "street", Plain)
    streets.execute("ALTER TYPE street RENAME number TO house")
    streets.execute("INSERT INTO t (id, v) VALUES (2, %s)", (Plain("two", 2),))
    assert streets.execute("SELECT v FROM t WHERE id = 2").one().v.name == "two"


def test_a_class_that_takes_no_field_says_so(streets: Session) -> None:
    class Nothing:
        pass

    streets.cluster.register_user_type(streets.keyspace, "street", Nothing)
    with pytest.raises(Exception, match=r"takes no arguments|unexpected keyword"):
        values(streets)


def test_errors_of_a_constructor_are_its_own(streets: Session) -> None:
    class Strict:
        def __init__(self, name: str) -> None:
            raise ValueError(f"no street is called {name}")

    streets.cluster.register_user_type(streets.keyspace, "street", Strict)
    with pytest.raises(Exception, match="no street is called one"):
        values(streets)


def test_a_class_of_the_mapper(streets: Session, caplog: pytest.LogCaptureFixture) -> None:
    keyspace = str(streets.keyspace)
    connection.register_connection("altered", session=streets)
    try:
        Mapped.register_for_keyspace(keyspace, "altered")
        with caplog.at_level(logging.WARNING, "cassandra"):
            streets.execute("ALTER TYPE street ADD zip text")
            streets.execute("ALTER TYPE street RENAME number TO house")
            for _ in range(2):
                read = values(streets)
                assert all(type(value) is Mapped and (value.name, value.number) == ("one", None) for value in read)
        lines = [message for message in caplog.messages if "does not match" in message]
        assert len(lines) == 1 and "'zip'" in lines[0] and "'house'" in lines[0] and "'number'" in lines[0]
        streets.execute(streets.prepare("INSERT INTO t (id, v) VALUES (2, ?)"), (Mapped(name="two"),))
        assert streets.execute("SELECT v FROM t WHERE id = 2").one()["v"].name == "two"
    finally:
        connection.unregister_connection("altered")
