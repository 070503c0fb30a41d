"""The JSON of a comparison: for each workload, driver and measure the median over client processes and their spread."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.compare.workloads import DRIVERS, MEASURES, MORE_IS_BETTER, WORKLOADS, Workload
from benchmarks.measure import FASTCQL
from benchmarks.peers import ROOT
from benchmarks.report import seconds

FOLDER = ROOT / "docs" / "_static" / "performance"
FILE = "figures.json"

#: A whole comparison, as JSON has it.
Comparison = dict[str, Any]


class Spread(NamedTuple):
    """What the processes of one driver measured: their median, the least, and the most."""

    median: float
    low: float
    high: float
    processes: int


class Behind(NamedTuple):
    """A figure in which another driver is better than this one."""

    workload: str
    measure: str
    ours: Spread
    driver: str
    theirs: Spread

    @property
    def ratio(self) -> float:
        """Above 1: how many times as good the other driver is."""
        better, worse = self.theirs.median, self.ours.median
        return better / worse if self.measure in MORE_IS_BETTER else worse / better

    @property
    def overlaps(self) -> bool:
        """True if the spreads overlap: another run may find the opposite."""
        return self.ours.low <= self.theirs.high and self.theirs.low <= self.ours.high


def spread(samples: Sequence[float]) -> Spread:
    return Spread(statistics.median(samples), min(samples), max(samples), len(samples))


def measured(workload: Workload, driver: str, samples: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """The measures of a *workload* from the figures of the client processes of *driver*."""
    name = workload.entries[driver].name
    found = {}
    for measure in workload.measures:
        values = [MEASURES[measure](sample, name, workload.per) for sample in samples]
        found[measure] = {key: _rounded(value) for key, value in spread(values)._asdict().items()}
    return found


def comparison(
    about: Mapping[str, Any], samples: Mapping[tuple[str, str, str], Sequence[Mapping[str, float]]]
) -> Comparison:
    """*about* (machine, versions, date) with all figures; *samples* are by server, driver and client. A driver whose
    client has no samples is left out of the workload."""
    workloads = {}
    for key, workload in WORKLOADS.items():
        drivers = {}
        for driver, entry in workload.entries.items():
            mine = samples.get((workload.server, driver, entry.client))
            if mine:
                drivers[driver] = {"call": entry.call, **measured(workload, driver, mine)}
        if drivers:
            workloads[key] = {"title": workload.title, "server": workload.server, "drivers": drivers}
    return {**about, "workloads": workloads}


def write(found: Comparison, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def read(folder: Path = FOLDER) -> Comparison:
    found: Comparison = json.loads((folder / FILE).read_text())
    return found


def figure(found: Comparison, workload: str, driver: str, measure: str) -> Spread | None:
    """None if the driver has no such figure."""
    mine = found["workloads"].get(workload, {}).get("drivers", {}).get(driver, {}).get(measure)
    return None if mine is None else Spread(**mine)


def drivers(found: Comparison, workload: str) -> list[str]:
    """Those that have figures of a workload, in the order of tables."""
    mine = found["workloads"].get(workload, {}).get("drivers", {})
    return [driver for driver in DRIVERS if driver in mine]


def behind(found: Comparison) -> Iterator[Behind]:
    """All figures of which another driver's median is better than this driver's."""
    for key, workload in WORKLOADS.items():
        for measure in workload.measures:
            ours = figure(found, key, FASTCQL, measure)
            if ours is None:
                continue
            for driver in drivers(found, key):
                theirs = figure(found, key, driver, measure)
                assert theirs is not None
                one = Behind(key, measure, ours, driver, theirs)
                if driver != FASTCQL and one.ratio > 1:
                    yield one


def shown(measure: str, value: float) -> str:
    """A value as tables and pictures have it, with three digits that count."""
    if measure == "rate":
        return _short(value)
    if measure == "bytes":
        return f"{value / 2**20:.1f} MiB"
    return seconds(value)


def _short(number: float) -> str:
    """``1.23 M``, ``45,600``, ``789``."""
    if number >= 999_500:
        million = number / 1e6
        return f"{million:.{2 if million < 9.995 else 1 if million < 99.95 else 0}f} M"
    digits = 3 - len(str(round(number)))
    return f"{round(number, digits):,.0f}"


def _rounded(value: float) -> float:
    """Five digits: a file whose changes can be read."""
    return float(f"{value:.5g}")
