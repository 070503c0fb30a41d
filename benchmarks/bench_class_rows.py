"""5,000 rows of five columns as instances of a program's own classes, beside named tuples, the default.

``python -m benchmarks.bench_class_rows`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.measure import DATA, FASTCQL, Driver, alternate
from benchmarks.report import Line, seconds, show

TITLE = "5,000 rows to a program's own classes: CPU per page"
NAMED = "named tuples"
LIMITS = {"dataclass": 1.6, "slots dataclass": 1.3, "msgspec": 1.3}
OTHERS = ("frozen dataclass", "attrs", "dataclass with __post_init__")


def lines() -> list[Line]:
    samples = alternate({FASTCQL: Driver("class_rows", (DATA,))})
    found = []
    for name in (*LIMITS, *OTHERS):
        ratio, limit = samples.ratio(FASTCQL, NAMED, name), LIMITS.get(name)
        target, reached = ("", None) if limit is None else (f"≤ {limit}x", ratio <= limit)
        took, named = samples[FASTCQL, name], samples[FASTCQL, NAMED]
        found.append(Line(name, seconds(took), target, f"{NAMED} {seconds(named)}", f"{ratio:.2f}x", reached))
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
