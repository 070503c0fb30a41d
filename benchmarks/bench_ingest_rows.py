"""Rows of Arrow arrays as bound values, natively: CPU per row.

``python -m benchmarks.bench_ingest_rows`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

import subprocess

from benchmarks.native import build
from benchmarks.report import Line, at_most, show

TITLE = "Bound values of Arrow arrays: CPU per row"
FIVE = 0.15e-6
VECTOR, PER_SECOND = 768 * 4, 2e9


def lines() -> list[Line]:
    printed = subprocess.run(
        [build("ingest", ["ingest", "columns"])], check=True, capture_output=True, text=True
    ).stdout
    took = {name: float(took) * 1e-9 for name, took, _ in (line.split() for line in printed.splitlines())}
    rate = VECTOR / took["vector"]
    return [
        at_most("5 columns (int, text, bigint, double, timestamp), and the token", took["rows5"], FIVE),
        Line(
            "vector<float, 768>", f"{rate / 1e9:.1f} GB/s", f"≥ {PER_SECOND / 1e9:.1f} GB/s", reached=rate >= PER_SECOND
        ),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
