"""Rows that were not loaded (L6): an error file with the reasons, and a file with the rows, to be corrected and
loaded."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cassandra._base.logs import printable

from .csv_scan import UNDECODED
from .files import FileReader
from .private import append_private
from .showing import Showing

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
        self, path: Path, readers: Sequence[FileReader], encoding: str, showing: Showing, state: Mapping[str, Any]
    ) -> None:
        """*state*: the result of the last :meth:`save`; files are cut to the size that they had then."""
        self.path = path
        self.unreadable: int = state.get("unreadable", 0)
        self._readers = readers
        self._encoding = encoding
        self._showing = showing
        self._sizes: dict[str, int] = dict(state.get("sizes", {}))
        self._noted = self.unreadable
        self._inputs = {reader.path.resolve() for reader in readers}
        self._files: dict[str, io.TextIOWrapper] = {}
        self._names: dict[str, str] = {}  # of files with refused rows, by header
        self._held: list[_Refusal] = []
        self._shown = 0

    def add(self, file: int, number: int, message: str, is_unreadable: bool) -> None:
        """Add a row of the file with this index. *is_unreadable*: it was not sent to a server."""
        found = _Refusal(file, number, _ROW_OF_INGEST.sub(r"\1: ", message), is_unreadable)
        self.unreadable += is_unreadable
        self._held.append(found)
        if len(self._held) > MOST_HELD:
            self._write(self._held)
            self._held = []
        self._shown += 1
        if self._shown <= SHOWN:
            self._showing.note(self._line(found))
        elif self._shown == SHOWN + 1:
            self._showing.note(f"more errors are in {self.path}")

    def save(self, until: tuple[int, int]) -> dict[str, Any]:
        """Write the rows before *until*, a file and the number of a row. Return the state, for a checkpoint."""
        self._write([found for found in self._held if found[:2] < until])
        self._held = [found for found in self._held if found[:2] >= until]
        for name, file in self._files.items():
            file.flush()
            self._sizes[name] = os.fstat(file.fileno()).st_size
        return {"sizes": dict(self._sizes), "unreadable": self._noted}

    def close(self) -> None:
        """Write the remaining rows and close the files."""
        try:
            self._write(self._held)
        finally:
            self._held = []
            for file in self._files.values():
                file.close()

    def _line(self, found: _Refusal) -> str:
        reader = self._readers[found.file]
        row = reader.row(found.number)
        where = f"row {found.number}" if row is None else f"line {row.line}"
        return printable(f"{reader.path}: {where}: {found.message}")

    def _write(self, refusals: Sequence[_Refusal]) -> None:
        for found in sorted(refusals):
            self._noted += found.is_unreadable
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
