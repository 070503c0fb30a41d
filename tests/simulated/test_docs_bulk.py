"""The commands of docs/bulk.rst, run from top to bottom."""

from __future__ import annotations

import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "bulk.rst"
BLOCK = re.compile(r"^\.\. code-block:: console\n\n((?:    .*\n|\n)+)", re.M)
PROGRAM = "$ python -m cassandra.bulk "


def test_the_page_on_tables_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("more.csv").write_text("product,place,value\n1,hall,0.5\nwhich,cellar,1\n")
    Path("some.csv").write_text("7,1.5\n8,2.5\n")
    with SimulatedCluster() as simulated:
        simulated.execute(
            "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        for name in ("stock", "again"):
            simulated.execute(f"CREATE TABLE shop.{name} (product int PRIMARY KEY, place text, value double)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            cluster.connect("shop").execute("INSERT INTO stock (product, place, value) VALUES (5, 'hall', 20.5)")
        where = ["--host", simulated.contact_points[0], "--port", str(simulated.port), "--cqlshrc", "none"]
        text = "\n".join(textwrap.dedent(block) for block in BLOCK.findall(PAGE.read_text()))
        lines = text.replace("\\\n", "").splitlines()
        codes = 0
        for number, line in enumerate(lines):
            if not line.startswith("$"):
                continue
            if not line.startswith(PROGRAM):
                shown = subprocess.run(shlex.split(line[2:]), check=True, capture_output=True, text=True).stdout
                assert shown.splitlines() == lines[number + 1 : number + 1 + len(shown.splitlines())], line
                continue
            command, _, echo = line.removeprefix(PROGRAM).partition("; ")
            expected = int(lines[number + 1]) if echo else 0
            assert main([*shlex.split(command), *where]) == expected, line
            codes += 1
        assert codes == 15
