"""A part of ``python -m tests.signals`` that takes little time: see :mod:`tests.signals`."""

from __future__ import annotations

import itertools

import pytest

from tests.signals.async_calls import ASYNC_CALLS
from tests.signals.campaign import LOOPS, MODES, faults_text, run
from tests.signals.server import KINDS
from tests.signals.worker import ALL_CALLS, Work

EACH = 60  # interrupts of a call, spread over its moments
OF_ASYNC = ("raise", "cancel")


def some_works() -> list[Work]:
    """Each call once in each of two modes, over the kinds of connections and loops in turn."""
    kinds, loops = itertools.cycle(KINDS), itertools.cycle(LOOPS)
    modes = itertools.cycle(MODES)
    works = []
    for name in ALL_CALLS:
        for mode in OF_ASYNC if name in ASYNC_CALLS else ("raise", next(modes)):
            loop = next(loops) if name in ASYNC_CALLS else None
            works.append(Work(name, mode, next(kinds), loop, "chosen", 0, EACH, 1, ""))
    return works


@pytest.mark.parametrize("work", some_works(), ids=lambda work: f"{work.call}-{work.mode}-{work.kind}")
def test_interrupted_calls(work: Work) -> None:
    result = run(work)
    assert not result.faults, faults_text([result])
    assert result.interrupts > 0
