"""The connections of one session to one host (L3; public path ``cassandra.pool.HostConnection``).

One connection per host for now; ``_connections`` is indexed by shard, and ``pick`` is where shards will be chosen.

States: made, then ``open`` once, then open until ``close``. ``_connections`` is a tuple that is replaced, never
changed; ``pick`` reads it without a lock. Everything else is guarded by ``_lock``, and nothing foreign is called with
it held.

A lost connection is opened again, at once and then by the reconnection schedule, for as long as the host is up and the
pool open. A connection that has lost too many streams to requests that were given up is replaced: new requests go to
the new one, the old one closes when what it has in flight was answered. The pool never sends anything twice.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import Any

from cassandra._base.errors import ConnectionShutdown, NoConnectionsAvailable
from cassandra._base.public import public
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Reactor, Timer
from cassandra._net.connection import Connection
from cassandra._net.exchange import guarded
from cassandra._net.opening import Opening
from cassandra._net.options import ConnectionOptions

log = logging.getLogger("cassandra.pool")

DRAIN_CHECK = 0.25
DRAIN_LIMIT = 300.0  # a retired connection is closed after this, answered or not
FALLBACK_DELAY = 1.0


@public("cassandra.pool")
class HostPool:
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
    ) -> None:
        """*host* has ``endpoint``, ``host_id`` and ``is_up``. *options* is asked before every connection attempt;
        *delays* gives a fresh reconnection schedule; *on_defunct* (host, error) hears of every connection that was lost
        or could not be opened again, and may close the pool."""
        self.host = host
        self.host_distance = host_distance
        self.keyspace = keyspace
        self.is_shutdown = False
        self._reactor = reactor
        self._options = options
        self._context = context
        self._delays = delays
        self._on_defunct = on_defunct
        self._lock = threading.Lock()
        self._connections: tuple[Connection, ...] = ()
        self._retired: set[Connection] = set()
        self._openings: set[Opening] = set()
        self._timers: set[Timer] = set()
        self._replacing = False
        self._schedule: Iterator[float] | None = None
        self._last_delay = FALLBACK_DELAY
        self._last_error: BaseException | None = None

    # ---- opening

    def open(self, on_done: Callable[[BaseException | None], None]) -> None:
        """Connect; *on_done* gets None or the error, exactly once. After an error the pool is closed."""

        def opened(error: BaseException | None) -> None:
            if error is not None:
                self.close()
            on_done(error)

        self._connect(lambda connection: self._add(connection, opened), opened)

    def _connect(self, on_connection: Callable[[Connection], None], on_error: Callable[[BaseException], None]) -> None:
        """One attempt; exactly one of the two is called."""
        slot: list[Opening] = []

        def on_done(result: Connection | BaseException) -> None:
            with self._lock:
                self._openings.difference_update(slot)
            if isinstance(result, BaseException):
                self._last_error = result
                on_error(result)
            elif result.keyspace != self.keyspace and self.keyspace is not None:
                result.set_keyspace_async(self.keyspace, keyspace_set)
            else:
                on_connection(result)

        def keyspace_set(connection: Connection, error: BaseException | None) -> None:
            if error is None:
                on_connection(connection)
            else:
                connection.close()
                on_error(error)

        if self.is_shutdown:
            on_error(self._closed_error())
            return
        try:
            options = dataclasses.replace(self._options(), keyspace=self.keyspace)
        except Exception as error:
            on_error(error)
            return
        opening = Connection.open(
            self._reactor,
            self.host.endpoint,
            options,
            on_done,
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

    def _add(self, connection: Connection, on_done: Callable[[BaseException | None], None]) -> None:
        with self._lock:
            wanted = not self.is_shutdown
            if wanted:
                self._connections = (*self._connections, connection)
                self._schedule = None
                self._last_error = None
        if not wanted:
            connection.close()
        elif connection.is_closed:  # while it was being added
            self._on_closed(connection, connection.last_error)
        on_done(None if wanted else self._closed_error())

    def _closed_error(self) -> ConnectionShutdown:
        return ConnectionShutdown(f"Pool for {self.host} is closed", self.host.endpoint)

    # ---- requests

    def pick(self, token: int | None = None) -> Connection:
        """A live connection, later the one of the shard that owns *token*. Raises NoConnectionsAvailable, and then
        nothing was sent; ConnectionBusy comes from ``submit``."""
        for connection in self._connections:
            channel = connection.channel
            if channel is not None and not channel.closed:
                if channel.orphaned >= connection.orphaned_threshold:
                    self._replace(connection)
                return connection
        raise NoConnectionsAvailable(
            f"No connection to {self.host} is open "
            f"(pool {'closed' if self.is_shutdown else 'reconnecting'}, in flight: {self.in_flight}, "
            f"last error: {self._last_error!r})"
        )

    # ---- losing and replacing

    def _on_closed(self, connection: Connection, error: BaseException | None) -> None:
        with self._lock:
            self._retired.discard(connection)
            lost = connection in self._connections
            if lost:
                self._connections = tuple(c for c in self._connections if c is not connection)
                self._last_error = error
        if not lost or self.is_shutdown:
            return
        log.info("Connection to %s was lost: %s", self.host, error)
        self._report(error or ConnectionShutdown(f"Connection to {self.host} was closed", connection.endpoint))
        self._reopen()

    def _report(self, error: BaseException) -> None:
        if self._on_defunct is not None and not self.is_shutdown:
            guarded(self._on_defunct, self.host, error)

    def _reopen(self) -> None:
        """Fill the place of a lost connection, unless the host went down: then its return makes a new pool."""
        if self.is_shutdown or self._connections or getattr(self.host, "is_up", None) is False:
            return
        self._connect(lambda connection: self._add(connection, lambda error: None), self._reopen_failed)

    def _reopen_failed(self, error: BaseException) -> None:
        if self.is_shutdown:
            return
        delay = self._next_delay()
        log.info("%s could not be connected to again (%s); next try in %.1f s", self.host, error, delay)
        self._report(error)
        self._later(delay, self._reopen)

    def _next_delay(self) -> float:
        """The schedule's next delay. An exhausted schedule repeats its last one: the pool does not give up on a host
        that is up."""
        with self._lock:
            if self._schedule is None:
                self._schedule = iter(self._delays() if self._delays is not None else ())
            self._last_delay = next(self._schedule, self._last_delay)
            return self._last_delay

    def _replace(self, worn: Connection) -> None:
        """Open a successor for a connection with too many orphaned streams."""
        with self._lock:
            if self._replacing or self.is_shutdown or worn not in self._connections:
                return
            self._replacing = True
        log.info("Replacing a connection to %s: %d of its requests were given up", self.host, worn.orphaned)
        self._connect(lambda fresh: self._replaced(worn, fresh), lambda error: self._replace_failed())

    def _replaced(self, worn: Connection, fresh: Connection) -> None:
        with self._lock:
            self._replacing = False
            wanted = not self.is_shutdown
            if wanted:
                rest = tuple(c for c in self._connections if c is not worn)
                self._connections = (*rest, fresh)
                self._retired.add(worn)
        if not wanted:
            fresh.close()
        self._drain(worn, monotonic() + DRAIN_LIMIT)

    def _replace_failed(self) -> None:
        def again() -> None:
            with self._lock:
                self._replacing = False

        self._later(self._next_delay(), again)

    def _drain(self, connection: Connection, deadline: float) -> None:
        """Close *connection* once everything that somebody waits for was answered."""
        if connection.waiting <= 0 or monotonic() >= deadline:
            connection.close()
        else:
            self._reactor.call_later(DRAIN_CHECK, lambda: self._drain(connection, deadline))

    def _later(self, delay: float, action: Callable[[], None]) -> None:
        """Run *action* after *delay* unless the pool is closed by then."""
        slot: list[Timer] = []

        def run() -> None:
            with self._lock:
                self._timers.difference_update(slot)
            if not self.is_shutdown:
                action()

        timer = self._reactor.call_later(delay, run)
        slot.append(timer)
        with self._lock:
            self._timers.add(timer)
            late = self.is_shutdown
        if late:
            timer.cancel()

    # ---- keyspace

    def set_keyspace(self, keyspace: str, on_done: Callable[[list[BaseException]], None]) -> None:
        """USE *keyspace* on every connection; those to come use it too, if there was no error. *on_done* gets the
        errors, exactly once."""
        waiting = [connection for connection in self._connections if connection.keyspace != keyspace]
        if not waiting:
            self.keyspace = keyspace
            guarded(on_done, [])
            return
        errors: list[BaseException] = []
        left = len(waiting)
        lock = threading.Lock()

        def used(connection: Connection, error: BaseException | None) -> None:
            nonlocal left
            with lock:
                left -= 1
                if error is not None and not connection.is_closed:
                    errors.append(error)  # a lost connection is replaced by one that uses the pool's keyspace
                last = left == 0
            if last and errors:
                on_done(errors)
            elif last:
                self.set_keyspace(keyspace, on_done)  # connections that joined meanwhile

        for connection in waiting:
            connection.set_keyspace_async(keyspace, used)

    # ---- the end

    def close(self, drain: bool = False) -> None:
        """Close all connections, now or, with *drain*, when what is in flight was answered. Idempotent."""
        with self._lock:
            first = not self.is_shutdown
            self.is_shutdown = True
            connections = (*self._connections, *self._retired)
            self._connections = ()
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

    shutdown = close

    # ---- state

    @property
    def open_count(self) -> int:
        return sum(not connection.is_closed for connection in self._connections)

    @property
    def is_opening(self) -> bool:
        """Whether a connection is being opened right now (not: waiting for its time)."""
        return bool(self._openings)

    @property
    def in_flight(self) -> int:
        return sum(connection.in_flight for connection in (*self._connections, *self._retired))

    def get_connections(self) -> list[Connection]:
        """The connections that take requests."""
        return list(self._connections)

    def state(self) -> dict[str, Any]:
        """What is open and in flight, for people and metrics."""
        connections = self._connections
        return {
            "shutdown": self.is_shutdown,
            "open_count": self.open_count,
            "in_flights": [connection.in_flight for connection in connections],
            "orphaned_requests": [connection.orphaned for connection in connections],
            "retired_count": len(self._retired),
            "keyspace": self.keyspace,
            "last_error": self._last_error,
        }

    get_state = state

    def __repr__(self) -> str:
        return f"<HostConnection {self.host}: {self.open_count} open, {self.in_flight} in flight>"


HostPool.__name__ = HostPool.__qualname__ = "HostConnection"
