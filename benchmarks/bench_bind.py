"""Binding values to a prepared statement: ``PreparedStatement.bind`` beside scylla-driver's and cassandra-driver's.

``python -m benchmarks.bench_bind`` prints the figures beside the targets.
"""

from __future__ import annotations

from benchmarks.clients.bind import COLUMNS, WIDTHS
from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.peers import CASSANDRA, SCYLLA
from benchmarks.report import Line, compared_only, show, times_faster
from benchmarks.responder import Responder

TITLE = "PreparedStatement.bind: CPU per call"
OF_SCYLLA = 5.0
SCHEMA = [
    f"CREATE TABLE bench.bound{width} ("
    + ", ".join(f"{name} {kind}" for name, kind in list(COLUMNS.items())[:width])
    + ", PRIMARY KEY (id))"
    for width in WIDTHS
]


def drivers(port: int) -> dict[str, Driver]:
    return {
        FASTCQL: Driver("bind", (str(port),)),
        SCYLLA.name: Driver("bind", (str(port),), SCYLLA),
        CASSANDRA.name: Driver("bind", (str(port),), CASSANDRA),
    }


def lines() -> list[Line]:
    with Responder() as responder:
        samples = alternate(drivers(responder.port))
    found = []
    for width in WIDTHS:
        kinds = ", ".join(list(COLUMNS.values())[:width])
        scylla, cassandra, ours = (samples[name, f"bind {width}"] for name in (SCYLLA.name, CASSANDRA.name, FASTCQL))
        found.append(times_faster(f"{width} columns", ours, {SCYLLA.name: (scylla, OF_SCYLLA)}))
        found.append(compared_only(f"  ({kinds})", ours, {CASSANDRA.name: cassandra}))
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
