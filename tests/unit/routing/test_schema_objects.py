"""Keyspaces, tables and views that a program holds follow what is read later, until they are dropped."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
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


def test_an_altered_table_is_the_same_object(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    tables, table = keyspace.tables, keyspace.tables["simple"]
    columns, options = table.columns, table.options
    after = changed(with_column(rows, "simple", "fresh"), "tables", "simple", comment="altered")
    metadata.apply_schema(SIMPLE, only(after, SIMPLE))
    assert keyspace is metadata.keyspaces["rich"] and keyspace.tables["simple"] is table
    assert "fresh" in table.columns and table.options["comment"] == "altered"
    assert "fresh int" in table.as_cql_query() or "fresh text" in table.as_cql_query()
    assert all(column.table is table for column in table.columns.values())
    assert all(column is table.columns[column.name] for column in table.primary_key)
    assert "fresh" not in columns and options["comment"] != "altered"  # who goes through them is not disturbed
    assert tables is keyspace.tables


@pytest.mark.parametrize("target", [SIMPLE, EVERYTHING], ids=["alone", "everything"])
def test_a_table_that_was_created_again_is_another_one(metadata: Metadata, rows: Rows, target: SchemaTarget) -> None:
    """Though nobody saw that it was dropped in between."""
    keyspace = metadata.keyspaces["rich"]
    table, other = keyspace.tables["simple"], keyspace.tables["everything"]
    before = table.export_as_string()
    after = changed(with_column(rows, "simple", "fresh"), "tables", "simple", id="another")
    metadata.apply_schema(target, only(after, target) if target is SIMPLE else after)
    assert keyspace.tables["simple"] is not table and "fresh" in keyspace.tables["simple"].columns
    assert table.export_as_string() == before
    assert keyspace.tables["everything"] is other


def test_what_is_created_and_dropped_is_seen(metadata: Metadata, rows: Rows) -> None:
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
    metadata.apply_schema(SchemaTarget("TYPE", "rich", "address", dropped=True), {})
    assert "address" not in keyspace.user_types and "street" in keyspace.user_types


def test_an_altered_view_is_the_same_object(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    view, base = keyspace.views["by_value"], keyspace.tables["Select"]
    target = SchemaTarget.of_table("rich", "by_value")
    metadata.apply_schema(target, only(changed(rows, "views", "by_value", comment="altered"), target))
    assert keyspace.views["by_value"] is base.views["by_value"] is view
    assert view.options["comment"] == "altered" and view.columns["v"].table is view
    assert "altered" in base.export_as_string()


def test_a_dropped_keyspace_stays_as_it_was(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    text = keyspace.export_as_string()
    metadata.apply_schema(SchemaTarget("KEYSPACE", "rich", dropped=True), {})
    metadata.apply_schema(EVERYTHING, changed(rows, "keyspaces", "rich", durable_writes=False))
    assert metadata.keyspaces["rich"] is not keyspace
    assert keyspace.export_as_string() == text and keyspace.durable_writes


def test_everything_read_again_changes_no_identity(metadata: Metadata, rows: Rows) -> None:
    keyspaces = dict(metadata.keyspaces)
    rich = keyspaces["rich"]
    tables, views = dict(rich.tables), dict(rich.views)
    text = {name: keyspace.export_as_string() for name, keyspace in keyspaces.items()}
    metadata.apply_schema(EVERYTHING, rows)
    assert all(metadata.keyspaces[name] is keyspace for name, keyspace in keyspaces.items())
    assert {name: keyspace.export_as_string() for name, keyspace in metadata.keyspaces.items()} == text
    assert all(rich.tables[name] is table for name, table in tables.items())
    assert all(rich.views[name] is view for name, view in views.items())
    assert all(rich.tables[view.base_table_name].views[name] is view for name, view in views.items())
    assert all(index is rich.tables[index.table_name].indexes[name] for name, index in rich.indexes.items())


def test_everything_read_again_reaches_what_is_held(metadata: Metadata, rows: Rows) -> None:
    rich, table = metadata.keyspaces["rich"], metadata.keyspaces["rich"].tables["simple"]
    quoted = metadata.keyspaces["QuotedKs"]
    after = changed(with_column(rows, "simple", "fresh"), "keyspaces", "QuotedKs", durable_writes=True)
    metadata.apply_schema(EVERYTHING, without(after, "types", "address"))
    assert rich.tables["simple"] is table and "fresh" in table.columns and "address" not in rich.user_types
    assert quoted.durable_writes and quoted is metadata.keyspaces["QuotedKs"]


def test_what_was_read_again_is_there_after_a_collection(metadata: Metadata, rows: Rows) -> None:
    """Nobody has looked at it in between."""
    keyspace = metadata.keyspaces["rich"]
    for _ in range(20):
        metadata.apply_schema(EVERYTHING, rows)
        gc.collect()
    table = keyspace.tables["simple"]
    for _ in range(20):
        metadata.apply_schema(SIMPLE, only(rows, SIMPLE))
        gc.collect()
        assert next(iter(table.columns.values())).table is table
    assert keyspace.tables["simple"] is table


def test_contents_of_one_keyspace_read_again(metadata: Metadata, rows: Rows) -> None:
    rich, table = metadata.keyspaces["rich"], metadata.keyspaces["rich"].tables["simple"]
    target = SchemaTarget.of_keyspace("rich", contents=True)
    after = with_column(rows, "simple", "fresh")
    own = {part: [row for row in found if row.get("keyspace_name") == "rich"] for part, found in after.items()}
    metadata.apply_schema(target, own)
    assert metadata.keyspaces["rich"] is rich and rich.tables["simple"] is table and "fresh" in table.columns


def test_copies_follow_nothing(metadata: Metadata, rows: Rows) -> None:
    keyspace = metadata.keyspaces["rich"]
    table = keyspace.tables["simple"]
    copies = [copy.copy(table), copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    copied = [copy.copy(keyspace), copy.deepcopy(keyspace), pickle.loads(pickle.dumps(keyspace))]
    metadata.apply_schema(EVERYTHING, without(with_column(rows, "simple", "fresh"), "types", "address"))
    assert "fresh" in table.columns
    assert all("fresh" not in one.columns for one in copies)
    assert all("address" in one.user_types for one in copied)


def test_what_cannot_be_understood_leaves_what_is_held(metadata: Metadata, rows: Rows, caplog: Any) -> None:
    keyspace = metadata.keyspaces["rich"]
    table = keyspace.tables["simple"]
    before, others = table.export_as_string(), set(keyspace.tables) - {"simple"}
    nameless = {"keyspace_name": "rich", "table_name": "simple"}
    odd = [nameless if row.get("table_name") == "simple" else row for row in rows["columns"]]
    metadata.apply_schema(EVERYTHING, {**rows, "columns": odd})
    assert table.export_as_string() == before
    assert "left out: table rich.simple" in caplog.text
    assert set(keyspace.tables) == others
    metadata.apply_schema(EVERYTHING, rows)
    assert keyspace.tables["simple"].export_as_string() == before


class Pausing(list[Any]):
    """Rows that somebody goes through who stops in between, until told."""

    def __init__(self, rows: Any) -> None:
        super().__init__(rows)
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[Any]:
        self.reached.set()
        assert self.go_on.wait(PATIENCE)
        return super().__iter__()


def test_who_is_first_to_look_gets_no_table_that_was_replaced_meanwhile(rows: Rows) -> None:
    pausing = Pausing(rows["types"])
    metadata = read({**rows, "types": pausing})
    keyspace: KeyspaceMetadata = metadata.keyspaces["rich"]
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.append(keyspace.tables["simple"]))
    reader.start()
    assert pausing.reached.wait(PATIENCE)
    metadata.apply_schema(EVERYTHING, with_column(rows, "simple", "fresh"))
    pausing.go_on.set()
    reader.join(PATIENCE)
    assert found[0] is keyspace.tables["simple"] and "fresh" in found[0].columns
    metadata.apply_schema(EVERYTHING, with_column(rows, "simple", "later"))
    assert "later" in found[0].columns


def test_readers_see_tables_of_one_moment(metadata: Metadata, rows: Rows) -> None:
    """Threads read and print while a table is altered to and fro: each text is of one moment."""
    keyspace = metadata.keyspaces["rich"]
    table = keyspace.tables["simple"]
    plain = only(rows, SIMPLE)
    altered = only(changed(with_column(rows, "simple", "fresh"), "tables", "simple", comment="altered"), SIMPLE)
    texts = {table.export_as_string()}
    metadata.apply_schema(SIMPLE, altered)
    texts.add(table.export_as_string())
    strange: list[Any] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            text = keyspace.tables["simple"].export_as_string()
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
