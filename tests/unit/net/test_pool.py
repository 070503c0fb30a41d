"""The pool of one host: opening, losing, reopening, replacing, keyspaces, closing. And heartbeats."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._core.transport import Reactor
from cassandra._net import delays as delays_module
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.handshake.options import ConnectionOptions
from cassandra._net.heartbeat import Heartbeat
from cassandra._net.pool import pool as pool_module
from cassandra._net.pool.pool import HostPool
from cassandra._wire.messages.requests import OptionsMessage, QueryMessage
from tests.fakes import wire
from tests.fakes.scripted import Script, ScriptedConnection, ScriptedServer
from tests.patience import PATIENCE, eventually, ever_longer

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
        self.reactor = Reactor()
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


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net()
    yield net
    net.close()


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


# ---- opening


def test_open_and_pick(net: Net) -> None:
    pool = net.open(keyspace="ks")
    connection = pool.pick()
    assert connection is pool.pick(123)
    assert (connection.keyspace, connection.host_id) == ("ks", "h-1")
    assert connection.request(QUERY, PATIENCE).kind == 1
    assert pool.get_connections() == [connection]
    assert pool.get_state() == {
        "shutdown": False,
        "open_count": 1,
        "in_flights": [0],
        "orphan_requests": [set()],
        "orphaned_requests": [0],
        "retired_count": 0,
        "keyspace": "ks",
        "last_error": None,
    }
    assert type(pool).__name__ == "HostConnection" and type(pool).__module__ == "cassandra.pool"
    assert "1 open, 0 in flight" in repr(pool)


def test_open_fails(net: Net) -> None:
    net.stop_server()
    pool = net.make()
    assert isinstance(opened(pool), ConnectionRefusedError)
    assert pool.is_shutdown
    with pytest.raises(errors.NoConnectionsAvailable, match=r"pool closed, in flight: 0, last error: Connection"):
        pool.pick()
    assert net.lost == [], "opening has its own callback"


def test_open_fails_on_an_unknown_keyspace(net: Net) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            connection.answer(request, wire.ERROR, wire.error(0x2200, "no such keyspace"))
            return True
        return None

    net.script = script
    assert isinstance(opened(net.make(keyspace="nope")), errors.InvalidRequest)


def test_options_that_cannot_be_made(net: Net) -> None:
    pool = HostPool(net.host, 0, reactor=net.reactor, options=lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert isinstance(opened(pool), ZeroDivisionError)


def test_closed_before_it_was_open(net: Net) -> None:
    net.script = lambda connection, request: True
    pool = net.make()
    outcome: list[Any] = []
    pool.open(outcome.append)
    pool.close()
    eventually(lambda: outcome)
    assert len(outcome) == 1 and isinstance(outcome[0], errors.ConnectionShutdown)
    assert isinstance(opened(pool), errors.ConnectionShutdown)


# ---- losing


def test_a_lost_connection_is_opened_again(net: Net) -> None:
    pool = net.open(keyspace="ks")
    first = pool.pick()
    net.server.drop_connections()
    eventually(lambda: picked(pool) not in (None, first))
    assert pool.pick().request(QUERY, PATIENCE).kind == 1
    assert pool.pick().keyspace == "ks"
    assert [host for host, _ in net.lost] == [net.host]
    assert isinstance(net.lost[0][1], errors.ConnectionShutdown)


def test_reopening_follows_the_schedule_and_never_ends(net: Net) -> None:
    net.delays = (0.01, 0.02)  # shorter than the outage: the last one is repeated
    pool = net.open()
    net.stop_server()
    eventually(lambda: len(net.lost) > 5)
    with pytest.raises(errors.NoConnectionsAvailable, match="pool reconnecting"):
        pool.pick()
    net.start_server()
    eventually(lambda: pool.open_count == 1)
    assert pool.pick().request(QUERY, PATIENCE).kind == 1
    assert pool.get_state()["last_error"] is None


@pytest.mark.parametrize("is_up", [True, False, None])
def test_the_state_of_the_host_does_not_matter(net: Net, is_up: bool | None) -> None:
    """A host counts as down until its pools are open: one that lost its connection before that was never filled."""
    pool = net.open()
    net.host.is_up = is_up
    first = pool.pick()
    net.server.drop_connections()
    eventually(lambda: pool.open_count == 1 and picked(pool) not in (None, first))  # closed is seen before it is lost


def test_one_at_a_time(net: Net) -> None:
    """A successor that is lost while the place is being filled does not make a second filler."""
    net.delays = (0.01,)
    pool = net.open()
    net.stop_server()
    eventually(lambda: len(net.lost) > 1)
    for _ in range(3):
        pool._filling.look()
    net.start_server()
    eventually(lambda: pool.open_count == 1)
    eventually(lambda: not pool.is_opening and not pool._timers)
    assert sum(r.opcode == wire.STARTUP for r in net.server.requests) == 1


def test_after_a_failure_another_attempt_is_no_sign_of_life(net: Net) -> None:
    """Or a host that is gone stays up, when every look at it comes while the next attempt is under way."""
    net.script = lambda connection, request: request.opcode == wire.OPTIONS
    pool = net.make()
    outcome: list[Any] = []
    pool.open(outcome.append)
    eventually(lambda: wire.OPTIONS in net.server.opcodes)
    assert pool.is_opening
    net.script = None
    net.server.drop_connections()
    eventually(lambda: outcome)
    pool.close()  # another version may have been tried, and this time answered
    pool = net.open()
    assert not pool.is_opening
    net.stop_server()
    eventually(lambda: len(net.lost) > 1)
    net.script = lambda connection, request: request.opcode == wire.OPTIONS
    net.start_server()
    eventually(lambda: wire.OPTIONS in net.server.opcodes)
    assert pool._openings and not pool.is_opening
    net.script = None
    net.server.drop_connections()
    eventually(lambda: pool.open_count == 1)
    assert not pool.is_opening


def test_a_schedule_that_fails(net: Net, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """User code: it raises, gives nonsense, ends, and looks at the pool, whose lock must not be held then."""
    seen: list[Any] = []

    def delays() -> Iterator[Any]:
        asker = threading.Thread(target=lambda: seen.append(pool.state()))
        asker.start()
        asker.join(30)
        yield 0.001
        yield "soon"

    monkeypatch.setattr(delays_module, "FALLBACK_DELAY", 0.001)
    pool = HostPool(
        net.host,
        0,
        reactor=net.reactor,
        options=lambda: net.options,
        delays=delays,
        on_defunct=lambda host, error: net.lost.append((host, error)),
    )
    net.pools.append(pool)
    assert opened(pool) is None
    net.stop_server()
    eventually(lambda: len(net.lost) > 4)
    net.start_server()
    eventually(lambda: pool.open_count == 1)
    assert seen and seen[0]["open_count"] == 0
    assert "The reconnection policy failed" in caplog.text


def test_the_owner_may_close_it_when_a_connection_is_lost(net: Net) -> None:
    pool = net.make()
    pool._on_defunct = lambda host, error: pool.close()
    assert opened(pool) is None
    net.server.drop_connections()
    eventually(lambda: pool.is_shutdown)
    time.sleep(0.1)
    assert len(net.server.connections) == 0


def test_requests_in_flight_fail_and_are_not_sent_again(net: Net) -> None:
    net.script = silent
    pool = net.open()
    outcome: list[Any] = []
    pool.pick().request_async(QUERY, outcome.append, PATIENCE)
    eventually(lambda: wire.QUERY in net.server.opcodes)
    net.server.drop_connections()
    eventually(lambda: outcome)
    eventually(lambda: pool.open_count == 1)
    assert isinstance(outcome[0], errors.ConnectionShutdown)
    assert net.server.opcodes.count(wire.QUERY) == 1


# ---- replacing


def test_worn_connections_are_replaced_without_losing_answers(net: Net) -> None:
    held: list[tuple[ScriptedConnection, wire.Envelope]] = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY and len(held) < 4:
            held.append((connection, request))
            return True
        return None

    net.script = script
    net.options = ConnectionOptions(max_requests=4, connect_timeout=PATIENCE)
    pool = net.open()
    worn = pool.pick()
    for _ in range(3):
        with pytest.raises(errors.OperationTimedOut):
            worn.request(QUERY, 0.02)
    outcome: list[Any] = []
    worn.request_async(QUERY, outcome.append, PATIENCE)
    assert worn.orphaned_threshold_reached
    assert pool.pick() is worn, "in use until its successor is there"
    eventually(lambda: pool.pick() is not worn)
    fresh = pool.pick()
    assert not worn.is_closed and pool.get_state()["retired_count"] == 1 and pool.in_flight == 4
    eventually(lambda: len(held) == 4)
    connection, request = held[3]
    connection.answer(request, wire.RESULT, wire.int32(1))
    eventually(lambda: outcome)
    assert outcome[0].kind == 1, "answered on the old connection"
    eventually(lambda: worn.is_closed)
    eventually(lambda: pool.get_state()["retired_count"] == 0)
    assert pool.pick() is fresh and net.lost == []


def test_replacing_may_fail_and_is_tried_again(net: Net) -> None:
    refused: list[int] = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.OPTIONS and net.server.opcodes.count(wire.OPTIONS) in (2, 3):
            refused.append(1)
            connection.version = request.version
            connection.answer(request, wire.ERROR, wire.error(0x1001, "busy"))
            return True
        return silent(connection, request)

    net.script = script
    net.options = ConnectionOptions(max_requests=2, connect_timeout=PATIENCE)
    pool = net.open()
    worn = pool.pick()
    with pytest.raises(errors.OperationTimedOut):
        worn.request(QUERY, 0.02)
    eventually(lambda: pool.pick() is not worn)
    assert len(refused) == 2
    assert not pool.is_shutdown


def test_retired_connections_do_not_stay_for_ever(net: Net, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "DRAIN_LIMIT", 0.2)
    net.script = silent
    net.options = ConnectionOptions(max_requests=2, connect_timeout=PATIENCE)
    pool = net.open()
    worn = pool.pick()
    with pytest.raises(errors.OperationTimedOut):
        worn.request(QUERY, 0.02)
    outcome: list[Any] = []
    worn.request_async(QUERY, outcome.append, 3600)
    pool.pick()
    eventually(lambda: worn.is_closed)
    eventually(lambda: outcome)
    assert isinstance(outcome[0], errors.ConnectionShutdown)


# ---- keyspaces


def test_set_keyspace(net: Net) -> None:
    pool = net.open()
    outcome: list[Any] = []
    pool.set_keyspace("ks", outcome.append)
    eventually(lambda: outcome)
    assert outcome == [[]]
    assert (pool.keyspace, pool.pick().keyspace) == ("ks", "ks")
    net.server.drop_connections()
    eventually(lambda: pool.open_count == 1)
    assert pool.pick().keyspace == "ks", "connections to come use it too"
    pool.set_keyspace("ks", outcome.append)
    assert outcome == [[], []], "at once when there is nothing to do"


@pytest.mark.parametrize("answer", ["refused", "none"])
def test_set_keyspace_fails(net: Net, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """The connection could only be used in the keyspace of before, or in nobody knows which: it goes, and one comes
    back when the keyspace can be used."""
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
    """Whatever came last: the connection uses the pool's keyspace in the end."""
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


# ---- closing


def test_close(net: Net) -> None:
    net.script = silent
    pool = net.open()
    connection = pool.pick()
    outcome: list[Any] = []
    connection.request_async(QUERY, outcome.append, PATIENCE)
    pool.shutdown()
    pool.close()
    eventually(lambda: outcome and connection.is_closed)
    assert isinstance(outcome[0], errors.ConnectionShutdown)
    assert (pool.open_count, pool.is_shutdown, net.lost) == (0, True, [])
    with pytest.raises(errors.NoConnectionsAvailable, match="pool closed"):
        pool.pick()


def test_close_when_drained(net: Net) -> None:
    held: list[tuple[ScriptedConnection, wire.Envelope]] = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            held.append((connection, request))
            return True
        return None

    net.script = script
    pool = net.open()
    connection = pool.pick()
    outcome: list[Any] = []
    connection.request_async(QUERY, outcome.append, PATIENCE)
    eventually(lambda: held)
    pool.close(drain=True)
    with pytest.raises(errors.NoConnectionsAvailable):
        pool.pick()
    assert not connection.is_closed
    held[0][0].answer(held[0][1], wire.RESULT, wire.int32(1))
    eventually(lambda: connection.is_closed and outcome)
    assert outcome[0].kind == 1


def test_closed_while_reconnecting(net: Net) -> None:
    net.delays = (3600.0,)
    pool = net.open()
    net.stop_server()
    eventually(lambda: len(net.lost) == 2)
    pool.close()
    assert not pool._timers


# ---- heartbeats


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
        "error": errors.ServerError,
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
    reactor = Reactor()
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
