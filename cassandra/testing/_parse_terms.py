"""The parser of terms, types and relations."""

from __future__ import annotations

from typing import Any

from cassandra.testing import errors
from cassandra.testing._ast import (
    Call,
    Condition,
    Element,
    Field,
    Hint,
    ListLiteral,
    Literal,
    MapLiteral,
    Marker,
    Name,
    Relation,
    SetLiteral,
    TableName,
    TupleLiteral,
    TypeRef,
    Using,
)
from cassandra.testing._lexer import TokenStream, unquote

OPERATORS = ("=", "<", "<=", ">", ">=", "!=")
CONSTANTS = ("string", "integer", "float", "uuid", "blob", "duration")


class TermParser(TokenStream):
    """The parser of terms, types and relations."""

    def table_name(self) -> TableName:
        first = self.name()
        if self.take_sign("."):
            return TableName(first, self.name())
        return TableName(None, first)

    # -- types

    def type_(self) -> TypeRef:
        if self.here.kind == "string":
            raise errors.NotSupported(f"custom type {self.here.text}")
        name = "set" if self.take_words("SET") else self.name()
        if self.take_sign("."):
            return TypeRef(self.name(), (), name)
        arguments: list[Any] = []
        if self.take_sign("<"):
            while True:
                arguments.append(self.integer() if self.here.kind == "integer" else self.type_())
                if not self.take_sign(","):
                    break
            self.expect_sign(">")
        return TypeRef(name, tuple(arguments))

    # -- terms

    def marker(self) -> Marker | None:
        if self.take_sign("?"):
            self.markers.append(None)
        elif self.is_sign(":") and self.peek().kind in {"word", "quoted"}:
            self.advance()
            token = self.advance()
            quoted = token.kind == "quoted"
            self.markers.append(token.text[1:-1].replace('""', '"') if quoted else token.text.lower())
        else:
            return None
        return Marker(len(self.markers) - 1, self.markers[-1])

    def term(self) -> Any:
        marker = self.marker()
        if marker is not None:
            return marker
        token = self.here
        if token.kind in CONSTANTS:
            self.advance()
            return Literal(token.kind, unquote(token.text) if token.kind == "string" else token.text)
        if token.kind in {"word", "quoted"}:
            return self._word()
        if self.take_sign("["):
            return ListLiteral(self._terms("]"))
        if self.take_sign("{"):
            return self._braces()
        if self.is_sign("("):
            return self._parenthesis()
        if (self.is_sign("-") and self.is_word("NAN", ahead=1)) or (
            self.is_sign("-") and self.is_word("INFINITY", ahead=1)
        ):
            self.advance()
            return Literal("float", "-" + self.advance().text.lower())
        self.fail("a term")

    def _word(self) -> Any:
        word = self.here.text.upper() if self.here.kind == "word" else ""
        if word == "NULL":
            self.advance()
            return Literal("null")
        if word in {"TRUE", "FALSE"}:
            self.advance()
            return Literal("boolean", word.lower())
        if word in {"NAN", "INFINITY"}:
            self.advance()
            return Literal("float", word.lower())
        name = "token" if self.take_words("TOKEN") else self.name()
        if self.take_sign("."):
            name = self.name()
        if not self.take_sign("("):
            self.fail("a term")
        return Call(name, self._terms(")"))

    def _terms(self, end: str) -> tuple[Any, ...]:
        items: list[Any] = []
        if self.take_sign(end):
            return ()
        while True:
            items.append(self.term())
            if self.take_sign(end):
                return tuple(items)
            self.expect_sign(",")

    def _braces(self) -> Any:
        if self.take_sign("}"):
            return MapLiteral(())
        pairs: list[tuple[Any, Any]] = []
        items: list[Any] = []
        while True:
            is_field = self.here.kind in {"word", "quoted"} and self.is_sign(":", 1)
            key = Name(self.name()) if is_field else self.term()
            if self.take_sign(":"):
                pairs.append((key, self.term()))
            else:
                items.append(key)
            if self.take_sign("}"):
                break
            self.expect_sign(",")
        if pairs and items:
            self.fail("a map or a set")
        return MapLiteral(tuple(pairs)) if pairs else SetLiteral(tuple(items))

    def _parenthesis(self) -> Any:
        """Parse a tuple, or a type hint as in ``(int) ?``."""
        if self.peek().kind == "word" and (self.is_sign(")", 2) or self.is_sign("<", 2)):
            self.advance()
            kind = self.type_()
            self.expect_sign(")")
            return Hint(kind, self.term())
        self.expect_sign("(")
        return TupleLiteral(self._terms(")"))

    # -- WHERE

    def where(self) -> list[Relation]:
        relations = [*self._relations()]
        while self.take_words("AND"):
            relations += self._relations()
        return relations

    def _relations(self) -> list[Relation]:
        if self.is_word("TOKEN") and self.is_sign("(", 1):
            self.advance()
            columns = self._names()
            return [Relation(columns, self._operator(), self.term(), token=True)]
        if self.is_sign("("):
            if self.is_sign("(", 1) or self.peek(2).text.upper() not in {",", ")"}:
                self.advance()
                relations = self.where()
                self.expect_sign(")")
                return relations
            columns = self._names()
            if self.take_words("IN"):
                return [Relation(columns, "IN", self._in_list(), multi=True)]
            return [Relation(columns, self._operator(), self.term(), multi=True)]
        column = self.name()
        if self.take_sign("["):
            key = self.term()
            self.expect_sign("]")
            return [Relation((column,), self._operator(), self.term(), key=key)]
        return [self._single(column)]

    def _single(self, column: str) -> Relation:
        if self.take_words("IN"):
            return Relation((column,), "IN", self._in_list())
        if self.take_words("NOT", "IN") or self.take_words("NOT", "CONTAINS"):
            raise errors.NotSupported("NOT IN and NOT CONTAINS")
        if self.take_words("CONTAINS", "KEY"):
            return Relation((column,), "CONTAINS KEY", self.term())
        if self.take_words("CONTAINS"):
            return Relation((column,), "CONTAINS", self.term())
        if self.is_word("LIKE") or self.is_word("BETWEEN") or self.is_word("IS"):
            raise errors.NotSupported(f"{self.here.text.upper()} in WHERE")
        return Relation((column,), self._operator(), self.term())

    def _in_list(self) -> Any:
        marker = self.marker()
        if marker is not None:
            return marker
        self.expect_sign("(")
        return ListLiteral(self._terms(")"))

    def _operator(self) -> str:
        if self.here.kind == "sign" and self.here.text in OPERATORS:
            return self.advance().text
        self.fail("an operator")

    def _names(self) -> tuple[str, ...]:
        self.expect_sign("(")
        names = [self.name()]
        while self.take_sign(","):
            names.append(self.name())
        self.expect_sign(")")
        return tuple(names)

    # -- IF and USING

    def conditions(self) -> list[Condition]:
        found = [self._condition()]
        while self.take_words("AND"):
            found.append(self._condition())
        return found

    def _condition(self) -> Condition:
        target: Any = Name(self.name())
        if self.take_sign("."):
            target = Field(target, self.name())
        elif self.take_sign("["):
            target = Element(target, self.term())
            self.expect_sign("]")
        if self.take_words("IN"):
            return Condition(target, "IN", self._in_list())
        if self.is_word("CONTAINS") or self.is_word("LIKE"):
            raise errors.NotSupported(f"{self.here.text.upper()} in IF")
        return Condition(target, self._operator(), self.term())

    def using(self) -> Using:
        """Parse ``USING TIMESTAMP t AND TTL n``; ScyllaDB's ``TIMEOUT`` is parsed and has no effect."""
        found = Using()
        if not self.take_words("USING"):
            return found
        while True:
            if self.take_words("TIMESTAMP"):
                found.timestamp = self.term()
            elif self.take_words("TTL"):
                found.ttl = self.term()
            elif self.take_words("TIMEOUT"):
                self.term()
            else:
                self.fail("TIMESTAMP or TTL")
            if not self.take_words("AND"):
                return found
