"""Metrics of a cluster with ``metrics_enabled=True`` (:class:`Metrics`), also for Prometheus, and observers of each
request (:class:`RequestTracker`)."""

import logging

from cassandra._base.aliases import add_names
from cassandra._session.metrics import (
    IntStat,
    Metrics,
    PmfStat,
    Stat,
    StatsCollection,
    collection,
    getStats,
    init,
)
from cassandra._session.prometheus import PrometheusCollector, prometheus_text
from cassandra._session.request.observers import BulkRequest, RequestTracker, TrackedAttempt
from cassandra._session.snapshots import HostMetrics, LatencyHistogram, MetricsSnapshot, RequestMetrics

log = logging.getLogger("cassandra.metrics")

__all__ = [
    "log",
    "BulkRequest",
    "HostMetrics",
    "IntStat",
    "LatencyHistogram",
    "Metrics",
    "MetricsSnapshot",
    "PmfStat",
    "PrometheusCollector",
    "RequestMetrics",
    "RequestTracker",
    "Stat",
    "StatsCollection",
    "TrackedAttempt",
    "collection",
    "getStats",
    "init",
    "prometheus_text",
]

add_names(__name__, {
    "cassandra._session.metrics": "_stats_registry=_registry",
})  # fmt: skip
