"""An independent driver takes the simulation for ScyllaDB: shards, tablets, migrations."""

from __future__ import annotations

from cassandra.testing import SimulatedCluster
from tests.interop.conftest import Client, eventually

INSERT = "INSERT INTO ks.t (id, v) VALUES (?, ?)"
LWT = "INSERT INTO ks.t (id, v) VALUES (?, ?) IF NOT EXISTS"
KEYS = [[n, f"value {n}"] for n in range(200)]


def connected_to_all_shards(simulated: SimulatedCluster) -> bool:
    return all(all(node.connections_by_shard().values()) for node in simulated.nodes)


def all_at_owners(simulated: SimulatedCluster, client: Client, query: str = INSERT, table: str = "ks.t") -> bool:
    """Whether each of a round of inserts came to a shard that owns its partition."""
    simulated.clear_requests()
    client("run", query=query, values=KEYS)
    requests = simulated.statements(table)
    assert len(requests) == len(KEYS)
    return all(request.on_owner for request in requests)


def test_a_connection_per_shard(simulated: SimulatedCluster, scylla_driver: Client) -> None:
    scylla_driver.connect(simulated)
    eventually(lambda: connected_to_all_shards(simulated))


def test_tablets_are_learned(simulated: SimulatedCluster, scylla_driver: Client) -> None:
    scylla_driver.connect(simulated)
    scylla_driver("prepare", query=INSERT)
    assert not all_at_owners(simulated, scylla_driver)
    eventually(lambda: all_at_owners(simulated, scylla_driver))
    assert all_at_owners(simulated, scylla_driver)


def test_migrations_and_splits_are_followed(simulated: SimulatedCluster, scylla_driver: Client) -> None:
    scylla_driver.connect(simulated)
    scylla_driver("prepare", query=INSERT)
    eventually(lambda: all_at_owners(simulated, scylla_driver))
    ids = [node.host_id for node in simulated.nodes]
    for tablet in simulated.tablets("ks.t"):
        held = [ids.index(host) for host, _ in tablet.replicas]
        free = next(n for n in range(3) if n not in held)
        simulated.migrate_tablet("ks.t", tablet.last_token, held[0], free, 3)
        simulated.migrate_tablet("ks.t", tablet.last_token, held[1], held[1], 0)
    assert not all_at_owners(simulated, scylla_driver)
    eventually(lambda: all_at_owners(simulated, scylla_driver))
    assert simulated.split_tablets("ks.t") == 16
    assert all_at_owners(simulated, scylla_driver)


def test_keyspaces_without_tablets(simulated: SimulatedCluster, scylla_driver: Client) -> None:
    """The owner of a token by the ring, and its shard by the token's bits, as both sides compute them."""
    simulated.execute(
        "CREATE KEYSPACE ring WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
        "AND tablets = {'enabled': 'false'}"
    )
    simulated.execute("CREATE TABLE ring.t (id int PRIMARY KEY, v text)")
    scylla_driver.connect(simulated)
    query = "INSERT INTO ring.t (id, v) VALUES (?, ?)"
    scylla_driver("prepare", query=query)
    eventually(lambda: all_at_owners(simulated, scylla_driver, query, "ring.t"))
    assert all_at_owners(simulated, scylla_driver, query, "ring.t")


def test_the_mark_of_conditional_statements(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated)
    assert client("prepare", query=LWT)["lwt"] is True
    assert client("prepare", query=INSERT) == {"lwt": False, "routing": [0]}
    answers = client("run", query=LWT, values=[[1, "x"], [1, "y"]])
    assert sorted(answer["[applied]"] for answer in answers) == [False, True]
