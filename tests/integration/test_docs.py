"""The examples of the pages that say their examples are run: each page from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.servers import ServerCluster

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^\.\. code-block:: python\n(   :class: needs-secured-server\n)?\n((?:    .*\n|\n)+)", re.M)


@pytest.mark.parametrize("page", ["getting-started", "results"])
def test_examples(page: str, cassandra_node: ServerCluster) -> None:
    path = DOCS / f"{page}.rst"
    text = path.read_text()
    names: dict[str, Any] = {}
    for match in BLOCK.finditer(text):
        if match[1]:
            continue
        line = text[: match.start(2)].count("\n")
        code = "\n" * line + textwrap.dedent(match[2]).replace("127.0.0.1", cassandra_node.contact_points[0])
        exec(compile(code, str(path), "exec"), names)
    assert names["cluster"].is_shutdown
