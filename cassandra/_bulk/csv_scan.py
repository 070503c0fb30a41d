"""Row boundaries of CSV (L6): in blocks of text of any encoding, converted to UTF-8."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from .options import Dialect
from .streams import InputFile

BLOCK = 4 << 20  # bytes of a file that are read at a time
LEAST = 16  # and at least at the beginning of a file, so that a byte order mark is read whole
MOST_BLOCK = 1 << 30  # and at most for one row
MOST_CELL_LINES = 1000
STEP = 1 << 16  # bytes that are matched at a time
TRIES = 4  # attempts to find the end of the last row of a block
_MARK = "\ufeff"


class Place(NamedTuple):
    """Position of a block: the file offset before the read, the decoder state then, and the number of decoded bytes
    before the block."""

    offset: int
    state: Any
    skipped: int


# -- encodings


def is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def _decode_invalid(error: UnicodeError) -> tuple[Any, int]:
    """Decode invalid bytes to lone surrogates, U+DC00 + byte, and encode these to the bytes again."""
    if isinstance(error, UnicodeDecodeError):
        return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end
    if not isinstance(error, UnicodeEncodeError):
        raise error
    end = error.start
    while end < len(error.object) and 0xDC00 <= ord(error.object[end]) <= 0xDCFF:
        end += 1
    if end == error.start:
        return "?", error.end  # a character that the encoding does not have
    return bytes(ord(character) - 0xDC00 for character in error.object[error.start : end]), end


UNDECODED = "fastcql.undecoded"
codecs.register_error(UNDECODED, _decode_invalid)


def raw_text(raw: bytes, encoding: str) -> str:
    """Return the text of a block, with invalid bytes as by :data:`UNDECODED`."""
    return raw.decode("utf8", UNDECODED if is_utf8(encoding) else "surrogatepass")


class Source:
    """The bytes of a file in UTF-8, from a position on. Invalid bytes give invalid UTF-8."""

    def __init__(self, file: InputFile, encoding: str, begin: Place | None = None) -> None:
        self._file = file.open()
        self._checks = file.compression is None and is_utf8(encoding) and file.check_begin
        self._waits = {"least": LEAST} if file.is_pipe and file.compression is None else {}
        self._decoder = None if is_utf8(encoding) else codecs.getincrementaldecoder(encoding)(UNDECODED)
        self._skip = 0 if begin is None else begin.skipped  # bytes to drop from the next decoded text
        self.is_at_end = False
        #: Position of the last :meth:`read`.
        self.place = Place(0, self._state(), 0) if begin is None else begin
        if begin is not None:
            self._file.seek(begin.offset)
            if self._decoder is not None:
                self._decoder.setstate(begin.state)

    def _state(self) -> Any:
        return None if self._decoder is None else self._decoder.getstate()

    def read(self, size: int) -> bytes:
        """Return about *size* bytes; of a pipe also fewer, those that are there."""
        offset = self._file.tell()
        self.place = Place(offset, self._state(), 0)
        size = max(size, LEAST) if offset == 0 else size
        data: bytes = self._file.read(size, **(self._waits if offset == 0 else {}))
        self.is_at_end = not data if self._waits else len(data) < size
        if offset == 0 and self._checks:
            self._checks(data)
        if self._decoder is not None:
            data = self._decoder.decode(data, self.is_at_end).encode("utf8", "surrogatepass")
        if offset == 0 and not self._skip and data.startswith(_MARK.encode()):
            self._skip = len(_MARK.encode())
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self.place = self.place._replace(skipped=skipped)
        return data[skipped:]

    def close(self) -> None:
        self._file.close()


def read_at(file: InputFile, encoding: str, place: Place, size: int) -> bytes:
    """Return *size* bytes of text from *place* on."""
    source = Source(file, encoding, place)
    try:
        text = source.read(BLOCK)
        while len(text) < size and not source.is_at_end:
            text += source.read(BLOCK)
    finally:
        source.close()
    return text[:size]


# -- rows


class Record(NamedTuple):
    """A row within a block, with its line end. ``wrong``: the reason why it is invalid."""

    begin: int
    end: int
    wrong: str


class Scanner:
    """Finds rows as PyArrow does: quotes count only at the beginning of a field, and any line end within them is
    text."""

    def __init__(self, dialect: Dialect, most_lines: int) -> None:
        """*most_lines*: the limit of lines of a cell. A row with more in one is rejected, and the next row begins with
        its next line."""
        delimiter, quote = (re.escape(mark.encode()) for mark in (dialect.delimiter, dialect.quote))
        escape = b"" if dialect.doubles else re.escape(dialect.escape.encode())
        escaped = escape + b"[\\s\\S]" if escape else b"(?!)"
        doubled = quote * 2 if dialect.doubles else escaped
        within = b"[^%b%b]*" % (quote, escape)
        closed = b"%b%b(?:%b%b)*%b%b" % (
            quote,
            within,
            doubled,
            within,
            quote,
            b"(?!%b)" % quote if dialect.doubles else b"",
        )
        outside = b"[^%b\\r\\n%b]*" % (delimiter, escape)
        field = b"(?:%b|(?!%b))%b(?:%b%b)*" % (closed, quote, outside, escaped, outside)
        fields = b"%b(?:%b%b)*" % (field, delimiter, field)
        self.marks = (dialect.quote.encode(), b"" if dialect.doubles else dialect.escape.encode())
        self._delimiter = dialect.delimiter.encode()
        self._most_lines = most_lines
        self._field = re.compile(field)
        at_begin = b"(?<![^%b\\r\\n]%b)" % (delimiter, quote)
        inside = b"(?<=[^%b\\r\\n]%b)" % (delimiter, quote)
        # Up to the last quote that ends a cell, or is inside a cell without quotes.
        cells = b"(?:[^%b]*%b(?:%b%b|%b))*" % (quote, quote, at_begin, closed[len(quote) :], inside)
        if sys.version_info >= (3, 11):  # no backtracking, a third faster
            cells = cells.replace(b"]*", b"]*+").replace(b")*", b")*+")
        self._cells = re.compile(cells)
        self._each = re.compile(b"(%b)(%b|[\\r\\n]+|\\Z)" % (field, delimiter))
        self._open = re.compile(fields + b"(?:\\r\\n|\\n|\\r(?!\\Z))")
        self._last = re.compile(fields + b"(?:\\r\\n?|\\n|\\Z)")
        self._line = re.compile(b"[^\\r\\n]*(?:\\r\\n?|\\n|\\Z)")

    def whole(self, text: bytes, is_last: bool) -> int | None:
        """Return how many bytes of *text* are whole rows. None: its quotes are irregular, and :meth:`records` must be
        used."""
        escape = self.marks[1]
        if escape and escape in text:
            if any(escape + mark in text for mark in (self._delimiter, b"\r", b"\n")):
                return None
            if is_last and text.endswith(escape):
                return None
        end = len(text) if is_last else _last_line_end(text, len(text))
        for _ in range(TRIES):
            opened = self._open_quote(text, end)
            if opened == end:
                return end
            if is_last or self._has_many_lines(text, opened, len(text)):
                return None
            end = _last_line_end(text, opened)
        return None

    def _open_quote(self, text: bytes, end: int) -> int:
        """Return where a quoted cell begins that does not end before *end*, after a line end; *end* if there is
        none."""
        quote = self.marks[0]
        if quote not in text:
            return end
        at, size = 0, STEP
        while at < end:
            stop = (text.find(b"\n", at + size, end) + 1) or end
            found = self._cells.match(text, at, stop)
            opened = -1 if found is None else text.find(quote, found.end(), stop)
            if opened < 0:
                at, size = stop, STEP
            elif stop == end:
                return opened
            else:
                at, size = opened, size * 2
        return end

    def _has_many_lines(self, text: bytes, begin: int, end: int) -> bool:
        return 0 <= self._most_lines < lines_in(text, begin, end)

    def records(self, text: bytes, is_last: bool) -> Iterator[Record]:
        """Yield the rows of *text*, which begins with a row, and its empty lines. Unless *is_last*, text follows, and
        rows that may be incomplete are left out."""
        match = (self._last if is_last else self._open).match
        at, size = 0, len(text)
        while at < size:
            found = match(text, at)
            if found is None:
                if not is_last and not self._is_too_long(text, at, size):
                    return
                end, wrong = self._line_end(text, at), "it has a quote that is not closed"
            else:
                end, wrong = found.end(), ""
                if end - at > self._most_lines >= 0 and self._is_too_long(text, at, end):
                    end = self._line_end(text, at)
                    wrong = f"it has a cell with more than {self._most_lines:,} lines (--max-cell-lines)"
            if wrong and end == size and not is_last:
                return
            yield Record(at, end, wrong)
            at = end

    def _line_end(self, text: bytes, at: int) -> int:
        found = self._line.match(text, at)
        assert found is not None
        return found.end()

    def _is_too_long(self, text: bytes, at: int, end: int) -> bool:
        """True if a field of the row at *at* has too many lines up to *end*."""
        if self._most_lines < 0:
            return False
        while at < end:
            found = self._field.match(text, at, end)
            if found is None:
                return self._has_many_lines(text, at, end)
            if lines_in(text, at, found.end()) >= self._most_lines:
                return True
            at = found.end()
            if text[at : at + 1] != self._delimiter:
                return False
            at += 1
        return False

    def count(self, text: bytes) -> int:
        """Return the number of fields of a row."""
        count, at = 1, 0
        while (found := self._field.match(text, at)) is not None and text[
            found.end() : found.end() + 1
        ] == self._delimiter:
            at = found.end() + 1
            count += 1
        return count

    def spell_null(self, text: bytes, null: bytes) -> bytes:
        """Return *text* where fields equal to *null* once their escapes are undone are spelled as *null* itself."""
        spelled = null.replace(self.marks[1], self.marks[1] * 2)
        return self._each.sub(lambda found: (spelled if found[1] == null else found[1]) + found[2], text)


def lines_in(text: bytes, begin: int, end: int) -> int:
    """Return the number of line ends in a part of *text*."""
    carriages = text.count(b"\r", begin, end)
    feeds = text.count(b"\n", begin, end)
    return feeds + (carriages - text.count(b"\r\n", begin, end) if carriages else 0)


def _last_line_end(text: bytes, end: int) -> int:
    """Return the position after the last line end before *end*; 0 if there is none."""
    found = text.rfind(b"\n", 0, end)
    carriage = text.rfind(b"\r", found + 1, min(end, len(text) - 1))  # at the end of the text its line feed may follow
    return max(found, carriage) + 1
