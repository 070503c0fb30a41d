"""The C++ tests of the ring, murmur3, shards and the tablet map, which know nothing of Python, under sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.building import CORE, TESTS, run_tests, variants

SOURCES = sorted((CORE / "routing").glob("tablet*.cpp"))
# Without the GIL there are threads and forks beside writers.
FREE = [TESTS / "routing" / f"{name}_test.cpp" for name in ("forks", "tablets", "tablets_threads")]
PROGRAM = [path for path in sorted((TESTS / "routing").glob("*_test.cpp")) if path not in FREE or path == FREE[1]]


@pytest.mark.parametrize("tests", PROGRAM, ids=lambda tests: tests.stem)
@pytest.mark.parametrize("variant", variants("plain", "asan"))
def test_routing(tests: Path, variant: str) -> None:
    run_tests(tests, variant, SOURCES, PROGRAM)


@pytest.mark.parametrize("tests", FREE[1:], ids=lambda tests: tests.stem)
@pytest.mark.parametrize("variant", variants("plain-free", "asan-free", "tsan-free"))
def test_tablets_without_the_gil(tests: Path, variant: str) -> None:
    run_tests(tests, variant, SOURCES, FREE)


@pytest.mark.parametrize("variant", variants("plain-free", "asan-free"))
def test_forks_without_the_gil(variant: str) -> None:
    run_tests(FREE[0], variant, SOURCES, FREE)
