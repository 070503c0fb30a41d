"""The figures of open performance pull requests of scylladb/python-driver: ours, scylla-driver's in the same run, and
what the pull request publishes.

``python -m benchmarks public`` prints the figures beside the targets. The operations are written from the descriptions
of the pull requests. ``python -m benchmarks public --scripts DIR`` runs the scripts themselves, unchanged, from a
directory to which a reader has fetched them: each with this driver and with scylla-driver, one after another. What they
print goes to ``build/public``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import FASTCQL, Driver, alternate, stage
from benchmarks.peers import ROOT, SCYLLA_NUMPY
from benchmarks.report import Line, at_most, compared_only, show

TITLE = "Open pull requests of scylladb/python-driver: CPU per operation"
PROCESSES = 3
LIMIT = 300.0  # seconds of a script


class Published(NamedTuple):
    """What a pull request publishes, in seconds before and after it, on the machine of its author; *target* is ours."""

    before: float | None = None
    after: float | None = None
    target: float | None = None


US = 1e-6
#: By the name of the work in ``clients/public.py``. Shapes without figures are not in the pull request.
PUBLISHED = {
    "748 vector<float, 1536> from a list": Published(823 * US, 4 * US, 3 * US),
    "730 vector<float, 768> to a list": Published(146 * US, 11.2 * US, 8 * US),
    "730 vector<float, 1536> to a list": Published(293 * US, 22 * US, 16 * US),
    "793 vector<float, 768> from NumPy": Published(60 * US, 0.6 * US, 0.4 * US),
    "740 named tuples 10 x 1": Published(31.6 * US, 0.35 * US, 0.3 * US),
    "740 named tuples 5 x 100": Published(37.2 * US, 13.9 * US, 12 * US),
    "734 page 1000 x 16 KB": Published(14.8e-3, 7.2e-3, 1.2e-3),
    "734 page 5000 x 1 KB": Published(5.3e-3, 3.7e-3, 0.9e-3),
    "734 page 1000 x 4 KB": Published(0.48e-3, 0.43e-3, 0.35e-3),
    "798 bind 3": Published(1.4 * US, 0.5 * US, 0.35 * US),
    "798 bind 5": Published(2.2 * US, 1.0 * US, 0.45 * US),
    "798 bind 8": Published(3.5 * US, 1.3 * US, 0.5 * US),
    "791 batch 10 x 2": Published(8.4 * US, 4.5 * US, 1.2 * US),
    "791 batch 50 x 5": Published(86.8 * US, 40 * US, 7 * US),
    **{
        f"651 plan of {policy}": Published(1e-3 / before, 1e-3 / after, 1e-3 / after)  # thousands in a second
        for policy, before, after in (
            ("DCAware", 833, 1898),
            ("RackAware", 542, 1589),
            ("TokenAware(DCAware)", 135, 572),
            ("TokenAware(RackAware)", 123, 539),
            ("Default(DCAware)", 674, 1257),
            ("HostFilter(DCAware)", 394, 579),
        )
    },
    "798 cql_parameterized_type of a map": Published(0.93 * US, 0.02 * US, 0.02 * US),
}


def lines() -> list[Line]:
    drivers = {FASTCQL: Driver("public"), SCYLLA_NUMPY.name: Driver("public", peer=SCYLLA_NUMPY)}
    samples = alternate(drivers, PROCESSES)
    found = []
    for name in samples.names(FASTCQL):
        published = PUBLISHED.get(name, Published())
        peers = {SCYLLA_NUMPY.name: samples[SCYLLA_NUMPY.name, name]}
        if published.before is not None and published.after is not None:
            peers |= {"published before": published.before, "after": published.after}
        value = samples[FASTCQL, name]
        if published.target is None:
            found.append(compared_only(name, value, peers))
        else:
            found.append(at_most(name, value, published.target, peers))
    return found


class Run(NamedTuple):
    """How a script ended with one driver; *status* is None if it did not in time."""

    status: int | None
    seconds: float
    output: str

    def __str__(self) -> str:
        ending = "stopped" if self.status is None else "ran" if self.status == 0 else f"failed ({self.status})"
        return f"{ending}, {self.seconds:.1f} s"


def run_script(script: Path, python: str | Path, path: Path, limit: float = LIMIT) -> Run:
    """Run *script* with the driver that *python* finds, or that is in *path*; a file of tests by pytest."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if _is_of_pytest(script) else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(path), str(script.parent)))}
    command: list[str | Path] = [python, *words, script.resolve()]
    begun = time.monotonic()
    try:
        ended = subprocess.run(
            command,
            cwd=path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired as error:
        printed = error.output.decode(errors="replace") if isinstance(error.output, bytes) else error.output or ""
        return Run(None, time.monotonic() - begun, printed)
    return Run(ended.returncode, time.monotonic() - begun, ended.stdout)


def _is_of_pytest(script: Path) -> bool:
    text = script.read_text(errors="replace")
    return "def test_" in text and "__main__" not in text


def run_scripts(folder: Path, results: Path = ROOT / "build" / "public", limit: float = LIMIT) -> list[Line]:
    """Run the scripts of *folder* with both drivers, in turns."""
    drivers: dict[str, tuple[str | Path, Path]] = {
        FASTCQL: (sys.executable, ROOT),
        SCYLLA_NUMPY.name: (SCYLLA_NUMPY.interpreter(), stage()),
    }
    results.mkdir(parents=True, exist_ok=True)
    found = []
    for script in sorted(folder.glob("*.py")):
        runs = {}
        for name, (python, path) in drivers.items():
            runs[name] = run_script(script, python, path, limit)
            (results / f"{script.stem}.{name}.txt").write_text(runs[name].output)
        ours = runs[FASTCQL]
        compared = ", ".join(f"{name}: {ended}" for name, ended in runs.items() if name != FASTCQL)
        found.append(Line(script.name, str(ours), "runs", compared, "", ours.status == 0))
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks public", description=__doc__)
    parser.add_argument("--scripts", type=Path, metavar="DIR", help="run the scripts in DIR with both drivers")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each script")
    options = parser.parse_args(arguments)
    if options.scripts is None:
        return min(show(TITLE, lines()), 1)
    return min(show("Scripts of pull requests", run_scripts(options.scripts, limit=options.limit)), 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
