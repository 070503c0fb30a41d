"""Progress callbacks of long operations: an ingest, a scan.

L5. Called on the thread, or the loop, of the operation, between two steps, at a limited rate. An exception of the
callback is raised from the operation and ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

R = TypeVar("R")
REPORT_INTERVAL = 0.2  # seconds from one call to the next


class ProgressBar(Protocol, Generic[R]):  # type: ignore[misc]
    """A bar on a terminal."""

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


class Bar:
    """One line of rich: *what* is done, part of *total* (None: unknown), rate, time."""

    def __init__(self, what: str, total: float | None, *, in_percent: bool = False) -> None:
        try:
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
        except ImportError:
            raise ImportError("progress=True needs rich: pip install 'fastcql[bulk]'") from None
        done = (TaskProgressColumn(), _rows()) if in_percent else (MofNCompleteColumn(),)
        times = (TimeElapsedColumn(), TimeRemainingColumn()) if in_percent else (TimeElapsedColumn(),)
        self._lines = Progress(TextColumn("{task.description}"), BarColumn(), *done, _rate(), *times)
        self._line = self._lines.add_task(what, total=total, rows=0, rate=None)

    def start(self) -> None:
        self._lines.start()

    def stop(self) -> None:
        self._lines.stop()

    def update(self, completed: float, rows: int, rate: float | None = None) -> None:
        """Update the bar. *rate* in rows per second; None: the rate of *completed*."""
        self._lines.update(self._line, completed=completed, rows=rows, rate=rate)


def _rows() -> Any:
    from rich.progress import TextColumn

    return TextColumn("{task.fields[rows]:,} rows")


def _rate() -> Any:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Any:
            rate = task.speed if task.fields["rate"] is None else task.fields["rate"]
            return Text("" if rate is None else f"{rate:,.0f} rows/s")

    return Rate()
