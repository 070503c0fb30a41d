"""Retry policies, which decide after a failed attempt, and policies of speculative execution (L4).

After a server error or a lost connection it is unknown if the statement was executed. No policy here sends such a
statement again unless it is idempotent, or was provably not executed; scylla-driver's default does.

Speculative execution has delays before a request is also sent to another host. It is for idempotent statements only.
"""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel, WriteType
from cassandra._base.errors import ConnectionBusy, NoConnectionsAvailable
from cassandra._base.objects import public
from cassandra._base.server_errors import IsBootstrappingErrorMessage
from cassandra._base.versions import seconds

if TYPE_CHECKING:
    from cassandra._routing.host import Host

# ---- decisions after a failed attempt

#: (one of the RetryPolicy constants, consistency level of the next try or None, optionally seconds to wait before)
RetryDecision = tuple[int, int | None] | tuple[int, int | None, float | None]


def is_idempotent(query: Any) -> bool:
    """True if *query* may be executed twice; the application declares it by ``is_idempotent``. The driver always passes
    a statement; for None, from a test or a wrapping policy, the result is True."""
    return query is None or bool(getattr(query, "is_idempotent", False))


def may_resend(query: Any, error: BaseException) -> bool:
    """True if *query* may be sent again after *error* without the risk of an unintended second execution."""
    if is_idempotent(query) or getattr(error, "maybe_executed", None) is False:
        return True
    # A bootstrapping coordinator rejects a request before executing it; for the other two nothing was sent.
    return isinstance(error, (IsBootstrappingErrorMessage, ConnectionBusy, NoConnectionsAvailable))


@public("cassandra.policies")
class RetryPolicy:
    """Decides after a failed attempt: retry on the same connection, retry on the next host, raise the error, or return
    an empty result. This is the default policy.

    Each method returns ``(decision, consistency level)``. None keeps the level of the statement, and so does
    *consistency* itself: that is the level in the server's error, which is ONE if the batch log timed out. A third item
    is a delay in seconds before the next try; a delay that exceeds the rest of the timeout raises the error at once.
    *retry_num* counts the retries made so far; *query* is the statement.

    A statement that may have been executed is sent again only if it is idempotent (its ``is_idempotent``).
    """

    #: Try again on the same connection.
    RETRY = 0
    #: Raise the error to the application.
    RETHROW = 1
    #: Act as if the request had succeeded, with an empty result.
    IGNORE = 2
    #: Try the next host of the query plan.
    RETRY_NEXT_HOST = 3

    def on_read_timeout(
        self,
        query: Any,
        consistency: int | None,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> RetryDecision:
        """Decide after a read with too few responses in time. Retry once if there were enough responses but not the
        data: the coordinator has then detected the slow replica."""
        if retry_num == 0 and received_responses >= required_responses and not data_retrieved:
            return self.RETRY, consistency
        return self.RETHROW, None

    def on_write_timeout(
        self,
        query: Any,
        consistency: int | None,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> RetryDecision:
        """Decide after a write that too few replicas acknowledged in time. Retry once if it was the batch log (a
        :class:`~cassandra.WriteType`) of an idempotent batch."""
        if retry_num == 0 and write_type == WriteType.BATCH_LOG and is_idempotent(query):
            return self.RETRY, consistency
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Any,
        consistency: int | None,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> RetryDecision:
        """Decide after the coordinator reported too few live replicas; it did not execute the request. Retry once on
        the next host: this one may be partitioned from the others."""
        return (self.RETRY_NEXT_HOST, None) if retry_num == 0 else (self.RETHROW, None)

    def on_request_error(
        self, query: Any, consistency: int | None, error: BaseException, retry_num: int
    ) -> RetryDecision:
        """Decide after a failure of the coordinator or its connection: overloaded, bootstrapping, server error,
        truncate error, lost connection. Retry on the next host if the statement cannot be executed twice
        unintentionally."""
        return (self.RETRY_NEXT_HOST, None) if may_resend(query, error) else (self.RETHROW, None)


@public("cassandra.policies")
class FallthroughRetryPolicy(RetryPolicy):
    """Never retries: every error is raised to the application."""

    def on_read_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        return self.RETHROW, None

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        return self.RETHROW, None

    def on_unavailable(self, *args: Any, **kwargs: Any) -> RetryDecision:
        return self.RETHROW, None

    def on_request_error(self, *args: Any, **kwargs: Any) -> RetryDecision:
        return self.RETHROW, None


@public("cassandra.policies")
class NeverRetryPolicy(RetryPolicy):
    """Does not retry timeouts and unavailability; failures of the coordinator are retried as by the default policy."""

    def on_read_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        return self.RETHROW, None

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        return self.RETHROW, None

    def on_unavailable(self, *args: Any, **kwargs: Any) -> RetryDecision:
        return self.RETHROW, None


@public("cassandra.policies")
class DowngradingConsistencyRetryPolicy(RetryPolicy):
    """Retries once at the consistency level that the live replicas allow. Deprecated.

    A write that any replica acknowledged counts as a success, and a read returns the data of the live replicas: use it
    only if missing or partly replicated data is acceptable.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "DowngradingConsistencyRetryPolicy is deprecated and will be removed in the next major release.",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)

    def on_read_timeout(
        self,
        query: Any,
        consistency: int | None,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> RetryDecision:
        if retry_num != 0 or ConsistencyLevel.is_serial(consistency):
            return self.RETHROW, None
        if received_responses < required_responses:
            return self._downgrade(received_responses)
        return (self.RETRY, consistency) if not data_retrieved else (self.RETHROW, None)

    def on_write_timeout(
        self,
        query: Any,
        consistency: int | None,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> RetryDecision:
        if retry_num != 0:
            return self.RETHROW, None
        if write_type in (WriteType.SIMPLE, WriteType.BATCH, WriteType.COUNTER):
            return (self.IGNORE, None) if received_responses > 0 else (self.RETHROW, None)
        if write_type == WriteType.UNLOGGED_BATCH and is_idempotent(query):
            return self._downgrade(received_responses)
        if write_type == WriteType.BATCH_LOG and is_idempotent(query):
            return self.RETRY, consistency
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Any,
        consistency: int | None,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> RetryDecision:
        if retry_num != 0:
            return self.RETHROW, None
        if ConsistencyLevel.is_serial(consistency):
            return self.RETRY_NEXT_HOST, None
        return self._downgrade(alive_replicas)

    def _downgrade(self, replicas: int) -> RetryDecision:
        """Retry at the highest level that *replicas* allow."""
        for count, level in (
            (3, ConsistencyLevel.THREE),
            (2, ConsistencyLevel.TWO),
            (1, ConsistencyLevel.ONE),
        ):
            if replicas >= count:
                return self.RETRY, level
        return self.RETHROW, None


@public("cassandra.policies")
class ExponentialBackoffRetryPolicy(RetryPolicy):
    """Retries in the cases of the default policy, several times with growing, jittered delays.

    :param max_num_retries: maximum number of retries of one request.
    :param min_interval: delay before the first retry, in seconds; it doubles for each further one.
    :param max_interval: maximum delay.
    """

    def __init__(
        self, max_num_retries: float, min_interval: float = 0.1, max_interval: float = 10.0, *args: Any, **kwargs: Any
    ) -> None:
        self.max_num_retries = max_num_retries  #: Most retries of a request.
        #: Seconds before the first retry.
        self.min_interval = seconds("min_interval", min_interval, optional=False, negative=True)
        #: Most seconds before a retry.
        self.max_interval = seconds("max_interval", max_interval, optional=False, negative=True)
        super().__init__(*args, **kwargs)

    def on_read_timeout(
        self,
        query: Any,
        consistency: int | None,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> RetryDecision:
        worth = received_responses >= required_responses and not data_retrieved
        return self._retry(worth, self.RETRY, consistency, retry_num)

    def on_write_timeout(
        self,
        query: Any,
        consistency: int | None,
        write_type: int,
        required_responses: int,
        received_responses: int,
        retry_num: int,
    ) -> RetryDecision:
        worth = write_type == WriteType.BATCH_LOG and is_idempotent(query)
        return self._retry(worth, self.RETRY, consistency, retry_num)

    def on_unavailable(
        self,
        query: Any,
        consistency: int | None,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> RetryDecision:
        return self._retry(True, self.RETRY_NEXT_HOST, None, retry_num)

    def on_request_error(
        self, query: Any, consistency: int | None, error: BaseException, retry_num: int
    ) -> RetryDecision:
        return self._retry(may_resend(query, error), self.RETRY_NEXT_HOST, None, retry_num)

    def _retry(self, worth: bool, decision: int, consistency: int | None, retry_num: int) -> RetryDecision:
        if not worth or retry_num >= self.max_num_retries:
            return self.RETHROW, None, None
        # 2 ** 64 exceeds any maximum; larger powers would overflow a float.
        pause = min(self.max_interval, self.min_interval * 2 ** min(retry_num, 64))
        return decision, consistency, max(0.0, pause + self.min_interval * (random.random() - 0.5))


# ---- speculative execution


@public("cassandra.policies")
class SpeculativeExecutionPlan:
    """Schedule of the extra executions of one request."""

    def next_execution(self, host: Host | None) -> float:
        """Return the seconds from the last execution (on *host*) to the next one; negative: no more executions."""
        raise NotImplementedError


@public("cassandra.policies")
class SpeculativeExecutionPolicy:
    """Makes a plan per request."""

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        """Return the plan of one request; called for idempotent statements only."""
        raise NotImplementedError


@public("cassandra.policies")
class NoSpeculativeExecutionPlan(SpeculativeExecutionPlan):
    """A plan without extra executions."""

    def next_execution(self, host: Host | None) -> float:
        return -1


@public("cassandra.policies")
class NoSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Starts no extra executions; the default."""

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        return NoSpeculativeExecutionPlan()


@public("cassandra.policies")
class ConstantSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Starts another execution every *delay* seconds while there is no response, at most *max_attempts* of them.

    Choose a delay above the usual latency (its 99th percentile, say): every execution is load on the cluster.
    """

    class ConstantSpeculativeExecutionPlan(SpeculativeExecutionPlan):
        def __init__(self, delay: float, max_attempts: int) -> None:
            self.delay = delay
            self.remaining = max_attempts

        def next_execution(self, host: Host | None) -> float:
            if self.remaining <= 0:
                return -1
            self.remaining -= 1
            return self.delay

    def __init__(self, delay: float, max_attempts: int) -> None:
        self.delay = seconds("delay", delay, optional=False, negative=True)  #: Seconds between attempts.
        self.max_attempts = max_attempts  #: Most further attempts.

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        return self.ConstantSpeculativeExecutionPlan(self.delay, self.max_attempts)


public("cassandra.policies")(ConstantSpeculativeExecutionPolicy.ConstantSpeculativeExecutionPlan)
