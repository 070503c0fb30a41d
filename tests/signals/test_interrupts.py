"""A part of ``python -m tests.signals`` that takes little time: see :mod:`tests.signals`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.signals.async_calls import ASYNC_CALLS
from tests.signals.campaign import ASYNC_MODES, LOOPS, MODES, Result, faults_text, run
from tests.signals.server import KINDS
from tests.signals.worker import ALL_CALLS, Work

pytestmark = pytest.mark.long

EACH = 15  # interrupts of a call, spread over its moments
AT_ONCE = 2

Running = dict[str, "Future[Result]"]


def some_works() -> list[Work]:
    """Each call in one mode, over the kinds of connections, loops and modes in turn."""
    kinds, loops = itertools.cycle(KINDS), itertools.cycle(LOOPS)
    modes, async_modes = itertools.cycle(MODES), itertools.cycle(ASYNC_MODES)
    works = []
    for name, call in ALL_CALLS.items():
        mode, loop = (next(async_modes), next(loops)) if name in ASYNC_CALLS else (next(modes), None)
        limit = EACH // 5 if call.costly else EACH
        works.append(Work(name, mode, next(kinds), loop, "chosen", 0, limit, 1, ""))
    return works


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    """Results by call, of those that are tested in this run."""
    specs = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    works = [spec.params["work"] for spec in specs if spec is not None]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {work.call: pool.submit(run, work) for work in works}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("work", some_works(), ids=lambda work: f"{work.call}-{work.mode}-{work.kind}")
def test_interrupted_calls(work: Work, running: Running) -> None:
    result = running[work.call].result()
    assert not result.faults, faults_text([result])
    assert result.interrupts > 0
