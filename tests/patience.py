"""How long tests wait for what other threads do: so long that only a hang is too long, on the busiest machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

PATIENCE = 60.0


def eventually(condition: Callable[[], Any], timeout: float = PATIENCE) -> Any:
    """Wait until *condition* holds and return what it gave; fails the test after *timeout* seconds."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, f"did not come true within {timeout} s: {condition}"
        time.sleep(0.005)
    return value


def ever_longer(first: float) -> Iterator[float]:
    """Seconds to try something with that works only if no thread is held up for as long; *first* suffices mostly."""
    yield from (first, first * 10, first * 100, max(20.0, first * 1000))
