"""Signals whose handlers raise in the main thread, and exceptions at each moment at which such a handler may run."""

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


def is_reporting(frame: FrameType | None) -> bool:
    """True if *frame* is that of the report of an exception that Python ignored: Python ignores one raised there, too,
    and does not report it."""
    while frame is not None:
        if frame.f_globals.get("__name__") == __name__ and frame.f_code.co_name == "report":
            return True
        frame = frame.f_back
    return False


class Interrupt(BaseException):
    """Raised as by the handler of a signal."""


def interrupted_everywhere(call: Callable[[], object]) -> Iterator[int]:
    """Run *call* again and again; raise at the first moment at which Python may run the handler of a signal, then at
    the second, until it ends: when a function begins, and when a native one has returned, which loses its result. After
    each run, the number of the moment."""
    for limit in itertools.count():
        left = limit

        def profile(frame: FrameType, event: str, argument: object) -> None:
            nonlocal left
            if event in ("call", "c_return"):
                left -= 1
                if left < 0:
                    sys.setprofile(None)
                    raise Interrupt

        with handlers_raise(Interrupt):  # in a finalizer, say: then the call goes on
            sys.setprofile(profile)
            try:
                call()
            except Interrupt:
                pass
            finally:
                sys.setprofile(None)
        if left >= 0:
            return
        yield limit
