"""Timeouts, waits and delays that programs give: values that are no numbers of seconds are refused where given."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    ExponentialBackoffRetryPolicy,
    ExponentialReconnectionPolicy,
)
from tests.unit.session.executions import a_statement
from tests.unit.session.harness import Lab, rows

NO_NUMBERS = [True, False, "5", b"5", [5], Decimal(5), datetime.timedelta(seconds=5)]
NUMBERS = [1, 2.5, math.inf, 1e300, Fraction(5, 2), 2**80]
OPTIONS = [
    "connect_timeout",
    "control_connection_timeout",
    "idle_heartbeat_interval",
    "idle_heartbeat_timeout",
    "max_request_wait",
    "max_schema_agreement_wait",
    "metadata_request_timeout",
    "schema_event_refresh_window",
    "slow_request_threshold",
    "status_event_refresh_window",
    "topology_event_refresh_window",
]
Give = Callable[[Any], Any]


def text(timeout: Any) -> Any:
    lab = Lab()
    lab[0].script = [rows(1)]
    return lab.session.execute("SELECT 1", timeout=timeout)


def prepared(timeout: Any) -> Any:
    lab = Lab()
    statement = a_statement(lab)
    lab[0].script = [rows(1)]
    return lab.session.execute(statement, (7,), timeout=timeout)


def profile(timeout: Any) -> Any:
    return ExecutionProfile(request_timeout=timeout)


def set_in_profile(timeout: Any) -> Any:
    found = ExecutionProfile()
    found.request_timeout = timeout
    return found


def clone(timeout: Any) -> Any:
    return Lab().session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, request_timeout=timeout)


def of_session(timeout: Any) -> Any:
    session: Session = Lab().session
    session.default_timeout = timeout
    return session


def option(name: str, is_set: bool) -> Give:
    def give(value: Any) -> Any:
        if not is_set:
            return Cluster(**{name: value})
        cluster = Cluster()
        setattr(cluster, name, value)
        return cluster

    give.__name__ = f"{name} set" if is_set else name
    return give


REQUESTS: list[Give] = [text, prepared, profile, set_in_profile, clone, of_session]
CLUSTERS: list[Give] = [option(name, is_set) for name in OPTIONS for is_set in (False, True)]
POLICIES: list[Give] = [
    lambda delay: ConstantReconnectionPolicy(delay),
    lambda delay: ExponentialReconnectionPolicy(delay, math.inf),
    lambda delay: ExponentialReconnectionPolicy(1, delay),
    lambda delay: ConstantSpeculativeExecutionPolicy(delay, 1),
    lambda delay: ExponentialBackoffRetryPolicy(1, min_interval=delay),
    lambda delay: ExponentialBackoffRetryPolicy(1, max_interval=delay),
]


@pytest.mark.parametrize("give", REQUESTS + CLUSTERS + POLICIES, ids=lambda give: give.__name__)
def test_nan_is_refused(give: Give) -> None:
    with pytest.raises(ValueError, match="nan"):
        give(math.nan)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("give", REQUESTS + CLUSTERS, ids=lambda give: give.__name__)
def test_durations_that_are_no_numbers_are_refused(give: Give, value: Any) -> None:
    with pytest.raises(TypeError, match="number of seconds"):
        give(value)


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
@pytest.mark.parametrize("give", REQUESTS + CLUSTERS, ids=lambda give: give.__name__)
def test_numbers_are_taken(give: Give, value: Any) -> None:
    assert give(value) is not None


def test_a_refused_option_keeps_its_value() -> None:
    cluster = Cluster(connect_timeout=3)
    with pytest.raises(ValueError):
        cluster.connect_timeout = math.nan
    assert cluster.connect_timeout == 3
    mine = ExecutionProfile(request_timeout=7)
    with pytest.raises(ValueError):
        mine.request_timeout = math.nan
    assert mine.request_timeout == 7 and mine.resolved().request_timeout == 7


def test_no_limit_and_no_time() -> None:
    assert text(None).one() == (1,)
    for timeout in (0, -1, -math.inf):
        with pytest.raises(Exception, match="timeout"):
            text(timeout)
