"""Masks of columns on a real server: read as the server has them, kept by exports, altered, and dropped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.cluster import Session
from cassandra.query import tuple_factory
from tests.integration.conftest import Connect

COLUMNS = {
    "p": ("int", None),
    "c": ("text", None),
    "whole": ("text", "system.mask_default()"),
    "nothing": ("int", "system.mask_null()"),
    "inner": ("text", "system.mask_inner(1, null)"),
    "padded": ("text", "system.mask_inner(1, 2, '#')"),
    "replaced": ("int", "system.mask_replace(-5)"),
    "Odd Name": ("bigint", "system.mask_default()"),
}


@pytest.fixture
def session(cassandra_node: object, cluster_to: Connect) -> Iterator[Session]:
    session = cluster_to(cassandra_node, schema_event_refresh_window=0).connect()
    session.default_timeout = 30
    session.row_factory = tuple_factory
    session.execute("DROP KEYSPACE IF EXISTS masks")
    session.execute("CREATE KEYSPACE masks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    session.set_keyspace("masks")
    yield session
    session.execute("DROP KEYSPACE masks")


def masks(session: Session) -> dict[str, str | None]:
    table = session.cluster.metadata.keyspaces["masks"].tables["t"]
    return {name: column.mask for name, column in table.columns.items()}


def test_masks_are_read_exported_and_created_again(session: Session) -> None:
    columns = ", ".join(
        f'"{name}" {kind}' + (f" MASKED WITH {mask.removeprefix('system.')}" if mask else "")
        for name, (kind, mask) in COLUMNS.items()
    )
    session.execute(f"CREATE TABLE t ({columns}, PRIMARY KEY (p, c))")
    expected = {name: mask for name, (_, mask) in COLUMNS.items()}
    assert masks(session) == expected

    table = session.cluster.metadata.keyspaces["masks"].tables["t"]
    exported = table.as_cql_query(formatted=True)
    assert exported.count(" MASKED WITH ") == 6
    session.execute("DROP TABLE t")
    session.execute(exported.replace(f"AND id = {table.options.get('id')}", ""))
    assert masks(session) == expected
    assert session.cluster.metadata.keyspaces["masks"].tables["t"].as_cql_query(formatted=True) == exported


def test_column_masks_follow_alter_table(session: Session) -> None:
    session.execute("CREATE TABLE t (p int PRIMARY KEY, v text)")
    assert masks(session) == {"p": None, "v": None}
    session.execute("ALTER TABLE t ALTER v MASKED WITH mask_inner(1, 1)")
    assert masks(session)["v"] == "system.mask_inner(1, 1)"
    session.execute("ALTER TABLE t ADD w int MASKED WITH DEFAULT")
    assert masks(session)["w"] == "system.mask_default()"
    session.execute("ALTER TABLE t ALTER v DROP MASKED")
    assert masks(session) == {"p": None, "v": None, "w": "system.mask_default()"}
    session.execute("INSERT INTO t (p, v, w) VALUES (1, 'seen', 7)")
    assert session.execute("SELECT v, w, mask_inner(v, 1, 1), mask_null(w) FROM t").all() == [("seen", 7, "s**n", None)]
