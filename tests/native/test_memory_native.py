"""The C++ tests of the memory pool, which knows nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, run_tests, variants


@pytest.mark.parametrize("variant", variants("plain", "asan", "tsan"))
def test_pool(variant: str) -> None:
    run_tests(TESTS / "memory" / "pool_test.cpp", variant, sorted((CORE / "memory").glob("*.cpp")))
