"""Query plans that a program's own policy asks of built-in ones, and CQL names of types, beside scylla-driver.

``python -m benchmarks.bench_policies`` prints the figures beside the targets. The target of every plan is to take
no longer than scylla-driver: of each policy and query the setup that is worst compared with it is shown.
"""

from __future__ import annotations

from benchmarks.clients.policies import LOOPS
from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, show, times_faster

TITLE = "Query plans of policies: CPU per plan"
TYPE_NAME = 0.5e-6
PROCESSES = 3


def lines() -> list[Line]:
    samples = alternate({FASTCQL: Driver("policies"), SCYLLA.name: Driver("policies", peer=SCYLLA)}, PROCESSES)
    worst: dict[tuple[str, str, str], tuple[float, str, float, float]] = {}
    for name in samples.each(FASTCQL)[0]:
        if name.count(", ") < 3:
            continue
        policy, setup, query, part = name.split(", ")
        ours, theirs = (_took(samples, driver, name) for driver in (FASTCQL, SCYLLA.name))
        found = (ours / theirs, setup, ours, theirs)
        worst[policy, query, part] = max(found, worst.get((policy, query, part), found))
    lines = [
        times_faster(f"{policy}, query: {query}, {part} ({setup})", ours, {SCYLLA.name: (theirs, 1)})
        for (policy, query, part), (_, setup, ours, theirs) in worst.items()
    ]
    peers = {SCYLLA.name: samples[SCYLLA.name, "CQL name of a type"]}
    return [
        *lines,
        at_most("cql_parameterized_type() of a map", samples[FASTCQL, "CQL name of a type"], TYPE_NAME, peers),
    ]


def _took(samples: Samples, driver: str, name: str) -> float:
    return (samples[driver, name] - samples[driver, "empty loop"]) / LOOPS


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
