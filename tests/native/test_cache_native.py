"""The C++ tests of the cache of pages, which knows nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import TESTS, run_tests, variants


@pytest.mark.parametrize("variant", variants("plain", "asan", "asan-free", "tsan-free"))
def test_pages(variant: str) -> None:
    run_tests(TESTS / "cache" / "pages_test.cpp", variant)
