"""Delays of a reconnection schedule (L3). The schedule is user code: it may raise, end, or return invalid values.

Used by one thread at a time, without a lock held, since the schedule may call any code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from cassandra._base.logs import get_logger

log = get_logger("cassandra.connection")

FALLBACK_DELAY = 1.0  # replaces a missing or invalid delay


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
