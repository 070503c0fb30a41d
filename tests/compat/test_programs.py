"""The output of programs that need no server is what it is with scylla-driver 3.29.12; see ``running.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.compat.differences import BEHAVIOUR
from tests.compat.running import ALONE, ROOT, output_of_ours

pytestmark = pytest.mark.long


@pytest.mark.parametrize("program", ALONE, ids=lambda program: program.stem)
def test_the_output_is_the_same(program: Path) -> None:
    assert output_of_ours(sys.executable, program).splitlines() == program.with_suffix(".txt").read_text().splitlines()


@pytest.mark.parametrize("paragraph", BEHAVIOUR)
def test_what_is_done_otherwise_is_documented_with_its_reason(paragraph: str) -> None:
    assert f"\n**{paragraph}**" in (ROOT / "docs/migrating.rst").read_text() and all(BEHAVIOUR[paragraph])
