"""Objects of the schema that programs hold follow what is read later (L4).

*Identity.* A keyspace, a table and a view is one object, from when it was first read until it is dropped. A table
that was dropped and created again is another one: it has another id. What is in them (columns, indexes, triggers)
and all that programs rarely keep (user types, functions, aggregates) are values: other objects when they were read
again. The dicts of a keyspace, once somebody has seen them, are those of its life (``contents.py``); a dict of
all keyspaces until everything is read again.

*How.* A change is worked out on fresh objects, which nobody sees (``update.py``). Then each object that is known
*becomes* the fresh one of its name: it is given a copy of that one's ``__dict__``, by one assignment. So a reader,
which takes no lock, sees each attribute as it was or as it is, and each dict or list of a table that it got stays as
it is while it goes through it; who needs several attributes of one moment takes a copy (``copy.copy``), as the methods
that print CQL do. Views become what they are to be first, then tables, then the dicts that they are in: who finds a new
table or view finds all that belongs to it, and what is dropped is missed by nobody who finds what needs it.

*Who.* Whoever publishes metadata, with their lock held (``metadata.py``), before the snapshot is published that was
worked out from the same rows: a request that sees the snapshot sees no older replication. What is in a keyspace is
parsed when somebody first looks at it. ``LOCK`` is held while that is put in its place, and while a keyspace becomes
another, so that nobody is given tables that were replaced meanwhile.

An object that was made by hand, was dropped, or was copied or pickled, follows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.logs import get_logger

from .contents import LiveDict, Part, changing

if TYPE_CHECKING:
    from .keyspace import KeyspaceMetadata
    from .table import MaterializedViewMetadata, TableMetadata

#: The dicts of a keyspace; each may name what is in those before it.
PARTS = ("user_types", "functions", "aggregates", "views", "indexes", "tables")

log = get_logger("cassandra.metadata")


def carry_on(
    before: Mapping[str, KeyspaceMetadata], after: Mapping[str, KeyspaceMetadata], everything: bool
) -> Mapping[str, KeyspaceMetadata]:
    """The keyspaces *after* a change, in the objects that they had *before* it; the dict itself is another one if
    *everything* was read, which is how programs know scylla-driver."""
    keyspaces = {name: _keyspace(before.get(name, fresh), fresh) for name, fresh in after.items()}
    if everything or not isinstance(before, LiveDict):
        return LiveDict(keyspaces)
    with changing():
        before.follow(keyspaces)
    return before


def _keyspace(known: KeyspaceMetadata, fresh: KeyspaceMetadata) -> KeyspaceMetadata:
    if known is fresh:
        return fresh
    if known._is_parsed:
        _parse(fresh)  # now, as it takes its time
    with changing():
        if known._is_parsed and _parse(fresh):  # somebody may hold what is in it
            _carry_on_relations(known, fresh)
            _carry_on_dicts(known, fresh)
        _become(known, fresh)
    return known


def _carry_on_relations(known: KeyspaceMetadata, fresh: KeyspaceMetadata) -> None:
    fresh.views = {name: _relation(known.views.get(name), view) for name, view in fresh.views.items()}
    for name, table in fresh.tables.items():
        if table is not known.tables.get(name):
            table.views = {view: fresh.views[view] for view in table.views}
    fresh.tables = {name: _relation(known.tables.get(name), table) for name, table in fresh.tables.items()}


def _carry_on_dicts(known: KeyspaceMetadata, fresh: KeyspaceMetadata) -> None:
    for name in PARTS:
        kept, now = getattr(known, name), getattr(fresh, name)
        if isinstance(kept, LiveDict):
            kept.update(now)
        else:  # a program's own
            setattr(fresh, name, Part(now))
    for name in reversed(PARTS):
        kept = getattr(known, name)
        if isinstance(kept, LiveDict):
            kept.keep(getattr(fresh, name))
            setattr(fresh, name, kept)


def _parse(fresh: KeyspaceMetadata) -> bool:
    try:
        fresh._parse()
    except Exception as error:  # who looks at it is told, too
        log.warning("What is in keyspace %s is not understood, tables of it stay as they were: %s", fresh.name, error)
        return False
    return True


def _relation(known: Any, fresh: TableMetadata | MaterializedViewMetadata) -> Any:
    if known is None or known is fresh or type(known) is not type(fresh) or known._id != fresh._id:
        return fresh
    for part in (*fresh.columns.values(), *getattr(fresh, "triggers", {}).values()):
        part.table = known
    _become(known, fresh)
    return known


def _become(known: Any, fresh: Any) -> None:
    """A copy, and not one ``__dict__`` for both: from Python 3.13 on the collector follows attributes from the object
    that they were set on alone, and would take what only *known* can still reach for garbage."""
    known.__dict__ = dict(fresh.__dict__)
