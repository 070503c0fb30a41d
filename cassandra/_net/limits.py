"""Limits on requests in flight, as pools use them (L3). The counting is native, see cpp/transport/limits.h.

A connection takes ``ConnectionOptions.max_requests`` at a time; all connections of a pool together what its own limit
allows, and within the limit above it, the session's. A request that was given up counts until its late answer comes or
its connection closes: the server may be busy with it. What the driver itself asks (heartbeats, USE) is not limited.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakMethod

from cassandra._core.transport import Operation
from cassandra._net.exchange import guarded


class RoomSignal(Operation):
    """Calls *on_room*, a bound method, on the I/O thread whenever it is told that there may be room. It keeps the
    method's owner not alive: a full connection may keep the waiter for long."""

    def __init__(self, on_room: Callable[[], object]) -> None:
        super().__init__()
        self._on_room = WeakMethod(on_room)

    def _on_outcome(self) -> None:
        self._take_all()
        on_room = self._on_room()
        if on_room is not None:
            guarded(on_room)


def worn_at(*limits: int | None) -> int:
    """How many requests may have been given up before a connection with these limits is replaced: three quarters of
    what it can carry."""
    return max(1, min(limit for limit in limits if limit is not None) * 3 // 4)
