"""repr and _repr_html_ of results, scans, clusters and schema objects: they show what is there, and send nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Thread
from typing import Any

import pandas as pd
import pytest

from cassandra import InvalidRequest
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, Session
from cassandra.column_encryption.policies import AES256ColumnEncryptionPolicy
from cassandra.cqlengine import columns
from cassandra.cqlengine.connection import register_connection, unregister_connection
from cassandra.cqlengine.models import Model
from cassandra.metadata import KeyspaceMetadata, TableMetadata
from cassandra.policies import ColDesc
from cassandra.protocol import ServerError
from cassandra.query import PreparedStatement, class_row, dict_factory, named_tuple_factory, tuple_factory
from cassandra.scan import Count, col
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail
from tests.simulated.conftest import Connect

TABLE = "CREATE TABLE ks.t (id int, at bigint, name text, tags list<text>, PRIMARY KEY (id, at))"
PAGE = 7
ROWS = 30
HOSTILE = '<script>alert("x")</script>\u202e\x1b[31m'


@dataclass
class Row:
    id: int
    at: int


class Thing(Model):
    __table_name__ = "t"
    __keyspace__ = "ks"
    id = columns.Integer(partition_key=True)
    at = columns.BigInt(primary_key=True)
    name = columns.Text()
    tags = columns.List(columns.Text)


def frame_factory(names: list[str], rows: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=names)


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TYPE ks.address (street text, zip int)")
    simulated.execute(TABLE)
    session.cluster.refresh_schema_metadata()
    insert = session.prepare("INSERT INTO t (id, at, name, tags) VALUES (1, ?, ?, ?)")
    for at in range(ROWS):
        session.execute(insert, (at, HOSTILE if at == 1 else None if at == 2 else f"name {at}", ["a"] * at))
    session.default_fetch_size = PAGE
    simulated.clear_requests()
    return session


@pytest.fixture
def mapped(table: Session) -> Iterator[Session]:
    register_connection("shown", session=table, default=True)
    yield table
    unregister_connection("shown")


def shown(*objects: Any) -> list[str]:
    return [text for found in objects for text in (repr(found), found._repr_html_())]


def first_column(result: Any) -> list[int]:
    lines = repr(result).splitlines()
    return [int(line.split(" | ")[0]) for line in lines[4:] if not line.startswith("(")]


@pytest.mark.parametrize("factory", [named_tuple_factory, tuple_factory, dict_factory, class_row(Row), frame_factory])
def test_first_rows_of_a_result(table: Session, factory: Any) -> None:
    result = table.execute("SELECT at, id FROM t", row_factory=factory)
    lines = repr(result).splitlines()
    assert lines[0].endswith(", and there are more>") and lines[-1] == "(there are more pages)"
    assert lines[1].split() == ["at", "|", "id"] and lines[2].split() == ["bigint", "|", "int"]
    assert first_column(result) == list(range(PAGE))


@pytest.mark.parametrize("factory", [named_tuple_factory, tuple_factory, dict_factory, class_row(Row)])
def test_showing_consumes_and_requests_nothing(table: Session, simulated: SimulatedCluster, factory: Any) -> None:
    result = table.execute("SELECT at, id FROM t", row_factory=factory, prefetch=0)
    sent = len(simulated.statements())
    for _ in range(3):
        shown(result)
    assert len(simulated.statements()) == sent
    count = 0
    for _ in result:
        count += 1
        shown(result)
    assert count == ROWS and len(simulated.statements()) == sent + ROWS // PAGE
    assert repr(result).splitlines()[-1] == "(all rows were read)"


def test_the_page_that_was_turned_to_is_shown(table: Session) -> None:
    result = table.execute("SELECT at, id FROM t")
    result.fetch_next_page()
    assert first_column(result) == list(range(PAGE, 2 * PAGE))
    assert result[0].at == PAGE and first_column(result) == list(range(PAGE, PAGE + 10))
    assert "more rows in this page" in repr(result)


def test_joined_pages_of_objects(table: Session) -> None:
    result = table.execute("SELECT at, id FROM t", row_factory=class_row(Row))
    assert result[ROWS - 1].at == ROWS - 1
    assert repr(result).splitlines() == [
        f"<ResultSet: {ROWS} rows>",
        " at     | id",
        " bigint | int",
        "--------+-----",
        "(the rows are objects of Row)",
    ]


@pytest.mark.parametrize("size", [5_000, 100_000, 3_000_000])
def test_pages_that_are_decoded_when_they_are_read(table: Session, size: int) -> None:
    """Only the first rows of a large page are decoded, and columns and rows can be read later."""
    table.default_fetch_size = None
    table.execute("INSERT INTO t (id, at, name) VALUES (1, %s, %s)", (ROWS, "x" * size))
    result = table.execute("SELECT at, name FROM t")
    assert first_column(result) == list(range(10))
    assert f"({ROWS + 1 - 10} more rows in this page)" in repr(result)
    assert result.to_arrow().num_rows == ROWS + 1
    assert [row.at for row in result] == list(range(ROWS + 1))


def test_hostile_text_is_escaped(table: Session) -> None:
    result = table.execute("SELECT name FROM t")
    text, html = shown(result)
    assert all(line.isprintable() for line in text.splitlines())
    assert "<script" not in html and "&lt;script&gt;alert(&quot;x&quot;)" in html and html.isprintable()


def test_results_without_rows(table: Session) -> None:
    written = table.execute("INSERT INTO t (id, at) VALUES (9, 9)")
    assert repr(written) == "<ResultSet: 0 rows>"
    none = table.execute("SELECT id FROM t WHERE id = 77")
    assert repr(none).splitlines() == ["<ResultSet: 0 rows>", " id", " int", "-----"]


def test_a_page_that_fails_is_not_shown(table: Session, simulated: SimulatedCluster) -> None:
    result = table.execute("SELECT at, id FROM t", prefetch=0)
    before = repr(result)
    with simulated.inject(Fail(errors.ServerError("broken")), query="SELECT at"):
        with pytest.raises(ServerError):
            result.fetch_next_page()
        assert repr(result) == before


def test_failed_futures(table: Session) -> None:
    future = table.execute_async("SELECT nothing FROM t")
    with pytest.raises(InvalidRequest):
        future.result()
    assert "nothing" in repr(future)


def test_encrypted_columns_are_hidden(simulated: SimulatedCluster, connect: Connect) -> None:
    policy = AES256ColumnEncryptionPolicy()
    policy.add_column(ColDesc("ks", "secrets", "secret"), os.urandom(32), "text")
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
    )
    simulated.execute("CREATE TABLE ks.secrets (id int PRIMARY KEY, secret blob)")
    session = connect(simulated, "ks", column_encryption_policy=policy)
    insert = session.prepare("INSERT INTO secrets (id, secret) VALUES (?, ?)")
    session.execute(insert, (1, "password1"))
    result = session.execute("SELECT id, secret FROM secrets")
    text, html = shown(result)
    assert "password1" not in text + html and "<encrypted>" in text and "&lt;encrypted&gt;" in html
    for number in range(100):
        session.execute(insert, (number, "password1" + "x" * 100))
    large = session.execute("SELECT id, secret FROM secrets")
    assert "password1" not in "".join(shown(large)) and len(large.all()) == 100


def test_several_threads_show_and_read_a_result(table: Session) -> None:
    result = table.execute("SELECT at, id FROM t")
    texts: list[str] = []
    read: list[int] = []

    def show() -> None:
        for _ in range(200):
            texts.extend(shown(result))

    def take() -> None:
        read.extend(row.at for row in result)

    threads = [Thread(target=target) for target in (show, take, show, take)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(read) == set(range(ROWS))
    assert not any("cannot be shown" in text for text in texts)


# ---- scans


def test_scans_show_their_columns(table: Session, simulated: SimulatedCluster) -> None:
    scan = table.scan("t", columns=["name", "writetime(name) AS written"], filter=col("at") > 3)
    assert repr(scan) == "<Scan of ks.t: name text, writetime(name) AS written>"
    assert "to_duckdb()" in scan._repr_html_()  # type: ignore[attr-defined]
    select = table.prepare("SELECT at, name FROM t WHERE id = ?")
    prepared = table.scan(table.prepare("SELECT id, tags FROM t"))
    assert repr(prepared) == "<Scan of ks.t: id, tags>" or "id int" in repr(prepared)
    simulated.clear_requests()
    ordered = table.scan_order(select, [(1,), (2,)])
    assert repr(ordered) == "<OrderedScan of 2 partitions of ks.t by at ASC>"
    assert "bigint" in ordered._repr_html_()  # type: ignore[attr-defined]
    shown(scan, ordered, prepared)
    assert simulated.statements() == []
    simulated.execute("DROP TABLE ks.t")
    table.cluster.refresh_schema_metadata()
    assert not any("cannot be shown" in text for text in shown(scan, ordered, prepared))


def test_explanations(table: Session) -> None:
    explanation = table.scan("t", where=("at = ? ALLOW FILTERING", [5])).explain(Count())
    text, html = shown(explanation)
    assert text.startswith("<Explanation: ") and "first replica" in html and "Count()" in html
    assert "ALLOW FILTERING" in html


# ---- the mapper


def test_query_sets_are_not_executed(mapped: Session, simulated: SimulatedCluster) -> None:
    query = Thing.objects(id=1).limit(3)
    text, html = shown(query)
    assert (
        text.startswith('<ModelQuerySet: SELECT "at", "name", "tags" FROM ks.t WHERE "id" = ')
        and "not executed yet" in html
    )
    assert simulated.statements() == []
    assert len(query) == 3
    sent = len(simulated.statements())
    html = query._repr_html_()
    assert "name 0" in html and "&lt;script&gt;" in html and len(simulated.statements()) == sent
    values = Thing.objects(id=1).limit(2).values_list("at", "name")
    assert len(values) == 2 and "name 0" in values._repr_html_()
    assert "SELECT" in Thing.objects(id=1).explain()._repr_html_()


# ---- clusters, sessions and the schema


def test_cluster_session_and_hosts(table: Session, simulated: SimulatedCluster) -> None:
    cluster = table.cluster
    assert repr(cluster) == "<Cluster 'simulated': 3 of 3 hosts up, 1 session>"
    assert repr(table) == "<Session of cluster 'simulated', keyspace ks: 3 connected hosts>"
    assert repr(cluster.metadata).startswith("<Metadata of 'simulated': 3 hosts, ")
    for found in (cluster, table, cluster.metadata):
        html = found._repr_html_()  # type: ignore[attr-defined]
        assert all(str(host.endpoint) in html for host in cluster.metadata.all_hosts())
    host = cluster.metadata.all_hosts()[0]
    assert repr(host).startswith("<Host: ") and "dc1" in host._repr_html_()  # type: ignore[attr-defined]
    shown(cluster, table, cluster.metadata, host)
    assert simulated.statements() == []


def test_schema(table: Session) -> None:
    keyspace = table.cluster.metadata.keyspaces["ks"]
    assert repr(keyspace) == "<KeyspaceMetadata ks: NetworkTopologyStrategy dc1: 2>"
    assert "id, at" in keyspace._repr_html_() and "address" in keyspace._repr_html_()  # type: ignore[attr-defined]
    found = keyspace.tables["t"]
    assert repr(found) == (
        "<TableMetadataV3 ks.t: PRIMARY KEY (id, at), id int, at bigint, name text, tags list<text>>"
    )
    assert "clustering key ASC" in found._repr_html_()  # type: ignore[attr-defined]
    assert repr(found.columns["tags"]) == "<ColumnMetadata tags list<text>>"
    assert repr(keyspace.user_types["address"]) == "<UserType ks.address: street text, zip int>"
    shown(found.columns["at"], keyspace.user_types["address"])


def test_prepared_statements(table: Session) -> None:
    prepared = table.prepare("SELECT at, tags FROM t WHERE id = ?")
    text, html = shown(prepared)
    assert text == '<PreparedStatement query="SELECT at, tags FROM t WHERE id = ?", consistency=Not Set>'
    assert "partition key" in html and "list&lt;text&gt;" in html


def test_after_shutdown(table: Session) -> None:
    cluster, prepared = table.cluster, table.prepare("SELECT at FROM t WHERE id = ?")
    result, scan = table.execute("SELECT at, id FROM t"), table.scan("t")
    rows = first_column(result)
    cluster.shutdown()
    assert repr(cluster) == "<Cluster 'simulated': shut down>" and repr(table).endswith(": shut down>")
    assert first_column(result) == rows
    texts = shown(cluster, table, cluster.metadata, result, scan, prepared)
    assert not any("cannot be shown" in text for text in texts)


def test_before_connecting_and_without_constructor() -> None:
    with Cluster(["127.0.0.1"]) as cluster:
        assert repr(cluster) == "<Cluster: not connected>"
        shown(cluster, cluster.metadata)
    for cls in (Cluster, Session, PreparedStatement, KeyspaceMetadata, TableMetadata):
        shown(cls.__new__(cls))
    assert repr(Session.__new__(Session)) == "<Session, which cannot be shown: AttributeError>"


def test_no_credentials(simulated: SimulatedCluster, connect: Connect) -> None:
    provider = PlainTextAuthProvider("user1", "password1")
    session = connect(simulated, auth_provider=provider)
    assert not any("password1" in text or "user1" in text for text in shown(session, session.cluster))
