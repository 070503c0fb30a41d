"""Threads without the GIL: what one thread pays for it, and what more threads bring.

``python -m benchmarks threads`` compares Python 3.13 without the GIL to the same release with it, both built here by
``.ci/pythons``. One thread: CPU per operation. More threads: operations per second of all of them on two cores, which
they share with the responder; both run on any core. ``gc.set_threshold`` is 50,000: at Python's own 2,000 a few pages
of live rows start a collection, in which a free-threaded Python stops all threads and traverses all objects; the line
with the default threshold says how much that is.

Two figures tell what is not the driver's: calls of a Python function in both interpreters, as 3.13 without the GIL does
not specialise bytecode (PEP 659; 3.14 does); and, beside each rate of two threads, how many of the two cores they and
the responder use: when all are in use, the rate is that of the machine.
"""

from __future__ import annotations

import subprocess

from benchmarks.clients.threads import INTERPRETER
from benchmarks.measure import DATA, FASTCQL, Driver, Samples, alternate
from benchmarks.peers import SCYLLA_RS
from benchmarks.pythons import interpreter
from benchmarks.report import Line, seconds, show
from benchmarks.responder import Responder

TITLE = "Threads of a free-threaded Python"
WITH, WITHOUT, NEWEST = "3.13", "3.13t", "3.14t"
PROCESSES = 3
COUNTS = (1, 2, 4, 8, 16)
THRESHOLD, OF_PYTHON = "50000", "2000"
DEARER, TWO, MANY = 1.08, 1.9, 0.95
GIL, FREE, COLLECTED = f"Python {WITH}", f"Python {WITHOUT}", f"{FASTCQL}, threshold {OF_PYTHON}"
ROWS = "row decoded"
REQUESTS = ("execute", "await")


def lines() -> list[Line]:
    with Responder(all_cores=True) as responder:
        port = str(responder.port)

        def driver(version: str, counts: tuple[int, ...], threshold: str = THRESHOLD) -> Driver:
            listed = ",".join(map(str, counts))
            return Driver("threads", (port, DATA, listed, threshold), python=interpreter(version))

        samples = alternate(
            {
                GIL: driver(WITH, COUNTS[:1]),
                FREE: driver(WITHOUT, COUNTS),
                COLLECTED: driver(WITHOUT, COUNTS[:2], OF_PYTHON),
            },
            PROCESSES,
        )
    operations = [name.removesuffix(" 1") for name in samples.names(FREE) if name.endswith(" 1")]
    found = [_one(samples, name) for name in operations]
    answer = responder.cpu / responder.answers
    found += [_two(samples, name, answer if name.startswith(REQUESTS) else 0.0) for name in operations]
    found.append(_two(samples, ROWS, driver=COLLECTED)._replace(target="", reached=None))
    found += [_many(samples, name) for name in operations]
    of_driver = [line if not line.measure.startswith(INTERPRETER) else _untargeted(line) for line in found]
    return [*of_driver, _peer(), responder.line()]


def _one(samples: Samples, name: str) -> Line:
    free, gil = samples[FREE, f"{name} 1 CPU"], samples[GIL, f"{name} 1 CPU"]
    measure, target = f"{name}, one thread: CPU", f"≤ {DEARER:g}x of {GIL}"
    return Line(measure, seconds(free), target, f"{GIL} {seconds(gil)}", f"{free / gil:.2f}x", free <= gil * DEARER)


def _untargeted(line: Line) -> Line:
    return line._replace(target="", reached=None)


def _two(samples: Samples, name: str, answer: float = 0.0, driver: str = FREE) -> Line:
    """*answer*: seconds of the responder's CPU for an operation."""
    one, two = samples.best(driver, f"{name} 1"), samples.best(driver, f"{name} 2")
    cpu = samples[driver, f"{name} 2 CPU"] / samples[driver, f"{name} 1 CPU"]
    measure = f"{name}, two threads: rate" + ("" if driver == FREE else f", gc.set_threshold({OF_PYTHON})")
    cores = (samples[driver, f"{name} 2 CPU"] + answer) / two
    compared = f"one {_rate(one)}; CPU of an operation {cpu:.2f}x; {cores:.2f} cores"
    return Line(measure, _rate(two), f"≥ {TWO:g}x of one", compared, f"{one / two:.2f}x", one / two >= TWO)


def _many(samples: Samples, name: str) -> Line:
    rates = [samples.best(FREE, f"{name} 1") / samples.best(FREE, f"{name} {count}") for count in COUNTS]
    curve = " ".join(f"{count}: {rate:.2f}" for count, rate in zip(COUNTS, rates, strict=True))
    least = min(rates[2:]) / rates[1]
    measure = f"{name}, {COUNTS[2]} to {COUNTS[-1]} threads: rate"
    return Line(measure, f"{least:.2f} of two", f"≥ {MANY:g}", f"times of one: {curve}", "", least >= MANY)


def _peer() -> Line:
    measure = f"{SCYLLA_RS}, which has wheels for {NEWEST} only"
    try:
        interpreter(NEWEST)
    except subprocess.CalledProcessError:
        return Line(measure, f"not run: no Python {NEWEST}")
    return Line(measure, "not measured")


def _rate(took: float) -> str:
    return f"{1 / took:,.0f}/s"


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
