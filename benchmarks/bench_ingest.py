"""Rows of five columns from an Arrow table into a table: CPU per row, beside ``execute_concurrent_with_args``.

Both talk to the native responder on another core, in one process. Rows are written one by one (``batch_rows=1``), as
the limit is about requests: 0.6 µs is what a C++ program takes that does nothing but send the same bytes and receive
the answers. ``python -m benchmarks.bench_ingest`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.clients.ingest import AT_ONCE
from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.report import Line, at_most, compared_only, show
from benchmarks.responder import Responder

TITLE = "Session.ingest of 5 columns, CPU per row, the client on one core"
ROWS, STATEMENTS, PROCESSES = 100_000, 5000, 3
MOST, IMPLIED = 1e-6, 1.7  # seconds, where a row of execute_concurrent_with_args took so many microseconds
BESIDE = "execute_concurrent_with_args"


def lines() -> list[Line]:
    with Responder() as responder:
        words = str(responder.port), str(ROWS), str(STATEMENTS)
        samples = alternate({FASTCQL: Driver("ingest", words)}, PROCESSES)
    return [*_lines(samples), responder.line()]


def _lines(samples: Samples) -> list[Line]:
    peer = {BESIDE: samples[FASTCQL, "concurrent insert"]}
    wall = {BESIDE: samples[FASTCQL, "concurrent insert wall"]}
    return [
        at_most("a row of ingest", samples[FASTCQL, "ingest"], MOST, peer, IMPLIED),
        compared_only(f"the same, {AT_ONCE} in flight", samples[FASTCQL, f"ingest, {AT_ONCE} in flight"], peer),
        compared_only("a row of ingest, wall time", samples[FASTCQL, "ingest wall"], wall),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
