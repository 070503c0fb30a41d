"""The C++ tests of the transport core, which know nothing of Python: plain, under AddressSanitizer with UBSan, and
under ThreadSanitizer."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "cassandra" / "_core" / "cpp"
TESTS = ROOT / "tests" / "native" / "transport"
BUILD = ROOT / "build" / "native"

FLAGS = ["-std=c++17", "-g", "-O1", "-DCQL_DEBUG", "-Wall", "-Wextra", "-Werror", f"-I{CORE}", f"-I{TESTS}"]
VARIANTS = {
    "plain": ["-DFASTCQL_NO_FUTEX"],  # what other POSIX systems use to park threads
    "asan": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"],
    "tsan": ["-fsanitize=thread"],
}
PROGRAMS = sorted(path.stem for path in TESTS.glob("*_test.cpp"))
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1 second_deadlock_stack=1",
}
TIMEOUT = 600


def compile_object(source: Path, variant: str) -> Path:
    """The object file of *source*, made again when the source or any header is newer."""
    target = BUILD / variant / f"{source.parent.name}_{source.stem}.o"
    newest = max(path.stat().st_mtime for path in [source, *CORE.rglob("*.h"), *TESTS.glob("*.h")])
    if not target.exists() or target.stat().st_mtime < newest:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}.o")
        command = ["g++", *FLAGS, *VARIANTS[variant], "-c", str(source), "-o", str(partial)]
        subprocess.run(command, check=True, timeout=TIMEOUT)
        partial.replace(target)
    return target


@pytest.fixture(scope="module", params=VARIANTS)
def objects(request: pytest.FixtureRequest) -> tuple[str, list[Path]]:
    """The core and the fixtures, compiled in one variant."""
    sources = [*sorted((CORE / "transport").glob("*.cpp")), TESTS / "fixtures.cpp"]
    with ThreadPoolExecutor(2) as pool:
        return request.param, list(pool.map(lambda source: compile_object(source, request.param), sources))


@pytest.mark.parametrize("program", PROGRAMS)
def test_native(program: str, objects: tuple[str, list[Path]]) -> None:
    variant, core = objects
    main = compile_object(TESTS / f"{program}.cpp", variant)
    binary = BUILD / variant / program
    subprocess.run(["g++", *VARIANTS[variant], *map(str, [main, *core]), "-o", str(binary), "-pthread"], check=True)
    result = subprocess.run(
        [str(binary)], env={**os.environ, **OPTIONS}, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert result.returncode == 0, f"{result.stdout[-2000:]}\n{result.stderr[-6000:]}"
