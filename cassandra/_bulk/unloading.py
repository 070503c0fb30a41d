"""``unload``: a table into files (L6), and the checkpoints and completed ranges of all commands.

A checkpoint is a file with the progress of a command: the completed ranges of a table that is read range by range.

An unloaded file has whole token ranges, as many as reach its target size. Ranges are kept in memory until they are
complete, or, when they are large, in a file of their own. ``unload.json`` beside the files is the checkpoint and the
manifest, which ``load`` reads. A file is recorded there before it is created, and recorded with its ranges when it is
published, that is written, synced and closed without an error. Otherwise it is removed, and ``--resume`` reads its
ranges again.
"""

from __future__ import annotations

import contextlib
import json
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cassandra._base.errors import InvalidRequest, UnsupportedOperation
from cassandra._base.names import maybe_escape_name
from cassandra._routing.tokens import FULL_RING, TokenRange, merge_ranges

from .connecting import Context, columns_of
from .console import DONE, ClosedPipe, UsageError
from .files import (
    FORMATS,
    TEXT_FORMATS,
    UNFINISHED,
    FileWriter,
    FolderLock,
    PendingFile,
    RowWriter,
    file_within,
    known_format,
    need_pyarrow,
    read_private,
)
from .options import Dialect, Style, check_copy_options, dialect_of, style_of
from .streams import COMPRESSIONS, STANDARD, OutputPipe, check_compression, compression_of, temporary_file
from .tables import TIMES, TTL, WRITETIME, Table

# ---- checkpoints of commands

VERSION = 1


class Checkpoint:
    """The state of one command, in *path*. A resumed command must have the same ``what``."""

    def __init__(self, path: Path, what: Mapping[str, Any]) -> None:
        self.path = path
        self._what = json.loads(json.dumps(what))
        self.state: dict[str, Any] = {}

    def resume(self) -> bool:
        """Read the state. Return False if there is none. Raise UsageError if it is of another command."""
        try:
            text = read_private(self.path)
        except FileNotFoundError:
            return False
        try:
            found = json.loads(text)
            version, what, state = found["version"], found["what"], dict(found["state"])
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.path} is not a checkpoint of cassandra.bulk") from None
        if version != VERSION:
            raise UsageError(f"{self.path} has the format of another version of cassandra.bulk: {version}")
        if what != self._what:
            different = sorted(key for key in {*what, *self._what} if what.get(key) != self._what.get(key))
            raise UsageError(
                f"{self.path} is of a command with other options ({', '.join(different)}): repeat them, or omit "
                "--resume"
            )
        self.state = state
        return True

    def save(self) -> None:
        """Write ``state``. Raise OSError if that fails: then the old file is kept, or no file exists."""
        content = {"version": VERSION, "what": self._what, "state": self.state}
        file = PendingFile(self.path, replaces=True)
        try:
            file.write((json.dumps(content, indent=1) + "\n").encode())
            file.publish()
        except BaseException:
            file.discard()
            raise

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


# ---- ranges of a table


def part_of_ring(begin: int | None, end: int | None) -> TokenRange:
    """Return the tokens above *begin* up to *end*; None is no bound."""
    try:
        return TokenRange(FULL_RING.start if begin is None else begin, FULL_RING.end if end is None else end)
    except ValueError as error:
        raise UsageError(str(error)) from None


class Coverage:
    """The completed ranges, of *whole*."""

    def __init__(self, whole: TokenRange, done: Iterable[Sequence[int]] = ()) -> None:
        self.whole = whole
        self._done = merge_ranges([TokenRange(start, end) for start, end in done])
        self._added: list[TokenRange] = []

    def add(self, one: TokenRange) -> None:
        self._added.append(one)

    def left(self) -> list[TokenRange]:
        """Return the ranges that are still to be read."""
        return self.whole.subtract(self._merge())

    def as_lists(self) -> list[list[int]]:
        """Return the completed ranges in the form of a checkpoint."""
        return [[one.start, one.end] for one in self._merge()]

    def part(self) -> float:
        """Return the completed part of the ring, from 0 to 1."""
        return sum(one.size for one in self._merge()) / self.whole.size

    def _merge(self) -> list[TokenRange]:
        if self._added:
            self._done = merge_ranges([*self._done, *self._added])
            self._added = []
        return self._done


def scan_of(session: Any, table: str, **options: Any) -> Any:
    """Return ``session.scan(table)``; raise UsageError for options that a scan rejects."""
    try:
        scan = session.scan(table, **options)
        scan._schema()
        return scan
    except (ValueError, UnsupportedOperation, InvalidRequest) as error:
        raise UsageError(str(error)) from None


# ---- the command

MANIFEST = "unload.json"
LOCK = "unload.lock"
STANDARD_OUTPUTS = (STANDARD, "/dev/stdout")
FILE_ROWS = 1_000_000
MOST_HELD = 256 << 20  # bytes of incomplete ranges in memory


def unload(context: Context) -> int:
    need_pyarrow()
    arguments = context.arguments
    out = Path(arguments.out)
    if is_stream(out):
        return _unload_to_stream(context, out)
    session = context.session()
    table = context.table(session, arguments.table)
    request = _Request(context, session, table, _format(arguments, None))
    out.mkdir(parents=True, exist_ok=True)
    with FolderLock(out, LOCK):
        return _unload_to_folder(context, request, out)


def is_stream(out: Path) -> bool:
    """True if *out* is a file, the standard output or a named pipe; False if it is a folder."""
    if str(out) in STANDARD_OUTPUTS:
        return True
    try:
        mode = out.stat().st_mode
    except FileNotFoundError:
        return known_format(out) is not None
    return not stat.S_ISDIR(mode)


def _format(arguments: Any, out: Path | None) -> str:
    """Return the format of the output; *out*: the file or pipe, None for a folder."""
    if arguments.format is not None:
        return str(arguments.format)
    if out is None:
        return "parquet"
    return known_format(out) or "csv"


class _Request:
    """What to unload: the options of the command, and the scan."""

    def __init__(self, context: Context, session: Any, table: Table, file_format: str) -> None:
        arguments = context.arguments
        options = context.copy_options("to", table)
        self.table = table
        self.format = file_format
        self.dialect, self.style = dialect_of(options), style_of(options, arguments.as_cqlsh)
        check_copy_options(self.dialect, self.style)
        self.compression = check_compression(None if arguments.compression in (None, "none") else arguments.compression)
        if self.compression is not None and file_format not in TEXT_FORMATS:
            raise UsageError(f"--compression is for csv and jsonl; {file_format} has a compression of its own")
        columns = table.check(columns_of(arguments.columns) or table.columns)
        self.display = context.display(f"unload {table.name}")
        self._selected, self.names = with_times(table, columns, arguments, self.display)
        self.kinds = {name: table.kinds.get(name, TIMES) for name in self.names}
        self.whole = part_of_ring(options.get("begintoken"), options.get("endtoken"))
        self.most_rows = options.get("maxoutputsize", FILE_ROWS)
        if self.most_rows < 1:
            self.most_rows = FILE_ROWS
        self._session = session
        self._context = context

    def scan(self, left: list[TokenRange]) -> Any:
        return scan_of(
            self._session,
            self.table.name,
            columns=self._selected,
            where=self._context.arguments.where,
            token_range=left or None,
            consistency_level=self._context.reads,
        )

    def run(self, work: _Unload, coverage: Coverage, left: list[TokenRange], scan: Any) -> None:
        """Read the ranges *left* into *work*, and complete it."""
        context = self._context
        if left:
            with context.waits.reading(scan._reading(), self._session, self.table, context.reads) as reading:
                for event in context.pace.events(reading):
                    with context.held:
                        work.take(event)
                    self.display.update(work.rows, coverage.part())
        with context.held:
            work.finish()


def _unload_to_folder(context: Context, request: _Request, folder: Path) -> int:
    arguments, display, is_csv = context.arguments, request.display, request.format == "csv"
    csv = {"dialect": request.dialect._asdict(), "style": request.style._asdict()} if is_csv else None
    what = {
        "command": "unload",
        "table": request.table.identity,
        "where": arguments.where,
        "columns": request.names,
        "format": request.format,
        "ring": [request.whole.start, request.whole.end],
        "csv": csv,
        **({"compression": request.compression} if request.compression else {}),
    }
    checkpoint = Checkpoint(Path(arguments.checkpoint) if arguments.checkpoint else folder / MANIFEST, what)
    _prepare_folder(folder, checkpoint, arguments.resume)
    coverage = Coverage(request.whole, checkpoint.state.get("ranges", ()))
    left = coverage.left()
    scan = request.scan(left)
    work = _FolderUnload(request, folder, checkpoint, coverage)
    display.begin_at(work.saved_rows)
    checkpoint.save()
    try:
        request.run(work, coverage, left, scan)
    except BaseException:
        with context.held:
            lost = work.interrupt()
        if lost is not None:
            display.note(f"rows were read but not written to files: {lost}")
        display.note(f"{work.saved_rows:,} rows are in complete files; --resume continues")
        raise
    display.update(work.rows, 1.0)
    files = len(checkpoint.state["files"])
    display.summary("unloaded", f"{files} {'file' if files == 1 else 'files'} in {folder}")
    return DONE


def _unload_to_stream(context: Context, out: Path) -> int:
    """Unload to the standard output, to a named pipe, or to one file."""
    arguments = context.arguments
    if arguments.resume:
        raise UsageError("an unload to a file or pipe cannot be resumed: use a folder")
    is_standard = str(out) in STANDARD_OUTPUTS
    is_pipe = is_standard or out.exists()
    if is_pipe and not is_standard and stat.S_ISREG(out.stat().st_mode):
        raise UsageError(f"{out} already exists")
    if known_format(out) not in (None, *TEXT_FORMATS) and compression_of(out):
        raise UsageError(f"{known_format(out)} has a compression of its own: {out}")
    session = context.session()
    table = context.table(session, arguments.table)
    request = _Request(context, session, table, _format(arguments, out))
    if request.compression is None and arguments.compression is None and request.format in TEXT_FORMATS:
        request.compression = check_compression(compression_of(out))
    display, coverage = request.display, Coverage(request.whole)
    left = coverage.left()
    scan = request.scan(left)
    output: OutputPipe | PendingFile = (
        OutputPipe(STANDARD if is_standard else str(out)) if is_pipe else PendingFile(out)
    )
    name = output.name if isinstance(output, OutputPipe) else str(out)
    try:
        if (
            isinstance(output, OutputPipe)
            and output.is_terminal
            and (request.format not in TEXT_FORMATS or request.compression)
        ):
            raise UsageError("the output is a terminal, which cannot show this format: redirect it to a file or a pipe")
        work = _StreamUnload(request, output, coverage)
        try:
            request.run(work, coverage, left, scan)
            if isinstance(output, PendingFile):
                with context.held:
                    output.publish()
        except ClosedPipe:
            raise
        except BaseException:
            if isinstance(output, OutputPipe):
                display.note(f"{name} is incomplete: {work.written:,} rows were written")
            else:
                display.note(f"{name} was not written: a folder can be resumed")
            raise
        finally:
            work.discard()
    finally:
        if isinstance(output, PendingFile):
            output.discard()
        output.close()
    display.update(work.rows, 1.0)
    display.summary("unloaded", f"to {name}")
    return DONE


def with_times(table: Table, columns: list[str], arguments: Any, display: Any) -> tuple[list[str], list[str]]:
    """Return the select list, and the column names in the files. Raise UsageError if such a name is also a column."""
    selected, names = list(columns), list(columns)
    wanted = [what for what, asked in ((TTL, arguments.ttl), (WRITETIME, arguments.writetime)) if asked]
    for what in wanted:
        for column in columns:
            if table.has_times(column):
                name = f"{what}({column})"
                if name in table.kinds:
                    raise UsageError(f"{table.name} already has a column {name}: --{what} cannot add one of this name")
                selected.append(f"{what}({maybe_escape_name(column)})")
                names.append(name)
    without = [name for name in columns if name not in table.key and not table.has_times(name)]
    if wanted and without:
        display.note(f"{', '.join(without)}: its elements have times of their own, which are not unloaded")
    return selected, names


def read_manifest(folder: Path) -> tuple[list[Path], Mapping[str, Any]]:
    """Return the files of an unloaded folder, and the description in its manifest. Raise UsageError unless it is
    complete and names only files of this folder."""
    path = folder / MANIFEST
    try:
        text = read_private(path)
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {MANIFEST}: give its files instead") from None
    try:
        manifest = json.loads(text)
        state, what = manifest["state"], manifest["what"]
        files = [file_within(folder, file["name"]) for file in state["files"]]
        columns, file_format, csv = what["columns"], what["format"], what["csv"]
        if csv is not None:
            Dialect(**csv["dialect"]), Style(**csv["style"])
        is_valid = file_format in FORMATS and all(isinstance(name, str) for name in columns)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a manifest of unload: {error}") from None
    if not is_valid:
        raise UsageError(f"{path} is not a manifest of unload")
    if not state.get("complete"):
        raise UsageError(f"{folder} is not complete: continue with unload --resume")
    if missing := [file for file in files if not file.exists()]:
        raise UsageError(f"{folder} is missing {missing[0].name}, which was unloaded before")
    return files, what


def _prepare_folder(folder: Path, checkpoint: Checkpoint, resume: bool) -> None:
    """Remove unpublished files of a killed unload; raise UsageError if the folder has other files."""
    if resume and checkpoint.resume():
        files = _files_of(checkpoint)
        begun = checkpoint.state.pop("begun", [])
        try:
            for file in files:
                if not file_within(folder, file["name"]).exists():
                    raise UsageError(f"{folder} is missing {file['name']}, which was unloaded before")
            left = [file_within(folder, name + end) for name in begun for end in ("", UNFINISHED)]
        except (ValueError, TypeError) as error:
            raise UsageError(f"{checkpoint.path} is not a manifest of unload: {error}") from None
        noted = {file["name"] for file in files}
        for path in left:
            if path.name not in noted:
                path.unlink(missing_ok=True)
    elif left := [path for path in folder.iterdir() if path.name not in (LOCK, MANIFEST + UNFINISHED)]:
        hint = " (--resume continues an unload)" if folder / MANIFEST in left else ""
        raise UsageError(f"{folder} is not empty{hint}")


def _files_of(checkpoint: Checkpoint) -> list[dict[str, Any]]:
    """Return the files recorded in the checkpoint. Raise UsageError if it was not written by this program."""
    files = checkpoint.state.get("files", [])
    for file in files:
        if not isinstance(file, dict) or not isinstance(file.get("rows"), int) or _number_of(file.get("name")) is None:
            raise UsageError(f"{checkpoint.path} is not a manifest of unload")
    return list(files)


def _number_of(name: object) -> int | None:
    """Return the number of a file: 12 for ``ks.table-000012.parquet``."""
    text = name.rpartition("-")[2].partition(".")[0] if isinstance(name, str) else ""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else None


class _Range:
    """Batches read so far of an incomplete range. ``own``: the file that has them, if they are many."""

    __slots__ = ("batches", "nbytes", "own")

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.nbytes = 0
        self.own: Any = None


class _Unload(ABC):
    """Base of outputs. Ranges are held until they are complete: a range may restart. ``rows`` counts all rows that are
    written or held."""

    def __init__(self, request: _Request, coverage: Coverage, rows: int) -> None:
        self._request = request
        self._names = request.names
        self._coverage = coverage
        self._open: dict[int, _Range] = {}
        self._held_bytes = 0
        self.rows = rows

    def take(self, event: Any) -> None:
        import pyarrow as pa

        if event.kind == "batch":
            batch = pa.record_batch(event.batch)
            self._add(
                event.number, pa.RecordBatch.from_arrays(batch.columns, schema=self._rename_columns(batch.schema))
            )
        elif event.kind == "restarted":
            self._forget(event.number)
        else:
            self._coverage.add(event.token_range)
            one = self._open.pop(event.number, None)
            self._complete(one, event.token_range)
            if one is not None:
                self._drop(one)

    @abstractmethod
    def finish(self) -> None:
        """Complete the output: all ranges are complete."""

    @abstractmethod
    def _new_file(self) -> Any:
        """Return a new file for the batches of one range."""

    @abstractmethod
    def _discard(self, file: Any) -> None:
        """Remove a file of one range."""

    @abstractmethod
    def _complete(self, one: _Range | None, token_range: Any) -> None:
        """Write a complete range; None: it has no rows."""

    def _rename_columns(self, schema: Any) -> Any:
        """Return *schema* with the column names of the files: names of function results differ between servers."""
        import pyarrow as pa

        return pa.schema([field.with_name(name) for field, name in zip(schema, self._names, strict=True)])

    def _add(self, number: int, batch: Any) -> None:
        one = self._open.setdefault(number, _Range())
        self.rows += batch.num_rows
        if one.own is not None:
            one.own.write(batch)
            return
        one.batches.append(batch)
        one.nbytes += batch.nbytes
        self._held_bytes += batch.nbytes
        if self._held_bytes > MOST_HELD:
            self._spill()

    def _spill(self) -> None:
        """Move the largest range to a file of its own."""
        one = max(self._open.values(), key=lambda candidate: candidate.nbytes)
        one.own = self._new_file()
        for batch in one.batches:
            one.own.write(batch)
        self._drop(one)

    def _drop(self, one: _Range) -> None:
        self._held_bytes -= one.nbytes
        one.batches, one.nbytes = [], 0

    def _forget(self, number: int) -> None:
        one = self._open.pop(number, None)
        if one is not None:
            self.rows -= sum(batch.num_rows for batch in one.batches)
            if one.own is not None:
                self.rows -= one.own.rows
                self._discard(one.own)
            self._drop(one)


class _FolderUnload(_Unload):
    """Files in a folder. ``saved_rows`` counts rows in complete files."""

    def __init__(self, request: _Request, folder: Path, checkpoint: Checkpoint, coverage: Coverage) -> None:
        state = checkpoint.state
        state.setdefault("files", [])
        state.setdefault("begun", [])
        self.saved_rows: int = sum(file["rows"] for file in state["files"])
        super().__init__(request, coverage, self.saved_rows)
        self._folder = folder
        self._suffix = FORMATS[request.format] + (COMPRESSIONS[request.compression] if request.compression else "")
        self._checkpoint = checkpoint
        self._saved_coverage = Coverage(coverage.whole, coverage.as_lists())
        self._number = max((_number_of(file["name"]) or 0 for file in state["files"]), default=0)
        self._part: FileWriter | None = None
        self._in_part: list[Any] = []

    def _complete(self, one: _Range | None, token_range: Any) -> None:
        if one is not None and one.own is not None:
            self._publish(one.own, [token_range])
            return
        for batch in one.batches if one is not None else ():
            if self._part is None:
                self._part = self._new_file()
            self._part.write(batch)
        self._in_part.append(token_range)
        if self._part is not None and self._part.rows >= self._request.most_rows:
            self._publish_part()

    def _new_file(self) -> FileWriter:
        """Create a file, recorded in the checkpoint. Names of existing files are skipped."""
        path, request = self._folder, self._request
        while path == self._folder or path.is_symlink() or path.exists():
            self._number += 1
            path = self._folder / f"{request.table.file_name}-{self._number:06}{self._suffix}"
        self._checkpoint.state["begun"].append(path.name)
        self._checkpoint.save()
        return FileWriter(path, request.format, request.kinds, request.dialect, request.style)

    def _discard(self, file: FileWriter) -> None:
        file.discard()
        self._checkpoint.state["begun"].remove(file.path.name)

    def _publish_part(self) -> None:
        part, ranges = self._part, self._in_part
        self._part, self._in_part = None, []
        if part is not None:
            self._publish(part, ranges)
        else:
            self._save(ranges)

    def _publish(self, file: FileWriter, ranges: list[Any]) -> None:
        file.publish()
        state = self._checkpoint.state
        state["begun"].remove(file.path.name)
        state["files"].append({"name": file.path.name, "rows": file.rows})
        self.saved_rows += file.rows
        self._save(ranges)

    def _save(self, ranges: list[Any]) -> None:
        for one in ranges:
            self._saved_coverage.add(one)
        self._checkpoint.state["ranges"] = self._saved_coverage.as_lists()
        self._checkpoint.save()

    def finish(self) -> None:
        self._publish_part()
        self._checkpoint.state["complete"] = True
        self._checkpoint.save()

    def interrupt(self) -> Exception | None:
        """Keep complete ranges and drop the others; return the error if complete ranges cannot be saved."""
        try:
            for number in list(self._open):
                self._forget(number)
            self._publish_part()
        except (OSError, ValueError) as error:
            return error
        return None


class _HeldRange:
    """Batches of one range in a temporary file without a name."""

    def __init__(self) -> None:
        self.rows = 0
        self._file = temporary_file()
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        import pyarrow.ipc

        if self._writer is None:
            self._writer = pyarrow.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)
        self.rows += batch.num_rows

    def batches(self) -> Iterator[Any]:
        """Yield all batches; the last use of the file."""
        import pyarrow.ipc

        self._writer.close()
        self._file.seek(0)
        yield from pyarrow.ipc.open_stream(self._file)
        self._file.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._file.close()


class _StreamUnload(_Unload):
    """One file, or a pipe: each range is written when it is complete. ``written`` counts the rows written."""

    def __init__(self, request: _Request, output: Any, coverage: Coverage) -> None:
        super().__init__(request, coverage, 0)
        self.written = 0
        self._writer = RowWriter(
            output,
            request.format,
            request.kinds,
            request.dialect,
            request.style,
            request.compression,
            streams=isinstance(output, OutputPipe),
        )

    def _complete(self, one: _Range | None, token_range: Any) -> None:
        if one is None:
            return
        for batch in one.batches if one.own is None else one.own.batches():
            self._writer.write(batch)
            self.written += batch.num_rows

    def _new_file(self) -> _HeldRange:
        return _HeldRange()

    def _discard(self, file: _HeldRange) -> None:
        file.close()

    def finish(self) -> None:
        self._writer.close(empty=True)

    def discard(self) -> None:
        """Give up what is not written."""
        for number in list(self._open):
            self._forget(number)
        with contextlib.suppress(Exception):  # the output is complete, or given up
            self._writer.close()
