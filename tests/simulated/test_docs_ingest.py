"""The examples of docs/ingest.rst, run from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ingest.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)


def test_the_page_on_bulk_loading() -> None:
    with SimulatedCluster() as simulated:
        simulated.execute(
            "CREATE KEYSPACE lab WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        simulated.execute("CREATE TABLE lab.readings (sensor int PRIMARY KEY, place text, value double)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            names: dict[str, Any] = {"session": cluster.connect("lab")}
            text = PAGE.read_text()
            blocks = list(BLOCK.finditer(text))
            assert len(blocks) == 9
            for match in blocks:
                line = text[: match.start(1)].count("\n")
                exec(compile("\n" * line + textwrap.dedent(match[1]), str(PAGE), "exec"), names)
