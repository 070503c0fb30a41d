"""A scan into Parquet files, one for each range, by PyArrow.

L6. A file gets its name when its range is complete; until then the name ends in ``.part``, and the file is removed if
the scan ends early.
"""

from __future__ import annotations

import contextlib
import io
import os
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from .reading import BATCH, DONE, ScanEvent

UNFINISHED = ".part"
SAMPLE = 1024  # rows
DATA_PAGE = 1 << 20  # bytes, of Parquet


def load_parquet() -> tuple[Any, Any]:
    """Import ``pyarrow`` and ``pyarrow.parquet``."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("pyarrow is required: pip install fastcql[arrow]") from error


class Dictionaries:
    """Choice of the columns with a dictionary in a Parquet file: those whose values repeat. For other columns a
    dictionary makes the file larger, and takes more time than the rest of the encoding."""

    def __init__(self) -> None:
        self._arrow, self._parquet = load_parquet()
        self._compute = import_module("pyarrow.compute")
        self._schema: Any = None
        self._paths: list[str] = []  # of the columns of _schema, and of the parts of nested ones
        self._columns: list[str] | None = None

    def of(self, batch: Any) -> list[str]:
        """Return the paths for rows like those of *batch*, a PyArrow record batch. Parts of nested columns are always
        included, and all columns until a batch is large enough to decide."""
        if self._schema is None or not self._schema.equals(batch.schema):
            self._schema, self._paths, self._columns = batch.schema, self._paths_of(batch.schema), None
        if self._columns is None and len(batch) < SAMPLE:
            return self._paths
        if self._columns is None:
            columns = zip(batch.schema.names, batch.slice(0, SAMPLE).columns, strict=True)
            different = {name for name, column in columns if self._is_different(column)}
            self._columns = [path for path in self._paths if path not in different]
        return self._columns

    def _paths_of(self, schema: Any) -> list[str]:
        """Return the paths of the columns in Parquet."""
        empty = io.BytesIO()
        self._parquet.write_table(self._arrow.Table.from_batches([], schema), empty)
        columns = self._parquet.ParquetFile(empty).schema
        return [columns.column(number).path for number in range(len(columns))]

    def _is_different(self, column: Any) -> bool:
        """True if the values hardly repeat."""
        types = self._arrow.types
        values = column.storage if isinstance(column, self._arrow.ExtensionArray) else column
        if types.is_nested(values.type) or types.is_dictionary(values.type):
            return False
        try:
            return bool(2 * self._compute.count_distinct(values).as_py() > len(values))
        except self._arrow.ArrowNotImplementedError:  # values of this type cannot be counted
            return False


class ParquetFiles:
    """Writes the scan events of a reading to files. *options*: of ``pyarrow.parquet.ParquetWriter``; without
    ``use_dictionary``, columns whose values repeat have a dictionary."""

    def __init__(self, folder: str | os.PathLike[str], count: int, options: dict[str, Any]) -> None:
        self._arrow, self._parquet = load_parquet()
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._digits = len(str(max(0, count - 1)))
        self._options = options
        self._dictionaries = None if "use_dictionary" in options else Dictionaries()
        self._open: dict[int, _File] = {}
        self._written: dict[int, Path] = {}

    def add(self, event: ScanEvent) -> None:
        if event.kind == BATCH:
            batch = self._arrow.record_batch(event.batch)
            if event.number not in self._open:
                self._open[event.number] = self._open_file(event.number, batch)
            self._open[event.number].writer.write_batch(batch)
        elif event.number in self._open:
            one = self._open[event.number]
            if event.kind == DONE:
                one.close()
                self._written[event.number] = one.path.replace(one.path.with_suffix(""))
            else:
                one.discard()
            del self._open[event.number]

    def _open_file(self, number: int, batch: Any) -> _File:
        options = {"write_batch_size": _at_a_time(batch)} | self._options
        if self._dictionaries is not None:
            options = options | {"use_dictionary": self._dictionaries.of(batch)}
        path = self._folder / f"part-{number:0{self._digits}}.parquet{UNFINISHED}"
        sink = self._arrow.OSFile(str(path), "wb")  # PyArrow would look up a path among its file systems
        try:
            return _File(path, sink, self._parquet.ParquetWriter(sink, batch.schema, **options))
        except BaseException:
            sink.close()
            path.unlink()
            raise

    def paths(self) -> list[Path]:
        """Return the files of completed ranges that have rows, in the order of tokens."""
        return [self._written[number] for number in sorted(self._written)]

    def close(self) -> None:
        """Remove incomplete files."""
        for one in self._open.values():
            one.discard()
        self._open.clear()


def _at_a_time(batch: Any) -> int:
    """Return the number of values of a column to encode at a time: the rows of one data page. PyArrow's default of 1024
    is too small for numbers, as each call passes through all of its layers."""
    return max(1024, DATA_PAGE * len(batch) // max(1, int(batch.nbytes)))


class _File(NamedTuple):
    path: Path
    sink: Any
    writer: Any

    def close(self) -> None:
        """Close it; OSError if not all of it is on the disk, or passed to the operating system."""
        with self.sink:
            self.writer.close()

    def discard(self) -> None:
        """Remove it, even if closing fails."""
        with contextlib.suppress(OSError, ValueError):
            self.close()
        self.path.unlink(missing_ok=True)
