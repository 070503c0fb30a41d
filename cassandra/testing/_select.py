"""SELECT: its selection, its pages, and its execution.

A selection has the values of each row, or aggregates of all rows. A paging state is the end of a page.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation, Overflow, localcontext
from typing import Any

from cassandra.testing import _terms as terms
from cassandra.testing import _types as types
from cassandra.testing import _wire as wire
from cassandra.testing._ast import Call, Cast, Element, Field, Hint, Literal, Marker, Name, Select, Selector
from cassandra.testing._plan import ColumnSpec, Env, Plan, Route, Rows, RowView, Scope, Term, element_of
from cassandra.testing._schema import CLUSTERING, PARTITION, STATIC, Backwards, Column, Partition, Table
from cassandra.testing._terms import compile_term
from cassandra.testing._topology import token_of
from cassandra.testing._types import INT, Collection, CqlType, Udt, Value
from cassandra.testing._where import Where, check_reads, compile_where
from cassandra.testing.errors import InvalidRequest, NotSupported, ProtocolError

# ---- paging states

MAGIC = b"sim1"


@dataclass(frozen=True)
class Position:
    """The last row of a page: its partition, its clustering key (None: it had none), the rest of LIMIT, and its number
    in its partition."""

    raw: bytes | None = None
    key: tuple[Any, ...] | None = None
    left: int | None = None
    count: int = 0

    def encode(self, table: Table) -> bytes:
        parts = [MAGIC, table.id.bytes, wire.bytes_(self.raw), wire.int32(-1 if self.left is None else self.left)]
        parts += [wire.int32(self.count), wire.byte(self.key is not None)]
        for column, value in zip(table.clustering, self.key or (), strict=False):
            parts.append(wire.bytes_(column.type.encode(value)))
        return b"".join(parts)

    @staticmethod
    def decode(state: bytes, table: Table) -> Position:
        """Decode a paging state of *table*; raise ProtocolError for an invalid one."""
        wrong = ProtocolError("Invalid value for the paging state")
        try:
            reader = wire.Reader(state)
            if reader.take(4) != MAGIC or reader.take(16) != table.id.bytes:
                raise wrong
            raw, left, count = reader.bytes_(), reader.int32(), reader.int32()
            has_key = reader.byte()
            values = [(column, reader.bytes_()) for column in table.clustering] if has_key else []
            key = tuple(column.type.decode(value or b"") for column, value in values)
        except (ProtocolError, InvalidRequest):
            raise wrong from None
        if raw is None or reader.left:
            raise wrong
        return Position(raw, key if has_key else None, None if left < 0 else left, count)

    def order(self, table: Table) -> tuple[Any, ...] | None:
        """Return the sort key of the row; None if all rows of the partition come after it."""
        return None if self.key is None else table.order(self.key)


# ---- selection of columns

Getter = Callable[[RowView, Env], Value]
DIGITS = 4_000
EXACT = Context(prec=DIGITS, traps=[Inexact, InvalidOperation, Overflow])
DIVISION = Context(prec=DIGITS, traps=[InvalidOperation, Overflow])
AGGREGATES = ("count", "countrows", "min", "max", "sum", "avg")


@dataclass
class Selected:
    """One column of a result; an aggregate has *fold*, which is called with the values of all rows."""

    spec: ColumnSpec
    get: Getter
    fold: Callable[[list[Value]], Value] | None = None


@dataclass
class _Compiled:
    type: CqlType
    get: Getter
    text: str
    fold: Callable[[list[Value]], Value] | None = None


def compile_selectors(selectors: Sequence[Selector], table: Table, scope: Scope) -> list[Selected]:
    if not selectors:
        return [_column(column, table) for column in table.in_order]
    found = []
    for selector in selectors:
        compiled = _compile(selector.expression, table, scope)
        spec = ColumnSpec(table.keyspace, table.name, selector.alias or compiled.text, compiled.type)
        found.append(Selected(spec, compiled.get, compiled.fold))
    return found


def columns_of(expression: Any) -> list[str]:
    """Return the columns in an expression."""
    if isinstance(expression, Name):
        return [expression.name]
    if isinstance(expression, Call):
        return [name for part in expression.arguments for name in columns_of(part)]
    if isinstance(expression, Field | Element | Cast):
        return columns_of(expression.of)
    return []


def _column(column: Column, table: Table) -> Selected:
    spec = ColumnSpec(table.keyspace, table.name, column.name, column.type)
    return Selected(spec, lambda row, env: row.value(column))


def _compile(expression: Any, table: Table, scope: Scope) -> _Compiled:
    if isinstance(expression, Name):
        column = table.column(expression.name)
        return _Compiled(column.type, lambda row, env: row.value(column), column.name)
    if isinstance(expression, Call):
        if expression.name in AGGREGATES:
            return _aggregate(expression, table, scope)
        if expression.name in ("writetime", "ttl"):
            return _cell_property(expression, table)
        if expression.name == "token":
            return _token(expression, table)
        return _function(expression, table, scope)
    if isinstance(expression, Cast):
        return _cast(expression, table, scope)
    if isinstance(expression, Field):
        return _field(expression, table, scope)
    if isinstance(expression, Element):
        return _element(expression, table, scope)
    if isinstance(expression, Hint):
        kind = scope.schema.type_(expression.kind, table.keyspace)
        term = compile_term(expression.term, kind, "[selection]", scope)
        return _Compiled(kind, lambda row, env: term(env), f"({kind.cql})...")
    if isinstance(expression, Marker):
        raise InvalidRequest("Cannot infer type for term ? in selection clause (try using a cast to force a type)")
    raise NotSupported("constants in a selection without a type, such as (int) 5")


def _inner(expression: Any, table: Table, scope: Scope) -> _Compiled:
    found = _compile(expression, table, scope)
    if found.fold is not None:
        raise NotSupported("aggregates inside other expressions")
    return found


def _function(call: Call, table: Table, scope: Scope) -> _Compiled:
    known = [None if isinstance(part, Literal) else _inner(part, table, scope) for part in call.arguments]
    function = terms.find(call.name, [part.type if part else None for part in known])
    parts = [
        part or _constant(literal, wanted, scope)
        for part, literal, wanted in zip(known, call.arguments, function.parameters, strict=True)
    ]

    def get(row: RowView, env: Env) -> Value:
        values = [part.get(row, env) for part in parts]
        return None if any(value in (None, types.EMPTY) for value in values) else function.run(env, *values)

    return _Compiled(function.returns, get, f"system.{call.name}({', '.join(part.text for part in parts)})")


def _constant(literal: Literal, kind: CqlType, scope: Scope) -> _Compiled:
    term = compile_term(literal, kind, "[selection]", scope)
    return _Compiled(kind, lambda row, env: term(env), _shown(literal))


def _cell_property(call: Call, table: Table) -> _Compiled:
    name = call.arguments[0] if len(call.arguments) == 1 else None
    if not isinstance(name, Name):
        raise NotSupported(f"{call.name.upper()} of anything but a column")
    column = table.column(name.name)
    if column.kind in ("partition_key", "clustering"):
        raise InvalidRequest(f"Cannot use selection function {call.name} on PRIMARY KEY part {column.name}")
    if column.type.multicell:
        raise InvalidRequest(f"Cannot use selection function {call.name} on non-frozen {column.type.cql} {column.name}")
    if column.type is types.COUNTER:
        raise InvalidRequest(f"Cannot use selection function {call.name} on counters")
    text = f"{call.name}({column.name})"
    if call.name == "ttl":
        return _Compiled(types.INT, lambda row, env: row.ttl(column), text)
    return _Compiled(types.BIGINT, lambda row, env: row.written(column), text)


def _token(call: Call, table: Table) -> _Compiled:
    names = [part.name for part in call.arguments if isinstance(part, Name)]
    if names != [column.name for column in table.of_kind(PARTITION)]:
        raise InvalidRequest("The token function takes the columns of the partition key, in key order")
    return _Compiled(types.BIGINT, lambda row, env: row.partition.token, f"system.token({', '.join(names)})")


def _cast(expression: Cast, table: Table, scope: Scope) -> _Compiled:
    inner = _inner(expression.of, table, scope)
    kind = scope.schema.type_(expression.kind, table.keyspace)
    convert = terms.cast(inner.type, kind)

    def get(row: RowView, env: Env) -> Value:
        value = inner.get(row, env)
        return None if value in (None, types.EMPTY) else convert(value)

    return _Compiled(kind, get, f"cast({inner.text} as {kind.cql})")


def _field(expression: Field, table: Table, scope: Scope) -> _Compiled:
    inner = _inner(expression.of, table, scope)
    kind = inner.type
    if not isinstance(kind, Udt):
        raise InvalidRequest(f"Invalid field selection: {inner.text} of type {kind.cql} is not a user type")
    names = list(kind.definition.fields)
    if expression.name not in names:
        raise InvalidRequest(f"{inner.text} of type {kind.cql} has no field {expression.name}")
    at = names.index(expression.name)

    def get(row: RowView, env: Env) -> Value:
        value = inner.get(row, env)
        return None if value is None or at >= len(value) else value[at]

    return _Compiled(kind.parts[at], get, f"{inner.text}.{expression.name}")


def _element(expression: Element, table: Table, scope: Scope) -> _Compiled:
    inner = _inner(expression.of, table, scope)
    kind = inner.type
    if not isinstance(kind, Collection) or kind.name == "list":
        raise InvalidRequest(f"Invalid element selection: {inner.text} is of type {kind.cql}, not a set or map")
    key = compile_term(expression.key, kind.arguments[0], f"key({inner.text})", scope)
    text = f"{inner.text}[{_shown(expression.key)}]"
    return _Compiled(kind.arguments[-1], lambda row, env: element_of(kind, inner.get(row, env), key(env)), text)


def _shown(key: Any) -> str:
    if not isinstance(key, Literal):
        return "?"
    return "'" + key.text.replace("'", "''") + "'" if key.kind == "string" else key.text


# ---- aggregates of rows


def _aggregate(call: Call, table: Table, scope: Scope) -> _Compiled:
    if call.name == "countrows":
        return _Compiled(types.BIGINT, lambda row, env: 1, "count", len)
    if len(call.arguments) != 1:
        raise InvalidRequest(f"Invalid call to function {call.name}: it takes one argument")
    inner = _inner(call.arguments[0], table, scope)
    text = f"system.{call.name}({inner.text})"
    kind = inner.type
    if call.name == "count":
        return _Compiled(types.BIGINT, inner.get, text, lambda values: len(_present(values)))
    if call.name in ("min", "max"):
        pick = min if call.name == "min" else max
        return _Compiled(kind, inner.get, text, lambda values: pick(_present(values), key=kind.order, default=None))
    if kind not in types.NUMBERS:
        raise InvalidRequest(f"Invalid call to function {call.name}, none of its type signatures match ({kind.cql})")
    returns = types.BIGINT if kind is types.COUNTER else kind
    fold = _sum(returns) if call.name == "sum" else _average(returns)
    return _Compiled(returns, inner.get, text, fold)


def _present(values: list[Value]) -> list[Value]:
    return [value for value in values if value is not None]


def _zero(kind: CqlType) -> Value:
    return Decimal(0) if kind is types.DECIMAL else 0.0 if kind in (types.DOUBLE, types.FLOAT) else 0


def _numbers(values: list[Value]) -> list[Value]:
    return [value for value in values if value not in (None, types.EMPTY)]


def _total(kind: CqlType, values: list[Value]) -> Value:
    try:
        with localcontext(EXACT):
            return sum(_numbers(values), _zero(kind))
    except ArithmeticError:
        raise NotSupported("sums of decimals of more than 4,000 digits") from None


def _divided(total: Decimal, count: int) -> Decimal:
    try:
        with localcontext(DIVISION):
            return (total / count).quantize(total, ROUND_HALF_EVEN)
    except ArithmeticError:
        raise NotSupported("averages of decimals of more than 4,000 digits") from None


def _sum(kind: CqlType) -> Callable[[list[Value]], Value]:
    wrap = terms.cast(types.VARINT, kind) if kind in types.WHOLE - {types.VARINT} else None

    def fold(values: list[Value]) -> Value:
        total = _total(kind, values)
        return wrap(total) if wrap else total

    return fold


def _average(kind: CqlType) -> Callable[[list[Value]], Value]:
    def fold(values: list[Value]) -> Value:
        present = _numbers(values)
        if not present:
            return _zero(kind)
        total = _total(kind, values)
        if kind in types.WHOLE:  # truncated towards zero, as Java divides
            return abs(total) // len(present) * (1 if total >= 0 else -1)
        if kind is types.DECIMAL:  # with as many digits as the sum
            return _divided(total, len(present))
        return total / len(present)

    return fold


# ---- execution of a SELECT


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
