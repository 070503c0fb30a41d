"""What the pictures of a comparison show, and how they are described to those who do not see them."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.compare.figures import Comparison, drivers, figure, shown

LATENCY = "latency"
PERCENTILES = "p50", "p95", "p99"


class Panel(NamedTuple):
    """Bars of one measure; of :data:`LATENCY` the markers of :data:`PERCENTILES`."""

    workload: str
    measure: str
    title: str


class Picture(NamedTuple):
    name: str
    title: str
    panels: tuple[Panel, ...]
    columns: int = 2


PICTURES = (
    Picture(
        "headlines",
        "fastcql beside other drivers, one core",
        (
            Panel("sync-read", "rate", "Synchronous reads per second"),
            Panel("concurrent-read", "rate", "execute_concurrent, reads per second"),
            Panel("asyncio-read", "rate", "asyncio, 100 tasks, reads per second"),
            Panel("rows", "rate", "Rows as objects, rows per second"),
        ),
    ),
    Picture(
        "cpu",
        "CPU of the client per request",
        (
            Panel("sync-read", "cpu", "Synchronous read"),
            Panel("sync-insert", "cpu", "Synchronous INSERT"),
            Panel("concurrent-read", "cpu", "execute_concurrent, read"),
            Panel("concurrent-insert", "cpu", "execute_concurrent, INSERT"),
            Panel("asyncio-read", "cpu", "asyncio, 100 tasks, read"),
            Panel("asyncio-insert", "cpu", "asyncio, 100 tasks, INSERT"),
        ),
    ),
    Picture(
        "latency",
        "Latency of a read",
        (
            Panel("sync-read", LATENCY, "Synchronous, one thread"),
            Panel("asyncio-read", LATENCY, "asyncio, 100 tasks"),
            Panel("sync-read-cassandra", LATENCY, "Synchronous, real Cassandra"),
            Panel("asyncio-read-cassandra", LATENCY, "asyncio, real Cassandra"),
        ),
    ),
    Picture(
        "rows",
        "Pages of 5,000 rows, rows per second",
        (
            Panel("rows", "rate", "As objects, 7 columns of mixed types"),
            Panel("rows-narrow", "rate", "As objects, 4 columns"),
            Panel("frame", "rate", "As a DataFrame, 7 columns of mixed types"),
            Panel("frame-narrow", "rate", "As a DataFrame, 4 columns"),
        ),
    ),
    Picture(
        "start",
        "The start of a process",
        (
            Panel("import", "cpu", "Import, CPU"),
            Panel("first", "wall", "Connect and first request"),
            Panel("memory", "bytes", "Resident memory after it"),
        ),
        columns=3,
    ),
    Picture(
        "cassandra",
        "Requests to a real Cassandra",
        (
            Panel("sync-read-cassandra", "rate", "Synchronous reads per second"),
            Panel("sync-read-cassandra", "cpu", "Synchronous read, CPU of the client"),
            Panel("concurrent-read-cassandra", "rate", "execute_concurrent, reads per second"),
            Panel("concurrent-read-cassandra", "cpu", "execute_concurrent, CPU of the client"),
            Panel("asyncio-read-cassandra", "rate", "asyncio, 100 tasks, reads per second"),
            Panel("asyncio-read-cassandra", "cpu", "asyncio, CPU of the client"),
        ),
    ),
)


def describe(found: Comparison, picture: Picture) -> str:
    """What the picture shows, for those who do not see it: each panel with its figures."""
    said = []
    for panel in picture.panels:
        measures = PERCENTILES if panel.measure == LATENCY else (panel.measure,)
        parts = []
        for driver in drivers(found, panel.workload):
            figures = [figure(found, panel.workload, driver, measure) for measure in measures]
            values = [shown(measure, one.median) for measure, one in zip(measures, figures, strict=True) if one]
            parts.append(f"{driver} {' / '.join(values)}")
        if parts:
            kind = f" ({', '.join(measures)})" if panel.measure == LATENCY else ""
            said.append(f"{panel.title}{kind}: {', '.join(parts)}.")
    return " ".join(said)
