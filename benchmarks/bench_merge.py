"""What ``session.scan_order`` does with pages that are here: 16 partitions of 20,000 rows in one order, CPU per row.

Rows are a bigint, by which they are merged, a double and a text. *Interleaved*, partitions are of the same time;
*in runs* each has its own, of which a tenth is the next one's. Beside it ``heapq.merge`` over tuples, which are made
already. What has no target: another key, of two columns, and a thousand partitions at once.

``python -m benchmarks.bench_merge`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.report import Line, at_most, compared_only, show

TITLE = "Partitions in one order: CPU per row"
DRIVERS = {FASTCQL: Driver("merge")}
LIMITS = {"interleaved": 60e-9, "in runs": 20e-9}
OTHERS = ("text and bigint", "1,024 sources")


def lines() -> list[Line]:
    samples = alternate(DRIVERS)
    found = [
        at_most(name, samples[FASTCQL, name], limit, {"heapq.merge": samples[FASTCQL, f"{name} heapq"]})
        for name, limit in LIMITS.items()
    ]
    return [*found, *(compared_only(name, samples[FASTCQL, name]) for name in OTHERS)]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
