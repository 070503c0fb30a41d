"""The parser of statements: SELECT and modifications here, definitions in :mod:`~cassandra.testing._parse_ddl`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cassandra.testing import errors
from cassandra.testing._ast import (
    Assignment,
    Batch,
    Call,
    Cast,
    Element,
    Field,
    Literal,
    Modification,
    Name,
    Select,
    Selector,
    Statement,
    Truncate,
    Use,
)
from cassandra.testing._parse_ddl import DefinitionParser

UNSUPPORTED = (
    "GRANT", "REVOKE", "LIST", "DESCRIBE", "DESC", "ADD", "EXPLAIN", "PRUNE", "SHOW", "SERVICE", "ATTACH", "DETACH",
)  # fmt: skip


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


class Parser(DefinitionParser):
    """The parser of all statements."""

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


def _check_assignments(assignments: Sequence[Assignment]) -> None:
    """Check that a column set as a whole, or a field, is set once; parts of a collection may change in several ways."""
    for n, one in enumerate(assignments):
        for other in assignments[:n]:
            whole = "set" in (one.operation, other.operation)
            same_field = one.operation == other.operation == "field" and one.key == other.key
            if one.column == other.column and (whole or same_field):
                raise errors.SyntaxError(f"Multiple incompatible setting of column {one.column}")
