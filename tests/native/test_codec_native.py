"""The C++ kernels of the codec, which know nothing of Python, under AddressSanitizer with UBSan."""

from __future__ import annotations

from tests.native.building import TESTS, run_program


def test_kernels() -> None:
    run_program(TESTS / "codec" / "kernels_test.cpp", "asan")
