"""The C++ tests of columns, which know nothing of Python."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program, variants


def run(program: str, variant: str) -> None:
    sources = [*sorted((CORE / "columns").glob("*.cpp")), *sorted((CORE / "memory").glob("*.cpp"))]
    run_program(TESTS / "columns" / f"{program}.cpp", variant, compile_objects(sources, variant))


@pytest.mark.parametrize("program", ["columns_test", "merge_test"])
@pytest.mark.parametrize("variant", variants("plain", "asan", "tsan"))
def test_columns(program: str, variant: str) -> None:
    run(program, variant)


@pytest.mark.parametrize("variant", variants("plain", "asan"))
def test_kernels(variant: str) -> None:
    run("kernels_test", variant)
