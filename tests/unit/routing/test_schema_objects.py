"""Keyspaces, tables and views that a program holds stay as they were read; the mappings of them follow changes."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._routing.schema import SchemaTarget
from cassandra.metadata import KeyspaceMetadata, Metadata
from tests.fakes.schema import recorded
from tests.patience import PATIENCE

Rows = dict[str, Any]
EVERYTHING = SchemaTarget.everything()
SIMPLE = SchemaTarget.of_table("rich", "simple")
KEYS = {"tables": "table_name", "views": "view_name", "keyspaces": "keyspace_name", "types": "type_name"}


def read(rows: Rows) -> Metadata:
    metadata = Metadata()
    metadata.apply_schema(EVERYTHING, rows)
    return metadata


@pytest.fixture
def rows() -> Rows:
    return {name: list(found) for name, found in recorded("5_0").items()}


@pytest.fixture
def metadata(rows: Rows) -> Metadata:
    return read(rows)


def only(rows: Rows, target: SchemaTarget) -> Rows:
    """The answer to the queries for one table or view."""
    names = ("table_name", "view_name")
    return {
        part: [
            row
            for row in found
            if row.get("keyspace_name") == target.keyspace and target.name in [row.get(name) for name in names]
        ]
        for part, found in rows.items()
    }


def changed(rows: Rows, part: str, name: str, **change: Any) -> Rows:
    return {**rows, part: [row if row[KEYS[part]] != name else {**row, **change} for row in rows[part]]}


def with_column(rows: Rows, table: str, column: str) -> Rows:
    made = next(row for row in rows["columns"] if row["table_name"] == table and row["kind"] == "regular")
    return {**rows, "columns": [*rows["columns"], {**made, "column_name": column}]}


def without(rows: Rows, part: str, name: str) -> Rows:
    return {**rows, part: [row for row in rows[part] if row[KEYS[part]] != name]}


def test_an_altered_table_is_another_object(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    tables, table = keyspace.tables, keyspace.tables["simple"]
    before = table.export_as_string()
    after = changed(with_column(rows, "simple", "fresh"), "tables", "simple", comment="altered")
    metadata.apply_schema(SIMPLE, only(after, SIMPLE))
    altered = keyspace.tables["simple"]
    assert keyspace is metadata.keyspaces["rich"] and tables is keyspace.tables and altered is not table
    assert "fresh" in altered.columns and altered.options["comment"] == "altered"
    assert "fresh int" in altered.as_cql_query() or "fresh text" in altered.as_cql_query()
    assert table.export_as_string() == before and "fresh" not in table.columns
    for known in (table, altered):
        assert all(column.table is known for column in known.columns.values())
        assert all(column is known.columns[column.name] for column in known.primary_key)


@pytest.mark.parametrize("target", [SIMPLE, EVERYTHING], ids=["alone", "everything"])
def test_a_table_that_was_created_again(metadata: Metadata, rows: Rows, target: SchemaTarget) -> None:
    """Though no refresh saw that it was dropped in between."""
    table = metadata.keyspaces["rich"].tables["simple"]
    before = table.export_as_string()
    views = dict(table.views)
    after = changed(with_column(rows, "simple", "fresh"), "tables", "simple", id="another")
    after["views"] = [row for row in after["views"] if row["base_table_name"] != "simple"]
    metadata.apply_schema(target, only(after, target) if target is SIMPLE else after)
    found = metadata.keyspaces["rich"].tables["simple"]
    assert found is not table and "fresh" in found.columns
    assert table.export_as_string() == before and table.views == views


def test_created_and_dropped_objects_are_seen_in_held_keyspaces(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    table, view, base = keyspace.tables["simple"], keyspace.views["by_value"], keyspace.tables["Select"]
    before = table.export_as_string()
    metadata.apply_schema(SIMPLE._replace(dropped=True), {})
    assert "simple" not in keyspace.tables and table.export_as_string() == before
    by_value = SchemaTarget.of_table("rich", "by_value")
    metadata.apply_schema(by_value._replace(dropped=True), {})
    assert "by_value" not in keyspace.views and base.views == {}
    metadata.apply_schema(by_value, only(rows, by_value))
    assert keyspace.tables["Select"] is base and base.views["by_value"] is keyspace.views["by_value"] is not view
    assert metadata.keyspaces["rich"] is keyspace
    metadata.apply_schema(SchemaTarget("TYPE", "rich", "address", dropped=True), {})
    assert "address" not in keyspace.user_types and "street" in keyspace.user_types


def test_an_altered_view_is_another_object(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    view, base = keyspace.views["by_value"], keyspace.tables["Select"]
    before, going = view.export_as_string(), iter(base.views.values())
    target = SchemaTarget.of_table("rich", "by_value")
    metadata.apply_schema(target, only(changed(rows, "views", "by_value", comment="altered"), target))
    altered = keyspace.views["by_value"]
    assert altered is not view and base is keyspace.tables["Select"] and base.views["by_value"] is altered
    assert altered.options["comment"] == "altered" and altered.columns["v"].table is altered
    assert view.export_as_string() == before and view.columns["v"].table is view and next(going) is view
    assert "altered" in base.export_as_string()


@pytest.mark.parametrize("is_parsed", [True, False], ids=["looked at", "not looked at"])
def test_an_altered_keyspace_is_another_object_with_the_same_contents(
    metadata: Metadata, rows: Rows, is_parsed: bool
) -> None:
    keyspace = metadata.keyspaces["rich"]
    if is_parsed:
        assert keyspace.tables
    durable, replication = keyspace.durable_writes, keyspace.replication_strategy
    row = next(row for row in rows["keyspaces"] if row["keyspace_name"] == "rich")
    for _ in range(3):
        metadata.apply_schema(SchemaTarget.of_keyspace("rich"), {"keyspaces": [{**row, "durable_writes": False}]})
    altered = metadata.keyspaces["rich"]
    assert altered is not keyspace and altered != keyspace and not altered.durable_writes
    assert (keyspace.durable_writes, keyspace.replication_strategy) == (durable, replication)
    for part in ("tables", "indexes", "user_types", "functions", "aggregates", "views"):
        assert getattr(altered, part) is getattr(keyspace, part) and getattr(altered, part)
    assert altered.tables["simple"].indexes["by_name"] is altered.indexes["by_name"]


def test_a_dropped_keyspace_stays_as_it_was(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    text = keyspace.export_as_string()
    metadata.apply_schema(SchemaTarget("KEYSPACE", "rich", dropped=True), {})
    metadata.apply_schema(EVERYTHING, changed(rows, "keyspaces", "rich", durable_writes=False))
    assert metadata.keyspaces["rich"] is not keyspace
    assert keyspace.export_as_string() == text and keyspace.durable_writes


def test_everything_read_again_is_new(metadata: Metadata, rows: Rows) -> None:
    keyspaces = metadata.keyspaces
    before = dict(keyspaces)
    rich = before["rich"]
    tables, text = dict(rich.tables), {name: keyspace.export_as_string() for name, keyspace in before.items()}
    metadata.apply_schema(EVERYTHING, with_column(rows, "simple", "fresh"))
    assert metadata.keyspaces is not keyspaces and keyspaces == before
    assert all(metadata.keyspaces[name] is not keyspace for name, keyspace in before.items())
    assert {name: keyspace.export_as_string() for name, keyspace in before.items()} == text
    assert rich.tables == tables and "fresh" not in rich.tables["simple"].columns
    fresh = metadata.keyspaces["rich"]
    assert all(fresh.tables[view.base_table_name].views[name] is view for name, view in fresh.views.items())
    assert all(index is fresh.tables[index.table_name].indexes[name] for name, index in fresh.indexes.items())
    assert "fresh" in fresh.tables["simple"].columns


def test_former_objects_are_freed_without_references(metadata: Metadata, rows: Rows) -> None:
    former: list[weakref.ref[Any]] = []
    for target, found in [(EVERYTHING, rows), (SIMPLE, only(rows, SIMPLE)), (SchemaTarget.of_keyspace("rich"), rows)]:
        for _ in range(5):
            keyspace = metadata.keyspaces["rich"]
            former.append(weakref.ref(keyspace.tables["simple"] if target is SIMPLE else keyspace))
            del keyspace
            metadata.apply_schema(target, found)
    gc.collect()
    assert [one() for one in former] == [None] * 15


def test_contents_of_one_keyspace_read_again(metadata: Metadata, rows: Rows) -> None:
    keyspaces, rich = metadata.keyspaces, metadata.keyspaces["rich"]
    table = rich.tables["simple"]
    target = SchemaTarget.of_keyspace("rich", contents=True)
    after = with_column(rows, "simple", "fresh")
    own = {part: [row for row in found if row.get("keyspace_name") == "rich"] for part, found in after.items()}
    metadata.apply_schema(target, own)
    assert metadata.keyspaces is keyspaces and keyspaces["rich"] is not rich
    assert rich.tables["simple"] is table and "fresh" not in table.columns
    assert "fresh" in keyspaces["rich"].tables["simple"].columns


def test_copies_follow_nothing(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    table = keyspace.tables["simple"]
    copies = [copy.copy(table), copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    copied = [copy.copy(keyspace), copy.deepcopy(keyspace), pickle.loads(pickle.dumps(keyspace))]
    metadata.apply_schema(SIMPLE, only(with_column(rows, "simple", "fresh"), SIMPLE))
    metadata.apply_schema(SchemaTarget("TYPE", "rich", "address", dropped=True), {})
    assert "fresh" in keyspace.tables["simple"].columns and "address" not in keyspace.user_types
    assert all("fresh" not in one.columns for one in copies)
    assert all("address" in one.user_types for one in copied)


def test_invalid_schema_rows_leave_held_objects_unchanged(metadata: Metadata, rows: Rows, caplog: Any) -> None:
    keyspace = metadata.keyspaces["rich"]
    table = keyspace.tables["simple"]
    before, others = table.export_as_string(), set(keyspace.tables) - {"simple"}
    nameless = {"keyspace_name": "rich", "table_name": "simple"}
    odd = [nameless if row.get("table_name") == "simple" else row for row in rows["columns"]]
    metadata.apply_schema(EVERYTHING, {**rows, "columns": odd})
    assert keyspace.tables["simple"] is table and table.export_as_string() == before
    fresh = metadata.keyspaces["rich"].tables
    assert set(fresh) == {*others, "simple"} and all(fresh[name].columns for name in others)
    incomplete = fresh["simple"]
    assert incomplete is fresh["simple"] and "by_name" in incomplete.indexes
    assert "is incomplete because of an error processing metadata.\nKeyError" in incomplete.export_as_string()
    assert caplog.text.count("rows of the schema tables are invalid: table rich.simple: KeyError") == 1
    metadata.apply_schema(EVERYTHING, rows)
    assert metadata.keyspaces["rich"].tables["simple"].export_as_string() == before


class Pausing(list[Any]):
    """Rows whose iteration blocks until it is told to go on."""

    def __init__(self, rows: Any) -> None:
        super().__init__(rows)
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[Any]:
        self.reached.set()
        assert self.go_on.wait(PATIENCE)
        return super().__iter__()


def test_first_access_to_tables_during_a_keyspace_change(rows: Rows) -> None:
    """The keyspace before the change and the one after it have the same tables."""
    pausing = Pausing(rows["tables"])
    metadata = read({**rows, "tables": pausing})
    keyspace: KeyspaceMetadata = metadata.keyspaces["rich"]
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.append(keyspace.tables["simple"]))
    reader.start()
    assert pausing.reached.wait(PATIENCE)
    metadata.apply_schema(SchemaTarget.of_keyspace("rich"), rows)
    pausing.go_on.set()
    reader.join(PATIENCE)
    assert found[0] is keyspace.tables["simple"] is metadata.keyspaces["rich"].tables["simple"]


def test_readers_see_tables_of_one_moment(metadata: Metadata, rows: Rows) -> None:
    """Threads read and print while a table is altered to and fro: each text is of one moment."""
    keyspace = metadata.keyspaces["rich"]
    plain = only(rows, SIMPLE)
    altered = only(changed(with_column(rows, "simple", "fresh"), "tables", "simple", comment="altered"), SIMPLE)
    texts = {keyspace.tables["simple"].export_as_string()}
    metadata.apply_schema(SIMPLE, altered)
    texts.add(keyspace.tables["simple"].export_as_string())
    strange: list[Any] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            table = keyspace.tables["simple"]
            text = table.export_as_string()
            if text not in texts or any(column.table is not table for column in table.columns.values()):
                strange.append(text)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(300):
        metadata.apply_schema(SIMPLE, altered if turn % 2 else plain)
    over.set()
    for reader in readers:
        reader.join(PATIENCE)
    assert len(texts) == 2 and not strange
