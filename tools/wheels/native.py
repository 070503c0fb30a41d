"""The C++ tests of the core as static programs with musl, where no Python with musl can be had."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

from tools.wheels.build import Compiler
from tools.wheels.debian import Unavailable
from tools.wheels.targets import Platform

TESTS = ("codec", "columns", "ingest", "memory", "routing", "transport")


def run_native_tests(target: Platform, source: Path, work: Path) -> str:
    """Run them, and return pytest's closing line; raise Unavailable with its output if one fails."""
    environment = Compiler(target, work).environment()
    environment["CXX"] += " -static"
    environment["FASTCQL_EMULATOR"] = emulator(target.machine) or ""
    names = [f"tests/native/test_{name}_native.py" for name in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-m", "not long", *names]
    result = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Unavailable(f"C++ tests:\n{result.stdout[-4000:]}")
    return result.stdout.strip().splitlines()[-1]


def emulator(machine: str) -> str | None:
    """The program that runs programs of *machine* here; None if they run as they are."""
    if machine == platform.machine():
        return None
    found = shutil.which(f"qemu-{machine}-static")
    if found is None:
        raise Unavailable(f"qemu-{machine}-static is not installed (Debian: qemu-user-static)")
    return found
