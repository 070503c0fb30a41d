"""Files of rows in three formats, and safe creation of all files of this program (L6). POSIX.

A file that is created here can be read only by its owner, never follows a link, and appears only when it is complete.
Files of rows are written until they are complete, and read from any row on.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from cassandra._scan.files import Dictionaries

from .console import UsageError
from .csv_files import CsvFile, CsvWriter, Row
from .csv_scan import MOST_CELL_LINES
from .options import Dialect, Style
from .tables import TEXTS, Kind
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
            self.error = self.error or error
            raise

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
        except BaseException:
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


# ---- rows in three formats

FORMATS = {"parquet": ".parquet", "csv": ".csv", "arrow": ".arrow"}
BATCH_ROWS = 65536
#: Types that session.ingest reads from text itself.
READ_AS_TEXT = TEXTS | {"uuid", "timeuuid", "inet", "decimal", "varint"}
#: Kind of time-to-live and write-time columns.
TIMES = Kind("bigint")


class FileWriter:
    """Writes rows to a file at *path*, which appears only when it is published."""

    def __init__(self, path: Path, file_format: str, kinds: Mapping[str, Kind], dialect: Dialect, style: Style) -> None:
        self.path = path
        self.rows = 0
        self._format = file_format
        self._kinds = kinds
        self._dialect = dialect
        self._style = style
        self._is_broken = False
        self._file = PendingFile(path)
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        """Write the rows of a record batch of PyArrow. After any error the file is unusable: :meth:`publish` fails."""
        try:
            self._write(batch, [self._kinds[name] for name in batch.schema.names])
        except BaseException:
            self._is_broken = True
            raise
        self.rows += batch.num_rows

    def _write(self, batch: Any, kinds: list[Kind]) -> None:
        if self._format == "parquet":
            batch = without_durations(batch, kinds)
        if self._writer is None:
            self._writer = self._to_file_batch(batch)
        if self._format == "csv":
            self._writer.write_batch(batch, kinds)
        else:
            self._writer.write_batch(batch)

    def _to_file_batch(self, batch: Any) -> Any:
        if self._format == "csv":
            return CsvWriter(self._file, batch.schema.names, self._dialect, self._style)
        if self._format == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetWriter(self._file, batch.schema, use_dictionary=Dictionaries().of(batch))
        import pyarrow.ipc

        return pyarrow.ipc.new_file(self._file, batch.schema)

    def publish(self) -> None:
        """Finish the file, sync it to disk, and rename it to its final name. After an error no file is left."""
        try:
            if self._is_broken:
                raise OSError(f"{self.path} could not be written")
            if self._writer is not None:
                self._writer.close()
            self._writer = None
            self._file.publish()
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Remove the file, unless it was published."""
        self._file.discard()
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(Exception):  # its output is discarded; an unclosed writer would warn
                writer.close()


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
        path: Path,
        file_format: str | None,
        columns: Sequence[str] | None,
        kinds: Mapping[str, Kind],
        dialect: Dialect,
        style: Style,
        most_cell_lines: int = MOST_CELL_LINES,
    ) -> None:
        """*columns*: the columns of a CSV file without a header. Raise OSError, ValueError."""
        self.path = path
        self._format = file_format or format_of(path)
        self._style = style
        self._kinds = kinds
        self._csv: CsvFile | None = None
        if self._format == "csv":
            self._csv = CsvFile(path, None if dialect.header else columns, dialect, style.null, most_cell_lines)
            self.names = self._csv.names
        else:
            with self._open_reader() as opened:
                self.names = list((opened.schema_arrow if self._format == "parquet" else opened.schema).names)

    def _open_reader(self) -> Any:
        if self._format == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(self.path)
        import pyarrow.ipc

        return pyarrow.ipc.open_file(self.path)

    def batches(self, wanted: Sequence[str], first: int) -> Iterator[tuple[Sequence[int], Any, dict[int, str]]]:
        """Yield the columns *wanted* of the rows from *first* on: (row numbers, record batch, errors by row number).
        Rows with an error are not in the batch."""
        source = self._csv.batches(first) if self._csv is not None else self._binary(wanted, first)
        for numbers, batch, wrong in source:
            yield self._convert_text(numbers, batch.select(list(wanted)), wrong)

    @property
    def header(self) -> str | None:
        """The header of a CSV file as it is in the file; "" if it has none. None for other formats."""
        return None if self._csv is None else self._csv.header

    def row(self, number: int) -> Row | None:
        """Return a row of a CSV file as it is in the file, one that :meth:`batches` has reached. None for other
        formats."""
        return None if self._csv is None else self._csv.row(number)

    def _binary(self, wanted: Sequence[str], first: int) -> Iterator[tuple[Sequence[int], Any, dict[int, str]]]:
        at = 0
        with self._open_reader() as opened:
            if self._format == "parquet":
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
            else:
                source = (opened.get_batch(number) for number in range(opened.num_record_batches))
            for batch in source:
                skipped = max(0, min(batch.num_rows, first - at))
                rest = batch.slice(skipped)
                if rest.num_rows:
                    yield range(at + skipped, at + batch.num_rows), rest, {}
                at += batch.num_rows

    def _convert_text(
        self, numbers: Sequence[int], batch: Any, wrong: dict[int, str]
    ) -> tuple[Sequence[int], Any, dict[int, str]]:
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
        return numbers, found, wrong

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
    """Return the format by the suffix of *path*; CSV if the suffix is unknown."""
    suffix = path.suffix.lower()
    if suffix in (".arrow", ".feather", ".ipc"):
        return "arrow"
    return "parquet" if suffix in (".parquet", ".pq") else "csv"


def need_pyarrow() -> None:
    """Raise UsageError if PyArrow is not installed. It is imported with the first rows, while the servers read on."""
    if find_spec("pyarrow") is None:
        raise UsageError("this command needs PyArrow: pip install 'fastcql[bulk]'")
