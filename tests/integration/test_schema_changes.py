"""Tables that change under prepared statements: rows are read by the columns they came with, for any client
that alters the table, at any time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.protocol import ServerError
from cassandra.query import PreparedStatement
from tests.integration.conftest import Connect, create_keyspace

KEYSPACE = "it_schema_changes"
PROTOCOLS = [4, 5]
NUMBERS = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def keyspace(cassandra_node: Any) -> Iterator[str]:
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster, cluster.connect() as session:
        create_keyspace(session, KEYSPACE)
        yield KEYSPACE
        session.execute(f"DROP KEYSPACE {KEYSPACE}", timeout=30)


class Table:
    """One table, and how to change it."""

    def __init__(self, connect: Callable[[], Session], name: str) -> None:
        self.connect = connect
        self.name = name
        self.admin = connect()
        self.change(f"CREATE TYPE IF NOT EXISTS {name}_pair (x int, y int)")
        self.change(f"CREATE TABLE {name} (k int, c int, a int, b int, p frozen<{name}_pair>, PRIMARY KEY (k, c))")
        self.change(f"INSERT INTO {name} (k, c, a, b, p) VALUES (1, 2, 10, 20, {{x: 5, y: 6}})")

    def change(self, cql: str) -> None:
        self.admin.execute(cql, timeout=30)

    def alter(self, what: str) -> None:
        self.change(f"ALTER TABLE {self.name} {what}")

    def set(self, assignment: str) -> None:
        clustering = "c2" if "c2" in self.admin.execute(f"SELECT * FROM {self.name}").column_names else "c"
        self.change(f"UPDATE {self.name} SET {assignment} WHERE k = 1 AND {clustering} = 2")

    def prepare(self, session: Session) -> PreparedStatement:
        return session.prepare(f"SELECT * FROM {self.name} WHERE k = ?")


@pytest.fixture(params=PROTOCOLS)
def table(cassandra_node: Any, cluster_to: Connect, request: pytest.FixtureRequest) -> Table:
    """Sessions of clusters of their own: a session learns of another's statements only through the server."""

    def connect() -> Session:
        return cluster_to(cassandra_node, protocol_version=request.param).connect(KEYSPACE)

    return Table(connect, f"t{next(NUMBERS)}")


def added(table: Table) -> dict[str, Any]:
    table.alter("ADD d text")
    table.set("d = 'new'")
    return {"k": 1, "c": 2, "a": 10, "b": 20, "d": "new", "p": (5, 6)}


def dropped(table: Table) -> dict[str, Any]:
    table.alter("DROP a")
    return {"k": 1, "c": 2, "b": 20, "p": (5, 6)}


def dropped_and_added(table: Table) -> dict[str, Any]:
    """As many columns as before, of the same types, and each of them another."""
    table.alter("DROP a")
    table.alter("ADD z int")
    table.set("z = 99")
    return {"k": 1, "c": 2, "b": 20, "p": (5, 6), "z": 99}


def renamed(table: Table) -> dict[str, Any]:
    table.alter("RENAME c TO c2")
    return {"k": 1, "c2": 2, "a": 10, "b": 20, "p": (5, 6)}


def made_anew(table: Table) -> dict[str, Any]:
    """The only way to other types that Cassandra 5 allows: the statement and its id are the same, nothing else is."""
    table.change(f"DROP TABLE {table.name}")
    table.change(f"CREATE TABLE {table.name} (k int, c text, a text, b double, p int, PRIMARY KEY (k, c))")
    table.change(f"INSERT INTO {table.name} (k, c, a, b, p) VALUES (1, 'two', 'four', 2.5, 7)")
    return {"k": 1, "c": "two", "a": "four", "b": 2.5, "p": 7}


def with_a_field_more(table: Table) -> dict[str, Any]:
    table.change(f"ALTER TYPE {table.name}_pair ADD z text")
    table.set("p = {x: 5, y: 6, z: 'seven'}")
    return {"k": 1, "c": 2, "a": 10, "b": 20, "p": (5, 6, "seven")}


CHANGES = [added, dropped, dropped_and_added, renamed, with_a_field_more, made_anew]
BEFORE = {"k": 1, "c": 2, "a": 10, "b": 20, "p": (5, 6)}


def read(session: Session, statement: PreparedStatement) -> dict[str, Any]:
    result = session.execute(statement, (1,), timeout=30)
    row: dict[str, Any] = result.one()._asdict()
    assert list(row) == result.column_names
    return row


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
class TestBetweenExecutions:
    def test_by_this_client(self, table: Table, change: Callable[[Table], dict[str, Any]]) -> None:
        select = table.prepare(table.admin)
        assert read(table.admin, select) == BEFORE
        after = change(table)
        for _ in range(2):
            assert read(table.admin, select) == after
        assert sorted(column.name for column in select.result_metadata or ()) == sorted(after)

    def test_by_another_client(self, table: Table, change: Callable[[Table], dict[str, Any]]) -> None:
        session = table.connect()
        select = table.prepare(session)
        assert read(session, select) == BEFORE
        after = change(table)
        for _ in range(2):
            assert read(session, select) == after
        assert select._result_col_names is not None and sorted(select._result_col_names) == sorted(after)

    def test_by_another_client_that_prepares_again(
        self, table: Table, change: Callable[[Table], dict[str, Any]]
    ) -> None:
        """The server then knows the statement again, and does not ask this client to prepare it: only with the rows
        can it tell that they are others."""
        session = table.connect()
        select = table.prepare(session)
        assert read(session, select) == BEFORE
        after = change(table)
        assert read(table.admin, table.prepare(table.admin)) == after
        for _ in range(2):
            assert read(session, select) == after


class TestWhileExecuting:
    """Threads execute one statement over and over, of this client and of another, while its table changes: each row has
    the columns of one moment, each with its own value, independent of other requests in flight."""

    THREADS = 3
    KNOWN = {"k": 1, "c": 2, "a": 10, "b": 20, "p": (5, 6), "d": "new", "z": 99}

    def test_rows_do_not_mix(self, table: Table) -> None:
        sessions = [table.admin, table.connect()]
        done = threading.Event()
        failures: list[BaseException] = []
        shapes: set[tuple[str, ...]] = set()
        started = threading.Barrier(len(sessions) * self.THREADS + 1)

        def execute(session: Session, select: PreparedStatement) -> None:
            last_round = False
            started.wait(30)
            while not last_round and not failures:
                last_round = done.is_set()  # once more after everything has changed
                for future in [session.execute_async(select, (1,), timeout=30) for _ in range(8)]:
                    try:
                        result = future.result()
                    except ServerError:  # a server that fails during its own change says so; its answers are tested
                        continue
                    row = result.one()._asdict()
                    wrong = {name: value for name, value in row.items() if value not in (self.KNOWN[name], None)}
                    assert not wrong, wrong
                    assert list(row) == result.column_names
                    shapes.add(tuple(row))

        def guarded(session: Session, select: PreparedStatement) -> None:
            try:
                execute(session, select)
            except BaseException as error:
                failures.append(error)

        threads = [
            threading.Thread(target=guarded, args=(session, select))
            for session in sessions
            for select in [table.prepare(session)]
            for _ in range(self.THREADS)
        ]
        for thread in threads:
            thread.start()
        try:
            started.wait(30)
            for what, assignment in [("ADD d text", "d = 'new'"), ("DROP a", None), ("ADD z int", "z = 99")]:
                table.alter(what)
                if assignment is not None:
                    table.set(assignment)
                table.prepare(table.admin)
        finally:
            done.set()
            for thread in threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert not failures, failures[0]
        assert ("k", "c", "b", "d", "p", "z") in shapes

    def test_pages(self, table: Table) -> None:
        """The pages after the change have the columns it left."""
        session = table.connect()
        for number in range(3, 6):
            table.change(f"INSERT INTO {table.name} (k, c, a, b) VALUES (1, {number}, 10, 20)")
        select = table.prepare(session)
        select.fetch_size = 2
        result = session.execute(select, (1,), timeout=30)
        assert [list(row._asdict()) for row in result.current_rows] == [["k", "c", "a", "b", "p"]] * 2
        table.alter("ADD d text")
        table.prepare(table.admin)
        rows = []
        while result.has_more_pages:
            result.fetch_next_page()
            rows += [row._asdict() for row in result.current_rows]
            assert not rows or list(rows[-1]) == result.column_names
        assert [(row["c"], row["b"], row["d"]) for row in rows] == [(4, 20, None), (5, 20, None)]
