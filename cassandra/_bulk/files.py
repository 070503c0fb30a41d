"""Files of rows, in the three formats (L6): written until they are whole, read from a row on."""

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
#: What session.ingest reads of texts itself.
READ_AS_TEXT = TEXTS | {"uuid", "timeuuid", "inet", "decimal", "varint"}


class FileWriter:
    """Rows into a file at *path*, which is there when it is published, and not before."""

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
        """The rows of a record batch of PyArrow. After any error the file is not to be used: :meth:`publish` fails."""
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
        """Finish the file, write it through to the disk, and give it its name. After an error there is no file."""
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
        """Remove it, unless it was published."""
        self._file.discard()
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(Exception):  # what it writes goes nowhere; not closed it would warn
                writer.close()


def without_durations(batch: Any, kinds: Sequence[Kind]) -> Any:
    """Parquet has no months beside days and nanoseconds: columns with durations become their texts."""
    import pyarrow as pa

    columns, fields = [], []
    for column, field, kind in zip(batch.columns, batch.schema, kinds, strict=True):
        has_any = any(part.name == "duration" for part in kind.walk())
        columns.append(texts_of(column, kind, Style()) if has_any else column)
        fields.append(pa.field(field.name, pa.string(), metadata=field.metadata) if has_any else field)
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


class FileReader:
    """The rows of a file, converted for *kinds*: columns by name."""

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
        """*columns*: those of a file of CSV without a header. OSError, ValueError."""
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
        """Columns *wanted* of the rows from *first* on: (numbers of the rows, record batch, what is wrong by number).
        Rows with something wrong are not in the batch."""
        source = self._csv.batches(first) if self._csv is not None else self._binary(wanted, first)
        for numbers, batch, wrong in source:
            yield self._converted(numbers, batch.select(list(wanted)), wrong)

    @property
    def header(self) -> str | None:
        """The header of a file of CSV as it is there; "" if it has none. None for other files."""
        return None if self._csv is None else self._csv.header

    def row(self, number: int) -> Row | None:
        """A row of a file of CSV as it is there, one that :meth:`batches` came to. None for other files."""
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
    """Whether an Arrow type is one of text, in whatever layout."""
    from pyarrow import types

    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _is_text(type_.value_type)
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


#: Of columns of times to live and write times.
TIMES = Kind("bigint")


def format_of(path: Path) -> str:
    """By its name; CSV if that says nothing."""
    suffix = path.suffix.lower()
    if suffix in (".arrow", ".feather", ".ipc"):
        return "arrow"
    return "parquet" if suffix in (".parquet", ".pq") else "csv"


def need_pyarrow() -> None:
    """UsageError if there is none. It is imported when the first rows are there: servers read on meanwhile."""
    if find_spec("pyarrow") is None:
        raise UsageError("this needs PyArrow: pip install 'fastcql[bulk]'")
