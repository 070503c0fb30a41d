"""Tables of a comparison: CSV and text for docs/performance.rst, and the section of README.rst between two comments."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.compare.figures import Comparison, Spread, behind, drivers, figure, shown
from benchmarks.compare.workloads import DRIVERS, RECORDED, WORKLOADS
from benchmarks.measure import FASTCQL
from benchmarks.peers import ROOT

README = ROOT / "README.rst"
BEGIN, END = ".. figures of python -m benchmarks compare", ".. end of figures"
NOTHING = "—"

Row = Sequence[str]


class Headline(NamedTuple):
    """A line of the short table."""

    title: str
    workload: str
    measure: str


HEADLINES = (
    Headline("synchronous reads per second", "sync-read", "rate"),
    Headline("``execute_concurrent``, reads per second", "concurrent-read", "rate"),
    Headline("asyncio, 100 tasks, reads per second", "asyncio-read", "rate"),
    Headline("rows per second, as objects", "rows", "rate"),
    Headline("rows per second, as a DataFrame", "frame-narrow", "rate"),
    Headline("connect and first request", "first", "wall"),
    Headline("import, CPU", "import", "cpu"),
    Headline("memory after the first request", "memory", "bytes"),
)
#: the tables of docs/performance.rst: for each group the measures with their spread, and those without
COLUMNS = {
    "requests": (("rate", "cpu"), ("p50", "p99")),
    "cassandra": (("rate", "cpu"), ("p50", "p99")),
    "rows": (("rate", "cpu"), ()),
}
OF_START = ("wall", "cpu", "bytes")  # of which each workload has one or two: they are rows
TITLES = {
    "rate": "per second",
    "wall": "time",
    "bytes": "memory",
    "cpu": "CPU",
    "p50": "p50",
    "p95": "p95",
    "p99": "p99",
}


def files(found: Comparison) -> dict[str, str]:
    """The text of all tables, by name of the file."""
    made = {f"{group}.csv": _csv(_of_group(found, group)) for group in COLUMNS}
    made["start.csv"] = _csv(_of_start(found))
    made["headlines.csv"] = _csv(headlines(found))
    made["calls.csv"] = _csv(_calls(found))
    made["behind.txt"] = _behind(found)
    made["machine.txt"] = f"{machine(found)}\n"
    return made


def write(found: Comparison, folder: Path) -> None:
    for name, text in files(found).items():
        (folder / name).write_text(text)


def machine(found: Comparison) -> str:
    """The sentence that says what was measured, where and when."""
    at, server = found["machine"], found["server"]
    kind = "virtual machine" if at["virtual"] else "machine"
    peers = ", ".join(f"{name} {version}" for name, version in found["drivers"].items() if name != FASTCQL)
    real = f", Apache Cassandra {server['cassandra']} on Java {server['java']}" if server else ""
    day = datetime.date.fromisoformat(found["date"]).strftime("%d %B %Y").lstrip("0")
    return (
        f"Measured on {day} with fastcql {found['drivers'][FASTCQL]} (commit {found['commit']}), {peers}{real}; on one "
        f"core of a {kind} with {at['cores']} cores of {at['cpu']} (family/model/stepping {at['family']}) and "
        f"{at['memory']} of memory, {at['system']}, {found['python']}."
    )


def headlines(found: Comparison) -> list[Row]:
    """The short table: medians of all drivers."""
    rows: list[Row] = [("", *DRIVERS)]
    for title, workload, measure in HEADLINES:
        figures = [figure(found, workload, driver, measure) for driver in DRIVERS]
        rows.append((title, *(shown(measure, one.median) if one else NOTHING for one in figures)))
    return rows


def readme(found: Comparison) -> str:
    """The part of README.rst between the comments."""
    return f"{wrapped(machine(found), 120)}\n\n{simple(headlines(found))}\n"


def into_readme(text: str, part: str) -> str:
    """*text* of README.rst with another *part* between the comments."""
    before, _, rest = text.partition(f"{BEGIN}\n\n")
    _, _, after = rest.partition(f"\n{END}\n")
    return f"{before}{BEGIN}\n\n{part}\n{END}\n{after}"


def simple(rows: Sequence[Row]) -> str:
    """A simple table of reStructuredText."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rule = " ".join("=" * width for width in widths)
    lines = [" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines[0] = lines[0] or "\\"
    if not rows[0][0]:
        lines[0] = "\\" + lines[0][1:]  # an empty first cell would continue the line above
    return "\n".join((rule, lines[0], rule, *lines[1:], rule))


def wrapped(text: str, width: int) -> str:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _of_group(found: Comparison, group: str) -> list[Row]:
    spread, alone = COLUMNS[group]
    rows: list[Row] = [("Workload", "Driver", *(TITLES[measure] for measure in (*spread, *alone)))]
    for key, workload in WORKLOADS.items():
        if workload.group != group:
            continue
        for number, driver in enumerate(drivers(found, key)):
            cells = [_with_spread(measure, figure(found, key, driver, measure)) for measure in spread]
            for measure in alone:
                one = figure(found, key, driver, measure)
                cells.append(shown(measure, one.median) if one else "")
            name = f"**{driver}**" if driver == FASTCQL else driver
            rows.append((workload.title if number == 0 else "", name, *cells))
    return rows


def _of_start(found: Comparison) -> list[Row]:
    rows: list[Row] = [("Measure", "Driver", "Median and range")]
    for key, workload in WORKLOADS.items():
        for measure in OF_START if workload.group == "start" else ():
            title = workload.title if measure == "bytes" else f"{workload.title}: {TITLES[measure]}"
            for driver in drivers(found, key):
                if (one := figure(found, key, driver, measure)) is not None:
                    name = f"**{driver}**" if driver == FASTCQL else driver
                    rows.append((title, name, _with_spread(measure, one)))
                    title = ""
    return rows


def _with_spread(measure: str, one: Spread | None) -> str:
    if one is None:
        return ""
    low, middle, high = (shown(measure, value) for value in (one.low, one.median, one.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def _calls(found: Comparison) -> list[Row]:
    """Workloads with the same calls are one line of the table."""
    by_calls: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for key, workload in WORKLOADS.items():
        if workload.server == RECORDED and (names := drivers(found, key)):
            calls = tuple((name, workload.entries[name].call) for name in names)
            by_calls.setdefault(calls, []).append(workload.title)
    rows: list[Row] = [("Workload", "Driver", "Calls")]
    for calls, titles in by_calls.items():
        by_call: dict[str, list[str]] = {}
        for name, call in calls:
            by_call.setdefault(call, []).append(name)
        for number, (call, names) in enumerate(by_call.items()):
            rows.append(("; ".join(titles) if number == 0 else "", ", ".join(names), call))
    return rows


def _behind(found: Comparison) -> str:
    """A table, or that there is nothing to list. The measures of one workload and driver are one line."""
    by_driver: dict[tuple[str, str], list[str]] = {}
    for one in behind(found):
        ours, theirs = shown(one.measure, one.ours.median), shown(one.measure, one.theirs.median)
        spread = ", within the spread" if one.overlaps else ""
        said = f"{TITLES[one.measure]} {theirs} instead of {ours} ({one.ratio:.2f}x{spread})"
        by_driver.setdefault((one.workload, one.driver), []).append(said)
    if not by_driver:
        return "In this run, no other driver was better in any measure.\n"
    rows: list[Row] = [("Workload", "Driver", "Its figures")]
    for (key, driver), parts in by_driver.items():
        server = "" if WORKLOADS[key].server == RECORDED else ", real server"
        rows.append((WORKLOADS[key].title + server, driver, "; ".join(parts)))
    body = "".join(f"   {line}\n" for line in _csv(rows).splitlines())
    return f".. csv-table::\n   :header-rows: 1\n   :class: calls\n\n{body}"


def _csv(rows: Iterable[Row]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
