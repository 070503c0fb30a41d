"""The object mapper beside scylla-driver's: reading, writing and iterating instances of five columns.

The models have plain values; *ordinary* ones have a time and a list of texts, too, and are saved after an attribute was
set, as applications do.

Both play against the same recorded answers. scylla-driver sends texts with literals, this driver prepared statements;
figures are CPU of the whole client process per operation. The cost of awaiting is compared with ``execute_async``
of the same statement, and the cost of instances with named tuples of the same rows. The import is CPU time, the best of
fresh interpreters. Beside each operation that waits for one answer is its floor, a C++ program that sends and receives
the same bytes: where that alone takes more than the target leaves, the target is out of reach on the machine.
``python -m benchmarks.bench_mapper`` prints the figures beside the targets.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.bench_requests import NATIVE, floor
from benchmarks.measure import FASTCQL, Driver, Program, Samples, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, seconds, show
from benchmarks.responder import Responder

TITLE = "The object mapper, models of 5 columns: CPU of the client"
#: The operation, its required speed-up, and the most CPU time that it may take.
TARGETS: dict[str, tuple[str, float, float | None]] = {
    "get": ("Model.get(id=1)", 10.0, 30e-6),
    "create": ("Model.create(...)", 8.0, 35e-6),
    "update": ("instance.update(one column)", 8.0, None),
    "batch": ("BatchQuery of 50 creates", 8.0, None),
    "iterate": ("5,000 instances", 8.0, None),
    "read": ("5,000 instances, and an attribute of each", 8.0, None),
    "ordinary get": ("ordinary model: Model.get(id=1)", 8.0, None),
    "ordinary create": ("ordinary model: Model.create(...)", 8.0, None),
    "ordinary save": ("ordinary model: an attribute set, and save()", 8.0, None),
    "ordinary batch": ("ordinary model: a create of a BatchQuery of 50", 8.0, None),
    "ordinary iterate": ("ordinary model: an instance of a query set, and an attribute", 8.0, None),
}
SCHEMA = ("CREATE TABLE bench.ordinary (id int PRIMARY KEY, name text, ratio double, at timestamp, tags list<text>)",)
#: The ping-pong request that is the floor of each operation.
FLOORS = {"get": "read", "create": "insert", "update": "insert"}
FLOORS |= {f"ordinary {name}": floor for name, floor in (("get", "read"), ("create", "insert"), ("save", "insert"))}
OF_NAMED_TUPLES, OF_EXECUTE_ASYNC, OF_IMPORT = 1.5, 1.5, 0.025


def drivers(port: int) -> dict[str, Driver]:
    return {
        FASTCQL: Driver("mapper", (str(port),)),
        SCYLLA.name: Driver("mapper", (str(port),), SCYLLA),
    }


def lines() -> list[Line]:
    with Responder() as responder:
        programs: Mapping[str, Driver | Program] = {NATIVE: floor(responder.port), **drivers(responder.port)}
        samples = alternate(programs)
    found = [_compared(samples, name) for name in TARGETS]
    found.append(_beside(samples, "iterate", "5,000 instances", "named tuples", OF_NAMED_TUPLES))
    found.append(
        _beside(samples, "concurrent aget", "100 tasks await Model.aget", "concurrent execute_async", OF_EXECUTE_ASYNC)
    )
    found.append(_imported(samples))
    return [*found, responder.line()]


def _compared(samples: Samples, name: str) -> Line:
    measure, wanted, most = TARGETS[name]
    ours, theirs = samples[FASTCQL, name], samples[SCYLLA.name, name]
    ratio = theirs / ours
    limit = "" if most is None else f", ≤ {seconds(most)}"
    reached = ratio >= wanted and (most is None or ours <= most)
    others = f"{SCYLLA.name} {seconds(theirs)}"
    if name in FLOORS:
        others += f", {NATIVE} {seconds(samples[NATIVE, FLOORS[name]])}"
    return Line(measure, seconds(ours), f"≥ {wanted:g}x{limit}", others, f"{ratio:.1f}x", reached)


def _beside(samples: Samples, name: str, measure: str, other: str, most: float) -> Line:
    ours, theirs = samples[FASTCQL, name], samples[FASTCQL, other]
    ratio = ours / theirs
    return Line(
        measure, seconds(ours), f"≤ {most:g}x {other}", f"{other} {seconds(theirs)}", f"{ratio:.2f}x", ratio <= most
    )


def _imported(samples: Samples) -> Line:
    peer = {SCYLLA.name: samples[SCYLLA.name, "import"]}
    return at_most(
        "import cassandra.cqlengine.models, beyond cassandra.cluster", samples[FASTCQL, "import"], OF_IMPORT, peer
    )


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
