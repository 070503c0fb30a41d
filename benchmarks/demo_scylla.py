"""``make demo-scylla``: each request comes to the CPU core that owns its row, shown on a simulated ScyllaDB cluster.

Three nodes of four shards, a table of 64 tablets with two replicas each. The driver writes a row of each tablet before
it knows any, then 5,000 rows when it has learned them all; then all tablets migrate, and it does both again. The nodes
count which shard each request came to and whether that shard owns the row. The exit code is 0 when all requests found
an owner once tablets were known.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import cassandra
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.metadata import Murmur3Token
from cassandra.query import PreparedStatement
from cassandra.testing import Routing, SimulatedCluster, TabletInfo

NODES, SHARDS, TABLETS, REPLICAS = 3, 4, 64, 2
ROWS = int(os.environ.get("DEMO_ROWS", "5000"))
KEYSPACE, NAME = "demo", "readings"
TABLE = f"{KEYSPACE}.{NAME}"
CONCURRENCY = 64
DEADLINE = 30.0

console = Console(highlight=False)


class Step(NamedTuple):
    """Requests of one kind, and what the nodes counted of them."""

    name: str
    learned: bool
    counted: Routing


def main() -> int:
    console.print(f"\n[bold]fastcql {cassandra.__version__}[/] and ScyllaDB's shards and tablets\n")
    with SimulatedCluster(NODES, SHARDS) as simulated:
        done(f"Simulated ScyllaDB (cassandra.testing): {NODES} nodes of {SHARDS} shards each")
        create(simulated)
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            connected = connect_to_shards(simulated)
            steps = list(work(simulated, session))
    report(steps)
    return conclude(connected, steps)


def create(simulated: SimulatedCluster) -> None:
    replication = f"{{'class': 'NetworkTopologyStrategy', 'replication_factor': {REPLICAS}}}"
    simulated.execute(
        f"CREATE KEYSPACE {KEYSPACE} WITH replication = {replication} AND tablets = {{'initial': {TABLETS}}}"
    )
    simulated.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, celsius double)")
    done(f"Table {TABLE}: {TABLETS} tablets, {REPLICAS} replicas of each")


def connect_to_shards(simulated: SimulatedCluster) -> int:
    """Wait for a connection to each shard; how many shards have one when the patience ends."""
    begun = time.perf_counter()

    def covered() -> int:
        return sum(bool(count) for node in simulated.nodes for count in node.connections_by_shard().values())

    patient(lambda: covered() == NODES * SHARDS)
    done(f"Connected to {covered()} of {NODES * SHARDS} shards", begun)
    return covered()


def work(simulated: SimulatedCluster, session: Session) -> Iterator[Step]:
    insert = session.prepare(f"INSERT INTO {TABLE} (id, celsius) VALUES (?, ?)")
    one_each = keys_of_all(simulated.tablets(TABLE))
    yield Step("unknown", False, measure("no tablet is known", simulated, session, insert, one_each))
    learn(simulated, session, insert, one_each)
    yield Step("known", True, measure("all are known", simulated, session, insert, range(ROWS)))
    migrate(simulated)
    yield Step("just moved", False, measure("all have just moved", simulated, session, insert, one_each))
    learn(simulated, session, insert, one_each)
    yield Step("known again", True, measure("known again", simulated, session, insert, range(ROWS)))


def keys_of_all(tablets: Sequence[TabletInfo]) -> list[int]:
    """A key in each tablet."""
    found: dict[TabletInfo, int] = {}
    key = 0
    while len(found) < len(tablets):
        token = Murmur3Token.hash_fn(key.to_bytes(4, "big"))
        found.setdefault(next(tablet for tablet in tablets if token in tablet), key)
        key += 1
    return list(found.values())


def measure(
    when: str, simulated: SimulatedCluster, session: Session, insert: PreparedStatement, keys: Iterable[int]
) -> Routing:
    """Write rows; what the nodes counted of that."""
    begun = time.perf_counter()
    simulated.clear_requests()
    sent = write(session, insert, keys)
    counted = simulated.routing(TABLE)
    if counted.requests != sent:
        raise AssertionError(f"{sent:,} requests were sent, but {counted.requests:,} came")
    done(f"{sent:,} rows when {when}: {counted.share:.1%} at an owning shard", begun)
    return counted


def write(session: Session, insert: PreparedStatement, keys: Iterable[int]) -> int:
    values = [(key, key / 8) for key in keys]
    for success, result in execute_concurrent_with_args(session, insert, values, concurrency=CONCURRENCY):
        if not success:
            raise result
    return len(values)


def learn(simulated: SimulatedCluster, session: Session, insert: PreparedStatement, keys: Sequence[int]) -> None:
    """Write until the driver knows all tablets: nodes tell of one only who asked the wrong shard, so that a request
    which came to the right one by chance has taught nothing."""
    begun, rounds = time.perf_counter(), 0
    while (known := known_tablets(simulated, session)) < TABLETS and time.perf_counter() - begun < DEADLINE:
        write(session, insert, keys)
        rounds += 1
    done(f"{known} of {TABLETS} tablets known" + f" after {rounds} more rounds" * bool(rounds), begun)


def known_tablets(simulated: SimulatedCluster, session: Session) -> int:
    """Of how many tablets the driver has the replicas that they have now."""
    learned, found = session.cluster.metadata._tablets, 0
    for tablet in simulated.tablets(TABLE):
        mine = learned.get_tablet_for_key(KEYSPACE, NAME, Murmur3Token(tablet.last_token))
        found += mine is not None and set(mine.replicas or ()) == set(tablet.replicas)
    return found


def migrate(simulated: SimulatedCluster) -> None:
    """Move a replica of each tablet to a node that had none of it, and the other one to another shard."""
    begun = time.perf_counter()
    ids, rng = [node.host_id for node in simulated.nodes], random.Random(1)
    for tablet in simulated.tablets(TABLE):
        (leaving, _), (staying, shard) = tablet.replicas
        source, stays = ids.index(leaving), ids.index(staying)
        free = next(n for n in range(NODES) if n not in (source, stays))
        simulated.migrate_tablet(TABLE, tablet.last_token, source, free, rng.randrange(SHARDS))
        simulated.migrate_tablet(TABLE, tablet.last_token, stays, stays, (shard + 1) % SHARDS)
    done(f"{TABLETS * 2} migrations: no replica is where it was", begun)


def report(steps: list[Step]) -> None:
    table = Table(title="\nRequests at each shard (of rows that it owns), when tablets are", title_justify="left")
    table.add_column("node, shard")
    for step in steps:
        table.add_column(step.name, justify="right", no_wrap=True)
    for node in range(NODES):
        for shard in range(SHARDS):
            cells = (
                shown(step.counted.shards.get((node, shard), 0), step.counted.owners.get((node, shard), 0))
                for step in steps
            )
            table.add_row(f"{node}, {shard}", *cells, end_section=shard == SHARDS - 1)
    table.add_row("replica", *(f"{step.counted.on_replica / step.counted.requests:.1%}" for step in steps))
    table.add_row("[bold]owner[/]", *(f"[bold]{step.counted.share:.1%}[/]" for step in steps))
    console.print(table)


def shown(requests: int, owned: int) -> str:
    return f"{requests:,} [dim]({owned:,})[/]" if requests else "-"


def conclude(connected: int, steps: list[Step]) -> int:
    """Say what is proven, and what is not."""
    total = sum(step.counted.requests for step in steps if step.learned)
    missed = total - sum(step.counted.on_owner for step in steps if step.learned)
    if missed or connected < NODES * SHARDS:
        console.print(
            f"[red]Not proven:[/] {missed:,} of {total:,} requests missed the shards that own their row although "
            f"tablets were known; {connected} of {NODES * SHARDS} shards had a connection.\n"
        )
        return 1
    console.print(
        f"[green]Proven:[/] once tablets were known, all {total:,} requests came to a shard that owns their row, "
        f"before and after {TABLETS * 2} migrations.\n[dim]The nodes counted that, not the driver.[/]\n"
    )
    return 0


def patient(condition: Callable[[], bool]) -> None:
    """Wait for what the driver does in the background, for a while."""
    deadline, pause = time.monotonic() + DEADLINE, threading.Event()
    while not condition() and time.monotonic() < deadline:
        pause.wait(0.01)


def done(text: str, begun: float | None = None) -> None:
    took = "" if begun is None else f" [dim]({time.perf_counter() - begun:.2f} s)[/]"
    console.print(f"[green]✓[/] {text}{took}")


if __name__ == "__main__":
    sys.exit(main())
