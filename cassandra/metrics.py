"""What a cluster made with ``metrics_enabled=True`` counts: see :class:`Metrics`."""

from cassandra._session.cluster.metrics import (
    IntStat,
    Metrics,
    PmfStat,
    Stat,
    StatsCollection,
    collection,
    getStats,
    init,
)

__all__ = ["IntStat", "Metrics", "PmfStat", "Stat", "StatsCollection", "collection", "getStats", "init"]
