"""Threads that begin at the same moment, and threads that work beside a test."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tests.conftest import stacks
from tests.patience import PATIENCE

THREADS = 8

T = TypeVar("T")


def size(name: str, default: int) -> int:
    """Return the size of a test: of the environment variable *name*, or one that takes a few seconds."""
    return int(os.environ.get(name, default))


class _Works:
    """Functions that run in threads of their own, and what became of them."""

    def __init__(self, works: list[Callable[[], object]]) -> None:
        self.errors: list[BaseException] = []
        self._barrier = threading.Barrier(len(works))
        # Daemons: one that hangs does not keep the process, the test fails.
        self._threads = [threading.Thread(target=self._run, args=(work,), daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def _run(self, work: Callable[[], object]) -> None:
        try:
            self._barrier.wait(PATIENCE)
            work()
        except BaseException as error:
            self.errors.append(error)

    def join(self, seconds: float = 2 * PATIENCE) -> None:
        """Wait for all, *seconds* at most; raise the first error of any."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive() and not self.errors:
                raise AssertionError(f"{thread.name} does not end:\n{stacks()}")
        if self.errors:
            raise self.errors[0]


def together(work: Callable[[int], T], threads: int = THREADS, seconds: float = 2 * PATIENCE) -> list[T]:
    """Call ``work(number)`` in *threads* threads that begin at the same moment, and end within *seconds*. Return the
    results in their order, or raise the first error of any."""
    results: dict[int, T] = {}

    def of(number: int) -> Callable[[], None]:
        def run() -> None:
            results[number] = work(number)

        return run

    _Works([of(number) for number in range(threads)]).join(seconds)
    return [results[number] for number in range(threads)]


@contextmanager
def beside(*steps: Callable[[], object]) -> Iterator[None]:
    """Each of *steps* is called again and again in a thread of its own, once at least, until the block ends. An error
    of one fails the test."""
    over = threading.Event()

    def repeated(step: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            step()
            while not over.is_set():
                step()

        return run

    works = _Works([repeated(step) for step in steps])
    try:
        yield
    finally:
        over.set()
        works.join()
