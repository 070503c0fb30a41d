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
from cassandra._session.progress import REPORT_INTERVAL, Terminal, time_text

DONE = 0
DIFFERENT = 1  # rows differ, or some could not be read or written
USAGE = 2
BROKEN = 3  # the command could not continue
INTERRUPTED = 130
CLOSED_PIPE = 141  # as of a program that SIGPIPE has ended

MOST_SHOWN = 80  # characters of a text


class UsageError(Exception):
    """The options of the command are invalid."""


class TooManyFailed(Exception):
    """More rows have failed than the options allow."""


class ClosedPipe(Exception):
    """The reader of the output is gone, such as ``head`` when it has its lines."""


def shown(text: str) -> str:
    """Return a text of a file for a message: quoted, and cut if it is long."""
    return repr(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "\u2026")


def case_hint(wanted: list[str], names: list[str]) -> str:
    """Return a hint if some of *wanted* differ from *names* by case only."""
    known = {name.lower(): name for name in names}
    pairs = [f"{known[name.lower()]} differs from {name} by case only" for name in wanted if name.lower() in known]
    return f": {'; '.join(pairs)}" if pairs else ""


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
LEAST_PART = 0.001  # of the work, after which the rest can be estimated


class ProgressDisplay:
    """Progress of one command: rows, rejected rows, and the completed part of the work. One thread.

    ``moved_at`` is the time of the last progress, by ``monotonic``.
    """

    def __init__(self, title: str, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._began = self.moved_at = monotonic()
        self._terminal = None if quiet or not self._stream.isatty() else Terminal(self._stream)
        self._interval = PRINT_INTERVAL if self._terminal is None else REPORT_INTERVAL
        self._next = self._began + self._interval
        self._rows_before = 0
        self._part_before: float | None = None
        self.rows = 0
        self.rejected = 0
        self.done: float | None = None

    def __enter__(self) -> ProgressDisplay:
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_bar()

    def begin_at(self, rows: int) -> None:
        """Set the number of rows that were done before a resumed command began."""
        self._rows_before = self.rows = rows

    def update(self, rows: int, done: float | None = None) -> None:
        """Set the current number of rows; *done*: the completed part, from 0 to 1."""
        if rows != self.rows:
            self.moved_at = monotonic()
        self.rows = rows
        if done is not None:
            self._part_before = done if self._part_before is None else self._part_before
            self.done = done
        if not self._quiet and (now := monotonic()) >= self._next:
            self._next = now + self._interval
            if self._terminal is None:
                self._write(f"{self._title}: {self._numbers()}")
            self._draw()

    def note(self, text: str) -> None:
        """Show a message."""
        if self._terminal is not None:
            self._terminal.erase()
        self._write(text)
        self._draw()

    def summary(self, verb: str, *more: str) -> None:
        """Show the last line: total rows and rate. The bar ends."""
        self._end_bar()
        seconds = monotonic() - self._began
        text = f"{self._title}: {self.rows:,} rows {verb} in {seconds:,.1f} s, {self._rate()}"
        if self._rows_before:
            text += f"; {self._rows_before:,} of them before"
        self._write("; ".join([text, *more]))

    def _draw(self) -> None:
        if self._terminal is not None:
            self._terminal.show(self.done, printable(self._title), self._numbers())

    def _end_bar(self) -> None:
        self._draw()
        if self._terminal is not None:
            self._terminal.end()
            self._terminal = None

    def _numbers(self) -> str:
        part = "" if self.done is None else f"{self.done:.1%}"
        left = self._left() and f"{self._left()} left"
        return ", ".join(filter(None, [part, self._count(), self._rate(), left]))

    def _count(self) -> str:
        return f"{self.rows:,} rows" + (f", {self.rejected:,} rejected" if self.rejected else "")

    def _rate(self) -> str:
        seconds = max(monotonic() - self._began, 1e-3)
        return f"{(self.rows - self._rows_before) / seconds:,.0f} rows/s"

    def _left(self) -> str:
        """Return the estimated time to the end, "" if it is unknown."""
        if self.done is None or self._part_before is None or self.done - self._part_before < LEAST_PART:
            return ""
        spent = monotonic() - self._began
        left = round(spent * (1.0 - self.done) / (self.done - self._part_before))
        return time_text(left)

    def _write(self, text: str) -> None:
        _print(text, self._stream)


def tell(text: str) -> None:
    """Print a result as a line of stdout. Raise OSError, and ClosedPipe if its reader is gone."""
    try:
        print(printable(text), file=sys.stdout, flush=True)
    except BrokenPipeError:
        raise ClosedPipe("stdout") from None


def warn(text: str) -> None:
    """Print a warning on stderr about a dangerous option."""
    _print(f"warning: {text}", sys.stderr)


def fail(program: str, what: object) -> None:
    """Print the line on stderr with the reason why *program* ends."""
    _print(f"{program}: {what}", sys.stderr)


def _print(text: str, stream: TextIO) -> None:
    with contextlib.suppress(OSError):
        print(printable(text), file=stream, flush=True)
