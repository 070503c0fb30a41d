"""Names that tests replace in a public module, and that other modules use (L6).

``unittest.mock.patch("cassandra.cluster.log")`` and similar calls set an attribute of a facade; the value is then also
set in the modules that use it. ``_base/aliases.py`` calls :func:`replaced`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from cassandra._session.statements.timestamps import MonotonicTimestampGenerator


def replaced(facade: ModuleType, name: str, before: Any, now: Any) -> None:
    """Replace *before* by *now* under that *name* in all modules of the driver, as it was replaced in *facade*."""
    if name == "time":
        _tell_time_by(now)
        return
    for home, module in sys.modules.copy().items():
        if home.startswith("cassandra._") and vars(module).get(name) is before:
            setattr(module, name, now)


def _tell_time_by(clock: Any) -> None:
    """Make timestamp generators use the ``time()`` of *clock*."""
    generator: Any = MonotonicTimestampGenerator
    if clock is sys.modules["time"]:
        generator.__call__ = _called
        return

    def __call__(self: Any) -> int:
        with self.lock:
            return int(self._next_timestamp(int(clock.time() * 1_000_000), self.last))

    generator.__call__ = __call__


_called = MonotonicTimestampGenerator.__call__
