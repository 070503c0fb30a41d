"""Tablets: which hosts and shards hold a range of a ScyllaDB table (L4). The map itself is native.

What is read of one table is one moment of it; see the head of ``tablets_map.h``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import getrandbits

from cassandra._base.public import public
from cassandra._core.routing import Tablet, TabletMap

__all__ = ["Tablet", "Tablets", "choose_tablet_version_block", "random_tablet_version_block"]

TableKey = tuple[str, str]


@public("cassandra.tablets")
class Tablets(TabletMap):
    """The tablets of all tables, as far as servers have told of them. Keyspace and table are the key of everything.

    Safe to use from any thread: each call is one step to all others. A tablet that is added takes the place
    of all those it overlaps, at once: nobody finds a mixture. What was looked up stays as it is. Tablets are values: a
    look-up makes an object that is equal to the one that was added.

    ::

        tablets = Tablets({})
        tablets.add_tablet("shop", "orders", Tablet(-100, 100, [(host_id, shard)]))
        tablets.get_tablet_for_key("shop", "orders", Murmur3Token(7)).replicas
    """

    def __init__(self, tablets: Mapping[TableKey, Iterable[Tablet]]) -> None:
        """*tablets*: what is known already; in any order, a later one in place of earlier ones that it overlaps."""
        self._lists: tuple[int, dict[TableKey, list[Tablet]]] = (0, {})
        for (keyspace, table), known in tablets.items():
            self.replace_tablets(keyspace, table, known)

    @property
    def _tablets(self) -> dict[TableKey, list[Tablet]]:
        """A copy for whoever wants to look at everything, by last token. Made when asked for, after a change anew."""
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
    """What a request shows of the version it knows: four bits in the lower half, which ones in the upper half.

    They are chosen by chance, so that many requests show all of it.
    """
    block = getrandbits(4)
    return block << 4 | (tablet_version >> 4 * block & 0xF)


@public("cassandra.tablets")
def random_tablet_version_block() -> int:
    """For a request whose tablet is not known: most probably not what the server has, which then tells."""
    return getrandbits(8)
