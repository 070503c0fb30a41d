"""Which connections a pool has, by shard of its host (L3). No I/O, no lock, no clock: ``pool.py`` owns and guards it.

A host with shards has one *place* per shard, any other host a single one. States of a connection, each in exactly one::

    taking    in a place: requests go to it
    worn      taking, and too many of its requests were given up: whoever comes for that place takes it
    excess    came to a shard that has one while another shard lacked one; kept until none lacks one, for a server that
              spreads connections would give us the same shard again
    retired   was replaced, or the host has other shards now: is closed when what it has in flight was answered

The first connection tells what shards there are; when the last one is lost, that is forgotten, for the host may come
back with others. A connection that tells of other shards than those known empties all places: the host was restarted
and the old connections are about to end.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from cassandra._net.pool.sharding import ShardingInfo, ShardPicker

if TYPE_CHECKING:
    from cassandra._net.connection import Connection

ANY: Final = -1  # what is wanted where nothing is known of the host: a connection to whatever shard
EXCESS_PER_SHARD = 3


class Joined(Enum):
    """What became of a connection that came."""

    TAKEN = "it has a place"
    RESHARDED = "it has a place, and the others lost theirs"
    EXCESS = "its shard has one, another shard lacks one"
    CROWDED = "its shard has one, and so many came without covering all shards that none of them is kept"
    REFUSED = "nothing lacked"


class SlotChange(NamedTuple):
    """What follows from a connection that came: some are to be drained, some closed."""

    joined: Joined
    retired: tuple[Connection, ...] = ()
    spare: tuple[Connection, ...] = ()


class Slots:
    """The places. ``taking``, ``sole`` and ``picker`` are replaced, never changed, and may be read without the lock,
    one at a time: they are not replaced together."""

    def __init__(self, shard_aware: bool = True) -> None:
        """*shard_aware*: False is one place whatever the host says."""
        #: How many connections per shard may be open beyond those needed, while shards are covered without that port.
        self.excess_per_shard = EXCESS_PER_SHARD
        self.taking: tuple[Connection, ...] = ()
        self.sole: Connection | None = None  # in the only place
        self.picker: ShardPicker | None = None  # for several places
        self.sharding: ShardingInfo | None = None
        self.excess: set[Connection] = set()
        self.retired: set[Connection] = set()
        self._shard_aware = shard_aware
        self._worn: set[Connection] = set()
        self._places: list[Connection | None] = [None]

    @property
    def all(self) -> tuple[Connection, ...]:
        return (*self.taking, *self.excess, *self.retired)

    # ---- looking, without the lock

    @property
    def open_count(self) -> int:
        """Connections that take requests, and are open."""
        return sum(not connection.is_closed for connection in self.taking)

    @property
    def shard(self) -> int | None:
        """The shard that all requests go to; None where there are several or none."""
        shards = {connection.shard for connection in self.taking}
        return shards.pop() if len(shards) == 1 else None

    @property
    def orphaned(self) -> int:
        """Requests that were given up and may still be answered, on connections that take others."""
        return sum(connection.orphaned for connection in self.taking)

    @property
    def in_flight(self) -> int:
        """Requests without an answer."""
        return sum(connection.in_flight for connection in self.all)

    @property
    def waiting(self) -> int:
        """Requests that somebody waits for."""
        return sum(connection.waiting for connection in self.all)

    @property
    def supports_tablet_routing(self) -> bool:
        """Whether the host tells where tablets are."""
        return any(one.features.tablets_routing_v1 or one.features.tablets_routing_v2 for one in self.taking)

    # ---- places

    def wanted(self) -> list[int]:
        """The shards that lack a connection or need another one; ``[ANY]`` when there is none at all."""
        if not self.taking:
            return [ANY]
        return [shard for shard, one in enumerate(self._places) if one is None or one in self._worn]

    def missing(self) -> list[int]:
        """The shards without a connection."""
        return [shard for shard, one in enumerate(self._places) if one is None]

    def join(self, connection: Connection) -> SlotChange:
        """Give *connection* a place, or not. Whoever asks closes one that is refused, and those to be drained or closed
        beyond that."""
        sharding = self._sharding_of(connection)
        retired: tuple[Connection, ...] = ()
        joined = Joined.TAKEN
        if not self.taking or _mapping(sharding) != _mapping(self.sharding):
            if retired := self.taking:
                joined = Joined.RESHARDED
            self._worn.clear()
            self._places = [None] * (1 if sharding is None else sharding.shards_count)
        shard = 0 if sharding is None else connection.features.shard_id
        before = self._places[shard]
        if before is not None and before not in self._worn:
            return self._put_aside(connection)
        if before is not None:
            self._worn.discard(before)
            retired = (before,)
        self.sharding = sharding
        self._places[shard] = connection
        self.retired.update(retired)
        self._publish()
        return SlotChange(joined, retired, () if self.wanted() else self._take_excess())

    def _sharding_of(self, connection: Connection) -> ShardingInfo | None:
        sharding = connection.features.sharding_info
        return sharding if self._shard_aware and sharding is not None and sharding.shards_count > 1 else None

    def _put_aside(self, connection: Connection) -> SlotChange:
        if not self.wanted():
            return SlotChange(Joined.REFUSED)
        if len(self.excess) >= self.excess_per_shard * len(self._places):
            return SlotChange(Joined.CROWDED, (), self._take_excess())
        self.excess.add(connection)
        return SlotChange(Joined.EXCESS)

    def _take_excess(self) -> tuple[Connection, ...]:
        spare = tuple(self.excess)
        self.excess.clear()
        return spare

    def is_worn(self, connection: Connection) -> bool:
        """Whether a successor is wanted already. From any thread."""
        return connection in self._worn

    def wear(self, connection: Connection) -> bool:
        """*connection* is to be replaced. False if it takes no requests, or that is known."""
        if connection in self._worn or connection not in self.taking:
            return False
        self._worn.add(connection)
        return True

    def mend(self, connection: Connection) -> None:
        """*connection* need not be replaced."""
        self._worn.discard(connection)

    def lose(self, connection: Connection) -> bool:
        """*connection* was closed. True if it took requests."""
        self.retired.discard(connection)
        self.excess.discard(connection)
        if connection not in self.taking:
            return False
        self._worn.discard(connection)
        self._places[self._places.index(connection)] = None
        if not any(self._places):
            self._forget()
        self._publish()
        return True

    def clear(self) -> tuple[Connection, ...]:
        """Take all of them out."""
        left = self.all
        self.excess.clear()
        self.retired.clear()
        self._worn.clear()
        self._forget()
        self._publish()
        return left

    def _forget(self) -> None:
        self.sharding = None
        self._places = [None]

    def _publish(self) -> None:
        self.taking = tuple(one for one in self._places if one is not None)
        self.sole = self._places[0] if self.sharding is None else None
        self.picker = None if self.sharding is None else ShardPicker(self.sharding, self._places)


def _mapping(sharding: ShardingInfo | None) -> tuple[int, int] | None:
    """What decides where tokens are; ports may change without harm."""
    return None if sharding is None else (sharding.shards_count, sharding.sharding_ignore_msb)
