"""Which process this is, what is done in a child that was forked, and waits that end when it was forked.

L0. Modules that keep something which a child cannot go on with say so to :func:`in_child`. ``os.fork`` calls what they
gave; a ``fork`` of the C library (uWSGI's) tells nobody in Python, and there whoever uses the driver first does it:
all uses begin with :func:`catch_up`, natively with a look at one number.

A child of ``os.fork`` has one thread, the one that forked, and that can be in the middle of anything: the handler
of a signal may fork while its thread waits for others. They are in the parent, so in the child nobody would end that
wait. Whoever blocks a caller's thread therefore waits at a :class:`Bell`. In a child all that were waited at are rung,
and :func:`stay` raises.

Nothing here takes a lock that another thread holds for a moment, as a Future or an Event does: a fork could fall into
that moment, and then the lock would stay held.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from time import monotonic
from typing import Any, TypeVar

from cassandra._base.logs import get_logger

from .errors import ConnectionShutdown
from .real import Future, green, new_gate, threading

T = TypeVar("T")

log = get_logger("cassandra.cluster")

WAIT_SLICE = 0.5  # seconds: a signal that comes just before a thread sleeps is handled at the end of the slice
CATCH_UP_LIMIT = 5.0  # seconds that a thread waits for another one that does what is to be done in a child

#: What calls that last began in: another one in each process.
current = object()

_waited_at: set[Bell] = set()

_in_child: list[Callable[[], object]] = []
_number: Callable[[], int] = os.getpid  # of this process
_caught_up = _number()
_catching_up: dict[int, tuple[int, threading.Event]] = {}  # by whom, and when it is done


def in_child(action: Callable[[], object]) -> None:
    """Call *action* in each process that is forked, before it uses the driver. It can be called once more where another
    fork interrupted it."""
    _in_child.append(action)


def number_by(number: Callable[[], int]) -> None:
    """Processes are told apart by *number*; process ids may come again."""
    global _number, _caught_up
    _number, _caught_up = number, number()


def catch_up() -> None:
    """Do what is to be done in a forked child, unless it was done. All uses of the driver begin with it.

    No lock: the parent may have been forked while it had that. Of several threads one does it, and the others wait.
    """
    global _caught_up
    number = _number()
    if number == _caught_up:
        return
    mine = (threading.get_ident(), threading.Event())
    thread, done = owner = _catching_up.setdefault(number, mine)
    if owner is not mine:
        if thread != mine[0]:  # or it is one of the actions
            done.wait(CATCH_UP_LIMIT)
        return
    if number != _caught_up:  # or it was done just now
        for action in _in_child:
            try:
                action()
            except Exception:
                log.exception("Not everything could be left to the parent of this process")
        _caught_up = number
    done.set()
    _catching_up.clear()


def here() -> object:
    """What calls that last keep, for :func:`stay`."""
    catch_up()
    return current


def stay(began_in: object, error: BaseException | None = None) -> None:
    """Raise ConnectionShutdown where a call that the parent has begun would go on in a forked child; or *error*, which
    it would go on with: whoever forked may have raised it, such as the handler of a signal."""
    if began_in is not current:
        raise error or ConnectionShutdown("The call was made by the parent of this process, which goes on with it")


class Bell:
    """Wakes the one thread that waits for it; if it is rung before, the next wait ends at once. Make it before that is
    begun which rings it: a child that is forked from then on does not wait."""

    def __init__(self) -> None:
        self._process = here()
        self._silent = new_gate()  # held but between a ring and the wait that it ends
        self._silent.acquire()

    def ring(self, *_: object) -> None:
        """From any thread; also as the callback of a Future."""
        with contextlib.suppress(RuntimeError):  # it was rung already
            self._silent.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is rung; False if it was not within *timeout* seconds. ConnectionShutdown in a forked child."""
        _waited_at.add(self)
        try:
            stay(self._process)  # the fork may have been just before
            rung = self._wait(timeout)
        finally:
            _waited_at.discard(self)
        stay(self._process)
        return rung

    def _wait(self, timeout: float | None) -> bool:
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            left = WAIT_SLICE if deadline is None else max(0.0, deadline - monotonic())
            if self._silent.acquire(timeout=min(left, WAIT_SLICE)):
                return True
            if deadline is not None and left <= WAIT_SLICE:
                return False

    def result(self, future: Future[T], timeout: float | None = None) -> T:
        """As ``future.result(timeout)``, but that it raises ConnectionShutdown in a forked child."""
        future.add_done_callback(self.ring)
        if not self.wait(timeout):
            raise FutureTimeout
        return future.result()


class Event:
    """As ``threading.Event``, without a lock: the handler of a signal that raises in a thread that waits or sets cannot
    leave one held, for which the thread that sets would wait for ever. ConnectionShutdown in a forked child that
    waits."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: set[Bell] = set()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """From any thread."""
        self._is_set = True
        for bell in list(self._waiting):
            bell.ring()

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is set; False if it was not within *timeout* seconds."""
        bell = Bell()
        self._waiting.add(bell)  # then look, as set() sets and then looks
        try:
            return self._is_set or bell.wait(timeout)
        finally:
            self._waiting.discard(bell)


def renew(lock: Any) -> None:
    """In a forked child: free *lock* of the thread that had it in the parent. If that thread is this one, it keeps it:
    it is in the middle of something."""
    is_owned = getattr(lock, "_is_owned", None)  # of an RLock
    if is_owned is None or not is_owned():
        lock._at_fork_reinit()  # as the standard library does with its own


def _ring_all() -> None:
    global current
    current = object()
    if green is not None:
        green.leave_to_parent()
    for bell in list(_waited_at):
        bell.ring()


in_child(_ring_all)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=catch_up)
