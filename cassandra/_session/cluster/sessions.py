"""The sessions of a cluster, and their pools.

L5. :class:`SessionSet` is weak and may be read by any thread while others add and drop: each changes the dict by one
atomic operation, because a session may be garbage-collected anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from cassandra._net.pool import HostPool

    from ..session import Session


class SessionSet:
    """A set of weakly held sessions."""

    def __init__(self) -> None:
        self._sessions: dict[int, ref[Session]] = {}  # by id()

    def add(self, session: Session) -> None:
        """Keep *session* while it is referenced elsewhere."""
        key = id(session)

        def forget(gone: ref[Session]) -> None:
            if self._sessions.get(key) is gone:  # another object may have this address by now
                self._sessions.pop(key, None)

        self._sessions[key] = ref(session, forget)

    def discard(self, session: Session) -> None:
        """Remove *session*, if it is in the set."""
        known = self._sessions.get(id(session))
        if known is not None and known() is session:
            self._sessions.pop(id(session), None)

    def pools(self) -> list[HostPool]:
        """Return the pools of all sessions."""
        return [pool for session in self for pool in session.get_pools()]

    def __iter__(self) -> Iterator[Session]:
        return iter([session for one in list(self._sessions.values()) if (session := one()) is not None])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, session: object) -> bool:
        return any(one is session for one in self)


def shard_stats(pools: Iterable[HostPool]) -> dict[str, dict[str, int]]:
    """Return shards and open connections by host."""
    stats: dict[str, dict[str, int]] = {}
    for pool in pools:
        sharding = pool.host.sharding_info
        known = stats.setdefault(str(pool.host.endpoint), {"shards_count": 0, "connected": 0})
        known["shards_count"] = sharding.shards_count if sharding is not None else 1
        known["connected"] += pool.open_count
    return stats
