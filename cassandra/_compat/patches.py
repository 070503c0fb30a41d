"""Names that tests replace in a public module, and that are used elsewhere (L6).

``unittest.mock.patch("cassandra.cluster.log")`` and its like set an attribute of a facade; what is set there is set
where it is used, too. ``_base/lending.py`` tells of it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from cassandra._session.statements.timestamps import MonotonicTimestampGenerator


def replaced(facade: ModuleType, name: str, before: Any, now: Any) -> None:
    """*facade* had *before* under that *name*, and has *now*."""
    if name == "time":
        _tell_time_by(now)
        return
    for home, module in sys.modules.copy().items():
        if home.startswith("cassandra._") and vars(module).get(name) is before:
            setattr(module, name, now)


def _tell_time_by(clock: Any) -> None:
    """Generators that are called ask the ``time()`` of *clock*."""
    generator: Any = MonotonicTimestampGenerator
    if clock is sys.modules["time"]:
        generator.__call__ = _called
        return

    def __call__(self: Any) -> int:
        with self.lock:
            return int(self._next_timestamp(int(clock.time() * 1_000_000), self.last))

    generator.__call__ = __call__


_called = MonotonicTimestampGenerator.__call__
