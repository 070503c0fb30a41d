"""Exceptions of connections, pools, the cluster and results (L0)."""

from collections.abc import Mapping
from typing import Any

from cassandra._base.errors_context import RequestError, request_error, tells
from cassandra._base.public import public


@public("cassandra.connection")
@request_error
class ConnectionException(RequestError):
    """An error of one connection; all requests in flight on it have failed."""

    def __init__(self, message: Any, endpoint: Any = None) -> None:
        super().__init__(message)
        self.endpoint = endpoint

    @property
    def host(self) -> Any:
        """Address of the endpoint."""
        return getattr(self.endpoint, "address", self.endpoint)


@public("cassandra.connection")
class ConnectionShutdown(ConnectionException):
    """The connection was closed, by the driver or by the server."""


@public("cassandra.connection")
class ProtocolVersionUnsupported(ConnectionException):
    """The server does not support the requested protocol version."""

    def __init__(self, endpoint: Any, startup_version: int) -> None:
        super().__init__(f"Unsupported protocol version on {endpoint}: {startup_version}", endpoint)
        self.startup_version = startup_version


@public("cassandra.connection")
class CrcMismatchException(ConnectionException):
    """A checksum of a protocol 5 segment is wrong."""


@public("cassandra.segment")
class CrcException(Exception):
    """A checksum is wrong."""


@public("cassandra.connection")
@tells("host", "shard", "in_flight", "attempts", "elapsed")
@request_error
class ConnectionBusy(RequestError):
    """The in-flight limit of the connection, its host or the session is reached; nothing was sent."""


@public("cassandra.connection")
@request_error
class ProtocolError(RequestError):
    """The server violated the protocol. A message that cannot be decoded (a truncated body, an unknown opcode) fails
    its request; broken framing closes the connection."""


@public("cassandra.connection")
@request_error
class ResponseTooLarge(ProtocolError):
    """A response is longer than ``Cluster(max_response_bytes=)``, or there is no memory for it. The driver skips it and
    keeps the connection. ``size`` and ``limit`` are in bytes; ``limit`` is None if memory was the reason."""

    def __init__(self, message: Any, size: int | None = None, limit: int | None = None) -> None:
        super().__init__(message)
        self.size = size
        self.limit = limit


@public("cassandra.pool")
@tells("host", "shard", "in_flight", "attempts", "elapsed")
@request_error
class NoConnectionsAvailable(RequestError):
    """A pool has no usable connection: none is open, or none had capacity in time; nothing was sent."""


@public("cassandra.cluster")
@request_error
class NoHostAvailable(RequestError):
    """No host of the query plan accepted the request, or no contact point could be reached.

    ``errors`` maps each host that was tried to its error; while connecting, the keys are the texts of contact points.
    """

    errors: Mapping[Any, Any] | None = None

    def __init__(self, message: str, errors: Mapping[Any, Any]) -> None:
        super().__init__(message, errors)
        self.errors = errors


@public("cassandra.cluster")
class QueryExhausted(Exception):
    """The next page was requested after the last one."""


@public("cassandra.cluster")
class UserTypeDoesNotExist(Exception):
    """A class was registered for a user type that the keyspace does not have."""


@public("cassandra.query")
class TraceUnavailable(Exception):
    """The trace of a request was not complete in time."""


@public("cassandra.metadata")
class NoMurmur3(Exception):
    """Never raised: murmur3 is always available. Kept for compatibility."""


@public("cassandra.protocol")
class NotSupportedError(Exception):
    """The message or option is not part of the protocol version."""


@public("cassandra.protocol")
class InternalError(Exception):
    """An unexpected state inside the driver."""
