"""The examples of docs/memory.rst, run from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "memory.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)


def test_the_page_on_memory(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text()
    names: dict[str, Any] = {}
    for match in BLOCK.finditer(text):
        line = text[: match.start(1)].count("\n")
        exec(compile("\n" * line + textwrap.dedent(match[1]), str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    assert "the memory pool 'small' has no room for 1000 bytes: 4096 of 4096 are in use" in printed
    assert names["pool"].stats().evacuated > 0
