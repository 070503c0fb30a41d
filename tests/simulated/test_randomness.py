"""Random numbers of the program: driver threads leave its generator alone."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect, eventually


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    state = random.getstate()
    yield
    random.setstate(state)


def test_random_numbers_do_not_depend_on_the_driver(simulated: SimulatedCluster, connect: Connect) -> None:
    """Connections to all shards, events, and a connection that is lost and replaced draw delays."""
    random.seed(1)
    state = random.getstate()
    session = connect(simulated, status_event_refresh_window=0.001, schema_event_refresh_window=0.001)
    pools = session.get_pools()
    eventually(lambda: all(pool.open_count == 4 for pool in pools))
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    eventually(lambda: "ks" in session.cluster.metadata.keyspaces)
    for connection in next(iter(pools)).get_connections():
        connection.close()
    eventually(lambda: all(pool.open_count == 4 for pool in pools))
    assert random.getstate() == state
