"""Threads, locks and futures of the driver, which stay real ones when gevent or eventlet patches the standard library.

L0. Every module of the driver has ``threading`` and ``Future`` from here. Unpatched they are the standard library's
own: the choice is made once, at import, and nothing is paid for it. In a process that gevent or eventlet has patched
before:

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
import socket as socket
import sys
import threading as threading
from collections.abc import Callable
from concurrent.futures import Future as Future
from typing import Any


def _patched_by() -> str | None:
    """Who has patched the threads of this process."""
    gevent, eventlet = sys.modules.get("gevent.monkey"), sys.modules.get("eventlet.patcher")
    if gevent is not None and gevent.is_module_patched("threading"):
        return "gevent"
    if eventlet is not None and eventlet.is_monkey_patched("thread"):
        return "eventlet"
    return None


patched_by = _patched_by()

#: A lock that one thread waits for and another one releases.
new_gate: Callable[[], Any] = threading.Lock

#: Starts a bare thread, in one native call that no signal handler interrupts. ``Thread.start`` can be interrupted, and
#: then the new thread dies of it.
start_bare_thread: Callable[[Callable[[], object], tuple[()]], int] = _thread.start_new_thread

#: How greenlets wait; None in a process without.
green: Any = None

if patched_by is not None:
    from . import green

    threading, socket, Future, new_gate = green.threading, green.socket, green.Future, green.Gate  # type: ignore[misc]
    start_bare_thread = green.start_bare_thread
