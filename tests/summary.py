"""The totals of all pytest runs of ``make test``, from their JUnit files; the last line looks like pytest's own."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree


def main(folder: Path) -> int:
    total = dict.fromkeys(("passed", "failed", "errors", "skipped"), 0)
    seconds = 0.0
    for report in sorted(folder.glob("*.xml")):
        counts, took = read(report)
        print(f"{report.stem:<24} {line(counts)} in {took:.1f}s")
        seconds += took
        total = {key: total[key] + counts[key] for key in total}
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


_ATTRIBUTES = {"failed": "failures", "errors": "errors", "skipped": "skipped"}

if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
