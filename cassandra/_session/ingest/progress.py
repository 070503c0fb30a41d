"""Who is told how far an ingest has come.

L5. Called on the thread that ingests, between batches and answers; not more often than it can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from .report import IngestReport

if TYPE_CHECKING:
    from .writing import Writing

Told = Callable[[IngestReport], object]
OFTEN = 0.2  # seconds from one call to the next


class Progress:
    """Tells *told* of *writing*, now and then and at the end."""

    def __init__(self, told: Told | bool | None, writing: Writing, total: int | None) -> None:
        self._writing = writing
        self._bar: Any = None
        self._told: Told | None = None
        self._next = 0.0
        if told is True:
            self._bar = _bar()
            self._task = self._bar.add_task(writing.table_name, total=total)
            self._told = self._show
            self._bar.start()
        elif callable(told):
            self._told = told
        elif told not in (None, False):
            raise TypeError(f"progress is a callable or True, not {told!r}")

    def look(self) -> None:
        """Something may have changed."""
        if self._told is not None and (now := monotonic()) >= self._next:
            self._next = now + OFTEN
            self._told(self._writing.report())

    def end(self, report: IngestReport | None) -> None:
        """That was all. None: it has failed."""
        try:
            if self._told is not None and report is not None:
                self._told(report)
        finally:
            if self._bar is not None:
                self._bar.stop()

    def _show(self, report: IngestReport) -> None:
        self._bar.update(self._task, completed=report.rows + report.failed)


def _bar() -> Any:
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        raise ImportError("progress=True shows a bar by rich: pip install 'fastcql[bulk]'") from None
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _rate(), TimeElapsedColumn())


def _rate() -> Any:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Any:
            return Text("" if task.speed is None else f"{task.speed:,.0f} rows/s")

    return Rate()
