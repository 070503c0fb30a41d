"""asyncio: a hundred tasks that each await one request after another, beside acsylla, scyllapy and scylladb-rs-driver,
also with uvloop.

Everybody talks to the same native responder on another core, and looks at the row that a read gives. CPU is that of the
whole client process per operation. ``python -m benchmarks.bench_asyncio`` prints the figures beside the targets.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.peers import ACSYLLA, SCYLLA_RS, SCYLLAPY
from benchmarks.report import Line, at_most, compared_only, show
from benchmarks.responder import Responder

TITLE = "await session.execute_async(…) of prepared statements, 5 columns: CPU of the client per operation"
MOST = 3.2e-6  # by a hundred tasks
OF_PEERS = {ACSYLLA: 1.5, SCYLLA_RS: 1.8}
COUNT, SLOW_COUNT = 5000, 2000  # requests of a sample
LOOPS = ("asyncio", "uvloop")
KINDS = {"read": "point reads", "insert": "INSERTs"}


def drivers(port: int) -> dict[str, Driver]:
    found = {}
    for loop in LOOPS:
        found[f"{FASTCQL} {loop}"] = Driver("fastcql_tasks", (str(port), loop, str(COUNT)))
        found[f"{ACSYLLA.name} {loop}"] = Driver("acsylla_tasks", (str(port), loop, str(COUNT)), ACSYLLA)
        found[f"{SCYLLA_RS.name} {loop}"] = Driver("scylla_rs_tasks", (str(port), loop, str(COUNT)), SCYLLA_RS)
        found[f"{SCYLLAPY.name} {loop}"] = Driver("scyllapy_tasks", (str(port), loop, str(SLOW_COUNT)), SCYLLAPY)
    return found


def lines() -> list[Line]:
    with Responder() as responder:
        samples = alternate(drivers(responder.port))
    found = [_by_tasks(samples, loop, kind) for loop in LOOPS for kind in KINDS]
    found += [_alone(samples, loop, kind) for loop in LOOPS for kind in KINDS]
    return [*found, responder.line()]


def _peers(samples: Samples, loop: str, name: str) -> dict[str, float]:
    return {peer.name: samples[f"{peer.name} {loop}", name] for peer in (ACSYLLA, SCYLLA_RS, SCYLLAPY)}


def _by_tasks(samples: Samples, loop: str, kind: str) -> Line:
    name = f"concurrent {kind}"
    ours, peers = samples[f"{FASTCQL} {loop}", name], _peers(samples, loop, name)
    line = at_most(f"{KINDS[kind]} by 100 tasks, {loop}", ours, MOST, peers)
    target = f"{line.target}, " + ", ".join(f"≥ {wanted:g}x {peer.name}" for peer, wanted in OF_PEERS.items())
    reached = line.reached and all(peers[peer.name] / ours >= wanted for peer, wanted in OF_PEERS.items())
    return line._replace(target=target, reached=reached)


def _alone(samples: Samples, loop: str, kind: str) -> Line:
    return compared_only(
        f"{KINDS[kind]} by one task, {loop}", samples[f"{FASTCQL} {loop}", kind], _peers(samples, loop, kind)
    )


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
