"""Retry decisions: one table of the meaning of errors of attempts, and the functions that apply it.

L5. Two clients read the table:

* A request (:func:`decide`) asks the retry policy of the program, by the method that the table names.
* A client whose requests may be repeated at any time, an ingest or a scan (:func:`decide_repeatable`), retries by the
  table alone, with delays from ``FIRST_DELAY`` to ``LONGEST_DELAY`` between two attempts.

An attempt without a response is sent again only if no byte of it left the client, or if the policy decides so knowing
that the server may have executed it.

Pure functions, for any thread.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.errors import (
    CASWriteUnknown,
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    OperationType,
    ProtocolError,
    RateLimitReached,
    ReadFailure,
    ReadTimeout,
    Unavailable,
    WriteFailure,
    WriteTimeout,
    annotate,
)
from cassandra._base.server_errors import (
    BadCredentials,
    CASWriteUnknownMessage,
    ErrorMessage,
    FunctionFailureMessage,
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    ProtocolException,
    RateLimitReachedException,
    ReadFailureMessage,
    ReadTimeoutErrorMessage,
    RequestValidationException,
    ServerError,
    TruncateError,
    UnavailableErrorMessage,
    WriteFailureMessage,
    WriteTimeoutErrorMessage,
)
from cassandra._core.transport import TIMED_OUT, Failure
from cassandra._session.statements.statement import Statement

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.policies import RetryPolicy
    from cassandra._session.session import Session

KEYSPACE_PER_REQUEST = 5  # first protocol version with a keyspace field in requests

RETRY, RETHROW, IGNORE, RETRY_NEXT_HOST = 0, 1, 2, 3  # RetryPolicy's constants

#: Raised by submit() when nothing was sent.
NOT_SENT = (NoConnectionsAvailable, ConnectionBusy, ConnectionShutdown)

UNKNOWN_STATEMENT = Statement()  # of a message that a program built itself
FEW_ATTEMPTS = 4  # until a repeatable request fails that Repeat.FEW_TIMES applies to
FIRST_DELAY, LONGEST_DELAY = 0.01, 2.0  # seconds

#: Settings of messages: name, type, description of the type.
SETTINGS: tuple[tuple[str, type, str], ...] = (
    ("consistency_level", int, "a ConsistencyLevel"),
    ("serial_consistency_level", int, "a ConsistencyLevel"),
    ("fetch_size", int, "an int"),
    ("paging_state", bytes, "bytes"),
    ("timestamp", int, "an int (microseconds since 1970)"),
)


# ---- meaning of errors


class Repeat(Enum):
    """Extent of the retries of a repeatable request."""

    NEVER = 0  # the request itself is at fault
    FEW_TIMES = 1  # another replica may succeed, but the data may be at fault
    UNTIL_DEADLINE = 2  # it passes when the cluster has less load or its nodes are back


class Meaning(NamedTuple):
    """A row of the table."""

    may_be_executed: bool  # in whole or in part
    ask: str | None  # the method of the retry policy
    is_congestion: bool  # the host has more load than it can take
    repeat: Repeat


FATAL = Meaning(False, None, False, Repeat.NEVER)

_COORDINATOR = "on_request_error"  # another coordinator may succeed
_NEVER, _FEW, _UNTIL = Repeat.NEVER, Repeat.FEW_TIMES, Repeat.UNTIL_DEADLINE
_TABLE: dict[type[BaseException], Meaning] = {
    # sent or not           may be executed  ask              congestion  repeat
    NoConnectionsAvailable: Meaning(False, None, False, _UNTIL),
    ConnectionBusy: Meaning(False, None, False, _UNTIL),
    NoHostAvailable: Meaning(False, None, False, _UNTIL),
    ConnectionException: Meaning(True, _COORDINATOR, False, _UNTIL),
    OperationTimedOut: Meaning(True, None, True, _UNTIL),
    ProtocolError: Meaning(True, None, False, _FEW),  # the response cannot be read
    # errors of servers in general: nothing is known about an unknown code
    ErrorMessage: Meaning(True, None, False, _NEVER),
    RequestValidationException: FATAL,
    ProtocolException: FATAL,
    BadCredentials: FATAL,
    FunctionFailureMessage: FATAL,  # it is called before anything is written
    # errors of the coordinator
    OverloadedErrorMessage: Meaning(True, _COORDINATOR, True, _UNTIL),
    IsBootstrappingErrorMessage: Meaning(False, _COORDINATOR, False, _UNTIL),
    ServerError: Meaning(True, _COORDINATOR, False, _FEW),
    TruncateError: Meaning(True, _COORDINATOR, False, _FEW),
    # errors of replicas: as sent by the server, and as raised
    RateLimitReachedException: Meaning(False, None, True, _UNTIL),
    RateLimitReached: Meaning(False, None, True, _UNTIL),
    UnavailableErrorMessage: Meaning(False, "on_unavailable", False, _UNTIL),
    Unavailable: Meaning(False, "on_unavailable", False, _UNTIL),
    ReadTimeoutErrorMessage: Meaning(True, "on_read_timeout", True, _UNTIL),
    ReadTimeout: Meaning(True, "on_read_timeout", True, _UNTIL),
    WriteTimeoutErrorMessage: Meaning(True, "on_write_timeout", True, _UNTIL),
    WriteTimeout: Meaning(True, "on_write_timeout", True, _UNTIL),
    ReadFailureMessage: Meaning(False, None, False, _FEW),
    ReadFailure: Meaning(False, None, False, _FEW),
    WriteFailureMessage: Meaning(True, None, False, _FEW),
    WriteFailure: Meaning(True, None, False, _FEW),
    CASWriteUnknownMessage: Meaning(True, None, False, _NEVER),
    CASWriteUnknown: Meaning(True, None, False, _NEVER),
}


def meaning_of(error: BaseException) -> Meaning:
    """Return the row of the nearest base class of *error*; ``FATAL`` if there is none."""
    for base in type(error).__mro__:
        found = _TABLE.get(base)
        if found is not None:
            return found
    return FATAL


def may_be_executed(error: BaseException) -> bool:
    """Return True unless it is known that the server did not execute the request, in whole or in part."""
    if isinstance(error, RateLimitReachedException):  # of replicas, each decides for itself
        info = error.info or {}
        return not info.get("rejected_by_coordinator") and info.get("op_type") is not OperationType.Read
    return meaning_of(error).may_be_executed


# ---- retry decisions


class ReportedLevel(int):
    """Consistency level in the server's error, as it is passed to a retry policy. It may be another one than that of
    the statement: ONE for the batch log, a serial level or QUORUM for the steps of Paxos. A policy that returns this
    object does not ask for it."""

    __slots__ = ()


class Decision(NamedTuple):
    """Decision of a retry policy: one of its constants, the consistency level of the next attempt (None keeps it), and
    the delay before it in seconds."""

    action: int
    consistency: int | None = None
    delay: float = 0.0


def decide(
    policy: RetryPolicy, statement: Any, consistency: int | None, error: BaseException, retry_num: int
) -> Decision | None:
    """Return the decision of *policy* about *error*, or None if errors of its kind are never retried."""
    statement = UNKNOWN_STATEMENT if statement is None else statement
    ask = meaning_of(error).ask
    if ask is None:
        return None
    if ask == _COORDINATOR:
        answer = policy.on_request_error(statement, consistency, error=error, retry_num=retry_num)
    else:
        info = getattr(error, "info", None) or {}
        details = {name: value for name, value in info.items() if name != "contentions"}  # not scylla-driver's
        if details.get("consistency") is not None:
            details["consistency"] = ReportedLevel(details["consistency"])
        answer = getattr(policy, ask)(statement, retry_num=retry_num, **details)
    action, level, *delay = answer
    return Decision(action, None if type(level) is ReportedLevel else level, (delay[0] or 0.0) if delay else 0.0)


class RepeatDecision(NamedTuple):
    """Decision about a repeatable request: the error as programs see it, whether to send the request again, and whether
    its host is congested."""

    error: Exception
    again: bool
    is_congestion: bool


def decide_repeatable(outcome: BaseException, failures: int) -> RepeatDecision:
    """Decide about *outcome*, an ERROR or an exception, of a request that may be repeated and has failed *failures*
    times, with this one, by errors that are repeated few times only."""
    found = public_error(outcome)
    error = found if isinstance(found, Exception) else ConnectionException(str(found))
    meaning = meaning_of(outcome)
    again = meaning.repeat is _UNTIL or (meaning.repeat is _FEW and failures < FEW_ATTEMPTS)
    return RepeatDecision(error, again, meaning.is_congestion)


def is_repeated_few_times(outcome: BaseException) -> bool:
    """Return True if *outcome* counts towards ``FEW_ATTEMPTS``."""
    return meaning_of(outcome).repeat is _FEW


# ---- errors that attempts end with


def public_error(error: Any) -> BaseException:
    """Return the exception that programs get for an ERROR; other exceptions as they are."""
    exception: BaseException = error.to_exception() if isinstance(error, ErrorMessage) else error
    return exception


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


def closed_text(session: Session) -> str:
    """Return the reason why *session* rejects requests, and the remedy."""
    if session.cluster.is_shutdown:
        return "The cluster is shut down, and so are its sessions; make a new Cluster."
    return "The session is shut down; open a new one with Cluster.connect()."


def is_timeout(failure: Failure) -> bool:
    """Return True if the attempt ended by the client's timeout."""
    return failure.kind == TIMED_OUT
