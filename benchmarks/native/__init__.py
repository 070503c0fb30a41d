"""C++ programs that measure a native part alone, compiled by their benchmark."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "cassandra" / "_core" / "cpp"
COMPILE = ["g++", "-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror", f"-I{CORE}", "-pthread"]


def build(name: str, parts: Sequence[str]) -> Path:
    """The program of ``<name>.cpp`` with the C++ files of *parts* (folders of the native core), made anew each time."""
    binary = ROOT / "build" / f"bench-{name}"
    binary.parent.mkdir(exist_ok=True)
    sources = [Path(__file__).parent / f"{name}.cpp", *(path for part in parts for path in (CORE / part).glob("*.cpp"))]
    subprocess.run([*COMPILE, *map(str, sources), "-o", str(binary)], check=True)
    return binary
