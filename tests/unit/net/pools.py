"""Pools of connections to scripted servers, for the tests of pools and heartbeats."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from cassandra._base import errors
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.options import ConnectionOptions
from cassandra._net.pool import HostPool
from cassandra._wire.messages.requests import QueryMessage
from tests.fakes import wire
from tests.fakes.scripted import Script, ScriptedConnection, ScriptedServer
from tests.patience import PATIENCE
from tests.unit.net.reactors import made_reactor

QUERY = QueryMessage("q", 1)


class Host:
    """As much of a host as a pool looks at."""

    host_id = "h-1"
    is_up: bool | None = True
    sharding_info: Any = None

    def __init__(self, endpoint: DefaultEndPoint) -> None:
        self.endpoint = endpoint

    def __str__(self) -> str:
        return str(self.endpoint)


class Net:
    """A reactor, a server that can go away and come back, and pools on it."""

    def __init__(self) -> None:
        self.reactor = made_reactor()
        self.script: Script | None = None
        self.server = self._serve(0)
        self.host = Host(DefaultEndPoint(self.server.host, self.server.port))
        self.options = ConnectionOptions(connect_timeout=PATIENCE)
        self.delays: Iterable[float] = (0.01,)
        self.lost: list[tuple[Any, BaseException]] = []
        self.pools: list[HostPool] = []

    def _serve(self, port: int) -> ScriptedServer:
        return ScriptedServer(lambda connection, request: self.script and self.script(connection, request), port=port)

    def stop_server(self) -> None:
        self.server.close()

    def start_server(self) -> None:
        self.server = self._serve(self.host.endpoint.port)

    def make(self, **kwargs: Any) -> HostPool:
        pool = HostPool(
            self.host,
            0,
            reactor=self.reactor,
            options=lambda: self.options,
            delays=lambda: self.delays,
            on_defunct=lambda host, error: self.lost.append((host, error)),
            **kwargs,
        )
        self.pools.append(pool)
        return pool

    def open(self, **kwargs: Any) -> HostPool:
        pool = self.make(**kwargs)
        assert opened(pool) is None
        return pool

    def close(self) -> None:
        for pool in self.pools:
            pool.close()
        self.server.close()
        assert self.reactor.stop(PATIENCE)
        self.pools.clear()
        self.lost.clear()  # tracebacks hold on to what they went through
        del self.reactor


def opened(pool: HostPool) -> BaseException | None:
    """Open *pool*; what its callback got, once."""
    outcome: list[BaseException | None] = []
    done = threading.Event()

    def on_done(error: BaseException | None) -> None:
        outcome.append(error)
        done.set()

    pool.open(on_done)
    assert done.wait(PATIENCE)
    assert len(outcome) == 1
    return outcome[0]


def picked(pool: HostPool) -> Connection | None:
    """What it has for a request just now."""
    try:
        return pool.pick()
    except errors.NoConnectionsAvailable:
        return None


def silent(connection: ScriptedConnection, request: wire.Envelope) -> bool:
    return request.opcode == wire.QUERY
