"""What ``import cassandra.cluster`` brings in: only what every session needs, so that programs start fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Whoever needs one of these imports it then: a coroutine asyncio, a connection with TLS ssl, and so on.
NOT_FOR_EVERYONE = {
    "asyncio",
    "calendar",
    "cassandra._core.columns",
    "cassandra._core.models",
    "dataclasses",
    "email",
    "http",
    "inspect",
    "json",
    "multiprocessing",
    "numpy",
    "pandas",
    "pickle",
    "puresasl",
    "pyarrow",
    "ssl",
    "subprocess",
    "tempfile",
    "unittest",
    "urllib",
}

#: What every session needs of others; they may bring along what they like (uuid has subprocess in Python 3.10).
NEEDED = "concurrent.futures, copy, cramjam, decimal, heapq, ipaddress, logging, lz4.block, random, socket, uuid"

LIST = "import sys; before = set(sys.modules); import {}; print(*sorted(set(sys.modules) - before))"


def imported_by(module: str) -> set[str]:
    """What importing *module* adds to a fresh interpreter."""
    command = [sys.executable, "-c", LIST.format(module)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["cassandra.cluster", "cassandra.concurrent", "cassandra.query"])
def test_nothing_is_imported_that_few_need(module: str) -> None:
    found = imported_by(module)
    assert module in found
    assert not (found & NOT_FOR_EVERYONE) - imported_by(NEEDED)


def test_exceptions_and_constants_come_alone() -> None:
    """``import cassandra`` alone brings in no session, no connection, no native code."""
    layers = {name.split(".")[1] for name in imported_by("cassandra") if name.startswith("cassandra.")}
    assert layers == {"_base"}
