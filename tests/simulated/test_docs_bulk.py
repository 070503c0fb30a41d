"""The commands of docs/bulk.rst, run from top to bottom."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from itertools import takewhile
from pathlib import Path

import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "bulk.rst"
BLOCK = re.compile(r"^\.\. code-block:: console\n\n((?:    .*\n|\n)+)", re.M)
PROGRAM = "$ python -m cassandra.bulk "


def shell(command: str, where: list[str]) -> list[str]:
    """The output of a command line, in which the program has its connection."""
    function = f'python() {{ {shlex.quote(sys.executable)} "$@" {shlex.join(where)}; }}\n'
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(":")]),
    }
    done = subprocess.run(["bash", "-c", function + command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_page_on_tables_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("more.csv").write_text("product,place,value\n1,hall,0.5\nwhich,cellar,1\n")
    Path("some.csv").write_text("7,1.5\n8,2.5\n")
    Path("news.jsonl").write_text('{"product": 8, "place": "yard", "value": 1.5}\n{"product": 9, "value": null}\n')
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
        lines = [line for line in text.replace("\\\n", "").splitlines() if line]
        codes = shells = 0
        for number, line in enumerate(lines):
            if not line.startswith("$"):
                continue
            shown = list(takewhile(lambda other: not other.startswith("$"), lines[number + 1 :]))
            command, _, echo = line.removeprefix(PROGRAM).partition("; ")
            if "|" in line or not line.startswith(PROGRAM) or (shown and not echo):
                assert shell(line[2:], where) == shown, line
                shells += 1
            else:
                expected = int(shown[0]) if echo else 0
                assert main([*shlex.split(command), *where]) == expected, line
                codes += 1
        assert (codes, shells) == (19, 8)
