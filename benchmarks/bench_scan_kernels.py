"""Recorded pages filtered and folded: CPU per row, beside rows and NumPy arrays; and whether masks should come first.

``python -m benchmarks.bench_scan_kernels`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.clients.scan_kernels import REDUCERS, ROWS
from benchmarks.measure import DATA, FASTCQL, Driver, Program, Samples, alternate, pyperf_wanted
from benchmarks.native import build
from benchmarks.peers import SCYLLA, SCYLLA_NUMPY
from benchmarks.report import Line, at_most, compared_only, show

TITLE = "Pages filtered and folded: CPU per row"
OUR_ROWS, NAMED, ARRAYS, ABLATION = "our named rows", f"{SCYLLA.name}: named", f"{SCYLLA.name}: NumPy", "ablation"
DRIVERS: dict[str, Driver | Program] = {
    FASTCQL: Driver("scan_kernels", (DATA,)),
    OUR_ROWS: Driver("scan_rows", ("named", DATA)),
    NAMED: Driver("scan_rows", ("named", DATA), SCYLLA),
    ARRAYS: Driver("scan_rows", ("arrays", DATA), SCYLLA_NUMPY),
}
LIMIT, MASK_FIRST = 60e-9, 1.5


def lines() -> list[Line]:
    samples = alternate({**DRIVERS, ABLATION: Program((str(build("kernels", ("columns", "memory"))),))})
    peers = {name: samples[name, "sum"] / ROWS for name in (NAMED, ARRAYS, OUR_ROWS)}
    found = [at_most("filter + sum, decoding included", samples[FASTCQL, "sum"] / ROWS, LIMIT, peers)]
    for name in REDUCERS:
        alone = samples[FASTCQL, f"{name} folded"] / ROWS
        found.append(compared_only(f"filter + {name}, of columns", alone))
    return [*found, *([] if pyperf_wanted() else _ablation(samples))]


def _ablation(samples: Samples) -> list[Line]:
    return [_mask_first(samples, percent) for percent in (10, 50, 90)]


def _mask_first(samples: Samples, percent: int) -> Line:
    first, interleaved = samples[ABLATION, f"mask first {percent}"], samples[ABLATION, f"interleaved {percent}"]
    return Line(
        f"mask first, {percent} % of rows wanted",
        f"{first * 1e9:.2f} ns",
        f"≥ {MASK_FIRST:g}x",
        f"interleaved {interleaved * 1e9:.2f} ns",
        f"{interleaved / first:.1f}x",
        interleaved / first >= MASK_FIRST,
    )


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
