"""Parser from rows of the schema tables to the model (L4). No side effects except the log; rows are mappings by column
name.

Supports ``system_schema`` of Apache Cassandra 3.0 to 5.x and of ScyllaDB. Unknown columns are ignored; columns that a
version lacks are treated as null. For an invalid row only its own item is omitted, or, if it is a table or view,
incomplete, with one line in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cassandra._base.errors import DriverException
from cassandra._base.logs import get_logger, printable

from .live import GONE, MISSING, Change, Part
from .model import (
    Aggregate,
    ColumnMetadata,
    DroppedColumn,
    Function,
    IndexMetadata,
    KeyspaceMetadata,
    MaterializedViewMetadata,
    PartsReader,
    TableMetadata,
    TableMetadataV3,
    TriggerMetadata,
    UserType,
)
from .rows import Row, SchemaIndex

log = get_logger("cassandra.metadata")
T = TypeVar("T")
MAX_WARNINGS = 1000  # maximum number of warnings about rows
_warned_of: set[str] = set()
_NAMES = ("keyspace_name", "table_name", "view_name", "type_name", "function_name", "aggregate_name")

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


def parse_everything(rows: SchemaIndex) -> dict[str, KeyspaceMetadata]:
    """Return all keyspaces, the virtual ones last. The contents of each are parsed on first use."""
    rows.prepare()
    groups, virtual = groups_of(rows), rows.only("virtual_tables", "virtual_columns")
    keyspaces = {}
    for keyspace in readable("keyspace", rows.all("keyspaces"), lambda row: parse_keyspace(row, rows)):
        keyspaces[keyspace.name] = with_contents(keyspace, groups)
    for name in [row["keyspace_name"] for row in rows.all("virtual_keyspaces")]:
        if isinstance(name, str):
            keyspaces.setdefault(name, _virtual_keyspace(name, virtual))
    return keyspaces


def readable(kind: str, rows: Iterable[Row], parse: Callable[[Row], T]) -> list[T]:
    """Return *rows* parsed by *parse*, without those for which it fails. *kind* is for the log."""
    parsed = []
    for row in rows:
        try:
            parsed.append(parse(row))
        except Exception as error:
            if _succeeds(lambda row=row: parse(row)):  # type: ignore[misc]
                raise
            names = [row.get(key) for key in _NAMES]
            name = ".".join(str(one) for one in names if one is not None)
            text, level = _first_of(f"{kind} {name}", error)
            log.log(level, "Omitted an invalid row of the schema tables: %s", text)
    return parsed


def _succeeds(parse: Callable[[], object]) -> bool:
    """True if *parse*, which has just failed, succeeds: then the exception came from a signal handler, not from the
    rows, and has to be raised."""
    try:
        parse()
    except Exception:
        return False
    return True


def _first_of(subject: str, error: BaseException) -> tuple[str, int]:
    """Return the text about *error* for the log, and its level: a warning the first time."""
    text = f"{subject}: {type(error).__name__}: {error}"
    level = logging.DEBUG if text in _warned_of or len(_warned_of) >= MAX_WARNINGS else logging.WARNING
    if level == logging.WARNING:
        _warned_of.add(text)
    return printable(text, 500), level


def parse_keyspace(row: Row, rows: SchemaIndex) -> KeyspaceMetadata:
    """Return an empty keyspace from its own row and from ScyllaDB's additional rows."""
    name, replication = row["keyspace_name"], dict(row["replication"].items())
    if not isinstance(name, str):
        raise TypeError(f"the keyspace name must be a string, got {type(name).__name__}")
    keyspace = KeyspaceMetadata(name, row["durable_writes"], replication.pop("class", None), replication)
    keyspace._has_leaders = any(
        more.get("consistency") in _WITH_LEADERS for more in rows.of_keyspace("scylla_keyspaces", name)
    )
    return keyspace


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


#: Part, kind of its items, their parser, and the attribute with their key.
_ITEMS: tuple[tuple[str, str, Callable[[Row], Any], str], ...] = (
    ("user_types", "type", parse_type, "name"),
    ("functions", "function", parse_function, "signature"),
    ("aggregates", "aggregate", parse_aggregate, "signature"),
)


def _virtual_keyspace(name: str, rows: SchemaIndex) -> KeyspaceMetadata:
    keyspace = KeyspaceMetadata(name, None, None, None)
    keyspace.virtual = True

    def relations() -> dict[str, Part]:
        tables = Part(source=_Read(name, "virtual_tables", rows, lambda table: _make_virtual_table(name, table, rows)))
        return {"tables": tables, "views": Part(), "indexes": Part()}

    items: dict[str, PartsReader] = {part: lambda part=part: {part: Part()} for part, *_ in _ITEMS}  # type: ignore[misc]
    return keyspace._with_contents({"relations": relations, **items})


def _make_virtual_table(keyspace: str, name: str, rows: SchemaIndex) -> Any:
    if not rows.has("virtual_tables", keyspace, name):
        return MISSING
    return _made(
        "table", lambda: TableMetadataV3(keyspace, name, virtual=True), "virtual_tables", _fill_virtual_table, rows
    )


def _fill_virtual_table(table: TableMetadata, row: Row, rows: SchemaIndex) -> None:
    table.options = {"comment": row.get("comment")}
    table.extensions = {}
    _add_columns(table, rows.of_table("virtual_columns", table.keyspace_name, table.name))


# ---- contents of a keyspace


def with_contents(keyspace: KeyspaceMetadata, groups: Mapping[str, SchemaIndex]) -> KeyspaceMetadata:
    """Return *keyspace* with its contents from *groups*."""
    name = keyspace.name
    readers: dict[str, PartsReader] = {"relations": lambda: _relations(name, groups["relations"], groups["indexes"])}
    for part, kind, parse, key in _ITEMS:
        readers[part] = _reader_of_items(name, groups[part], part, kind, parse, key)
    return keyspace._with_contents(readers)


def groups_of(rows: SchemaIndex) -> dict[str, SchemaIndex]:
    """Return the rows that are needed as long as a dict, or the dicts that refer to each other, are not complete."""
    items = {part: rows.only(part.removeprefix("user_")) for part, *_ in _ITEMS}
    relations = rows.only("tables", "columns", "indexes", "triggers", "dropped_columns", "column_masks", "views")
    return {"relations": relations, "indexes": rows.only("indexes"), **items}


def _reader_of_items(
    keyspace: str, rows: SchemaIndex, part: str, kind: str, parse: Callable[[Row], Any], key: str
) -> PartsReader:
    def read() -> dict[str, Part]:
        items = readable(kind, rows.of_keyspace(part.removeprefix("user_"), keyspace), parse)
        return {part: Part({getattr(item, key): item for item in items})}

    return read


def _relations(keyspace: str, rows: SchemaIndex, indexes: SchemaIndex) -> dict[str, Part]:
    views = Part(source=_Read(keyspace, "views", rows, lambda name: make_view(keyspace, name, rows)))
    tables = Part(source=_Read(keyspace, "tables", rows, lambda name: make_table(keyspace, name, rows, views)))
    return {"tables": tables, "views": views, "indexes": index_part(keyspace, tables, indexes)}


def index_part(keyspace: str, tables: Part, rows: SchemaIndex | None = None) -> Part:
    """Return the indexes of all *tables*, of which those that were not read again have their indexes in *rows*."""
    return Part(source=_Indexes(keyspace, tables, rows))


class _Read:
    """Source of tables or views: the rows that a keyspace was read with."""

    __slots__ = ("_keyspace", "_known", "_make", "_part", "_rows")
    is_fixed = True

    def __init__(self, keyspace: str, part: str, rows: SchemaIndex, make: Callable[[str], Any]) -> None:
        self._keyspace = keyspace
        self._part = part
        self._make: Callable[[str], Any] | None = make
        self._rows: SchemaIndex | None = rows
        self._known: frozenset[str] | None = None

    @property
    def rows(self) -> SchemaIndex | None:
        """The rows; None once they were released."""
        return self._rows

    def names(self) -> frozenset[str]:
        rows = self._rows  # first: the names are known before the rows are released
        known = self._known
        if known is None:
            assert rows is not None
            known = self._known = frozenset(rows.names(self._part, self._keyspace))
        return known

    def first(self) -> str | None:
        rows = self._rows
        try:
            return None if rows is None else next(iter(rows.names(self._part, self._keyspace, 1)), None)
        except DriverException:  # malformed rows: raised to those who look for one
            return None

    def has(self, name: str) -> bool:
        rows, known = self._rows, self._known
        return name in self.names() if known is not None or rows is None else rows.has(self._part, self._keyspace, name)

    def make(self, name: str) -> Any:
        make = self._make
        return MISSING if make is None else make(name)

    def release(self) -> None:
        self.names()
        self._make = self._rows = None


class _Indexes:
    """Source of the indexes of a keyspace: those of its tables."""

    __slots__ = ("_keyspace", "_known", "_rows", "_tables")
    is_fixed = False

    def __init__(self, keyspace: str, tables: Part, rows: SchemaIndex | None) -> None:
        self._keyspace = keyspace
        self._tables = tables
        self._rows = rows
        self._known: dict[str, str] | None = None if rows is not None else {}

    def names(self) -> dict[str, str]:
        """Return the table of each index, by its name."""
        known = self._known
        if known is None:
            assert self._rows is not None
            found = self._rows.of_keyspace("indexes", self._keyspace)
            known = self._known = _tables_by_index(found)
        stored = self._tables.stored()
        again = {
            name: value
            for name, value in stored.items()
            if value is GONE or (type(value) is Change and value.is_read_again)
        }
        names = {index: table for index, table in known.items() if table not in again and table in self._tables}
        for table, change in again.items():
            names |= {} if change is GONE else self._of_change(table, change)
        return names

    def _of_change(self, table: str, change: Change) -> dict[str, str]:
        rows = change.rows
        if rows is None:
            return dict.fromkeys(getattr(change.get(), "indexes", ()), table)
        return _tables_by_index(rows.of_table("indexes", self._keyspace, table))

    def first(self) -> str | None:
        return None

    def has(self, name: str) -> bool:
        return name in self.names()

    def make(self, name: str) -> Any:
        table = self._tables.get(self.names().get(name, MISSING))
        return MISSING if table is None else table.indexes.get(name, MISSING)

    def release(self) -> None:
        pass


def _tables_by_index(rows: Iterable[Row]) -> dict[str, str]:
    return {row["index_name"]: row["table_name"] for row in rows if isinstance(row["index_name"], str)}


class _ViewsOnTable:
    """Source of the views on a table."""

    __slots__ = ("_keyspace", "_table", "_views")
    is_fixed = False

    def __init__(self, keyspace: str, table: str, views: Part) -> None:
        self._keyspace = keyspace
        self._table = table
        self._views = views

    def names(self) -> list[str]:
        source = self._views.source
        rows = source.rows if isinstance(source, _Read) else None
        stored = {name: value for name, value in self._views.stored().items() if rows is None or not _is_unread(value)}
        names = [] if rows is None else [row["view_name"] for row in rows.views_on(self._keyspace, self._table)]
        names = [name for name in names if name not in stored]
        return names + [name for name, value in stored.items() if self._base_of(name, value) == self._table]

    def _base_of(self, name: str, value: Any) -> Any:
        rows = value.rows if type(value) is Change else None
        if rows is not None:
            return rows.of_table("views", self._keyspace, name)[-1]["base_table_name"]
        return getattr(value.get() if type(value) is Change else value, "base_table_name", None)

    def first(self) -> str | None:
        return None

    def has(self, name: str) -> bool:
        return name in self.names()

    def make(self, name: str) -> Any:
        return self._views.get(name, MISSING) if self.has(name) else MISSING

    def release(self) -> None:
        pass


def _is_unread(value: Any) -> bool:
    return type(value) is Change and not value.is_read_again


def make_table(keyspace: str, name: str, rows: SchemaIndex, views: Part) -> Any:
    """Return a table with all that belongs to it; MISSING if *rows* do not have it. If they are invalid, it is what can
    be read of them, and has the exception."""

    def new() -> TableMetadata:
        table = TableMetadataV3(keyspace, name)
        table.views = Part(source=_ViewsOnTable(keyspace, name, views))
        return table

    return _made("table", new, "tables", _fill_table, rows) if rows.has("tables", keyspace, name) else MISSING


def make_view(keyspace: str, name: str, rows: SchemaIndex) -> Any:
    """Return a view, as :func:`make_table` does."""

    def new() -> MaterializedViewMetadata:
        return MaterializedViewMetadata(keyspace, name, None, False, None, {})  # type: ignore[arg-type]

    return _made("view", new, "views", _fill_view, rows) if rows.has("views", keyspace, name) else MISSING


def _made(
    kind: str, new: Callable[[], Any], part: str, fill: Callable[[Any, Row, SchemaIndex], None], rows: SchemaIndex
) -> Any:
    """Return a new object with what its rows, the first of which is in *part*, say."""

    def read(one: Any) -> None:
        fill(one, rows.of_table(part, one.keyspace_name, one.name)[-1], rows)

    made = new()
    try:
        read(made)
    except MemoryError:
        raise
    except Exception as error:
        if _succeeds(lambda: read(new())):
            raise
        made._exc_info = (type(error), error.with_traceback(None), None)
        text, level = _first_of(f"{kind} {made.keyspace_name}.{made.name}", error)
        log.log(level, "Incomplete metadata, as rows of the schema tables are invalid: %s", text)
    return made


def _fill_table(table: TableMetadata, row: Row, rows: SchemaIndex) -> None:
    keyspace, name = table.keyspace_name, table.name
    table.options = _options(row)
    table._id = row.get("id")
    table.extensions = _optional_dict(row.get("extensions"))
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
    columns: Iterable[Row] = rows.of_table("columns", keyspace, name)
    flags = row.get("flags")  # empty for a static compact table, null for servers without compact tables
    if flags is not None and ("dense" in flags or "super" in flags or "compound" not in flags):
        table.is_compact_storage = True
        columns = _compact_columns(columns, frozenset(flags))
    _add_columns(table, columns)
    _mask_columns(table, rows)


def _fill_view(view: MaterializedViewMetadata, row: Row, rows: SchemaIndex) -> None:
    keyspace, name = view.keyspace_name, view.name
    view.base_table_name = row["base_table_name"]
    view.include_all_columns = row["include_all_columns"]
    view.where_clause = row["where_clause"]
    view.options = _options(row)
    view._id = row.get("id")
    view.extensions = _optional_dict(row.get("extensions"))
    _add_columns(view, rows.of_table("columns", keyspace, name))
    _mask_columns(view, rows)


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


def _mask_columns(owner: TableMetadata | MaterializedViewMetadata, rows: SchemaIndex) -> None:
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
    return dict(value.items()) if hasattr(value, "items") else value  # not by an ABC, whose first checks are slow


def _optional_dict(value: Any) -> dict[str, Any] | None:
    return dict(value.items()) if value is not None else None
