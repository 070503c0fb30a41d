"""Parser for collections, tuples, vectors and user types as cqlsh writes them (L6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .kinds import Kind
from .style import Style
from .texts_out import NOTHING

_SPACE = re.compile(r"\s*")
_UNQUOTED = re.compile(r"[^,\[\](){}]*")
_KEY = re.compile(r"(?:[^,\[\](){}:]|:(?!\s))*(?=:)")  # a colon that no space follows is part of the key
_PAIRS = {"[": "]", "{": "}", "(": ")"}
_BEGINS = {"list": "[", "vector": "[", "set": "{", "map": "{", "udt": "{", "tuple": "("}
MOST_DEEP = 64

Read = Callable[[str], Any]


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
        text = self._unquoted(pattern)
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
            name = self._quoted() if self._skip() == "'" else self._unquoted(_KEY)
            part = parts.get(name)
            if part is None:
                raise ValueError(f"the type has no field {name!r}")
            self._take(":")
            found[name] = self._value(part)

        self._several(end, field)
        return found

    def _scalar(self, kind: Kind, pattern: re.Pattern[str]) -> Any:
        if self._skip() == "'":
            text = self._quoted()
        else:
            text = self._unquoted(pattern)
            if text == self._style.null or text in NOTHING:
                return None
        read = self._scalars.get(kind)
        if read is None:
            from .texts_in import reader_of

            read = self._scalars[kind] = reader_of(kind, self._style)
        return read(text)

    def _unquoted(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise self._wrong("a value")
        self._at = match.end()
        return match[0].strip()

    def _quoted(self) -> str:
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
