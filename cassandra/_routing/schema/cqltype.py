"""Parser of types as in the schema tables, such as ``frozen<map<text, "My type">>`` (L4). The model keeps the strings;
code that needs the structure (such as the user types in a type) parses them here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# Compiled on first use, as few programs parse types; cached by ``re``.
_TOKEN = r"""(?x)\s*(?:
        (?P<quoted>"(?:[^"]|"")*")      # a user type that needs quotes
      | '(?P<custom>(?:[^']|'')*)'      # a Java class name
      | (?P<name>[A-Za-z0-9_.]+)        # anything else, also the dimension of a vector
      | (?P<mark>[<>,])
    )\s*"""

_MAX_DEPTH = 128

_PARAMETRIC = frozenset(("list", "set", "map", "tuple", "vector", "frozen"))
_SIMPLE = frozenset(
    (
        *("ascii", "bigint", "blob", "boolean", "counter", "date", "decimal", "double", "duration", "empty", "float"),
        *("inet", "int", "smallint", "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varchar", "varint"),
    )
)


class CqlType(NamedTuple):
    """A type and its parameters. ``name`` is without quotes; ``kind`` distinguishes a user type named "text" from the
    type text."""

    name: str
    kind: str = "native"  # native | user | custom | dimension
    args: tuple[CqlType, ...] = ()

    def walk(self) -> Iterator[CqlType]:
        """Yield this type and all nested types."""
        yield self
        for arg in self.args:
            yield from arg.walk()


def parse_cql_type(text: str) -> CqlType:
    """Parse *text*. Raises ValueError if it is not a type."""
    parser = _Parser(text)
    parsed = parser.type()
    if parser.next() is not None:
        raise parser.error()
    return parsed


def is_simple_type(text: str) -> bool:
    """True for a native type without parameters: no collection, tuple, vector, user type or custom type."""
    return text in _SIMPLE


def user_types_in(text: str) -> list[str]:
    """Return the names of the user types in the type *text*, in its order; an empty list if it cannot be parsed."""
    try:
        return [part.name for part in parse_cql_type(text).walk() if part.kind == "user"]
    except ValueError:
        return []


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._marks = list(self._split(text))
        self._position = 0
        self._depth = 0

    def _split(self, text: str) -> Iterator[tuple[str, str]]:
        token = re.compile(_TOKEN)
        position = 0
        while position < len(text):
            match = token.match(text, position)
            if match is None or match.lastgroup is None:
                raise self.error()
            yield match.lastgroup, match[match.lastgroup]
            position = match.end()

    def error(self) -> ValueError:
        return ValueError(f"not a CQL type: {self._text[:200]!r}")

    def next(self) -> tuple[str, str] | None:
        return self._marks[self._position] if self._position < len(self._marks) else None

    def type(self) -> CqlType:
        found = self._take()
        group, word = found
        if group == "quoted":
            return CqlType(word[1:-1].replace('""', '"'), "user")
        if group == "custom":
            return CqlType(word.replace("''", "'"), "custom")
        if group != "name":
            raise self.error()
        if word.isdigit():
            return CqlType(word, "dimension")
        lowered = word.lower()
        if self.next() == ("mark", "<"):
            if lowered not in _PARAMETRIC:
                raise self.error()
            return CqlType(lowered, "native", self._arguments())
        return CqlType(lowered, "native") if lowered in _SIMPLE else CqlType(word, "user")

    def _arguments(self) -> tuple[CqlType, ...]:
        self._take()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.error()
        args = [self.type()]
        while (mark := self._take()) == ("mark", ","):
            args.append(self.type())
        if mark != ("mark", ">"):
            raise self.error()
        self._depth -= 1
        return tuple(args)

    def _take(self) -> tuple[str, str]:
        found = self.next()
        if found is None:
            raise self.error()
        self._position += 1
        return found
