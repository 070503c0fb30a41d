"""How many requests come to a shard that owns their row, on a simulated cluster of 3 nodes with 4 shards each.

After every tablet was learned, and while tablets move. ``prefetched`` are the first requests of a session that has read
all tablets in advance.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from benchmarks.clients.harness import Client, run
from cassandra.cluster import Cluster, Session
from cassandra.query import PreparedStatement
from cassandra.testing import SimulatedCluster

TABLE = "ks.t"
REQUESTS, MOVES = 10_000, 100
KEYSPACE = (
    "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
    "AND tablets = {'initial': 16}"
)


def move(simulated: SimulatedCluster, turn: int) -> None:
    """One replica of a tablet to the node that has none."""
    tablets = simulated.tablets(TABLE)
    tablet = tablets[turn % len(tablets)]
    ids = [node.host_id for node in simulated.nodes]
    held = [ids.index(host) for host, _ in tablet.replicas]
    free = next(number for number in range(len(ids)) if number not in held)
    simulated.migrate_tablet(TABLE, tablet.last_token, held[turn % 2], free, turn % 4)


def share(simulated: SimulatedCluster, session: Session, insert: PreparedStatement, moves: int = 0) -> float:
    """Of requests to owners among all."""
    simulated.clear_requests()
    for number in range(REQUESTS):
        if moves and number % (REQUESTS // moves) == 0:
            move(simulated, number)
        session.execute(insert, (number, number))
    requests = simulated.statements(TABLE)
    assert len(requests) == REQUESTS
    return sum(bool(request.on_owner) for request in requests) / REQUESTS


def wait_for_all_shards(simulated: SimulatedCluster) -> None:
    while not all(all(node.connections_by_shard().values()) for node in simulated.nodes):
        time.sleep(0.01)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    facts = {}
    with SimulatedCluster(nodes=3, shards=4) as simulated:
        simulated.execute(KEYSPACE)
        simulated.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, v int)")
        for name in ("learned", "prefetched"):
            with Cluster(simulated.contact_points, port=simulated.port) as cluster:
                session = cluster.connect("ks", wait_for_all_pools=True)
                wait_for_all_shards(simulated)
                insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
                if name == "prefetched":
                    session.prefetch_tablets("ks", "t")
                else:
                    share(simulated, session, insert)
                facts[name] = share(simulated, session, insert)
                if name == "learned":
                    facts["moving"] = share(simulated, session, insert, MOVES)
        yield Client({}, facts)


if __name__ == "__main__":
    run("benchmarks.clients.owners", make)
