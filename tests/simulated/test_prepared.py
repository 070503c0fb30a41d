"""Prepared statements, the extensions of ScyllaDB, and the requests that the simulation records."""

from __future__ import annotations

import struct

import pytest

from cassandra import ConsistencyLevel, DriverException, InvalidRequest
from cassandra.cluster import Session
from cassandra.query import BatchStatement, BatchType, named_tuple_factory
from cassandra.testing import SimulatedCluster
from cassandra.testing import errors as simulated_errors
from cassandra.testing.faults import Hold
from tests.simulated.conftest import Connect, eventually


def test_metadata_of_markers(session: Session) -> None:
    session.execute(
        "CREATE TABLE t (p int, q text, c int, l list<int>, m map<text, int>, v int, PRIMARY KEY ((p, q), c))"
    )
    expected = {
        "INSERT INTO t (p, q, c, v) VALUES (?, ?, ?, ?)": (["p", "q", "c", "v"], [0, 1]),
        "INSERT INTO t (q, c, p) VALUES (:a, :b, :c) USING TIMESTAMP ? AND TTL ?": (
            ["a", "b", "c", "[timestamp]", "[ttl]"], [2, 0],
        ),
        "UPDATE t USING TTL ? SET v = ?, l = l + ?, m[?] = ? WHERE p = ? AND q = ? AND c = ?": (
            ["[ttl]", "v", "l", "key(m)", "value(m)", "p", "q", "c"], [5, 6],
        ),
        "SELECT * FROM t WHERE p = ? AND q = ? AND c > ? LIMIT ?": (["p", "q", "c", "[limit]"], [0, 1]),
        "SELECT * FROM t WHERE p IN ? AND q = ?": (["in(p)", "q"], None),
        "SELECT * FROM t WHERE p = 1 AND q = ?": (["q"], None),
        "SELECT * FROM t WHERE token(p, q) > ?": (["partition key token(p, q)"], None),
        "DELETE m[?] FROM t WHERE p = ? AND q = ? AND c IN ?": (["key(m)", "p", "q", "in(c)"], [1, 2]),
    }  # fmt: skip
    found = {}
    for query in expected:
        statement = session.prepare(query)
        names = [column.name for column in statement.column_metadata]
        found[query] = (names, statement.routing_key_indexes or None)
    assert found == expected


def test_values_by_name_and_unset(session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int, w text)")
    insert = session.prepare("INSERT INTO t (id, v, w) VALUES (:id, :v, :w)")
    session.execute(insert, {"id": 1, "v": 2, "w": "x"})
    session.execute(insert, {"id": 1, "v": 3})  # w stays
    assert tuple(session.execute("SELECT id, v, w FROM t").one()) == (1, 3, "x")
    with pytest.raises(InvalidRequest, match="null"):
        session.execute("INSERT INTO t (id) VALUES (%s)", (None,))


def test_statements_outlive_changes_of_the_schema(session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    select = session.prepare("SELECT * FROM t")
    session.execute("INSERT INTO t (id, v) VALUES (1, 2)")
    session.execute("ALTER TABLE t ADD a text")
    assert session.execute(select).one() == (1, None, 2)
    session.execute("DROP TABLE t")
    with pytest.raises(InvalidRequest, match="unconfigured table"):
        session.execute(select)


def test_batches_of_prepared_statements(session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    batch = BatchStatement(BatchType.UNLOGGED)
    for n in range(20):
        batch.add(insert, (n, n))
    batch.add("DELETE FROM t WHERE id = 99")
    session.execute(batch)
    assert session.execute("SELECT count(*), sum(v) FROM t").one() == (20, 190)
    wrong = BatchStatement()
    wrong.add(insert, (100, 1))
    wrong.add("INSERT INTO t (id, v) VALUES (null, 1)")
    with pytest.raises(InvalidRequest):
        session.execute(wrong)
    assert not session.execute("SELECT * FROM t WHERE id = 100").all()


def test_time_to_live(simulated: SimulatedCluster, session: Session) -> None:
    """The clock of the servers moves when the test says so."""
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int, m map<text, int>) WITH default_time_to_live = 1000")
    session.execute("INSERT INTO t (id, v) VALUES (1, 1)")
    session.execute("INSERT INTO t (id, v) VALUES (2, 2) USING TTL 50")
    session.execute("UPDATE t USING TTL 0 SET m = {'a': 1} WHERE id = 2")
    session.execute("UPDATE t USING TTL 10 SET m['b'] = 2 WHERE id = 2")
    assert 990 <= session.execute("SELECT ttl(v) FROM t WHERE id = 1").one()[0] <= 1000
    simulated.advance(20)
    assert session.execute("SELECT v, m FROM t WHERE id = 2").one() == (2, {"a": 1})
    simulated.advance(40)
    assert session.execute("SELECT id, v FROM t WHERE id = 2").one() == (2, None)
    simulated.advance(1000)
    assert session.execute("SELECT id FROM t").all() == [(2,)]


def test_requests_are_noted(simulated: SimulatedCluster, session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY)")
    insert = session.prepare("INSERT INTO t (id) VALUES (?)")
    insert.consistency_level = ConsistencyLevel.TWO
    simulated.clear_requests()
    session.execute(insert, (7,))
    with pytest.raises(InvalidRequest):
        session.execute("SELECT nothing FROM t")
    (first,) = simulated.statements("ks.t")
    (second,) = (request for request in simulated.requests if request.query == "SELECT nothing FROM t")
    token = simulated.execute("SELECT token(id) AS hash FROM ks.t WHERE id = 7")[0]["hash"]
    assert (first.opcode, first.table, first.token, first.consistency) == ("EXECUTE", "t", token, "TWO")
    assert (first.query, first.error) == ("INSERT INTO t (id) VALUES (?)", None)
    assert (second.opcode, second.error) == ("QUERY", "InvalidRequest")
    (tablet,) = (tablet for tablet in simulated.tablets("ks.t") if token in tablet)
    hosts = [simulated.nodes[first.node].host_id == host for host, _ in tablet.replicas]
    assert first.on_replica is any(hosts)
    assert simulated.shard_hits("ks.t") == {(first.node, first.shard): 1}


def test_commands_for_tablets(simulated: SimulatedCluster, session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY)")
    before = simulated.tablets("ks.t")
    assert [tablet.first_token for tablet in before[1:]] == [tablet.last_token for tablet in before[:-1]]
    assert (before[0].first_token, before[-1].last_token) == (-(2**63), 2**63 - 1)
    assert all(len({host for host, _ in tablet.replicas}) == 2 for tablet in before)
    assert simulated.split_tablets("ks.t") == 16
    assert simulated.merge_tablets("ks.t") == 8
    assert simulated.tablets("ks.t") == before
    rows = session.execute("SELECT last_token, replicas FROM system.tablets").all()
    assert sorted(row.last_token for row in rows) == [tablet.last_token for tablet in before]
    simulated.nodes[0].reshard(1)
    host = simulated.nodes[0].host_id
    assert {dict(tablet.replicas).get(host) for tablet in simulated.tablets("ks.t")} <= {0, None}
    with pytest.raises(simulated_errors.InvalidRequest, match="no tablets"):
        simulated.tablets("system.local")


def test_version_two_of_tablet_routing(no_leaks: None, connect: Connect) -> None:
    """A wrong block of the version brings the tablet, the right one brings nothing."""
    with SimulatedCluster(1, 2, tablets_v2=True) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY)")
        session = connect(simulated, "ks")
        insert = session.prepare("INSERT INTO t (id) VALUES (?)")
        payloads = []
        for n in range(40):
            future = session.execute_async(insert, (n,))
            future.result()
            payloads.append(future.custom_payload)
        sent = [payload for payload in payloads if payload]
        assert sent and all(list(payload) == ["tablets-routing-v2"] for payload in sent)
        version = struct.unpack(">q", sent[0]["tablets-routing-v2"][-8:])[0]
        assert version in {tablet.version for tablet in simulated.tablets("ks.t")}
        session.cluster.shutdown()


def test_older_servers(no_leaks: None, connect: Connect) -> None:
    """Extensions that SUPPORTED does not list are not used."""
    names = ["SCYLLA_LWT_ADD_METADATA_MARK", "TABLETS_ROUTING_V1", "SCYLLA_USE_METADATA_ID"]
    with SimulatedCluster(1, 1, without=names) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY)")
        session = connect(simulated, "ks")
        session.row_factory = named_tuple_factory
        assert not session.prepare("INSERT INTO t (id) VALUES (?) IF NOT EXISTS").is_lwt()
        session.cluster.shutdown()


@pytest.mark.parametrize(
    "query",
    [
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE id IS NOT NULL PRIMARY KEY (id)",
        "CREATE FUNCTION f (a int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE lua AS 'return a'",
        "CREATE ROLE r",
        "GRANT SELECT ON t TO r",
        "SELECT JSON * FROM t",
        "INSERT INTO t JSON '{}'",
        "SELECT * FROM t WHERE v LIKE 'a%'",
        "SELECT v + 1 FROM t",
        "SELECT * FROM t ORDER BY v ANN OF [1.0] LIMIT 1",
        "LIST ROLES",
        "DESCRIBE TABLES",
        "ALTER TABLE t ALTER v TYPE blob",
        "ALTER TABLE t WITH cdc = {'enabled': 'true'}",
        "ALTER TABLE t WITH per_partition_rate_limit = {'max_reads_per_second': 1}",
        "SELECT mytypecast(v) FROM t",
    ],
)
def test_unsupported_statements_are_refused_by_the_simulation(session: Session, query: str) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    with pytest.raises(InvalidRequest, match="not supported by the simulation"):
        session.execute(query)


def test_concurrent_unprepared_answers_prepare_once_per_node(simulated: SimulatedCluster, session: Session) -> None:
    """As after a restart: 300 requests on all connections of every node, answered UNPREPARED before one PREPARE is."""
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    for node in simulated.nodes:
        node.forget_prepared()
    simulated.clear_requests()
    with simulated.inject(Hold(executed=False), opcode="PREPARE") as rule:
        futures = [session.execute_async(insert, (number, number)) for number in range(300)]
        eventually(lambda: len([one for one in simulated.requests if one.error == "Unprepared"]) == 300)
        rule.release()
    for future in futures:
        future.result()
    prepared = [request.node for request in simulated.requests if request.opcode == "PREPARE"]
    assert sorted(prepared) == sorted(set(prepared))
    assert len(list(session.execute("SELECT id FROM t"))) == 300


def test_a_table_that_is_created_again_with_other_types(simulated: SimulatedCluster, session: Session) -> None:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    session.execute(insert, (1, 1094861636))
    session.execute("DROP TABLE t")
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    for node in simulated.nodes:
        node.forget_prepared()
    for statement in (insert.bind((1, 1094861636)), BatchStatement().add(insert, (1, 1094861636))):
        with pytest.raises(DriverException, match=r"'v' of ks.t is of type text, where it was int.*prepare it again"):
            session.execute(statement)
    assert list(session.execute("SELECT v FROM t")) == []
    session.execute(session.prepare("INSERT INTO t (id, v) VALUES (?, ?)"), (1, "ABCD"))
    assert session.execute("SELECT v FROM t").one() == ("ABCD",)
