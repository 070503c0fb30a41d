"""Rows for statements: values of stored cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cassandra.testing._schema import CLUSTERING, PARTITION, STATIC, Column, Table
from cassandra.testing._storage import Complex, Partition, Row
from cassandra.testing._types import Collection, Udt, Value


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
