"""Opening of the missing connections of one pool: which shard, when, and through which port (L3).

*States*. Every shard that needs a connection (see ``pool_slots.py``) is in one of these, or ``Filling.look`` is about
to change it to one::

    opening   a connection is being opened, or waits for its time: attempts follow each other at the pace of the host,
              which its pools share, and their number at a time is limited (``MAX_PARALLEL_ATTEMPTS``)
    put off   the last attempt failed: the shard waits for the next delay of its own reconnection schedule; or it led to
              a shard that has a connection: the next one is made seconds later

``look`` starts the attempts that can be started. It is called whenever a connection is lost, marked for replacement or
added, and at the end of every attempt. So a lost connection is reopened, at once and then by the reconnection schedule.
A pool without any connection needs just one, of any shard, and opens it without waiting for its time.

*Ports*. A target shard is reached through the shard-aware port. If there is no such port, or it is *blocked*,
connections go to the plain port, and the server chooses the shard: connections are opened until all shards are covered.
Connections to another shard than the target are kept: they cover the shard that they lead to, or are *excess*, which
keeps a server that distributes connections from assigning the same shard again. Excess connections and attempts that
may become some are two at most (``MAX_EXCESS``): before a further attempt one of them is closed.

The port is blocked for ten minutes if a connection leads to another shard than the client's port selects, as behind an
address translation, or if attempts for several shards fail and none succeeds in between: then it is not the shard. One
shard that fails has a schedule of its own, and the others keep using the port; after some failures it is tried through
the plain port. A failure at the plain port unblocks the shard-aware one, because then the host has failed.

*Threads*. All state is guarded by the lock of the pool, except ``_delays`` and ``_misses``, which only the I/O thread
uses, and ``blocked_until``, which any thread uses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, Final

from cassandra._base import threads
from cassandra._base.logs import get_logger
from cassandra._base.randomness import shuffle, uniform

from .backoff import Delays, Pace
from .client_routes import ClientRoutesEndPoint
from .endpoint import DefaultEndPoint
from .features import ShardingInfo, ShardTarget
from .health import watch_of
from .pool_slots import ANY, JoinResult

if TYPE_CHECKING:
    from .connection import Connection
    from .pool import HostPool

log = get_logger("cassandra.pool")

MAX_PARALLEL_ATTEMPTS = 4  # connections of a pool that are opened at a time
SPREAD = 0.05  # maximum random delay of an attempt in seconds, besides that of the pace
BLOCKED = 600.0
OWN_PORTS = (DefaultEndPoint, ClientRoutesEndPoint)  # others may lead to a proxy, without a shard-aware port
RESHARDED: Final = -2  # key of the schedule for a host that reports another sharding each time
WRONG_SHARD_DELAY = 1.0  # seconds until the next attempt for a shard after one that led to a covered shard; it doubles
MAX_WRONG_SHARD_DELAY = 5.0
FAILING_SHARDS = 3  # shards that fail through the shard-aware port, one after the other, before it is blocked
TRIES_BY_PORT = 3  # failures of one shard through the shard-aware port before an attempt through the plain one


class Arrival:
    """Outcome of an attempt: a connection with the result of joining, or an error."""

    __slots__ = ("connection", "error", "joined")

    def __init__(
        self, connection: Connection | None = None, joined: JoinResult | None = None, error: BaseException | None = None
    ) -> None:
        self.connection = connection
        self.joined = joined
        self.error = error


class Filling:
    """Opens the missing connections of one pool. ``look``, ``try_now`` and ``block`` may be called from any thread."""

    def __init__(
        self,
        pool: HostPool,
        delays: Callable[[], Iterable[float]] | None,
        use_port: bool,
        pace: Pace,
        rate: Callable[[], float | None],
    ) -> None:
        """*delays* returns a new reconnection schedule. *use_port*: False to never use the shard-aware port. *pace* is
        that of the host, *rate* returns the most connections a second."""
        self.blocked_until = 0.0  # wall clock, for users only; no decision depends on it
        self._blocked_until = 0.0  # the same by the monotonic clock
        self._pool = pool
        self._new_schedule = delays
        self._use_port = use_port
        self._pace = pace
        self._rate = rate
        self._opening: set[int] = set()
        self._plain: set[int] = set()  # those in ``_opening`` for which the server chooses the shard
        self._delayed: set[int] = set()
        self._retry_at_once: set[int] = set()  # shards in ``_opening`` to retry at once if the attempt fails
        self._delays_generation = 0  # counts resets of ``_delayed``; timers of an earlier era are ignored
        self._is_on_hold = False
        self._delays: dict[int, Delays] = {}
        self._misses: dict[int, int] = {}  # attempts for a shard that led to covered ones
        self._failing: set[int] = set()  # shards that failed through the port since a connection was opened through it
        self._failures: dict[int, int] = {}  # by shard, since its last connection through the port

    def reserve(self) -> float:
        """Reserve the time of one connection at the pace of the host; return the seconds until then."""
        return self._pace.reserve(self._rate())

    def look(self) -> None:
        """Start attempts for shards that need a connection and are not being opened or put off."""
        pool, slots = self._pool, self._pool._slots
        sharding, known = slots.sharding, slots.taking[:1]
        has_port = sharding is not None and bool(known) and self._port(sharding, known[0]) is not None
        with pool._lock:
            shards_wanted = slots.wanted()
            if pool.is_shutdown or (self._is_on_hold and shards_wanted != [ANY]):
                return
            free = [shard for shard in shards_wanted if shard not in self._opening and shard not in self._delayed]
            shuffle(free)
            at_once = slots.sharding is None
            if not at_once:
                plain = [shard for shard in free if not has_port or self._avoids_port(shard)]
                room = max(slots.max_excess - len(slots.excess) - len(self._plain), 0 if self._plain else 1)
                room = max(0, min(room, len(shards_wanted) - len(self._opening)))  # any of them covers any shard
                self._plain.update(plain[:room])
                free = [shard for shard in free if shard not in plain[room:]]
            # one extra for a pool without connections: the other attempts may hang
            del free[max(0, MAX_PARALLEL_ATTEMPTS + at_once - len(self._opening)) :]
            self._opening.update(free)
            self._plain &= self._opening
        for shard in free:
            delay = self.reserve()
            if at_once:
                self._attempt(shard)
            else:
                pool._later(delay + uniform(0.0, SPREAD), partial(self._attempt, shard))

    def try_now(self) -> None:
        """Retry now, because attempts may succeed: release all delayed shards and restart their schedules."""
        self._pool._run_soon(self._try_now)

    def _try_now(self) -> None:
        with self._pool._lock:
            self._release_all()
            self._retry_at_once.update(self._opening)  # the server may have rejected them already
        self._delays.clear()
        self._misses.clear()
        self.look()

    def _release_all(self) -> None:
        self._delays_generation += 1
        self._delayed.clear()

    def target_for_shard_of(self, known: Connection) -> ShardTarget | None:
        """Return the target for another connection to the shard of *known*."""
        with self._pool._lock:
            sharding = self._pool._slots.sharding
        shard = known.shard
        return None if sharding is None or shard is None else self._target_of(shard, sharding, known)

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
        pool, slots = self._pool, self._pool._slots
        with pool._lock:
            needed = shard in slots.wanted()
            sharding, is_plain = slots.sharding, shard in self._plain
            known = slots.taking[:1]
            closed = slots.make_room() if needed and is_plain else None
        if closed is not None:
            closed.close()
        target = None if sharding is None or is_plain or not needed else self._target_of(shard, sharding, known[0])
        if needed and (target is not None or is_plain or sharding is None):
            pool._connect(partial(self._on_attempt_done, shard, target), target)
        else:  # covered meanwhile by a connection with another target shard; or the port was blocked
            self._end_attempt(shard)

    def _port(self, sharding: ShardingInfo, known: Connection) -> int | None:
        """Return the shard-aware port, None for the plain one. *known* has the options and endpoint to use."""
        endpoint = known.endpoint
        if not self._use_port or monotonic() < self._blocked_until or not isinstance(endpoint, OWN_PORTS):
            return None
        encrypted = known.options.uses_tls_to(endpoint)
        return sharding.shard_aware_port_ssl if encrypted else sharding.shard_aware_port

    def _target_of(self, shard: int, sharding: ShardingInfo, known: Connection) -> ShardTarget | None:
        port = self._port(sharding, known)
        return None if port is None else ShardTarget(shard, sharding.shards_count, port)

    def _avoids_port(self, shard: int) -> bool:
        return self._failures.get(shard, 0) % (TRIES_BY_PORT + 1) == TRIES_BY_PORT

    def _on_attempt_done(self, shard: int, target: ShardTarget | None, arrival: Arrival) -> None:
        pool, error, connection = self._pool, arrival.error, arrival.connection
        if pool.is_shutdown:
            return
        with pool._lock:
            is_retried = error is not None and shard in self._retry_at_once
            self._retry_at_once.discard(shard)
            if target is None and shard in self._failures:
                self._failures[shard] += 1  # the next attempt uses the shard-aware port again
        if connection is not None and target is not None:
            self._check(connection, target)
        if arrival.joined in (JoinResult.EXCESS, JoinResult.TOO_MANY_EXCESS):
            self._on_covered_shard(shard)
        elif is_retried:
            self._end_attempt(shard)
        elif connection is not None and error is None:
            self._misses.pop(ANY if connection.shard is None else connection.shard, None)
            self._on_joined(shard, arrival.joined)
            self._end_attempt(shard)
        elif target is not None and pool._slots.taking and error is not None:
            self._on_port_failed(shard, target, error)
        else:
            if target is None and shard != ANY:
                self.blocked_until = self._blocked_until = 0.0
            self._retry_later(shard, error)

    def _on_joined(self, shard: int, joined: JoinResult | None) -> None:
        has_place = joined in (JoinResult.ACCEPTED, JoinResult.RESHARDED)
        with self._pool._lock:
            slots = self._pool._slots
            covered = not slots.wanted()
            if has_place and len(slots.taking) == 1:
                self._release_all()
        if joined is JoinResult.ACCEPTED:
            self._delays.pop(shard, None)
        elif joined is JoinResult.RESHARDED:
            self._hold()
        if covered:
            self._delays.clear()
            self._misses.clear()

    def _check(self, connection: Connection, target: ShardTarget) -> None:
        """Block the shard-aware port if *connection* leads to another shard than its local port selects. A warning is
        logged once per host."""
        sharding = connection.features.sharding_info
        if connection.shard == target.shard:
            with self._pool._lock:
                self._failing.clear()
                self._failures.pop(target.shard, None)
            return
        if sharding is None or sharding.shards_count != target.shards_count:
            return
        watch = watch_of(self._pool.host)
        level = logging.DEBUG if watch.has_warned_of_ports else logging.WARNING
        watch.has_warned_of_ports = True
        log.log(
            level,
            "A connection to %s for shard %d was assigned to shard %s: an address translation seems to change the "
            "client's port. From now on connections are opened until all shards have one; "
            "ShardAwareOptions(disable_shardaware_port=True) does so from the start",
            self._pool.host, target.shard, connection.shard,
        )  # fmt: skip
        self.block()

    def _on_port_failed(self, shard: int, target: ShardTarget, error: BaseException) -> None:
        """Put off *shard*; block the shard-aware port if others have failed there, too. A failure after that says
        nothing about the shard: it is tried through the plain port at once."""
        pool = self._pool
        if monotonic() < self._blocked_until:
            self._end_attempt(shard)
            return
        with pool._lock:
            self._failing.add(shard)
            self._failures[shard] = self._failures.get(shard, 0) + 1
            is_blocked = len(self._failing) >= min(FAILING_SHARDS, target.shards_count - 1)
            if is_blocked:
                self._failing.clear()
                self._failures.clear()
                self._release_all()
        if is_blocked:
            log.info("%s: no connection through the shard-aware port %d: %s", pool.host, target.port, error)
            self.block()
            self._end_attempt(shard)
            return
        delay = self._delay(shard) * uniform(0.5, 1.5)
        log_once = log.info if self._failures[shard] == 1 else log.debug
        text = "%s: no connection to shard %d through the shard-aware port %d: %s; next attempt in %.1f s"
        log_once(text, pool.host, shard, target.port, error, delay)
        self._put_off(shard, delay)

    def _end_attempt(self, shard: int) -> None:
        with self._pool._lock:
            self._end_opening(shard)
        self.look()

    def _end_opening(self, shard: int) -> None:
        self._opening.discard(shard)
        self._plain.discard(shard)

    # ---- delayed attempts

    def _on_covered_shard(self, shard: int) -> None:
        """Put off *shard*, longer each time: the server has assigned a shard that has a connection."""
        misses = self._misses[shard] = self._misses.get(shard, 0) + 1
        delay = min(WRONG_SHARD_DELAY * 2 ** min(misses - 1, 10), MAX_WRONG_SHARD_DELAY)
        log.debug("%s: no connection to shard %d yet, after %d attempts", self._pool.host, shard, misses)
        self._put_off(shard, delay * uniform(0.5, 1.5))

    def _retry_later(self, shard: int, error: BaseException | None) -> None:
        pool = self._pool
        delay = self._delay(shard)
        if pool._slots.sharding is not None:
            delay *= uniform(0.5, 1.5)
        pool._attempt_failed(error or pool._closed_error(), delay)
        self._put_off(shard, delay)

    def _put_off(self, shard: int, delay: float) -> None:
        with self._pool._lock:
            self._end_opening(shard)
            self._delayed.add(shard)
            generation = self._delays_generation
        self._pool._later(delay, partial(self._release_delayed, shard, generation))
        self.look()  # another attempt may start

    def _release_delayed(self, shard: int, generation: int) -> None:
        with self._pool._lock:
            if generation == self._delays_generation:
                self._delayed.discard(shard)
        self.look()

    def _hold(self) -> None:
        """Delay attempts because the sharding of the host has changed. If it keeps changing (several hosts may share
        the address), the delays grow."""
        with self._pool._lock:
            first, self._is_on_hold = not self._is_on_hold, True
        if first:
            self._pool._later(self._delay(RESHARDED), self._end_hold)

    def _end_hold(self) -> None:
        with self._pool._lock:
            self._is_on_hold = False
        self.look()

    def _delay(self, key: int) -> float:
        return self._delays.setdefault(key, Delays(self._new_schedule)).next_or_last()
