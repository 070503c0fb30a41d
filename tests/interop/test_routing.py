"""Drivers take the simulation for ScyllaDB: a connection per shard, and each request at a shard that owns its row.

The nodes count, so that both drivers are judged alike: the one that never saw our code says that the simulation behaves
as servers do, and the other passes the same scenarios.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cassandra.testing import Routing, SimulatedCluster
from cassandra.testing.faults import Nat
from tests.interop.conftest import Client, made
from tests.patience import eventually

pytestmark = pytest.mark.long

INSERT = "INSERT INTO ks.t (id, v) VALUES (?, ?)"
LWT = "INSERT INTO ks.t (id, v) VALUES (?, ?) IF NOT EXISTS"
KEYS = [[n, f"value {n}"] for n in range(200)]


@pytest.fixture(params=["v1", "v2"])
def tablets(request: pytest.FixtureRequest) -> Iterator[SimulatedCluster]:
    """A cluster with each version of tablet routing."""
    with made(tablets_v2=request.param == "v2") as simulated:
        yield simulated


def connected_to_all_shards(simulated: SimulatedCluster) -> bool:
    members = [node for node in simulated.nodes if node.member]
    return all(all(node.connections_by_shard().values()) for node in members)


def all_at_owners(simulated: SimulatedCluster, client: Client, query: str = INSERT, table: str = "ks.t") -> bool:
    """Whether each of a round of inserts came to a shard that owns its partition."""

    def count() -> Routing | None:
        simulated.clear_requests()
        client("run", query=query, values=KEYS)
        counted = simulated.routing(table)
        # A machine that holds the nodes up for a moment makes them silent, and inserts that may run twice go elsewhere
        # too: such a round says nothing. Of those that may not, one that came twice would be an error.
        assert client.repeats or counted.requests == len(KEYS)
        return counted if counted.requests == len(KEYS) else None

    return eventually(count).share == 1.0


def settle(simulated: SimulatedCluster, client: Client, only_missed: bool = False) -> None:
    """Insert until all tablets are known and each shard has a connection, or with *only_missed* each that requests came
    to: some are opened when they are missed."""
    eventually(lambda: all_at_owners(simulated, client) and (only_missed or connected_to_all_shards(simulated)))


def ready(simulated: SimulatedCluster, client: Client, only_missed: bool = False, idempotent: bool = False) -> None:
    """Nodes that restart or leave take requests with them: then they must be *idempotent*."""
    client.connect(simulated)
    client.prepare(INSERT, idempotent)
    settle(simulated, client, only_missed)


def test_a_connection_per_shard(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated)
    eventually(lambda: connected_to_all_shards(simulated))


def test_without_a_shard_aware_port(client: Client) -> None:
    """Nodes give connections to shards in turn: the driver opens them until each shard has one."""
    with made(without=["SCYLLA_SHARD_AWARE_PORT"]) as simulated:
        ready(simulated, client)
        assert all_at_owners(simulated, client)


def test_a_translation_of_ports(client: Client) -> None:
    """On the way to the shard-aware port ports change: no shard follows from them, and all are reached anyhow."""
    with made() as simulated:
        simulated.inject(Nat(shift=None), opcode="CONNECT")
        # scylla-driver then opens what requests miss, and a shard that is only ever the second replica they do not
        ready(simulated, client, only_missed=client.name == "scylla-driver")
        assert all_at_owners(simulated, client)


def test_tablets_are_learned(tablets: SimulatedCluster, client: Client) -> None:
    client.connect(tablets)
    client.prepare(INSERT)
    assert not all_at_owners(tablets, client)
    eventually(lambda: all_at_owners(tablets, client))
    assert all_at_owners(tablets, client)


def test_migrations_and_splits_are_followed(tablets: SimulatedCluster, client: Client) -> None:
    ready(tablets, client)
    ids = [node.host_id for node in tablets.nodes]
    for tablet in tablets.tablets("ks.t"):
        held = [ids.index(host) for host, _ in tablet.replicas]
        free = next(n for n in range(3) if n not in held)
        tablets.migrate_tablet("ks.t", tablet.last_token, held[0], free, 3)
        tablets.migrate_tablet("ks.t", tablet.last_token, held[1], held[1], 0)
    assert not all_at_owners(tablets, client)
    eventually(lambda: all_at_owners(tablets, client))
    assert tablets.split_tablets("ks.t") == 16
    assert all_at_owners(tablets, client)  # the halves are where the whole was
    for tablet in tablets.tablets("ks.t")[::2]:  # only one half of each moves
        held = [ids.index(host) for host, _ in tablet.replicas]
        free = next(n for n in range(3) if n not in held)
        tablets.migrate_tablet("ks.t", tablet.last_token, held[0], free, 1)
    eventually(lambda: all_at_owners(tablets, client))
    assert all_at_owners(tablets, client)


def test_another_number_of_shards(simulated: SimulatedCluster, client: Client) -> None:
    """A node restarts with fewer shards and another with more."""
    ready(simulated, client, idempotent=True)
    simulated.nodes[0].reshard(2)
    simulated.nodes[1].reshard(5)
    settle(simulated, client)
    tablet = next(item for item in simulated.tablets("ks.t") if simulated.nodes[1].host_id in dict(item.replicas))
    simulated.migrate_tablet("ks.t", tablet.last_token, 1, 1, 4)  # onto the new shard
    eventually(lambda: all_at_owners(simulated, client) and (1, 4) in simulated.routing("ks.t").owners)


def test_nodes_that_join_and_leave(simulated: SimulatedCluster, client: Client) -> None:
    ready(simulated, client, idempotent=True)
    new = simulated.add_node(shards=3)
    simulated.rebalance()
    settle(simulated, client)
    assert any(node == new.index for node, _ in simulated.routing("ks.t").owners)
    simulated.remove_node(simulated.nodes[0])
    settle(simulated, client)
    assert all_at_owners(simulated, client)


def test_keyspaces_without_tablets(simulated: SimulatedCluster, client: Client) -> None:
    """The owner of a token by the ring, and its shard by the token's bits, as both sides compute them."""
    simulated.execute(
        "CREATE KEYSPACE ring WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
        "AND tablets = {'enabled': 'false'}"
    )
    simulated.execute("CREATE TABLE ring.t (id int PRIMARY KEY, v text)")
    client.connect(simulated)
    query = "INSERT INTO ring.t (id, v) VALUES (?, ?)"
    client.prepare(query)
    eventually(lambda: all_at_owners(simulated, client, query, "ring.t"))
    assert all_at_owners(simulated, client, query, "ring.t")


def test_the_mark_of_conditional_statements(simulated: SimulatedCluster, client: Client) -> None:
    client.connect(simulated)
    assert client("prepare", query=LWT)["lwt"] is True
    assert client("prepare", query=INSERT) == {"lwt": False, "routing": [0]}
    answers = client("run", query=LWT, values=[[1, "x"], [1, "y"]])
    assert sorted(answer["[applied]"] for answer in answers) == [False, True]


def test_client_routes(simulated: SimulatedCluster, scylla_driver: Client) -> None:
    """The driver that knows them goes where ``system.client_routes`` says, here to a shard-aware port, which it uses
    for nothing else when it follows routes; and it reads again what an event says has changed."""

    def routed(n: int) -> bool:
        connections = [connection.by_port for connection in list(simulated.nodes[n].clients)]
        return bool(connections) and all(connections)

    nodes = simulated.nodes
    ports = [nodes[0].port, nodes[1].shard_aware_port, nodes[2].port]
    simulated.set_client_routes("link", {n: (node.address, ports[n]) for n, node in enumerate(nodes)})
    scylla_driver("connect", contact_points=simulated.contact_points[:1], port=simulated.port, route="link")
    eventually(lambda: routed(1))
    assert not routed(0) and not routed(2)
    simulated.clear_requests()
    simulated.set_client_routes("link", {2: (nodes[2].address, nodes[2].shard_aware_port)})
    eventually(lambda: any("system.client_routes" in request.query for request in simulated.requests))
