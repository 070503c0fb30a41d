"""The C++ tests of the ring and of murmur3, which know nothing of Python, under AddressSanitizer with UBSan."""

from __future__ import annotations

from tests.native.building import TESTS, run_program


def test_ring() -> None:
    run_program(TESTS / "routing" / "ring_test.cpp", "asan")
