"""Ten million requests leave nothing behind: ``python -m benchmarks.soak_requests [requests]``, or ``make soak``.

Requests of every kind, in rounds of ten thousand, against the native responder. Prints resident memory at each power of
ten; the exit code says whether it stayed within a mebibyte of what it was after the first round.
"""

from __future__ import annotations

import sys
import time

from benchmarks.bench_resident import growth
from benchmarks.clients.resident import ROUND, collected, connected
from benchmarks.report import Line, show
from benchmarks.responder import Responder

REQUESTS = 10_000_000


def main(wanted: int = REQUESTS) -> int:
    started = time.monotonic()
    found: list[Line] = []
    with Responder() as responder, connected(responder.port) as a_round:
        first, shown = 0, ROUND
        for done in range(ROUND, wanted + 1, ROUND):
            a_round()
            if done in (shown, wanted):
                now, shown = collected(), shown * 10
                first = first or now
                found.append(growth(done, now - first, now))
    return min(show(f"Resident memory, {time.monotonic() - started:.0f} s", found), 1)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
