"""Servers that get more requests than they can answer: what is answered, with ``adaptive_concurrency`` and without.

``python -m benchmarks overload`` prints the figures beside the targets, and those with the option off, which are those
of a driver without it. They are simulated in virtual time with the driver's own code (``native/overload.cpp``), so they
do not depend on the machine.
"""

from __future__ import annotations

import subprocess
from typing import NamedTuple

from benchmarks.native import build
from benchmarks.report import Line, at_most, show

TITLE = "Overload: 3 nodes get three times as many requests as they can answer, from 100 clients, for a minute"
SEED = 1
AT_REST = 20e-9


class Figures(NamedTuple):
    """Latencies are in seconds; goodput is a share of the capacity."""

    goodput: float
    before: float
    sent_p99: float
    asked_p99: float
    until_usual: float
    sent: float
    unfairness: float
    failed: float


def lines() -> list[Line]:
    binary = build("overload", [])
    found: dict[tuple[str, str], Figures] = {}
    printed = subprocess.run([binary, str(SEED)], check=True, capture_output=True, text=True).stdout
    for scenario, mode, *figures in map(str.split, printed.splitlines()):
        goodput, before, sent, asked, *others = map(float, figures)
        found[scenario, mode] = Figures(goodput, before / 1e9, sent / 1e9, asked / 1e9, *others)
    response = float(subprocess.run([binary, "ns"], check=True, capture_output=True, text=True).stdout.split()[1])
    result = [
        *_overload(found, "overload", "100 clients"),
        *_overload(found, "few", "4 clients"),
        *_overload(found, "rejecting", "servers that reject requests beyond 200 in a queue"),
    ]
    for scenario, text in (
        ("heavy", "90 % load, 1 % of the requests take 30 times as long"),
        ("slow", "half load, all responses take 150 ms longer"),
        ("pauses", "half load, all servers pause for 0.3 s every 5 s"),
    ):
        ours, off = found[scenario, "adaptive"], found[scenario, "off"]
        latency, latency_off = (f"{1e3 * figures.asked_p99:.1f} ms" for figures in (ours, off))
        failed, failed_off = (f"{100 * figures.failed:.2f} %" for figures in (ours, off))
        result += [
            Line(f"{text}: p99", latency, "≤ 1.1x off", "off", latency_off, ours.asked_p99 <= 1.1 * off.asked_p99),
            Line("  failed requests", failed, "≤ 1 %", "off", failed_off, ours.failed <= 0.01),
        ]
    return [*result, at_most("a response of a server without overload", response * 1e-9, AT_REST)]


def _overload(found: dict[tuple[str, str], Figures], scenario: str, text: str) -> list[Line]:
    ours, off = found[scenario, "adaptive"], found[scenario, "off"]
    slower, slower_off = ours.sent_p99 / ours.before, off.sent_p99 / off.before
    answered, answered_off = (f"{100 * figures.goodput:.0f} %" for figures in (ours, off))
    usual, usual_off = f"{ours.until_usual:.1f} s", f"{off.until_usual:.1f} s"
    sent, sent_off = f"{ours.sent:.2f}x", f"{off.sent:.2f}x"
    unfair, unfair_off = f"{ours.unfairness:.2f}", f"{off.unfairness:.2f}" if off.goodput > 0.01 else "none answered"
    return [
        Line(f"{text}: answered, of the capacity", answered, "≥ 90 %", "off", answered_off, ours.goodput >= 0.9),
        Line("  p99 of sent requests", f"{slower:.1f}x", "≤ 3x half load", "off", f"{slower_off:.0f}x", slower <= 3),
        Line("  until all is as before", usual, "≤ 2 s", "off", usual_off, ours.until_usual <= 2),
        Line("  sent, of asked", sent, "≤ 1.1x", "off", sent_off, ours.sent <= 1.1),
        Line("  most / least for a client", unfair, "≤ 1.5", "off", unfair_off, ours.unfairness <= 1.5),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
