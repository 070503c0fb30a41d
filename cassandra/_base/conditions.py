"""Conditions and locks that no signal handler leaves locked (L0).

``with`` acquires a lock of the standard library in one native call. Before Python 3.14 the block begins before a
signal handler can run. Since then the call is an instruction of its own, after which 3.14 runs handlers: if one raises,
the lock stays held. So ``with`` is Python code there, which releases the lock in this case.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import Any

#: Python may run signal handlers, or profilers, after ``__enter__`` and before the block.
HANDLED_BEFORE_THE_BLOCK = sys.version_info >= (3, 14)


def _enter(lock: Any) -> Any:
    native = lock.native
    if not hasattr(native, "_recursion_count"):  # no RLock
        return native.__enter__()
    before = native._recursion_count()
    try:
        return native.__enter__()
    except BaseException:
        if before:
            if native._recursion_count() > before:
                native.release()
        else:  # one call, as another handler may raise after each
            try:  # noqa: SIM105  # contextlib.suppress is more calls
                native._release_save()
            except RuntimeError:  # not acquired
                pass
        raise


class NativeWith:
    """A lock or a Condition over the lock ``native``: ``with`` acquires and releases it in one native call each.

    The methods of ``threading.Condition`` are Python code: a signal handler that raises after such a method has
    acquired the lock leaves it held forever.
    """

    native: Any

    __enter__: Any = _enter if HANDLED_BEFORE_THE_BLOCK else property(attrgetter("native.__enter__"))
    __exit__: Any = property(attrgetter("native.__exit__"))
