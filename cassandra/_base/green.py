"""Waits of gevent and eventlet greenlets for real threads; imported only where one of them has patched threads.

L0. Ownership::

    Loop       one per thread with a hub: wakes the greenlets of that thread. Any thread appends to ``_due``, the hub
               empties it; all other state belongs to the thread of the loop
    Sleeper    one wait of one greenlet. Any thread calls ``release``, once or more; its greenlet calls ``acquire``
    Gate       the lock of an AutoResetEvent; a greenlet waits for it by means of the hub
    Callbacks  calls of a program's callbacks at the end of requests: queued by any thread, executed in a greenlet of
               the loop

Threads that the driver has started have no loop; :func:`here` returns None there. It also returns None in the hub
itself, which a signal handler may interrupt: the handler cannot switch to other greenlets there, so the thread blocks.
A real thread wakes it in any case.

A gevent hub ends with LoopExit when nothing is left that could wake it. So the loop is *held* while a greenlet is
parked or a callback is outstanding, and not otherwise: an idle session does not keep a program from ending.

Records that driver threads log are handled in the thread of a hub: ``logs.py``.

A greenlet that is killed, or timed out by its own library, leaves its wait by the exception: a later ``release`` has no
effect.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import importlib.util
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from time import monotonic
from types import ModuleType
from typing import Any, TypeVar

from . import logs
from .conditions import NativeWith

T = TypeVar("T")

getcurrent: Callable[[], Any] = importlib.import_module("greenlet").getcurrent
new_greenlet: Callable[..., Any] = importlib.import_module("greenlet").greenlet

JOIN_LOOK = 0.002  # seconds between two checks whether a thread has ended


def _fresh(name: str) -> ModuleType:
    """Return a second, unpatched instance of a standard module."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _fresh_threading() -> ModuleType:
    patched = sys.modules["_thread"]
    sys.modules["_thread"] = _fresh("_thread")
    try:
        return _fresh("threading")
    finally:
        sys.modules["_thread"] = patched


_threading: Any = _fresh_threading()
start_bare_thread: Any = _fresh("_thread").start_new_thread
_local: Any = _threading.local()


# ---- the hub of a thread


class Loop:
    """The hub of this thread."""

    def __init__(self, hub: Any) -> None:
        self.hub = hub
        self._holds = 0
        self.queue: Any = None  # the transport's, for this hub
        self._due: deque[Sleeper | Call | Release] = deque()

    @property
    def main(self) -> Any:
        """The greenlet in which the hub runs. eventlet makes another one after an exception such as Ctrl-C."""
        return getattr(self.hub, "greenlet", self.hub)

    def wake(self, sleeper: Sleeper | Call | Release) -> None:
        """Resume *sleeper* soon. Any thread."""
        self._due.append(sleeper)
        self._ring()

    def park(self, sleeper: Sleeper, timeout: float | None) -> None:
        """Switch to the hub until *sleeper* is released, or *timeout* seconds have passed."""
        timer = None if timeout is None else self._call_later(max(0.0, timeout), sleeper)
        self.hold()
        try:
            self.hub.switch()
        finally:
            self.release()
            if timer is not None:
                self._cancel(timer)

    def hold(self) -> None:
        """Keep the hub from ending until :meth:`release`: an event is outstanding."""
        self._holds += 1
        if self._holds == 1:
            self._keep(True)

    def release(self) -> None:
        """Undo one :meth:`hold`."""
        self._holds -= 1
        if not self._holds:
            self._keep(False)

    def _run_due(self, *_: object) -> None:
        """Resume all due sleepers. In the hub."""
        due = self._due
        try:
            while due:
                self.resume(due[0])
                due.popleft()
        finally:
            if due:  # Ctrl-C: the remaining ones are resumed when the hub runs again
                self._ring()

    def resume(self, sleeper: Sleeper | Call | Release) -> None:
        """Switch to the greenlet of *sleeper* in a hub call of its own, so that its exceptions do not pass through the
        driver. In the hub."""
        raise NotImplementedError

    def watch(self, descriptor: int, action: Callable[[], None]) -> None:
        """Call *action* in the hub each time *descriptor* is readable."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the hub's resources. In a forked child, for a loop of the parent."""
        raise NotImplementedError

    def _ring(self) -> None:
        """Make the hub call ``_run_due``. Any thread."""
        raise NotImplementedError

    def _keep(self, held: bool) -> None:
        """Set whether the hub has an event to wait for."""

    def _call_later(self, delay: float, sleeper: Sleeper) -> Any:
        raise NotImplementedError

    def _cancel(self, timer: Any) -> None:
        raise NotImplementedError


class GeventLoop(Loop):
    def __init__(self, hub: Any) -> None:
        super().__init__(hub)
        self._event = hub.loop.async_(ref=False)
        self._event.start(self._run_due)
        self._watchers = [self._event]

    def watch(self, descriptor: int, action: Callable[[], None]) -> None:
        watcher = self.hub.loop.io(descriptor, 1, ref=False)
        watcher.start(action)
        self._watchers.append(watcher)

    def close(self) -> None:
        for watcher in self._watchers:
            watcher.stop()

    def resume(self, sleeper: Sleeper | Call | Release) -> None:
        self.hub.loop.run_callback(sleeper.switch)

    def _ring(self) -> None:
        self._event.send()

    def _keep(self, held: bool) -> None:
        self._event.ref = held

    def _call_later(self, delay: float, sleeper: Sleeper) -> Any:
        timer = self.hub.loop.timer(delay)
        timer.start(sleeper.switch)
        return timer

    def _cancel(self, timer: Any) -> None:
        timer.stop()
        timer.close()


class EventletLoop(Loop):
    def __init__(self, hub: Any) -> None:
        super().__init__(hub)
        self._os = importlib.import_module("eventlet.patcher").original("os")
        self._out, self._in = self._os.pipe()
        for end in (self._out, self._in):
            self._os.set_blocking(end, False)
        self._watched: list[Any] = []
        self.watch(self._out, self._rung)

    def _rung(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._os.read(self._out, 4096)
        self._run_due()

    def watch(self, descriptor: int, action: Callable[[], None]) -> None:
        def no_more(*_: object) -> None:
            pass

        self._watched.append(
            self.hub.add(self.hub.READ, descriptor, lambda _: action(), no_more, no_more),
        )

    def close(self) -> None:
        remove = self.hub.remove
        if hasattr(self.hub, "poll"):  # shared with the parent, whose registrations must stay
            remove = partial(importlib.import_module("eventlet.hubs.hub").BaseHub.remove, self.hub)
        for listener in self._watched:
            remove(listener)
        for end in (self._out, self._in):
            self._os.close(end)

    def resume(self, sleeper: Sleeper | Call | Release) -> None:
        self.hub.schedule_call_global(0, sleeper.switch)

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):  # the pipe is full: the hub is woken anyway
            self._os.write(self._in, b"!")

    def _call_later(self, delay: float, sleeper: Sleeper) -> Any:
        return self.hub.schedule_call_global(delay, sleeper.switch)

    def _cancel(self, timer: Any) -> None:
        timer.cancel()


def _choose() -> tuple[Callable[[], Any], type[Loop]]:
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None and monkey.is_module_patched("threading"):
        return importlib.import_module("gevent").get_hub, GeventLoop
    return importlib.import_module("eventlet.hubs").get_hub, EventletLoop


_get_hub, _make_loop = _choose()


def here() -> Loop | None:
    """Return the loop that the running greenlet can wait with; None where the thread has to block."""
    loop: Loop | None = getattr(_local, "loop", None)
    if loop is None and getattr(_local, "is_ours", False):
        return None
    hub = _get_hub()
    if loop is None or loop.hub is not hub:  # a new one, or the hub was replaced
        loop = _local.loop = _make_loop(hub)
        _offer(loop)
    return None if getcurrent() is loop.main else loop


#: The loop for work that any thread with a hub may do: that of the main thread, if it has one.
_common: Loop | None = None


def _offer(loop: Loop) -> None:
    global _common
    if _common is None or _threading.get_ident() == _threading.main_thread().ident:
        _common = loop
        loop.wake(Call(loop, logs.handle_all))  # records logged before there was a loop


def leave_to_parent() -> None:
    """Drop the loop of the parent, which owns the descriptors. In a forked child."""
    global _common
    loop: Loop | None = getattr(_local, "loop", None)
    _common = None
    logs.leave_to_parent()
    if loop is not None:
        _local.loop = None
        loop.close()


# ---- waits of a greenlet


class Sleeper:
    """One wait of the running greenlet, which any thread can end."""

    __slots__ = ("_greenlet", "_loop", "_released")

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._greenlet: Any = None
        self._released = False

    def release(self) -> None:
        self._released = True
        if self._greenlet is not None:
            self._loop.wake(self)

    def go_on(self, loop: Loop) -> None:
        """End the wait, if there is one. In the hub of *loop*."""
        if loop is self._loop:
            loop.resume(self)
        else:
            self.release()

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait until it is released; False after *timeout* seconds."""
        self._greenlet = getcurrent()
        try:
            if not self._released:
                self._loop.park(self, timeout)
        finally:
            self._greenlet = None
        released, self._released = self._released, False
        return released

    def switch(self) -> None:
        """Resume the greenlet, if it still waits. In the hub."""
        greenlet, self._greenlet = self._greenlet, None
        if greenlet is not None:
            greenlet.switch()


class Gate:
    """A lock that one thread or greenlet waits for."""

    def __init__(self) -> None:
        self._lock = _threading.Lock()
        self._sleeper: Sleeper | None = None

    def release(self) -> None:
        self._lock.release()
        sleeper = self._sleeper
        if sleeper is not None:
            sleeper.release()

    def acquire(self, timeout: float = -1) -> bool:
        if self._lock.acquire(False):
            return True
        loop = here()
        if loop is None:
            return bool(self._lock.acquire(timeout=timeout))
        deadline = None if timeout < 0 else monotonic() + timeout
        while True:
            sleeper = self._sleeper = Sleeper(loop)
            try:
                if self._lock.acquire(False):
                    return True
                if not sleeper.acquire(None if deadline is None else deadline - monotonic()):
                    return bool(self._lock.acquire(False))
            finally:
                self._sleeper = None


def sleep(seconds: float) -> None:
    """Sleep by means of the hub, if there is one."""
    loop = here()
    if loop is None:
        _threading.Event().wait(seconds)
    else:
        Sleeper(loop).acquire(seconds)


# ---- callbacks of programs


class Callbacks:
    """Runs a program's callbacks by *call*, each in a greenlet of its own, in the thread of *loop*."""

    def __init__(self, loop: Loop, call: Callable[[Any, Any], object]) -> None:
        self._loop = loop
        self._call = call
        self._held = False

    def hold(self) -> None:
        """Hold the loop: a callback is outstanding. In the thread of the loop."""
        if not self._held:
            self._held = True
            self._loop.hold()

    def __call__(self, value: Any, callback: Any) -> None:
        """Run *callback* with *value* in a greenlet of the loop. Any thread."""
        self._loop.wake(Call(self._loop, lambda: self._call(callback, value)))
        self.let_go()

    def __del__(self) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Undo :meth:`hold`: the callback was queued, or none will be. Any thread."""
        held, self._held = self._held, False
        if held:
            self._loop.wake(Release(self._loop))


class Call:
    """A call of *action* in a greenlet of its own."""

    def __init__(self, loop: Loop, action: Callable[[], object]) -> None:
        self._loop = loop
        self._action = action

    def switch(self) -> None:
        new_greenlet(self._action, self._loop.main).switch()


class Release:
    """The end of a hold, queued by another thread."""

    def __init__(self, loop: Loop) -> None:
        self.switch = loop.release


# ---- replacements of classes of the standard library


class _Condition(NativeWith, _threading.Condition):  # type: ignore[misc]
    def __init__(self, lock: Any = None) -> None:
        self.native = _threading.RLock() if lock is None else lock
        super().__init__(self.native)

    def wait(self, timeout: float | None = None) -> bool:
        loop = here()
        if loop is None:
            return bool(super().wait(timeout))
        if not self._is_owned():
            raise RuntimeError("cannot wait on un-acquired lock")
        sleeper = Sleeper(loop)
        self._waiters.append(sleeper)  # notify() releases it
        saved = self._release_save()
        told = False
        try:
            told = sleeper.acquire(timeout)
            return told
        finally:
            self._acquire_restore(saved)
            if not told and sleeper in self._waiters:
                self._waiters.remove(sleeper)


class _Event(_threading.Event):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self._cond = _Condition(_threading.Lock())


def note_thread(name: str) -> None:
    """Mark the running thread as a driver thread with this name."""
    _local.is_ours, _local.name = True, name


class _Thread(_threading.Thread):  # type: ignore[misc]
    def run(self) -> None:
        note_thread(self.name)
        super().run()

    def join(self, timeout: float | None = None) -> None:
        if here() is None:
            super().join(timeout)
            return
        deadline = None if timeout is None else monotonic() + timeout
        while self.is_alive() and (deadline is None or monotonic() < deadline):
            sleep(JOIN_LOOK)


class Future(concurrent.futures.Future[T]):
    """A future that any thread sets, and that greenlets wait for by means of the hub."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = _Condition()


def _namespace(original: ModuleType, **others: Any) -> ModuleType:
    module = ModuleType(original.__name__)
    module.__dict__.update(vars(original))
    module.__dict__.update(others)
    return module


threading = _namespace(_threading, Condition=_Condition, Event=_Event, Thread=_Thread)
#: Only driver threads, which may block, resolve host names.
socket = _namespace(sys.modules["socket"], getaddrinfo=importlib.import_module("_socket").getaddrinfo)


def _our_name() -> str | None:
    """Return the name of the running thread if it is a driver thread, else None."""
    return getattr(_local, "name", None)


def _wake_hub() -> None:
    """Handle the records of driver threads in a greenlet."""
    loop = _common
    if loop is not None:
        loop.wake(Call(loop, logs.handle_all))


logs.begin(_our_name, _wake_hub)
