"""Progress of a scan, and its reports (L5). See ``_session/progress.py``.

A ``Tally`` counts the scan events of one reading. It belongs to the thread or task that takes them, except the list of
completed ranges: that only grows, so that a checkpoint, by any thread or by a signal handler at any point, reads it
without a lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from cassandra._base.objects import public
from cassandra._routing.token_ranges import TokenRange

from .. import progress
from .checkpoint import Checkpoint, Part
from .coverage import Coverage, Span
from .pieces import BATCH, DONE, Piece

if TYPE_CHECKING:
    from cassandra._core.columns import RecordBatch

    from .plan import ScanPlan


@public("cassandra.scan")
class ScanProgress(NamedTuple):
    """Progress of a scan: the completed share of its part of the ring, 0 to 1, completed and total ranges, rows and
    seconds so far. ``rate`` is rows per second, ``eta`` the seconds left at this rate, None while unknown. Rows are
    those read, before any filter; rows of restarted ranges count once."""

    table: str
    fraction: float
    ranges_done: int
    ranges: int
    rows: int
    seconds: float
    rate: float
    eta: float | None


Told = Callable[[ScanProgress], object]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class _Bar(progress.Bar):
    def show(self, report: ScanProgress) -> None:
        self.update(100 * report.fraction, report.rows, report.rate)


class Tally:
    """Progress over *ranges*. The part covered by *resume* counts for the fraction, but not for the rate of this
    run."""

    def __init__(
        self,
        what: Mapping[str, str],
        ranges: Iterable[TokenRange],
        told: Told | bool | None = None,
        resume: Checkpoint | None = None,
        rows_of: Callable[[RecordBatch], int] = len,
    ) -> None:
        self._what = what
        self._rows_of = rows_of
        self._ended = False
        self._left = {(one.start, one.end) for one in ranges}
        self._count = len(self._left)
        self._todo = Coverage(self._left).size
        self._resume = resume
        self._finished: list[tuple[Span, int]] = []  # with their rows
        self._done = Coverage(() if resume is None else resume.done)
        self._before = self._done.size
        self._rows_done = 0 if resume is None else resume.rows
        self._rows_before = self._rows_done
        self._open: dict[int, int] = {}  # rows so far, by number of the range
        self._began = monotonic()
        self._progress = progress.Progress(told, self.report, lambda: _Bar(what["table"], 100.0, in_percent=True))

    def take(self, piece: Piece) -> None:
        """Count *piece*, which was processed."""
        number, one = piece.number, piece.token_range
        if piece.kind == BATCH and piece.batch is not None:
            self._open[number] = self._open.get(number, 0) + self._rows_of(piece.batch)
        else:
            rows = self._open.pop(number, 0)
            if piece.kind == DONE:
                span = one.start, one.end
                self._finished.append((span, rows))
                self._done.add(span)
                self._rows_done += rows
        self._progress.look()

    def end(self, whole: bool) -> None:
        """End the reports; *whole*: True if the reading is complete. May be called again."""
        if self._ended:
            return
        self._ended = True
        self._progress.end(self.report() if whole else None)

    def report(self) -> ScanProgress:
        seconds = monotonic() - self._began
        rows = self._rows_done + sum(self._open.values())
        done, all_ = self._done.size - self._before, self._todo
        left = (all_ - done) * seconds / done if done else None
        return ScanProgress(
            self._what["table"],
            self._done.size / (self._before + all_) if self._before + all_ else 1.0,
            self._count_done(),
            self._count,
            rows,
            seconds,
            (rows - self._rows_before) / seconds if seconds > 0 else 0.0,
            left,
        )

    def _count_done(self) -> int:
        self._left = {span for span in self._left if not self._done.has(span)}
        return self._count - len(self._left)

    def checkpoint(self) -> Checkpoint:
        """Return a checkpoint of the delivered ranges; for any thread."""
        finished = tuple(self._finished)
        before, rows = ((), 0) if self._resume is None else (self._resume.done, self._resume.rows)
        done = Coverage((*before, *(span for span, _ in finished)))
        parts = [Part(done.spans, None)] if done.size else []
        return Checkpoint(self._what, parts, rows + sum(count for _, count in finished))


def description(plan: ScanPlan, filter: Any = None, reducer: Any = None) -> dict[str, str]:
    """Return the description of a scan and fold for checkpoints; it is the same in another process."""
    found = {"table": f"{plan.keyspace}.{plan.table}", "statement": plan.cql}
    if plan.values:
        found["values"] = shown(plan.values)
    if filter is not None:
        found["filter"] = shown(filter)
    if reducer is not None:
        found["reducer"] = shown(reducer)
    return found


def shown(value: Any) -> str:
    """Return ``repr(value)`` without memory addresses."""
    return _ADDRESS.sub("", repr(value))
