"""Syntax tree of CQL: plain data, names not resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# -- terms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    """A constant; *kind*: ``string integer float uuid blob boolean duration null``."""

    kind: str
    text: str = ""


@dataclass(frozen=True)
class Marker:
    """``?`` or ``:name``."""

    index: int
    name: str | None = None


@dataclass(frozen=True)
class Call:
    """A function call, in a term or as a selector (then its arguments may be columns)."""

    name: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class ListLiteral:
    items: tuple[Any, ...]


@dataclass(frozen=True)
class SetLiteral:
    items: tuple[Any, ...]


@dataclass(frozen=True)
class MapLiteral:
    """A map; also the literal of a user-defined type, whose keys are names, and of an empty set."""

    items: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class TupleLiteral:
    items: tuple[Any, ...]


@dataclass(frozen=True)
class Hint:
    """A type hint: ``(int) 5``."""

    kind: TypeRef
    term: Any


@dataclass(frozen=True)
class TypeRef:
    """A type by name."""

    name: str
    arguments: tuple[Any, ...] = ()
    keyspace: str | None = None


@dataclass(frozen=True)
class Name:
    """A column, in a selection, or a field name in a literal."""

    name: str


@dataclass(frozen=True)
class Field:
    """``column.field`` in a selection or a condition."""

    of: Any
    name: str


@dataclass(frozen=True)
class Element:
    """``column[key]`` in a selection or a condition."""

    of: Any
    key: Any


@dataclass(frozen=True)
class Cast:
    """``CAST(x AS type)``."""

    of: Any
    kind: TypeRef


# -- clauses ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableName:
    keyspace: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.keyspace}.{self.name}" if self.keyspace else self.name


@dataclass(frozen=True)
class Relation:
    """``columns operator value``; *token* is ``token(columns) operator value``."""

    columns: tuple[str, ...]
    operator: str
    value: Any
    multi: bool = False
    token: bool = False
    key: Any = None  # of column[key] = value


@dataclass(frozen=True)
class Condition:
    """A condition of IF; *target* is a Name, a Field or an Element."""

    target: Any
    operator: str
    value: Any


@dataclass(frozen=True)
class Selector:
    expression: Any
    alias: str | None
    text: str


@dataclass(frozen=True)
class Assignment:
    """*operation*: ``set add prepend subtract element field``; *add* is column + value, *prepend* value + column."""

    column: str
    operation: str
    value: Any
    key: Any = None


@dataclass
class Using:
    timestamp: Any = None
    ttl: Any = None


# -- statements -------------------------------------------------------------------------------------------------------


@dataclass
class Select:
    table: TableName
    selectors: Sequence[Selector]  # empty: *
    distinct: bool = False
    where: Sequence[Relation] = ()
    group_by: Sequence[str] = ()
    order_by: Sequence[tuple[str, bool]] = ()  # column, descending
    limit: Any = None
    per_partition_limit: Any = None
    allow_filtering: bool = False


@dataclass
class Modification:
    """INSERT, UPDATE or DELETE (*kind*)."""

    kind: str
    table: TableName
    assignments: Sequence[Assignment] = ()
    where: Sequence[Relation] = ()
    using: Using = field(default_factory=Using)
    conditions: Sequence[Condition] = ()
    if_exists: bool = False
    if_not_exists: bool = False
    deletions: Sequence[Any] = ()  # of DELETE: Name, Field or Element; empty: rows

    @property
    def conditional(self) -> bool:
        return bool(self.conditions) or self.if_exists or self.if_not_exists


@dataclass
class Batch:
    kind: str  # LOGGED, UNLOGGED or COUNTER
    statements: Sequence[Modification]
    using: Using


@dataclass
class Use:
    keyspace: str


@dataclass
class Truncate:
    table: TableName


@dataclass
class CreateKeyspace:
    name: str
    options: dict[str, Any]
    if_not_exists: bool


@dataclass
class AlterKeyspace:
    name: str
    options: dict[str, Any]
    if_exists: bool = False


@dataclass
class Drop:
    """DROP KEYSPACE, TABLE, TYPE or INDEX (*kind*)."""

    kind: str
    name: TableName
    if_exists: bool


@dataclass
class CreateTable:
    name: TableName
    columns: Sequence[tuple[str, TypeRef, bool]]  # name, type, static
    partition_key: Sequence[str]
    clustering: Sequence[str]
    order: dict[str, bool]  # column -> descending
    options: dict[str, Any]
    if_not_exists: bool


@dataclass
class AlterTable:
    """One of *add*, *drop*, *rename*, *options*."""

    name: TableName
    add: Sequence[tuple[str, TypeRef, bool]] = ()
    drop: Sequence[str] = ()
    rename: Sequence[tuple[str, str]] = ()
    options: dict[str, Any] = field(default_factory=dict)
    if_exists: bool = False


@dataclass
class CreateType:
    name: TableName
    fields: Sequence[tuple[str, TypeRef]]
    if_not_exists: bool


@dataclass
class AlterType:
    name: TableName
    add: Sequence[tuple[str, TypeRef]] = ()
    rename: Sequence[tuple[str, str]] = ()


@dataclass
class CreateIndex:
    name: str | None
    table: TableName
    column: str
    target: str  # values, keys, entries, full or "" for none
    custom_class: str | None
    options: dict[str, Any]
    if_not_exists: bool


Statement = (
    Select | Modification | Batch | Use | Truncate | CreateKeyspace | AlterKeyspace | Drop | CreateTable | AlterTable
    | CreateType | AlterType | CreateIndex
)  # fmt: skip
