"""Choice of replicas by load, and speculative execution by percentile: tails of latency where a server is slow.

``python -m benchmarks.bench_choice`` prints the figures beside the targets, and those with the options off, which are
scylla-driver's behaviour, from the same run. The tails are simulated in virtual time with the driver's own code
(``native/choice.cpp``), so they do not depend on the machine; each is the median of several seeds.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from statistics import median
from typing import NamedTuple

from benchmarks.native import build
from benchmarks.report import Line, at_most, show

TITLE = "Choice of replicas: tails of latency with 1 of 3 nodes slow, or 1 of 24 shards stalled"
SEEDS = 3
CHOICE = 30e-9


class Tails(NamedTuple):
    """Latencies in seconds; the others are shares of the requests."""

    p50: float
    p99: float
    p999: float
    uneven: float
    extra: float
    cached: float


def lines() -> list[Line]:
    binary = build("choice", [])
    found: dict[tuple[str, str], list[Tails]] = defaultdict(list)
    for seed in range(1, SEEDS + 1):
        printed = subprocess.run([binary, str(seed)], check=True, capture_output=True, text=True).stdout
        for scenario, mode, *figures in map(str.split, printed.splitlines()):
            p50, p99, p999, *shares = map(float, figures)
            found[scenario, mode].append(Tails(p50 / 1e9, p99 / 1e9, p999 / 1e9, *shares))
    tails = {key: Tails(*map(median, zip(*several, strict=True))) for key, several in found.items()}
    printed = subprocess.run([binary, "ns"], check=True, capture_output=True, text=True).stdout
    healthy, random = tails["healthy", "load"], tails["healthy", "random"]
    return [
        _times("1 of 3 nodes 10x slower: p99", "p99", tails, "slow", "load", 1.5),
        _times("the same, with speculative execution: p99", "p99", tails, "slow", "hedged", 1.2),
        _share("the same: extra executions", tails["slow", "hedged"].extra, 0.05),
        _times("a shard stalls 200 ms each second: p99.9", "p999", tails, "stall", "load", 2),
        _times("the same, with speculative execution: p99.9", "p999", tails, "stall", "hedged", 2),
        _share("healthy: most loaded node above the mean", healthy.uneven, 0.02, random.uneven),
        _share("healthy: rows not in the cache, beyond random choice", random.cached - healthy.cached, 0.005),
        _share("healthy, with speculative execution: extra executions", tails["healthy", "hedged"].extra, 0.05),
        at_most("choice between two replicas, beyond a random one", float(printed.split()[1]) * 1e-9, CHOICE),
    ]


def _times(
    measure: str, field: str, tails: dict[tuple[str, str], Tails], scenario: str, mode: str, limit: float
) -> Line:
    """A percentile as a multiple of the healthy cluster's, beside that of random choice."""
    healthy, ours, off = (
        getattr(tails[key], field) for key in (("healthy", "random"), (scenario, mode), (scenario, "random"))
    )
    ratio = ours / healthy
    return Line(
        measure, f"{ratio:.2f}x healthy", f"≤ {limit:g}x", "off", f"{off / healthy:.1f}x healthy", ratio <= limit
    )


def _share(measure: str, value: float, limit: float, off: float | None = None) -> Line:
    compared = ("", "") if off is None else ("off", f"{100 * off:.2f} %")
    return Line(measure, f"{100 * value:.2f} %", f"≤ {100 * limit:g} %", *compared, reached=value <= limit)


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
