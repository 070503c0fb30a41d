"""Heartbeats: who is asked, what a miss does, and how they end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from cassandra._base import errors, server_errors
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.health import Heartbeat
from cassandra._net.options import ConnectionOptions
from cassandra._wire.messages.requests import OptionsMessage
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection
from tests.patience import PATIENCE, eventually, ever_longer
from tests.unit.net.pools import Net, opened, picked
from tests.unit.net.reactors import made_reactor

pytestmark = pytest.mark.long


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net()
    yield net
    net.close()


def heartbeat(net: Net, connections: Callable[[], Iterable[Connection]], **kwargs: float) -> Heartbeat:
    beat = Heartbeat(net.reactor, kwargs.get("interval", 0.03), kwargs.get("timeout", PATIENCE), connections)
    beat.start()
    return beat


def test_idle_connections_are_asked(net: Net) -> None:
    pool = net.open()
    beat = heartbeat(net, pool.get_connections)
    eventually(lambda: net.server.opcodes.count(wire.OPTIONS) >= 4)
    beat.stop()
    assert not pool.pick().is_closed and net.lost == []


def test_busy_and_closed_connections_are_not() -> None:
    class Stub:
        """A connection, and the reactor whose timer is run by hand."""

        def __init__(self, idle_seconds: float = 0.0, is_closed: bool = False) -> None:
            self.idle_seconds, self.is_closed = idle_seconds, is_closed
            self.asked: list[Any] = []
            self.timers: list[Any] = []

        def request_async(self, message: Any, on_done: Any, timeout: float, later: bool = False) -> None:
            self.asked.append((message, timeout))

        def call_later(self, delay: float, callback: Any) -> Any:
            self.timers.append((delay, callback))

    reactor: Any = Stub()
    idle, busy, closed = Stub(30.0), Stub(29.9), Stub(100.0, True)
    Heartbeat(reactor, 30, 7, lambda: [idle, busy, closed]).start()  # type: ignore[list-item]
    delay, beat = reactor.timers.pop()
    beat()
    assert delay <= 30 / 4 and len(reactor.timers) == 1, "and again"
    assert [(type(message), timeout) for message, timeout in idle.asked] == [(OptionsMessage, 7)]
    assert busy.asked == closed.asked == []


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
    pool = net.open()
    connection = pool.pick()
    beat = heartbeat(net, pool.get_connections, timeout=0.1 if how == "silence" else PATIENCE)
    eventually(lambda: net.lost)
    beat.stop()
    expected = {
        "silence": errors.OperationTimedOut,
        "error": server_errors.ServerError,
        "nonsense": errors.ConnectionException,
    }
    assert connection.is_defunct
    assert isinstance(net.lost[0][1], expected[how])
    eventually(lambda: picked(pool) not in (None, connection))


def test_one_question_at_a_time(net: Net) -> None:
    net.script = lambda connection, request: request.opcode == wire.OPTIONS and len(connection.requests) > 1
    pool = net.open()
    connection = pool.pick()
    (served,) = net.server.connections
    beat = heartbeat(net, list, timeout=0.3)
    for _ in range(3):
        net.reactor.call_soon(lambda: beat.check(connection))
    eventually(lambda: connection.is_closed)
    beat.stop()
    opcodes = [request.opcode for request in served.requests]
    assert opcodes.count(wire.OPTIONS) in (2, 3), "the handshake's, ours, and silence asks too"


def test_a_list_that_fails_does_not_stop_it(net: Net, caplog: pytest.LogCaptureFixture) -> None:
    pool = net.open()
    calls: list[int] = []

    def connections() -> list[Connection]:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("mine")
        return pool.get_connections()

    beat = heartbeat(net, connections)
    eventually(lambda: net.server.opcodes.count(wire.OPTIONS) >= 2)
    beat.stop()
    assert "could not list" in caplog.text


def test_no_heartbeats(net: Net) -> None:
    beat = heartbeat(net, list, interval=0)
    assert beat._timer is None
    beat.stop()
    beat.start()


def test_heartbeats_end_with_the_reactor() -> None:
    reactor = made_reactor()
    assert reactor.stop(30)
    beat = Heartbeat(reactor, 1.0, 1.0, list)
    beat.start()
    assert beat._timer is None


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
