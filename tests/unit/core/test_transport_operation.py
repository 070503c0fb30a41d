"""Delivery of outcomes: to waiters, to the I/O thread, to asyncio; references and garbage."""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import lz4.block
import pytest

from cassandra._core.transport import CANCELLED, CLOSED, CompletionQueue, Failure, Frame, Operation, Reactor
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.packages import cramjam, require
from tests.patience import ever_longer
from tests.unit.core.transport_client import (
    TIMEOUT,
    Recorder,
    answer_of,
    ask,
    connect,
    echo,
    eventually,
    failure_of,
    on_reactor,
    request,
    running_reactor,
    settle,
    silent,
)

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with running_reactor() as reactor:
        yield reactor


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    def script(connection: ScriptedConnection, incoming: Envelope) -> bool:
        connection.version = incoming.version
        if incoming.body.startswith(b"error"):
            connection.answer(incoming, wire.ERROR, wire.error(0, "no"))
        elif incoming.body.startswith(b"flag"):
            connection.answer(incoming, wire.RESULT, wire.int32(1), wire.WARNING)
        elif incoming.body.startswith(b"schema"):
            connection.answer(incoming, wire.RESULT, wire.int32(5))
        elif not incoming.body.startswith(b"silent"):
            echo(connection, incoming)
        return True

    with ScriptedServer(script) as server:
        yield server


def reactor_ident(reactor: Reactor) -> int:
    return int(on_reactor(reactor, threading.get_ident))


def frame(opcode: int = wire.RESULT, kind: int = 1) -> Frame:
    return Frame(4, 0, 0, opcode, wire.int32(kind))


def test_a_hot_outcome_waits_until_it_is_taken(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    operation = Recorder()
    channel.submit(request(b"x"), operation)
    settle(reactor, channel)
    assert operation.outcomes == []
    assert operation._wait(0)
    taken = operation._take()
    assert taken is not None and isinstance(taken[1], Frame)


def test_outcomes_of_many_requests_are_taken_together(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    operation = Operation()
    references = sys.getrefcount(operation)
    assert operation._take_all() == []
    for first in (0, 500):
        wanted = set(range(first, first + 500))
        for number in sorted(wanted):
            body = str(number).encode()
            channel.submit(request(b"error" + body if number % 50 == 0 else body), operation, number)
        while wanted:
            assert operation._wait(TIMEOUT)
            taken = operation._take_all()
            assert taken
            for number, outcome in taken:
                assert isinstance(outcome, Frame)
                wanted.remove(number)
                assert outcome.opcode == (wire.ERROR if number % 50 == 0 else wire.RESULT)
                assert outcome.opcode == wire.ERROR or bytes(outcome)[4:] == str(number).encode()
    assert operation._take_all() == [] and operation._take() is None
    assert eventually(lambda: sys.getrefcount(operation) == references)


@pytest.mark.parametrize("body", [b"error", b"flag", b"schema"])
def test_a_cold_outcome_is_called_on_the_io_thread(reactor: Reactor, server: ScriptedServer, body: bytes) -> None:
    channel, _ = connect(reactor, server.address)
    operation = Recorder()
    channel.submit(request(body), operation, 3)
    assert eventually(lambda: operation.outcomes)
    assert operation.outcomes[0][0] == 3
    assert operation.threads == {reactor_ident(reactor)}


def lz4_body(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + bytes(lz4.block.compress(body, store_size=False))


def snappy_body(body: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(body))


@pytest.mark.parametrize(("name", "pack"), [("lz4", lz4_body), ("snappy", snappy_body)])
@pytest.mark.parametrize(
    "rest",
    [b"", b"\0\0\0\1", bytes(5000), os.urandom(100), os.urandom(90_000), b"row " * 300],
    ids=["empty", "one", "zeros", "noise", "much noise", "rows"],
)
def test_compressed_answers_are_told_apart(reactor: Reactor, name: str, pack: Any, rest: bytes) -> None:
    if name == "snappy":
        require("cramjam")

    def script(connection: ScriptedConnection, incoming: Envelope) -> bool:
        body = pack(incoming.body + rest)
        connection.send_raw(Envelope(0x84, wire.COMPRESSED, incoming.stream, wire.RESULT, body).pack())
        return True

    with ScriptedServer(script) as server:
        channel, _ = connect(reactor, server.address)
        on_reactor(reactor, lambda: channel.set_protocol(4, compression=name))
        operations = {kind: Recorder() for kind in (1, 2, 3, 4, 5)}
        for kind, operation in operations.items():
            channel.submit(request(wire.int32(kind)), operation)
        assert eventually(lambda: all(operations[kind].outcomes for kind in (3, 4, 5)))
        settle(reactor, channel)
        for kind in (1, 2):
            assert not operations[kind].outcomes and operations[kind]._take() is not None


def test_a_waiter_gets_cold_outcomes_too(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)

    def waited_for(pause: float) -> bool:
        """Whether the waiter was there in time; the waiter or the callback gets the outcome in any case."""
        operation = Recorder()
        result: list[Any] = []
        waiter = threading.Thread(target=lambda: result.append((operation._wait(TIMEOUT), operation._take())))
        waiter.start()
        time.sleep(pause)
        channel.submit(request(b"error"), operation)
        waiter.join(TIMEOUT)
        if not result or result[0][1] is None:
            assert eventually(lambda: len(operation.outcomes) == 1)
            operation._finish()
            waiter.join(TIMEOUT)
            return False
        assert result[0][0] and result[0][1][1].opcode == wire.ERROR
        assert operation.outcomes == []
        return True

    assert any(waited_for(pause) for pause in ever_longer(0.05))


def test_eager(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    later = Recorder()
    later._set_eager()
    channel.submit(request(b"x"), later)
    assert eventually(lambda: later.outcomes)
    assert later.threads == {reactor_ident(reactor)}
    earlier = Recorder()
    channel.submit(request(b"x"), earlier)
    settle(reactor, channel)
    earlier._set_eager()
    assert eventually(lambda: earlier.outcomes)
    assert earlier.threads == {reactor_ident(reactor)}, "never in the middle of the caller's code"


def test_loop_queue(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    queue = CompletionQueue()
    with selectors.DefaultSelector() as selector:
        selector.register(queue.fileno(), selectors.EVENT_READ)
        operations = [Recorder() for _ in range(20)]
        for operation in operations[:10]:
            operation._attach(queue)
        for operation in operations:
            channel.submit(request(b"error" if operation is operations[0] else b"x"), operation)
        settle(reactor, channel)
        for operation in operations[10:]:
            operation._attach(queue)  # its outcome is there
        assert all(not operation.outcomes for operation in operations)
        assert selector.select(TIMEOUT)
        while selector.select(0):  # once, unless this thread is held up
            queue.drain()
        assert all(len(operation.outcomes) == 1 for operation in operations)
        assert {thread for operation in operations for thread in operation.threads} == {threading.get_ident()}
        assert not selector.select(0)
    queue.close()
    queue.close()


def test_a_loop_queue_does_not_hold_up_its_loop() -> None:
    """A long series of outcomes is processed in several turns."""

    class Slow(Operation):
        def _on_outcome(self) -> None:
            while (outcome := self._take()) is not None:
                time.sleep(0.02)  # longer than a drain goes on
                done.append(outcome)

    done: list[object] = []
    queue = CompletionQueue()
    operations = [Slow() for _ in range(3)]
    with selectors.DefaultSelector() as selector:
        selector.register(queue.fileno(), selectors.EVENT_READ)
        for operation in operations:
            operation._attach(queue)
            operation._inject(0, frame())
        for number in (1, 2, 3):
            assert selector.select(0)
            queue.drain()
            assert len(done) == number
        assert not selector.select(0)
    queue.close()


def test_a_closed_queue_is_as_if_there_were_none(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    queue = CompletionQueue()
    waiting, late = Recorder(), Recorder()
    waiting._attach(queue)
    late._attach(queue)
    channel.submit(request(b"x"), waiting)
    settle(reactor, channel)
    queue.close()
    assert eventually(lambda: waiting.outcomes)
    assert waiting.threads == {reactor_ident(reactor)}
    channel.submit(request(b"error"), late)
    assert eventually(lambda: late.outcomes)
    assert late.threads == {reactor_ident(reactor)}
    queue.drain()


def test_detach(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    queue = CompletionQueue()
    operation = Recorder()
    operation._attach(queue)
    operation._attach(None)
    channel.submit(request(b"x"), operation)
    settle(reactor, channel)
    queue.drain()
    assert not operation.outcomes and operation._take() is not None


def test_asyncio(reactor: Reactor, server: ScriptedServer) -> None:
    """The pieces make an awaitable: an event per operation, one descriptor for all."""
    channel, _ = connect(reactor, server.address)

    class Awaited(Operation):
        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            super().__init__()
            self.future: asyncio.Future[Any] = loop.create_future()

        def _on_outcome(self) -> None:
            outcome = self._take()
            if outcome is not None:
                self.future.set_result(outcome[1])

    async def main() -> list[bytes]:
        loop = asyncio.get_running_loop()
        queue = CompletionQueue()
        loop.add_reader(queue.fileno(), queue.drain)

        async def one(number: int) -> bytes:
            operation = Awaited(loop)
            operation._attach(queue)
            channel.submit(request(str(number).encode()), operation)
            return bytes(memoryview(await operation.future))[4:]

        try:
            return await asyncio.gather(*(one(number) for number in range(300)))
        finally:
            loop.remove_reader(queue.fileno())
            queue.close()

    assert asyncio.run(main()) == [str(number).encode() for number in range(300)]


def test_wait_times_out(reactor: Reactor) -> None:
    operation = Operation()
    start = time.monotonic()
    assert not operation._wait(0.05)
    assert time.monotonic() - start >= 0.05
    assert not operation._wait(0) and not operation._wait(-1)
    with pytest.raises(TypeError):
        operation._wait("soon")  # type: ignore[arg-type]
    operation._inject(0, frame())
    assert operation._wait(0)


def test_a_waiter_that_gives_up_leaves_cold_outcomes_to_the_io_thread(reactor: Reactor, server: ScriptedServer) -> None:
    """Many times, as the answer and the end of the wait race."""
    channel, _ = connect(reactor, server.address)
    operations = []
    for number in range(300):
        operation = Recorder()
        channel.submit(request(b"error"), operation)
        if operation._wait(0.0001 * (number % 5)):
            operation._on_outcome()
        operations.append(operation)
    assert eventually(lambda: all(len(operation.outcomes) == 1 for operation in operations))


def test_finish_wakes_all_waiters_and_discards(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    operation = Recorder()
    channel.submit(request(b"silent"), operation)
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(operation._wait())) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert not operation._finished
    operation._finish()
    for thread in threads:
        thread.join(TIMEOUT)
    assert results == [True] * 5 and operation._finished and operation._wait()
    channel.close()
    assert eventually(lambda: sys.getrefcount(operation) == sys.getrefcount(Recorder()) + 1)
    assert operation._take() is None and not operation.outcomes
    operation._rearm()
    assert not operation._finished and not operation._wait(0)
    operation._inject(1, frame())
    assert operation._take() is not None


def test_inject(reactor: Reactor) -> None:
    operation = Recorder()
    failure = Failure(CANCELLED, "not today", cause=ValueError("x"))
    operation._inject(4, failure)
    attempt, taken = operation.outcomes[0]
    assert isinstance(taken, Failure) and attempt == 4
    assert (taken.kind, taken.message, taken.sent, taken.elapsed) == (CANCELLED, "not today", False, 0.0)
    assert taken.cause is failure.cause
    hot = Recorder()
    hot._inject(0, frame(kind=2))
    assert hot.outcomes == [] and hot._take() is not None
    with pytest.raises(TypeError):
        operation._inject(0, "nonsense")  # type: ignore[arg-type]


def test_inject_inside_a_callback_does_not_recurse() -> None:
    class Retrying(Operation):
        calls = 0
        depth = 0
        deepest = 0

        def _on_outcome(self) -> None:
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
            self._take()
            self.calls += 1
            if self.calls < 5000:
                self._inject(self.calls, Failure(CLOSED, "again"))
            self.depth -= 1

    operation = Retrying()
    operation._inject(0, Failure(CLOSED, "first"))
    assert operation.calls == 5000 and operation.deepest == 1


def test_exceptions_of_callbacks_go_to_the_unraisable_hook(
    reactor: Reactor, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append((type(args.exc_value), args.object)))

    class Broken(Operation):
        def _on_outcome(self) -> None:
            raise ZeroDivisionError

    channel, _ = connect(reactor, server.address)
    operation = Broken()
    channel.submit(request(b"error"), operation)
    reactor.call_soon(lambda: 1 / 0)
    reactor.call_later(0.0, lambda: 1 / 0)
    assert eventually(lambda: len(seen) == 3)
    assert (ZeroDivisionError, operation) in seen
    assert answer_of(ask(channel, b"alive")) == b"alive"
    seen.clear()


def test_operations_are_freed(reactor: Reactor, server: ScriptedServer) -> None:
    """Forgotten in flight, answered and never taken, taken, failed: no way leaves a reference behind."""
    channel, _ = connect(reactor, server.address)
    dead: list[weakref.ref[Recorder]] = []

    def submit(body: bytes) -> Recorder:
        operation = Recorder()
        dead.append(weakref.ref(operation))
        channel.submit(request(body), operation)
        return operation

    for _ in range(50):
        submit(b"forgotten")
        submit(b"error")
        submit(b"silent")
        answer_of(submit(b"taken"))
        submit(b"waited for, not taken")._wait(TIMEOUT)
        cycle: Any = submit(b"cycle")
        cycle.self = cycle
    del cycle
    channel.close()

    def all_dead() -> bool:
        gc.collect()
        return all(ref() is None for ref in dead)

    assert eventually(all_dead)


def test_operations_in_flight_stay_alive(reactor: Reactor) -> None:
    with ScriptedServer(silent) as server:
        channel, _ = connect(reactor, server.address)
        operation = Recorder()
        alive = weakref.ref(operation)
        outcomes = operation.outcomes
        channel.submit(request(), operation)
        del operation
        gc.collect()
        assert alive() is not None
        channel.close()
        assert eventually(lambda: outcomes)
        assert eventually(lambda: alive() is None)


def test_frames_pin_their_bytes(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    operation = ask(channel, b"z" * 50_000)
    operation._wait(TIMEOUT)
    taken = operation._take()
    assert taken is not None and isinstance(taken[1], Frame)
    view = memoryview(taken[1])
    del taken, operation
    channel.close()
    assert reactor.stop(TIMEOUT)
    assert view.readonly and bytes(view[4:]) == b"z" * 50_000
    view.release()


def test_failures_of_a_stopped_reactor(reactor: Reactor) -> None:
    with ScriptedServer(silent) as server:
        channel, handler = connect(reactor, server.address)
        operations = [ask(channel) for _ in range(100)]
        assert reactor.stop(TIMEOUT)
        for operation in operations:
            failure = failure_of(operation)
            assert failure.kind == CLOSED and "shut down" in failure.message and failure.cause is handler.error


INTERRUPTED = """
import os, signal, socket, threading, time
from cassandra._core.transport import Operation

operation = Operation()
try:
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    operation._wait({timeout})
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("timeout", [None, 3600.0])
def test_ctrl_c_interrupts_a_wait(timeout: float | None) -> None:
    code = textwrap.dedent(INTERRUPTED.format(timeout=timeout))
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.strip() == "interrupted", result.stderr


def test_a_signal_handler_that_does_not_raise_does_not_end_the_wait() -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: calls.append(1))
    try:
        for wait in ever_longer(0.3):
            timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1))
            timer.start()
            start = time.monotonic()
            assert not Operation()._wait(wait)
            assert time.monotonic() - start >= wait
            in_time = calls == [1]
            timer.join()
            if in_time:
                return
            calls.clear()
        raise AssertionError("the handler was not called during the wait")
    finally:
        signal.signal(signal.SIGUSR1, before)
