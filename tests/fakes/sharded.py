"""A scripted server with shards: a plain port, where it chooses the shard, and one where the client's port does."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from tests.fakes import wire
from tests.fakes.scripted import SUPPORTED, Script, ScriptedConnection, ScriptedServer


class ShardedServer:
    """Tests change its attributes before they connect."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.script: Script | None = None  # asked first
        turn = itertools.count()
        self.choose: Callable[[], int] = lambda: next(turn) % self.shards
        self.port_shift = 0  # by an address translation
        self.refuses: Callable[[int], bool] = lambda shard: False  # whether it closes connections to a shard
        self.announces_port = True
        self.ignore_msb = 12
        self._lock = threading.Lock()
        self._shards: dict[ScriptedConnection, tuple[int, int]] = {}  # (shard, of how many)
        self.plain = ScriptedServer(self._answer)
        self.aware = ScriptedServer(self._answer)

    def shard_of(self, connection: ScriptedConnection) -> tuple[int, int]:
        """Its shard, and how many there were when it came."""
        with self._lock:
            if connection not in self._shards:
                if connection.server is self.plain:
                    shard = self.choose()
                else:
                    shard = (connection.socket.getpeername()[1] + self.port_shift) % self.shards
                self._shards[connection] = shard, self.shards
            return self._shards[connection]

    def _answer(self, connection: ScriptedConnection, request: wire.Envelope) -> Any:
        shard, shards = self.shard_of(connection)
        if self.refuses(shard):
            connection.close()
            return True
        if self.script is not None and self.script(connection, request):
            return True
        if request.opcode != wire.OPTIONS:
            return False
        options = {
            **SUPPORTED,
            "SCYLLA_SHARD": [str(shard)],
            "SCYLLA_NR_SHARDS": [str(shards)],
            "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
            "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
            "SCYLLA_SHARDING_IGNORE_MSB": [str(self.ignore_msb)],
        }
        if self.announces_port:
            options["SCYLLA_SHARD_AWARE_PORT"] = [str(self.aware.port)]
        connection.version = request.version
        connection.answer(request, wire.SUPPORTED, wire.string_multimap(options))
        return True

    @property
    def came(self) -> list[int]:
        """The shards of all connections, those to the plain port first."""
        with self._lock:
            ordered = [*self.plain.connections, *self.aware.connections]
            return [self._shards[one][0] for one in ordered if one in self._shards]

    def drop_connections(self) -> None:
        self.plain.drop_connections()
        self.aware.drop_connections()

    def close(self) -> None:
        self.plain.close()
        self.aware.close()
