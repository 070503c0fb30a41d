"""Protocols 3, 4 and 5, forced and negotiated, and what each of them cannot do."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import uuid4

import pytest

from cassandra import ProtocolVersion, UnsupportedOperation
from cassandra.cluster import NoHostAvailable
from cassandra.query import UNSET_VALUE, SimpleStatement
from cassandra.util import Date, Duration, Time
from tests.integration.conftest import Connect, create_keyspace


@pytest.fixture(params=[3, 4, 5])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_negotiates_the_highest(cluster_to: Connect, cassandra_node: Any) -> None:
    cluster = cluster_to(cassandra_node)
    cluster.connect()
    assert cluster.protocol_version == 5


def test_forced(cluster_to: Connect, cassandra_node: Any, version: int) -> None:
    cluster = cluster_to(cassandra_node, protocol_version=version)
    session = cluster.connect()
    assert cluster.protocol_version == version
    assert session.execute("SELECT native_protocol_version, key FROM system.local").one().key == "local"
    assert len(cluster.metadata.all_hosts()) == 1


def test_every_kind_of_request(cluster_to: Connect, cassandra_node: Any, keyspace: str, version: int) -> None:
    session = cluster_to(cassandra_node, protocol_version=version).connect(keyspace)
    table = f"t{version}"
    session.execute(f"CREATE TABLE {table} (k int PRIMARY KEY, l list<text>, m map<text, int>, d date, t time, u uuid)")
    insert = session.prepare(f"INSERT INTO {table} (k, l, m, d, t, u) VALUES (?, ?, ?, ?, ?, ?)")
    uuid = uuid4()
    row = (1, ["a"], {"x": 1}, Date(dt.date(2020, 1, 1)), Time(5), uuid)
    session.execute(insert, row)
    for key in range(2, 30):
        session.execute(f"INSERT INTO {table} (k) VALUES (%s)", (key,))
    assert session.execute(f"SELECT k, l, m, d, t, u FROM {table} WHERE k = 1").one() == row
    assert len(list(session.execute(SimpleStatement(f"SELECT k FROM {table}", fetch_size=4)))) == 29
    future = session.execute_async("SELECT key FROM system.local", trace=True)
    assert future.result().one()
    assert future.get_query_trace().events
    assert session.execute(f"INSERT INTO {table} (k) VALUES (1) IF NOT EXISTS").was_applied is False


def test_large_messages(cluster_to: Connect, cassandra_node: Any, keyspace: str, version: int) -> None:
    """Beyond one segment of protocol 5 (128 KiB), both ways."""
    session = cluster_to(cassandra_node, protocol_version=version).connect(keyspace)
    session.execute(f"CREATE TABLE large{version} (k int PRIMARY KEY, b blob)")
    insert = session.prepare(f"INSERT INTO large{version} (k, b) VALUES (?, ?)")
    for key, size in enumerate((131_000, 131_071, 131_072, 400_000, 5_000_000)):
        blob = bytes(range(256)) * (size // 256 + 1)
        session.execute(insert, (key, blob), timeout=30)
        assert session.execute(f"SELECT b FROM large{version} WHERE k = %s", (key,), timeout=30).one().b == blob


def test_many_requests_at_once(cluster_to: Connect, cassandra_node: Any, version: int) -> None:
    session = cluster_to(cassandra_node, protocol_version=version).connect()
    select = session.prepare("SELECT key, (int) ? AS n FROM system.local")
    futures = [session.execute_async(select, (n,)) for n in range(3000)]
    assert [future.result().one().n for future in futures] == list(range(3000))


class TestLimits:
    def test_unset_needs_4(self, cluster_to: Connect, cassandra_node: Any) -> None:
        session = cluster_to(cassandra_node, protocol_version=3).connect()
        select = session.prepare("SELECT key, (int) ? AS n FROM system.local")
        with pytest.raises(ValueError):
            select.bind((UNSET_VALUE,))
        with pytest.raises(ValueError):
            select.bind(())
        assert session.execute(select, (1,)).one().n == 1

    def test_duration_needs_5_on_the_wire_and_is_custom_before(
        self, cluster_to: Connect, cassandra_node: Any, version: int
    ) -> None:
        session = cluster_to(cassandra_node, protocol_version=version).connect()
        select = session.prepare("SELECT (duration) ? AS d FROM system.local")
        assert session.execute(select, (Duration(1, 2, 3),)).one().d == Duration(1, 2, 3)

    def test_statement_keyspace_needs_5(
        self, cluster_to: Connect, cassandra_node: Any, keyspace: str, version: int
    ) -> None:
        session = cluster_to(cassandra_node, protocol_version=version).connect()
        session.execute(f"CREATE TABLE IF NOT EXISTS {keyspace}.ks_test (k int PRIMARY KEY)")
        statement = SimpleStatement("SELECT * FROM ks_test", keyspace=keyspace)
        if version >= 5:
            assert session.execute(statement).one() is None
        else:
            with pytest.raises(Exception, match=r"(?i)keyspace"):
                session.execute(statement)

    @pytest.mark.parametrize("wrong", [0, 7, 66, -1])
    def test_versions_there_are_not(self, cluster_to: Connect, cassandra_node: Any, wrong: int) -> None:
        with pytest.raises((NoHostAvailable, ValueError, UnsupportedOperation)):
            cluster_to(cassandra_node, protocol_version=wrong).connect()

    @pytest.mark.parametrize("old", [1, 2])
    def test_versions_servers_have_forgotten(self, cluster_to: Connect, cassandra_node: Any, old: int) -> None:
        with pytest.raises((NoHostAvailable, ValueError, UnsupportedOperation)):
            cluster_to(cassandra_node, protocol_version=old).connect()

    def test_beta_is_not_negotiated(self, cluster_to: Connect, cassandra_node: Any) -> None:
        cluster = cluster_to(cassandra_node)
        cluster.connect()
        assert cluster.protocol_version not in ProtocolVersion.BETA_VERSIONS


class TestOlderServer:
    """Apache Cassandra 4.1."""

    def test_types_and_paging(self, cluster_to: Connect, cassandra_41: Any, version: int) -> None:
        cluster = cluster_to(cassandra_41, protocol_version=version)
        session = cluster.connect()
        (host,) = cluster.metadata.all_hosts()
        assert host.release_version.startswith("4.1")
        create_keyspace(session, f"it_41_{version}")
        session.set_keyspace(f"it_41_{version}")
        session.execute("CREATE TYPE point (x int, y int)")
        session.execute("CREATE TABLE t (k int PRIMARY KEY, p frozen<point>, s set<int>, d duration)")
        insert = session.prepare("INSERT INTO t (k, p, s, d) VALUES (?, ?, ?, ?)")
        for key in range(50):
            session.execute(insert, (key, (key, -key), {key}, Duration(1, 2, key)))
        rows = {row.k: row for row in session.execute(SimpleStatement("SELECT * FROM t", fetch_size=7))}
        assert len(rows) == 50
        assert (rows[5].p, set(rows[5].s), rows[5].d) == ((5, -5), {5}, Duration(1, 2, 5))
        assert cluster.metadata.keyspaces[f"it_41_{version}"].user_types["point"].field_names == ["x", "y"]

    def test_negotiated(self, cluster_to: Connect, cassandra_41: Any) -> None:
        cluster = cluster_to(cassandra_41)
        assert cluster.connect().execute("SELECT key FROM system.local").one()
        assert cluster.protocol_version == 5


@pytest.mark.parametrize(("before", "after"), [(4, 5), (5, 4), (3, 5)])
def test_statements_outlive_the_version(
    cluster_to: Connect, cassandra_node: Any, keyspace: str, before: int, after: int
) -> None:
    """As when the nodes of a cluster are upgraded: what was prepared with one version is executed with another."""
    old = cluster_to(cassandra_node, protocol_version=before).connect(keyspace)
    new = cluster_to(cassandra_node, protocol_version=after).connect(keyspace)
    table = f"outlives{before}{after}"
    old.execute(f"CREATE TABLE {table} (k int PRIMARY KEY, v text)")
    insert = old.prepare(f"INSERT INTO {table} (k, v) VALUES (?, ?)")
    select = old.prepare(f"SELECT * FROM {table} WHERE k = ?")
    claim = old.prepare(f"INSERT INTO {table} (k, v) VALUES (?, ?) IF NOT EXISTS")
    for session in (old, new, old, new):
        for k in range(5):
            session.execute(insert, (k, f"v{k}"))
            assert session.execute(select, (k,)).one() == (k, f"v{k}")
            assert not session.execute(claim, (k, "other")).was_applied
    old.execute(f"ALTER TABLE {table} ADD w int")
    new.execute(f"INSERT INTO {table} (k, v, w) VALUES (1, 'v1', 7)")
    for session in (new, old):
        assert session.execute(select, (1,)).one()._asdict() == {"k": 1, "v": "v1", "w": 7}
