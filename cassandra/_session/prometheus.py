"""Metrics in the text format of Prometheus, and a collector for prometheus_client (cassandra.metrics).

L5. Both are made from a snapshot, by one table. The number of time series is bounded: a host has at most as many as
there are kinds of statements, execution profiles, classes of errors that occurred or are frequent, and buckets.

Prometheus takes the rate of each series, and sums the rates. Therefore the series ``(gone)``, to which the counts of a
host are added when it has left, is not exposed: its rate would be one of requests that were not made. The first value
of a series is not part of its rate: frequent classes of errors are exposed with 0 before they occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.objects import public

from .snapshots import GONE, LatencyHistogram, MetricsSnapshot

if TYPE_CHECKING:
    from .metrics import Metrics

PREFIX = "cassandra_driver_"

#: Upper bounds of the buckets that are exposed, in seconds. All are bounds of buckets of the native histograms, so the
#: counts are exact.
LE = (
    0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0,
)  # fmt: skip

#: Classes of errors that are exposed before they have occurred.
FREQUENT = ("connection", "overloaded", "read_timeout", "unavailable", "write_timeout")

REQUEST_LABELS = ("host", "datacenter", "kind", "profile")
HOST_LABELS = ("host", "datacenter")


class Sample(NamedTuple):
    """One line of the text format."""

    suffix: str
    labels: tuple[tuple[str, str], ...]
    value: float


class Family(NamedTuple):
    """A metric and its samples."""

    name: str  # without _total
    kind: str  # of Prometheus: counter, gauge, histogram
    text: str
    samples: list[Sample]


class _Metric(NamedTuple):
    name: str
    kind: str
    text: str
    field: str
    label: str = ""  # for counts by name
    always: tuple[str, ...] = ()  # names that are exposed although they have no count


_OF_REQUESTS = (
    _Metric(
        "request_duration_seconds", "histogram", "Time from the start of a request to its last response.", "latency"
    ),
    _Metric("attempts", "counter", "Requests sent to hosts, with retries and speculative ones.", "attempts"),
    _Metric(
        "speculative_attempts",
        "counter",
        "Attempts made because a response took long.",
        "speculative_attempts",
    ),
    _Metric("client_timeouts", "counter", "Requests that exceeded their client-side timeout.", "timeouts"),
    _Metric("ignored_errors", "counter", "Errors that a retry policy ignored.", "ignored_errors"),
    _Metric("unprepared", "counter", "Responses of hosts that did not have the prepared statement.", "unprepared"),
    _Metric("attempt_errors", "counter", "Failed attempts, by class of the error.", "errors", "error", FREQUENT),
    _Metric(
        "retries", "counter", "Errors after which a request was sent again, by class.", "retries", "error", FREQUENT
    ),
    _Metric(
        "request_failures",
        "counter",
        "Requests that failed, by class of the error.",
        "failures",
        "error",
        ("client_timeout", *FREQUENT),
    ),
)
_OF_HOSTS = (
    _Metric("connections", "gauge", "Open connections of pools.", "connections"),
    _Metric("requests_in_flight", "gauge", "Requests that wait for their responses.", "in_flight"),
    _Metric("orphaned_streams", "gauge", "Stream ids of requests that were given up.", "orphaned_streams"),
    _Metric("limited_connections", "gauge", "Connections to overloaded nodes.", "limited_connections"),
    _Metric("sent_bytes", "counter", "Bytes written to sockets.", "bytes_sent"),
    _Metric("received_bytes", "counter", "Bytes read from sockets.", "bytes_received"),
    _Metric("connections_opened", "counter", "Connections that were opened.", "connections_opened"),
    _Metric(
        "connection_errors",
        "counter",
        "Connections that were lost or could not be opened.",
        "connection_errors",
    ),
)
_OF_CLUSTER = (
    _Metric("sessions", "gauge", "Open sessions.", "sessions"),
    _Metric("known_hosts", "gauge", "Hosts of the cluster.", "known_hosts"),
    _Metric("connected_hosts", "gauge", "Hosts with an open connection.", "connected_hosts"),
    _Metric(
        "admission_queue_requests",
        "gauge",
        "Requests that wait because all hosts are at their limits.",
        "admission_queue",
    ),
    _Metric("prepared_statements", "gauge", "Prepared statements that the program references.", "prepared_statements"),
    _Metric("tablet_misses", "counter", "Requests that were not sent to a replica of their tablet.", "tablet_misses"),
    _Metric("ingest_rows", "counter", "Rows that ingests have written.", "ingest_rows"),
    _Metric("scan_rows", "counter", "Rows that scans have read.", "scan_rows"),
    _Metric("cache_hits", "counter", "Executions that got a result of the cache.", "cache_hits"),
    _Metric("cache_misses", "counter", "Executions that found no result in the cache.", "cache_misses"),
    _Metric("cache_shared", "counter", "Misses that got the result of an equal request in flight.", "cache_shared"),
    _Metric("cache_evictions", "counter", "Cached results that were removed for others.", "cache_evictions"),
    _Metric("cache_invalidations", "counter", "Cached results that became invalid.", "cache_invalidations"),
    _Metric("cache_expirations", "counter", "Cached results that were found to be too old.", "cache_expirations"),
    _Metric("cache_bytes", "gauge", "Memory of cached results and their keys.", "cache_bytes"),
    _Metric("cache_results", "gauge", "Cached results.", "cache_entries"),
)


def _histogram(labels: tuple[tuple[str, str], ...], latency: LatencyHistogram) -> Iterator[Sample]:
    for bound in LE:
        yield Sample("_bucket", (*labels, ("le", repr(bound))), latency.count_to(bound))
    yield Sample("_bucket", (*labels, ("le", "+Inf")), latency.count)
    yield Sample("_sum", labels, latency.sum)
    yield Sample("_count", labels, latency.count)


def _samples(metric: _Metric, names: tuple[str, ...], one: Any) -> Iterator[Sample]:
    labels = tuple((name, getattr(one, name)) for name in names)
    value = getattr(one, metric.field)
    suffix = "_total" if metric.kind == "counter" else ""
    if metric.kind == "histogram":
        yield from _histogram(labels, value)
    elif metric.label:
        counts: Mapping[str, int] = value
        for name in sorted({*counts, *metric.always}):
            yield Sample(suffix, (*labels, (metric.label, name)), counts.get(name, 0))
    else:
        yield Sample(suffix, labels, value)


def families(snapshot: MetricsSnapshot) -> Iterator[Family]:
    """Yield the metrics of *snapshot*."""
    groups: tuple[tuple[tuple[_Metric, ...], tuple[str, ...], Iterable[Any]], ...] = (
        (_OF_REQUESTS, REQUEST_LABELS, [one for one in snapshot.requests if one.host != GONE]),
        (_OF_HOSTS, HOST_LABELS, snapshot.hosts),
        (_OF_CLUSTER, (), (snapshot,)),
    )
    for metrics, names, ones in groups:
        for metric in metrics:
            samples = [sample for one in ones for sample in _samples(metric, names, one)]
            yield Family(PREFIX + metric.name, metric.kind, metric.text, samples)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))


@public("cassandra.metrics")
def prometheus_text(snapshot: MetricsSnapshot) -> str:
    """Return *snapshot* in the text format of Prometheus 0.0.4, to be served as ``text/plain; version=0.0.4``. It needs
    no other package.

    Example::

        body = prometheus_text(cluster.metrics.snapshot()).encode()
    """
    lines = []
    for family in families(snapshot):
        name = family.name + ("_total" if family.kind == "counter" else "")
        lines += [f"# HELP {name} {family.text}", f"# TYPE {name} {family.kind}"]
        for sample in family.samples:
            labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in sample.labels)
            lines.append(f"{family.name}{sample.suffix}{{{labels}}} {_number(sample.value)}" if labels else
                         f"{family.name}{sample.suffix} {_number(sample.value)}")  # fmt: skip
    return "\n".join(lines) + "\n"


@public("cassandra.metrics")
class PrometheusCollector:
    """A collector for ``prometheus_client`` (``fastcql[prometheus]``): the metrics of one or more clusters, read when
    Prometheus scrapes.

    *metrics* are the ``cluster.metrics`` of clusters with ``metrics_enabled=True``; with several, the sums are exposed.
    Register it yourself, and unregister it when the clusters are shut down. ImportError without prometheus_client;
    TypeError for a cluster without metrics. Example::

        from prometheus_client import REGISTRY, start_http_server

        REGISTRY.register(PrometheusCollector(cluster.metrics))
        start_http_server(9095)
    """

    def __init__(self, *metrics: Metrics) -> None:
        import prometheus_client.core as core

        if not metrics:
            raise TypeError("PrometheusCollector needs the metrics of at least one cluster")
        for one in metrics:
            if not hasattr(one, "snapshot"):
                raise TypeError(f"expected cluster.metrics of a cluster with metrics_enabled=True, not {one!r}")
        self._metrics = metrics
        self._core = core

    def collect(self) -> Iterator[Any]:
        """Yield the metrics; called by prometheus_client."""
        snapshot = self._metrics[0].snapshot()
        for other in self._metrics[1:]:
            snapshot += other.snapshot()
        for family in families(snapshot):
            made = self._core.Metric(family.name, family.text, family.kind)
            for sample in family.samples:
                made.add_sample(family.name + sample.suffix, dict(sample.labels), sample.value)
            yield made

    def describe(self) -> list[Any]:
        """Return the metrics without samples; called when it is registered."""
        return [self._core.Metric(one.name, one.text, one.kind) for one in families(MetricsSnapshot(0.0))]
