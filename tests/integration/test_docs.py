"""The examples of docs/getting-started.rst, run from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from tests.servers import ServerCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "getting-started.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n(   :class: needs-secured-server\n)?\n((?:    .*\n|\n)+)", re.M)


def test_getting_started(cassandra_node: ServerCluster) -> None:
    text = PAGE.read_text()
    names: dict[str, Any] = {}
    for match in BLOCK.finditer(text):
        if match[1]:
            continue
        line = text[: match.start(2)].count("\n")
        code = "\n" * line + textwrap.dedent(match[2]).replace("127.0.0.1", cassandra_node.contact_points[0])
        exec(compile(code, str(PAGE), "exec"), names)
    assert names["cluster"].is_shutdown
