"""Schema changes, and their application to the dicts that programs hold (L4).

*Identity.* An item that was read is a new object: a keyspace, table, view, index, type or function. An old one held by
a program keeps its columns and options, and can be compared with the new one. Containers stay the same objects and
follow changes: the dict of all keyspaces; a keyspace when its contents have changed; the dicts of a keyspace, which are
passed on to its replacement when its own settings have changed; and the views of a table. When the whole schema, or a
whole keyspace, is read again, all its objects are new. scylla-driver does the same.

*Items.* :func:`change_item` replaces one table, view, type, function or aggregate. It parses nothing of a table: the
rows are stored in its dict (``live.py``), and the other items are not touched. Indexes, and the views of tables, derive
from that, so that they change in the same step.

*Keyspaces.* :func:`update_keyspaces` computes new keyspaces, from the old ones, which it does not modify, and the rows
that were read; :func:`keep_dict` applies them to the dict of all keyspaces. The contents of a keyspace are parsed on
first use (``parser.py``).

*Caller.* ``metadata.py``, with its lock held, before it publishes the snapshot that was computed from the same rows: a
request that uses the snapshot never sees an older replication.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from cassandra._base.constants import SchemaTargetType
from cassandra._base.errors import DriverException
from cassandra._base.names import SignatureDescriptor

from .live import GONE, MISSING, Change, LiveDict, Part
from .model import KeyspaceMetadata
from .parser import (
    groups_of,
    index_part,
    make_table,
    make_view,
    parse_aggregate,
    parse_everything,
    parse_function,
    parse_keyspace,
    parse_type,
    readable,
    with_contents,
)
from .rows import EVERYTHING, KEYSPACE_CONTENTS, SETTINGS, SchemaIndex, SchemaRows, SchemaTarget

Keyspaces = Mapping[str, KeyspaceMetadata]
T = TypeVar("T")


def is_item(target: SchemaTarget) -> bool:
    """True if *target* is one item of a keyspace."""
    return target.kind not in SETTINGS


# ---- keyspaces


def update_keyspaces(keyspaces: Keyspaces, target: SchemaTarget, rows: SchemaRows) -> dict[str, KeyspaceMetadata]:
    """Return the keyspaces after *target*, one keyspace or all, was read as *rows*. Those that are not in *rows* are
    removed."""
    found = SchemaIndex(rows)
    if target.kind == EVERYTHING:
        return parse_everything(found)
    name = target.keyspace or ""
    changed = _update_keyspace(keyspaces.get(name), target, found)
    if changed is None:
        return {other: keyspace for other, keyspace in keyspaces.items() if other != name}
    return {**keyspaces, name: changed}


def _update_keyspace(
    known: KeyspaceMetadata | None, target: SchemaTarget, rows: SchemaIndex
) -> KeyspaceMetadata | None:
    read = next(iter(rows.all("keyspaces")), None)
    if read is None:
        return None
    keyspace = next(iter(readable("keyspace", [read], lambda row: parse_keyspace(row, rows))), None)
    if keyspace is None:
        return known
    if target.kind == KEYSPACE_CONTENTS:
        rows.prepare()
        return with_contents(keyspace, groups_of(rows))
    if known is None:
        return keyspace
    return known._with(
        durable_writes=keyspace.durable_writes,
        replication_strategy=keyspace.replication_strategy,
        _has_leaders=keyspace._has_leaders,
    )


def keep_dict(before: Keyspaces, after: Keyspaces, target: SchemaTarget) -> Keyspaces:
    """Return the keyspaces *after* *target* was read, in the dict object from *before* unless all were read."""
    if target.kind != SchemaTargetType.KEYSPACE:
        for name, keyspace in before.items():
            if keyspace is not after.get(name):
                _keep_views(keyspace)
    if target.kind == EVERYTHING:
        return LiveDict(after)
    if not isinstance(before, LiveDict):  # assigned by a program
        before = LiveDict(before)
    before.follow(after)
    return before


def _keep_views(keyspace: KeyspaceMetadata) -> None:
    """Give the tables that a program may hold their own views: *keyspace* is replaced, and its rows are released."""
    tables = keyspace.__dict__.get("tables")
    if not isinstance(tables, Part):
        return
    for table in tables.stored().values():
        made = table.value if type(table) is Change else table
        views = getattr(made, "views", None)
        if isinstance(views, Part):
            views.settle()


# ---- items of a keyspace


def change_item(known: KeyspaceMetadata, target: SchemaTarget, rows: SchemaRows) -> None:
    """Replace or remove the item *target* of *known*, after it was read as *rows*."""
    found = SchemaIndex(rows)
    name = target.name or ""
    if target.kind == SchemaTargetType.TABLE:
        _change_relation(known, name, found)
        return
    if target.kind == SchemaTargetType.TYPE:
        _change(known, "user_types", "type", name, found.all("types"), parse_type)
        return
    signature = SignatureDescriptor.format_signature(name, target.argument_types)
    if target.kind == SchemaTargetType.FUNCTION:
        _change(known, "functions", "function", signature, found.all("functions"), parse_function)
    else:
        _change(known, "aggregates", "aggregate", signature, found.all("aggregates"), parse_aggregate)


def _change(
    known: KeyspaceMetadata, part: str, kind: str, key: str, rows: Iterable[Any], parse: Callable[[Any], T]
) -> None:
    """Replace an item by the first of *rows*, or remove it if there is none; it stays if that is invalid."""
    items = _part(known, part)
    row = next(iter(rows), None)
    if row is None:
        items.remove(key)
    for item in [] if row is None else readable(kind, [row], parse):
        items[key] = item


def _change_relation(known: KeyspaceMetadata, name: str, rows: SchemaIndex) -> None:
    """Replace or remove the table or view *name*."""
    keyspace = known.name
    views, tables = _part(known, "views"), _part(known, "tables")
    indexes = _part(known, "indexes")
    if indexes.source is None:  # not read by the driver
        indexes.source = index_part(keyspace, tables).source
    if rows.has("views", keyspace, name):
        views[name] = Change(lambda: make_view(keyspace, name, rows), rows)
    else:
        views.remove(name)
    for row in rows.of_table("indexes", keyspace, name):
        indexes.forget(row["index_name"])  # a program may have set or removed it
    if rows.has("tables", keyspace, name):
        tables[name] = Change(lambda: make_table(keyspace, name, rows, views), rows)
    else:
        tables.remove(name)


def _part(known: KeyspaceMetadata, name: str) -> Part:
    part = getattr(known, name)
    if not isinstance(part, Part):  # assigned by a program
        part = Part(part)
        setattr(known, name, part)
    return part


# ---- definitions of tables and views, without making them


class Definition(NamedTuple):
    """What a table or view was read as. ``rows`` and ``made``: one of them is None."""

    id: Any
    rows: list[Any] | None
    made: Any

    def differs(self, other: Definition) -> bool:
        """True if columns or options differ, as far as the rows are known."""
        if self.rows is not None and other.rows is not None:
            return self.rows != other.rows
        return bool(self.made is None or other.made is None or self.made.as_cql_query() != other.made.as_cql_query())


def definition_of(keyspace: KeyspaceMetadata | None, name: str) -> Definition | None:
    """Return the definition of a table or view; None if there is none, or its rows are malformed."""
    for part in ("tables", "views") if keyspace is not None else ():
        found = _definition(getattr(keyspace, part), part, keyspace.name, name)  # type: ignore[union-attr]
        if found is not None:
            return found
    return None


def _definition(items: Mapping[str, Any], part: str, keyspace: str, name: str) -> Definition | None:
    stored = dict.get(items, name, MISSING) if isinstance(items, dict) else items.get(name, MISSING)
    if stored is GONE:
        return None
    source = items.source if isinstance(items, Part) else None
    rows = stored.rows if type(stored) is Change else None
    if rows is None and not (type(stored) is Change and stored.is_read_again):
        rows = getattr(source, "rows", None)
    try:
        found = [] if rows is None else rows.of_table(part, keyspace, name)
        if rows is not None and found:
            return Definition(found[-1].get("id"), [found[-1], rows.of_table("columns", keyspace, name)], None)
    except DriverException:
        return None
    made = stored.get() if type(stored) is Change else stored
    return None if made is MISSING or made is None else Definition(getattr(made, "_id", None), None, made)
