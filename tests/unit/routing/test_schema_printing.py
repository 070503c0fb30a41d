"""The schema as CQL that creates it again."""

from __future__ import annotations

import re
from typing import Any

import pytest

import cassandra.metadata
from cassandra import UnsupportedOperation
from cassandra._routing.schema import SchemaTarget
from cassandra.metadata import (
    KeyspaceMetadata,
    Metadata,
    RegisteredTableExtension,
    TableMetadata,
)
from tests.fakes.schema import recorded
from tests.unit.routing.schemas import Rows, read, scylla_rows


@pytest.fixture(params=["5_0", "4_1"])
def rows(request: pytest.FixtureRequest) -> Rows:
    """The rows of a real server's schema tables."""
    return recorded(request.param)


@pytest.fixture
def metadata(rows: Rows) -> Metadata:
    return read(rows)


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
        assert "VIRTUAL TABLE system_virtual_schema.columns (" in text


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


def test_registered_extensions_add_their_cql_to_the_export() -> None:
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
    for name in ("SchemaParserDSE60", "SchemaParserDSE67", "SchemaParserDSE68"):
        with pytest.raises(UnsupportedOperation, match=f"{name} is for metadata of DSE"):
            getattr(cassandra.metadata, name)()
