"""Timers and loops of scylla-driver's reactors (L6), independent of sessions, which use the native reactor.

A :class:`TimerManager` belongs to the thread that calls :meth:`~TimerManager.service_timeouts`; any thread may add
timers. A loop is a daemon thread with a manager, started by its first timer. Ends are wall-clock times, as programs
compare them with such times; so a loop checks its timers at least once a second, in case the clock is set.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from typing import Any

from cassandra._base.errors import OperationTimedOut
from cassandra._base.locks import caller_lock
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.process import Event
from cassandra._base.real import threading

log = get_logger("cassandra.connection")


@public("cassandra.connection")
class Timer:
    """Calls *callback* once, *timeout* seconds from now, if a loop serves the timer."""

    canceled = False

    def __init__(self, timeout: float, callback: Callable[[], object]) -> None:
        self.end = time.time() + timeout
        self.callback = callback

    def __lt__(self, other: Timer) -> bool:
        return self.end < other.end

    def cancel(self) -> None:
        """Cancel the timer: *callback* is not called any more."""
        self.canceled = True

    def finish(self, time_now: float) -> bool:
        """Call *callback* if it is due; True if the timer is finished."""
        if self.canceled:
            return True
        if time_now < self.end:
            return False
        self.callback()
        return True


@public("cassandra.connection")
class TimerManager:
    """Timers in the order of their ends."""

    def __init__(self) -> None:
        self._queue: list[tuple[float, int, Timer]] = []
        self._new_timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def add_timer(self, timer: Timer) -> None:
        """Serve *timer* from the next call of :meth:`service_timeouts` on."""
        self._new_timers.append((timer.end, next(self._order), timer))

    def service_timeouts(self) -> float | None:
        """Run the due timers; return the end of the next timer, None if there is none."""
        while self._new_timers:
            heapq.heappush(self._queue, self._new_timers.pop(0))
        now = time.time()
        while self._queue:
            timer = self._queue[0][2]
            try:
                if not timer.finish(now):
                    return timer.end
            except Exception:
                log.exception("A timer's callback raised: %r", timer.callback)
            heapq.heappop(self._queue)
        return None

    @property
    def next_timeout(self) -> float | None:
        """The end of the next timer, as of the last :meth:`service_timeouts`."""
        return self._queue[0][0] if self._queue else None


class _Loop:
    """A thread that serves timers. ``_wake`` does not protect state; it only ends a sleep."""

    def __init__(self) -> None:
        self._timers = TimerManager()
        self._wake = Event()
        self._lock = caller_lock("of a loop of timers")
        self._thread: threading.Thread | None = None
        self._shutdown = False

    def maybe_start(self) -> None:
        """Start the thread unless it runs."""
        with self._lock:
            if not self._shutdown and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run_loop, name=type(self).__name__, daemon=True)
                self._thread.start()

    def add_timer(self, timer: Timer) -> None:
        """Serve *timer*."""
        self._timers.add_timer(timer)
        self.maybe_start()
        self._wake.set()

    def _run_loop(self) -> None:
        while not self._shutdown:
            self._wake.clear()
            end = self._timers.service_timeouts()
            if not self._timers._new_timers:
                self._wake.wait(1.0 if end is None else max(0.0, min(end - time.time(), 1.0)))

    def _cleanup(self) -> None:
        """Stop the thread."""
        self._shutdown = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=10.0)


def _cleanup(loop: Any) -> None:
    """Stop *loop*, if there is one."""
    if loop:
        loop._cleanup()


@public("cassandra.io.asyncorereactor")
class AsyncoreLoop(_Loop):
    """A loop that serves timers only."""

    timer_resolution = 0.1

    def wake_loop(self) -> None:
        """Run the due timers now."""
        self._wake.set()


@public("cassandra.io.libevreactor")
class LibevLoop(_Loop):
    """A loop that serves timers only."""

    def notify(self) -> None:
        """Run the due timers now."""
        self._wake.set()


@public("cassandra.io.asyncorereactor")
class WaitableTimer(Timer):
    """A timer that a thread can wait for."""

    def __init__(self, timeout: float, callback: Callable[[], object]) -> None:
        super().__init__(timeout, callback)
        self.callback_raised: BaseException | None = None
        self._finished = Event()

    def finish(self, time_now: float) -> bool:
        try:
            finished = super().finish(time_now)
        except Exception as error:
            self.callback_raised = error
            self._finished.set()
            raise
        if finished:
            self._finished.set()
        return finished

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the timer is finished or cancelled, at most *timeout* seconds. Raise the exception of its
        callback."""
        self._finished.wait(timeout)
        if self.callback_raised is not None:
            raise self.callback_raised


@public("cassandra.io.asyncioreactor")
class AsyncioTimer:
    """Calls *callback* once on an asyncio *loop*, *timeout* seconds from now; may be created on any thread."""

    def __init__(self, timeout: float, callback: Callable[[], object], loop: Any) -> None:
        self.end = time.time() + timeout
        self._loop = loop
        self._canceled = False
        self._callback = callback
        loop.call_soon_threadsafe(loop.call_later, timeout, self._call)

    def __lt__(self, other: AsyncioTimer) -> bool:
        return self.end < other.end

    def _call(self) -> None:
        if not self._canceled:
            self._callback()

    def cancel(self) -> None:
        """Cancel the timer: *callback* is not called any more."""
        self._canceled = True

    def finish(self, time_now: float) -> None:
        """Raise NotImplementedError, as the asyncio loop calls the callback."""
        raise NotImplementedError("the asyncio loop calls its timers itself")


@public("cassandra.connection")
class ResponseWaiter:
    """Collects the responses to *num_responses* requests of a connection."""

    def __init__(self, connection: Any, num_responses: int, fail_on_error: bool) -> None:
        self.connection = connection
        self.pending = num_responses
        self.fail_on_error = fail_on_error
        self.error: Exception | None = None
        self.responses: list[Any] = [None] * num_responses
        self.event = Event()

    def got_response(self, response: Any, index: int) -> None:
        """Store the response, or the exception, of one request."""
        failed = isinstance(response, Exception)
        if failed and self.fail_on_error:
            self.error = response.to_exception() if hasattr(response, "to_exception") else response
            self.event.set()
            return
        self.responses[index] = (not failed, response) if not self.fail_on_error else response
        self.pending -= 1
        if not self.pending:
            self.event.set()

    def deliver(self, timeout: float | None = None) -> list[Any]:
        """Wait for all responses and return them. With *fail_on_error* raise the first error, else return pairs
        ``(success, response)``."""
        self.event.wait(timeout)
        if self.error is not None:
            raise self.error
        if not self.event.is_set():
            raise OperationTimedOut()
        return self.responses
