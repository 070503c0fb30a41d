"""The code of a measured process, the same for every driver: statements timed by CPU, or by pyperf.

It needs nothing but the standard library (and pyperf for ``--pyperf``). A client is a module of this package that ends
with :func:`run`; ``benchmarks.measure`` starts it and reads its output.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

SAMPLE = 0.002  # seconds: the least duration of a sample, so that the clock's own cost disappears
WHOLE_SAMPLE = 0.02  # the same where the whole process counts: the wall clock needs longer samples
PAIRED_SAMPLE = 0.004  # of two works that alternate
PAIRS = 150  # so often two samples of each
BUDGET = 0.35  # seconds for all samples of a statement
PYPERF = "--pyperf"
INSTRUCTIONS = "--instructions"  # under Callgrind: they are counted, nothing is timed; see benchmarks/instructions.py
COUNTED = 1000, 1.0  # the counted part: so many operations, or as many as take this CPU under Callgrind, in seconds
ONCE = "--once"  # every statement once, nothing is timed: for the recording of the drivers' requests

#: The tables of 5,000 rows that the responder has recorded, and how every driver reads one.
PAGES = {
    "pages4": "SELECT id, name, score, ratio FROM bench.pages4",
    "pages7": "SELECT id, part, name, score, ratio, mark, at FROM bench.pages7",
}

#: A prepared point read and an INSERT of five columns, as every driver does them.
SELECT = "SELECT id, score, name, ratio, at FROM bench.points WHERE id = ?"
INSERT = "INSERT INTO bench.points (id, score, name, ratio, at) VALUES (?, ?, ?, ?, ?)"
POINT = 1, 1 << 40, "point 1", 1 / 3, 1_700_000_000_000


class Work(NamedTuple):
    """A statement to time, and the names in it."""

    statement: str
    names: Mapping[str, Any]
    #: For work of milliseconds: a sample is one execution, and ``kept = …`` in it is dropped after the clock stopped.
    once: bool = False
    #: CPU of the whole process, I/O threads included, as a mean over *BUDGET*'s many executions; else of this thread,
    #: best sample. Wall time is then reported too: of the best sample as ``<name> wall``, which rates are made of, and
    #: the median of the samples as ``<name> median wall``.
    whole_process: bool = False
    #: Run before each sample, not timed. Samples are then one execution.
    setup: str = "pass"
    #: How many times one execution repeats the measured operation.
    per: int = 1
    #: Seconds of single operations by the wall clock, of which ``<name> p50`` and the like are reported.
    latencies: Callable[[], list[float]] | None = None
    #: Names of works that this one is compared with, in short samples that alternate: ``<name> beyond <other>`` is the
    #: median of the differences. It shows what is less than the noise between two works that are timed one after the
    #: other.
    beyond: tuple[str, ...] = ()


class Client(NamedTuple):
    """The measurements of a client: statements, and figures that are no times."""

    works: Mapping[str, Work]
    facts: Mapping[str, float] = {}


Make = Callable[[list[str]], AbstractContextManager[Client]]


def run(module: str, make: Make) -> None:
    """Time the works that *make* returns for the command line, and print JSON: seconds per execution by name."""
    if PYPERF in sys.argv:
        _run_pyperf(module, make)
        return
    if ONCE in sys.argv:
        with make([argument for argument in sys.argv[1:] if argument != ONCE]) as client:
            for work in client.works.values():
                _Timer(work)(1)
        return
    if INSTRUCTIONS in sys.argv:
        _count(make)
        return
    pin()
    with make(sys.argv[1:]) as client:
        times: dict[str, float] = {}
        for name, work in client.works.items():
            times[name], best, median = timed(work)
            if work.whole_process:
                times |= {f"{name} wall": best, f"{name} median wall": median}
            if work.latencies is not None:
                times |= {f"{name} {point}": value for point, value in percentiles(work.latencies()).items()}
            times |= {f"{name} beyond {other}": beyond(work, client.works[other]) for other in work.beyond}
        print(json.dumps({**times, **client.facts}))


def contact(argument: str) -> tuple[str, int]:
    """Address and port of ``host:port``; a port alone is that of the responder."""
    host, _, port = argument.rpartition(":")
    return host or "127.0.0.1", int(port)


def each(operation: Callable[[], object], count: int) -> list[float]:
    """Seconds of *count* executions by the wall clock, one by one."""
    found = []
    for _ in range(count):
        begun = time.perf_counter()
        operation()
        found.append(time.perf_counter() - begun)
    return found


def percentiles(latencies: list[float]) -> dict[str, float]:
    """The 50th, 95th and 99th percentile, each one of the *latencies*."""
    ordered = sorted(latencies)
    return {f"p{percent}": ordered[(len(ordered) - 1) * percent // 100] for percent in (50, 95, 99)}


def _count(make: Make) -> None:
    callgrind = importlib.import_module("callgrind")  # of benchmarks/native, on the path in this mode only

    with make([argument for argument in sys.argv[1:] if argument != INSTRUCTIONS]) as client:
        callgrind.begin()
        for name, work in client.works.items():
            timer = _Timer(work)
            alone = timer(1)[0]
            most, budget = COUNTED
            number = max(2, min(most // work.per, int(budget / alone)))
            timer(number)  # warm
            gc.collect()
            callgrind.zero()
            timer(number)
            callgrind.dump(f"{name} {number * work.per}")


def pin() -> None:
    """Everything in this process on one core, the last: the responder is on the first."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def timed(work: Work) -> tuple[float, float, float]:
    """Seconds per execution: of CPU, and by the wall clock the best sample and their median."""
    timer = _Timer(work)
    samples = list(_samples(timer, 1 if work.once or work.per > 1 else _enough(timer)))
    spent, took = zip(*samples, strict=True)
    cpu = sum(spent) / len(spent) if work.whole_process else min(spent)
    return cpu / work.per, min(took) / work.per, statistics.median(took) / work.per


def beyond(work: Work, other: Work) -> float:
    """Seconds of CPU per execution that *work* takes beyond *other*."""
    timers = _Timer(work, PAIRED_SAMPLE), _Timer(other, PAIRED_SAMPLE)
    number = 1 if work.per > 1 else min(_enough(timer) for timer in timers)
    found = []
    for _ in range(PAIRS):  # in the order a b b a: a drift of the machine counts for both
        first, second, third, fourth = (timer(number)[0] for timer in (*timers, *reversed(timers)))
        found.append((first + fourth - second - third) / 2)
    return statistics.median(found) / number / work.per


class _Timer:
    def __init__(self, work: Work, least: float | None = None) -> None:
        clock = time.process_time if work.whole_process else time.thread_time
        self.least = least or (WHOLE_SAMPLE if work.whole_process else SAMPLE)
        self._started = self._ended = 0.0
        # the collector runs as it does in an application; timeit would switch it off
        names = {"gc": gc, **work.names}
        self._timer = timeit.Timer(work.statement, f"gc.enable(); {work.setup}", self._clock, names)
        self._cpu = clock

    def _clock(self) -> float:
        """CPU time; the wall clock is read with it."""
        self._started, self._ended = self._ended, time.perf_counter()
        return self._cpu()

    def __call__(self, number: int) -> tuple[float, float]:
        """Seconds that *number* executions took: CPU and wall."""
        cpu = self._timer.timeit(number)
        return cpu, self._ended - self._started


def _samples(timer: _Timer, number: int) -> Iterator[tuple[float, float]]:
    timer(number)  # warm
    until = time.perf_counter() + BUDGET * 4  # a busy machine, or a slow server: the wall clock runs ahead
    spent, taken = 0.0, 0
    while taken < 5 or (spent < BUDGET and time.perf_counter() < until):
        cpu, wall = timer(number)
        yield cpu / number, wall / number
        spent, taken = spent + cpu, taken + 1


def _enough(timer: _Timer) -> int:
    number = 1
    while timer(number)[0] < timer.least:
        number *= 2
    return number


def _run_pyperf(module: str, make: Make) -> None:
    import pyperf  # only in this mode

    sys.argv.remove(PYPERF)

    def pass_on(command: list[str], args: Any) -> None:
        command.extend([PYPERF, *args.arguments])

    runner = pyperf.Runner(program_args=("-m", module), add_cmdline_args=pass_on)
    runner.argparser.add_argument("arguments", nargs="*")
    arguments = runner.parse_args().arguments
    with make(arguments) as client:
        for name, work in client.works.items():
            setup = f"import gc; gc.enable(); {work.setup}"
            runner.timeit(name, work.statement, setup, inner_loops=work.per, globals=dict(work.names))
