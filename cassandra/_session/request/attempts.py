"""Attempts of a request and what follows an error: pure decisions, named and testable alone.

L5. A request is never executed twice by accident: an attempt that ended without an answer is sent again only when no
byte of it left the client, or when the retry policy says so knowing that it may have been executed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.errors import (
    CASWriteUnknownMessage,
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    ErrorMessage,
    IsBootstrappingErrorMessage,
    NoConnectionsAvailable,
    OverloadedErrorMessage,
    ReadTimeoutErrorMessage,
    ServerError,
    TruncateError,
    UnavailableErrorMessage,
    WriteFailureMessage,
    WriteTimeoutErrorMessage,
    annotate,
)
from cassandra._core.transport import TIMED_OUT, Failure

from ..statements.statements import Statement

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.policies import RetryPolicy

KEYSPACE_PER_REQUEST = 5  # first protocol version with a keyspace field in requests
RETRY, RETHROW, IGNORE, RETRY_NEXT_HOST = 0, 1, 2, 3  # RetryPolicy's constants

#: What submitting raises when nothing was sent.
NOT_SENT = (NoConnectionsAvailable, ConnectionBusy, ConnectionShutdown)

#: Server errors about the coordinator, not the statement: another host may do better.
REQUEST_ERRORS = (OverloadedErrorMessage, IsBootstrappingErrorMessage, TruncateError, ServerError)


#: Errors of attempts that the server may have executed, in whole or in part.
MAYBE_EXECUTED = (
    CASWriteUnknownMessage,
    ConnectionException,
    OverloadedErrorMessage,
    ReadTimeoutErrorMessage,
    ServerError,
    TruncateError,
    WriteFailureMessage,
    WriteTimeoutErrorMessage,
)


UNKNOWN = Statement()  # what a message that a program made itself does, nobody knows


class Decision(NamedTuple):
    """What a retry policy wants: one of its constants, the consistency level of the next try (None keeps it), and the
    seconds to wait before."""

    action: int
    consistency: int | None = None
    delay: float = 0.0


def ask_policy(
    policy: RetryPolicy, statement: Any, consistency: int | None, error: BaseException, retry_num: int
) -> Decision | None:
    """The policy's decision on *error*, or None when the error is of a kind that is never retried."""
    statement = UNKNOWN if statement is None else statement
    if isinstance(error, ReadTimeoutErrorMessage):
        verdict = policy.on_read_timeout(statement, retry_num=retry_num, **error.info)
    elif isinstance(error, WriteTimeoutErrorMessage):
        details = {name: value for name, value in error.info.items() if name != "contentions"}  # not scylla-driver's
        verdict = policy.on_write_timeout(statement, retry_num=retry_num, **details)
    elif isinstance(error, UnavailableErrorMessage):
        verdict = policy.on_unavailable(statement, retry_num=retry_num, **error.info)
    elif isinstance(error, (*REQUEST_ERRORS, ConnectionException)):
        verdict = policy.on_request_error(statement, consistency, error=error, retry_num=retry_num)
    else:
        return None
    action, consistency, *delay = verdict
    return Decision(action, consistency, (delay[0] or 0.0) if delay else 0.0)


def connection_error(failure: Failure, host: Host) -> ConnectionException:
    """The exception an attempt ended with, saying whether the server may have executed the request."""
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


def public_error(error: Any) -> BaseException:
    """What the application gets of an ERROR, or of an exception as it is."""
    exception: BaseException = error.to_exception() if isinstance(error, ErrorMessage) else error
    return exception


#: Settings of messages, what they must be, and in words.
SETTINGS: tuple[tuple[str, type, str], ...] = (
    ("consistency_level", int, "a ConsistencyLevel"),
    ("serial_consistency_level", int, "a ConsistencyLevel"),
    ("fetch_size", int, "an int"),
    ("paging_state", bytes, "bytes"),
    ("timestamp", int, "an int (microseconds since 1970)"),
)


def what_cannot_be_sent(message: Any, error: Exception) -> Exception:
    """*error*, which encoding *message* ended with, as one that names the setting of a wrong type, if it is that."""
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
    """Whether the client gave up on the attempt by its own clock."""
    return failure.kind == TIMED_OUT
