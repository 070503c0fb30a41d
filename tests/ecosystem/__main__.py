"""``python -m tests.ecosystem``: one package's program by hand, and its pins; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.ecosystem import environments
from tests.ecosystem.packages import PACKAGES
from tests.servers import Options, ServerCluster


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem")
    parser.add_argument("action", choices=["run", "install", "pin"])
    parser.add_argument("names", nargs="+", metavar="NAME", choices=sorted(PACKAGES))
    parser.add_argument("--driver", default=environments.THIS, help="as pip takes it; default: the one of this tree")
    arguments = parser.parse_args(argv)
    versions = {PACKAGES[name].python for name in arguments.names}
    ours = arguments.driver == environments.THIS
    drivers = {version: environments.wheel(version) if ours else arguments.driver for version in versions}
    if arguments.action == "pin":
        for name in arguments.names:
            print(f"[{name}]", *environments.pin(PACKAGES[name], drivers[PACKAGES[name].python]), sep="\n", flush=True)
        return 0
    packages = {name: PACKAGES[name] for name in arguments.names}
    pythons = {name: environments.environment(found, drivers[found.python]) for name, found in packages.items()}
    if arguments.action == "install":
        return 0
    if contact := os.environ.get("CASSANDRA_CONTACT"):
        return _run(pythons, contact)
    with ServerCluster(Options()) as cluster:
        return _run(pythons, f"{cluster.contact_points[0]}:{cluster.port}")


def _run(pythons: dict[str, Path], contact: str) -> int:
    failed = 0
    for name, python in pythons.items():
        for program in PACKAGES[name].programs:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    said = environments.run_program(python, program, contact, Path(folder))
                    print(f"[{name} {program}]", said, sep="\n", flush=True)
                except environments.CommandFailed as error:
                    print(f"[{name} {program}] FAILED", error, sep="\n", flush=True)
                    failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
