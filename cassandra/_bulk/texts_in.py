"""Text in the forms of cqlsh to Arrow columns (L6).

Whole columns are converted by kernels of PyArrow first; a column that these cannot convert is read value by value,
which also finds the invalid values. Collections, tuples, vectors and user types have a parser.
"""

from __future__ import annotations

import datetime
import math
import re
import struct
from collections.abc import Callable, Iterable
from typing import Any

from .console import shown
from .options import Style
from .tables import FLOATS, INTEGERS, TEXTS, Kind, arrow_type
from .texts_out import NOTHING, day_of, duration_of

# ---- parser of nested values

_SPACE = re.compile(r"\s*")
_UNQUOTED = re.compile(r"[^,\[\](){}]*")
_KEY = re.compile(r"(?:[^,\[\](){}:]|:(?!\s))*(?=:)")  # a colon that no space follows is part of the key
_PAIRS = {"[": "]", "{": "}", "(": ")"}
_BEGINS = {"list": "[", "vector": "[", "set": "{", "map": "{", "udt": "{", "tuple": "("}
MOST_DEEP = 64

Read = Callable[[Any], Any]


def parser_of(kind: Kind, style: Style) -> Read:
    """Return the function that parses a text as a value of *kind*. It raises ValueError, with the position."""
    scalars: dict[Kind, Read] = {}
    if max_depth(kind) > MOST_DEEP:
        raise ValueError(f"type is nested too deeply: at most {MOST_DEEP} levels are supported")

    def read(text: str) -> Any:
        return _Text(text, style, scalars).whole(kind)

    return read


def max_depth(kind: Kind) -> int:
    return 1 + max(map(max_depth, kind.parts), default=0)


class _Text:
    """One text, and the position of the parser."""

    __slots__ = ("_at", "_scalars", "_style", "_text")

    def __init__(self, text: str, style: Style, scalars: dict[Kind, Read]) -> None:
        self._text = text
        self._at = 0
        self._style = style
        self._scalars = scalars

    def whole(self, kind: Kind) -> Any:
        value = self._value(kind)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("nothing more")
        return value

    def _wrong(self, wanted: str) -> ValueError:
        around = self._text[self._at : self._at + 20]
        return ValueError(f"expected {wanted} at character {self._at}, got {around!r}")

    def _skip(self) -> str:
        """Skip spaces; return the next character, "" at the end."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match is not None else self._at
        return self._text[self._at : self._at + 1]

    def _take(self, mark: str) -> None:
        if self._skip() != mark:
            raise self._wrong(repr(mark))
        self._at += 1

    def _value(self, kind: Kind, pattern: re.Pattern[str] = _UNQUOTED) -> Any:
        if not kind.parts:
            return self._scalar(kind, pattern)
        begin = self._skip()
        if begin not in _PAIRS:  # a field or an element without a value
            self._null(kind, pattern)
            return None
        self._take(_BEGINS[kind.name])
        end = _PAIRS[begin]
        if kind.name == "map":
            found: Any = self._several(end, lambda: self._pair(*kind.parts))
            if len({repr(key) for key, _ in found}) < len(found):
                raise ValueError("duplicate key")
        elif kind.name == "udt":
            found = self._fields(kind, end)
        elif kind.name == "tuple":
            found = self._tuple(kind, end)
        else:
            found = self._several(end, lambda: self._value(kind.parts[0]))
            if kind.name == "vector" and len(found) != kind.size:
                raise ValueError(f"the vector has {len(found)} elements, not {kind.size}")
        self._take(end)
        return found

    def _null(self, kind: Kind, pattern: re.Pattern[str]) -> None:
        text = self._parse_unquoted(pattern)
        if text not in NOTHING and text != self._style.null:
            raise ValueError(f"invalid {kind.name}: {text!r}")

    def _several(self, end: str, element: Callable[[], Any]) -> list[Any]:
        if self._skip() == end:
            return []
        found = [element()]
        while self._skip() == ",":
            self._at += 1
            found.append(element())
        return found

    def _pair(self, key: Kind, value: Kind) -> tuple[Any, Any]:
        left = self._value(key, _KEY)
        self._take(":")
        return left, self._value(value)

    def _tuple(self, kind: Kind, end: str) -> dict[str, Any]:
        found = {}
        for at, part in enumerate(kind.parts):
            if self._skip() == end:
                break  # a tuple may have fewer fields than its type
            if at:
                self._take(",")
            found[f"f{at}"] = self._value(part)
        return found

    def _fields(self, kind: Kind, end: str) -> dict[str, Any]:
        """Parse fields by name, in any order."""
        parts = dict(zip(kind.fields, kind.parts, strict=True))
        found: dict[str, Any] = {}

        def field() -> None:
            name = self._parse_quoted() if self._skip() == "'" else self._parse_unquoted(_KEY)
            part = parts.get(name)
            if part is None:
                raise ValueError(f"the type has no field {name!r}")
            self._take(":")
            found[name] = self._value(part)

        self._several(end, field)
        return found

    def _scalar(self, kind: Kind, pattern: re.Pattern[str]) -> Any:
        if self._skip() == "'":
            text = self._parse_quoted()
        else:
            text = self._parse_unquoted(pattern)
            if text == self._style.null or text in NOTHING:
                return None
        read = self._scalars.get(kind)
        if read is None:
            read = self._scalars[kind] = reader_of(kind, self._style)
        return read(text)

    def _parse_unquoted(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise self._wrong("a value")
        self._at = match.end()
        return match[0].strip()

    def _parse_quoted(self) -> str:
        """Parse a text in single quotes, which are doubled within."""
        at = self._at + 1
        pieces = []
        while True:
            end = self._text.find("'", at)
            if end < 0:
                raise self._wrong("a closing quote")
            pieces.append(self._text[at:end])
            if self._text[end + 1 : end + 2] != "'":
                self._at = end + 1
                return "'".join(pieces)
            at = end + 2


# ---- columns of values

BEGIN = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MOMENT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:(?:[ T]|'T')(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*"
    r"(Z|[+-](?:0\d|1[0-8])(?::?[0-5]\d)?)?",
    re.ASCII,
)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|(inf|infinity))", re.ASCII | re.IGNORECASE
)
_BLOB = re.compile(r"0x((?:[0-9a-f]{2})*)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(\\|n|r|t|x[0-9a-f]{2})")
_NAMED = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


class Column:
    """Values read from a column of texts. ``errors`` has the reason for each invalid value by row: there the value is
    null."""

    __slots__ = ("errors", "values")

    def __init__(self, values: Any, errors: dict[int, str]) -> None:
        self.values = values
        self.errors = errors


def read_column(texts: Any, kind: Kind, style: Style) -> Column:
    """Read *texts*, an array of strings, null where there is no value."""
    import pyarrow as pa

    if kind.name not in TEXTS:
        texts = _empty_to_null(texts)
    try:
        fast = _FAST.get(kind.name)
        if fast is not None:
            return Column(fast(texts, kind, style), {})
    except pa.ArrowInvalid:
        pass
    return _read_one_by_one(texts, kind, style)


def _empty_to_null(texts: Any) -> Any:
    """Replace empty texts by null: an empty field has no value, for any spelling of null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(texts, "")
    return pc.if_else(empty, pa.scalar(None, pa.string()), texts) if pc.any(empty).as_py() else texts


def _read_one_by_one(texts: Any, kind: Kind, style: Style) -> Column:
    return read_values(texts.to_pylist(), reader_of(kind, style), arrow_type(kind))


def read_values(given: Iterable[Any], read: Read, wanted: Any) -> Column:
    """Return the values that *read* makes of *given*, an array of the Arrow type *wanted*; null for None."""
    import pyarrow as pa

    values: list[Any] = []
    errors: dict[int, str] = {}
    for row, one in enumerate(given):
        value = None
        if one is not None:
            try:
                value = read(one)
            except (ValueError, OverflowError) as error:
                errors[row] = f"{error}"
        values.append(value)
    try:
        return Column(pa.array(values, wanted), errors)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
        for row, value in enumerate(values):
            try:
                pa.array([value], wanted)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as error:
                errors[row] = f"{error}"
                values[row] = None
        return Column(pa.array(values, wanted), errors)


def reader_of(kind: Kind, style: Style) -> Callable[[str], Any]:
    """Return the function that converts one text to an element of an array of :func:`arrow_type`. It raises
    ValueError."""
    name = kind.name
    if name in INTEGERS:
        return lambda text: int(_matching(_WHOLE, _python_number(text, style), name))
    if name in FLOATS:
        return lambda text: _real(_python_number(text, style), name)
    if name in TEXTS:
        return unescaped if style.as_cqlsh else str
    if name in ("decimal", "varint"):
        return lambda text: _python_number(text, style)
    if name == "boolean":
        return lambda text: _boolean(text, style)
    if name == "timestamp":
        return lambda text: moment_of(text, style.datetime_format)
    simple: dict[str, Callable[[str], Any]] = {
        "blob": _blob,
        "custom": _blob,
        "date": _day_as_cqlsh if style.as_cqlsh else lambda text: day_of(text.strip()),
        "duration": duration_of,
        "inet": str.strip,
        "time": _time,
        "timeuuid": str.strip,
        "uuid": str.strip,
    }
    if name in simple:
        return simple[name]

    return parser_of(kind, style)


def _python_number(text: str, style: Style) -> str:
    """Return a number with the separators of Python."""
    text = text.strip()
    if style.thousands_sep:
        text = text.replace(style.thousands_sep, "")
    return text if style.decimal_sep == "." else text.replace(style.decimal_sep, ".")


def _matching(pattern: re.Pattern[str], text: str, name: str) -> str:
    if pattern.fullmatch(text) is None:
        raise ValueError(f"invalid {name}: {shown(text)}")
    return text


def _real(text: str, name: str) -> float:
    """Return a number in the range of the type: digits may be lost, but no finite number becomes infinity."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"invalid {name}: {shown(text)}")
    found = float(text)
    if not match[4]:
        try:
            struct.pack(">f" if name == "float" else ">d", found)
        except OverflowError:
            found = math.inf
        if math.isinf(found):
            raise ValueError(f"{shown(text)} is out of the range of a {name}")
    return found


def unescaped(text: str) -> str:
    """Return *text* as it was before COPY TO escaped its control characters and doubled its backslashes."""

    def character(match: re.Match[str]) -> str:
        found = match[1]
        return _NAMED[found] if found in _NAMED else chr(int(found[1:], 16))

    return _ESCAPED.sub(character, text) if "\\" in text else text


def _boolean(text: str, style: Style) -> bool:
    found = text.strip().lower()
    if found not in (style.true.lower(), style.false.lower()):
        raise ValueError(f"invalid boolean: {shown(text)}; expected {style.true} or {style.false}")
    return found == style.true.lower()


def _blob(text: str) -> bytes:
    match = _BLOB.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"invalid blob: {shown(text)}; expected 0x and pairs of hexadecimal digits")
    return bytes.fromhex(match[1])


def moment_of(text: str, text_format: str | None = None) -> int:
    """Return milliseconds since 1970. A moment without a zone is in UTC; a whole number is milliseconds."""
    text = text.strip()
    if text_format is not None:
        try:
            found = datetime.datetime.strptime(text, text_format)
        except ValueError:
            pass
        else:
            found = found if found.tzinfo is not None else found.replace(tzinfo=datetime.timezone.utc)
            return (found - BEGIN) // datetime.timedelta(milliseconds=1)
    if _WHOLE.fullmatch(text):
        return int(text)
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"invalid timestamp: {shown(text)}; expected one such as 2026-01-31 12:34:56.789+0000")
    fraction = (match[7] or "").ljust(3, "0")
    if fraction[3:].strip("0"):
        raise ValueError(f"{shown(text)} has a higher precision than milliseconds")
    parts = [int(part or 0) for part in match.groups()[:6]]
    found = datetime.datetime(*parts, tzinfo=datetime.timezone.utc)  # type: ignore[misc, arg-type]
    milliseconds = (found - BEGIN) // datetime.timedelta(milliseconds=1) + int(fraction[:3])
    zone = match[8]
    if zone and zone != "Z":
        minutes = int(zone[1:3]) * 60 + (int(zone[-2:]) if len(zone) > 3 else 0)
        milliseconds -= (minutes if zone[0] == "+" else -minutes) * 60_000
    return milliseconds


def _day_as_cqlsh(text: str) -> int:
    """Return a day; COPY TO writes days beyond the years 1 to 9999 as their number since 1970."""
    text = text.strip()
    return int(text) if _WHOLE.fullmatch(text) else day_of(text)


def _time(text: str) -> int:
    match = _TIME.fullmatch(text.strip())
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) > 59:
        raise ValueError(f"invalid time: {shown(text)}; expected one such as 12:34:56.123456789")
    seconds = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
    return seconds * 10**9 + int((match[4] or "").ljust(9, "0"))


# -- whole columns: these raise pyarrow.ArrowInvalid for values that need the slow path


def _cast(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow.compute as pc

    return pc.cast(_normalize_separators(texts, kind, style), arrow_type(kind))


def _reals(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = _cast(texts, kind, style)
    if pc.any(pc.is_inf(found)).as_py():
        raise pa.ArrowInvalid("infinity, which may be a number out of range")
    return found


def _integers(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("hexadecimal digits, which only casts read")
    return _cast(texts, kind, style)


def _normalize_separators(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow.compute as pc

    if style.thousands_sep:
        texts = pc.replace_substring(texts, style.thousands_sep, "")
    return texts if style.decimal_sep == "." else pc.replace_substring(texts, style.decimal_sep, ".")


def _same(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow.compute as pc

    if style.as_cqlsh and pc.any(pc.match_substring(texts, "\\")).as_py():
        return _read_one_by_one(texts, kind, style).values
    return texts


def _truths(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    lowered = pc.utf8_lower(texts)
    true = pc.equal(lowered, style.true.lower())
    if not pc.all(pc.or_(true, pc.equal(lowered, style.false.lower()))).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return true


def _moments(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow as pa

    if style.datetime_format is not None:
        raise pa.ArrowInvalid("a custom datetime format")
    return _cast(texts, kind, Style())


def _days(texts: Any, kind: Kind, style: Style) -> Any:
    return _cast(texts, kind, Style())


def _clocks(texts: Any, kind: Kind, style: Style) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.any(pc.less(pc.binary_length(texts), len("00:00:00"))).as_py():
        raise pa.ArrowInvalid("no seconds")
    moments = pc.cast(pc.binary_join_element_wise("1970-01-01 ", texts, ""), pa.timestamp("ns"))
    return pc.cast(pc.cast(moments, pa.int64()), pa.time64("ns"))


_FAST: dict[str, Callable[[Any, Kind, Style], Any]] = {
    **dict.fromkeys(INTEGERS, _integers),
    **dict.fromkeys(FLOATS, _reals),
    **dict.fromkeys(TEXTS, _same),
    **dict.fromkeys(("uuid", "timeuuid", "inet"), lambda texts, kind, style: texts),
    **dict.fromkeys(("decimal", "varint"), _normalize_separators),
    "date": _days,
    "time": _clocks,
    "boolean": _truths,
    "timestamp": _moments,
}
