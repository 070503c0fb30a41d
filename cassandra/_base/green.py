"""How a greenlet of gevent or eventlet waits for a real thread; imported only where one of them has patched threads.

L0. The owner of each thing::

    Loop       one per thread with a hub: wakes the greenlets of that thread. ``_due`` is appended to by any thread and
               emptied by the hub; all else of it belongs to its thread
    Sleeper    one wait of one greenlet. ``release`` comes from any thread, once or more; ``acquire`` from its greenlet
    Gate       what a Bell hangs at: a lock that is waited for with the hub
    Callbacks  what a program has called when a request ends: by any thread, carried out in a greenlet of its loop

Threads that the driver has started have no loop, and :func:`here` says None there; so it does in the hub itself, which
a signal's handler may interrupt: nobody could switch to the others there, and the thread blocks. It is woken by a real
thread in any case.

A hub of gevent ends with LoopExit when nothing is left that could wake it. So the loop is *held* while a greenlet is
parked or a callback is to come, and not otherwise: a session that is idle keeps no program from ending.

What these threads log is handled in the thread of a hub: ``log_relay.py``.

A greenlet that is killed, or timed out by its own library, leaves its wait by the exception: a later ``release`` finds
nobody.
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

from . import log_relay
from .conditions import NativeWith

T = TypeVar("T")

getcurrent: Callable[[], Any] = importlib.import_module("greenlet").getcurrent
new_greenlet: Callable[..., Any] = importlib.import_module("greenlet").greenlet

JOIN_LOOK = 0.002  # seconds between two looks whether a thread has ended


def _fresh(name: str) -> ModuleType:
    """A second instance of a standard module, as nobody has patched it."""
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
        """Where the hub runs. eventlet makes another greenlet after an exception such as Ctrl-C."""
        return getattr(self.hub, "greenlet", self.hub)

    def wake(self, sleeper: Sleeper | Call | Release) -> None:
        """Any thread: have *sleeper* go on soon."""
        self._due.append(sleeper)
        self._ring()

    def park(self, sleeper: Sleeper, timeout: float | None) -> None:
        """Let the others go on until somebody switches here: it was released, or *timeout* seconds have passed."""
        timer = None if timeout is None else self._call_later(max(0.0, timeout), sleeper)
        self.hold()
        try:
            self.hub.switch()
        finally:
            self.release()
            if timer is not None:
                self._cancel(timer)

    def hold(self) -> None:
        """Something is to come."""
        self._holds += 1
        if self._holds == 1:
            self._keep(True)

    def release(self) -> None:
        """It came."""
        self._holds -= 1
        if not self._holds:
            self._keep(False)

    def _run_due(self, *_: object) -> None:
        """In the hub."""
        due = self._due
        try:
            while due:
                self.resume(due[0])
                due.popleft()
        finally:
            if due:  # Ctrl-C: they are woken when the hub goes on
                self._ring()

    def resume(self, sleeper: Sleeper | Call | Release) -> None:
        """In the hub: switch to the greenlet of *sleeper* in a call of its own. What it raises is none of ours."""
        raise NotImplementedError

    def watch(self, descriptor: int, action: Callable[[], None]) -> None:
        """Call *action* in the hub whenever *descriptor* is readable."""
        raise NotImplementedError

    def close(self) -> None:
        """It is the loop of a parent of this process."""
        raise NotImplementedError

    def _ring(self) -> None:
        """Any thread: have ``_run_due`` called in the hub."""
        raise NotImplementedError

    def _keep(self, held: bool) -> None:
        """Whether the hub has something to wait for."""

    def _call_later(self, delay: float, sleeper: Sleeper) -> Any:
        raise NotImplementedError

    def _cancel(self, timer: Any) -> None:
        raise NotImplementedError


class GeventLoop(Loop):
    def __init__(self, hub: Any) -> None:
        super().__init__(hub)
        self._bell = hub.loop.async_(ref=False)
        self._bell.start(self._run_due)
        self._watchers = [self._bell]

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
        self._bell.send()

    def _keep(self, held: bool) -> None:
        self._bell.ref = held

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
        if hasattr(self.hub, "poll"):  # shared with the parent, which would not hear of its own any more
            remove = partial(importlib.import_module("eventlet.hubs.hub").BaseHub.remove, self.hub)
        for listener in self._watched:
            remove(listener)
        for end in (self._out, self._in):
            self._os.close(end)

    def resume(self, sleeper: Sleeper | Call | Release) -> None:
        self.hub.schedule_call_global(0, sleeper.switch)

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full of rings
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
    """The loop that the running greenlet can wait with; None where the thread has to block."""
    loop: Loop | None = getattr(_local, "loop", None)
    if loop is None and getattr(_local, "is_ours", False):
        return None
    hub = _get_hub()
    if loop is None or loop.hub is not hub:  # a new one, or the hub was replaced
        loop = _local.loop = _make_loop(hub)
        _offer(loop)
    return None if getcurrent() is loop.main else loop


#: What has to be done in some thread with a hub is done there: in the main thread, if it has one.
_common: Loop | None = None


def _offer(loop: Loop) -> None:
    global _common
    if _common is None or _threading.get_ident() == _threading.main_thread().ident:
        _common = loop
        loop.wake(Call(loop, log_relay.handle_all))  # of what was logged before


def leave_to_parent() -> None:
    """In a forked child: descriptors are the parent's."""
    global _common
    loop: Loop | None = getattr(_local, "loop", None)
    _common = None
    log_relay.leave_to_parent()
    if loop is not None:
        _local.loop = None
        loop.close()


# ---- waiting


class Sleeper:
    """One wait of the running greenlet, to be ended from any thread."""

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
        """In the hub of *loop*: end the wait, if there is one."""
        if loop is self._loop:
            loop.resume(self)
        else:
            self.release()

    def acquire(self, timeout: float | None = None) -> bool:
        """Until it is released; False if it was not within *timeout* seconds."""
        self._greenlet = getcurrent()
        try:
            if not self._released:
                self._loop.park(self, timeout)
        finally:
            self._greenlet = None
        released, self._released = self._released, False
        return released

    def switch(self) -> None:
        """In the hub: the greenlet goes on, if it waits still."""
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
    """With the hub, if there is one."""
    loop = here()
    if loop is None:
        _threading.Event().wait(seconds)
    else:
        Sleeper(loop).acquire(seconds)


# ---- callbacks


class Callbacks:
    """Has *call* carry out a program's callbacks, each in a greenlet of its own, in the thread of *loop*."""

    def __init__(self, loop: Loop, call: Callable[[Any, Any], object]) -> None:
        self._loop = loop
        self._call = call
        self._held = False

    def hold(self) -> None:
        """In the thread of the loop: one of them is to come."""
        if not self._held:
            self._held = True
            self._loop.hold()

    def __call__(self, value: Any, callback: Any) -> None:
        """Any thread."""
        self._loop.wake(Call(self._loop, lambda: self._call(callback, value)))
        self.let_go()

    def __del__(self) -> None:
        self.let_go()

    def let_go(self) -> None:
        """Any thread: it came, or none of them will."""
        held, self._held = self._held, False
        if held:
            self._loop.wake(Release(self._loop))


class Call:
    """*action* in a greenlet of its own."""

    def __init__(self, loop: Loop, action: Callable[[], object]) -> None:
        self._loop = loop
        self._action = action

    def switch(self) -> None:
        new_greenlet(self._action, self._loop.main).switch()


class Release:
    """The end of a hold that another thread has noticed."""

    def __init__(self, loop: Loop) -> None:
        self.switch = loop.release


# ---- what the standard library has


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
    """The running thread is one of the driver's."""
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
    """Set by any thread, waited for with the hub."""

    def __init__(self) -> None:
        super().__init__()
        self._condition = _Condition()


def _namespace(original: ModuleType, **others: Any) -> ModuleType:
    module = ModuleType(original.__name__)
    module.__dict__.update(vars(original))
    module.__dict__.update(others)
    return module


threading = _namespace(_threading, Condition=_Condition, Event=_Event, Thread=_Thread)
#: Names are looked up by threads of the driver only, which may block.
socket = _namespace(sys.modules["socket"], getaddrinfo=importlib.import_module("_socket").getaddrinfo)


def _our_name() -> str | None:
    """Of the running thread, if it is one of the driver's."""
    return getattr(_local, "name", None)


def _wake_hub() -> None:
    """Have what the driver's threads have logged handled in a greenlet."""
    loop = _common
    if loop is not None:
        loop.wake(Call(loop, log_relay.handle_all))


log_relay.begin(_our_name, _wake_hub)
