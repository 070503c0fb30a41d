"""A million rows of five columns into a real Apache Cassandra and back to Arrow, every value compared.

``Session.ingest`` beside ``execute_concurrent_with_args`` of this driver and of scylla-driver, and ``python -m
cassandra.bulk load`` of a CSV file beside ``COPY FROM`` of cqlsh, one after the other, each into a table of its own.
Server and client share the machine, so rows per second are mostly the server's; CPU is the client's alone, that of a
command with all its processes. ``python -m benchmarks.load`` starts a server, or uses the one at
``LOAD_CONTACT=host:port``; ``LOAD_ROWS`` changes the number.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.clients.load import COLUMNS
from benchmarks.commands import Spent, cqlsh, spent
from benchmarks.demo import cassandra_server, existing
from benchmarks.measure import FASTCQL, Driver, Samples, alternate
from benchmarks.peers import CQLSH, SCYLLA
from benchmarks.report import Line, seconds, show
from cassandra.cluster import Cluster
from cassandra.scan import Count
from tests.servers import Options

ROWS = 1_000_000
SERVER = Options(heap="4G", as_installed=True)
FLAT = 64 << 20  # bytes that an ingest may grow by, after its first batches
TYPES = "int PRIMARY KEY", "bigint", "text", "double", "timestamp"
INGEST, CONCURRENT = "ingest", "execute_concurrent_with_args"
LOAD, COPY = "python -m cassandra.bulk load", "COPY FROM"


def lines(host: str, port: int, rows: int) -> list[Line]:
    keyspace = f"load_{secrets.token_hex(4)}"
    kinds = {INGEST: ("ingest", None), CONCURRENT: ("concurrent", None), SCYLLA.name: ("concurrent", SCYLLA)}
    with Cluster([host], port=port) as cluster, contextlib.ExitStack() as stack:
        session = cluster.connect()
        session.execute(
            f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        )
        stack.callback(session.execute, f"DROP KEYSPACE {keyspace}")
        drivers = {}
        columns = ", ".join(map(" ".join, zip(COLUMNS.split(", "), TYPES, strict=True)))
        for number in range(len(kinds) + 1):
            session.execute(f"CREATE TABLE {keyspace}.points{number} ({columns})")
        for number, (name, (kind, peer)) in enumerate(kinds.items()):
            table = f"{keyspace}.points{number}"
            drivers[name] = Driver("load", (kind, host, str(port), table, str(rows)), peer)
        spare = f"{keyspace}.points{len(kinds)}"
        # The server compiles as it goes: the first million rows take twice as long.
        for kind in ("concurrent", "ingest"):
            alternate({"warm": Driver("load", (kind, host, str(port), spare, str(rows)))}, 1)
        samples = alternate(drivers, 1)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="load-")))
        tables = {name: f"{keyspace}.by_command{number}" for number, name in enumerate((LOAD, COPY))}
        for table in tables.values():
            session.execute(f"CREATE TABLE {table} ({columns})")
        commands = _by_command(host, port, f"{keyspace}.points0", tables, folder)
        for table in tables.values():
            assert session.scan(table).fold(Count()) == rows, table
    return [
        *(_written(samples, name, rows) for name in kinds),
        *_read(samples, rows),
        *_commanded(commands, rows),
    ]


def _written(samples: Samples, name: str, rows: int) -> Line:
    rate, cpu = rows / samples[name, "write"], samples[name, "write cpu"] / rows
    ours = samples[INGEST, "write cpu"] / rows
    what = f"{FASTCQL} {name}" if name != SCYLLA.name else f"{name} {CONCURRENT}"
    ratio = "" if name == INGEST else f"{cpu / ours:.1f}x the CPU"
    return Line(f"{rows:,} rows, {what}", f"{rate:,.0f} rows/s", "", f"client CPU per row {seconds(cpu)}", ratio)


def _read(samples: Samples, rows: int) -> list[Line]:
    rate, cpu = rows / samples[INGEST, "read"], samples[INGEST, "read cpu"] / rows
    grown = samples[INGEST, "growth"]
    return [
        Line("back to Arrow, every value compared", f"{rate:,.0f} rows/s", "", f"client CPU per row {seconds(cpu)}"),
        Line(
            "memory that ingest grew by after two batches",
            f"{grown / (1 << 20):.1f} MiB",
            f"≤ {FLAT >> 20} MiB",
            reached=grown <= FLAT,
        ),
    ]


def _by_command(host: str, port: int, source: str, tables: Mapping[str, str], folder: Path) -> dict[str, Spent]:
    """A file of the rows of *source* into each of *tables*."""
    bulk: list[str | Path] = [sys.executable, "-m", "cassandra.bulk"]
    where = ["--host", host, "--port", str(port), "--quiet"]
    spent([*bulk, "unload", source, *where, "--columns", COLUMNS.replace(" ", ""), "--format", "csv", "--out", folder])
    (file,) = folder.glob("*.csv")
    columns = ["--columns", COLUMNS.replace(" ", "")]
    return {
        LOAD: spent([*bulk, "load", tables[LOAD], file, *where, *columns]),
        COPY: spent(cqlsh(host, port, f"COPY {tables[COPY]} ({COLUMNS}) FROM '{file}'")),
    }


def _commanded(took: Mapping[str, Spent], rows: int) -> list[Line]:
    return [
        Line(
            f"{rows:,} rows of CSV, {f'{CQLSH} {COPY}' if name == COPY else name}",
            f"{rows / one.wall:,.0f} rows/s",
            "",
            f"client CPU per row {seconds(one.cpu / rows)}",
            "" if name == LOAD else f"{one.cpu / took[LOAD].cpu:.1f}x the CPU",
        )
        for name, one in took.items()
    ]


def main() -> int:
    contact = os.environ.get("LOAD_CONTACT")
    rows = int(os.environ.get("LOAD_ROWS", ROWS))
    with existing(contact) if contact else cassandra_server(SERVER) as (host, port):
        return min(show(f"{rows:,} rows into a real server and back", lines(host, port, rows)), 1)


if __name__ == "__main__":
    raise SystemExit(main())
