"""``make demo``: the driver at work on a real Apache Cassandra, shown in a minute.

Starts a server on loopback (or uses the one at ``DEMO_CONTACT=host:port``), writes 100,000 rows, reads every one back
by key and once more by pages; writes them once more from an Arrow table and reads them as columns; scans them, many
ranges at a time, for a mean; checks all values, and leaves nothing behind. ``DEMO_ROWS`` changes the number.

Where there is no Java, or with ``DEMO_SERVER=simulated``, the server is the simulated cluster of ``cassandra.testing``
in a process of its own, and there are 10,000 rows.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

import cassandra
from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import SimpleStatement
from cassandra.scan import Mean, col
from tests.servers import Options, ServerCluster, ServerError
from tests.servers.config import find_java

ROWS, ROWS_SIMULATED = 100_000, 10_000
CONCURRENCY = 256
PAGE = 5000
START = datetime(2026, 1, 1)

console = Console(highlight=False)


@dataclass(frozen=True)
class Step:
    """One line of the closing table; *cpu* is what this process used, the server's share is not in it."""

    name: str
    rows: int
    seconds: float
    cpu: float


def reading(number: int) -> tuple[int, str, datetime, float, set[str]]:
    """Row *number*; what is read back is compared with it."""
    at = START + timedelta(seconds=number)
    return number, f"sensor-{number % 500}", at, number / 8 - 40, {"demo", "even" if number % 2 == 0 else "odd"}


def main() -> int:
    console.print(f"\n[bold]fastcql {cassandra.__version__}[/] on Python {platform.python_version()}\n")
    contact = os.environ.get("DEMO_CONTACT")
    simulated = not contact and (os.environ.get("DEMO_SERVER") == "simulated" or not can_start_cassandra())
    rows = int(os.environ.get("DEMO_ROWS", ROWS_SIMULATED if simulated else ROWS))
    try:
        with simulation() if simulated else existing(contact) if contact else cassandra_server() as (host, port):
            steps = work(host, port, rows)
    except ServerError as error:
        console.print(f"[red]The server did not start.[/]\n{error}", markup=True)
        return 1
    except KeyboardInterrupt:
        console.print("\n[yellow]Interrupted[/]; server stopped, nothing left running.")
        return 130
    report(steps, rows, simulated)
    return 0


def can_start_cassandra() -> bool:
    """Whether there is a Java to run it; says so when there is none."""
    try:
        find_java()
    except RuntimeError as error:
        console.print(f"[yellow]No real server:[/] {error}.")
        return False
    return True


@contextlib.contextmanager
def simulation() -> Iterator[tuple[str, int]]:
    """A simulated cluster for as long as this lasts, in another process: what the driver uses is measured alone."""
    console.print("[yellow]This runs on a simulated cluster[/] (cassandra.testing), not on Apache Cassandra.")
    begun = time.perf_counter()
    command = [sys.executable, "-m", "cassandra.testing", "--nodes", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise ServerError(f"the simulated cluster ended with {process.wait()}")
            host, _, port = line.split()[0].rpartition(":")
            done(f"Simulated ScyllaDB started on {host}:{port}", begun)
            yield host, int(port)
        finally:
            process.terminate()
    done("Simulated cluster stopped")


@contextlib.contextmanager
def existing(contact: str) -> Iterator[tuple[str, int]]:
    """The server at *contact*, which stays as it is."""
    host, _, port = contact.rpartition(":") if ":" in contact else (contact, "", "9042")
    done(f"Using the server at {host}:{port}")
    yield host, int(port)


@contextlib.contextmanager
def cassandra_server(options: Options | None = None) -> Iterator[tuple[str, int]]:
    """A new server for as long as this lasts."""
    options = options or Options()
    with contextlib.ExitStack() as stack:
        begun = time.perf_counter()
        with console.status(f"Starting Apache Cassandra {options.version} …"):
            cluster = stack.enter_context(ServerCluster(options))
        host = cluster.contact_points[0]
        done(f"Apache Cassandra {options.version} started on {host}:{cluster.port}", begun)
        yield host, cluster.port
    done("Server stopped, its files removed")


def work(host: str, port: int, rows: int) -> list[Step]:
    begun = time.perf_counter()
    keyspace = f"fastcql_demo_{secrets.token_hex(4)}"
    with Cluster([host], port=port) as cluster:
        session = cluster.connect()
        version = session.execute("SELECT release_version FROM system.local").one().release_version
        done(f"Connected: server {version}, protocol v{cluster.protocol_version}", begun)
        begun = time.perf_counter()
        session.execute(
            f"CREATE KEYSPACE {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        )
        try:
            for table in ("readings", "columns_of_readings"):
                session.execute(
                    f"CREATE TABLE {keyspace}.{table} "
                    "(id int PRIMARY KEY, sensor text, at timestamp, celsius double, tags set<text>)"
                )
            done(f"Keyspace {keyspace} and two tables created", begun)
            data = columns(rows)
            with progress() as bars:
                table = f"{keyspace}.readings"
                steps = [step(session, table, rows, bars) for step in (write, read, scan)]
                table = f"{keyspace}.columns_of_readings"
                return [*steps, *(step(session, table, data, bars) for step in (ingest, read_columns, fold))]
        finally:
            session.execute(f"DROP KEYSPACE {keyspace}")
            done(f"Keyspace {keyspace} dropped")


def write(session: Session, table: str, rows: int, bars: Progress) -> Step:
    insert = session.prepare(f"INSERT INTO {table} (id, sensor, at, celsius, tags) VALUES (?, ?, ?, ?, ?)")
    results = execute_concurrent_with_args(
        session, insert, map(reading, range(rows)), concurrency=CONCURRENCY, results_generator=True
    )
    return measure("Write, row by row", results, rows, bars)


def read(session: Session, table: str, rows: int, bars: Progress) -> Step:
    select = session.prepare(f"SELECT id, sensor, at, celsius, tags FROM {table} WHERE id = ?")
    results = execute_concurrent_with_args(
        session, select, ((number,) for number in range(rows)), concurrency=CONCURRENCY, results_generator=True
    )
    return measure("Read by key", (check(result.one()) for _, result in results), rows, bars)


def scan(session: Session, table: str, rows: int, bars: Progress) -> Step:
    statement = SimpleStatement(f"SELECT id, sensor, at, celsius, tags FROM {table}", fetch_size=PAGE)
    return measure(f"Read by pages of {PAGE:,}", map(check, session.execute(statement)), rows, bars)


def columns(rows: int) -> pyarrow.Table:
    """All rows, as Arrow has them."""
    kinds = {
        "id": pyarrow.int32(),
        "sensor": pyarrow.string(),
        "at": pyarrow.timestamp("ms", "UTC"),
        "celsius": pyarrow.float64(),
        "tags": pyarrow.list_(pyarrow.string()),
    }
    made = zip(*((*row[:4], sorted(row[4])) for row in map(reading, range(rows))), strict=True)
    return pyarrow.table(
        {name: pyarrow.array(column, kind) for (name, kind), column in zip(kinds.items(), made, strict=True)}
    )


def ingest(session: Session, table: str, data: pyarrow.Table, bars: Progress) -> Step:
    task = bars.add_task("Write, from Arrow", total=len(data))
    begun, cpu = time.perf_counter(), time.process_time()
    done = session.ingest(table, data, progress=lambda so_far: bars.update(task, completed=so_far.rows))
    return Step("Write, from Arrow", done.rows, time.perf_counter() - begun, time.process_time() - cpu)


def read_columns(session: Session, table: str, data: pyarrow.Table, bars: Progress) -> Step:
    task = bars.add_task("Read as columns", total=len(data))
    begun, cpu = time.perf_counter(), time.process_time()
    statement = SimpleStatement(f"SELECT id, sensor, at, celsius, tags FROM {table}", fetch_size=PAGE)
    found = session.execute(statement).to_arrow()
    step = Step("Read as columns", len(found), time.perf_counter() - begun, time.process_time() - cpu)
    bars.update(task, completed=len(found))
    if not found.sort_by("id").cast(data.schema).equals(data):
        raise AssertionError("the columns that were read are not those that were written")
    return step


def fold(session: Session, table: str, data: pyarrow.Table, bars: Progress) -> Step:
    """Of rows above zero, as no server would find them without reading all."""
    task = bars.add_task("Scan: a filtered mean", total=len(data))
    begun, cpu = time.perf_counter(), time.process_time()
    scan = session.scan(table, columns=["celsius"], progress=lambda so_far: bars.update(task, completed=so_far.rows))
    mean = scan.fold(Mean("celsius"), filter=col("celsius") > 0)
    step = Step("Scan: a filtered mean", len(data), time.perf_counter() - begun, time.process_time() - cpu)
    bars.update(task, completed=len(data))
    expected = [celsius for _, _, _, celsius, _ in map(reading, range(len(data))) if celsius > 0]
    if mean != sum(expected) / len(expected):
        raise AssertionError(f"the mean is {mean}, and should be {sum(expected) / len(expected)}")
    return step


def check(row: Any) -> Any:
    """A row must come back as it was written."""
    expected = reading(row.id)
    if (*row[:4], set(row.tags)) != expected:
        raise AssertionError(f"read {row!r}, but wrote {expected!r}")
    return row


def measure(name: str, results: Iterable[object], expected: int, bars: Progress) -> Step:
    """Consume *results* under a progress bar; each counts as a row."""
    task = bars.add_task(name, total=expected)
    begun, cpu = time.perf_counter(), time.process_time()
    rows = 0
    for rows, _ in enumerate(results, 1):
        if rows % 500 == 0:
            bars.update(task, completed=rows)
    step = Step(name, rows, time.perf_counter() - begun, time.process_time() - cpu)
    bars.update(task, completed=rows)
    if rows != expected:
        raise AssertionError(f"{name}: {rows:,} rows, but {expected:,} expected")
    return step


def report(steps: list[Step], rows: int, simulated: bool) -> None:
    table = Table(title=f"\n{rows:,} rows there and back, every value compared", title_justify="left")
    table.add_column("What")
    for column in ("Rows", "Seconds", "Rows/s", "Client CPU/row"):
        table.add_column(column, justify="right")
    for step in steps:
        rate, cost = step.rows / step.seconds, step.cpu / step.rows * 1e6
        table.add_row(step.name, f"{step.rows:,}", f"{step.seconds:.2f}", f"{rate:,.0f}", f"{cost:.1f} µs")
    console.print(table)
    server = "the speed of the simulation, which is Python" if simulated else "the server's speed"
    console.print(
        f"[dim]Client and server share this machine, so rows/s is mostly {server}.\n"
        "Client CPU is this process alone, with the demo's own checks and bars in it.[/]\n"
    )


def progress() -> Progress:
    return Progress(
        TextColumn("  {task.description:<22}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        console=console,
    )


def done(text: str, begun: float | None = None) -> None:
    took = "" if begun is None else f" [dim]({time.perf_counter() - begun:.1f} s)[/]"
    console.print(f"[green]✓[/] {text}{took}")


if __name__ == "__main__":
    sys.exit(main())
