"""Arrow columns to text, in the forms of cqlsh (L6).

Whole columns at a time, by kernels of PyArrow where they write the required form; nested values are assembled from the
texts of their parts, which are columns, too.

Days are ``2026-01-31``; years of other than four digits have a sign, as in the server's format. Durations are
``1y2mo3d4h5m6s7ms8us9ns``, with a leading minus for negative ones. Both are read here, too.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from math import isinf, isnan, log10, modf
from sys import float_info
from typing import Any

from .console import shown
from .options import Style
from .tables import FLOATS, INTEGERS, NUMBERS, TEXTS, Kind

# ---- days as text

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_BASE = datetime.date(2000, 1, 1).toordinal() - _EPOCH
_CYCLE = 146097  # days of 400 years, after which the calendar is the same
_DAY = re.compile(r"(\d{4}|-\d{4,7}|\+\d{5,7})-(\d{1,2})-(\d{1,2})", re.ASCII)
MOST = 2**31  # range of a date in days, before and after 1970


def day_text(days: int) -> str:
    """Return the text of the day that is *days* after 1970-01-01."""
    cycles, rest = divmod(days - _BASE, _CYCLE)
    found = datetime.date.fromordinal(rest + _BASE + _EPOCH)
    year = found.year + 400 * cycles
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{found.month:02d}-{found.day:02d}"


def day_of(text: str) -> int:
    """Return the days since 1970-01-01. Raise ValueError for an invalid date."""
    match = _DAY.fullmatch(text)
    if match is not None:
        cycles, year = divmod(int(match[1]) - 2000, 400)
        try:
            found = datetime.date(year + 2000, int(match[2]), int(match[3])).toordinal() - _EPOCH + cycles * _CYCLE
        except ValueError:  # an invalid month or day
            pass
        else:
            if not -MOST <= found < MOST:
                raise ValueError(f"{shown(text)} is out of the range of a date")
            return found
    raise ValueError(f"invalid date: {shown(text)}; expected one such as 2026-01-31")


# ---- durations as text

MONTHS = {"y": 12, "mo": 1}
DAYS_OF_UNIT = {"w": 7, "d": 1}
NANOSECONDS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_PART = re.compile(r"(\d+)(mo|ms|us|µs|μs|ns|[ywdhms])", re.ASCII | re.IGNORECASE)
_ORDER = {unit: place for place, unit in enumerate(("y", "mo", "w", "d", "h", "m", "s", "ms", "us", "ns"))}
_WRITTEN = (("y", "mo"), ("d",), ("h", "m", "s", "ms", "us", "ns"))
_UNITS = {**MONTHS, **DAYS_OF_UNIT, **NANOSECONDS}


def duration_text(months: int, days: int, nanoseconds: int) -> str:
    """Return the duration as CQL spells it; ``0s`` for an empty one."""
    parts = ["-"] if min(months, days, nanoseconds) < 0 else []
    for rest, units in zip((abs(months), abs(days), abs(nanoseconds)), _WRITTEN, strict=True):
        for unit in units:
            count, rest = divmod(rest, _UNITS[unit])
            if count:
                parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def duration_of(text: str) -> tuple[int, int, int]:
    """Return months, days and nanoseconds. Raise ValueError for an invalid duration."""
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text)
    months = days = nanoseconds = at = 0
    before = -1
    while at < len(body):
        match = _PART.match(body, at)
        if match is None:
            break
        count, unit = int(match[1]), match[2].lower().replace("µ", "u").replace("μ", "u")
        if _ORDER[unit] <= before:
            raise ValueError(f"{shown(text)} has {unit} after a smaller unit, or twice")
        before = _ORDER[unit]
        months += count * MONTHS.get(unit, 0)
        days += count * DAYS_OF_UNIT.get(unit, 0)
        nanoseconds += count * NANOSECONDS.get(unit, 0)
        at = match.end()
    if not body or at < len(body):
        raise ValueError(f"invalid duration: {shown(text)}; expected one such as 1y2mo3d4h5m6s7ms8us9ns")
    return sign * months, sign * days, sign * nanoseconds


# ---- columns of text

#: Range of milliseconds and of days that are written as dates: years 1 to 9999. Others are written as numbers.
MOMENTS = (-62135596800000, 253402300799999)
DAYS = (-719162, 2932896)
#: Characters other than backslashes that COPY TO shows as an escape sequence.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\xa0]")
#: Spellings of null within another value, for any style.
NOTHING = ("", "null", "None")
_PLAIN_FIELD = re.compile(r"[^\s:,'{}\[\]()][^:,'{}\[\]()]*(?<!\s)")
_DIRECTIVE = re.compile(r"\.%f|%[-_0^#]*[%-~]", re.DOTALL)
#: Directives with years, which strftime of the C library does not pad; strptime and other programs expect four digits.
_YEARS: dict[str, Callable[[datetime.datetime], str]] = {
    "%Y": lambda moment: f"{moment.year:04}",
    "%G": lambda moment: f"{moment.isocalendar()[0]:04}",
    "%C": lambda moment: f"{moment.year // 100:02}",
    "%F": lambda moment: f"{moment.year:04}-{moment.month:02}-{moment.day:02}",
    "%+": lambda moment: f"{moment.year:04}-{moment.month:02}-{moment.day:02}",
    "%c": lambda moment: f"{moment:%a %b} {moment.day:2} {moment:%H:%M:%S} {moment.year:04}",
}


def texts_of(array: Any, kind: Kind, style: Style, nested: bool = False) -> Any:
    """Return an array of strings, null where *array* is. *nested*: within a collection, where texts are quoted."""
    import pyarrow.compute as pc

    name = kind.name
    storage = getattr(array, "storage", None)
    if storage is not None:  # an extension type
        array = storage
    if name in TEXTS:
        return _texts(array, style, nested)
    if name in INTEGERS:
        found = _group_thousands(pc.cast(array, "string"), style)
    elif name in FLOATS:
        found = _floats(array, style, name, nested)
    else:
        found = _WRITERS[name](array, kind, style, nested)
    if nested and name in NUMBERS and style.separates and not style.as_cqlsh:
        return _quote_array(found)  # a comma in it would be read as the end of the element
    return found


def strings_of(values: Any) -> Any:
    """Return an array of strings."""
    import pyarrow as pa

    return pa.array(values, pa.string())


def _each(array: Any, write: Callable[[Any], str]) -> Any:
    return strings_of([None if value is None else write(value) for value in array.to_pylist()])


def _quote_array(array: Any) -> Any:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise("'", pc.replace_substring(array, "'", "''"), "'", "")


def _texts(array: Any, style: Style, nested: bool) -> Any:
    import pyarrow.compute as pc

    array = pc.cast(array, "string")  # from views, dictionaries
    if style.as_cqlsh:
        array = pc.replace_substring(array, "\\", "\\\\")
        if pc.any(pc.match_substring_regex(array, "[\\x00-\\x1f\\x7f-\\x{a0}]")).as_py():
            array = _each(array, lambda text: _CONTROL.sub(lambda match: repr(match[0])[1:-1], text))
    return _quote_array(array) if nested else array


def _group_thousands(digits: Any, style: Style) -> Any:
    """Return whole numbers as text, with thousands separators."""
    if not style.thousands_sep:
        return digits
    return _each(digits, lambda text: _with_separators(text, style))


def _floats(array: Any, style: Style, name: str, nested: bool) -> Any:
    import pyarrow.compute as pc

    precision = style.double_precision if name == "double" and not nested else style.float_precision
    if precision is not None:
        digits = precision
        return _each(array, lambda value: _round_value(value, digits, style))
    found = pc.cast(array, "string")
    if not pc.all(pc.is_finite(array)).as_py():
        found = pc.if_else(pc.is_nan(array), "NaN", found)
        found = pc.if_else(pc.is_inf(array), pc.if_else(pc.less(array, 0), "-Infinity", "Infinity"), found)
    if not style.separates:
        return found
    return _each(found, lambda text: _with_separators(text, style))


def _round_value(value: float, precision: int, style: Style) -> str:
    """Return *value* with as many digits as COPY TO writes."""
    if isnan(value) or isinf(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if style.thousands_sep:
        fraction, whole = modf(value)
        digits = f"{abs(fraction):.{precision}f}"[2:].rstrip("0")
        text = f"{whole:,.0f}".replace(",", style.thousands_sep)
        return text + (style.decimal_sep + digits if digits else "")
    exponent = int(log10(abs(value))) if abs(value) > float_info.epsilon else None
    if exponent is not None and -4 <= exponent < precision:
        precision += exponent + 1  # the digits before the point are extra
    return f"{value:.{precision}g}".replace(".", style.decimal_sep)


def _with_separators(text: str, style: Style) -> str:
    """Return a number that was written exactly, with other separators."""
    if not text[-1].isdigit():
        return text
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, point, fraction = text.partition(".")
    if style.thousands_sep and whole.isdigit():
        first = len(whole) % 3
        groups = [whole[:first]] * bool(first) + [whole[at : at + 3] for at in range(first, len(whole), 3)]
        whole = style.thousands_sep.join(groups)
    return sign + whole + (style.decimal_sep if point else "") + fraction


def _decimals(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    if not style.separates:
        return array
    return _each(array, lambda text: _with_separators(text, style))


def _varints(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    return _group_thousands(array, style)


def _booleans(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    import pyarrow.compute as pc

    words = [style.true, style.false]
    if nested and not style.as_cqlsh:
        words = [_field_name(word) for word in words]
    return pc.if_else(array, *words)


def _blobs(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    return _each(array, lambda value: "0x" + value.hex())


def _uuids(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    if not len(array):
        return strings_of([])
    if array.null_count:
        filled = array.fill_null(bytes(16))
        return _nulls_of(array, _uuids(filled, kind, style, nested))
    start = array.offset * 16
    digits = memoryview(array.buffers()[1])[start : start + 16 * len(array)].hex()
    return strings_of(
        [
            f"{digits[at : at + 8]}-{digits[at + 8 : at + 12]}-{digits[at + 12 : at + 16]}-"
            f"{digits[at + 16 : at + 20]}-{digits[at + 20 : at + 32]}"
            for at in range(0, len(digits), 32)
        ]
    )


def _nulls_of(array: Any, texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))


def _addresses(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    from ipaddress import IPv4Address

    def write(value: bytes) -> str:
        return str(IPv4Address(value)) if len(value) == 4 else _address6(value)

    found = _each(array, write)
    return _quote_array(found) if nested else found


def _address6(value: bytes) -> str:
    from socket import AF_INET6, inet_ntop

    return inet_ntop(AF_INET6, value)


def _moments(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.cast(array, pa.int64())
    within = pc.and_(pc.greater_equal(numbers, MOMENTS[0]), pc.less_equal(numbers, MOMENTS[1]))
    shown = pc.if_else(within, numbers, 0)
    if style.datetime_format is None:
        found = pc.cast(pc.cast(shown, pa.timestamp("ms")), "string")
        found = pc.binary_join_element_wise(found, "+0000", "")
    else:
        found = _each(shown, _formatter(style.datetime_format))
    found = pc.if_else(within, found, pc.cast(numbers, "string"))
    return _quote_array(found) if nested else found


def _formatter(text_format: str) -> Callable[[int], str]:
    begin = moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    fraction = 0

    def directive(match: re.Match[str]) -> str:
        found = match[0]
        if found == ".%f":
            return f".{fraction:03}"  # COPY writes three digits of it
        write = _YEARS.get(found)
        return found if write is None else write(moment)

    def write(milliseconds: int) -> str:
        nonlocal moment, fraction
        moment = begin + datetime.timedelta(milliseconds=milliseconds)
        fraction = milliseconds % 1000
        return moment.strftime(_DIRECTIVE.sub(directive, text_format))

    return write


def _days(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.cast(array, pa.int32())
    within = pc.and_(pc.greater_equal(numbers, DAYS[0]), pc.less_equal(numbers, DAYS[1]))
    shown = pc.cast(pc.cast(pc.if_else(within, numbers, pa.scalar(0, pa.int32())), pa.date32()), "string")
    if not pc.all(within).as_py():
        others = pc.cast(numbers, "string") if style.as_cqlsh else _each(numbers, day_text)
        shown = pc.if_else(within, shown, others)
    return _quote_array(shown) if nested and not style.as_cqlsh else shown


def _times(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    import pyarrow.compute as pc

    found = pc.cast(array, "string")
    # COPY TO writes no quotes around them, which COPY FROM cannot read next to colons
    return _quote_array(found) if nested and not style.as_cqlsh else found


def _durations(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    return _each(array, lambda value: duration_text(*value))


def _parts(array: Any, kind: Kind, style: Style) -> list[str]:
    """Return the texts of the elements or fields of a value. Texts in quotes are values, for any spelling of null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts, null = texts_of(array, kind, style, nested=True), style.null
    if not style.as_cqlsh:
        if _PLAIN_FIELD.fullmatch(null) is None:
            null = ""
        twins = pc.is_in(texts, pa.array([null, *NOTHING]))
        if pc.any(twins).as_py():
            texts = pc.if_else(pc.and_(twins, texts.is_valid()), _quote_array(texts), texts)
    found: list[str] = texts.fill_null(null).to_pylist()
    return found


def _lists(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    begin, end = ("{", "}") if kind.name == "set" else ("[", "]")
    parts = _parts(array.values, kind.parts[0], style)
    return join_lists(array, parts, begin, end)


def join_lists(array: Any, parts: list[str], begin: str, end: str) -> Any:
    """Return the texts of lists whose elements have the texts *parts*."""
    offsets = array.offsets.to_pylist()
    there = array.is_valid().to_pylist()
    return strings_of(
        [
            begin + ", ".join(parts[offsets[row] : offsets[row + 1]]) + end if is_there else None
            for row, is_there in enumerate(there)
        ]
    )


def _vectors(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    return join_vectors(array, kind.size, _parts(array.values, kind.parts[0], style))


def join_vectors(array: Any, size: int, parts: list[str]) -> Any:
    """Return the texts of vectors whose elements have the texts *parts*."""
    first = array.offset
    return strings_of(
        [
            "[" + ", ".join(parts[(first + row) * size : (first + row + 1) * size]) + "]" if is_there else None
            for row, is_there in enumerate(array.is_valid().to_pylist())
        ]
    )


def _maps(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    keys, items = (_parts(half, part, style) for half, part in zip((array.keys, array.items), kind.parts, strict=True))
    return join_lists(array, [f"{key}: {item}" for key, item in zip(keys, items, strict=True)], "{", "}")


def _structs(array: Any, kind: Kind, style: Style, nested: bool) -> Any:
    columns = [_parts(array.field(at), part, style) for at, part in enumerate(kind.parts)]
    if kind.name == "tuple":
        return join_fields(array, columns, "(", ")")
    return join_fields(array, columns, "{", "}", [field_text(field, style) for field in kind.fields])


def join_fields(array: Any, columns: list[list[str]], begin: str, end: str, names: Sequence[str] = ()) -> Any:
    """Return the texts of structs whose fields have the texts *columns*, with *names* before them if given."""
    if names:
        columns = [[f"{name}: {text}" for text in column] for name, column in zip(names, columns, strict=True)]
    there = array.is_valid().to_pylist()
    return strings_of(
        [
            begin + ", ".join(row) + end if is_there else None
            for is_there, row in zip(there, zip(*columns, strict=True), strict=True)
        ]
    )


def field_text(name: str, style: Style) -> str:
    """Return the name of a field of a user type, quoted if it is ambiguous."""
    return name if style.as_cqlsh else _field_name(name)


def _field_name(text: str) -> str:
    return text if _PLAIN_FIELD.fullmatch(text) else "'" + text.replace("'", "''") + "'"


_WRITERS: dict[str, Callable[[Any, Kind, Style, bool], Any]] = {
    "blob": _blobs,
    "boolean": _booleans,
    "custom": _blobs,
    "date": _days,
    "decimal": _decimals,
    "duration": _durations,
    "inet": _addresses,
    "list": _lists,
    "map": _maps,
    "set": _lists,
    "time": _times,
    "timestamp": _moments,
    "timeuuid": _uuids,
    "tuple": _structs,
    "udt": _structs,
    "uuid": _uuids,
    "varint": _varints,
    "vector": _vectors,
}
