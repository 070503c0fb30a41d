"""Tablets: the hosts and shards that hold a range of a ScyllaDB table, and removal of outdated ones (L4).

The map itself is native. A read of one table sees its state at one moment; see ``cpp/routing/tablet_map.h``.

Tablets may be outdated after a change of schema or hosts. A wrong tablet costs a hop and is corrected by the response;
a tablet of a dropped table would stay forever. Tables are distinguished by their ids, because a table that was dropped
and recreated has the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cassandra._base.constants import SchemaTargetType
from cassandra._base.objects import public
from cassandra._base.randomness import getrandbits
from cassandra._core.routing import Tablet, TabletMap
from cassandra._routing.schema.rows import EVERYTHING, KEYSPACE_CONTENTS, SchemaTarget
from cassandra._routing.schema.update import Definition, definition_of

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
    """Drops outdated tablets. Called with the metadata's lock held. No table is parsed for it."""

    @staticmethod
    def on_keyspaces_read(tablets: Tablets, target: SchemaTarget, before: Keyspaces, after: Keyspaces) -> None:
        """Drop the tablets of removed and recreated tables, after keyspaces were read."""
        for name in before if target.kind == EVERYTHING else [target.keyspace or ""]:
            known = before.get(name)
            if known is None:
                continue
            if _is_other(known, after.get(name)):
                tablets.drop_tablets(name)
            elif target.kind != SchemaTargetType.KEYSPACE and tablets.changes:
                for table in (*known.tables, *known.views):
                    if tablets.table_has_tablets(name, table):
                        definition, now = definition_of(known, table), definition_of(after.get(name), table)
                        if now is None or (definition is not None and definition.id != now.id):
                            tablets.drop_tablets(name, table)

    @staticmethod
    def on_table_read(
        tablets: Tablets, target: SchemaTarget, before: Definition | None, keyspace: KeyspaceMetadata | None
    ) -> None:
        """Drop the tablets of a removed, recreated or altered table, which *keyspace* has now; *before*: its former
        definition."""
        name, table = target.keyspace or "", target.name or ""
        if not tablets.table_has_tablets(name, table):
            return
        now = definition_of(keyspace, table)
        if now is None or (before is not None and (before.id != now.id or before.differs(now))):
            tablets.drop_tablets(name, table)

    @staticmethod
    def on_schema_not_read(tablets: Tablets, target: SchemaTarget) -> None:
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
