"""``ResponseFuture._set_result``: an answer is decoded, and its request gets the rows. CPU per answer.

*Dispatch* is without making rows and without telling whoever waits; the rest is everything, for one row of five
columns. scylla-driver has made tuples of it before, fastcql decodes in here. ``python -m benchmarks.bench_outcome``
prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, compared_only, show
from benchmarks.responder import Responder

TITLE = "_set_result of one row of five columns: CPU per answer"
# measure: (limit, what scylla-driver took where the limit was set)
LIMITS = {
    "ROWS, dispatch": (200e-9, 650e-9),
    "ROWS, named tuples": (2e-6, 54.7e-6),
}
OTHERS = ("ROWS, tuples", "VOID")


def drivers(port: int) -> dict[str, Driver]:
    return {
        FASTCQL: Driver("outcome", (str(port),)),
        SCYLLA.name: Driver("outcome", (str(port),), SCYLLA),
    }


def lines() -> list[Line]:
    with Responder() as responder:
        samples = alternate(drivers(responder.port))
    found = []
    for name in (*LIMITS, *OTHERS):
        ours, theirs = samples[FASTCQL, name], {SCYLLA.name: samples[SCYLLA.name, name]}
        if name in LIMITS:
            limit, published = LIMITS[name]
            found.append(at_most(name, ours, limit, theirs, published / limit))
        else:
            found.append(compared_only(name, ours, theirs))
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
