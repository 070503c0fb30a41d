"""Threads that wait for their answers and poll the reactor meanwhile, seen from Python."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra._core.transport import Channel, CompletionQueue, Operation, Reactor
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.unit.core.transport_client import (
    TIMEOUT,
    Recorder,
    answer_of,
    ask,
    connect,
    echo,
    eventually,
    on_reactor,
    request,
    running_reactor,
)

pytestmark = pytest.mark.usefixtures("no_leaks")
ROOT = Path(__file__).resolve().parents[3]


def script(connection: ScriptedConnection, incoming: Envelope) -> bool:
    connection.version = incoming.version
    if incoming.body.startswith(b"error"):
        connection.answer(incoming, wire.ERROR, wire.error(0, "no"))
    elif not incoming.body.startswith(b"silent"):
        echo(connection, incoming)
    return True


@pytest.fixture(params=["epoll", "poll"])
def reactor(request: pytest.FixtureRequest) -> Iterator[Reactor]:
    with running_reactor(request.param) as reactor:
        yield reactor


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(script) as server:
        yield server


def warm_up(reactor: Reactor, channel: Channel) -> None:
    """Ask without a pause until this thread polls for itself."""
    deadline = time.monotonic() + TIMEOUT
    before = reactor.stats()["leads"]
    while reactor.stats()["leads"] == before:
        assert answer_of(ask(channel, b"warm")) == b"warm"
        assert time.monotonic() < deadline


@pytest.mark.parametrize("backend", ["epoll", "poll"])
def test_callers_do_not_poll_where_the_environment_says_so(
    backend: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASTCQL_LEAD", "0")
    with running_reactor(backend) as reactor:
        channel, _ = connect(reactor, server.address)
        for number in range(300):
            assert answer_of(ask(channel, b"%d" % number)) == b"%d" % number
        assert reactor.stats()["leads"] == 0


def test_callbacks_run_on_the_io_thread_while_other_threads_poll(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    io_thread = on_reactor(reactor, threading.get_ident)

    def led() -> bool:
        """On a busy machine no thread may poll for some time; then nothing is shown."""
        warm_up(reactor, channel)
        before = reactor.stats()["leads"]
        recorders: list[Recorder] = []
        threads: set[int] = set()
        seen: list[bool] = []
        for number in range(200):
            if number % 20 == 0:
                recorder = Recorder()
                if number % 40:
                    recorder._set_eager()
                channel.submit(request(b"eager" if number % 40 else b"error"), recorder)
                recorders.append(recorder)
                reactor.call_soon(lambda: threads.add(threading.get_ident()))
                reactor.call_later(0.001, lambda: seen.append(reactor.in_reactor()))
            assert answer_of(ask(channel, b"%d" % number)) == b"%d" % number
            assert not reactor.in_reactor()
        assert eventually(lambda: all(len(recorder.outcomes) == 1 for recorder in recorders))
        assert eventually(lambda: len(seen) == 10)
        threads.update(*(recorder.threads for recorder in recorders))
        assert threads == {io_thread} and all(seen)
        return reactor.stats()["leads"] > before

    assert eventually(led)


def test_a_wait_ends_in_time_while_polling(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)

    def led() -> bool:
        warm_up(reactor, channel)
        before = reactor.stats()["leads"]
        operation = ask(channel, b"silent", timeout=None)
        start = time.monotonic()
        assert not operation._wait(0.01)
        assert time.monotonic() - start >= 0.01
        return reactor.stats()["leads"] > before

    assert eventually(led)


def test_a_request_times_out_while_polling(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    for number in range(3):
        warm_up(reactor, channel)
        operation = ask(channel, b"silent", number, timeout=0.01)
        assert operation._wait(TIMEOUT)
        taken = operation._take()
        assert taken is not None and taken[0] == number and "no response in time" in repr(taken[1])


def test_an_outcome_from_elsewhere_ends_the_wait(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    for pause in (0.0, 0.005, 0.02):
        warm_up(reactor, channel)
        operation = ask(channel, b"silent", timeout=None)
        timer = threading.Timer(pause, operation._finish)
        timer.start()
        assert operation._wait(TIMEOUT)
        timer.join()
        assert operation._finished


def test_sync_and_asyncio_on_one_channel(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)

    class Awaited(Operation):
        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            super().__init__()
            self.future: asyncio.Future[Any] = loop.create_future()

        def _on_outcome(self) -> None:
            outcome = self._take()
            if outcome is not None:
                self.future.set_result(outcome[1])

    async def one(queue: CompletionQueue, body: bytes) -> None:
        operation = Awaited(asyncio.get_running_loop())
        if body.endswith(b"0"):
            channel.submit(request(body), operation)
            await asyncio.sleep(0)
            operation._attach(queue)  # after it was sent, or answered
        else:
            operation._attach(queue)
            channel.submit(request(body), operation)
        assert bytes(memoryview(await operation.future))[4:] == body

    async def several(number: int) -> None:
        loop = asyncio.get_running_loop()
        queue = CompletionQueue()
        loop.add_reader(queue.fileno(), queue.drain)
        try:
            for turn in range(20):
                await asyncio.gather(*(one(queue, b"%d.%d.%d" % (number, turn, i)) for i in range(turn % 4)))
        finally:
            loop.remove_reader(queue.fileno())
            queue.close()

    def sync(number: int) -> None:
        for turn in range(100):
            body = b"%d %d" % (number, turn)
            assert answer_of(ask(channel, body)) == body

    done = []

    def run(function: Any, number: int) -> None:
        function(number)
        done.append(number)

    works = [sync, lambda number: asyncio.run(several(number)), sync, lambda number: asyncio.run(several(number))]
    threads = [threading.Thread(target=run, args=(work, number)) for number, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert sorted(done) == [0, 1, 2, 3]


def test_many_threads(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    done = []

    def work(number: int) -> None:
        for turn in range(20):
            body = b"%d %d" % (number, turn)
            assert answer_of(ask(channel, body)) == body
        done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert sorted(done) == list(range(50))
    warm_up(reactor, channel)  # one thread again


def test_stop_while_a_thread_polls(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    warm_up(reactor, channel)
    operation = ask(channel, b"silent", timeout=None)
    result: list[Any] = []
    waiter = threading.Thread(target=lambda: result.append((operation._wait(TIMEOUT), operation._take())))
    waiter.start()
    assert reactor.stop(TIMEOUT)
    waiter.join(TIMEOUT)
    (ready, taken) = result[0]
    assert ready and "shut down" in taken[1].message


PRELUDE = """
import os, signal, sys, threading, time
from cassandra._base.errors import ConnectionShutdown
from cassandra._core.transport import Operation, Reactor
from tests.fakes.scripted import ScriptedServer
from tests.unit.core.test_transport_lead import script, warm_up
from tests.unit.core.transport_client import answer_of, ask, connect, request

reactor = Reactor()
server = ScriptedServer(script)
channel, handler = connect(reactor, server.address)
"""


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )


def test_ctrl_c_interrupts_a_thread_that_polls() -> None:
    code = """
    def interrupt(before):
        end = time.monotonic() + 0.5  # it may sleep instead: that is to be interrupted too
        while reactor.stats()["leads"] == before and time.monotonic() < end:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    for timeout in (None, 3600.0, None):
        warm_up(reactor, channel)
        operation = ask(channel, b"silent", timeout=None)
        killer = threading.Thread(target=interrupt, args=(reactor.stats()["leads"],))
        try:
            killer.start()
            operation._wait(timeout)
        except KeyboardInterrupt:
            print("interrupted", reactor.stats()["leads"] > 0)
        killer.join()
        print(answer_of(ask(channel, b"and on")))
    channel.close()
    reactor.stop()
    server.close()
    """
    result = run_python(code)
    assert result.stdout == "interrupted True\nb'and on'\n" * 3, result.stderr


def test_exit_while_threads_poll() -> None:
    code = """
    warm_up(reactor, channel)
    for _ in range(3):
        threading.Thread(target=ask(channel, b"silent", timeout=None)._wait, daemon=True).start()
    time.sleep(0.01)
    print("end", flush=True)
    """
    result = run_python(code)
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


def test_fork_while_a_thread_polls() -> None:
    code = """
    import warnings
    warnings.simplefilter("ignore")
    warm_up(reactor, channel)
    operation = ask(channel, b"silent", timeout=None)
    threading.Thread(target=operation._wait, daemon=True).start()
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        mine = Reactor()
        fresh, _ = connect(mine, server.address)
        warm_up(mine, fresh)
        late = not ask(fresh, b"silent")._wait(0.01)
        try:
            operation._wait(0.01)
        except ConnectionShutdown as error:
            print(error)
        fresh.close()
        mine.stop()
        reactor.stop()
        print("child fine" if late else "child got an answer", flush=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for number in range(20):
        assert answer_of(ask(channel, b"%d" % number)) == b"%d" % number
    operation._finish()
    print("parent fine")
    reactor.stop()
    server.close()
    """
    result = run_python(code)
    assert (result.returncode, result.stdout) == (
        0,
        "the request was made by the parent of this process\nchild fine\nparent fine\n",
    ), result.stderr
