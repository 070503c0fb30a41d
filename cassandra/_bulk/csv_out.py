"""CSV lines from columns of text (L6): whole columns at a time, joined into one buffer that is written directly."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from io import RawIOBase
from typing import Any, BinaryIO

from .kinds import TEXTS, Kind
from .style import Dialect, Style
from .texts_out import texts_of

LINE_END = "\r\n"
BYTE_ORDER_MARK = "\ufeff"


class CsvWriter:
    """Write lines to *file*, in the encoding of the dialect, with at most one byte order mark, at the beginning of the
    file."""

    def __init__(self, file: BinaryIO | RawIOBase, names: Sequence[str], dialect: Dialect, style: Style) -> None:
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
        columns[0] = _marked(columns[0], dialect)
    delimiter, end, nothing = (pa.scalar(text, pa.large_string()) for text in (dialect.delimiter, LINE_END, ""))
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*columns, delimiter), end, nothing)
    return _characters(lines)


def _marked(fields: Any, dialect: Dialect) -> Any:
    """Return the fields of a first column, quoted if they begin with U+FEFF: a reader would take it for the byte order
    mark of the file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    marked = pc.starts_with(fields, BYTE_ORDER_MARK)
    if not pc.any(marked).as_py():
        return fields
    quote, nothing = pa.scalar(dialect.quote, fields.type), pa.scalar("", fields.type)
    return pc.if_else(marked, pc.binary_join_element_wise(quote, fields, quote, nothing), fields)


def _characters(texts: Any) -> memoryview:
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
    all_of_them = bytes(_characters(texts))
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
