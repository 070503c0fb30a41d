"""The output of programs that need no server is what it is with scylla-driver 3.29.12; see ``running.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.compat.running import ALONE, output_of_ours


@pytest.mark.parametrize("program", ALONE, ids=lambda program: program.stem)
def test_the_output_is_the_same(program: Path) -> None:
    assert output_of_ours(sys.executable, program).splitlines() == program.with_suffix(".txt").read_text().splitlines()
