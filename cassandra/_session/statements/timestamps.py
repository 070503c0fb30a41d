"""Client-side timestamps that never repeat and never decrease (cassandra.timestamps).

L5. One generator per cluster, called by every request that carries a timestamp, from any thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cassandra._base.logs import get_logger
from cassandra._base.objects import set_state, state_of
from cassandra._base.real import threading
from cassandra._base.threads import run
from cassandra._core.codec import TimestampClock

log = get_logger("cassandra.timestamps")


class MonotonicTimestampGenerator:
    """Microseconds since the epoch, strictly increasing over all threads that share the generator.

    When the clock stands still or goes back, the generator counts up from the last value, and so may run ahead of the
    clock. With *warn_on_drift* it logs a warning once it is more than *warning_threshold* seconds ahead, at most one
    every *warning_interval* seconds.
    """

    __module__ = "cassandra.timestamps"

    warn_on_drift: bool = True  #: True logs a warning when timestamps are ahead of the clock.
    warning_threshold: float = 1  #: Seconds ahead of the clock before a warning.
    warning_interval: float = 1  #: Least seconds between warnings.

    def __init__(self, warn_on_drift: bool = True, warning_threshold: float = 1, warning_interval: float = 1) -> None:
        self.lock: Any = threading.RLock()  #: Held while a timestamp is made.
        self._clock = TimestampClock()
        self.warn_on_drift = warn_on_drift
        self.warning_threshold = warning_threshold
        self.warning_interval = warning_interval
        self._last_warn: float | None = None
        self._is_plain = type(self)._next_timestamp is MonotonicTimestampGenerator._next_timestamp

    def __getstate__(self) -> dict[str, Any]:
        return state_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        set_state(self, state)

    @property
    def last(self) -> int:
        """The last timestamp."""
        return self._clock.last

    @last.setter
    def last(self, timestamp: int) -> None:
        self._clock.last = timestamp

    def _next_timestamp(self, now: int, last: int) -> int:
        """Return and store the timestamp after *last* at clock time *now*, both in microseconds. Called with ``lock``
        held, and only for subclasses that override it."""
        if now > last:
            self.last = now
            return now
        self._warn_if_ahead(now, last)
        self.last = last + 1
        return self.last

    def __call__(self) -> int:
        if not self._is_plain:
            # On a driver thread, which no signal handler interrupts while it holds the lock: the I/O thread waits for
            # it.
            return self._overridden() if self.lock._is_owned() else run(self._overridden)
        clock = self._clock
        timestamp = clock.advance()
        ahead = clock.ahead
        if ahead:
            self._warn_if_ahead(timestamp - ahead, timestamp)
        return timestamp

    def _overridden(self) -> int:
        with self.lock:
            return self._next_timestamp(int(time.time() * 1_000_000), self.last)

    def _on_native_timestamp(self) -> None:
        """Handle a timestamp that native code took from ``_clock`` and that is ahead."""
        clock = self._clock
        self._warn_if_ahead(clock.last - clock.ahead, clock.last)

    def _warn_if_ahead(self, now: int, last: int) -> None:
        """Log the drift if it is large and was not logged just now."""
        ahead = last - now
        if not self.warn_on_drift or ahead < self.warning_threshold * 1_000_000:
            return
        if self._last_warn is not None and now - self._last_warn < self.warning_interval * 1_000_000:
            return
        self._last_warn = now
        log.warning(
            f"Clock skew detected: the clock says {now}, {ahead} microseconds before the last timestamp, {last}. "
            "New ones count up from there, ahead of the clock. It may have been set back, or more than a "
            "million timestamps per second are requested."
        )


def on_ahead_of(generator: Any) -> Callable[[], None] | None:
    """Return the function to call when native code took a timestamp of *generator* that is ahead of the time; None if
    native code takes none."""
    return generator._on_native_timestamp if type(generator) is MonotonicTimestampGenerator else None
