"""A client of clusters of 10, 100 and 1,000 nodes, beside scylla-driver: what it costs by the number of nodes.

Simulated: the nodes (:mod:`cassandra.testing`, in this process), each at an address of its own, which respond at once.
Real: the client, in a process of its own, with its sockets and default settings. The nodes have 32 shards; as a process
may have a limited number of open files (``ulimit -n``), the largest cluster has fewer, and figures that grow with the
connections are also printed for each connection. Token maps are made in the client alone, of 256 tokens for each node.

At rest, the client is observed for longer than an interval of its heartbeats.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
from typing import NamedTuple

from benchmarks.measure import Driver
from benchmarks.peers import SCYLLA, Peer
from benchmarks.report import Line, seconds, show
from cassandra.testing import SimulatedCluster

TITLE = "Fleet: clusters of 10, 100 and 1,000 nodes"
SIZES, SHARDS = (10, 100, 1000), 32
REST, LIMIT = 35.0, 600.0  # seconds
SPARE_FILES = 400
AT_REST, RESIDENT, THREADS = 0.005, 60 << 20, 2
TOKEN_MAP, FIRST_HOST = 0.3, 150e-9
GROWTH = 1.25  # how much more than ten times as much ten times as many nodes may cost

Figures = dict[str, float]


class Size(NamedTuple):
    nodes: int
    shards: int

    @property
    def connections(self) -> int:
        return self.nodes * self.shards + 1  # with the control connection


def size_of(nodes: int) -> Size:
    """As many shards as the limit of open files allows: the nodes have two sockets each for clients to connect to."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return Size(nodes, max(1, min(SHARDS, (files - SPARE_FILES - 2 * nodes) // nodes)))


def run(peer: Peer | None, *arguments: str) -> Figures:
    command, folder = Driver("fleet", arguments, peer).command()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True
    )
    found: Figures = json.loads(done.stdout)
    return found


def figures(peer: Peer | None, size: Size) -> Figures:
    with SimulatedCluster(size.nodes, size.shards, tablets=False) as simulated:
        replication = "{'class': 'NetworkTopologyStrategy', 'dc1': 3}"
        simulated.execute(f"CREATE KEYSPACE ks WITH replication = {replication}")
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        found = run(peer, simulated.contact_points[0], str(simulated.port), str(size.connections), str(REST))
    return found | run(peer, "ring", str(size.nodes))


def lines() -> list[Line]:
    sizes = [size_of(nodes) for nodes in SIZES]
    ours = [figures(None, size) for size in sizes]
    theirs = [figures(SCYLLA, size) for size in sizes]
    found = []
    for size, own, other in zip(sizes, ours, theirs, strict=True):
        found += _of_size(size, own, other, is_largest=size is sizes[-1])
    found.append(Line("Ten times as many nodes cost at most ten times as much", ""))
    found += [_growth(name, sizes, ours, theirs) for name in ("connect CPU", "refresh CPU", "token map")]
    return found


def _of_size(size: Size, own: Figures, other: Figures, *, is_largest: bool) -> list[Line]:
    def line(measure: str, name: str, limit: float | None = None, scale: float = 1.0) -> Line:
        target, reached = ("", None) if limit is None else (f"≤ {seconds(limit)}", own[name] / scale <= limit)
        ratio = f"{other[name] / own[name]:.1f}x"
        theirs = f"{SCYLLA.name} {seconds(other[name] / scale)}"
        return Line(measure, seconds(own[name] / scale), target, theirs, ratio, reached)

    def other_unit(measure: str, name: str, text: str, unit: float, limit: float | None) -> Line:
        value, theirs = own[name] / unit, other[name] / unit
        is_target = limit is not None and is_largest
        target, reached = (f"≤ {text.format(limit)}", value <= limit) if is_target and limit is not None else ("", None)
        return Line(measure, text.format(value), target, f"{SCYLLA.name} {text.format(theirs)}", "", reached)

    title = f"{size.nodes:,} nodes of {size.shards} shards: {own['connections']:,.0f} connections"
    return [
        Line(title, "", "", f"{SCYLLA.name} {other['connections']:,.0f}"),
        line("  connect(), CPU", "connect CPU"),
        line("  connect()", "connect"),
        line("  all connections, CPU", "all CPU"),
        line("  CPU for each connection", "all CPU", scale=size.connections),
        line("  until all connections are open", "all"),
        other_unit("  at rest: share of a core", "rest", "{:.2f} %", 0.01, 100 * AT_REST),
        other_unit("  at rest: memory", "resident", "{:.1f} MiB", 1 << 20, RESIDENT / (1 << 20)),
        other_unit("  memory for each connection", "resident", "{:.1f} KiB", 1024 * size.connections, None),
        other_unit("  threads", "threads", "{:.0f}", 1, THREADS),
        line("  refresh of the nodes, CPU", "refresh CPU"),
        line("  token map of 256 tokens for each node", "token map", TOKEN_MAP if is_largest else None),
        line("  first host by token", "first host", FIRST_HOST),
    ]


def _growth(name: str, sizes: list[Size], ours: list[Figures], theirs: list[Figures]) -> Line:
    """How much more the largest cluster costs than the second largest, for each node."""

    def growth(found: list[Figures]) -> float:
        (small, large), (less, more) = (sizes[-2].nodes, sizes[-1].nodes), (found[-2][name], found[-1][name])
        return more / less * small / large

    own, other = growth(ours), growth(theirs)
    return Line(
        f"  {name}, for each node", f"{own:.2f}x", f"≤ {GROWTH:g}x", f"{SCYLLA.name} {other:.2f}x", "", own <= GROWTH
    )


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
