"""CPU affinity: the responder and the process that starts the clients use the first core, clients the last."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

#: Those this process may use, before it pins itself; empty where the system does not say.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def pin_to_responder_side() -> None:
    """This thread, on the first core for good."""
    if CORES:
        os.sched_setaffinity(0, {CORES[0]})


@contextlib.contextmanager
def pinned(last: bool) -> Iterator[None]:
    """A process that is started here is on the first core, or on the *last*, where clients are."""
    if not CORES:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CORES[-1 if last else 0]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
