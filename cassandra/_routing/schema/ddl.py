"""The schema model as CQL (L4). Text only; values are escaped exactly once, and nothing is omitted silently.

Programs compare and split these texts, so each is identical to the output of scylla-driver, including blanks
(``tests/compat/programs/ddl.py``). It differs only where that output is not valid CQL: quotes within values, ``$$``
within bodies, frozen types that functions return.

Masks of columns are made of the rows of ``system_schema.column_masks``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from traceback import format_exception
from typing import Any

from cassandra._base.names import map_literal, name_as_described, protect_value

from .cqltype import parse_cql_type
from .model import (
    Aggregate,
    ColumnMetadata,
    Function,
    IndexMetadata,
    KeyspaceMetadata,
    MaterializedViewMetadata,
    TableMetadata,
    TriggerMetadata,
    UserType,
    extension_cql,
)

_TYPE_MARK = r"""\bfrozen<|"(?:[^"]|"")*"|'(?:[^']|'')*'|."""  # compiled on first use
#: Literals without quotes: numbers, UUIDs, booleans and durations; the hexadecimal digits of values with elements.
_BARE = re.compile(r"[-+.\w]*")
_QUOTED = frozenset(("ascii", "date", "inet", "text", "time", "timestamp", "varchar"))


# ---- statements that create an item


def create_keyspace(keyspace: KeyspaceMetadata) -> str:
    name = name_as_described(keyspace.name)
    if keyspace.virtual:
        return f"// VIRTUAL KEYSPACE {_in_one_line(name)}"
    strategy = keyspace.replication_strategy
    replication = strategy.export_for_schema() if strategy is not None else "{}"
    durable = str(bool(keyspace.durable_writes)).lower()
    text = f"CREATE KEYSPACE {name} WITH replication = {replication}  AND durable_writes = {durable}"
    return (
        text if keyspace.graph_engine is None else f"{text} AND graph_engine = {protect_value(keyspace.graph_engine)}"
    )


def export_keyspace(keyspace: KeyspaceMetadata) -> str:
    parts = [keyspace.as_cql_query() + ";", *keyspace.user_type_strings()]
    parts += (function.export_as_string() for function in keyspace.functions.values())
    parts += (aggregate.export_as_string() for aggregate in keyspace.aggregates.values())
    parts += (table.export_as_string() for table in keyspace.tables.values())
    text = "\n\n".join(parts)
    if not keyspace.virtual:
        return text
    return (
        f"/*\nWarning: Keyspace {_in_comment(keyspace.name)} is a virtual keyspace and cannot be recreated with CQL.\n"
        f"Structure, for reference:*/\n{text}\n"
    )


def create_table(table: TableMetadata, formatted: bool) -> str:
    kind = "VIRTUAL TABLE" if table.virtual else "CREATE TABLE"
    single = len(table.partition_key) == 1 and not table.clustering_key
    definitions = []
    for column in table.columns.values():
        definition = f"{name_as_described(column.name)} {column.cql_type}"
        if column.is_static:
            definition += " static"
        if column.mask:
            definition += f" MASKED WITH {column.mask}"
        if single and column.name == table.partition_key[0].name:
            definition += " PRIMARY KEY"
        definitions.append(definition)
    if not single and table.primary_key:
        definitions.append(f"PRIMARY KEY ({_primary_key(table)})")
    head = f"{kind} {_qualified_name(table)} {_block(definitions, formatted)}"
    return head + _with_clause(_properties(table), formatted)


def export_table(table: TableMetadata) -> str:
    parts = [table.as_cql_query(formatted=True) + ";"]
    parts += (f"\n{index.as_cql_query()};" for index in table.indexes.values())
    parts += (f"\n{trigger.as_cql_query()};" for trigger in table.triggers.values())
    parts += (f"\n\n{view.as_cql_query(formatted=True)};" for view in table.views.values())
    text = "".join(parts) + _extension_statements(table)
    name = _in_comment(f"{table.keyspace_name}.{table.name}")
    if table._exc_info:
        error = _in_comment("".join(format_exception(*table._exc_info)))
        return (
            f"/*\nWarning: Table {name} is incomplete because of an error processing metadata.\n{error}"
            "\nApproximate structure, for reference:\n(this should not be used to reproduce this schema)"
            f"\n\n{_in_comment(text)}\n*/"
        )
    if not table.is_cql_compatible:
        return (
            f"/*\nWarning: Table {name} omitted because it has constructs not compatible with CQL (was created via "
            "legacy API).\n\nApproximate structure, for reference:\n(this should not be used to reproduce this schema)"
            f"\n\n{_in_comment(text)}\n*/"
        )
    if table.virtual:
        return (
            f"/*\nWarning: Table {name} is a virtual table and cannot be recreated with CQL.\n"
            f"Structure, for reference:\n{_in_comment(text)}\n*/"
        )
    return text


def create_view(view: MaterializedViewMetadata, formatted: bool) -> str:
    separator = "\n    " if formatted else " "
    selected = "*" if view.include_all_columns else ", ".join(name_as_described(name) for name in view.columns)
    clauses = [
        f"CREATE MATERIALIZED VIEW {_qualified_name(view)} AS",
        f"SELECT {selected}",
        f"FROM {name_as_described(view.keyspace_name)}.{name_as_described(view.base_table_name)}",
        f"WHERE {view.where_clause}",
        f"PRIMARY KEY ({_primary_key(view)})",
    ]
    return separator.join(clauses) + _with_clause(_properties(view), formatted, separator) + _extension_statements(view)


def create_index(index: IndexMetadata) -> str:
    options = dict(index.index_options)
    target = options.pop("target", "")
    table = f"{name_as_described(index.keyspace_name)}.{name_as_described(index.table_name)}"
    if index.kind != "CUSTOM":
        return f"CREATE INDEX {name_as_described(index.name)} ON {table} ({target})"
    implementation = options.pop("class_name", "")
    name = name_as_described(index.name)
    query = f"CREATE CUSTOM INDEX {name} ON {table} ({target}) USING {protect_value(implementation)}"
    return f"{query} WITH OPTIONS = {map_literal(options)}" if options else query


def create_trigger(trigger: TriggerMetadata) -> str:
    implementation = (trigger.options or {}).get("class", "")
    return (
        f"CREATE TRIGGER {name_as_described(trigger.name)} ON {_qualified_name(trigger.table)} "
        f"USING {protect_value(implementation)}"
    )


def create_type(user_type: UserType, formatted: bool) -> str:
    fields = [
        f"{name_as_described(name)} {cql_type}"
        for name, cql_type in zip(user_type.field_names, user_type.field_types, strict=True)
    ]
    name = f"{name_as_described(user_type.keyspace)}.{name_as_described(user_type.name)}"
    return f"CREATE TYPE {name} {_block(fields, formatted)}"


def create_function(function: Function, formatted: bool) -> str:
    arguments = ", ".join(
        f"{name_as_described(name)} {_without_frozen(cql_type)}"
        for name, cql_type in zip(function.argument_names, function.argument_types, strict=True)
    )
    language = function.language  # quoted only if not an identifier: "java" is reserved, but needs no quotes here
    language = language if language.isidentifier() else name_as_described(language)
    clauses = [
        f"CREATE FUNCTION {name_as_described(function.keyspace)}.{name_as_described(function.name)}({arguments})",
        "CALLED ON NULL INPUT" if function.called_on_null_input else "RETURNS NULL ON NULL INPUT",
        f"RETURNS {_without_frozen(function.return_type)}",
        *(["DETERMINISTIC"] if function.deterministic else []),
        *_monotonic(function),
        f"LANGUAGE {language}",
        f"AS {_body_literal(function.body)}",
    ]
    return ("\n    " if formatted else " ").join(clauses)


def create_aggregate(aggregate: Aggregate, formatted: bool) -> str:
    arguments = ", ".join(_without_frozen(cql_type) for cql_type in aggregate.argument_types)
    clauses = [
        f"CREATE AGGREGATE {name_as_described(aggregate.keyspace)}.{name_as_described(aggregate.name)}({arguments})",
        f"SFUNC {name_as_described(aggregate.state_func)}",
        f"STYPE {_without_frozen(aggregate.state_type)}",
    ]
    if aggregate.final_func:
        clauses.append(f"FINALFUNC {name_as_described(aggregate.final_func)}")
    if aggregate.initial_condition is not None:
        clauses.append(f"INITCOND {aggregate.initial_condition}")
    if aggregate.deterministic:
        clauses.append("DETERMINISTIC")
    return ("\n    " if formatted else " ").join(clauses)


# ---- parts of statements


def _in_comment(text: str) -> str:
    """Return *text* for use within a comment, which it must not end."""
    return text.replace("*/", "* /")


def _in_one_line(text: str) -> str:
    """Return *text* for use within a one-line comment."""
    return " ".join(text.splitlines())


def _qualified_name(table: TableMetadata | MaterializedViewMetadata) -> str:
    return f"{name_as_described(table.keyspace_name)}.{name_as_described(table.name)}"


def _block(lines: list[str], formatted: bool) -> str:
    if formatted:
        return "(\n" + ",\n".join(f"    {line}" for line in lines) + "\n)"
    return "(" + ", ".join(lines) + ")"


def _names(columns: Iterable[ColumnMetadata]) -> str:
    return ", ".join(name_as_described(column.name) for column in columns)


def _primary_key(table: TableMetadata | MaterializedViewMetadata) -> str:
    partition = _names(table.partition_key)
    if len(table.partition_key) > 1:
        partition = f"({partition})"
    return f"{partition}, {_names(table.clustering_key)}" if table.clustering_key else partition


def _properties(table: TableMetadata | MaterializedViewMetadata) -> list[str]:
    """Return the properties after WITH."""
    properties = ["COMPACT STORAGE"] if getattr(table, "is_compact_storage", False) else []
    return properties + clustering_order(table.clustering_key) + table._make_option_strings(table.options)


def clustering_order(columns: Iterable[ColumnMetadata]) -> list[str]:
    """Return the property for the clustering order, if there are clustering columns."""
    order = ", ".join(
        f"{name_as_described(column.name)} {'DESC' if column.is_reversed else 'ASC'}" for column in columns
    )
    return [f"CLUSTERING ORDER BY ({order})"] if order else []


def option_strings(options: Mapping[str, Any]) -> list[str]:
    """Return the options of a table, one property each."""
    return [
        f"{name_as_described(name)} = {map_literal(value) if isinstance(value, Mapping) else protect_value(value)}"
        for name, value in sorted(options.items())
        if value is not None
    ]


def legacy_option_strings(options: Mapping[str, Any], compaction_options: Iterable[str]) -> list[str]:
    """Return the options of a table of old servers, with maps as JSON and separate *compaction_options*."""
    own = dict(options)
    compaction = json.loads(own.pop("compaction_strategy_options", "{}"))
    compaction.setdefault("class", str(own.get("compaction_strategy_class")))
    for name in compaction_options:
        own.pop(name, None)
    own["compaction"] = own.get("compaction", compaction)
    own["compression"] = own.get("compression", json.loads(own.pop("compression_parameters", "{}")))
    return option_strings(own)


def _with_clause(properties: list[str], formatted: bool, before: str = " ") -> str:
    return f"{before}WITH " + ("\n    AND " if formatted else " AND ").join(properties)


def _extension_statements(table: TableMetadata | MaterializedViewMetadata) -> str:
    return "".join(f"\n\n{cql}" for cql in extension_cql(table))


def _monotonic(function: Function) -> list[str]:
    if function.monotonic:
        return ["MONOTONIC"]
    return [f"MONOTONIC ON {name_as_described(function.monotonic_on[0])}"] if function.monotonic_on else []


def _body_literal(body: str) -> str:
    return f"$${body}$$" if "$$" not in body and not body.endswith("$") else protect_value(body)


def _without_frozen(cql_type: str) -> str:
    """Return the type without ``frozen``, which is not allowed in signatures of functions."""
    thawed = ""
    is_frozen: list[bool] = []
    for mark in re.findall(_TYPE_MARK, cql_type):
        if mark in ("<", "frozen<"):
            is_frozen.append(mark == "frozen<")
        thaw = is_frozen.pop() if mark == ">" and is_frozen else mark == "frozen<"
        if not thaw:
            thawed += mark
    return thawed


# ---- masks of columns


def mask_cql(row: Mapping[str, Any]) -> str:
    """Return the function call that masks a column, such as ``system.mask_inner(1, null)``."""
    arguments = zip(
        row["function_argument_types"] or (),
        row["function_argument_values"] or (),
        row["function_argument_nulls"] or (),
        strict=True,
    )
    texts = ["null" if is_null else _literal(cql_type, value) for cql_type, value, is_null in arguments]
    return (
        f"{name_as_described(row['function_keyspace'])}.{name_as_described(row['function_name'])}({', '.join(texts)})"
    )


def _literal(cql_type: str, value: str) -> str:
    """Return the CQL literal of *value*, which is in the server's text form: values with elements are hexadecimal
    digits of their bytes. Values with user types stay in this form."""
    parsed = parse_cql_type(cql_type)
    if parsed.name in _QUOTED and parsed.kind == "native":
        return protect_value(value)
    if parsed.args and not any(part.kind == "user" for part in parsed.walk()):
        from cassandra._routing.partition_keys import codec_of
        from cassandra._wire.encoder import Encoder

        codec = codec_of(cql_type, KeyspaceMetadata("", True, None, None))
        encoder = Encoder()
        encoder.mapping[tuple] = encoder.cql_encode_tuple
        return str(encoder.cql_encode_all_types(codec.decode(bytes.fromhex(value), 4)))
    if parsed.name == "blob":
        return f"0x{value}"
    return value if _BARE.fullmatch(value) else protect_value(value)
