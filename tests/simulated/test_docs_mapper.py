"""The examples of docs/mapper.rst run, from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cassandra.cqlengine import connection, models
from cassandra.testing import SimulatedCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mapper.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)
CONTACT = 'connection.setup(["127.0.0.1"], "shop_example"'


def test_the_page(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    monkeypatch.setattr(models, "DEFAULT_KEYSPACE", None)
    text = PAGE.read_text()
    found = list(BLOCK.finditer(text))
    assert len(found) == 8 and CONTACT in text
    with SimulatedCluster() as simulated:
        contact = f'connection.setup({simulated.contact_points!r}, "shop_example", port={simulated.port}'
        names: dict[str, Any] = {"__name__": "example"}
        for match in found:
            line = text[: match.start(1)].count("\n")
            code = "\n" * line + textwrap.dedent(match[1]).replace(CONTACT, contact)
            exec(compile(code, str(PAGE), "exec"), names)
        assert names["cluster"].is_shutdown and not connection._connections
    connection.udt_by_keyspace.clear()
