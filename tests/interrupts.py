"""Signals whose handlers raise in the main thread."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def handlers_raise(*kinds: type[BaseException]) -> Iterator[list[str]]:
    """Handlers of signals may raise *kinds* meanwhile. The list gets what Python ignored.

    Two things happen in Python then that no library can prevent. An exception in a finalizer or in the callback of a
    weak reference is ignored, and reported. One that is raised while the main thread logs may leave the lock of a log
    handler held for ever (before Python 3.13): the records of the driver reach no handler.
    """
    hook, logger, nowhere = sys.unraisablehook, logging.getLogger("cassandra"), logging.NullHandler()

    ignored: list[str] = []

    def report(found: Any) -> None:
        if issubclass(found.exc_type, kinds):
            ignored.append(repr(found.object))
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
