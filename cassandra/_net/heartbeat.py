"""Heartbeats: check idle connections and close dead ones (L3). One :class:`Heartbeat` per cluster.

A timer on the I/O thread sends OPTIONS on every connection that received nothing for an interval. A timeout or an error
makes the connection defunct; its pool and its owner are notified as for any lost connection. A connection that has
requests in flight and receives nothing is detected much sooner, by ``silence.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cassandra._base.errors import ConnectionException, OperationTimedOut, ProtocolError
from cassandra._base.logs import get_logger
from cassandra._core.transport import Reactor, Timer
from cassandra._net.connection import Connection
from cassandra._wire.messages.requests import OptionsMessage
from cassandra._wire.messages.responses import SupportedMessage

log = get_logger("cassandra.connection")


LOOKS = 8  # checks per interval: a connection is probed after one idle interval, not after two


class Heartbeat:
    """Probes connections that were idle for *interval* seconds, until ``stop``. *connections* returns the cluster's
    current connections; it is called on the I/O thread and must not block."""

    def __init__(
        self,
        reactor: Reactor,
        interval: float,
        timeout: float,
        connections: Callable[[], Iterable[Connection]],
    ) -> None:
        self._reactor = reactor
        self._interval = interval
        self._timeout = timeout
        self._connections = connections
        self._pending: set[Connection] = set()
        self._timer: Timer | None = None
        self._stopped = False

    def start(self) -> None:
        """Start the timer. An interval of zero disables heartbeats."""
        if self._interval <= 0 or self._stopped:
            return
        try:
            self._timer = self._reactor.call_later(self._interval / LOOKS, self._beat)
        except (RuntimeError, ConnectionException) as error:  # the reactor was stopped
            log.debug("Heartbeats end: %s", error)

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _beat(self) -> None:
        if self._stopped:
            return
        try:
            connections = list(self._connections())
        except Exception:
            log.exception("Heartbeat could not list the connections")
            connections = []
        for connection in connections:
            if not connection.is_closed and connection.idle_seconds >= self._interval:
                self.check(connection)
        self.start()

    def check(self, connection: Connection) -> None:
        """Probe *connection* now, unless a probe is in flight."""
        if connection in self._pending:
            return
        self._pending.add(connection)
        connection.request_async(OptionsMessage(), lambda answer: self._answered(connection, answer), self._timeout)

    def _answered(self, connection: Connection, answer: Any) -> None:
        self._pending.discard(connection)
        if isinstance(answer, (SupportedMessage, ProtocolError)) or connection.is_closed:  # a malformed one counts too
            return
        if isinstance(answer, OperationTimedOut):
            error: BaseException = OperationTimedOut(
                {str(connection.endpoint): f"no answer to a heartbeat within {self._timeout} s"},
                connection.endpoint,
                self._timeout,
            )
        elif isinstance(answer, BaseException):
            error = answer
        else:
            error = ConnectionException(f"unexpected response to a heartbeat: {answer!r}", connection.endpoint)
        connection.defunct(error)
