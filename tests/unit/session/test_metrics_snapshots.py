"""Histograms and snapshots of metrics: percentiles against exact ones, merging, differences, pickles, Prometheus."""

from __future__ import annotations

import copy
import math
import pickle
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassandra.metrics import HostMetrics, LatencyHistogram, MetricsSnapshot, RequestMetrics, prometheus_text
from tests.packages import module

times = st.lists(st.floats(0, 120) | st.floats(1e-6, 1e-2), min_size=1, max_size=200)
percents = st.floats(0, 100) | st.sampled_from([0, 50, 90, 99, 99.9, 100])
UNIT = 0.5e-6  # seconds: the narrowest bucket
WIDTH = 1 / 64


def exact(values: list[float], q: float) -> float:
    """The smallest value that *q* percent of the values do not exceed."""
    return sorted(values)[max(1, math.ceil(q / 100 * len(values))) - 1]


@given(times, percents)
@settings(max_examples=300)
def test_percentiles(values: list[float], q: float) -> None:
    found = LatencyHistogram.of(values).percentile(q)
    assert found == pytest.approx(exact(values, q), rel=WIDTH, abs=UNIT)


@given(times)
def test_figures(values: list[float]) -> None:
    found = LatencyHistogram.of(values)
    assert found.count == len(values)
    assert (found.min, found.max) == pytest.approx((min(values), max(values)), abs=2e-9)
    assert found.sum == pytest.approx(math.fsum(values), abs=2e-9 * len(values))
    assert found.mean == pytest.approx(statistics.fmean(values), abs=2e-9)
    assert found.stddev == pytest.approx(statistics.pstdev(values), abs=WIDTH * max(values) + UNIT)
    assert sum(count for _, count in found.buckets()) == len(values)
    assert [bound for bound, _ in found.buckets()] == sorted({bound for bound, _ in found.buckets()})


@given(times, st.floats(0, 130))
def test_counts_up_to_a_time(values: list[float], limit: float) -> None:
    found = LatencyHistogram.of(values).count_to(limit)
    above = sum(value <= limit for value in values)
    below = sum(value <= limit * (1 - WIDTH) - UNIT for value in values)
    assert below <= found <= above


@pytest.mark.parametrize("limit", [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0])
def test_counts_up_to_decimal_bounds_are_exact(limit: float) -> None:
    found = LatencyHistogram.of([limit - 1e-7, limit - 5e-8, limit + 1e-7])
    assert found.count_to(limit) == 2


@given(times, times)
def test_merging_is_as_counting_together(one: list[float], other: list[float]) -> None:
    merged = LatencyHistogram.of(one) + LatencyHistogram.of(other)
    together = LatencyHistogram.of([*one, *other])
    assert merged == together and hash(merged) == hash(together)
    assert merged == LatencyHistogram.of(other) + LatencyHistogram.of(one)
    assert merged + LatencyHistogram() == merged == LatencyHistogram() + merged
    later = merged - LatencyHistogram.of(one)
    assert later.buckets() == LatencyHistogram.of(other).buckets()
    assert later.sum == pytest.approx(LatencyHistogram.of(other).sum)
    assert later.percentile(50) == pytest.approx(exact(other, 50), rel=WIDTH, abs=UNIT)


def test_an_empty_histogram() -> None:
    empty = LatencyHistogram()
    assert (empty.count, empty.sum, empty.mean, empty.min, empty.max, empty.stddev) == (0, 0, 0, 0, 0, 0)
    assert empty.percentile(99) == 0 and empty.buckets() == () and not empty.count_to(1)
    assert "empty" in repr(empty)


def test_misuse() -> None:
    found = LatencyHistogram.of([0.1])
    for q in (-1, 100.1, math.nan):
        with pytest.raises(ValueError, match="between 0 and 100"):
            found.percentile(q)
    with pytest.raises(AttributeError, match="immutable"):
        found.count = 2
    with pytest.raises(TypeError):
        _ = found + 1  # type: ignore[operator]


def test_very_long_and_negative_times() -> None:
    found = LatencyHistogram.of([500.0, -1.0])
    assert (found.min, found.max, found.count) == (0, 500, 2)
    assert found.percentile(100) == 500
    assert "500000" in repr(found)


SNAPSHOT = MetricsSnapshot(
    1.0,
    (
        RequestMetrics(
            "127.0.0.1:9042", "dc1", "prepared", "default",
            latency=LatencyHistogram.of([0.001, 0.003]), attempts=3, errors={"unavailable": 1},
            retries={"unavailable": 1},
        ),
        RequestMetrics("127.0.0.1:9042", "dc1", "simple", 'a "\\\n', latency=LatencyHistogram.of([1.5]), attempts=1),
    ),
    (HostMetrics("127.0.0.1:9042", "dc1", connections=2, bytes_sent=100, in_flight=1),),
    sessions=1,
    known_hosts=1,
    scan_rows=7,
)  # fmt: skip


def test_snapshots_are_merged_by_labels() -> None:
    both = SNAPSHOT + SNAPSHOT
    assert len(both.requests) == 2 and len(both.hosts) == 1
    assert (both.total().requests, both.total().attempts, both.sessions, both.scan_rows) == (6, 8, 2, 14)
    assert both.total(kind="prepared").errors == {"unavailable": 2}
    assert both.total(host="127.0.0.1:9042", kind="prepared").requests == 4
    assert both.total(profile="nothing").requests == 0
    assert (both.hosts[0].connections, both.hosts[0].bytes_sent) == (4, 200)


def test_differences_have_counters_of_the_interval_and_gauges_of_its_end() -> None:
    since = (SNAPSHOT + SNAPSHOT) - SNAPSHOT
    assert since.total().latency.buckets() == SNAPSHOT.total().latency.buckets()
    assert since.total().errors == {"unavailable": 1}
    assert (since.hosts[0].bytes_sent, since.hosts[0].connections) == (100, 4)
    assert (SNAPSHOT - SNAPSHOT).total().requests == 0
    assert (SNAPSHOT - SNAPSHOT).total().errors == {}


def test_snapshots_are_values() -> None:
    assert pickle.loads(pickle.dumps(SNAPSHOT)) == SNAPSHOT == copy.deepcopy(SNAPSHOT)
    with pytest.raises(AttributeError):
        SNAPSHOT.sessions = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        SNAPSHOT.requests[0].errors["x"] = 1  # type: ignore[index]


def test_the_text_is_what_prometheus_client_reads() -> None:
    parser = module("prometheus_client.parser")
    families = {one.name: one for one in parser.text_string_to_metric_families(prometheus_text(SNAPSHOT))}
    assert all(name.startswith("cassandra_driver_") and one.documentation for name, one in families.items())
    durations = families["cassandra_driver_request_duration_seconds"]
    assert durations.type == "histogram"
    labels = {"host": "127.0.0.1:9042", "datacenter": "dc1", "kind": "prepared", "profile": "default"}
    buckets = {
        one.labels["le"]: one.value
        for one in durations.samples
        if one.name.endswith("_bucket") and one.labels["kind"] == "prepared"
    }
    assert [buckets[bound] for bound in ("0.0005", "0.001", "0.0025", "0.005", "+Inf")] == [0, 1, 1, 2, 2]
    (errors,) = (one for one in families["cassandra_driver_attempt_errors"].samples if one.value)
    assert errors.labels == {**labels, "error": "unavailable"} and errors.value == 1
    assert {one.labels["profile"] for one in durations.samples} == {"default", 'a "\\\n'}


def test_frequent_errors_are_exposed_before_they_occur() -> None:
    text = prometheus_text(MetricsSnapshot(0.0, (RequestMetrics("h", "dc1", "prepared", "default"),)))
    for metric in ("attempt_errors", "retries", "request_failures"):
        for error in ("connection", "overloaded", "read_timeout", "unavailable", "write_timeout"):
            line = f'{metric}_total{{host="h",datacenter="dc1",kind="prepared",profile="default",error="{error}"}} 0'
            assert f"cassandra_driver_{line}\n" in text
    assert text.count('error="client_timeout"') == 1  # of request_failures


def test_hosts_that_have_left_are_not_exposed() -> None:
    """Their counts are added to those of ``(gone)`` at once, of which Prometheus would make a rate of requests."""
    gone = RequestMetrics("(gone)", "", "prepared", "default", LatencyHistogram.of([0.001]), attempts=1)
    snapshot = MetricsSnapshot(0.0, (*SNAPSHOT.requests, gone), SNAPSHOT.hosts)
    assert snapshot.total().requests == SNAPSHOT.total().requests + 1
    without = MetricsSnapshot(0.0, SNAPSHOT.requests, SNAPSHOT.hosts)
    assert prometheus_text(snapshot) == prometheus_text(without)


def test_the_collector_exposes_the_same() -> None:
    client = module("prometheus_client")
    from cassandra.metrics import PrometheusCollector

    class Source:
        def snapshot(self) -> MetricsSnapshot:
            return SNAPSHOT

    registry = client.CollectorRegistry()
    registry.register(PrometheusCollector(Source(), Source()))  # type: ignore[arg-type]
    parser = module("prometheus_client.parser")

    def samples(text: str) -> list[tuple[str, dict[str, str], float]]:
        found = parser.text_string_to_metric_families(text)
        return [(one.name, one.labels, one.value) for family in found for one in family.samples]

    assert samples(client.generate_latest(registry).decode()) == samples(prometheus_text(SNAPSHOT + SNAPSHOT))
    with pytest.raises(TypeError, match="at least one"):
        PrometheusCollector()
    with pytest.raises(TypeError, match="metrics_enabled"):
        PrometheusCollector(None)  # type: ignore[arg-type]
