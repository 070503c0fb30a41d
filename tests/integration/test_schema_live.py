"""The schema of real servers: followed by events, the same as read anew, and created again from its own export."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra.cluster import Cluster, Session
from cassandra.query import tuple_factory
from tests.fakes.schema import rows_of_everything, statements
from tests.integration.conftest import Connect

pytestmark = pytest.mark.server  # its servers are chosen by parameters, which the collection does not see

OWN = ("rich", "QuotedKs")


@pytest.fixture(params=["cassandra_node", pytest.param("cassandra_41", marks=pytest.mark.long)])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def release(server: Any, cluster_to: Connect) -> Iterator[tuple[Cluster, Session, str]]:
    """A cluster, a session that returns tuples, and the server's version; the schema is dropped afterwards."""
    cluster = cluster_to(server, schema_event_refresh_window=0)
    session = cluster.connect()
    session.default_timeout = 30
    session.row_factory = tuple_factory
    version = session.execute("SELECT release_version FROM system.local").one()[0]
    drop(session)
    yield cluster, session, version
    drop(session)


def drop(session: Session) -> None:
    for name in OWN:
        session.execute(f'DROP KEYSPACE IF EXISTS "{name}"')


def exported(cluster: Cluster) -> dict[str, str]:
    keyspaces = cluster.metadata.keyspaces.copy()  # of one moment
    return {name: keyspaces[name].export_as_string() for name in OWN if name in keyspaces}


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether *condition* becomes true; half a minute is given."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_every_statement_is_followed(release: tuple[Cluster, Session, str], server: Any, cluster_to: Connect) -> None:
    """After each statement the session's cluster has the same metadata as a cluster that reads everything anew; another
    cluster that only gets events reaches the same state."""
    cluster, session, version = release
    listener = cluster_to(server, schema_event_refresh_window=0)
    listener.connect()
    for statement in statements(version):
        session.execute(statement)
    more = [
        "ALTER TABLE rich.simple ADD fresh int",
        "ALTER TABLE rich.everything WITH comment = 'other'",
        "ALTER TYPE rich.street ADD zip int",
        'ALTER TYPE rich.street RENAME zip TO "Zip"',
        "ALTER KEYSPACE rich WITH durable_writes = false",
        "ALTER MATERIALIZED VIEW rich.by_value WITH comment = 'changed'",
        "CREATE OR REPLACE FUNCTION rich.add_up(state int, value int) CALLED ON NULL INPUT RETURNS int LANGUAGE java"
        " AS 'return state;'",
        "DROP INDEX rich.by_static",
        "DROP AGGREGATE rich.total(int)",
        'DROP FUNCTION rich."Half"(double)',
        'DROP MATERIALIZED VIEW rich."SomeColumns"',
        "DROP TABLE rich.counters",
    ]
    for statement in more:
        session.execute(statement)
        fresh = cluster_to(server)
        fresh.connect()
        assert exported(cluster) == exported(fresh)
        fresh.shutdown()
    session.execute('ALTER TABLE rich."Select" ADD extra int')  # a view that selects * gets it too: an event tells
    assert eventually(lambda: "extra" in cluster.metadata.keyspaces["rich"].views["by_value"].columns)
    final = exported(cluster)
    assert '"Zip" int' in final["rich"]
    assert "counters" not in final["rich"]
    assert eventually(lambda: exported(listener) == final)
    drop(session)
    assert exported(cluster) == {}
    assert eventually(lambda: exported(listener) == {})


def test_exported_statements_create_the_same_schema(release: tuple[Cluster, Session, str]) -> None:
    cluster, session, version = release
    for statement in statements(version):
        session.execute(statement)
    before, rows = exported(cluster), described(session, version)
    drop(session)
    for text in before.values():
        for statement in text.split(";\n"):
            session.execute(statement.strip().removesuffix(";"))
    assert exported(cluster) == before
    assert described(session, version) == rows


def described(session: Session, version: str) -> dict[str, list[dict[str, Any]]]:
    """The schema tables without the values that are unique to each creation."""
    rows = rows_of_everything(session, version)
    del rows["dropped_columns"]
    unique = {"id", "base_table_id"}
    return {
        part: [
            {name: value for name, value in row.items() if name not in unique}
            for row in found
            if row["keyspace_name"] in OWN
        ]
        for part, found in rows.items()
    }


def test_parts_are_refreshed_on_demand(release: tuple[Cluster, Session, str], server: Any, cluster_to: Connect) -> None:
    """With events switched off, each refresh method reads its part."""
    _, session, version = release
    blind = cluster_to(server, schema_metadata_enabled=False)
    blind.connect()
    for statement in statements(version):
        session.execute(statement)
    assert exported(blind) == {}
    blind.schema_metadata_enabled = True
    blind.refresh_schema_metadata()
    everything = exported(blind)
    assert len(everything) == 2
    rich = blind.metadata.keyspaces["rich"]
    before = [rich.tables["everything"].columns, rich.views["by_value"].columns, rich.user_types["address"]]
    table, counters = rich.tables["everything"], rich.tables["counters"].columns
    blind.refresh_keyspace_metadata("rich")
    blind.refresh_table_metadata("rich", "everything")
    blind.refresh_materialized_view_metadata("rich", "by_value")
    blind.refresh_user_type_metadata("rich", "address")
    blind.refresh_user_function_metadata("rich", UserFunctionDescriptor("add_up", ["int", "int"]))
    blind.refresh_user_aggregate_metadata("rich", UserAggregateDescriptor("total", ["int"]))
    assert exported(blind) == everything
    assert blind.metadata.keyspaces["rich"] is not rich and rich.tables["everything"] is not table
    after = [rich.tables["everything"].columns, rich.views["by_value"].columns, rich.user_types["address"]]
    assert all(one is not other for one, other in zip(after, before, strict=True))  # they were read
    assert rich.tables["counters"].columns is counters
