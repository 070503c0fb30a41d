"""``load``: load files into a table (L6).

Rows that are not loaded are in an error file, with the reasons, and in a file of rows, to be corrected and loaded.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cassandra._base.logs import printable
from cassandra._ingest.target import MAX_TTL

from .connecting import Context, columns_of
from .console import DIFFERENT, DONE, ProgressDisplay, TooManyFailed, UsageError
from .csv_scan import MOST_CELL_LINES, UNDECODED
from .files import FileReader, append_private, format_of, need_pyarrow
from .options import Dialect, Style, check_copy_options, dialect_of, style_of
from .tables import Table
from .unloading import Checkpoint, read_manifest
from .writer import SourceBatch, TableWriter, WriteOptions

SHOWN = 10  # errors shown on the terminal; the others are counted
MOST_HELD = 100_000  # rows between two checkpoints
_ROW_OF_INGEST = re.compile(r"\A(column '.*?' \(.*?\)), row \d+: ", re.DOTALL)


class _Refusal(NamedTuple):
    file: int
    number: int
    message: str
    is_unreadable: bool


class RefusedRows:
    """``<name>.err`` has a line for each row: its file, its line there, the reason. Rows of CSV are in ``<name>.bad``,
    after the header, in the encoding of the input; rows of a file with another header in ``<name>.2.bad`` and so on.

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
        self._inputs = {reader.path.resolve() for reader in readers}
        self._files: dict[str, io.TextIOWrapper] = {}
        self._names: dict[str, str] = {}  # of files with refused rows, by header
        self._pending: list[_Refusal] = []
        self._shown = 0

    def add(self, file: int, number: int, message: str, is_unreadable: bool) -> None:
        """Add a row of the file with this index. *is_unreadable*: it was not sent to a server."""
        found = _Refusal(file, number, _ROW_OF_INGEST.sub(r"\1: ", message), is_unreadable)
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
        """Write the rows before *until*, a file and the number of a row. Return the state, for a checkpoint."""
        self._write([found for found in self._pending if found[:2] < until])
        self._pending = [found for found in self._pending if found[:2] >= until]
        for name, file in self._files.items():
            file.flush()
            self._sizes[name] = os.fstat(file.fileno()).st_size
        return {"sizes": dict(self._sizes), "unreadable": self._last_noted}

    def close(self) -> None:
        """Write the remaining rows and close the files."""
        try:
            self._write(self._pending)
        finally:
            self._pending = []
            for file in self._files.values():
                file.close()

    def _line(self, found: _Refusal) -> str:
        reader = self._readers[found.file]
        row = reader.row(found.number)
        where = f"row {found.number}" if row is None else f"line {row.line}"
        return printable(f"{reader.path}: {where}: {found.message}")

    def _write(self, refusals: Sequence[_Refusal]) -> None:
        for found in sorted(refusals):
            self._last_noted += found.is_unreadable
            self._open(str(self.path), "utf8").write(self._line(found) + "\n")
            reader = self._readers[found.file]
            row = reader.row(found.number)
            if row is not None:
                text = row.text if row.text.endswith(("\n", "\r")) else row.text + "\n"
                self._bad(reader.header or "").write(text)

    @property
    def bad_files(self) -> list[str]:
        """The files that have refused rows."""
        return sorted(name for name in self._sizes.keys() | self._files.keys() if name != str(self.path))

    def _bad(self, header: str) -> io.TextIOWrapper:
        if header not in self._names:
            count = len(self._names)
            while True:
                count += 1
                path = self.path.with_suffix(".bad" if count == 1 else f".{count}.bad")
                if path != self.path and path.resolve() not in self._inputs and str(path) not in self._names.values():
                    break
            self._names[header] = str(path)
        name = self._names[header]
        is_new = name not in self._files
        file = self._open(name, self._encoding)
        if is_new and not os.fstat(file.fileno()).st_size:
            file.write(header)
        return file

    def _open(self, name: str, encoding: str) -> io.TextIOWrapper:
        found = self._files.get(name)
        if found is None:
            file = append_private(Path(name), self._sizes.get(name, 0))
            # Text appended to a file that has rows gets no byte order mark.
            found = self._files[name] = io.TextIOWrapper(file, encoding=encoding, errors=UNDECODED, newline="")
        return found


# ---- the command

MOST_TIMESTAMP = 1 << 62  # microseconds; it rises with the rows


def load(context: Context) -> int:
    need_pyarrow()
    arguments = context.arguments
    session = context.session()
    table = Table(session, arguments.table)
    options = dict(context.copy_options("from", table))
    given = columns_of(arguments.columns)
    paths, manifest = _paths(arguments.files)
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
    readers = [_reader(path, file_format, in_files, table, dialect, style, most_lines) for path in paths]
    wanted = _columns_to_load(readers, table, given, options.get("skipcols", ()))
    if arguments.resume and table.counters:
        raise UsageError("a load of counters cannot be resumed: counters would be added twice")
    what = {
        "command": "load",
        "table": table.identity,
        "columns": wanted,
        "options": {name: options.get(name) for name in ("skiprows", "maxrows", "skipcols", "ttl")},
        "csv": [dialect._asdict(), style._asdict()],
        "files": [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in paths],
    }
    checkpoint = Checkpoint(context.checkpoint(f"load-{table.file_name}.json"), what)
    if arguments.resume:
        checkpoint.resume()
    display = context.display(f"load {table.name}")
    error_path = Path(options.get("errfile") or f"load-{table.file_name}.err")
    refused = RefusedRows(error_path, readers, dialect.encoding, display, checkpoint.state.get("refused", {}))
    work = _Load(context, session, table, readers, wanted, options, checkpoint, display, refused)
    return work.run()


def _paths(names: list[str]) -> tuple[list[Path], Mapping[str, Any] | None]:
    """Return the files; for a folder written by ``unload`` its files and its manifest."""
    if len(names) == 1 and Path(names[0]).is_dir():
        return read_manifest(Path(names[0]))
    paths = [Path(name) for name in names]
    for path in paths:
        if not path.is_file():
            raise UsageError(f"file not found: {path}")
    return paths, None


def _reader(
    path: Path,
    file_format: str | None,
    columns: list[str],
    table: Table,
    dialect: Dialect,
    style: Style,
    most_cell_lines: int,
) -> FileReader:
    import pyarrow as pa

    try:
        file_format = file_format or format_of(path)
        return FileReader(path, file_format, columns, table.kinds, dialect, style, most_cell_lines)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def _columns_to_load(readers: list[FileReader], table: Table, given: list[str] | None, skipped: Any) -> list[str]:
    """Return the columns to load, the same for each file."""
    if not readers:
        return []
    names = readers[0].names
    for reader in readers:
        if set(reader.names) != set(names):
            raise UsageError(f"{reader.path} has different columns than {readers[0].path}: {', '.join(reader.names)}")
    known = [name for name in skipped if name in names]
    if len(known) < len(skipped):
        raise UsageError(f"the files have no column {', '.join(set(skipped) - set(names))}, which --skip-cols names")
    wanted = [name for name in (given or names) if name not in skipped]
    if missing := [name for name in wanted if name not in names]:
        raise UsageError(f"the files have no column {', '.join(missing)}")
    if unknown := [name for name in wanted if name not in table.kinds and table.timed(name) is None]:
        hint = "; use --header if the first line has names" if readers[0].path.suffix == ".csv" else ""
        raise UsageError(f"{table.name} has no column {', '.join(unknown)}: use --columns or --skip-cols{hint}")
    return wanted


def _within(option: str, value: int | None, least: int, most: int) -> int | None:
    if value is not None and not least <= value <= most:
        raise UsageError(f"{option} must be from {least} to {most}, not {value}")
    return value


class _Load:
    """Reads the files, one after the other, and writes their rows."""

    def __init__(
        self,
        context: Context,
        session: Any,
        table: Table,
        readers: list[FileReader],
        wanted: list[str],
        options: Mapping[str, Any],
        checkpoint: Checkpoint,
        display: ProgressDisplay,
        refused: RefusedRows,
    ) -> None:
        arguments = context.arguments
        self._pending = context.held
        self._readers = readers
        self._columns_to_load = wanted
        self._checkpoint = checkpoint
        self._showing = display
        self._skip = options.get("skiprows", 0)
        self._most = options.get("maxrows", -1)
        self._most_unreadable = options.get("maxparseerrors", -1)
        self._sizes = [reader.path.stat().st_size for reader in readers]
        state = checkpoint.state
        self._failed_before: int = state.get("failed", 0)
        self._rows_before: int = state.get("rows", 0)
        self._refused = refused
        self._next = (state.get("file", 0), state.get("row", 0))
        self._reached = self._next
        #: Number of rows in all files before a file.
        self._passed: dict[int, int] = {self._next[0]: state.get("passed", 0)}
        display.begin_at(self._rows_before)
        self._writer = TableWriter(
            session,
            table,
            wanted or table.columns,
            WriteOptions(
                ttl=_within("--ttl", None if options.get("ttl") == -1 else options.get("ttl"), 0, MAX_TTL),
                timestamp=_within("--timestamp", arguments.timestamp, -MOST_TIMESTAMP, MOST_TIMESTAMP),
                nulls=arguments.nulls,
                consistency_level=context.writes,
                batch_rows=max(1, options.get("maxbatchsize", 32)),
                counters=arguments.counters,
                most_errors=options.get("maxinserterrors", 1000),
                often=arguments.checkpoint_every,
            ),
            failures=self._on_row_failed,
            shown=lambda rows: display.update(self._rows_before + rows, self._part()),
        )

    def run(self) -> int:
        writer, display = self._writer, self._showing
        try:
            writer.write(self._batches(), self._note)
        except BaseException as error:
            with self._pending:
                at = writer.undone(error)
                if at is not None:
                    self._next = at
                self._save()
            file, row = self._next
            display.note(
                f"{self._rows_before + writer.kept_rows:,} rows were loaded, all before row {row} of "
                f"{self._readers[min(file, len(self._readers) - 1)].path}; --resume continues ({self._checkpoint.path})"
            )
            if isinstance(error, TooManyFailed):
                display.note(str(error))
                return DIFFERENT
            raise
        finally:
            self._refused.close()
        self._checkpoint.remove()
        display.update(self._rows_before + writer.rows, 1.0)
        failed, unreadable = self._failed_before + writer.failed, self._refused.unreadable
        more = [f"{failed:,} failed"] * bool(failed) + [f"{unreadable:,} unreadable"] * bool(unreadable)
        if failed or unreadable:
            more.append("see " + ", ".join([str(self._refused.path), *self._refused.bad_files]))
        display.summary("loaded", *more)
        return DIFFERENT if failed or unreadable else DONE

    def _batches(self) -> Iterator[SourceBatch]:
        file, row = self._next
        while file < len(self._readers):
            reader = self._readers[file]
            end = row
            for numbers, batch, wrong in reader.batches(self._columns_to_load, row):
                end = max([end, *(number + 1 for number in wrong), *(numbers[-1:] and [numbers[-1] + 1])])
                numbers, batch, wrong, is_last = self._remove_excluded(self._passed[file], numbers, batch, wrong)
                for number, message in sorted(wrong.items()):
                    self._is_unreadable(file, number, message)
                self._reached = (file, end)
                yield SourceBatch(batch, file, numbers)
                if is_last:
                    return
            self._passed[file + 1] = self._passed[file] + end
            file, row = file + 1, 0
            self._reached = (file, 0)

    def _remove_excluded(
        self, passed: int, numbers: Any, batch: Any, wrong: dict[int, str]
    ) -> tuple[Any, Any, dict[int, str], bool]:
        """Remove the rows that --skip-rows and --max-rows exclude; the last value is True if no rows follow."""
        begin, end = self._skip - passed, self._most - passed
        is_last = self._most >= 0 and any(number >= end for number in (*numbers[-1:], *wrong))
        if not is_last and all(number >= begin for number in (*numbers[:1], *wrong)):
            return numbers, batch, wrong, False
        end = end if self._most >= 0 else max([0, *numbers[-1:], *wrong]) + 1
        left = [at for at, number in enumerate(numbers) if begin <= number < end]
        first, count = (left[0], len(left)) if left else (0, 0)
        wrong = {row: text for row, text in wrong.items() if begin <= row < end}
        return numbers[first : first + count], batch.slice(first, count), wrong, is_last

    def _part(self) -> float | None:
        """Return the approximate part of the files that was read."""
        total = sum(self._sizes)
        return sum(self._sizes[: self._reached[0]]) / total if total and len(self._sizes) > 1 else None

    def _note(self) -> None:
        self._next = self._reached
        self._save()

    def _save(self) -> None:
        file, row = self._next
        self._checkpoint.state = {
            "file": file,
            "row": row,
            "passed": self._passed[file],
            "rows": self._rows_before + self._writer.kept_rows,
            "failed": self._failed_before + self._writer.kept_failed,
            "refused": self._refused.save(self._next),
        }
        self._checkpoint.save()

    def _is_unreadable(self, file: int, row: int, message: str) -> None:
        self._refused.add(file, row, message, is_unreadable=True)
        if 0 <= self._most_unreadable < self._refused.unreadable:
            raise TooManyFailed(f"{self._refused.unreadable:,} rows cannot be read, more than --max-parse-errors")

    def _on_row_failed(self, file: int, row: int, error: Exception) -> None:
        self._refused.add(file, row, str(error), is_unreadable=False)
