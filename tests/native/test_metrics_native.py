"""The C++ tests of histograms and counts of requests, which know nothing of Python, under sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.building import TESTS, run_tests, variants

PROGRAM = sorted((TESTS / "metrics").glob("*_test.cpp"))


@pytest.mark.parametrize("tests", PROGRAM, ids=lambda tests: tests.stem)
@pytest.mark.parametrize("variant", variants("plain", "asan", "tsan"))
def test_metrics(tests: Path, variant: str) -> None:
    run_tests(tests, variant, program=PROGRAM)
