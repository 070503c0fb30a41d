"""Which objects of the schema are others after a change (L4).

*Identity.* What was read is a new object: a keyspace, a table, a view, an index, a type, a function. One that a
program holds stays as it was, with its columns and options, and can be compared with the new one. What others are
found in stays one object and follows: the dict of all keyspaces, a keyspace when something in it has changed, its
dicts, which a keyspace whose own settings have changed hands on, and the views of a table. When everything, or
everything in a keyspace, is read again, all of it is new. So it is in scylla-driver.

*How.* A change is worked out on fresh objects (``update.py``). Views come into their dict first, then tables: who
finds a new table finds all that belongs to it, and what is dropped leaves its dict after what needs it. Readers take
no lock: each name of a dict is changed by one operation.

*Who.* Whoever publishes metadata, with their lock held (``metadata.py``), before the snapshot is published that was
worked out from the same rows: a request that sees the snapshot sees no older replication. What is in a keyspace is
parsed when somebody first looks at it (``contents.py``).
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
    """The keyspaces *after* *target* was read, in the dicts that they were in *before* it."""
    if target.kind == EVERYTHING:
        return LiveDict(after)
    if not isinstance(before, LiveDict):  # a program's own
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
        else:  # a program's own
            setattr(known, name, Part(now))
    _link_views(known.tables, fresh.views)
    for name in reversed(PARTS):
        kept, now = getattr(known, name), getattr(fresh, name)
        if kept is not now:
            kept.keep(now)


def _link_views(tables: Mapping[str, TableMetadata], views: Mapping[str, MaterializedViewMetadata]) -> None:
    """Each of *tables* has those of *views* that are of it."""
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
