"""Programs that run with any driver: their output with ours is what it is with scylla-driver 3.29.12.

Each ``programs/<name>.py`` has that output beside it, in ``<name>.txt``, made by::

    python tests/compat/programs/<name>.py > tests/compat/programs/<name>.txt
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = sorted(Path(__file__).with_name("programs").glob("*.py"))
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_the_output_is_the_same(program: Path) -> None:
    run = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    command = [sys.executable, "-W", "error", "-c", run]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == program.with_suffix(".txt").read_text().splitlines()
