"""Terminal and exit codes of the program (L6): errors, Ctrl-C and SIGTERM, progress and results.

Progress is on stderr, as a bar on a terminal, else as occasional lines. All output may contain text of servers, files
and users, and goes through :func:`printable`. A command continues if stderr cannot be written.

Signals are handled only in the main thread, with sections that defer them; elsewhere no handler is installed.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, TextIO

from cassandra._base.logs import printable

DONE = 0
DIFFERENT = 1  # rows differ, or some could not be read or written
USAGE = 2
BROKEN = 3  # the command could not continue
INTERRUPTED = 130

MOST_SHOWN = 80  # characters of a text


class UsageError(Exception):
    """The options of the command are invalid."""


class TooManyFailed(Exception):
    """More rows have failed than the options allow."""


def shown(text: str) -> str:
    """Return a text of a file for a message: quoted, and cut if it is long."""
    return repr(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "\u2026")


# ---- Ctrl-C and SIGTERM

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Make both signals raise KeyboardInterrupt while entered. Within ``with interrupts.held:`` it is deferred to the
    end of that block."""

    def __init__(self) -> None:
        self.held = _DeferSignals(self)
        self._handlers: dict[int, Any] = {}
        self._depth = 0
        self._is_signal_pending = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):  # ignored signals stay ignored, as in background jobs
                    self._handlers[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._depth:
            self._is_signal_pending = True
        else:
            raise KeyboardInterrupt

    def _on_exit(self, failed: bool) -> None:
        self._depth -= 1
        if not self._depth and self._is_signal_pending and not failed:
            self._is_signal_pending = False
            raise KeyboardInterrupt


class _DeferSignals:
    def __init__(self, owner: Interrupts) -> None:
        self._owner = owner

    def __enter__(self) -> None:
        self._owner._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owner._on_exit(error is not None)


# ---- output of the program

PRINT_INTERVAL = 5.0  # seconds between two lines


class ProgressDisplay:
    """Progress of one command: rows, and the completed part of the work. One thread."""

    def __init__(self, title: str, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._began = monotonic()
        self._next = self._began + PRINT_INTERVAL
        self._handlers = 0
        self.rows = 0
        self.done: float | None = None
        self._bar: Any = None if quiet or not self._stream.isatty() else _bar(self._stream)

    def __enter__(self) -> ProgressDisplay:
        if self._bar is not None:
            self._task = self._bar.add_task(printable(self._title), total=None, rows=0, rate="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin_at(self, rows: int) -> None:
        """Set the number of rows that were done before a resumed command began."""
        self._handlers = self.rows = rows

    def update(self, rows: int, done: float | None = None) -> None:
        """Set the current number of rows; *done*: the completed part, from 0 to 1."""
        self.rows = rows
        self.done = self.done if done is None else done
        if self._bar is not None:
            total = None if self.done is None else 1.0
            self._bar.update(self._task, total=total, completed=self.done or 0, rows=rows, rate=self._rate())
        elif not self._quiet and (now := monotonic()) >= self._next:
            self._next = now + PRINT_INTERVAL
            part = "" if self.done is None else f"{self.done:.1%}, "
            self._write(f"{self._title}: {part}{rows:,} rows, {self._rate()}")

    def note(self, text: str) -> None:
        """Show a message."""
        if self._bar is not None:
            self._bar.console.print(printable(text), markup=False, highlight=False)
        else:
            self._write(text)

    def summary(self, verb: str, *more: str) -> None:
        """Show the last line: total rows and rate."""
        seconds = monotonic() - self._began
        text = f"{self._title}: {self.rows:,} rows {verb} in {seconds:,.1f} s, {self._rate()}"
        if self._handlers:
            text += f"; {self._handlers:,} of them before"
        self.note("; ".join([text, *more]))

    def _rate(self) -> str:
        seconds = max(monotonic() - self._began, 1e-3)
        return f"{(self.rows - self._handlers) / seconds:,.0f} rows/s"

    def _write(self, text: str) -> None:
        _print(text, self._stream)


def tell(text: str) -> None:
    """Print a result as a line of stdout. Raise OSError."""
    print(printable(text), file=sys.stdout, flush=True)


def warn(text: str) -> None:
    """Print a warning on stderr about a dangerous option."""
    _print(f"warning: {text}", sys.stderr)


def fail(program: str, what: object) -> None:
    """Print the line on stderr with the reason why *program* ends."""
    _print(f"{program}: {what}", sys.stderr)


def _print(text: str, stream: TextIO) -> None:
    with contextlib.suppress(OSError):
        print(printable(text), file=stream, flush=True)


def _bar(stream: TextIO) -> Any:
    """Return a progress bar on *stream*, or None if rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(file=stream),
    )
