"""What an outcome means for the rows of a write: pure decisions.

L5. Every write carries its own timestamp and is the same whenever it is sent, so that sending it twice changes nothing:
whatever may pass is tried again, whether the server has executed it or not. What is wrong with the row itself is not.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.errors import (
    ConnectionException,
    IsBootstrappingErrorMessage,
    NoHostAvailable,
    OperationTimedOut,
    OverloadedErrorMessage,
    RateLimitReached,
    RateLimitReachedException,
    ServerError,
    TruncateError,
    Unavailable,
    UnavailableErrorMessage,
    WriteFailure,
    WriteFailureMessage,
    WriteTimeout,
    WriteTimeoutErrorMessage,
)

from ..request.attempts import NOT_SENT, connection_error, is_timeout, public_error

if TYPE_CHECKING:
    from cassandra._core.transport import Failure, Way

#: What passes when the cluster has less to do, or its nodes are back.
PASSING = (
    *NOT_SENT,
    ConnectionException,
    IsBootstrappingErrorMessage,
    NoHostAvailable,
    OperationTimedOut,
    OverloadedErrorMessage,
    RateLimitReached,
    RateLimitReachedException,
    Unavailable,
    UnavailableErrorMessage,
    WriteTimeout,
    WriteTimeoutErrorMessage,
)
#: What another replica, or another try, may do better; but it may be the row, too.
ODD = (ServerError, TruncateError, WriteFailure, WriteFailureMessage)

PATIENCE = 60.0  # seconds after which a row that could not be written has failed
ODD_ATTEMPTS = 4
FIRST_DELAY, LONGEST_DELAY = 0.01, 1.0


class Verdict(NamedTuple):
    """The error that an attempt ended with, as applications see it, and whether the row is to be sent again."""

    error: Exception
    again: bool


def of_error(message: Any, attempts: int) -> Verdict:
    """An ERROR of a server, or what a request of its own failed with."""
    again = isinstance(message, PASSING) or (isinstance(message, ODD) and attempts < ODD_ATTEMPTS)
    error = public_error(message)
    return Verdict(error if isinstance(error, Exception) else ConnectionException(str(error)), again)


def of_failure(failure: Failure, way: Way, timeout: float | None) -> Verdict:
    """No answer."""
    if is_timeout(failure):
        connection = way.connection
        told = {str(way.host.endpoint): f"No answer to a row of an ingest within {timeout} s"}
        return Verdict(OperationTimedOut(told, way.host, timeout, connection.in_flight), True)
    return Verdict(connection_error(failure, way.host), True)


def delay_before(attempts: int) -> float:
    """Seconds until a write that was attempted so often is sent again: longer each time, and not all at once."""
    longest = min(LONGEST_DELAY, FIRST_DELAY * (1 << min(attempts, 10)))
    return longest * random.uniform(0.5, 1.0)
