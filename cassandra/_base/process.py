"""Fork safety: detection of a forked child, actions in it, and waits that end in it.

L0. Modules with state that a child cannot use register an action with :func:`in_child`. After ``os.fork`` Python calls
the actions; a ``fork`` of the C library (as uWSGI does) calls no Python code, and there the first use of the driver
runs them: all uses begin with :func:`catch_up`, natively with a comparison of one number.

A child of ``os.fork`` has one thread, the one that forked, at any point of its code: a signal handler may fork while
its thread waits for other threads. These exist in the parent only, so in the child no thread would end that wait. Code
that blocks a caller thread therefore waits for a :class:`AutoResetEvent`, a fork-safe event. In a child all events with
waiters are set, and :func:`check_process` raises.

No function here acquires a lock that another thread holds for a moment, as a Future or an Event does: a fork in that
moment would leave the lock held.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from time import monotonic
from typing import Any, TypeVar

from .errors import ConnectionShutdown
from .logs import get_logger
from .real import Future, green, new_gate, threading

T = TypeVar("T")

log = get_logger("cassandra.cluster")

WAIT_SLICE = 0.5  # seconds: a signal that comes just before a thread sleeps is handled at the end of the slice
CATCH_UP_LIMIT = 5.0  # seconds that a thread waits for another one that runs the actions in a child

#: Identity of this process: a different object in each process. Long calls compare it, see :func:`check_process`.
current = object()

_waited_at: set[AutoResetEvent] = set()

_in_child: list[Callable[[], object]] = []
_number: Callable[[], int] = os.getpid  # of this process
_caught_up = _number()
_catching_up: dict[int, tuple[int, threading.Event]] = {}  # process: the thread that runs the actions, its end


def in_child(action: Callable[[], object]) -> None:
    """Call *action* in each forked process before it uses the driver. *action* may be called again if another fork
    interrupts it."""
    _in_child.append(action)


def number_by(number: Callable[[], int]) -> None:
    """Distinguish processes by *number*, as process ids may be reused."""
    global _number, _caught_up
    _number, _caught_up = number, number()


def catch_up() -> None:
    """Run the actions of a forked child, unless they were run. All uses of the driver begin with this call.

    There is no lock, as the fork may happen while the parent holds it. One of several threads runs the actions, and the
    others wait.
    """
    global _caught_up
    number = _number()
    if number == _caught_up:
        return
    mine = (threading.get_ident(), threading.Event())
    thread, done = owner = _catching_up.setdefault(number, mine)
    if owner is not mine:
        if thread != mine[0]:  # otherwise an action made this call
            done.wait(CATCH_UP_LIMIT)
        return
    if number != _caught_up:  # otherwise another thread has just done it
        for action in _in_child:
            try:
                action()
            except Exception:
                log.exception("Resetting the driver in a forked process failed")
        _caught_up = number
    done.set()
    _catching_up.clear()


def here() -> object:
    """Return the identity of this process, for :func:`check_process`."""
    catch_up()
    return current


def check_process(began_in: object, error: BaseException | None = None) -> None:
    """Raise ConnectionShutdown if a call that the parent began would continue in a forked child. Raise *error* instead,
    if given: the code that forked, such as a signal handler, may have raised it."""
    if began_in is not current:
        raise error or ConnectionShutdown("The call was made by the parent of this process, and continues there only")


class AutoResetEvent:
    """A fork-safe event for one waiting thread. If it is set before the wait, the wait ends at once. Create it before
    the operation that sets it starts: in a child that is forked from then on, the wait ends."""

    def __init__(self) -> None:
        self._process = here()
        self._silent = new_gate()  # held, except between set() and the wait that it ends
        self._silent.acquire()

    def set(self, *_: object) -> None:
        """Wake the waiting thread. Any thread; also usable as the callback of a Future."""
        try:  # noqa: SIM105 - suppress makes three calls more
            self._silent.release()
        except RuntimeError:  # already set
            pass

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set; False after *timeout* seconds. Raise ConnectionShutdown in a forked child."""
        _waited_at.add(self)
        try:
            check_process(self._process)  # the fork may have happened before this event was registered
            was_set = self._wait(timeout)
        finally:
            _waited_at.discard(self)
        check_process(self._process)
        return was_set

    def _wait(self, timeout: float | None) -> bool:
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            left = WAIT_SLICE if deadline is None else max(0.0, deadline - monotonic())
            if self._silent.acquire(timeout=min(left, WAIT_SLICE)):
                return True
            if deadline is not None and left <= WAIT_SLICE:
                return False

    def result(self, future: Future[T], timeout: float | None = None) -> T:
        """Return ``future.result(timeout)``. Raise ConnectionShutdown in a forked child."""
        future.add_done_callback(self.set)
        if not self.wait(timeout):
            raise FutureTimeout
        return future.result()


class Event:
    """A ``threading.Event`` without a lock: a signal handler that raises in a waiting or setting thread cannot leave a
    lock held, on which the setting thread would block forever. ``wait`` raises ConnectionShutdown in a forked child."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: set[AutoResetEvent] = set()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """Set the event. Any thread."""
        self._is_set = True
        for event in list(self._waiting):
            event.set()

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the event is set; False after *timeout* seconds."""
        event = AutoResetEvent()
        self._waiting.add(event)  # before the check of _is_set, as set() sets it before it reads _waiting
        try:
            return self._is_set or event.wait(timeout)
        finally:
            self._waiting.discard(event)


def renew(lock: Any) -> None:
    """Release *lock* of the thread that held it in the parent. In a forked child. If this thread holds it, it stays
    held: this thread is inside the guarded section."""
    is_owned = getattr(lock, "_is_owned", None)  # of an RLock
    if is_owned is None or not is_owned():
        lock._at_fork_reinit()  # as the standard library does with its own locks


def _set_all() -> None:
    global current
    current = object()
    if green is not None:
        green.leave_to_parent()
    for event in list(_waited_at):
        event.set()


in_child(_set_all)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=catch_up)
