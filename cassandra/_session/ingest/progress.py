"""Progress reports of an ingest (L5), see ``_session/progress.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import progress
from .report import IngestReport

if TYPE_CHECKING:
    from .writing import Writing

Told = Callable[[IngestReport], object]


class _Bar(progress.Bar):
    def show(self, report: IngestReport) -> None:
        self.update(report.rows + report.failed, report.rows)


class Progress(progress.Progress[IngestReport]):
    """Reports the progress of *writing* to *told*; *total* is the number of rows, if known."""

    def __init__(self, told: Told | bool | None, writing: Writing, total: int | None) -> None:
        super().__init__(told, writing.report, lambda: _Bar(writing.table_name, total))
