"""Ctrl-C and SIGTERM, and where they have to wait (L6). Of the main thread; elsewhere nothing is installed."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Both raise KeyboardInterrupt while it is entered; within ``with interrupts.held:`` at its end."""

    def __init__(self) -> None:
        self.held = _Held(self)
        self._before: dict[int, Any] = {}
        self._depth = 0
        self._waits = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):  # as for whoever runs in the background of a script
                    self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _came(self, number: int, frame: FrameType | None) -> None:
        if self._depth:
            self._waits = True
        else:
            raise KeyboardInterrupt

    def _leave(self, failed: bool) -> None:
        self._depth -= 1
        if not self._depth and self._waits and not failed:
            self._waits = False
            raise KeyboardInterrupt


class _Held:
    def __init__(self, owner: Interrupts) -> None:
        self._owner = owner

    def __enter__(self) -> None:
        self._owner._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owner._leave(error is not None)
