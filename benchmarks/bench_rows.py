"""Decoding a page: 5,000 rows from recorded answers of a real server to tuples and to named tuples, the default.

Compared in the same run with ``marshal.loads`` of the same rows, about the least that making these objects can cost in
CPython, and with scylla-driver and its default row factory. ``python -m benchmarks.bench_rows`` prints the figures
beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.measure import DATA, FASTCQL, Driver, Samples, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, compared_only, seconds, show, times_faster

TITLE = "5,000 rows, bytes to Python objects: CPU per page"
DRIVERS = {
    FASTCQL: Driver("native", ("pages", DATA)),
    SCYLLA.name: Driver("messages", ("pages", DATA), SCYLLA),
}
OF_MARSHAL, OF_SCYLLA = 0.95, 2.5
COLUMNS = {
    "rows4": "(int, text, bigint, double)",
    "rows5": "(int, bigint, text, double, timestamp)",
    "rows7": "(int, int, text, bigint, double, uuid, timestamp)",
}
LIMITS = {"rows5 tuples": (1.0e-3, 1.99e-3), "rows5 named": (1.15e-3, 3.74e-3)}


def lines() -> list[Line]:
    samples = alternate(DRIVERS)
    return [*(_line(samples, name) for name in _names()), _against_marshal(samples)]


def _names() -> list[str]:
    return [f"{shape} {kind}" for shape in COLUMNS for kind in ("tuples", "named")]


def _line(samples: Samples, name: str) -> Line:
    shape, kind = name.split()
    measure = f"{COLUMNS[shape]} to {kind if kind == 'tuples' else 'named tuples'}"
    ours, theirs = samples[FASTCQL, name], samples[SCYLLA.name, name]
    if name in LIMITS:
        limit, published = LIMITS[name]
        return at_most(measure, ours, limit, {SCYLLA.name: theirs}, published / limit)
    if name == "rows4 named":
        return times_faster(measure, ours, {SCYLLA.name: (theirs, OF_SCYLLA)})
    return compared_only(measure, ours, {SCYLLA.name: theirs})


def _against_marshal(samples: Samples) -> Line:
    ratio = samples.ratio(FASTCQL, "rows4 named", "rows4 marshal")
    floor = samples[FASTCQL, "rows4 marshal"]
    return Line(
        f"{COLUMNS['rows4']} to named tuples: speed of marshal.loads",
        f"{ratio:.2f}x",
        f"≥ {OF_MARSHAL}x",
        f"marshal.loads {seconds(floor)}",
        f"{ratio:.2f}x",
        ratio >= OF_MARSHAL,
    )


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
