"""Speculative execution: delays before a request is also sent to another host (L4). Idempotent statements only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._base.versions import seconds

if TYPE_CHECKING:
    from cassandra._routing.host import Host


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
        self.delay = seconds("delay", delay, optional=False, negative=True)
        self.max_attempts = max_attempts

    def new_plan(self, keyspace: str | None, statement: Any) -> SpeculativeExecutionPlan:
        return self.ConstantSpeculativeExecutionPlan(self.delay, self.max_attempts)


public("cassandra.policies")(ConstantSpeculativeExecutionPolicy.ConstantSpeculativeExecutionPlan)
