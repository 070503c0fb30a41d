"""The pace of connections and of preparing again, and delays of many clients: on a clock of the test's own."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_left
from collections.abc import Iterator

import pytest

from cassandra._base.randomness import _generator
from cassandra._net import backoff
from cassandra._net.backoff import Pace, full_jitter

pytestmark = pytest.mark.usefixtures("as_driver_thread")


class Clock:
    """The monotonic clock of the module under test."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(backoff, "monotonic", clock)
    _generator.seed(7)
    yield clock
    _generator.seed()


def most_in_a_second(moments: list[float]) -> int:
    """The most of them within any second."""
    ordered = sorted(moments)
    return max(bisect_left(ordered, moment + 1.0) - index for index, moment in enumerate(ordered))


@pytest.mark.parametrize("rate", [0.5, 1, 10, 25, 1000])
def test_never_more_than_the_rate(clock: Clock, rate: float) -> None:
    pace = Pace()
    moments = [clock.now + pace.reserve(rate) for _ in range(300)]
    assert moments == sorted(moments) and moments[0] == clock.now, "the first one at once"
    assert most_in_a_second(moments) <= max(1, rate)
    distances = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert all(1.0 / rate - 1e-9 <= distance <= 1.5 / rate + 1e-9 for distance in distances)
    assert len(set(distances)) > 100, "at random"


def test_what_was_not_used_is_not_saved_up(clock: Clock) -> None:
    pace = Pace()
    assert pace.reserve(10) == 0.0
    clock.now += 3600
    moments = [clock.now + pace.reserve(10) for _ in range(30)]
    assert moments[0] == clock.now and most_in_a_second(moments) <= 10


def test_no_limit(clock: Clock) -> None:
    pace = Pace()
    assert [pace.reserve(None) for _ in range(100)] == [0.0] * 100


def test_a_changed_rate_holds_from_then_on(clock: Clock) -> None:
    pace = Pace()
    pace.reserve(1)
    first = pace.reserve(1000)
    assert 1.0 <= first <= 1.5
    assert pace.reserve(1000) - first <= 0.0015


def test_a_thousand_clients_are_spread_over_all_of_the_delay(clock: Clock) -> None:
    moments = [full_jitter(4.0) for _ in range(1000)]
    assert all(0.0 <= moment <= 4.0 for moment in moments)
    assert most_in_a_second(moments) <= 330, "a quarter of them, more or less"


def test_a_thousand_clients_open_92_connections_each(clock: Clock) -> None:
    """As after a restart of a node: its rate is that of the clients together, and does not exceed it at any moment."""
    chance = random.Random(5)
    moments: list[float] = []
    for _ in range(1000):
        pace = Pace()
        clock.now = 1000.0 + chance.uniform(0.0, 4.0)
        moments += [clock.now + pace.reserve(25) for _ in range(92)]
    assert most_in_a_second(moments) <= 25 * 1000
    assert max(moments) - 1000.0 <= 10.0, "all are there within ten seconds"
