"""``load``: load files into a table (L6).

Rows that are not loaded are in an error file, with the reasons, and in a file of rows, to be corrected and loaded.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol

from cassandra._base.logs import printable
from cassandra._ingest.target import MAX_TTL

from .connecting import Context, columns_of
from .console import DIFFERENT, DONE, MOST_SHOWN, ProgressDisplay, TooManyFailed, UsageError, case_hint, tell
from .csv_files import OTHER_DELIMITERS, RowBatch, delimiter_option
from .csv_scan import MOST_CELL_LINES, UNDECODED
from .files import BAD, FileReader, append_private, need_pyarrow
from .json_lines import ENCODING
from .options import Dialect, Style, check_copy_options, dialect_of, style_of
from .streams import STANDARD, DamagedError, InputFile
from .tables import Table
from .unloading import Checkpoint, read_manifest
from .waiting import Pace
from .writer import SourceBatch, TableWriter, WriteOptions

SHOWN = 10  # errors shown on the terminal; the others are counted
MOST_HELD = 100_000  # rows between two checkpoints


class _Refusal(NamedTuple):
    file: int
    number: int
    message: str
    is_unreadable: bool


class RefusedRows:
    """``<name>.err`` has a line for each row: its file, its line there, the reason. Rows of CSV are in ``<name>.bad``,
    after the header, in the encoding of the input; rows of a file with another header in ``<name>.2.bad`` and so on.
    JSON lines are in ``<name>.jsonl.bad``. None of them is compressed.

    Files are created with their first row, readable only by their owner. An input file is not overwritten: the rows go
    to the next name. Rows are held until :meth:`save`, which takes the progress of the load: so rows that are read
    again after ``--resume`` are written once. One thread.
    """

    def __init__(
        self,
        path: Path,
        readers: Sequence[FileReader],
        encoding: str,
        display: ProgressDisplay,
        state: Mapping[str, Any],
    ) -> None:
        """*state*: the result of the last :meth:`save`; files are cut to the size that they had then."""
        self.path = path
        self.unreadable: int = state.get("unreadable", 0)
        self._readers = readers
        self._encoding = encoding
        self._showing = display
        self._sizes: dict[str, int] = dict(state.get("sizes", {}))
        self._last_noted = self.unreadable
        self._inputs = {reader.file.path.resolve() for reader in readers}
        self._files: dict[str, io.TextIOWrapper] = {}
        self._names: dict[tuple[str, str], str] = {}  # of files with refused rows, by format and header
        self._pending: list[_Refusal] = []
        self._shown = 0

    def add(self, file: int, number: int, message: str, is_unreadable: bool) -> None:
        """Add a row of the file with this index. *is_unreadable*: it was not sent to a server."""
        found = _Refusal(file, number, reason_of(message), is_unreadable)
        self.unreadable += is_unreadable
        self._pending.append(found)
        if len(self._pending) > MOST_HELD:
            self._write(self._pending)
            self._pending = []
        self._shown += 1
        if self._shown <= SHOWN:
            self._showing.note(self._line(found))
        elif self._shown == SHOWN + 1:
            self._showing.note(f"more errors are in {self.path}")

    def save(self, until: tuple[int, int]) -> dict[str, Any]:
        """Write the rows before *until*, a file and the number of a row. Return the state, for a checkpoint. Raise
        OSError."""
        self._write([found for found in self._pending if found[:2] < until])
        self._pending = [found for found in self._pending if found[:2] >= until]
        for name, file in self._files.items():
            with _naming(name):
                file.flush()
            self._sizes[name] = os.fstat(file.fileno()).st_size
        return {"sizes": dict(self._sizes), "unreadable": self._last_noted}

    def close(self) -> None:
        """Write the remaining rows and close the files. Raise OSError."""
        pending, self._pending = self._pending, []
        try:
            self._write(pending)
            for name, file in self._files.items():
                with _naming(name):
                    file.flush()
        finally:
            for file in self._files.values():
                with suppress(OSError):  # of text that could not be written, which was raised before
                    file.close()

    def _line(self, found: _Refusal) -> str:
        return printable(f"{place_of(self._readers[found.file], found.number)}: {found.message}")

    def _write(self, refusals: Sequence[_Refusal]) -> None:
        for found in sorted(refusals):
            self._last_noted += found.is_unreadable
            self._put(str(self.path), "utf8", self._line(found) + "\n")
            reader = self._readers[found.file]
            row = reader.row(found.number)
            if row is not None:
                text = row.text if row.text.endswith(("\n", "\r")) else row.text + "\n"
                encoding = self._encoding if reader.format == "csv" else ENCODING
                self._put(self._bad(reader.format, reader.header or ""), encoding, text, reader.header or "")

    def _put(self, name: str, encoding: str, text: str, header: str = "") -> None:
        """Write *text* to a file, after *header* if it is new."""
        with _naming(name):
            is_new = name not in self._files
            file = self._open(name, encoding)
            if is_new and not os.fstat(file.fileno()).st_size:
                file.write(header)
            file.write(text)

    @property
    def bad_files(self) -> list[str]:
        """The files that have refused rows."""
        return sorted(name for name in self._sizes.keys() | self._files.keys() if name != str(self.path))

    def _bad(self, file_format: str, header: str) -> str:
        """Return the name of the file for rows of this format, after this header."""
        key = file_format, header
        if key not in self._names:
            end = BAD if file_format == "csv" else f".{file_format}{BAD}"
            count = sum(known == file_format for known, _ in self._names)
            while True:
                count += 1
                path = self.path.with_suffix(end if count == 1 else f".{count}{end}")
                if path != self.path and path.resolve() not in self._inputs and str(path) not in self._names.values():
                    break
            self._names[key] = str(path)
        return self._names[key]

    def _open(self, name: str, encoding: str) -> io.TextIOWrapper:
        found = self._files.get(name)
        if found is None:
            file = append_private(Path(name), self._sizes.get(name, 0))
            # Text appended to a file that has rows gets no byte order mark.
            found = self._files[name] = io.TextIOWrapper(file, encoding=encoding, errors=UNDECODED, newline="")
        return found


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Add the name of the file to OSError."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or name
        raise


# ---- the command

MOST_TIMESTAMP = 1 << 62  # microseconds; it rises with the rows


def load(context: Context) -> int:
    need_pyarrow()
    arguments = context.arguments
    files, manifest = _files(arguments.files, arguments.compression)
    if arguments.resume and (pipes := [file.name for file in files if file.is_pipe]):
        raise UsageError(f"a load of a pipe ({pipes[0]}) cannot be resumed: use --skip-rows to omit rows of its input")
    session = context.session()
    table = context.table(session, arguments.table)
    options = dict(context.copy_options("from", table))
    given = columns_of(arguments.columns)
    file_format = arguments.format
    dialect, style = dialect_of(options), style_of(options, arguments.as_cqlsh)
    check_copy_options(dialect, style)
    in_files = given or table.columns
    if manifest is not None:
        in_files = list(manifest["columns"])
        file_format = file_format or manifest["format"]
        if manifest["csv"] is not None:
            dialect, style = Dialect(**manifest["csv"]["dialect"]), Style(**manifest["csv"]["style"])
    most_lines = options.get("maxcelllines", MOST_CELL_LINES)
    readers = [_reader(file, file_format, in_files, table, dialect, style, most_lines) for file in files]
    skipped = options.get("skipcols", ())
    wanted = _columns_to_load(readers, table, given, skipped)
    if arguments.resume and table.counters:
        raise UsageError("a load of counters cannot be resumed: counters would be added twice")
    skip, most = options.get("skiprows", 0), options.get("maxrows", -1)
    if arguments.dry_run is not None:
        most = skip + arguments.dry_run if most < 0 else min(most, skip + arguments.dry_run)
    source = _Source(readers, wanted, None if given else skipped, skip, most)
    writing = WriteOptions(
        ttl=_within("--ttl", None if options.get("ttl") == -1 else options.get("ttl"), 0, MAX_TTL),
        timestamp=_within("--timestamp", arguments.timestamp, -MOST_TIMESTAMP, MOST_TIMESTAMP),
        nulls=arguments.nulls,
        consistency_level=context.writes,
        batch_rows=max(1, options.get("maxbatchsize", 32)),
        counters=arguments.counters,
        most_errors=options.get("maxinserterrors", 1000),
        often=arguments.checkpoint_every,
    )
    if arguments.dry_run is not None:
        writer = TableWriter(session, table, wanted or table.columns, writing)
        return preview(context, table, source, writer)
    what = {
        "command": "load",
        "table": table.identity,
        "columns": wanted,
        "options": {name: options.get(name) for name in ("skiprows", "maxrows", "skipcols", "ttl")},
        "csv": [dialect._asdict(), style._asdict()],
        "files": [file.identity for file in files],
    }
    checkpoint = Checkpoint(context.checkpoint(f"load-{table.file_name}.json"), what)
    if arguments.resume:
        checkpoint.resume()
    display = context.display(f"load {table.name}")
    error_path = Path(options.get("errfile") or f"load-{table.file_name}.err")
    refused = RefusedRows(error_path, readers, dialect.encoding, display, checkpoint.state.get("refused", {}))
    most_unreadable = options.get("maxparseerrors", -1)
    work = _Load(context, session, table, source, wanted, writing, most_unreadable, checkpoint, display, refused)
    return work.run()


def _files(names: list[str], compression: str | None) -> tuple[list[InputFile], Mapping[str, Any] | None]:
    """Return the files; for a folder written by ``unload`` its files and its manifest."""
    if len(names) == 1 and Path(names[0]).is_dir():
        paths, manifest = read_manifest(Path(names[0]))
        return [InputFile(path) for path in paths], manifest
    if names.count(STANDARD) > 1:
        raise UsageError("the standard input can be read once")
    return [InputFile(name, compression) for name in names], None


def _reader(
    file: InputFile,
    file_format: str | None,
    columns: list[str],
    table: Table,
    dialect: Dialect,
    style: Style,
    most_cell_lines: int,
) -> FileReader:
    import pyarrow as pa

    try:
        return FileReader(file, file_format, columns, table.kinds, dialect, style, most_cell_lines)
    except DamagedError as error:
        raise DamagedError(f"{error}; no rows were loaded") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{file.name} cannot be read: {error}") from None


def _columns_to_load(readers: list[FileReader], table: Table, given: list[str] | None, skipped: Any) -> list[str]:
    """Return the columns to load, the same for each file."""
    if not readers:
        return []
    fixed = [reader for reader in readers if reader.format != "jsonl"]  # each row of JSON has its own columns
    first = (fixed or readers)[0]
    names = list(dict.fromkeys(name for reader in fixed[:1] or readers for name in reader.names))
    for reader in fixed:
        if set(reader.names) != set(names):
            raise UsageError(f"{reader.name} has different columns than {first.name}: {', '.join(reader.names)}")
    if fixed and (unknown := [name for name in skipped if name not in names]):
        raise UsageError(f"the files have no column {', '.join(unknown)}, which --skip-cols names")
    wanted = [name for name in (given or names) if name not in skipped]
    if missing := [name for name in wanted if name not in names]:
        raise UsageError(f"the files have no column {', '.join(missing)}{case_hint(missing, names)}")
    if unknown := [name for name in wanted if name not in table.kinds and table.timed(name) is None]:
        hint = "; use --header if the first line has names" if first.format == "csv" else ""
        by_case = case_hint(unknown, table.columns)
        if by_case and first.header:
            by_case += "; to replace the header, use --skip-rows 1 and --columns, without --header"
        hint = delimiter_hint(names) or by_case or f": use --columns or --skip-cols{hint}"
        raise UsageError(f"{table.name} has no column {', '.join(unknown)}{hint}")
    return wanted


def delimiter_hint(names: list[str]) -> str:
    """Return a hint if *names*, those of a header, look like names with another delimiter between them."""
    marks = [mark for mark in OTHER_DELIMITERS if len(names) == 1 and mark in names[0]]
    return f": the header is one column, use {delimiter_option(marks[0])}" if marks else ""


def _within(option: str, value: int | None, least: int, most: int) -> int | None:
    if value is not None and not least <= value <= most:
        raise UsageError(f"{option} must be from {least} to {most}, not {value}")
    return value


class _Source:
    """The rows of the files, one file after the other. ``next`` is the first row that is not read yet."""

    def __init__(
        self, readers: list[FileReader], wanted: list[str], ignored: Collection[str] | None, skip: int, most: int
    ) -> None:
        self.readers = readers
        #: The number of rows in all files before a file.
        self.passed: dict[int, int] = {0: 0}
        self.next = (0, 0)
        self._wanted = wanted
        self._ignored = ignored
        self._skip = skip
        self._most = most
        self._sizes = [reader.file.size for reader in readers]
        #: Of the last batches: the number of rows up to it, and the part of the files that was read then.
        self._parts: tuple[tuple[int, float | None], tuple[int, float | None]] = ((0, 0.0), (0, 0.0))

    def begin_at(self, file: int, row: int, passed: int) -> None:
        """Set the first row to read; *passed*: the number of rows in all files before this file."""
        self.next = (file, row)
        self.passed = {file: passed}

    def batches(self, unreadable: Callable[[int, int, str], object], pace: Pace) -> Iterator[SourceBatch]:
        """Yield the rows, at this *pace*; call *unreadable* with file, row and reason for the others."""
        file, row = self.next
        while file < len(self.readers):
            end = row
            for found in self.readers[file].batches(self._wanted, row, self._ignored):
                numbers, wrong = found.numbers, found.wrong
                end = max([end, *(number + 1 for number in wrong), *(numbers[-1:] and [numbers[-1] + 1])])
                rows, is_last = self._remove_excluded(self.passed[file], found)
                for number, message in sorted(rows.wrong.items()):
                    unreadable(file, number, message)
                self._parts = self._parts[1], (self._parts[1][0] + len(rows.numbers), self._read_part(file))
                for part in pace.batches([SourceBatch(rows.batch, file, rows.numbers, rows.absent)]):
                    is_whole = part.numbers[-1:] == rows.numbers[-1:]
                    self.next = (file, end if is_whole else part.numbers[-1] + 1)
                    yield part
                if is_last:
                    return
            self.passed[file + 1] = self.passed[file] + end
            file, row = file + 1, 0
            self.next = (file, 0)

    def _remove_excluded(self, passed: int, rows: RowBatch) -> tuple[RowBatch, bool]:
        """Remove the rows that --skip-rows and --max-rows exclude; the last value is True if no rows follow."""
        numbers, batch, wrong, absent = rows
        begin, end = self._skip - passed, self._most - passed
        is_last = self._most >= 0 and any(number >= end for number in (*numbers[-1:], *wrong))
        if not is_last and all(number >= begin for number in (*numbers[:1], *wrong)):
            return rows, False
        end = end if self._most >= 0 else max([0, *numbers[-1:], *wrong]) + 1
        left = [at for at, number in enumerate(numbers) if begin <= number < end]
        first, count = (left[0], len(left)) if left else (0, 0)
        wrong = {row: text for row, text in wrong.items() if begin <= row < end}
        if absent is not None:
            absent = absent[first : first + count]
        return RowBatch(numbers[first : first + count], batch.slice(first, count), wrong, absent), is_last

    def part(self, written: int) -> float | None:
        """Return the approximate part of the files whose rows are written, the first *written* of those that were
        read; None if it is unknown."""
        (first, begin), (last, end) = self._parts
        if end is None or begin is None:
            return None
        return begin + (end - begin) * min(1.0, max(0, written - first) / max(1, last - first))

    def _read_part(self, file: int) -> float | None:
        """Return the approximate part of the files that was read."""
        total = sum(self._sizes)
        if not total or any(reader.file.is_pipe for reader in self.readers):
            return None
        return min(1.0, (sum(self._sizes[:file]) + self.readers[file].part * self._sizes[file]) / total)

    def describe(self, at: tuple[int, int]) -> str:
        """Return the place of a row for messages."""
        file, row = at
        if file == len(self.readers):
            return f"the end of {self.readers[-1].name}"
        return f"row {row} of {self.readers[file].name}"


class _Load:
    """Writes the rows of the files."""

    def __init__(
        self,
        context: Context,
        session: Any,
        table: Table,
        source: _Source,
        wanted: list[str],
        writing: WriteOptions,
        most_unreadable: int,
        checkpoint: Checkpoint,
        display: ProgressDisplay,
        refused: RefusedRows,
    ) -> None:
        self._pending = context.held
        self._pace = context.pace
        self._source = source
        for reader in source.readers:
            reader.file.on_wait = self._on_no_input
        self._is_piped = any(reader.file.is_pipe for reader in source.readers)
        self._checkpoint = checkpoint
        self._showing = display
        self._most_unreadable = most_unreadable
        state = checkpoint.state
        self._failed_before: int = state.get("failed", 0)
        self._rows_before: int = state.get("rows", 0)
        self._refused = refused
        self._next = (state.get("file", 0), state.get("row", 0))
        source.begin_at(*self._next, state.get("passed", 0))
        display.begin_at(self._rows_before)
        display.rejected = self._failed_before + refused.unreadable
        self._writer = TableWriter(
            session,
            table,
            wanted or table.columns,
            writing,
            failures=self._on_row_failed,
            shown=self._show,
        )
        self._look = partial(context.waits.look, session, table, context.writes, self._writer.failures)

    def _show(self, rows: int) -> None:
        self._showing.update(self._rows_before + rows, self._source.part(rows))
        self._look()

    def _on_no_input(self) -> None:
        """The servers are not the reason why nothing is written."""
        self._showing.moved_at = monotonic()

    def run(self) -> int:
        writer, display = self._writer, self._showing
        try:
            writer.write(self._source.batches(self._is_unreadable, self._pace), self._note)
        except BaseException as error:
            with self._pending:
                at = writer.undone(error)
                if at is not None:
                    self._next = at
                try:
                    self._save()
                except OSError as lost:
                    display.note(f"the progress could not be saved: {lost}")
            if not isinstance(error, UsageError):
                self._explain(error)
            if isinstance(error, TooManyFailed):
                display.note(str(error))
                return DIFFERENT
            raise
        finally:
            try:
                self._refused.close()
            finally:
                for reader in self._source.readers:
                    reader.close()
        self._checkpoint.remove()
        display.update(self._rows_before + writer.rows, 1.0)
        failed, unreadable = self._failed_before + writer.failed, self._refused.unreadable
        more = [f"{failed:,} failed"] * bool(failed) + [f"{unreadable:,} unreadable"] * bool(unreadable)
        if failed or unreadable:
            more.append("see " + ", ".join([str(self._refused.path), *self._refused.bad_files]))
        display.summary("loaded", *more)
        return DIFFERENT if failed or unreadable else DONE

    def _explain(self, error: BaseException) -> None:
        """Show what was loaded, and how to continue."""
        file, row = self._next
        skip = f"--skip-rows {self._source.passed[file] + row}"
        if self._is_piped:
            rest = f"to load the rest, repeat the input with {skip}"
        elif isinstance(error, OSError):
            rest = f"--resume continues if the files have not changed ({self._checkpoint.path}), else {skip}"
        else:
            rest = f"--resume continues ({self._checkpoint.path})"
        self._showing.note(
            f"{self._rows_before + self._writer.kept_rows:,} rows were loaded, all before "
            f"{self._source.describe(self._next)}; {rest}"
        )

    def _note(self) -> None:
        before, self._next = self._next, self._source.next
        try:
            self._save()
        except OSError:  # rejected rows since then are not recorded
            self._next = before
            raise
        for reader in self._source.readers[self._next[0] :][:1]:
            reader.forget()

    def _save(self) -> None:
        file, row = self._next
        self._checkpoint.state = {
            "file": file,
            "row": row,
            "passed": self._source.passed[file],
            "rows": self._rows_before + self._writer.kept_rows,
            "failed": self._failed_before + self._writer.kept_failed,
            "refused": self._refused.save(self._next),
        }
        if not self._is_piped:
            self._checkpoint.save()

    def _is_unreadable(self, file: int, row: int, message: str) -> None:
        self._refused.add(file, row, message, is_unreadable=True)
        self._showing.rejected += 1
        if 0 <= self._most_unreadable < self._refused.unreadable:
            raise TooManyFailed(f"{self._refused.unreadable:,} rows cannot be read, more than --max-parse-errors")

    def _on_row_failed(self, file: int, row: int, error: Exception) -> None:
        self._refused.add(file, row, str(error), is_unreadable=False)
        self._showing.rejected += 1


# ---- ``load --dry-run``
#
# ``load --dry-run``: the first rows as they would be stored. Nothing is written, to the table or to files.


_ROW_OF_INGEST = re.compile(r"\A(column '.*?' \(.*?\)), row \d+: ", re.DOTALL)
ROWS = 10  # that are read, unless the argument is another number


class Rows(Protocol):
    """The rows of files."""

    readers: list[FileReader]

    def batches(self, unreadable: Callable[[int, int, str], object], pace: Any) -> Any: ...


def preview(context: Context, table: Table, rows: Rows, writer: TableWriter) -> int:
    """Show *rows* on stdout, and their errors on stderr. Return the exit code."""
    display = context.display(f"load {table.name}")
    shown = rejected = 0

    def reject(file: int, row: int, message: str) -> None:
        nonlocal rejected
        rejected += 1
        display.note(f"{place_of(rows.readers[file], row)}: {message}")

    for batch in rows.batches(reject, context.pace):
        errors: dict[int, Exception] = {}
        for row, cells in writer.encoded(batch.batch, errors):
            show(rows.readers[batch.origin], table, batch, row, cells, writer)
            shown += 1
        for row, error in errors.items():
            reject(batch.origin, batch.numbers[row], reason_of(error))
    for reader in rows.readers:
        reader.close()
    display.note(f"load {table.name}: dry run: {shown:,} rows shown, {rejected:,} rejected; nothing was written")
    return DIFFERENT if rejected else DONE


def reason_of(error: object) -> str:
    """Return the text of an error of a row, without the number that the row has for ``session.ingest``."""
    return _ROW_OF_INGEST.sub(r"\1: ", str(error))


def place_of(reader: FileReader, number: int) -> str:
    """Return the place of a row for messages: its line in a text file, else its number."""
    row = reader.row(number)
    return f"{reader.name}: {f'row {number}' if row is None else f'line {row.line}'}"


def show(
    reader: FileReader,
    table: Table,
    batch: SourceBatch,
    row: int,
    cells: Mapping[str, bytes | None],
    writer: TableWriter,
) -> None:
    tell(place_of(reader, batch.numbers[row]))
    absent: Sequence[frozenset[str]] | None = batch.absent
    lines = []
    for name, cell in cells.items():
        column = table.metadata.columns.get(name)
        if cell is None:
            is_kept = not writer.deletes or (absent is not None and name in absent[row])
            text = "unset" if is_kept else "null"
        else:
            text = writer.literal(name, cell)
        text = printable(text)
        lines.append((name, str(column.cql_type) if column is not None else "", text))
    widths = [max(len(line[at]) for line in lines) for at in (0, 1)]
    for name, kind, text in lines:
        cut = text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "\u2026"
        tell(f"  {name:{widths[0]}}  {kind:{widths[1]}}  {cut}")
