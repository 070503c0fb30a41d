"""Threads, locks and futures of the driver, which stay native when gevent or eventlet patches the standard library.

L0. Every module of the driver imports ``threading`` and ``Future`` from here. Unpatched, ``threading`` is the standard
library's own: the choice is made once, at import, without cost at run time. In a process that gevent or eventlet has
patched before:

* The driver's threads are real threads, and its locks are real locks. Greenlets and threads acquire them in turn, so
  they are held for short times only, and never while a greenlet switches.
* A *wait* of a greenlet (``Event``, ``Condition``, ``Future.result``, ``Thread.join``, a
  :class:`~.process.AutoResetEvent`, and
  natively an operation, ``transport_parts/green.pxi``) uses the hub of its thread: other greenlets run meanwhile
  (``green.py``). The driver's own threads have no hub, and block.
* Callbacks of requests run in greenlets, in the thread that added them.

A patch after the import of the driver has no effect on it.
"""

from __future__ import annotations

import _thread
import concurrent.futures
import socket as socket
import sys
import threading as threading
from collections.abc import Callable
from typing import Any, TypeVar

from .conditions import NativeWith

T = TypeVar("T")


def _patched_by() -> str | None:
    """Return the library that has patched the threads of this process, or None."""
    gevent, eventlet = sys.modules.get("gevent.monkey"), sys.modules.get("eventlet.patcher")
    if gevent is not None and gevent.is_module_patched("threading"):
        return "gevent"
    if eventlet is not None and eventlet.is_monkey_patched("thread"):
        return "eventlet"
    return None


patched_by = _patched_by()


class _Condition(NativeWith, threading.Condition):
    def __init__(self) -> None:
        self.native = threading.RLock()
        super().__init__(self.native)


#: Makes a lock that one thread waits for and another one releases.
new_gate: Callable[[], Any] = threading.Lock


class Future(concurrent.futures.Future[T]):
    """A future that a driver thread sets. A caller that is interrupted in its wait does not block the driver thread."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = _Condition()

    def result(self, timeout: float | None = None) -> T:
        self._wait(timeout)
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout: float | None) -> None:
        """Wait in one native call, and not on the condition, whose lock is not held if its ``wait`` is interrupted."""
        if self.done():
            return
        gate = new_gate()
        gate.acquire()
        self.add_done_callback(lambda _: gate.release())
        if not gate.acquire(timeout=-1 if timeout is None else min(max(0.0, timeout), threading.TIMEOUT_MAX)):
            raise concurrent.futures.TimeoutError


#: Starts a bare thread, in one native call that no signal handler interrupts. If ``Thread.start`` is interrupted, the
#: new thread fails.
start_bare_thread: Callable[[Callable[[], object], tuple[()]], int] = _thread.start_new_thread

#: The module ``green`` in a process with patched threads, else None.
green: Any = None

if patched_by is not None:
    from . import green

    threading, socket, Future, new_gate = green.threading, green.socket, green.Future, green.Gate  # type: ignore[misc]
    start_bare_thread = green.start_bare_thread
