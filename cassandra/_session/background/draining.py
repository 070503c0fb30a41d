"""Draining: requests in flight may finish before a session or a cluster is shut down.

L5. A draining session rejects new work (requests, pages, statements to prepare) and continues work in progress:
responses, retries and their pauses, requests in the admission queue, statements that are re-prepared, agreement on the
schema after a change. None of these is counted while it runs, which would cost every request something: ``busy``
inspects the places where they are. Between two attempts a request is in none of these places for a moment, on its way
through the thread that handles the response to the first one; so only a session that has been idle for ``QUIET``
seconds counts as finished.

A command waits for it, never the I/O thread. It ends when all is idle, when the time is up, or when the session or the
cluster is shut down without draining.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic, sleep
from typing import TYPE_CHECKING

from cassandra._base.logs import get_logger

if TYPE_CHECKING:
    from ..session import Session

log = get_logger("cassandra.cluster")

QUIET = 0.05
LOOK = 0.01  # seconds between two checks


def busy(sessions: Iterable[Session]) -> int:
    """Return how many requests of *sessions* are not completed."""
    return sum(_in_flight(session) for session in sessions)


def _in_flight(session: Session) -> int:
    delayed = session._ending.delayed()
    paused = sum(request._outcome is None and not request._wait(0.0) for request in delayed)  # without a response
    return sum(pool.waiting for pool in session._pool_set.pools.values()) + paused + len(session._pool_set.line)


def drain(seconds: float, count: Callable[[], int], is_over: Callable[[], bool]) -> None:
    """Wait until *count* is zero and stays so, at most *seconds*, or until *is_over*."""
    now = monotonic()
    deadline, idle_since = now + seconds, now
    while not is_over():
        sleep(LOOK)
        now, left = monotonic(), count()
        if left:
            idle_since = now
            if now >= deadline:
                log.warning("%d requests have not finished within the %s s of the shutdown, and fail", left, seconds)
                return
        elif now - idle_since >= QUIET:
            return
