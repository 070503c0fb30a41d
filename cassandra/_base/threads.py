"""Threads that run one call after another: as many as there are calls under way, and none when there is nothing to do.

L0. For calls that may block: commands of callers (``_session/background/commands.py``), log records of driver threads.
A call never waits for another one to end: when all threads are busy, one more is started. A thread that is idle for
``IDLE_LIMIT`` seconds ends, or at once when the last cluster is shut down (:func:`end_idle`).

State: ``_calls`` and ``_idle``, both changed by atomic operations only, so any thread may submit, also in the handler
of a signal or in a ``__del__`` at any point of another submission. No lost wake-ups: a submitter publishes its call and
then looks for an idle thread; a thread announces that it is idle and then looks for calls. An exception between the two
steps of a submitter (Ctrl-C) leaves a call that the next thread that has nothing to do takes.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

from .locks import enter_driver_thread
from .process import in_child
from .real import threading

IDLE_LIMIT = 1.0

_calls: deque[Callable[[], object]] = deque()
_idle: deque[_Worker] = deque()


def start(call: Callable[[], object]) -> None:
    """Run *call* on a driver thread that may block. RuntimeError, and nothing happens, if there is none and none can
    be started, as while the interpreter exits. *call* must not raise."""
    _calls.append(call)
    try:
        worker = _idle.pop()
    except IndexError:
        try:
            _Worker().start()
        except RuntimeError:
            try:
                _calls.remove(call)
            except ValueError:  # another thread took it
                return
            raise
    else:
        worker.gate.release()


def end_idle() -> None:
    """Have the threads end that have nothing to do, and wait for that, except for the calling one."""
    ended: list[_Worker] = []
    with contextlib.suppress(IndexError):
        while True:
            worker = _idle.pop()
            worker.is_ending = True
            worker.gate.release()
            ended.append(worker)
    for worker in ended:
        worker.thread.join(1.0)


class _Worker:
    def __init__(self) -> None:
        self.gate: Any = threading.Lock()  # released once by whoever took it from _idle
        self.gate.acquire()
        self.is_ending = False
        self.thread = threading.Thread(target=self._work, name="fastcql-command", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def _work(self) -> None:
        enter_driver_thread()
        while True:
            try:
                call = _calls.popleft()
            except IndexError:
                if self._waits():
                    continue
                return
            call()
            del call  # or it would live until the next one comes

    def _waits(self) -> bool:
        """Until there may be a call. False if this thread ends."""
        _idle.append(self)
        if not _calls and self.gate.acquire(timeout=IDLE_LIMIT):
            return not self.is_ending or bool(_calls)
        try:
            _idle.remove(self)
        except ValueError:  # a submitter took it just now
            self.gate.acquire(timeout=IDLE_LIMIT)  # it may have been interrupted, and never ring
            return True
        return bool(_calls)


def _in_child() -> None:
    _calls.clear()
    _idle.clear()


in_child(_in_child)
