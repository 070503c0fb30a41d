"""``python -m benchmarks.instructions [tree …] [--only client …]``: instructions per operation, counted by Valgrind.

Counts do not depend on what else the machine does, so that a few per cent show after one run. Each *tree* is a folder
with a built driver; default: this one. With several, the ratio to the first is printed. All are measured by the
clients of this tree. The profiles stay in ``build/instructions``, for ``callgrind_annotate``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench_scan import canned
from benchmarks.clients.harness import INSTRUCTIONS
from benchmarks.measure import DATA
from benchmarks.native import build_extension
from benchmarks.peers import ROOT
from benchmarks.responder import Responder

HOME = ROOT / "build" / "instructions"
PAGES = 100  # of canned scans
PORT = "PORT"
CLIENTS = {
    "requests": (PORT, "1000"),
    "fastcql_tasks": (PORT, "asyncio", "1000"),
    "bind": (PORT,),
    "mapper": (PORT,),
    "tables": (PORT,),
    "telemetry": (PORT,),
    "class_rows": (DATA,),
    "native": ("pages", DATA),
    "public": (),
}
VALGRIND = ("valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no")
TOTALS = re.compile(r"^totals: (\d+)$", re.MULTILINE)
TRIGGER = re.compile(r"^desc: Trigger: Client Request: (.+) (\d+)$", re.MULTILINE)


def main(trees: list[Path], clients: list[str]) -> None:
    found: dict[str, dict[Path, float]] = {}
    with Responder(more=canned(PAGES), delay=0) as responder:
        for client in clients:
            arguments = [str(responder.port) if word == PORT else word for word in CLIENTS[client]]
            for tree in trees:
                for name, count in counted(tree, client, arguments):
                    found.setdefault(f"{client}: {name}", {})[tree] = count
    for name, counts in found.items():
        first = counts[trees[0]]
        others = "".join(f"{counts[tree]:>12,.0f} {counts[tree] / first:6.3f}" for tree in trees[1:])
        print(f"{name:<50}{first:>12,.0f}{others}", flush=True)


def counted(tree: Path, client: str, arguments: list[str]) -> Iterator[tuple[str, float]]:
    """The names of what *client* does, and the instructions that each takes with the driver in *tree*."""
    stage = HOME / tree.name
    shutil.rmtree(stage / client, ignore_errors=True)
    (stage / client).mkdir(parents=True)
    for name, origin in {"cassandra": tree, "benchmarks": ROOT, "tests": ROOT}.items():
        link = stage / name
        link.unlink(missing_ok=True)
        link.symlink_to(origin / name, target_is_directory=True)
    profile = stage / client / "profile"
    command = [*VALGRIND, f"--callgrind-out-file={profile}", sys.executable]
    command += ["-m", f"benchmarks.clients.{client}", *arguments, INSTRUCTIONS]
    path = f"{stage}:{build_extension('callgrind').parent}"
    steady = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    subprocess.run(command, check=True, cwd=stage, env={**os.environ, **steady}, stdout=subprocess.DEVNULL)
    for part in sorted(profile.parent.glob("profile.*"), key=lambda path: int(path.suffix[1:])):
        text = part.read_text()
        trigger, totals = TRIGGER.search(text), TOTALS.search(text)
        if trigger and totals:
            yield trigger[1], int(totals[1]) / int(trigger[2])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--only", nargs="+", choices=CLIENTS, default=list(CLIENTS))
    options = parser.parse_args()
    main([tree.resolve() for tree in options.trees], options.only)
