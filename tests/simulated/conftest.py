"""Fixtures of the tests of :mod:`cassandra.testing`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from cassandra._net import health
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster, SimulatedNode

Connect = Callable[..., Session]
DEADLINE = 30


def eventually(check: Callable[[], bool]) -> None:
    """Wait until *check* holds; fail after 30 s."""
    deadline, pause = time.monotonic() + DEADLINE, threading.Event()
    while not check():
        assert time.monotonic() < deadline, "30 s were not enough"
        pause.wait(0.02)


def with_table(simulated: SimulatedCluster, factor: int = 2) -> None:
    """Create the table ks.t."""
    simulated.execute(
        f"CREATE KEYSPACE ks WITH replication = {{'class': 'NetworkTopologyStrategy', 'replication_factor': {factor}}}"
    )
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")


def host_of(session: Session, node: SimulatedNode) -> Any:
    """The host in the metadata; None if it is not there."""
    return session.cluster.metadata.get_host_by_host_id(node.host_id)


def other_node(session: Session, simulated: SimulatedCluster) -> SimulatedNode:
    """A node without the control connection."""
    control = session.cluster.get_control_connection_host()
    return next(node for node in simulated.nodes if control is None or node.host_id != control.host_id)


@pytest.fixture(autouse=True)
def _patient_with_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers and client share an interpreter: one that is slow is no sign of a server that is silent."""
    monkeypatch.setattr(health, "QUIET", float(DEADLINE))


@pytest.fixture
def simulated(no_leaks: None) -> Iterator[SimulatedCluster]:
    """Three nodes with four shards each."""
    with SimulatedCluster(nodes=3, shards=4) as cluster:
        yield cluster


@pytest.fixture
def connect() -> Iterator[Connect]:
    """``connect(simulated, **options of Cluster)`` gives a session; its cluster is shut down after the test."""
    with ExitStack() as stack:

        def connected(simulated: SimulatedCluster, keyspace: str | None = None, **options: Any) -> Session:
            windows = {"topology_event_refresh_window": 0, "status_event_refresh_window": 0}  # no waiting for more
            cluster = Cluster(simulated.contact_points, **{"port": simulated.port, **windows, **options})
            stack.callback(cluster.shutdown)
            return cluster.connect(keyspace, wait_for_all_pools=True)  # faults send requests to the others

        yield connected


@pytest.fixture
def session(simulated: SimulatedCluster, connect: Connect) -> Session:
    """A session of this driver, in keyspace ``ks``, which has 8 tablets per table and two replicas of each."""
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
        "AND tablets = {'initial': 8}"
    )
    return connect(simulated, "ks")
