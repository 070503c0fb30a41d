"""``python -m benchmarks compare``: measures all drivers, and writes JSON, tables and pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compare import figures, tables
from benchmarks.compare.machine import about
from benchmarks.compare.run import Measuring, say
from benchmarks.compare.workloads import REAL, RECORDED
from benchmarks.peers import ROOT

PROCESSES, PROCESSES_REAL = 5, 3
QUICK = ROOT / "build" / "compare"


def main(argv: Sequence[str]) -> int:
    wanted = _parser().parse_args(argv)
    if wanted.install:
        Measuring().install()
        return 0
    folder = wanted.out or (QUICK if wanted.quick else figures.FOLDER)
    if not wanted.render:
        figures.write(_measure(wanted), folder)
    render(folder)
    say(f"written: {folder}")
    return 0


def render(folder: Path) -> None:
    """Tables and pictures of the JSON in *folder*; README.rst as well, if it is that of the documentation."""
    from benchmarks.compare import plots  # needs matplotlib

    found = figures.read(folder)
    tables.write(found, folder)
    plots.write(found, folder)
    if folder == figures.FOLDER:
        tables.README.write_text(tables.into_readme(tables.README.read_text(), tables.readme(found)))


def _measure(wanted: argparse.Namespace) -> figures.Comparison:
    from benchmarks.compare import plots  # noqa: F401  (missing matplotlib is an error now, not in fifteen minutes)

    measuring = Measuring(wanted.only, tuple(wanted.drivers.split(",")) if wanted.drivers else ())
    processes = {RECORDED: 1 if wanted.quick else wanted.processes}
    measuring.recorded(processes[RECORDED])
    if not wanted.no_server:
        processes[REAL] = 1 if wanted.quick else wanted.server_processes
        measuring.real(processes[REAL])
    return figures.comparison(about(processes, measuring.absent), measuring.found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description="This driver beside all peers")
    parser.add_argument("--quick", action="store_true", help="one process of each driver, into build/compare")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="of each driver (%(default)s)")
    parser.add_argument("--server-processes", type=int, default=PROCESSES_REAL, help="with a server (%(default)s)")
    parser.add_argument("--no-server", action="store_true", help="without a real Cassandra, which needs Java")
    parser.add_argument("--only", default="", metavar="CLIENT", help="requests, tasks, rows, frames or first")
    parser.add_argument("--drivers", default="", help="names separated by commas; all by default")
    parser.add_argument("--out", type=Path, help="folder of the results; docs/_static/performance by default")
    parser.add_argument("--install", action="store_true", help="only install the other drivers")
    parser.add_argument("--render", action="store_true", help="only make tables and pictures of the JSON again")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
