"""Tablets: the hosts and shards that hold a range of a ScyllaDB table, and removal of outdated ones (L4).

The map itself is native. A read of one table sees its state at one moment; see ``cpp/routing/tablet_map.h``.

Tablets may be outdated after a change of schema or hosts. A wrong tablet costs a hop and is corrected by the response;
a tablet of a dropped table would stay forever. Tables are distinguished by their ids, because a table that was dropped
and recreated has the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaTargetType
from cassandra._base.objects import public
from cassandra._base.randomness import getrandbits
from cassandra._core.routing import Tablet, TabletMap
from cassandra._routing.schema.parser import SchemaRows
from cassandra._routing.schema.queries import EVERYTHING, KEYSPACE_CONTENTS, SchemaTarget

if TYPE_CHECKING:
    from cassandra._routing.schema.model import KeyspaceMetadata

    from .metadata import Topology

__all__ = ["Tablet", "Tablets", "choose_tablet_version_block", "random_tablet_version_block"]

TableKey = tuple[str, str]
Keyspaces = Mapping[str, "KeyspaceMetadata"]


@public("cassandra.tablets")
class Tablets(TabletMap):
    """The known tablets of all tables, by keyspace and table, as reported by servers.

    Safe to use from any thread: each call is atomic. An added tablet replaces all tablets that it overlaps, in one
    step: no look-up sees a mixture. Results of look-ups do not change. Tablets are values: a look-up makes an object
    that is equal to the one that was added.

    ::

        tablets = Tablets({})
        tablets.add_tablet("shop", "orders", Tablet(-100, 100, [(host_id, shard)]))
        tablets.get_tablet_for_key("shop", "orders", Murmur3Token(7)).replicas
    """

    def __init__(self, tablets: Mapping[TableKey, Iterable[Tablet]]) -> None:
        """*tablets*: initial tablets, in any order; a later one replaces earlier ones that it overlaps."""
        self._lists: tuple[int, dict[TableKey, list[Tablet]]] = (0, {})
        for (keyspace, table), known in tablets.items():
            self.replace_tablets(keyspace, table, known)

    @property
    def _tablets(self) -> dict[TableKey, list[Tablet]]:
        """Copy of all tablets, sorted by last token. Made on use, and again after a change."""
        changes, lists = self._lists
        if changes != self.changes:
            changes, lists = self._lists = self.snapshot()
        return lists

    @property
    def _first_tokens(self) -> dict[TableKey, list[int]]:
        return {key: [tablet.first_token for tablet in tablets] for key, tablets in self._tablets.items()}

    @property
    def _last_tokens(self) -> dict[TableKey, list[int]]:
        return {key: [tablet.last_token for tablet in tablets] for key, tablets in self._tablets.items()}


@public("cassandra.tablets")
def choose_tablet_version_block(tablet_version: int) -> int:
    """Return a block of a tablet version for a request: four of its bits in the lower half, their index in the upper
    half.

    The index is random, so that many requests together contain the whole version.
    """
    block = getrandbits(4)
    return block << 4 | (tablet_version >> 4 * block & 0xF)


@public("cassandra.tablets")
def random_tablet_version_block() -> int:
    """Return a random block for a request with an unknown tablet: it most probably does not match, so that the server
    sends the tablet."""
    return getrandbits(8)


# ---- removal of outdated tablets


class TabletCleaner:
    """Ids of tables from the last read of the schema. Guarded by the metadata's lock."""

    def __init__(self) -> None:
        self._known: dict[TableKey, Any] = {}
        self._rows: SchemaRows | None = None  # source of the ids, parsed on use: most applications never need them

    @property
    def _ids(self) -> dict[TableKey, Any]:
        """Ids of all tables and views as last read."""
        if self._rows is not None:
            self._known, self._rows = _ids_of(self._rows), None
        return self._known

    def on_schema_read(
        self, tablets: Tablets, target: SchemaTarget, rows: SchemaRows, before: Keyspaces, after: Keyspaces
    ) -> None:
        """Drop the tablets of removed, recreated and altered tables, after *target* was read as *rows*."""
        for keyspace in before if target.kind == EVERYTHING else [target.keyspace or ""]:
            if keyspace in before and _is_other(before[keyspace], after.get(keyspace)):
                tablets.drop_tablets(keyspace)
        if target.kind == EVERYTHING and not tablets.changes:  # no tablet was ever added
            self._rows = {part: rows.get(part, ()) for part in ("tables", "views")}
        elif target.kind == SchemaTargetType.TABLE:
            self._drop_if_outdated(tablets, target, rows, before, after)
        elif target.kind in (EVERYTHING, KEYSPACE_CONTENTS) or target.keyspace not in after:
            self._drop_outdated(tablets, None if target.kind == EVERYTHING else target.keyspace, _ids_of(rows))

    def _drop_outdated(self, tablets: Tablets, keyspace: str | None, ids: dict[TableKey, Any]) -> None:
        """Compare the ids of all tables of *keyspace*, or of all keyspaces, and drop outdated tablets."""
        remembered = self._ids
        for key, known in remembered.copy().items():
            if keyspace in (None, key[0]) and ids.get(key) != known:
                tablets.drop_tablets(*key)
                del remembered[key]
        remembered.update(ids)

    def _drop_if_outdated(
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

    def on_schema_not_read(self, tablets: Tablets, target: SchemaTarget) -> None:
        """Drop the tablets of *target*, which was altered or dropped (everything: possibly) and is not read again."""
        if target.kind == EVERYTHING:
            for keyspace in {keyspace for keyspace, _ in tablets.snapshot()[1]}:
                tablets.drop_tablets(keyspace)
        elif target.keyspace is not None and target.kind in (SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS):
            tablets.drop_tablets(target.keyspace)
        elif target.keyspace is not None and target.kind == SchemaTargetType.TABLE:
            tablets.drop_tablets(target.keyspace, target.name)

    @staticmethod
    def on_hosts_changed(tablets: Tablets, before: Topology, after: Topology) -> None:
        """Drop the tablets of removed hosts."""
        for host_id in before.by_id.keys() - after.by_id.keys():
            tablets.drop_tablets_by_host_id(host_id)


def _is_other(before: KeyspaceMetadata, after: KeyspaceMetadata | None) -> bool:
    """True if a keyspace was removed or its replication has changed."""
    return after is None or before.replication_strategy != after.replication_strategy


def _ids_of(rows: SchemaRows) -> dict[TableKey, Any]:
    tables: Iterable[Mapping[str, Any]] = rows.get("tables", ())
    views: Iterable[Mapping[str, Any]] = rows.get("views", ())
    ids = {(row["keyspace_name"], row["table_name"]): row.get("id") for row in tables}
    return ids | {(row["keyspace_name"], row["view_name"]): row.get("id") for row in views}


def _text_of(keyspaces: Keyspaces, key: TableKey) -> str | None:
    """Return the statement that creates a table or view; None if it is not known."""
    keyspace = keyspaces.get(key[0])
    if keyspace is None:
        return None
    found = keyspace.tables.get(key[1]) or keyspace.views.get(key[1])
    return None if found is None else found.as_cql_query()
