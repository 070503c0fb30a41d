"""Point reads through ``Session.execute``: CPU of the client per operation, side by side with scylla-driver.

Both read one row of five columns by a prepared statement from the same native responder, which plays recorded answers
of a real server (``benchmarks/responder``). CPU is that of the whole process, I/O threads included, the mean over some
ten thousand operations. ``python -m benchmarks.bench_execute`` prints the figures and fails when ours is more than a
third of theirs.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, show, times_faster
from benchmarks.responder import Responder

TITLE = "Session.execute of a prepared point read, 5 columns: CPU of the client per operation"
NAME, OF_SCYLLA = "point read", 3.0
SCHEMA = [
    "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE bench.points (id int PRIMARY KEY, score bigint, name text, ratio double, at timestamp)",
]


def drivers(port: int) -> dict[str, Driver]:
    return {
        FASTCQL: Driver("points", (str(port),)),
        SCYLLA.name: Driver("points", (str(port),), SCYLLA),
    }


def lines() -> list[Line]:
    with Responder() as responder:
        samples = alternate(drivers(responder.port))
    theirs = {SCYLLA.name: (samples[SCYLLA.name, NAME], OF_SCYLLA)}
    return [times_faster(NAME, samples[FASTCQL, NAME], theirs), responder.line()]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
