"""Opens the missing connections of a pool, one per shard of its host (L3). Owned by one pool, whose lock guards it.

Every shard that needs a connection (see ``slots.py``) is in one of these states, or ``look`` is about to change it to
one::

    opening   a connection is being opened; the number of concurrent attempts is limited (``LANES``). Each attempt
              starts after a random delay, so that clients do not connect all at once
    put off   the last attempt failed; the shard waits for the next delay of its own reconnection schedule

``look`` starts the attempts that can be started. It is called whenever a connection is lost, marked for replacement or
added, and at the end of every attempt. So a pool that is not closed always recovers. A pool without any connection
needs just one, of any shard, and opens it without the random delay.

A target shard is reached through the shard-aware port. If there is no such port, or it is *blocked*, connections go to
the plain port, and the server chooses the shard: connections are opened until all shards are covered. The port is
blocked for ten minutes if a connection to it fails or leads to another shard than the client's port selects, as behind
an address translation. A failure at the plain port unblocks it, because then the host has failed. Connections to
another shard than the target are kept: they cover the shard that they lead to.

``_delays`` is used by the I/O thread only, ``blocked_until`` by any thread; everything else is guarded by the pool's
lock, and no foreign code is called with the lock held.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, Final

from cassandra._base import threads
from cassandra._base.logs import get_logger
from cassandra._net.client_routes import ClientRoutesEndPoint
from cassandra._net.delays import Delays
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.pool.sharding import Aim, ShardingInfo
from cassandra._net.pool.slots import ANY, Joined

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._net.pool.pool import HostPool

log = get_logger("cassandra.pool")

LANES = 4  # connections of a pool that are opened at a time
SPREAD = 0.05  # maximum random delay of an attempt in seconds
BLOCKED = 600.0
OWN_PORTS = (DefaultEndPoint, ClientRoutesEndPoint)  # others may lead to a proxy, without a shard-aware port
RESHARDED: Final = -2  # key of the schedule for a host that reports another sharding each time


class Arrival:
    """Outcome of an attempt: a connection with the result of joining, or an error."""

    __slots__ = ("connection", "error", "joined")

    def __init__(
        self, connection: Connection | None = None, joined: Joined | None = None, error: BaseException | None = None
    ) -> None:
        self.connection = connection
        self.joined = joined
        self.error = error


class Filling:
    """Opens the missing connections of one pool. ``look``, ``try_now`` and ``block`` may be called from any thread."""

    def __init__(self, pool: HostPool, delays: Callable[[], Iterable[float]] | None, use_port: bool) -> None:
        """*delays* returns a new reconnection schedule. *use_port*: False to never use the shard-aware port."""
        self.blocked_until = 0.0  # wall clock, for users only; no decision depends on it
        self._blocked_until = 0.0  # the same by the monotonic clock
        self._pool = pool
        self._new_schedule = delays
        self._use_port = use_port
        self._opening: set[int] = set()
        self._put_off: set[int] = set()
        self._again: set[int] = set()  # shards in ``_opening`` to retry at once if the attempt fails
        self._era = 0  # counts resets of ``_put_off``; timers of an earlier era are ignored
        self._held = False
        self._delays: dict[int, Delays] = {}

    def look(self) -> None:
        """Start attempts for shards that need a connection and are not being opened or put off."""
        pool = self._pool
        with pool._lock:
            wanted = pool._slots.wanted()
            if pool.is_shutdown or (self._held and wanted != [ANY]):
                return
            free = [shard for shard in wanted if shard not in self._opening and shard not in self._put_off]
            random.shuffle(free)
            at_once = pool._slots.sharding is None
            lanes = LANES + at_once  # one extra for a pool without connections: the other attempts may hang
            del free[max(0, lanes - len(self._opening)) :]
            self._opening.update(free)
        for shard in free:
            if at_once:
                self._attempt(shard)
            else:
                pool._later(random.uniform(0.0, SPREAD), partial(self._attempt, shard))

    def try_now(self) -> None:
        """Retry now, because attempts may succeed: release all put-off shards and start their delays anew."""
        self._pool._soon(self._try_now)

    def _try_now(self) -> None:
        with self._pool._lock:
            self._era += 1
            self._put_off.clear()
            self._again.update(self._opening)  # the server may have rejected them already
        self._delays.clear()
        self.look()

    def aim_beside(self, known: Connection) -> Aim | None:
        """Return the target for another connection to the shard of *known*."""
        with self._pool._lock:
            sharding = self._pool._slots.sharding
        shard = known.shard
        return None if sharding is None or shard is None else self._aim(shard, sharding, known)

    def block(self, secs: float = BLOCKED) -> None:
        """Do not use the shard-aware port for *secs* seconds; meanwhile connections are opened until all shards have
        one."""
        self.blocked_until = max(self.blocked_until, time() + secs)
        self._blocked_until = max(self._blocked_until, monotonic() + secs)

    @property
    def missing(self) -> int:
        """Number of shards that lack a connection or need a replacement."""
        return threads.run(self._count_missing)

    def _count_missing(self) -> int:
        with self._pool._lock:
            return len(self._pool._slots.wanted())

    # ---- an attempt

    def _attempt(self, shard: int) -> None:
        pool = self._pool
        with pool._lock:
            needed = shard in pool._slots.wanted()
            sharding = pool._slots.sharding
            known = pool._slots.taking[:1]
        if needed:
            aim = None if sharding is None else self._aim(shard, sharding, known[0])
            pool._connect(partial(self._ended, shard, aim), aim)
        else:  # covered meanwhile by a connection with another target shard
            self._leave_lane(shard)

    def _aim(self, shard: int, sharding: ShardingInfo, known: Connection) -> Aim | None:
        """Return the target for *shard*, None for the plain port. *known* has the options and endpoint to use."""
        if not self._use_port or monotonic() < self._blocked_until:
            return None
        endpoint = known.endpoint
        if not isinstance(endpoint, OWN_PORTS):
            return None
        encrypted = known.options.uses_tls_to(endpoint)
        port = sharding.shard_aware_port_ssl if encrypted else sharding.shard_aware_port
        return None if port is None else Aim(shard, sharding.shards_count, port)

    def _ended(self, shard: int, aim: Aim | None, arrival: Arrival) -> None:
        pool, error = self._pool, arrival.error
        if pool.is_shutdown:
            return
        with pool._lock:
            again = error is not None and shard in self._again
            self._again.discard(shard)
        if arrival.connection is not None and aim is not None:
            self._check(arrival.connection, aim)
        if arrival.joined is Joined.CROWDED:
            self._put_off_until_later(shard, None)
        elif again:
            self._leave_lane(shard)
        elif error is None:
            self._came(shard, arrival.joined)
            self._leave_lane(shard)
        elif aim is not None and pool._slots.taking:
            log.info("%s: no connection through the shard-aware port %d: %s", pool.host, aim.port, error)
            self.block()
            self._leave_lane(shard)
        else:
            if aim is None and shard != ANY:
                self.blocked_until = self._blocked_until = 0.0
            self._put_off_until_later(shard, error)

    def _came(self, shard: int, joined: Joined | None) -> None:
        has_place = joined in (Joined.TAKEN, Joined.RESHARDED)
        with self._pool._lock:
            slots = self._pool._slots
            covered = not slots.wanted()
            if has_place and len(slots.taking) == 1:
                self._era += 1
                self._put_off.clear()
        if joined is Joined.TAKEN:
            self._delays.pop(shard, None)
        elif joined is Joined.RESHARDED:
            self._hold()
        if covered:
            self._delays.clear()

    def _check(self, connection: Connection, aim: Aim) -> None:
        """Block the shard-aware port if *connection* leads to another shard than its local port selects."""
        sharding = connection.features.sharding_info
        if sharding is None or sharding.shards_count != aim.shards_count or connection.shard == aim.shard:
            return
        log.warning(
            "A connection to %s for shard %d was assigned to shard %s: an address translation seems to change the "
            "client's port. From now on connections are opened until all shards have one; "
            "ShardAwareOptions(disable_shardaware_port=True) does so from the start",
            self._pool.host, aim.shard, connection.shard,
        )  # fmt: skip
        self.block()

    def _leave_lane(self, shard: int) -> None:
        with self._pool._lock:
            self._opening.discard(shard)
        self.look()

    # ---- later

    def _put_off_until_later(self, shard: int, error: BaseException | None) -> None:
        pool = self._pool
        delay = self._delay(shard)
        if pool._slots.sharding is not None:
            delay *= random.uniform(0.5, 1.5)
        if error is None:
            log.info("%s: no connection to shard %d yet; next attempt in %.1f s", pool.host, shard, delay)
        else:
            pool._attempt_failed(error, delay)
        with pool._lock:
            self._opening.discard(shard)
            self._put_off.add(shard)
            era = self._era
        pool._later(delay, partial(self._try_again, shard, era))
        self.look()  # another attempt may start

    def _try_again(self, shard: int, era: int) -> None:
        with self._pool._lock:
            if era == self._era:
                self._put_off.discard(shard)
        self.look()

    def _hold(self) -> None:
        """Delay attempts because the sharding of the host has changed. If it keeps changing (several hosts may share
        the address), the delays grow."""
        with self._pool._lock:
            first, self._held = not self._held, True
        if first:
            self._pool._later(self._delay(RESHARDED), self._end_hold)

    def _end_hold(self) -> None:
        with self._pool._lock:
            self._held = False
        self.look()

    def _delay(self, key: int) -> float:
        return self._delays.setdefault(key, Delays(self._new_schedule)).next_or_last()
