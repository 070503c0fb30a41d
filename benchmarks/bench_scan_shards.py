"""A scan of a simulated ScyllaDB, 3 nodes of 4 shards: where pages are asked for, and how busy all shards are.

A shard serves one page at a time; the simulation notes when. The time is that from the first request for a page to the
last answer, so that a shard which has nothing left while others go on counts as idle.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.clients.scan_shards import NODES, PAGE, PAGE_ROWS, REPLICAS, ROWS, SHARDS, TABLETS
from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.report import Line, seconds, show

TITLE = (
    f"A scan of {ROWS:,} rows, {NODES} x {SHARDS} shards, {TABLETS // (NODES * SHARDS)} tablets a shard, "
    f"pages of {PAGE_ROWS} rows that take {seconds(PAGE)}"
)
BUSY = 0.9  # of the time, each shard


def lines() -> list[Line]:
    facts = alternate({FASTCQL: Driver("scan_shards")}, processes=1).each(FASTCQL)[0]
    return [line for name in REPLICAS for line in lines_of(name, facts)]


def lines_of(name: str, facts: Mapping[str, float]) -> list[Line]:
    pages, owning, least, mean, took = (
        facts[f"{what}, {name}"] for what in ("pages", "owning", "least", "mean", "seconds")
    )
    ideal = pages * PAGE / (NODES * SHARDS)
    return [
        Line(f"pages at the owning shard, {name}", f"{owning:.2%}", "100%", f"{pages:,.0f} pages", "", owning == 1.0),
        Line(f"the least busy shard, {name}", f"{least:.1%}", f"≥ {BUSY:.0%}", f"mean {mean:.1%}", "", least >= BUSY),
        Line(
            f"the whole scan, {name}", seconds(took), "", f"no shard ever idle {seconds(ideal)}", f"{ideal / took:.2f}x"
        ),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
