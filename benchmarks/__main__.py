"""Every benchmark, one after another: ``python -m benchmarks [name …] [--pyperf]``. Fails when a target is missed.

``python -m benchmarks compare`` makes the figures of docs/performance.rst (``benchmarks/compare``);
``python -m benchmarks public --scripts DIR`` runs the scripts of others (``bench_public.py``).
"""

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
    for name, module in (("compare", "benchmarks.compare.__main__"), ("public", "benchmarks.bench_public")):
        if sys.argv[1:2] == [name]:
            raise SystemExit(importlib.import_module(module).main(sys.argv[2:]))
    raise SystemExit(main([argument for argument in sys.argv[1:] if argument != PYPERF]))
