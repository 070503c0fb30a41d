"""Log rate limit: a repeated failure is logged when it starts or changes, and then once a minute (L3).

Used without a lock; two threads at the same time may log one line more.
"""

from __future__ import annotations

import logging
from time import monotonic

AGAIN = 60.0  # seconds between two lines about the same failure


class Repeated:
    """Log level of one operation that may fail repeatedly."""

    __slots__ = ("_at", "_kind")

    def __init__(self) -> None:
        self._kind: type[BaseException] | None = None
        self._at = 0.0

    def level(self, level: int, error: BaseException) -> int:
        """Return the level for logging *error*: *level*, or DEBUG if the same failure was logged recently."""
        now = monotonic()
        if type(error) is self._kind and now - self._at < AGAIN:  # texts may differ by an elapsed time
            return logging.DEBUG
        self._kind, self._at = type(error), now
        return level

    def over(self) -> None:
        """Reset after a success."""
        self._kind = None
