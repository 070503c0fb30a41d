"""Conditional writes are not older than the plain writes before them.

Cassandra gives a conditional write whole milliseconds of its own clock as its timestamp (a Paxos ballot), while a plain
write has microseconds of the client's clock. A conditional write executed in the same millisecond as a plain write of
the same row is therefore older: it is applied, and has no effect. So a conditional write that would be sent in the
millisecond of the last plain write waits for the next millisecond. Reads have timestamps, too, and cause the same wait:
telling them apart would cost every request. If the clocks of servers and clients differ by more than that, the client
cannot correct it.
"""

from __future__ import annotations

import time
from typing import Any

#: Limit of attempts, so that a stopped clock does not block a write forever.
TRIES = 64


def left_of_millisecond(session: Any) -> float:
    """Return the seconds until a conditional write may be sent: 0, unless the last timestamp of *session* is in the
    current millisecond. At most one millisecond, for any setting of the clock."""
    generator = getattr(session, "timestamp_generator", None)
    last = getattr(generator, "last", None)
    if type(last) is not int or not getattr(session, "use_client_timestamp", False):
        return 0.0
    now = time.time_ns() // 1000
    return (1000 - now % 1000) * 1e-6 if now // 1000 == last // 1000 else 0.0


def wait_for_later(session: Any) -> None:
    """Wait until a conditional write may be sent."""
    left = left_of_millisecond(session)
    if left:
        time.sleep(left)


async def wait_for_later_async(session: Any) -> None:
    """As :func:`wait_for_later`, without blocking the running loop."""
    left = left_of_millisecond(session)
    if not left:
        return
    import asyncio  # already imported in a program with a running loop; other programs do not load it

    over = time.monotonic() + left
    for _ in range(TRIES):  # a timer of a loop may fire up to a millisecond early, the resolution of some loops
        await asyncio.sleep(left)
        left = over - time.monotonic()
        if left <= 0:
            return
