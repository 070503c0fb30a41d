"""A keyspace that is dropped and created again: sessions that use it go on as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import NoHostAvailable, Session
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Hold
from tests.simulated.conftest import Connect, eventually

pytestmark = pytest.mark.long

KEYSPACE = "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
TABLE = "CREATE TABLE ks.t (id int PRIMARY KEY, v int)"
IN_AN_HOUR = ConstantReconnectionPolicy(3600)
OPTIONS: list[dict[str, Any]] = [{}, {"schema_metadata_enabled": False}]


@pytest.fixture(params=OPTIONS, ids=["schema", "no schema"])
def session(simulated: SimulatedCluster, connect: Connect, request: pytest.FixtureRequest) -> Session:
    """In the keyspace ``ks``; reconnection attempts wait for an hour."""
    simulated.execute(KEYSPACE)
    simulated.execute(TABLE)
    return connect(simulated, "ks", reconnection_policy=IN_AN_HOUR, schema_event_refresh_window=0, **request.param)


def again(simulated: SimulatedCluster) -> None:
    simulated.execute(KEYSPACE)
    simulated.execute(TABLE)


def works(session: Session) -> bool:
    session.execute("INSERT INTO t (id, v) VALUES (1, 1)")
    return session.execute("SELECT v FROM t WHERE id = 1").one() == (1,)


def has_all_connections(session: Session) -> Callable[[], bool]:
    """Also to every shard."""

    def check() -> bool:
        pools = session._pools
        wanted = len(session.cluster.metadata.all_hosts())
        return len(pools) == wanted and all(pool.open_count == 4 for pool in pools.values())

    return check


def test_with_the_connections_there_were(simulated: SimulatedCluster, session: Session) -> None:
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    simulated.execute("DROP KEYSPACE ks")
    with pytest.raises(InvalidRequest):
        session.execute("SELECT v FROM t WHERE id = 1")
    again(simulated)
    assert works(session)
    session.execute(insert, (2, 2))


def test_with_connections_that_were_lost_meanwhile(simulated: SimulatedCluster, session: Session) -> None:
    eventually(has_all_connections(session))
    simulated.execute("DROP KEYSPACE ks")
    for node in simulated.nodes:
        node.drop_connections()
    eventually(lambda: not any(pool.open_count for pool in session._pools.values()))
    with pytest.raises((InvalidRequest, NoHostAvailable)):
        session.execute("SELECT v FROM t WHERE id = 1")
    again(simulated)
    eventually(has_all_connections(session))
    assert works(session)
    assert all(host.is_up for host in session.cluster.metadata.all_hosts())


def test_with_events_that_were_missed(simulated: SimulatedCluster, session: Session) -> None:
    """Before and after, the schema has the keyspace; meanwhile hosts may be marked down, and wait for an hour."""
    eventually(has_all_connections(session))
    with simulated.inject(Hold(), query="FROM system_schema."), simulated.inject(Hold(), opcode="REGISTER"):
        simulated.execute("DROP KEYSPACE ks")
        for node in simulated.nodes[:2]:
            node.drop_connections()
        eventually(lambda: sum(pool.open_count for pool in session._pools.values()) <= 4)
        again(simulated)
    eventually(has_all_connections(session))
    assert works(session)
    assert all(host.is_up for host in session.cluster.metadata.all_hosts())


def test_with_nodes_that_were_restarted_meanwhile(simulated: SimulatedCluster, session: Session) -> None:
    simulated.execute("DROP KEYSPACE ks")
    hosts = session.cluster.metadata.all_hosts()
    node = simulated.nodes[1]
    host = next(host for host in hosts if host.address == node.address)
    node.kill()
    eventually(lambda: host.is_up is False)
    node.start()
    eventually(lambda: "does not exist" in str(session._pool_set.errors.get(host)))
    again(simulated)
    eventually(lambda: bool(host.is_up) and has_all_connections(session)())
    assert works(session)


def test_keyspace_recreated_by_another_session_is_used_again(simulated: SimulatedCluster, session: Session) -> None:
    """Of the same cluster."""
    other = session.cluster.connect(wait_for_all_pools=True)
    eventually(has_all_connections(other))
    other.execute("DROP KEYSPACE ks")
    for pool in session._pools.values():
        for connection in pool.get_connections():
            connection.close()
    eventually(lambda: not any(pool.open_count for pool in session._pools.values()))
    other.execute(KEYSPACE)
    other.execute(TABLE)
    eventually(has_all_connections(session))
    assert works(session)
