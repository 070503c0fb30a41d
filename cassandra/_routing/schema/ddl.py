"""The schema model as CQL (L4). Text only; nothing is escaped twice, nothing is left out silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.names import protect_name, protect_value

from .cqltype import CqlType, parse_cql_type
from .extensions import extension_cql

if TYPE_CHECKING:
    from .functions import Aggregate, Function, UserType
    from .keyspace import KeyspaceMetadata
    from .table import ColumnMetadata, IndexMetadata, MaterializedViewMetadata, TableMetadata, TriggerMetadata


def create_keyspace(keyspace: KeyspaceMetadata) -> str:
    name = protect_name(keyspace.name)
    if keyspace.virtual:
        return f"// VIRTUAL KEYSPACE {name}"
    strategy = keyspace.replication_strategy
    replication = strategy.export_for_schema() if strategy is not None else "{}"
    durable = str(bool(keyspace.durable_writes)).lower()
    return f"CREATE KEYSPACE {name} WITH replication = {replication} AND durable_writes = {durable};"


def export_keyspace(keyspace: KeyspaceMetadata) -> str:
    if keyspace.virtual:
        tables = [create_table(table, formatted=True) + ";" for table in keyspace.tables.values()]
        text = "\n\n".join([create_keyspace(keyspace), *tables])
        return _reference(f"Keyspace {keyspace.name} is a virtual keyspace", text)
    parts = [keyspace.as_cql_query(), *keyspace.user_type_strings()]
    parts += (function.export_as_string() for function in keyspace.functions.values())
    parts += (aggregate.export_as_string() for aggregate in keyspace.aggregates.values())
    parts += (table.export_as_string() for table in keyspace.tables.values())
    return "\n\n".join(parts)


def create_table(table: TableMetadata, formatted: bool) -> str:
    kind = "VIRTUAL TABLE" if table.virtual else "CREATE TABLE"
    single = len(table.primary_key) == 1
    definitions = []
    for column in table.columns.values():
        definition = f"{protect_name(column.name)} {column.cql_type}"
        if column.is_static:
            definition += " static"
        if single and column.name == table.primary_key[0].name:
            definition += " PRIMARY KEY"
        definitions.append(definition)
    if not single:
        definitions.append(f"PRIMARY KEY ({_primary_key(table)})")
    head = f"{kind} {_qualified(table)} {_block(definitions, formatted)}"
    return head + _with_clause(_properties(table), formatted)


def export_table(table: TableMetadata) -> str:
    if table.virtual:
        text = table.as_cql_query(formatted=True) + ";"
        return _reference(f"Table {table.keyspace_name}.{table.name} is a virtual table", text)
    parts = [table.as_cql_query(formatted=True) + ";"]
    parts += (index.export_as_string() for index in table.indexes.values())
    parts += (trigger.export_as_string() for trigger in table.triggers.values())
    parts += (view.export_as_string() for view in table.views.values())
    return "\n".join(parts + extension_cql(table))


def create_view(view: MaterializedViewMetadata, formatted: bool) -> str:
    separator = "\n    " if formatted else " "
    selected = "*" if view.include_all_columns else ", ".join(protect_name(name) for name in view.columns)
    clauses = [
        f"CREATE MATERIALIZED VIEW {_qualified(view)} AS",
        f"SELECT {selected}",
        f"FROM {protect_name(view.keyspace_name)}.{protect_name(view.base_table_name)}",
        f"WHERE {view.where_clause}",
        f"PRIMARY KEY ({_primary_key(view)})",
    ]
    return separator.join(clauses) + _with_clause(_properties(view), formatted)


def create_index(index: IndexMetadata) -> str:
    options = dict(index.index_options)
    target = options.pop("target", "")
    table = f"{protect_name(index.keyspace_name)}.{protect_name(index.table_name)}"
    if index.kind != "CUSTOM":
        return f"CREATE INDEX {protect_name(index.name)} ON {table} ({target})"
    implementation = options.pop("class_name", "")
    query = (
        f"CREATE CUSTOM INDEX {protect_name(index.name)} ON {table} ({target}) USING {protect_value(implementation)}"
    )
    return f"{query} WITH OPTIONS = {_map_literal(options)}" if options else query


def create_trigger(trigger: TriggerMetadata) -> str:
    implementation = (trigger.options or {}).get("class", "")
    return (
        f"CREATE TRIGGER {protect_name(trigger.name)} ON {_qualified(trigger.table)} "
        f"USING {protect_value(implementation)}"
    )


def create_type(user_type: UserType, formatted: bool) -> str:
    fields = [
        f"{protect_name(name)} {cql_type}"
        for name, cql_type in zip(user_type.field_names, user_type.field_types, strict=True)
    ]
    name = f"{protect_name(user_type.keyspace)}.{protect_name(user_type.name)}"
    return f"CREATE TYPE {name} {_block(fields, formatted)}"


def create_function(function: Function, formatted: bool) -> str:
    arguments = ", ".join(
        f"{protect_name(name)} {_thawed(cql_type)}"
        for name, cql_type in zip(function.argument_names, function.argument_types, strict=True)
    )
    clauses = [
        f"CREATE FUNCTION {protect_name(function.keyspace)}.{protect_name(function.name)}({arguments})",
        "CALLED ON NULL INPUT" if function.called_on_null_input else "RETURNS NULL ON NULL INPUT",
        f"RETURNS {_thawed(function.return_type)}",
        *(["DETERMINISTIC"] if function.deterministic else []),
        *_monotonic(function),
        f"LANGUAGE {function.language}",
        f"AS {_body_literal(function.body)}",
    ]
    return ("\n    " if formatted else " ").join(clauses)


def create_aggregate(aggregate: Aggregate, formatted: bool) -> str:
    arguments = ", ".join(_thawed(cql_type) for cql_type in aggregate.argument_types)
    clauses = [
        f"CREATE AGGREGATE {protect_name(aggregate.keyspace)}.{protect_name(aggregate.name)}({arguments})",
        f"SFUNC {protect_name(aggregate.state_func)}",
        f"STYPE {_thawed(aggregate.state_type)}",
    ]
    if aggregate.final_func is not None:
        clauses.append(f"FINALFUNC {protect_name(aggregate.final_func)}")
    if aggregate.initial_condition is not None:
        clauses.append(f"INITCOND {aggregate.initial_condition}")
    if aggregate.deterministic:
        clauses.append("DETERMINISTIC")
    return ("\n    " if formatted else " ").join(clauses)


def _qualified(table: TableMetadata | MaterializedViewMetadata) -> str:
    return f"{protect_name(table.keyspace_name)}.{protect_name(table.name)}"


def _block(lines: list[str], formatted: bool) -> str:
    if formatted:
        return "(\n    " + ",\n    ".join(lines) + "\n)"
    return "(" + ", ".join(lines) + ")"


def _names(columns: Iterable[ColumnMetadata]) -> str:
    return ", ".join(protect_name(column.name) for column in columns)


def _primary_key(table: TableMetadata | MaterializedViewMetadata) -> str:
    partition = _names(table.partition_key)
    if len(table.partition_key) > 1:
        partition = f"({partition})"
    return f"{partition}, {_names(table.clustering_key)}" if table.clustering_key else partition


def _properties(table: TableMetadata | MaterializedViewMetadata) -> list[str]:
    """What follows WITH, one property each."""
    properties = []
    if getattr(table, "virtual", False):
        return [f"comment = {protect_value(table.options['comment'])}"] if table.options.get("comment") else []
    if getattr(table, "is_compact_storage", False):
        properties.append("COMPACT STORAGE")
    if table.clustering_key:
        order = ", ".join(
            f"{protect_name(column.name)} {'DESC' if column.is_reversed else 'ASC'}" for column in table.clustering_key
        )
        properties.append(f"CLUSTERING ORDER BY ({order})")
    return properties + option_strings(table.options)


def option_strings(options: Mapping[str, Any]) -> list[str]:
    """The options of a table, one property each."""
    return [
        f"{name} = {_map_literal(value) if isinstance(value, Mapping) else protect_value(value)}"
        for name, value in sorted(options.items())
        if value is not None
    ]


def _with_clause(properties: list[str], formatted: bool) -> str:
    if not properties:
        return ""
    return " WITH " + ("\n    AND " if formatted else " AND ").join(properties)


def _map_literal(options: Mapping[str, Any]) -> str:
    pairs = (f"{protect_value(str(key))}: {protect_value(str(value))}" for key, value in options.items())
    return "{" + ", ".join(pairs) + "}"


def _monotonic(function: Function) -> list[str]:
    if not function.monotonic:
        return []
    on = ", ".join(protect_name(name) for name in function.monotonic_on)
    return [f"MONOTONIC ON {on}" if on else "MONOTONIC"]


def _body_literal(body: str) -> str:
    return f"$${body}$$" if "$$" not in body else protect_value(body)


def _thawed(cql_type: str) -> str:
    """The type without ``frozen``, which signatures of functions do not take; as it is if it cannot be taken apart."""
    try:
        return _spell(parse_cql_type(cql_type))
    except ValueError:
        return cql_type


def _spell(cql_type: CqlType) -> str:
    if cql_type.name == "frozen" and cql_type.args:
        return _spell(cql_type.args[0])
    if cql_type.kind == "custom":
        return protect_value(cql_type.name)
    name = protect_name(cql_type.name) if cql_type.kind == "user" else cql_type.name
    if not cql_type.args:
        return name
    return f"{name}<{', '.join(_spell(arg) for arg in cql_type.args)}>"


def _reference(what: str, text: str) -> str:
    return f"/*\nWarning: {what} and cannot be recreated with CQL.\nStructure, for reference:\n{text}\n*/"
