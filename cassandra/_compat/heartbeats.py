"""scylla-driver's heartbeats, over connections of a program (L6).

The driver's own heartbeats are in ``_net/health.py`` and do not use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

from cassandra._base.errors import ConnectionException, OperationTimedOut
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.process import Event
from cassandra._base.real import threading
from cassandra._net.connection import Connection
from cassandra._wire.messages.requests import OptionsMessage
from cassandra._wire.messages.responses import SupportedMessage

from .connection import LONGEST_WAIT

log = get_logger("cassandra.connection")


def _counts_itself(connection: Any) -> bool:
    """True for the driver's connections; for others this module counts the requests in flight."""
    return issubclass(type(connection), Connection)


@public("cassandra.connection")
class HeartbeatFuture:
    """One OPTIONS request on an idle connection."""

    def __init__(self, connection: Any, owner: Any) -> None:
        self.connection = connection
        self.owner = owner
        self._exception: BaseException | None = None
        self._event = Event()
        with connection.lock:
            room = _counts_itself(connection) or connection.in_flight < connection.max_request_id
            if room:
                if not _counts_itself(connection):
                    connection.in_flight += 1
                connection.send_msg(OptionsMessage(), connection.get_request_id(), self._options_callback)
        if not room:
            self._exception = Exception("The heartbeat is not sent: the connection is at its in-flight limit")
            self._event.set()

    def wait(self, timeout: float, original_timeout: float | None = None) -> None:
        """Wait for the response. Raise OperationTimedOut after *timeout* seconds, or the error of the request."""
        self._event.wait(timeout)
        if not self._event.is_set():
            seconds = original_timeout or timeout
            peer = self.connection.endpoint
            raise OperationTimedOut({peer: f"Connection heartbeat timeout after {seconds} seconds"}, peer)
        if self._exception is not None:
            raise self._exception

    def _options_callback(self, response: Any) -> None:
        if isinstance(response, BaseException):
            self._exception = response
        elif not isinstance(response, SupportedMessage):
            text = f"Received unexpected response to OptionsMessage: {response}"
            self._exception = ConnectionException(text, self.connection.endpoint)
        self._event.set()


@public("cassandra.connection")
class ConnectionHeartbeat(threading.Thread):
    """A thread that sends heartbeats every *interval_sec* seconds on the idle connections of the objects that
    *get_connection_holders* returns, and closes connections that do not respond within *timeout* seconds."""

    class ShutdownException(Exception):
        """The thread was stopped."""

    def __init__(
        self, interval_sec: float, get_connection_holders: Callable[[], Iterable[Any]], timeout: float
    ) -> None:
        super().__init__(name="Connection heartbeat", daemon=True)
        self._interval = interval_sec
        self._timeout = timeout
        self._get_connection_holders = get_connection_holders
        self._shutdown_event = Event()
        self.start()

    def run(self) -> None:
        """Send heartbeats until the thread is stopped."""
        while not self._shutdown_event.wait(self._interval):
            try:
                self._beat()
            except self.ShutdownException:
                return
            except Exception:
                log.error("Failed connection heartbeat", exc_info=True)

    def stop(self) -> None:
        """Stop the thread and wait for its end."""
        self._shutdown_event.set()
        self.join(LONGEST_WAIT)

    def _raise_if_stopped(self) -> None:
        if self._shutdown_event.is_set():
            raise self.ShutdownException

    def _beat(self) -> None:
        asked: list[HeartbeatFuture] = []
        failed: list[tuple[Any, Any, BaseException]] = []
        for owner in self._get_connection_holders():
            for connection in owner.get_connections():
                self._raise_if_stopped()
                if connection.is_defunct or connection.is_closed:
                    owner.return_connection(connection)
                elif not connection.is_idle:
                    connection.reset_idle()
                else:
                    try:
                        asked.append(HeartbeatFuture(connection, owner))
                    except Exception as error:
                        failed.append((connection, owner, error))
        deadline = monotonic() + self._timeout
        for future in asked:
            self._raise_if_stopped()
            try:
                future.wait(max(0.0, deadline - monotonic()), self._timeout)
            except Exception as error:
                failed.append((future.connection, future.owner, error))
            else:
                if not _counts_itself(future.connection):
                    with future.connection.lock:
                        future.connection.in_flight -= 1
                future.connection.reset_idle()
        for connection, owner, reason in failed:
            self._raise_if_stopped()
            log.warning("Heartbeat failed for connection (%s) to %s: %s", id(connection), connection.endpoint, reason)
            connection.defunct(reason)
            owner.return_connection(connection)
