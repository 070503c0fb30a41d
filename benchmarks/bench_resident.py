"""Resident memory after a million requests against after ten thousand; ``make soak`` makes it ten million.

``python -m benchmarks.bench_resident`` prints the figure beside the target.
"""

from __future__ import annotations

from benchmarks.clients.resident import ROUND
from benchmarks.measure import FASTCQL, Driver, alternate, pyperf_wanted
from benchmarks.report import Line, show
from benchmarks.responder import Responder

TITLE = "Resident memory of a process that makes requests of every kind"
REQUESTS, MOST = 1_000_000, 1 << 20


def drivers(port: int) -> dict[str, Driver]:
    return {FASTCQL: Driver("resident", (str(port), str(REQUESTS)))}


def lines() -> list[Line]:
    if pyperf_wanted():  # no time
        return []
    with Responder() as responder:
        samples = alternate(drivers(responder.port), processes=1)
    return [growth(REQUESTS, samples[FASTCQL, "grown"], samples[FASTCQL, "before"])]


def growth(requests: int, grown: float, before: float) -> Line:
    """*grown* bytes since the first :data:`ROUND` requests, of *requests* in all."""
    return Line(
        f"after {requests:,} requests, against after {ROUND:,}",
        f"{grown / 2**20:+.2f} MiB",
        f"≤ {MOST / 2**20:g} MiB",
        f"{before / 2**20:.1f} MiB in all",
        reached=grown <= MOST,
    )


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
