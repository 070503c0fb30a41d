"""The examples of docs/asyncio.rst, docs/concurrency.rst and docs/routing.rst run, each page from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import uvloop

from cassandra.testing import SimulatedCluster

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)
CONTACT = 'Cluster(["127.0.0.1"]'


@pytest.fixture
def libuv() -> None:
    """What libuv opens once per process is open."""
    uvloop.new_event_loop().close()


@pytest.mark.parametrize(("page", "examples"), [("asyncio", 7), ("concurrency", 8), ("routing", 11)])
def test_the_page(page: str, examples: int, libuv: None, no_leaks: None) -> None:
    path = DOCS / f"{page}.rst"
    text = path.read_text()
    found = list(BLOCK.finditer(text))
    assert len(found) == examples
    with SimulatedCluster() as simulated:
        contact = f"Cluster({simulated.contact_points!r}, port={simulated.port}"
        names: dict[str, Any] = {}
        for match in found:
            line = text[: match.start(1)].count("\n")
            code = "\n" * line + textwrap.dedent(match[1]).replace(CONTACT, contact)
            exec(compile(code, str(path), "exec"), names)
        assert names["cluster"].is_shutdown
