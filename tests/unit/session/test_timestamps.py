"""Client-side timestamps."""

from __future__ import annotations

import logging
import threading
import time
from unittest.mock import Mock

import pytest

from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.testing import SimulatedCluster
from cassandra.timestamps import MonotonicTimestampGenerator
from tests.patience import PATIENCE


def test_never_repeats_and_follows_the_clock() -> None:
    generate = MonotonicTimestampGenerator()
    before = time.time_ns() // 1000
    made = [generate() for _ in range(1000)]
    after = time.time_ns() // 1000
    assert made == sorted(set(made))
    assert made[0] >= before
    assert made[-1] <= after + 1000


def test_many_threads_get_different_values() -> None:
    generate = MonotonicTimestampGenerator(warn_on_drift=False)
    made: list[list[int]] = []

    def run() -> None:
        made.append([generate() for _ in range(2000)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values = [value for part in made for value in part]
    assert len(set(values)) == 8000


@pytest.mark.parametrize(("now", "last", "expected"), [(10, 9, 10), (10, 10, 11), (10, 15, 16)])
def test_next_timestamp(now: int, last: int, expected: int) -> None:
    generate = MonotonicTimestampGenerator(warn_on_drift=False)
    assert generate._next_timestamp(now, last) == expected
    assert generate.last == expected


def test_warns_when_far_ahead_and_not_too_often(caplog: pytest.LogCaptureFixture) -> None:
    generate = MonotonicTimestampGenerator(warning_threshold=1e-6, warning_interval=1e-6)
    with caplog.at_level(logging.WARNING, "cassandra.timestamps"):
        generate._next_timestamp(1, 2)
        assert len(caplog.records) == 1
        generate._next_timestamp(1, generate.last)
        assert len(caplog.records) == 1  # the clock did not move: within the interval
        generate._next_timestamp(2, generate.last)
        assert len(caplog.records) == 2
    assert "ahead of the clock" in caplog.text


@pytest.mark.parametrize(
    ("options", "drift"),
    [({"warn_on_drift": False}, 10_000_000), ({"warning_threshold": 20}, 10_000_000), ({}, 999_999)],
)
def test_does_not_warn(caplog: pytest.LogCaptureFixture, options: dict[str, bool], drift: int) -> None:
    generate = MonotonicTimestampGenerator(**options)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING, "cassandra.timestamps"):
        generate._next_timestamp(1, 1 + drift)
    assert not caplog.records


def test_warns_of_a_clock_that_went_back(caplog: pytest.LogCaptureFixture) -> None:
    generate = MonotonicTimestampGenerator(warning_interval=1000)
    generate.last = before = generate() + 10_000_000
    with caplog.at_level(logging.WARNING, "cassandra.timestamps"):
        assert [generate() - before for _ in range(3)] == [1, 2, 3]
    assert len(caplog.records) == 1
    assert generate.last == before + 3


def test_a_subclass_may_decide() -> None:
    class Own(MonotonicTimestampGenerator):
        def _next_timestamp(self, now: int, last: int) -> int:
            return 42

    assert Own()() == 42


@pytest.mark.parametrize("plain", [True, False])
def test_a_replaced_time_is_the_time(monkeypatch: pytest.MonkeyPatch, plain: bool) -> None:
    """As freezegun does it. The statement was compiled, and executed, before."""

    class Own(MonotonicTimestampGenerator):
        def _next_timestamp(self, now: int, last: int) -> int:
            return super()._next_timestamp(now, last)

    with SimulatedCluster() as simulated:
        generator = MonotonicTimestampGenerator() if plain else Own()
        with Cluster(simulated.contact_points, port=simulated.port, timestamp_generator=generator) as cluster:
            session = cluster.connect()
            session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            session.execute("CREATE TABLE k.t (p int PRIMARY KEY, c text)")
            insert = session.prepare("INSERT INTO k.t (p, c) VALUES (?, 'x')")
            session.execute(insert, (0,))
            frozen = time.time() + 1000.25
            monkeypatch.setattr("time.time", lambda: frozen)
            session.execute(insert, (1,))
            session.execute("INSERT INTO k.t (p, c) VALUES (2, 'x')")
            execute_concurrent_with_args(session, insert, [(3,)])
            monkeypatch.setattr("time.time", Mock(side_effect=KeyError("no time")))
            with pytest.raises(KeyError, match="no time"):
                session.execute(insert, (4,))
            monkeypatch.undo()
            session.execute(insert, (5,))
            rows = session.execute("SELECT p, writetime(c) FROM k.t").all()
            expected = int(frozen * 1_000_000)
            assert sorted(rows)[1:] == [(1, expected), (2, expected + 1), (3, expected + 2), (5, expected + 3)]
            assert sorted(rows)[0][1] < expected


def test_a_generator_that_is_asked_while_it_is_asked() -> None:
    """As by the handler of a signal that makes a request while its thread makes one."""

    class Nested(MonotonicTimestampGenerator):
        depth = 0

        def _next_timestamp(self, now: int, last: int) -> int:
            self.depth += 1
            if self.depth == 1:
                self()
            return super()._next_timestamp(now, self.last)

    generate = Nested()
    given: list[int] = []
    thread = threading.Thread(target=lambda: given.append(generate()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert given and given[0] == generate.last


def test_the_io_thread_waits_for_no_thread_that_is_interrupted() -> None:
    """The handler of a signal interrupts a generator of a program that has the lock, and waits for another thread that
    needs a timestamp: that one stands for the I/O thread."""
    others: list[int] = []

    class Interrupted(MonotonicTimestampGenerator):
        def _next_timestamp(self, now: int, last: int) -> int:
            if threading.current_thread() is threading.main_thread():
                handle()
            return super()._next_timestamp(now, self.last)

    def handle() -> None:
        thread = threading.Thread(target=lambda: others.append(generate()), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert others, "it waits for the lock"

    generate = Interrupted()
    first = generate()
    handle()
    assert others[0] > first
