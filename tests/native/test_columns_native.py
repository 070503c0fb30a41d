"""The C++ tests of columns, which know nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program


@pytest.mark.parametrize(
    ("program", "variant"),
    [
        ("columns_test", "asan"),
        ("columns_test", "tsan"),
        ("kernels_test", "asan"),  # no threads
        ("merge_test", "asan"),
        ("merge_test", "tsan"),
    ],
)
def test_columns(program: str, variant: str) -> None:
    sources = [*sorted((CORE / "columns").glob("*.cpp")), *sorted((CORE / "memory").glob("*.cpp"))]
    run_program(TESTS / "columns" / f"{program}.cpp", variant, compile_objects(sources, variant))
