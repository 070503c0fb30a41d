"""The memory pool: a block of 100 bytes committed, read and released, beside any number of live ones.

``python -m benchmarks.bench_memory`` prints the figures beside the targets, from Python and natively. A dict of bytes
objects, which has neither bound nor alignment nor views, is the floor for anything that Python calls three times.
"""

from __future__ import annotations

import subprocess

from benchmarks.clients.memory import LIVE
from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.native import build
from benchmarks.report import Line, at_most, compared_only, show

TITLE = "Memory pool: CPU per operation"
FLAT = 1.2
CYCLE, NATIVE = 200e-9, 60e-9


def lines() -> list[Line]:
    samples = alternate({FASTCQL: Driver("memory")})
    floor = {"dict of bytes": samples[FASTCQL, "dict of bytes"]}
    found = [
        at_most(f"commit, read, release; {live:,} live blocks", samples[FASTCQL, f"cycle {live}"], CYCLE, floor)
        for live in LIVE
    ]
    found.append(_flat(samples))
    native = _native()
    found += [at_most(f"the same natively; {live:,} live blocks", native[live], NATIVE) for live in LIVE]
    found.append(compared_only("a view of 1 MiB", samples[FASTCQL, "view"]))
    found.append(compared_only("a buffer that grows from 2 to 32 MiB in 15 steps", samples[FASTCQL, "grow"]))
    return found


def _flat(samples: Samples) -> Line:
    times = [samples[FASTCQL, f"cycle {live}"] for live in LIVE]
    spread = max(times) / min(times)
    return Line("slowest / fastest of these", f"{spread:.2f}", f"≤ {FLAT}", reached=spread <= FLAT)


def _native() -> dict[int, float]:
    program = build("pool", ["memory"])
    printed = subprocess.run([program, *map(str, LIVE)], check=True, capture_output=True, text=True).stdout
    return {int(live): float(took) for live, took in (line.split() for line in printed.splitlines())}


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
