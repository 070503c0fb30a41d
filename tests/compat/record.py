"""``python -m tests.compat.record``: write down what programs print with scylla-driver; see ``running.py``."""

from __future__ import annotations

import argparse
import contextlib
import sys

from tests.compat.running import ALONE, ON_SERVER, output_of_theirs
from tests.servers import ServerCluster


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.compat.record", description=__doc__)
    parser.add_argument("names", nargs="*", help="of programs, without .py; all by default")
    parser.add_argument("--with", dest="python", required=True, help="interpreter of an environment with scylla-driver")
    parser.add_argument("--server", help="host:port of a Cassandra 5.0 that is running")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.names) - {program.stem for program in ALONE + ON_SERVER}
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    with contextlib.ExitStack() as stack:
        contact = arguments.server
        for program in ALONE + ON_SERVER:
            if arguments.names and program.stem not in arguments.names:
                continue
            if program in ON_SERVER and contact is None:
                cluster = stack.enter_context(ServerCluster())
                contact = f"{cluster.contact_points[0]}:{cluster.port}"
            text = output_of_theirs(arguments.python, program, contact if program in ON_SERVER else "")
            program.with_suffix(".txt").write_text(text)
            print(f"{program.stem}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main(sys.argv[1:])
