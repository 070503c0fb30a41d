"""Application of schema changes to the dicts that programs hold (L4).

*Identity.* An item that was read is a new object: a keyspace, table, view, index, type or function. An old one held by
a program keeps its columns and options, and can be compared with the new one. Containers stay the same objects and
follow changes: the dict of all keyspaces; a keyspace when its contents have changed; the dicts of a keyspace, which are
passed on to its replacement when its own settings have changed; and the views of a table. When the whole schema, or a
whole keyspace, is read again, all its objects are new. scylla-driver does the same.

*Order.* A change is computed on new objects (``update.py``). Views are added to their dict first, then tables: a new
table is visible only with everything that belongs to it, and a dropped item leaves its dict after its dependents.
Readers acquire no lock: each name of a dict is changed by one operation.

*Caller.* ``metadata.py``, with its lock held, before it publishes the snapshot that was computed from the same rows: a
request that uses the snapshot never sees an older replication. The contents of a keyspace are parsed on first use
(``contents.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .contents import PARTS, LiveDict, Part
from .target import EVERYTHING, SETTINGS, SchemaTarget

if TYPE_CHECKING:
    from .keyspace import KeyspaceMetadata
    from .table import MaterializedViewMetadata, TableMetadata


def carry_on(
    before: Mapping[str, KeyspaceMetadata], after: Mapping[str, KeyspaceMetadata], target: SchemaTarget
) -> Mapping[str, KeyspaceMetadata]:
    """Return the keyspaces *after* *target* was read, in the dict objects from *before*."""
    if target.kind == EVERYTHING:
        return LiveDict(after)
    if not isinstance(before, LiveDict):  # assigned by a program
        before = LiveDict(before)
    name = target.keyspace or ""
    if target.kind not in SETTINGS and name in before and name in after:
        known = before[name]
        _carry_on_contents(known, after[name])
        after = {**after, name: known}
    before.follow(after)
    return before


def _carry_on_contents(known: KeyspaceMetadata, fresh: KeyspaceMetadata) -> None:
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
