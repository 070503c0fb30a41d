"""The examples of docs/scanning.rst, run from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa

from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scanning.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)


def test_the_page_on_scanning(tmp_path: Path) -> None:
    with SimulatedCluster() as simulated:
        simulated.execute(
            "CREATE KEYSPACE lab WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        simulated.execute("CREATE TABLE lab.readings (sensor int PRIMARY KEY, place text, value double)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            names: dict[str, Any] = {"cluster": cluster, "session": cluster.connect("lab"), "folder": tmp_path}
            sensors = range(1000)
            rows = {
                "sensor": pa.array(sensors, pa.int32()),
                "place": ["cellar" if sensor % 2 else "roof" for sensor in sensors],
                "value": [sensor / 2 for sensor in sensors],
            }
            names["session"].ingest("lab.readings", pa.table(rows))
            simulated.execute(
                "CREATE TABLE lab.events (device int, at bigint, what text, PRIMARY KEY (device, at)) "
                "WITH CLUSTERING ORDER BY (at DESC)"
            )
            cluster.refresh_schema_metadata()
            events = {"device": [at % 100 for at in range(500)], "at": range(500), "what": ["on"] * 500}
            names["session"].ingest("lab.events", pa.table(events))
            text = PAGE.read_text()
            blocks = list(BLOCK.finditer(text))
            assert len(blocks) >= 11
            for match in blocks:
                line = text[: match.start(1)].count("\n")
                exec(compile("\n" * line + textwrap.dedent(match[1]), str(PAGE), "exec"), names)
