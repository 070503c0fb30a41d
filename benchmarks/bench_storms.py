"""A node returns, and all nodes are restarted, while many clients run; beside scylla-driver.

Simulated: the nodes (:mod:`cassandra.testing`, in this process), which respond at once, keep no data on disks, and
start in no time. Real: the drivers, their sockets, and the clients, ``CLIENTS`` in ``PROCESSES`` processes, each with
its own connections and ``STATEMENTS`` prepared statements that it has just used. They send requests all the time, to
all nodes in turn.

PREPAREs and connections are counted where they arrive, as the most in any second, since the nodes are back. A client
is back when a request of it was answered ("inf": not while it was observed). With 1,000 clients the figures of a node
grow by the number of clients; the limit of each is the same, and so is the target: ``reprepare_rate`` and
``connection_rate`` for each client.

PREPAREs of a client are those ahead of requests, whose number is limited, and one for each statement that a request
needs before any client has prepared it.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.measure import Driver
from benchmarks.peers import SCYLLA, Peer
from benchmarks.report import Line, show
from cassandra.testing import SimulatedCluster, SimulatedNode
from cassandra.testing.faults import Close, Exchange

TITLE = "Storms: a node returns, all nodes are restarted"
PROCESSES, CLIENTS, STATEMENTS = 2, 40, 100
NODES, SHARDS, MANY_SHARDS = 3, 4, 92
REPREPARE_RATE, CONNECTION_RATE = 10, 25  # the defaults of fastcql
SETTLED, DOWN, OBSERVED, OUTAGE, BACK = 2.0, 3.0, 6.0, 6.0, 10.0  # seconds
FILLING, FEW = 10.0, 4
MOST_EXCESS = 2


class Watch:
    """The moments at which requests and connections came to a node."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        self.prepares: list[tuple[int, float]] = []
        self.connections: list[tuple[int, float]] = []
        self.most = 0  # connections of one node at a moment
        simulated.inject(Close(), opcode="PREPARE", when=self._on_prepare)
        simulated.inject(Close(), opcode="CONNECT", when=self._on_connection)

    def _on_prepare(self, exchange: Exchange) -> bool:
        self.prepares.append((exchange.node.index, time.monotonic()))
        return False

    def _on_connection(self, exchange: Exchange) -> bool:
        self.connections.append((exchange.node.index, time.monotonic()))
        self.most = max(self.most, len(exchange.node.clients))
        return False

    def clear(self) -> None:
        self.prepares, self.connections = [], []


def most_within(seconds: float, moments: list[tuple[int, float]], node: int | None = None) -> int:
    """The most that came to one node (or to *node*) within any *seconds*."""
    most = 0
    for index in {index for index, _ in moments} if node is None else {node}:
        ordered = sorted(moment for at, moment in moments if at == index)
        for position, moment in enumerate(ordered):
            most = max(most, bisect_left(ordered, moment + seconds) - position)
    return most


class Clients:
    """The processes with the clients of one driver."""

    def __init__(self, driver: Driver, processes: int) -> None:
        command, folder = driver.command()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        pipe = subprocess.PIPE
        self._processes = [
            subprocess.Popen(command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, text=True)
            for _ in range(processes)
        ]
        for process in self._processes:
            if self._answer(process) != "ready":
                raise SystemExit(f"{' '.join(map(str, command))} failed")

    @staticmethod
    def _answer(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def ask(self, command: str) -> list[dict[str, Any]]:
        """The answer of each process."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{command}\n")
            process.stdin.flush()
        return [json.loads(self._answer(process)) for process in self._processes]

    def end(self) -> None:
        for process in self._processes:
            try:
                process.communicate("\n", timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def served(
    peer: Peer | None, nodes: int, shards: int, processes: int, clients: int, statements: int, port: bool = True
) -> Iterator[tuple[SimulatedCluster, Watch, Clients]]:
    """Nodes with a table, and clients of one driver that are connected to them."""
    with SimulatedCluster(nodes, shards, tablets=False) as simulated:
        strategy = f"{{'class': 'SimpleStrategy', 'replication_factor': {nodes}}}"
        simulated.execute(f"CREATE KEYSPACE ks WITH replication = {strategy}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        for node in simulated.nodes:
            node.advertise_shard_aware_port = port
        watch = Watch(simulated)
        arguments = (",".join(simulated.contact_points), str(simulated.port), str(clients), str(statements))
        running = Clients(Driver("storms", arguments, peer), processes)
        try:
            yield simulated, watch, running
        finally:
            running.end()


def first_answers(reports: list[dict[str, Any]], node: SimulatedNode | None) -> list[float]:
    """Seconds to the first answer to each client, of *node* or of any; infinite for one without."""
    found = []
    for report in reports:
        for first in report["first"]:
            moments = [at for address, at in first.items() if node is None or address == node.address]
            found.append(min(moments, default=float("inf")))
    return sorted(found)


def events(peer: Peer | None) -> dict[str, float]:
    """A node that returns, then a restart of all nodes, with the clients of one driver."""
    with served(peer, NODES, SHARDS, PROCESSES, CLIENTS // PROCESSES, STATEMENTS) as (simulated, watch, clients):
        time.sleep(SETTLED)
        node = simulated.nodes[1]
        node.stop()
        time.sleep(DOWN)
        watch.clear()
        clients.ask("mark")
        node.start()
        time.sleep(OBSERVED)
        reports = clients.ask("report")
        there = first_answers(reports, node)
        found: dict[str, float] = {
            "prepares": most_within(1.0, watch.prepares, node.index),
            "prepares at once": most_within(0.1, watch.prepares, node.index),
            "connections": most_within(1.0, watch.connections, node.index),
            "half": there[len(there) // 2],
            "all": there[-1],
            "failed": sum(len(report["errors"]) for report in reports),
        }
        for one in simulated.nodes:
            one.stop()
        time.sleep(OUTAGE)
        watch.clear()
        clients.ask("mark")
        for one in simulated.nodes:
            one.start()
        time.sleep(BACK + 2.0)
        return found | {
            "restart prepares": most_within(1.0, watch.prepares),
            "restart connections": most_within(1.0, watch.connections),
            "restart at once": most_within(0.1, watch.connections),
            "back": first_answers(clients.ask("report"), None)[-1],
        }


def most_connections(peer: Peer | None, by_port: bool) -> float:
    """The most connections for each of a few clients at a moment, while they connect to many shards."""
    with served(peer, 1, MANY_SHARDS, 1, FEW, 1, by_port) as (_, watch, _):
        time.sleep(FILLING)
        return watch.most / FEW


def count(measure: str, value: float, limit: float | None, theirs: float, text: str = "{:,.0f}") -> Line:
    target, reached = ("", None) if limit is None else (f"≤ {text.format(limit)}", value <= limit)
    return Line(measure, text.format(value), target, f"{SCYLLA.name} {text.format(theirs)}", "", reached)


def lines() -> list[Line]:
    ours, theirs = events(None), events(SCYLLA)
    needed = MANY_SHARDS + 1  # and the control connection
    prepares = CLIENTS * REPREPARE_RATE + STATEMENTS  # those that requests need are prepared once by some client
    connections = CLIENTS * CONNECTION_RATE
    found = [
        Line(f"A node returns to {CLIENTS} clients with {STATEMENTS} statements each", ""),
        count("  PREPAREs, most in a second", ours["prepares"], prepares, theirs["prepares"]),
        count("  PREPAREs, most in 0.1 s", ours["prepares at once"], prepares / 4, theirs["prepares at once"]),
        count("  connections, most in a second", ours["connections"], connections, theirs["connections"]),
        count("  seconds until half of the clients use it", ours["half"], None, theirs["half"], "{:.2f}"),
        count("  seconds until all clients use it", ours["all"], 1.0, theirs["all"], "{:.2f}"),
        count("  failed requests", ours["failed"], 0, theirs["failed"]),
        Line(f"All {NODES} nodes return after {OUTAGE:g} s", ""),
        count("  PREPAREs of a node, most in a second", ours["restart prepares"], prepares, theirs["restart prepares"]),
        count(
            "  connections of a node, most in a second",
            ours["restart connections"],
            connections,
            theirs["restart connections"],
        ),
        count(
            "  connections of a node, most in 0.1 s",
            ours["restart at once"],
            connections / 4,
            theirs["restart at once"],
        ),
        count("  seconds until all clients are back", ours["back"], BACK, theirs["back"], "{:.2f}"),
        Line(f"Connections of a client to {MANY_SHARDS} shards, most at a moment", ""),
    ]
    for by_port, how, allowed in ((True, "with", 0), (False, "without", MOST_EXCESS)):
        value, other = most_connections(None, by_port), most_connections(SCYLLA, by_port)
        found.append(count(f"  {how} the shard-aware port ({needed} are needed)", value, needed + allowed, other))
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
