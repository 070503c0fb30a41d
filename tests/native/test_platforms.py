"""The C++ core on platforms where the tests do not run: where it depends on the system, and that it compiles there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.building import BUILD, CORE, ROOT, TIMEOUT, join

FOLDERS = sorted({path.parent.name for path in CORE.glob("*/*.cpp")})
COMPUTATION = ["columns", "ingest", "routing"]  # needs no POSIX system
TARGETS = [
    *((target, folder) for target in ("aarch64-macos", "x86_64-macos") for folder in FOLDERS),
    *(("x86_64-freebsd", folder) for folder in ("memory", "transport")),
    *(("x86_64-windows-gnu", folder) for folder in COMPUTATION),
]


def compile_for(target: str, source: Path) -> subprocess.CompletedProcess[str]:
    """Compile *source* with the cross compiler, which brings the headers of all targets."""
    made = BUILD / "platforms" / f"{source.stem}_{target}.o"
    made.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c++17", "-O0", "-g0", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", f"-I{CORE}"]
    command = [sys.executable, "-m", "ziglang", "c++", "-target", target, *flags, "-c", str(source), "-o", str(made)]
    caches = {name: str(BUILD / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    return subprocess.run(
        command, env={**os.environ, **caches}, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@pytest.mark.long
@pytest.mark.parametrize(("target", "folder"), TARGETS)
def test_the_core_compiles(target: str, folder: str) -> None:
    result = compile_for(target, join(CORE / folder, sorted((CORE / folder).glob("*.cpp"))))
    assert result.returncode == 0, result.stderr[-6000:]


@pytest.mark.long
def test_headers_without_the_system_compile_for_windows() -> None:
    headers = [path for folder in ("base", "codec") for path in sorted((CORE / folder).glob("*.h"))]
    result = compile_for("x86_64-windows-gnu", join(CORE / "base", [p for p in headers if p.name != "system.h"]))
    assert result.returncode == 0, result.stderr[-6000:]


@pytest.mark.long
@pytest.mark.parametrize("target", ["x86-linux-musl", "s390x-linux-musl"], ids=["32-bit", "big-endian"])
def test_the_first_header_refuses_other_machines(target: str) -> None:
    result = compile_for(target, join(CORE / "base", [CORE / "base" / "bytes.h"]))
    assert result.returncode != 0
    (error,) = re.findall(r"error: (.+)", result.stderr)
    assert error == '"fastcql needs a 64-bit little-endian machine, such as x86-64 or ARM64."'


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("sys.byteorder = 'big'", "fastcql needs a 64-bit little-endian machine"),
        ("sys.maxsize = 2**31 - 1", "fastcql needs a 64-bit little-endian machine"),
        ("sys.platform = 'win32'", "fastcql cannot be built on Windows"),
    ],
    ids=["big-endian", "32-bit", "windows"],
)
def test_the_build_refuses_with_one_sentence(change: str, sentence: str, tmp_path: Path) -> None:
    # The change comes last before the build, as Python itself uses these, too.
    program = f"""
import os, runpy, sys
from setuptools.command.build_ext import build_ext
finalize = build_ext.finalize_options
def change(self):
    finalize(self)
    {change}
build_ext.finalize_options = change
sys.argv = ["setup.py", "--quiet", "build_ext", "--build-lib", {str(tmp_path)!r}, "--build-temp", {str(tmp_path)!r}]
runpy.run_path("setup.py", run_name="__main__")
"""
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith(sentence) and result.stderr.count("\n") == 1, result.stderr
    assert not any(tmp_path.iterdir())


def test_few_files_depend_on_the_system() -> None:
    system = {"base/portable.h", "base/system.h", "transport/sys.cpp", "transport/sys.h"}
    compilers = {
        ("codec/arrays.h", "<emmintrin.h>"),
        ("memory/entries.h", "<sanitizer/asan_interface.h>"),
        ("transport/crc.cpp", "<immintrin.h>"),
    }
    found = set()
    for path in sorted(CORE.rglob("*.[ch]*")):
        name = path.relative_to(CORE).as_posix()
        text = path.read_text()
        uses = re.findall(r"^#include (<.+\.h>)", text, re.M)
        uses += re.findall(r"\b(?:__linux__|__GLIBC__|__APPLE__|_WIN32|pthread_(?!t\b)\w+|madvise|mmap)\b", text)
        found |= {(name, use) for use in uses if name not in system}
    assert found == compilers
