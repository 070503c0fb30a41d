"""Batches on a real server: logged, unlogged, counter, conditional; combinations that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import ConsistencyLevel, InvalidRequest, Unavailable, UnsupportedOperation
from cassandra.cluster import Session
from cassandra.policies import FallthroughRetryPolicy
from cassandra.query import BatchStatement, BatchType, SimpleStatement
from tests.integration.conftest import Connect, create_keyspace


@pytest.fixture(scope="module", autouse=True)
def tables(session: Session) -> None:
    session.execute("CREATE TABLE kv (p int, k int, v text, PRIMARY KEY (p, k))")
    session.execute("CREATE TABLE counts (k int PRIMARY KEY, c counter)")


def keys(session: Session, partition: int) -> list[int]:
    return [row.k for row in session.execute("SELECT k FROM kv WHERE p = %s", (partition,))]


@pytest.mark.parametrize("kind", [BatchType.LOGGED, BatchType.UNLOGGED])
def test_every_kind_of_statement_in_one(session: Session, kind: BatchType) -> None:
    partition = kind.value + 1
    insert = session.prepare("INSERT INTO kv (p, k, v) VALUES (?, ?, ?)")
    batch = BatchStatement(kind)
    batch.add(f"INSERT INTO kv (p, k) VALUES ({partition}, 1)")
    batch.add("INSERT INTO kv (p, k, v) VALUES (%s, %s, %s)", (partition, 2, "it's"))
    batch.add("INSERT INTO kv (p, k) VALUES (%(p)s, %(k)s)", {"p": partition, "k": 3})
    batch.add(SimpleStatement("INSERT INTO kv (p, k) VALUES (%s, 4)"), (partition,))
    batch.add(insert, (partition, 5, "five"))
    batch.add(insert, {"p": partition, "k": 6, "v": None})
    batch.add(insert.bind((partition, 7, "seven")))
    batch.add(insert, (partition, 8))
    result = session.execute(batch)
    assert list(result) == []
    assert keys(session, partition) == list(range(1, 9))


def test_a_batch_may_be_executed_again(session: Session) -> None:
    batch = BatchStatement().add("INSERT INTO kv (p, k) VALUES (10, 1)")
    session.execute(batch)
    session.execute("DELETE FROM kv WHERE p = 10")
    session.execute(batch)
    assert keys(session, 10) == [1]


def test_counters(session: Session) -> None:
    update = session.prepare("UPDATE counts SET c = c + ? WHERE k = ?")
    batch = BatchStatement(BatchType.COUNTER)
    for key in (1, 2, 1):
        batch.add(update, (5, key))
    session.execute(batch)
    assert {row.k: row.c for row in session.execute("SELECT k, c FROM counts")} == {1: 10, 2: 5}


def test_a_counter_in_another_batch(session: Session) -> None:
    batch = BatchStatement().add("UPDATE counts SET c = c + 1 WHERE k = 1")
    with pytest.raises(InvalidRequest, match=r"(?i)counter"):
        session.execute(batch)


def test_a_select_in_a_batch(session: Session) -> None:
    with pytest.raises(Exception, match=r"(?i)batch|select"):
        session.execute(BatchStatement().add("SELECT * FROM kv"))
    select = session.prepare("SELECT * FROM kv WHERE p = ?")
    with pytest.raises(InvalidRequest):
        session.execute(BatchStatement().add(select, (1,)))


def test_empty(session: Session) -> None:
    assert list(session.execute(BatchStatement())) == []


def test_thousands_of_statements(session: Session) -> None:
    insert = session.prepare("INSERT INTO kv (p, k) VALUES (?, ?)")
    batch = BatchStatement(BatchType.UNLOGGED)
    for key in range(2000):
        batch.add(insert, (20, key))
    session.execute(batch, timeout=30)
    assert len(keys(session, 20)) == 2000


def test_consistency(session: Session) -> None:
    batch = BatchStatement(consistency_level=ConsistencyLevel.THREE, retry_policy=FallthroughRetryPolicy())
    batch.add("INSERT INTO kv (p, k) VALUES (30, 1)")
    with pytest.raises(Unavailable) as caught:
        session.execute(batch)
    assert caught.value.consistency == ConsistencyLevel.THREE
    batch.consistency_level = ConsistencyLevel.ONE
    session.execute(batch)


def test_timestamps_of_statements(session: Session) -> None:
    batch = BatchStatement()
    batch.add("INSERT INTO kv (p, k, v) VALUES (40, 1, 'x') USING TIMESTAMP 5")
    batch.add("INSERT INTO kv (p, k, v) VALUES (40, 2, 'x') USING TIMESTAMP 6")
    session.execute(batch)
    assert [row[0] for row in session.execute("SELECT writetime(v) FROM kv WHERE p = 40")] == [5, 6]


def test_parameters_belong_to_add(session: Session) -> None:
    batch = BatchStatement().add("INSERT INTO kv (p, k) VALUES (50, 1)")
    with pytest.raises(ValueError):
        session.execute(batch, (1,))


def test_tracing_and_payload(session: Session) -> None:
    batch = BatchStatement(custom_payload={"a": b"b"}).add("INSERT INTO kv (p, k) VALUES (60, 1)")
    future = session.execute_async(batch, trace=True)
    future.result()
    assert len(future.get_query_trace_ids()) == 1


@pytest.mark.parametrize("version", [3, 4, 5])
def test_every_protocol(cluster_to: Connect, cassandra_node: Any, keyspace: str, version: int) -> None:
    session = cluster_to(cassandra_node, protocol_version=version).connect(keyspace)
    insert = session.prepare("INSERT INTO kv (p, k, v) VALUES (?, ?, ?)")
    batch = (
        BatchStatement()
        .add(insert, (70 + version, 1, "x"))
        .add("INSERT INTO kv (p, k) VALUES (%s, 2)", (70 + version,))
    )
    session.execute(batch)
    assert keys(session, 70 + version) == [1, 2]


def test_keyspace_on_protocol_5(cluster_to: Connect, cassandra_node: Any, keyspace: str, session: Session) -> None:
    """It is the keyspace of its texts, else the session's; the keyspaces of bound statements do not count."""
    other = cluster_to(cassandra_node, protocol_version=5).connect()
    insert = other.prepare("INSERT INTO kv (p, k) VALUES (?, ?)", keyspace=keyspace)
    text = SimpleStatement("INSERT INTO kv (p, k) VALUES (90, 2)", keyspace=keyspace)
    other.execute(BatchStatement().add(insert, (90, 1)).add(text))
    assert keys(session, 90) == [1, 2]
    with pytest.raises(InvalidRequest, match=r"(?i)keyspace"):
        other.execute(BatchStatement().add(insert, (91, 1)).add("INSERT INTO kv (p, k) VALUES (91, 2)"))
    assert keys(session, 91) == []


@pytest.mark.parametrize("version", [4, 5])
def test_text_beside_bound_statements_of_another_keyspace(
    cluster_to: Connect, cassandra_node: Any, keyspace: str, session: Session, version: int
) -> None:
    create_keyspace(session, "it_batch_other")
    session.execute("CREATE TABLE it_batch_other.kv (p int, k int, v text, PRIMARY KEY (p, k))")
    here = cluster_to(cassandra_node, protocol_version=version).connect(keyspace)
    there = here.prepare("INSERT INTO it_batch_other.kv (p, k) VALUES (?, ?)")
    key = 100 + version
    here.execute(BatchStatement().add(there, (key, 1)).add(f"INSERT INTO kv (p, k) VALUES ({key}, 2)"))
    assert keys(session, key) == [2]
    assert list(session.execute(f"SELECT k FROM it_batch_other.kv WHERE p = {key}")) == [(1,)]
    batch = BatchStatement().add(f"INSERT INTO kv (p, k) VALUES ({key}, 3)")
    batch.add(SimpleStatement(f"INSERT INTO kv (p, k) VALUES ({key}, 4)", keyspace="it_batch_other"))
    with pytest.raises(UnsupportedOperation, match="several"):
        here.execute(batch)
    assert keys(session, key) == [2]
    session.execute("DROP KEYSPACE it_batch_other", timeout=30)
