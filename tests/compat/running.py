"""Programs that run with any driver, and how they are run.

``programs/<name>.py`` needs no server, ``programs_on_server/<name>.py`` needs one. Extras each is ``<name>.txt``: what
it prints with scylla-driver 3.29.12, and hence is to print with this driver. Cases are added to a program, or in a new
one, by means of ``cases.py``; then::

    python -m tests.compat.record <name> --with <python of an environment that has scylla-driver>

writes ``<name>.txt`` anew (without names: all of them), starting a server where one is needed and none is told by
``--server host:port``. ``tests/compat/test_programs.py`` and ``test_programs_on_server.py`` compare. What differs on
purpose has no case, but a line in ``differences.py`` and in ``docs/migrating.rst``.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ALONE = sorted((HERE / "programs").glob("*.py"))
ON_SERVER = sorted((HERE / "programs_on_server").glob("*.py"))
TIME_LIMIT = 600


def output(command: Sequence[str], path: Sequence[Path], contact: str = "") -> str:
    """What *command* prints; it imports from the folders in *path* and finds a server at *contact* (``host:port``)."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PYTHONHASHSEED": "0",  # sets of texts are printed in one order
        "CASSANDRA_CONTACT": contact,
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done.stdout


def output_of_theirs(python: str, program: Path, contact: str = "") -> str:
    """What *program* prints with the driver in the environment of the interpreter *python*."""
    return output([python, str(program)], [HERE], contact)


def output_of_ours(python: str, program: Path, contact: str = "") -> str:
    """What *program* prints with the driver of this checkout; warnings are errors, but for that of parameters that
    most programs use."""
    legacy = "ignore:Legacy execution parameters:DeprecationWarning"
    return output([python, "-W", "error", "-W", legacy, str(program)], [HERE, ROOT], contact)
