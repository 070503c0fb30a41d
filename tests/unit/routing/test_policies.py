"""Retry, reconnection, conviction, speculative execution and address translation policies."""

from __future__ import annotations

import random
import socket
from itertools import islice
from typing import Any

import pytest

import cassandra.policies
from cassandra import ConsistencyLevel, OperationTimedOut, WriteType
from cassandra._base.errors import ConnectionBusy, ConnectionException, ConnectionShutdown, NoConnectionsAvailable
from cassandra._base.server_errors import (
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    ServerError,
    TruncateError,
)
from cassandra._session.request.retry import Decision, decide
from cassandra.policies import (
    AddressTranslator,
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    ConvictionPolicy,
    DowngradingConsistencyRetryPolicy,
    EC2MultiRegionTranslator,
    ExponentialBackoffRetryPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    IdentityTranslator,
    LWTRetryPolicy,
    NeverRetryPolicy,
    NoSpeculativeExecutionPolicy,
    ReconnectionPolicy,
    RetryPolicy,
    SimpleConvictionPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)
from tests.fakes.routing import Statement, make_host

RETRY, RETHROW, IGNORE, NEXT = 0, 1, 2, 3
QUORUM, ONE, TWO, THREE = (getattr(ConsistencyLevel, name) for name in ("QUORUM", "ONE", "TWO", "THREE"))
PLAIN, IDEMPOTENT = Statement(), Statement(is_idempotent=True)


def connection_lost(sent: bool | None) -> ConnectionException:
    error = ConnectionException("lost")
    error.maybe_executed = sent
    return error


def server_error(kind: Any) -> Any:
    return kind(0, "message", None)


# --------------------------------------------------------------------------------------------- the default retry policy


def test_constants() -> None:
    assert (RetryPolicy.RETRY, RetryPolicy.RETHROW, RetryPolicy.IGNORE, RetryPolicy.RETRY_NEXT_HOST) == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("required", "received", "data", "retries", "expected"),
    [
        (2, 2, False, 0, (RETRY, QUORUM)),
        (2, 3, False, 0, (RETRY, QUORUM)),
        (2, 2, False, 1, (RETHROW, None)),
        (2, 2, True, 0, (RETHROW, None)),
        (2, 1, False, 0, (RETHROW, None)),
        (2, 1, True, 0, (RETHROW, None)),
    ],
)
def test_read_timeout(required: int, received: int, data: bool, retries: int, expected: Any) -> None:
    assert RetryPolicy().on_read_timeout(PLAIN, QUORUM, required, received, data, retries) == expected


@pytest.mark.parametrize("query", [PLAIN, IDEMPOTENT])
@pytest.mark.parametrize("write_type", range(8))
@pytest.mark.parametrize("retries", [0, 1])
def test_write_timeout(query: Statement, write_type: int, retries: int) -> None:
    decision = RetryPolicy().on_write_timeout(query, QUORUM, write_type, 2, 1, retries)
    again = query.is_idempotent and write_type == WriteType.BATCH_LOG and retries == 0
    assert decision == ((RETRY, QUORUM) if again else (RETHROW, None))


def test_unavailable() -> None:
    assert RetryPolicy().on_unavailable(PLAIN, QUORUM, 2, 1, 0) == (NEXT, None)
    assert RetryPolicy().on_unavailable(PLAIN, QUORUM, 2, 1, 1) == (RETHROW, None)


@pytest.mark.parametrize(
    "error",
    [
        *(server_error(kind) for kind in (OverloadedErrorMessage, TruncateError, ServerError)),
        ConnectionShutdown("closed"),
        connection_lost(True),
        connection_lost(None),
    ],
    ids=repr,
)
def test_possibly_executed_requests_are_resent_only_if_idempotent(error: BaseException) -> None:
    for policy in (RetryPolicy(), NeverRetryPolicy()):
        for query in (PLAIN, "SELECT"):
            assert policy.on_request_error(query, QUORUM, error, 0) == (RETHROW, None)
        for query in (IDEMPOTENT, None):  # None: a program asks for the decision about a request that may be resent
            assert policy.on_request_error(query, QUORUM, error, 5) == (NEXT, None)
        assert decide(policy, None, QUORUM, error, 0) in (None, Decision(RETHROW))  # the driver does not ask so


@pytest.mark.parametrize(
    "error",
    [
        server_error(IsBootstrappingErrorMessage),
        connection_lost(False),
        ConnectionBusy("all streams in use"),
        NoConnectionsAvailable("no connection"),
    ],
    ids=repr,
)
def test_requests_not_executed_go_to_the_next_host(error: BaseException) -> None:
    assert RetryPolicy().on_request_error(PLAIN, QUORUM, error, 0) == (NEXT, None)


# --------------------------------------------------------------------------------------------- other retry policies


def ask_all(policy: RetryPolicy, retries: int = 0, query: Any = IDEMPOTENT) -> list[Any]:
    """Every question, in the form that the default policy answers with a retry."""
    return [
        policy.on_read_timeout(query, QUORUM, 2, 2, False, retries),
        policy.on_write_timeout(query, QUORUM, WriteType.BATCH_LOG, 2, 1, retries),
        policy.on_unavailable(query, QUORUM, 2, 1, retries),
        policy.on_request_error(query, QUORUM, server_error(ServerError), retries),
    ]


def test_fallthrough_and_never() -> None:
    assert ask_all(FallthroughRetryPolicy()) == [(RETHROW, None)] * 4
    assert ask_all(NeverRetryPolicy()) == [(RETHROW, None)] * 3 + [(NEXT, None)]


@pytest.mark.parametrize("query", [PLAIN, IDEMPOTENT])
def test_conditional_statements_are_retried_if_they_were_not_applied(query: Any) -> None:
    policy = LWTRetryPolicy()
    for level in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL):
        assert policy.on_unavailable(query, level, 2, 1, 0) == (NEXT, None)
        assert policy.on_unavailable(query, level, 2, 1, 1) == (RETHROW, None)
    assert policy.on_unavailable(query, QUORUM, 2, 1, 0) == (RETHROW, None), "perhaps of the commit"
    assert policy.on_read_timeout(query, QUORUM, 2, 1, True, 0) == (RETRY, None)
    assert policy.on_read_timeout(query, QUORUM, 2, 1, True, 1) == (RETHROW, None)
    for write_type in (*WriteType.value_to_name, "FUTURE"):
        assert policy.on_write_timeout(query, QUORUM, write_type, 2, 1, 0) == (RETHROW, None)
    for error in (server_error(IsBootstrappingErrorMessage), connection_lost(False), ConnectionBusy("full")):
        assert policy.on_request_error(query, QUORUM, error, 0) == (NEXT, None)
        assert policy.on_request_error(query, QUORUM, error, 1) == (RETHROW, None)
    for error in (server_error(OverloadedErrorMessage), server_error(ServerError), connection_lost(True)):
        assert policy.on_request_error(query, QUORUM, error, 0) == (RETHROW, None)
    assert LWTRetryPolicy(3).on_read_timeout(query, QUORUM, 2, 1, True, 2) == (RETRY, None)


def downgrading() -> DowngradingConsistencyRetryPolicy:
    with pytest.warns(DeprecationWarning, match="DowngradingConsistencyRetryPolicy is deprecated"):
        return DowngradingConsistencyRetryPolicy()


def test_downgrading_reads() -> None:
    policy = downgrading()
    assert policy.on_read_timeout(PLAIN, QUORUM, 3, 2, True, 0) == (RETRY, TWO)
    assert policy.on_read_timeout(PLAIN, QUORUM, 3, 0, False, 0) == (RETHROW, None)
    assert policy.on_read_timeout(PLAIN, QUORUM, 3, 3, False, 0) == (RETRY, QUORUM)
    assert policy.on_read_timeout(PLAIN, QUORUM, 3, 3, True, 0) == (RETHROW, None)
    assert policy.on_read_timeout(PLAIN, QUORUM, 3, 2, True, 1) == (RETHROW, None)
    assert policy.on_read_timeout(PLAIN, ConsistencyLevel.SERIAL, 3, 2, True, 0) == (RETHROW, None)


def test_downgrading_writes() -> None:
    policy = downgrading()
    for write_type in (WriteType.SIMPLE, WriteType.BATCH, WriteType.COUNTER):
        assert policy.on_write_timeout(PLAIN, QUORUM, write_type, 2, 1, 0) == (IGNORE, None)
        assert policy.on_write_timeout(PLAIN, QUORUM, write_type, 2, 0, 0) == (RETHROW, None)
    for write_type, again in ((WriteType.UNLOGGED_BATCH, (RETRY, ONE)), (WriteType.BATCH_LOG, (RETRY, QUORUM))):
        assert policy.on_write_timeout(IDEMPOTENT, QUORUM, write_type, 2, 1, 0) == again
        assert policy.on_write_timeout(PLAIN, QUORUM, write_type, 2, 1, 0) == (RETHROW, None)
        assert policy.on_write_timeout(IDEMPOTENT, QUORUM, write_type, 2, 1, 1) == (RETHROW, None)
    assert policy.on_write_timeout(IDEMPOTENT, QUORUM, WriteType.CAS, 2, 1, 0) == (RETHROW, None)


def test_downgrading_unavailable() -> None:
    policy = downgrading()
    levels = [policy.on_unavailable(PLAIN, ConsistencyLevel.ALL, 5, alive, 0) for alive in range(5)]
    assert levels == [(RETHROW, None), (RETRY, ONE), (RETRY, TWO), (RETRY, THREE), (RETRY, THREE)]
    assert policy.on_unavailable(PLAIN, QUORUM, 2, 1, 1) == (RETHROW, None)
    assert policy.on_unavailable(PLAIN, ConsistencyLevel.SERIAL, 2, 1, 0) == (NEXT, None)


def test_exponential_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.5)  # the middle: no jitter
    policy = ExponentialBackoffRetryPolicy(max_num_retries=4, min_interval=1, max_interval=5)
    pauses = [policy.on_unavailable(PLAIN, QUORUM, 2, 1, retries) for retries in range(5)]
    assert pauses == [(NEXT, None, 1), (NEXT, None, 2), (NEXT, None, 4), (NEXT, None, 5), (RETHROW, None, None)]
    assert ask_all(policy) == [(RETRY, QUORUM, 1), (RETRY, QUORUM, 1), (NEXT, None, 1), (NEXT, None, 1)]
    assert ask_all(policy, retries=4) == [(RETHROW, None, None)] * 4
    assert [verdict[0] for verdict in ask_all(policy, query=PLAIN)] == [RETRY, RETHROW, NEXT, RETHROW]
    assert policy.on_read_timeout(PLAIN, QUORUM, 2, 1, False, 0) == (RETHROW, None, None)
    assert policy.on_write_timeout(IDEMPOTENT, QUORUM, WriteType.SIMPLE, 2, 1, 0) == (RETHROW, None, None)
    endless = ExponentialBackoffRetryPolicy(float("inf"), 0.1, 10.0)
    assert endless.on_unavailable(PLAIN, QUORUM, 2, 1, 100_000) == (NEXT, None, 10.0)


def test_backoff_is_jittered_but_never_negative() -> None:
    policy = ExponentialBackoffRetryPolicy(9, 0.5, 4)
    pauses = {policy.on_unavailable(PLAIN, QUORUM, 2, 1, 0)[-1] for _ in range(50)}
    assert len(pauses) > 25
    assert all(0.25 <= (pause or 0) <= 0.75 for pause in pauses)


# --------------------------------------------------------------------------------------------- reconnection


def test_constant_reconnection() -> None:
    assert list(ConstantReconnectionPolicy(2.5, max_attempts=3).new_schedule()) == [2.5] * 3
    assert list(islice(ConstantReconnectionPolicy(2.5).new_schedule(), 1000)) == [2.5] * 1000
    assert list(islice(ConstantReconnectionPolicy(2.5, 0).new_schedule(), 1000)) == [2.5] * 1000


def test_exponential_reconnection() -> None:
    policy = ExponentialReconnectionPolicy(base_delay=2, max_delay=100, max_attempts=12)
    for _ in range(20):
        delays = list(policy.new_schedule())
        assert len(delays) == 12
        for attempt, delay in enumerate(delays):
            plain = min(2 * 2**attempt, 100)
            assert max(2, plain * 0.85) <= delay <= min(plain * 1.15, 100)
    assert len({tuple(policy.new_schedule()) for _ in range(20)}) == 20


def test_exponential_reconnection_never_ends_and_never_overflows() -> None:
    delays = list(islice(ExponentialReconnectionPolicy(0.1, 1e300).new_schedule(), 2000))
    assert len(delays) == 2000
    assert delays[-1] > 1e17
    assert max(islice(ExponentialReconnectionPolicy(1, 600).new_schedule(), 2000)) <= 600


def test_refused_schedules() -> None:
    for make in (
        lambda: ConstantReconnectionPolicy(-1),
        lambda: ConstantReconnectionPolicy(1, -1),
        lambda: ExponentialReconnectionPolicy(-1, 1),
        lambda: ExponentialReconnectionPolicy(1, -1),
        lambda: ExponentialReconnectionPolicy(1, 2, -1),
    ):
        with pytest.raises(ValueError, match="must not be negative"):
            make()
    with pytest.raises(ValueError, match="must not be less than base_delay"):
        ExponentialReconnectionPolicy(9, 2)
    with pytest.raises(NotImplementedError):
        ReconnectionPolicy().new_schedule()


# --------------------------------------------------------------------------------------------- the small ones


def test_conviction() -> None:
    policy = SimpleConvictionPolicy(make_host(1))
    assert policy.add_failure(ConnectionException("refused"))
    assert policy.add_failure(OperationTimedOut())  # of opening a connection, or of a sign of life
    policy.reset()
    base = ConvictionPolicy(policy.host)
    with pytest.raises(NotImplementedError):
        base.add_failure(OSError())
    with pytest.raises(NotImplementedError):
        base.reset()


def test_speculative_execution() -> None:
    plan = ConstantSpeculativeExecutionPolicy(0.5, 2).new_plan("ks", IDEMPOTENT)
    assert [plan.next_execution(None) for _ in range(4)] == [0.5, 0.5, -1, -1]
    never = NoSpeculativeExecutionPolicy().new_plan("ks", IDEMPOTENT)
    assert never.next_execution(None) == -1
    with pytest.raises(NotImplementedError):
        SpeculativeExecutionPolicy().new_plan("ks", IDEMPOTENT)
    with pytest.raises(NotImplementedError):
        SpeculativeExecutionPlan().next_execution(None)


def test_translators(monkeypatch: pytest.MonkeyPatch) -> None:
    assert IdentityTranslator().translate("10.0.0.1") == "10.0.0.1"
    with pytest.raises(NotImplementedError):
        AddressTranslator().translate("10.0.0.1")
    names = {"54.1.2.3": "ec2-54-1-2-3.example.com"}
    private = {"ec2-54-1-2-3.example.com": "172.16.0.9"}

    def getaddrinfo(name: str, *args: Any) -> list[Any]:
        if name not in private:
            raise socket.gaierror("unknown")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (private[name], 0))]

    monkeypatch.setattr(socket, "getfqdn", lambda address: names.get(address, address))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert EC2MultiRegionTranslator().translate("54.1.2.3") == "172.16.0.9"
    assert EC2MultiRegionTranslator().translate("54.9.9.9") == "54.9.9.9"


def test_the_dse_policy_is_the_default_one() -> None:
    with pytest.warns(DeprecationWarning, match="Consider using DefaultLoadBalancingPolicy"):
        policy = cassandra.policies.DSELoadBalancingPolicy(cassandra.policies.RoundRobinPolicy())
    assert isinstance(policy, cassandra.policies.DefaultLoadBalancingPolicy)


def test_public_paths() -> None:
    for name in set(cassandra.policies.__all__) - {"log"}:
        found = getattr(cassandra.policies, name)
        assert found.__module__ in ("cassandra", "cassandra.policies")
