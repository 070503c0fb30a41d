"""What the outcome of a page means for its range: pure decisions.

L5. Reading changes nothing, so whatever may pass is tried again, at the same place of the same range. What is wrong
with the statement is not.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from cassandra._base.errors import (
    ConnectionException,
    InvalidRequest,
    IsBootstrappingErrorMessage,
    NoHostAvailable,
    OperationTimedOut,
    OverloadedErrorMessage,
    ProtocolError,
    ProtocolException,
    RateLimitReached,
    RateLimitReachedException,
    ReadFailure,
    ReadTimeout,
    ResponseTooLarge,
    ServerError,
    TruncateError,
    Unavailable,
)

from ..request.attempts import NOT_SENT, public_error

#: The nodes have too much to do.
CONGESTED = (
    OverloadedErrorMessage,
    OperationTimedOut,
    RateLimitReached,
    RateLimitReachedException,
    ReadTimeout,
)
#: It may have been too much for one request.
TOO_MUCH = (OperationTimedOut, ReadTimeout, ResponseTooLarge)
#: What passes when the cluster has less to do, or its nodes are back.
PASSING = (
    *CONGESTED,
    *NOT_SENT,
    ConnectionException,
    IsBootstrappingErrorMessage,
    NoHostAvailable,
    Unavailable,
)
#: What another replica, or another try, may do better; but it may be the data, too.
ODD = (ProtocolError, ReadFailure, ServerError, TruncateError)

PATIENCE = 60.0  # seconds after which a page that could not be read has failed
ODD_ATTEMPTS = 4
FIRST_DELAY, LONGEST_DELAY = 0.01, 2.0


class Verdict(NamedTuple):
    """The error that an attempt ended with, as applications see it; whether the page is to be asked for again, whether
    the host has too much to do, and whether it may be the paging state that the server does not take."""

    error: Exception
    again: bool
    congested: bool
    refused: bool


def verdict_of(outcome: Any, odd: int = 0) -> Verdict:
    """*outcome*: an ERROR of a server, or an exception; so many of the page, with this one, were odd."""
    found = public_error(outcome)
    error = found if isinstance(found, Exception) else ConnectionException(str(found))
    kinds = (outcome, error)
    congested = any(isinstance(kind, CONGESTED) for kind in kinds)
    again = any(isinstance(kind, PASSING) for kind in kinds) or (is_odd(outcome) and odd < ODD_ATTEMPTS)
    return Verdict(error, again, congested, isinstance(error, (InvalidRequest, ProtocolException)))


def is_odd(outcome: Any) -> bool:
    return isinstance(outcome, ODD) or isinstance(public_error(outcome), ODD)


def delay_before(attempts: int) -> float:
    """Seconds until a page that was attempted so often is asked for again: longer each time, and not all at once."""
    longest = min(LONGEST_DELAY, FIRST_DELAY * (1 << min(attempts, 12)))
    return longest * random.uniform(0.5, 1.0)
