"""The examples of docs/columns.rst, run from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "columns.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)


def test_the_page_on_columns() -> None:
    with SimulatedCluster() as simulated:
        simulated.execute(
            "CREATE KEYSPACE lab WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        simulated.execute("CREATE TABLE lab.readings (sensor int PRIMARY KEY, place text, price decimal)")
        for i in range(3):
            simulated.execute(f"INSERT INTO lab.readings (sensor, place, price) VALUES ({i}, 'here', 1.{i})")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            names: dict[str, Any] = {"session": cluster.connect("lab")}
            text = PAGE.read_text()
            blocks = list(BLOCK.finditer(text))
            assert len(blocks) == 4
            for match in blocks:
                line = text[: match.start(1)].count("\n")
                exec(compile("\n" * line + textwrap.dedent(match[1]), str(PAGE), "exec"), names)
