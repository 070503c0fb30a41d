"""What a session says that takes no requests any more: something that works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.testing import SimulatedCluster

SELECT = "SELECT key FROM system.local WHERE key = ?"


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(1, 1) as cluster:
        yield cluster


def texts_of(session: Any, prepared: Any) -> set[str]:
    """What each kind of request is refused with."""
    asking = [
        lambda: session.execute("SELECT key FROM system.local"),
        lambda: session.execute(prepared, ("local",)),
        lambda: session.prepare(SELECT),
        lambda: execute_concurrent_with_args(session, prepared, [("local",)]),
        lambda: session.prefetch_tablets("ks", "t"),
    ]
    said = set()
    for ask in asking:
        with pytest.raises(NoHostAvailable) as caught:
            ask()
        said.add(str(caught.value.args[0]))
    return said


def test_a_session_that_is_shut_down(simulated: SimulatedCluster) -> None:
    with Cluster(simulated.contact_points, port=simulated.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(SELECT)
        session.shutdown()
        assert texts_of(session, prepared) == {"The session is shut down; open a new one with Cluster.connect()."}
        assert cluster.connect().execute(prepared, ("local",)).one()


def test_a_session_of_a_cluster_that_is_shut_down(simulated: SimulatedCluster) -> None:
    with Cluster(simulated.contact_points, port=simulated.port) as cluster:
        session = cluster.connect()
        prepared = session.prepare(SELECT)
    assert texts_of(session, prepared) == {"The cluster is shut down, and so are its sessions; make a new Cluster."}
    with Cluster(simulated.contact_points, port=simulated.port) as cluster:
        assert cluster.connect().execute("SELECT key FROM system.local").one()
