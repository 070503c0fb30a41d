"""Handling of Ctrl-C and SIGTERM, with sections that defer them (L6). Only in the main thread; elsewhere no handler is
installed."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Make both signals raise KeyboardInterrupt while entered. Within ``with interrupts.held:`` it is deferred to the
    end of that block."""

    def __init__(self) -> None:
        self.held = _Held(self)
        self._before: dict[int, Any] = {}
        self._depth = 0
        self._waits = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):  # ignored signals stay ignored, as in background jobs
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
