"""SELECT."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cassandra.testing._ast import Select
from cassandra.testing._paging import Position
from cassandra.testing._plan import Env, Plan, Route, Rows, Scope, Term
from cassandra.testing._rows import RowView
from cassandra.testing._schema import CLUSTERING, PARTITION, STATIC, Backwards, Table
from cassandra.testing._selectors import Selected, columns_of, compile_selectors
from cassandra.testing._storage import Partition
from cassandra.testing._terms import compile_term
from cassandra.testing._topology import token_of
from cassandra.testing._types import INT
from cassandra.testing._where import Where, check_reads, compile_where
from cassandra.testing.errors import InvalidRequest


@dataclass
class SelectPlan(Plan):
    """A SELECT ready to run."""

    selected: Sequence[Selected] = ()
    where: Where = field(default_factory=lambda: Where(Table("", "", {})))
    distinct: bool = False
    backwards: bool = False
    merge: Callable[[RowView], Any] | None = None  # the sort key across partitions
    group_by: Sequence[str] = ()
    limit: Term | None = None
    per_partition: Term | None = None
    regular_selected: bool = True

    def run(self, env: Env) -> Rows:
        assert self.columns is not None
        if self.merge is not None and env.page_size and self.where.several_partitions:
            raise InvalidRequest(
                "Cannot page queries with both ORDER BY and a IN restriction on the partition key; you must either "
                "remove the ORDER BY or the IN and sort client side, or disable paging for this query"
            )
        if self.group_by or any(item.fold for item in self.selected):
            return self._aggregate(env)
        return self._page(env)

    def route(self, env: Env) -> Route | None:
        if not self.where.single_partition or self.table is None:
            return None
        raw = self.table.partition_bytes(self.where.keys(env)[0])
        return Route(self.table, token_of(raw))

    def token_range(self, env: Env) -> tuple[int, int] | None:
        return self.where.token_range(env) if self.where.tokens else None

    # -- rows

    def _page(self, env: Env) -> Rows:
        assert self.columns is not None
        start = Position.decode(env.paging_state, self.where.table) if env.paging_state else Position()
        left = start.left if start.left is not None else self._limit(self.limit, env, "LIMIT")
        rows: list[tuple[bytes | None, ...]] = []
        state: bytes | None = None
        last: RowView | None = None
        count = 0  # of the partition of the last row
        for row, number in self._numbered(env, start):
            if left is not None and len(rows) >= left:
                break
            if env.page_size and len(rows) == env.page_size:
                assert last is not None
                remaining = None if left is None else left - len(rows)
                state = Position(last.partition.raw, last.key, remaining, count).encode(self.where.table)
                break
            rows.append(self._cells(row, env))
            last, count = row, number
        return Rows(self.columns, rows, state)

    def _cells(self, row: RowView, env: Env) -> tuple[bytes | None, ...]:
        return tuple(_encode(item, item.get(row, env)) for item in self.selected)

    def _numbered(self, env: Env, start: Position) -> Iterator[tuple[RowView, int]]:
        """Yield the rows after *start*, each with its number in its partition."""
        limit = self._limit(self.per_partition, env, "PER PARTITION LIMIT")
        partition: Partition | None = None
        number = 0
        for row in self._rows(env, start):
            if row.partition is not partition:
                partition = row.partition
                number = start.count if partition.raw == start.raw else 0
            number += 1
            if limit is None or number <= limit:
                yield row, number

    @staticmethod
    def _limit(term: Term | None, env: Env, what: str) -> int | None:
        if term is None:
            return None
        value = term(env)
        if value is None:
            raise InvalidRequest(f"Invalid null value of {what}")
        if not isinstance(value, int):
            return None  # unset
        if value <= 0:
            raise InvalidRequest(f"{what} must be strictly positive")
        return value

    def _rows(self, env: Env, start: Position) -> Iterator[RowView]:
        partitions = self.where.partitions(env)
        if start.raw is not None:
            at = _place(partitions, start.raw, self.where)
            partitions = partitions[at:]
            if self.distinct and partitions and partitions[0].raw == start.raw:
                del partitions[0]
        matches = self.where.predicate(env)
        streams = (self._of_partition(partition, env, matches, start) for partition in partitions)
        if self.merge is not None and len(partitions) > 1:
            return iter(heapq.merge(*streams, key=self.merge))
        return (row for stream in streams for row in stream)

    def _of_partition(
        self, partition: Partition, env: Env, matches: Callable[[RowView], bool], start: Position
    ) -> Iterator[RowView]:
        after = start.order(self.where.table) if partition.raw == start.raw else None
        found = False
        items = reversed(partition.sorted) if self.backwards else partition.sorted
        for order, key in items:
            row = partition.rows[key]
            if not row.live(env.now):
                continue
            if after is not None and not (order < after if self.backwards else order > after):
                found = True
                continue
            view = RowView(self.where.table, partition, key, row, order, env.now)
            found = True
            if matches(view):
                yield view
                if self.distinct:
                    return
        if not found and partition.raw != start.raw and partition.static.live(env.now):
            view = RowView(self.where.table, partition, None, None, (), env.now)
            if self.where.static_only(view) and matches(view):
                yield view

    # -- aggregates

    def _aggregate(self, env: Env) -> Rows:
        assert self.columns is not None
        groups: dict[Any, list[RowView]] = {}
        table = self.where.table
        columns = [table.column(name) for name in self.group_by]
        for row, _ in self._numbered(env, Position()):
            key = (row.partition.raw, *(row.value(column) for column in columns)) if columns else None
            groups.setdefault(key, []).append(row)
        if not groups and not columns:
            groups[None] = []
        limit = self._limit(self.limit, env, "LIMIT")
        chosen = list(groups.values())[:limit]
        return Rows(self.columns, [self._fold(rows, env) for rows in chosen])

    def _fold(self, rows: list[RowView], env: Env) -> tuple[bytes | None, ...]:
        cells = []
        for item in self.selected:
            if item.fold is not None:
                value = item.fold([item.get(row, env) for row in rows])
            else:
                value = item.get(rows[0], env) if rows else None
            cells.append(_encode(item, value))
        return tuple(cells)


def _encode(item: Selected, value: Any) -> bytes | None:
    return None if value is None else item.spec.type.encode(value)


def _place(partitions: list[Partition], raw: bytes, where: Where) -> int:
    """Return the position to continue at after the partition *raw*, which may be deleted."""
    for at, partition in enumerate(partitions):
        if partition.raw == raw:
            return at
    if where.has_partition_key:
        return len(partitions)
    position = (token_of(raw), raw)
    return next((at for at, partition in enumerate(partitions) if partition.position > position), len(partitions))


def compile_select(statement: Select, table: Table, scope: Scope) -> SelectPlan:
    scope.table = table
    selected = compile_selectors(statement.selectors, table, scope)
    where = compile_where(statement.where, table, scope)
    check_reads(where, statement.allow_filtering)
    plan = SelectPlan(table=table, selected=selected, where=where, distinct=statement.distinct, reads=True)
    plan.columns = [item.spec for item in selected]
    _check_distinct(statement, table)
    _check_static(statement, table, where)
    plan.group_by = _group_by(statement, table, where)
    if statement.order_by:
        _order_by(statement, table, where, plan)
    if statement.per_partition_limit is not None:
        plan.per_partition = compile_term(statement.per_partition_limit, INT, "[per_partition_limit]", scope)
    if statement.limit is not None:
        plan.limit = compile_term(statement.limit, INT, "[limit]", scope)
    plan.partition_markers = partition_markers(where)
    return plan


def partition_markers(where: Where) -> list[int]:
    """Return the markers that are the partition key, by its columns; empty if a column has another value."""
    found = []
    for column in where.table.partition_key:
        relation = where.partition.get(column.name)
        index = getattr(relation.relation.value, "index", None) if relation and relation.operator == "=" else None
        if index is None:
            return []
        found.append(index)
    return found


def _check_distinct(statement: Select, table: Table) -> None:
    if not statement.distinct:
        return
    if not statement.selectors:
        raise InvalidRequest("SELECT DISTINCT queries must only request partition key columns and/or static columns")
    for selector in statement.selectors:
        for name in columns_of(selector.expression):
            if table.column(name).kind not in (PARTITION, STATIC):
                raise InvalidRequest(
                    "SELECT DISTINCT queries must only request partition key columns and/or static columns "
                    f"(not {name})"
                )
    named = {name for selector in statement.selectors for name in columns_of(selector.expression)}
    missing = [column.name for column in table.partition_key if column.name not in named]
    if missing and any(table.column(name).kind == PARTITION for name in named):
        raise InvalidRequest(
            f"SELECT DISTINCT queries must request all the partition key columns (missing {missing[0]})"
        )


def _check_static(statement: Select, table: Table, where: Where) -> None:
    kinds = {table.column(name).kind for selector in statement.selectors for name in columns_of(selector.expression)}
    if where.clustering and STATIC in kinds and kinds <= {STATIC, PARTITION}:
        raise InvalidRequest("Cannot restrict clustering columns when selecting only static columns")


def _group_by(statement: Select, table: Table, where: Where) -> Sequence[str]:
    allowed = [column.name for column in (*table.partition_key, *table.clustering)]
    names = list(statement.group_by)
    if not names:
        return ()
    fixed = set(where.partition) | {found.column.name for found in where.clustering if found.operator == "="}
    wanted = iter(allowed)
    for name in names:
        if name not in allowed:
            raise InvalidRequest(f"Group by is currently only supported on the columns of the PRIMARY KEY, got {name}")
        for column in wanted:
            if column == name:
                break
            if column not in fixed:
                raise InvalidRequest("Group by currently only support groups of columns following their declared order")
    if any(table.column(name).kind == PARTITION for name in wanted):
        raise InvalidRequest("Group by is not supported on only a part of the partition key")
    return names


def _order_by(statement: Select, table: Table, where: Where, plan: SelectPlan) -> None:
    if not where.has_partition_key:
        raise InvalidRequest("ORDER BY is only supported when the partition key is restricted by an EQ or an IN.")
    exact = {found.column.name for found in where.clustering if found.operator == "=" and not found.relation.multi}
    directions: set[bool] = set()
    clustering = iter(table.clustering)
    for name, descending in statement.order_by:
        if table.column(name).kind != CLUSTERING:
            raise InvalidRequest(
                f"Order by is currently only supported on the clustered columns of the PRIMARY KEY, got {name}"
            )
        for column in clustering:
            if column.name == name:
                directions.add(column.descending != descending)
                break
            if column.name not in exact:
                raise InvalidRequest(
                    "Order by currently only supports the ordering of columns following their declared order"
                )
    if len(directions) > 1:
        raise InvalidRequest("Unsupported order by relation")
    plan.backwards = directions == {True}
    columns = [(table.column(name), descending) for name, descending in statement.order_by]
    plan.merge = _merge_key(columns) if not where.single_partition else None


def _merge_key(columns: Sequence[tuple[Any, bool]]) -> Callable[[RowView], Any]:
    def key(row: RowView) -> tuple[Any, ...]:
        parts = []
        for column, descending in columns:
            value = row.value(column)
            order = (0,) if value is None else (1, column.type.order(value))
            parts.append(Backwards(order) if descending else order)
        return tuple(parts)

    return key
