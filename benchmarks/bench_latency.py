"""The latency of synchronous point reads while fifty threads do nothing else, on one core: is it fair?

``python -m benchmarks.bench_latency`` prints median and 99th percentile, beside scylla-driver's and cassandra-driver's.
"""

from __future__ import annotations

from benchmarks.clients.latency import THREADS
from benchmarks.measure import FASTCQL, Driver, Samples, alternate, pyperf_wanted
from benchmarks.peers import CASSANDRA, SCYLLA
from benchmarks.report import Line, compared_only, seconds, show
from benchmarks.responder import Responder

TITLE = f"Session.execute of a point read by {THREADS} threads at once: latency"
MOST = 3.0
COUNT, SLOW_COUNT = 1000, 100  # reads of each thread


def drivers(port: int) -> dict[str, Driver]:
    return {
        FASTCQL: Driver("latency", (str(port), str(COUNT))),
        SCYLLA.name: Driver("latency", (str(port), str(SLOW_COUNT)), SCYLLA),
        CASSANDRA.name: Driver("latency", (str(port), str(SLOW_COUNT)), CASSANDRA),
    }


def lines() -> list[Line]:
    if pyperf_wanted():  # it times statements; these are a distribution
        return []
    with Responder() as responder:
        samples = alternate(drivers(responder.port))
    peers = [name for name in drivers(0) if name != FASTCQL]
    found = [_tail(samples, peers)]
    for name, measure in (("median", "median"), ("p99", "99th percentile"), ("most", "longest"), ("cpu", "CPU")):
        theirs = {peer: samples[peer, name] for peer in peers}
        found.append(compared_only(measure, samples[FASTCQL, name], theirs))
    return found


def _tail(samples: Samples, peers: list[str]) -> Line:
    ratio = _ratio(samples, FASTCQL)
    others = ", ".join(f"{peer} {_ratio(samples, peer):.2f}x" for peer in peers)
    figure = f"{seconds(samples[FASTCQL, 'p99'])} / {seconds(samples[FASTCQL, 'median'])}"
    return Line("p99 / median", figure, f"≤ {MOST:g}x", others, f"{ratio:.2f}x", ratio <= MOST)


def _ratio(samples: Samples, driver: str) -> float:
    """Of the same process, the median over processes."""
    return samples.ratio(driver, "median", "p99")


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
