"""Which tablets cannot be trusted any more when the schema or the hosts changed (L4).

A tablet that is wrong costs a hop, and is corrected by the answer; one whose table is gone stays for ever. Tables are
told apart by their ids: one that was dropped and created again has the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaTargetType

from ..schema.parser import SchemaRows
from ..schema.target import EVERYTHING, KEYSPACE_CONTENTS, SchemaTarget
from .tablets import TableKey, Tablets

if TYPE_CHECKING:
    from ..schema.keyspace import KeyspaceMetadata
    from ..topology import Topology

Keyspaces = Mapping[str, "KeyspaceMetadata"]


class TabletUpkeep:
    """What is remembered of tables from one reading of the schema to the next. Guarded by the metadata's lock."""

    def __init__(self) -> None:
        self._known: dict[TableKey, Any] = {}
        self._rows: SchemaRows | None = None  # to know the ids from; most applications never need them

    @property
    def _ids(self) -> dict[TableKey, Any]:
        """Ids of all tables and views, as they were last read."""
        if self._rows is not None:
            self._known, self._rows = _ids_of(self._rows), None
        return self._known

    def schema_read(
        self, tablets: Tablets, target: SchemaTarget, rows: SchemaRows, before: Keyspaces, after: Keyspaces
    ) -> None:
        """*target* was read as *rows*: drop the tablets of what is gone, was made anew, or was altered."""
        for keyspace in before if target.kind == EVERYTHING else [target.keyspace or ""]:
            if keyspace in before and _is_other(before[keyspace], after.get(keyspace)):
                tablets.drop_tablets(keyspace)
        if target.kind == EVERYTHING and not tablets.changes:  # nothing was ever learned
            self._rows = {part: rows.get(part, ()) for part in ("tables", "views")}
        elif target.kind == SchemaTargetType.TABLE:
            self._table_read(tablets, target, rows, before, after)
        elif target.kind in (EVERYTHING, KEYSPACE_CONTENTS) or target.keyspace not in after:
            self._tables_read(tablets, None if target.kind == EVERYTHING else target.keyspace, _ids_of(rows))

    def _tables_read(self, tablets: Tablets, keyspace: str | None, ids: dict[TableKey, Any]) -> None:
        """All tables of *keyspace*, or of all keyspaces."""
        remembered = self._ids
        for key, known in remembered.copy().items():
            if keyspace in (None, key[0]) and ids.get(key) != known:
                tablets.drop_tablets(*key)
                del remembered[key]
        remembered.update(ids)

    def _table_read(
        self, tablets: Tablets, target: SchemaTarget, rows: SchemaRows, before: Keyspaces, after: Keyspaces
    ) -> None:
        key = (target.keyspace or "", target.name or "")
        known = self._ids.pop(key, None)
        ids = _ids_of(rows)
        self._ids.update(ids)
        if not tablets.table_has_tablets(*key):
            return
        if key not in ids or known not in (None, ids[key]) or _text_of(before, key) not in (None, _text_of(after, key)):
            tablets.drop_tablets(*key)

    def not_read(self, tablets: Tablets, target: SchemaTarget) -> None:
        """*target* was altered or dropped, or (everything) may have been, and nobody reads what it is now."""
        if target.kind == EVERYTHING:
            for keyspace in {keyspace for keyspace, _ in tablets.snapshot()[1]}:
                tablets.drop_tablets(keyspace)
        elif target.keyspace is not None and target.kind in (SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS):
            tablets.drop_tablets(target.keyspace)
        elif target.keyspace is not None and target.kind == SchemaTargetType.TABLE:
            tablets.drop_tablets(target.keyspace, target.name)

    @staticmethod
    def hosts_changed(tablets: Tablets, before: Topology, after: Topology) -> None:
        """Drop the tablets of hosts that are gone."""
        for host_id in before.by_id.keys() - after.by_id.keys():
            tablets.drop_tablets_by_host_id(host_id)


def _is_other(before: KeyspaceMetadata, after: KeyspaceMetadata | None) -> bool:
    """Whether a keyspace is gone, or is replicated in another way."""
    return after is None or before.replication_strategy != after.replication_strategy


def _ids_of(rows: SchemaRows) -> dict[TableKey, Any]:
    tables: Iterable[Mapping[str, Any]] = rows.get("tables", ())
    views: Iterable[Mapping[str, Any]] = rows.get("views", ())
    ids = {(row["keyspace_name"], row["table_name"]): row.get("id") for row in tables}
    return ids | {(row["keyspace_name"], row["view_name"]): row.get("id") for row in views}


def _text_of(keyspaces: Keyspaces, key: TableKey) -> str | None:
    """The statement that creates a table or view; None if it is not known."""
    keyspace = keyspaces.get(key[0])
    if keyspace is None:
        return None
    found = keyspace.tables.get(key[1]) or keyspace.views.get(key[1])
    return None if found is None else found.as_cql_query()
