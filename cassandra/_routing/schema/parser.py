"""Parser from rows of the schema tables to the model (L4). No side effects except the log; rows are mappings by column
name.

Supports ``system_schema`` of Apache Cassandra 3.0 to 5.x and of ScyllaDB. Unknown columns are ignored; columns that a
version lacks are treated as null. For an invalid row only its own item is omitted, with one line in the log.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from cassandra._base.logs import get_logger, printable

from .model import (
    Aggregate,
    ColumnMetadata,
    DroppedColumn,
    Function,
    IndexMetadata,
    KeyspaceMetadata,
    MaterializedViewMetadata,
    TableMetadata,
    TableMetadataV3,
    TriggerMetadata,
    UserType,
)

log = get_logger("cassandra.metadata")
T = TypeVar("T")
MAX_WARNINGS = 1000  # maximum number of warnings about rows
_warned_of: set[str] = set()
_NAMES = ("keyspace_name", "table_name", "view_name", "type_name", "function_name", "aggregate_name")

Row = Mapping[str, Any]
#: Rows of each schema query, by its name.
SchemaRows = Mapping[str, Sequence[Row]]

_OPTIONS = (
    "additional_write_policy",
    "allow_auto_snapshot",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "compaction",
    "compression",
    "crc_check_chance",
    "default_time_to_live",
    "gc_grace_seconds",
    "incremental_backups",
    "max_index_interval",
    "memtable",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "speculative_retry",
)
_WITH_LEADERS = ("global", "local")  # the other kind of consistency is "eventual"
# Servers with read_repair still store these but do not accept them.
_OPTIONS_BEFORE_READ_REPAIR = ("dclocal_read_repair_chance", "read_repair_chance")


class RowIndex:
    """Rows of several queries, indexed by keyspace and by (keyspace, table)."""

    def __init__(self, rows: SchemaRows) -> None:
        self._rows = rows
        self._by_keyspace: dict[str, dict[str, list[Row]]] = {}
        self._by_table: dict[str, dict[tuple[str, str], list[Row]]] = {}

    def all(self, part: str) -> Iterable[Row]:
        return self._rows.get(part, ())

    def of_keyspace(self, part: str, keyspace: str) -> list[Row]:
        if part not in self._by_keyspace:
            self._sort(part)
        return self._by_keyspace[part].get(keyspace, [])

    def of_table(self, part: str, keyspace: str, table: str) -> list[Row]:
        if part not in self._by_table:
            self._sort(part)
        return self._by_table[part].get((keyspace, table), [])

    def _sort(self, part: str) -> None:
        """Index a part on first use; two threads at the same time get the same result."""
        by_keyspace: dict[str, list[Row]] = defaultdict(list)
        by_table: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.all(part):
            keyspace, table = row["keyspace_name"], row.get("table_name") or row.get("view_name")
            if isinstance(keyspace, str):
                by_keyspace[keyspace].append(row)
                if isinstance(table, str):
                    by_table[keyspace, table].append(row)
        self._by_keyspace[part] = by_keyspace
        self._by_table[part] = by_table


def parse_everything(rows: RowIndex) -> dict[str, KeyspaceMetadata]:
    """Return all keyspaces, the virtual ones last. The contents of each are parsed on first use."""
    keyspaces = {}
    for keyspace in readable("keyspace", rows.all("keyspaces"), lambda row: parse_keyspace(row, rows)):
        keyspaces[keyspace.name] = with_contents(keyspace, rows)
    virtual = (row["keyspace_name"] for row in rows.all("virtual_keyspaces"))
    for name in virtual:
        if isinstance(name, str):
            keyspaces.setdefault(name, _parse_virtual_keyspace(name, rows))
    return keyspaces


def readable(kind: str, rows: Iterable[Row], parse: Callable[[Row], T]) -> list[T]:
    """Return *rows* parsed by *parse*, without those for which it fails. *kind* is for the log."""
    parsed = []
    for row in rows:
        try:
            parsed.append(parse(row))
        except Exception as error:
            names = [row.get(key) for key in _NAMES]
            name = ".".join(str(one) for one in names if one is not None)
            text = f"{kind} {name}: {type(error).__name__}: {error}"
            level = logging.DEBUG if text in _warned_of or len(_warned_of) >= MAX_WARNINGS else logging.WARNING
            if level == logging.WARNING:
                _warned_of.add(text)
            log.log(level, "Omitted an invalid row of the schema tables: %s", printable(text, 500))
    return parsed


def parse_keyspace(row: Row, rows: RowIndex) -> KeyspaceMetadata:
    """Return an empty keyspace from its own row and from ScyllaDB's additional rows."""
    name, replication = row["keyspace_name"], dict(row["replication"].items())
    if not isinstance(name, str):
        raise TypeError(f"the keyspace name must be a string, got {type(name).__name__}")
    keyspace = KeyspaceMetadata(name, row["durable_writes"], replication.pop("class", None), replication)
    keyspace._has_leaders = any(
        more.get("consistency") in _WITH_LEADERS for more in rows.of_keyspace("scylla_keyspaces", name)
    )
    return keyspace


def with_contents(keyspace: KeyspaceMetadata, rows: RowIndex) -> KeyspaceMetadata:
    """Return *keyspace* with its contents from *rows*."""
    return keyspace._with_contents(lambda: _contents(keyspace.name, rows))


def _contents(name: str, rows: RowIndex) -> dict[str, Any]:
    tables = readable("table", rows.of_keyspace("tables", name), lambda row: parse_table(row, rows))
    views = readable("view", rows.of_keyspace("views", name), lambda row: parse_view(row, rows))
    types = readable("type", rows.of_keyspace("types", name), parse_type)
    functions = readable("function", rows.of_keyspace("functions", name), parse_function)
    aggregates = readable("aggregate", rows.of_keyspace("aggregates", name), parse_aggregate)
    by_name = {table.name: table for table in tables}
    for view in views:
        if view.base_table_name in by_name:
            by_name[view.base_table_name].views[view.name] = view
    return {
        "tables": by_name,
        "views": {view.name: view for view in views},
        "indexes": {index.name: index for table in tables for index in table.indexes.values()},
        "user_types": {user_type.name: user_type for user_type in types},
        "functions": {function.signature: function for function in functions},
        "aggregates": {aggregate.signature: aggregate for aggregate in aggregates},
    }


def parse_table(row: Row, rows: RowIndex) -> TableMetadata:
    """Return a table with its columns, indexes, triggers and dropped columns; the caller adds the views."""
    keyspace, name = row["keyspace_name"], row["table_name"]
    table = TableMetadataV3(keyspace, name, options=_options(row))
    table._id = row.get("id")
    table.extensions = _optional_dict(row.get("extensions"))
    columns: Iterable[Row] = rows.of_table("columns", keyspace, name)
    flags = row.get("flags")  # empty for a static compact table, null for servers without compact tables
    if flags is not None and ("dense" in flags or "super" in flags or "compound" not in flags):
        table.is_compact_storage = True
        columns = _compact_columns(columns, frozenset(flags))
    _add_columns(table, columns)
    _mask_columns(table, rows)
    for index_row in rows.of_table("indexes", keyspace, name):
        index = IndexMetadata(
            keyspace, name, index_row["index_name"], index_row["kind"], _optional_dict(index_row.get("options"))
        )
        table.indexes[index.name] = index
    for trigger_row in rows.of_table("triggers", keyspace, name):
        trigger = TriggerMetadata(table, trigger_row["trigger_name"], _optional_dict(trigger_row.get("options")))
        table.triggers[trigger.name] = trigger
    table.dropped_columns = {
        dropped["column_name"]: DroppedColumn(
            dropped["column_name"], dropped["type"], dropped.get("kind") or "regular", dropped.get("dropped_time")
        )
        for dropped in rows.of_table("dropped_columns", keyspace, name)
    }
    return table


def parse_view(row: Row, rows: RowIndex) -> MaterializedViewMetadata:
    """Return a materialized view with its columns."""
    keyspace, name = row["keyspace_name"], row["view_name"]
    view = MaterializedViewMetadata(
        keyspace, name, row["base_table_name"], row["include_all_columns"], row["where_clause"], _options(row)
    )
    view._id = row.get("id")
    view.extensions = _optional_dict(row.get("extensions"))
    _add_columns(view, rows.of_table("columns", keyspace, name))
    _mask_columns(view, rows)
    return view


def parse_type(row: Row) -> UserType:
    return UserType(row["keyspace_name"], row["type_name"], row["field_names"], row["field_types"])


def parse_function(row: Row) -> Function:
    return Function(
        row["keyspace_name"],
        row["function_name"],
        row["argument_types"],
        row["argument_names"],
        row["return_type"],
        row["language"],
        row["body"],
        row["called_on_null_input"],
        bool(row.get("deterministic")),
        bool(row.get("monotonic")),
        row.get("monotonic_on") or (),
    )


def parse_aggregate(row: Row) -> Aggregate:
    return Aggregate(
        row["keyspace_name"],
        row["aggregate_name"],
        row["argument_types"],
        row["state_func"],
        row["state_type"],
        row.get("final_func"),
        row.get("initcond"),
        row["return_type"],
        bool(row.get("deterministic")),
    )


def _parse_virtual_keyspace(name: str, rows: RowIndex) -> KeyspaceMetadata:
    keyspace = KeyspaceMetadata(name, None, None, None)
    keyspace.virtual = True
    return keyspace._with_contents(lambda: {"tables": _virtual_tables(name, rows)})


def _virtual_tables(name: str, rows: RowIndex) -> dict[str, TableMetadata]:
    tables: dict[str, TableMetadata] = {}
    for row in rows.of_keyspace("virtual_tables", name):
        table = TableMetadataV3(name, row["table_name"], virtual=True)
        table.options = {"comment": row.get("comment")}
        table.extensions = {}
        _add_columns(table, rows.of_table("virtual_columns", name, table.name))
        tables[table.name] = table
    return tables


def _add_columns(owner: TableMetadata | MaterializedViewMetadata, rows: Iterable[Row]) -> None:
    """Add partition key, clustering key, then the rest in the order of the rows (by name, as sorted by the server)."""
    ordered = sorted(rows, key=_column_order)
    for row in ordered:
        column = ColumnMetadata(
            owner,
            row["column_name"],
            row["type"],
            row["kind"] == "static",
            (row.get("clustering_order") or "none").lower() == "desc",
        )
        owner.columns[column.name] = column
        if row["kind"] == "partition_key":
            owner.partition_key.append(column)
        elif row["kind"] == "clustering":
            owner.clustering_key.append(column)


def _mask_columns(owner: TableMetadata | MaterializedViewMetadata, rows: RowIndex) -> None:
    for row in rows.of_table("column_masks", owner.keyspace_name, owner.name):
        column = owner.columns.get(row["column_name"])
        if column is not None:
            from .ddl import mask_cql  # most programs do not need it

            column.mask = mask_cql(row)


def _column_order(row: Row) -> tuple[int, int]:
    if row["kind"] == "partition_key":
        return 0, row["position"]
    if row["kind"] == "clustering":
        return 1, row["position"]
    return 2, 0


def _compact_columns(rows: Iterable[Row], flags: frozenset[str]) -> list[Row]:
    """Return the columns of a compact table as in CQL.

    A static compact table (neither dense, super nor compound) stores its columns as static ones, plus an undeclared
    clustering column and an undeclared regular one. A dense table without columns of its own has a nameless one.
    """
    if "dense" in flags or "super" in flags:
        return [row for row in rows if not (row["kind"] == "regular" and row["type"] == "empty")]
    return [
        {**row, "kind": "regular"} if row["kind"] == "static" else row
        for row in rows
        if row["kind"] in ("partition_key", "static")
    ]


def _options(row: Row) -> dict[str, Any]:
    names = _OPTIONS if "read_repair" in row else (*_OPTIONS, *_OPTIONS_BEFORE_READ_REPAIR)
    return {name: _to_dict(row[name]) for name in names if row.get(name) is not None or (name == "cdc" and name in row)}


def _to_dict(value: Any) -> Any:
    return dict(value.items()) if isinstance(value, Mapping) else value


def _optional_dict(value: Any) -> dict[str, Any] | None:
    return dict(value.items()) if value is not None else None
