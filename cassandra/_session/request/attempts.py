"""Attempts of a request: the errors that they end with.

L5. Pure functions, for any thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.errors import ConnectionException, annotate
from cassandra._core.transport import TIMED_OUT, Failure

if TYPE_CHECKING:
    from cassandra._routing.host import Host

KEYSPACE_PER_REQUEST = 5  # first protocol version with a keyspace field in requests


def connection_error(failure: Failure, host: Host) -> ConnectionException:
    """Return the exception of an attempt without a response. Its ``maybe_executed`` is False if nothing was sent."""
    cause = failure.cause
    if isinstance(cause, ConnectionException) and not failure.sent:
        return cause
    error = ConnectionException(
        f"Connection to {host.endpoint} was lost {failure.elapsed:.3f} s after the request was "
        f"{'sent' if failure.sent else 'queued'}: {failure.message}",
        host.endpoint,
    )
    error.__cause__ = cause
    annotate(error, maybe_executed=failure.sent)
    return error


#: Settings of messages: name, type, description of the type.
SETTINGS: tuple[tuple[str, type, str], ...] = (
    ("consistency_level", int, "a ConsistencyLevel"),
    ("serial_consistency_level", int, "a ConsistencyLevel"),
    ("fetch_size", int, "an int"),
    ("paging_state", bytes, "bytes"),
    ("timestamp", int, "an int (microseconds since 1970)"),
)


def encoding_error(message: Any, error: Exception) -> Exception:
    """Return *error*, raised by encoding *message*, or a TypeError that names the setting of a wrong type."""
    payload = getattr(message, "custom_payload", None) or {}
    wrong = [
        f"custom_payload[{key!r}] must be bytes, not {value!r}"
        for key, value in payload.items()
        if value is not None and not isinstance(value, (bytes, bytearray, memoryview))
    ]
    for name, kind, wanted in SETTINGS:
        value = getattr(message, name, None)
        if value is not None and not isinstance(value, kind):
            wrong.append(f"{name} must be {wanted}, not {value!r}")
    if not wrong or not isinstance(error, TypeError):
        return error
    named = TypeError("; ".join(wrong))
    named.__cause__ = error
    return named


def is_timeout(failure: Failure) -> bool:
    """Return True if the attempt ended by the client's timeout."""
    return failure.kind == TIMED_OUT
