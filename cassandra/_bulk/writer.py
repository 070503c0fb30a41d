"""Writes Arrow rows into a table (L6): by ``session.ingest``, or one by one where that cannot write them.

One thread. Rows come in pieces, each with the row numbers of their origin, which errors name. Every few seconds, and at
the end, all rows taken so far are completed: then ``done`` is called, and the command saves a checkpoint.

Rows that ``session.ingest`` cannot write, counters and cells with their own times, are one request each. Their values
are encoded by the conversion of ``session.ingest``, so that both ways store the same bytes. Keys of counters may not
fit into memory: they are in a key-value store.
"""

from __future__ import annotations

import sqlite3
import struct
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from cassandra._base.constants import TypeId
from cassandra._base.names import maybe_escape_name
from cassandra._core.codec import scalar
from cassandra._core.columns import IngestPlan
from cassandra._ingest.report import IngestReport, report_of
from cassandra._session.request.concurrent import execute_concurrent
from cassandra._session.statements.prepared import BoundStatement

from .console import TooManyFailed, UsageError
from .tables import TTL, WRITETIME, Table, quoted

# ---- rows one by one

CONCURRENT = 200
#: The bytes of a bound value; None for null.
Cell = bytes | None
_TIMES = {TTL: TypeId.INT, WRITETIME: TypeId.BIGINT}


class OnceSet:
    """Keys of completed actions, with a value each. Beyond a few megabytes they are in a temporary file without a name.

    One thread. :meth:`close` removes all data.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE noted (name TEXT, key BLOB, value BLOB, PRIMARY KEY (name, key)) WITHOUT ROWID"
        )
        self._database.execute("BEGIN")

    def get(self, key: tuple[str, bytes]) -> bytes | None:
        """Return the value stored for *key*, or None."""
        found = self._database.execute("SELECT value FROM noted WHERE name = ? AND key = ?", key).fetchone()
        return None if found is None else found[0]

    def note(self, key: tuple[str, bytes], value: bytes) -> None:
        """Store *value* for *key*, which must not be stored yet."""
        self._database.execute("INSERT INTO noted VALUES (?, ?, ?)", (*key, value))

    def close(self) -> None:
        self._database.close()


class CounterWriter:
    """Adds to counters. No request is retried: a failed request may have been executed.

    A static counter is added once per partition, with the first row that has a value of it: each row of a partition has
    the same one. A row with another value is rejected before any part of it is added.
    """

    def __init__(self, session: Any, table: Table, columns: Sequence[str], consistency_level: int | None) -> None:
        self._table = table
        self._counters = [name for name in columns if name in table.counters]
        if not self._counters:
            raise UsageError(f"{table.name} has counters, but no counter column is loaded")
        self._statements = _Statements(session, consistency_level, is_idempotent=False)
        codecs = self._statements.codecs(self._text(tuple(self._counters)))
        counted = {name: scalar(TypeId.BIGINT) if name in self._counters else codecs[name] for name in codecs}
        self.encoder = _RowEncoder(counted, table.partition_key)
        self._statics = [name for name in self._counters if name in table.statics]
        self._added = OnceSet() if self._statics else None

    def write(self, batch: Any) -> dict[int, Exception]:
        """Write the rows of *batch* and return errors by row."""
        requests, rows = [], []
        errors: dict[int, Exception] = {}
        for row, cells in self.encoder.rows(batch, errors):
            names = tuple(name for name in self._counters if cells[name] is not None)
            try:
                key = self._key(names)
                _require(self._table, key, cells)
                known = self._added_statics(names, cells)
                names = tuple(name for name in names if name not in known)
            except ValueError as error:
                errors[row] = error
                continue
            if names:
                values = [cells[name] for name in (*names, *self._key(names))]
                requests.append(self._statements.bound(self._text(names), values))
                rows.append(row)
        self._statements.execute(requests, rows, errors)
        return errors

    def close(self) -> None:
        if self._added is not None:
            self._added.close()

    def _added_statics(self, names: Sequence[str], cells: Mapping[str, Cell]) -> set[str]:
        """Return the static counters of the row's partition that were added before."""
        added = self._added
        statics = [name for name in self._statics if name in names]
        if added is None or not statics:
            return set()
        partition = _join_cells([cells[name] for name in self._table.partition_key])
        known = {name: added.get((name, partition)) for name in statics}
        for name, value in known.items():
            if value is not None and value != cells[name]:
                before, now = (int.from_bytes(cell or b"", "big", signed=True) for cell in (value, cells[name]))
                raise ValueError(
                    f"column '{name}': a static counter is added once per partition, and {before} was added to this "
                    f"one, not {now}"
                )
        for name, value in known.items():
            if value is None:
                added.note((name, partition), cells[name] or b"")
        return {name for name, value in known.items() if value is not None}

    def _key(self, names: Sequence[str]) -> list[str]:
        """Return the columns that identify the row; for static counters the partition key."""
        table = self._table
        return table.partition_key if set(names) <= set(table.statics) else table.key

    def _text(self, names: tuple[str, ...]) -> str:
        added = ", ".join(f"{name} = {name} + ?" for name in map(maybe_escape_name, names))
        where = " AND ".join(f"{maybe_escape_name(name)} = ?" for name in self._key(names))
        return f"UPDATE {self._table.name} SET {added} WHERE {where}"


class CellWriter:
    """Writes cells with their own time to live and write time, from columns of the row.

    Cells without a time of their own have *ttl* and *timestamp*; the timestamp rises by one with each row, as that of
    ``session.ingest`` does. *nulls*: "unset" leaves cells unchanged where the row has null, "null" deletes them.
    """

    def __init__(
        self,
        session: Any,
        table: Table,
        columns: Sequence[str],
        consistency_level: int | None,
        *,
        ttl: int | None = None,
        timestamp: int | None = None,
        nulls: str = "unset",
    ) -> None:
        self._table = table
        self._ttl = None if ttl is None else struct.pack(">i", ttl)
        self._timestamp = timestamp
        self._written = 0
        self._deletes = nulls == "null"
        self._statements = _Statements(session, consistency_level, is_idempotent=True)
        timed = {found: name for name in columns if (found := table.timed(name)) is not None}
        plain = [name for name in columns if table.timed(name) is None]
        for (_, name), column in timed.items():
            if name in table.key or name not in plain:
                reason = "a column of the primary key" if name in table.key else "which is not loaded"
                raise UsageError(f"{column} is a time of {name}, {reason}")
        self._values = [name for name in plain if name not in table.key]
        self._times = {name: tuple(timed.get((what, name)) for what in (TTL, WRITETIME)) for name in self._values}
        codecs = self._statements.codecs(self._text(tuple(plain), ttl=False, written=False))
        codecs |= {column: scalar(_TIMES[what]) for (what, _), column in timed.items()}
        self.encoder = _RowEncoder(codecs, table.partition_key)
        self._has_rows = all(name in plain for name in table.clustering_key)

    def write(self, batch: Any, absent: Sequence[frozenset[str]] | None = None) -> dict[int, Exception]:
        """Write the rows of *batch* and return errors by row. *absent*: for each row the columns that are left
        unchanged."""
        requests, rows = [], []
        errors: dict[int, Exception] = {}
        for row, cells in self.encoder.rows(batch, errors):
            now = None if self._timestamp is None else struct.pack(">q", self._timestamp + self._written + row)
            try:
                groups = self._groups(cells, now, frozenset() if absent is None else absent[row])
            except ValueError as error:
                errors[row] = error
                continue
            for names, ttl, written in groups:
                text = self._text(names, ttl is not None, written is not None)
                values = [cells[name] for name in names]
                values += [time for time in (ttl, written) if time is not None]
                requests.append(self._statements.bound(text, values))
                rows.append(row)
        self._written += batch.num_rows
        self._statements.execute(requests, rows, errors)
        return errors

    def close(self) -> None:
        """Do nothing: no resource is held."""

    def _groups(
        self, cells: Mapping[str, Cell], now: Cell, absent: frozenset[str]
    ) -> list[tuple[tuple[str, ...], Cell, Cell]]:
        """Return the columns of the row grouped by their times, each group with its key; a group of the key alone if
        the row has no values."""
        table = self._table
        is_row = self._has_rows and all(cells[name] is not None for name in table.clustering_key)
        groups: dict[tuple[Cell, Cell, bool], list[str]] = defaultdict(list)
        for name in self._values:
            is_static = name in table.statics
            if cells[name] is not None or (self._deletes and name not in absent and (is_row or is_static)):
                ttl, written = (cells[column] if column else None for column in self._times[name])
                groups[self._ttl if ttl is None else ttl, now if written is None else written, is_static].append(name)
        found = []
        for (ttl, written, is_static), names in groups.items():
            key = table.partition_key if is_static else table.key
            _require(table, key, cells)
            found.append(((*key, *names), ttl, written))
        if is_row and all(is_static for _, _, is_static in groups):
            found.append((tuple(table.key), self._ttl, now))
        return found

    def _text(self, names: tuple[str, ...], ttl: bool, written: bool) -> str:
        using = " AND ".join(["TTL ?"] * ttl + ["TIMESTAMP ?"] * written)
        text = f"INSERT INTO {self._table.name} ({quoted(list(names))}) VALUES ({', '.join('?' * len(names))})"
        return text + (f" USING {using}" if using else "")


class _RowEncoder:
    """Encodes rows of record batches to the bytes of their cells, as ``session.ingest`` sends them."""

    def __init__(self, codecs: Mapping[str, Any], partition_key: Sequence[str]) -> None:
        self.codecs = codecs
        self._names = list(codecs)
        self._plan = IngestPlan(list(codecs.items()), partition_key=partition_key, nulls="null", tokens=False)

    def rows(self, batch: Any, errors: dict[int, Exception]) -> Iterator[tuple[int, dict[str, Cell]]]:
        """Yield row numbers and cells; rows that cannot be encoded are put into *errors* instead. Raise ValueError if a
        column cannot be converted to the type of the table's column."""
        schema, array = batch.__arrow_c_array__()
        rows = self._plan.reader(schema).rows(array)
        for row in range(len(rows)):
            try:
                data = rows.encode(row)[0]
            except ValueError as error:
                errors[row] = error
                continue
            yield row, dict(zip(self._names, _cells(data), strict=True))


class _Statements:
    """Prepared statements by text, and rows bound to them as bytes."""

    def __init__(self, session: Any, consistency_level: int | None, is_idempotent: bool) -> None:
        self._session = session
        self._level = consistency_level
        self._is_idempotent = is_idempotent
        self._prepared: dict[str, Any] = {}

    def codecs(self, text: str) -> dict[str, Any]:
        """Return the codecs by column name of the bind markers of *text*."""
        return {name: codec for _, _, name, codec in self._of(text)._bind_plan.specs}

    def bound(self, text: str, values: Sequence[Cell]) -> tuple[BoundStatement, None]:
        statement = BoundStatement(self._of(text))
        statement.values = values
        return statement, None

    def execute(self, requests: list[Any], rows: list[int], errors: dict[int, Exception]) -> None:
        """Execute *requests* and store errors in *errors* under their *rows*."""
        results = execute_concurrent(self._session, requests, concurrency=CONCURRENT, raise_on_first_error=False)
        for row, (success, result) in zip(rows, results, strict=True):
            if not success:
                errors.setdefault(row, result)

    def _of(self, text: str) -> Any:
        prepared = self._prepared.get(text)
        if prepared is None:
            prepared = self._prepared[text] = self._session.prepare(text)
            prepared.is_idempotent = self._is_idempotent
            if self._level is not None:
                prepared.consistency_level = self._level
        return prepared


def _cells(data: bytes) -> Iterator[Cell]:
    at = 0
    while at < len(data):
        begin = at + 4
        size = int.from_bytes(data[at:begin], "big", signed=True)
        at = begin + max(size, 0)
        yield None if size < 0 else data[begin:at]


def _join_cells(cells: Sequence[Cell]) -> bytes:
    """Return one byte string for *cells*; different cells give different strings."""
    return b"".join(len(cell or b"").to_bytes(4, "big") + (cell or b"") for cell in cells)


def _require(table: Table, key: Sequence[str], cells: Mapping[str, Cell]) -> None:
    for name in key:
        if cells.get(name) is None:
            raise ValueError(f"column '{name}': null in a column of the primary key")


# ---- the writer of a table

OFTEN = 10.0  # seconds between two checkpoints


class SourceBatch(NamedTuple):
    """Rows: a record batch of PyArrow, with their *origin* and their numbers there. *absent*: for each row the columns
    that it does not have; None if all rows have all of them."""

    batch: Any
    origin: Any
    numbers: Sequence[int]
    absent: Sequence[frozenset[str]] | None = None

    def slice(self, first: int, count: int) -> SourceBatch:
        """Return *count* rows from *first* on, or as many as there are."""
        absent = None if self.absent is None else self.absent[first : first + count]
        numbers = self.numbers[first : first + count]
        return SourceBatch(self.batch.slice(first, count), self.origin, numbers, absent)


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


class _Pushback:
    """The batches of *source*; one that was pushed back is the next one."""

    def __init__(self, source: Iterable[SourceBatch]) -> None:
        self._source = iter(source)
        self._pushed: SourceBatch | None = None

    def __iter__(self) -> _Pushback:
        return self

    def __next__(self) -> SourceBatch:
        pushed, self._pushed = self._pushed, None
        return next(self._source) if pushed is None else pushed

    def push(self, source_batch: SourceBatch) -> None:
        self._pushed = source_batch


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
        failures: Callable[[Any, int, Exception], object] = lambda origin, row, error: None,
        shown: Callable[[int], object] = lambda rows: None,
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
        self._retries = 0
        plain = [name for name in columns if table.timed(name) is None]
        table.check(plain)
        needed = table.partition_key if set(plain) <= {*table.partition_key, *table.statics} else table.key
        if missing := [name for name in needed if name not in plain]:
            raise UsageError(f"{table.name} cannot be written without {', '.join(missing)} of its primary key")
        self._alone: CellWriter | CounterWriter | None = None
        self._sparse: CellWriter | None = None  # for rows that lack columns, where null deletes
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
            self._alone = self._cell_writer(columns)
        self._columns = plain
        self._statics = [name for name in plain if name in table.partition_key or name in table.statics]
        self._splits = bool(table.clustering_key) and any(name in table.statics for name in plain)
        self._first = table.clustering_key[0] if table.clustering_key else ""
        self._taken_batches: deque[tuple[int, Any, Sequence[int]]] = deque()
        self._statics_written: list[tuple[Any, int]] = []  # since the last checkpoint: origin and number

    def _cell_writer(self, columns: Sequence[str]) -> CellWriter:
        options = self._options
        return CellWriter(
            self._session,
            self._table,
            columns,
            options.consistency_level,
            ttl=options.ttl,
            timestamp=options.timestamp,
            nulls=options.nulls,
        )

    def write(self, batches: Iterable[SourceBatch], done: Callable[[], object]) -> None:
        """Write all *batches*. Call *done* whenever all rows taken so far are completed. Raise TooManyFailed if too
        many failed. After any error, :meth:`undone` returns the first row that may not have been written."""
        source = _Pushback(batches)
        try:
            for source_batch in source:
                self._taken_batches.clear()
                alone = self._alone
                if alone is None and self._is_sparse(source_batch):
                    alone = self._by_rows()
                if alone is not None:
                    self._write_alone(alone, source_batch)
                else:
                    self._ingest(source_batch, source)
                self._taken_batches.clear()
                self._statics_written.clear()
                self.kept_rows, self.kept_failed = self.rows, self.failed
                done()
        finally:
            if self._alone is not None:
                self._alone.close()

    def failures(self) -> str:
        """Return what is known of failed requests that are sent again, "" if there are none."""
        if not self._retries:
            return ""
        return (
            "the servers respond to reads, but reject writes or do not confirm them, which are sent again: they are "
            "overloaded, or too few replicas respond"
        )

    # -- rows that are not written

    @property
    def deletes(self) -> bool:
        """True if null deletes the stored value."""
        return self._options.nulls == "null"

    def encoded(self, batch: Any, errors: dict[int, Exception]) -> Iterator[tuple[int, dict[str, Cell]]]:
        """Yield row numbers and the bytes of the values that :meth:`write` would store; rows that it would reject are
        put into *errors* instead."""
        table = self._table
        for row, cells in self._by_rows().encoder.rows(batch, errors):
            statics = {*table.partition_key, *table.statics}
            has_row = any(cells.get(name) is not None for name in self._columns if name not in statics)
            try:
                _require(table, table.key if has_row or not table.statics else table.partition_key, cells)
            except ValueError as error:
                errors[row] = error
            else:
                yield row, cells

    def literal(self, name: str, cell: bytes) -> str:
        """Return the bytes of a value of a column as CQL."""
        value = self._by_rows().encoder.codecs[name].decode(cell, self._session.cluster.protocol_version)
        return str(self._session.encoder.cql_encode_all_types(value, as_text_type=True))

    def _by_rows(self) -> CellWriter | CounterWriter:
        if self._alone is not None:
            return self._alone
        self._sparse = self._sparse or self._cell_writer(self._columns)
        return self._sparse

    def _is_sparse(self, source_batch: SourceBatch) -> bool:
        """True if rows lack columns, and these are to be kept while null deletes."""
        return source_batch.absent is not None and self._options.nulls == "null"

    def undone(self, error: BaseException) -> tuple[Any, int] | None:
        """Return (origin, number) of the first row that may not have been written, after *error* ended :meth:`write`:
        the one after all rows taken if all of these were written. None if none was taken since the last *done*."""
        report = report_of(error)
        reached = 0
        if report is not None:
            self._count(report)
            reached = min(report.unfinished, default=report.reached)
            failed = sum(row < reached for row in report.errors)
            self.kept_rows += reached - failed
            self.kept_failed += failed
        at = self._at(reached)
        self.kept_rows += sum(at is None or place < at for place in self._statics_written)
        return at

    def _at(self, reached: int) -> tuple[Any, int] | None:
        after = None
        for first, origin, numbers in self._taken_batches:
            if reached < first + len(numbers):
                return origin, numbers[max(0, reached - first)]
            after = origin, numbers[-1] + 1
        return after

    # -- rows for session.ingest

    def _ingest(self, first: SourceBatch, source: _Pushback) -> None:
        """Write *first* and the pieces after it, until the next checkpoint is due."""
        before = self.rows
        given = self._rows_for_ingest(first, source)

        def progress(report: IngestReport) -> None:
            self._retries = report.retries
            self._shown(before + report.rows)

        report = self._call(given, self._columns, progress)
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

    def _rows_for_ingest(self, first: SourceBatch, source: _Pushback) -> Iterator[Any]:
        until = monotonic() + self._options.often
        reached = 0
        source_batch: SourceBatch | None = first
        while source_batch is not None:
            batch, numbers = source_batch.batch, source_batch.numbers
            if self._splits:
                batch, numbers = self._split(source_batch)
            if batch.num_rows:
                self._taken_batches.append((reached, source_batch.origin, numbers))
                reached += batch.num_rows
                yield batch
            source_batch = next(source, None) if monotonic() < until else None
            if source_batch is not None and self._is_sparse(source_batch):
                source.push(source_batch)
                source_batch = None

    def _split(self, source_batch: SourceBatch) -> tuple[Any, Sequence[int]]:
        """Write rows of partitions that have only static columns at once; return the other rows."""
        import pyarrow.compute as pc

        batch = source_batch.batch
        if self._first in batch.schema.names:
            alone = pc.is_null(batch.column(self._first))
            if not pc.any(alone).as_py():
                return batch, source_batch.numbers
            rows = [row for row, is_alone in enumerate(alone.to_pylist()) if is_alone]
            statics, rest = batch.filter(alone), batch.filter(pc.invert(alone))
        else:
            rows, statics, rest = list(range(batch.num_rows)), batch, batch.slice(0, 0)
        report = self._call([statics.select(self._statics)], self._statics)
        for row, error in report.errors.items():
            self._fail(source_batch.origin, source_batch.numbers[rows[row]], error)
        self.rows += report.rows
        self._statics_written += [
            (source_batch.origin, source_batch.numbers[row])
            for place, row in enumerate(rows)
            if place not in report.errors
        ]
        gone = set(rows)
        return rest, [number for row, number in enumerate(source_batch.numbers) if row not in gone]

    def _count(self, report: IngestReport) -> None:
        self.rows += report.rows
        places = iter(self._taken_batches)
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

    def _write_alone(self, alone: CellWriter | CounterWriter, source_batch: SourceBatch) -> None:
        self._taken_batches.append((0, source_batch.origin, source_batch.numbers))
        absent = source_batch.absent
        if absent is not None and isinstance(alone, CellWriter):
            errors = alone.write(source_batch.batch, absent)
        else:
            errors = alone.write(source_batch.batch)
        self.rows += source_batch.batch.num_rows - len(errors)
        for row, error in errors.items():
            self._fail(source_batch.origin, source_batch.numbers[row], error)
        self._shown(self.rows)
        self._check()
