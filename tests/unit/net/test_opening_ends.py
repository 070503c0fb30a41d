"""The end of an opening is reported exactly once: after a cancel, a wait, or a stop of the reactor."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra._base import errors
from cassandra._core.transport import Reactor
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint, EndPoint
from cassandra._net.opening import OpeningWaiter
from cassandra._net.options import UNBOUNDED_CONNECT_TIMEOUT, ConnectionOptions
from tests.fakes.scripted import ScriptedServer
from tests.patience import PATIENCE, eventually
from tests.unit.net.openings import connect, endpoint_of
from tests.unit.net.reactors import made_reactor


@pytest.fixture
def reactor(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[Reactor]:
    """Stopped and gone before leaks are looked for."""
    reactor = made_reactor()
    yield reactor
    assert reactor.stop(PATIENCE)
    request.node.funcargs.pop("reactor")
    del reactor


# ---- exactly once


def test_cancel(reactor: Reactor) -> None:
    outcome: list[Any] = []
    with ScriptedServer(lambda connection, request: True) as server:
        options = ConnectionOptions(connect_timeout=PATIENCE)
        opening = Connection.open(reactor, endpoint_of(server), options, outcome.append)
        assert not opening.is_done
        opening.cancel()
        opening.cancel()
        eventually(lambda: opening.is_done and outcome)
        time.sleep(0.05)
        assert len(outcome) == 1 and isinstance(outcome[0], errors.ConnectionShutdown)
        assert "cancelled" in str(outcome[0])


def test_a_stopped_reactor() -> None:
    reactor = made_reactor()
    reactor.stop(PATIENCE)
    outcome: list[Any] = []
    opening = Connection.open(reactor, DefaultEndPoint("127.0.0.1"), ConnectionOptions(), outcome.append)
    assert opening.is_done
    assert len(outcome) == 1 and isinstance(outcome[0], errors.ConnectionShutdown)
    opening.cancel()


def test_a_callback_that_fails_does_no_harm(reactor: Reactor, caplog: pytest.LogCaptureFixture) -> None:
    called = threading.Event()

    def on_done(result: Any) -> None:
        called.set()
        raise RuntimeError("mine")

    with ScriptedServer() as server:
        Connection.open(reactor, endpoint_of(server), ConnectionOptions(), on_done)
        assert called.wait(PATIENCE)
        assert connect(reactor, server).protocol_version == 5
    assert "A callback failed" in caplog.text


def test_not_from_the_io_thread(reactor: Reactor) -> None:
    outcome: list[Any] = []
    done = threading.Event()

    def run() -> None:
        try:
            connect(reactor, DefaultEndPoint("127.0.0.1"))
        except Exception as error:
            outcome.append(error)
        done.set()

    reactor.call_soon(run)
    assert done.wait(PATIENCE)
    assert isinstance(outcome[0], errors.ConnectionException)
    assert "I/O thread" in str(outcome[0])


def test_timeouts_are_finite() -> None:
    assert ConnectionOptions(connect_timeout=None).open_timeout == UNBOUNDED_CONNECT_TIMEOUT
    assert ConnectionOptions(connect_timeout=3).open_timeout == 3


# ---- the reactor stops


class Slow(EndPoint):
    """Its look-up takes until the test says so."""

    def __init__(self) -> None:
        self.started, self.go = threading.Event(), threading.Event()

    address, port = "slow.example", 9042  # type: ignore[assignment]

    def resolve(self) -> tuple[str, int | None]:
        self.started.set()
        assert self.go.wait(30)
        return "127.0.0.1", 1

    def __str__(self) -> str:
        return "slow"


@pytest.mark.parametrize("cancelled", [False, True])
def test_the_reactor_stops_during_a_look_up(no_leaks: None, cancelled: bool) -> None:
    """The waiter is told, once."""
    reactor = made_reactor()
    endpoint = Slow()
    outcome: list[Any] = []
    done = threading.Event()

    def on_done(result: Any) -> None:
        outcome.append(result)
        done.set()

    opening = Connection.open(reactor, endpoint, ConnectionOptions(), on_done)
    assert endpoint.started.wait(30)
    assert reactor.stop(30)
    if cancelled:
        opening.cancel()
    endpoint.go.set()
    assert done.wait(30)
    opening.cancel()
    assert len(outcome) == 1 and isinstance(outcome[0], errors.ConnectionShutdown)
    assert "shut down" in str(outcome[0])
    outcome.clear()


class Late:
    """An opening that ends when it is cancelled, or when the test says so."""

    _endpoint = "late"

    def __init__(self, awaited: OpeningWaiter, result: Any = None) -> None:
        self.awaited, self.result = awaited, result
        self.cancelled = 0

    def cancel(self) -> None:
        self.cancelled += 1
        if self.result is not None:
            self.awaited(self.result)
            self.result = None


class Closable:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_a_connection_after_the_wait_timed_out_is_closed() -> None:
    """One that comes late is closed."""
    awaited, connection = OpeningWaiter(), Closable()
    with pytest.raises(errors.OperationTimedOut):
        awaited.wait(Late(awaited), 0.001)  # type: ignore[arg-type]
    awaited(connection)  # type: ignore[arg-type]
    assert connection.closed


def test_a_connection_at_the_last_moment() -> None:
    awaited, connection = OpeningWaiter(), Closable()
    opening = Late(awaited, connection)
    assert awaited.wait(opening, 0.001) is connection  # type: ignore[arg-type, comparison-overlap]
    assert opening.cancelled == 1 and not connection.closed


def test_a_wait_that_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the connection comes: no caller has it, so it is closed."""
    awaited, connection = OpeningWaiter(), Closable()
    opening = Late(awaited, connection)

    def interrupted(timeout: float) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(awaited._done_event, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        awaited.wait(opening, 30)  # type: ignore[arg-type]
    assert opening.cancelled == 1 and connection.closed
