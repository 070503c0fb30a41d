"""Bytes of files, compressed files and pipes (L6). POSIX.

An :class:`InputFile` is opened for each reading; a pipe can be opened once and read forward only. What a pipe or a
compressed file had before is kept for as long as it may be needed: :class:`RowTexts`. Compressed data that is damaged
or ends too early raises OSError, never a short read.
"""

from __future__ import annotations

import gzip
import io
import os
import select
import stat
import sys
import tempfile
import zlib
from bisect import bisect_right
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from .console import ClosedPipe, UsageError

STANDARD = "-"  # the name of the standard input or output
COMPRESSIONS = {"gzip": ".gz", "zstd": ".zst"}
GZIP_LEVEL = 6  # the default of gzip
BUFFER = 1 << 18  # bytes
ARRIVAL = 0.2  # seconds in which a block of a pipe is collected
LOOK = 1.0  # seconds between two calls of on_wait
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


def compression_of(path: Path) -> str | None:
    """Return the compression by the suffix of *path*; None if it is not compressed."""
    return next((name for name, suffix in COMPRESSIONS.items() if path.suffix.lower() == suffix), None)


def _zstd() -> Any:
    """Return the zstd module of Python 3.14, or its backport."""
    try:
        return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        raise UsageError("zstd needs the package backports.zstd: pip install 'fastcql[bulk]'") from None


def check_compression(name: str | None) -> str | None:
    """Return *name*. Raise UsageError if its module is not installed."""
    if name == "zstd":
        _zstd()
    return name


def compressing(file: Any, compression: str | None) -> Any:
    """Return a binary file that compresses what is written into *file*; *file* itself for no compression. To close it
    completes the compressed data, and leaves *file* open."""
    if compression == "gzip":
        return gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0)
    return _ZstdWriter(file) if compression == "zstd" else file


class _ZstdWriter(io.RawIOBase):
    """Compresses into *file*, with a checksum; also no data at all."""

    def __init__(self, file: Any) -> None:
        zstd = _zstd()
        self._file = file
        self._compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write all of *data*. Raise OSError."""
        self._file.write(self._compressor.compress(data))
        return memoryview(data).nbytes

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._file.write(self._compressor.flush())


def temporary_file() -> Any:
    """Return a temporary file without a name, for reading and writing."""
    return tempfile.TemporaryFile()


# ---- reading


class InputFile:
    """A file or pipe to read. ``name`` is for messages; ``is_pipe``: it cannot be read twice."""

    def __init__(self, name: str | Path, compression: str | None = None) -> None:
        """*compression*: "none", or a name; None: by the suffix. Raise UsageError if the file does not exist."""
        self.path = Path(name)
        self.name = "stdin" if str(name) == STANDARD else str(name)
        self.compression = check_compression(
            compression_of(self.path) if compression is None else None if compression == "none" else compression
        )
        #: Called about once a second while a pipe has no data.
        self.on_wait: Callable[[], object] = bool
        self._raw: Any = None
        if str(name) == STANDARD:
            self.is_pipe = True
            return
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            raise UsageError(f"file not found: {name}") from None
        except OSError as error:
            raise UsageError(str(error)) from None
        if stat.S_ISDIR(mode):
            raise UsageError(f"{name} is a folder: give its files, or only this folder if unload has written it")
        self.is_pipe = not stat.S_ISREG(mode)

    @property
    def is_seekable(self) -> bool:
        """True if any part of it can be read at once."""
        return not self.is_pipe and self.compression is None

    @property
    def identity(self) -> list[Any]:
        """What a checkpoint knows of the file."""
        if self.is_pipe:
            return [self.name]
        found = self.path.stat()
        return [str(self.path.resolve()), found.st_size, found.st_mtime_ns, self.compression]

    @property
    def size(self) -> int:
        """The bytes of the file; 0 for a pipe."""
        return 0 if self.is_pipe else self.path.stat().st_size

    @property
    def position(self) -> int:
        """The bytes of the file that were read, by the latest reading."""
        return 0 if self._raw is None or self._raw.closed else int(self._raw.tell())

    def open(self) -> Any:
        """Return a binary file that reads the data, from the beginning; decompressed. Raise OSError."""
        if self.is_pipe:
            number = os.dup(0) if self.name == "stdin" else os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            raw: Any = _PipeReader(number, lambda: self.on_wait())
        else:
            raw = self.path.open("rb")
        self._raw = raw
        return raw if self.compression is None else _Decompressed(self, raw)

    def copy(self) -> Any:
        """Return a temporary file with all of the data, at its beginning."""
        copy = temporary_file()
        try:
            file = self.open()
            while data := file.read(BUFFER):
                copy.write(data)
            file.close()
            copy.seek(0)
        except BaseException:
            copy.close()
            raise
        return copy

    def check_begin(self, begin: bytes) -> None:
        """Raise UsageError if *begin*, the first bytes, are those of a compressed file."""
        found = next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)
        if found is not None:
            raise UsageError(f"{self.name} is compressed with {found}: use --compression {found}")


class DamagedError(OSError):
    """Compressed data is damaged or incomplete."""


class _PipeReader:
    """Reads a pipe, as much as arrives within a short time. A pipe that is closed by its writer has ended."""

    def __init__(self, number: int, on_wait: Callable[[], object]) -> None:
        self._number = number
        self._on_wait = on_wait
        self._count = 0
        self.closed = False

    def read(self, size: int, least: int = 1) -> bytes:
        """Return up to *size* bytes; fewer than *least* only at the end, and no bytes only there."""
        pieces: list[bytes] = []
        count, until = 0, 0.0
        while count < size:
            left = LOOK if count < least else until - monotonic()
            if not select.select([self._number], [], [], max(0.0, left))[0]:
                if count >= least:
                    break
                self._on_wait()
                continue
            piece = os.read(self._number, min(size - count, BUFFER))
            if not piece:
                break
            until = until or monotonic() + ARRIVAL
            pieces.append(piece)
            count += len(piece)
        self._count += count
        return b"".join(pieces)

    def tell(self) -> int:
        """Return the number of bytes that were read."""
        return self._count

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self._number)


class _Decompressed:
    """The decompressed data of *raw*. Seeks forward only."""

    def __init__(self, file: InputFile, raw: Any) -> None:
        self._name, self._compression = file.name, file.compression
        self._raw = raw
        self._errors: tuple[type[BaseException], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
        if file.compression == "gzip":
            self._data: Any = gzip.GzipFile(fileobj=raw, mode="rb")
        else:
            zstd = _zstd()
            self._errors = (EOFError, zstd.ZstdError)
            self._data = zstd.ZstdFile(raw, "rb")
        self._at = 0

    def read(self, size: int) -> bytes:
        try:
            data: bytes = self._data.read(size)
        except self._errors as error:
            raise self._damaged(error) from None
        if not data and not self._raw.tell():  # compressed data of nothing has some bytes
            raise self._damaged(EOFError("it is empty"))
        self._at += len(data)
        return data

    def _damaged(self, error: BaseException) -> DamagedError:
        return DamagedError(
            f"{self._name}: the {self._compression} data is damaged or incomplete after {self._at:,} bytes of its "
            f"contents: {error}"
        )

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int) -> None:
        while self._at < offset and self.read(min(offset - self._at, BUFFER)):
            pass

    def close(self) -> None:
        self._data.close()
        self._raw.close()


# ---- rows that were read


class Mark(NamedTuple):
    """Where a block of rows is: its first row and line, its position, and its bytes."""

    row: int
    line: int
    place: Any
    size: int


class RowTexts:
    """Finds the blocks of rows that were read, for messages. Blocks of pipes and compressed files are copied to a
    temporary file without a name, until :meth:`forget`."""

    def __init__(self, file: InputFile) -> None:
        self._copies: Any = None
        self._keeps = not file.is_seekable
        self._marks: list[Mark] = []

    def clear(self) -> None:
        self._marks.clear()
        self.forget()

    def add(self, row: int, line: int, place: Any, text: bytes) -> None:
        """Add a block, after those before it."""
        if self._keeps:
            if self._copies is None:
                self._copies = temporary_file()
            place = self._copies.seek(0, os.SEEK_END)
            self._copies.write(text)
        self._marks.append(Mark(row, line, place, len(text)))

    def find(self, number: int) -> tuple[Mark, bytes | None]:
        """Return the block of a row, and its text; None if it has to be read from the file again."""
        mark = self._marks[bisect_right(self._marks, number, key=lambda mark: mark.row) - 1]
        if not self._keeps:
            return mark, None
        self._copies.seek(mark.place)
        return mark, self._copies.read(mark.size)

    def forget(self) -> None:
        """Drop the copies: no row that was read is looked up any more."""
        if self._keeps:
            self._marks.clear()
            self.close()

    def close(self) -> None:
        """Remove the temporary file."""
        if self._copies is not None:
            self._copies.close()
            self._copies = None


# ---- writing


class OutputPipe:
    """The standard output, or a named pipe. Raises ClosedPipe when its reader is gone."""

    def __init__(self, name: str) -> None:
        self.name = "stdout" if name == STANDARD else name
        if name == STANDARD:
            self._number = os.dup(1)
        else:
            self._number = os.open(name, os.O_WRONLY | os.O_CLOEXEC)

    @property
    def is_terminal(self) -> bool:
        return os.isatty(self._number)

    def write(self, data: Any) -> int:
        """Write all of *data*. Raise OSError."""
        left = memoryview(data).cast("B")
        size = left.nbytes
        try:
            while left.nbytes:
                left = left[os.write(self._number, left) :]
        except BrokenPipeError:
            raise ClosedPipe(self.name) from None
        except OSError as error:
            error.filename = self.name
            raise
        return size

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def close(self) -> None:
        if self._number >= 0:
            number, self._number = self._number, -1
            os.close(number)

    @property
    def closed(self) -> bool:
        return self._number < 0
