"""Counters of a cluster with ``metrics_enabled=True`` (:class:`Metrics`), and observers of each request
(:class:`RequestTracker`)."""

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
from cassandra._session.request.observers import RequestTracker, TrackedAttempt

log = logging.getLogger("cassandra.metrics")

__all__ = [
    "log",
    "IntStat",
    "Metrics",
    "PmfStat",
    "RequestTracker",
    "Stat",
    "StatsCollection",
    "TrackedAttempt",
    "collection",
    "getStats",
    "init",
]

add_names(__name__, {
    "cassandra._session.metrics": "_stats_registry=_registry",
})  # fmt: skip
