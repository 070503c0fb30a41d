"""Collections and vectors, from recorded answers of a real server: CPU per value.

``python -m benchmarks.bench_columns`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.measure import DATA, FASTCQL, Driver, alternate
from benchmarks.peers import SCYLLA
from benchmarks.record import SHAPES
from benchmarks.report import Line, compared_only, show, times_faster

TITLE = "Collections, bytes to Python objects: CPU per value"
DRIVERS = {
    FASTCQL: Driver("native", ("collections", DATA)),
    SCYLLA.name: Driver("messages", ("collections", DATA), SCYLLA),
}
OF_SCYLLA = 4.0
MEASURES = {
    "list_int": "list<int> of 100",
    "map_text_int": "map<text, int> of 20",
    "set_uuid": "set<uuid> of 20",
}


def lines() -> list[Line]:
    samples = alternate(DRIVERS)

    def per_value(driver: str, name: str) -> float:
        return samples[driver, name] / SHAPES[name].rows

    found = [
        times_faster(measure, per_value(FASTCQL, name), {SCYLLA.name: (per_value(SCYLLA.name, name), OF_SCYLLA)})
        for name, measure in MEASURES.items()
    ]
    lists = {SCYLLA.name: per_value(SCYLLA.name, "vector_float")}
    return [*found, compared_only("vector<float, 1536> to a list", per_value(FASTCQL, "vector_float"), lists)]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
