"""The current keyspace: at connect, by USE, by set_keyspace, on every connection, also on those to come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.query import SimpleStatement
from tests import interrupted_use
from tests.integration.conftest import Connect, create_keyspace
from tests.patience import eventually

NAMES = ("it_keyspaces_a", "it_keyspaces_b")


@pytest.fixture(scope="module", autouse=True)
def two(session: Session) -> Iterator[None]:
    for name in NAMES:
        create_keyspace(session, name)
        session.execute(f"CREATE TABLE {name}.t (k text PRIMARY KEY)")
        session.execute(f"INSERT INTO {name}.t (k) VALUES ('{name}')")
    yield
    for name in NAMES:
        session.execute(f"DROP KEYSPACE {name}", timeout=60)


def where(session: Session) -> str:
    return str(session.execute("SELECT k FROM t").one().k)


def test_none(cluster_to: Connect, cassandra_node: Any) -> None:
    session = cluster_to(cassandra_node).connect()
    assert session.keyspace is None
    with pytest.raises(InvalidRequest, match=r"(?i)keyspace"):
        session.execute("SELECT k FROM t")


@pytest.mark.parametrize("version", [3, 4, 5])
def test_at_connect_by_use_and_by_call(cluster_to: Connect, cassandra_node: Any, version: int) -> None:
    session = cluster_to(cassandra_node, protocol_version=version).connect(NAMES[0])
    assert (session.keyspace, where(session)) == (NAMES[0], NAMES[0])
    session.execute(f"USE {NAMES[1]}")
    assert (session.keyspace, where(session)) == (NAMES[1], NAMES[1])
    session.set_keyspace(NAMES[0])
    assert (session.keyspace, where(session)) == (NAMES[0], NAMES[0])


def test_sessions_are_apart(cluster_to: Connect, cassandra_node: Any) -> None:
    cluster = cluster_to(cassandra_node)
    first, second = cluster.connect(NAMES[0]), cluster.connect(NAMES[1])
    assert (where(first), where(second)) == NAMES


def test_unknown_keyspace_leaves_the_session_as_it_was(cluster_to: Connect, cassandra_node: Any) -> None:
    session = cluster_to(cassandra_node).connect(NAMES[0])
    with pytest.raises(InvalidRequest, match="no_such_keyspace"):
        session.set_keyspace("no_such_keyspace")
    assert (session.keyspace, where(session)) == (NAMES[0], NAMES[0])


def test_names_are_not_cql(cluster_to: Connect, cassandra_node: Any) -> None:
    """Whatever is in the name, it is a name."""
    session = cluster_to(cassandra_node).connect(NAMES[0])
    for name in ('x"; DROP KEYSPACE it_keyspaces_a; --', "a b", ""):
        with pytest.raises((InvalidRequest, ValueError, ConnectionException, Exception)):
            session.set_keyspace(name)
    assert where(session) == NAMES[0]


def test_new_connections_are_in_it(cluster_to: Connect, cassandra_node: Any) -> None:
    session = cluster_to(cassandra_node).connect()
    session.set_keyspace(NAMES[1])
    (pool,) = session.get_pools()
    lost = pool.get_connections()
    for connection in lost:
        connection.defunct(ConnectionException("cut by the test"))
    done = threading.Event()
    for _ in range(200):
        try:
            assert where(session) == NAMES[1]
            break
        except Exception as error:
            assert not isinstance(error, InvalidRequest)
            done.wait(0.05)
    assert where(session) == NAMES[1]
    assert not set(lost) & set(session.get_pools()[0].get_connections())


def test_use_under_load(cluster_to: Connect, cassandra_node: Any) -> None:
    """Requests in flight see one keyspace or the other, never an error."""
    session = cluster_to(cassandra_node).connect(NAMES[0])
    seen: set[str] = set()
    errors: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                seen.add(where(session))
            except Exception as error:
                errors.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(40):
        session.set_keyspace(NAMES[number % 2])
    stop.set()
    for reader in readers:
        reader.join(30)
    assert errors == []
    assert seen <= set(NAMES)
    assert where(session) == NAMES[1]


def test_of_a_statement_on_protocol_5(cluster_to: Connect, cassandra_node: Any) -> None:
    session = cluster_to(cassandra_node, protocol_version=5).connect(NAMES[0])
    assert session.execute(SimpleStatement("SELECT k FROM t", keyspace=NAMES[1])).one() == (NAMES[1],)
    assert where(session) == NAMES[0]


@pytest.mark.parametrize("version", [4, 5])
def test_one_that_is_dropped_and_created_again(cluster_to: Connect, cassandra_node: Any, version: int) -> None:
    """Also by connections that were lost while it was not there."""
    name = f"it_keyspaces_again_{version}"
    other = cluster_to(cassandra_node).connect()
    create_keyspace(other, name)
    other.execute(f"CREATE TABLE {name}.t (k text PRIMARY KEY)")
    session = cluster_to(
        cassandra_node, protocol_version=version, reconnection_policy=ConstantReconnectionPolicy(3600)
    ).connect(name)
    insert = session.prepare("INSERT INTO t (k) VALUES (?)")
    try:
        for lose in (False, True):
            other.execute(f"DROP KEYSPACE {name}", timeout=60)
            if lose:
                for connection in [one for pool in session.get_pools() for one in pool.get_connections()]:
                    connection.close()
                with pytest.raises((InvalidRequest, NoHostAvailable)):
                    session.execute("SELECT k FROM t")
            create_keyspace(other, name)
            other.execute(f"CREATE TABLE {name}.t (k text PRIMARY KEY)")
            eventually(lambda: all(pool.open_count for pool in session.get_pools()) and session.get_pools())
            session.execute("INSERT INTO t (k) VALUES ('text')")
            session.execute(insert, ("bound",))
            assert {row.k for row in session.execute("SELECT k FROM t")} == {"text", "bound"}
    finally:
        other.execute(f"DROP KEYSPACE {name}", timeout=60)


def test_interrupted_use(cluster_to: Connect, cassandra_node: Any) -> None:
    """No row is written in another keyspace than the session says it is in."""
    session = cluster_to(cassandra_node).connect()
    for keyspace in interrupted_use.KEYSPACES:
        session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}", timeout=60)
    interrupted_use.create(session, "{'class': 'SimpleStrategy', 'replication_factor': 1}")
    try:
        interrupted_use.run(session, 10)
    finally:
        for keyspace in interrupted_use.KEYSPACES:
            session.execute(f"DROP KEYSPACE {keyspace}", timeout=60)
