"""Something that fails again and again is logged when it begins or changes, and then once a minute (L3).

Owner: whoever has it; two threads at the same time cost one line more.
"""

from __future__ import annotations

import logging
from time import monotonic

AGAIN = 60.0  # seconds between two lines about the same


class Repeated:
    """One thing that may fail."""

    __slots__ = ("_at", "_kind")

    def __init__(self) -> None:
        self._kind: type[BaseException] | None = None
        self._at = 0.0

    def level(self, level: int, error: BaseException) -> int:
        """At which level to log that it failed by *error*: *level*, or DEBUG when that was just said."""
        now = monotonic()
        if type(error) is self._kind and now - self._at < AGAIN:  # texts may differ by an elapsed time
            return logging.DEBUG
        self._kind, self._at = type(error), now
        return level

    def over(self) -> None:
        """It worked."""
        self._kind = None
