"""The C++ tests of the memory pool, which knows nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program, variants


@pytest.mark.parametrize("variant", variants("plain", "asan", "tsan"))
def test_pool(variant: str) -> None:
    objects = compile_objects(sorted((CORE / "memory").glob("*.cpp")), variant)
    run_program(TESTS / "memory" / "pool_test.cpp", variant, objects)
