"""gevent: point reads by fifty greenlets, beside cassandra-driver with its gevent reactor, and how many of its turns a
neighbour among them has. (scylla-driver hangs under gevent.)

``python -m benchmarks.bench_greenlets`` prints the figures beside the targets.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, Samples, alternate, pyperf_wanted
from benchmarks.peers import CASSANDRA_GEVENT
from benchmarks.report import Line, compared_only, show, times_faster
from benchmarks.responder import Responder

TITLE = "Session.execute of a point read by 50 greenlets of gevent"
TIMES, LEAST = 2.0, 0.9  # as many reads; of the neighbour's turns without them
SECONDS = "3"


def lines() -> list[Line]:
    if pyperf_wanted():  # it times statements
        return []
    with Responder() as responder:
        port = str(responder.port)
        samples = alternate(
            {
                FASTCQL: Driver("greenlets", (port, SECONDS)),
                CASSANDRA_GEVENT.name: Driver("greenlets", (port, SECONDS), CASSANDRA_GEVENT),
            }
        )
    peer = CASSANDRA_GEVENT.name
    return [
        times_faster("a read, by the clock", samples[FASTCQL, "read"], {peer: (samples[peer, "read"], TIMES)}),
        compared_only("its CPU", samples[FASTCQL, "cpu"], {peer: samples[peer, "cpu"]}),
        _neighbour(samples),
    ]


def _neighbour(samples: Samples) -> Line:
    ours, theirs = (samples[name, "neighbour"] for name in (FASTCQL, CASSANDRA_GEVENT.name))
    compared = f"{CASSANDRA_GEVENT.name} {theirs:.0%}"
    return Line("turns of a neighbour", f"{ours:.0%}", f"≥ {LEAST:.0%}", compared, reached=ours >= LEAST)


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
