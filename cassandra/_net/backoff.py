"""Delays of a reconnection schedule, and the log level of failures that repeat (L3). No lock.

The schedule is user code: it may raise, end, or return invalid values. It is used by one thread at a time, without a
lock held, since it may call any code.

A repeated failure is logged when it starts or changes, and then once a minute; two threads at the same time may log one
line more.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

from cassandra._base.logs import get_logger

log = get_logger("cassandra.connection")

FALLBACK_DELAY = 1.0  # replaces a missing or invalid delay
REPEAT_INTERVAL = 60.0  # seconds between two lines about the same failure


class Delays:
    """Iterates over schedules. *new_schedule* returns a new schedule for each walk; None is an empty schedule."""

    def __init__(self, new_schedule: Callable[[], Iterable[float]] | None) -> None:
        self._new_schedule = new_schedule
        self._schedule: Iterator[float] | None = None
        self._last = FALLBACK_DELAY

    def reset(self) -> None:
        """Start a new schedule at the next call."""
        self._schedule = None

    def next(self) -> float | None:
        """Return the next delay, None when the schedule has ended. Never raises."""
        try:
            if self._schedule is None:
                self._schedule = iter(() if self._new_schedule is None else self._new_schedule())
            delay = next(self._schedule, None)
            if delay is None:
                return None
            delay = float(delay)
        except Exception:
            log.exception("The reconnection policy failed; the next attempt is in %.1f s", FALLBACK_DELAY)
            return FALLBACK_DELAY
        self._last = delay if 0.0 <= delay < math.inf else FALLBACK_DELAY
        return self._last

    def next_or_last(self) -> float:
        """Return the next delay; an ended schedule repeats its last one. For callers that retry without end."""
        delay = self.next()
        return self._last if delay is None else delay


class FailureLog:
    """Log level of one operation that may fail repeatedly."""

    __slots__ = ("_at", "_kind")

    def __init__(self) -> None:
        self._kind: type[BaseException] | None = None
        self._at = 0.0

    def level(self, level: int, error: BaseException) -> int:
        """Return the level for logging *error*: *level*, or DEBUG if the same failure was logged recently."""
        now = monotonic()
        if type(error) is self._kind and now - self._at < REPEAT_INTERVAL:  # texts may differ by an elapsed time
            return logging.DEBUG
        self._kind, self._at = type(error), now
        return level

    def reset(self) -> None:
        """Reset after a success."""
        self._kind = None
