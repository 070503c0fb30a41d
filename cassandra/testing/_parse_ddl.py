"""The parser of definitions: keyspaces, tables, types and indexes."""

from __future__ import annotations

from typing import Any

from cassandra.testing import errors
from cassandra.testing._ast import (
    AlterKeyspace,
    AlterTable,
    AlterType,
    CreateIndex,
    CreateKeyspace,
    CreateTable,
    CreateType,
    Drop,
    Literal,
    MapLiteral,
    Statement,
    TableName,
    TypeRef,
)
from cassandra.testing._parse_terms import TermParser

INDEX_TARGETS = ("KEYS", "VALUES", "ENTRIES", "FULL")


class DefinitionParser(TermParser):
    """The parser of CREATE, ALTER and DROP."""

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
