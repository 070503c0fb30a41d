"""Sequences of requests: generators that yield requests and receive their results.

Each sequence is written once; :func:`run` and :func:`arun` differ in how they wait.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[Any, Any, T]


def run(steps: Steps[T]) -> T:
    """Run all requests, waiting for each."""
    try:
        request = next(steps)
        while True:
            request = steps.send(request.execute())
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def arun(steps: Steps[T]) -> T:
    """Run all requests, awaiting each."""
    try:
        request = next(steps)
        while True:
            request = steps.send(await request.execute_async())
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
