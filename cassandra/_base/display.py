"""Tables for people: the ``repr`` and ``_repr_html_`` of results, scans, schema objects and sessions (L0).

A :class:`Table` has a title, columns and the first rows of something. :func:`text` and :func:`html` render it. Both are
bounded in rows, columns and characters of a cell, and so is their work: of a value only as much is formatted as is
shown. Characters that control a terminal, or hide text, are escaped as in logs. HTML has no colours of its own, so that
it fits light and dark notebooks.

:func:`rich_display` adds both to a class. The functions it gets read only what the object already has: they send
nothing, wait for nothing, acquire no lock of ``locks.py`` and change nothing. An exception in them becomes a text: a
repr never raises. Any thread may call them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple, TypeVar
from unicodedata import combining, east_asian_width
from uuid import UUID

from .collections import SortedSet
from .logs import printable

T = TypeVar("T")

MOST_ROWS = 10
MOST_COLUMNS = 20
MOST_CHARACTERS = 50  # of a cell
MOST_TITLE = 200
MOST_LEVELS = 6  # of nested values
MOST_BITS = 2000  # of an integer; a larger one takes long to format
ELLIPSIS = "\u2026"
HIDDEN = "<encrypted>"  # in place of a value that the client has decrypted

_AS_TEXT = (float, Decimal, UUID, datetime.date, datetime.time, datetime.timedelta)


class Table(NamedTuple):
    """Columns and rows to show. *columns* are names and types; a row has one value for each, and may have fewer. Only
    the first rows are used; *notes* are lines below them. If no column has a name, the first one has heads of rows."""

    title: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    characters: int = MOST_CHARACTERS  # of a cell
    most_rows: int = MOST_ROWS


# ---- values


def value_text(value: Any, limit: int = MOST_CHARACTERS) -> str:
    """Return *value* on one line of up to *limit* printable characters. Never raises.

    Example::

        >>> value_text([1, "a", None])
        "[1, 'a', null]"
    """
    try:
        pieces, size = [], 0
        for piece in (value[: limit + 1],) if isinstance(value, str) else _pieces(value, limit, 0):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                break
        return printable("".join(pieces), limit)
    except Exception as error:  # of a class of the program
        return printable(f"<{type(value).__name__}: {type(error).__name__}>", limit)


def _pieces(value: Any, limit: int, level: int) -> Iterator[str]:
    """Yield the text of *value* in pieces, of which the consumer takes as many as it shows."""
    if value is None:
        yield "null"
    elif isinstance(value, str):
        yield repr(value[: limit + 1])
    elif isinstance(value, (bytes, bytearray)):
        yield f"0x{value[: limit // 2 + 1].hex()}"
    elif isinstance(value, int):
        many = value.bit_length() > MOST_BITS
        yield f"<integer of {value.bit_length()} bits>" if many else str(value)
    elif isinstance(value, _AS_TEXT):
        yield str(value)
    elif level >= MOST_LEVELS:
        yield ELLIPSIS
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from _items(zip(value._fields, value, strict=False), "()", limit, level, "=")
    elif isinstance(value, Mapping):
        yield from _items(value.items(), "{}", limit, level, ": ")
    elif isinstance(value, (Set, SortedSet)):
        yield from _items(((None, item) for item in value), "{}", limit, level)
    elif isinstance(value, tuple):
        yield from _items(((None, item) for item in value), "()", limit, level)
    elif isinstance(value, (Sequence, memoryview)):
        yield from _items(((None, item) for item in value), "[]", limit, level)
    else:
        yield repr(value)


def _items(pairs: Iterable[tuple[Any, Any]], ends: str, limit: int, level: int, between: str = "") -> Iterator[str]:
    yield ends[0]
    comma = ""
    for name, item in pairs:
        yield comma
        if between == "=":
            yield f"{name}="
        elif between:
            yield from _pieces(name, limit, level + 1)
            yield between
        yield from _pieces(item, limit, level + 1)
        comma = ", "
    yield ends[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


# ---- what of a table is shown


class _Cut(NamedTuple):
    """The shown part of a table, as text."""

    title: str
    names: list[str]
    types: list[str]
    rows: list[list[str | None]]  # None for null
    numeric: list[bool]  # by column
    notes: list[str]


def _cut(table: Table) -> _Cut:
    columns = list(islice(table.columns, MOST_COLUMNS))
    count = len(columns)
    shown = [list(islice(row, count)) for row in islice(table.rows, table.most_rows)]
    rows = [[None if value is None else value_text(value, table.characters) for value in row] for row in shown]
    for row in rows:
        row.extend([""] * (count - len(row)))
    numeric = [
        any(known := [_is_number(row[at]) for row in shown if at < len(row) and row[at] is not None]) and all(known)
        for at in range(count)
    ]
    notes = [printable(note, MOST_TITLE) for note in table.notes]
    if len(table.columns) > count:
        notes.insert(0, f"{len(table.columns) - count:,} more columns")
    if len(table.rows) > len(shown):
        notes.insert(0, f"{len(table.rows) - len(shown):,} more rows")
    return _Cut(
        printable(table.title, MOST_TITLE),
        [printable(name, MOST_CHARACTERS) for name, _ in columns],
        [printable(kind, MOST_CHARACTERS) for _, kind in columns],
        rows,
        numeric,
        notes,
    )


# ---- rendering


def text(table: Table) -> str:
    """Return *table* as lines: the title in angle brackets, columns, rows, notes."""
    cut = _cut(table)
    heads = [cut.names, cut.types] if any(cut.types) else [cut.names]
    lines: list[list[str]] = [*heads, *([("null" if cell is None else cell) for cell in row] for row in cut.rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
            for cell, width, right in zip(cells, widths, cut.numeric, strict=True)
        ]
        return (" " + " | ".join(padded)).rstrip()

    found = [f"<{cut.title}>"]
    if cut.names:
        found += map(line, heads)
        found.append("-" + "-+-".join("-" * width for width in widths) + "-")
        found += map(line, lines[len(heads) :])
    return "\n".join([*found, *(f"({note})" for note in cut.notes)])


def _width(cell: str) -> int:
    """Return the columns of a terminal that *cell* takes."""
    if cell.isascii():
        return len(cell)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in cell)


#: As html.escape(), whose module has all entities and takes milliseconds to import.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def escape(text: str) -> str:
    """Return *text* for the content of an HTML element, or for a quoted attribute."""
    return text.translate(_ENTITIES)


_LEFT = ' style="text-align:left"'
_RIGHT = ' style="text-align:right"'
_CAPTION = ' style="caption-side:top;text-align:left;white-space:nowrap"'
_NULL = '<em style="opacity:.6">null</em>'


def html(table: Table) -> str:
    """Return *table* as an HTML table. Its text is escaped; colours are those of the page."""
    cut = _cut(table)
    aligned = [_RIGHT if number else _LEFT for number in cut.numeric]
    parts = [f"<table><caption{_CAPTION}><strong>{escape(cut.title)}</strong></caption>"]
    has_names = any(cut.names)
    if has_names:
        parts.append("<thead><tr>")
        for name, kind, style in zip(cut.names, cut.types, aligned, strict=True):
            below = f'<br><small style="font-weight:normal;opacity:.7">{escape(kind)}</small>' if kind else ""
            parts.append(f'<th scope="col"{style}>{escape(name)}{below}</th>')
        parts.append("</tr></thead>")
    parts.append("<tbody>")
    for row in cut.rows:
        cells = [
            f"<td{style}>{_NULL if cell is None else escape(cell)}</td>"
            for cell, style in zip(row, aligned, strict=True)
        ]
        if cells and not has_names:
            cells[0] = f'<th scope="row"{_LEFT}>{escape(row[0] or "")}</th>'
        parts.append(f"<tr>{''.join(cells)}</tr>")
    parts.append("</tbody>")
    if cut.notes:
        span = f' colspan="{len(cut.names)}"' if len(cut.names) > 1 else ""
        lines = "<br>".join(map(escape, cut.notes))
        parts.append(f"<tfoot><tr><td{span}{_LEFT}><small>{lines}</small></td></tr></tfoot>")
    return "".join(parts) + "</table>"


# ---- classes


def bracketed(title: str) -> str:
    """Return *title* as the ``repr`` of an object."""
    return f"<{printable(title, MOST_TITLE)}>"


def rich_display(
    tables: Callable[[Any], Table | Sequence[Table]], text_by: Callable[[Any], str] | None = None
) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that adds ``_repr_html_`` with the result of *tables*, and ``__repr__`` with that of
    *text_by*, by default that of the class. Both never raise."""

    def add(cls: type[T]) -> type[T]:
        as_text: Callable[[Any], str] = text_by or cls.__repr__

        def _repr_html_(self: Any) -> str:
            try:
                found = tables(self)
                return "\n".join(map(html, (found,) if isinstance(found, Table) else found))
            except Exception as error:  # such as one of an object that is not complete
                return escape(_failed(self, error))

        def __repr__(self: Any) -> str:
            try:
                return as_text(self)
            except Exception as error:
                return _failed(self, error)

        for method in (_repr_html_, __repr__):
            method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
            setattr(cls, method.__name__, method)
        return cls

    return add


def _failed(shown: object, error: Exception) -> str:
    return f"<{type(shown).__name__}, which cannot be shown: {type(error).__name__}>"
