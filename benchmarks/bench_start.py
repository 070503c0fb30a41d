"""What a program pays before its first request: the import, and ``Cluster()`` with ``connect()``; beside scylla-driver.

``import cassandra.cluster`` is CPU time, the best of fresh interpreters with byte code at hand. Connecting is by the
wall clock, the best of many, since waiting for threads and answers is what it could be made of; its CPU, a median, is
printed beside it. The responder plays the schema of a real server: 8 keyspaces, 95 tables, 774 columns. Connected is
who has read all of it and has a pool to the node.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, compared_only, show
from benchmarks.responder import Responder

TITLE = "From nothing to a session"
IMPORT, CONNECT = 0.060, 0.004


def drivers(port: int) -> dict[str, Driver]:
    return {FASTCQL: Driver("start", (str(port),)), SCYLLA.name: Driver("start", (str(port),), SCYLLA)}


def lines() -> list[Line]:
    with Responder() as responder:
        samples = alternate(drivers(responder.port), processes=3)

    def peer(name: str) -> dict[str, float]:
        return {SCYLLA.name: samples[SCYLLA.name, name]}

    def ours(name: str) -> float:
        return samples[FASTCQL, name]

    return [
        at_most("import cassandra.cluster, CPU", ours("import"), IMPORT, peer("import")),
        at_most("Cluster() + connect(), first of a process", ours("first wall"), CONNECT, peer("first wall")),
        compared_only("  its CPU", ours("first"), peer("first")),
        at_most("Cluster() + connect(), later ones", ours("again wall"), CONNECT, peer("again wall")),
        compared_only("  its CPU", ours("again"), peer("again")),
        compared_only("Cluster.shutdown()", ours("shutdown wall"), peer("shutdown wall")),
        responder.line(),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
