"""Commands of a shell, timed from their start to their end."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import CQLSH, ROOT


class Spent(NamedTuple):
    """Seconds; CPU of the command and of all that it started."""

    wall: float
    cpu: float


def spent(command: Sequence[str | Path]) -> Spent:
    """What *command* takes; ends the benchmark where it fails."""
    begun, before = time.perf_counter(), _cpu_of_children()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    found = Spent(time.perf_counter() - begun, _cpu_of_children() - before)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return found


def cqlsh(host: str, port: int, statement: str) -> list[str | Path]:
    """One statement by the cqlsh that benchmarks compare with."""
    return [CQLSH.interpreter().with_name("cqlsh"), host, str(port), "--connect-timeout=60", "-e", statement]


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
