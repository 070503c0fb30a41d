"""Interpreters that ``.ci/pythons`` has built, all in the same way, each with this driver in place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.peers import ROOT


def interpreter(version: str) -> Path:
    """The Python of a *version* such as 3.13 or 3.13t; builds it, and the driver for it, where they are missing.

    Raises ``subprocess.CalledProcessError``, with the exit status of ``.ci/pythons``, if there is none."""
    folder = ROOT / f".venv-built-{version}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        command = [str(ROOT / ".ci/pythons"), "--built", version]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        print(f"Making {folder.name} …", file=sys.stderr, flush=True)
        subprocess.run([found.stdout.strip(), "-m", "venv", "--clear", folder], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--group", "build"], check=True, cwd=ROOT)
        (folder / "ready").touch()
    subprocess.run([python, "setup.py", "--quiet", "build_ext", "--inplace"], check=True, cwd=ROOT)
    return python
