"""Compiles and runs C++ test programs: plain, under AddressSanitizer with UBSan, and under ThreadSanitizer.

Variants with ``free`` are those of a Python without the GIL. ``CXX`` is the compiler, and ``FASTCQL_EMULATOR`` runs
what it makes for another machine (``tools/wheels/native.py``). With ``FASTCQL_COVERAGE=1`` the programs count the lines
that they run (``covered.py``).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "cassandra" / "_core" / "cpp"
TESTS = ROOT / "tests" / "native"
CXX = shlex.split(os.environ.get("CXX", "g++"))
if os.environ.get("FASTCQL_COVERAGE") == "1":
    CXX += ["--coverage", "-fprofile-update=atomic"]
EMULATOR = shlex.split(os.environ.get("FASTCQL_EMULATOR", ""))
BUILD = ROOT / "build" / "native" / ("" if CXX == ["g++"] else hashlib.sha256(repr(CXX).encode()).hexdigest()[:8])

FLAGS = ["-std=c++17", "-g1", "-O1", "-DCQL_DEBUG", "-Wall", "-Wextra", "-Werror", f"-I{CORE}", f"-I{TESTS}"]
if sys.platform == "linux":
    FLAGS += ["-DFASTCQL_KQUEUE", f"-I{TESTS / 'kqueue'}"]  # the poller of macOS and the BSDs, over a kqueue of our own
VARIANTS = {
    "plain": ["-DFASTCQL_PORTABLE"],  # the calls of all POSIX systems: parking of threads, pipes, sockets
    "asan": ["-Og", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"],
    "tsan": ["-fsanitize=thread"],
}
FREE = ["-DFASTCQL_FREE_THREADED=1"]
VARIANTS |= {f"{name}-free": [*flags, *FREE] for name, flags in VARIANTS.items()}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1 second_deadlock_stack=1",
}
TIMEOUT = 600


def variants(*names: str) -> list[Any]:
    """Parameters of a test for each of *names*. Sanitizers take long."""
    return [pytest.param(name, marks=() if name.startswith("plain") else pytest.mark.long) for name in names]


def compile_object(source: Path, variant: str) -> Path:
    """The object file of *source*, made again when the source or any header is newer.

    Several processes may ask for it at the same time: one makes it.
    """
    target = BUILD / variant / f"{source.parent.name}_{source.stem}.o"
    target.parent.mkdir(parents=True, exist_ok=True)
    newest = max(path.stat().st_mtime for path in [source, *CORE.rglob("*.h"), *TESTS.rglob("*.h")])
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists() or target.stat().st_mtime < newest:
            partial = target.with_suffix(".partial.o")
            command = [*CXX, *FLAGS, *VARIANTS[variant], "-c", str(source), "-o", str(partial)]
            subprocess.run(command, check=True, timeout=TIMEOUT)
            partial.replace(target)
    return target


def compile_objects(files: Iterable[Path], variant: str) -> list[Path]:
    """The object files of *files*, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda source: compile_object(source, variant), files))


def joined_folders(sources: Iterable[Path]) -> list[Path]:
    """Files that include *sources*, one for each folder, which compiles in half of the time."""
    folders: dict[Path, list[Path]] = {}
    for source in sources:
        folders.setdefault(source.parent, []).append(source)
    return [join(folder, sources) for folder, sources in folders.items()]


def join(folder: Path, sources: Sequence[Path], end: str = "") -> Path:
    """A file that includes *sources*, as new as the newest of them, and then has *end*."""
    text = "".join(f'#include "{source}"\n' for source in sources) + end
    joined = BUILD / "joined" / f"{folder.name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.cpp"
    joined.parent.mkdir(parents=True, exist_ok=True)
    partial = joined.with_suffix(f".{os.getpid()}")
    partial.write_text(text)
    newest = max(source.stat().st_mtime for source in sources)
    os.utime(partial, (newest, newest))
    partial.replace(joined)
    return joined


def program_of(tests: Sequence[Path], variant: str, core: Sequence[Path] = ()) -> Path:
    """The program with all of *tests* and what they test, the sources *core*.

    Files of tests are namespaces of their own and compiled as one, which takes a quarter of the time.
    """
    folder = tests[0].parent
    alone = len(tests) == 1 and "TEST_MAIN()" in tests[0].read_text()
    main = tests[0] if alone else join(folder, tests, "TEST_MAIN()\n")
    inputs = compile_objects([main, *joined_folders(core)], variant)
    binary = BUILD / variant / f"{folder.name}_{main.stem}"
    with binary.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists() or binary.stat().st_mtime < max(path.stat().st_mtime for path in inputs):
            partial = binary.with_suffix(".partial")
            command = [*CXX, *VARIANTS[variant], *map(str, inputs), "-o", str(partial), "-pthread"]
            subprocess.run(command, check=True, timeout=TIMEOUT)
            partial.replace(binary)
    return binary


def run_tests(tests: Path, variant: str, core: Sequence[Path] = (), program: Sequence[Path] = ()) -> None:
    """Run the tests of one file of *program*, by default its only one; the output is the error when one fails."""
    binary = program_of(program or [tests], variant, core)
    environment = {**os.environ, **OPTIONS}
    command = [*EMULATOR, str(binary), tests.stem]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert result.returncode == 0, f"{result.stdout[-2000:]}\n{result.stderr[-6000:]}"
    kinds = "TEST" if variant.startswith("tsan") else "TEST|FORK_TEST"
    count = len(re.findall(rf"^(?:{kinds})\(", tests.read_text(), re.MULTILINE))
    assert f"{count} passed" in result.stdout
