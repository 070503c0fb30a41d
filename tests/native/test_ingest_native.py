"""The C++ tests of what Arrow arrays are written as, which know nothing of Python."""

from __future__ import annotations

from tests.native.building import CORE, TESTS, compile_objects, run_program


def test_ingest() -> None:
    objects = compile_objects([*sorted((CORE / "ingest").glob("*.cpp")), CORE / "columns" / "numbers.cpp"], "asan")
    run_program(TESTS / "ingest" / "ingest_test.cpp", "asan", objects)
