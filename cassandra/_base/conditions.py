"""Conditions and locks whose ``with`` is native (L0)."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


class NativeWith:
    """A lock or a Condition over the lock ``native``: ``with`` acquires and releases it in one native call each.

    The methods of ``threading.Condition`` are Python code: a signal handler that raises after such a method has
    acquired the lock leaves it held forever.
    """

    native: Any

    __enter__: Any = property(attrgetter("native.__enter__"))
    __exit__: Any = property(attrgetter("native.__exit__"))
