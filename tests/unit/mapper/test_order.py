"""How long a conditional write waits for the millisecond after the last plain one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._mapper import execution
from cassandra._mapper.execution import shape_of

NOW = 1_700_000_000_000_300  # microseconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=NOW, slept=[])

    def sleep(seconds: float) -> None:
        clock.slept.append(seconds)
        clock.now += round(seconds * 1e6)

    now = {"time_ns": lambda: clock.now * 1000, "monotonic": lambda: clock.now * 1e-6}
    monkeypatch.setattr(execution, "time", SimpleNamespace(sleep=sleep, **now))
    return clock


def session(last: Any, use: bool = True) -> Any:
    return SimpleNamespace(timestamp_generator=SimpleNamespace(last=last), use_client_timestamp=use)


@pytest.mark.parametrize("last", [NOW - 300, NOW, NOW + 699])
def test_the_same_millisecond(clock: SimpleNamespace, last: int) -> None:
    execution.wait_for_later(session(last))
    assert clock.slept == [pytest.approx(700e-6)] and clock.now // 1000 > last // 1000


@pytest.mark.parametrize(
    "one",
    [
        session(NOW - 301),
        session(NOW + 700),  # a clock that went back: a wait would take too long
        session(0),
        session(NOW, use=False),
        session(None),
        SimpleNamespace(timestamp_generator=None, use_client_timestamp=True),
        SimpleNamespace(timestamp_generator=lambda: NOW, use_client_timestamp=True),
        object(),
    ],
)
def test_nothing_to_wait_for(clock: SimpleNamespace, one: Any) -> None:
    execution.wait_for_later(one)
    asyncio.run(execution.wait_for_later_async(one))
    assert clock.slept == []


def test_awaited() -> None:
    async def main() -> None:
        for _ in range(20):
            last = time.time_ns() // 1000
            await execution.wait_for_later_async(session(last))
            assert time.time_ns() // 1_000_000 > last // 1000

    asyncio.run(main())


def test_a_clock_that_stands_still(clock: SimpleNamespace) -> None:
    asyncio.run(asyncio.wait_for(execution.wait_for_later_async(session(NOW)), 10))
    assert clock.now == NOW


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('UPDATE t SET "a" = %(0)s WHERE "b" = %(1)s IF EXISTS', True),
        ('UPDATE t SET "a" = %(0)s WHERE "b" = %(1)s IF "c" = %(2)s', True),
        ('INSERT INTO t ("a") VALUES (%(0)s) IF NOT EXISTS USING TTL %(ttl)s', True),
        ('DELETE FROM t WHERE "b" = %(0)s IF EXISTS', True),
        ('UPDATE t SET "IF" = %(0)s WHERE "b" = %(1)s', False),
    ],
)
def test_which_texts_are_conditional(text: str, expected: bool) -> None:
    assert shape_of(text).is_conditional is expected


def test_programs_without_a_loop_do_not_import_one() -> None:
    """Which takes longer than all models."""
    text = "import sys, cassandra.cqlengine.models, cassandra.cqlengine.management; print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
