"""Files that only their owner can read, that never follow a link, and that appear only when complete (L6).

All files of this program are created here. POSIX.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from .errors import UsageError

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
