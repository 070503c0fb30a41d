"""Every allocation of the columns extension fails once: builders, batches, exports, streams, masks, merges."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.native.building import BUILD, ROOT, TESTS


def test_columns_without_memory() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    library = BUILD / f"failing_allocations_{os.getpid()}.so"
    source = TESTS / "failing_allocations.cpp"
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-fPIC",
        "-shared",
        "-Wall",
        "-Wextra",
        "-Werror",
        str(source),
        "-o",
        str(library),
    ]
    subprocess.run(command, check=True, timeout=120)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "tests.native.columns_without_memory", str(library)],
            cwd=ROOT,
            env={**os.environ, "LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    finally:
        library.unlink()
    assert result.returncode == 0, f"{result.stdout[-2000:]}\n{result.stderr[-4000:]}"
    counts = dict(line.split() for line in result.stdout.splitlines())
    assert len(counts) == 13
    assert all(int(count) > 0 for count in counts.values()), counts
