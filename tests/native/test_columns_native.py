"""The C++ tests of columns, which know nothing of Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.building import CORE, TESTS, run_tests, variants

PROGRAM = sorted((TESTS / "columns").glob("*_test.cpp"))
SOURCES = [*sorted((CORE / "columns").glob("*.cpp")), *sorted((CORE / "memory").glob("*.cpp"))]


@pytest.mark.parametrize("tests", PROGRAM, ids=lambda tests: tests.stem)
@pytest.mark.parametrize("variant", variants("plain", "asan", "tsan"))
def test_columns(tests: Path, variant: str) -> None:
    run_tests(tests, variant, SOURCES, PROGRAM)
