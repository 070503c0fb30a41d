"""Parsers of type names: the server's class spelling to classes, CQL spelling to lists (L2)."""

import re
from functools import lru_cache
from typing import Any, NoReturn

from cassandra._base.logs import printable
from cassandra._base.objects import public
from cassandra._wire.types.base import _CassandraType, _on_register, lookup_casstype_simple
from cassandra._wire.types.scalars import CounterColumnType

from .nested import ReversedType

_MAX_DEPTH = 128
_TOKEN = r"\s*(=>|[(),:]|[^(),:=>\s]+)"  # compiled at first use


class _Parser:
    """Parser of ``Name(alias:Name, Name=>Name, 3)``, nested to a bounded depth."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        token, at, text = re.compile(_TOKEN), 0, text.strip()
        while at < len(text):
            match = token.match(text, at)
            if match is None:
                raise ValueError(f"unexpected {text[at]!r} at {at}")
            self.tokens.append(match.group(1))
            at = match.end()
        self.tokens.append("")
        self.at = 0

    def whole(self) -> Any:
        parsed = self.type(0)
        if self.peek():
            self.fail("the end")
        if isinstance(parsed, int):
            raise ValueError("expected a type, got a number")
        return parsed

    def type(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise ValueError(f"nested more than {_MAX_DEPTH} levels deep")
        name = self.name()
        if name.isdigit() and self.peek() != "(":
            return int(name)
        cls = lookup_casstype_simple(name)
        if self.peek() != "(":
            return cls
        self.at += 1
        names, subtypes = self.parameters(depth + 1)
        return cls.apply_parameters(subtypes, names if any(names) else None)

    def parameters(self, depth: int) -> tuple[list[str | None], list[Any]]:
        names: list[str | None] = []
        subtypes: list[Any] = []
        while self.peek() != ")":
            alias = None
            if self.tokens[self.at + 1 : self.at + 2] in ([":"], ["=>"]):
                alias = self.name()
                self.at += 1
            names.append(alias)
            subtypes.append(self.type(depth))
            if self.peek() == ",":
                self.at += 1
            elif self.peek() != ")":
                self.fail("',' or ')'")
        self.at += 1
        return names, subtypes

    def peek(self) -> str:
        return self.tokens[self.at]

    def name(self) -> str:
        token = self.peek()
        if token in ("", "(", ")", ",", ":", "=>"):
            self.fail("a name")
        self.at += 1
        return token

    def fail(self, wanted: str) -> NoReturn:
        raise ValueError(f"expected {wanted}, got {printable(repr(self.peek() or 'the end'), 256)}")


@public("cassandra.cqltypes")
def parse_casstype_args(typestring: str) -> Any:
    """Return the class for the server's spelling of a type. Raise ValueError if it is malformed."""
    return _Parser(typestring).whole()


_LONGEST_CACHED = 4096  # characters; longer text is not cached, so that a server cannot fill the cache with it


@lru_cache(maxsize=512)
def _parse_cached(typestring: str) -> Any:
    return parse_casstype_args(typestring)


_on_register.append(_parse_cached.cache_clear)


@public("cassandra.cqltypes")
def lookup_casstype(casstype: Any) -> Any:
    """Return the class for the server's spelling of a type, known or unknown; a class is returned unchanged.

    Raise ValueError if the spelling is malformed.
    """
    if isinstance(casstype, type) and issubclass(casstype, _CassandraType):
        return casstype
    try:
        return _parse_cached(casstype) if len(casstype) <= _LONGEST_CACHED else parse_casstype_args(casstype)
    except ValueError as error:
        text = printable(repr(casstype), 256)
        raise ValueError(f"Don't know how to parse type string {text}: {error}") from error


@public("cassandra.cqltypes")
def is_reversed_casstype(data_type: Any) -> bool:
    """True if the type is marked as sorted in descending order."""
    return issubclass(data_type, ReversedType)


@public("cassandra.cqltypes")
def is_counter_type(t: Any) -> bool:
    """True if *t*, a class or a name, is the counter type."""
    return issubclass(lookup_casstype(t), CounterColumnType)


@public("cassandra.cqltypes")
def cql_typename(casstypename: str) -> str:
    """Convert the server's spelling of a type to CQL: ``ListType(Int32Type)`` to ``list<int>``."""
    return str(lookup_casstype(casstypename).cql_parameterized_type())


_CQL_WORD = r'"((?:[^"]|"")+)"|\'([^\']+)\'|([a-zA-Z0-9_]+)'


@public("cassandra.cqltypes")
def cql_types_from_string(cql_type: str) -> list[str]:
    """Return all type names in a CQL type except frozen: ``map<text, frozen<x>>`` has map, text and x."""
    words = (m.group(1) or m.group(2) or m.group(3) for m in re.finditer(_CQL_WORD, cql_type))
    return [word for word in words if word != "frozen" and not word.isdigit()]


@public("cassandra.cqltypes")
def cqltype_to_python(cql_string: str) -> list[Any]:
    """Convert a CQL type to nested lists: ``frozen<list<int>>`` becomes ``['frozen', ['list', ['int']]]``."""
    tokens = re.findall(r"""[<>,]|"(?:[^"]|"")+"|'[^']+'|[^<>,\s]+""", cql_string)
    stack: list[list[Any]] = [[]]
    for token in tokens:
        if token == "<":
            if len(stack) > _MAX_DEPTH:
                raise ValueError(f"nested more than {_MAX_DEPTH} levels deep: {printable(repr(cql_string), 256)}")
            stack.append([])
        elif token == ">":
            if len(stack) == 1:
                raise ValueError(f"unbalanced '>' in {printable(repr(cql_string), 256)}")
            inner = stack.pop()
            stack[-1].append(inner)
        elif token != ",":
            stack[-1].append(token)
    if len(stack) != 1:
        raise ValueError(f"unbalanced '<' in {printable(repr(cql_string), 256)}")
    return stack[0]


@public("cassandra.cqltypes")
def python_to_cqltype(types: list[Any]) -> str:
    """Convert nested lists to a CQL type, the inverse of :func:`cqltype_to_python`."""
    parts: list[str] = []
    for item in types:
        if isinstance(item, list):
            parts[-1] += f"<{python_to_cqltype(item)}>"
        else:
            parts.append(item)
    return ", ".join(parts)


@public("cassandra.cqltypes")
def strip_frozen(cql: str) -> str:
    """Return a CQL type without its frozen marks."""
    return python_to_cqltype(_without_frozen(cqltype_to_python(cql)))


def _without_frozen(types: list[Any]) -> list[Any]:
    plain: list[Any] = []
    unwrap = False
    for item in types:
        if isinstance(item, list):
            inner = _without_frozen(item)
            plain.extend(inner) if unwrap else plain.append(inner)
        unwrap = item == "frozen"
        if not unwrap and not isinstance(item, list):
            plain.append(item)
    return plain
