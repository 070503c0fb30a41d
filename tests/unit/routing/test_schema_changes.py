"""Changes of the schema: read alone they give what everything read again gives."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._routing.schema import SchemaTarget, schema_queries
from cassandra.metadata import (
    Metadata,
    SimpleStrategy,
)
from tests.fakes.schema import recorded
from tests.unit.routing.schemas import TRAITS, Rows, answer, read


@pytest.fixture(params=["5_0", "4_1"])
def rows(request: pytest.FixtureRequest) -> Rows:
    """What a real server's schema tables have."""
    return recorded(request.param)


@pytest.fixture
def metadata(rows: Rows) -> Metadata:
    return read(rows)


# --------------------------------------------------------------------------------------------- changes


def replaced(rows: Rows, part: str, name: str, change: dict[str, Any] | None) -> Rows:
    """*rows* with the row called *name* of *part* changed, or without it."""
    key = {"columns": "column_name", "keyspaces": "keyspace_name", "indexes": "table_name"}.get(part)
    key = key or f"{part[:-1]}_name"
    changed = [row if row[key] != name else {**row, **(change or {})} for row in rows[part]]
    return {**rows, part: [row for row in changed if change is not None or row[key] != name]}


def assert_same(left: Metadata, right: Metadata) -> None:
    assert left.keyspaces.keys() == right.keyspaces.keys()
    for name, keyspace in left.keyspaces.items():
        other = right.keyspaces[name]
        assert keyspace.export_as_string() == other.export_as_string()
        assert sorted(keyspace.indexes) == sorted(other.indexes)
        assert sorted(keyspace.views) == sorted(other.views)
        for table in keyspace.tables.values():
            assert all(column.table is table for column in table.columns.values())
            assert all(column is table.columns[column.name] for column in table.primary_key)
            assert all(keyspace.views[view] is found for view, found in table.views.items())
            assert all(keyspace.indexes[index] is found for index, found in table.indexes.items())


@pytest.mark.parametrize(
    ("part", "name", "change", "target"),
    [
        ("tables", "simple", {"comment": "new"}, SchemaTarget.of_table("rich", "simple")),
        ("tables", "simple", None, SchemaTarget.of_table("rich", "simple")),
        ("tables", "keys_only", None, SchemaTarget.of_table("rich", "keys_only")),
        ("columns", "v_ascii", {"type": "text"}, SchemaTarget.of_table("rich", "everything")),
        ("columns", "v_ascii", None, SchemaTarget.of_table("rich", "everything")),
        ("indexes", "everything", None, SchemaTarget.of_table("rich", "everything")),
        ("views", "by_value", {"comment": "new"}, SchemaTarget.of_table("rich", "by_value")),
        ("views", "by_value", None, SchemaTarget.of_table("rich", "by_value")),
        ("types", "street", {"field_names": ["title", "numbers"]}, SchemaTarget.of_type("rich", "street")),
        ("types", "address", None, SchemaTarget.of_type("rich", "address")),
        ("functions", "add_up", {"body": "return 1;"}, SchemaTarget("FUNCTION", "rich", "add_up", ("int", "int"))),
        ("functions", "add_up", None, SchemaTarget("FUNCTION", "rich", "add_up", ("int", "int"))),
        ("aggregates", "total", {"initcond": "11"}, SchemaTarget("AGGREGATE", "rich", "total", ("int",))),
        ("aggregates", "total", None, SchemaTarget("AGGREGATE", "rich", "total", ("int",))),
        ("keyspaces", "QuotedKs", {"durable_writes": True}, SchemaTarget.of_keyspace("QuotedKs")),
        ("keyspaces", "QuotedKs", None, SchemaTarget.of_keyspace("QuotedKs")),
    ],
)
def test_a_change_read_alone_is_the_same_as_everything_read_again(
    rows: Rows, part: str, name: str, change: dict[str, Any] | None, target: SchemaTarget
) -> None:
    after = replaced(rows, part, name, change)
    if part == "tables" and change is None:  # what belongs to the table goes with it
        for other in ("columns", "indexes", "views", "dropped_columns"):
            after[other] = [
                row for row in after[other] if name not in (row.get("table_name"), row.get("base_table_name"))
            ]
    metadata = read(rows)
    before = {ks: keyspace.export_as_string() for ks, keyspace in metadata.keyspaces.items()}
    held = dict(metadata.keyspaces)
    if part == "tables" and name == "simple" and change is None:  # the server drops its view first
        metadata.apply_schema(SchemaTarget("TABLE", "rich", "SomeColumns", dropped=True), {})
    metadata.apply_schema(target, answer(after, target))
    assert_same(metadata, read(after))
    assert {ks: keyspace.export_as_string() for ks, keyspace in metadata.keyspaces.items()} != before
    altered = {name for name, keyspace in metadata.keyspaces.items() if held[name] is not keyspace}
    assert altered == ({target.keyspace} if part == "keyspaces" and change is not None else set())


@pytest.mark.parametrize(
    "target",
    [
        SchemaTarget("TABLE", "rich", "keys_only"),
        SchemaTarget("TABLE", "rich", "by_value"),
        SchemaTarget("TYPE", "rich", "address"),
        SchemaTarget("FUNCTION", "rich", "Half", ("int",)),
        SchemaTarget("AGGREGATE", "rich", "total", ("int",)),
        SchemaTarget("KEYSPACE", "QuotedKs"),
        SchemaTarget("KEYSPACE", "missed"),
        SchemaTarget("TABLE", "missed", "t"),
        SchemaTarget("TYPE", "missed", "t"),
    ],
)
def test_a_drop_needs_no_rows(rows: Rows, target: SchemaTarget) -> None:
    dropped, read_again = read(rows), read(rows)
    dropped.apply_schema(target._replace(dropped=True), {})
    read_again.apply_schema(target, {query.name: [] for query in schema_queries(target, TRAITS)})
    assert_same(dropped, read_again)
    assert "Half(double)" in dropped.keyspaces["rich"].functions


def test_a_new_table_view_and_keyspace(rows: Rows) -> None:
    without = {
        part: [row for row in found if row.get("table_name") != "keys_only" and row.get("view_name") != "by_value"]
        for part, found in rows.items()
    }
    metadata = read(without)
    assert metadata.keyspaces["rich"].tables["Select"].views == {}
    for name in ("keys_only", "by_value"):
        target = SchemaTarget.of_table("rich", name)
        metadata.apply_schema(target, answer(rows, target))
    keyspace = metadata.keyspaces["rich"]
    assert "keys_only" in keyspace.tables
    assert list(keyspace.tables["Select"].views) == ["by_value"]
    metadata = read({**rows, "keyspaces": [row for row in rows["keyspaces"] if row["keyspace_name"] != "rich"]})
    assert "rich" not in metadata.keyspaces
    target = SchemaTarget.of_keyspace("rich", contents=True)
    metadata.apply_schema(target, answer(rows, target))
    assert metadata.keyspaces["rich"].export_as_string() == keyspace.export_as_string()
    target = SchemaTarget.of_keyspace("fresh")
    metadata.apply_schema(target, {"keyspaces": [{**rows["keyspaces"][0], "keyspace_name": "fresh"}]})
    assert metadata.keyspaces["fresh"].tables == {}


def test_untouched_tables_are_shared(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    before = {name: table.columns for name, table in keyspace.tables.items()}
    target = SchemaTarget.of_table("rich", "simple")
    metadata.apply_schema(target, answer(rows, target))
    assert metadata.keyspaces["rich"] is keyspace
    assert keyspace.tables["simple"].columns is not before["simple"]
    assert all(keyspace.tables[name].columns is columns for name, columns in before.items() if name != "simple")
    assert metadata.keyspaces["QuotedKs"].tables is metadata.keyspaces["QuotedKs"].tables


def test_replication_changes_reach_routing(rows: Rows) -> None:
    metadata = read(rows)
    target = SchemaTarget.of_keyspace("rich")
    row = {
        "keyspace_name": "rich",
        "durable_writes": True,
        "replication": {"class": "SimpleStrategy", "replication_factor": "3"},
    }
    metadata.apply_schema(target, {"keyspaces": [row]})
    assert metadata.keyspaces["rich"].replication_strategy == SimpleStrategy({"replication_factor": 3})
    assert "everything" in metadata.keyspaces["rich"].tables
