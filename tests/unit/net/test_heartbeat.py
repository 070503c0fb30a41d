"""Heartbeats: which connections are asked, and what a miss does."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.options import ConnectionOptions
from cassandra._net.pool import HostPool
from cassandra._wire.messages.requests import OptionsMessage
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection
from tests.patience import PATIENCE, eventually, ever_longer
from tests.unit.net.pools import QUERY, Net, opened, picked

pytestmark = pytest.mark.long


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net()
    yield net
    net.close()


@contextmanager
def heartbeats(net: Net, interval: float = 0.03, timeout: float = PATIENCE, **options: Any) -> Iterator[HostPool]:
    """A pool whose connections have them."""
    net.options = net.options.replace(heartbeat_interval=interval, heartbeat_timeout=timeout, **options)
    pool = net.open()
    yield pool
    pool.close()


@pytest.mark.parametrize("version", [4, 5])
def test_idle_connections_are_asked(net: Net, version: int) -> None:
    with heartbeats(net, protocol_version=version) as pool:
        connection = pool.pick()
        eventually(lambda: net.server.opcodes.count(wire.OPTIONS) >= 4)
        assert not connection.is_closed and net.lost == []
        assert connection.in_flight == connection.orphaned == 0, "they are not requests"


def test_connections_that_receive_are_not(net: Net) -> None:
    with heartbeats(net, interval=0.5) as pool:
        before, begun = net.server.opcodes.count(wire.OPTIONS), time.monotonic()
        longest = last = 0.0
        while time.monotonic() < begun + 1.5:
            pool.pick().request(QUERY, PATIENCE)
            last, longest = time.monotonic(), max(longest, time.monotonic() - (last or time.monotonic()))
            time.sleep(0.01)
        assert net.server.opcodes.count(wire.OPTIONS) == before or longest > 0.4, "unless this machine has paused"


@pytest.mark.parametrize("how", ["silence", "error", "nonsense"])
def test_a_miss_closes_the_connection(net: Net, how: str) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode != wire.OPTIONS or len(connection.requests) == 1:
            return None
        if how == "error":
            connection.answer(request, wire.ERROR, wire.error(0, "broken"))
        elif how == "nonsense":
            connection.answer(request, wire.READY)
        return True

    net.script = script
    with heartbeats(net, timeout=0.1 if how == "silence" else PATIENCE) as pool:
        connection = pool.pick()
        eventually(lambda: net.lost)
        error = net.lost[0][1]
        expected = errors.OperationTimedOut if how == "silence" else errors.ConnectionException
        text = {"silence": "no response to a heartbeat within 0.1 s", "error": "broken", "nonsense": "opcode 2"}[how]
        assert type(error) is expected and text in str(error)
        assert connection.is_defunct and connection.last_error is error
        eventually(lambda: picked(pool) not in (None, connection))


def test_any_bytes_are_a_sign_of_life(net: Net) -> None:
    """The responses to heartbeats are lost, others come."""
    net.script = lambda connection, request: request.opcode == wire.OPTIONS and len(connection.requests) > 1
    with heartbeats(net, interval=0.2, timeout=0.5) as pool:
        connection, begun = pool.pick(), time.monotonic()
        while time.monotonic() < begun + 1.5:
            for _ in range(3):
                connection.request(QUERY, PATIENCE)
            time.sleep(0.25)
        assert net.server.opcodes.count(wire.OPTIONS) >= 3 and not connection.is_closed


def test_one_at_a_time(net: Net) -> None:
    net.script = lambda connection, request: request.opcode == wire.OPTIONS and len(connection.requests) > 1
    with heartbeats(net, timeout=0.3) as pool:
        connection = pool.pick()
        (served,) = net.server.connections
        eventually(lambda: connection.is_closed)
    opcodes = [request.opcode for request in served.requests]
    assert opcodes.count(wire.OPTIONS) == 2, "the handshake's, and one heartbeat"


def test_no_heartbeats(net: Net) -> None:
    with heartbeats(net, interval=0):
        before = net.server.opcodes.count(wire.OPTIONS)
        time.sleep(0.3)
        assert net.server.opcodes.count(wire.OPTIONS) == before


def test_frozen_servers_are_noticed(net: Net) -> None:
    """The process stands still: TCP is fine, nothing answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        net.host.endpoint = DefaultEndPoint("127.0.0.1", listener.getsockname()[1])
        for seconds in ever_longer(0.1):  # the kernel has taken the connection by then
            net.options = ConnectionOptions(connect_timeout=seconds)
            if isinstance(opened(net.make()), errors.OperationTimedOut):
                return
        raise AssertionError("no time limit")


def test_options_message_is_the_heartbeat(net: Net) -> None:
    assert net.open().pick().request(OptionsMessage(), PATIENCE)
