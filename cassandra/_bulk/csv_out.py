"""Lines of CSV of columns of text (L6): whole columns at a time, joined into one buffer that is written as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .csv_in import is_utf8
from .kinds import TEXTS, Kind
from .style import Dialect, Style
from .texts_out import texts_of

LINE_END = "\r\n"


def header_of(names: Sequence[str], dialect: Dialect) -> bytes:
    return (dialect.delimiter.join(_field(name, dialect) for name in names) + LINE_END).encode(dialect.encoding)


def _field(text: str, dialect: Dialect) -> str:
    import pyarrow as pa

    return str(_fields(pa.array([text]), dialect)[0].as_py())


def lines_of(batch: Any, kinds: Sequence[Kind], dialect: Dialect, style: Style) -> bytes | memoryview:
    """The rows of *batch*, a record batch of PyArrow, whose columns are of these kinds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_rows:
        return b""
    columns = [_column(column, kind, dialect, style) for column, kind in zip(batch.columns, kinds, strict=True)]
    delimiter, end, nothing = (pa.scalar(text, pa.large_string()) for text in (dialect.delimiter, LINE_END, ""))
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*columns, delimiter), end, nothing)
    text = _characters(lines)
    if is_utf8(dialect.encoding):
        return text
    return str(text, "utf8").encode(dialect.encoding)


def _characters(texts: Any) -> memoryview:
    """Those of all *texts*, an array of strings or large strings, one behind the other."""
    import pyarrow as pa

    _, offsets, characters = texts.buffers()
    if characters is None:
        return memoryview(b"")
    ends = memoryview(offsets).cast("B").cast("q" if pa.types.is_large_string(texts.type) else "i")
    return memoryview(characters)[ends[texts.offset] : ends[texts.offset + len(texts)]]


def _column(column: Any, kind: Kind, dialect: Dialect, style: Style) -> Any:
    """The fields of *column*, as they are in the file; large strings, so that joining them cannot overflow."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = texts_of(column, kind, style)
    fields = _fields(texts, dialect)
    if kind.name in TEXTS and not style.as_cqlsh:
        # What null is written as is a text only within quotes.
        twin = pc.or_(pc.equal(texts, ""), pc.equal(texts, style.null))
        if pc.any(twin).as_py():
            quoted = pc.binary_join_element_wise(dialect.quote, texts, dialect.quote, "")
            fields = pc.if_else(pc.fill_null(twin, False), quoted, fields)
    if fields.null_count:
        fields = fields.fill_null(style.null)
    return pc.cast(fields, pa.large_string())


def _fields(texts: Any, dialect: Dialect) -> Any:
    """*texts* with what means something in a line escaped, and in quotes where that is needed; most have nothing of
    that, and are as they are."""
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
