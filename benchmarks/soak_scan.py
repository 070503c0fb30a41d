"""Ten million rows pass through a process that stays as small as it was: ``python -m benchmarks.soak_scan [rows]``.

A simulated cluster in a process of its own gives the same page again and again, so that rows cost it nothing. They are
scanned as batches, folded, and folded after a filter. Meanwhile the resident memory of this process is noted: after the
first tenth, which warms pools and caches, it may grow by no more than the noise; and it never holds more than what may
be in flight and in the making at a time. Counts and sums are those of the rows that were given.
"""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.clients.resident import resident
from benchmarks.report import Line, show
from cassandra._core import transport
from cassandra.cluster import Cluster, Session
from cassandra.scan import Count, ForEachBatch, Scan, Sum, col
from cassandra.testing import SimulatedCluster
from cassandra.testing import _wire as wire
from cassandra.testing._connection import EMPTY_STATE, empty_page, is_rows, paging_state_of
from cassandra.testing.faults import Exchange, Reaction

TABLE, SERVE = "ks.t", "--serve"
ROWS, PAGE, SPLITS, PARALLELISM, TARGET = 10_000_000, 5000, 40, 16, 20_000
FLAT = 16 << 20  # bytes that the process may grow by after the first tenth: other ranges are open, pages lie elsewhere
LIMIT = PAGE // 2  # of the filter
NODES, SHARDS = 3, 2
PATIENCE = 20.0  # seconds: longer than the timer of a request lives


def row(number: int) -> bytes:
    """id, name and v, as in a page."""
    values = number.to_bytes(4, "big"), f"the name of {number:06}".encode(), number.to_bytes(8, "big")
    return b"".join(map(wire.bytes_, values))


# ---- the server


class Canned(Reaction):
    """So many pages for each range, all alike."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self._rows = wire.int32(PAGE) + b"".join(map(row, range(PAGE)))
        self._none = b""  # an answer without rows, and without more to come

    def react(self, exchange: Exchange) -> None:
        state = paging_state_of(exchange.frame)
        number = int(state.removeprefix(EMPTY_STATE)) if state else 0
        if state is None:  # the table is empty
            response = exchange.execute()
            if not is_rows(response):
                exchange.send(response)
                return
            self._none, self._response = response.body, response
        response = self._response
        more = number + 1 < self.pages
        body = empty_page(self._none, str(number + 1).encode()) if more else self._none
        response.body = body[: -len(wire.int32(0))] + self._rows
        exchange.send(response)


def serve(pages: int) -> None:
    """Until the standard input ends."""
    with SimulatedCluster(NODES, SHARDS) as simulated:
        simulated.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        simulated.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, v bigint, name text)")
        with simulated.inject(Canned(pages), query=f"FROM {TABLE}", opcode="EXECUTE"):
            print(simulated.contact_points[0], simulated.port, flush=True)
            sys.stdin.read()


@contextlib.contextmanager
def served(pages: int) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "benchmarks.soak_scan", SERVE, str(pages)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().split()
        yield host, int(port)
        process.communicate()


# ---- the client


class Watched(NamedTuple):
    """What one way to read the rows came to."""

    name: str
    right: bool
    seconds: float
    samples: list[int]  # bytes that the process had, on the way

    @property
    def grown(self) -> int:
        """From the first tenth on."""
        warm = max(1, len(self.samples) // 10)
        return max(self.samples[warm:]) - max(self.samples[:warm])


Way = Callable[[Session, int, Callable[[], None]], bool]


def scan(session: Session) -> Scan:
    return session.scan(
        TABLE, splits=SPLITS, parallelism=PARALLELISM, page_size=PAGE, target_rows=TARGET, pushdown="never"
    )


def by_batches(session: Session, rows: int, watch: Callable[[], None]) -> bool:
    found = 0
    for batch in scan(session).batches():
        found += len(batch)
        watch()
    return found == rows


def by_fold(session: Session, rows: int, watch: Callable[[], None]) -> bool:
    class Watching(Sum):
        def stream(self, acc: Any, batch: Any) -> Any:
            watch()
            return super().stream(acc, batch)

    return bool(scan(session).fold(Watching("v")) == rows // PAGE * sum(range(PAGE)))


def by_filter(session: Session, rows: int, watch: Callable[[], None]) -> bool:
    found = scan(session).fold(ForEachBatch(lambda _: watch()), filter=col("v") < LIMIT)
    return bool(found == rows // PAGE * LIMIT)


WAYS: dict[str, Way] = {"batches": by_batches, "fold": by_fold, "fold, filtered": by_filter}


def watched(session: Session, rows: int) -> Iterator[Watched]:
    for name, way in WAYS.items():
        samples = [resident()]
        begun = time.perf_counter()
        right = way(session, rows, lambda samples=samples: samples.append(resident()))  # type: ignore[misc]
        yield Watched(name, right, time.perf_counter() - begun, [*samples, resident()])


def lines(rows: int) -> list[Line]:
    pages = max(1, rows // (SPLITS * PAGE))
    rows = SPLITS * pages * PAGE
    # compression: the simulation would do it in Python
    with served(pages) as (host, port), Cluster([host], port=port, compression=False) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        wait_for(lambda: transport.debug_counters()["channels"] > NODES * SHARDS)
        empty = resident()
        native = transport.debug_counters()
        assert scan(session).fold(Count()) == rows  # warms what is warmed once
        before = resident()
        found = list(watched(session, rows))
        left, kept = resident() - before, kept_of(native)
    most = max(max(one.samples) for one in found) - empty
    bound = PARALLELISM * (2 * PAGE + TARGET) * len(row(0)) * 2
    return [
        *(_line(one, rows) for one in found),
        Line("the most at a time, in flight and in the making", _mib(most), f"≤ {_mib(bound)}", reached=most <= bound),
        Line("left of all that", _mib(left), f"≤ {_mib(FLAT)}", reached=left <= FLAT),
        Line("native objects left", str(kept or "none"), "none", reached=not kept),
    ]


def kept_of(before: dict[str, int]) -> dict[str, int]:
    """Native objects that were not there *before*, and stay: the timers of requests live until they are due."""

    def kept() -> dict[str, int]:
        gc.collect()
        return {name: n - before[name] for name, n in transport.debug_counters().items() if n > before[name]}

    wait_for(lambda: not kept())
    return kept()


def wait_for(condition: Callable[[], bool]) -> None:
    """For a while."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)


def _line(one: Watched, rows: int) -> Line:
    figure = f"{_mib(one.grown)}{'' if one.right else ', WRONG RESULT'}"
    rate = f"{rows / one.seconds:,.0f} rows/s, {len(one.samples):,} looks"
    return Line(
        f"{one.name}: grown after the first tenth", figure, f"≤ {_mib(FLAT)}", rate, "", one.right and one.grown <= FLAT
    )


def _mib(count: float) -> str:
    return f"{count / 2**20:.1f} MiB"


def main(rows: int = ROWS) -> int:
    return min(show(f"{rows:,} rows scanned, page by page", lines(rows)), 1)


if __name__ == "__main__":
    if sys.argv[1:2] == [SERVE]:
        serve(int(sys.argv[2]))
    else:
        raise SystemExit(main(*map(int, sys.argv[1:])))
