"""The output of programs that need a server is what it is with scylla-driver 3.29.12; see ``running.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compat.running import ON_SERVER, output_of_ours

pytestmark = pytest.mark.long


@pytest.mark.parametrize("program", ON_SERVER, ids=lambda program: program.stem)
def test_the_output_is_the_same(cassandra_node: Any, program: Path) -> None:
    contact = f"{cassandra_node.contact_points[0]}:{cassandra_node.port}"
    ours = output_of_ours(sys.executable, program, contact)
    assert ours.splitlines() == program.with_suffix(".txt").read_text().splitlines()
