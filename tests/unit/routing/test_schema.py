"""The schema: which queries read it, what real servers' rows mean, how changes are applied, and how it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

import cassandra.metadata
from cassandra import UnsupportedOperation, UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries
from cassandra.metadata import (
    KeyspaceMetadata,
    LocalStrategy,
    Metadata,
    NetworkTopologyStrategy,
    RegisteredTableExtension,
    SimpleStrategy,
    TableMetadata,
    TableMetadataV3,
    TriggerMetadata,
)
from tests.fakes.schema import recorded

Rows = dict[str, list[dict[str, Any]]]
TRAITS = ServerTraits.of("5.0.6")


@pytest.fixture(params=["5_0", "4_1"])
def rows(request: pytest.FixtureRequest) -> Rows:
    """What a real server's schema tables have."""
    return recorded(request.param)


@pytest.fixture
def metadata(rows: Rows) -> Metadata:
    return read(rows)


def read(rows: Mapping[str, Any]) -> Metadata:
    metadata = Metadata()
    metadata.apply_schema(SchemaTarget.everything(), rows)
    return metadata


def answer(rows: Rows, target: SchemaTarget) -> Rows:
    """The rows that a server would give for *target*: its queries run on *rows*."""
    found = {}
    for query in schema_queries(target, TRAITS):
        where = query.cql.partition(" WHERE ")[2]
        conditions = [condition.split(" = ", 1) for condition in where.split(" AND ")] if where else []
        found[query.name] = [
            row
            for row in rows.get(query.name, [])
            if all(literal(row[column]) == value for column, value in conditions)
        ]
    return found


def literal(value: Any) -> str:
    return "[" + ", ".join(literal(item) for item in value) + "]" if isinstance(value, list) else f"'{value}'"


# --------------------------------------------------------------------------------------------- queries


def test_everything_is_read_by_one_set_of_queries() -> None:
    names = [query.name for query in schema_queries(SchemaTarget.everything(), ServerTraits.of("3.11.2"))]
    assert names == [
        *("keyspaces", "tables", "columns", "indexes", "triggers", "dropped_columns"),
        *("views", "types", "functions", "aggregates"),
    ]
    more = [query.name for query in schema_queries(SchemaTarget.everything(), TRAITS)]
    assert more == [*names, "column_masks", "virtual_keyspaces", "virtual_tables", "virtual_columns"]
    before_masks = [query.name for query in schema_queries(SchemaTarget.everything(), ServerTraits.of("4.1.10"))]
    assert before_masks == [name for name in more if name != "column_masks"]
    assert all("WHERE" not in query.cql for query in schema_queries(SchemaTarget.everything(), TRAITS))


@pytest.mark.parametrize(
    ("version", "scylla", "virtual"),
    [
        *(("4.0-beta2", False, True), ("5.0.6", False, True), ("10.1", False, True), ("3.11.9", False, False)),
        *(("3.0.8", True, False), ("5.4.0", True, False), (None, False, False), ("", False, False)),
        ("x", False, False),
    ],
)
def test_virtual_tables_are_asked_for_where_they_are(version: str | None, scylla: bool, virtual: bool) -> None:
    assert ServerTraits.of(version, scylla).virtual_schema is virtual


@pytest.mark.parametrize(
    ("target", "queries"),
    [
        (SchemaTarget.of_keyspace("ks"), ["keyspaces WHERE keyspace_name = 'ks'"]),
        (
            SchemaTarget.of_table("ks", "t"),
            [
                *(
                    f"{part} WHERE keyspace_name = 'ks' AND table_name = 't'"
                    for part in ("tables", "columns", "indexes", "triggers", "dropped_columns", "column_masks")
                ),
                "views WHERE keyspace_name = 'ks' AND view_name = 't'",
            ],
        ),
        (SchemaTarget.of_type("ks", "o'clock"), ["types WHERE keyspace_name = 'ks' AND type_name = 'o''clock'"]),
        (
            SchemaTarget.of_function("ks", UserFunctionDescriptor("f", ["int", "list<text>"])),
            ["functions WHERE keyspace_name = 'ks' AND function_name = 'f' AND argument_types = ['int', 'list<text>']"],
        ),
        (
            SchemaTarget.of_aggregate("ks", UserAggregateDescriptor("a", [])),
            ["aggregates WHERE keyspace_name = 'ks' AND aggregate_name = 'a' AND argument_types = []"],
        ),
    ],
)
def test_a_change_is_read_by_a_minimal_set(target: SchemaTarget, queries: list[str]) -> None:
    prefix = "SELECT * FROM system_schema."
    assert [query.cql for query in schema_queries(target, TRAITS)] == [prefix + query for query in queries]
    assert schema_queries(target._replace(dropped=True), TRAITS) == ()


def test_strongly_consistent_keyspaces() -> None:
    """Whether there are leaders is read where the server may have them, and follows a change."""
    traits = ServerTraits.of("3.0.8", True, True)
    targets = (
        SchemaTarget.everything(),
        SchemaTarget.of_keyspace("ks"),
        SchemaTarget.of_keyspace("ks", contents=True),
    )
    for target in targets:
        queries = {query.name: query for query in schema_queries(target, traits)}
        assert queries["scylla_keyspaces"].optional
        without = schema_queries(target, ServerTraits.of("3.0.8", True))
        assert [query.name for query in without] == [name for name in queries if name != "scylla_keyspaces"]

    def rows(consistency: str | None) -> Any:
        replication = {"class": "NetworkTopologyStrategy", "dc1": "3"}
        own = [{"keyspace_name": name, "durable_writes": True, "replication": replication} for name in ("ks", "other")]
        more = [{"keyspace_name": "ks", "consistency": consistency}]
        return {"keyspaces": own, "scylla_keyspaces": more}

    metadata = Metadata()
    for target in targets:
        for consistency, expected in (("global", True), ("eventual", False), ("local", True), (None, False)):
            metadata.apply_schema(target, rows(consistency))
            assert metadata.state.has_leaders("ks") is expected
            assert not metadata.state.has_leaders("other")
            assert not metadata.state.has_leaders("unknown")
    metadata.apply_schema(SchemaTarget.of_keyspace("ks"), {"keyspaces": rows(None)["keyspaces"][:1]})
    assert not metadata.state.has_leaders("ks")


def test_a_keyspace_can_be_read_with_its_contents() -> None:
    queries = schema_queries(SchemaTarget.of_keyspace("ks", contents=True), TRAITS)
    assert len(queries) == 11
    assert all(query.cql.endswith(" WHERE keyspace_name = 'ks'") for query in queries)


@pytest.mark.parametrize(
    ("event", "target"),
    [
        ({"target_type": "KEYSPACE", "keyspace": "ks"}, SchemaTarget.of_keyspace("ks")),
        ({"target_type": "TABLE", "keyspace": "ks", "table": "t"}, SchemaTarget.of_table("ks", "t")),
        ({"target_type": "TYPE", "keyspace": "ks", "type": "t"}, SchemaTarget.of_type("ks", "t")),
        (
            {"target_type": "FUNCTION", "keyspace": "ks", "function": UserFunctionDescriptor("f", ["int"])},
            SchemaTarget("FUNCTION", "ks", "f", ("int",)),
        ),
        (
            {"target_type": "AGGREGATE", "keyspace": "ks", "aggregate": UserAggregateDescriptor("a", ["int"])},
            SchemaTarget("AGGREGATE", "ks", "a", ("int",)),
        ),
        ({"target_type": "ROLE", "keyspace": "ks", "role": "x"}, SchemaTarget.everything()),
        ({"target_type": "TABLE", "keyspace": "ks"}, SchemaTarget.everything()),
        ({}, SchemaTarget.everything()),
    ],
)
def test_events(event: dict[str, Any], target: SchemaTarget) -> None:
    assert SchemaTarget.from_event({**event, "change_type": "UPDATED"}) == target
    dropped = SchemaTarget.from_event({**event, "change_type": "DROPPED"})
    assert dropped == (target._replace(dropped=True) if target.keyspace else target)


def test_an_unknown_keyspace_is_read_whole(metadata: Metadata) -> None:
    event = {"target_type": "TABLE", "change_type": "CREATED", "keyspace": "rich", "table": "t"}
    assert metadata.schema_target(event) == SchemaTarget.of_table("rich", "t")
    event["keyspace"] = "missed"
    assert metadata.schema_target(event) == SchemaTarget.of_keyspace("missed", contents=True)
    event["change_type"] = "DROPPED"
    assert metadata.schema_target(event).dropped


# --------------------------------------------------------------------------------------------- parsing


def test_keyspaces(metadata: Metadata) -> None:
    assert list(metadata.keyspaces) == ["system", "QuotedKs", "rich", "system_virtual_schema"]
    rich, quoted = metadata.keyspaces["rich"], metadata.keyspaces["QuotedKs"]
    assert rich.replication_strategy == NetworkTopologyStrategy({"datacenter1": 1})
    assert quoted.replication_strategy == SimpleStrategy({"replication_factor": 2})
    assert metadata.keyspaces["system"].replication_strategy == LocalStrategy({})
    assert (rich.durable_writes, quoted.durable_writes) == (True, False)
    assert rich.virtual is rich.is_graph_enabled is False
    assert rich.graph_engine is None


def test_columns(metadata: Metadata) -> None:
    table = metadata.keyspaces["rich"].tables["everything"]
    assert isinstance(table, TableMetadataV3)
    assert [column.name for column in table.partition_key] == ["p1", "p2"]
    assert [column.name for column in table.clustering_key] == ["c1", "c2", "C3"]
    assert [column.name for column in table.primary_key] == ["p1", "p2", "c1", "c2", "C3"]
    assert list(table.columns)[:7] == ["p1", "p2", "c1", "c2", "C3", "S2", "s1"]
    assert list(table.columns)[5:] == sorted(list(table.columns)[5:])
    assert [name for name, column in table.columns.items() if column.is_static] == ["S2", "s1"]
    assert [name for name, column in table.columns.items() if column.is_reversed] == ["c1", "C3"]
    assert all(column.table is table for column in table.columns.values())
    types = {name: column.cql_type for name, column in table.columns.items()}
    assert types["c1"] == "timeuuid"
    assert types["S2"] == "frozen<list<int>>"
    assert types["v_frozen"] == "frozen<map<text, frozen<list<frozen<set<int>>>>>>"
    assert types["v_udts"] == 'map<int, frozen<"Quoted Type">>'
    assert types["v_udt"] == "address"
    assert str(table.columns["v_list"]) == "v_list list<text>"


def test_options(metadata: Metadata) -> None:
    table = metadata.keyspaces["rich"].tables["everything"]
    assert table.options["comment"] == "it's everything"
    assert table.options["default_time_to_live"] == 3600
    assert table.options["caching"] == {"keys": "ALL", "rows_per_partition": "10"}
    assert table.options["compaction"]["sstable_size_in_mb"] == "80"
    assert table.options["read_repair"] == "BLOCKING"
    assert table.options["speculative_retry"] == "95p"
    assert not {"read_repair_chance", "dclocal_read_repair_chance", "memtable", "id", "flags"} & set(table.options)
    assert table.options["cdc"] is None and "cdc" not in table.as_cql_query()
    assert table.extensions == {}
    assert table.is_cql_compatible
    assert not table.virtual


def test_masks_of_columns(rows: Rows) -> None:
    """Rows are as Cassandra 5.0 writes them."""

    def mask(column: str, name: str, *arguments: tuple[str, str | None], keyspace: str = "system") -> dict[str, Any]:
        types, values = [one[0] for one in arguments], [one[1] or "" for one in arguments]
        return {
            "keyspace_name": "rich", "table_name": "simple", "column_name": column,
            "function_keyspace": keyspace, "function_name": name, "function_argument_types": types,
            "function_argument_values": values, "function_argument_nulls": [one[1] is None for one in arguments],
        }  # fmt: skip

    target = SchemaTarget.of_table("rich", "simple")
    masks = [
        mask("id", "mask_inner", ("int", "1"), ("int", None), ("text", "it's")),
        mask("name", "Own", keyspace="rich"),
    ]
    metadata = read(rows)
    table = metadata.keyspaces["rich"].tables["simple"]
    assert {column.mask for column in table.columns.values()} == {None} and "MASKED" not in table.as_cql_query()
    metadata.apply_schema(target, {**answer(rows, target), "column_masks": [*masks, mask("gone", "mask_null")]})
    assert table.as_cql_query().startswith(
        "CREATE TABLE rich.simple (id int MASKED WITH system.mask_inner(1, null, 'it''s') PRIMARY KEY,"
        ' name text MASKED WITH rich."Own"()) WITH '
    )
    for cql_type, value, literal in (
        ("timestamp", "2024-01-01T00:00:00.000Z", "'2024-01-01T00:00:00.000Z'"),
        ("blob", "ff00", "0xff00"),
        ("uuid", "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
        ("list<text>", "0000000200000001610000000162", "['a', 'b']"),
        ("frozen<tuple<int, text>>", "000000040000000100000001" + b"x".hex(), "(1, 'x')"),
        ("frozen<address>", "00000001", "00000001"),
        ("bigint", "-7", "-7"),
    ):
        again = {**rows, "column_masks": [mask("name", "mask_replace", (cql_type, value))]}
        metadata.apply_schema(SchemaTarget.everything(), again)
        assert table.columns["name"].mask == f"system.mask_replace({literal})" and table.columns["id"].mask is None


def test_special_tables(metadata: Metadata) -> None:
    tables = metadata.keyspaces["rich"].tables
    assert {column.cql_type for column in tables["counters"].columns.values()} == {"uuid", "counter"}
    assert list(tables["Select"].columns) == ["from", "To", "v"]
    dropped = tables["simple"].dropped_columns
    assert {name: column.cql_type for name, column in dropped.items()} == {"gone": "int", "Gone Too": "list<text>"}
    assert list(tables["simple"].columns) == ["id", "name"]
    assert tables["keys_only"].dropped_columns == {}


def test_compact_tables_are_shown_as_cql_shows_them(metadata: Metadata) -> None:
    tables = metadata.keyspaces["rich"].tables
    compact = {name: list(table.columns) for name, table in tables.items() if table.is_compact_storage}
    assert compact == {
        "compact_static": ["id", "a", "b"],
        "compact_dense": ["id", "c", "v"],
        "compact_bare": ["id", "c"],
    }
    assert [column.name for column in tables["compact_static"].primary_key] == ["id"]
    assert not any(column.is_static for column in tables["compact_static"].columns.values())


def test_vectors() -> None:
    table = read(recorded("5_0")).keyspaces["rich"].tables["vectors"]
    assert table.columns["embedding"].cql_type == "vector<float, 3>"
    assert table.columns["words"].cql_type == "vector<text, 2>"
    assert table.columns["nested"].cql_type == "list<vector<frozen<list<int>>, 2>>"
    index = table.indexes["by_embedding"]
    assert (index.kind, index.index_options["class_name"]) == ("CUSTOM", "StorageAttachedIndex")


def test_indexes(metadata: Metadata) -> None:
    keyspace = metadata.keyspaces["rich"]
    index = keyspace.indexes["ByKeys"]
    assert keyspace.tables["everything"].indexes["ByKeys"] is index
    assert (index.keyspace_name, index.table_name, index.name, index.kind) == (
        *("rich", "everything", "ByKeys", "COMPOSITES"),
    )
    assert index.index_options == {"target": "keys(v_map)"}
    assert list(keyspace.tables["simple"].indexes) == ["by_name"]


def test_views(metadata: Metadata) -> None:
    keyspace = metadata.keyspaces["rich"]
    view = keyspace.views["by_value"]
    assert keyspace.tables["Select"].views == {"by_value": view}
    assert (view.keyspace_name, view.name, view.base_table_name) == ("rich", "by_value", "Select")
    assert view.include_all_columns
    assert view.where_clause == 'v IS NOT NULL AND "from" IS NOT NULL AND "To" IS NOT NULL'
    assert [column.name for column in view.partition_key] == ["v"]
    assert [(column.name, column.is_reversed) for column in view.clustering_key] == [("To", True), ("from", False)]
    assert list(view.columns) == ["v", "To", "from"]
    assert view.options["comment"] == "a view"
    assert all(column.table is view for column in view.columns.values())
    assert not keyspace.views["SomeColumns"].include_all_columns
    assert "by_value" not in keyspace.tables


def test_types_functions_and_aggregates(metadata: Metadata) -> None:
    keyspace = metadata.keyspaces["rich"]
    assert list(keyspace.user_types) == ["Quoted Type", "address", "street"]
    address = keyspace.user_types["address"]
    assert (address.keyspace, address.name) == ("rich", "address")
    assert address.field_names == ["street", "tags", "extra"]
    assert address.field_types[2] == 'frozen<tuple<int, frozen<"Quoted Type">>>'
    assert list(keyspace.functions) == ["Half(double)", "Half(int)", "add_up(int,int)", "first_of(list<int>,address)"]
    function = keyspace.functions["add_up(int,int)"]
    assert function.signature == "add_up(int,int)"
    assert (function.argument_names, function.argument_types) == (["state", "value"], ["int", "int"])
    assert (function.return_type, function.language, function.called_on_null_input) == ("int", "java", True)
    assert function.body == "return value == null ? state : state + value;"
    assert (function.deterministic, function.monotonic, function.monotonic_on) == (False, False, [])
    assert list(keyspace.aggregates) == ["Half Total(int)", "total(int)"]
    total, half = keyspace.aggregates["total(int)"], keyspace.aggregates["Half Total(int)"]
    assert (total.state_func, total.state_type, total.initial_condition) == ("add_up", "int", "10")
    assert (total.final_func, half.final_func, half.initial_condition) == (None, "Half", None)
    assert half.return_type == "int"


def test_virtual_keyspaces(metadata: Metadata) -> None:
    keyspace = metadata.keyspaces["system_virtual_schema"]
    assert keyspace.virtual
    assert keyspace.replication_strategy is None
    table = keyspace.tables["columns"]
    assert table.virtual
    assert [column.name for column in table.primary_key] == ["keyspace_name", "table_name", "column_name"]
    assert table.options == {"comment": "virtual column definitions"}
    assert metadata.get_replicas("system_virtual_schema", b"x") == []


SCYLLA_TABLE = {
    "keyspace_name": "ks",
    "table_name": "t",
    "bloom_filter_fp_chance": 0.01,
    "caching": {"keys": "ALL", "rows_per_partition": "ALL"},
    "comment": "",
    "compaction": {"class": "IncrementalCompactionStrategy"},
    "compression": {"sstable_compression": "org.apache.cassandra.io.compress.LZ4Compressor"},
    "crc_check_chance": 1.0,
    "dclocal_read_repair_chance": 0.0,
    "default_time_to_live": 0,
    "extensions": {"cdc": b"\x01", "scylla_encryption_options": b"\x02"},
    "flags": ["compound"],
    "gc_grace_seconds": 864000,
    "id": None,
    "max_index_interval": 2048,
    "memtable_flush_period_in_ms": 0,
    "min_index_interval": 128,
    "read_repair_chance": 0.0,
    "speculative_retry": "99.0PERCENTILE",
    "something_new": object(),
}


def scylla_rows() -> Rows:
    column = {"keyspace_name": "ks", "table_name": "t", "clustering_order": "none", "column_name_bytes": b""}
    return {
        "keyspaces": [
            {
                "keyspace_name": "ks",
                "durable_writes": True,
                "replication": {"class": "org.apache.cassandra.locator.EverywhereStrategy"},
            }
        ],
        "tables": [SCYLLA_TABLE],
        "columns": [
            {**column, "column_name": "pk", "kind": "partition_key", "position": 0, "type": "int", "mask": None},
            {**column, "column_name": "v", "kind": "regular", "position": -1, "type": "frozen<map<int, int>>"},
        ],
    }


def test_scylla() -> None:
    table = read(scylla_rows()).keyspaces["ks"].tables["t"]
    assert table.extensions == {"cdc": b"\x01", "scylla_encryption_options": b"\x02"}
    assert table.options["read_repair_chance"] == 0.0
    assert "something_new" not in table.options
    assert list(table.columns) == ["pk", "v"]
    assert "read_repair_chance = 0.0" in table.as_cql_query()


def test_triggers() -> None:
    rows = scylla_rows()
    rows["triggers"] = [
        {"keyspace_name": "ks", "table_name": "t", "trigger_name": "Tr", "options": {"class": "org.example.It's"}}
    ]
    table = read(rows).keyspaces["ks"].tables["t"]
    trigger = table.triggers["Tr"]
    assert isinstance(trigger, TriggerMetadata)
    assert (trigger.table, trigger.name, trigger.options) == (table, "Tr", {"class": "org.example.It's"})
    assert trigger.export_as_string() == """CREATE TRIGGER "Tr" ON ks.t USING 'org.example.It''s';"""
    assert trigger.as_cql_query() in table.export_as_string()


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
    assert all(held[name] is keyspace for name, keyspace in metadata.keyspaces.items())


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


# --------------------------------------------------------------------------------------------- printing


def test_tables_print_themselves(metadata: Metadata) -> None:
    tables = metadata.keyspaces["rich"].tables
    one_line = tables["counters"].as_cql_query()
    assert one_line.startswith(
        'CREATE TABLE rich.counters (id uuid PRIMARY KEY, "Misses" counter, hits counter)'
        " WITH additional_write_policy = '99p' AND bloom_filter_fp_chance = 0.01 AND caching = {'keys': 'ALL',"
    )
    assert "\n" not in one_line
    formatted = tables["everything"].as_cql_query(formatted=True)
    assert formatted.startswith("CREATE TABLE rich.everything (\n    p1 int,\n    p2 text,\n    c1 timeuuid,\n")
    assert (
        '    PRIMARY KEY ((p1, p2), c1, c2, "C3")\n) WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC, "C3" DESC)\n    AND '
        in formatted
    )
    assert "comment = 'it''s everything'" in formatted
    assert "\n    s1 text static,\n" in formatted
    assert (
        tables["compact_static"]
        .as_cql_query()
        .startswith(
            "CREATE TABLE rich.compact_static (id int PRIMARY KEY, a text, b int) WITH COMPACT STORAGE AND additional"
        )
    )
    exported = tables["everything"].export_as_string()
    assert exported.count("CREATE INDEX") >= 3
    assert 'CREATE INDEX "ByKeys" ON rich.everything (keys(v_map));' in exported


def test_other_things_print_themselves(metadata: Metadata) -> None:
    keyspace = metadata.keyspaces["rich"]
    assert metadata.keyspaces["QuotedKs"].as_cql_query() == (
        "CREATE KEYSPACE \"QuotedKs\" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '2'}"
        "  AND durable_writes = false"
    )
    assert keyspace.user_types["Quoted Type"].as_cql_query() == (
        'CREATE TYPE rich."Quoted Type" ("First" int, home frozen<street>)'
    )
    assert keyspace.functions["Half(int)"].as_cql_query() == (
        'CREATE FUNCTION rich."Half"(val int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java'
        " AS $$return val / 2;$$"
    )
    assert keyspace.aggregates["Half Total(int)"].export_as_string() == (
        'CREATE AGGREGATE rich."Half Total"(int)\n    SFUNC add_up\n    STYPE int\n    FINALFUNC "Half";'
    )
    view = keyspace.views["SomeColumns"]
    assert view.as_cql_query().startswith(
        'CREATE MATERIALIZED VIEW rich."SomeColumns" AS SELECT id, name FROM rich.simple'
        " WHERE name IS NOT NULL AND id > 3 PRIMARY KEY (id, name) WITH CLUSTERING ORDER BY (name ASC) AND "
    )


def test_types_are_exported_after_those_they_use(metadata: Metadata) -> None:
    strings = metadata.keyspaces["rich"].user_type_strings()
    assert [string.split()[2] for string in strings] == ["rich.street", 'rich."Quoted', "rich.address"]


def test_virtual_things_are_exported_as_comments(metadata: Metadata) -> None:
    for text in (
        metadata.keyspaces["system_virtual_schema"].export_as_string(),
        metadata.keyspaces["system_virtual_schema"].tables["columns"].export_as_string(),
    ):
        assert text.startswith("/*\nWarning: ")
        assert text.rstrip().endswith("*/")
        statements = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        assert re.sub("//.*", "", statements).strip() == ""
        assert 'VIRTUAL TABLE system_virtual_schema."columns" (' in text


def test_the_whole_schema_is_exported(metadata: Metadata) -> None:
    text = metadata.export_schema_as_string()
    assert all(keyspace.export_as_string() in text for keyspace in metadata.keyspaces.values())


def test_functions_of_other_servers() -> None:
    keyspace = KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": "1"})
    rows = {
        "functions": [
            {
                "keyspace_name": "ks",
                "function_name": "f",
                "argument_types": ['frozen<list<frozen<"T">>>', "int"],
                "argument_names": ["a", "b"],
                "body": "return '$$';",
                "called_on_null_input": False,
                "language": "lua",
                "return_type": "frozen<map<int, frozen<'x.Y'>>>",
                "deterministic": True,
                "monotonic": True,
                "monotonic_on": ["a"],
            }
        ]
    }
    metadata = Metadata()
    metadata._publish(keyspaces={"ks": keyspace})
    signature = 'f(frozen<list<frozen<"T">>>,int)'
    metadata.apply_schema(SchemaTarget("FUNCTION", "ks", "f", ('frozen<list<frozen<"T">>>', "int")), rows)
    assert metadata.keyspaces["ks"].functions[signature].as_cql_query() == (
        "CREATE FUNCTION ks.f(a list<\"T\">, b int) RETURNS NULL ON NULL INPUT RETURNS map<int, 'x.Y'>"
        " DETERMINISTIC MONOTONIC LANGUAGE lua AS 'return ''$$'';'"
    )


def test_extensions_print_what_they_add() -> None:
    class Cdc(RegisteredTableExtension):
        name = "cdc"

        @classmethod
        def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str:
            return f"-- {table_meta.name} {ext_key} {ext_blob.hex()}"

    assert read(scylla_rows()).keyspaces["ks"].tables["t"].export_as_string().endswith(";\n\n-- t cdc 01")


def test_tables_can_be_made_by_hand() -> None:
    table = TableMetadata("ks", "t")
    assert (table.partition_key, table.clustering_key, table.columns, table.options) == ([], [], {}, {})
    assert (table.indexes, table.triggers, table.views, table.virtual) == ({}, {}, {}, False)
    assert table.is_cql_compatible
    assert table.comparator is None


def test_dse_names_say_that_they_are_not_included() -> None:
    for name in ("EdgeMetadata", "VertexMetadata", "TableMetadataDSE68"):
        with pytest.raises(UnsupportedOperation, match=f"{name} is for metadata of DSE"):
            getattr(cassandra.metadata, name)()
