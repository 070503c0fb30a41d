"""The keyspace of a pool, and of its connections, however many change it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._net.connection import Connection
from cassandra._net.options import ConnectionOptions
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection
from tests.patience import PATIENCE, eventually
from tests.unit.net.pools import Net, opened, picked, silent


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net()
    yield net
    net.close()


def test_set_keyspace(net: Net) -> None:
    pool = net.open()
    outcome: list[Any] = []
    pool.set_keyspace("ks", outcome.append)
    eventually(lambda: outcome)
    assert outcome == [[]]
    first = pool.pick()
    assert (pool.keyspace, first.keyspace) == ("ks", "ks")
    net.server.drop_connections()
    eventually(lambda: picked(pool) not in (None, first))  # of which the lost one is counted until that is noticed
    assert pool.pick().keyspace == "ks", "connections to come use it too"
    pool.set_keyspace("ks", outcome.append)
    assert outcome == [[], []], "at once when there is nothing to do"


@pytest.mark.parametrize("answer", ["refused", "none"])
def test_set_keyspace_fails(net: Net, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """The connection is still in the previous keyspace, or in an unknown one: the pool closes it, and opens another
    when the keyspace can be used."""
    usable = threading.Event()

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY and b"late" in request.body and not usable.is_set():
            if answer == "refused":
                connection.answer(request, wire.ERROR, wire.error(0x2200, "no such keyspace"))
            return True
        return None

    net.script = script
    pool = net.open(keyspace="good")
    first = pool.pick()
    if answer == "none":
        monkeypatch.setattr(Connection.set_keyspace_async, "__defaults__", (0.05,))
        net.options = ConnectionOptions(connect_timeout=2)  # for a connection whose USE is not answered, either
    outcome: list[Any] = []
    pool.set_keyspace("late", outcome.append)
    eventually(lambda: outcome)
    assert len(outcome) == 1 and len(outcome[0]) == 1
    assert isinstance(outcome[0][0], errors.InvalidRequest if answer == "refused" else errors.OperationTimedOut)
    assert first.is_closed and pool.keyspace == "late"
    usable.set()
    eventually(lambda: pool.open_count == 1)
    assert pool.pick().keyspace == "late"


def test_set_keyspace_from_many_threads(net: Net) -> None:
    """The connection uses the pool's keyspace in the end, whichever call is last."""
    pool = net.open()
    names = [f"k{number}" for number in range(8)]
    ready = threading.Barrier(len(names))
    outcome: list[Any] = []

    def use(name: str) -> None:
        ready.wait(30)
        for _ in range(5):
            pool.set_keyspace(name, outcome.append)

    threads = [threading.Thread(target=use, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    eventually(lambda: len(outcome) == 5 * len(names))
    assert not any(outcome)
    assert pool.pick().keyspace == pool.keyspace == net.server.connections[-1].keyspace


def test_set_keyspace_while_one_with_the_old_one_joins(net: Net) -> None:
    """USE has been answered, the connection has not joined: it must not join with the keyspace of before."""
    pool = net.make(keyspace="old")
    join = pool._slots.join
    outcome: list[Any] = []

    joined: list[str | None] = []
    pool._slots.join = lambda connection: joined.append(connection.keyspace) or join(connection)  # type: ignore[method-assign]
    net.script = lambda connection, request: (
        request.opcode == wire.QUERY and b"old" in request.body and pool.set_keyspace("new", outcome.append)
    )
    assert opened(pool) is None
    assert joined == ["new"] and pool.pick().keyspace == "new"
    assert outcome == [[]]


def test_set_keyspace_while_connecting(net: Net) -> None:
    """The connection was opened with the old keyspace; it joins with the new one."""
    started, release = threading.Event(), threading.Event()

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.STARTUP:
            started.set()
            assert release.wait(PATIENCE)
        return None

    net.script = script
    pool = net.make(keyspace="old")
    outcome: list[Any] = []
    pool.open(outcome.append)
    assert started.wait(PATIENCE)
    pool.set_keyspace("new", outcome.append)
    assert outcome == [[]]
    release.set()
    eventually(lambda: len(outcome) == 2)
    assert outcome[1] is None
    assert pool.pick().keyspace == "new"


def test_set_keyspace_on_a_connection_that_is_lost(net: Net) -> None:
    net.script = silent
    pool = net.open()
    outcome: list[Any] = []
    pool.set_keyspace("ks", outcome.append)
    eventually(lambda: wire.QUERY in net.server.opcodes)
    net.script = None
    net.server.drop_connections()
    eventually(lambda: outcome)
    assert outcome == [[]]
    eventually(lambda: (connection := picked(pool)) and connection.keyspace == "ks")
