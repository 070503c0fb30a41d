"""What runs in a measured process, whichever driver it has: statements timed by CPU, or by pyperf.

It needs nothing but the standard library (and pyperf for ``--pyperf``). A client is a module of this package that ends
with :func:`run`; ``benchmarks.measure`` starts it and reads what it prints.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

SAMPLE = 0.002  # seconds: what one sample takes at least, so that the clock's own cost disappears
BUDGET = 0.35  # seconds for all samples of a statement
PYPERF = "--pyperf"

#: The tables of 5,000 rows that the responder has recorded, and how every driver reads one.
PAGES = {
    "pages4": "SELECT id, name, score, ratio FROM bench.pages4",
    "pages7": "SELECT id, part, name, score, ratio, mark, at FROM bench.pages7",
}


class Work(NamedTuple):
    """A statement to time, and the names in it."""

    statement: str
    names: Mapping[str, Any]
    #: For work of milliseconds: a sample is one execution, and ``kept = …`` in it is dropped after the clock stopped.
    once: bool = False
    #: CPU of the whole process, I/O threads included, as a mean over *BUDGET*'s many executions; else of this thread,
    #: best sample.
    whole_process: bool = False
    #: Run before each sample, not timed. Samples are then one execution.
    setup: str = "pass"
    #: How many times an execution does what is measured.
    per: int = 1


class Client(NamedTuple):
    """What a client measures: statements, and figures that are no times."""

    works: Mapping[str, Work]
    facts: Mapping[str, float] = {}


Make = Callable[[list[str]], AbstractContextManager[Client]]


def run(module: str, make: Make) -> None:
    """Time what *make* gives for the arguments of the command line, and print JSON: seconds per execution by name."""
    if PYPERF in sys.argv:
        _run_pyperf(module, make)
        return
    pin()
    with make(sys.argv[1:]) as client:
        times = {name: cpu(work) for name, work in client.works.items()}
        print(json.dumps({**times, **client.facts}))


def pin() -> None:
    """Everything in this process on one core, the last: the responder is on the first."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def cpu(work: Work) -> float:
    """CPU seconds per execution."""
    clock = time.process_time if work.whole_process else time.thread_time
    # the collector runs as it does in an application; timeit would switch it off
    timer = timeit.Timer(work.statement, f"gc.enable(); {work.setup}", clock, {"gc": gc, **work.names})
    samples = list(_samples(timer, 1 if work.once or work.per > 1 else _enough(timer)))
    return (sum(samples) / len(samples) if work.whole_process else min(samples)) / work.per


def _samples(timer: timeit.Timer, number: int) -> Iterator[float]:
    timer.timeit(number)  # warm
    until = time.perf_counter() + BUDGET * 10  # on a busy machine the wall clock runs ahead
    spent, taken = 0.0, 0
    while taken < 5 or (spent < BUDGET and time.perf_counter() < until):
        sample = timer.timeit(number)
        yield sample / number
        spent, taken = spent + sample, taken + 1


def _enough(timer: timeit.Timer) -> int:
    number = 1
    while timer.timeit(number) < SAMPLE:
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
