"""Schema changes: computation of new keyspaces, and their application to the dicts that programs hold (L4).

*Identity.* An item that was read is a new object: a keyspace, table, view, index, type or function. An old one held by
a program keeps its columns and options, and can be compared with the new one. Containers stay the same objects and
follow changes: the dict of all keyspaces; a keyspace when its contents have changed; the dicts of a keyspace, which are
passed on to its replacement when its own settings have changed; and the views of a table. When the whole schema, or a
whole keyspace, is read again, all its objects are new. scylla-driver does the same.

*Order.* :func:`update_keyspaces` computes a change on new objects, from the old ones, which it does not modify, and the
rows that were read. :func:`keep_contents` applies it: views are added to their dict first, then tables. A new table is
visible only with everything that belongs to it, and a dropped item leaves its dict after its dependents. Readers
acquire no lock: each name of a dict is changed by one operation.

*Caller.* ``metadata.py``, with its lock held, before it publishes the snapshot that was computed from the same rows: a
request that uses the snapshot never sees an older replication. The contents of a keyspace are parsed on first use
(``model.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from cassandra._base.constants import SchemaTargetType
from cassandra._base.names import SignatureDescriptor

from .model import PARTS, IndexMetadata, KeyspaceMetadata, LiveDict, MaterializedViewMetadata, Part, TableMetadata
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
    readable,
    with_contents,
)
from .queries import EVERYTHING, KEYSPACE_CONTENTS, SETTINGS, SchemaTarget

Keyspaces = Mapping[str, KeyspaceMetadata]
T = TypeVar("T")


# ---- computation of a change


def update_keyspaces(keyspaces: Keyspaces, target: SchemaTarget, rows: SchemaRows) -> dict[str, KeyspaceMetadata]:
    """Return the keyspaces after *target* was read as *rows*. Items of *target* that are not in *rows* are removed."""
    found = RowIndex(rows)
    if target.kind == EVERYTHING:
        return parse_everything(found)
    name = target.keyspace or ""
    known = keyspaces.get(name)
    changed = _update_keyspace(known, target, found)
    if changed is None:
        return {other: keyspace for other, keyspace in keyspaces.items() if other != name}
    return {**keyspaces, name: changed}


def _update_keyspace(known: KeyspaceMetadata | None, target: SchemaTarget, rows: RowIndex) -> KeyspaceMetadata | None:
    if target.kind in (SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS):
        read = next(iter(rows.all("keyspaces")), None)
        if read is None:
            return None
        keyspace = next(iter(readable("keyspace", [read], lambda row: parse_keyspace(row, rows))), None)
        if keyspace is None:
            return known
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
        read_type = _parse_first("type", rows.all("types"), parse_type, known.user_types.get(target.name))
        return known._with(user_types=_with_item(known.user_types, target.name, read_type))
    signature = SignatureDescriptor.format_signature(target.name, target.argument_types)
    if target.kind == SchemaTargetType.FUNCTION:
        function = _parse_first("function", rows.all("functions"), parse_function, known.functions.get(signature))
        return known._with(functions=_with_item(known.functions, signature, function))
    aggregate = _parse_first("aggregate", rows.all("aggregates"), parse_aggregate, known.aggregates.get(signature))
    return known._with(aggregates=_with_item(known.aggregates, signature, aggregate))


def _parse_first(kind: str, rows: Iterable[Any], parse: Callable[[Any], T], before: T | None) -> T | None:
    """Return the parsed first row; *before* if it is invalid, None if there is no row."""
    row = next(iter(rows), None)
    if row is None:
        return None
    return next(iter(readable(kind, [row], parse)), before)


def _with_table(known: KeyspaceMetadata, name: str, rows: RowIndex) -> KeyspaceMetadata:
    """Return the keyspace with the table or view *name* as read, and its indexes. :func:`keep_contents` sets the views
    of tables."""
    table = _parse_first("table", rows.all("tables"), lambda row: parse_table(row, rows), known.tables.get(name))
    view = _parse_first("view", rows.all("views"), lambda row: parse_view(row, rows), known.views.get(name))
    tables, views = _with_item(known.tables, name, table), _with_item(known.views, name, view)
    return known._with(tables=tables, views=views, indexes=_indexes(known, tables, name))


def _indexes(known: KeyspaceMetadata, tables: dict[str, TableMetadata], changed: str) -> dict[str, IndexMetadata]:
    kept = {name: index for name, index in known.indexes.items() if index.table_name != changed}
    return {**kept, **(tables[changed].indexes if changed in tables else {})}


def _with_item(items: Mapping[str, Any], name: str, item: Any) -> dict[str, Any]:
    """Return *items* with *item* as *name* (removed if None), sorted by name, which is also the server's order."""
    if item is None:
        return {key: value for key, value in items.items() if key != name}
    with_item = {**items, name: item}
    return with_item if name in items else dict(sorted(with_item.items()))


# ---- application to dicts


def keep_contents(before: Keyspaces, after: Keyspaces, target: SchemaTarget) -> Keyspaces:
    """Return the keyspaces *after* *target* was read, in the dict objects from *before*."""
    if target.kind == EVERYTHING:
        return LiveDict(after)
    if not isinstance(before, LiveDict):  # assigned by a program
        before = LiveDict(before)
    name = target.keyspace or ""
    if target.kind not in SETTINGS and name in before and name in after:
        known = before[name]
        _keep_dicts(known, after[name])
        after = {**after, name: known}
    before.follow(after)
    return before


def _keep_dicts(known: KeyspaceMetadata, fresh: KeyspaceMetadata) -> None:
    if known is fresh:
        return
    for name, table in fresh.tables.items():
        former = known.tables.get(name)
        if former is not None and former._id == table._id:
            table.views = former.views
    for name in PARTS:
        kept, now = getattr(known, name), getattr(fresh, name)
        if kept is now:
            continue
        if isinstance(kept, LiveDict):
            kept.update(now)
        else:  # assigned by a program
            setattr(known, name, Part(now))
    _link_views(known.tables, fresh.views)
    for name in reversed(PARTS):
        kept, now = getattr(known, name), getattr(fresh, name)
        if kept is not now:
            kept.keep(now)


def _link_views(tables: Mapping[str, TableMetadata], views: Mapping[str, MaterializedViewMetadata]) -> None:
    """Set the views of each of *tables*."""
    by_table: dict[str, dict[str, MaterializedViewMetadata]] = {}
    for view in views.values():
        by_table.setdefault(view.base_table_name, {})[view.name] = view
    for name, table in tables.items():
        own = by_table.get(name, {})
        if own or table.views:
            table.views.update(own)
            for gone in list(table.views):
                if gone not in own:
                    table.views.pop(gone, None)
