"""The C++ tests of the transport core, which know nothing of Python."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program, variants

PROGRAMS = sorted((TESTS / "transport").glob("*_test.cpp"))


@functools.cache
def core(variant: str) -> list[Path]:
    """The core and the fixtures, compiled, and on Linux a kqueue."""
    sources = sorted([*CORE.glob("memory/*.cpp"), *CORE.glob("transport/*.cpp")])
    kqueue = [TESTS / "kqueue" / "kqueue.cpp"] if sys.platform == "linux" else []
    return compile_objects([*sources, TESTS / "transport" / "fixtures.cpp", *kqueue], variant)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
@pytest.mark.parametrize("variant", variants("plain", "asan", "tsan"))
def test_native(program: Path, variant: str) -> None:
    run_program(program, variant, core(variant))
