"""After every kind of use nothing is left. A module of its own: no cluster of other tests lives beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import Cluster, Session
from cassandra.query import BatchStatement, SimpleStatement
from tests.integration.conftest import create_keyspace

KEYSPACE = "it_nothing_left"


@pytest.fixture
def keyspace(cassandra_node: Any) -> Iterator[str]:
    """Made and dropped by clusters that are shut down when the test runs."""
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        session = cluster.connect()
        create_keyspace(session, KEYSPACE)
        session.execute(f"CREATE TABLE {KEYSPACE}.kv (k int PRIMARY KEY, v text)")
        session.execute(f"CREATE TABLE {KEYSPACE}.wide (p int, c int, PRIMARY KEY (p, c))")
        for c in range(5):
            session.execute(f"INSERT INTO {KEYSPACE}.wide (p, c) VALUES (1, {c})")
    yield KEYSPACE
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        cluster.connect().execute(f"DROP KEYSPACE {KEYSPACE}")


def test_nothing_is_left(cassandra_node: Any, keyspace: str, no_leaks: None) -> None:
    """No thread, descriptor or native object."""

    async def awaits(session: Session) -> int:
        statement = SimpleStatement("SELECT c FROM wide WHERE p = 1", fetch_size=2)
        return sum([1 async for _ in await session.execute_async(statement)])

    for _ in range(5):
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            session = cluster.connect(keyspace)
            insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
            session.execute(BatchStatement().add(insert, (1, "x")))
            half_read = session.execute(SimpleStatement("SELECT c FROM wide", fetch_size=2))
            next(half_read)
            assert asyncio.run(awaits(session)) == 5
            with pytest.raises(OperationTimedOut):
                session.execute("SELECT * FROM wide", timeout=0)
            futures = [session.execute_async(insert, (n, "y")) for n in range(100)]
            futures[0].add_callback(lambda rows: None)
            session.execute_async(insert, (1, "z"))
    del cluster, session, insert, half_read, futures
