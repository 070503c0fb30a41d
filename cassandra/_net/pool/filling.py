"""Opens what a pool lacks, one connection per shard of its host (L3). Owned by one pool, whose lock guards it.

Every shard that is wanted (see ``slots.py``) is in one of these states, or ``look`` is about to put it into one::

    opening   in one of a few lanes: no more are opened at a time. It begins with a moment that is different for every
              client, so that they do not come all at once
    put off   the last attempt failed; the reconnection schedule, one walk per shard, says for how long

``look`` starts what can be started; it is called whenever anything is lost, worn, or came, and by every attempt that
ends. So a pool that is not closed always comes back. A pool without any connection wants just one, of any shard, and
does not wait for that moment.

A shard is aimed at through the shard-aware port. Where there is none, or it is *blocked*, connections go to the plain
port, and the server chooses the shard: more are opened until all are covered. The port is blocked for ten minutes when
nothing answers there or the answer comes from another shard than the client's port stands for, as behind an address
translation; a failure at the plain port unblocks it, for then it is the host that has failed. Those that missed are not
lost: they cover the shard they came to.

``_delays`` is the I/O thread's, ``blocked_until`` anybody's; everything else is guarded by the pool's lock, and nothing
foreign is called with it held.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, Final

from cassandra._base import commands
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
SPREAD = 0.05  # seconds over which clients spread the beginning of each
BLOCKED = 600.0
OWN_PORTS = (DefaultEndPoint, ClientRoutesEndPoint)  # behind other end points may be a proxy, which has no such port
RESHARDED: Final = -2  # whose walk through the schedule it is while a host tells of other shards each time


class Arrival:
    """How an attempt ended: with a connection, and what became of it, or with an error."""

    __slots__ = ("connection", "error", "joined")

    def __init__(
        self, connection: Connection | None = None, joined: Joined | None = None, error: BaseException | None = None
    ) -> None:
        self.connection = connection
        self.joined = joined
        self.error = error


class Filling:
    """See above. ``look``, ``try_now`` and ``block`` are for any thread."""

    def __init__(self, pool: HostPool, delays: Callable[[], Iterable[float]] | None, use_port: bool) -> None:
        """*delays* gives a fresh reconnection schedule. *use_port*: False, never through the shard-aware port."""
        self.blocked_until = 0.0  # wall clock, as users read it; nothing is decided by that
        self._blocked_until = 0.0  # the same, by the clock that nobody sets
        self._pool = pool
        self._new_schedule = delays
        self._use_port = use_port
        self._opening: set[int] = set()
        self._put_off: set[int] = set()
        self._again: set[int] = set()  # of those being opened: whom to try once more if that fails
        self._era = 0  # goes up when it is known anew what shards there are: whoever was put off is not any more
        self._held = False
        self._delays: dict[int, Delays] = {}

    def look(self) -> None:
        """Start to open what is wanted, as far as it is not being opened."""
        pool = self._pool
        with pool._lock:
            wanted = pool._slots.wanted()
            if pool.is_shutdown or (self._held and wanted != [ANY]):
                return
            free = [shard for shard in wanted if shard not in self._opening and shard not in self._put_off]
            random.shuffle(free)
            at_once = pool._slots.sharding is None
            lanes = LANES + at_once  # a pool without any connection does not wait for attempts that may lead nowhere
            del free[max(0, lanes - len(self._opening)) :]
            self._opening.update(free)
        for shard in free:
            if at_once:
                self._attempt(shard)
            else:
                pool._later(random.uniform(0.0, SPREAD), partial(self._attempt, shard))

    def try_now(self) -> None:
        """There is reason to believe that what failed works now: nobody is put off any longer, delays begin anew."""
        self._pool._soon(self._try_now)

    def _try_now(self) -> None:
        with self._pool._lock:
            self._era += 1
            self._put_off.clear()
            self._again.update(self._opening)  # they may have been refused already
        self._delays.clear()
        self.look()

    def aim_beside(self, known: Connection) -> Aim | None:
        """For another connection to the shard of *known*."""
        with self._pool._lock:
            sharding = self._pool._slots.sharding
        shard = known.shard
        return None if sharding is None or shard is None else self._aim(shard, sharding, known)

    def block(self, secs: float = BLOCKED) -> None:
        """Do not use the shard-aware port for *secs* seconds: shards are covered by opening connections until all have
        one."""
        self.blocked_until = max(self.blocked_until, time() + secs)
        self._blocked_until = max(self._blocked_until, monotonic() + secs)

    @property
    def missing(self) -> int:
        """How many connections are to be opened, or opened anew, until all shards have a good one."""
        return commands.run(self._count_missing)

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
        else:  # one that was aimed at another shard covers it
            self._leave_lane(shard)

    def _aim(self, shard: int, sharding: ShardingInfo, known: Connection) -> Aim | None:
        """None: to the plain port. What is right for *known* is so for another one."""
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
        """Did it come to the shard that its port stands for?"""
        sharding = connection.features.sharding_info
        if sharding is None or sharding.shards_count != aim.shards_count or connection.shard == aim.shard:
            return
        log.warning(
            "A connection to %s that was to lead to shard %d came to shard %s: an address translation seems to change "
            "the client's port. From now on connections are opened until all shards have one; "
            "ShardAwareOptions(disable_shardaware_port=True) does so from the beginning",
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
            log.info("%s: shard %d could not be reached so far; next try in %.1f s", pool.host, shard, delay)
        else:
            pool._attempt_failed(error, delay)
        with pool._lock:
            self._opening.discard(shard)
            self._put_off.add(shard)
            era = self._era
        pool._later(delay, partial(self._try_again, shard, era))
        self.look()  # the lane is free

    def _try_again(self, shard: int, era: int) -> None:
        with self._pool._lock:
            if era == self._era:
                self._put_off.discard(shard)
        self.look()

    def _hold(self) -> None:
        """The host has other shards than it had. If it goes on like that (there may be several behind its address),
        connections are opened ever more slowly."""
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
