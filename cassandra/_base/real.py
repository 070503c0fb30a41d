"""Threads, locks and futures of the driver, which stay real ones when gevent or eventlet patches the standard library.

L0. Every module of the driver has ``threading`` and ``Future`` from here. Unpatched, ``threading`` is the standard
library's own: the choice is made once, at import, and nothing is paid for it. In a process that gevent or eventlet has
patched before:

* The driver's threads are real ones, and its locks are real locks. Greenlets and threads take them in turn, so they are
  held for moments only, and never while a greenlet switches.
* Whoever *waits* (``Event``, ``Condition``, ``Future.result``, ``Thread.join``, a :class:`~.process.Bell`, and natively
  an operation, ``transport_parts/green.pxi``) waits with the hub of its thread if it is a greenlet: the others go on
  meanwhile (``green.py``). The driver's own threads have no hub, and block.
* Callbacks of requests run in greenlets, in the thread that added them.

A patch that comes after the import of the driver is too late, as for everything else.
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
    """Who has patched the threads of this process."""
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


#: A lock that one thread waits for and another one releases.
new_gate: Callable[[], Any] = threading.Lock


class Future(concurrent.futures.Future[T]):
    """Set by a driver thread, which a caller that is interrupted while it waits does not hold up."""

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
        """In one native call, and not with the condition, which is not held while its ``wait`` is interrupted."""
        if self.done():
            return
        gate = new_gate()
        gate.acquire()
        self.add_done_callback(lambda _: gate.release())
        if not gate.acquire(timeout=-1 if timeout is None else min(max(0.0, timeout), threading.TIMEOUT_MAX)):
            raise concurrent.futures.TimeoutError


#: Starts a bare thread, in one native call that no signal handler interrupts. ``Thread.start`` can be interrupted, and
#: then the new thread dies of it.
start_bare_thread: Callable[[Callable[[], object], tuple[()]], int] = _thread.start_new_thread

#: How greenlets wait; None in a process without.
green: Any = None

if patched_by is not None:
    from . import green

    threading, socket, Future, new_gate = green.threading, green.socket, green.Future, green.Gate  # type: ignore[misc]
    start_bare_thread = green.start_bare_thread
