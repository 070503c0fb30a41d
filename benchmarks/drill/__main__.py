"""What happens to calls while something happens to the nodes: a table for each fault; fails when a target is missed.

::

    python -m benchmarks.drill [--faults kill,pause] [--seconds N] [--cycles N] [--no-peer] [--verbose]

Three real Cassandra nodes; needs Java (``make server-tools``). scylla-driver runs beside ours, on tables of its own,
and suffers the same faults at the same time.
"""

from __future__ import annotations

import argparse

from benchmarks.drill.faults import FAULTS
from benchmarks.drill.program import DRIVERS
from benchmarks.drill.scene import Scene
from benchmarks.drill.verdicts import lines
from benchmarks.report import show
from tests.servers import Options, ServerCluster


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drill")
    parser.add_argument("--faults", default=",".join(FAULTS), help="which, in this order: %(default)s")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long a fault lasts (%(default)s)")
    parser.add_argument("--cycles", type=int, default=200, help="how often clusters are shut down (%(default)s)")
    parser.add_argument("--no-peer", action="store_true", help="without scylla-driver")
    parser.add_argument("--verbose", action="store_true", help="also what was logged, left, lost and done twice")
    return parser.parse_args()


def main() -> int:
    wanted = arguments()
    faults = [FAULTS[name] for name in wanted.faults.split(",")]
    drivers = list(DRIVERS)[: 1 if wanted.no_peer else None]
    missed = 0
    with ServerCluster(Options(nodes=3, durable=True)) as servers:
        scene = Scene(servers, drivers, wanted.cycles)
        for fault in faults:
            found = scene.run(fault, wanted.seconds)
            missed += show(f"{fault.name}: {fault.title}", lines(fault, found))
            for figures in found if wanted.verbose else ():
                print(f"  {figures.driver}: missing {figures.missing}, twice {figures.twice}, left {figures.left}")
                print(f"    errors of children: {figures.children_errors}")
                for line, count in figures.logged.most_common():
                    print(f"    {count:5} {line}")
    print(f"\n{missed} missed" if missed else "\nEvery target is reached.")
    return min(missed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
