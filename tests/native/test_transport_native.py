"""The C++ tests of the transport core, which know nothing of Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.building import CORE, TESTS, VARIANTS, compile_objects, run_program

PROGRAMS = sorted((TESTS / "transport").glob("*_test.cpp"))


@pytest.fixture(scope="module", params=VARIANTS)
def core(request: pytest.FixtureRequest) -> tuple[str, list[Path]]:
    """The core and the fixtures, compiled in one variant."""
    sources = sorted([*CORE.glob("memory/*.cpp"), *CORE.glob("transport/*.cpp")])
    return request.param, compile_objects([*sources, TESTS / "transport" / "fixtures.cpp"], request.param)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_native(program: Path, core: tuple[str, list[Path]]) -> None:
    variant, objects = core
    run_program(program, variant, objects)
