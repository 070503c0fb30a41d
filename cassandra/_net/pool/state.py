"""State of a pool for users, metrics and error texts (L3). Reads only, without a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cassandra._net.pool.pool import HostPool

TOLD_APART = 4  # maximum number of connections listed in error texts; for more, only a sum is given


def state_of(pool: HostPool) -> dict[str, Any]:
    """Return connections and requests in flight, for users and metrics. Lists have an entry per connection. For a host
    with shards there are also the shard of each connection and the number of shards. ``orphan_requests`` are sets of
    the right size, not of stream ids."""
    connections, sharding = pool._taking, pool._slots.sharding
    state = {
        "shutdown": pool.is_shutdown,
        "open_count": pool.open_count,
        "in_flights": [connection.in_flight for connection in connections],
        "orphan_requests": [set(range(connection.orphaned)) for connection in connections],
        "orphaned_requests": [connection.orphaned for connection in connections],
        "retired_count": len(pool._slots.retired),
        "keyspace": pool.keyspace,
        "last_error": pool._last_error,
    }
    if sharding is not None:
        state["shards_count"] = sharding.shards_count
        state["shards"] = [connection.shard for connection in connections]
    return state


def load_of(pool: HostPool) -> str:
    """Return the requests in flight and the limits as text, for errors."""
    connections = pool._taking
    texts = [connection.load() for connection in connections] or ["no connection is open"]
    if len(connections) > TOLD_APART:
        allowed = sum(one.channel.max_requests for one in connections if one.channel is not None)
        busy = sum(connection.in_flight for connection in connections)
        texts = [f"{busy} of {allowed} requests in flight on the connections to {len(connections)} shards"]
        if pool.orphaned:
            texts[0] += f", {pool.orphaned} of them orphaned (no response yet)"
    retired = tuple(pool._slots.retired)
    if retired:
        texts.append(f"{sum(one.in_flight for one in retired)} on connections that are being replaced")
    if pool.limit is not None and not pool._shares_limit:
        texts.append(f"{pool.limit.in_flight} of {pool.limit.maximum} to the host")
    return ", ".join(texts)
