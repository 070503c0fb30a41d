"""Conditional writes are not older than the plain ones before them.

Cassandra gives a conditional write whole milliseconds of its own clock as its time (a Paxos ballot), while a plain one
has microseconds of the client's. One that is executed in the millisecond of a plain write of the same row is therefore
older: it is applied, and has no effect. So a conditional write that would be sent in the millisecond of the last plain
one waits for the next. Reads have timestamps, too, and are waited for as well: to tell them apart would be for every
request to pay. Where the clocks of servers and clients differ by more than that, nothing can be done here.
"""

from __future__ import annotations

import time
from typing import Any

#: A clock that is not going must not keep a write back.
TRIES = 64


def left_of_millisecond(session: Any) -> float:
    """Seconds until a conditional write may be sent: none, unless the last timestamp of *session* is of this
    millisecond. Never more than one, however the clock is set."""
    generator = getattr(session, "timestamp_generator", None)
    last = getattr(generator, "last", None)
    if type(last) is not int or not getattr(session, "use_client_timestamp", False):
        return 0.0
    now = time.time_ns() // 1000
    return (1000 - now % 1000) * 1e-6 if now // 1000 == last // 1000 else 0.0


def wait_for_later(session: Any) -> None:
    """Until a conditional write may be sent."""
    left = left_of_millisecond(session)
    if left:
        time.sleep(left)


async def wait_for_later_async(session: Any) -> None:
    """As :func:`wait_for_later`, without blocking the running loop."""
    left = left_of_millisecond(session)
    if not left:
        return
    import asyncio  # which this program has, and others do without

    over = time.monotonic() + left
    for _ in range(TRIES):  # a timer of a loop may be early by a millisecond, which is how exact some are
        await asyncio.sleep(left)
        left = over - time.monotonic()
        if left <= 0:
            return
