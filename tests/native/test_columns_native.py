"""The C++ tests of columns, which know nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program


@pytest.mark.parametrize("program", ["columns_test", "merge_test"])
@pytest.mark.parametrize("variant", ["asan", "tsan"])
def test_columns(variant: str, program: str) -> None:
    sources = [*sorted((CORE / "columns").glob("*.cpp")), *sorted((CORE / "memory").glob("*.cpp"))]
    run_program(TESTS / "columns" / f"{program}.cpp", variant, compile_objects(sources, variant))
