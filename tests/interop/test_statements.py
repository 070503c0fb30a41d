"""Both drivers find in the simulation what they expect of a server: schema, values, pages, errors, traces."""

from __future__ import annotations

import pytest

from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Close, Fail
from tests.interop.conftest import Client, ClientError
from tests.patience import eventually

pytestmark = pytest.mark.long

COLUMNS = {
    "a": ("ascii", "'abc'"),
    "bi": ("bigint", "-5"),
    "bl": ("blob", "0xcafe"),
    "bo": ("boolean", "true"),
    "da": ("date", "'2020-02-29'"),
    "de": ("decimal", "1.50"),
    "do": ("double", "0.1"),
    "du": ("duration", "1mo2d3ns"),
    "f": ("float", "1.5"),
    "i": ("inet", "'10.1.2.3'"),
    "n": ("int", "7"),
    "s": ("smallint", "-32768"),
    "t": ("text", "'grüße'"),
    "ti": ("time", "'01:02:03.004005006'"),
    "ts": ("timestamp", "'2020-01-01 00:00:00Z'"),
    "tu": ("timeuuid", "50554d6e-29bb-11e5-b345-feff819cdc9f"),
    "ty": ("tinyint", "-1"),
    "va": ("varint", "123456789012"),
    "u": ("uuid", "7f6fc1d6-6a8d-4bf3-a1f4-5c0a3a2f8ea1"),
    "l": ("list<int>", "[3, 1]"),
    "st": ("set<text>", "{'b', 'a'}"),
    "m": ("map<text, int>", "{'k': 1}"),
    "tp": ("frozen<tuple<int, text>>", "(1, null)"),
    "ud": ("frozen<pair>", "{a: 1}"),
    "nested": ("map<int, frozen<list<frozen<set<int>>>>>", "{1: [{2, 1}, {}]}"),
}


@pytest.mark.parametrize("version", [3, 4, 5])
def test_values_of_all_types(simulated: SimulatedCluster, client: Client, version: int) -> None:
    simulated.execute("CREATE TYPE ks.pair (a int, b text)")
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    client.connect(simulated, version=version, keyspace="ks", compression=False)
    client("execute", query=f"CREATE TABLE types (id int PRIMARY KEY, {columns})")
    values = ", ".join(literal for _, literal in COLUMNS.values())
    client("execute", query=f"INSERT INTO types (id, {', '.join(COLUMNS)}) VALUES (1, {values})")
    for name in COLUMNS:
        (row,) = client("execute", query=f"SELECT {name} FROM types WHERE id = 1")
        assert row[name] is not None
    (row,) = client("execute", query="SELECT a, bi, bo, n, s, t, ty, va, ts, de, f FROM types")
    assert [row[name] for name in ("a", "bi", "bo", "n", "s", "t", "ty", "va")] == [
        "abc", -5, True, 7, -32768, "grüße", -1, 123456789012,
    ]  # fmt: skip
    assert row["ts"] == "datetime.datetime(2020, 1, 1, 0, 0)"
    assert (row["de"], row["f"]) == ("Decimal('1.50')", "1.5")


def test_both_drivers_read_the_same(simulated: SimulatedCluster, clients: dict[str, Client]) -> None:
    """Rows that one driver wrote are the same to both, and so is the schema."""
    simulated.execute("CREATE TABLE ks.r (p int, c text, v map<text, int>, s int static, PRIMARY KEY (p, c))")
    insert, seen = "INSERT INTO ks.r (p, c, v, s) VALUES (?, ?, ?, ?)", []
    for n, client in enumerate(clients.values()):
        client.connect(simulated, keyspace="ks")
        client("prepare", query=insert)
        client("run", query=insert, values=[[n, f"c{m}", {"x": m}, n] for m in range(30)])
    for client in clients.values():
        pages = client("execute", query="SELECT p, c, s FROM r", fetch_size=7)
        described = client("schema", keyspace="ks").replace("  AND", " AND")
        seen.append((pages, described))
        client("close")
    assert len(seen[0][0]) == 60
    assert seen[0] == seen[1]


def test_hosts(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated)
    expected = sorted([node.address, "dc1", "rack1", str(node.host_id), True] for node in simulated.nodes)
    assert client("hosts") == expected


def test_batches_and_counters(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated, keyspace="ks")
    insert = "INSERT INTO t (id, v) VALUES (?, ?)"
    client("prepare", query=insert)
    client("batch", query=insert, values=[[n, "b"] for n in range(10)])
    assert client("execute", query="SELECT count(*) FROM t") == [{"count": 10}]
    client("execute", query="CREATE TABLE n (id int PRIMARY KEY, c counter)")
    for _ in range(3):
        client("execute", query="UPDATE n SET c = c + 5 WHERE id = 1")
    assert client("execute", query="SELECT c FROM n") == [{"c": 15}]


def test_errors(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated, keyspace="ks")
    expected = {
        "SELEC": "SyntaxException",
        "SELECT nothing FROM t": "InvalidRequest",
        "CREATE TABLE t (id int PRIMARY KEY)": "AlreadyExists",
        "CREATE KEYSPACE x WITH replication = {'class': 'Nothing'}": "ConfigurationException",
        "SELECT JSON * FROM t": "InvalidRequest",
    }
    found = {}
    for query in expected:
        with pytest.raises(ClientError) as caught:
            client("execute", query=query)
        found[query] = caught.value.name
    assert found == expected


def test_the_rate_limit_error(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated, keyspace="ks")
    with simulated.inject(Fail(errors.RateLimit(write=False)), query="FROM t"), pytest.raises(ClientError) as caught:
        client("execute", query="SELECT * FROM t")
    assert caught.value.name == "RateLimitReached"


def test_unavailable(simulated: SimulatedCluster, client: Client) -> None:
    """With two of three nodes down some partition has no replica left."""
    client.connect(simulated, keyspace="ks")
    simulated.nodes[1].stop()
    simulated.nodes[2].stop()
    with pytest.raises(ClientError) as caught:
        client("execute", query="SELECT * FROM t", consistency="ALL", idempotent=True)
    assert caught.value.name in ("Unavailable", "NoHostAvailable")


def test_a_lost_connection(simulated: SimulatedCluster, client: Client) -> None:
    """The next host answers an idempotent read when the first closes the connection."""
    client.connect(simulated, keyspace="ks")
    simulated.clear_requests()

    def every_node_serves() -> bool:
        client("execute", query="SELECT * FROM t")
        return {request.node for request in simulated.statements("ks.t")} == {0, 1, 2}

    eventually(every_node_serves)  # a driver connects to further nodes in the background
    with simulated.inject(Close(), query="FROM t", times=1) as rule:
        assert client("execute", query="SELECT * FROM t", idempotent=True) == []
    assert rule.hits == 1


def test_unprepared(simulated: SimulatedCluster, client: Client) -> None:
    """Nodes that have forgotten a statement get it again."""
    client.connect(simulated, keyspace="ks")
    query = "SELECT v FROM t WHERE id = ?"
    client("prepare", query=query)
    for node in simulated.nodes:
        node.forget_prepared()
    assert client("run", query=query, values=[[n] for n in range(6)]) == []


@pytest.mark.parametrize("version", [4, 5])
def test_a_changed_result(simulated: SimulatedCluster, client: Client, version: int) -> None:
    """A prepared ``SELECT *`` has the new column after ALTER, thanks to the id of the metadata: protocol 5 has it, and
    ScyllaDB's extension of protocol 4."""
    client.connect(simulated, keyspace="ks", version=version)
    client("execute", query="INSERT INTO t (id, v) VALUES (1, 'x')")
    query = "SELECT * FROM t WHERE id = ?"
    client("prepare", query=query)
    assert client("run", query=query, values=[[1]]) == [{"id": 1, "v": "x"}]
    simulated.execute("ALTER TABLE ks.t ADD a int")
    assert client("run", query=query, values=[[1]]) == [{"id": 1, "a": None, "v": "x"}]


def test_traces(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated, keyspace="ks")
    assert "Parsing a statement" in client("execute", query="SELECT * FROM t", trace=True)
