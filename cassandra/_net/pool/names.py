"""What applications of scylla-driver may call on a pool, by the names they know (L3). Nothing in the driver uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._core.routing import murmur3_token

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._net.pool.filling import Filling
    from cassandra._net.pool.slots import Slots


class PoolNames:
    """The part of ``cassandra.pool.HostConnection`` that is there for its names."""

    #: A pool outlives its connections; whoever owns it closes it.
    shutdown_on_error = False

    _lock: Any
    _slots: Slots
    _filling: Filling

    def pick(self, token: int | None = None, shard: int | None = None) -> Connection:
        raise NotImplementedError

    def borrow_connection(
        self,
        timeout: float | None = None,
        routing_key: bytes | None = None,
        keyspace: str | None = None,
        table: str | None = None,
        routing_token: Any = None,
    ) -> tuple[Connection, None]:
        """A connection for a request with this routing key or token, and None where scylla-driver has the stream id,
        which is given when a request is sent. It need not be returned. Does not wait; *timeout*, *keyspace* and *table*
        are accepted and not used. Raises NoConnectionsAvailable."""
        token = None if routing_key is None else murmur3_token(routing_key)
        if routing_token is not None:
            token = getattr(routing_token, "value", routing_token)
        return self.pick(token), None

    def return_connection(self, connection: Connection, stream_was_orphaned: bool = False) -> None:
        """Nothing is to be done."""

    def on_orphaned_stream_released(self) -> None:
        """Nothing is to be done."""

    @property
    def supports_tablet_routing(self) -> bool:
        """Whether the host tells where tablets are."""
        return any(one.features.tablets_routing_v1 or one.features.tablets_routing_v2 for one in self._slots.taking)

    @property
    def num_missing_or_needing_replacement(self) -> int:
        """How many connections are to be opened, or opened anew, until all shards have a good one."""
        with self._lock:
            return len(self._slots.wanted())

    @property
    def advanced_shardaware_block_until(self) -> float:
        """Until when, as ``time.time`` counts, the shard-aware port is not used."""
        return self._filling.blocked_until

    def disable_advanced_shard_aware(self, secs: float) -> None:
        """Do not use the shard-aware port for *secs* seconds: shards are covered by opening connections until all have
        one."""
        self._filling.block(secs)

    @property
    def max_excess_connections_per_shard_multiplier(self) -> int:
        """How many connections per shard may be open beyond those needed, while shards are covered without that
        port."""
        return self._slots.excess_per_shard

    @max_excess_connections_per_shard_multiplier.setter
    def max_excess_connections_per_shard_multiplier(self, value: int) -> None:
        self._slots.excess_per_shard = value
