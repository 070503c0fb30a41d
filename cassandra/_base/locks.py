"""Locks of the driver, and the threads that may acquire each kind.

L0. Caller threads wait; driver threads change state. A *driver thread* is the I/O thread, a worker, or another thread
that the driver starts; every other thread is a *caller thread*. Each lock of the driver is of one of two kinds:

* A *driver lock* guards state that driver threads change. Only driver threads acquire it. A caller thread that needs
  such a change submits a command and waits for it (``threads.py``).
* A *caller lock* guards state of caller threads, such as an object that is created on first use. The I/O thread does
  not acquire it, and no thread acquires it while it holds a driver lock. State that it guards changes by one
  assignment, as a signal handler may raise between any two bytecodes of a caller.

State that both kinds of threads use changes in one native section (code without a call into Python, guarded by the GIL
or by a C++ lock), or by an atomic operation of a built-in object, such as ``dict.setdefault`` or ``deque.append``.

The rule excludes deadlocks with signal handlers: Python runs them on the main thread, a caller thread, which holds only
caller locks at that moment. The handler waits for work of driver threads. These wait for driver locks only, whose
owners are driver threads, which no handler interrupts, and which do not wait for caller locks.

Foreign code (callbacks, listeners, policies, log handlers) is called with no driver lock held.

With ``FASTCQL_CHECK_LOCKS=1`` in the environment the rule is checked at each acquisition, and so is the order of locks:
a thread that holds A and acquires B places A before B permanently, and a cycle is a violation. Violations raise
``LockError`` and are appended to :data:`violations`. Both kinds are re-entrant, as garbage collection may run a
``__del__`` anywhere.
"""

from __future__ import annotations

import os
from typing import Any

from .conditions import HANDLED_BEFORE_THE_BLOCK, NativeWith
from .real import threading

CHECKED = os.environ.get("FASTCQL_CHECK_LOCKS") == "1"

#: Descriptions of violations of the rule, oldest first. Filled in checked processes only.
violations: list[str] = []

OF_PROGRAMS = "_lock_of_programs"

CALLER, WORKER, IO = "a caller thread", "a worker", "the I/O thread"


class _Thread(threading.local):
    kind = CALLER


_thread_state = _Thread()
_order: dict[str, set[str]] = {}  # name: names of locks that were acquired while it was held
_order_lock = threading.RLock()  # a signal handler may run while it is held


class LockError(AssertionError):
    """A lock was acquired by a thread of the wrong kind, or in another order than before."""


def driver_lock(name: str) -> Any:
    """Return a re-entrant lock for driver threads only. *name* distinguishes the locks of different classes."""
    return _CheckedLock(name, True) if CHECKED else threading.RLock()


def caller_lock(name: str) -> Any:
    """Return a re-entrant lock for caller threads, and for foreign code on workers."""
    return _CheckedLock(name, False) if CHECKED else _new_lock()


def lock_of_programs(owner: Any) -> Any:
    """Return the re-entrant lock of *owner*, which has a ``__dict__``: an attribute for compatibility with
    scylla-driver. Programs acquire it, the driver does not."""
    return owner.__dict__.setdefault(OF_PROGRAMS, threading.RLock())


def enter_driver_thread(kind: str = WORKER) -> None:
    """Mark this thread as a driver thread of *kind*."""
    _thread_state.kind = kind


def leave_to_parent() -> None:
    """Replace the lock of the order, which another thread of the parent may have held. In a forked child."""
    global _order_lock
    if not _order_lock._is_owned():  # type: ignore[attr-defined]
        _order_lock = threading.RLock()


def thread_kind() -> str:
    """Return the kind of this thread: CALLER, WORKER or IO."""
    return _thread_state.kind


class _NativeLock(NativeWith):
    """A re-entrant lock, also for ``threading.Condition``."""

    def __init__(self) -> None:
        self.native = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)

    def __reduce__(self) -> Any:
        """Return the arguments for a new lock: a copy does not share the lock."""
        return _NativeLock, ()


def _new_lock() -> Any:
    return _NativeLock() if HANDLED_BEFORE_THE_BLOCK else threading.RLock()


class _CheckedLock:
    """A lock that checks the rule. ``with`` checks first, and then acquires and releases in C: a signal handler that
    raises leaves no lock acquired."""

    def __init__(self, name: str, of_driver: bool) -> None:
        self._name = name
        self._of_driver = of_driver
        self._lock = _new_lock()

    @property
    def __enter__(self) -> Any:
        self._check()
        return self._lock.__enter__

    @property
    def __exit__(self) -> Any:
        return self._lock.__exit__

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._check()
        return bool(self._lock.acquire(blocking, timeout))

    def release(self) -> None:
        self._lock.release()

    # for threading.Condition and for the renewal in forked children

    def locked(self) -> bool:
        """Python 3.14 and newer."""
        return bool(self._lock.locked())

    def _is_owned(self) -> bool:
        return bool(self._lock._is_owned())

    def _release_save(self) -> Any:
        return self._lock._release_save()

    def _acquire_restore(self, state: Any) -> None:
        self._lock._acquire_restore(state)

    def _at_fork_reinit(self) -> None:
        self._lock._at_fork_reinit()

    def __reduce__(self) -> Any:
        """Return the arguments for a new lock: a copy does not share the lock."""
        return _CheckedLock, (self._name, self._of_driver)

    def _check(self) -> None:
        held = _held_locks()
        if self in held:
            return
        _thread_state.acquired = [*held, self]
        kind = thread_kind()
        if self._of_driver and kind == CALLER:
            _report_violation(f"{self._name}, a driver lock, is acquired by {kind}")
        if not self._of_driver and kind == IO:
            _report_violation(f"{self._name}, a caller lock, is acquired by {kind}")
        for lock in held:
            if lock._of_driver and not self._of_driver:
                _report_violation(f"{self._name}, a caller lock, is acquired with {lock._name} held, a driver lock")
            if lock._name != self._name:
                with _order_lock:
                    is_cycle = _leads(self._name, lock._name)
                    _order.setdefault(lock._name, set()).add(self._name)
                if is_cycle:
                    _report_violation(
                        f"{self._name} is acquired with {lock._name} held; elsewhere it is the other way round"
                    )


def _held_locks() -> list[_CheckedLock]:
    """Return the checked locks that this thread holds, in the order of acquisition."""
    return [lock for lock in getattr(_thread_state, "acquired", ()) if lock._is_owned()]


def _leads(first: str, last: str) -> bool:
    """True if the order has a path from *first* to *last*."""
    seen, to_do = {first}, [first]
    while to_do:
        name = to_do.pop()
        if name == last:
            return True
        for following in _order.get(name, ()):
            if following not in seen:
                seen.add(following)
                to_do.append(following)
    return False


def _report_violation(text: str) -> None:
    text = f"{text} (thread {threading.current_thread().name!r})"
    violations.append(text)
    raise LockError(text)
