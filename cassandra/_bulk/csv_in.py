"""Rows of files of CSV (L6). PyArrow takes lines apart; a field in quotes is never null, so that an empty text is none.

Rows are numbered from 0 in each file, without its header and empty lines, but with lines that are no rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .style import Dialect

BLOCK = 4 << 20  # bytes of a file that become a batch
MOST_BLOCK = 1 << 30  # and at most of one row


class BadLine(NamedTuple):
    """A line with another number of fields than the file has columns."""

    row: int
    text: str
    expected: int
    actual: int


class CsvFile:
    """A file and the names of its columns."""

    def __init__(self, path: Path, names: Sequence[str] | None, dialect: Dialect, null: str) -> None:
        """*names*: of its columns. None: the header has them."""
        self.path = path
        self._dialect = dialect
        self._null = null
        self.names = _header(path, dialect) if names is None else list(names)
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{path}: a column is there twice: {', '.join(self.names)}")

    def batches(self, first: int = 0) -> Iterator[tuple[Sequence[int], Any, list[BadLine]]]:
        """From row *first* on: numbers of rows, a record batch with a column of strings for each, and lines that are
        no rows, which come with the batch before which, or in which, they were found, or with an empty one."""
        import pyarrow as pa

        block = BLOCK
        while True:
            try:
                for numbers, batch, bad in self._batches(block):
                    # PyArrow counts empty lines where it passes over rows, so that it is done here.
                    passed = sum(number < first for number in numbers) if len(numbers) and numbers[0] < first else 0
                    bad = [line for line in bad if line.row >= first]
                    first = max([first, *(line.row + 1 for line in bad), *(number + 1 for number in numbers[-1:])])
                    if bad or passed < len(numbers):
                        yield numbers[passed:], batch.slice(passed), bad
                return
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error):
                    raise ValueError(f"{self.path}: after row {first}: {error}") from None
                if block >= self.path.stat().st_size:
                    return  # nothing but what was passed over
                if block >= MOST_BLOCK:
                    raise ValueError(f"{self.path}: row {first} is longer than {MOST_BLOCK:,} bytes") from None
                block = min(block * 8, MOST_BLOCK)

    def _batches(self, block: int) -> Iterator[tuple[Sequence[int], Any, list[BadLine]]]:
        import pyarrow as pa
        import pyarrow.csv

        if not self.path.stat().st_size:
            return
        header = self._dialect.header
        found: list[BadLine] = []

        def note(row: Any) -> str:
            found.append(BadLine(row.number - 1 - header, row.text, row.expected_columns, row.actual_columns))
            return "skip"

        reading = pyarrow.csv.ReadOptions(
            column_names=self.names,
            skip_rows_after_names=int(header),
            encoding=self._dialect.encoding,
            block_size=block,
            use_threads=False,  # with them rows have no numbers
        )
        parsing = pyarrow.csv.ParseOptions(
            delimiter=self._dialect.delimiter,
            quote_char=self._dialect.quote,
            double_quote=self._dialect.doubles,
            escape_char=False if self._dialect.doubles else self._dialect.escape,
            newlines_in_values=True,
            invalid_row_handler=note,
        )
        converting = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.string()),
            null_values=[self._null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        first = 0
        taken = 0  # of the lines found, which are told of
        passed = 0  # of them, which are behind
        with pyarrow.csv.open_csv(
            self.path, read_options=reading, parse_options=parsing, convert_options=converting
        ) as reader:
            for batch in reader:
                numbers: Sequence[int] = range(first, first + batch.num_rows)
                if passed < len(found):
                    places = []
                    for _ in range(batch.num_rows):
                        while passed < len(found) and found[passed].row == first:
                            passed += 1
                            first += 1
                        places.append(first)
                        first += 1
                    numbers = places
                else:
                    first += batch.num_rows
                told, taken = found[taken:passed], passed
                yield numbers, batch, told
        if taken < len(found):
            yield (), pa.RecordBatch.from_pylist([], schema=reader.schema), found[taken:]


def _header(path: Path, dialect: Dialect) -> list[str]:
    with path.open(encoding="utf-8-sig" if is_utf8(dialect.encoding) else dialect.encoding, newline="") as file:
        line = file.readline()
    escape = None if dialect.doubles else dialect.escape
    rows = csv.reader(
        [line.rstrip("\r\n")],
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        escapechar=escape,
        doublequote=dialect.doubles,
    )
    names = next(rows, [])
    if not names:
        raise ValueError(f"{path}: there is no header")
    return names


def is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"
