"""How busy a scan keeps the shards of a simulated cluster of 3 nodes with 4 shards each, about 10 tablets a shard.

A shard serves one page at a time, in the order in which they came, and takes ``PAGE`` seconds for each; the nodes note
which shard each came to, and when it was served. ``replicated``: with three replicas of each tablet, so that the driver
chooses. Where there is one, all shards own as many rows: what is left is the driver's doing.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from benchmarks.clients.harness import Client, run
from benchmarks.clients.owners import wait_for_all_shards
from cassandra.cluster import Cluster, Session
from cassandra.metadata import Murmur3Token
from cassandra.scan import Count
from cassandra.testing import Request, SimulatedCluster, TabletInfo
from cassandra.testing.faults import Exchange, Reaction

NODES, SHARDS, TABLETS = 3, 4, 128
ROWS, PAGE_ROWS, PAGE = 15_000, 10, 0.05
REPLICAS = {"one replica": 1, "three replicas": 3}


class Served(NamedTuple):
    """One page: where it was asked for, when that came, and when it was given."""

    place: tuple[int, int]
    came: float
    begun: float
    done: float


class Shards(Reaction):
    """Each serves one page after another."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.served: list[Served] = []
        self._free: dict[tuple[int, int], float] = {}

    def react(self, exchange: Exchange) -> None:
        now = time.monotonic()
        place = exchange.node.index, exchange.connection.shard
        begun = max(now, self._free.get(place, now))
        done = self._free[place] = begun + self.seconds
        self.served.append(Served(place, now, begun, done))
        response = exchange.execute()
        exchange.later(done - time.monotonic(), lambda: exchange.send(response))


def busy(served: list[Served]) -> dict[tuple[int, int], float]:
    """By shard, which part of the time from the first request to the last answer it had a page to serve."""
    took = max(one.done for one in served) - min(one.came for one in served)
    totals = Counter[tuple[int, int]]()
    for one in served:
        totals[one.place] += one.done - one.begun  # type: ignore[assignment]
    return {place: total / took for place, total in totals.items()}


def on_owners(requests: list[Request], tablets: list[TabletInfo], nodes: list[object]) -> float:
    """Which part of the pages came to a shard that owns all of their range."""
    found = 0
    for request in requests:
        assert request.token_range is not None
        start, end = request.token_range
        tablet = next(one for one in tablets if end in one)
        here = nodes[request.node], request.shard
        found += tablet.first_token <= start and here in tablet.replicas
    return found / len(requests)


def fill(simulated: SimulatedCluster, session: Session, table: str, rows: int) -> None:
    """As many rows in each shard that is the first to own them."""
    tablets = simulated.tablets(table)
    owned = Counter(tablet.replicas[0] for tablet in tablets)
    room = {tablet: rows // len(owned) // owned[tablet.replicas[0]] for tablet in tablets}
    keys: list[int] = []
    width, key = (1 << 64) // len(tablets), 0
    while any(room.values()):
        token = Murmur3Token.hash_fn(key.to_bytes(4, "big"))
        tablet = tablets[min((token + (1 << 63) - 1) // width, len(tablets) - 1)]
        if room[tablet]:
            room[tablet] -= 1
            keys.append(key)
        key += 1
    numbers = pa.array(keys, pa.int32())
    report = session.ingest(table, pa.table({"id": numbers, "v": numbers}))
    assert report.rows == len(keys) and not report.errors, report


def measured(simulated: SimulatedCluster, session: Session, table: str, rows: int, seconds: float) -> dict[str, float]:
    """What one scan does."""
    fill(simulated, session, table, rows)
    expected = len(simulated.execute(f"SELECT id FROM {table}"))
    simulated.clear_requests()
    shards = Shards(seconds)
    with simulated.inject(shards, query=f"FROM {table}", opcode="EXECUTE"):
        begun = time.monotonic()
        assert session.scan(table, page_size=PAGE_ROWS, pushdown="never").fold(Count()) == expected
        took = time.monotonic() - begun
    shares = busy(shards.served)
    assert len(shares) == NODES * SHARDS
    pages = [request for request in simulated.statements(table) if request.opcode == "EXECUTE"]
    return {
        "pages": len(pages),
        "owning": on_owners(pages, simulated.tablets(table), [node.host_id for node in simulated.nodes]),
        "least": min(shares.values()),
        "mean": sum(shares.values()) / len(shares),
        "seconds": took,
    }


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    facts: dict[str, float] = {}
    with SimulatedCluster(NODES, SHARDS) as simulated:
        for number, (name, replicas) in enumerate(REPLICAS.items()):
            simulated.execute(
                f"CREATE KEYSPACE ks{number} WITH replication = "
                f"{{'class': 'NetworkTopologyStrategy', 'replication_factor': {replicas}}} "
                f"AND tablets = {{'initial': {TABLETS}}}"
            )
            table = f"ks{number}.t"
            simulated.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v int)")
            with Cluster(simulated.contact_points, port=simulated.port) as cluster:
                session = cluster.connect(wait_for_all_pools=True)
                wait_for_all_shards(simulated)
                found = measured(simulated, session, table, ROWS, PAGE)
            facts |= {f"{what}, {name}": value for what, value in found.items()}
    yield Client({}, facts)


if __name__ == "__main__":
    run("benchmarks.clients.scan_shards", make)
