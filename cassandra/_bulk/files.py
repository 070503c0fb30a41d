"""Files of rows in three formats (L6): written until complete, read from any row on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from cassandra._session.scan.files import Dictionaries

from .csv_in import CsvFile, Row
from .csv_out import CsvWriter
from .csv_scan import MOST_CELL_LINES
from .errors import UsageError
from .kinds import TEXTS, Kind
from .private import PendingFile
from .style import Dialect, Style
from .texts_in import Column, read_column
from .texts_out import texts_of

FORMATS = {"parquet": ".parquet", "csv": ".csv", "arrow": ".arrow"}
BATCH_ROWS = 65536
#: Types that session.ingest reads from text itself.
READ_AS_TEXT = TEXTS | {"uuid", "timeuuid", "inet", "decimal", "varint"}


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
            self._writer = self._made(batch)
        if self._format == "csv":
            self._writer.write_batch(batch, kinds)
        else:
            self._writer.write_batch(batch)

    def _made(self, batch: Any) -> Any:
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
            with self._opened() as opened:
                self.names = list((opened.schema_arrow if self._format == "parquet" else opened.schema).names)

    def _opened(self) -> Any:
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
            yield self._converted(numbers, batch.select(list(wanted)), wrong)

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
        with self._opened() as opened:
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

    def _converted(
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


#: Kind of time-to-live and write-time columns.
TIMES = Kind("bigint")


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
