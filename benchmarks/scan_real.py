"""A table of a real Apache Cassandra, a million rows of five columns: counted, added up, unloaded; beside others.

``Session.scan`` beside scylla-driver, by ``for row in session.execute(...)`` and by ranges of tokens that a program
cuts by hand, all one after the other, each on one core; and ``python -m cassandra.bulk unload`` beside ``COPY TO`` of
cqlsh, each with all cores. Counts and sums are compared with what was written, lines of CSV are counted. Server and
client share the machine, so rows per second are mostly the server's; CPU is the client's alone. ``python -m
benchmarks.scan_real`` starts a server, or uses the one at ``SCAN_CONTACT=host:port``; ``SCAN_ROWS`` changes the number.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import os
import secrets
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.clients.load import COLUMNS, pieces
from benchmarks.commands import cqlsh, spent
from benchmarks.demo import cassandra_server, existing
from benchmarks.load import SERVER, TYPES
from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.peers import CQLSH, SCYLLA, SCYLLA_ARROW, Peer
from benchmarks.report import Line, seconds, show
from cassandra.cluster import Cluster

ROWS, WARM, ROUNDS = 1_000_000, 100, 3
LESS_CPU, LESS_THAN_BY_HAND, FASTER = 10.0, 5.0, 5.0
ROWS_OF, BY_HAND, SERVERS, COPY = "for row in execute", "ranges by hand", "folded by the servers", "COPY TO"
WORKS = ("count", "sum", "unload")


def lines(host: str, port: int, rows: int) -> list[Line]:
    keyspace = f"scan_{secrets.token_hex(4)}"
    table = f"{keyspace}.points"
    with Cluster([host], port=port) as cluster, contextlib.ExitStack() as stack:
        session = cluster.connect()
        session.execute(
            f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        )
        stack.callback(session.execute, f"DROP KEYSPACE {keyspace}")
        columns = ", ".join(map(" ".join, zip(COLUMNS.split(", "), TYPES, strict=True)))
        for name, count in ((table, rows), (f"{table}_warm", WARM)):
            session.execute(f"CREATE TABLE {name} ({columns})")
            report = session.ingest(name, pieces(count))
            assert report.rows == count and not report.errors, report
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scan-")))
        found = []
        for work in WORKS:
            found += lines_of(work, rows, _measured(work, host, port, table, rows, folder))
        return [*found, *_commands(host, port, table, rows, folder)]


def _measured(work: str, host: str, port: int, table: str, rows: int, folder: Path) -> Samples:
    ways: dict[str, tuple[str, Peer | None]] = {FASTCQL: ("scan", None), SERVERS: ("servers", None)}
    theirs = SCYLLA_ARROW if work == "unload" else SCYLLA
    ways |= {ROWS_OF: ("rows", theirs), BY_HAND: ("ranges", theirs)}
    if work == "unload":
        del ways[SERVERS]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for turn in range(ROUNDS):
        drivers = {
            name: Driver("scan_real", (how, work, host, str(port), table, str(rows), f"{folder}/{how}{turn}"), peer)
            for name, (how, peer) in ways.items()
        }
        samples = alternate(drivers, 1)
        for name in ways:
            found[name] += samples.each(name)
    return Samples(found)


def lines_of(work: str, rows: int, samples: Samples) -> list[Line]:
    """One kind of work, by everybody; CPU is that of the client, and of a row."""
    ours = samples[FASTCQL, "cpu"]
    found = [_line(f"{work}, Session.scan", rows, samples, FASTCQL)]
    for name, least in ((ROWS_OF, LESS_CPU), (BY_HAND, LESS_THAN_BY_HAND)):
        ratio = samples[name, "cpu"] / ours
        line = _line(f"{work}, {SCYLLA.name}, {name}", rows, samples, name)
        found.append(
            line._replace(target=f"≥ {least:g}x the CPU of a scan", ratio=f"{ratio:.1f}x", reached=ratio >= least)
        )
    if work != "unload":
        found.append(_line(f"{work}, {SERVERS}", rows, samples, SERVERS))
    return found


def _line(measure: str, rows: int, samples: Samples, name: str) -> Line:
    cpu = f"client CPU per row {seconds(samples[name, 'cpu'] / rows)}"
    return Line(measure, f"{rows / samples[name, 'wall']:,.0f} rows/s", "", cpu)


# ---- commands


def _commands(host: str, port: int, table: str, rows: int, folder: Path) -> list[Line]:
    file = folder / "copied.csv"
    bulk: list[str | Path] = [sys.executable, "-m", "cassandra.bulk", "unload", table, "--quiet"]
    bulk += ["--host", host, "--port", str(port)]
    copy = cqlsh(host, port, f"COPY {table} ({COLUMNS}) TO '{file}'")
    found: dict[str, list[float]] = {"csv": [], "parquet": [], COPY: []}
    for turn in range(ROUNDS):
        for format in ("csv", "parquet"):
            out = folder / f"{format}{turn}"
            found[format].append(spent([*bulk, "--format", format, "--out", out]).wall)
        assert _count(*(folder / f"csv{turn}").glob("*.csv")) == rows
        file.unlink(missing_ok=True)
        found[COPY].append(spent(copy).wall)
        assert _count(file) == rows, "COPY TO has left rows out"
    return command_lines(rows, {name: min(took) for name, took in found.items()})


def command_lines(rows: int, took: Mapping[str, float]) -> list[Line]:
    """*took*: seconds by format, and of COPY TO; commands from their start to their end."""
    theirs = f"{CQLSH} {COPY} {rows / took[COPY]:,.0f} rows/s"
    return [
        Line(
            f"python -m cassandra.bulk unload --format {format}",
            f"{rows / took[format]:,.0f} rows/s",
            f"≥ {FASTER:g}x {COPY}",
            theirs,
            f"{took[COPY] / took[format]:.1f}x",
            took[COPY] / took[format] >= FASTER,
        )
        for format in ("csv", "parquet")
    ]


def _count(*files: Path) -> int:
    """Lines of CSV."""
    with contextlib.ExitStack() as stack:
        opened = (stack.enter_context(file.open(newline="")) for file in files)
        return sum(1 for _ in itertools.chain.from_iterable(map(csv.reader, opened)))


def main() -> int:
    contact = os.environ.get("SCAN_CONTACT")
    rows = int(os.environ.get("SCAN_ROWS", ROWS))
    with existing(contact) if contact else cassandra_server(SERVER) as (host, port):
        return min(show(f"{rows:,} rows of a real server, read as a whole", lines(host, port, rows)), 1)


if __name__ == "__main__":
    raise SystemExit(main())
