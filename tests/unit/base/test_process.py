"""Waits that end when the process is forked, and locks that do not outlive the threads that held them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from typing import Any

import pytest

from cassandra._base import process, real
from cassandra._base.process import AutoResetEvent, Event, renew
from cassandra.connection import ConnectionShutdown
from tests.interrupts import interrupted_everywhere
from tests.patience import PATIENCE

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


def in_child(work: Callable[[], bool]) -> None:
    """*work*, which has to be true, in a forked child."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def ends(call: Callable[[], Any]) -> bool:
    """Does it fail because the process was forked?"""
    try:
        call()
    except ConnectionShutdown as error:
        return "parent of this process" in str(error)
    return False


def test_event_set_before_and_during_a_wait() -> None:
    event = AutoResetEvent()
    event.set()
    event.set()
    assert event.wait()
    assert not event.wait(0.0)  # two rings before a wait are one
    thread = threading.Thread(target=event.set)
    thread.start()
    assert event.wait(PATIENCE)
    thread.join()


@pytest.mark.parametrize("timeout", [-1.0, 0.0, 0.01])
def test_not_rung(timeout: float) -> None:
    assert not AutoResetEvent().wait(timeout)


def test_a_time_beyond_all_clocks() -> None:
    event = AutoResetEvent()
    event.set()
    assert event.wait(1e30)


def test_results() -> None:
    done: Future[int] = Future()
    done.set_result(1)
    assert AutoResetEvent().result(done) == 1
    with pytest.raises(FutureTimeout):
        AutoResetEvent().result(Future[int](), 0.0)
    failed: Future[int] = Future()
    failed.set_exception(KeyError("this"))
    with pytest.raises(KeyError, match="this"):
        AutoResetEvent().result(failed)
    cancelled: Future[int] = Future()
    cancelled.cancel()
    with pytest.raises(CancelledError):
        AutoResetEvent().result(cancelled)


def test_a_forked_child_does_not_wait_on_events_of_its_parent() -> None:
    event, future, began_in = AutoResetEvent(), Future[int](), process.current
    in_child(lambda: ends(event.wait))
    in_child(lambda: ends(lambda: event.result(future)))
    in_child(lambda: ends(lambda: process.check_process(began_in)))
    process.check_process(began_in)
    assert not event.wait(0.0)


def test_a_child_waits_for_its_own() -> None:
    def work() -> bool:
        event = AutoResetEvent()
        threading.Timer(0.01, event.set).start()
        return event.wait(PATIENCE)

    in_child(work)


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_a_lock_of_another_thread_is_free_in_a_child(make: Callable[[], Any]) -> None:
    lock, held, release = make(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            release.wait()

    def work() -> bool:
        renew(lock)
        return bool(lock.acquire(blocking=False))

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        in_child(work)
        assert not lock.acquire(blocking=False)
    finally:
        release.set()
        thread.join()


def test_a_lock_of_the_thread_that_forked_stays_its_own() -> None:
    """The handler of a signal may fork anywhere: the child goes on, and lets go of it in the end."""
    lock = threading.RLock()

    def work() -> bool:
        renew(lock)
        lock.release()
        return True

    with lock:
        in_child(work)


def test_events() -> None:
    event = Event()
    assert not event.is_set()
    assert not event.wait(0.0)
    threads = [threading.Thread(target=event.wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    event.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert event.is_set()
    assert event.wait()
    event.clear()
    assert not event.wait(0.0)


def ends_on_another_thread(call: Callable[[], Any]) -> bool:
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return not thread.is_alive()


def test_a_thread_that_is_interrupted_while_it_waits_holds_up_no_other() -> None:
    """A ``threading.Event`` fails here: its lock can stay held."""
    event = Event()
    moments = 0
    for _ in interrupted_everywhere(lambda: event.wait(0.0)):
        assert ends_on_another_thread(event.set)
        assert ends_on_another_thread(event.wait)
        event.clear()
        moments += 1
    assert moments > 8


def test_a_thread_that_is_interrupted_while_it_sets_holds_up_no_other() -> None:
    event = Event()
    for _ in interrupted_everywhere(event.set):
        assert ends_on_another_thread(event.set)
        assert ends_on_another_thread(event.wait)
        event.clear()


def test_a_thread_that_is_interrupted_while_it_waits_for_a_future_holds_up_no_other() -> None:
    """As ``Session.add_or_renew_pool`` returns it. The thread that sets it may be the I/O thread."""
    futures: list[Any] = []

    def wait() -> None:
        futures.append(real.Future())
        futures[-1].add_done_callback(bool)
        with contextlib.suppress(FutureTimeout):
            futures[-1].result(0.001)
        futures[-1].done()

    moments = 0
    for _ in interrupted_everywhere(wait):
        moments += 1
        if futures:
            future = futures.pop()
            assert ends_on_another_thread(partial(future.set_result, 1))
            assert ends_on_another_thread(future.result)
    assert moments > 20
