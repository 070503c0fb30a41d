"""Reactors: timers, calls, stopping, the end of the process, fork, and that nothing piles up."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra._base.errors import ConnectionShutdown
from cassandra._core.transport import Operation, Reactor, Timer, debug_counters
from tests.fakes.scripted import ScriptedServer
from tests.patience import ever_longer
from tests.unit.core.transport_client import (
    TIMEOUT,
    Handler,
    answer_of,
    ask,
    connect,
    echo,
    eventually,
    failure_of,
    on_reactor,
    request,
    running_reactor,
    silent,
)

pytestmark = pytest.mark.usefixtures("no_leaks")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=["epoll", "poll"])
def reactor(request: pytest.FixtureRequest) -> Iterator[Reactor]:
    with running_reactor(request.param) as reactor:
        yield reactor


def test_backends() -> None:
    for backend, expected in (("auto", "epoll"), ("epoll", "epoll"), ("poll", "poll")):
        with running_reactor(backend) as reactor:
            assert reactor.backend == expected
    with pytest.raises(ValueError, match="kqueue"):
        Reactor("kqueue")


def test_call_soon_in_order_on_the_io_thread(reactor: Reactor) -> None:
    seen: list[tuple[int, bool]] = []
    for number in range(100):
        reactor.call_soon(lambda number=number: seen.append((number, reactor.in_reactor())))  # type: ignore[misc]
    assert eventually(lambda: len(seen) == 100)
    assert seen == [(number, True) for number in range(100)]
    assert not reactor.in_reactor()


def test_timers(reactor: Reactor) -> None:
    fired: list[tuple[str, float]] = []
    timers: list[Timer] = []

    def note(name: str) -> None:
        fired.append((name, time.monotonic()))

    def start(unit: float) -> tuple[float, float]:
        """On the I/O thread, where none of them fires meanwhile; when it began and how long it took."""
        began = time.monotonic()
        timers[:] = [
            reactor.call_later(5 * unit, lambda: note("last")),
            reactor.call_later(2 * unit, lambda: note("cancelled")),
            reactor.call_later(unit, lambda: note("first")),
            reactor.call_later(-1.0, lambda: note("at once")),
            reactor.call_later(3600.0, lambda: note("never")),
        ]
        timers[1].cancel()
        return began, time.monotonic() - began

    for unit in ever_longer(0.02):
        fired.clear()
        began, took = on_reactor(reactor, lambda unit=unit: start(unit))  # type: ignore[misc]
        assert eventually(lambda: len(fired) == 3, 10 * unit + TIMEOUT)
        timers[0].cancel()
        timers[1].cancel()
        timers[4].cancel()
        assert fired[-1][1] - began >= unit
        if took < unit:
            break
    assert [name for name, _ in fired] == ["at once", "first", "last"]
    assert fired[1][1] - began >= unit and fired[2][1] - began >= 5 * unit


def test_a_cancelled_timer_forgets_its_callback(reactor: Reactor) -> None:
    class Callback:
        def __call__(self) -> None:
            raise AssertionError

    callback = Callback()
    alive = weakref.ref(callback)
    timer = reactor.call_later(3600.0, callback)
    del callback
    assert alive() is not None
    timer.cancel()
    assert alive() is None


def test_a_timer_cancelled_in_the_same_turn_does_not_fire(reactor: Reactor) -> None:
    fired: list[str] = []

    def both_due() -> None:
        second = reactor.call_later(0.0, lambda: fired.append("second"))
        reactor.call_soon(second.cancel)
        time.sleep(0.02)

    on_reactor(reactor, both_due)
    time.sleep(0.05)
    assert fired == [] or fired == ["second"]


def test_stop_fails_pending_requests_and_refuses_new_ones(reactor: Reactor) -> None:
    with ScriptedServer(silent) as server:
        channel, handler = connect(reactor, server.address)
        operation = ask(channel)
        later = reactor.call_later(3600.0, lambda: None)
        assert reactor.stop(TIMEOUT) and reactor.stop() and reactor.stop(0)
        assert "shut down" in failure_of(operation).message
        assert isinstance(handler.error, ConnectionShutdown)
        with pytest.raises(ConnectionShutdown):
            channel.submit(request(), Operation())
        with pytest.raises(ConnectionShutdown, match="stopped"):
            reactor.connect(socket.AF_INET, server.address, Handler(), timeout=1)
        with pytest.raises(RuntimeError, match="stopped"):
            reactor.call_soon(print)
        with pytest.raises(RuntimeError, match="stopped"):
            reactor.call_later(1, print)
        later.cancel()
        channel.close()
        assert reactor.stats()["channels"] == 0


def test_stop_inside_a_callback(reactor: Reactor) -> None:
    with ScriptedServer(silent) as server:
        channel, handler = connect(reactor, server.address)
        assert on_reactor(reactor, reactor.stop) is True
        assert reactor.stop(TIMEOUT)
        assert isinstance(handler.error, ConnectionShutdown) and channel.closed


def test_stop_from_many_threads(reactor: Reactor) -> None:
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(reactor.stop(TIMEOUT))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert results == [True] * 8


@pytest.mark.parametrize("backend", ["epoll", "poll"])
def test_stop_gives_the_descriptors_back(backend: str) -> None:
    """Not only when the last reference goes: a stopped cluster that is still referenced has none of them."""

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    with ScriptedServer(echo) as server:
        before = descriptors()
        reactor = Reactor(backend)
        channel, _ = connect(reactor, server.address)
        answer_of(ask(channel, b"x"))
        assert reactor.stop(TIMEOUT)
        assert eventually(lambda: server.connections[0].socket.fileno() < 0)
        assert descriptors() <= before
        del channel, reactor


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_stop_that_the_handler_of_a_signal_forked_in(reactor: Reactor) -> None:
    """The child waits for no thread of its parent."""
    entered, release = threading.Event(), threading.Event()
    children: list[int] = []

    def fork(number: int, frame: object) -> None:
        children.append(os.fork())
        if children[0] == 0:
            signal.alarm(int(TIMEOUT))  # which ends a child that hangs

    def interrupt() -> None:
        time.sleep(0.3)  # inside stop(), if this machine is not too busy
        os.kill(os.getpid(), signal.SIGUSR1)
        eventually(lambda: children)
        statuses.append(os.waitpid(children[0], 0)[1])
        release.set()

    reactor.call_soon(lambda: (entered.set(), release.wait(TIMEOUT)))
    assert entered.wait(TIMEOUT)
    statuses: list[int] = []
    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGUSR1, fork), signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        thread.start()
        stopped = reactor.stop(4 * TIMEOUT)
        if 0 in children:
            os._exit(0 if stopped else 1)
        assert stopped
        thread.join(TIMEOUT)
        assert statuses == [0]
    finally:
        if 0 in children:
            os._exit(2)
        signal.signal(signal.SIGUSR1, before[0])
        signal.signal(signal.SIGALRM, before[1])


def test_stop_has_a_time_limit(reactor: Reactor) -> None:
    release = threading.Event()
    reactor.call_soon(release.wait)
    start = time.monotonic()
    assert not reactor.stop(0.2)
    assert time.monotonic() - start < TIMEOUT
    release.set()
    assert reactor.stop(TIMEOUT)


def test_a_forgotten_reactor_ends_its_thread() -> None:
    def threads() -> set[str]:
        return {path.name for path in Path("/proc/self/task").iterdir()}

    before = threads()
    reactor = Reactor()
    started = threads() - before
    assert len(started) == 1
    del reactor
    gc.collect()
    assert eventually(lambda: not started & threads())


def test_stats(reactor: Reactor) -> None:
    with ScriptedServer(echo) as server:
        channel, _ = connect(reactor, server.address)
        answer_of(ask(channel, b"x" * 40_000))
        reactor.call_later(3600, print)
        on_reactor(reactor, lambda: None)
        stats = reactor.stats()
        assert stats["channels"] == 1 and stats["timers"] == 1 and stats["wakeups"] > 0
        assert stats["slabs_in_use"] >= 0 and stats["bytes_in_use"] >= 0
        channel.close()
        assert eventually(lambda: reactor.stats()["channels"] == 0)


def test_a_plain_answer_needs_no_gil(reactor: Reactor) -> None:
    """Answers that a thread waits for do not make the I/O thread enter Python."""
    with ScriptedServer(echo) as server:
        channel, _ = connect(reactor, server.address)
        before = reactor.stats()["runtime_entries"]
        for _ in range(200):
            answer_of(ask(channel, b"x", timeout=None))
        assert reactor.stats()["runtime_entries"] - before < 20


def test_a_thousand_connections(reactor: Reactor) -> None:
    descriptors, channels = len(list(Path("/proc/self/fd").iterdir())), debug_counters()["channels"]
    with ScriptedServer(echo) as server:
        for number in range(1000):
            channel, handler = connect(reactor, server.address)
            operation = ask(channel, b"x")
            if number % 2:
                assert answer_of(operation) == b"x"
            channel.close()
            assert handler.error is None
            if number % 100 == 0:
                server.connections.clear()
    assert eventually(lambda: len(list(Path("/proc/self/fd").iterdir())) <= descriptors)
    del channel, handler, operation
    assert eventually(lambda: debug_counters()["channels"] == channels)


def test_the_last_reference_of_a_channel_does_not_close_it(reactor: Reactor) -> None:
    with ScriptedServer(echo) as server:
        channel, handler = connect(reactor, server.address)
        del channel
        gc.collect()
        time.sleep(0.05)
        assert not handler.closed.is_set()


# ---- the process


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    prelude = """
    import contextlib, os, socket, sys, threading, time
    from cassandra._core.transport import Operation, Reactor
    from tests.fakes.scripted import ScriptedServer
    from tests.unit.core.transport_client import *
    """
    text = textwrap.dedent(prelude) + textwrap.dedent(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONFAULTHANDLER": "1"}
    return subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=ROOT,
        env=environment,
    )


EXITS = {
    "running": "reactor = Reactor()",
    "with a channel and requests in flight": """
        reactor = Reactor()
        server = ScriptedServer(silent)
        channel, handler = connect(reactor, server.address)
        operations = [ask(channel) for _ in range(100)]
    """,
    "with a daemon thread that waits": """
        reactor = Reactor()
        server = ScriptedServer(silent)
        channel, handler = connect(reactor, server.address)
        threading.Thread(target=ask(channel, timeout=None)._wait, daemon=True).start()
    """,
    "while answers pour in": """
        reactor = Reactor()
        server = ScriptedServer(echo)
        channel, handler = connect(reactor, server.address)
        def pump():
            while not channel.closed:
                operation = Recorder()
                operation._set_eager()
                with contextlib.suppress(Exception):
                    channel.submit(request(b"x"), operation)
        threading.Thread(target=pump, daemon=True).start()
        time.sleep(0.2)
    """,
    "while callbacks go on": """
        reactor = Reactor()
        def again():
            with contextlib.suppress(RuntimeError):
                reactor.call_soon(again)
        again()
    """,
    "by an exception": """
        reactor = Reactor()
        reactor.call_later(3600, print)
        raise SystemExit(0)
    """,
    "after stop": "reactor = Reactor(); reactor.stop()",
    "in a callback at exit": """
        import atexit
        reactor = Reactor()
        atexit.register(lambda: reactor.call_soon(print))
    """,
    "with a reactor in a cycle": """
        reactor = Reactor()
        holder = [reactor]
        holder.append(holder)
        del reactor, holder
    """,
}


@pytest.mark.parametrize("way", EXITS)
def test_the_interpreter_ends(way: str) -> None:
    result = run_python(EXITS[way])
    assert (result.returncode, result.stderr) == (0, "")


def test_the_interpreter_ends_although_a_callback_hangs() -> None:
    code = """
    import cassandra._core.transport as transport
    transport._EXIT_TIMEOUT = 0.3
    reactor = Reactor()
    reactor.call_soon(lambda: time.sleep(3600))
    time.sleep(0.1)
    """
    result = run_python(code)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_forked_child_leaves_the_parents_sockets_alone() -> None:
    code = """
    import warnings
    warnings.simplefilter("ignore")
    reactor = Reactor()
    server = ScriptedServer(echo)
    channel, handler = connect(reactor, server.address)
    answer_of(ask(channel, b"before"))
    pending = [ask(channel, b"pending") for _ in range(100)]
    child = os.fork()
    if child == 0:
        problems = []
        for use in (
            lambda: channel.submit(request(), Operation()),
            lambda: reactor.call_soon(print),
            lambda: reactor.call_later(1, print),
            lambda: reactor.connect(socket.AF_INET, server.address, Handler(), timeout=1),
        ):
            try:
                use()
                problems.append("used")
            except Exception as error:
                if "parent of this process" not in str(error):
                    problems.append(str(error))
        if not channel.closed:
            problems.append("open")
        channel.close()
        reactor.stop()
        mine = Reactor()
        fresh, _ = connect(mine, server.address)
        if answer_of(ask(fresh, b"child")) != b"child":
            problems.append("no answer")
        fresh.close()
        mine.stop()
        del channel, reactor
        print(problems or "child fine", flush=True)
        sys.exit(len(problems))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [answer_of(one) for one in pending] == [b"pending"] * 100
    print(answer_of(ask(channel, b"parent")))
    """
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "child fine\nb'parent'\n"


def test_a_closed_connection_is_closed_although_a_child_has_it_too() -> None:
    code = """
    import warnings
    warnings.simplefilter("ignore")
    reactor = Reactor()
    server = ScriptedServer(echo)
    channel, handler = connect(reactor, server.address)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    channel.close()
    ended = eventually(lambda: server.connections and server.connections[0].socket.fileno() < 0)
    os.close(writing)
    os.waitpid(child, 0)
    print(ended)
    reactor.stop()
    server.close()
    """
    result = run_python(code)
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr
