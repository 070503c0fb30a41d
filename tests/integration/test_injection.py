"""Hostile values in simple statements on a real server: what they say is stored or refused, never executed."""

from __future__ import annotations

import ipaddress
from collections import UserString
from pathlib import PurePosixPath
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import Session
from cassandra.cqlengine import connection as connections
from cassandra.cqlengine.named import NamedTable
from cassandra.query import BatchStatement, SimpleStatement
from tests.integration.conftest import Connect

EVIL = "x', role = 'admin"
SCOPED = ipaddress.ip_address("::1%1', role = 'admin")


@pytest.fixture
def users(session: Session) -> Session:
    session.execute("CREATE TABLE IF NOT EXISTS users (id int PRIMARY KEY, address inet, name text, role text)")
    session.execute("INSERT INTO users (id, address, name, role) VALUES (1, '10.0.0.1', 'me', 'guest')")
    return session


def role(session: Session) -> Any:
    return session.execute("SELECT role FROM users WHERE id = 1").one().role


def test_the_scope_of_an_address_is_no_cql(users: Session) -> None:
    with pytest.raises(ValueError, match="inet cannot hold the scope"):
        users.execute("UPDATE users SET address = %s WHERE id = 1", (SCOPED,))
    assert role(users) == "guest"


@pytest.mark.parametrize("value", [UserString(EVIL), PurePosixPath(EVIL), ValueError(EVIL)], ids=repr)
def test_objects_of_unknown_types_are_not_sent(users: Session, value: Any) -> None:
    with pytest.raises(TypeError, match="no CQL literal is known"):
        users.execute("UPDATE users SET name = %s WHERE id = 1", (value,))
    batch = BatchStatement()
    with pytest.raises(TypeError, match="no CQL literal is known"):
        batch.add(SimpleStatement("UPDATE users SET name = %s WHERE id = 1"), (value,))
    assert role(users) == "guest"


def test_text_is_stored_as_it_is(users: Session) -> None:
    users.execute("UPDATE users SET name = %s WHERE id = 1", (EVIL,))
    assert users.execute("SELECT name FROM users WHERE id = 1").one().name == EVIL
    assert role(users) == "guest"


def test_names_of_named_tables(users: Session, keyspace: str, cluster_to: Connect, cassandra_node: Any) -> None:
    users.execute('CREATE TABLE IF NOT EXISTS "OddName" ("Key" int, "a-b" int, PRIMARY KEY ("Key", "a-b"))')
    users.execute('INSERT INTO "OddName" ("Key", "a-b") VALUES (1, 2)')
    users.execute('INSERT INTO "OddName" ("Key", "a-b") VALUES (1, 3)')
    own = cluster_to(cassandra_node).connect(keyspace)  # it is shut down with the connection
    connections.register_connection("quoting", session=own, default=True)
    try:
        assert len(NamedTable(keyspace, '"OddName"').all()) == 2
        rows = NamedTable(keyspace, '"OddName"').filter(Key=1).order_by("-a-b")
        assert [row["a-b"] for row in rows] == [3, 2]
        with pytest.raises(InvalidRequest, match=r"unconfigured table|does not exist"):
            list(NamedTable(keyspace, "users; DROP TABLE users").all())
    finally:
        connections.unregister_connection("quoting")
    assert role(users) == "guest"
