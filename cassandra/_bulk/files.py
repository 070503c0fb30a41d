"""Files of rows in four formats, and safe creation of all files of this program (L6). POSIX.

A file that is created here can be read only by its owner, never follows a link, and appears only when it is complete.
Files of rows are written until they are complete, and read from any row on.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from cassandra._scan.scan import Dictionaries

from .console import UsageError
from .csv_files import CsvFile, CsvWriter, Row, RowBatch
from .csv_scan import MOST_CELL_LINES
from .json_lines import JsonLinesFile, JsonLinesWriter
from .options import Dialect, Style
from .streams import COMPRESSIONS, InputFile, compressing, compression_of
from .tables import TEXTS, TIMES, Kind, arrow_type
from .texts_in import Column, read_column
from .texts_out import texts_of

UNFINISHED = ".part"  # the suffix of a file until it is complete
BUFFER = 1 << 18  # bytes
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def create_private(path: Path, *, replace: bool = False) -> BinaryIO:
    """Create a file at *path*, open for writing. *replace*: replace an existing file; else raise FileExistsError for
    one."""
    if replace:
        path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, _NEW, 0o600), "wb", BUFFER)


def append_private(path: Path, size: int | None = None) -> BinaryIO:
    """Return the file at *path*, cut to *size* bytes and open for writing at its end; a new one if it does not exist.
    Raise OSError for a link; UsageError for a file of another user and for anything but a regular file."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise UsageError(f"{path} is not a file of this user")
        if size is not None:
            os.ftruncate(number, min(size, found.st_size))
    except BaseException:
        os.close(number)
        raise
    return os.fdopen(number, "ab", BUFFER)


def read_private(path: Path) -> str:
    """Return the text of a file written by this program. Raise OSError, also for a link, and UnicodeDecodeError."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        return file.read().decode()


def is_private(path: Path) -> bool:
    """True if this user owns the file and its group and others cannot read it: the rule of cqlsh. Root may use files of
    other users."""
    found = path.stat()
    return os.geteuid() in (0, found.st_uid) and not found.st_mode & (stat.S_IRGRP | stat.S_IROTH)


def sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class PendingFile(io.RawIOBase):
    """File that appears at *path* when it is complete. Until then it is ``<path>.part``.

    *replaces*: it replaces an existing file, which stays if this one fails. The first error of a write is kept: such a
    file is never published. One thread.
    """

    def __init__(self, path: Path, *, replaces: bool = False) -> None:
        super().__init__()
        self._replaces = replaces
        self.path = path
        self.temporary = path.with_name(path.name + UNFINISHED)
        self.error: BaseException | None = None
        self._discarded = False
        self._file = create_private(self.temporary, replace=True)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write all of *data*, any bytes-like object. Raise OSError."""
        if self._discarded:  # a writer may be closed after the file was discarded
            return memoryview(data).nbytes
        try:
            return self._file.write(data)
        except BaseException as error:
            self._name_in(error)
            self.error = self.error or error
            raise

    def _name_in(self, error: BaseException) -> None:
        if isinstance(error, OSError) and error.filename is None and error.errno is not None:
            error.filename = str(self.temporary)

    def publish(self) -> None:
        """Flush buffered data to disk and rename the file to its final name. After an OSError the final name has no
        file or the previous one; if only the folder could not be synced, it has either the previous file or this
        one."""
        try:
            if self.error is not None:
                raise self.error
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self.temporary.replace(self.path)
        except BaseException as error:
            self._name_in(error)
            self.discard()
            raise
        self._discarded = True
        try:
            sync_folder(self.path.parent)
        except BaseException:
            if not self._replaces:
                self.path.unlink(missing_ok=True)
            raise

    def discard(self) -> None:
        """Remove the file, unless it was published. Later writes do nothing."""
        if self._discarded:
            return
        self._discarded = True
        with contextlib.suppress(OSError):  # buffered data may not be writable
            self._file.close()
        self.temporary.unlink(missing_ok=True)


class FolderLock:
    """Exclusive lock among processes and threads that write to *folder*, held while entered. Raise UsageError if
    another command holds it. The lock of a killed process is released with it; a lock file that is left behind does not
    matter."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.path = folder / name
        self._number = -1

    def __enter__(self) -> FolderLock:
        while True:
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_there = self._is(number)
            except BlockingIOError:
                os.close(number)
                raise UsageError(f"{self._folder} is in use: another command writes to it") from None
            except BaseException:
                os.close(number)
                raise
            if is_there:
                self._number = number
                return self
            os.close(number)  # the previous holder has just removed the file

    def _is(self, number: int) -> bool:
        try:
            return os.path.samestat(os.fstat(number), os.lstat(self.path))
        except FileNotFoundError:
            return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self._number)


def file_within(folder: Path, name: object) -> Path:
    """Return the path of the file *name* in *folder*; the file need not exist. Raise ValueError unless *name* is a
    plain file name without a path, and an existing entry is a regular file, not a link."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"invalid file name in {folder}: {name!r}")
    path = folder / name
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return path
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is not a regular file")
    return path


# ---- rows in four formats

FORMATS = {"parquet": ".parquet", "csv": ".csv", "jsonl": ".jsonl", "arrow": ".arrow"}
_SUFFIXES = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    ".csv": "csv",
}
#: Formats of text, which can be compressed as a whole.
TEXT_FORMATS = frozenset(("csv", "jsonl"))
BAD = ".bad"  # the last suffix of files with rejected rows
BATCH_ROWS = 65536
#: Types that session.ingest reads from text itself.
READ_AS_TEXT = TEXTS | {"uuid", "timeuuid", "inet", "decimal", "varint"}


class RowWriter:
    """Writes rows in a format into *output*, a binary file, which stays open."""

    def __init__(
        self,
        output: Any,
        file_format: str,
        kinds: Mapping[str, Kind],
        dialect: Dialect,
        style: Style,
        compression: str | None = None,
        streams: bool = False,
    ) -> None:
        """*compression*: of a text format. *streams*: Arrow data is a stream, not a file."""
        self.rows = 0
        self._format = file_format
        self._kinds = kinds
        self._dialect = dialect
        self._style = style
        self._streams = streams
        self._output = output
        self._compressed = compressing(output, compression if file_format in TEXT_FORMATS else None)
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        """Write the rows of a record batch of PyArrow. Raise OSError, and ValueError for text that the encoding does
        not have."""
        kinds = [self._kinds[name] for name in batch.schema.names]
        if self._format == "parquet":
            batch = without_durations(batch, kinds)
        if self._writer is None:
            self._writer = self._make_writer(batch)
        if self._format in TEXT_FORMATS:
            self._writer.write_batch(batch, kinds)
        else:
            self._writer.write_batch(batch)
        self.rows += batch.num_rows

    def _make_writer(self, batch: Any) -> Any:
        if self._format == "csv":
            return CsvWriter(self._compressed, batch.schema.names, self._dialect, self._style)
        if self._format == "jsonl":
            return JsonLinesWriter(self._compressed)
        if self._format == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetWriter(self._output, batch.schema, use_dictionary=Dictionaries().of(batch))
        import pyarrow.ipc

        return (pyarrow.ipc.new_stream if self._streams else pyarrow.ipc.new_file)(self._output, batch.schema)

    def close(self, *, empty: bool = False) -> None:
        """Complete the data. *empty*: also that of no rows, as a file without rows. Raise OSError."""
        if empty and self._writer is None:
            self._writer = self._make_writer(self._no_rows())
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        if self._compressed is not self._output:
            self._compressed.close()

    def _no_rows(self) -> Any:
        import pyarrow as pa

        schema = pa.schema([pa.field(name, arrow_type(kind)) for name, kind in self._kinds.items()])
        batch = pa.RecordBatch.from_pylist([], schema=schema)
        return without_durations(batch, list(self._kinds.values())) if self._format == "parquet" else batch


class FileWriter:
    """Writes rows to a file at *path*, which appears only when it is published."""

    def __init__(self, path: Path, file_format: str, kinds: Mapping[str, Kind], dialect: Dialect, style: Style) -> None:
        self.path = path
        self._is_broken = False
        self._file = PendingFile(path)
        self._writer = RowWriter(self._file, file_format, kinds, dialect, style, compression_of(path))

    @property
    def rows(self) -> int:
        return self._writer.rows

    def write(self, batch: Any) -> None:
        """Write the rows of a record batch of PyArrow. After any error the file is unusable: :meth:`publish` fails."""
        try:
            self._writer.write(batch)
        except BaseException:
            self._is_broken = True
            raise

    def publish(self, *, empty: bool = False) -> None:
        """Finish the file, sync it to disk, and rename it to its final name. After an error no file is left. *empty*:
        as of :meth:`RowWriter.close`."""
        try:
            if self._is_broken:
                raise OSError(f"{self.path} could not be written")
            self._writer.close(empty=empty)
            self._file.publish()
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Remove the file, unless it was published."""
        self._file.discard()
        with contextlib.suppress(Exception):  # its output is discarded; an unclosed writer would warn
            self._writer.close()


def without_durations(batch: Any, kinds: Sequence[Kind]) -> Any:
    """Return *batch* with columns that contain durations as text: Parquet has no type of months, days and
    nanoseconds."""
    import pyarrow as pa

    columns, fields = [], []
    for column, field, kind in zip(batch.columns, batch.schema, kinds, strict=True):
        has_any = any(part.name == "duration" for part in kind.walk())
        columns.append(texts_of(column, kind, Style()) if has_any else column)
        fields.append(pa.field(field.name, pa.string(), metadata=field.metadata) if has_any else field)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


class FileReader:
    """Reads the rows of a file, converted for *kinds*: columns by name."""

    def __init__(
        self,
        file: InputFile,
        file_format: str | None,
        columns: Sequence[str] | None,
        kinds: Mapping[str, Kind],
        dialect: Dialect,
        style: Style,
        most_cell_lines: int = MOST_CELL_LINES,
    ) -> None:
        """*columns*: the columns of a CSV file without a header. Raise OSError, ValueError."""
        self.file = file
        self.format = file_format or format_of(file.path)
        self._style = style
        self._kinds = kinds
        self._csv: CsvFile | None = None
        self._json: JsonLinesFile | None = None
        self._copy: Any = None  # of a pipe, for formats that are not read from the beginning to the end
        self._done = 0.0
        if self.format == "csv":
            self._csv = CsvFile(file, None if dialect.header else columns, dialect, style.null, most_cell_lines)
            self.names = self._csv.names
        elif self.format == "jsonl":
            self._json = JsonLinesFile(file, kinds)
            #: The columns that the file has, or may have.
            self.names = list(dict.fromkeys([*kinds, *self._json.first_names]))
        else:
            if file.compression is not None:
                raise ValueError(f"files of {self.format} are not compressed as a whole")
            with self._open_reader() as opened:
                self.names = list((opened.schema_arrow if self.format == "parquet" else opened.schema).names)

    @property
    def name(self) -> str:
        """The name for messages."""
        return self.file.name

    def _open_reader(self) -> Any:
        if self.file.is_pipe and self._copy is None:
            self._copy = self.file.copy()
        source: Any = self.file.path
        if self._copy is not None:
            self._copy.seek(0)
            source = os.fdopen(os.dup(self._copy.fileno()), "rb")
        if self.format == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(source)
        import pyarrow as pa
        import pyarrow.ipc

        try:
            return pyarrow.ipc.open_file(source)
        except pa.ArrowInvalid:  # perhaps a stream
            if self._copy is None:
                return pyarrow.ipc.open_stream(pa.OSFile(str(source)))
            source.seek(0)
            return pyarrow.ipc.open_stream(source)

    def batches(self, wanted: Sequence[str], first: int, ignored: Collection[str] | None = ()) -> Iterator[RowBatch]:
        """Yield the columns *wanted* of the rows from *first* on. *ignored*: names of columns that are not loaded;
        None: all others. Rows of JSON with any other name are invalid."""
        if self._json is not None:
            yield from self._json.batches(wanted, ignored, first)
            return
        source = self._csv.batches(first) if self._csv is not None else self._binary(wanted, first)
        for numbers, batch, wrong in source:
            yield self._convert_text(numbers, batch.select(list(wanted)), wrong)

    @property
    def header(self) -> str | None:
        """The header of a CSV file as it is in the file; "" if it has none, as for JSON lines. None for other
        formats."""
        return "" if self._json is not None else None if self._csv is None else self._csv.header

    def row(self, number: int) -> Row | None:
        """Return a row of a text file as it is in the file, one that :meth:`batches` has reached. None for other
        formats."""
        lines = self._csv or self._json
        return None if lines is None else lines.row(number)

    def forget(self) -> None:
        """Drop what was kept for :meth:`row`: it is called for later rows only."""
        lines = self._csv or self._json
        if lines is not None:
            lines.forget()

    def close(self) -> None:
        """Close what is open."""
        for opened in (self._csv, self._json, self._copy):
            if opened is not None:
                opened.close()

    @property
    def part(self) -> float:
        """The part of the file that was read, approximately, from 0 to 1."""
        if self.format in TEXT_FORMATS:
            return min(1.0, self.file.position / max(1, self.file.size))
        return self._done

    def _binary(self, wanted: Sequence[str], first: int) -> Iterator[tuple[Sequence[int], Any, dict[int, str]]]:
        at = 0
        with self._open_reader() as opened:
            if self.format == "parquet":
                groups: list[int] = []
                for group in range(opened.num_row_groups):
                    rows = opened.metadata.row_group(group).num_rows
                    if at + rows <= first and not groups:
                        at += rows
                    else:
                        groups.append(group)
                # One at a time: PyArrow cannot make a batch of dictionaries within structs of several row groups.
                columns = list(wanted)
                source: Any = chain.from_iterable(
                    opened.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns) for group in groups
                )
                total = opened.metadata.num_rows
            elif hasattr(opened, "get_batch"):
                source = (opened.get_batch(number) for number in range(opened.num_record_batches))
                total = sum(opened.get_batch(number).num_rows for number in range(opened.num_record_batches))
            else:
                source, total = opened, 0
            for batch in source:
                skipped = max(0, min(batch.num_rows, first - at))
                rest = batch.slice(skipped)
                if rest.num_rows:
                    yield range(at + skipped, at + batch.num_rows), rest, {}
                at += batch.num_rows
                self._done = at / total if total else 0.0

    def _convert_text(self, numbers: Sequence[int], batch: Any, wrong: dict[int, str]) -> RowBatch:
        import pyarrow as pa

        columns, dropped = [], set()
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            found = self._column(name, column)
            columns.append(found.values)
            for row, error in found.errors.items():
                wrong.setdefault(numbers[row], f"{name}: {error}")
                dropped.add(row)
        found = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        if dropped:
            left = [row for row in range(batch.num_rows) if row not in dropped]
            found = found.take(pa.array(left, pa.int64()))
            numbers = [numbers[row] for row in left]
        return RowBatch(numbers, found, wrong)

    def _column(self, name: str, column: Any) -> Column:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self._kinds.get(name, TIMES)
        if self._csv is not None:
            return read_column(column, kind, self._style)
        if kind.name in READ_AS_TEXT or not _is_text(column.type):
            return Column(column, {})
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        return read_column(pc.cast(column, pa.string()), kind, Style())


def _is_text(type_: Any) -> bool:
    """True if an Arrow type is a text type, in any layout."""
    from pyarrow import types

    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _is_text(type_.value_type)
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def format_of(path: Path) -> str:
    """Return the format by the suffix of *path*, before those of compression and of rejected rows; CSV if it is
    unknown."""
    return known_format(path) or "csv"


def known_format(path: Path) -> str | None:
    """As :func:`format_of`, but None if the suffix is unknown."""
    while path.suffix.lower() in (BAD, *COMPRESSIONS.values()):
        path = path.with_suffix("")
    return _SUFFIXES.get(path.suffix.lower())


def need_pyarrow() -> None:
    """Raise UsageError if PyArrow is not installed. It is imported with the first rows, while the servers read on."""
    if find_spec("pyarrow") is None:
        raise UsageError("this command needs PyArrow: pip install 'fastcql[bulk]'")
