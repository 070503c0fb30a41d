"""A client of the bare transport: reactor, channel, and a handler that records its calls."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from cassandra._core.transport import Channel, Failure, Frame, Operation, Reactor
from tests import patience
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection
from tests.fakes.wire import Envelope

TIMEOUT = patience.PATIENCE


def eventually(condition: Callable[[], object], timeout: float = TIMEOUT) -> bool:
    """Wait until another thread has made *condition* true."""
    return bool(patience.eventually(condition, timeout))


def request(body: bytes = b"", opcode: int = wire.QUERY, version: int = 4) -> bytes:
    return Envelope(version, 0, 0, opcode, body).pack()


def void(body: bytes = b"") -> bytes:
    """The body of a RESULT of kind VOID, and something to know it by."""
    return wire.int32(1) + body


def echo(connection: ScriptedConnection, incoming: Envelope) -> bool:
    """A script: every request is answered with its own body."""
    connection.version = incoming.version
    connection.answer(incoming, wire.RESULT, void(incoming.body))
    return True


def silent(connection: ScriptedConnection, incoming: Envelope) -> bool:
    connection.version = incoming.version
    return True


class Handler:
    """A channel handler."""

    def __init__(self) -> None:
        self.connected = threading.Event()
        self.closed = threading.Event()
        self.closings: list[BaseException | None] = []
        self.events: list[Frame] = []
        self.when_connected: Callable[[Channel], object] | None = None

    @property
    def error(self) -> BaseException | None:
        assert self.closed.wait(TIMEOUT)
        assert len(self.closings) == 1
        return self.closings[0]

    def on_connected(self, channel: Channel) -> None:
        if self.when_connected is not None:
            self.when_connected(channel)
        self.connected.set()

    def on_event(self, channel: Channel, frame: Frame) -> None:
        self.events.append(frame)

    def on_closed(self, channel: Channel, error: BaseException | None) -> None:
        self.closings.append(error)
        self.closed.set()


class Recorder(Operation):
    """An operation that records every outcome it is called for."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[tuple[int, Frame | Failure]] = []
        self.threads: set[int] = set()

    def _on_outcome(self) -> None:
        self.threads.add(threading.get_ident())
        while (outcome := self._take()) is not None:
            self.outcomes.append(outcome)


@contextlib.contextmanager
def running_reactor(backend: str = "auto") -> Iterator[Reactor]:
    reactor = Reactor(backend)
    try:
        yield reactor
    finally:
        assert reactor.stop(TIMEOUT)


def connect(reactor: Reactor, address: Any, handler: Handler | None = None, **options: Any) -> tuple[Channel, Handler]:
    """A channel that is open."""
    handler = handler or Handler()
    channel = reactor.connect(socket.AF_INET, address, handler, **{"timeout": TIMEOUT, **options})
    assert eventually(lambda: handler.connected.is_set() or handler.closed.is_set())
    assert handler.connected.is_set(), handler.closings
    return channel, handler


def outcome_of(operation: Operation, timeout: float = TIMEOUT) -> Frame | Failure:
    assert operation._wait(timeout)
    taken = operation._take()
    assert taken is not None
    return taken[1]


def answer_of(operation: Operation) -> bytes:
    """The body of an answer by :func:`echo`."""
    frame = outcome_of(operation)
    assert isinstance(frame, Frame), frame
    return bytes(memoryview(frame))[4:]


def failure_of(operation: Operation) -> Failure:
    failure = outcome_of(operation)
    assert isinstance(failure, Failure), failure
    return failure


def ask(channel: Channel, body: bytes = b"", attempt: int = 0, timeout: float | None = TIMEOUT) -> Operation:
    operation = Operation()
    channel.submit(request(body), operation, attempt, timeout)
    return operation


def on_reactor(reactor: Reactor, function: Callable[[], Any]) -> Any:
    """Run *function* on the I/O thread; its result or error."""
    done = threading.Event()
    result: list[Any] = []

    def run() -> None:
        try:
            result.append((function(), None))
        except BaseException as error:
            result.append((None, error))
        done.set()

    reactor.call_soon(run)
    assert done.wait(TIMEOUT)
    value, error = result[0]
    if error is not None:
        raise error
    return value


def settle(reactor: Reactor, channel: Channel) -> None:
    """Every request was answered, and every answer is where it belongs."""
    eventually(lambda: channel.in_flight == 0)
    on_reactor(reactor, lambda: None)
