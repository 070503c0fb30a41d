"""Tablets: the hosts and shards that hold a range of a ScyllaDB table (L4). The map itself is native.

A read of one table sees its state at one moment; see the head of ``tablets_map.h``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import getrandbits

from cassandra._base.objects import public
from cassandra._core.routing import Tablet, TabletMap

__all__ = ["Tablet", "Tablets", "choose_tablet_version_block", "random_tablet_version_block"]

TableKey = tuple[str, str]


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
