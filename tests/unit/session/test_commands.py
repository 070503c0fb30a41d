"""Commands: calls of caller threads that run on driver threads."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import random
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from cassandra._base import threads
from cassandra._base.locks import WORKER, thread_kind
from cassandra._session import scheduler
from tests.interrupts import handlers_raise
from tests.patience import eventually

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")


class Alarm(Exception):
    """Raised by the handler of a signal."""


@contextmanager
def alarms(handle: Callable[[], object]) -> Iterator[Callable[[float], None]]:
    """``alarm(seconds)`` has *handle* called by a signal's handler."""
    before = signal.signal(signal.SIGALRM, lambda *_: handle())
    try:
        yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def raise_alarm() -> None:
    raise Alarm


def test_a_command_runs_on_a_driver_thread_with_the_caller_s_context() -> None:
    def command(one: int, two: int) -> tuple[str, bool, str, int]:
        return thread_kind(), threading.current_thread() is threading.main_thread(), variable.get(), one + two

    token = variable.set("set")
    try:
        assert scheduler.run(command, 1, 2) == (WORKER, False, "set", 3)
    finally:
        variable.reset(token)


def test_a_command_in_a_command_runs_directly() -> None:
    def idents() -> tuple[int, int]:
        return threading.get_ident(), scheduler.run(threading.get_ident)

    outer, inner = scheduler.run(idents)
    assert outer == inner != threading.get_ident()


def test_errors_are_raised_in_the_caller_with_their_traceback() -> None:
    def fails_in_here() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as raised:
        scheduler.run(fails_in_here)
    assert "fails_in_here" in "".join(traceback.format_tb(raised.value.__traceback__))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_exits_are_raised_in_the_caller(error: type[BaseException]) -> None:
    def exits() -> None:
        raise error

    with pytest.raises(error):
        scheduler.run(exits)
    assert scheduler.run(lambda: 1) == 1


def test_blocked_commands_do_not_delay_others() -> None:
    release = threading.Event()
    started = [threading.Event() for _ in range(20)]

    def block(number: int) -> None:
        started[number].set()
        release.wait()

    callers = [threading.Thread(target=scheduler.run, args=(block, number)) for number in range(20)]
    for caller in callers:
        caller.start()
    assert all(one.wait(30) for one in started)
    assert scheduler.run(lambda: 5) == 5
    release.set()
    for caller in callers:
        caller.join(30)


def test_threads_are_reused_and_end_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    first = scheduler.run(threading.current_thread)
    time.sleep(0.05)  # it is idle now
    assert scheduler.run(threading.current_thread) is first
    threads.end_idle()
    eventually(lambda: not first.is_alive())
    monkeypatch.setattr(threads, "IDLE_LIMIT", 0.01)
    second = scheduler.run(threading.current_thread)
    eventually(lambda: not second.is_alive())


def test_an_interrupted_command_goes_on_and_is_undone() -> None:
    undone: list[str] = []
    release = threading.Event()

    def command() -> str:
        release.wait()
        return "result"

    with alarms(raise_alarm) as alarm:
        alarm(0.05)
        with pytest.raises(Alarm):
            scheduler.run(command, undo=undone.append)
    assert not undone
    release.set()
    eventually(lambda: undone == ["result"])


def test_every_result_is_received_or_undone() -> None:
    moments = random.Random(3)
    undone: list[int] = []
    received: list[int] = []
    ended: list[int] = []

    def command(number: int) -> int:
        time.sleep(0.0005)
        ended.append(number)
        return number

    run = partial(scheduler.run, command, undo=undone.append)
    with handlers_raise(Alarm), alarms(raise_alarm) as alarm:
        for number in range(1500):
            try:
                try:
                    alarm(moments.uniform(0.00005, 0.002))
                    received.extend(map(run, (number,)))  # natively: no handler runs between return and append
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Alarm:
                pass
    scheduler.run(lambda: None)
    eventually(lambda: set(received) | set(undone) >= set(ended))
    assert len(undone) == len(set(undone))


def test_a_handler_may_run_commands_while_the_thread_waits_for_one() -> None:
    moments = random.Random(4)
    handled: list[int] = []
    with alarms(lambda: handled.append(scheduler.run(lambda: 7))) as alarm:
        for _ in range(1500):
            alarm(moments.uniform(0.00005, 0.001))
            assert scheduler.run(lambda: (time.sleep(0.0005), 6)[1]) == 6
    assert set(handled) == {7}


def test_a_task_waits_for_a_command() -> None:
    async def main() -> tuple[Any, ...]:
        variable.set("task's")
        return await scheduler.run_async(lambda: (thread_kind(), variable.get()))

    assert asyncio.run(main()) == (WORKER, "task's")


def test_a_command_that_outlives_a_loop_does_not_keep_it() -> None:
    gate = threading.Event()

    async def main() -> weakref.ref[asyncio.AbstractEventLoop]:
        task = asyncio.ensure_future(scheduler.run_async(gate.wait))
        await asyncio.sleep(0)
        task.cancel()
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(main())
    gate.set()
    eventually(lambda: gc.collect() >= 0 and loop() is None)


def test_a_cancelled_task_s_command_is_undone() -> None:
    undone: list[str] = []
    release = threading.Event()

    def command() -> str:
        release.wait()
        return "result"

    async def main() -> None:
        task = asyncio.ensure_future(scheduler.run_async(command, undo=undone.append))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    release.set()
    eventually(lambda: undone == ["result"])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    scheduler.run(lambda: None)
    child = os.fork()
    if not child:
        os._exit(scheduler.run(lambda: 3))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_submitted_commands_run_and_nothing_waits() -> None:
    release, done = threading.Event(), threading.Event()
    scheduler.submit(lambda: (release.wait(), done.set()))
    assert not done.is_set()
    release.set()
    assert done.wait(30)


def test_without_a_thread_the_caller_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(_: object) -> None:
        raise RuntimeError("can't start new thread")

    def has_no_worker() -> bool:  # one that another test left may still be busy
        threads.end_idle()
        return not any(thread.name == "fastcql-worker" for thread in threading.enumerate())

    eventually(has_no_worker)
    monkeypatch.setattr(threads._Worker, "start", no_thread)
    assert scheduler.run(lambda: (threading.get_ident(), thread_kind())) == (threading.get_ident(), WORKER)
    assert thread_kind() != WORKER
