"""Many threads on few channels: every request gets its own answer or its own failure, once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from cassandra._base.errors import ConnectionBusy, ConnectionShutdown
from cassandra._core.transport import Channel, Failure, Frame, Operation, Reactor
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.unit.core.transport_client import TIMEOUT, connect, echo, outcome_of, request, running_reactor

pytestmark = pytest.mark.usefixtures("no_leaks")
THREADS = 8


def in_threads(function: Callable[[int], None]) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT * 3)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def body_of(outcome: Frame | Failure) -> bytes:
    assert isinstance(outcome, Frame), outcome
    return bytes(memoryview(outcome))[4:]


@pytest.mark.parametrize("backend", ["epoll", "poll"])
def test_sync_and_pipelined_requests(backend: str) -> None:
    with ScriptedServer(echo) as server, running_reactor(backend) as reactor:
        channels = [connect(reactor, server.address)[0] for _ in range(2)]

        def work(number: int) -> None:
            generator = random.Random(number)
            for turn in range(60):
                channel = generator.choice(channels)
                bodies = [f"{number} {turn} {i}".encode() * generator.choice([1, 5, 3000]) for i in range(turn % 7 + 1)]
                operations = [Operation() for _ in bodies]
                for operation, body in zip(operations, bodies, strict=True):
                    channel.submit(request(body), operation, 0, TIMEOUT)
                for operation, body in zip(operations, bodies, strict=True):
                    assert body_of(outcome_of(operation)) == body

        in_threads(work)


def test_one_operation_many_waiters() -> None:
    """Outcomes of several attempts are taken once each, by the first waiter."""
    with ScriptedServer(echo) as server, running_reactor() as reactor:
        channel, _ = connect(reactor, server.address)
        for _ in range(50):
            operation = Operation()
            taken: list[int] = []

            def work(number: int, operation: Operation = operation, taken: list[int] = taken) -> None:
                channel.submit(request(b"x"), operation, number)
                while operation._wait(TIMEOUT) and not operation._finished:
                    outcome = operation._take()
                    if outcome is not None:
                        taken.append(outcome[0])
                        if len(taken) == THREADS:
                            operation._finish()

            in_threads(work)
            assert sorted(taken) == list(range(THREADS))


def shaky(connection: ScriptedConnection, incoming: Envelope) -> bool:
    """Answers, errs, is late, or hangs up."""
    connection.version = incoming.version
    choice = random.random()
    if choice < 0.002:
        connection.close()
    elif choice < 0.05:
        connection.answer(incoming, wire.ERROR, wire.error(0, incoming.body.decode()))
    elif choice < 0.06:
        time.sleep(0.03)
        echo(connection, incoming)
    elif choice < 0.99:
        echo(connection, incoming)
    return True


class Connections:
    """Opens a channel anew when it is closed."""

    def __init__(self, reactor: Reactor, server: ScriptedServer) -> None:
        self.reactor = reactor
        self.server = server
        self.lock = threading.Lock()
        self.channel = connect(reactor, server.address)[0]

    def get(self) -> Channel:
        with self.lock:
            if self.channel.closed:
                self.channel = connect(self.reactor, self.server.address)[0]
            return self.channel


def test_every_request_ends_once_with_its_own_answer() -> None:
    with ScriptedServer(shaky) as server, running_reactor() as reactor:
        connections = Connections(reactor, server)
        ends: list[tuple[str, int]] = []

        def work(number: int) -> None:
            for turn in range(250):
                operation = Operation()
                body = f"{number}.{turn}".encode()
                try:
                    channel = connections.get()
                    channel.submit(request(body), operation, turn, 0.02)
                except (ConnectionShutdown, ConnectionBusy):
                    continue
                assert operation._wait(TIMEOUT)
                taken = operation._take()
                assert taken is not None and taken[0] == turn
                assert operation._take() is None
                if isinstance(taken[1], Frame):
                    assert body in bytes(memoryview(taken[1]))
                    ends.append(("frame", turn))
                else:
                    ends.append((taken[1].message, turn))

        in_threads(work)
        assert len(ends) > THREADS * 200
        assert {"frame", "no response in time"} <= {kind for kind, _ in ends}
