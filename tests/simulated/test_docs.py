"""The examples of docs/testing.rst run, the tests in them too, and so does the command of the module."""

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
BLOCKS = [textwrap.dedent(block) for block in BLOCK.findall(PAGE.read_text())]
FIXTURES = "@pytest.fixture"
RUN = [block for block in BLOCKS if FIXTURES not in block]
WITH_FIXTURES = [block for block in BLOCKS if FIXTURES in block]


def test_there_are_examples() -> None:
    assert (len(RUN), len(WITH_FIXTURES)) == (8, 1)


@pytest.mark.parametrize("number", range(len(RUN)))
def test_an_example(no_leaks: None, number: int) -> None:
    """Each goes on with what those before it have imported."""
    names: dict[str, object] = {}
    for block in RUN[:number]:
        exec("\n".join(line for line in block.splitlines() if line.startswith(("from ", "import "))), names)
    exec(compile(RUN[number], f"{PAGE}, example {number}", "exec"), names)


def test_the_example_for_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(WITH_FIXTURES[0])
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


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
