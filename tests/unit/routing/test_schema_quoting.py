"""Hostile names, options and bodies of a schema: none leaves the quotes or the comment that it is printed in."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cassandra._routing.schema.ddl import mask_cql
from cassandra.metadata import (
    Aggregate,
    ColumnMetadata,
    Function,
    IndexMetadata,
    KeyspaceMetadata,
    TableMetadata,
    TriggerMetadata,
    UserType,
    is_valid_name,
    protect_name,
)

EVIL = "x\"'; DROP TABLE t; --"
NAME = '"x""\'; DROP TABLE t; --"'
TEXT = "'x\"''; DROP TABLE t; --'"


def table(name: str = "t", keyspace: str = "ks", **options: Any) -> TableMetadata:
    made = TableMetadata(keyspace, name, options=options)
    column = ColumnMetadata(made, "p", "int")
    made.columns["p"] = column
    made.partition_key.append(column)
    return made


def test_names() -> None:
    made = table(EVIL, EVIL)
    made.columns[EVIL] = ColumnMetadata(made, EVIL, "text")
    assert made.as_cql_query().startswith(f"CREATE TABLE {NAME}.{NAME} (p int PRIMARY KEY, {NAME} text)")
    assert UserType(EVIL, EVIL, [EVIL], ["int"]).as_cql_query() == f"CREATE TYPE {NAME}.{NAME} ({NAME} int)"
    index = IndexMetadata(EVIL, EVIL, EVIL, "CUSTOM", {"target": "p", "class_name": EVIL, EVIL: EVIL})
    assert index.as_cql_query() == (
        f"CREATE CUSTOM INDEX {NAME} ON {NAME}.{NAME} (p) USING {TEXT} WITH OPTIONS = {{{TEXT}: {TEXT}}}"
    )
    trigger = TriggerMetadata(made, EVIL, {"class": EVIL})
    assert trigger.as_cql_query() == f"CREATE TRIGGER {NAME} ON {NAME}.{NAME} USING {TEXT}"
    aggregate = Aggregate(EVIL, EVIL, ["int"], EVIL, "int", EVIL, None, "int", False)
    assert f"CREATE AGGREGATE {NAME}.{NAME}(int) SFUNC {NAME} STYPE int FINALFUNC {NAME}" in aggregate.as_cql_query()


def test_options() -> None:
    text = table(comment=EVIL, **{EVIL: EVIL}, caching={EVIL: EVIL}).as_cql_query()
    assert f"comment = {TEXT}" in text and f"{NAME} = {TEXT}" in text and f"caching = {{{TEXT}: {TEXT}}}" in text


def test_keyspaces() -> None:
    made = KeyspaceMetadata(EVIL, True, "NetworkTopologyStrategy", {EVIL: "3"})
    assert made.as_cql_query().startswith(f"CREATE KEYSPACE {NAME} WITH replication = {{")
    assert f"{TEXT}: '3'" in made.as_cql_query()


@pytest.mark.parametrize(
    ("body", "literal"),
    [
        ("return 1;", "$$return 1;$$"),
        ("a $$; DROP TABLE t; $$", "'a $$; DROP TABLE t; $$'"),
        ("ends with $", "'ends with $'"),
        ("it's $$", "'it''s $$'"),
    ],
)
def test_bodies(body: str, literal: str) -> None:
    made = Function("ks", "f", ["int"], ["a"], "int", "java", body, True, False, False, [])
    assert made.as_cql_query().endswith(f"LANGUAGE java AS {literal}")


def test_languages_are_words() -> None:
    made = Function(EVIL, EVIL, ["int"], [EVIL], "int", EVIL, "1", True, False, False, [])
    assert made.as_cql_query().endswith(f"LANGUAGE {NAME} AS $$1$$")
    assert made.as_cql_query().startswith(f"CREATE FUNCTION {NAME}.{NAME}({NAME} int)")


def test_comments_end_where_they_end() -> None:
    keyspace = KeyspaceMetadata("*/ DROP TABLE t; /*\nDROP", True, None, None)
    keyspace.virtual = True
    inside = table("*/ DROP TABLE t; /*", keyspace.name, comment="*/ DROP TABLE t; /*")
    inside.virtual = True
    keyspace.tables[inside.name] = inside
    text = keyspace.export_as_string()
    assert "DROP" not in re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    assert "DROP" not in keyspace.as_cql_query().partition("\n")[2], "a comment of one line"
    assert "*/" not in inside.export_as_string()[:-2]


@pytest.mark.parametrize(
    ("cql_type", "value", "literal"),
    [
        ("int", "-1", "-1"),
        ("double", "1.0E10", "1.0E10"),
        ("uuid", "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
        ("text", EVIL, TEXT),
        ("int", "0); DROP TABLE t; --", "'0); DROP TABLE t; --'"),
        ("boolean", "true, " + EVIL, f"'true, {TEXT[1:]}"),
    ],
)
def test_masks(cql_type: str, value: str, literal: str) -> None:
    row = {
        "function_keyspace": "system",
        "function_name": EVIL,
        "function_argument_types": [cql_type],
        "function_argument_values": [value],
        "function_argument_nulls": [False],
    }
    assert mask_cql(row) == f"system.{NAME}({literal})"


@pytest.mark.parametrize("word", ["columns", "node", "rows", "cluster", "plan", "search", "config", "method"])
def test_words_that_only_dse_reserves(word: str) -> None:
    """Servers describe them without quotes; elsewhere the driver quotes them, as scylla-driver does."""
    made = table(word, word)
    made.columns[word] = ColumnMetadata(made, word, "text")
    assert made.as_cql_query().startswith(f"CREATE TABLE {word}.{word} (p int PRIMARY KEY, {word} text)")
    assert IndexMetadata(word, word, word, "COMPOSITES", {"target": "p"}).as_cql_query() == (
        f"CREATE INDEX {word} ON {word}.{word} (p)"
    )
    assert UserType(word, word, [word], ["int"]).as_cql_query() == f"CREATE TYPE {word}.{word} ({word} int)"
    assert KeyspaceMetadata(word, True, "LocalStrategy", {}).as_cql_query().startswith(f"CREATE KEYSPACE {word} ")
    assert protect_name(word) == f'"{word}"' and not is_valid_name(word)


@pytest.mark.parametrize("word", ["select", "table", "token", "unset", "mbean", "scylla_clustering_bound", "Columns"])
def test_words_that_servers_reserve(word: str) -> None:
    assert table(word).as_cql_query().startswith(f'CREATE TABLE ks."{word}" (')
