"""Declares the native extensions; everything else is in pyproject.toml.

Switches, all environment variables:

``FASTCQL_DEBUG=1``     -O0 -g, assertions and the CQL_DEBUG counters.
``FASTCQL_SANITIZE=``   address | undefined | thread, or a comma-separated set.
``FASTCQL_COVERAGE=1``  gcov instrumentation.
``FASTCQL_ONLY=codec``  build a subset of the extensions while developing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

CORE = Path("cassandra/_core")
ALSO = {"columns": ("ingest",)}  # folders of C++ beside the one of the extension's name
DEBUG = os.environ.get("FASTCQL_DEBUG") == "1"
SANITIZE = os.environ.get("FASTCQL_SANITIZE", "")
COVERAGE = os.environ.get("FASTCQL_COVERAGE") == "1"
ONLY = [name for name in os.environ.get("FASTCQL_ONLY", "").split(",") if name]

compile_args = ["-std=c++17", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"]
link_args: list[str] = []
macros: list[tuple[str, str | None]] = []
if DEBUG:
    compile_args += ["-O0", "-g", "-UNDEBUG"]
    macros += [("CQL_DEBUG", "1")]
else:
    compile_args += ["-O3", "-g0"]
if SANITIZE:
    flags = [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g"]
    compile_args += flags
    link_args += flags
if COVERAGE:
    compile_args += ["--coverage"]
    link_args += ["--coverage"]
if sys.platform.startswith("linux"):
    link_args += ["-pthread"]


def extension(name: str) -> Extension:
    """One extension: its Cython root, its C++ parts, and what makes it stale."""
    folders = [CORE / "cpp" / folder for folder in (name, *ALSO.get(name, ()))]
    sources = [CORE / f"{name}.pyx", *sorted(path for folder in folders for path in folder.glob("*.cpp"))]
    depends = [*CORE.glob("cpp/**/*.h"), *CORE.glob(f"{name}_parts/*.pxi"), *CORE.glob("*.pxd")]
    return Extension(
        f"cassandra._core.{name}",
        sources=[str(path) for path in sources],
        depends=[str(path) for path in depends],
        include_dirs=[str(CORE / "cpp")],
        define_macros=macros,
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        language="c++",
    )


NAMES = [name for name in ("codec", "transport", "routing", "memory", "columns", "models") if not ONLY or name in ONLY]

if __name__ == "__main__":  # Cython's processes import this module where they are not forked
    setup(
        ext_modules=cythonize(
            [extension(name) for name in NAMES],
            compiler_directives={
                "language_level": "3",
                "boundscheck": False,
                "wraparound": False,
                "cdivision": True,
                "embedsignature": True,
                "embedsignature.format": "python",
            },
            nthreads=2,
        )
    )
