"""Every benchmark, one after another: ``python -m benchmarks [name …] [--pyperf]``. Fails when a target is missed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.clients.harness import PYPERF
from benchmarks.report import show

ALL = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def main(names: list[str]) -> int:
    missed = 0
    for name in names or ALL:
        bench = importlib.import_module(f"benchmarks.bench_{name}")
        missed += show(bench.TITLE, bench.lines())
    if PYPERF in sys.argv:
        print("\nMeasured by the wall clock: CPU time, without --pyperf, is what targets are about.")
    else:
        print(f"\n{missed} missed" if missed else "\nEvery target is reached.")
    return min(missed, 1)


if __name__ == "__main__":
    raise SystemExit(main([argument for argument in sys.argv[1:] if argument != PYPERF]))
