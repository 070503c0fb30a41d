"""Writes Arrow rows into a table (L6): by ``session.ingest``, or one by one where that cannot write them.

One thread. Rows come in pieces, each with the row numbers of their origin, which errors name. Every few seconds, and at
the end, all rows taken so far are completed: then ``done`` is called, and the command saves a checkpoint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import Any, NamedTuple

from cassandra._session.ingest.report import IngestReport, report_of

from .cells import CellWriter, CounterWriter
from .errors import TooManyFailed, UsageError
from .tables import Table

OFTEN = 10.0  # seconds between two checkpoints


class Piece(NamedTuple):
    """Rows: a record batch of PyArrow, with their *origin* and their numbers there."""

    batch: Any
    origin: Any
    numbers: Sequence[int]


class WriteOptions(NamedTuple):
    """Options for writing rows."""

    ttl: int | None = None
    timestamp: int | None = None
    nulls: str = "unset"
    consistency_level: int | None = None
    batch_rows: int = 32
    counters: bool = False
    most_errors: int = 1000  # -1 for any number
    often: float = OFTEN


class TableWriter:
    """Writes to one table. ``rows`` and ``failed`` are counts; ``failures`` is called for each failed row.

    ``kept_rows`` and ``kept_failed`` count the rows that are not written again when the command is resumed: up to the
    last *done*, or up to the row that :meth:`undone` has returned.
    """

    def __init__(
        self,
        session: Any,
        table: Table,
        columns: Sequence[str],
        options: WriteOptions,
        *,
        failures: Callable[[Any, int, Exception], object],
        shown: Callable[[int], object],
    ) -> None:
        """*columns*: the columns of the pieces. Raise UsageError if they cannot be written."""
        self.rows = 0
        self.failed = 0
        self.kept_rows = 0
        self.kept_failed = 0
        self._session = session
        self._table = table
        self._options = options
        self._failures = failures
        self._shown = shown
        self._written = 0
        plain = [name for name in columns if table.timed(name) is None]
        table.check(plain)
        needed = table.partition_key if set(plain) <= {*table.partition_key, *table.statics} else table.key
        if missing := [name for name in needed if name not in plain]:
            raise UsageError(f"{table.name} cannot be written without {', '.join(missing)} of its primary key")
        self._alone: CellWriter | CounterWriter | None = None
        if table.counters:
            if not options.counters:
                raise UsageError(
                    f"{table.name} has counters, which can only be added to: a repeated request counts twice. With "
                    "--counters the numbers are added, and no request is retried"
                )
            if options.ttl is not None or options.timestamp is not None or len(plain) < len(columns):
                raise UsageError(f"{table.name} has counters, which have no time to live and no write time")
            if options.nulls != "unset":
                raise UsageError(f"{table.name} has counters, which cannot be deleted: --nulls {options.nulls}")
            self._alone = CounterWriter(session, table, plain, options.consistency_level)
        elif len(plain) < len(columns):
            self._alone = CellWriter(
                session,
                table,
                columns,
                options.consistency_level,
                ttl=options.ttl,
                timestamp=options.timestamp,
                nulls=options.nulls,
            )
        self._columns = plain
        self._statics = [name for name in plain if name in table.partition_key or name in table.statics]
        self._splits = bool(table.clustering_key) and any(name in table.statics for name in plain)
        self._first = table.clustering_key[0] if table.clustering_key else ""
        self._taken: deque[tuple[int, Any, Sequence[int]]] = deque()
        self._statics_written: list[tuple[Any, int]] = []  # since the last checkpoint: origin and number

    def write(self, pieces: Iterable[Piece], done: Callable[[], object]) -> None:
        """Write all *pieces*. Call *done* whenever all rows taken so far are completed. Raise TooManyFailed if too many
        failed. After any error, :meth:`undone` returns the first row that may not have been written."""
        source = iter(pieces)
        try:
            for piece in source:
                self._taken.clear()
                if self._alone is not None:
                    self._write_alone(piece)
                else:
                    self._ingest(piece, source)
                self._taken.clear()
                self._statics_written.clear()
                self.kept_rows, self.kept_failed = self.rows, self.failed
                done()
        finally:
            if self._alone is not None:
                self._alone.close()

    def undone(self, error: BaseException) -> tuple[Any, int] | None:
        """Return (origin, number) of the first row that may not have been written, after *error* ended :meth:`write`.
        None if all rows taken were written."""
        report = report_of(error)
        reached = 0
        if report is not None and self._alone is None:
            self._count(report)
            reached = min(report.unfinished, default=report.reached)
            failed = sum(row < reached for row in report.errors)
            self.kept_rows += reached - failed
            self.kept_failed += failed
        at = self._at(reached)
        self.kept_rows += sum(at is None or place < at for place in self._statics_written)
        return at

    def _at(self, reached: int) -> tuple[Any, int] | None:
        for first, origin, numbers in self._taken:
            if reached < first + len(numbers):
                return origin, numbers[max(0, reached - first)]
        return None

    # -- rows for session.ingest

    def _ingest(self, first: Piece, source: Iterator[Piece]) -> None:
        """Write *first* and the pieces after it, until the next checkpoint is due."""
        before = self.rows
        given = self._given(first, source)
        report = self._call(given, self._columns, lambda report: self._shown(before + report.rows))
        self._count(report)
        self._check()

    def _call(self, data: Iterable[Any], columns: Sequence[str], progress: Any = None) -> IngestReport:
        options = self._options
        report: IngestReport = self._session.ingest(
            self._table.name,
            data,
            columns=columns,
            ttl=options.ttl,
            timestamp=None if options.timestamp is None else options.timestamp + self._written,
            nulls=options.nulls,
            consistency_level=options.consistency_level,
            batch_rows=options.batch_rows,
            on_error="collect",
            progress=progress,
        )
        self._written += report.reached
        return report

    def _given(self, first: Piece, source: Iterator[Piece]) -> Iterator[Any]:
        until = monotonic() + self._options.often
        reached = 0
        piece: Piece | None = first
        while piece is not None:
            batch, numbers = piece.batch, piece.numbers
            if self._splits:
                batch, numbers = self._split(piece)
            if batch.num_rows:
                self._taken.append((reached, piece.origin, numbers))
                reached += batch.num_rows
                yield batch
            piece = next(source, None) if monotonic() < until else None

    def _split(self, piece: Piece) -> tuple[Any, Sequence[int]]:
        """Write rows of partitions that have only static columns at once; return the other rows."""
        import pyarrow.compute as pc

        batch = piece.batch
        if self._first in batch.schema.names:
            alone = pc.is_null(batch.column(self._first))
            if not pc.any(alone).as_py():
                return batch, piece.numbers
            rows = [row for row, is_alone in enumerate(alone.to_pylist()) if is_alone]
            statics, rest = batch.filter(alone), batch.filter(pc.invert(alone))
        else:
            rows, statics, rest = list(range(batch.num_rows)), batch, batch.slice(0, 0)
        report = self._call([statics.select(self._statics)], self._statics)
        for row, error in report.errors.items():
            self._fail(piece.origin, piece.numbers[rows[row]], error)
        self.rows += report.rows
        self._statics_written += [
            (piece.origin, piece.numbers[row]) for place, row in enumerate(rows) if place not in report.errors
        ]
        gone = set(rows)
        return rest, [number for row, number in enumerate(piece.numbers) if row not in gone]

    def _count(self, report: IngestReport) -> None:
        self.rows += report.rows
        places = iter(self._taken)
        place = next(places, None)
        for row, error in report.errors.items():
            while place is not None and row >= place[0] + len(place[2]):
                place = next(places, None)
            if place is not None:
                self._fail(place[1], place[2][row - place[0]], error)
        self.failed += report.failed - len(report.errors)  # failures beyond the listed ones

    def _fail(self, origin: Any, number: int, error: Exception) -> None:
        self.failed += 1
        self._failures(origin, number, error)

    def _check(self) -> None:
        if 0 <= self._options.most_errors < self.failed:
            raise TooManyFailed(f"{self.failed:,} rows could not be written, more than --max-insert-errors")

    # -- rows one by one

    def _write_alone(self, piece: Piece) -> None:
        assert self._alone is not None
        self._taken.append((0, piece.origin, piece.numbers))
        errors = self._alone.write(piece.batch)
        self.rows += piece.batch.num_rows - len(errors)
        for row, error in errors.items():
            self._fail(piece.origin, piece.numbers[row], error)
        self._shown(self.rows)
        self._check()
