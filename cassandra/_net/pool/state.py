"""What people, metrics and error texts ask of a pool (L3). Nothing here changes it or takes a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra._core.transport import Limit
    from cassandra._net.connection import Connection
    from cassandra._net.pool.slots import Slots

TOLD_APART = 4  # connections, in error texts; of more there is only a sum


class PoolState:
    """The part of ``cassandra.pool.HostConnection`` that only looks."""

    host: Any
    keyspace: str | None
    is_shutdown: bool
    limit: Limit | None
    _shares_limit: bool
    _last_error: BaseException | None
    _connections: tuple[Connection, ...]
    _slots: Slots

    @property
    def open_count(self) -> int:
        return sum(not connection.is_closed for connection in self._connections)

    @property
    def shard(self) -> int | None:
        """The shard that all requests go to; None where there are several or none."""
        shards = {connection.shard for connection in self._connections}
        return shards.pop() if len(shards) == 1 else None

    @property
    def orphaned(self) -> int:
        """Requests that were given up and may still be answered, on connections that take others."""
        return sum(connection.orphaned for connection in self._connections)

    @property
    def in_flight(self) -> int:
        return sum(connection.in_flight for connection in self._slots.all)

    @property
    def waiting(self) -> int:
        """Requests that somebody waits for."""
        return sum(connection.waiting for connection in self._slots.all)

    def state(self) -> dict[str, Any]:
        """What is open and in flight, for people and metrics. Lists have an entry per connection; of a host with shards
        also which shard each leads to, and how many there are."""
        connections, sharding = self._connections, self._slots.sharding
        state = {
            "shutdown": self.is_shutdown,
            "open_count": self.open_count,
            "in_flights": [connection.in_flight for connection in connections],
            "orphaned_requests": [connection.orphaned for connection in connections],
            "retired_count": len(self._slots.retired),
            "keyspace": self.keyspace,
            "last_error": self._last_error,
        }
        if sharding is not None:
            state["shards_count"] = sharding.shards_count
            state["shards"] = [connection.shard for connection in connections]
        return state

    get_state = state

    def load(self) -> str:
        """What is in flight and what the limits are, for error texts."""
        connections = self._connections
        texts = [connection.load() for connection in connections] or ["no connection is open"]
        if len(connections) > TOLD_APART:
            allowed = sum(one.channel.max_requests for one in connections if one.channel is not None)
            busy = sum(connection.in_flight for connection in connections)
            texts = [f"{busy} of {allowed} requests in flight on the connections to {len(connections)} shards"]
            if self.orphaned:
                texts[0] += f", {self.orphaned} of them given up and still unanswered"
        retired = tuple(self._slots.retired)
        if retired:
            texts.append(f"{sum(one.in_flight for one in retired)} on connections that are being replaced")
        if self.limit is not None and not self._shares_limit:
            texts.append(f"{self.limit.in_flight} of {self.limit.maximum} to the host")
        return ", ".join(texts)

    def __repr__(self) -> str:
        return f"<HostConnection {self.host}: {self.open_count} open, {self.in_flight} in flight>"
