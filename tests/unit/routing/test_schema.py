"""The schema: the queries that read it, and the parsing of real servers' rows."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries
from cassandra.metadata import (
    LocalStrategy,
    Metadata,
    NetworkTopologyStrategy,
    SimpleStrategy,
    TableMetadataV3,
    TriggerMetadata,
)
from tests.fakes.schema import recorded
from tests.unit.routing.schemas import TRAITS, Rows, answer, read, scylla_rows


@pytest.fixture(params=["5_0", "4_1"])
def rows(request: pytest.FixtureRequest) -> Rows:
    """The rows of a real server's schema tables."""
    return recorded(request.param)


@pytest.fixture
def metadata(rows: Rows) -> Metadata:
    return read(rows)


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
    found = [query.cql.partition(" FROM system_schema.")[::2] for query in schema_queries(target, TRAITS)]
    assert [query for _, query in found] == queries
    needed = "keyspace_name, table_name, column_name, clustering_order, kind, position, type"
    assert {columns for columns, query in found if query.startswith("columns ")} <= {f"SELECT {needed}"}
    assert {columns for columns, query in found if not query.startswith("columns ")} == {"SELECT *"}
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
    table = metadata.keyspaces["rich"].tables["simple"]
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
        columns = metadata.keyspaces["rich"].tables["simple"].columns
        assert columns["name"].mask == f"system.mask_replace({literal})" and columns["id"].mask is None


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
