"""Replicas as the driver computes them against those a real three-node cluster writes to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster, Session
from cassandra.metadata import Murmur3Token, group_keys_by_replica

KEYS = range(25)
KEYSPACES = {
    "replicas_s1": "{'class': 'SimpleStrategy', 'replication_factor': 1}",
    "replicas_s2": "{'class': 'SimpleStrategy', 'replication_factor': 2}",
    "replicas_n2": "{'class': 'NetworkTopologyStrategy', 'datacenter1': 2}",
    "replicas_n3": "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}",
}


@pytest.fixture(scope="module")
def session(cassandra_three: Any) -> Iterator[Session]:
    with Cluster(cassandra_three.contact_points, port=cassandra_three.port) as cluster, cluster.connect() as session:
        session.default_timeout = 30
        for name, replication in KEYSPACES.items():
            session.execute(f"DROP KEYSPACE IF EXISTS {name}")
            session.execute(f"CREATE KEYSPACE {name} WITH replication = {replication}")
            session.execute(f"CREATE TABLE {name}.t (a int, b text, v int, PRIMARY KEY ((a, b)))")
            session.execute(f"CREATE TABLE {name}.single (k int PRIMARY KEY)")
        yield session
        for name in KEYSPACES:
            session.execute(f"DROP KEYSPACE {name}")


def written_to(session: Session, trace_id: UUID, count: int) -> set[str]:
    """The nodes whose commit log a traced write reached, once there are *count* of them; traces are written late."""
    found: set[str] = set()
    for _ in range(200):
        rows = session.execute("SELECT source, activity FROM system_traces.events WHERE session_id = %s", (trace_id,))
        found = {row.source for row in rows if "Appending to commitlog" in row.activity}
        if len(found) >= count:
            break
        time.sleep(0.05)
    return found


@pytest.mark.parametrize(
    ("keyspace", "factor"), [("replicas_s1", 1), ("replicas_s2", 2), ("replicas_n2", 2), ("replicas_n3", 3)]
)
def test_the_server_writes_where_the_driver_expects(session: Session, keyspace: str, factor: int) -> None:
    prepared = session.prepare(f"INSERT INTO {keyspace}.t (a, b, v) VALUES (?, ?, ?)")
    prepared.consistency_level = ConsistencyLevel.ALL
    seen = set()
    for key in KEYS:
        bound = prepared.bind((key, f"key {key}", key))
        assert bound.routing_key is not None
        expected = session.cluster.metadata.get_replicas(keyspace, bound.routing_key)
        assert len(expected) == factor
        future = session.execute_async(bound, trace=True)
        future.result()
        addresses = {host.address for host in expected}
        assert future.coordinator_host in expected
        assert written_to(session, future.get_query_trace_ids()[0], factor) == addresses
        seen |= addresses
    assert len(seen) == 3


def test_tokens_are_the_servers(session: Session) -> None:
    rows = session.execute("SELECT a, b, token(a, b) AS hashed FROM replicas_s1.t").all()
    prepared = session.prepare("SELECT v FROM replicas_s1.t WHERE a = ? AND b = ?")
    assert len(rows) == len(KEYS)
    for row in rows:
        key = prepared.bind((row.a, row.b)).routing_key
        assert key is not None
        assert Murmur3Token.from_key(key).value == row.hashed


def test_the_ring_is_the_servers(session: Session) -> None:
    token_map = session.cluster.metadata.token_map
    assert token_map is not None
    owned: dict[str, set[str]] = {}
    for token, host in token_map.token_to_host_owner.items():
        owned.setdefault(host.address, set()).add(str(token.value))
    local = session.execute("SELECT broadcast_address, tokens FROM system.local").one()
    assert owned[local.broadcast_address] == set(local.tokens)
    assert len(owned) == 3


def test_keys_are_grouped_by_a_live_replica(session: Session) -> None:
    keys = [(key, f"key {key}") for key in KEYS]
    groups = group_keys_by_replica(session, "replicas_n2", "t", keys)
    assert sorted(key for group in groups.values() for key in group) == keys
    prepared = session.prepare("SELECT v FROM replicas_n2.t WHERE a = ? AND b = ?")
    for host, group in groups.items():
        for key in group:
            assert host in session.cluster.metadata.get_replicas("replicas_n2", prepared.bind(key).routing_key)
    singles = group_keys_by_replica(session, "replicas_n2", "single", [(key,) for key in KEYS])
    assert sum(map(len, singles.values())) == len(KEYS)
