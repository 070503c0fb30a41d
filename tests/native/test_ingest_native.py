"""The C++ tests of what Arrow arrays are written as, which know nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program, variants


@pytest.mark.parametrize("variant", variants("plain", "asan"))
def test_ingest(variant: str) -> None:
    objects = compile_objects([*sorted((CORE / "ingest").glob("*.cpp")), CORE / "columns" / "numbers.cpp"], variant)
    run_program(TESTS / "ingest" / "ingest_test.cpp", variant, objects)
