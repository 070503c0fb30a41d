"""Which threads may acquire which locks, as checked builds see it."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from cassandra._base.conditions import NativeWith
from cassandra._base.locks import caller_lock
from tests.interrupts import interrupted_everywhere

SETUP = """
import threading
from cassandra._base import locks
from cassandra._base.locks import IO, WORKER, LockError, caller_lock, driver_lock, enter_driver_thread

def on(kind, call):
    "The error that *call* raises on a thread of that kind."
    errors = []
    def run():
        if kind:
            enter_driver_thread(kind)
        try:
            call()
        except LockError as error:
            errors.append(str(error))
    thread = threading.Thread(target=run, name="other")
    thread.start()
    thread.join()
    return errors

def nested(outer, inner):
    def run():
        with outer:
            with inner:
                pass
    return run

D, E, C = driver_lock("d"), driver_lock("e"), caller_lock("c")
"""


def outcome(program: str, checked: bool = True) -> Any:
    """The output of *program*, evaluated."""
    environment = {"FASTCQL_CHECK_LOCKS": "1"} if checked else {}
    done = subprocess.run(
        [sys.executable, "-c", SETUP + program], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("kind", "lock", "text"),
    [
        ("None", "D", ["d, a driver lock, is acquired by a caller thread (thread 'other')"]),
        ("WORKER", "D", []),
        ("IO", "D", []),
        ("None", "C", []),
        ("WORKER", "C", []),
        ("IO", "C", ["c, a caller lock, is acquired by the I/O thread (thread 'other')"]),
    ],
)
def test_kinds_of_threads(kind: str, lock: str, text: list[str]) -> None:
    assert outcome(f"print(on({kind}, {lock}.acquire))\nprint(locks.violations)") == [str(text)] * 2


def test_a_caller_lock_under_a_driver_lock() -> None:
    assert outcome("print(on(WORKER, nested(D, C)))") == [
        "[\"c, a caller lock, is acquired with d held, a driver lock (thread 'other')\"]"
    ]


def test_the_order_of_locks() -> None:
    assert outcome("print(on(WORKER, nested(D, E)), on(WORKER, nested(E, D)))") == [
        "[] [\"d is acquired with e held; elsewhere it is the other way round (thread 'other')\"]"
    ]


def test_a_lock_is_reentrant_and_free_afterwards() -> None:
    program = "print(on(WORKER, nested(D, D)), D.acquire(blocking=False) if not enter_driver_thread() else None)"
    assert outcome(program) == ["[] True"]


def test_condition_wait_releases_and_reacquires_held_locks() -> None:
    program = """
condition = threading.Condition(D)
enter_driver_thread()
with condition:
    with D:
        condition.wait(0.01)
        print(len(locks._held_locks()))
print(len(locks._held_locks()))
"""
    assert outcome(program) == ["1", "0"]


def test_unchecked_locks_are_plain() -> None:
    assert outcome("print(type(D) is type(threading.RLock()), on(None, D.acquire))", checked=False) == ["True []"]


class _Native(NativeWith):
    def __init__(self) -> None:
        self.native = threading.RLock()
        self._is_owned = self.native._is_owned  # type: ignore[attr-defined]


@pytest.mark.parametrize("lock", [caller_lock("of a test"), _Native()], ids=["lock", "condition"])
def test_a_handler_that_raises_leaves_no_lock_held(lock: Any) -> None:
    """Python 3.14 runs it after ``__enter__`` and before the block."""

    def use() -> None:
        with lock, lock:
            len("")
        len("")

    moments = 0
    for _ in interrupted_everywhere(use):
        assert not lock._is_owned()
        moments += 1
    assert moments >= 2
