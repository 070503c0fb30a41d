"""Small answers and what every answer costs before its first row; what a message takes in memory.

Twice each: as a session decodes (``native``), and by ``ProtocolHandler.decode_message``, the call that scylla-driver
has too and that custom handlers build on. ``python -m benchmarks.bench_decode`` prints the figures beside the targets.
"""

from __future__ import annotations

from benchmarks.measure import DATA, FASTCQL, Driver, Samples, alternate, pyperf_wanted
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, compared_only, seconds, show

TITLE = "Answers decoded: CPU per answer"
HANDLER = "by ProtocolHandler"
DRIVERS = {
    FASTCQL: Driver("native", ("small", DATA)),
    HANDLER: Driver("messages", ("small", DATA)),
    SCYLLA.name: Driver("messages", ("small", DATA), SCYLLA),
}
MEMORY = {name: Driver("messages", ("memory", DATA), peer) for name, peer in ((FASTCQL, None), (SCYLLA.name, SCYLLA))}
# measure: (limit, what scylla-driver took where the limit was set)
LIMITS = {
    "0 rows": (0.6e-6, 6.1e-6),
    "1x5": (0.8e-6, 6.7e-6),
    "1x5 with metadata": (2e-6, 12.1e-6),
    "VOID": (0.4e-6, 1.2e-6),
}
WIDE, NARROW, FLAT = "0 rows of 50", "0 rows of 5", 50e-9
BYTES = 200


def lines() -> list[Line]:
    samples = alternate(DRIVERS)
    found = []
    for name, (limit, published) in LIMITS.items():
        peers = {SCYLLA.name: samples[SCYLLA.name, name]}
        for driver in (FASTCQL, HANDLER):
            measure = name if driver == FASTCQL else f"{name}, {HANDLER}"
            found.append(at_most(measure, samples[driver, name], limit, peers, published / limit))
    found.append(compared_only("1x5 to named tuples", samples[FASTCQL, "1x5 named"]))
    found.append(_names_and_types(samples))
    return found if pyperf_wanted() else [*found, *_memory()]


def _names_and_types(samples: Samples) -> Line:
    """What 45 more columns add to an answer without rows, whose metadata was skipped: nothing, within the noise."""
    more = {driver: samples[driver, WIDE] - samples[driver, NARROW] for driver in DRIVERS}
    reached = max(more[FASTCQL], more[HANDLER]) <= FLAT
    return Line(
        "names and types of 50 columns, beyond those of 5",
        seconds(more[FASTCQL]),
        f"none (≤ {seconds(FLAT)})",
        f"{HANDLER} {seconds(more[HANDLER])}, {SCYLLA.name} {seconds(more[SCYLLA.name])}",
        "",
        reached,
    )


def _memory() -> list[Line]:
    samples = alternate(MEMORY, processes=1)
    found = []
    for name, what in (("marginal", "one of 20,000 live (tracemalloc)"), ("pympler", "pympler's deep size of one")):
        ours, theirs = samples[FASTCQL, name], samples[SCYLLA.name, name]
        target, reached = (f"≤ {BYTES} B", ours <= BYTES) if name == "marginal" else ("", None)
        compared = f"{SCYLLA.name} {theirs:.0f} B"
        found.append(
            Line(f"a message without rows, {what}", f"{ours:.0f} B", target, compared, f"{theirs / ours:.2f}x", reached)
        )
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
