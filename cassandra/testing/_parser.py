"""CQL statements as syntax trees.

A statement is split into tokens, which :class:`Parser` reads from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from cassandra.testing import errors
from cassandra.testing._ast import (
    AlterKeyspace,
    AlterTable,
    AlterType,
    Assignment,
    Batch,
    Call,
    Cast,
    Condition,
    CreateIndex,
    CreateKeyspace,
    CreateTable,
    CreateType,
    Drop,
    Element,
    Field,
    Hint,
    ListLiteral,
    Literal,
    MapLiteral,
    Marker,
    Modification,
    Name,
    Relation,
    Select,
    Selector,
    SetLiteral,
    Statement,
    TableName,
    Truncate,
    TupleLiteral,
    TypeRef,
    Use,
    Using,
)
from cassandra.testing._types import RESERVED

_HEX = r"[0-9a-fA-F]"
_UNIT = r"(?:y|mo|w|d|h|ms|us|µs|ns|m|s)"
_TOKENS = re.compile(
    rf"""
    (?P<space>\s+|--[^\n]*|//[^\n]*|/\*.*?\*/)
  | (?P<string>'(?:[^']|'')*'|\$\$.*?\$\$)
  | (?P<quoted>"(?:[^"]|"")+")
  | (?P<uuid>{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}})
  | (?P<blob>0[xX]{_HEX}*)
  | (?P<duration>-?(?:\d+(?i:{_UNIT}))+(?![a-zA-Z0-9_])
      |-?P\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d(?![a-zA-Z0-9_])
      |-?P(?:\d+Y)?(?:\d+M)?(?:\d+W)?(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+S)?)?(?<=\d[YMWDHS])(?![a-zA-Z0-9_]))
  | (?P<float>-?\d+\.\d*(?:[eE][+-]?\d+)?|-?\d+[eE][+-]?\d+)
  | (?P<integer>-?\d+)
  | (?P<word>[a-zA-Z][a-zA-Z0-9_]*)
  | (?P<sign><=|>=|!=|\+=|-=|[-+*/%=<>(){{}}\[\],.;:?])
    """,
    re.VERBOSE | re.DOTALL,
)
OPERATORS = ("=", "<", "<=", ">", ">=", "!=")
CONSTANTS = ("string", "integer", "float", "uuid", "blob", "duration")
INDEX_TARGETS = ("KEYS", "VALUES", "ENTRIES", "FULL")
UNSUPPORTED = (
    "GRANT", "REVOKE", "LIST", "DESCRIBE", "DESC", "ADD", "EXPLAIN", "PRUNE", "SHOW", "SERVICE", "ATTACH", "DETACH",
)  # fmt: skip


# ---- tokens of a statement


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int
    end: int


def tokenize(text: str) -> list[Token]:
    tokens, at = [], 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise errors.SyntaxError(_where(text, at) + f" no viable alternative at character '{text[at]}'")
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind, match[0], at, match.end()))
        at = match.end()
    tokens.append(Token("end", "<EOF>", at, at))
    return tokens


def _where(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}:{at - (text.rfind(chr(10), 0, at) + 1)}"


def unquote(text: str) -> str:
    return text[2:-2] if text.startswith("$$") else text[1:-1].replace("''", "'")


# ---- parser of statements


@dataclass(frozen=True)
class Parsed:
    """A statement and the names of its bind markers (None for ``?``)."""

    statement: Statement
    markers: tuple[str | None, ...]


def parse(text: str) -> Parsed:
    """Parse a statement. Raise ``SyntaxError`` (of :mod:`cassandra.testing.errors`) or ``NotSupported``."""
    parser = Parser(text)
    statement = parser.statement()
    while parser.take_sign(";"):
        pass
    if parser.here.kind != "end":
        parser.fail("the end")
    return Parsed(statement, tuple(parser.markers))


class Parser:
    """The parser of one statement, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.markers: list[str | None] = []

    def statement(self) -> Statement:
        if self.here.kind == "end":
            self.fail("a statement")
        if self.take_words("SELECT"):
            return self._select()
        if self.is_word("INSERT") or self.is_word("UPDATE") or self.is_word("DELETE"):
            return self._modification()
        if self.take_words("BEGIN"):
            return self._batch()
        if self.take_words("USE"):
            return Use(self.name())
        if self.take_words("TRUNCATE"):
            self.take_words("TABLE") or self.take_words("COLUMNFAMILY")
            table = self.table_name()
            self.using()
            return Truncate(table)
        if self.take_words("CREATE"):
            return self.create()
        if self.take_words("ALTER"):
            return self.alter()
        if self.take_words("DROP"):
            return self.drop()
        if self.here.kind == "word" and self.here.text.upper() in UNSUPPORTED:
            raise errors.NotSupported(self.here.text.upper())
        self.fail("a statement")

    # -- tokens

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.here
        if token.kind != "end":
            self.at += 1
        return token

    def fail(self, wanted: str = "") -> NoReturn:
        what = f" ({wanted} expected)" if wanted else ""
        where = _where(self.text, self.here.at)
        raise errors.SyntaxError(f"{where} no viable alternative at input '{self.here.text}'{what}")

    # -- words and signs

    def is_word(self, *words: str, ahead: int = 0) -> bool:
        """True if the next tokens are these keywords."""
        return all(
            self.peek(ahead + n).kind == "word" and self.peek(ahead + n).text.upper() == word
            for n, word in enumerate(words)
        )

    def take_words(self, *words: str) -> bool:
        if self.is_word(*words):
            self.at += len(words)
            return True
        return False

    def expect_words(self, *words: str) -> None:
        if not self.take_words(*words):
            self.fail(" ".join(words))

    def is_sign(self, sign: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind == "sign" and token.text == sign

    def take_sign(self, sign: str) -> bool:
        if self.is_sign(sign):
            self.at += 1
            return True
        return False

    def expect_sign(self, sign: str) -> None:
        if not self.take_sign(sign):
            self.fail(f"'{sign}'")

    # -- names

    def name(self) -> str:
        """Parse an identifier: lower case unless it is quoted."""
        token = self.here
        if token.kind == "quoted":
            self.at += 1
            return token.text[1:-1].replace('""', '"')
        if token.kind == "word" and token.text.lower() not in RESERVED:
            self.at += 1
            return token.text.lower()
        self.fail("a name")

    def string(self) -> str:
        token = self.advance()
        if token.kind != "string":
            self.at -= 1
            self.fail("a string")
        return unquote(token.text)

    def integer(self) -> int:
        if self.here.kind != "integer":
            self.fail("a number")
        return int(self.advance().text)

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

    # -- SELECT

    def _select(self) -> Select:
        if self.is_word("JSON") and not self.is_sign(",", 1) and not self.is_word("FROM", ahead=1):
            raise errors.NotSupported("SELECT JSON")
        distinct = self.is_word("DISTINCT") and not self.is_sign(",", 1) and not self.is_word("FROM", ahead=1)
        if distinct:
            self.advance()
        selectors = self._selectors()
        self.expect_words("FROM")
        found = Select(self.table_name(), selectors, distinct)
        if self.take_words("WHERE"):
            found.where = self.where()
        if self.take_words("GROUP", "BY"):
            found.group_by = self._comma_names()
        if self.take_words("ORDER", "BY"):
            found.order_by = self._order_by()
        if self.take_words("PER", "PARTITION", "LIMIT"):
            found.per_partition_limit = self.term()
        if self.take_words("LIMIT"):
            found.limit = self.term()
        found.allow_filtering = self.take_words("ALLOW", "FILTERING")
        self.take_words("BYPASS", "CACHE")
        self.using()
        return found

    def _comma_names(self) -> list[str]:
        names = [self.name()]
        while self.take_sign(","):
            names.append(self.name())
        return names

    def _order_by(self) -> list[tuple[str, bool]]:
        found = []
        while True:
            column = self.name()
            if self.take_words("ANN", "OF"):
                raise errors.NotSupported("ORDER BY ... ANN OF")
            descending = self.take_words("DESC")
            if not descending:
                self.take_words("ASC")
            found.append((column, descending))
            if not self.take_sign(","):
                return found

    def _selectors(self) -> list[Selector]:
        if self.take_sign("*"):
            return []
        found = []
        while True:
            start = self.here.at
            expression = self._selector()
            text = self.text[start : self.tokens[self.at - 1].end]
            alias = self.name() if self.take_words("AS") else None
            found.append(Selector(expression, alias, text))
            if not self.take_sign(","):
                return found

    def _selector(self) -> Any:
        found = self._simple_selector()
        while True:
            if self.take_sign("."):
                found = Field(found, self.name())
            elif self.take_sign("["):
                found = Element(found, self.term())
                if self.is_sign("."):
                    raise errors.NotSupported("slices of collections")
                self.expect_sign("]")
            elif self.here.kind == "sign" and self.here.text in "+-*/%":
                raise errors.NotSupported("arithmetic in a selection")
            else:
                return found

    def _simple_selector(self) -> Any:
        if self.is_word("CAST") and self.is_sign("(", 1):
            self.at += 2
            inner = self._selector()
            self.expect_words("AS")
            kind = self.type_()
            self.expect_sign(")")
            return Cast(inner, kind)
        if self.is_word("COUNT") and self.is_sign("(", 1) and (self.is_sign("*", 2) or self.peek(2).text == "1"):
            self.at += 3
            self.expect_sign(")")
            return Call("countrows", ())
        function = self.here.kind in {"word", "quoted"} and self.is_sign("(", 1)
        if function or self._qualified_function():
            return self._function_selector()
        if self.here.kind in {"word", "quoted"} and self.here.text.upper() not in {"NULL", "TRUE", "FALSE"}:
            return Name(self.name())
        return self.term()

    def _qualified_function(self) -> bool:
        return self.here.kind in {"word", "quoted"} and self.is_sign(".", 1) and self.is_sign("(", 3)

    def _function_selector(self) -> Call:
        name = "token" if self.take_words("TOKEN") else self.name()
        if self.take_sign("."):
            name = self.name()
        self.expect_sign("(")
        arguments: list[Any] = []
        if not self.take_sign(")"):
            while True:
                arguments.append(self._selector())
                if self.take_sign(")"):
                    break
                self.expect_sign(",")
        return Call(name, tuple(arguments))

    # -- modifications

    def _modification(self) -> Modification:
        if self.take_words("INSERT"):
            return self._insert()
        if self.take_words("UPDATE"):
            return self._update()
        self.expect_words("DELETE")
        return self._delete()

    def _insert(self) -> Modification:
        self.expect_words("INTO")
        found = Modification("INSERT", self.table_name())
        if self.is_word("JSON"):
            raise errors.NotSupported("INSERT JSON")
        columns = self._names()
        self.expect_words("VALUES")
        self.expect_sign("(")
        values = self._terms(")")
        if len(columns) != len(values):
            raise errors.InvalidRequest("Unmatched column names/values")
        found.assignments = [Assignment(name, "set", value) for name, value in zip(columns, values, strict=True)]
        found.if_not_exists = self.take_words("IF", "NOT", "EXISTS")
        found.using = self.using()
        return found

    def _update(self) -> Modification:
        found = Modification("UPDATE", self.table_name(), using=self.using())
        self.expect_words("SET")
        found.assignments = [self._assignment()]
        while self.take_sign(","):
            found.assignments.append(self._assignment())
        _check_assignments(found.assignments)
        self.expect_words("WHERE")
        found.where = self.where()
        self._if(found)
        return found

    def _if(self, found: Modification) -> None:
        if self.take_words("IF", "EXISTS"):
            found.if_exists = True
        elif self.take_words("IF"):
            found.conditions = self.conditions()

    def _assignment(self) -> Assignment:
        column = self.name()
        if self.take_sign("["):
            key = self.term()
            self.expect_sign("]")
            self.expect_sign("=")
            return Assignment(column, "element", self.term(), key)
        if self.take_sign("."):
            field = self.name()
            self.expect_sign("=")
            return Assignment(column, "field", self.term(), field)
        for sign, operation in (("+=", "add"), ("-=", "subtract")):
            if self.take_sign(sign):
                return Assignment(column, operation, self.term())
        self.expect_sign("=")
        return self._assigned(column)

    def _assigned(self, column: str) -> Assignment:
        """Parse the right side: a term, ``column + term``, ``column - term`` or ``term + column``."""
        after = self.peek()
        if self.here.kind in {"word", "quoted"} and not (after.kind == "sign" and after.text in "(."):
            start = self.at
            if self.here.kind == "quoted" or self.here.text.upper() not in {"NULL", "TRUE", "FALSE", "NAN", "INFINITY"}:
                if self.name() != column:
                    self.at = start
                    raise errors.SyntaxError(f"Only expressions of the form X = X +<value> are supported for {column}")
                if self.take_sign("+"):
                    return Assignment(column, "add", self.term())
                if self.take_sign("-"):
                    return Assignment(column, "subtract", self.term())
                if self.here.kind == "integer" and self.here.text.startswith("-"):  # c -1
                    token = self.advance()
                    return self._less(column, token.text[1:])
                self.fail("+ or -")
        term = self.term()
        if self.take_sign("+"):
            if self.name() != column:
                raise errors.InvalidRequest(f"Only expressions of the form X = <value> + X are supported for {column}")
            return Assignment(column, "prepend", term)
        return Assignment(column, "set", term)

    @staticmethod
    def _less(column: str, digits: str) -> Assignment:
        return Assignment(column, "subtract", Literal("integer", digits))

    def _delete(self) -> Modification:
        deletions: list[Any] = []
        while not self.is_word("FROM"):
            target: Any = Name(self.name())
            if self.take_sign("["):
                target = Element(target, self.term())
                self.expect_sign("]")
            elif self.take_sign("."):
                target = Field(target, self.name())
            deletions.append(target)
            if not self.take_sign(","):
                break
        self.expect_words("FROM")
        found = Modification("DELETE", self.table_name(), using=self.using(), deletions=deletions)
        self.expect_words("WHERE")
        found.where = self.where()
        self._if(found)
        return found

    # -- BATCH

    def _batch(self) -> Batch:
        kind = next((word for word in ("UNLOGGED", "COUNTER") if self.take_words(word)), "LOGGED")
        self.expect_words("BATCH")
        using = self.using()
        statements = []
        while not self.take_words("APPLY", "BATCH"):
            if not (self.is_word("INSERT") or self.is_word("UPDATE") or self.is_word("DELETE")):
                self.fail("INSERT, UPDATE, DELETE or APPLY BATCH")
            statements.append(self._modification())
            self.take_sign(";")
        return Batch(kind, statements, using)

    # -- CREATE

    def create(self) -> Statement:
        if self.take_words("KEYSPACE") or self.take_words("SCHEMA"):
            missing = self._if_not_exists()
            name = self.name()
            if not self.is_word("WITH"):
                self.fail("WITH")
            return CreateKeyspace(name, self._with(), missing)
        if self.take_words("TABLE") or self.take_words("COLUMNFAMILY"):
            return self._create_table()
        if self.take_words("TYPE"):
            missing = self._if_not_exists()
            type_name = self.table_name()
            self.expect_sign("(")
            fields = [self._field()]
            while self.take_sign(","):
                fields.append(self._field())
            self.expect_sign(")")
            return CreateType(type_name, fields, missing)
        custom = self.take_words("CUSTOM")
        if self.take_words("INDEX"):
            return self._create_index(custom)
        raise errors.NotSupported(f"CREATE {self._what()}")

    def _what(self) -> str:
        return " ".join(token.text.upper() for token in (self.here, self.peek()) if token.kind == "word")

    def _if_not_exists(self) -> bool:
        return self.take_words("IF", "NOT", "EXISTS")

    def _field(self) -> tuple[str, TypeRef]:
        return self.name(), self.type_()

    def _column(self) -> tuple[str, TypeRef, bool]:
        name, kind = self._field()
        return name, kind, self.take_words("STATIC")

    def _create_table(self) -> CreateTable:
        missing = self._if_not_exists()
        found = CreateTable(self.table_name(), [], [], [], {}, {}, missing)
        columns: list[tuple[str, TypeRef, bool]] = []
        self.expect_sign("(")
        while True:
            if self.take_words("PRIMARY", "KEY"):
                self._primary_key(found)
            else:
                columns.append(self._column())
                if self.take_words("PRIMARY", "KEY"):
                    found.partition_key = [columns[-1][0]]
            if not self.take_sign(",") or self.is_sign(")"):
                break
        self.expect_sign(")")
        found.columns = columns
        if self.take_words("WITH"):
            self._table_options(found)
        return found

    def _primary_key(self, found: CreateTable) -> None:
        self.expect_sign("(")
        found.partition_key = list(self._names()) if self.is_sign("(") else [self.name()]
        clustering = []
        while self.take_sign(","):
            clustering.append(self.name())
        found.clustering = clustering
        self.expect_sign(")")

    def _table_options(self, found: CreateTable) -> None:
        while True:
            if self.take_words("COMPACT", "STORAGE"):
                raise errors.NotSupported("COMPACT STORAGE")
            if self.take_words("CLUSTERING", "ORDER", "BY"):
                self.expect_sign("(")
                while True:
                    column = self.name()
                    found.order[column] = self.take_words("DESC")
                    if not found.order[column]:
                        self.take_words("ASC")
                    if not self.take_sign(","):
                        break
                self.expect_sign(")")
            else:
                self._option(found.options)
            if not self.take_words("AND"):
                return

    def _with(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.take_words("WITH"):
            self._option(options)
            while self.take_words("AND"):
                self._option(options)
        return options

    def _option(self, options: dict[str, Any]) -> None:
        name = self.name()
        self.expect_sign("=")
        options[name] = _plain(self.term())

    def _create_index(self, custom: bool) -> CreateIndex:
        missing = self._if_not_exists()
        name = None if self.is_word("ON") else self.name()
        self.expect_words("ON")
        table = self.table_name()
        self.expect_sign("(")
        target = ""
        for word in INDEX_TARGETS:
            if self.is_word(word) and self.is_sign("(", 1):
                self.at += 2
                target = word.lower()
        if self.is_sign("("):
            raise errors.NotSupported("local indexes")
        column = self.name()
        if target:
            self.expect_sign(")")
        if self.is_sign(","):
            raise errors.NotSupported("an index on several columns")
        self.expect_sign(")")
        using = self.string() if self.take_words("USING") else None
        options: dict[str, Any] = {}
        if self.take_words("WITH"):
            if self.take_words("OPTIONS"):
                self.expect_sign("=")
                options = _plain(self.term())
            else:
                self._option(options)
        return CreateIndex(name, table, column, target, using if custom else None, options, missing)

    # -- ALTER

    def alter(self) -> Statement:
        if self.take_words("KEYSPACE") or self.take_words("SCHEMA"):
            exists = self.take_words("IF", "EXISTS")
            return AlterKeyspace(self.name(), self._with(), exists)
        if self.take_words("TABLE") or self.take_words("COLUMNFAMILY"):
            return self._alter_table()
        if self.take_words("TYPE"):
            return self._alter_type()
        raise errors.NotSupported(f"ALTER {self._what()}")

    def _alter_table(self) -> AlterTable:
        exists = self.take_words("IF", "EXISTS")
        found = AlterTable(self.table_name(), if_exists=exists)
        if self.take_words("ADD"):
            many = self.take_sign("(")
            added = [self._column()]
            while self.take_sign(","):
                added.append(self._column())
            if many:
                self.expect_sign(")")
            found.add = added
        elif self.take_words("DROP"):
            if self.is_sign("("):
                found.drop = self._names()
            else:
                found.drop = [self.name()]
                while self.take_sign(","):
                    found.drop.append(self.name())
            self.using()
        elif self.take_words("RENAME"):
            found.rename = self._renames()
        elif self.is_word("WITH"):
            found.options = self._with()
        else:
            raise errors.NotSupported(f"ALTER TABLE ... {self._what()}")
        return found

    def _renames(self) -> list[tuple[str, str]]:
        found = []
        while True:
            old = self.name()
            self.expect_words("TO")
            found.append((old, self.name()))
            if not self.take_words("AND"):
                return found

    def _alter_type(self) -> AlterType:
        found = AlterType(self.table_name())
        if self.take_words("ADD"):
            found.add = [self._field()]
        elif self.take_words("RENAME"):
            found.rename = self._renames()
        else:
            raise errors.NotSupported(f"ALTER TYPE ... {self._what()}")
        return found

    # -- DROP

    def drop(self) -> Drop:
        for word, kind in (
            ("KEYSPACE", "KEYSPACE"), ("SCHEMA", "KEYSPACE"), ("TABLE", "TABLE"), ("COLUMNFAMILY", "TABLE"),
            ("TYPE", "TYPE"), ("INDEX", "INDEX"),
        ):  # fmt: skip
            if self.take_words(word):
                exists = self.take_words("IF", "EXISTS")
                name = TableName(None, self.name()) if kind == "KEYSPACE" else self.table_name()
                return Drop(kind, name, exists)
        raise errors.NotSupported(f"DROP {self._what()}")


def _plain(term: Any) -> Any:
    """Return an option's value: text, or a dict of texts."""
    if isinstance(term, Literal):
        return term.text
    if isinstance(term, MapLiteral):
        return {_plain(key): _plain(value) for key, value in term.items}
    raise errors.SyntaxError("an option must be a constant or a map of constants")


def _check_assignments(assignments: Sequence[Assignment]) -> None:
    """Check that a column set as a whole, or a field, is set once; parts of a collection may change in several ways."""
    for n, one in enumerate(assignments):
        for other in assignments[:n]:
            whole = "set" in (one.operation, other.operation)
            same_field = one.operation == other.operation == "field" and one.key == other.key
            if one.column == other.column and (whole or same_field):
                raise errors.SyntaxError(f"Multiple incompatible setting of column {one.column}")
