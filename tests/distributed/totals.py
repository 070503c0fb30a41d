"""A reducer and a filter that lose their process once."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from cassandra.scan import Sum


class Lossy(Sum):
    """Kills the process that it is in, unless the file *killed* says that this was done."""

    def __init__(self, column: str, killed: Path) -> None:
        super().__init__(column)
        self.killed = killed

    def stream(self, acc: Any, batch: Any) -> Any:
        die_once(self.killed)
        return super().stream(acc, batch)


class LossyFilter:
    """All rows, by a process that is killed first."""

    def __init__(self, killed: Path) -> None:
        self.killed = killed

    def __call__(self, batch: Any) -> list[bool]:
        die_once(self.killed)
        return [True] * len(batch)


def die_once(killed: Path) -> None:
    if not killed.exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
