"""Signals whose handlers raise in the main thread, and exceptions that come between any two bytecodes."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def handlers_raise(*kinds: type[BaseException], on_ignored: Callable[[], object] | None = None) -> Iterator[list[str]]:
    """Handlers of signals may raise *kinds* meanwhile. The list gets what Python ignored, and *on_ignored* is called
    then.

    Two things happen in Python then that no library can prevent. An exception in a finalizer or in the callback of a
    weak reference is ignored, and reported. One that is raised while the main thread logs may leave the lock of a log
    handler held for ever (before Python 3.13): the records of the driver reach no handler.
    """
    hook, logger, nowhere = sys.unraisablehook, logging.getLogger("cassandra"), logging.NullHandler()

    ignored: list[str] = []

    def report(found: Any) -> None:
        if issubclass(found.exc_type, kinds):
            ignored.append(repr(found.object))
            if on_ignored is not None:
                on_ignored()
        else:
            hook(found)

    propagates = logger.propagate
    sys.unraisablehook = report
    logger.propagate = False
    logger.addHandler(nowhere)
    try:
        yield ignored
    finally:
        sys.unraisablehook = hook
        logger.propagate = propagates
        logger.removeHandler(nowhere)


class Interrupt(BaseException):
    """Raised between two bytecodes."""


def interrupted_everywhere(call: Callable[[], object]) -> Iterator[int]:
    """Run *call* again and again; raise before the first bytecode of it, then before the second, until it ends. After
    each run, the number of bytecodes that were executed."""
    for limit in itertools.count():
        left = limit

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal left
            frame.f_trace_opcodes = True
            if event == "opcode":
                left -= 1
                if left < 0:
                    sys.settrace(None)
                    raise Interrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        except Interrupt:
            yield limit
        else:
            return
        finally:
            sys.settrace(before)
