"""Conditions and locks whose ``with`` is native (L0)."""

from __future__ import annotations

from typing import Any


class NativeWith:
    """A lock or a Condition over the lock ``native``: ``with`` acquires and releases it in one native call each.

    The methods of ``threading.Condition`` are Python code: a signal handler that raises after such a method has
    acquired the lock leaves it held forever.
    """

    native: Any

    @property
    def __enter__(self) -> Any:
        return self.native.__enter__

    @property
    def __exit__(self) -> Any:
        return self.native.__exit__
