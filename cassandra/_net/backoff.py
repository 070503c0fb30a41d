"""Delays of a reconnection schedule, the pace of requests to one host, and the log level of failures that repeat (L3).

The schedule is user code: it may raise, end, or return invalid values. It is used by one thread at a time, without a
lock held, since it may call any code. A pace is used by any thread, and has a lock.

A cluster has many clients, and all of them notice the same restart of a node at the same moment. So each delay after
such an event is random, and so are the distances of a pace: the clients do not stay in step.

A repeated failure is logged when it starts or changes, and then once a minute; two threads at the same time may log one
line more.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.randomness import uniform

log = get_logger("cassandra.connection")

FALLBACK_DELAY = 1.0  # replaces a missing or invalid delay
REPEAT_INTERVAL = 60.0  # seconds between two lines about the same failure
DISTANCES = (1.0, 1.5)  # of a pace, in multiples of the shortest one


def full_jitter(delay: float) -> float:
    """Return a random part of *delay*: the attempts of many clients are spread over all of it."""
    return uniform(0.0, delay)


class Pace:
    """Times at random distances, at most *rate* in any second."""

    def __init__(self) -> None:
        self._lock = driver_lock("Pace")
        self._next = 0.0

    def reserve(self, rate: float | None) -> float:
        """Reserve the next free time; return the seconds until then. None: no limit."""
        if rate is None:
            return 0.0
        now = monotonic()
        with self._lock:
            at = max(now, self._next)
            self._next = at + uniform(*DISTANCES) / rate
        return at - now


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
