"""Figures computed from the calls of a client and the moments of a fault. Pure: no server, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.drill.calls import APPEND, DDL, IDEMPOTENT, INSERT, NEVER, Call, Report

SETTLED = 1.0  # seconds after a fault began: the rate counts from then on
BEFORE = 3.0  # seconds before it: the reference of the comparison


@dataclass
class Moments:
    """When each event happened; by the monotonic clock."""

    began: float = 0.0  # requests that are sent later do not count as in flight
    quiet: float = 0.0  # until then nothing else is done to the nodes: the rate counts
    healed: float = 0.0  # 0: there is nothing to recover from
    ended: float = 0.0  # of the drill
    answering: dict[int, float] = field(default_factory=dict)  # node -> since when it is there again


class Stored(NamedTuple):
    """The contents of the tables."""

    inserted: Collection[int]
    appended: Mapping[int, int]  # number -> how often


@dataclass
class Figures:
    driver: str
    errors: Counter[str]
    beyond: int  # errors of calls that were not in flight when it began
    idempotent: int  # errors of idempotent calls
    longest: float
    hung: int
    before: float  # rates
    during: float
    after: float
    recovered: float | None  # seconds from healed until the last call began that failed; None: nothing to recover from
    used: float | None  # seconds until each node answered a request again, the longest; inf: never
    missing: list[int]
    twice: list[int]
    logged: Counter[str]
    left: list[str]
    shutdown: float
    children: int = 0
    children_errors: list[str] = field(default_factory=list)
    calls: int = 0


def figures(report: Report, moments: Moments, stored: Stored) -> Figures:
    calls = report.calls
    load = [call for call in calls if call.op != DDL]
    failed = [call for call in calls if call.error]
    return Figures(
        driver=report.driver,
        errors=Counter(call.error for call in failed),
        beyond=sum(call.begin >= moments.began for call in failed),
        idempotent=sum(call.op in IDEMPOTENT for call in failed),
        longest=max((call.end - call.begin for call in load if call.end != NEVER), default=0.0),
        hung=sum(call.hung for call in calls),
        before=rate(load, moments.began - BEFORE, moments.began),
        during=rate(load, moments.began + SETTLED, moments.quiet),
        after=rate(load, moments.ended - BEFORE, moments.ended),
        recovered=recovered(failed, moments),
        used=used(load, moments),
        missing=missing(calls, stored),
        twice=sorted(number for number, count in stored.appended.items() if count > 1),
        logged=Counter(report.logged),
        left=report.left,
        shutdown=report.shutdown,
        children=sum(child.executed for child in report.children),
        children_errors=[error for child in report.children for error in child.errors],
        calls=len(calls),
    )


def rate(calls: Iterable[Call], begin: float, end: float) -> float:
    """Successes per second."""
    if end <= begin:
        return 0.0
    return sum(not call.error and begin <= call.end < end for call in calls) / (end - begin)


def recovered(failed: Iterable[Call], moments: Moments) -> float | None:
    """A call that was under way when it healed is still part of the fault."""
    if not moments.healed:
        return None
    return max((call.begin - moments.healed for call in failed if call.begin > moments.healed), default=0.0)


def used(calls: Iterable[Call], moments: Moments) -> float | None:
    if not moments.answering:
        return None
    first = dict.fromkeys(moments.answering, float("inf"))
    for call in calls:
        since = moments.answering.get(call.node)
        if since is not None and not call.error and call.end >= since:
            first[call.node] = min(first[call.node], call.end - since)
    return max(first.values())


def missing(calls: Iterable[Call], stored: Stored) -> list[int]:
    """Writes that were acknowledged and are not there."""
    there = {INSERT: set(stored.inserted), APPEND: set(stored.appended)}
    written = [call for call in calls if call.op in there and not call.error and call.end != NEVER]
    return sorted(call.number for call in written if call.number not in there[call.op])
