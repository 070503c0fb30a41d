"""What tests of programs replace in public modules is replaced where it is used, and back again afterwards."""

from __future__ import annotations

import importlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock, patch

import pytest

from cassandra.cluster import Cluster
from cassandra.timestamps import MonotonicTimestampGenerator
from tests.patience import PATIENCE

module: Any = importlib.import_module("cassandra.cluster")


def test_the_log_of_clusters(caplog: pytest.LogCaptureFixture) -> None:
    with patch("cassandra.cluster.log") as log:
        Cluster(["10.0.0.1"])
    (message,) = log.warning.call_args.args
    assert "please specify a load-balancing policy" in message and not caplog.messages
    Cluster(["10.0.0.1"])
    assert caplog.messages == [message] and log.warning.call_count == 1


def test_the_log_and_the_clock_of_timestamps(caplog: pytest.LogCaptureFixture) -> None:
    before = MonotonicTimestampGenerator()
    with patch("cassandra.timestamps.time") as clock, patch("cassandra.timestamps.log") as log:
        clock.time = Mock(side_effect=[15.0, 15.0, 13.0, 15.01, 30.0, 20.0])
        made = MonotonicTimestampGenerator()
        assert [made() for _ in range(4)] == [15_000_000, 15_000_001, 15_000_002, 15_010_000]
        assert [before(), before()] == [30_000_000, 30_000_001]
    (message,) = log.warning.call_args.args
    assert "clock says 20000000, 10000000 microseconds before the last timestamp, 30000000" in message
    now = time.time() * 1_000_000
    assert before() >= now and made() >= now and not caplog.messages


def test_warnings_of_timestamps_count_from_the_last_one() -> None:
    generate: Any = MonotonicTimestampGenerator(warning_threshold=2e-6)
    with patch("cassandra.timestamps.log") as log:
        generate.last, generate._last_warn = 100, 97
        assert generate._next_timestamp(98, 100) == 101 and not log.warning.called
        generate.warning_interval = 1e-6
        assert generate._next_timestamp(98, 101) == 102 and log.warning.call_count == 1


def test_a_scheduler_of_a_program() -> None:
    with ThreadPoolExecutor(1) as executor:
        scheduler = module._Scheduler(executor)
        assert scheduler.daemon and scheduler.is_alive() and not scheduler.is_shutdown
        calls: list[Any] = []
        done = threading.Event()
        assert scheduler.schedule(0.05, calls.append, "second") is True
        assert scheduler.schedule(0, calls.append, "first") is True
        for _ in range(3):
            scheduler.schedule_unique(0.1, calls.append, "once")
        scheduler.schedule(0.15, done.set)
        assert done.wait(PATIENCE) and calls == ["first", "second", "once"]
        scheduler.schedule(60, calls.append, "never")
        scheduler.shutdown()
        assert not scheduler.is_alive() and scheduler.is_shutdown and scheduler.schedule(0, done.set) is False


def test_a_call_of_a_scheduler_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with ThreadPoolExecutor(1) as executor:
        scheduler, done = module._Scheduler(executor), threading.Event()
        scheduler.schedule(0, int, "no number")
        scheduler.schedule(0.01, done.set)
        assert done.wait(PATIENCE)
        scheduler.shutdown()
    assert "A delayed call failed" in caplog.text and "no number" in caplog.text


def test_calls_for_a_closed_executor_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    scheduler = module._Scheduler(executor)
    scheduler.schedule(0, print)
    deadline = time.monotonic() + PATIENCE
    while "is not made" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    scheduler.shutdown()
    assert "A delayed call of <built-in function print> is not made" in caplog.text
