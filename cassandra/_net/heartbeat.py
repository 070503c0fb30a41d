"""Heartbeats: idle connections prove that they live, or are closed (L3). One per cluster.

A timer on the I/O thread asks OPTIONS on every connection that received nothing for an interval. No answer within the
timeout, or an error, makes the connection defunct; its pool and its owner hear of it as of any lost connection. That
requests wait while nothing is received is noticed much sooner: ``silence.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cassandra._base.errors import ConnectionException, OperationTimedOut, ProtocolError
from cassandra._base.logs import get_logger
from cassandra._core.transport import Reactor, Timer
from cassandra._net.connection import Connection
from cassandra._wire.messages.requests import OptionsMessage
from cassandra._wire.messages.results import SupportedMessage

log = get_logger("cassandra.connection")


LOOKS = 8  # per interval: a connection is asked when it has been idle for one, not for two


class Heartbeat:
    """Asks connections that were idle for *interval* seconds, until ``stop``. *connections* is asked on the I/O
    thread: the cluster's connections at that moment; it must not block."""

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
        """Begin; nothing happens when the interval is zero, which means no heartbeats."""
        if self._interval <= 0 or self._stopped:
            return
        try:
            self._timer = self._reactor.call_later(self._interval / LOOKS, self._beat)
        except (RuntimeError, ConnectionException) as error:  # there is nothing left to check
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
        """Ask *connection* now, unless an answer is being waited for."""
        if connection in self._pending:
            return
        self._pending.add(connection)
        connection.request_async(OptionsMessage(), lambda answer: self._answered(connection, answer), self._timeout)

    def _answered(self, connection: Connection, answer: Any) -> None:
        self._pending.discard(connection)
        if isinstance(answer, (SupportedMessage, ProtocolError)) or connection.is_closed:  # it may be unreadable
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
            error = ConnectionException(f"unexpected answer to a heartbeat: {answer!r}", connection.endpoint)
        connection.defunct(error)
