"""Recorded pages into Arrow columns: CPU per page, beside the tuples that rows would be; memory; pages in one batch.

``python -m benchmarks.bench_arrow`` prints the figures beside the targets and fails when one is missed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clients.columns import GROWN, PAGES, WARM
from benchmarks.clients.harness import ONCE
from benchmarks.clients.harness import PAGES as PAGES_READ
from benchmarks.measure import DATA, FASTCQL, Driver, Samples, alternate
from benchmarks.peers import SCYLLA_NUMPY
from benchmarks.report import Line, at_most, seconds, show
from benchmarks.responder import Responder

TITLE = "Answers into Arrow columns: CPU"
THEIRS, OUR_ARRAYS, COLD = f"{SCYLLA_NUMPY.name} through NumPy", "our NumPy arrays", "cold"
DRIVERS = {
    FASTCQL: Driver("columns", ("decoding", DATA)),
    COLD: Driver("columns", ("cold", DATA)),
    OUR_ARRAYS: Driver("numpy_pages", ("decoded", DATA)),
    THEIRS: Driver("numpy_pages", ("decoded", DATA), SCYLLA_NUMPY),
}
LIMITS = {"rows5": ("5,000 x 5", 90e-6), "1x5": ("1 x 5", 0.6e-6)}
NESTED = {
    "list_int": "list<int> of 100",
    "map_text_int": "map<text, int> of 20",
    "udt": "a user type of 4 fields",
    "vector_float": "vector<float, 1536>",
}
CALLS = r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) .*(?:m\w+map|mremap|mmap|mprotect|madvise)$"
ROWS, RATE, OF_FOUR, TABLE_OF_TUPLES = 5000, 25e6, "pages4", 2.5
OF_TUPLES, VECTORS, MORE, PER_ROW, GROWTH, GROWTH_COLD = 8.0, 2e9, 1.10, 48.0, 3e9, 1.4e9


def lines() -> list[Line]:
    samples = alternate(DRIVERS)
    ours = {name: samples[FASTCQL, name] for name in samples.names(FASTCQL)}
    arrays = {name: samples[name, "rows5"] for name in (OUR_ARRAYS, THEIRS)}
    others = {"rows5": {"tuples": ours["rows5 tuples"], **arrays}}
    found = [at_most(measure, ours[name], limit, others.get(name)) for name, (measure, limit) in LIMITS.items()]
    for name, measure in NESTED.items():
        tuples = ours[f"{name} tuples"]
        ratio = tuples / ours[name]
        found.append(
            Line(
                measure,
                seconds(ours[name]),
                f"≥ {OF_TUPLES:g}x",
                f"tuples {seconds(tuples)}",
                f"{ratio:.1f}x",
                ratio >= OF_TUPLES,
            )
        )
    with Responder() as responder:
        port = str(responder.port)
        theirs = Driver("numpy_pages", ("fetched", port), SCYLLA_NUMPY)
        tables = alternate({FASTCQL: Driver("frames", (port,)), THEIRS: theirs})
    read = [_table(tables, name) for name in PAGES_READ]
    return [*found, *_sizes(samples, ours), *_system_calls(), *read, responder.line()]


def _table(samples: Samples, name: str) -> Line:
    table, tuples = samples[FASTCQL, f"{name} table"], samples[FASTCQL, f"{name} tuples"]
    arrays = samples[THEIRS, name]
    rate = ROWS / table
    wanted = RATE if name == OF_FOUR else 0.0  # of wider rows there are fewer
    reached = rate >= wanted and tuples / table >= TABLE_OF_TUPLES
    return Line(
        f"pyarrow.table(session.execute(…)), {name}",
        f"{rate / 1e6:.1f} M rows/s",
        f"≥ {wanted / 1e6:.0f} M rows/s, ≥ {TABLE_OF_TUPLES:g}x" if wanted else f"≥ {TABLE_OF_TUPLES:g}x",
        f"tuples {ROWS / tuples / 1e6:.1f} M rows/s, {THEIRS} {ROWS / arrays / 1e6:.1f} M rows/s",
        f"{tuples / table:.1f}x, {arrays / table:.1f}x",
        reached,
    )


def _sizes(samples: Samples, ours: dict[str, float]) -> list[Line]:
    vectors = ours["vector_float bytes"] / ours["vector_float"]
    per_row = ours["rows5 kept"] / ours["rows5 rows"]
    more = samples.ratio(FASTCQL, "pages", "coalesced")
    grown = GROWN * (2 << 20) / ours["grown"]
    cold, fresh = (GROWN * (2 << 20) / samples[COLD, name] for name in ("grown cold", "fresh memory"))
    return [
        Line("vectors, bytes of the wire", _rate(vectors), f"≥ {_rate(VECTORS)}", reached=vectors >= VECTORS),
        Line("memory of a row of five columns", f"{per_row:.1f} B", f"≤ {PER_ROW:.0f} B", reached=per_row <= PER_ROW),
        Line(
            f"{PAGES} pages in one batch, beyond one each", f"{(more - 1) * 100:.0f} %", "≤ 10 %", reached=more <= MORE
        ),
        Line("a buffer that grows to 512 MiB, warm", _rate(grown), f"≥ {_rate(GROWTH)}", reached=grown >= GROWTH),
        Line(
            "a buffer that grows to 512 MiB, cold",
            _rate(cold),
            f"≥ {_rate(GROWTH_COLD)}",
            f"memset of fresh memory {_rate(fresh)}",
            f"{cold / fresh:.2f}x",
            cold >= GROWTH_COLD,
        ),
    ]


def _system_calls() -> list[Line]:
    """Per page, as strace counts them for many pages more or less; nothing where there is no strace."""
    if shutil.which("strace") is None:
        return []
    with TemporaryDirectory() as folder:
        counted = []
        for times in (1, 2):
            summary = str(Path(folder, str(times)))
            command, where = Driver("columns", ("warm", DATA, str(times), ONCE)).command()
            trace: list[str | Path] = [
                "strace",
                "-f",
                "-c",
                "-e",
                "trace=mmap,munmap,mremap,mprotect,madvise",
                "-o",
                summary,
            ]
            subprocess.run([*trace, *command], cwd=where, check=True)
            counted.append(sum(int(calls) for calls in re.findall(CALLS, Path(summary).read_text(), re.M)))
    per_page = (counted[1] - counted[0]) / WARM
    return [Line("mmap, munmap and their like per warm page", f"{per_page:g}", "0", reached=per_page == 0)]


def _rate(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e9:.1f} GB/s"


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
