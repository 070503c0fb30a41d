"""Figures beside their targets, one table for each fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.drill.accounts import Figures
from benchmarks.drill.calls import WRONG
from benchmarks.drill.scene import Fault
from benchmarks.report import Line

FEW = 30  # errors beyond what was in flight, while a node is silent
LEAST_RATE = 0.9  # of the rate before
CLEAN, USED = 2.0, 5.0  # seconds
SILENT = ("pause", "cut")
GONE = ("kill", "drain")
HARMLESS = ("ddl", "fork")
RECOVERS = ("pause", "cut", "restart")

Show = Callable[[Figures], Any]
Judge = Callable[[Figures], bool]


def lines(fault: Fault, found: Sequence[Figures]) -> list[Line]:
    """*found*: ours, and then the peer's, if it ran."""
    if fault.module == "scans":
        return [*_scans(found), *_ends(found)]
    table = [
        _line(found, "calls", lambda f: f"{f.calls:,}"),
        _line(found, "errors by class", lambda f: classes(f.errors)),
        _errors(fault.name, found),
    ]
    if fault.name in GONE + HARMLESS:
        table.append(_none(found, "errors of idempotent requests", lambda f: f.idempotent))
    if fault.load:
        table.append(_rates(fault.name, found))
    if found[0].recovered is not None:
        table += _recovery(fault.name, found)
    if fault.name == "fork":
        table.append(_line(found, "executed by children", lambda f: f.children, "> 0", lambda f: f.children > 0))
        table.append(_none(found, "errors of children", lambda f: len(f.children_errors)))
    return [
        *table,
        _none(found, "acknowledged writes that are missing", lambda f: len(f.missing)),
        _none(found, "non-idempotent writes done twice", lambda f: len(f.twice)),
        *_ends(found),
    ]


def _scans(found: Sequence[Figures]) -> list[Line]:
    return [
        _line(found, "scans", lambda f: f"{f.calls:,}", "> 0", lambda f: f.calls > 0),
        _none(found, "scans whose sum is another one", lambda f: f.errors[WRONG]),
        _none(found, "scans that failed", lambda f: f.errors.total() - f.errors[WRONG]),
        _line(found, "errors by class", lambda f: classes(f.errors)),
    ]


def _ends(found: Sequence[Figures]) -> list[Line]:
    return [
        _none(found, "calls that hang", lambda f: f.hung),
        _line(found, "longest call", lambda f: f"{f.longest:.2f} s"),
        _line(found, "longest shutdown", lambda f: f"{f.shutdown:.2f} s"),
        _line(found, "lines logged, WARNING and above", lambda f: f.logged.total()),
        _none(found, "threads and connections left", lambda f: len(f.left)),
    ]


def _errors(name: str, found: Sequence[Figures]) -> Line:
    measure = "errors of calls that began after it"
    if name in GONE + HARMLESS:
        return _none(found, measure, lambda f: f.beyond)
    if name in SILENT:
        return _line(found, measure, lambda f: f.beyond, f"≤ {FEW}", lambda f: f.beyond <= FEW)
    return _line(found, measure, lambda f: f.beyond)


def _rates(name: str, found: Sequence[Figures]) -> Line:
    def shown(f: Figures) -> str:
        return f"{f.before:.0f} / {f.during:.0f} / {f.after:.0f}"

    measure = "requests/s before / from 1 s on / at the end"
    if name not in SILENT:
        return _line(found, measure, shown)
    return _line(found, measure, shown, f"≥ {LEAST_RATE:.0%}", lambda f: f.during >= LEAST_RATE * f.before)


def _recovery(name: str, found: Sequence[Figures]) -> list[Line]:
    clean, used = (lambda f: _seconds(f.recovered)), (lambda f: _seconds(f.used))
    measures = "free of errors after", "all nodes used after"
    if name not in RECOVERS:
        return [_line(found, measures[0], clean), _line(found, measures[1], used)]
    return [
        _line(found, measures[0], clean, f"≤ {CLEAN:g} s", lambda f: f.recovered is not None and f.recovered <= CLEAN),
        _line(found, measures[1], used, f"≤ {USED:g} s", lambda f: f.used is not None and f.used <= USED),
    ]


def _none(found: Sequence[Figures], measure: str, count: Callable[[Figures], int]) -> Line:
    return _line(found, measure, count, "0", lambda f: count(f) == 0)


def _line(found: Sequence[Figures], measure: str, show: Show, target: str = "", judge: Judge | None = None) -> Line:
    ours, *others = found
    compared = ", ".join(f"{other.driver} {show(other)}" for other in others)
    return Line(measure, str(show(ours)), target, compared, "", judge(ours) if judge else None)


def classes(errors: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(errors.items())) or "none"


def _seconds(value: float | None) -> str:
    return "-" if value is None else "never" if value == float("inf") else f"{value:.1f} s"
