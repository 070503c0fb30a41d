"""Limits on requests in flight, as pools use them (L3). The counting is native, see cpp/transport/limits.h.

A connection accepts ``ConnectionOptions.max_requests`` at a time. All connections of a pool share the limit of the
pool, which is within its parent, the limit of the session. An orphaned request counts until its late response arrives
or its connection closes: the server may still be processing it. The driver's own requests (heartbeats, USE) are not
limited.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakMethod

from cassandra._core.transport import Operation
from cassandra._net.exchange import guarded


class RoomSignal(Operation):
    """Calls *on_room*, a bound method, on the I/O thread whenever there may be room for requests. It holds a weak
    reference to the method's owner: a full connection may hold the waiter for long."""

    def __init__(self, on_room: Callable[[], object]) -> None:
        super().__init__()
        self._on_room = WeakMethod(on_room)

    def _on_outcome(self) -> None:
        self._take_all()
        on_room = self._on_room()
        if on_room is not None:
            guarded(on_room)


def worn_at(*limits: int | None) -> int:
    """Return the number of orphaned requests at which a connection with these limits is replaced: three quarters of
    the lowest limit."""
    return max(1, min(limit for limit in limits if limit is not None) * 3 // 4)
