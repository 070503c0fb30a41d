"""The C++ tests of what Arrow arrays are written as, which know nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, run_tests, variants


@pytest.mark.parametrize("variant", variants("plain", "asan"))
def test_ingest(variant: str) -> None:
    sources = [*sorted((CORE / "ingest").glob("*.cpp")), CORE / "columns" / "numbers.cpp"]
    run_tests(TESTS / "ingest" / "ingest_test.cpp", variant, sources)
