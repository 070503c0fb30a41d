"""This driver accepts the simulation as a cluster."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from cassandra import AuthenticationFailed, OperationTimedOut
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import NoHostAvailable, Session
from cassandra.testing import SimulatedCluster
from tests.lz4_libraries import LIBRARIES
from tests.servers.certificates import Certificates
from tests.simulated.conftest import Connect, eventually


def test_hosts_and_schema(simulated: SimulatedCluster, session: Session) -> None:
    session.execute(
        "CREATE TABLE t (id int, c text, v list<int>, PRIMARY KEY (id, c)) WITH CLUSTERING ORDER BY (c DESC)"
    )
    metadata = session.cluster.metadata
    hosts = {(host.address, host.datacenter, host.rack, host.host_id) for host in metadata.all_hosts()}
    assert hosts == {(node.address, "dc1", "rack1", node.host_id) for node in simulated.nodes}
    table = metadata.keyspaces["ks"].tables["t"]
    assert [column.name for column in table.primary_key] == ["id", "c"]
    assert table.columns["v"].cql_type == "list<int>"
    assert table.columns["c"].is_reversed
    assert metadata.keyspaces["ks"].replication_strategy.export_for_schema().count("'dc1': '2'") == 1


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("compression", [False, *LIBRARIES, "snappy"])
def test_protocols(
    no_leaks: None, connect: Connect, version: int, compression: str | bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compression in LIBRARIES:
        monkeypatch.setattr("cassandra._net.compression._lz4", LIBRARIES[str(compression)])
        compression = "lz4"
    elif version == 5 and compression == "snappy":
        compression = "lz4"  # protocol 5 has nothing else
    with SimulatedCluster(1, 1, protocol_versions=(3, 4, 5)) as simulated:
        session = connect(simulated, protocol_version=version, compression=compression)
        session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.set_keyspace("ks")
        session.execute(
            "CREATE TABLE t (id int PRIMARY KEY, v text, d date, t time, s smallint, y tinyint, u duration)"
        )
        insert = session.prepare("INSERT INTO t (id, v, d, t, s, y) VALUES (?, ?, '2020-02-03', '01:02:03', 4, 5)")
        text = "ab" * 200_000  # more than one segment of protocol 5
        session.execute(insert, (1, text))
        row = session.execute("SELECT * FROM t WHERE id = 1").one()
        assert (row.id, row.v, str(row.d), str(row.t), row.s, row.y) == (
            1,
            text,
            "2020-02-03",
            "01:02:03.000000000",
            4,
            5,
        )
        session.cluster.shutdown()


def test_the_version_is_negotiated_down(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(1, 1, protocol_versions=(3,)) as simulated:
        session = connect(simulated)
        assert session.cluster.protocol_version == 3
        session.cluster.shutdown()


def test_passwords(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(1, 1, users={"ann": "secret"}) as simulated:
        session = connect(simulated, auth_provider=PlainTextAuthProvider("ann", "secret"))
        assert session.execute("SELECT username FROM system.clients").one().username == "ann"
        session.cluster.shutdown()
        with pytest.raises(NoHostAvailable) as caught:
            connect(simulated, auth_provider=PlainTextAuthProvider("ann", "wrong"))
        assert any(isinstance(error, AuthenticationFailed) for error in caught.value.errors.values())


def test_one_address(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(3, 2, address="127.0.0.1") as simulated:
        assert simulated.contact_points == ["127.0.0.1"]
        session = connect(simulated)
        ports = {host.endpoint.port for host in session.cluster.metadata.all_hosts()}
        assert ports == {node.port for node in simulated.nodes}
        session.cluster.shutdown()


def test_tls(no_leaks: None, connect: Connect, tmp_path: Path) -> None:
    certificates = Certificates.generate(tmp_path, ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    with SimulatedCluster(2, 2, address="127.0.0.1", ssl_context=context) as simulated:
        session = connect(simulated, ssl_context=certificates.context())
        session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
        text = "long " * 50_000  # more than a record of TLS holds
        session.execute("INSERT INTO ks.t (id, v) VALUES (1, %s)", (text,))
        assert session.execute("SELECT v FROM ks.t").one().v == text
        session.cluster.shutdown()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("compression", [False, "lz4"])
@pytest.mark.parametrize("tls", [False, True])
def test_heartbeats(
    no_leaks: None, connect: Connect, tmp_path: Path, version: int, compression: bool | str, tls: bool
) -> None:
    """However bytes are transformed: heartbeats keep idle connections, and end those to a node that stands still."""
    contexts: list[ssl.SSLContext | None] = [None, None]
    if tls:
        certificates = Certificates.generate(tmp_path, ["127.0.0.1"])
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(str(certificates.server))
        contexts = [server, certificates.context()]
    versions = (3, 4, 5)
    with SimulatedCluster(1, 2, address="127.0.0.1", ssl_context=contexts[0], protocol_versions=versions) as simulated:
        session = connect(
            simulated,
            ssl_context=contexts[1],
            protocol_version=version,
            compression=compression,
            idle_heartbeat_interval=0.2,
            idle_heartbeat_timeout=1.0,
        )
        eventually(lambda: sum(pool.open_count for pool in session.get_pools()) == 2)
        before = [connection for pool in session.get_pools() for connection in pool.get_connections()]
        received = [connection.channel.bytes_received for connection in before if connection.channel]
        eventually(lambda: all(one.channel.bytes_received > n + 100 for one, n in zip(before, received, strict=True)))
        assert not any(connection.is_closed for connection in before)
        simulated.nodes[0].pause()
        eventually(lambda: all(connection.is_closed for connection in before))
        assert {type(connection.last_error) for connection in before} == {OperationTimedOut}
        simulated.nodes[0].resume()


def test_paging(session: Session) -> None:
    session.execute("CREATE TABLE t (id int, c int, s int static, PRIMARY KEY (id, c))")
    for partition in range(4):
        for c in range(7):
            session.execute(f"INSERT INTO t (id, c) VALUES ({partition}, {c})")
    session.execute("INSERT INTO t (id, s) VALUES (100, 1)")  # a partition with nothing but a static column
    session.default_fetch_size = 3
    rows = session.execute("SELECT id, c FROM t").all()
    assert len(rows) == len(set(rows)) == 29
    assert len(session.execute("SELECT id, c FROM t LIMIT 10").all()) == 10
    assert [row.c for row in session.execute("SELECT c FROM t WHERE id = 1 ORDER BY c DESC")] == [6, 5, 4, 3, 2, 1, 0]
    assert len(session.execute("SELECT DISTINCT id FROM t").all()) == 5
    assert len(session.execute("SELECT id, c FROM t PER PARTITION LIMIT 5").all()) == 21
