"""Runs clients in fresh processes, in turns, and gives the medians.

CPU time is the figure to judge by: wall time on a shared machine is noise. Each client process is pinned to one core
and reports seconds of thread CPU per execution, best of many samples (``clients/harness.py``); here processes of all
drivers alternate, so that disturbances of the machine affect all of them, and the median over processes counts.
With ``--pyperf`` pyperf measures instead, by the wall clock, and reports its distributions.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.clients.harness import PYPERF
from benchmarks.cores import CORES, pin_to_responder_side, pinned
from benchmarks.peers import ROOT, Peer

PROCESSES = 5
FASTCQL = "fastcql"
DATA = str(ROOT / "benchmarks" / "data")
#: A folder with nothing in it but a link to ``benchmarks``: where peers run, so that ``cassandra`` is theirs.
STAGE = ROOT / "build" / "peers"


class Driver(NamedTuple):
    """One measured program: the module of ``benchmarks.clients``, and the peer (None: this driver) and the Python that
    run it."""

    module: str
    arguments: tuple[str, ...] = ()
    peer: Peer | None = None
    python: str | Path = sys.executable

    def command(self) -> tuple[list[str | Path], Path]:
        """The command to run, and its folder."""
        python = self.python if self.peer is None else self.peer.interpreter()
        command = [python, "-m", f"benchmarks.clients.{self.module}", *self.arguments]
        return command, ROOT if self.peer is None else stage()


class Program(NamedTuple):
    """A measured program without Python, which pins itself and prints a report like a client."""

    words: tuple[str, ...]

    def command(self) -> tuple[list[str | Path], Path]:
        return [*self.words], ROOT


class Samples:
    """The figures that processes reported: by driver and by name of the figure, one per process."""

    def __init__(self, found: Mapping[str, list[dict[str, float]]]) -> None:
        self._found = found

    def __getitem__(self, key: tuple[str, str]) -> float:
        """The median of ``(driver, name)``."""
        driver, name = key
        return statistics.median(sample[name] for sample in self._found[driver])

    def each(self, driver: str) -> list[dict[str, float]]:
        """The figures that each process of *driver* reported."""
        return self._found[driver]

    def best(self, driver: str, name: str) -> float:
        """The least: for wall time, which other processes only make longer."""
        return min(sample[name] for sample in self._found[driver])

    def ratio(self, driver: str, name: str, other: str) -> float:
        """How many times *name* goes into *other*, both of the same process: the median of that."""
        return statistics.median(sample[other] / sample[name] for sample in self._found[driver])

    def names(self, driver: str) -> list[str]:
        return list(self._found[driver][0])


def pyperf_wanted() -> bool:
    return PYPERF in sys.argv


def alternate(drivers: Mapping[str, Driver | Program], processes: int = PROCESSES) -> Samples:
    """Run each driver *processes* times, in turns. pyperf runs only Python ones."""
    pin_to_responder_side()
    commands = {
        name: driver.command() for name, driver in drivers.items()
    }  # installs missing packages before the measurement starts
    if pyperf_wanted():
        python = {name: command for name, command in commands.items() if isinstance(drivers[name], Driver)}
        return Samples({name: [_pyperf(*command)] for name, command in python.items()})
    found: dict[str, list[dict[str, float]]] = {name: [] for name in drivers}
    for _ in range(processes):
        for name, command in commands.items():
            found[name].append(json.loads(_run(*command)))
    return Samples(found)


def stage() -> Path:
    STAGE.mkdir(parents=True, exist_ok=True)
    link, target = STAGE / "benchmarks", ROOT / "benchmarks"
    if not link.is_symlink() or link.readlink() != target:  # build/ may be a copy of another checkout's
        link.unlink(missing_ok=True)
        link.symlink_to(target, target_is_directory=True)
    return STAGE


def _run(command: list[str | Path], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with pinned(last=True):
        client = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    printed, errors = client.communicate()
    if client.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{printed}{errors}")
    return printed


def _pyperf(command: list[str | Path], folder: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="pyperf-") as results:
        output = Path(results) / "results.json"
        affinity = [f"--affinity={CORES[-1]}"] if CORES else []
        _run([*command, PYPERF, "--quiet", "--processes=5", *affinity, f"--output={output}"], folder)
        suite = json.loads(output.read_text())
    found = {}
    for benchmark in suite["benchmarks"]:
        name = benchmark.get("metadata", suite["metadata"]).get("name", suite["metadata"].get("name"))
        found[name] = statistics.median(value for run in benchmark["runs"] for value in run.get("values", ()))
    return found
