"""Progress callbacks and bars of long operations: an ingest, a scan.

L5. Called on the thread, or the loop, of the operation, between two steps, at a limited rate. An exception of the
callback is raised from the operation and ends it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from shutil import get_terminal_size
from time import monotonic
from typing import Any, Generic, Protocol, TextIO, TypeVar

from cassandra._base.display import escape
from cassandra._base.logs import printable

R = TypeVar("R")
REPORT_INTERVAL = 0.2  # seconds from one call to the next


class ProgressBar(Protocol, Generic[R]):  # type: ignore[misc]
    """A bar of one operation."""

    def start(self) -> None: ...
    def show(self, report: R) -> None: ...
    def stop(self) -> None: ...


def check(told: Any) -> None:
    """Raise TypeError unless *told* is a valid ``progress=`` argument."""
    if told not in (None, False, True) and not callable(told):
        raise TypeError(f"progress must be a callable or True, not {told!r}")


class Progress(Generic[R]):
    """Passes the result of *report* to *told*, or to a bar if that is True: from time to time and at the end."""

    def __init__(
        self, told: Callable[[R], object] | bool | None, report: Callable[[], R], bar: Callable[[], ProgressBar[R]]
    ) -> None:
        check(told)
        self._report = report
        self._bar: ProgressBar[R] | None = None
        self._callback: Callable[[R], object] | None = None
        self._next = 0.0
        if told is True:
            self._bar = bar()
            self._callback = self._bar.show
            self._bar.start()
        elif callable(told):
            self._callback = told

    def look(self) -> None:
        """Report progress, if it is time."""
        if self._callback is not None and (now := monotonic()) >= self._next:
            self._next = now + REPORT_INTERVAL
            self._callback(self._report())

    def end(self, report: R | None) -> None:
        """Report the final state. None: the operation failed."""
        try:
            if self._callback is not None and report is not None:
                self._callback(report)
        finally:
            if self._bar is not None:
                self._bar.stop()


# ---- bars

BAR_CHARACTERS = 24
FULL, EMPTY = "\u2588", "\u2591"


class Bar:
    """Shows how much of *total* is done (None: unknown), the number of rows, their rate and the time: in a notebook, or
    as one line on stderr if that is a terminal; nowhere else, so that no log gets it. Nothing that fails while it is
    shown ends the operation."""

    def __init__(self, what: str, total: float | None) -> None:
        self._what = printable(what, 60)
        self._total = total
        self._began = monotonic()
        self._completed = 0.0
        self._rows = 0
        self._rate: float | None = None
        self._screen = _screen()

    def start(self) -> None:
        self._draw()

    def update(self, completed: float, rows: int, rate: float | None = None) -> None:
        """Update the bar. *rate* in rows per second; None: the rate since the start."""
        self._completed, self._rows, self._rate = completed, rows, rate
        self._draw()

    def stop(self) -> None:
        self._draw()
        if self._screen is not None:
            self._screen.end()

    def _draw(self) -> None:
        if self._screen is not None:
            self._screen.show(self._fraction(), self._what, self._numbers())

    def _fraction(self) -> float | None:
        if self._total is None:
            return None
        return min(1.0, self._completed / self._total) if self._total else 1.0

    def _numbers(self) -> str:
        seconds, fraction = monotonic() - self._began, self._fraction()
        rate = self._rate if self._rate is not None else self._rows / seconds if seconds > 0 else 0.0
        parts = [] if fraction is None else [f"{100 * fraction:.0f} %"]
        parts += [f"{self._rows:,} rows", f"{rate:,.0f} rows/s", time_text(seconds)]
        if fraction and fraction < 1:
            parts.append(f"{time_text(seconds * (1 - fraction) / fraction)} left")
        return ", ".join(parts)


def time_text(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class Terminal:
    """One line of a terminal, which is written again and again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0  # of the line before
        self._encoding = getattr(stream, "encoding", None) or "ascii"
        try:
            f"{FULL}{EMPTY}".encode(self._encoding)
        except UnicodeEncodeError:
            self._full, self._empty = "#", "-"
        else:
            self._full, self._empty = FULL, EMPTY

    def show(self, fraction: float | None, what: str, numbers: str) -> None:
        done = None if fraction is None else int(fraction * BAR_CHARACTERS)
        bar = "" if done is None else f" {self._full * done}{self._empty * (BAR_CHARACTERS - done)}"
        line = f"{what}{bar} {numbers}"[: get_terminal_size().columns - 1]
        line = line.encode(self._encoding, "replace").decode(self._encoding)
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def erase(self) -> None:
        """Erase the line, until it is shown again."""
        self._write("\r" + " " * self._width + "\r")
        self._width = 0

    def end(self) -> None:
        self._write("\n")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone, or the stream closed
            self._stream.write(text)
            self._stream.flush()


class Notebook:
    """An output of a notebook's cell, which is replaced by each next one."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, fraction: float | None, what: str, numbers: str) -> None:
        from IPython.display import display

        at = "" if fraction is None else f' value="{fraction:.4f}"'
        bar = f'<progress{at} style="width:20em;vertical-align:middle"></progress>'
        bundle = {
            "text/plain": f"{what}: {numbers}",
            "text/html": f"<div>{escape(what)} {bar} <small>{escape(numbers)}</small></div>",
        }
        with suppress(Exception):  # of the connection to the front end
            if self._handle is None:
                self._handle = display(bundle, raw=True, display_id=True)
            else:
                self._handle.update(bundle, raw=True)

    def end(self) -> None:
        pass


def _screen() -> Terminal | Notebook | None:
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is not None:
        return Notebook()
    stream = sys.stderr
    return Terminal(stream) if stream is not None and stream.isatty() else None
