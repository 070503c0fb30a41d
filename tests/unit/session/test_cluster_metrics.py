"""Figures of a cluster made with metrics_enabled."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

from cassandra import metrics
from cassandra._base.locks import enter_driver_thread
from cassandra._base.server_errors import (
    ReadTimeoutErrorMessage,
    ServerError,
    UnavailableErrorMessage,
    WriteTimeoutErrorMessage,
)
from cassandra._session.cluster import Cluster
from cassandra._session.metrics import RESERVOIR, _registry
from cassandra._session.request.retry import IGNORE, RETHROW, RETRY, RETRY_NEXT_HOST, Decision
from cassandra.connection import ConnectionException, DefaultEndPoint
from cassandra.metrics import IntStat, Metrics, PmfStat, Stat, StatsCollection
from cassandra.policies import SimpleConvictionPolicy
from cassandra.pool import Host
from tests.interrupts import interrupted_everywhere
from tests.patience import PATIENCE


def test_disabled_by_default() -> None:
    assert Cluster().metrics is None


def test_int_and_computed_stats() -> None:
    stat = IntStat("n")
    stat.increment()
    stat.increment()
    assert (stat.name, stat.value) == ("n", 2)
    assert Stat("x", lambda: 7).value == 7


def test_numbers_compute_as_their_values_do() -> None:
    counted: Any = IntStat("n")
    counted += 3
    worked_out: Any = Stat("x", lambda: 4)
    assert (counted + 1, 10 - counted, counted * worked_out, worked_out / 2, 2**counted) == (4, 7, 12, 2.0, 8)
    assert counted < worked_out and worked_out >= 4 and counted == 3 != worked_out and counted != "3"
    assert (int(counted), float(worked_out), bool(IntStat("none")), round(counted), -counted) == (3, 4.0, False, 3, -3)
    assert (
        sum([counted, worked_out]) == 7 and "abcd"[counted] == "d" and f"{counted:03d} {counted}" == "003 IntStat(n=3)"
    )
    assert len({counted, IntStat("n"), IntStat("n")}) == 3


def test_distribution() -> None:
    stat = PmfStat("t")
    assert stat["count"] == stat["median"] == stat["stddev"] == 0
    for value in range(1, 101):
        stat.addValue(value / 100)
    assert list(stat) == stat.keys() and len(stat) == 11
    assert dict(stat.items()) == dict(zip(stat.keys(), stat.values(), strict=True)) == stat.value
    assert (stat["count"], stat["min"], stat["max"]) == (100, 0.01, 1.0)
    assert stat["mean"] == pytest.approx(0.505)
    assert stat["stddev"] == pytest.approx(0.288661, abs=1e-6)
    assert stat["median"] == pytest.approx(0.5, abs=0.02)
    assert stat["999percentile"] == pytest.approx(0.99901)


def test_distribution_of_many_values_is_bounded() -> None:
    stat = PmfStat("t")
    for value in range(10_000):
        stat.addValue(value)
    assert stat["count"] == 10_000
    assert len(stat._sample) == RESERVOIR
    assert 4000 < stat["median"] < 6000


def test_a_reader_that_is_interrupted_changes_nothing() -> None:
    stat = PmfStat("t")
    stat.addValue(1.0)
    added = 1
    for _ in interrupted_everywhere(lambda: stat.value):
        stat.addValue(1.0)
        added += 1
    assert added > 20
    value = stat.value
    assert (value["count"], value["min"], value["mean"], value["stddev"]) == (added, 1.0, 1.0, 0.0)


@pytest.mark.parametrize("stat", [IntStat("n"), PmfStat("t")], ids=["number", "distribution"])
def test_counting_waits_for_no_reader(stat: IntStat | PmfStat) -> None:
    """Of a distribution it is a driver thread that reads."""
    reading, release = threading.Event(), threading.Event()

    def read() -> None:
        enter_driver_thread()
        with stat._lock:
            reading.set()
            release.wait(PATIENCE)

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(PATIENCE)
    try:
        for _ in range(200):
            if isinstance(stat, IntStat):
                stat.increment()
            else:
                stat.addValue(1.0)
    finally:
        release.set()
        reader.join(PATIENCE)
    assert (stat.value if isinstance(stat, IntStat) else stat["count"]) == 200


def test_registry() -> None:
    made = metrics.collection("here", IntStat("n"), PmfStat("t"))
    try:
        assert isinstance(made, StatsCollection)
        assert made.n == 0 and isinstance(made.t, PmfStat)
        assert "n" in dir(made)
        with pytest.raises(AttributeError):
            _ = made.nothing
        assert metrics.getStats()["here"]["n"] == 0
    finally:
        _registry.pop("here")


class FakePool:
    def __init__(self, host: str, open_count: int) -> None:
        self.host, self.open_count = host, open_count


class FakeSession:
    def __init__(self, *pools: FakePool) -> None:
        self._pools = pools

    def get_pools(self) -> Any:
        return self._pools


class FakeCluster:
    class metadata:
        @staticmethod
        def all_hosts() -> list[str]:
            return ["a", "b", "c"]

    def __init__(self) -> None:
        self.sessions = [
            FakeSession(FakePool("a", 1), FakePool("b", 0)),
            FakeSession(FakePool("a", 2), FakePool("c", 1)),
        ]


def test_metrics_of_a_cluster() -> None:
    cluster = FakeCluster()
    made = Metrics(weakref.proxy(cluster))
    try:
        for count in (
            made.on_connection_error,
            made.on_write_timeout,
            made.on_read_timeout,
            made.on_unavailable,
            made.on_other_error,
            made.on_ignore,
            made.on_retry,
            made.on_client_timeout,
            made.on_speculative_execution,
        ):
            count()
        made.request_timer.addValue(0.5)
        stats = made.get_stats()
        timer = stats.pop("request_timer")
        assert timer["count"] == 1
        assert stats.pop("known_hosts") == made.known_hosts == 3
        assert stats.pop("connected_to") == made.connected_to == 2
        assert stats.pop("open_connections") == made.open_connections == 4
        assert len(stats) == 9 and set(stats.values()) == {1}
        assert made.retries == made.ignores == made.connection_errors == 1
    finally:
        made.shutdown()


@pytest.mark.parametrize(
    ("error", "figure"),
    [
        (ConnectionException("x"), "connection_errors"),
        (WriteTimeoutErrorMessage(0x1100, "x", {}), "write_timeouts"),
        (ReadTimeoutErrorMessage(0x1200, "x", {}), "read_timeouts"),
        (UnavailableErrorMessage(0x1000, "x", {}), "unavailables"),
        (ServerError(0, "x", None), "other_errors"),
    ],
)
def test_errors_by_kind(error: BaseException, figure: str) -> None:
    made = Metrics(FakeCluster())
    try:
        host = Host(DefaultEndPoint("10.0.0.1"), SimpleConvictionPolicy)
        for decision in (None, *map(Decision, (RETRY, RETRY_NEXT_HOST, IGNORE, RETHROW))):
            made.of("simple", "default").attempt_failed(host, error, decision)
        assert getattr(made, figure) == 5
        assert (made.retries, made.ignores) == (2, 1)
    finally:
        made.shutdown()


def test_names() -> None:
    first, second = Metrics(FakeCluster()), Metrics(FakeCluster())
    try:
        assert first.stats_name != second.stats_name
        assert {first.stats_name, second.stats_name} <= set(metrics.getStats())
        first.set_stats_name("mine")
        first.set_stats_name("mine")
        assert metrics.getStats()["mine"]["retries"] == 0
        with pytest.raises(ValueError, match="mine"):
            second.set_stats_name("mine")
    finally:
        first.shutdown()
        second.shutdown()
    assert "mine" not in metrics.getStats()
    first.shutdown()
