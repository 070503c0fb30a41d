"""Latency awareness at work: a slow node and a paused one among equal replicas."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, ResponseFuture, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import LatencyAwarePolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.testing import SimulatedCluster, faults
from tests.patience import eventually

FOREVER = 1e9
COUNT = 90
SELECT = "SELECT * FROM ks.t WHERE id = ?"


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    """Three nodes, each a replica of everything."""
    with SimulatedCluster(nodes=3, shards=1) as cluster:
        cluster.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 3}"
        )
        cluster.execute("CREATE TABLE ks.t (id int PRIMARY KEY)")
        yield cluster


@pytest.fixture
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    policy = LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy()), FOREVER)
    cluster = Cluster(simulated.contact_points, port=simulated.port, load_balancing_policy=policy)
    try:
        yield cluster.connect(wait_for_all_pools=True)
    finally:
        simulated.clear_faults()
        cluster.shutdown()


def by_node(simulated: SimulatedCluster) -> Counter[int]:
    return Counter(request.node for request in simulated.statements("ks.t"))


def policy_of(session: Session) -> LatencyAwarePolicy:
    policy = session.cluster.load_balancing_policy
    assert isinstance(policy, LatencyAwarePolicy)
    return policy


def forget(session: Session) -> LatencyAwarePolicy:
    """Nothing was measured yet."""
    policy = policy_of(session)
    policy._averages.clear()
    policy.on_up(session.cluster.metadata.all_hosts()[0])  # plans are made anew
    return policy


@pytest.mark.parametrize("kind", ["prepared", "bound", "text", "awaited"])
def test_a_slow_node_is_avoided(simulated: SimulatedCluster, session: Session, kind: str) -> None:
    prepared = session.prepare(SELECT)
    forget(session)
    ask: Any = {
        "prepared": lambda key: session.execute(prepared, (key,)),
        "bound": lambda key: session.execute(prepared.bind((key,))),
        "text": lambda key: session.execute("SELECT * FROM ks.t WHERE id = %s", (key,)),
    }.get(kind)
    simulated.inject(faults.Delay(0.4), query="FROM ks.t", node=1)
    simulated.clear_requests()
    if ask is None:

        async def all_of_them() -> None:
            for key in range(COUNT):
                await session.execute_async(prepared, (key,))

        asyncio.run(all_of_them())
    else:
        for key in range(COUNT):
            ask(key)
    counts = by_node(simulated)
    assert counts.total() == COUNT
    assert counts[1] < COUNT // 5  # a third would be its share
    assert min(counts[0], counts[2]) > 0
    latencies = {host.address: policy_of(session).latency(host) for host in session.cluster.metadata.all_hosts()}
    assert all(latencies[simulated.nodes[number].address] for number in (0, 2))


def test_a_paused_node_does_not_hold_everybody_up(simulated: SimulatedCluster, session: Session) -> None:
    """It gets its part of what is in flight, and no more: the others go on."""
    prepared = session.prepare(SELECT)
    forget(session)
    simulated.clear_requests()
    paused = simulated.nodes[2]
    paused.pause()
    futures, ended = [], []
    try:
        for key in range(COUNT):
            future = session.execute_async(prepared, (key,), timeout=None)
            future.add_callbacks(ended.append, ended.append)
            futures.append(future)
            eventually(lambda: len(futures) - len(ended) < 15)
    finally:
        paused.resume()
    for future in futures:
        future.result()
    counts = by_node(simulated)
    assert counts.total() == COUNT
    assert counts[2] <= 15


def test_many_at_a_time(simulated: SimulatedCluster, session: Session) -> None:
    prepared = session.prepare(SELECT)
    simulated.clear_requests()
    found = execute_concurrent_with_args(session, prepared, [(key,) for key in range(200)])
    assert all(one.success for one in found)
    assert by_node(simulated).total() == 200
    assert all(policy_of(session).latency(host) for host in session.cluster.metadata.all_hosts())


def test_answers_are_measured_to_their_arrival(simulated: SimulatedCluster, session: Session) -> None:
    """Whoever asks for them when: an application that is busy makes no node slow."""
    prepared = session.prepare(SELECT)
    policy = forget(session)
    future = session.execute_async(prepared, (1,))
    host = future.attempted_hosts[0]
    eventually(lambda: session._pools[host].in_flight == 0)  # it is here
    came = time.monotonic()
    time.sleep(1.0)
    future.result()
    latency = policy.latency(host)
    assert latency is not None and latency < time.monotonic() - came


def test_other_requests_are_as_ever(simulated: SimulatedCluster) -> None:
    cluster = Cluster(simulated.contact_points, port=simulated.port)
    try:
        session = cluster.connect()
        prepared = session.prepare(SELECT)
        for future in (session.execute_async(prepared, (1,)), session.execute_async("SELECT * FROM ks.t")):
            assert type(future) is ResponseFuture
            future.result()
    finally:
        cluster.shutdown()
