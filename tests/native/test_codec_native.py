"""The C++ kernels of the codec, which know nothing of Python, under AddressSanitizer with UBSan."""

from __future__ import annotations

import pytest

from tests.native.building import TESTS, run_tests, variants


@pytest.mark.parametrize("variant", variants("plain", "asan"))
def test_kernels(variant: str) -> None:
    run_tests(TESTS / "codec" / "kernels_test.cpp", variant)
