"""Cached statements of a real Cassandra: reads by Zipf's law beside writes of the session and of another client."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.query import named_tuple_factory, tuple_factory
from tests.servers import ServerCluster

KEYS, TTL, READS = 200, 0.5, 4000
LOCAL = "SELECT cluster_name, host_id, release_version, tokens FROM system.local WHERE key = ?"  # these do not change


@pytest.fixture
def session(cassandra_node: ServerCluster) -> Any:
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        session = cluster.connect()
        session.execute(
            "CREATE KEYSPACE IF NOT EXISTS caching WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )
        session.set_keyspace("caching")
        session.execute("DROP TABLE IF EXISTS counted")
        session.execute("CREATE TABLE counted (k int PRIMARY KEY, own int, others int)")
        yield session
        session.execute("DROP KEYSPACE caching")


def test_no_read_is_older_than_its_limit_and_none_hides_a_write(
    session: Session, cassandra_node: ServerCluster
) -> None:
    """Values only grow. The session writes ``own`` and knows what it wrote last: a read may not return less. Another
    client writes ``others``, and notes when each value was stored: a read may not return less than was stored TTL
    seconds before it began."""
    own = session.prepare("UPDATE counted SET own = ? WHERE k = ?")
    cached = session.cached(session.prepare("SELECT own, others FROM counted WHERE k = ?"), ttl=TTL)
    for k in range(KEYS):
        session.execute(own, (0, k))
    written = [0] * KEYS
    stored: list[list[tuple[float, int]]] = [[(0.0, 0)] for _ in range(KEYS)]
    weights = [1 / (rank + 1) ** 0.99 for rank in range(KEYS)]
    wrong: list[Any] = []
    over = threading.Event()

    def write_others() -> None:
        chosen = random.Random(1)
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            other = cluster.connect("caching")
            update = other.prepare("UPDATE counted SET others = ? WHERE k = ?")
            value = 0
            while not over.is_set():
                (k,) = chosen.choices(range(KEYS), weights)
                value += 1
                other.execute(update, (value, k))
                stored[k].append((time.monotonic(), value))

    def read(seed: int) -> None:
        chosen = random.Random(seed)
        for _ in range(READS):
            (k,) = chosen.choices(range(KEYS), weights)
            if k % 2 == seed and chosen.random() < 0.1:  # each key has one writer
                session.execute(own, (written[k] + 1, k))
                written[k] += 1
            least_own, began = written[k], time.monotonic()
            row = cached.execute((k,)).one()
            least = max((value for at, value in list(stored[k]) if at <= began - TTL), default=0)
            if row.own < least_own or (row.others or 0) < least:
                wrong.append((k, row, least_own, least))

    others = threading.Thread(target=write_others)
    readers = [threading.Thread(target=read, args=(seed,)) for seed in range(2)]
    for thread in (others, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    over.set()
    others.join()
    assert not wrong
    found = cached.statistics()
    assert found.hits > READS / 4 and found.invalidations > 10


def test_a_compressed_connection_and_each_protocol(cassandra_node: ServerCluster) -> None:
    for version in (4, 5):
        options = {"port": cassandra_node.port, "protocol_version": version}
        with Cluster(cassandra_node.contact_points, **options) as cluster:
            session = cluster.connect()
            local = session.cached(session.prepare(LOCAL), ttl=60)
            rows = [local.execute(("local",)).one() for _ in range(3)]
            assert rows[0] == rows[1] == rows[2] == session.execute(local.statement, ("local",), trace=True).one()
            assert local.statistics().hits == 2


@pytest.mark.parametrize("version", [4, 5])
def test_columns_that_change(session: Session, cassandra_node: ServerCluster, version: int) -> None:
    """Protocol 4 sends the columns with each response, protocol 5 only if they have changed."""

    def named(names: list[str], rows: list[Any]) -> list[dict[str, Any]]:
        return [dict(zip(names, row, strict=True)) for row in rows]

    with Cluster(cassandra_node.contact_points, port=cassandra_node.port, protocol_version=version) as cluster:
        mine = cluster.connect("caching")
        every = mine.cached(mine.prepare("SELECT * FROM counted WHERE k = ?"), ttl=60)
        for k in (1, 2):
            mine.execute("INSERT INTO counted (k, own) VALUES (%s, 5)", (k,))
        assert every.execute((1,), row_factory=named).all() == [{"k": 1, "own": 5, "others": None}]
        session.execute("ALTER TABLE counted ADD another int")
        session.execute("UPDATE counted SET another = 7 WHERE k = 2")
        for _ in range(3):
            for k in (2, 1):
                for factory in (named, tuple_factory, named_tuple_factory):
                    result = every.execute((k,), row_factory=factory)
                    (row,) = result.all()
                    assert result.column_names is not None and len(row) == len(result.column_names)
            assert every.execute((1,), row_factory=named).one()["own"] == 5
