"""The connections of one session to one host (L3; public path ``cassandra.pool.HostConnection``).

:class:`HostPool` opens, selects and closes connections. Its components are ``pool_slots.py``, which maps shards to
connections, ``pool_filling.py``, which schedules the opening of missing ones, and :class:`Standby`, which opens standby
connections for silent ones. A host without shards (Apache Cassandra) has one connection.

*States*: new; ``open`` is called once; then open until ``close``. In an open pool every missing connection is being
opened or waits for the time of its next attempt. This depends on no other component, so a pool that is not closed
always recovers. The pool ignores the up/down state of its host: the owner of the pools closes those of down hosts.

*Threads.* ``_taking`` and ``picks`` are replaced, never changed, and may differ by one version for a moment; ``pick``
and the reports of the state read them without a lock. Everything else is guarded by ``_lock``, a driver lock, except
:class:`Standby`, which only the I/O thread uses. Callers only select connections; they schedule the replacement of a
connection that is marked for replacement on the I/O thread. So an interrupted caller leaves nothing half opened or half
replaced. No foreign code is called with the lock held.

*Missing connections* are opened by :class:`~cassandra._net.pool_filling.Filling`, one per shard: the first one at once,
the others at the pace of the host.

*Silent connections* are detected by ``health.py``, which also marks the host as a suspect. While a connection of the
pool is silent, an attempt for its shard starts about every second, even if the previous one is still running: TCP
retransmits lost packets only after seconds. The first successful one replaces the silent connection, and then the other
shards are tried at once. A node that refuses connections is not silent: its process has ended, and the silent
connections are closed.

*Replacement.* A connection with too many orphaned streams is replaced: new requests go to the new one, and the old one
closes when its requests in flight are completed. The pool never sends a request twice. A connection that is to be
closed in this way rejects requests first (``Channel.drain``): one that selected it before is sent elsewhere, or its
response is waited for.

*Draining.* A node that is about to stop announces that (GRACEFUL_DISCONNECT, CEP-59). The first connection with the
event closes the pool in the same way, and *on_drain* is called.

*Identity.* A connection joins only if its node is the host. A server that announces its host id (ScyllaDB) is checked
in every handshake, at no cost. Another one is asked (``Connection.read_host_id``) when the address may have been given
to another node: while the pool is ``_unverified``, that is after it has lost a connection or found one silent, until
one was verified. An extra request for every connection would be a burst of queries at each start of a large cluster.

*Keyspace.* ``keyspace`` is the keyspace of every connection. A connection joins only after it uses this keyspace, and
one that cannot follow a change is closed: a request must not run in the previous keyspace.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from time import monotonic
from typing import Any
from uuid import UUID

from cassandra._base import threads
from cassandra._base.delegation import Attribute, method
from cassandra._base.errors import ConnectionShutdown, NoConnectionsAvailable, annotate
from cassandra._base.locks import CALLER, driver_lock, thread_kind
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.randomness import uniform
from cassandra._core.codec import TypeContext
from cassandra._core.routing import HostState, PoolFields, murmur3_token, set_sharding
from cassandra._core.transport import ChannelGroup, ConnectionSelector, Limit, Reactor, Timer
from cassandra._wire.messages.responses import EventMessage

from .backoff import REPEAT_INTERVAL, FailureLog, Pace
from .budget import RetryBudget
from .connection import Connection
from .exchange import RoomSignal, call_guarded
from .features import ShardChoice, ShardTarget
from .handshake import NodeDraining, check_host_id
from .health import watch_of
from .opening import Opening
from .options import ConnectionOptions
from .pool_filling import Arrival, Filling
from .pool_slots import JoinResult, SlotChange, Slots

log = get_logger("cassandra.pool")

PAUSE = (0.75, 1.25)  # seconds between the starts of two attempts for a silent connection
TOLD_APART = 4  # maximum number of connections listed in error texts; for more, only a sum is given
SILENCE_LIMIT = 20.0
OVERLOAD_INTERVAL = 1.0  # seconds between two checks for a limit by overload, while requests wait for another reason
DRAIN_CHECK = 0.05
DRAIN_LIMIT = 300.0  # a retired connection is closed after this, even with requests in flight


# ---- standby connections for silent ones


class Standby:
    """Opens standby connections for one pool. I/O thread only."""

    def __init__(self, pool: HostPool) -> None:
        self._pool = pool
        self._silent: list[Connection] = []
        self._is_active = False

    def begin(self, connection: Connection) -> None:
        """Start attempts for *connection*, which is silent."""
        with self._pool._lock:
            self._pool._slots.mark(connection)
        self._pool._unverified = True  # its node may be gone, and the address may have been given to another one
        self._silent.append(connection)
        if not self._is_active:
            self._is_active = True
            self._attempt()

    def end(self, connection: Connection) -> None:
        """Keep *connection*, which receives data again."""
        with self._pool._lock:
            self._pool._slots.unmark(connection)
        if connection in self._silent:
            self._silent.remove(connection)

    def _attempt(self) -> None:
        pool = self._pool
        taking = pool._slots.taking
        self._silent = [one for one in self._silent if one in taking and not one.is_closed]
        if not self._silent or pool.is_shutdown:
            self._is_active = False
            return
        silent = self._silent[0]
        pool._connect(self._on_attempt_done, pool._filling.target_for_shard_of(silent))
        pool._later(uniform(*PAUSE), self._attempt)

    def _on_attempt_done(self, arrival: Arrival) -> None:
        pool, error = self._pool, arrival.error
        if error is None:
            pool._filling.look()  # for the other shards
            return
        if pool.is_shutdown or not self._silent:
            return
        log.debug("%s: could not open a standby connection: %s", pool.host, error)
        with pool._lock:
            pool._failing = True
        if isinstance(error, ConnectionRefusedError):
            for connection in list(self._silent):
                connection.defunct(error)


# ---- the pool


@public("cassandra.pool")
class HostPool(PoolFields):
    """Opens, selects and replaces connections. Methods may be called from any thread and never block; callbacks run on
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
        on_drain: Callable[[Any], object] | None = None,
        unverified: bool = False,
        pace: Pace | None = None,
        connection_rate: Callable[[], float | None] = lambda: None,
        retry_budget: float | None = None,
    ) -> None:
        """*host* has ``endpoint`` and ``host_id``. *options* is called before every connection attempt; *delays*
        returns a new reconnection schedule; *on_defunct* (host, error) is called for every connection that was lost or
        could not be reopened, and may close the pool. At most *max_requests* are in flight on all connections together,
        within *limit*, which the pool shares with others; *group* has the channels of all these pools. *on_room* (host)
        is called when rejected requests may be retried: there may be room, or there is nothing to wait for any more.
        *shards* has the options for the shards of the host. A connection that receives nothing for *silence_limit*
        seconds while silent is closed; *on_suspect* (host) is called much sooner, when a connection of this pool makes
        the host a suspect. *on_drain* (host) is called when the pool has closed because its node announced that it
        stops. *unverified*: the endpoint may lead to another node. All connections but the first one are opened at
        *pace*, which the pool shares with others of the host, and *connection_rate* returns the most in a second.
        *retry_budget*: see :class:`RetryBudget`."""
        self.host = host  #: The host.
        self.host_distance = host_distance  #: Its distance, a :class:`~cassandra.policies.HostDistance`.
        self.keyspace = keyspace  #: The keyspace of its connections.
        self.is_shutdown = False  #: True once the pool is closed.
        self._reactor = reactor
        self._options = options
        self._context = context
        self._on_defunct = on_defunct
        self._on_room = on_room
        self._room_signal = RoomSignal(self._on_load_change)
        #: The limit of requests in flight.
        self.limit = limit if max_requests is None else Limit(max_requests, self._room_signal, limit)
        self._shares_limit = max_requests is None
        self._retry_budget = None if retry_budget is None else RetryBudget(retry_budget)
        self._lock = driver_lock("HostPool")
        self._slots = Slots(shard_aware=shards is None or not shards.disable)
        self.silence_limit = silence_limit  #: Seconds after which a silent connection is closed.
        self._on_suspect = on_suspect
        self._on_drain = on_drain
        self._unverified = unverified  # written on the I/O thread only
        self._standby = Standby(self)
        use_port = shards is None or not shards.disable_shardaware_port
        self._filling = Filling(self, delays, use_port, pace or Pace(), connection_rate)
        self._group = group if group is not None else ChannelGroup()
        self._taking: tuple[Connection, ...] = ()  # connections that accept requests
        self.picks = ConnectionSelector(None, None)  #: Selects connections, for native code.
        self._openings: set[Opening] = set()
        self._timers: set[Timer] = set()
        self._turn = 0
        self._failing = False  # there is no connection, and an attempt to open one has failed
        self._last_error: BaseException | None = None
        self._failure_log = FailureLog()
        self._look_for_overload_at = 0.0  # I/O thread only

    # ---- opening connections

    @threads.command
    def open(self, on_done: Callable[[BaseException | None], None]) -> None:
        """Open the first connection; call *on_done* exactly once with None or its error, on the I/O thread. After an
        error the pool is closed. Connections to the other shards are opened afterwards."""

        def on_opened(arrival: Arrival) -> None:
            if arrival.error is not None:
                self.close()
            on_done(arrival.error)
            self._filling.look()

        self._filling.reserve()
        self._connect(on_opened)

    def _connect(self, on_done: Callable[[Arrival], None], target: ShardTarget | None = None) -> None:
        """Start one attempt. *on_done* is called exactly once, on the I/O thread, when the connection has joined, was
        refused and is being closed, or could not be opened."""
        slot: list[Opening] = []

        def on_connected(result: Connection | BaseException) -> None:
            with self._lock:
                self._openings.difference_update(slot)
            if isinstance(result, BaseException):
                self._last_error = result
                on_done(Arrival(error=result))
            else:
                self._verify(result, on_verified)

        def on_verified(connection: Connection, error: BaseException | None) -> None:
            if error is not None:
                connection.close()
                self._last_error = error
                on_done(Arrival(error=error))
                return
            if self.limit is not None:
                connection.set_limit(self.limit)
            self._count_load(connection)
            on_keyspace_set(connection, None)

        def on_keyspace_set(connection: Connection, error: BaseException | None) -> None:
            change: SlotChange | None = None
            if connection.is_draining:
                error = NodeDraining(f"{self.host} has announced that it stops", connection.endpoint)
            with self._lock:
                keyspace = self.keyspace
                shut = self.is_shutdown
                behind = error is None and not shut and keyspace is not None and connection.keyspace != keyspace
                if error is None and not shut and not behind:
                    change = self._join(connection)
                self._last_error = error or self._last_error
            if behind:  # the keyspace of the pool has changed meanwhile
                connection.set_keyspace_async(keyspace, on_keyspace_set)
                return
            joined = None if change is None else change.joined
            if joined in (None, JoinResult.REFUSED, JoinResult.TOO_MANY_EXCESS):
                connection.close()
            if change is not None and joined in (JoinResult.ACCEPTED, JoinResult.RESHARDED):
                self._watch(connection, change.retired)
            for one in () if change is None else change.surplus:
                one.close()
            for one in () if change is None else change.retired:
                self._drain(one)
            self._report_sharding()
            if joined in (JoinResult.ACCEPTED, JoinResult.RESHARDED):
                call_guarded(self.follow_version, connection)  # the version may have changed during the opening
            on_done(Arrival(connection, joined, error or (self._closed_error() if shut else None)))
            self._on_load_change()
            if change is not None and connection.is_closed:  # closed while joining
                self._on_closed(connection, connection.last_error)

        if self.is_shutdown:
            self._run_soon(lambda: on_done(Arrival(error=self._closed_error())))
            return
        try:
            options = self._options()
            if options.keyspace != self.keyspace:
                options = options.replace(keyspace=self.keyspace)
        except Exception as error:
            failure = error
            self._run_soon(lambda: on_done(Arrival(error=failure)))
            return
        opening = Connection.open(
            self._reactor,
            self.host.endpoint,
            options,
            on_connected,
            target=target,
            context=self._context,
            host_id=getattr(self.host, "host_id", None),
            on_event=self._on_event,
            on_closed=self._on_closed,
        )
        slot.append(opening)
        with self._lock:
            closed_meanwhile: bool = self.is_shutdown
            if not opening.is_done:
                self._openings.add(opening)
        if closed_meanwhile:
            opening.cancel()

    def _verify(self, connection: Connection, on_done: Callable[[Connection, BaseException | None], None]) -> None:
        """Check that the node of *connection* is the host, if that is in doubt; call *on_done* with it and None, or
        UnexpectedHost, or the reason why that is not known. I/O thread."""
        expected, options = connection.host_id, connection.options

        def on_response(found: UUID | BaseException | None) -> None:
            try:
                if isinstance(found, BaseException):
                    raise found
                check_host_id(connection.endpoint, expected, found)
            except Exception as error:
                on_done(connection, error)
            else:
                self._unverified = False
                on_done(connection, None)

        in_doubt = self._unverified and options.verify_host_id and isinstance(expected, UUID)
        if in_doubt and connection.features.host_id is None:  # else the handshake has checked it
            connection.read_host_id(options.open_timeout, on_response)
        else:
            on_done(connection, None)

    def _count_load(self, connection: Connection) -> None:
        """Have the requests of *connection* counted in the load of the host, by shard if it has a slot for each."""
        if connection.channel is not None and isinstance(self.host, HostState):
            sharding = self._slots.sharding_of(connection)
            set_sharding(self.host, sharding)
            connection.channel.set_load(self.host, None if sharding is None else connection.shard)
            if connection.options.follows_overload:
                connection.channel.follow_overload()

    def _join(self, connection: Connection) -> SlotChange:
        """Add *connection* to the slots. The lock is held."""
        change = self._slots.join(connection)
        if change.joined in (JoinResult.ACCEPTED, JoinResult.RESHARDED):
            self._publish()
            self._failing = False
            self._last_error = None
            self._failure_log.reset()
        return change

    def _publish(self) -> None:
        """Publish the connections for ``pick``. The lock is held."""
        slots = self._slots
        before, now = set(self._taking), set(slots.taking)
        for connection in now - before:  # before it can be selected: a USE may hold the channels of the session
            if connection.channel is not None:
                self._group.add(connection.channel)
        self._taking, self.picks = slots.taking, ConnectionSelector(slots.sole, slots.picker)
        for connection in before - now:
            if connection.channel is not None:
                self._group.discard(connection.channel)

    def _watch(self, connection: Connection, retired: Iterable[Connection]) -> None:
        watch = watch_of(self.host)
        watch.add(connection, self)
        for one in retired:
            watch.remove(one)

    def _report_sharding(self) -> None:
        sharding = self._slots.sharding
        if sharding is not None and self.host.sharding_info != sharding:
            self.host.sharding_info = sharding

    def _run_soon(self, action: Callable[[], None]) -> None:
        try:
            self._reactor.call_soon(action)
        except (RuntimeError, ConnectionShutdown):  # the reactor was stopped: run it on this thread
            action()

    def _closed_error(self) -> ConnectionShutdown:
        return ConnectionShutdown(f"Pool for {self.host} is closed", self.host.endpoint)

    def try_now(self) -> None:
        """Open missing connections without their delay, because the host may accept connections now."""
        self._filling.try_now()

    # ---- selection for requests

    def pick(self, token: int | None = None, shard: int | None = None) -> Connection:
        """Return a live connection: to *shard*, else to the shard that owns *token*, else to any in rotation. If that
        one is missing or full, return another. Raises NoConnectionsAvailable; then nothing was sent. If all are full,
        ``submit`` raises ConnectionBusy."""
        picks = self.picks
        connection: Connection | None = picks.pick(token, shard)
        return self._connections_except(picks.at(token, shard)) if connection is None else connection

    def _connections_except(self, shards_wanted: Connection | None) -> Connection:
        """Return a substitute for *wanted*, which is marked for replacement, full, closed or missing. Missing ones are
        being opened."""
        if shards_wanted is not None and not shards_wanted.is_closed:
            if shards_wanted.orphaned_threshold_reached and not self._slots.is_marked(shards_wanted):
                self._run_soon(partial(self._replace, shards_wanted))
            if not shards_wanted.is_full:
                return shards_wanted
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
        """Have *on_room* called when full connections may have room for waiters of the admission queue, or when
        reopening has succeeded or failed. False: there is room, or nothing to wait for."""
        waits = False
        for connection in self._taking:
            channel = connection.channel
            if channel is None or channel.closed:
                continue
            if not channel.wait_for_room(self._room_signal):
                return False
            waits = True
        return waits or self.is_reopening

    def grants_retry(self) -> bool:
        """Return True if a request may be sent again after an error of an overloaded server, and count the retry."""
        if self._retry_budget is None:
            return True
        channels = [connection.channel for connection in self._slots.all]
        return self._retry_budget.take(sum(channel.submitted for channel in channels if channel is not None))

    @property
    def is_limited(self) -> bool:
        """True if a connection limits the requests in flight, as its server is overloaded."""
        return any(connection.is_limited for connection in self._taking)

    def report_overload(self) -> None:
        """Log, once a minute at most, that requests wait because the server is overloaded. I/O thread."""
        now = monotonic()
        if now < self._look_for_overload_at:
            return
        is_limited = self.is_limited
        self._look_for_overload_at = now + (REPEAT_INTERVAL if is_limited else OVERLOAD_INTERVAL)
        if is_limited:
            log.warning("%s is overloaded: fewer requests are sent at a time, and further ones wait", self.host)

    def end_queue(self) -> None:
        """End the admission queue: no request waits any more, and new ones are accepted directly."""
        for connection in self._taking:
            if connection.channel is not None:
                connection.channel.end_queue()
        if self.limit is not None and not self._shares_limit:
            self.limit.end_queue()

    def replace_most_orphaned(self) -> None:
        """Replace connections with any orphaned requests, because these fill a limit."""
        for connection in self._taking:
            if connection.orphaned and not self._slots.is_marked(connection):
                self._run_soon(partial(self._replace, connection))

    def follow_version(self, new: Connection | None = None) -> None:
        """Replace connections whose protocol version differs from that of new ones. With *new*, check only that
        connection; it stays if its server has just rejected the version."""
        version = self._options().protocol_version
        for connection in self._taking if new is None else (new,):
            spoken, highest = connection.protocol_version, connection.highest_version
            refused = new is not None and version is not None and highest is not None and highest < version
            if version not in (None, spoken) and not refused:
                self._run_soon(partial(self._replace, connection, f"it uses protocol version {spoken}"))

    def _on_load_change(self) -> None:
        if self._on_room is not None:
            call_guarded(self._on_room, self.host)

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
        self._unverified = True
        log.info("Connection to %s was lost: %s", self.host, error)
        self._report(error or ConnectionShutdown(f"Connection to {self.host} was closed", connection.endpoint))
        self._filling.look()
        self._on_load_change()

    def _attempt_failed(self, error: BaseException, delay: float) -> None:
        """Log and report a failed attempt. Called by :class:`Filling`."""
        level = self._failure_log.level(logging.INFO, error)
        log.log(level, "Could not reconnect to %s (%s); next attempt in %.1f s", self.host, error, delay)
        with self._lock:
            self._failing = not self._taking
        self._report(error)
        self._on_load_change()

    def _report(self, error: BaseException) -> None:
        if self._on_defunct is not None and not self.is_shutdown:
            call_guarded(self._on_defunct, self.host, error)

    def on_silent(self, connection: Connection, since: float) -> None:
        """Open a standby connection for the silent *connection*."""
        self._standby.begin(connection)

    def on_heard(self, connection: Connection) -> None:
        """Called when a silent connection has received something."""
        self._standby.end(connection)

    def on_suspect(self) -> None:
        """Called when a connection makes the host a suspect."""
        if self._on_suspect is not None:
            call_guarded(self._on_suspect, self.host)

    def _replace(self, marked: Connection, why: str = "") -> None:
        """Open a replacement for a connection, which closes when its requests in flight are completed. *why* is for the
        log; by default, too many orphaned streams."""
        with self._lock:
            known = self.is_shutdown or not self._slots.mark(marked)
        if not known:
            why = why or f"{marked.orphaned} of its requests are orphaned"
            log.info("Replacing a connection to %s: %s", self.host, why)
            self._filling.look()

    def _on_event(self, connection: Connection, event: EventMessage) -> None:
        """Close the pool, with its requests in flight completed, if the node announces that it stops."""
        if connection.is_draining and connection in self._taking:
            self.close(drain=True)
            if self._on_drain is not None:
                call_guarded(self._on_drain, self.host)

    def _drain(self, connection: Connection) -> None:
        """Reject further requests on *connection*, and close it when it is idle."""
        connection.drain()
        self._close_when_idle(connection, monotonic() + DRAIN_LIMIT)

    def _close_when_idle(self, connection: Connection, deadline: float) -> None:
        """Close *connection* when all its requests except orphaned ones are completed, or at *deadline*."""
        if connection.waiting <= 0 or monotonic() >= deadline:
            connection.close()
            return
        try:
            self._reactor.call_later(DRAIN_CHECK, lambda: self._close_when_idle(connection, deadline))
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
        except (RuntimeError, ConnectionShutdown) as error:  # the reactor was stopped, and with it the pool
            log.debug("Pool for %s ends: %s", self.host, error)
            return
        slot.append(timer)
        with self._lock:
            self._timers.add(timer)
            late = self.is_shutdown
        if late:
            timer.cancel()

    # ---- the keyspace

    @threads.command
    def set_keyspace(self, keyspace: str, on_done: Callable[[list[BaseException]], None]) -> None:
        """Send USE *keyspace* on every connection, also on later ones. *on_done* is called exactly once with the
        errors. A connection that cannot use it is closed and reopened by the schedule; a lost one is not an error."""
        with self._lock:
            self.keyspace = keyspace
        self._follow_keyspace([], on_done)

    def _follow_keyspace(self, errors: list[BaseException], on_done: Callable[[list[BaseException]], None]) -> None:
        """Make every connection use the pool's keyspace, also with concurrent calls: when the last of them ends, all
        connections use the keyspace that was set last. On driver threads."""
        keyspace, waiting = self.keyspace, self._taking
        if not waiting:
            call_guarded(on_done, errors)
            return
        left = len(waiting)
        lock = driver_lock("follow")

        def on_keyspace_set(connection: Connection, error: BaseException | None) -> None:
            nonlocal left
            if error is not None:
                connection.defunct(error)
            with lock:
                if error is not None and not isinstance(error, ConnectionShutdown):
                    errors.append(error)
                left -= 1
                last = left == 0
            if last and any(not one.is_closed and one.keyspace != self.keyspace for one in self._taking):
                self._follow_keyspace(errors, on_done)
            elif last:
                call_guarded(on_done, errors)

        for connection in waiting:
            connection.set_keyspace_async(keyspace, on_keyspace_set)

    # ---- the end

    def leave_to_parent(self) -> None:
        """Leave the connections to the parent, in a forked child. No lock is acquired: this is the only thread, and the
        holder of the lock may not exist in this process."""
        for connection in self._slots.all:
            connection.leave_to_parent()

    def close(self, drain: bool = False) -> None:
        """Close all connections, now or, with *drain*, when their requests are completed. Idempotent."""
        if thread_kind() == CALLER:
            threads.run(self.close, drain)
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
                self._drain(connection)
            else:
                connection.close()
        self._on_load_change()

    shutdown = close

    # ---- reports of the state

    open_count: Attribute[int] = Attribute("_slots", Slots)  #: Number of open connections.
    shard: Attribute[int | None] = Attribute("_slots", Slots)  #: Shard of the next connection.
    orphaned: Attribute[int] = Attribute("_slots", Slots)  #: Number of stream ids without a request.
    limited: Attribute[int] = Attribute("_slots", Slots)  #: Number of connections to a server that is overloaded.
    in_flight: Attribute[int] = Attribute("_slots", Slots)  #: Number of requests in flight.
    waiting: Attribute[int] = Attribute("_slots", Slots)  #: Number of requests that wait for a connection.

    def state(self) -> dict[str, Any]:
        """Return connections and requests in flight, for users and metrics. Lists have an entry per connection. For a
        host with shards there are also the shard of each connection and the number of shards. ``orphan_requests`` are
        sets of the right size, not of stream ids."""
        connections, sharding = self._taking, self._slots.sharding
        state = {
            "shutdown": self.is_shutdown,
            "open_count": self.open_count,
            "in_flights": [connection.in_flight for connection in connections],
            "orphan_requests": [set(range(connection.orphaned)) for connection in connections],
            "orphaned_requests": [connection.orphaned for connection in connections],
            "retired_count": len(self._slots.retired),
            "keyspace": self.keyspace,
            "last_error": self._last_error,
        }
        if sharding is not None:
            state["shards_count"] = sharding.shards_count
            state["shards"] = [connection.shard for connection in connections]
        return state

    get_state = state

    def load(self) -> str:
        """Return the requests in flight and the limits as text, for errors."""
        connections = self._taking
        texts = [connection.load() for connection in connections] or ["no connection is open"]
        if len(connections) > TOLD_APART:
            allowed = sum(one.channel.max_requests for one in connections if one.channel is not None)
            busy = sum(connection.in_flight for connection in connections)
            texts = [f"{busy} of {allowed} requests in flight on the connections to {len(connections)} shards"]
            if self.orphaned:
                texts[0] += f", {self.orphaned} of them orphaned (no response yet)"
        retired = tuple(self._slots.retired)
        if retired:
            texts.append(f"{sum(one.in_flight for one in retired)} on connections that are being replaced")
        if self.limit is not None and not self._shares_limit:
            texts.append(f"{self.limit.in_flight} of {self.limit.maximum} to the host")
        return ", ".join(texts)

    def __repr__(self) -> str:
        return f"<HostConnection {self.host}: {self.open_count} open, {self.in_flight} in flight>"

    @property
    def is_opening(self) -> bool:
        """True if a connection is being opened and is likely to work: no attempt has failed since one was open. (For a
        dead host, an attempt is in progress half of the time.)"""
        return bool(self._openings) and not self._failing

    @property
    def is_reopening(self) -> bool:
        """True if there is no open connection and no attempt to open one has failed since. *on_room* is called when
        this ends."""
        return not (self.is_shutdown or self._failing or any(not one.is_closed for one in self._taking))

    @property
    def may_take(self) -> bool:
        """True if there is a connection, or there may be one after the current attempt."""
        return not self.is_shutdown and (not self._failing or any(not one.is_closed for one in self._taking))

    def get_connections(self) -> list[Connection]:
        """Return the connections that accept requests."""
        return list(self._taking)

    # ---- for programs, with scylla-driver's names; not used by the driver

    shutdown_on_error = False  #: True closes the pool when a connection is lost.
    supports_tablet_routing: Attribute[bool] = Attribute("_slots", Slots)  #: True if the node tells clients of tablets.
    #: Number of connections to open.
    num_missing_or_needing_replacement: Attribute[int] = Attribute("_filling", Filling, "missing")
    #: Time until which the shard-aware port is not used.
    advanced_shardaware_block_until: Attribute[float] = Attribute("_filling", Filling, "blocked_until")
    #: Most connections to wrong shards, for each shard.
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
        """Return a connection for a request with this routing key or token, and None in the place of scylla-driver's
        stream id, which is assigned when a request is sent. It need not be returned to the pool. Does not wait;
        *timeout*, *keyspace* and *table* are ignored. Raises NoConnectionsAvailable."""
        token = None if routing_key is None else murmur3_token(routing_key)
        if routing_token is not None:
            token = getattr(routing_token, "value", routing_token)
        return self.pick(token), None

    def return_connection(self, connection: Connection, stream_was_orphaned: bool = False) -> None:
        """Do nothing."""

    def on_orphaned_stream_released(self) -> None:
        """Do nothing."""


HostPool.__name__ = HostPool.__qualname__ = "HostConnection"
