"""Metrics that many threads count and read: no request is lost, none is counted twice."""

from __future__ import annotations

import asyncio

from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.metrics import LatencyHistogram, Metrics
from cassandra.testing import SimulatedCluster
from tests.patience import eventually
from tests.threads.conftest import Connect
from tests.threads.harness import THREADS, size, together

TURNS = size("FASTCQL_TURNS", 20)


def test_requests_of_all_kinds(simulated: SimulatedCluster, table: Session, connect: Connect) -> None:
    session = connect(simulated, "ks", metrics_enabled=True)
    metrics = session.cluster.metrics
    assert isinstance(metrics, Metrics)
    select = session.prepare("SELECT v FROM t WHERE id = ?")
    before = metrics.snapshot()
    kept = []

    async def awaits() -> None:
        await asyncio.gather(*[session.execute_async(select, (turn,)) for turn in range(TURNS)])

    def work(number: int) -> None:
        for turn in range(TURNS):
            session.execute(select, (turn,))
            kept.append(session.execute_async(select, (turn,)))  # not read by this thread
            session.execute_async(select, (turn,))  # nor is this one, by any
            metrics.snapshot()
        execute_concurrent_with_args(session, select, [(turn,) for turn in range(TURNS)])
        asyncio.run(awaits())
        session.execute("SELECT v FROM t WHERE id = 1")

    together(work)
    expected = THREADS * TURNS * 5
    eventually(lambda: (metrics.snapshot() - before).total(kind="prepared").requests == expected)
    for future in kept:
        future.result()
    since = metrics.snapshot() - before
    found = since.total(kind="prepared")
    assert (found.requests, found.attempts, since.total(kind="simple").requests) == (expected, expected, THREADS)
    assert not (found.errors or found.failures or found.timeouts)
    assert sum(one.in_flight for one in since.hosts) == 0
    assert metrics.request_timer["count"] == metrics.snapshot().total().requests


def test_histograms_are_shared() -> None:
    found = LatencyHistogram.of(range(1, 100))
    results: list[object] = []

    def work(number: int) -> None:
        for _ in range(TURNS):
            results.append((found + found - found == found, (found + found).percentile(50), found.percentile(99)))

    together(work)
    assert len(set(results)) == 1
