"""The examples of docs/testing.rst run, and so does the command of the module."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cassandra.cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "testing.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)
BLOCKS = BLOCK.findall(PAGE.read_text())


def test_there_are_examples() -> None:
    assert len(BLOCKS) == 4


@pytest.mark.parametrize("number", range(4))
def test_an_example(no_leaks: None, number: int) -> None:
    names: dict[str, object] = {"Cluster": Cluster}
    if number:
        exec("from cassandra.testing import SimulatedCluster", names)
    exec(compile(textwrap.dedent(BLOCKS[number]), f"{PAGE}, example {number}", "exec"), names)


def test_the_command() -> None:
    command = [sys.executable, "-m", "cassandra.testing", "--nodes", "2", "--shards", "3", "--dcs", "x", "y"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(2)]
            address, port = lines[0].split()[0].split(":")
            with Cluster([address], port=int(port)) as cluster:
                assert cluster.connect().execute("SELECT data_center FROM system.local").one().data_center in "xy"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
