"""The pool of one host: opening, losing, reopening, replacing, closing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._net import backoff as delays_module
from cassandra._net import pool as pool_module
from cassandra._net.options import ConnectionOptions
from cassandra._net.pool import HostPool
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection
from tests.patience import PATIENCE, eventually
from tests.unit.net.pools import QUERY, Net, opened, picked, silent


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net()
    yield net
    net.close()


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


@pytest.mark.usefixtures("as_driver_thread")
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
