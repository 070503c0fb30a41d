"""``ResponseFuture._set_result``: an answer is decoded, and its request gets the rows. CPU per answer.

*Dispatch* is without making rows and without telling waiters; the stand-ins for these are measured alone and
taken off. The rest is everything, for one row of five columns; scylla-driver has made tuples of it before, fastcql
decodes in here. ``python -m benchmarks.bench_outcome`` prints the figures beside the targets and fails when one is
missed.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, compared_only, show
from benchmarks.responder import Responder

TITLE = "_set_result of one row of five columns: CPU per answer"
DISPATCH = "ROWS, dispatch"
# measure: (limit, time of scylla-driver where the limit was set)
LIMITS = {
    DISPATCH: (200e-9, 650e-9),
    "ROWS, named tuples": (2e-6, 54.7e-6),
    "ROWS and a tablet, tuples": (4e-6, 20.7e-6),
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
        ours, theirs = _of(samples, FASTCQL, name), {SCYLLA.name: _of(samples, SCYLLA.name, name)}
        if name in LIMITS:
            limit, published = LIMITS[name]
            found.append(at_most(name, ours, limit, theirs, published / limit))
        else:
            found.append(compared_only(name, ours, theirs))
    return found


def _of(samples: Samples, driver: str, name: str) -> float:
    if name == DISPATCH:
        return samples[driver, f"{DISPATCH} and stand-ins"] - samples[driver, "stand-ins"]
    return samples[driver, name]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
