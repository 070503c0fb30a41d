"""``python -m tests.signals``: interrupts every public call at every moment, then at random ones, and prints a table.

The exit code says whether nothing failed. See :mod:`tests.signals`.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.signals.campaign import Result, faults_text, run_all, table, works
from tests.signals.server import KINDS
from tests.signals.worker import ALL_CALLS

BUNCH = 300  # random interrupts of one process


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.signals", description=__doc__)
    parser.add_argument("--interrupts", type=int, default=100_000, help="at least so many in all")
    parser.add_argument("--call", action="append", choices=sorted(ALL_CALLS), help="only these; default: all")
    parser.add_argument("--kind", action="append", choices=KINDS, help="of connections; default: all")
    parser.add_argument("--mode", action="append", default=[], help="what the handler does; default: all")
    parser.add_argument("--limit", type=int, default=180, help="interrupts of one sweep")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names, kinds = options.call or list(ALL_CALLS), options.kind or list(KINDS)
    print(f"seed {options.seed}", flush=True)
    results: list[Result] = []

    def add(moments: str, limit: int, seed: int) -> None:
        todo = list(works(names, kinds, moments, limit, seed, options.mode))
        for result in run_all(todo, options.processes):
            results.append(result)
            work = result.work
            told = f"{work.call}, {work.mode}, {work.kind}, {work.loop or 'threads'}, {moments}"
            print(f"{told}: {result.interrupts:,} interrupts, {len(result.faults)} failures", flush=True)
            if result.faults:
                print(faults_text([result]), flush=True)
            if sum(result.interrupts for result in results) >= options.interrupts and moments == "random":
                break

    add("chosen", options.limit, options.seed)
    seed = options.seed
    while sum(result.interrupts for result in results) < options.interrupts and any(r.interrupts for r in results):
        add("random", BUNCH, seed)
        seed += 1
    print(faults_text(results))
    print(table(results))
    return 1 if any(result.faults for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
