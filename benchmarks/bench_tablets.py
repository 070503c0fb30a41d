"""The tablet map beside scylla-driver's: looking up, learning, dropping, memory.

``python -m benchmarks.bench_tablets`` prints the figures beside the targets. Looking up is compared with its floor: a
bisection in C behind the same call from Python, which gives an object that is there already. The other targets are
times of the machine where they were set; how many times as fast as scylla-driver they were there is printed as "limit".
"""

from __future__ import annotations

import statistics

from benchmarks.clients.tablets import ADDED, DROPPED, LOOPS, SIZES
from benchmarks.measure import FASTCQL, Driver, Samples, alternate, pyperf_wanted
from benchmarks.native import build_extension
from benchmarks.peers import SCYLLA
from benchmarks.report import Line, at_most, seconds, show

TITLE = "Tablets: CPU per operation"
FLOOR = 1.2  # times the floor: what looking up may take
# (limit, what scylla-driver took where the limit was set), in nanoseconds
Limits = tuple[tuple[float, float], ...]
ADD: Limits = ((1500, 1750), (2000, 3760), (3000, 25700))
DROP: Limits = ((5e3, 36.5e3), (50e3, 360e3), (500e3, 4607e3))
ASK = {
    "replica hosts of a tablet": ("hosts", 20, 605),
    "shard of a host": ("shard", 60, 322),
    "whether a host is a replica": ("contains", 100, 351),
    "Tablet.from_row": ("from_row", 340, 340),
}
LEARN_LOOPS = 1_000
FOUND_ADDED: tuple[float, float] = (100, 682)
BYTES, BYTES_ADDED, COUNT, PEERS_COUNT = 64, 60, 256_000, 10_000  # the peer's map of 256,000 would take minutes to fill


def lines() -> list[Line]:
    ours = Driver("tablets", (str(build_extension("floor")),))
    samples = alternate({FASTCQL: ours, SCYLLA.name: Driver("tablets", peer=SCYLLA)})
    found = [
        _beside_floor(samples, f"get_tablet_for_key, {kind}, {size} tablets", f"{kind} {size}")
        for kind in ("hit", "miss")
        for size in SIZES
    ]
    found.append(_looped(samples, "get_tablet_for_key, unknown table", "unknown table", (70, 130)))
    found.append(_looped(samples, "get_tablet_for_key, 1000 tablets that a program added", "hit added", FOUND_ADDED))
    for measure, (name, limit_ns, published) in ASK.items():
        found.append(
            _line(measure, {driver: samples[driver, name] for driver in (FASTCQL, SCYLLA.name)}, (limit_ns, published))
        )
    for size, limit in zip(ADDED, ADD, strict=True):
        found.append(_looped(samples, f"add_tablet, {size} tablets", f"add {size}", limit))
    found.append(_looped(samples, "a payload into the map", "payload", (1200, 11100), LEARN_LOOPS))
    if pyperf_wanted():
        return found
    for size, limit in zip(DROPPED, DROP, strict=True):
        times = {driver: samples[driver, f"drop {size}"] for driver in (FASTCQL, SCYLLA.name)}
        found.append(_line(f"drop_tablets_by_host_id, {size} tablets", times, limit))
    return [*found, *_memory()]


def _beside_floor(samples: Samples, measure: str, name: str) -> Line:
    def took(sample: dict[str, float], name: str) -> float:
        return (sample[name] - sample["empty loop"]) / LOOPS

    ours = samples.each(FASTCQL)
    figure = statistics.median(took(sample, name) for sample in ours)
    floor = statistics.median(took(sample, f"floor of {name}") for sample in ours)
    times = statistics.median(took(sample, name) / took(sample, f"floor of {name}") for sample in ours)
    peers = statistics.median(took(sample, name) for sample in samples.each(SCYLLA.name))
    compared = f"floor {seconds(floor)}, {SCYLLA.name} {seconds(peers)}"
    ratio = f"{times:.2f} floors, {peers / figure:.1f}x"
    return Line(measure, seconds(figure), f"≤ {FLOOR} floors", compared, ratio, times <= FLOOR)


def _looped(samples: Samples, measure: str, name: str, limit: tuple[float, float], loops: int = LOOPS) -> Line:
    times = {
        driver: samples[driver, name] / loops - samples[driver, "empty loop"] / LOOPS
        for driver in (FASTCQL, SCYLLA.name)
    }
    return _line(measure, times, limit)


def _line(measure: str, times: dict[str, float], limit: tuple[float, float]) -> Line:
    most, published = limit
    return at_most(measure, times[FASTCQL], most * 1e-9, {SCYLLA.name: times[SCYLLA.name]}, published / most)


def _memory() -> list[Line]:
    ours = alternate({FASTCQL: Driver("tablets", ("memory", str(COUNT)))}, processes=1)
    peers = alternate({SCYLLA.name: Driver("tablets", ("memory", str(PEERS_COUNT)), SCYLLA)}, processes=1)
    found = []
    for name, how, limit in (("bytes", "", BYTES), ("bytes added", ", added by a program", BYTES_ADDED)):
        figure, theirs = ours[FASTCQL, name], peers[SCYLLA.name, name]
        compared = f"{SCYLLA.name} {theirs:.0f} B, of {PEERS_COUNT}"
        measure = f"a tablet of {COUNT} in the map{how}"
        found.append(
            Line(measure, f"{figure:.1f} B", f"≤ {limit} B", compared, f"{theirs / figure:.1f}x", figure <= limit)
        )
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
