"""lz4 and snappy, per frame (protocol 4) and per segment (protocol 5)."""

from __future__ import annotations

import os
from typing import Any

import pytest

from cassandra.cluster import Cluster, NoHostAvailable, Session
from tests.integration.conftest import Connect

COMBINATIONS = [(4, "lz4"), (4, "snappy"), (3, "lz4"), (5, "lz4"), (4, False), (5, False), (4, True), (5, True)]


@pytest.fixture(params=COMBINATIONS, ids=str)
def compressed(request: pytest.FixtureRequest, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> Session:
    version, compression = request.param
    return cluster_to(cassandra_node, protocol_version=version, compression=compression).connect(keyspace)


@pytest.fixture(scope="module", autouse=True)
def table(session: Session) -> None:
    session.execute("CREATE TABLE blobs (k int PRIMARY KEY, b blob)")


@pytest.mark.parametrize(
    "blob",
    [b"", b"a", b"a" * 600, b"ab" * 100_000, os.urandom(200_000), b"\x00" * 131_072, b"x" * 3_000_000],
    ids=len,
)
def test_round_trip(compressed: Session, blob: bytes) -> None:
    insert = compressed.prepare("INSERT INTO blobs (k, b) VALUES (1, ?)")
    compressed.execute(insert, (blob,), timeout=30)
    assert compressed.execute("SELECT b FROM blobs WHERE k = 1", timeout=30).one().b == blob


def test_many_at_once(compressed: Session) -> None:
    select = compressed.prepare("SELECT key, (text) ? AS t FROM system.local")
    texts = [str(n) * (n % 97) * 20 for n in range(1000)]
    futures = [compressed.execute_async(select, (text,)) for text in texts]
    assert [future.result().one().t for future in futures] == texts


def bytes_received(cluster: Cluster) -> int:
    (session,) = cluster.sessions
    (pool,) = session.get_pools()
    return sum(connection.channel.bytes_received for connection in pool.get_connections())


@pytest.mark.parametrize("version", [4, 5])
def test_it_is_smaller(cluster_to: Connect, cassandra_node: Any, keyspace: str, version: int) -> None:
    received = {}
    for compression in ("lz4", False):
        cluster = cluster_to(cassandra_node, protocol_version=version, compression=compression)
        session = cluster.connect(keyspace)
        session.execute("INSERT INTO blobs (k, b) VALUES (2, %s)", (b"z" * 100_000,))
        before = bytes_received(cluster)
        assert len(session.execute("SELECT b FROM blobs WHERE k = 2").one().b) == 100_000
        received[compression] = bytes_received(cluster) - before
    assert received["lz4"] < 10_000 < 100_000 < received[False]


def test_an_algorithm_that_does_not_exist(cluster_to: Connect, cassandra_node: Any) -> None:
    with pytest.raises((ValueError, NoHostAvailable)):
        cluster_to(cassandra_node, compression="zstd").connect()


def test_snappy_is_not_for_protocol_5(cluster_to: Connect, cassandra_node: Any) -> None:
    """Segments are compressed with lz4 or not at all."""
    try:
        session = cluster_to(cassandra_node, protocol_version=5, compression="snappy").connect()
    except (NoHostAvailable, ValueError) as error:
        assert "snappy" in str(error)
    else:
        assert session.execute("SELECT key FROM system.local").one()
