"""The C++ tests of the transport core, which know nothing of Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.native.building import CORE, TESTS, run_tests, variants

ALONE = TESTS / "transport" / "flush_list_test.cpp"  # has an allocator of its own
PROGRAM = [path for path in sorted((TESTS / "transport").glob("*_test.cpp")) if path != ALONE]
CORE_AND_FIXTURES = [
    *sorted([*CORE.glob("memory/*.cpp"), *CORE.glob("transport/*.cpp")]),
    TESTS / "transport" / "fixtures.cpp",
    *([TESTS / "kqueue" / "kqueue.cpp"] if sys.platform == "linux" else []),
]


@pytest.mark.parametrize("tests", [*PROGRAM, ALONE], ids=lambda tests: tests.stem)
@pytest.mark.parametrize("variant", variants("plain", "asan", "tsan"))
def test_native(tests: Path, variant: str) -> None:
    run_tests(tests, variant, CORE_AND_FIXTURES, [tests] if tests == ALONE else PROGRAM)
