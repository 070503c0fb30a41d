"""Pools of connections to scripted servers that have shards."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from cassandra._core.routing import ShardingInfo
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.options import ConnectionOptions
from cassandra._net.pool import HostPool
from cassandra._wire.messages.requests import QueryMessage
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection
from tests.fakes.sharded import ShardedServer
from tests.patience import PATIENCE, eventually
from tests.unit.net.reactors import made_reactor

QUERY = QueryMessage("q", 1)
NEVER = 3600.0
Held = list[tuple[ScriptedConnection, wire.Envelope]]


class Net:
    """A reactor, a server with shards, and pools on it."""

    def __init__(self, shards: int) -> None:
        self.reactor = made_reactor()
        self.server = ShardedServer(shards)
        self.host: Any = SimpleNamespace(
            endpoint=DefaultEndPoint("127.0.0.1", self.server.plain.port), host_id="h-1", sharding_info=None
        )
        self.options = ConnectionOptions(connect_timeout=PATIENCE, protocol_version=5)
        self.delays: Iterable[float] = (0.01,)
        self.lost: list[BaseException] = []
        self.told = 0
        self.pools: list[HostPool] = []

    def make(self, **kwargs: Any) -> HostPool:
        def on_room(host: Any) -> None:
            self.told += 1

        pool = HostPool(
            self.host,
            0,
            reactor=self.reactor,
            options=lambda: self.options,
            delays=lambda: self.delays,
            on_defunct=lambda host, error: self.lost.append(error),
            on_room=on_room,
            **kwargs,
        )
        self.pools.append(pool)
        return pool

    def open(self, **kwargs: Any) -> HostPool:
        pool = self.make(**kwargs)
        done = threading.Event()
        outcome: list[BaseException | None] = []

        def on_done(error: BaseException | None) -> None:
            outcome.append(error)
            done.set()

        pool.open(on_done)
        assert done.wait(PATIENCE)
        assert outcome == [None]
        return pool

    def open_all(self, **kwargs: Any) -> HostPool:
        pool = self.open(**kwargs)
        eventually(lambda: covered(pool, self.server.shards))
        return pool

    def close(self) -> None:
        for pool in self.pools:
            pool.close()
        self.server.close()
        assert self.reactor.stop(PATIENCE)
        self.pools.clear()
        self.lost.clear()  # tracebacks hold on to what they went through
        del self.reactor


def shards(pool: HostPool) -> list[int | None]:
    return [connection.shard for connection in pool.get_connections()]


def covered(pool: HostPool, count: int) -> bool:
    """Whether there is a connection to each shard, as many as the pool knows of, and nothing else is open or under way.
    While it is told one by one that its connections are lost, what is left looks like a host of fewer shards."""
    slots = pool._slots
    idle = not pool._openings and not slots.excess and not slots.retired
    return idle and not slots.wanted() and shards(pool) == list(range(count))


def lose(pool: HostPool, shard: int) -> None:
    """Lose its connection; the pool knows of it."""
    connection = pool.pick(None, shard)
    assert connection.shard == shard
    connection.close()
    eventually(lambda: connection not in pool.get_connections())


def token_of(shard: int, sharding: ShardingInfo) -> int:
    """One that this shard owns."""
    chance = random.Random(shard)
    return next(t for t in iter(lambda: chance.getrandbits(63), None) if sharding.shard_id_from_token(t) == shard)


def silent(connection: ScriptedConnection, request: wire.Envelope) -> bool:
    return request.opcode == wire.QUERY


def open_sockets(net: Net) -> int:
    return sum(
        one.socket.fileno() >= 0 for server in (net.server.plain, net.server.aware) for one in server.connections
    )
