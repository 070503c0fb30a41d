"""scylla-driver's thread for delayed calls, for programs that create one (L6). Clusters have a different scheduler.

Any thread puts calls into ``_new``, in one native step. The scheduler's thread takes them from there; it owns
``_tasks`` and ``_unique``.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import time
from _queue import Empty, SimpleQueue  # the native ones, even if gevent has patched queue
from collections.abc import Callable
from typing import Any

from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.real import threading

from .connection import LONGEST_WAIT

log = get_logger("cassandra.cluster")

Call = tuple[Callable[..., object], tuple[Any, ...], tuple[tuple[str, Any], ...]]


@public("cassandra.cluster")
class _Scheduler(threading.Thread):
    """Submits calls to *executor* after their delay. The thread runs from creation until :meth:`shutdown`."""

    def __init__(self, executor: Any) -> None:
        super().__init__(name="Task Scheduler", daemon=True)
        self._executor = executor
        self._new: SimpleQueue[tuple[float, int, Call, bool] | None] = SimpleQueue()
        self._tasks: list[tuple[float, int, Call]] = []
        self._unique: set[Call] = set()
        self._order = itertools.count()
        self.is_shutdown = False
        self.start()

    def schedule(self, delay: float, fn: Callable[..., object], *args: Any, **kwargs: Any) -> bool:
        """Call ``fn(*args, **kwargs)`` after *delay* seconds. Return False, and make no call, after a shutdown."""
        return self._add(delay, (fn, args, tuple(kwargs.items())))

    def schedule_unique(self, delay: float, fn: Callable[..., object], *args: Any, **kwargs: Any) -> None:
        """Schedule the call, unless an equal call is already scheduled."""
        self._add(delay, (fn, args, tuple(kwargs.items())), is_unique=True)

    def _add(self, delay: float, call: Call, is_unique: bool = False) -> bool:
        if self.is_shutdown:
            return False
        hash(call)  # raises TypeError in the caller
        self._new.put((time.monotonic() + delay, next(self._order), call, is_unique))
        return True

    def shutdown(self) -> None:
        """Stop the thread: no more calls are made."""
        self.is_shutdown = True
        self._new.put(None)
        if self.is_alive() and self is not threading.current_thread():
            self.join(LONGEST_WAIT)

    def run(self) -> None:
        while True:
            call = self._next()
            if call is None:
                return
            fn, args, kwargs = call
            try:
                self._executor.submit(fn, *args, **dict(kwargs)).add_done_callback(self._log_if_failed)
            except RuntimeError as error:
                log.warning("A delayed call of %r is not made: %s", fn, error)

    def _next(self) -> Call | None:
        """Wait for the next due call and return it; None after a shutdown."""
        while not self.is_shutdown:
            left = self._tasks[0][0] - time.monotonic() if self._tasks else None
            if left is not None and left <= 0:
                call = heapq.heappop(self._tasks)[2]
                self._unique.discard(call)
                return call
            with contextlib.suppress(Empty):
                self._take(self._new.get(timeout=left))
        self._tasks.clear()
        return None

    def _take(self, new: tuple[float, int, Call, bool] | None) -> None:
        if new is None:
            return
        end, number, call, is_unique = new
        if not (is_unique and call in self._unique):
            self._unique.add(call)
            heapq.heappush(self._tasks, (end, number, call))

    def _log_if_failed(self, future: Any) -> None:
        error = future.exception()
        if error is not None:
            log.warning("A delayed call failed", exc_info=error)
