"""A schema change applied: new keyspaces from old ones and the rows that were read (L4). Nothing old is modified
here; ``live.py`` puts into the dicts that programs hold what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra._base.constants import SchemaTargetType
from cassandra._base.descriptors import SignatureDescriptor

from .keyspace import KeyspaceMetadata
from .parser import (
    RowIndex,
    SchemaRows,
    parse_aggregate,
    parse_everything,
    parse_function,
    parse_keyspace,
    parse_table,
    parse_type,
    parse_view,
    with_contents,
)
from .table import IndexMetadata, TableMetadata
from .target import EVERYTHING, KEYSPACE_CONTENTS, SchemaTarget

Keyspaces = Mapping[str, KeyspaceMetadata]


def updated(keyspaces: Keyspaces, target: SchemaTarget, rows: SchemaRows) -> dict[str, KeyspaceMetadata]:
    """The keyspaces after *target* was read as *rows*. What *target* names and *rows* do not have is gone."""
    found = RowIndex(rows)
    if target.kind == EVERYTHING:
        return parse_everything(found)
    name = target.keyspace or ""
    known = keyspaces.get(name)
    changed = _changed_keyspace(known, target, found)
    if changed is None:
        return {other: keyspace for other, keyspace in keyspaces.items() if other != name}
    return {**keyspaces, name: changed}


def _changed_keyspace(known: KeyspaceMetadata | None, target: SchemaTarget, rows: RowIndex) -> KeyspaceMetadata | None:
    if target.kind in (SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS):
        read = next(iter(rows.all("keyspaces")), None)
        if read is None:
            return None
        keyspace = parse_keyspace(read, rows)
        if target.kind == KEYSPACE_CONTENTS:
            return with_contents(keyspace, rows)
        if known is None:
            return keyspace
        return known._with(
            durable_writes=keyspace.durable_writes,
            replication_strategy=keyspace.replication_strategy,
            _has_leaders=keyspace._has_leaders,
        )
    if known is None or target.name is None:
        return known
    if target.kind == SchemaTargetType.TABLE:
        return _with_table(known, target.name, rows)
    if target.kind == SchemaTargetType.TYPE:
        types = [parse_type(row) for row in rows.all("types")]
        return known._with(user_types=_replaced(known.user_types, target.name, types[0] if types else None))
    signature = SignatureDescriptor.format_signature(target.name, target.argument_types)
    if target.kind == SchemaTargetType.FUNCTION:
        functions = [parse_function(row) for row in rows.all("functions")]
        return known._with(functions=_replaced(known.functions, signature, functions[0] if functions else None))
    aggregates = [parse_aggregate(row) for row in rows.all("aggregates")]
    return known._with(aggregates=_replaced(known.aggregates, signature, aggregates[0] if aggregates else None))


def _with_table(known: KeyspaceMetadata, name: str, rows: RowIndex) -> KeyspaceMetadata:
    """The keyspace with the table or view *name* as read, and the indexes of it. Tables are told of their views by
    ``live.py``."""
    table_row = next(iter(rows.all("tables")), None)
    view_row = next(iter(rows.all("views")), None)
    tables = _replaced(known.tables, name, parse_table(table_row, rows) if table_row is not None else None)
    views = _replaced(known.views, name, parse_view(view_row, rows) if view_row is not None else None)
    return known._with(tables=tables, views=views, indexes=_indexes(known, tables, name))


def _indexes(known: KeyspaceMetadata, tables: dict[str, TableMetadata], changed: str) -> dict[str, IndexMetadata]:
    kept = {name: index for name, index in known.indexes.items() if index.table_name != changed}
    return {**kept, **(tables[changed].indexes if changed in tables else {})}


def _replaced(items: Mapping[str, Any], name: str, item: Any) -> dict[str, Any]:
    """*items* with *item* under *name*, without it if it is None; in the order of names, which is the server's too."""
    if item is None:
        return {key: value for key, value in items.items() if key != name}
    with_item = {**items, name: item}
    return with_item if name in items else dict(sorted(with_item.items()))
