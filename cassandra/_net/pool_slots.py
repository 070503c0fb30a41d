"""Connections of a pool by shard of its host (L3). No I/O, no lock, no clock: ``pool.py`` owns and guards it.

A host with shards has one *slot* (``_slots``) per shard, any other host a single one. Each connection is in exactly
one state::

    taking    in a slot: it accepts requests
    marked    taking, but marked for replacement (too many orphaned requests, or silent): the next connection to its
              shard takes its slot
    excess    to a shard that has a connection while another shard lacks one; kept until no shard lacks one, because a
              server that distributes connections would assign the same shard again. There are two at most
    retired   was replaced, or the sharding of the host has changed: closed when its requests in flight are completed

The first connection determines the sharding; it is reset when the last one is lost, because the host may return with
another. A connection that reports another sharding empties all slots: the host was restarted and the old connections
are about to end.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from .features import ShardingInfo, ShardPicker

if TYPE_CHECKING:
    from cassandra._net.connection import Connection

ANY: Final = -1  # in ``wanted``, while the sharding is unknown: a connection to any shard
MAX_EXCESS = 2  # of all shards together: a node has many clients
EXCESS_PER_SHARD = 3


class JoinResult(Enum):
    """Result of adding a connection."""

    ACCEPTED = "it has a slot"
    RESHARDED = "it has a slot, and the other connections are retired"
    EXCESS = "its shard has a connection, another shard lacks one"
    TOO_MANY_EXCESS = "its shard has a connection, and there are too many excess connections: all of them are closed"
    REFUSED = "no shard lacks a connection"


class SlotChange(NamedTuple):
    """Result of adding a connection; the caller drains *retired* connections and closes *surplus* ones."""

    joined: JoinResult
    retired: tuple[Connection, ...] = ()
    surplus: tuple[Connection, ...] = ()


class Slots:
    """The slots of one pool. ``taking``, ``sole`` and ``picker`` are replaced, never changed, and may be read without
    the lock, one at a time: they are not replaced together."""

    def __init__(self, shard_aware: bool = True) -> None:
        """*shard_aware*: False for a single slot, also for a host with shards."""
        #: Maximum number of excess connections per shard while shards are covered without the shard-aware port; a
        #: lower maximum of all together applies.
        self.excess_per_shard = EXCESS_PER_SHARD
        self.taking: tuple[Connection, ...] = ()
        self.sole: Connection | None = None  # the connection of a host without shards
        self.picker: ShardPicker | None = None  # for a host with shards
        self.sharding: ShardingInfo | None = None
        self.excess: set[Connection] = set()
        self.retired: set[Connection] = set()
        self._shard_aware = shard_aware
        self._marked: set[Connection] = set()
        self._slots: list[Connection | None] = [None]

    @property
    def all(self) -> tuple[Connection, ...]:
        return (*self.taking, *self.excess, *self.retired)

    # ---- reading, without the lock

    @property
    def open_count(self) -> int:
        """Number of open connections that accept requests."""
        return sum(not connection.is_closed for connection in self.taking)

    @property
    def shard(self) -> int | None:
        """The shard of all connections; None if there are several shards or no connections."""
        shards = {connection.shard for connection in self.taking}
        return shards.pop() if len(shards) == 1 else None

    @property
    def orphaned(self) -> int:
        """Number of orphaned requests on connections that accept requests."""
        return sum(connection.orphaned for connection in self.taking)

    @property
    def limited(self) -> int:
        """Number of connections that limit the requests in flight, as their server is overloaded."""
        return sum(connection.is_limited for connection in self.taking)

    @property
    def in_flight(self) -> int:
        """Number of requests without a response."""
        return sum(connection.in_flight for connection in self.all)

    @property
    def waiting(self) -> int:
        """Number of requests in flight that are not orphaned."""
        return sum(connection.waiting for connection in self.all)

    @property
    def supports_tablet_routing(self) -> bool:
        """True if the host reports tablets."""
        return any(one.features.tablets_routing_v1 or one.features.tablets_routing_v2 for one in self.taking)

    # ---- slots

    def wanted(self) -> list[int]:
        """Return the shards that lack a connection or need a replacement; ``[ANY]`` if there is no connection."""
        if not self.taking:
            return [ANY]
        return [shard for shard, one in enumerate(self._slots) if one is None or one in self._marked]

    def missing(self) -> list[int]:
        """Return the shards without a connection."""
        return [shard for shard, one in enumerate(self._slots) if one is None]

    def join(self, connection: Connection) -> SlotChange:
        """Add *connection* if there is a slot for it. The caller closes it if it is refused, and drains or closes the
        other connections in the result."""
        sharding = self.sharding_of(connection)
        retired: tuple[Connection, ...] = ()
        joined = JoinResult.ACCEPTED
        if not self.taking or _sharding_key(sharding) != _sharding_key(self.sharding):
            if retired := self.taking:
                joined = JoinResult.RESHARDED
            self._marked.clear()
            self._slots = [None] * (1 if sharding is None else sharding.shards_count)
        shard = 0 if sharding is None else connection.features.shard_id
        before = self._slots[shard]
        if before is not None and before not in self._marked:
            return self._add_excess(connection)
        if before is not None:
            self._marked.discard(before)
            retired = (before,)
        self.sharding = sharding
        self._slots[shard] = connection
        self.retired.update(retired)
        self._publish()
        return SlotChange(joined, retired, () if self.wanted() else self._take_excess())

    def sharding_of(self, connection: Connection) -> ShardingInfo | None:
        """Return the sharding that *connection* reports; None if its host gets a single slot. Any thread."""
        sharding = connection.features.sharding_info
        return sharding if self._shard_aware and sharding is not None and sharding.shards_count > 1 else None

    def _add_excess(self, connection: Connection) -> SlotChange:
        if not self.wanted():
            return SlotChange(JoinResult.REFUSED)
        if len(self.excess) >= self.max_excess:
            return SlotChange(JoinResult.TOO_MANY_EXCESS, (), self._take_excess())
        self.excess.add(connection)
        return SlotChange(JoinResult.EXCESS)

    @property
    def max_excess(self) -> int:
        """Maximum number of excess connections."""
        return min(MAX_EXCESS, self.excess_per_shard * len(self._slots))

    def make_room(self) -> Connection | None:
        """If the limit of excess connections is reached, remove one and return it; the caller closes it."""
        return self.excess.pop() if len(self.excess) >= self.max_excess and self.excess else None

    def _take_excess(self) -> tuple[Connection, ...]:
        surplus = tuple(self.excess)
        self.excess.clear()
        return surplus

    def is_marked(self, connection: Connection) -> bool:
        """True if *connection* is marked for replacement. Any thread."""
        return connection in self._marked

    def mark(self, connection: Connection) -> bool:
        """Mark *connection* for replacement. False if it has no slot or is marked already."""
        if connection in self._marked or connection not in self.taking:
            return False
        self._marked.add(connection)
        return True

    def unmark(self, connection: Connection) -> None:
        """Remove the mark for replacement from *connection*."""
        self._marked.discard(connection)

    def lose(self, connection: Connection) -> bool:
        """Remove *connection*, which was closed. True if it had a slot."""
        self.retired.discard(connection)
        self.excess.discard(connection)
        if connection not in self.taking:
            return False
        self._marked.discard(connection)
        self._slots[self._slots.index(connection)] = None
        if not any(self._slots):
            self._forget()
        self._publish()
        return True

    def clear(self) -> tuple[Connection, ...]:
        """Remove and return all connections."""
        left = self.all
        self.excess.clear()
        self.retired.clear()
        self._marked.clear()
        self._forget()
        self._publish()
        return left

    def _forget(self) -> None:
        self.sharding = None
        self._slots = [None]

    def _publish(self) -> None:
        self.taking = tuple(one for one in self._slots if one is not None)
        self.sole = self._slots[0] if self.sharding is None else None
        self.picker = None if self.sharding is None else ShardPicker(self.sharding, self._slots)


def _sharding_key(sharding: ShardingInfo | None) -> tuple[int, int] | None:
    """Return the parameters of mapping tokens to shards; other fields, such as ports, may change."""
    return None if sharding is None else (sharding.shards_count, sharding.sharding_ignore_msb)
