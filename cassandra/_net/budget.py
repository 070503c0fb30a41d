"""The budget of retries: overloaded servers must not get more requests because they are overloaded.

L4. A pool has a budget for its host (``Cluster(retry_budget=...)``). It is a token bucket, as that of speculative
executions (``cpp/metrics/speculation.h``): each request adds a share of a token, and each retry after an error that an
overloaded server causes takes a whole one. Retries after lost connections and other errors are not counted.

Driver threads use it, which decide about retries; a lock protects the tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from cassandra._base.locks import driver_lock

START = 10.0  # tokens of a new pool
MOST = 100.0  # tokens that are kept
PER_SECOND = 1.0  # tokens without any request, so that a client with few requests may retry


class RetryBudget:
    """Retries after overload: at most *ratio* for each request, beside one a second and a few at the beginning."""

    def __init__(self, ratio: float, clock: Callable[[], float] = monotonic) -> None:
        self._ratio = ratio
        self._clock = clock
        self._lock = driver_lock("RetryBudget")
        self._tokens = START
        self._sent = 0
        self._seen = clock()

    def take(self, sent: int) -> bool:
        """Take a token for a retry, and return True; False if there is none. *sent*: requests so far, on the
        connections that are open now."""
        with self._lock:
            now = self._clock()
            earned = self._ratio * max(0, sent - self._sent) + PER_SECOND * (now - self._seen)
            self._sent, self._seen = sent, now
            tokens = min(MOST, self._tokens + earned)
            is_granted = tokens >= 1
            self._tokens = tokens - is_granted
            return is_granted
