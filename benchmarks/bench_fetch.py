"""Pages of 5,000 rows through ``Session.execute``: rows per CPU second, beside scylla-driver, acsylla and
scylladb-rs-driver.

All of them read the same recorded answers from the same native responder, pinned to the other core. CPU is that of the
whole process, I/O threads included. Rows become named tuples, the default of the two that are alike; acsylla also makes
plain tuples, which is the fastest it does; scylladb-rs-driver makes dicts. ``python -m benchmarks.bench_fetch`` prints
the figures beside the targets.
"""

from __future__ import annotations

from benchmarks.clients.harness import PAGES
from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.peers import ACSYLLA, SCYLLA, SCYLLA_RS
from benchmarks.record import SHAPES
from benchmarks.report import Line, show
from benchmarks.responder import Responder

TITLE = "5,000-row pages through Session.execute: rows per second of the client's CPU"
TABLES = {"pages4": "rows4", "pages7": "rows7"}  # the shape of each
SCHEMA = [
    f"CREATE TABLE bench.{table} (id int PRIMARY KEY, "
    + ", ".join(f"{name} {kind}" for name, kind in SHAPES[shape].columns)
    + ")"
    for table, shape in TABLES.items()
]
ROWS = 5000
OF_PEERS = {"pages4": (4.0, 2.0), "pages7": (6.0, 4.0)}  # scylla-driver, acsylla


def drivers(port: int) -> dict[str, Driver]:
    return {
        FASTCQL: Driver("pages", (str(port),)),
        SCYLLA.name: Driver("pages", (str(port),), SCYLLA),
        ACSYLLA.name: Driver("acsylla_pages", (str(port),), ACSYLLA),
        SCYLLA_RS.name: Driver("scylla_rs_pages", (str(port),), SCYLLA_RS),
    }


def lines() -> list[Line]:
    with Responder() as responder:
        samples = alternate(drivers(responder.port))
    return [*(line for name in PAGES for line in _compared(samples, name)), responder.line()]


def _compared(samples: Samples, name: str) -> list[Line]:
    columns = ", ".join(("int", *(kind for _, kind in SHAPES[TABLES[name]].columns)))
    ours = samples[FASTCQL, name]
    of_scylla, of_acsylla = OF_PEERS[name]
    return [
        _line(f"({columns})", ours, SCYLLA.name, samples[SCYLLA.name, name], of_scylla),
        _line("", ours, f"{ACSYLLA.name}, named tuples", samples[ACSYLLA.name, f"{name} as_named_tuple"], of_acsylla),
        _line("", ours, f"{ACSYLLA.name}, tuples", samples[ACSYLLA.name, f"{name} as_tuple"], of_acsylla),
        _line("", ours, f"{SCYLLA_RS.name}, dicts", samples[SCYLLA_RS.name, name]),
    ]


def _line(measure: str, ours: float, peer: str, theirs: float, wanted: float | None = None) -> Line:
    ratio = theirs / ours
    target, reached = ("", None) if wanted is None else (f"≥ {wanted:g}x", ratio >= wanted)
    return Line(measure, _rate(ours), target, f"{peer} {_rate(theirs)}", f"{ratio:.2f}x", reached)


def _rate(page: float) -> str:
    return f"{ROWS / page / 1e6:.2f} M rows/s"


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
