"""Event loops come and go while others wait for requests."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from cassandra.cluster import Session

pytestmark = pytest.mark.long

QUERY = "SELECT key FROM system.local"


@pytest.fixture
def collector() -> Iterator[None]:
    """Its thresholds are as before after the test."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.enable()


def garbage(session: Session) -> None:
    """Loops that have waited for requests, and that only the collector ends."""
    loops = [asyncio.new_event_loop() for _ in range(40)]

    async def ask() -> None:
        await session.execute_async(QUERY)

    for loop in loops:
        loop.run_until_complete(ask())
    for loop in loops:
        loop.close()
        loop.itself = loop  # type: ignore[attr-defined]


def test_loops_that_are_collected_while_another_one_begins(session: Session, collector: None) -> None:
    """Wherever the collector runs: what it ends is forgotten by its callbacks."""

    async def ask(allocations: int) -> int:
        pairs = [(number, number) for number in range(3000)]  # more than Python keeps for later
        gc.set_threshold(gc.get_count()[0] + allocations, 1000, 1000)
        gc.enable()
        assert pairs
        return len(list(await session.execute_async(QUERY)))

    for allocations in range(1, 120):
        gc.disable()
        garbage(session)
        assert asyncio.run(ask(allocations)) == 1
        gc.collect()
