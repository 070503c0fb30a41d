"""Retry decisions: calls of retry policies, repeatable requests, and errors of attempts without a response."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import (
    ConsistencyLevel,
    InvalidRequest,
    OperationTimedOut,
    OperationType,
    RateLimitReached,
    ReadFailure,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    WriteFailure,
    WriteTimeout,
    WriteType,
)
from cassandra._base.errors import ProtocolError, ResponseTooLarge
from cassandra._base.randomness import backoff
from cassandra._core.transport import CLOSED, PROTOCOL, TIMED_OUT, Failure
from cassandra._session.request.retry import (
    FEW_ATTEMPTS,
    FIRST_DELAY,
    LONGEST_DELAY,
    Decision,
    connection_error,
    decide,
    decide_repeatable,
    is_repeated_few_times,
    is_timeout,
    may_be_executed,
)
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionBusy, ConnectionException, ConnectionShutdown, DefaultEndPoint
from cassandra.policies import RetryPolicy, SimpleConvictionPolicy
from cassandra.pool import Host
from cassandra.protocol import (
    ErrorMessage,
    InvalidRequestException,
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    ProtocolException,
    RateLimitReachedException,
    ReadTimeoutErrorMessage,
    ServerError,
    SyntaxException,
    TruncateError,
    UnauthorizedErrorMessage,
    UnavailableErrorMessage,
    WriteTimeoutErrorMessage,
)

HOST = Host(DefaultEndPoint("10.0.0.1"), SimpleConvictionPolicy)
QUORUM = ConsistencyLevel.QUORUM
RESPONSES = {"consistency": QUORUM, "required_responses": 2, "received_responses": 1}


class PageRequest(RetryPolicy):
    """Notes the question and answers with *verdict*."""

    def __init__(self, verdict: Any = (RetryPolicy.RETHROW, None)) -> None:
        self.verdict = verdict
        self.question: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None

    def on_read_timeout(self, *args: Any, **kwargs: Any) -> Any:
        self.question = ("read", args, kwargs)
        return self.verdict

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> Any:
        self.question = ("write", args, kwargs)
        return self.verdict

    def on_unavailable(self, *args: Any, **kwargs: Any) -> Any:
        self.question = ("unavailable", args, kwargs)
        return self.verdict

    def on_request_error(self, *args: Any, **kwargs: Any) -> Any:
        self.question = ("request error", args, kwargs)
        return self.verdict


def test_read_timeout() -> None:
    policy = PageRequest()
    error = ReadTimeoutErrorMessage(0x1200, "slow", {**RESPONSES, "data_retrieved": True})
    decide(policy, "statement", ConsistencyLevel.ONE, error, 3)
    assert policy.question == ("read", ("statement",), {**RESPONSES, "data_retrieved": True, "retry_num": 3})


def test_write_timeout_without_contentions() -> None:
    policy = PageRequest()
    error = WriteTimeoutErrorMessage(0x1100, "slow", {**RESPONSES, "write_type": WriteType.CAS, "contentions": 4})
    decide(policy, "statement", ConsistencyLevel.ONE, error, 0)
    assert policy.question == ("write", ("statement",), {**RESPONSES, "write_type": WriteType.CAS, "retry_num": 0})
    assert error.info["contentions"] == 4


def test_unavailable() -> None:
    policy = PageRequest()
    info = {"consistency": QUORUM, "required_replicas": 2, "alive_replicas": 1}
    decide(policy, "statement", ConsistencyLevel.ONE, UnavailableErrorMessage(0x1000, "few", info), 1)
    assert policy.question == ("unavailable", ("statement",), {**info, "retry_num": 1})


@pytest.mark.parametrize(
    "error",
    [
        ServerError(0, "x", None),
        OverloadedErrorMessage(0x1001, "x", None),
        IsBootstrappingErrorMessage(0x1002, "x", None),
        TruncateError(0x1003, "x", None),
        ConnectionException("lost"),
        ConnectionShutdown("closed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_the_coordinator(error: BaseException) -> None:
    """The consistency is that of the request as it was sent last."""
    policy = PageRequest()
    decide(policy, "statement", ConsistencyLevel.ONE, error, 2)
    assert policy.question == (
        "request error",
        ("statement", ConsistencyLevel.ONE),
        {"error": error, "retry_num": 2},
    )


@pytest.mark.parametrize(
    "error", [SyntaxException(0x2000, "x", None), InvalidRequestException(0x2200, "x", None), ValueError("x")]
)
def test_errors_that_are_not_passed_to_the_policy(error: BaseException) -> None:
    policy = PageRequest()
    assert decide(policy, "statement", QUORUM, error, 0) is None
    assert policy.question is None


@pytest.mark.parametrize(
    ("verdict", "decision"),
    [
        ((RetryPolicy.RETRY, None), Decision(0, None, 0.0)),
        ((RetryPolicy.RETRY, QUORUM), Decision(0, QUORUM, 0.0)),
        ([RetryPolicy.IGNORE, None], Decision(2, None, 0.0)),
        ((RetryPolicy.RETRY_NEXT_HOST, None, None), Decision(3, None, 0.0)),
        ((RetryPolicy.RETRY_NEXT_HOST, None, 1.5), Decision(3, None, 1.5)),
    ],
)
def test_verdicts(verdict: Any, decision: Decision) -> None:
    assert decide(PageRequest(verdict), "s", QUORUM, ServerError(0, "x", None), 0) == decision


class TestConnectionError:
    def test_sent(self) -> None:
        cause = OSError("reset")
        error = connection_error(Failure(CLOSED, "reset by peer", True, 1.25, cause), HOST)
        assert "10.0.0.1:9042" in str(error)
        assert "1.250 s after the request was sent: reset by peer" in str(error)
        assert error.maybe_executed is True
        assert error.__cause__ is cause

    def test_not_sent(self) -> None:
        error = connection_error(Failure(CLOSED, "reset by peer", False, 0.5), HOST)
        assert "was queued" in str(error)
        assert error.maybe_executed is False

    def test_not_sent_because_of_a_connection_error(self) -> None:
        cause = ConnectionShutdown("closed for another reason")
        assert connection_error(Failure(CLOSED, "x", False, 0.0, cause), HOST) is cause

    def test_each_request_has_its_own(self) -> None:
        """Details of one request must not appear in errors of the others of that connection."""
        cause = ConnectionShutdown("closed")
        one, two = (connection_error(Failure(CLOSED, "x", True, 0.0, cause), HOST) for _ in range(2))
        assert one is not two

    def test_timeouts_are_told_apart(self) -> None:
        assert is_timeout(Failure(TIMED_OUT, "late", True, 1.0))
        assert not is_timeout(Failure(CLOSED, "closed", True, 1.0))
        assert not is_timeout(Failure(PROTOCOL, "malformed", True, 1.0))


def test_errors_of_requests_that_may_have_been_executed() -> None:
    assert may_be_executed(WriteTimeoutErrorMessage(0x1100, "x", None))
    assert may_be_executed(ConnectionShutdown("x"))
    for refused in (UnavailableErrorMessage, IsBootstrappingErrorMessage, InvalidRequestException, SyntaxException):
        assert not may_be_executed(refused(0, "x", None))


@pytest.mark.parametrize(
    ("write", "by_coordinator", "expected"),
    [(True, True, False), (True, False, True), (False, True, False), (False, False, False)],
)
def test_rate_limits_of_replicas(write: bool, by_coordinator: bool, expected: bool) -> None:
    """Each replica decides for itself: others may have written."""
    info = {"op_type": OperationType(int(write)), "rejected_by_coordinator": by_coordinator}
    assert may_be_executed(RateLimitReachedException(0x4321, "many", info)) is expected


AGAIN, CONGESTED, FATAL = (True, False), (True, True), (False, False)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (OverloadedErrorMessage(0x1001, "no", None), CONGESTED),
        (IsBootstrappingErrorMessage(0x1002, "no", None), AGAIN),
        (OperationTimedOut(), CONGESTED),
        (RateLimitReached(None, True), CONGESTED),
        (ReadTimeout("no"), CONGESTED),
        (WriteTimeout("no"), CONGESTED),
        (Unavailable("no"), AGAIN),
        (ConnectionException("no"), AGAIN),
        (ConnectionShutdown("no"), AGAIN),
        (ConnectionBusy("no"), AGAIN),
        (NoHostAvailable("no", {}), AGAIN),
        (ServerError(0, "no", None), AGAIN),
        (ReadFailure("no"), AGAIN),
        (ProtocolError("unreadable"), AGAIN),
        (ProtocolException(10, "no", None), FATAL),
        (InvalidRequest("no"), FATAL),
        (InvalidRequestException(0x2200, "no", None), FATAL),
        (Unauthorized("no"), FATAL),
        (UnauthorizedErrorMessage(0x2100, "no", None), FATAL),
        (ValueError("no"), FATAL),
        (ErrorMessage(0x9999, "of another server", None), FATAL),
    ],
    ids=lambda one: type(one).__name__,
)
def test_errors_of_repeatable_requests(outcome: Any, expected: tuple[bool, bool]) -> None:
    decision = decide_repeatable(outcome, 1)
    assert decision[1:] == expected
    assert isinstance(decision.error, Exception)


def test_errors_that_are_repeated_few_times() -> None:
    for error in (ServerError(0, "hm", None), ReadFailure("no"), WriteFailure("no"), ResponseTooLarge("no")):
        found = [decide_repeatable(error, failures).again for failures in range(1, FEW_ATTEMPTS + 1)]
        assert found == [True] * (FEW_ATTEMPTS - 1) + [False]
        assert is_repeated_few_times(error)
    assert decide_repeatable(ReadTimeout("no"), 100).again
    assert not is_repeated_few_times(ReadTimeout("no"))


def test_programs_get_their_own_classes() -> None:
    info = {"consistency": 1, "received_responses": 0, "required_responses": 1, "write_type": 0}
    assert isinstance(decide_repeatable(WriteTimeoutErrorMessage(0x1100, "no", info), 1).error, WriteTimeout)


def test_backoff() -> None:
    delays = [backoff(failures, FIRST_DELAY, LONGEST_DELAY) for failures in range(20)]
    assert all(0 < delay <= LONGEST_DELAY for delay in delays)
    assert delays[0] <= 0.01 and delays[1] < 0.021
    late = [backoff(failures, FIRST_DELAY, LONGEST_DELAY) for failures in (9, 60, 10_000)]
    assert all(LONGEST_DELAY / 2 <= delay <= LONGEST_DELAY for delay in late)
    assert len(set(delays)) > 15
