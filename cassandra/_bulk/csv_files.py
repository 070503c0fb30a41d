"""CSV files of rows, read and written with PyArrow (L6).

Reading: PyArrow splits lines. A quoted field is never null, so a quoted empty text is not null. Rows are numbered from
0 in each file, without its header and empty lines, but with invalid rows. Blocks of whole rows are read one after the
other; an error of a row, such as invalid bytes, affects this row only.

Writing: columns of text become lines, whole columns at a time, joined into one buffer that is written directly.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

from . import csv_scan
from .csv_scan import MOST_BLOCK, MOST_CELL_LINES, Place, Record, Scanner, Source, lines_in, raw_text, read_at
from .options import Dialect, Style
from .streams import InputFile, RowTexts
from .tables import TEXTS, Kind
from .texts_out import texts_of

# ---- reading of rows

OTHER_DELIMITERS = ",;\t|"  # the usual ones


class Row(NamedTuple):
    """A row as the file has it: the number of its first line, from 1, and its text with the line end."""

    line: int
    text: str


class RowBatch(NamedTuple):
    """Rows of a file: their numbers, a record batch of PyArrow, and the errors of rows that are not in it, by number.

    ``absent``: for each row the columns that it does not have, which differs from null; None if it has all.
    """

    numbers: Sequence[int]
    batch: Any
    wrong: dict[int, str]
    absent: Sequence[frozenset[str]] | None = None


class _Block(NamedTuple):
    """Whole rows. ``line``: the first line, from 0. ``batch``: the rows, unless one of them is invalid or has irregular
    quotes."""

    line: int
    place: Place
    text: bytes
    batch: Any
    records: list[Record]


class _CachedRows(NamedTuple):
    """Rows of a block: the number of the first one, and its line, from 0."""

    first: int
    line: int
    text: bytes
    records: list[Record]


class CsvFile:
    """A file and the names of its columns."""

    def __init__(
        self,
        file: InputFile,
        names: Sequence[str] | None,
        dialect: Dialect,
        null: str,
        most_cell_lines: int = MOST_CELL_LINES,
    ) -> None:
        """*names*: the names of its columns. None: the header has them. Raise ValueError, OSError."""
        self._file = file
        self._dialect = dialect
        self._null = null
        self._most_cell_lines = most_cell_lines
        self._scanner = Scanner(dialect, most_cell_lines)
        #: The header as the file has it; "" if it has none.
        self.header = ""
        self._begin: tuple[int, Place] | None = None  # line and position after the header
        self._piped: tuple[Source, bytes] | None = None  # of a pipe: after the header, and what was read of it
        if dialect.header:
            self._read_header()
        self.names = next(self._split_fields(self.header), []) if names is None else list(names)
        if not self.names:
            raise ValueError(f"{file.name}: no header")
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{file.name}: duplicate column names: {', '.join(self.names)}")
        self._texts = RowTexts(file)
        self._cached_rows: _CachedRows | None = None  # the block of the last row that was looked up

    # -- blocks

    def _read_header(self) -> None:
        source = Source(self._file, self._dialect.encoding)
        text = b""
        try:
            text = source.read(csv_scan.BLOCK)
            place = source.place
            while True:
                for record in self._scanner.records(text, source.is_at_end):
                    if not _is_empty(text[record.begin : record.end]):
                        self._take_header(text, record, place)
                        text = text[record.end :]
                        return
                if source.is_at_end:
                    return
                text += source.read(len(text) or csv_scan.BLOCK)
        finally:
            if self._file.is_pipe:
                self._piped = source, text
            else:
                source.close()

    def _take_header(self, text: bytes, record: Record, place: Place) -> None:
        if record.wrong:
            raise ValueError(f"{self._file.name}: line {lines_in(text, 0, record.begin) + 1}: {record.wrong}")
        try:
            self.header = text[record.begin : record.end].decode("utf8")
        except UnicodeDecodeError:
            raise ValueError(f"{self._file.name}: the header is not {self._dialect.encoding}") from None
        self._begin = lines_in(text, 0, record.end), place._replace(skipped=place.skipped + record.end)

    def _split_fields(self, text: str) -> Iterator[list[str]]:
        return csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self._dialect.delimiter,
            quotechar=self._dialect.quote,
            escapechar=None if self._dialect.doubles else self._dialect.escape,
            doublequote=self._dialect.doubles,
        )

    def _blocks(self) -> Iterator[_Block]:
        line, begin = (0, None) if self._begin is None else self._begin
        if self._piped is None:
            source, text = Source(self._file, self._dialect.encoding, begin), b""
        else:
            source, text = self._piped
        try:
            place, size = source.place, csv_scan.BLOCK
            is_first = True
            while is_first or not source.is_at_end:
                is_first = False
                before = len(text)
                data = b"" if source.is_at_end else source.read(size)
                if before:
                    text += data
                else:
                    text, place = data, source.place
                end, lines, batch, records = self._whole_rows(text, source.is_at_end)
                if not end:
                    if len(text) > MOST_BLOCK:
                        raise ValueError(
                            f"{self._file.name}: line {line + 1}: a row is longer than {MOST_BLOCK:,} bytes"
                        )
                    size = min(size * 2, MOST_BLOCK // 4)
                    continue
                yield _Block(line, place, text[:end], batch, records)
                line += lines
                if end >= before:
                    place = source.place._replace(skipped=source.place.skipped + end - before)
                else:
                    place = place._replace(skipped=place.skipped + end)
                text, size = text[end:], csv_scan.BLOCK
        finally:
            source.close()

    def _whole_rows(self, text: bytes, is_last: bool) -> tuple[int, int, Any, list[Record]]:
        """Return how many bytes and lines of *text* are whole rows, and these rows: as a batch if all are valid, else
        one by one."""
        end = self._scanner.whole(text, is_last)
        if end == 0:
            return 0, 0, None, []
        if end is not None:
            batch = self._read(text[:end])
            lines = lines_in(text, 0, end)
            if batch is not None and not self._has_long_cells(lines, batch):
                return end, lines, batch, []
        records = list(self._scanner.records(text, is_last))
        end = records[-1].end if records else 0
        return end, lines_in(text, 0, end), None, records

    # -- rows

    def batches(self, first: int = 0) -> Iterator[tuple[Sequence[int], Any, dict[int, str]]]:
        """Yield from row *first* on: row numbers, a record batch with a string column for each name, and the errors of
        the rows of the block that are not in it."""
        row = 0
        self._texts.clear()
        for block in self._blocks():
            self._cached_rows = None
            self._texts.add(row, block.line, block.place, block.text)
            batch, wrong = (block.batch, {}) if block.batch is not None else self._parse_rows(row, block)
            count = batch.num_rows + len(wrong)
            numbers: Sequence[int] = range(row, row + count)
            if wrong:
                numbers = [number for number in numbers if number not in wrong]
            passed = sum(number < first for number in numbers) if first > row else 0
            row += count
            wrong = {number: why for number, why in wrong.items() if number >= first}
            if wrong or passed < len(numbers):
                yield numbers[passed:], batch.slice(passed), wrong

    def row(self, number: int) -> Row:
        """Return a row that :meth:`batches` has reached."""
        if self._cached_rows is None or not 0 <= number - self._cached_rows.first < len(self._cached_rows.records):
            self._cached_rows = self._read_again(number)
        first, line, text, records = self._cached_rows
        record = records[number - first]
        shown = raw_text(text[record.begin : record.end], self._dialect.encoding)
        return Row(line + lines_in(text, 0, record.begin) + 1, shown)

    def _read_again(self, number: int) -> _CachedRows:
        mark, text = self._texts.find(number)
        if text is None:
            text = read_at(self._file, self._dialect.encoding, mark.place, mark.size)
        return _CachedRows(mark.row, mark.line, text, _rows(text, self._scanner.records(text, is_last=True)))

    def forget(self) -> None:
        """Drop the rows that were read: :meth:`row` is called for later ones only."""
        self._cached_rows = None
        self._texts.forget()

    def close(self) -> None:
        """Close what is open."""
        self._texts.close()
        if self._piped is not None:
            self._piped[0].close()

    def _parse_rows(self, first: int, block: _Block) -> tuple[Any, dict[int, str]]:
        """Return the valid rows, and the errors of the others by number."""
        records = _rows(block.text, block.records)
        self._cached_rows = _CachedRows(first, block.line, block.text, records)
        wrong, good = {}, []
        for number, record in enumerate(records, first):
            text = block.text[record.begin : record.end]
            why = record.wrong or self._wrong(text)
            if why:
                wrong[number] = why
            else:
                good.append(text)
        batch = self._read(b"".join(good))
        if batch is None or batch.num_rows != len(good):
            raise ValueError(f"{self._file.name}: rows after line {block.line + 1} cannot be parsed")
        return batch, wrong

    def _has_long_cells(self, lines: int, batch: Any) -> bool:
        import pyarrow.compute as pc

        most = self._most_cell_lines
        if most < 0 or lines - batch.num_rows + 1 < most:  # the last row may have no line end
            return False
        long = [column for column in batch.columns if (pc.max(pc.binary_length(column)).as_py() or 0) >= most]
        counts = (pc.max(pc.count_substring_regex(column, "\r\n?|\n")).as_py() for column in long)
        return any(count >= most for count in counts)

    def _wrong(self, text: bytes) -> str:
        try:
            text.decode("utf8")
        except UnicodeDecodeError as error:
            shown = raw_text(_excerpt(text, error.start), self._dialect.encoding)
            return f"it is not {self._dialect.encoding}: {shown!a}"
        count = self._scanner.count(text)
        if count == len(self.names):
            return ""
        fields = "1 field" if count == 1 else f"{count} fields"
        found = f"it has {fields}, not {len(self.names)}: {text[:80].decode('utf8', 'replace').rstrip()!r}"
        others = [mark for mark in OTHER_DELIMITERS if count == 1 < len(self.names) and mark.encode() in text]
        return found + f" (perhaps {delimiter_option(others[0])})" if others else found

    def _read(self, text: bytes) -> Any:
        """Return a record batch, or None if a row is invalid."""
        import pyarrow as pa
        import pyarrow.csv

        schema = pa.schema([pa.field(name, pa.string()) for name in self.names])
        null = self._null.encode()
        if self._scanner.marks[1] and self._scanner.marks[1] in null and null in text:
            text = self._scanner.spell_null(text, null)
        found: list[Any] = []

        def note(row: Any) -> str:
            found.append(row)
            return "skip"

        reading = pyarrow.csv.ReadOptions(column_names=self.names, block_size=len(text) + 1, use_threads=False)
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
        if not _is_utf8(text):
            return None
        try:
            table = pyarrow.csv.read_csv(pa.BufferReader(text), reading, parsing, converting)
        except pa.ArrowInvalid:
            return None if text.strip(b"\r\n") else pa.RecordBatch.from_pylist([], schema=schema)
        if found:
            return None
        table = table.combine_chunks()
        return (table.to_batches() or [pa.RecordBatch.from_pylist([], schema=schema)])[0]


def delimiter_option(mark: str) -> str:
    """Return the option for this delimiter, as for a shell."""
    shown = mark.replace("\t", "\\t")
    return f"--delimiter '{shown}'"


def _is_empty(text: bytes) -> bool:
    return text in (b"", b"\n", b"\r\n", b"\r")


def _rows(text: bytes, records: Iterable[Record]) -> list[Record]:
    """Return *records* without empty lines."""
    return [record for record in records if not _is_empty(text[record.begin : record.end])]


def _excerpt(text: bytes, at: int, size: int = 40) -> bytes:
    """Return about *size* bytes before and after *at*, without parts of characters."""
    begin, end = max(at - size, 0), min(at + size, len(text))
    while begin < at and _continues(text, begin):
        begin += 1
    while end < len(text) and end < at + size + 3 and _continues(text, end):
        end += 1
    return text[begin:end]


def _continues(text: bytes, at: int) -> bool:
    """True if the byte at *at* is not the first one of a character (in UTF-8)."""
    return text[at] & 0xC0 == 0x80


def _is_utf8(text: bytes) -> bool:
    if not text.isascii():
        try:
            text.decode("utf8")
        except UnicodeDecodeError:
            return False
    return True


# ---- writing of lines

LINE_END = "\r\n"
BYTE_ORDER_MARK = "\ufeff"


class CsvWriter:
    """Write lines to *file*, in the encoding of the dialect, with at most one byte order mark, at the beginning of the
    file."""

    def __init__(self, file: BinaryIO | io.RawIOBase, names: Sequence[str], dialect: Dialect, style: Style) -> None:
        self._file = file
        self._dialect = dialect
        self._style = style
        self._encoder = None if codecs.lookup(dialect.encoding).name == "utf-8" else Encoder(dialect.encoding)
        if dialect.header:
            self._put(memoryview(header_of(names, dialect)))

    def write_batch(self, batch: Any, kinds: Sequence[Kind]) -> None:
        """Write the rows of *batch*. Raise ValueError for text that the encoding does not have, and OSError."""
        self._put(lines_of(batch, kinds, self._dialect, self._style))

    def close(self) -> None:
        """Finish the encoding. The file itself stays open."""
        if self._encoder is not None:
            self._file.write(self._encoder.end())

    def _put(self, text: memoryview) -> None:
        self._file.write(text if self._encoder is None else self._encoder.encode(str(text, "utf8")))


class Encoder:
    """Encode the text of one file piece by piece. Text that would decode to another text is rejected: some encodings
    have one byte for two characters."""

    def __init__(self, encoding: str) -> None:
        self._name = encoding
        self._encoder = codecs.getincrementalencoder(encoding)()
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def encode(self, text: str) -> bytes:
        """Return the bytes of *text*. Raise ValueError for characters that the encoding does not have."""
        try:
            found = self._encoder.encode(text)
        except UnicodeEncodeError as error:
            raise ValueError(f"{self._name} has no character {text[error.start]!a}; use another --encoding") from None
        read = self._decoder.decode(found)
        if read != text:
            different = next((here for here, there in zip(text, read, strict=False) if here != there), text[-1])
            raise ValueError(f"{self._name} has no character {different!a}; use another --encoding")
        return found

    def end(self) -> bytes:
        return self._encoder.encode("", final=True)


def header_of(names: Sequence[str], dialect: Dialect) -> bytes:
    """Return the header line, in UTF-8."""
    return (dialect.delimiter.join(_field(name, dialect) for name in names) + LINE_END).encode()


def _field(text: str, dialect: Dialect) -> str:
    import pyarrow as pa

    return str(_fields(pa.array([text]), dialect)[0].as_py())


def lines_of(batch: Any, kinds: Sequence[Kind], dialect: Dialect, style: Style) -> memoryview:
    """Return the rows of *batch*, a record batch of PyArrow with columns of these kinds, as lines in UTF-8."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return memoryview(b"")
    columns = [_column(column, kind, dialect, style) for column, kind in zip(batch.columns, kinds, strict=True)]
    if kinds[0].name in TEXTS:
        columns[0] = _quote_byte_order_mark(columns[0], dialect)
    delimiter, end, nothing = (pa.scalar(text, pa.large_string()) for text in (dialect.delimiter, LINE_END, ""))
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*columns, delimiter), end, nothing)
    return characters_of(lines)


def _quote_byte_order_mark(fields: Any, dialect: Dialect) -> Any:
    """Return the fields of a first column, quoted if they begin with U+FEFF: a reader would take it for the byte order
    mark of the file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    marked = pc.starts_with(fields, BYTE_ORDER_MARK)
    if not pc.any(marked).as_py():
        return fields
    quote, nothing = pa.scalar(dialect.quote, fields.type), pa.scalar("", fields.type)
    return pc.if_else(marked, pc.binary_join_element_wise(quote, fields, quote, nothing), fields)


def characters_of(texts: Any) -> memoryview:
    """Return the concatenated characters of *texts*, an array of strings or large strings."""
    import pyarrow as pa

    _, offsets, characters = texts.buffers()
    if characters is None:
        return memoryview(b"")
    ends = memoryview(offsets).cast("B").cast("q" if pa.types.is_large_string(texts.type) else "i")
    return memoryview(characters)[ends[texts.offset] : ends[texts.offset + len(texts)]]


def _column(column: Any, kind: Kind, dialect: Dialect, style: Style) -> Any:
    """Return the fields of *column* as they are in the file; large strings, so that joining them cannot overflow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = texts_of(column, kind, style)
    fields = _fields(texts, dialect)
    null = style.null if dialect.doubles else style.null.replace(dialect.escape, dialect.escape * 2)
    if not style.as_cqlsh:
        # The null text within quotes is a value. An empty field is null, too, unless it is a quoted text.
        twin = pc.equal(texts, style.null)
        if kind.name in TEXTS and style.null:
            twin = pc.or_(pc.equal(texts, ""), twin)
        if pc.any(twin).as_py():
            escaped = pc.if_else(pc.equal(texts, ""), "", null)
            quoted = pc.binary_join_element_wise(dialect.quote, escaped, dialect.quote, "")
            fields = pc.if_else(pc.fill_null(twin, False), quoted, fields)
    if fields.null_count:
        fields = fields.fill_null(null)
    return pc.cast(fields, pa.large_string())


def _fields(texts: Any, dialect: Dialect) -> Any:
    """Return *texts* with special characters escaped, and quoted if needed. Most batches have no special character and
    are returned as they are."""
    import pyarrow.compute as pc

    quote, escape = dialect.quote, dialect.escape
    inside = [dialect.delimiter, "\r", "\n", *([quote] if dialect.doubles else [])]
    all_of_them = bytes(characters_of(texts))
    if not any(character.encode() in all_of_them for character in (*inside, quote, escape)):
        return texts
    special = pc.match_substring_regex(texts, "[" + "".join(map(re.escape, inside)) + "]")
    escaped = texts
    if not dialect.doubles:
        escaped = pc.replace_substring(escaped, escape, escape + escape)
    escaped = pc.replace_substring(escaped, quote, escape + quote)
    if not pc.any(special).as_py():
        return escaped
    return pc.if_else(special, pc.binary_join_element_wise(quote, escaped, quote, ""), escaped)
