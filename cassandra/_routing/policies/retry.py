"""Retry policies, which decide after a failed attempt, and policies of speculative execution (L4).

After a server error or a lost connection it is unknown if the statement was executed. No policy here sends such a
statement again unless it is idempotent, or was provably not executed; scylla-driver's default does.

Speculative execution has delays before a request is also sent to another host. It is for idempotent statements only.
"""

from __future__ import annotations

import random
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel, WriteType
from cassandra._base.errors import ConnectionBusy, NoConnectionsAvailable
from cassandra._base.objects import public
from cassandra._base.process import in_child
from cassandra._base.server_errors import IsBootstrappingErrorMessage
from cassandra._base.versions import seconds
from cassandra._core.transport import SpeculationQueue, SpeculationTracker

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
    return is_idempotent(query) or _was_not_executed(error)


def _was_not_executed(error: BaseException) -> bool:
    if getattr(error, "maybe_executed", None) is False:
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
        """Rethrow the error."""
        return self.RETHROW, None

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        """Rethrow the error."""
        return self.RETHROW, None

    def on_unavailable(self, *args: Any, **kwargs: Any) -> RetryDecision:
        """Rethrow the error."""
        return self.RETHROW, None

    def on_request_error(self, *args: Any, **kwargs: Any) -> RetryDecision:
        """Rethrow the error."""
        return self.RETHROW, None


@public("cassandra.policies")
class NeverRetryPolicy(RetryPolicy):
    """Does not retry timeouts and unavailability; failures of the coordinator are retried as by the default policy."""

    def on_read_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        """Rethrow the error."""
        return self.RETHROW, None

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        """Rethrow the error."""
        return self.RETHROW, None

    def on_unavailable(self, *args: Any, **kwargs: Any) -> RetryDecision:
        """Rethrow the error."""
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
        """Retry once, at the level that the received responses allow, or at the same one if only the data was missing.
        Serial reads are not retried."""
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
        """Ignore the error of a simple, batch or counter write that a replica acknowledged. Retry an idempotent
        unlogged batch at a lower level, and the batch log of an idempotent batch, once."""
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
        """Retry once at the level that the live replicas allow; at a serial level, on the next host."""
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
        """Retry after a delay if there were enough responses but not the data."""
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
        """Retry after a delay if it was the batch log of an idempotent batch."""
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
        """Retry on the next host, after a delay."""
        return self._retry(True, self.RETRY_NEXT_HOST, None, retry_num)

    def on_request_error(
        self, query: Any, consistency: int | None, error: BaseException, retry_num: int
    ) -> RetryDecision:
        """Retry on the next host, after a delay, if the statement cannot be executed twice unintentionally."""
        return self._retry(may_resend(query, error), self.RETRY_NEXT_HOST, None, retry_num)

    def _retry(self, worth: bool, decision: int, consistency: int | None, retry_num: int) -> RetryDecision:
        if not worth or retry_num >= self.max_num_retries:
            return self.RETHROW, None, None
        # 2 ** 64 exceeds any maximum; larger powers would overflow a float.
        pause = min(self.max_interval, self.min_interval * 2 ** min(retry_num, 64))
        return decision, consistency, max(0.0, pause + self.min_interval * (random.random() - 0.5))


@public("cassandra.policies")
class LWTRetryPolicy(RetryPolicy):
    """For conditional statements (``IF ...``): retries one only if it was certainly not applied.

    A second execution of a conditional statement that was applied reports that it was not applied. So a statement is
    sent again, at most *max_num_retries* times, after

    * ``Unavailable`` at a serial consistency level: too few replicas for the consensus, which did not begin. At another
      level the error may be that of the commit, after the decision: it is raised.
    * ``ReadTimeout``: the row was being read, before the change was proposed.
    * errors before the execution: nothing was sent, or the coordinator is bootstrapping.

    All others are raised: ``WriteTimeout`` with every ``write_type``, an overloaded coordinator, which Cassandra also
    reports in the commit, server errors and lost connections. Then it is unknown if the statement was applied, or will
    be; a read at ``SERIAL`` or ``LOCAL_SERIAL`` completes it, and shows the row. ``is_idempotent`` is ignored. ::

        claim = session.prepare(
            "UPDATE jobs SET owner = ? WHERE id = ? IF owner = null"
        )
        claim.retry_policy = LWTRetryPolicy()

    :param max_num_retries: maximum number of retries of one request.
    """

    def __init__(self, max_num_retries: int = 1) -> None:
        self.max_num_retries = max_num_retries  #: Most retries of a request.

    def on_read_timeout(
        self,
        query: Any,
        consistency: int | None,
        required_responses: int,
        received_responses: int,
        data_retrieved: bool,
        retry_num: int,
    ) -> RetryDecision:
        """Retry on the same connection, at most *max_num_retries* times: the change was not yet proposed."""
        return self._retry(True, self.RETRY, retry_num)

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> RetryDecision:
        """Rethrow the error: it is unknown if the statement was applied."""
        return self.RETHROW, None

    def on_unavailable(
        self,
        query: Any,
        consistency: int | None,
        required_replicas: int,
        alive_replicas: int,
        retry_num: int,
    ) -> RetryDecision:
        """Retry on the next host at a serial consistency level, at most *max_num_retries* times."""
        return self._retry(ConsistencyLevel.is_serial(consistency), self.RETRY_NEXT_HOST, retry_num)

    def on_request_error(
        self, query: Any, consistency: int | None, error: BaseException, retry_num: int
    ) -> RetryDecision:
        """Retry on the next host if the statement was certainly not executed, at most *max_num_retries* times."""
        return self._retry(_was_not_executed(error), self.RETRY_NEXT_HOST, retry_num)

    def _retry(self, is_safe: bool, decision: int, retry_num: int) -> RetryDecision:
        return (decision, None) if is_safe and retry_num < self.max_num_retries else (self.RETHROW, None)


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
        """Return -1: no more executions."""
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


_trackers: weakref.WeakSet[SpeculationTracker] = weakref.WeakSet()


def _reset_trackers() -> None:
    for tracker in list(_trackers):
        tracker._in_child()


in_child(_reset_trackers)


@public("cassandra.policies")
class PercentileSpeculativeExecutionPolicy(SpeculativeExecutionPolicy):
    """Executes a request a second time, on another host, if no response has arrived after the time within which
    *percentile* percent of the recent requests got one.

    The delay follows the latencies of the requests that use this policy: it is computed about once per second from
    those of the last minute, and there are no extra executions before the first 100 requests have ended. Pages of a
    result count as requests. The budget bounds the load: each request adds *budget* to it, each extra execution takes
    1, and without budget there is none. So however slow the cluster becomes, the extra executions are at most this
    share of the requests. Up to 100 extra executions are saved for later.

    Use one object for requests with similar latencies, in their execution profile. Not part of scylla-driver. One
    object may be used by several profiles, sessions and clusters; any thread.

    :param percentile: percentage of requests that end before the delay, above 0 and below 100.
    :param max_attempts: maximum number of extra executions of a request, at least 1.
    :param budget: maximum number of extra executions for each request, above 0, at most 1.

    Raises ValueError for values out of these ranges. Example::

        policy = PercentileSpeculativeExecutionPolicy(99)
        ExecutionProfile(speculative_execution_policy=policy)
    """

    def __init__(self, percentile: float = 99.0, max_attempts: int = 1, budget: float = 0.05) -> None:
        if not 0 < percentile < 100:
            raise ValueError(f"percentile must be above 0 and below 100, got {percentile}")
        if max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, got {max_attempts}")
        if not 0 < budget <= 1:
            raise ValueError(f"budget must be above 0 and at most 1, got {budget}")
        self.percentile = percentile  #: Percentage of requests that end before the delay.
        self.max_attempts = max_attempts  #: Most further attempts.
        self.budget = budget  #: Most further attempts for each request.
        self._tracker = SpeculationTracker(percentile, budget)
        _trackers.add(self._tracker)

    @property
    def delay(self) -> float | None:
        """The current delay in seconds; None while there are too few latencies."""
        return self._tracker.delay

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        """Return the plan of one request. The driver adds the request to the budget when it is sent."""
        return PercentilePlan(self._tracker, self.max_attempts)

    def _queue(self) -> SpeculationQueue:
        """Return a new queue for compiled requests."""
        return SpeculationQueue(self._tracker)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has the parameters only: it begins without latencies and budget."""
        return type(self), (self.percentile, self.max_attempts, self.budget)


class PercentilePlan(SpeculativeExecutionPlan):
    """Plan of one request of :class:`PercentileSpeculativeExecutionPolicy`."""

    def __init__(self, tracker: SpeculationTracker, max_attempts: int) -> None:
        self.tracker = tracker
        self._remaining = max_attempts

    def next_execution(self, host: Host | None) -> float:
        delay = self.tracker.delay if self._remaining > 0 else None
        return -1 if delay is None else delay

    def take(self) -> bool:
        """Return True if the request may be executed once more now. On the I/O thread."""
        if self._remaining <= 0 or not self.tracker.withdraw():
            return False
        self._remaining -= 1
        return True
