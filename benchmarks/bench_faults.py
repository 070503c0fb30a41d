"""Page faults per page of rows in the steady state of a fresh process, and memory after idleness, beside scylla-driver.

``python -m benchmarks.bench_faults`` prints the figures beside the targets: no faults, and within a minute of idleness
no more than half of a page left beyond what was resident before the first one, once the garbage collector has run.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, compared_only, show

TITLE = "Memory of rows"
PAGES = ((1_000, 1, 16_384), (10, 1, 1 << 20), (1_000, 1, 1_024), (5_000, 15, 300), (20_000, 5, 100))
FAULTS, LEFT = 1.0, 0.5  # per page; of a page


def lines() -> list[Line]:
    found = []
    for page in PAGES:
        arguments = tuple(map(str, page))
        drivers = {FASTCQL: Driver("faults", arguments), SCYLLA.name: Driver("faults", arguments, SCYLLA)}
        samples = alternate(drivers, 1)
        rows, columns, size = page
        what = f"{rows:,} rows of {columns} x {size:,} bytes"
        ours, theirs = (samples[driver, "faults"] for driver in (FASTCQL, SCYLLA.name))
        found.append(
            Line(f"faults, {what}", f"{ours:.1f}", f"≤ {FAULTS:g}", f"{SCYLLA.name} {theirs:.1f}", "", ours <= FAULTS)
        )
        found.append(
            compared_only(
                f"  CPU of a page, {what}", samples[FASTCQL, "page"], {SCYLLA.name: samples[SCYLLA.name, "page"]}
            )
        )
        ours, theirs = (samples[driver, "left"] for driver in (FASTCQL, SCYLLA.name))
        found.append(
            Line(
                "  left after a minute", f"{ours:.0%}", f"≤ {LEFT:.0%}", f"{SCYLLA.name} {theirs:.0%}", "", ours <= LEFT
            )
        )
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
