"""C++ programs that measure a native part alone, and what calls from Python cost at least; compiled by their
benchmark."""

from __future__ import annotations

import subprocess
import sysconfig
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


def build_extension(name: str) -> Path:
    """The Python module of ``<name>.cpp``, made anew each time."""
    module = ROOT / "build" / "bench" / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    module.parent.mkdir(parents=True, exist_ok=True)
    include = sysconfig.get_path("include")
    flags = ["-shared", "-fPIC", "-Wno-missing-field-initializers", f"-I{include}"]
    subprocess.run([*COMPILE, *flags, str(Path(__file__).parent / f"{name}.cpp"), "-o", str(module)], check=True)
    return module
