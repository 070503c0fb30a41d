"""One table for every benchmark: measure, figure, target, what it was compared with, ratio, verdict."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import NamedTuple

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Line(NamedTuple):
    """One measure. *target* is how it is written; *reached* is None for a figure without a target."""

    measure: str
    figure: str
    target: str = ""
    compared: str = ""
    ratio: str = ""
    reached: bool | None = None

    @property
    def verdict(self) -> str:
        return "" if self.reached is None else "reached" if self.reached else "MISSED"


HEADER = Line("measure", "figure", "target", "compared with", "ratio")


def seconds(value: float) -> str:
    """A time with three digits that count: ``1.23 ms``."""
    scale, unit = next(((scale, unit) for scale, unit in UNITS if abs(value) >= scale), UNITS[-1])
    number = value / scale
    return f"{number:.{2 if abs(number) < 10 else 1 if abs(number) < 100 else 0}f} {unit}"


def at_most(
    measure: str, value: float, limit: float, peers: Mapping[str, float] | None = None, implied: float | None = None
) -> Line:
    """A time that must not be above *limit* seconds. *peers* are others' times for the same; *implied* is how many
    times as fast as the first of them the limit was where it was set, which says more on another machine."""
    compared, ratio = _peers(value, peers or {})
    if implied is not None:
        ratio += f" (limit {implied:.1f}x)"
    return Line(measure, seconds(value), f"≤ {seconds(limit)}", compared, ratio, value <= limit)


def times_faster(measure: str, value: float, targets: Mapping[str, tuple[float, float]]) -> Line:
    """A time, and by peer (its time, how many times as fast we must be)."""
    compared, ratio = _peers(value, {name: theirs for name, (theirs, _) in targets.items()})
    target = " and ".join(f"≥ {wanted:g}x {name}" for name, (_, wanted) in targets.items())
    reached = all(theirs / value >= wanted for theirs, wanted in targets.values()) if targets else None
    return Line(measure, seconds(value), target, compared, ratio, reached)


def compared_only(measure: str, value: float, peers: Mapping[str, float] | None = None) -> Line:
    """A time without a target."""
    compared, ratio = _peers(value, peers or {})
    return Line(measure, seconds(value), "", compared, ratio)


def _peers(value: float, peers: Mapping[str, float]) -> tuple[str, str]:
    return (
        ", ".join(f"{name} {seconds(theirs)}" for name, theirs in peers.items()),
        ", ".join(f"{theirs / value:.2f}x" for theirs in peers.values()),
    )


def show(title: str, lines: Iterable[Line]) -> int:
    """Print the table; the number of missed targets."""
    lines = list(lines)
    rows = [(*line[:-1], line.verdict) for line in (HEADER, *lines)]
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    print(f"\n{title} (Python {platform.python_version()}, {platform.machine()})")
    for row in rows:
        print("  " + "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return sum(line.reached is False for line in lines)
