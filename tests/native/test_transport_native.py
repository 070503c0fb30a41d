"""The C++ tests of the transport core, which know nothing of Python."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.native.building import CORE, TESTS, VARIANTS, compile_objects, run_program

PROGRAMS = sorted((TESTS / "transport").glob("*_test.cpp"))
PARKING = ("lead_filters_test", "lead_test", "quiet_test", "requests_test")  # "plain" differs in how threads wait only
RUNS = [
    pytest.param(variant, program, id=f"{variant}-{program.stem}")
    for variant in VARIANTS
    for program in PROGRAMS
    if variant != "plain" or program.stem in PARKING
]


@functools.cache
def core(variant: str) -> list[Path]:
    """The core and the fixtures, compiled."""
    sources = sorted([*CORE.glob("memory/*.cpp"), *CORE.glob("transport/*.cpp")])
    return compile_objects([*sources, TESTS / "transport" / "fixtures.cpp"], variant)


@pytest.mark.parametrize(("variant", "program"), RUNS)
def test_native(variant: str, program: Path) -> None:
    run_program(program, variant, core(variant))
