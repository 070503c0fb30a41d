"""The totals of all pytest runs of ``make test`` or ``make test-all``, and the time of each part of the work.

The last line looks like pytest's own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from xml.etree import ElementTree


def main(folders: list[Path]) -> int:
    total = dict.fromkeys(("passed", "failed", "errors", "skipped"), 0)
    seconds = 0.0
    for folder in folders:
        for report in sorted(folder.glob("*.xml")):
            counts, took = read(report)
            print(f"{report.stem:<24} {line(counts)} in {took:.1f}s")
            seconds += took
            total = {key: total[key] + counts[key] for key in total}
        print_times(folder / "begun")
    ran = sum(total.values()) > 0
    print(f"==== {line(total) if ran else 'no tests ran'} in {seconds:.2f}s ====")
    return 0 if ran and not total["failed"] and not total["errors"] else 1


def read(report: Path) -> tuple[dict[str, int], float]:
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    counts = dict.fromkeys(("passed", "failed", "errors", "skipped"), 0)
    took = 0.0
    for suite in suites:
        found = {key: int(suite.get(name, 0)) for key, name in _ATTRIBUTES.items()}
        found["passed"] = int(suite.get("tests", 0)) - sum(found.values())
        counts = {key: counts[key] + found[key] for key in counts}
        took += float(suite.get("time", 0))
    return counts, took


def line(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {key}" for key, count in counts.items() if count or key == "passed")


def print_times(begun: Path) -> None:
    """Wall-clock time per part: each begins where *begun* says so and lasts until the next begins."""
    entries = [entry.split() for entry in begun.read_text().splitlines()] if begun.exists() else []
    starts = [int(start) for start, _ in entries]
    if not starts:
        return
    ends = [*starts[1:], int(time.time())]
    times = ", ".join(f"{name} {end - start}s" for (_, name), start, end in zip(entries, starts, ends, strict=True))
    print(f"{times}; {ends[-1] - starts[0]}s in all")


_ATTRIBUTES = {"failed": "failures", "errors": "errors", "skipped": "skipped"}

if __name__ == "__main__":
    sys.exit(main([Path(folder) for folder in sys.argv[1:]]))
