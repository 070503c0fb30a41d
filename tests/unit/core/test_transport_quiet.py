"""Channels whose peer sends nothing: calls of the quiet watcher, and the waiting requests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._core.memory import MemoryPool
from cassandra._core.transport import Reactor
from tests.fakes.scripted import ScriptedServer
from tests.unit.core.transport_client import (
    answer_of,
    ask,
    connect,
    echo,
    eventually,
    on_reactor,
    running_reactor,
    silent,
)

pytestmark = pytest.mark.usefixtures("no_leaks")

SHORT = 0.05


@pytest.fixture(params=["epoll", "poll"])
def reactor(request: pytest.FixtureRequest) -> Iterator[Reactor]:
    with running_reactor(request.param) as reactor:
        yield reactor


def test_a_silent_peer_is_told_of_with_the_requests_that_wait(reactor: Reactor) -> None:
    told: list[Any] = []
    with ScriptedServer(silent) as server:
        channel, _ = connect(reactor, server.address)
        channel.watch_quiet(SHORT, lambda: told.append(reactor.in_reactor()))
        assert channel.waiting() == []
        first, second = ask(channel, attempt=3), ask(channel, attempt=4)
        eventually(lambda: told)
        assert told == [True]
        assert channel.waiting() == [(first, 3), (second, 4)]
        channel.close()
        eventually(lambda: not channel.waiting())


def test_a_peer_that_answers_is_not(reactor: Reactor) -> None:
    told: list[Any] = []
    with ScriptedServer(echo) as server:
        channel, _ = connect(reactor, server.address)
        channel.watch_quiet(60.0, lambda: told.append(None))
        for number in range(100):
            assert answer_of(ask(channel, b"%d" % number)) == b"%d" % number
        on_reactor(reactor, lambda: None)
        assert told == []


def test_errors_of_the_quiet_watcher_do_not_close_the_channel(
    reactor: Reactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda info: raised.append(info.exc_value))

    def watcher() -> None:
        raise ValueError("watcher")

    with ScriptedServer(silent) as server:
        channel, _ = connect(reactor, server.address)
        channel.watch_quiet(SHORT, watcher)
        ask(channel)
        eventually(lambda: raised)
        assert [str(error) for error in raised] == ["watcher"]
        assert not channel.closed


def test_quiet_watcher_is_not_called_while_reading_is_paused() -> None:
    """A full strict pool: the connection is not read from, and its peer is not silent."""
    pool = MemoryPool(1 << 20, strict=True)
    reactor = Reactor(pool=pool)
    told: list[Any] = []
    try:
        with ScriptedServer(echo) as server:
            channel, _ = connect(reactor, server.address)
            buffer = pool.reserve(1 << 20)
            channel.watch_quiet(SHORT, lambda: told.append(None))
            operation = ask(channel, b"hello")
            eventually(lambda: reactor.stats()["paused"])
            assert not operation._wait(6 * SHORT)
            assert told == []
            buffer.abort()
            assert answer_of(operation) == b"hello"
            assert told == []
    finally:
        assert reactor.stop(60.0)


def test_watch_quiet_on_a_closed_channel_does_nothing(reactor: Reactor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        channel, handler = connect(reactor, listener.getsockname())
        channel.close()
        eventually(handler.closed.is_set)
        channel.watch_quiet(SHORT, lambda: None)
        assert channel.waiting() == []
