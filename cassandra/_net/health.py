"""Detection of silent connections and of suspect hosts (L3): one :class:`HostWatch` per host, over the pools of all
sessions.

Everything here runs on the I/O thread, started by channels, timers and responses. There is no cost on the request path
while hosts respond. Connections without requests are checked by the heartbeats of their channels
(``Channel::heartbeat_due()``); one that has requests in flight and receives nothing is detected much sooner, here.

A node that was stopped, or whose network was cut, neither closes nor refuses connections: requests to it would time out
one after the other. States of a connection that accepts requests::

    answering   -> asked: a request is in flight, and nothing was received for QUIET
    asked       OPTIONS was sent, once: a node that is slow with a query responds to OPTIONS at once, so a slow node is
                not taken for a silent one
                -> answering: data was received; silent: nothing was received for GRACE while this process was running,
                and the peer has accepted no data of an upload either
    silent      its pool opens a standby connection (``pool.py``), which replaces it: after a network cut, old
                connections retransmit lost packets only after seconds. Requests that may run twice are also sent to
                other hosts
                -> answering: data was received; closed: nothing was received for the pool's ``silence_limit``. The
                pool reports this like any lost connection, so the host is marked down

A host is a *suspect* (``Host.is_suspect``) while one of its connections is silent, unless another one to the same shard
has received data meanwhile: then only the connection is dead, not the host. Query plans use this flag. A hanging shard
of ScyllaDB makes its whole host a suspect: the other shards repeatedly wait for it, and other replicas have the same
rows. If all hosts are suspects, plans are the same as without suspects.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any, Protocol

from cassandra._base.errors import ConnectionException, ConnectionShutdown
from cassandra._base.logs import get_logger
from cassandra._base.randomness import uniform
from cassandra._core.transport import Reactor
from cassandra._wire.messages.requests import OptionsMessage

from .connection import Connection
from .exchange import call_guarded

pool_log = get_logger("cassandra.pool")


# ---- silent connections and suspect hosts

QUIET = 0.1  # seconds
GRACE = 0.2
TIMER_INTERVAL = (0.75, 1.25)  # seconds between checks of silent connections
PROBE_TIMEOUT = 60.0


class Owner(Protocol):
    """The pool of a connection."""

    silence_limit: float
    """Seconds after which a silent connection is closed."""

    def on_silent(self, connection: Connection, since: float) -> None: ...
    def on_heard(self, connection: Connection) -> None: ...
    def on_suspect(self) -> None: ...


class HostWatch:
    """The connections of one host."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._owners: dict[Connection, Owner] = {}
        self._probed_at: dict[Connection, float] = {}  # time of the probe
        self._upload_progress: dict[Connection, int] = {}  # upload progress of probed connections
        self._silent: dict[Connection, float] = {}  # start of the silence
        self._suspect_since: float | None = None
        self._is_timer_running = False
        self.has_warned_of_ports = False  #: True once a pool has logged that the ports of this client are translated.

    def add(self, connection: Connection, owner: Owner) -> None:
        """Watch *connection*, which accepts requests from now on."""
        if connection.channel is None or connection.is_closed:
            return
        self._owners[connection] = owner
        connection.channel.watch_quiet(QUIET, partial(self._on_quiet, connection))
        self._update_host()  # it has just received data

    def remove(self, connection: Connection) -> None:
        """Stop watching *connection*."""
        if self._owners.pop(connection, None) is None:
            return
        self._probed_at.pop(connection, None)
        self._upload_progress.pop(connection, None)
        if self._silent.pop(connection, None) is not None:
            self._update_host()

    # ---- probes of a connection

    def _on_quiet(self, connection: Connection) -> None:
        if connection not in self._owners or connection in self._probed_at or connection in self._silent:
            return
        probed_at = self._probed_at[connection] = monotonic()
        self._has_upload_progress(connection)
        self._send_probe(connection)
        self._check_later(connection, probed_at)

    def _send_probe(self, connection: Connection) -> None:
        connection.request_async(OptionsMessage(), lambda answer: self._update(connection), PROBE_TIMEOUT)

    def _check_later(self, connection: Connection, probed_at: float) -> None:
        check = partial(self._check, connection, probed_at, monotonic() + GRACE)
        _later(connection.reactor, GRACE, check)

    def _check(self, connection: Connection, probed_at: float, due: float) -> None:
        if self._probed_at.get(connection) != probed_at:
            return
        if _has_received_since(connection, probed_at):
            del self._probed_at[connection]
        elif monotonic() - due > GRACE or self._has_upload_progress(connection):
            self._check_later(connection, probed_at)  # this process was suspended, or the probe is behind an upload
        else:
            del self._probed_at[connection]
            self._begin_silence(connection, probed_at)

    def _has_upload_progress(self, connection: Connection) -> bool:
        """True if an upload is in progress and the peer has accepted some of it since the last call."""
        uploaded = 0 if connection.channel is None else connection.channel.uploaded
        before = self._upload_progress.pop(connection, 0)
        if uploaded:
            self._upload_progress[connection] = uploaded
        return uploaded > before

    def _update(self, connection: Connection) -> None:
        """Update the state after data was received or *connection* was closed."""
        probed_at, since = self._probed_at.get(connection), self._silent.get(connection)
        if probed_at is not None and _has_received_since(connection, probed_at):
            del self._probed_at[connection]
        if since is not None and _has_received_since(connection, since):
            self._end_silence(connection, since)
        self._update_host()

    # ---- silence of a connection

    def _begin_silence(self, connection: Connection, since: float) -> None:
        self._silent[connection] = since
        owner = self._owners[connection]
        for other in list(self._owners):
            if other.shard == connection.shard and other not in self._silent and other not in self._probed_at:
                self._send_probe(other)  # distinguishes a silent host from a dead connection
        connection.is_silent = True
        self._update_host()
        call_guarded(owner.on_silent, connection, since)
        _notify_waiting_requests(connection)
        if not self._is_timer_running:
            self._is_timer_running = True
            self._start_timer(connection.reactor)

    def _end_silence(self, connection: Connection, since: float) -> None:
        del self._silent[connection]
        connection.is_silent = False
        if connection.channel is not None:
            connection.channel.responds_again()
        pool_log.info("%s responds again after %.1f s", connection, monotonic() - since)
        call_guarded(self._owners[connection].on_heard, connection)

    def _start_timer(self, reactor: Reactor) -> None:
        _later(reactor, uniform(*TIMER_INTERVAL), partial(self._on_timer, reactor))

    def _on_timer(self, reactor: Reactor) -> None:
        now = monotonic()
        for connection, since in self._silent.copy().items():
            if _has_received_since(connection, since):
                self._end_silence(connection, since)
            elif now - since >= self._owners[connection].silence_limit:
                connection.defunct(_silence_error(connection, now - since))
            else:
                _notify_waiting_requests(connection)  # for requests that were being sent when the silence began
        self._update_host()
        if self._silent:
            self._start_timer(reactor)
        else:
            self._is_timer_running = False

    # ---- the host

    def _update_host(self) -> None:
        silent = [one for one, since in self._silent.items() if not self._is_shard_responsive(one, since)]
        self._host.is_suspect = bool(silent)
        if silent and self._suspect_since is None:
            self._suspect_since = monotonic()
            waiting = sum(connection.waiting for connection in silent)
            pool_log.warning("%s is silent: %d requests are waiting, other hosts are preferred", self._host, waiting)
            call_guarded(self._owners[silent[0]].on_suspect)
        elif not silent and self._suspect_since is not None:
            if self._owners:
                pool_log.info("%s was silent for %.1f s", self._host, monotonic() - self._suspect_since)
            self._suspect_since = None

    def _is_shard_responsive(self, silent: Connection, since: float) -> bool:
        """True if another connection to the same shard has received data since *since*."""
        return any(
            other.shard == silent.shard
            and other not in self._silent
            and not other.is_closed
            and _has_received_since(other, since)
            for other in self._owners
        )


def watch_of(host: Any) -> HostWatch:
    """Return the watch of *host*, made on first use. I/O thread only."""
    watch: HostWatch | None = getattr(host, "_watch", None)
    if watch is None:
        watch = host._watch = HostWatch(host)
    return watch


def leave_to_parent(host: Any) -> None:
    """Reset the watch in a forked child: the connections belong to the parent."""
    host._watch = None
    host.is_suspect = False


def _notify_waiting_requests(connection: Connection) -> None:
    if connection.channel is not None:
        for operation, attempt in connection.channel.waiting():
            call_guarded(operation._on_silent, attempt)


def _has_received_since(connection: Connection, since: float) -> bool:
    """True if *connection* is open and has received data after *since*."""
    return not connection.is_closed and connection.idle_seconds < monotonic() - since


def _silence_error(connection: Connection, seconds: float) -> ConnectionException:
    text = f"{connection.endpoint} was silent for {seconds:.1f} s: no response to requests or to a probe"
    return ConnectionException(text, connection.endpoint)


def _later(reactor: Reactor, delay: float, action: Callable[[], None]) -> None:
    try:
        reactor.call_later(delay, action)
    except (RuntimeError, ConnectionShutdown) as error:  # the reactor was stopped, and with it all connections
        pool_log.debug("Watching of connections ends: %s", error)
