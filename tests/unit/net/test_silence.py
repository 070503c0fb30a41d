"""Silent connections and suspects: slow is not silent, who is relieved by whom, and how it ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._core.transport import Operation
from cassandra._net import health
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.options import ConnectionOptions
from cassandra._net.pool import HostPool
from cassandra._routing.host import Host
from cassandra._wire.messages.requests import QueryMessage
from cassandra.policies import SimpleConvictionPolicy
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.sharded import ShardedServer
from tests.patience import PATIENCE, eventually
from tests.unit.net.reactors import made_reactor

pytestmark = pytest.mark.long

QUERY = QueryMessage("q", 1)


class Node:
    """A server whose process stands still, or whose network is cut, when the test says so."""

    def __init__(self) -> None:
        self.runs = threading.Event()
        self.runs.set()
        self.lost: set[ScriptedConnection] = set()  # their packets get nowhere any more
        self.slow: Callable[[wire.Envelope], bool] = lambda request: False
        self.server = ScriptedServer(self.script)

    def script(self, connection: ScriptedConnection, request: wire.Envelope) -> bool:
        self.runs.wait(PATIENCE)
        return connection in self.lost or self.slow(request)

    def cut(self) -> None:
        """What is open is dead; new connections work."""
        with self.server.lock:
            self.lost.update(self.server.connections)

    def close(self) -> None:
        self.runs.set()
        self.server.close()


class Net:
    def __init__(self) -> None:
        self.reactor = made_reactor()
        self.node = Node()
        self.host = self.host_at(self.node.server.address)
        self.options = ConnectionOptions(connect_timeout=PATIENCE)
        self.reported: list[BaseException] = []
        self.suspects: list[Any] = []
        self.pools: list[HostPool] = []

    @staticmethod
    def host_at(address: tuple[str, int]) -> Host:
        host = Host(DefaultEndPoint(*address), SimpleConvictionPolicy)
        host.set_up()
        return host

    def open(self, host: Host | None = None, **kwargs: Any) -> HostPool:
        pool = HostPool(
            host or self.host, 0, reactor=self.reactor, options=lambda: self.options, delays=lambda: (0.01,),
            on_defunct=lambda host, error: self.reported.append(error), on_suspect=self.suspects.append,
            **{"silence_limit": PATIENCE, **kwargs},
        )  # fmt: skip
        self.pools.append(pool)
        opened: list[Any] = []
        pool.open(opened.append)
        assert eventually(lambda: opened) == [None]
        return pool

    def close(self) -> None:
        for pool in self.pools:
            pool.close()
        self.node.close()
        assert self.reactor.stop(PATIENCE)
        self.pools.clear()
        self.reported.clear()
        self.suspects.clear()
        self.host._watch = None
        del self.reactor


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net()
    yield net
    net.close()


class Waiting(Operation):
    """A request, and which of its attempts heard that their peer is silent."""

    def __init__(self) -> None:
        super().__init__()
        self.silent: list[int] = []

    def _on_silent(self, attempt: int) -> None:
        self.silent.append(attempt)


def ask(connection: Connection, attempt: int = 0) -> Waiting:
    """Send a request, and do not wait for it."""
    operation = Waiting()
    connection.submit(QUERY.encode(connection.protocol_version), operation, attempt, PATIENCE)
    return operation


def answered(operation: Operation) -> bool:
    return operation._wait(PATIENCE) and operation._take() is not None


def test_a_node_that_stands_still_and_goes_on(net: Net, caplog: pytest.LogCaptureFixture) -> None:
    pool = net.open()
    connection = pool.pick()
    net.node.runs.clear()
    operation = ask(connection, attempt=7)
    eventually(lambda: net.suspects)  # told after the host is one
    assert net.suspects == [net.host]
    assert net.host.is_suspect and net.host.is_up
    eventually(lambda: operation.silent == [7])
    assert f"{net.host} is silent" in caplog.text
    net.node.runs.set()
    assert answered(operation)
    eventually(lambda: not net.host.is_suspect)
    eventually(lambda: len([one for one in net.node.server.connections if one.socket.fileno() >= 0]) == 1)
    assert net.reported == []
    assert pool.pick().request(QUERY, PATIENCE).kind == 1


def test_a_slow_query_is_no_silence(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node answers what can be answered at once, again and again."""
    monkeypatch.setattr(health, "GRACE", 10.0)  # at once, on the busiest machine
    pool = net.open()
    seen: list[wire.Envelope] = []
    net.node.slow = lambda request: request.opcode == wire.QUERY and not seen.append(request)
    operation = ask(pool.pick())
    eventually(lambda: net.node.server.opcodes.count(wire.OPTIONS) >= 4)  # one was the handshake's
    assert not net.suspects and operation.silent == []
    (connection,) = net.node.server.connections
    connection.answer(seen[0], wire.RESULT, wire.int32(1))
    assert answered(operation)


def test_after_a_cut_a_new_connection_takes_the_place(net: Net) -> None:
    pool = net.open()
    before = pool.pick()
    net.node.cut()
    operation = ask(before)
    eventually(lambda: pool.pick() is not before)
    eventually(lambda: not net.host.is_suspect)
    assert pool.pick().request(QUERY, PATIENCE).kind == 1
    assert not before.is_closed, "it may still be answered"
    assert before.orphan(0, operation) or before.orphan(1, operation)
    assert net.reported == []


def test_all_pools_of_the_host_are_relieved(net: Net) -> None:
    pools = [net.open() for _ in range(3)]
    before = [pool.pick() for pool in pools]
    net.node.cut()
    operations = [ask(connection) for connection in before[:1]]
    eventually(lambda: all(pool.pick() is not old for pool, old in zip(pools, before, strict=True)))
    eventually(lambda: not net.host.is_suspect)
    assert operations[0].silent == [0]


def test_one_dead_connection_makes_no_suspect(net: Net) -> None:
    """Another one to the same host was heard meanwhile: it is not the host that is silent."""
    pool, other = net.open(), net.open()
    node, alive = net.node, other.pick()
    dead = [one for one in node.server.connections if one.socket.getpeername() == pool.pick().channel.getsockname()]  # type: ignore[union-attr]
    node.lost.update(dead)
    node.slow = lambda request: request.opcode == wire.STARTUP  # no new ones for now
    ask(pool.pick())
    deadline = time.monotonic() + 6 * (health.QUIET + health.GRACE)
    while time.monotonic() < deadline:
        assert alive.request(QUERY, PATIENCE).kind == 1
    before = pool.pick()
    eventually(lambda: len(node.server.connections) > 2)  # one beside it is being opened, so it was silent
    eventually(lambda: not net.host.is_suspect)
    node.slow = lambda request: False
    eventually(lambda: pool.pick() is not before)


def test_silence_that_lasts_is_reported_as_a_loss(net: Net) -> None:
    pool = net.open(silence_limit=0.5)
    connection = pool.pick()
    net.node.runs.clear()
    ask(connection)
    eventually(lambda: connection.is_closed)
    assert isinstance(connection.last_error, errors.ConnectionException)
    assert "was silent for" in str(connection.last_error)
    eventually(lambda: connection.last_error in net.reported)
    eventually(lambda: not net.host.is_suspect)  # it has no connection that could be one


def test_a_node_that_refuses_is_not_waited_for(net: Net) -> None:
    pool = net.open()
    connection = pool.pick()
    net.node.runs.clear()
    listener = net.node.server._listener
    listener.shutdown(2)
    listener.close()
    ask(connection)
    eventually(lambda: connection.is_closed)
    eventually(lambda: any(isinstance(error, ConnectionRefusedError) for error in net.reported))


def test_the_process_was_held_up_itself(net: Net) -> None:
    """The answers lie in the sockets while the I/O thread does not run."""
    pool = net.open()
    for _ in range(3):
        operations = [ask(pool.pick()) for _ in range(20)]
        net.reactor.call_soon(lambda: time.sleep(3 * (health.QUIET + health.GRACE)))
        assert all(answered(operation) for operation in operations)
    assert not net.suspects


def test_held_up_between_the_question_and_its_answer(net: Net) -> None:
    pool = net.open()
    seen = threading.Event()

    def slow(request: wire.Envelope) -> bool:
        if request.opcode == wire.OPTIONS and net.node.server.opcodes.count(wire.OPTIONS) == 2:
            net.reactor.call_soon(lambda: time.sleep(3 * health.GRACE))
            seen.set()
        return request.opcode == wire.QUERY

    net.node.slow = slow
    ask(pool.pick())
    assert seen.wait(PATIENCE)
    eventually(lambda: net.node.server.opcodes.count(wire.OPTIONS) >= 4)  # it goes on asking as of a slow one
    assert not net.suspects


class Throttled:
    """A socket that is read from slowly."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        time.sleep(0.04)
        return self._socket.recv(size)


def test_a_long_upload_is_no_silence(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is received while a large request is on its way, and what is asked meanwhile is behind it."""
    monkeypatch.setattr(health, "GRACE", 2.5)  # the last bytes wait for a server that is slow itself
    net.options = ConnectionOptions(connect_timeout=PATIENCE, compression=False)
    # The network is slow, not the server. Before the connection is made: what was within a window that shrinks later
    # is dropped, and repeated after ever longer pauses.
    net.node.server._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    pool = net.open()
    connection = pool.pick()
    (served,) = net.node.server.connections
    served.socket = Throttled(served.socket)  # type: ignore[assignment]
    operation = Waiting()
    begin = time.monotonic()
    frame = QueryMessage("x" * (8 << 20), 1).encode(connection.protocol_version)
    connection.submit(frame, operation, 0, PATIENCE)
    assert answered(operation)
    assert time.monotonic() - begin > 2 * (health.QUIET + health.GRACE), "it was no long upload"
    assert net.suspects == [] and operation.silent == []


def test_it_is_down_that_counts(net: Net) -> None:
    pool = net.open()
    net.node.runs.clear()
    ask(pool.pick())
    eventually(lambda: net.host.is_suspect)
    net.host.set_down()
    pool.close()
    eventually(lambda: not net.host._watch._silent)
    assert net.host.is_up is False and not net.host.is_suspect
    net.host.set_up()
    assert not net.host.is_suspect


def test_a_shard_that_hangs_makes_its_host_a_suspect(net: Net) -> None:
    server = ShardedServer(4)
    hangs = threading.Event()
    try:
        server.script = lambda connection, request: hangs.is_set() and server.shard_of(connection)[0] == 2
        host = net.host_at(server.plain.address)
        pool = net.open(host)
        eventually(lambda: pool.open_count == 4)
        hangs.set()
        before = pool.pick(shard=2)
        operation = ask(before)
        eventually(lambda: host.is_suspect and operation.silent == [0])
        for shard in (0, 1, 3):
            assert pool.pick(shard=shard).request(QUERY, PATIENCE).kind == 1
        assert host.is_suspect
        hangs.clear()
        eventually(lambda: not host.is_suspect)
        eventually(lambda: pool.pick(shard=2) is not before)  # what it swallowed it will never answer
        assert pool.open_count == 4
        pool.close()
    finally:
        server.close()
