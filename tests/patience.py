"""How long tests wait for what other threads do: so long that only a hang is too long, on the busiest machine."""

from __future__ import annotations

import inspect
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


def be_patient(patch: Any, made: Any, **patient: float) -> None:
    """Let the defaults of *made*'s constructor be such that they only end calls that hang.

    *patch* has ``setattr``: pytest's ``monkeypatch``, or the module ``builtins``.
    """
    parameters = list(inspect.signature(made.__init__).parameters.values())[1:]
    assert patient.keys() <= {parameter.name for parameter in parameters}
    defaults = tuple(patient.get(parameter.name, parameter.default) for parameter in parameters)
    patch.setattr(made.__init__, "__defaults__", defaults)
