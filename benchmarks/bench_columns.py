"""Collections and vectors, from recorded answers of a real server: CPU per value.

``marshal.loads`` of the same values, with plain sets, dicts and bytes in place of richer classes, shows what making the
items alone costs. scylla-driver's vectors are lists.

``python -m benchmarks.bench_columns`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

from benchmarks.measure import DATA, FASTCQL, Driver, alternate
from benchmarks.peers import SCYLLA
from benchmarks.record import SHAPES
from benchmarks.report import Line, at_most, compared_only, seconds, show, times_faster

TITLE = "Collections, bytes to Python objects: CPU per value"
DRIVERS = {
    FASTCQL: Driver("native", ("collections", DATA)),
    SCYLLA.name: Driver("messages", ("collections", DATA), SCYLLA),
}
OF_SCYLLA = 4.0
VECTOR, VIEW = "vector<float, 1536>", 2e-6
MEASURES = {
    "list_int": "list<int> of 100",
    "map_text_int": "map<text, int> of 20",
    "set_uuid": "set<uuid> of 20",
}


def lines() -> list[Line]:
    samples = alternate(DRIVERS)

    def per_value(driver: str, name: str) -> float:
        return samples[driver, name] / SHAPES[name].rows

    found = []
    for name, measure in MEASURES.items():
        ours, theirs = per_value(FASTCQL, name), per_value(SCYLLA.name, name)
        line = times_faster(measure, ours, {SCYLLA.name: (theirs, OF_SCYLLA)})
        floor = samples[FASTCQL, f"{name} marshal"] / SHAPES[name].rows
        found.append(line._replace(compared=f"{line.compared}, marshal.loads {seconds(floor)}"))
    rows, vectors = SHAPES["vector_float"].rows, {SCYLLA.name: per_value(SCYLLA.name, "vector_float")}
    return [
        *found,
        compared_only(f"{VECTOR} to a list", per_value(FASTCQL, "vector_float"), vectors),
        at_most(f"{VECTOR} to a NumPy array, in pages", samples[FASTCQL, "vectors to NumPy"] / rows, VIEW, vectors),
        at_most(f"{VECTOR} to a buffer, one alone", samples[FASTCQL, "a vector to a buffer"], VIEW, vectors),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
