"""Where a request goes: the first host and shard beside scylla-driver, and the native parts alone.

``python -m benchmarks.bench_routing`` prints the figures beside the targets. The floor of a pick is a bisection in C
behind the same call from Python, which gives an object that is there already.
"""

from __future__ import annotations

import subprocess

from benchmarks.clients.tablets import LOOPS
from benchmarks.measure import FASTCQL, Driver, Samples, alternate, pyperf_wanted
from benchmarks.native import build, build_extension
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, compared_only, show

TITLE = "Routing: CPU per operation"
FIRST, PUBLISHED = 1e-6, 66e-6  # what the target was where it was set, and what scylla-driver took there
TOKEN, SHARD = 30e-9, 20e-9
OWNERS = (
    ("learned", "after warm-up", 1.0),
    ("prefetched", "the first ones after prefetch_tablets", 1.0),
    ("moving", "10,000 during which 100 tablets move", 0.99),
)


def lines() -> list[Line]:
    ours = Driver("routing", (str(build_extension("floor")),))
    samples = alternate({FASTCQL: ours, SCYLLA.name: Driver("routing", peer=SCYLLA)})
    found = []
    for kind, replicas in (("ring", "the ring"), ("tablets", "tablets")):
        theirs = {SCYLLA.name: _took(samples, SCYLLA.name, f"first by {kind}")}
        measure = f"first host of a key, TokenAware(RackAware), 45 nodes, by {replicas}"
        found.append(at_most(measure, _took(samples, FASTCQL, f"first by {kind}"), FIRST, theirs, PUBLISHED / FIRST))
        floor = {"floor": _took(samples, FASTCQL, f"floor by {kind}")}
        found.append(
            compared_only("  of it the pick by the token", _took(samples, FASTCQL, f"picked by {kind}"), floor)
        )
        planned = _took(samples, FASTCQL, f"planned by {kind}")
        found.append(compared_only("  the same by make_query_plan", planned, theirs))
    if not pyperf_wanted():
        native = _native()
        found.append(at_most("token of a key of 16 bytes, natively", native["token"], TOKEN))
        found.append(at_most("shard of a token, natively", native["shard"], SHARD))
        found += _owners()
    return found


def _owners() -> list[Line]:
    """On the simulated cluster, which counts."""
    facts = alternate({FASTCQL: Driver("owners")}, processes=1).each(FASTCQL)[0]
    return [
        Line(
            f"requests to the owning shard, {what}",
            f"{facts[name]:.2%}",
            f"≥ {least:.0%}",
            reached=facts[name] >= least,
        )
        for name, what, least in OWNERS
    ]


def _took(samples: Samples, driver: str, name: str) -> float:
    return (samples[driver, name] - samples[driver, "empty loop"]) / LOOPS


def _native() -> dict[str, float]:
    printed = subprocess.run([build("routing", [])], check=True, capture_output=True, text=True).stdout
    return {name: float(took) * 1e-9 for name, took, _ in (line.split() for line in printed.splitlines())}


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
