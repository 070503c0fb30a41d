"""Tests run with ``FASTCQL_CHECK_LOCKS=1``, and so do the processes that they start: see ``cassandra/_base/locks.py``.

Imported before anything of the driver, as locks are made when its modules are imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["FASTCQL_CHECK_LOCKS"] = "1"

from cassandra._base import locks
from cassandra._base.locks import violations

__all__ = ["as_driver", "locks", "violations"]


def as_driver(call: Callable[..., Any], *args: Any) -> Any:
    """The result of *call*, which a test makes in the place of a driver thread."""
    locks.enter_driver_thread()
    try:
        return call(*args)
    finally:
        locks.enter_driver_thread(locks.CALLER)
