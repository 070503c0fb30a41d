"""Reconnector: attempts that cannot even begin, and schedules that fail; driven by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._net.connection import Connection
from cassandra._session.hosts.reconnection import Reconnector
from cassandra._session.scheduler import Task
from cassandra.connection import DefaultEndPoint
from cassandra.policies import ConstantReconnectionPolicy, ExponentialReconnectionPolicy, SimpleConvictionPolicy
from cassandra.pool import Host


class Lab:
    """A cluster, strand and scheduler that do what the test says."""

    def __init__(self) -> None:
        self.host = Host(DefaultEndPoint("10.0.0.1"), SimpleConvictionPolicy)
        self.waiting: list[tuple[float, Task]] = []
        self.opening: list[Callable[[Any], None]] = []
        self.refusal: Exception | None = None
        self.urgent = False
        self.reached: list[Any] = []
        self.failures: list[BaseException] = []
        self.schedule: Callable[[], Iterator[float]] = lambda: iter([1.0, 2.0])
        self.cluster: Any = SimpleNamespace(
            is_shutdown=False,
            connections=SimpleNamespace(open=self._open),
            reconnection_policy=SimpleNamespace(new_schedule=lambda: self.schedule()),
            scheduler=SimpleNamespace(schedule=self._schedule),
        )
        strand: Any = SimpleNamespace(post=lambda fn, *args: fn(*args) or True)
        self.reconnector = Reconnector(
            self.cluster,
            strand,
            self.host,
            lambda host, connection: self.reached.append(connection),
            lambda host, error: self.failures.append(error),
            lambda: self.urgent,
        )

    def _open(self, endpoint: Any, on_done: Callable[[Any], None], host_id: Any = None) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.opening.append(on_done)

    def _schedule(self, delay: float, fn: Callable[..., object], *args: Any) -> Task:
        task = Task(fn, args)
        self.waiting.append((delay, task))
        return task

    def run(self) -> list[float]:
        due, self.waiting = [one for one in self.waiting if not one[1].cancelled], []
        for _, task in due:
            task.run()
        return [delay for delay, _ in due]


def test_an_attempt_that_cannot_begin_is_one_that_failed() -> None:
    lab = Lab()
    lab.refusal = ValueError("options of the user")
    lab.reconnector.start(at_once=True)
    assert lab.failures == [lab.refusal]
    assert lab.run() == [1.0]
    lab.refusal = None
    assert lab.run() == [2.0]
    assert len(lab.opening) == 1


def test_an_event_helps_after_an_attempt_that_could_not_begin() -> None:
    lab = Lab()
    lab.refusal = ValueError("options of the user")
    lab.reconnector.start(at_once=True)
    lab.refusal = None
    lab.reconnector.try_now()
    assert len(lab.opening) == 1 and lab.run() == []


def test_no_further_attempts_after_a_shutdown() -> None:
    lab = Lab()
    lab.reconnector.start(at_once=True)
    lab.cluster.is_shutdown = True
    lab.opening[0](OSError("refused"))
    assert lab.failures == [] and lab.waiting == []


def test_a_schedule_that_fails_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    lab = Lab()

    def broken() -> Iterator[float]:
        raise RuntimeError("the user's policy")

    lab.schedule = broken
    lab.reconnector.start(at_once=False)
    assert lab.run() == [1.0]
    assert "The reconnection policy failed" in caplog.text
    lab.opening[0](OSError("refused"))
    assert lab.run() == [1.0]
    assert len(lab.opening) == 2


def test_a_schedule_that_ends_waits_for_an_event() -> None:
    lab = Lab()
    lab.schedule = lambda: iter(())
    lab.reconnector.start(at_once=False)
    assert lab.waiting == []
    lab.reconnector.try_now()
    assert len(lab.opening) == 1


def test_while_no_host_is_up_attempts_come_every_few_seconds() -> None:
    lab = Lab()
    lab.schedule = lambda: iter([100.0, 200.0])
    lab.reconnector.start(at_once=False)
    assert [task[0] for task in lab.waiting] == [100.0]
    lab.urgent = True
    lab.reconnector.shorten_delay()
    for attempt in range(10):
        (delay,) = lab.run()
        assert 0.0 <= delay <= min(4.0, 2.0**attempt)
        lab.opening.pop()(OSError("refused"))
    lab.urgent = False
    lab.reconnector.restart_schedule()
    (delay,) = lab.run()
    assert delay <= 4.0  # it was to come by then
    lab.opening.pop()(OSError("refused"))
    assert lab.run() == [100.0]


def test_while_no_host_is_up_an_attempt_does_not_wait_for_the_one_before() -> None:
    """The network may have lost it; then it is repeated only after seconds."""
    lab = Lab()
    lab.urgent = True
    lab.reconnector.start(at_once=True)
    for _ in range(6):
        assert len(lab.run()) == 1
    first, *others = lab.opening
    assert len(others) == 2
    first(OSError("timed out"))
    assert len(lab.run()) == 1
    assert len(lab.opening) == 4
    connection: Any = Connection.__new__(Connection)
    lab.opening[1](connection)
    assert lab.reached == [connection]
    assert lab.run() == []


def test_short_delays_of_the_schedule_stay_short() -> None:
    lab = Lab()
    lab.urgent = True
    lab.schedule = lambda: iter([0.1])
    lab.reconnector.start(at_once=False)
    (delay,) = lab.run()
    assert delay <= 0.1


# ---- many clients


def spread(delays: list[float], longest: float) -> bool:
    """Whether they are anywhere between nothing and *longest*, each part of that about as often as another. The last
    quarter has 13 % of them, as the limits themselves are between 0.85 and 1.15 of a delay: 50 of 1,000 is eight
    standard deviations less."""
    quarters = [sum(start <= delay * 4 / longest < start + 1 for delay in delays) for start in range(4)]
    return all(0.0 <= delay <= longest for delay in delays) and min(quarters) > len(delays) / 20


def test_clients_that_lost_a_host_come_back_at_different_moments() -> None:
    """By the exponential policy: its delays are limits."""
    first, third = [], []
    for _ in range(1000):
        lab = Lab()
        lab.cluster.reconnection_policy = ExponentialReconnectionPolicy(1.0, 60.0)
        lab.reconnector.start(at_once=False)
        first += lab.run()
        for _ in range(2):
            lab.opening.pop()(OSError("refused"))
            (delay,) = lab.run()
        third.append(delay)
    assert spread(first, 1.15)
    assert spread(third, 4.0 * 1.15)


def test_the_delays_of_other_policies_are_kept() -> None:
    lab = Lab()
    lab.cluster.reconnection_policy = ConstantReconnectionPolicy(7.0)
    lab.reconnector.start(at_once=False)
    assert lab.run() == [7.0]


def test_clients_that_hear_of_a_host_come_at_different_moments() -> None:
    delays = []
    for _ in range(1000):
        lab = Lab()
        lab.reconnector.start(at_once=False)
        lab.reconnector.try_now(within=0.5)
        delays += lab.run()
        assert len(lab.opening) == 1
    assert spread(delays, 0.5)


def test_an_event_after_the_other_does_not_put_it_off() -> None:
    lab = Lab()
    lab.reconnector.start(at_once=True, within=0.5)
    for _ in range(20):
        lab.reconnector.try_now(within=0.5)
    assert len(lab.waiting) == 1
    lab.run()
    assert len(lab.opening) == 1
    lab.opening.pop()(OSError("refused"))
    lab.reconnector.try_now(within=0.5)
    assert len(lab.run()) == 1 and len(lab.opening) == 1, "a later one counts again"


def test_a_program_does_not_wait() -> None:
    lab = Lab()
    lab.reconnector.start(at_once=True, within=0.5)
    assert lab.opening == []
    lab.reconnector.try_now()
    assert len(lab.opening) == 1 and lab.run() == []


def test_1000_clients_after_an_outage() -> None:
    """All of them are back within seconds, and never many at the same moment: by a clock of the test's own."""
    moments: list[float] = []
    for _ in range(1000):
        lab = Lab()
        lab.urgent = True
        lab.cluster.reconnection_policy = ExponentialReconnectionPolicy(1.0, 60.0)
        lab.reconnector.start(at_once=False)
        now, back = 0.0, 60.0
        while now < back:
            (delay,) = lab.run()
            now += delay
            lab.opening.pop()(OSError("refused"))
        moments.append(now - back)
    assert max(moments) <= 4.0
    for start in range(40):
        assert sum(start <= moment * 10 < start + 1 for moment in moments) <= 1000 / 4, "in a tenth of a second"
