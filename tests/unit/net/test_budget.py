"""The budget of retries after errors of overloaded servers."""

from __future__ import annotations

import pytest

from cassandra._net.budget import MOST, PER_SECOND, START, RetryBudget

pytestmark = pytest.mark.usefixtures("as_driver_thread")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def taken(budget: RetryBudget, sent: int) -> int:
    """Take all tokens."""
    count = 0
    while budget.take(sent):
        count += 1
    return count


def test_it_begins_with_a_few(clock: Clock) -> None:
    assert taken(RetryBudget(0.1, clock), 0) == START


@pytest.mark.parametrize(("ratio", "expected"), [(0.1, 20), (0.25, 50), (1.0, MOST)])
def test_a_share_of_the_requests(clock: Clock, ratio: float, expected: int) -> None:
    budget = RetryBudget(ratio, clock)
    taken(budget, 1000)
    assert taken(budget, 1200) == expected
    assert taken(budget, 1200) == 0


def test_one_a_second(clock: Clock) -> None:
    budget = RetryBudget(0.1, clock)
    taken(budget, 0)
    clock.now += 3.5
    assert taken(budget, 0) == int(3.5 * PER_SECOND)


def test_tokens_are_not_kept_for_ever(clock: Clock) -> None:
    budget = RetryBudget(0.1, clock)
    clock.now += 1e6
    assert taken(budget, 10**9) == MOST


def test_connections_that_were_closed_are_not_counted_any_more(clock: Clock) -> None:
    """The number of requests is that of the open connections."""
    budget = RetryBudget(0.1, clock)
    taken(budget, 1000)
    assert taken(budget, 10) == 0
    assert taken(budget, 30) == 2
