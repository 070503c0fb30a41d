"""Common parts of compiled statements: the environment of an execution, bind markers, results, rows of stored cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from cassandra.testing._schema import CLUSTERING, PARTITION, STATIC, Column, Complex, Partition, Row, Schema, Table
from cassandra.testing._types import Collection, CqlType, Udt, Value
from cassandra.testing._wire import UNSET, Unset, WireValue
from cassandra.testing.errors import InvalidRequest

MAX_TTL = 630720000  # 20 years


@dataclass
class Env:
    """Environment of one execution: values of the client, and the time."""

    values: Sequence[WireValue] = ()
    now: int = 0  # milliseconds
    timestamp: int = 0  # microseconds, of cells written without USING TIMESTAMP
    page_size: int = 0  # 0: no paging
    paging_state: bytes | None = None
    node: object = None  # the node that runs it
    new_uuid: Callable[[], UUID] = field(default=lambda: UUID(int=0))
    new_timeuuid: Callable[[], UUID] = field(default=lambda: UUID(int=0))


Term = Callable[[Env], Any]  # -> Value, None or UNSET


@dataclass(frozen=True)
class ColumnSpec:
    """Specification of a bind marker or a result column."""

    keyspace: str
    table: str
    name: str
    type: CqlType


class Result:
    """Result of a statement; this one is VOID."""


@dataclass
class Rows(Result):
    columns: Sequence[ColumnSpec]
    rows: list[tuple[bytes | None, ...]]
    paging_state: bytes | None = None


@dataclass
class SetKeyspace(Result):
    keyspace: str


@dataclass
class SchemaChange(Result):
    change: str  # CREATED, UPDATED or DROPPED
    target: str  # KEYSPACE, TABLE or TYPE
    keyspace: str
    name: str = ""


@dataclass(frozen=True)
class Route:
    """The single partition of a request."""

    table: Table
    token: int


class Scope:
    """Collects the types of the bind markers of a statement while it is compiled."""

    def __init__(self, schema: Schema, keyspace: str | None, markers: Sequence[str | None]) -> None:
        self.schema = schema
        self.keyspace = keyspace
        self.names = markers
        self.specs: dict[int, ColumnSpec] = {}
        self.table: Table | None = None

    def marker(self, index: int, name: str, kind: CqlType) -> Term:
        """Return a term for the value bound to marker *index*, which has *kind*."""
        owner = self.table
        spec = ColumnSpec(owner.keyspace if owner else "", owner.name if owner else "", self.names[index] or name, kind)
        self.specs[index] = spec

        def value(env: Env) -> Value:
            if index >= len(env.values):
                raise InvalidRequest(f"Invalid amount of bind variables: {len(env.values)} for {len(self.names)}")
            raw = env.values[index]
            if raw is None or isinstance(raw, Unset):
                return raw
            try:
                return kind.decode(raw)
            except InvalidRequest as error:
                raise InvalidRequest(f"{error.message} for {spec.name} of type {kind.cql}") from None

        return value


@dataclass
class Plan:
    """A compiled statement."""

    specs: list[ColumnSpec] = field(default_factory=list)
    names: Sequence[str | None] = ()
    columns: Sequence[ColumnSpec] | None = None  # columns of its result, if it has rows
    table: Table | None = None
    conditional: bool = False
    partition_markers: Sequence[int] = ()  # by partition key column, empty when one is not a marker
    reads: bool = False

    def run(self, env: Env) -> Result:
        raise NotImplementedError

    def route(self, env: Env) -> Route | None:
        """Return the partition of the statement, if it is a single one."""
        return None

    def token_range(self, env: Env) -> tuple[int, int] | None:
        """Return the token range of the statement, if it has bounds: tokens above the first, up to and including the
        second."""
        return None

    def order_values(self, values: Sequence[WireValue], names: Sequence[str] | None) -> Sequence[WireValue]:
        """Return *values* by marker: named values are looked up."""
        if names is None:
            if len(values) != len(self.specs):
                raise InvalidRequest(
                    f"Invalid amount of bind variables: expected {len(self.specs)} but got {len(values)}"
                )
            return values
        given = dict(zip(names, values, strict=True))
        try:
            return [given[spec.name] for spec in self.specs]
        except KeyError as error:
            raise InvalidRequest(f"No value was given for the bind marker {error}") from None


def complete(plan: Plan, scope: Scope) -> None:
    """Set the markers of *plan* that were found while compiling."""
    plan.names = scope.names
    plan.specs = [scope.specs[n] for n in range(len(scope.names))]  # every marker is somewhere in the statement


def required(value: Any, what: str) -> Any:
    """Return *value*, which must be set and not null."""
    if value is UNSET:
        raise InvalidRequest(f"Invalid unset value for {what}")
    if value is None:
        raise InvalidRequest(f"Invalid null value for {what}")
    return value


def number(value: Any, what: str) -> int:
    """Return *value*, which must be a whole number: neither null nor empty."""
    if not isinstance(required(value, what), int):
        raise InvalidRequest(f"Invalid empty value for {what}")
    return int(value)


@dataclass(frozen=True)
class RowView:
    """A row of a partition at a moment; *key* and *row* are None for a partition that has only static columns."""

    table: Table
    partition: Partition
    key: tuple[Value, ...] | None
    row: Row | None
    order: tuple[Any, ...]
    now: int

    def value(self, column: Column) -> Value:
        """Return the value of *column*, None for null."""
        if column.kind == PARTITION:
            return self.partition.key[column.position]
        if column.kind == CLUSTERING:
            return None if self.key is None else self.key[column.position]
        holder = self.holder(column)
        return None if holder is None else stored_value(column, holder, self.now)

    def holder(self, column: Column) -> Row | None:
        return self.partition.static if column.kind == STATIC else self.row

    def written(self, column: Column) -> int | None:
        """Return the WRITETIME."""
        cell = self._cell(column)
        return None if cell is None else cell.timestamp

    def ttl(self, column: Column) -> int | None:
        """Return the TTL: the remaining seconds."""
        cell = self._cell(column)
        return None if cell is None or cell.expires is None else max(0, -((self.now - cell.expires) // 1000))

    def _cell(self, column: Column) -> Any:
        holder = self.holder(column)
        cell = holder.cells.get(column.name) if holder is not None else None
        return cell if cell is not None and not isinstance(cell, Complex) and cell.live(self.now) else None


def stored_value(column: Column, holder: Row, now: int) -> Value:
    stored = holder.cells.get(column.name)
    if stored is None:
        return None
    if not isinstance(stored, Complex):
        return stored.value if stored.live(now) else None
    live = {key: cell.value for key, cell in stored.cells.items() if cell.live(now)}
    if not live:
        return None
    kind = column.type
    if isinstance(kind, Udt):
        return tuple(live.get(name) for name in kind.definition.fields)
    assert isinstance(kind, Collection)
    if kind.name == "list":
        return tuple(live[key] for key in sorted(live))
    return kind.normal(list(live) if kind.name == "set" else list(live.items()))


def element_of(kind: Any, value: Value, key: Value) -> Value:
    """Return ``column[key]`` of a list or map."""
    if value is None or key is None:
        return None
    if kind.name == "list":
        return value[key] if 0 <= key < len(value) else None
    if kind.name == "set":
        return key if key in value else None
    return dict(value).get(key)
