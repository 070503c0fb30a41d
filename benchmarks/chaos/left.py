"""Threads, descriptors and native objects that a driver leaves behind after its shutdown."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import NamedTuple

from cassandra._core import memory, transport
from cassandra.cluster import Session

PATIENCE = 60.0


def native_objects() -> dict[str, int]:
    return {**transport.debug_counters(), **{f"memory.{name}": n for name, n in memory.debug_counters().items()}}


class Left(NamedTuple):
    """The threads, descriptors and native objects that exist."""

    threads: frozenset[threading.Thread]
    descriptors: frozenset[str]
    native: dict[str, int]

    @classmethod
    def now(cls) -> Left:
        gc.collect()
        return cls(frozenset(threading.enumerate()), frozenset(_descriptors()), native_objects())

    def since(self, before: Left) -> list[str]:
        """The entries that *before* does not have."""
        found = [f"thread {thread.name}" for thread in self.threads - before.threads]
        found += [f"descriptor of {what}" for what in sorted(self.descriptors - before.descriptors)]
        grown = {name: number for name, number in self.native.items() if number > before.native.get(name, 0)}
        return found + [f"{number} native {name}, not {before.native.get(name, 0)}" for name, number in grown.items()]


def left_since(before: Left) -> list[str]:
    """The entries that remain after everything under way has had time to end."""
    deadline = time.monotonic() + PATIENCE
    while (left := Left.now().since(before)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def streams_in_use(session: Session) -> list[str]:
    """Streams that are still in use although no caller waits; gives requests that are ending the time to do so."""
    deadline = time.monotonic() + PATIENCE
    while (used := _streams_in_use(session)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return used


def _streams_in_use(session: Session) -> list[str]:
    used = []
    for host, state in session.get_pool_state().items():
        for in_flight, orphaned in zip(state["in_flights"], state["orphaned_requests"], strict=True):
            if in_flight > orphaned:
                used.append(f"{in_flight - orphaned} streams of a connection to {host}")
    return used


def _descriptors() -> list[str]:
    folder = Path("/proc/self/fd")
    found = []
    for path in folder.iterdir() if folder.exists() else ():
        try:
            found.append(f"{path.name} {path.readlink()}")
        except OSError:  # it was the one that reads this folder
            continue
    return found
