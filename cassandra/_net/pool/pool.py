"""The connections of one session to one host (L3; public path ``cassandra.pool.HostConnection``).

Who does what: ``slots.py`` knows which connection is for which shard, ``filling.py`` when to open another one, and this
class opens, picks and closes them. A host without shards (Apache Cassandra) has one connection.

States: made, then ``open`` once, then open until ``close``; while it is open, whatever it lacks is being opened, or
waits for the time of the next attempt. Nobody else is needed to end that, so a pool that is not closed always comes
back. Whether its host is up is not its business: the owner of the pools closes those of hosts that went down.
``_taking`` and ``picks`` are replaced, never changed, and may be one behind the other for a moment;
``pick`` reads them without a lock. Everything else is guarded by ``_lock``, a driver lock: callers pick, and have the
I/O thread replace what they find worn. So an interrupted caller leaves nothing half opened or half replaced. Nothing
foreign is called with the lock held.

A connection that gives no sign of life is relieved by another one (``relief.py``); who finds that out, and what follows
for the host, is in ``silence.py``.

A lost connection is opened again, at once and then by the reconnection schedule. A connection that has lost too many
streams to requests that were given up is replaced: new requests go to the new one, the old one closes when what it has
in flight was answered. The pool never sends anything twice.

``keyspace`` is what every connection is to use. One joins only when it does, and one that cannot follow a change is
closed: a request must not run in the keyspace of before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from time import monotonic
from typing import Any

from cassandra._base import commands
from cassandra._base.errors import ConnectionShutdown, NoConnectionsAvailable, annotate
from cassandra._base.face import Attribute, method
from cassandra._base.locks import CALLER, driver_lock, thread_kind
from cassandra._base.logs import get_logger
from cassandra._base.public import public
from cassandra._core.codec import TypeContext
from cassandra._core.routing import PoolFields, murmur3_token
from cassandra._core.transport import ChannelGroup, Limit, Picks, Reactor, Timer
from cassandra._net.connection import Connection
from cassandra._net.exchange import guarded
from cassandra._net.handshake.options import ConnectionOptions
from cassandra._net.limits import RoomSignal
from cassandra._net.opening import Opening
from cassandra._net.pool.filling import Arrival, Filling
from cassandra._net.pool.following import follow
from cassandra._net.pool.relief import Relief
from cassandra._net.pool.sharding import Aim, ShardChoice
from cassandra._net.pool.slots import Joined, SlotChange, Slots
from cassandra._net.pool.state import load_of, state_of
from cassandra._net.repeated import Repeated
from cassandra._net.silence import watch_of

log = get_logger("cassandra.pool")

SILENCE_LIMIT = 20.0
DRAIN_CHECK = 0.25
DRAIN_LIMIT = 300.0  # a retired connection is closed after this, answered or not


@public("cassandra.pool")
class HostPool(PoolFields):
    """Opens, picks and replaces connections. Methods may be called from any thread and never block; callbacks run on
    the I/O thread."""

    def __init__(
        self,
        host: Any,
        host_distance: Any,
        session: Any = None,
        *,
        reactor: Reactor,
        options: Callable[[], ConnectionOptions],
        context: TypeContext | None = None,
        keyspace: str | None = None,
        delays: Callable[[], Iterable[float]] | None = None,
        on_defunct: Callable[[Any, BaseException], object] | None = None,
        max_requests: int | None = None,
        limit: Limit | None = None,
        group: ChannelGroup | None = None,
        on_room: Callable[[Any], object] | None = None,
        shards: ShardChoice | None = None,
        silence_limit: float = SILENCE_LIMIT,
        on_suspect: Callable[[Any], object] | None = None,
    ) -> None:
        """*host* has ``endpoint`` and ``host_id``. *options* is asked before every connection attempt; *delays* gives a
        fresh reconnection schedule; *on_defunct* (host, error) hears of every connection that was lost or could not be
        opened again, and may close the pool. At most *max_requests* are in flight on all connections together, within
        the *limit* that the pool shares with others; *group* has the channels of all of them. *on_room* (host) hears
        that requests that were refused may fare otherwise now: there may be room, or nothing to wait for any more.
        *shards* says how to reach the shards of the host, if it has any. A connection that gives no sign of life for
        *silence_limit* seconds is closed; *on_suspect* (host) hears much sooner that it was one of this pool that made
        the host a suspect."""
        self.host = host
        self.host_distance = host_distance
        self.keyspace = keyspace
        self.is_shutdown = False
        self._reactor = reactor
        self._options = options
        self._context = context
        self._on_defunct = on_defunct
        self._on_room = on_room
        self._room_signal = RoomSignal(self._changed)
        self.limit = limit if max_requests is None else Limit(max_requests, self._room_signal, limit)
        self._shares_limit = max_requests is None
        self._lock = driver_lock("HostPool")
        self._slots = Slots(shard_aware=shards is None or not shards.disable)
        self.silence_limit = silence_limit
        self._on_suspect = on_suspect
        self._relief = Relief(self)
        self._filling = Filling(self, delays, use_port=shards is None or not shards.disable_shardaware_port)
        self._group = group if group is not None else ChannelGroup()
        self._taking: tuple[Connection, ...] = ()  # that take requests
        self.picks = Picks(None, None)
        self._openings: set[Opening] = set()
        self._timers: set[Timer] = set()
        self._turn = 0
        self._failing = False  # there is no connection, and an attempt to get one has failed
        self._last_error: BaseException | None = None
        self._told = Repeated()

    # ---- opening

    @commands.command
    def open(self, on_done: Callable[[BaseException | None], None]) -> None:
        """Connect; *on_done* gets None or the error of the first connection, exactly once, on the I/O thread. After an
        error the pool is closed. The other shards follow."""

        def opened(arrival: Arrival) -> None:
            if arrival.error is not None:
                self.close()
            on_done(arrival.error)
            self._filling.look()

        self._connect(opened)

    def _connect(self, on_done: Callable[[Arrival], None], aim: Aim | None = None) -> None:
        """One attempt. *on_done* is called exactly once, on the I/O thread, when the connection has joined or was
        refused and is being closed, or there is none."""
        slot: list[Opening] = []

        def connected(result: Connection | BaseException) -> None:
            with self._lock:
                self._openings.difference_update(slot)
            if isinstance(result, BaseException):
                self._last_error = result
                on_done(Arrival(error=result))
                return
            if self.limit is not None:
                result.set_limit(self.limit)
            settled(result, None)

        def settled(connection: Connection, error: BaseException | None) -> None:
            change: SlotChange | None = None
            with self._lock:
                keyspace = self.keyspace
                shut = self.is_shutdown
                behind = error is None and not shut and keyspace is not None and connection.keyspace != keyspace
                if error is None and not shut and not behind:
                    change = self._join(connection)
                self._last_error = error or self._last_error
            if behind:  # there was a USE meanwhile
                connection.set_keyspace_async(keyspace, settled)
                return
            joined = None if change is None else change.joined
            if joined in (None, Joined.REFUSED, Joined.CROWDED):
                connection.close()
            if change is not None and joined in (Joined.TAKEN, Joined.RESHARDED):
                self._watch(connection, change.retired)
            for one in () if change is None else change.spare:
                one.close()
            for one in () if change is None else change.retired:
                self._drain(one, monotonic() + DRAIN_LIMIT)
            self._tell_sharding()
            if joined in (Joined.TAKEN, Joined.RESHARDED):
                guarded(self.follow_version, connection)  # which may have changed while it was being opened
            on_done(Arrival(connection, joined, error or (self._closed_error() if shut else None)))
            self._changed()
            if change is not None and connection.is_closed:  # while it was joining
                self._on_closed(connection, connection.last_error)

        if self.is_shutdown:
            self._soon(lambda: on_done(Arrival(error=self._closed_error())))
            return
        try:
            options = self._options().replace(keyspace=self.keyspace, aim=aim)
        except Exception as error:
            failure = error
            self._soon(lambda: on_done(Arrival(error=failure)))
            return
        opening = Connection.open(
            self._reactor,
            self.host.endpoint,
            options,
            connected,
            context=self._context,
            host_id=getattr(self.host, "host_id", None),
            on_closed=self._on_closed,
        )
        slot.append(opening)
        with self._lock:
            closed_meanwhile: bool = self.is_shutdown
            if not opening.is_done:
                self._openings.add(opening)
        if closed_meanwhile:
            opening.cancel()

    def _join(self, connection: Connection) -> SlotChange:
        """Locked."""
        change = self._slots.join(connection)
        if change.joined in (Joined.TAKEN, Joined.RESHARDED):
            self._publish()
            self._failing = False
            self._last_error = None
            self._told.over()
        return change

    def _publish(self) -> None:
        """Locked. ``pick`` sees what changed."""
        slots = self._slots
        before, now = set(self._taking), set(slots.taking)
        for connection in now - before:  # before it can be picked: a USE may hold the channels of the session
            if connection.channel is not None:
                self._group.add(connection.channel)
        self._taking, self.picks = slots.taking, Picks(slots.sole, slots.picker)
        for connection in before - now:
            if connection.channel is not None:
                self._group.discard(connection.channel)

    def _watch(self, connection: Connection, retired: Iterable[Connection]) -> None:
        watch = watch_of(self.host)
        watch.add(connection, self)
        for one in retired:
            watch.remove(one)

    def _tell_sharding(self) -> None:
        sharding = self._slots.sharding
        if sharding is not None and self.host.sharding_info != sharding:
            self.host.sharding_info = sharding

    def _soon(self, action: Callable[[], None]) -> None:
        try:
            self._reactor.call_soon(action)
        except (RuntimeError, ConnectionShutdown):  # it was stopped: this thread may as well
            action()

    def _closed_error(self) -> ConnectionShutdown:
        return ConnectionShutdown(f"Pool for {self.host} is closed", self.host.endpoint)

    def try_now(self) -> None:
        """What the host refused before it may let in now: open what is missing without waiting for its time."""
        self._filling.try_now()

    # ---- requests

    def pick(self, token: int | None = None, shard: int | None = None) -> Connection:
        """A live connection: of *shard*, or else of the shard that owns *token*, or else of any, in turn; another one
        if that one is missing or full. Raises NoConnectionsAvailable, and then nothing was sent; ConnectionBusy comes
        from ``submit``, when all are full."""
        picks = self.picks
        connection: Connection | None = picks.pick(token, shard)
        return self._other_than(picks.at(token, shard)) if connection is None else connection

    def _other_than(self, wanted: Connection | None) -> Connection:
        """*wanted* is worn, full, closed or missing. Whatever is missing is being opened already."""
        if wanted is not None and not wanted.is_closed:
            if wanted.orphaned_threshold_reached and not self._slots.is_worn(wanted):
                self._soon(partial(self._replace, wanted))
            if not wanted.is_full:
                return wanted
        connections = self._taking
        self._turn += 1
        at = self._turn % max(1, len(connections))
        live = [one for one in (*connections[at:], *connections[:at]) if not one.is_closed]
        if live:
            return min(live, key=attrgetter("in_flight"))
        error = NoConnectionsAvailable(
            f"No connection to {self.host} is open "
            f"(pool {'closed' if self.is_shutdown else 'reconnecting'}, in flight: {self.in_flight}, "
            f"last error: {self._last_error!r})"
        )
        annotate(error, host=self.host, in_flight=self.in_flight, maybe_executed=False)
        raise error

    # ---- waiting for room

    def wait_for_room(self) -> bool:
        """Have *on_room* called when what is full may have room for those in line, or what is being opened again is
        open or could not be opened; False: there is room, or nothing to wait for."""
        waits = False
        for connection in self._taking:
            channel = connection.channel
            if channel is None or channel.closed:
                continue
            if not channel.wait_for_room(self._room_signal):
                return False
            waits = True
        return waits or self.is_reopening

    def end_line(self) -> None:
        """Nobody waits for room any more: from now on requests are taken as they come."""
        for connection in self._taking:
            if connection.channel is not None:
                connection.channel.end_line()
        if self.limit is not None and not self._shares_limit:
            self.limit.end_line()

    def replace_worn(self) -> None:
        """Replace connections with requests that were given up, however few: they are what a limit is full of."""
        for connection in self._taking:
            if connection.orphaned and not self._slots.is_worn(connection):
                self._soon(partial(self._replace, connection))

    def follow_version(self, new: Connection | None = None) -> None:
        """Replace the connections that speak another protocol version than new ones shall. With *new* only that one is
        in question, and it stays if its server has just refused that version."""
        version = self._options().protocol_version
        for connection in self._taking if new is None else (new,):
            spoken, highest = connection.protocol_version, connection.highest_version
            refused = new is not None and version is not None and highest is not None and highest < version
            if version not in (None, spoken) and not refused:
                self._soon(partial(self._replace, connection, f"it speaks protocol version {spoken}"))

    def _changed(self) -> None:
        if self._on_room is not None:
            guarded(self._on_room, self.host)

    # ---- losing and replacing

    def _on_closed(self, connection: Connection, error: BaseException | None) -> None:
        watch_of(self.host).remove(connection)
        with self._lock:
            lost = self._slots.lose(connection)
            if lost:
                self._publish()
                self._last_error = error
        if not lost or self.is_shutdown:
            return
        log.info("Connection to %s was lost: %s", self.host, error)
        self._report(error or ConnectionShutdown(f"Connection to {self.host} was closed", connection.endpoint))
        self._filling.look()
        self._changed()

    def _attempt_failed(self, error: BaseException, delay: float) -> None:
        """Told by ``filling.py``."""
        level = self._told.level(logging.INFO, error)
        log.log(level, "%s could not be connected to again (%s); next try in %.1f s", self.host, error, delay)
        with self._lock:
            self._failing = not self._taking
        self._report(error)
        self._changed()

    def _report(self, error: BaseException) -> None:
        if self._on_defunct is not None and not self.is_shutdown:
            guarded(self._on_defunct, self.host, error)

    def on_silent(self, connection: Connection, since: float) -> None:
        """Told by ``silence.py``, as the other two: *connection* gives no sign of life."""
        self._relief.begin(connection)

    def on_heard(self, connection: Connection) -> None:
        self._relief.end(connection)

    def on_suspect(self) -> None:
        if self._on_suspect is not None:
            guarded(self._on_suspect, self.host)

    def _replace(self, worn: Connection, why: str = "") -> None:
        """Open a successor for a connection, which closes when what it has in flight was answered. Without *why*: it
        has too many orphaned streams."""
        with self._lock:
            known = self.is_shutdown or not self._slots.wear(worn)
        if not known:
            why = why or f"{worn.orphaned} of its requests were given up"
            log.info("Replacing a connection to %s: %s", self.host, why)
            self._filling.look()

    def _drain(self, connection: Connection, deadline: float) -> None:
        """Close *connection* once everything that somebody waits for was answered."""
        if connection.waiting <= 0 or monotonic() >= deadline:
            connection.close()
            return
        try:
            self._reactor.call_later(DRAIN_CHECK, lambda: self._drain(connection, deadline))
        except (RuntimeError, ConnectionShutdown):  # the reactor was stopped
            connection.close()

    def _later(self, delay: float, action: Callable[[], None]) -> None:
        """Run *action* after *delay* unless the pool is closed by then."""
        slot: list[Timer] = []

        def run() -> None:
            with self._lock:
                self._timers.difference_update(slot)
            if not self.is_shutdown:
                action()

        try:
            timer = self._reactor.call_later(delay, run)
        except (RuntimeError, ConnectionShutdown) as error:  # the reactor was stopped, which ends the pool too
            log.debug("Pool for %s ends: %s", self.host, error)
            return
        slot.append(timer)
        with self._lock:
            self._timers.add(timer)
            late = self.is_shutdown
        if late:
            timer.cancel()

    # ---- keyspace

    @commands.command
    def set_keyspace(self, keyspace: str, on_done: Callable[[list[BaseException]], None]) -> None:
        """USE *keyspace* on every connection, also on those to come. *on_done* gets the errors, exactly once. A
        connection that cannot use it is closed and opened again by the schedule; one that was lost is no error."""
        with self._lock:
            self.keyspace = keyspace
        follow(self, [], on_done)

    # ---- the end

    def leave_to_parent(self) -> None:
        """In a forked child, where no other thread is: the connections are the parent's. No lock is taken: whoever held
        it is not here."""
        for connection in self._slots.all:
            connection.leave_to_parent()

    def close(self, drain: bool = False) -> None:
        """Close all connections, now or, with *drain*, when what is in flight was answered. Idempotent."""
        if thread_kind() == CALLER:
            commands.run(self.close, drain)
            return
        with self._lock:
            first = not self.is_shutdown
            self.is_shutdown = True
            connections = self._slots.clear()
            self._publish()
            openings, self._openings = self._openings, set()
            timers, self._timers = self._timers, set()
        if not first:
            return
        for timer in timers:
            timer.cancel()
        for opening in openings:
            opening.cancel()
        for connection in connections:
            if drain:
                self._drain(connection, monotonic() + DRAIN_LIMIT)
            else:
                connection.close()
        self._changed()

    shutdown = close

    # ---- state

    open_count: Attribute[int] = Attribute("_slots", Slots)
    shard: Attribute[int | None] = Attribute("_slots", Slots)
    orphaned: Attribute[int] = Attribute("_slots", Slots)
    in_flight: Attribute[int] = Attribute("_slots", Slots)
    waiting: Attribute[int] = Attribute("_slots", Slots)

    def state(self) -> dict[str, Any]:
        """What is open and in flight, for people and metrics."""
        return state_of(self)

    get_state = state

    def load(self) -> str:
        """What is in flight and what the limits are, for error texts."""
        return load_of(self)

    def __repr__(self) -> str:
        return f"<HostConnection {self.host}: {self.open_count} open, {self.in_flight} in flight>"

    @property
    def is_opening(self) -> bool:
        """Whether a connection is being opened right now and may well work: none has failed since the last one was
        open. (Of a host that is gone an attempt is under way half of the time.)"""
        return bool(self._openings) and not self._failing

    @property
    def is_reopening(self) -> bool:
        """Whether it has lost its connections, and no attempt to open another one has failed since. How that ends is
        told by *on_room*."""
        return not (self.is_shutdown or self._failing or any(not one.is_closed for one in self._taking))

    @property
    def may_take(self) -> bool:
        """Whether it has a connection, or may have one when the attempt to open it ends."""
        return not self.is_shutdown and (not self._failing or any(not one.is_closed for one in self._taking))

    def get_connections(self) -> list[Connection]:
        """The connections that take requests."""
        return list(self._taking)

    # ---- for programs, by names that scylla-driver has; nothing in the driver uses these

    shutdown_on_error = False  # a pool outlives its connections; whoever owns it closes it
    supports_tablet_routing: Attribute[bool] = Attribute("_slots", Slots)
    num_missing_or_needing_replacement: Attribute[int] = Attribute("_filling", Filling, "missing")
    advanced_shardaware_block_until: Attribute[float] = Attribute("_filling", Filling, "blocked_until")
    max_excess_connections_per_shard_multiplier: Attribute[int] = Attribute("_slots", Slots, "excess_per_shard")
    disable_advanced_shard_aware = method("_filling", Filling.block)

    def borrow_connection(
        self,
        timeout: float | None = None,
        routing_key: bytes | None = None,
        keyspace: str | None = None,
        table: str | None = None,
        routing_token: Any = None,
    ) -> tuple[Connection, None]:
        """A connection for a request with this routing key or token, and None where scylla-driver has the stream id,
        which is given when a request is sent. It need not be returned. Does not wait; *timeout*, *keyspace* and *table*
        are accepted and not used. Raises NoConnectionsAvailable."""
        token = None if routing_key is None else murmur3_token(routing_key)
        if routing_token is not None:
            token = getattr(routing_token, "value", routing_token)
        return self.pick(token), None

    def return_connection(self, connection: Connection, stream_was_orphaned: bool = False) -> None:
        """Nothing is to be done."""

    def on_orphaned_stream_released(self) -> None:
        """Nothing is to be done."""


HostPool.__name__ = HostPool.__qualname__ = "HostConnection"
