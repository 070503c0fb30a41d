"""The pages of the documentation that need no server run from top to bottom; and the tests and the command in the page
on testing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cassandra.cluster import Cluster
from tests import pages
from tests.packages import require

FIXTURES = "@pytest.fixture"
PAGES = {name: path for name, path in pages.pages().items() if not pages.needs_server(path)}
#: packages that not every Python can have, by page
NEEDS = {"encryption": "cryptography"}


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name: str, tmp_path: Path) -> None:
    if name in NEEDS:
        require(NEEDS[name])
    pages.run(PAGES[name], tmp_path)


def test_the_example_for_pytest(tmp_path: Path) -> None:
    (code,) = (block.code for block in pages.blocks(pages.DOCS / "testing.rst") if FIXTURES in block.code)
    (tmp_path / "test_shop.py").write_text(code)
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
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=pages.ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_command() -> None:
    command = [sys.executable, "-m", "cassandra.testing", "--nodes", "2", "--shards", "3", "--dcs", "x", "y"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=pages.ROOT) as process:
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
